"""Weights & Biases' local directories, online and offline.

Online a run's directory holds ``files/config.yaml`` and ``files/wandb-summary.json``; offline
there is only ``run-ID.wandb``: blocks of records with checksums, as in a LevelDB log, each a
message with the settings, the summary, or the exit of the run. That log is read where there is
one, because it alone says whether the run came to its end.

The runtime is W&B's own (``_wandb.runtime``, whole seconds); where that is missing or zero, the
time until the last row that was logged (``_runtime``). The run's id is W&B's.
"""

import io
import math
import os
import re
import struct
import zlib
from dataclasses import dataclass, field
from datetime import datetime

from traincost.columns import finite
from traincost.reading.formats import files, wire
from traincost.reading.formats.files import Unreadable, mapping_in, opened, parse_json, read_bytes, shortened
from traincost.reading.formats.run import MAX_DEPTH, Run, flat, iso, runtime, without_identity
from traincost.reading.formats.statuses import COMPLETED, FAILED, KILLED
from traincost.reading.formats.yaml_text import parse_yaml

NAME = "wandb"
TITLE = "Weights & Biases runs (wandb/)"
CONFIG_NAME, SUMMARY_NAME, METADATA_NAME = "config.yaml", "wandb-summary.json", "wandb-metadata.json"
MAX_RECORDS = 2_000_000  # of one log
MAX_RECORD_BYTES = 2**24  # a larger one is passed over
MAX_KEYS = 10_000  # of a summary or config
_LOG = re.compile(r"run-(.+)\.wandb")
_FOLDER = re.compile(r"(?:offline-)?run-(\d{8}_\d{6})-(.+)")
_LATEST = "latest-run"
_BOOKKEEPING = ("_wandb", "wandb_version")
_ENDED_BADLY = ("failed", "crashed", "killed", "preempted")
NAMES = re.compile("|".join([_LOG.pattern, *map(re.escape, (CONFIG_NAME, SUMMARY_NAME, METADATA_NAME))]))


def sources(directory, names):
    """Return a run's logs, or in the directory of its files the one that stands for them."""
    logs = [name for name in names if _LOG.fullmatch(name)]
    in_run = os.path.basename(directory) == "files" and _FOLDER.fullmatch(
        os.path.basename(os.path.dirname(directory))
    )
    candidates = (SUMMARY_NAME, METADATA_NAME, CONFIG_NAME) if in_run else (SUMMARY_NAME, METADATA_NAME)
    return logs + [name for name in candidates if name in names][:1]


def read(path, run_id):
    """Return the one run that has `path` among its files."""
    folder, name = os.path.split(path)
    if _LOG.fullmatch(name):
        alone = len([other for other in files.names(folder) if _LOG.fullmatch(other)]) == 1
        place = _Place(folder, path, os.path.join(folder, "files") if alone else "")
        parts = ["."] if alone else []
    elif os.path.basename(folder) == "files":
        home = os.path.dirname(folder)
        logs = [other for other in files.names(home) if _LOG.fullmatch(other)]
        place = _Place(home, os.path.join(home, logs[0]) if len(logs) == 1 else "", folder)
        parts = [".."]
    else:
        place, parts = _Place(folder, "", folder), ["."]
    run = _run(place, run_id)
    run.parts = parts
    return [run]


@dataclass(frozen=True)
class _Place:
    """Where a run's files lie; empty where it has no such."""

    home: str
    log: str
    files: str


# -- a run ---------------------------------------------------------------------------------


def _run(place, run_id):
    log = _log(place.log) if place.log else None
    own_id = _own_id(place, log)
    run = Run(own_id or run_id, named=bool(own_id))
    config, bookkeeping = _config(place, log, run.notes)
    summary = _json(place, SUMMARY_NAME, run.notes) or (log.summary if log else {})
    metadata = _json(place, METADATA_NAME, [])
    started_s = log.started_s if log and log.started_s else bookkeeping.get("start_time")
    started_s = float(started_s) if finite(started_s) else None
    run.config = without_identity(flat(config, run.notes), own_id, started_s, run.notes)
    run.started_at = iso(started_s) or _local_start(place)
    run.scores = _scores(summary)
    run.runtime_s, reason = _runtime(summary, log, run.notes)
    run.status, run.reason = _ending(log, summary, metadata)
    run.reason = run.reason or reason
    twin = _twin(place, own_id)
    if twin:
        run.status, run.reason = "duplicate", f"is a copy of {twin}"
    return run


def _own_id(place, log):
    """Return W&B's id of the run: from its log, or its directory's name; a link's target's."""
    if log and log.run_id:
        return log.run_id
    name = _LOG.fullmatch(os.path.basename(place.log))
    folder = _FOLDER.fullmatch(os.path.basename(os.path.realpath(place.home)))
    return name[1] if name else folder[2] if folder else ""


def _local_start(place):
    """Return the start in the directory's name, which has the machine's own time and no zone."""
    folder = _FOLDER.fullmatch(os.path.basename(os.path.realpath(place.home)))
    try:
        return datetime.strptime(folder[1], "%Y%m%d_%H%M%S").isoformat() if folder else ""
    except ValueError:
        return ""


def _config(place, log, notes):
    """Return the settings, and W&B's own entry among them."""
    config = log.config if log else {}
    path = os.path.join(place.files, CONFIG_NAME)
    if place.files and CONFIG_NAME in files.names(place.files):
        try:
            content = parse_yaml(read_bytes(path))
        except Unreadable as problem:
            notes.append(f"{CONFIG_NAME} {problem}" + ("" if log else ": the settings are unknown"))
        else:
            # Each entry is {desc, value}; a bare value is taken as it stands.
            config = {
                key: entry["value"] if isinstance(entry, dict) and "value" in entry else entry
                for key, entry in (content.items() if isinstance(content, dict) else ())
            }
    elif not log:
        notes.append(f"has no {CONFIG_NAME}: the settings are unknown")
    bookkeeping = config.get("_wandb")
    settings = {key: value for key, value in config.items() if key not in _BOOKKEEPING}
    return settings, bookkeeping if isinstance(bookkeeping, dict) else {}


def _json(place, name, notes):
    """Return the object in a JSON file among the run's files; empty where there is none."""
    if not place.files or name not in files.names(place.files):
        return {}
    return mapping_in(os.path.join(place.files, name), parse_json, notes)


def _runtime(summary, log, notes):
    own = summary.get("_wandb")
    whole = own.get("runtime") if isinstance(own, dict) else None
    if log and log.exit_runtime_s:
        whole = log.exit_runtime_s
    if finite(whole) and whole > 0:
        return runtime(whole, "_wandb.runtime")
    last = log.last_row_s if log and log.last_row_s else summary.get("_runtime")
    if last is None:
        return runtime(whole, "_wandb.runtime")
    notes.append("runtime is approximate: the time until the last row that was logged")
    return runtime(last, "_runtime")


def _ending(log, summary, metadata):
    """Return status and reason; the metadata of a run that ended often says "running"."""
    if log:
        if log.problem:
            return KILLED, log.problem
        if log.exit_code is None:
            return KILLED, "its log has no exit record: killed, or at work still"
        if log.exit_code:
            return FAILED, f"ended with exit code {log.exit_code}"
        return COMPLETED, ""
    state, code = metadata.get("state"), metadata.get("exitcode")
    if state in _ENDED_BADLY:
        return KILLED if state == "killed" else FAILED, f"its metadata says {state}"
    if isinstance(code, int) and code:
        return FAILED, f"ended with exit code {shortened(code, 20)}"
    if not summary:
        return KILLED, f"has no {SUMMARY_NAME} that can be read: killed, or at work still"
    return COMPLETED, ""


def _scores(summary):
    """Return the finite numbers of a summary by their dotted paths; media and W&B's own aside."""
    notes = []
    own = {key: value for key, value in summary.items() if not key.startswith("_")}
    shown = {k: v for k, v in own.items() if not (isinstance(v, dict) and "_type" in v)}
    return {name: value for name, value in flat(shown, notes).items() if finite(value)}


def _twin(place, own_id):
    """Return the name of the directory that ``latest-run`` is a copy of, or empty text."""
    if os.path.basename(place.home) != _LATEST or os.path.islink(place.home):
        return ""
    around = os.path.dirname(place.home)
    for name in files.names(around):
        folder = _FOLDER.fullmatch(name)
        if folder and (own_id == folder[2] if own_id else _same(place.files, around, name)):
            return name
    return ""


def _same(own, around, name):
    """Say whether the settings and summary in two directories are equal to the byte."""
    other = os.path.join(around, name, "files")
    for file in (SUMMARY_NAME, CONFIG_NAME):
        try:
            if read_bytes(os.path.join(own, file)) != read_bytes(os.path.join(other, file)):
                return False
        except Unreadable:
            return False
    return True


# -- the log -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Log:
    """What is used of a run's log."""

    run_id: str = ""
    started_s: float = 0.0
    config: dict = field(default_factory=dict)
    summary: dict = field(default_factory=dict)
    last_row_s: float = 0.0
    exit_code: int | None = None
    exit_runtime_s: int = 0
    problem: str = ""


_MAGIC = b":W&B\xe1\xbe\x00"
_BLOCK = 32768
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _SUMMARY, _CONFIG, _RUN, _EXIT = 2, 3, 5, 17, 18  # fields of a record


def _log(path):
    """Return what the log at `path` says, up to where it is cut or damaged."""
    log = _Log()
    try:
        with opened(path, limit_mib=math.inf) as file:
            history = None
            for n_read, record in enumerate(_records(io.BufferedReader(file, 2**18))):
                if n_read >= MAX_RECORDS:
                    raise Unreadable(f"holds more than {MAX_RECORDS} records")
                fields = wire.message(record)
                history = wire.last(fields, _HISTORY, bytes, history)
                _add(log, fields)
        if history is not None:
            row = {}
            _update(row, wire.message(history), 1)
            log.last_row_s = row["_runtime"] if finite(row.get("_runtime")) else 0.0
    except Unreadable as problem:
        log.problem = f"its log {problem}"
    return log


def _add(log, fields):
    for run in wire.inside(fields, _RUN):
        log.run_id = wire.text(wire.last(run, 1, bytes, b"")) or log.run_id
        for config in wire.inside(run, 4):
            _update(log.config, config, 1)
        for start in wire.inside(run, 17):
            log.started_s = wire.last(start, 1, int, 0) + wire.last(start, 2, int, 0) / 1e9
    for config in wire.inside(fields, _CONFIG):
        _update(log.config, config, 1)
    for summary in wire.inside(fields, _SUMMARY):
        _update(log.summary, summary, 1)
    for ending in wire.inside(fields, _EXIT):
        log.exit_code = wire.signed(wire.last(ending, 1, int, 0))
        log.exit_runtime_s = wire.last(ending, 2, int, 0)


def _update(values, message, number):
    """Set in `values` the items of a message: a key or a path of keys, and JSON."""
    for item in wire.inside(message, number):
        keys = [wire.text(key) for key in item.get(2, ()) if isinstance(key, bytes)]
        keys = keys[:MAX_DEPTH] or [wire.text(wire.last(item, 1, bytes, b""))]
        place = values
        for key in keys[:-1]:
            inner = place.get(key)
            place[key] = place = inner if isinstance(inner, dict) else {}
        if keys[-1] in place or len(place) < MAX_KEYS:
            place[keys[-1]] = _item_value(item)


def _item_value(item):
    """Return the value of an item: JSON, or the typed fields of a history's items."""
    encoded = wire.last(item, 16, bytes, wire.last(item, 8, bytes))
    if encoded is not None:
        try:
            return parse_json(encoded)
        except Unreadable:
            return wire.text(encoded)
    number = wire.last(item, 5, int)
    if number is not None:  # zigzag
        return number >> 1 ^ -(number & 1)
    return wire.double(wire.last(item, 6, bytes))


def _records(file):
    """Yield the records of a log, put together from the pieces in its blocks.

    A piece is a checksum of type and data (4 bytes), the length (2), the type (1) and the data;
    none begins where fewer than 7 bytes of a block are left.
    """
    if (head := file.read(len(_MAGIC))) != _MAGIC:
        raise Unreadable("does not begin as W&B's do" if len(head) == len(_MAGIC) else "is cut short")
    at, pieces, size = len(_MAGIC), [], 0
    while True:
        left = _BLOCK - at % _BLOCK
        if left < 7:
            file.read(left)
            at += left
            continue
        header = file.read(7)
        if not header:
            if pieces:
                raise Unreadable("ends within a record: killed, or copied in part")
            return
        kind, data = _piece(file, header, at)
        at += 7 + len(data)
        if kind in (_FULL, _FIRST):
            pieces, size = [], 0
        size += len(data)
        pieces += [data] if size <= MAX_RECORD_BYTES else []
        if kind in (_FULL, _LAST):
            if size <= MAX_RECORD_BYTES:
                yield b"".join(pieces)
            pieces = []


def _piece(file, header, at):
    if len(header) == 7:
        check, length, kind = struct.unpack("<IHB", header)
        data = file.read(length)
        if len(data) == length:
            known = kind in (_FULL, _FIRST, _MIDDLE, _LAST)
            if not known or check != zlib.crc32(data, zlib.crc32(bytes([kind]))):
                raise Unreadable(f"is damaged at byte {at}")
            return kind, data
    raise Unreadable("ends within a record: killed, or copied in part")
