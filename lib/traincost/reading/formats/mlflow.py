"""MLflow: a SQLite store, or a directory of the older file store.

A run's settings are its parameters and the experiment it is in, its runtime the time from start
to end, its scores the last value of each metric. Memory and traffic that MLflow's own monitor
measured are costs, at their peak, and the power of its GPUs gives their energy; its other metrics
(percentages) are left out.

A child run (``mlflow.parentRunId``) is a section of its parent, by its name. A search is told
from that by what its children hold: where they differ among themselves in a parameter, and the
parent has no parameters, or has one of those that differ (``lr``, or ``best_lr`` as MLflow's own
logging of a search calls it), the children are runs and the parent only groups them. A parent
with other parameters of its own is a run, its folds and steps are sections of it.

MLflow never learns of a run that was killed: it stays RUNNING. A run that was continued later
has the time in between in its runtime, as MLflow keeps only the first start and the last end.
"""

import os
import re

from traincost.reading.formats.files import Unreadable, read_head
from traincost.reading.formats.mlflow_stores import sqlite_store, stored_files
from traincost.reading.formats.power import add_energy
from traincost.reading.formats.run import Run, added, flat, iso, numbers, one_level, runtime, without_identity
from traincost.reading.formats.sqlite import ENDINGS, SQLITE_MAGIC
from traincost.reading.formats.statuses import COMPLETED, FAILED, KILLED, QUEUED, RUNNING, UNREADABLE

NAME = "mlflow"
TITLE = "MLflow stores (mlflow.db, mlruns/)"
DATABASE_NAME, META_NAME = "mlflow.db", "meta.yaml"
MAX_NESTING = 32  # of child runs; what is deeper counts with the run at that depth
_STATUS = {
    "FINISHED": (COMPLETED, ""),
    "RUNNING": (RUNNING, "status is RUNNING: at work still, or killed"),
    "SCHEDULED": (QUEUED, "status is SCHEDULED: it had not begun"),
    "FAILED": (FAILED, "status is FAILED"),
    "KILLED": (KILLED, "status is KILLED"),
}
BUSY = 5  # per cent of a GPU, from which on a run worked on it
_GPU = re.compile(r"system/gpu_(\d+)_utilization_percentage")
_MIB_PER_MB = 1e6 / 2**20
# The names that MLflow makes up (able-fox-12) tell nothing that repeats from run to run.
_MADE_UP = re.compile(r"[a-z]+-[a-z]+-\d{1,3}")
NAMES = re.compile(r".*\.(db|sqlite3?)|" + re.escape(META_NAME), re.DOTALL)


def sources(directory, names):
    """Return databases, which may be MLflow's, and the description of an experiment or a run."""
    found = [name for name in names if name.endswith(ENDINGS)]
    logged_model = os.path.basename(directory).startswith("m-")
    return found if logged_model or META_NAME not in names else [*found, META_NAME]


def read(path, run_id):
    """Return the runs of the store at `path`; none where it is another tool's file."""
    try:
        if os.path.basename(path) == META_NAME:
            records = stored_files(path)
        elif _is_sqlite(path):
            records = sqlite_store(path)
        else:
            return []
    except Unreadable as problem:
        return [Run(run_id, UNREADABLE, reason=str(problem), named=False)]
    return resolved({record.run_id: record for record in records})


def _is_sqlite(path):
    """Say whether a file begins as SQLite's do; one with MLflow's own name must."""
    own = os.path.basename(path) == DATABASE_NAME
    try:
        head = read_head(path, len(SQLITE_MAGIC))
    except Unreadable:
        if own:
            raise
        return False
    if own and head != SQLITE_MAGIC:
        raise Unreadable("is no SQLite database" if head else "is empty")
    return head == SQLITE_MAGIC


# -- runs and their children ---------------------------------------------------------------


def resolved(records):
    """Return a run per record that is no other's child, and per child of a search."""
    children = {}
    for record in records.values():
        if record.parent in records and record.parent != record.run_id:
            children.setdefault(record.parent, []).append(record)
    below = {child.run_id for found in children.values() for child in found}
    _add_sources(records.values())
    waiting = [record for record in records.values() if record.run_id not in below]
    runs, seen = [], set()
    # Those left at last are parents of each other: damaged, but each was a run.
    for record in [*waiting, *records.values()]:
        pending = [record]
        while pending:
            current = pending.pop()
            if current.run_id in seen:
                continue
            seen.add(current.run_id)
            own = children.get(current.run_id, [])
            if _is_search(current, own):
                run = _described(current)
                run.runtime_s = None  # the hours are those of its children
                run.reason = f"groups {len(own)} runs of a search, which are read as runs of their own"
                pending += reversed(own)
            else:
                run = _run(current, children, seen)
            runs.append(run)
    return runs


def _add_sources(records):
    """Make settings of what was run and its entry point, where they differ between runs."""
    alone = [record for record in records if "#" not in record.source]
    for name, setting in (("source", "source_name"), ("entry_point", "entry_point")):
        found = {os.path.basename(getattr(record, name)) for record in alone} - {""}
        if len(found) > 1:
            for record in alone:
                if getattr(record, name):
                    record.params.setdefault(setting, os.path.basename(getattr(record, name)))


def _is_search(parent, children):
    values = {}
    for child in children:
        for name, value in child.params.items():
            values.setdefault(name, set()).add(value)
    varying = {name for name, found in values.items() if len(found) > 1}
    own = {name.removeprefix("best_") for name in parent.params}
    return bool(varying) and (not own or bool(varying & own))


def _run(record, children, seen):
    """Return the run of a record, with the records below it as its sections."""
    run = _described(record)
    own = children.get(record.run_id, [])
    names = [child.name for child in own]
    steps = {
        child.name: child.params
        for child in own
        if child.params and names.count(child.name) == 1 and child.name not in record.params
    }
    config = flat({"experiment": record.experiment} if record.experiment else {}, run.notes)
    # The dots in a parameter's name are those of a path, as Hydra's and Lightning's loggers write it.
    params = flat(record.params, run.notes).items()
    config |= {name.replace("\\.", "."): value for name, value in params} | flat(steps, run.notes)
    started_s = None if record.start_ms is None else record.start_ms / 1000
    run.config = without_identity(config, record.run_id, started_s, run.notes)
    pending = [(child, "", 1) for child in own]
    while pending:
        child, above, depth = pending.pop(0)
        if child.run_id in seen:
            continue
        seen.add(child.run_id)
        name = "" if _MADE_UP.fullmatch(child.name) else child.name
        path = above.rstrip("/")
        if depth <= MAX_NESTING:
            path = above + one_level(name or "child run")
            seconds, reason = _duration(child)
            if reason:
                run.notes.append(f"child run {child.run_id} {reason}: it is no section")
            else:
                run.sections[path] = added(run.sections.get(path, (0.0, 0)), (seconds, 1))
        pending += [(below, f"{path}/", depth + 1) for below in children.get(child.run_id, [])]
        run.parts += _places(child)
    return run


def _described(record):
    """Return a run without its settings and sections."""
    run = Run(record.run_id, notes=list(record.notes))
    if record.problem:
        run.status, run.reason = UNREADABLE, record.problem
        return run
    unknown = (UNREADABLE, f"has the status {record.status[:80]!r}, which MLflow does not know")
    run.status, run.reason = _STATUS.get(record.status, unknown)
    run.runtime_s, missing = _duration(record)
    if run.status == RUNNING and run.runtime_s is None and None not in (record.start_ms, record.last_ms):
        run.runtime_s, _ = runtime((record.last_ms - record.start_ms) / 1000)
        run.notes.append("runtime is approximate: the time until its last metric")
    if record.deleted:
        run.reason = "was deleted in MLflow"
    run.reason = run.reason or missing
    run.started_at = iso(record.start_ms / 1000) if record.start_ms else ""
    metrics = {name: value for name, value in record.metrics.items() if not name.startswith("system/")}
    run.scores = numbers(metrics, "metric", run.notes)
    run.cost = numbers(_costs(record.peaks), "cost", run.notes)
    run.parts = _places(record)
    # MLflow's monitor watches all GPUs of a machine.
    shares = {match[1]: peak for name, peak in record.peaks.items() if (match := _GPU.fullmatch(name))}
    busy = {gpu for gpu, peak in shares.items() if peak >= BUSY}
    run.devices = float(len(busy)) or None
    add_energy(run, record.power, "MLflow", busy)
    # The part of an MLflow project that was run; "main" for the project itself.
    run.step = (record.source.rpartition("#")[2] if "#" in record.source else "") or record.entry_point
    run.task = record.experiment if run.step else ""
    return run


def _duration(record):
    if record.start_ms is None or record.end_ms is None:
        return None, f"has no {'start' if record.start_ms is None else 'end'} time"
    return runtime((record.end_ms - record.start_ms) / 1000, "end less start")


def _costs(peaks):
    """Return the monitor's decimal megabytes as costs in MiB; other units are left out."""
    return {
        f"cost_{name.removeprefix('system/').removesuffix('_megabytes')}_mib": peak * _MIB_PER_MB
        for name, peak in peaks.items()
        if name.endswith("_megabytes")
    }


def _places(record):
    """Return where the artifacts of a run lie: what other readers find there belongs to it."""
    places = [f"{folder}/{record.experiment_id}/{record.run_id}" for folder in ("mlruns", "mlartifacts")]
    return [record.folder] if record.folder else places
