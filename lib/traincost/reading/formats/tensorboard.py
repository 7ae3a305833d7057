"""TensorBoard: the event files of a run, and the hyper-parameters in them.

A file is a sequence of records, each with its length and checksums; a record is an ``Event``
message, of which the wall time, scalars and the data of the plugin ``hparams`` are used. They
are walked by `tfrecords`: TensorBoard's own reader reads a cut file without a word, and a record of any
size into memory.

Event files know neither when a run began nor whether it ended; without a session of hyper-parameters
its end is not recorded. A run is taken to be killed where
its last event is cut, where a session of hyper-parameters has no end, or where it has no such
session but most runs beside it have: `SummaryWriter.add_hparams` comes at the end. The runtime
is the time that the files cover: the union of the spans from first to last event of each, so
that the pause before a run was resumed does not count, and two writers at once count once. The
notes say so.

A run is a directory. Belong to it the directories in it that one `SummaryWriter` makes: for
hyper-parameters (``1700000000.123``) and for several scalars in one chart (``loss_train``), and
those of one training's parts (`ROLES`).
"""

import math
import os
import re
import struct
from array import array
from dataclasses import dataclass, field

from traincost.reading.formats import clocks, files, tfrecords, wire
from traincost.reading.formats.files import Unreadable, opened
from traincost.reading.formats.run import Run, flat, iso, runtime, without_identity
from traincost.reading.formats.statuses import (
    COMPLETED,
    FAILED,
    FILES,
    KILLED,
    NOT_RECORDED,
    OWN_RECORD,
    UNKNOWN,
    UNREADABLE,
)

NAME = "tensorboard"
TITLE = "TensorBoard event files (events.out.tfevents.*)"
ROLES = ("train", "validation", "val", "eval", "test")  # directories of one run's parts
MAX_EVENTS = 2_000_000  # of one file
MAX_TAGS = 10_000  # of one run
MAX_FILES = 1_000  # of one run
MAX_SIBLINGS = 50  # runs beside one that are looked at
_MARK = ".tfevents."
_SESSION = re.compile(r"\d{9,11}\.\d+")  # what SummaryWriter.add_hparams calls its directory
_EARLIEST_S = 1e8  # 1973: a clock that never got beyond is none
_NOTE = "runtime is approximate: from the first event to the last of its files"
_TOO_MANY = f"scalars beyond the first {MAX_TAGS} are left out"
_FAILURE = 2  # how a session of the hparams plugin ended
NAMES = re.compile(rf".*{re.escape(_MARK)}.*", re.DOTALL)


def sources(directory, names):
    """Return the first event file of a directory: it stands for all of them."""
    return [name for name in names if _MARK in name][:1]


def read(path, run_id):
    """Return the run whose event files lie beside `path`; none where it is part of another's."""
    folder = os.path.dirname(path)
    home = _home(folder)
    if home is None:
        return []
    events = _gathered(home)
    run = Run(run_id if home == folder else os.path.dirname(run_id) or run_id, named=False)
    run.runtime_s, reason = _active(events)
    run.started_at = iso(min(span[0] for span in events.spans)) if events.spans else ""
    run.notes += events.notes
    config = flat(events.hparams, run.notes)
    run.config = without_identity(config, "", events.spans[0][0] if events.spans else None, run.notes)
    run.scores = {tag: value for tag, (_, value) in events.scalars.items() if math.isfinite(value)}
    run.end(*_ending(events, reason))
    if not run.reason and not events.sessions and _others_have_sessions(home):
        run.status, run.evidence = KILLED, FILES
        run.reason = "has no hyper-parameters, as runs beside it log at their end: killed, or at work still"
    if run.runtime_s:
        run.notes.append(_NOTE)
    return [run]


# -- a run's events ------------------------------------------------------------------------


@dataclass(slots=True)
class _Events:
    """What one or more event files hold."""

    spans: list = field(default_factory=list)  # (first, last) wall time of each file
    n_points: int = 0  # events with data, those of the hparams plugin aside
    scalars: dict = field(default_factory=dict)  # tag to (wall time, value)
    hparams: dict = field(default_factory=dict)
    sessions: int = 0
    endings: list = field(default_factory=list)
    problem: str = ""  # of the file with the last event
    unreadable: bool = False
    notes: list = field(default_factory=list)

    def add(self, other):
        """Add the events of another file."""
        for tag, point in other.scalars.items():
            if tag not in self.scalars and len(self.scalars) >= MAX_TAGS:
                self.notes += [_TOO_MANY] if _TOO_MANY not in self.notes else []
            elif point[0] >= self.scalars.get(tag, point)[0]:
                self.scalars[tag] = point
        self.hparams.update(other.hparams)
        self.spans += other.spans
        self.n_points += other.n_points
        self.sessions += other.sessions
        self.endings += other.endings
        self.notes += other.notes


def _active(events):
    if not events.spans:
        return None, events.problem or "holds no event with a time"
    if events.n_points < 2:
        return None, "its event files hold fewer than two points: they have no duration"
    return runtime(_union_s(events.spans), "the time from first to last event")


def _union_s(spans):
    """Return the length of the union of intervals.

    >>> _union_s([(0, 2), (1, 3), (10, 11)])
    4.0
    """
    total, reached = 0.0, -math.inf
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, reached))
        reached = max(reached, last)
    return total


def _ending(events, reason):
    """Return status, reason and evidence of a run, by what its files say of its end."""
    if events.unreadable:
        return UNREADABLE, events.problem
    if events.problem:
        return KILLED, events.problem, FILES
    if _FAILURE in events.endings:
        return FAILED, "its hparams session ended with a failure"
    if events.sessions > len(events.endings):
        return KILLED, "its hparams session has no end: killed, or at work still", FILES
    return (COMPLETED, reason, OWN_RECORD) if events.endings else (UNKNOWN, reason, NOT_RECORDED)


def _gathered(home):
    """Return the events of a run's directory and of those in it that are parts of it."""
    folders = [home, *_members(home)]
    paths = [os.path.join(folder, name) for folder in folders for name in _event_files(folder)]
    is_cut = len(paths) > MAX_FILES
    found, notes = [], [f"event files beyond the first {MAX_FILES} are left out"] if is_cut else []
    for path in paths[:MAX_FILES]:
        events = _events(path)
        _rename(events, os.path.relpath(os.path.dirname(path), home))
        if events.problem:
            notes.append(f"{os.path.relpath(path, home)} {events.problem}")
        found.append(events)
    found.sort(key=lambda events: max((last for _, last in events.spans), default=-math.inf))
    whole = _Events(notes=notes)
    for events in found:
        whole.add(events)
    if found:
        whole.problem, whole.unreadable = found[-1].problem, found[-1].unreadable
    return whole


def _rename(events, part):
    """Tell the scalars of a part of a run from those of its other parts, as TensorBoard does."""
    if part in ROLES:
        events.scalars = {f"{part}/{tag}": point for tag, point in events.scalars.items()}
    elif part != "." and not events.sessions:
        # A directory for one series, which is named after it; what is left of a broken one may be more.
        alone = len(events.scalars) == 1
        events.scalars = {part if alone else f"{part}/{tag}": p for tag, p in events.scalars.items()}


def _event_files(folder):
    return [name for name in files.names(folder) if _MARK in name]


# -- which directories are one run ---------------------------------------------------------


def _home(folder):
    """Return the directory of the run that the events in `folder` belong to.

    None where another directory's file stands for it.
    """
    parent, name = os.path.split(folder)
    if _event_files(parent) and _is_member(parent, name):
        return None
    if name in ROLES:
        roles = [role for role in ROLES if _event_files(os.path.join(parent, role))]
        if len(roles) > 1:
            return parent if roles[0] == name else None
    return folder


def _members(home):
    """Return the directories in a run's directory that are parts of the run."""
    if not _event_files(home):
        return [os.path.join(home, role) for role in ROLES if _event_files(os.path.join(home, role))]
    return [os.path.join(home, name) for name in files.names(home) if _is_member(home, name)]


def _others_have_sessions(home):
    """Say whether most runs beside this one have a directory of hyper-parameters, by the names."""
    around, own = os.path.split(home)
    n_others = n_ended = 0
    for name in files.names(around):
        inside = files.names(os.path.join(around, name)) if name != own else []
        if any(_MARK in entry for entry in inside):
            n_others += 1
            n_ended += any(_SESSION.fullmatch(entry) for entry in inside)
        if n_others == MAX_SIBLINGS:
            break
    return n_others >= 2 and n_ended > n_others / 2


def _is_member(home, name):
    """Say whether a directory beside event files was made by the same run."""
    if not (name in ROLES or _SESSION.fullmatch(name) or "_" in name):
        return False
    folder = os.path.join(home, name)
    own = _event_files(folder)
    if not own or name in ROLES:
        return bool(own)
    events = _events(os.path.join(folder, own[0]))
    if _SESSION.fullmatch(name):
        return bool(events.sessions)
    # add_scalars: one tag, with which the directory's name begins.
    return len(events.scalars) == 1 and name.startswith(next(iter(events.scalars)).replace("/", "_") + "_")


# -- files ---------------------------------------------------------------------------------


def _events(path):
    """Return what one event file holds, up to where it is cut or damaged."""
    events, times, steps = _Events(), array("d"), array("q")
    try:
        with opened(path, limit_mib=math.inf) as file:
            for n_read, record in enumerate(tfrecords.records(file)):
                if n_read >= MAX_EVENTS:
                    raise Unreadable(f"holds more than {MAX_EVENTS} events")
                wall_s, step = _add(events, record)
                if wall_s is not None:
                    times.append(wall_s)
                    steps.append(step)
            if not times:
                events.problem = "holds no event: killed before the first was written"
    except tfrecords.Cut as problem:
        events.problem = str(problem)
    except Unreadable as problem:
        events.problem, events.unreadable = str(problem), True
    if times and max(times) > _EARLIEST_S:
        written = clocks.active(times, steps)
        events.spans = written.spans
        events.notes += written.notes
    return events


def _add(events, record):
    """Add one ``Event`` message; return its wall time, None where it has no clock time, and its step."""
    plain = _plain(record)
    if plain is not None:
        wall_s, step, tag, number = plain
        events.n_points += 1
        _set_scalar(events, tag, number, wall_s)
        return (wall_s if 0 < wall_s < 1e11 else None), step
    event = wire.message(record)
    wall_s = wire.double(wire.last(event, 1, bytes))
    for summary in wire.inside(event, 5):
        values = wire.inside(summary, 1)
        hparams = [content for value in values for content in _hparams(value)]
        for content in hparams:
            _add_hparams(events, content)
        events.n_points += len(values) > len(hparams)
        for value in values:
            _add_scalar(events, value, wall_s or 0.0)
    step = wire.last(event, 2, int, 0)
    return wall_s if wall_s is not None and 0 < wall_s < 1e11 else None, step if step < 2**62 else 0


def _plain(record):
    """Return (wall time, step, tag, number) of an event that is one plain scalar, as most are; else None.

    Wall time, step, and a summary of one value: its tag, and a float of 32 bits.
    """
    try:
        if record[0] != 0x09:
            return None
        step, at = _varint(record, 10) if record[9] == 0x10 else (0, 9)
        if record[at] != 0x2A:
            return None
        _, at = _varint(record, at + 1)
        if record[at] != 0x0A:
            return None
        length, at = _varint(record, at + 1)
        if at + length != len(record) or record[at] != 0x0A:
            return None
        length, at = _varint(record, at + 1)
        after = at + length
        if after + 5 != len(record) or record[after] != 0x15:
            return None
        tag = record[at:after].decode("utf-8", "replace")
        return _DOUBLE(record, 1)[0], step, tag, _SINGLE(record, after + 1)[0]
    except (IndexError, struct.error):
        return None


_DOUBLE, _SINGLE = struct.Struct("<d").unpack_from, struct.Struct("<f").unpack_from


def _varint(record, at):
    """Return a number of up to four bytes, and where it ends; a longer one ends the quick way."""
    byte = record[at]
    if byte < 128:
        return byte, at + 1
    value, shift = byte & 127, 7
    while shift < 28:
        at += 1
        byte = record[at]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at + 1
        shift += 7
    raise IndexError


def _add_scalar(events, value, wall_s):
    number = wire.single(wire.last(value, 2, bytes))
    if number is None:
        number = _scalar_tensor(wire.last_message(value, 8))
    if number is not None:
        _set_scalar(events, wire.last_text(value, 1), number, wall_s)


def _set_scalar(events, tag, number, wall_s):
    if tag in events.scalars or len(events.scalars) < MAX_TAGS:
        events.scalars[tag] = (wall_s, number)
    elif _TOO_MANY not in events.notes:
        events.notes.append(_TOO_MANY)


def _scalar_tensor(tensor):
    """Return the number of a float or double without dimensions, or None."""
    kind, content = wire.last(tensor, 1, int), wire.last(tensor, 4, bytes)
    if kind not in (1, 2) or wire.last_message(tensor, 2).get(2):
        return None
    if kind == 1:
        return wire.single(content or wire.last(tensor, 5, bytes))
    return wire.double(content or wire.last(tensor, 6, bytes))


def _hparams(value):
    """Return the hparams plugin's messages in one value of a summary: one or none."""
    plugins = wire.inside(wire.last_message(value, 9), 1)
    return [wire.last_message(plugin, 2) for plugin in plugins if wire.last(plugin, 1, bytes) == b"hparams"]


def _add_hparams(events, content):
    for session in wire.inside(content, 3):
        events.sessions += 1
        for entry in wire.inside(session, 1):
            events.hparams[wire.last_text(entry, 1)] = _value(wire.last_message(entry, 2))
    for ending in wire.inside(content, 4):
        events.endings.append(wire.last(ending, 1, int, 0))


def _value(value):
    """Return a ``google.protobuf.Value`` that is a number, a text or a truth value; else None."""
    number = wire.double(wire.last(value, 2, bytes))
    if number is not None:
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    text = wire.last(value, 3, bytes)
    if text is not None:
        return wire.text(text)
    truth = wire.last(value, 4, int)
    return None if truth is None else bool(truth)
