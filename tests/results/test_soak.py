"""Two hundred odd collections, made from seeds: each is answered, within limits of time and memory.

Pages of them take minutes: eight are built here, more by
``PYTHONPATH=tests python tests/results/test_soak.py 1 200``.
"""

import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import pytest
from conftest import ROOT, record

import traincost as tc
from traincost.errors import NothingToReport, ParameterError

N = 200
TIME_S = 60
MEMORY_BYTES = 2**30  # beyond what the process has at its start
ANSWERS = ("summary", "effects", "levels", "occurrences", "shares", "knobs", "costs", "scores", "provenance")
PAGES = range(1, 9)  # seeds of which whole pages are built
PAGE_BYTES = 2 * 2**20  # of a page, and of its JSON; what these collections hold is far larger
N_ANSWERS = 2  # of a collection, to stay within a minute in all
TWO_VALUES = "one key has two values"
LONG_FIGURE = re.compile(r"\d[\d,]{60,}")

NAMES = [
    "lr",
    "a.b",
    "",
    " ",
    "x" * 9_999,
    "漢字",
    "‮rtl",
    "<script>",
    "$x$",
    "=1+1",
    "a\nb",
    "‹user:0›",
    "status",
]
VALUES = [0, -1, 10**300, 10**4000, 1e-300, 1e300, float("nan"), float("inf"), True, None, "", "nan", "1e3"]
VALUES += [
    "x" * 200_000,
    "\ud800",
    "\x00",
    list(range(5_000)),
    {},
    {"deep": {"er": [1, {"z": None}]}},
    "0x10",
    "٣",
]
TIMES = [1.0, 1e-9, 1e15, 1e16, 1e300, 10**400, 0, -5, float("nan"), "12", None, 3600.0, 60.5]
STATUSES = ["completed"] * 8 + ["failed", "running", "odd", 3]
STARTS = ["2026-01-01T08:00:00+00:00", "", "yesterday", "0001-01-01", "9999-12-31T23:59:59Z", None, 5]


def nested(rng, depth):
    return {"n": nested(rng, depth - 1)} if depth else rng.choice(VALUES)


def odd_config(rng, fields):
    config = {name: rng.choice(levels) for name, levels in fields.items()}
    if rng.random() < 0.1:
        config["deep"] = nested(rng, rng.choice([3, 40, 90]))
    return config


def odd_sections(rng):
    names = ["epoch", "epoch/train", "epoch/train/step", "eval", "/", "a//b", "y" * 3_000, "<b>", "load"]
    times = [0.0, 1.0, 20.0, 1e-7, 1e16, 1e300, -1, None]
    found = {}
    for name in rng.sample(names, rng.randrange(len(names))):
        found[name] = {"seconds": rng.choice(times), "count": rng.choice([1, 0, 10**18, 10**400, None, 2.5])}
    return found


def odd_run(rng, i, fields):
    plain = rng.random() < 0.6
    changes = {
        "config": odd_config(rng, fields),
        "runtime_s": rng.lognormvariate(3, 1) if plain else rng.choice(TIMES),
        "status": rng.choice(STATUSES),
        "started_at": STARTS[0] if plain else rng.choice(STARTS),
        "sections": odd_sections(rng),
        "scores": {rng.choice(NAMES): rng.choice([0.5, 1e308, -1e-308, None, "x", 10**400])},
        "cost": {
            rng.choice(["memory_mib", "parameters", "models", "x"]): rng.choice([1, 0, 1e300, -1, None])
        },
    }
    return record(rng.choice([f"r{i}", f"r{i}", f"r{i}", "same", "", "z" * 5_000]), **changes)


def odd_collection(root, seed):
    """Write a collection of up to two dozen runs with odd names, values, numbers and files."""
    rng = random.Random(seed)
    fields = {}
    for name in rng.sample(NAMES, rng.randrange(1, 5)):
        fields[name] = rng.choices(VALUES, k=rng.choice([1, 2, 3])) if rng.random() < 0.5 else ["a", "b"]
    for i in range(rng.choice([1, 2, 5, 12, 24])):
        folder = root / rng.choice(["", "deep/er", "x y"]) / f"r{i}"
        folder.mkdir(parents=True)
        text = json.dumps(odd_run(rng, i, fields))
        (folder / "run.json").write_text(text[: rng.randrange(len(text))] if rng.random() < 0.05 else text)
    if rng.random() < 0.2:
        (root / "loop").symlink_to(root)
    if rng.random() < 0.2:
        os.mkfifo(root / "run.json")


def answered(root, names=ANSWERS):
    """Return what is said of a collection, and what refused to say anything."""
    try:
        runs = tc.read(root)
    except NothingToReport as problem:
        return str(problem)
    said = [repr(runs)]
    for name in names:
        try:
            result = getattr(tc, name)(runs)
        except (NothingToReport, ParameterError) as problem:
            said.append(str(problem))
        else:
            said += [repr(result), json.dumps(result._repr_mimebundle_(), default=str), *two_values(result)]
    return "\n".join(said)


def two_values(result):
    """Return what is wrong with the keys of an answer: a number said with two values."""
    found, wrong = {}, []
    for number in (number for sentence in result.sentences for number in sentence.numbers()):
        first = found.setdefault(number.key, number.value)
        if first != number.value and not math.isclose(first, number.value, rel_tol=1e-9):
            wrong.append(f"{TWO_VALUES}: {number.key} is {first} and {number.value}")
    return wrong


def limited(root, report, names):
    """Answer in a process of its own; it writes what went wrong, and nothing if all went well."""
    with open("/proc/self/statm") as file:
        have = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (have + MEMORY_BYTES, have + MEMORY_BYTES))
    signal.alarm(TIME_S)
    try:
        found = re.search(rf"{LONG_FIGURE.pattern}|{TWO_VALUES}.*", answered(root, names))
        report.write_text(f"printed {found[0][:200]}" if found else "")
    except BaseException:
        report.write_text(traceback.format_exc()[-1500:])
    os._exit(0)


@pytest.mark.slow
def test_odd_collections_are_answered_within_limits(tmp_path):
    odd_collection(tmp_path / "first", 0)
    answered(tmp_path / "first")  # what is imported, is so once
    wrong, started = {}, time.monotonic()
    for seed in range(1, N + 1):
        root, report = tmp_path / f"{seed}", tmp_path / f"{seed}.txt"
        odd_collection(root, seed)
        child = os.fork()
        if not child:
            limited(root, report, random.Random(seed).sample(ANSWERS, N_ANSWERS))
        _, status = os.waitpid(child, 0)
        if status or not report.exists() or report.read_text():
            wrong[seed] = status, report.read_text() if report.exists() else ""
    print(f"{N} collections in {time.monotonic() - started:.0f} s")
    assert wrong == {}


def built(seed, folder):
    """Build the page of an odd collection; return what went wrong, an empty text if nothing did."""
    odd_collection(folder / "runs", seed)
    command = [sys.executable, "-m", "traincost", "page", "runs", "-o", "page"]
    with open(folder / "said", "w+") as said:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        timer = threading.Timer(TIME_S, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)  # the kernel's memory, too
        timer.cancel()
        said.seek(0)
        lines = said.read().splitlines()
    process.returncode = os.waitstatus_to_exitcode(status)
    wrong = [f"took {time.monotonic() - started:.0f} s"] if process.returncode == -signal.SIGKILL else []
    if used.ru_maxrss * 1024 > MEMORY_BYTES:
        wrong.append(f"used {used.ru_maxrss >> 10} MiB")
    if (process.returncode, len(lines)) not in ((0, 0), (2, 1)):
        wrong += [f"ended with {process.returncode}", *lines]
    for path in folder.glob("page/profiling.*"):
        text = path.read_text(encoding="utf-8")
        if len(text) > PAGE_BYTES:
            wrong.append(f"{path.name} has {len(text):,} characters")
        if figure := LONG_FIGURE.search(text):
            wrong.append(f"{path.name} prints {figure[0][:80]}")
    return "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("seed", PAGES)
def test_odd_collections_make_pages_within_limits(seed):
    # From a process of its own: the memory of what starts a process counts as that process's, too.
    command = [sys.executable, __file__, str(seed), str(seed)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'lib'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
        with tempfile.TemporaryDirectory() as folder:
            if found := built(seed, Path(folder)):
                print(f"{seed}: {found}", flush=True)
    print("done")
