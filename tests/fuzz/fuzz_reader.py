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
    from traincost.errors import ParameterError
    from traincost.reading import listing
    from traincost.reading.formats import READERS, files, table

DATA = Path(__file__).parents[1] / "data"
SLOW_S, MEMORY_MIB = 10, 1024
MAX_INPUT = 65_536  # bytes


def sources(kind, folder):
    """Return the paths of what a reader may read in `folder`."""
    if kind == table.NAME:
        return ["runs.csv"]
    return [path for path, _ in listing.listed(folder, kind).sources]


def read(kind, folder, source):
    """Return the runs of one source; a table that is refused as a whole has none."""
    if kind != table.NAME:
        return READERS[kind].read(str(folder / source), "run")
    columns = table.Table(sections_table=str(folder / "sections.csv"))
    try:
        return [run for _, run in table.read_runs(str(folder / source), columns)]
    except (files.Unreadable, ParameterError):
        return []


def sample(kind, folder):
    """Copy the sample of a kind into `folder`; return (source, file) pairs that its reader opens."""
    shutil.copytree(DATA / kind, folder, dirs_exist_ok=True)
    opened = set()
    for source in sources(kind, folder):
        with files.watched() as used:
            read(kind, folder, source)
        opened |= {(source, Path(name)) for name in used if Path(name).is_file()}
    if not opened:
        raise SystemExit(f"{DATA / kind} holds nothing that the reader {kind!r} opens")
    return sorted(opened)


def check(kind, source, folder):
    """Read one source; complain about what no reader may return."""
    for run in read(kind, folder, source):
        usable = run.runtime_s is not None and run.runtime_s > 0
        if not run.reason and not usable:
            raise AssertionError(f"a run without a runtime and without a reason: {run}")
        if not all(seconds >= 0 for seconds, _ in run.sections.values()):
            raise AssertionError(f"a section without usable seconds: {run.sections}")


def main():
    """Fuzz until the time is up, or something is found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted([*READERS, table.NAME]))
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of what is tried; 0: another each time")
    parser.add_argument("--input", type=Path, help="a finding, to be read once instead")
    options = parser.parse_args()
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
            check(options.kind, source, folder)
            path.write_bytes(originals[i])

        if options.input:
            one(options.input.read_bytes())
            return
        flags = {
            "max_total_time": options.seconds,
            "seed": options.seed,
            "timeout": SLOW_S,
            "rss_limit_mb": MEMORY_MIB,
            "max_len": MAX_INPUT,
            "print_final_stats": 1,
        }
        arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in flags.items()), str(corpus)]
        atheris.Setup(arguments, one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
