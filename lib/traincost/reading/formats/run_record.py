"""Run records: ``run.json`` as `traincost.measure.recorder.Recorder` writes it."""

import os
from math import inf

from traincost.columns import finite
from traincost.measure.recorder import FORMAT, RECORD_NAME
from traincost.reading.formats.by_name import first_of
from traincost.reading.formats.files import Unreadable, parse_json, read_bytes, shortened
from traincost.reading.formats.run import Run, described, flat, numbers, runtime
from traincost.reading.formats.statuses import COMPLETED, STATUSES, UNREADABLE

NAME = "traincost"
TITLE = "run records (run.json)"
MAX_SECTIONS = 5_000  # of one run
_ROUNDED = 1 + 1e-6  # how much parts may exceed a whole, by rounding
_EXTENT = ("first_s", "min_s", "max_s", "synchronised")
EXACT = 2**53  # above it, not every integer is a float
_REQUIRED = ("format", "run_id", "config", "runtime_s")
_OURS = {"run_id", "runtime_s", "config", "sections"}
NAMES, sources = first_of(RECORD_NAME)


def read(path, run_id):
    """Return the one run recorded at `path`; `run_id` names it where the record cannot."""
    try:
        record = parse_json(read_bytes(path))
        if not isinstance(record, dict):
            raise Unreadable(f"holds a JSON {type(record).__name__} at the top, not an object")
    except Unreadable as problem:
        return [Run(_folder(path) or run_id, UNREADABLE, reason=str(problem))]
    # Other tools call theirs run.json too.
    is_ours = "format" in record or len(_OURS & record.keys()) > 1
    own_id = record["run_id"] if "run_id" in record else _folder(path) or run_id
    return [_run(str(own_id), record)] if is_ours else []


def _folder(path):
    return os.path.basename(os.path.dirname(path))


def _run(run_id, record):
    missing = [name for name in _REQUIRED if name not in record]
    run = Run(run_id)
    run.status = str(record.get("status", COMPLETED))
    run.started_at = str(record.get("started_at") or "")
    run.runtime_s, reason = runtime(record.get("runtime_s"))
    config = record.get("config")
    if isinstance(config, dict):
        run.config = flat(config, run.notes)
    if missing:
        reason = f"lacks {', '.join(missing)}"
    elif record["format"] != FORMAT:
        reason = f"has the format {described(record['format'])}; this reads {FORMAT!r}"
    elif not isinstance(config, dict):
        reason = f"config must be an object, got {type(config).__name__}"
    elif run.status not in STATUSES:
        reason = f"status must be one of {', '.join(STATUSES)}, got {shortened(run.status, 80)!r}"
    elif run.status != COMPLETED:
        error = record.get("error")
        kind = error.get("type") if isinstance(error, dict) else None
        reason = f"status is {run.status}" + (f" ({shortened(kind, 80)})" if isinstance(kind, str) else "")
        if run.status == "running":
            reason += ": at work still, or killed"
    run.reason = reason
    legs = record.get("legs")
    if isinstance(legs, int) and 1 < legs < EXACT:
        run.notes.append(f"was resumed: its runtime is the sum of {legs} legs")
    run.host = str(record.get("host") or "")
    run.device = str(record.get("device") or "")
    run.devices = float(record["devices"]) if finite(record.get("devices")) else None
    run.sections = _sections(record.get("sections"), run.notes)
    run.extents = _extents(record.get("sections"), run.sections)
    cost = record.get("cost")
    if isinstance(cost, dict):  # every column of it has the prefix that tells it from a score
        cost = {name if name.startswith("cost_") else f"cost_{name}": v for name, v in cost.items()}
    run.cost = numbers(cost, "cost", run.notes)
    run.scores = numbers(record.get("scores"), "score", run.notes)
    run.compute = record["compute"] if isinstance(record.get("compute"), dict) else {}
    return run


def _sections(sections, notes):
    if not isinstance(sections, dict):
        if sections is not None:
            notes.append(f"sections must be an object, got {type(sections).__name__}: left out")
        return {}
    # An empty part of the name makes two slashes here.
    any_empty, are_many = "//" in f"/{'/+/'.join(sections)}/", len(sections) > MAX_SECTIONS
    usable = {}
    for path, entry in sections.items():
        if are_many and len(usable) >= MAX_SECTIONS:
            notes.append(f"sections beyond the first {MAX_SECTIONS} are left out")
            break
        try:
            seconds, count = entry["seconds"], entry["count"]
        except (KeyError, TypeError):
            seconds, count = (entry.get("seconds"), None) if isinstance(entry, dict) else (None, None)
        # Nearly all are plain: they are told here, without a call.
        is_typed = seconds.__class__ is float and count.__class__ is int
        if is_typed and 0.0 <= seconds < inf and 0 < count < EXACT and not any_empty:
            usable[path] = seconds, count
        elif _is_time(seconds) and "//" not in f"/{path}/":
            is_count = finite(count) and count > 0 and float(count).is_integer()
            usable[path] = (float(seconds), count if is_count else None)
        else:
            notes.append(f"section {shortened(path, 80)!r} has no usable name or seconds: left out")
    return usable


def _extents(entries, sections):
    """Return first, shortest and longest where they agree with the total, and if the clock waited."""
    found = {}
    for path, (seconds, count) in sections.items():
        entry = entries[path]
        if len(entry) > 2:
            first, least, most, waited = map(entry.get, _EXTENT)
            waited = waited if waited.__class__ is bool else None
            if first.__class__ is least.__class__ is most.__class__ is float:
                are_times = least >= 0.0 and most < inf
            else:
                are_times = all(map(_is_time, (first, least, most)))
                if are_times:
                    first, least, most = map(float, (first, least, most))
            # The wait that finds the end of a loader has seconds, and is no occurrence.
            agree = are_times and least <= first <= most and count is not None
            if not (agree and most <= seconds * _ROUNDED and least * count <= seconds * _ROUNDED):
                first = least = most = None
            if first is not None or waited is not None:
                found[path] = first, least, most, waited
    return found


def _is_time(seconds):
    return finite(seconds) and seconds >= 0
