"""Sacred's FileStorageObserver: a folder per run with ``run.json``, ``config.json``, ``metrics.json``.

The runtime is stop less start, in UTC without a zone; until the last heartbeat where a run has no stop.
``run.json`` is the name of our own records too: the keys tell them apart.
"""

import os
import time

from traincost.columns import finite
from traincost.reading.formats.by_name import first_of
from traincost.reading.formats.files import Folder, Unreadable, mapping_in, parse_json, read_bytes, shortened
from traincost.reading.formats.run import Run, flat, iso, runtime
from traincost.reading.formats.statuses import COMPLETED, FAILED, KILLED, QUEUED, RUNNING, UNREADABLE
from traincost.reading.formats.table_columns import less, moment

NAME = "sacred"
TITLE = "Sacred runs (run.json, config.json, metrics.json)"
RUN_NAME, CONFIG_NAME, METRICS_NAME, OUTPUT_NAME = "run.json", "config.json", "metrics.json", "cout.txt"
NEEDED = {"experiment", "status", "start_time"}
SILENT_S = 3600  # without a heartbeat: it comes every ten seconds
NAMES, sources = first_of(RUN_NAME, beside=(CONFIG_NAME, OUTPUT_NAME))
_ENDS = {
    "COMPLETED": (COMPLETED, ""),
    "FAILED": (FAILED, "status is FAILED"),
    "DIED": (FAILED, "status is DIED"),
    "INTERRUPTED": (KILLED, "status is INTERRUPTED"),
    "TIMEOUT": (KILLED, "status is TIMEOUT"),
    "QUEUED": (QUEUED, "status is QUEUED"),
}
_HIDDEN = ("__doc__", "__annotations__")


def is_sacred(record):
    """Say whether an object is the record of a run of Sacred's."""
    return isinstance(record, dict) and record.keys() >= NEEDED and "run_id" not in record


def recognises(path):
    """Say whether a ``run.json`` is Sacred's."""
    return is_sacred(mapping_in(path, parse_json, []))


def read(path, run_id):
    """Return the run recorded at `path`; none where the record is not Sacred's."""
    try:
        record = parse_json(read_bytes(path))
    except Unreadable:
        return []
    if not is_sacred(record):
        return []
    folder = Folder(os.path.dirname(path))
    # Each experiment's folder numbers its runs from 1.
    run = Run(run_id, named=False)
    config = folder.mapping(CONFIG_NAME, parse_json, run.notes)
    run.config = flat({k: _plain(v) for k, v in config.items() if k not in _HIDDEN}, run.notes)
    run.scores = _scores(folder, record, run.notes)
    start, stop, beat = (moment(record.get(n)) for n in ("start_time", "stop_time", "heartbeat"))
    run.started_at = iso(start)
    run.runtime_s, reason = runtime(less(stop if stop is not None else beat, start), "stop less start")
    run.end(*_ending(record, stop, beat))
    run.reason = run.reason or reason
    host = record.get("host") if isinstance(record.get("host"), dict) else {}
    run.host = str(host.get("hostname") or "")
    gpus = host["gpus"].get("gpus") if isinstance(host.get("gpus"), dict) else None
    models = (str(gpu.get("model") or "") for gpu in gpus or () if isinstance(gpu, dict))
    run.device = next(models, "")
    experiment = record["experiment"]
    name = experiment.get("name") if isinstance(experiment, dict) else None
    run.report = str(name or os.path.basename(folder.path))
    return [run]


def _ending(record, stop, beat):
    status = str(record["status"])
    if status == "RUNNING":
        if stop is None and beat is not None and time.time() - beat > SILENT_S:
            silent = f"status is RUNNING without a stop, and its last heartbeat was at {iso(beat)}: killed"
            return KILLED, silent
        return RUNNING, "status is RUNNING: at work still, or killed"
    known = (UNREADABLE, f"has the status {shortened(status, 80)!r}, which Sacred does not know")
    status, reason = _ENDS.get(status, known)
    trace = record.get("fail_trace")
    if status == FAILED and isinstance(trace, list) and trace and isinstance(trace[-1], str):
        reason += f" ({shortened(trace[-1].partition(':')[0], 80)})"
    return status, reason


def _plain(value):
    """Return a value without what jsonpickle put around it: a tuple is a list."""
    if isinstance(value, dict):
        if value.keys() == {"py/tuple"}:
            return value["py/tuple"]
        return {k: _plain(v) for k, v in value.items() if not str(k).startswith("py/")}
    return value


def _scores(folder, record, notes):
    """Return the last value of each metric, and the run's result."""
    scores, result = {}, record.get("result")
    for name, series in folder.mapping(METRICS_NAME, parse_json, notes).items():
        values = series.get("values") if isinstance(series, dict) else None
        last = values[-1] if isinstance(values, list) and values else None
        last = last.get("value") if isinstance(last, dict) else last
        if finite(last):
            scores[name] = last
    results = result if isinstance(result, dict) else {"": result}
    for name, value in results.items():
        if finite(value):
            scores[f"result.{name}" if name else "result"] = value
    return scores
