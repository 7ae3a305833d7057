"""Fuzz every reader: ``python tests/fuzz/every_reader.py --seconds 300 --jobs 2``.

Each gets a process of its own for the given time. Exit status 1, with what it said last, where
one of them found something.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from traincost.reading.formats import READERS, table

SCRIPT = Path(__file__).with_name("fuzz_reader.py")
LAST = 4_000  # characters of what a fuzzer said


def fuzz(kind, seconds, seed):
    """Return the exit status of one fuzzer and the end of its output."""
    command = [sys.executable, str(SCRIPT), kind, "--seconds", str(seconds), "--seed", str(seed)]
    same = {**os.environ, "PYTHONHASHSEED": "0"} if seed else None  # the order of sets, too
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=same)
    said = done.stdout + done.stderr
    raised = said.rfind(" === Uncaught Python exception")  # the fuzzer's own report follows, and is long
    return done.returncode, said[raised : raised + LAST] if raised >= 0 else said[-LAST:]


def main():
    """Fuzz all readers and say how each ended."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=300, help="for each reader")
    parser.add_argument("--jobs", type=int, default=1, help="readers at a time")
    parser.add_argument("--seed", type=int, default=0, help="of what is tried; 0: another each time")
    options = parser.parse_args()
    kinds = sorted([*READERS, table.NAME])
    failed = False
    with ThreadPoolExecutor(options.jobs) as pool:
        ends = pool.map(lambda kind: fuzz(kind, options.seconds, options.seed), kinds)
        for kind, (status, said) in zip(kinds, ends, strict=True):
            print(f"{kind}: {'nothing found' if status == 0 else said}", flush=True)
            failed |= status != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
