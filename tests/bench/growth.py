"""What one collection takes, in a process of its own: seconds, and the peak of its memory.

    python tests/bench/growth.py RUNS_DIR

Reads the runs and computes what a page computes from them, except the permutations, of which
there are fewer in large collections. Prints JSON: ``seconds``; ``peak_kib``, the largest
resident memory; ``frames_kib``, what the frames of the collection themselves hold.
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np

from traincost.analysis import effects, fields, knobs, sections
from traincost.reading.collection import read_collection


def main(runs_dir):
    """Measure, and print."""
    started = time.perf_counter()
    runs = read_collection(runs_dir)
    described = fields.describe(runs.runs)
    (by,) = (field for field in described if field.name == "task")
    effects.effect_sizes(runs.runs["runtime_s"], described)
    timing = sections.timing(runs)
    sections.shares(timing)
    sections.composition(timing, by)
    knobs.bounds(timing, codes=by.codes)
    seconds = time.perf_counter() - started
    peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1))
    frames_kib = sum(map(held, (runs.runs, runs.sections, runs.excluded))) / 1024
    print(json.dumps({"seconds": seconds, "peak_kib": peak_kib, "frames_kib": frames_kib}))


def held(frame):
    """Return the bytes that a frame holds; texts that several rows share count once."""
    return sum(_of_column(frame[name].array) for name in frame)


def _of_column(values):
    if values.dtype != "str" or values.dtype.storage == "pyarrow":
        return values.nbytes
    texts = {id(text): text for text in np.asarray(values, dtype=object)}
    return len(values) * np.dtype(object).itemsize + sum(map(sys.getsizeof, texts.values()))


if __name__ == "__main__":
    main(sys.argv[1])
