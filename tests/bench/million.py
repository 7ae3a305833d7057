"""Index a synthetic collection of a million runs, and build its page, a process for each step.

    python tests/bench/million.py FOLDER [--runs N] [--keep]

Makes N run records (twelve sections each, seeded) in FOLDER, a thousand to a directory; indexes
them; and from the index reads the frames, asks for effects, shares and knobs, and builds the page.
Prints the time and the peak memory of each step as a Markdown table. A million takes 8 GiB of disk
and two million inodes; they are removed again unless ``--keep`` is given.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import orjson

LIB = Path(__file__).parents[2] / "lib"
BATCH = 1_000  # runs in one directory
SECTIONS = (
    "run/setup",
    "epoch",
    "epoch/train",
    "epoch/train/load",
    "epoch/train/forward",
    "epoch/train/backward",
    "epoch/train/optimizer_step",
    "epoch/eval",
    "epoch/eval/generation",
    "epoch/eval/metrics",
    "epoch/checkpoint",
    "run/write_outputs",
)
# Of the runtime, within the section around each.
SHARES = (0.05, 0.9, 0.6, 0.1, 0.3, 0.5, 0.05, 0.35, 0.7, 0.2, 0.02, 0.01)
MODELS, BATCHES, WIDTHS = ("small", "base", "large"), (16, 32, 64, 128), (64, 128, 256)
REFRESH = "from traincost.reading import refreshing; refreshing.refresh(runs, folder)"
READ = "import traincost; found = traincost.read(folder)"
STEPS = (
    ("index", REFRESH),
    ("refresh, nothing new", REFRESH),
    ("read the index", READ),
    ("effects", f"{READ}; found.effects"),
    ("shares", f"{READ}; traincost.shares(found)"),
    ("knobs", f"{READ}; found.bounds"),
    ("page", "import traincost; traincost.page(folder, out)"),
)
# Of the process, or of a notebook's kernel that it started.
PEAK = (
    "from resource import *; print(max(getrusage(who).ru_maxrss for who in (RUSAGE_SELF, RUSAGE_CHILDREN)))"
)


def main():
    """Make the runs, do the steps, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--keep", action="store_true", help="leave the runs where they are")
    options = parser.parse_args()
    places = [options.folder.absolute() / name for name in ("runs", "index", "page")]
    try:
        if not places[0].exists():
            make(places[0], options.runs)
        print(f"{options.runs:,} runs\n\n| step | time | peak memory |\n|---|---:|---:|")
        for name, code in STEPS:
            seconds, peak_kib = measured(code, places)
            print(f"| {name} | {seconds:,.1f} s | {peak_kib / 2**20:.2f} GiB |", flush=True)
        size = sum(path.stat().st_size for path in places[1].iterdir())
        print(f"\nThe index takes {size / 2**20:,.0f} MiB.")
    finally:
        if not options.keep:
            shutil.rmtree(places[0])


def make(root, n, seed=0):
    """Write `n` runs below `root`; the same for the same seed, and the first ones for any `n`."""
    for start in range(0, n, BATCH):
        folder = root / f"{start // BATCH:04}"
        rng = np.random.default_rng([seed, start])
        for i, found in enumerate(records(start, min(BATCH, n - start), rng), start):
            path = f"{folder}/r{i:07}"
            os.makedirs(path)
            with open(f"{path}/run.json", "wb") as file:
                file.write(orjson.dumps(found))


def records(first, n, rng):
    """Yield `n` run records, numbered from `first`.

    The runtime is the product of the effects of three settings, of noise by configuration and
    of noise by run; the other settings have none.
    """
    numbers = np.arange(first, first + n)
    configuration = numbers // 3
    model, batch, width = configuration % 3, configuration // 3 % 4, configuration // 12 % 3
    lr = 10 ** -(2 + configuration // 36 % 4).astype(float)
    dropout = np.random.default_rng(first).uniform(0, 0.5, n // 3 + 2)[(configuration - configuration[0])]
    runtime_s = 600 * 3.0**model * 0.9**batch * 1.2**width * rng.lognormal(0, 0.1, n)
    shares = np.array(SHARES) * rng.lognormal(0, 0.05, (n, len(SHARES)))
    for i in range(n):
        seconds = nested(float(runtime_s[i]), shares[i].tolist())
        yield {
            "format": "traincost/run/1",
            "run_id": f"r{numbers[i]:07}",
            "status": "completed",
            "started_at": "2026-01-01T08:00:00+00:00",
            "runtime_s": float(runtime_s[i]),
            "config": {
                "model": MODELS[model[i]],
                "batch_size": BATCHES[batch[i]],
                "width": WIDTHS[width[i]],
                "optim": {"lr": float(lr[i]), "dropout": float(dropout[i])},
                "seed": int(numbers[i] % 3),
            },
            "sections": {
                name: {"seconds": seconds[name], "count": 10 * (1 + name.count("/"))} for name in SECTIONS
            },
        }


def nested(runtime_s, shares):
    """Return the seconds of each section: its share of the section around it, or of the run."""
    seconds = {}
    for name, share in zip(SECTIONS, shares, strict=True):
        around = seconds.get(name.rpartition("/")[0], runtime_s)
        seconds[name] = around * min(share, 0.95)
    return seconds


def measured(code, places):
    """Return seconds and peak memory (KiB) of a step in a process of its own."""
    runs, folder, out = map(repr, map(str, places))
    code = f"runs, folder, out = {runs}, {folder}, {out}\n{code}\n{PEAK}"
    started = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(LIB)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return time.perf_counter() - started, int(re.search(r"(\d+)\s*$", found.stdout)[1])


if __name__ == "__main__":
    main()
