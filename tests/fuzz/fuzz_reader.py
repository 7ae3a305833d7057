"""Fuzz one reader, guided by coverage: ``python tests/fuzz/fuzz_reader.py lightning --seconds 300``.

The reader's sample collection is copied into a folder of its own; each input replaces the content
of one of the files that the reader opens there, and the reader reads. What ends the run with an
error is an exception, a run that is neither usable nor has a reason, or an input that takes longer
than `SLOW_S`; atheris writes the input beside its message (``crash-…``) and more memory than
`MEMORY_MIB` ends it likewise.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["traincost"]):
    from traincost import listing
    from traincost.formats import READERS, files

DATA = Path(__file__).parents[1] / "data"
SLOW_S, MEMORY_MIB = 10, 1024
MAX_INPUT = 65_536  # bytes


def sample(kind, folder):
    """Copy the sample of a kind into `folder`; return (source, file) pairs that its reader opens."""
    shutil.copytree(DATA / kind, folder, dirs_exist_ok=True)
    opened = set()
    for path, _ in listing.listed(folder, kind).sources:
        with files.watched() as used:
            READERS[kind].read(str(folder / path), path)
        opened |= {(path, Path(name)) for name in used if Path(name).is_file()}
    if not opened:
        raise SystemExit(f"{DATA / kind} holds nothing that the reader {kind!r} opens")
    return sorted(opened)


def check(reader, source, folder):
    """Read one source; complain about what no reader may return."""
    for run in reader.read(str(folder / source), "run"):
        usable = run.runtime_s is not None and run.runtime_s > 0
        if not run.reason and not usable:
            raise AssertionError(f"a run without a runtime and without a reason: {run}")
        if not all(seconds >= 0 for seconds, _ in run.sections.values()):
            raise AssertionError(f"a section without usable seconds: {run.sections}")


def main():
    """Fuzz until the time is up, or something is found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted(READERS))
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    reader = READERS[options.kind]
    with tempfile.TemporaryDirectory() as root:
        folder, corpus = Path(root, "runs"), Path(root, "corpus")
        corpus.mkdir()
        targets = sample(options.kind, folder)
        originals = [path.read_bytes() for _, path in targets]
        for i, content in enumerate(originals[:64]):
            if len(content) < MAX_INPUT:
                (corpus / str(i)).write_bytes(bytes([i]) + content)

        def one(data):
            i = (data[0] if data else 0) % len(targets)
            source, path = targets[i]
            path.write_bytes(data[1:])
            check(reader, source, folder)
            path.write_bytes(originals[i])

        limits = [f"-max_total_time={options.seconds}", f"-timeout={SLOW_S}", f"-rss_limit_mb={MEMORY_MIB}"]
        atheris.Setup(
            [sys.argv[0], *limits, f"-max_len={MAX_INPUT}", "-print_final_stats=1", str(corpus)], one
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
