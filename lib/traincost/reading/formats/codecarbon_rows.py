"""Rows of CodeCarbon's ``emissions.csv``: runs, with the energy that each took.

A run that flushes has several rows, each cumulative: the last counts. The ranks of a distributed job
append a row each, with the energy of the whole machine where ``tracking_mode`` is ``machine``: then it
is counted once, else it is added. Ranks begin and end within seconds under one project's name.
"""

import re
from datetime import datetime, timedelta

from traincost.columns import finite
from traincost.reading.formats.table_columns import between

NEEDED = {"project_name", "run_id", "duration", "emissions"}
PLACE, STARTED = "(place)", "(started)"
COSTS = {"energy_consumed": "cost_energy_kwh", "emissions": "cost_emissions_kg"}
ADDED = ("energy_consumed", "emissions", "cpu_energy", "gpu_energy", "ram_energy")
NOTE = "CodeCarbon: time and energy (kWh) are what it tracked, from its start to its last row"
RANKS_S = 15.0
_GPUS = re.compile(r"(\d+) x (.+)")


def number(row, name):
    """Return a finite number of a row, or 0."""
    try:
        value = float(row.get(name, ""))
    except (TypeError, ValueError):
        return 0.0
    return value if finite(value) else 0.0


def runs(rows):
    """Return a row per run, with its place and start, and what is said of the others."""
    last = {}
    for i, (row, reason) in enumerate(rows):
        key = str(row.get("run_id", f"row {i}"))
        known = last.get(key)
        if known is None or number(row, "duration") >= number(known[0], "duration"):
            last[key] = (_placed(row), reason)
    found, said = _without_ranks(list(last.values()))
    if len(last) < len(rows):
        said.append("a run that was written several times counts with its last row")
    return found, said


def _placed(row):
    name, run_id = str(row.get("project_name", "")), str(row.get("run_id", ""))
    return {**row, PLACE: f"{name}/{run_id}", STARTED: _start(row)}


def _start(row):
    try:
        ended = datetime.fromisoformat(str(row.get("timestamp", "")))
        return (ended - timedelta(seconds=number(row, "duration"))).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return ""


def _without_ranks(found):
    """Put together the rows of ranks: same project, and begun and ended within seconds."""
    kept, said, groups = [], [], {}
    for row, reason in found:
        group = next((g for g in groups.get(row.get("project_name"), ()) if _are_ranks(g[0], row)), None)
        if group is None:
            groups.setdefault(row.get("project_name"), []).append([row])
            kept.append((row, reason))
        else:
            group.append(row)
    for row, _ in kept:
        group = next(g for g in groups[row.get("project_name")] if g[0] is row)
        if len(group) > 1:
            row["duration"] = max(number(r, "duration") for r in group)
            combine = max if str(row.get("tracking_mode")) == "machine" else sum
            for name in ADDED:
                row[name] = combine([number(r, name) for r in group])
            said.append(f"{len(group)} ranks of one job are one run, whose energy counts once")
    return kept, list(dict.fromkeys(said))


def _are_ranks(first, second):
    apart_s = between(first[STARTED], second[STARTED])
    longer_s = number(first, "duration") - number(second, "duration")
    return apart_s is not None and max(abs(apart_s), abs(longer_s)) <= RANKS_S


def machine(row):
    """Return the (devices, device, host): what the machine has, where CodeCarbon tracked all of it."""
    match = _GPUS.fullmatch(str(row.get("gpu_model", "")))
    device = match[2] if match else str(row.get("gpu_model", ""))
    return None, device, ""
