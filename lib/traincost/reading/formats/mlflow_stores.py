"""The two stores of MLflow, as records: a SQLite database, and directories of small files.

MLflow itself is not imported.
"""

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache

from traincost.columns import finite
from traincost.reading.formats import files, sqlite
from traincost.reading.formats.files import Folder, Unreadable, read_bytes, shortened
from traincost.reading.formats.power import Samples, is_power
from traincost.reading.formats.yaml_text import parse_yaml

MAX_ENTRIES = 20_000  # parameters or metrics of one run
MAX_NESTING = 16  # directories of a parameter's name with slashes in it
_NEEDED = {"runs", "experiments", "params", "tags"}  # the tables of metrics came later
_CODES = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_REGISTRY = {"version", "aliases", "current_stage", "model_id", "latest_versions"}
_RUN_ID = re.compile(r"[0-9a-f]{32}")
TAGS = {
    "mlflow.parentRunId": "parent",
    "mlflow.runName": "name",
    "mlflow.source.name": "source",
    "mlflow.project.entryPoint": "entry_point",
}


@dataclass(slots=True)
class Record:
    """One run as a store holds it."""

    run_id: str
    name: str = ""
    experiment: str = ""
    experiment_id: str = ""
    parent: str = ""
    source: str = ""  # what was run
    entry_point: str = ""
    status: str = ""  # in MLflow's words
    start_ms: int | None = None  # since 1970
    end_ms: int | None = None
    last_ms: int | None = None  # of the last metric
    deleted: bool = False
    params: dict = field(default_factory=dict)  # name to text
    metrics: dict = field(default_factory=dict)  # name to the last value
    peaks: dict = field(default_factory=dict)  # of the monitor's metrics (system/…), the largest value
    power: Samples = field(default_factory=Samples)  # of its GPUs, as the monitor sampled it
    folder: str = ""  # below that of the store, in a store of files
    problem: str = ""  # why it cannot be read
    notes: list = field(default_factory=list)


# -- SQLite --------------------------------------------------------------------------------


def sqlite_store(path):
    """Return the records in a SQLite database; none where it is not MLflow's. Raises `Unreadable`."""
    with sqlite.opened(path) as rows:
        return _records(rows) if rows.tables >= _NEEDED else []


def _records(rows):
    found = rows.of("experiments", "SELECT experiment_id, name, lifecycle_stage FROM experiments")
    experiments = {str(key): (str(name), stage) for key, name, stage in found}
    records = {}
    query = "SELECT run_uuid, name, status, start_time, end_time, lifecycle_stage, experiment_id FROM runs"
    for run_id, name, status, start, end, stage, experiment_id in rows.of("runs", query):
        record = Record(str(run_id), str(name or ""), experiment_id=str(experiment_id), status=str(status))
        record.start_ms, record.end_ms = _whole(start), _whole(end)
        record.experiment, kept = experiments.get(record.experiment_id, ("", ""))
        record.deleted = "deleted" in (stage, kept)
        records[record.run_id] = record
    _add_texts(rows, records)
    _add_metrics(rows, records)
    return list(records.values())


def _add_texts(rows, records):
    for record, key, value in _of(rows, records, "params", "key, value"):
        _set(record.params, str(key), str(value), record.notes)
    wanted = ", ".join(f"'{name}'" for name in TAGS)
    for record, key, value in _of(rows, records, "tags", "key, value", f"WHERE key IN ({wanted})"):
        setattr(record, TAGS[key], str(value or ""))


def _add_metrics(rows, records):
    for record, key, value, is_nan, at in _of(
        rows, records, "latest_metrics", "key, value, is_nan, timestamp"
    ):
        _set(record.metrics, str(key), None if is_nan else value, record.notes)
        record.last_ms = max(record.last_ms or 0, _whole(at) or 0) or None
    monitored = "WHERE key >= 'system/' AND key < 'system0' AND is_nan = 0"
    largest = f"{monitored} GROUP BY key, run_uuid"
    for record, key, value in _of(rows, records, "metrics", "key, MAX(value)", largest):
        if finite(value):
            _set(record.peaks, str(key), value, record.notes)
    power = f"{monitored} AND key LIKE '%_power_usage_watts'"
    for record, key, value, at in _of(rows, records, "metrics", "key, value, timestamp", power):
        if finite(value) and finite(at):
            record.power.add(str(key), at / 1000, value)


def _of(rows, records, table, columns, condition=""):
    """Yield the record of each row of a table that is of one, and the row's columns."""
    for run_id, *values in rows.of(table, f"SELECT run_uuid, {columns} FROM {table} {condition}"):
        if run_id in records:
            yield records[run_id], *values


def _set(mapping, name, value, notes):
    if len(mapping) < MAX_ENTRIES:
        mapping[name] = value
    elif not any("beyond the first" in note for note in notes):
        notes.append(f"parameters or metrics beyond the first {MAX_ENTRIES} are left out")


def _whole(value):
    """Return milliseconds as a whole number, or None where they are none."""
    return int(value) if finite(value) and abs(value) < 2**62 else None


# -- files ---------------------------------------------------------------------------------


def stored_files(path):
    """Return the records that a ``meta.yaml`` describes: those of an experiment, or of one run.

    A run in an experiment is read with the experiment, where its parent and its children are.
    """
    folder = Folder(os.path.dirname(path))
    name = os.path.basename(folder.path)
    is_named_run = bool(_RUN_ID.fullmatch(name))
    if is_named_run and _in_experiment(folder.path):
        return []
    run_ids = folder.like(_RUN_ID)
    try:
        meta = _meta(path)
    except Unreadable as problem:
        if not run_ids:
            return [Record(name, problem=str(problem))] if is_named_run else []
        meta = {"experiment_id": name}
    if _is_run(meta):
        return [] if _in_experiment(folder.path) else [_file_record(folder.path, {})]
    if "experiment_id" not in meta:
        return []
    records = [_file_record(folder.of(run_id), meta) for run_id in run_ids]
    for record, run_id in zip(records, run_ids, strict=True):
        record.folder = run_id
    return records


def _meta(path):
    meta = parse_yaml(read_bytes(path))
    return meta if isinstance(meta, dict) else {}


def _is_run(meta):
    """Say whether a description is a run's; the version of a registered model names one too."""
    return ("run_id" in meta or "run_uuid" in meta) and not _REGISTRY & meta.keys()


def _in_experiment(folder):
    """Say whether the folder around one describes an experiment; a store asks this for each of its runs."""
    try:
        return _is_experiment(read_bytes(os.path.join(os.path.dirname(folder), "meta.yaml")))
    except Unreadable:
        return False


@lru_cache(maxsize=64)
def _is_experiment(content):
    meta = parse_yaml(content)
    return isinstance(meta, dict) and "experiment_id" in meta and not _is_run(meta)


def _file_record(folder, experiment):
    record = Record(os.path.basename(folder))
    record.experiment = str(experiment.get("name") or "")
    record.experiment_id = str(experiment.get("experiment_id", ""))
    try:
        meta = _meta(os.path.join(folder, "meta.yaml"))
    except Unreadable as problem:
        record.problem = f"meta.yaml {problem}"
        return record
    if not _is_run(meta):
        record.problem = "meta.yaml describes no run"
        return record
    if not _RUN_ID.fullmatch(record.run_id):  # a copy under another name
        record.run_id = str(meta.get("run_id") or meta.get("run_uuid"))
    status = meta.get("status")
    record.status = _CODES.get(status, str(status)) if isinstance(status, int | str) else ""
    record.start_ms, record.end_ms = _whole(meta.get("start_time")), _whole(meta.get("end_time"))
    record.deleted = "deleted" in (meta.get("lifecycle_stage"), experiment.get("lifecycle_stage"))
    for tag, value in _texts(os.path.join(folder, "tags"), record.notes, wanted=TAGS).items():
        setattr(record, TAGS[tag], value)
    record.name = record.name or str(meta.get("run_name") or meta.get("name") or "")
    record.params = _texts(os.path.join(folder, "params"), record.notes)
    _add_file_metrics(record, os.path.join(folder, "metrics"))
    return record


def _texts(folder, notes, wanted=None):
    """Return the text of each file below a folder; a slash in a name made folders of it."""
    found = _contents(folder, notes, wanted)
    return {name: content.decode("utf-8", "replace").removesuffix("\n") for name, content in found}


def _contents(folder, notes, wanted=None):
    """Yield name and content of the files below a folder, `MAX_ENTRIES` of them at most."""
    pending, n_read = [("", 0)], 0
    while pending:
        prefix, depth = pending.pop()
        for entry in files.names(os.path.join(folder, prefix)):
            name = prefix + entry
            if wanted is not None and name not in wanted:
                continue
            n_read += 1
            if n_read > MAX_ENTRIES:
                notes.append(f"parameters or metrics beyond the first {MAX_ENTRIES} are left out")
                return
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                if depth < MAX_NESTING:
                    pending.append((f"{name}/", depth + 1))
                continue
            try:
                yield name, read_bytes(path)
            except Unreadable as problem:
                notes.append(f"{os.path.basename(folder)}/{shortened(name, 80)} {problem}: left out")


def _add_file_metrics(record, folder):
    """Take from each file of ``timestamp value step`` lines the last step's value."""
    for name, content in _contents(folder, record.notes):
        latest, peak, sampled = None, None, is_power(name)
        for line in content.splitlines():
            point = _point(line)
            if point is None:
                continue
            step, timestamp, value = point
            record.last_ms = max(record.last_ms or 0, timestamp) or None
            latest = point if latest is None or (step, timestamp) >= latest[:2] else latest
            peak = value if finite(value) and (peak is None or value > peak) else peak
            if sampled and finite(value):
                record.power.add(name, timestamp / 1000, value)
        if latest is None:
            record.notes.append(f"metrics/{shortened(name, 80)} holds no value: left out")
            continue
        record.metrics[name] = latest[2] if finite(latest[2]) else None
        if name.startswith("system/") and peak is not None:
            record.peaks[name] = peak


def _point(line):
    """Return (step, timestamp, value) of a line, or None where it is cut or damaged."""
    words = line.split()
    try:
        timestamp, value = int(words[0]), float(words[1])
        step = int(words[2]) if len(words) > 2 else 0
    except (IndexError, ValueError):
        return None
    return (step, timestamp, value) if 0 <= timestamp < 2**62 else None
