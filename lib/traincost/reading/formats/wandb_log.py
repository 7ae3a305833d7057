"""W&B's log of a run, ``run-ID.wandb``: blocks of records with checksums, each a message."""

import io
import math
import struct
import zlib
from dataclasses import dataclass, field

from traincost.columns import finite
from traincost.reading.formats import wire
from traincost.reading.formats.files import Unreadable, opened, parse_json
from traincost.reading.formats.power import Samples, is_power
from traincost.reading.formats.run import MAX_DEPTH

MAX_RECORDS = 2_000_000  # of one log
MAX_RECORD_BYTES = 2**24  # a larger one is passed over
MAX_KEYS = 10_000  # of a summary or config


@dataclass(slots=True)
class Log:
    """What is used of a run's log."""

    run_id: str = ""
    started_s: float = 0.0
    config: dict = field(default_factory=dict)
    summary: dict = field(default_factory=dict)
    last_row_s: float = 0.0
    exit_code: int | None = None
    exit_runtime_s: int = 0
    group: str = ""
    earlier_s: int = 0  # runtime of the run before it was resumed, as far as W&B knew it
    host: str = ""
    program: str = ""
    gpu: str = ""
    power: Samples = field(default_factory=Samples)
    problem: str = ""


_MAGIC = b":W&B\xe1\xbe\x00"
_BLOCK = 32768
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
# Fields of a record.
_HISTORY, _SUMMARY, _CONFIG, _STATS, _RUN, _EXIT, _ENVIRONMENT = 2, 3, 5, 7, 17, 18, 26


def read_log(path):
    """Return what the log at `path` says, up to where it is cut or damaged."""
    log = Log()
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
        log.run_id = wire.last_text(run, 1) or log.run_id
        log.group = wire.last_text(run, 6) or log.group
        log.host = wire.last_text(run, 13) or log.host
        log.earlier_s = wire.last(run, 20, int, 0) or log.earlier_s
        for config in wire.inside(run, 4):
            _update(log.config, config, 1)
        for start in wire.inside(run, 17):
            log.started_s = wire.last_time(start)
    for machine in wire.inside(fields, _ENVIRONMENT):
        log.program = wire.last_text(machine, 6) or log.program
        log.host = wire.last_text(machine, 12) or log.host
        log.gpu = wire.last_text(machine, 18) or log.gpu
    for config in wire.inside(fields, _CONFIG):
        _update(log.config, config, 1)
    for summary in wire.inside(fields, _SUMMARY):
        _update(log.summary, summary, 1)
    for sampled in fields.get(_STATS, ()):
        if isinstance(sampled, bytes) and b"powerWatts" in sampled:
            _add_power(log.power, wire.message(sampled))
    for ending in wire.inside(fields, _EXIT):
        log.exit_code = wire.signed(wire.last(ending, 1, int, 0))
        log.exit_runtime_s = wire.last(ending, 2, int, 0)


def _add_power(power, sampled):
    """Take the power of GPUs from what was sampled of the machine at one time."""
    for time in wire.inside(sampled, 2):
        time_s = wire.last_time(time)
        for item in wire.inside(sampled, 3):
            name = wire.last_text(item, 1)
            watts = _item_value(item) if is_power(name) else None
            if finite(watts):
                power.add(name, time_s, watts)


def _update(values, message, number):
    """Set in `values` the items of a message: a key or a path of keys, and JSON."""
    for item in wire.inside(message, number):
        keys = [wire.text(key) for key in item.get(2, ()) if isinstance(key, bytes)]
        keys = keys[:MAX_DEPTH] or [wire.last_text(item, 1)]
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
