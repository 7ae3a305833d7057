"""The results of a benchmark, as a frame: what was measured, against what, and whether that was asked.

Results are what `tests/bench` writes: a JSON file with ``size``, ``n_repetitions``, ``machine`` and the
list ``measured``, whose entries have the columns `COLUMNS`.
"""

import math
import os
from dataclasses import dataclass

import pandas as pd

from traincost.errors import NothingToReport
from traincost.reading.formats.files import Unreadable, parse_json, read_bytes

FORMAT = "traincost/benchmark/1"
COLUMNS = {
    "work": str,
    "against": str,
    "role": str,
    "ours": float,
    "theirs": float,
    "unit": str,
    "value": float,
    "bound": str,
    "target": float,
    "met": bool,
}
ROLES = ("floor", "peer", "limit")
BOUNDS = ("at most", "at least")
_REQUIRED = ("work", "against", "role", "ours", "unit")


@dataclass(frozen=True, eq=False)
class Benchmarks:
    """The results of one session.

    Attributes
    ----------
    name : str
        Of their file, without the ending.
    frame : DataFrame
        A row per comparison: ``work``; ``against``, empty for a ``role`` of ``limit``, which is a
        number by itself; ``ours`` and ``theirs`` in ``unit``, NaN where there is no other;
        ``value``, of a ``floor`` ours/theirs, of a ``peer`` theirs/ours; ``bound`` (``at most``,
        ``at least``) and ``target``, or None and NaN where nothing is asked; ``met``, or None;
        ``of_target``, the part of what is allowed that was needed: value/target, or target/value;
        NaN where that is no positive number, as when a difference drowns in noise.
    machine : dict
        What it was measured on: name to value.
    size : str
        ``full``, or ``small`` where the ratios say nothing.
    n_repetitions : int
        That each median is of.
    """

    name: str
    frame: pd.DataFrame
    machine: dict
    size: str
    n_repetitions: int


def read_benchmarks(path):
    """Read the results of a benchmark.

    Raises
    ------
    NothingToReport
        The file is missing, or does not hold such results.
    """
    try:
        found = parse_json(read_bytes(path))
    except Unreadable as problem:
        raise _refusal(path, str(problem)) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _refusal(path, f"its format is not {FORMAT}")
    entries, n = found.get("measured"), found.get("n_repetitions")
    if not isinstance(entries, list) or not entries or not all(map(_is_entry, entries)):
        raise _refusal(path, "`measured` must be a list of comparisons")
    if len({(entry["work"], entry["against"]) for entry in entries}) < len(entries):
        raise _refusal(path, "two comparisons have the same `work` and `against`")
    if type(n) is not int or n < 1 or not isinstance(found.get("machine"), dict):
        raise _refusal(path, "`n_repetitions` must be a count, and `machine` a mapping")
    name = os.path.splitext(os.path.basename(path))[0]
    return Benchmarks(name, _frame(entries), _flat(found["machine"]), str(found.get("size")), n)


def _refusal(path, reason):
    return NothingToReport(f"{os.fspath(path)!r} holds no results of a benchmark: {reason}; run make bench")


def _is_entry(entry):
    """Say whether an entry has what is required, and all of it in the type of its column."""
    if not isinstance(entry, dict) or any(entry.get(name) is None for name in _REQUIRED):
        return False
    allowed = entry["role"] in ROLES and entry.get("bound") in (None, *BOUNDS)
    return allowed and all(_fits(entry.get(name), kind) for name, kind in COLUMNS.items())


def _fits(value, kind):
    if value is None:
        return True
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, kind)


def _frame(entries):
    frame = pd.DataFrame([{name: entry.get(name) for name in COLUMNS} for entry in entries], dtype=object)
    frame = frame.astype({name: kind for name, kind in COLUMNS.items() if kind is float})
    ratio = frame["value"] / frame["target"]
    ratio = ratio.where(ratio > 0)
    return frame.assign(of_target=ratio.where(frame["bound"] != "at least", 1 / ratio))


def _flat(machine):
    """Return the machine as name to value, the versions of packages among them."""
    packages = machine.get("packages")
    flat = {name: value for name, value in machine.items() if not isinstance(value, dict | list)}
    return flat | (packages if isinstance(packages, dict) else {})


def judged(frame):
    """Return the comparisons that met or missed a target."""
    return frame[frame["met"].notna()]


def missed(frame):
    """Return the comparisons that missed their target, the worst first."""
    rows = judged(frame)
    return rows[~rows["met"].astype(bool)].sort_values("of_target", ascending=False, kind="stable")
