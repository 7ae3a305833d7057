"""What a reader returns for each run, and how it gets there: settings flattened, numbers checked."""

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from traincost.columns import column, finite
from traincost.reading.formats.files import shortened
from traincost.reading.formats.statuses import COMPLETED, OWN_RECORD

MAX_DEPTH = 32  # of settings; a deeper part is one level, written as JSON
MAX_FIELDS = 2_000  # settings of one run
# The repr of an object: its address differs in every run, and would make each a level of its own.
_OBJECT = re.compile(r"<(?:function )?([\w.<>]+?)(?: object)? at 0x[0-9a-fA-F]+>")
_AT = " at 0x"
# `json.dumps` would make an encoder at each call.
_FINITE_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
# A date with a time of day: 2026-01-02T03:04:05, 2026-01-02 03-04, 20260102_030405.
_MOMENT = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_]?(0[1-9]|1[0-2])[-_]?(0[1-9]|[12]\d|3[01])"
    r"[-T_ ]?(?:[01]\d|2[0-3])[-:_h]?[0-5]\d(?:[-:_m]?[0-5]\d)?(?!\d)"
)
_EPOCH = re.compile(r"(\d{10})(?:\.\d*|\d{3}|\d{6}|\d{9})?")  # in s, ms, µs or ns
_NEAR_S = 7 * 86400  # a time this close to the run's start is that of the run
_MIN_ID = 6  # characters of an id that is sought in a text


@dataclass(slots=True)
class Run:
    """One training of one configuration with one seed, as a reader returns it."""

    run_id: str
    status: str = COMPLETED  # one of those in `statuses`
    started_at: str = ""  # ISO 8601, or empty
    runtime_s: float | None = None  # wall-clock time; positive and finite where the run is usable
    config: dict = field(default_factory=dict)  # dotted path to number or text (`flat`)
    sections: dict = field(
        default_factory=dict
    )  # path to (seconds, count); the count is None where not known
    # Where the tool tells, section path to (first_s, min_s, max_s, synchronised): seconds of the first
    # occurrence, of the shortest and of the longest, and whether the clock waited for the device; None
    # where not known.
    extents: dict = field(default_factory=dict)
    cost: dict = field(default_factory=dict)  # column name to finite number, as `scores`
    scores: dict = field(default_factory=dict)
    compute: dict = field(default_factory=dict)  # the record's compute block, as it stands
    task: str = ""  # name of the experiment, where the tool has such
    report: str = ""  # and of the directory that reports it
    # Paths below the source's directory, "/" between their names, that were read as parts of this run:
    # they are no runs of their own.
    parts: list = field(default_factory=list)
    process: str = ""  # equal for runs that one process trained one after another; empty for one of its own
    # Whether `run_id` is the tool's own name for the run; else it is its path, and a run that equals
    # another in all that was measured is taken for a copy.
    named: bool = True
    fingerprint: str = ""  # what only copies of a run share, where the format has such
    notes: list = field(default_factory=list)  # what was dropped from the run, and why
    reason: str = ""  # why the run cannot be used; empty where it can
    evidence: str = OWN_RECORD  # how `status` is known: one of `statuses.EVIDENCE`
    devices: float | None = None  # accelerators that the run used, where that is recorded
    device: str = ""  # their type
    host: str = ""  # the machine; it is published as "host 1"
    job: str = ""  # equal for the processes of one distributed job, which each recorded a run
    step: str = ""  # name of the part of a pipeline that the run was, "main" for the pipeline itself
    # Time that this part of a resumed run took by itself, where `runtime_s` may include earlier ones.
    leg_s: float | None = None

    def end(self, status, reason="", evidence=OWN_RECORD):
        """Set how the run ended, why it cannot be used for that, and how it is known."""
        self.status, self.reason, self.evidence = status, reason, evidence


# -- settings ------------------------------------------------------------------------------


def flat(config, notes):
    """Flatten a mapping of settings.

    A dot inside a key is escaped with a backslash. Null is the level ``None``, a truth value
    ``True`` or ``False``, a list its JSON, an object's repr its class; a number that is not
    finite is missing and noted. Returns a dict of dotted path to int, float or str; what was left
    out is added to `notes`.
    """
    fields = {}
    _collect(config, "", 0, fields, notes)
    return fields


def _collect(mapping, prefix, depth, fields, notes):
    for key, value in mapping.items():
        if len(fields) >= MAX_FIELDS:
            beyond = f"config fields beyond the first {MAX_FIELDS} are left out"
            notes += [beyond] if beyond not in notes else []
            return
        # Nearly all are plain: they are told here, without a call.
        is_plain = key.__class__ is str and key.isidentifier()
        path = prefix + (key if is_plain else str(key).replace("\\", "\\\\").replace(".", "\\."))
        kind = value.__class__
        if kind is int or (kind is float and value - value == 0.0) or (kind is str and _AT not in value):
            fields[path] = value
        elif isinstance(value, dict) and value and depth < MAX_DEPTH:
            _collect(value, path + ".", depth + 1, fields, notes)
        elif isinstance(value, float) and not math.isfinite(value):
            notes.append(f"config {path!r} is not finite: taken as missing")
        else:
            fields[path] = _level(value, path, notes)


def _level(value, path, notes):
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else _json(value, path, notes)
    return _OBJECT.sub(r"<\1>", text) if _AT in text else text


def _json(value, path, notes):
    """Return a list, or what lies beyond `MAX_DEPTH`, as JSON."""
    try:
        return _FINITE_JSON(value)
    except RecursionError:
        notes.append(f"config {path!r} is nested too deep: taken as one level")
        return "(nested too deep)"
    except ValueError:
        notes.append(f"config {path!r} holds a number that is not finite")
        return json.dumps(value, ensure_ascii=False)


def without_identity(config, run_id, started_s, notes):
    """Return the flat `config` without the fields that hold the run's id or time.

    A path or name that holds either differs in every run and says nothing of what the run did.
    A time is the run's where it lies within a week of its start (`started_s`, in seconds since 1970):
    others (up to which day the data reach) are settings. `notes` gets the names of what was left out.
    """
    naming = [name for name, value in config.items() if _names_run(value, run_id, started_s)]
    if naming:
        listed = shortened(", ".join(naming))
        notes.append(f"settings that hold the run's id or time are left out: {listed}")
    return {name: value for name, value in config.items() if name not in naming}


def _names_run(value, run_id, started_s):
    if isinstance(value, str) and len(run_id) >= _MIN_ID and run_id in value:
        return True
    return bool(started_s) and any(abs(moment - started_s) < _NEAR_S for moment in _moments(value))


def _moments(value):
    """Yield the times that a setting holds, in seconds since 1970."""
    if isinstance(value, str):
        for year, month, day in _MOMENT.findall(value):
            with suppress(ValueError):  # the 31st of February
                yield datetime(int(year), int(month), int(day), 12, tzinfo=UTC).timestamp()
    elif abs(value) >= 10**20:
        return
    epoch = _EPOCH.fullmatch(str(value))
    if epoch:
        yield float(epoch[1])


# -- numbers, times and names --------------------------------------------------------------


def described(value):
    """Return a value in a message: itself where it is short and plain, else its type."""
    is_plain = value is None or isinstance(value, bool | float | str) or finite(value)
    return shortened(repr(value), 80) if is_plain else f"a {type(value).__name__}"


def runtime(value, name="runtime_s"):
    """Return a runtime in seconds and an empty reason, or None and why it is none."""
    if value is None:
        return None, f"{name} is missing or null"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, f"{name} must be a number of seconds, got {described(value)}"
    if not finite(value):
        return None, f"{name} is not finite ({described(value)})"
    if value <= 0:
        return None, f"{name} must be above zero, got {value:g}"
    return float(value), ""


def numbers(values, what, notes):
    """Return the finite numbers of a mapping; anything else in it is missing and noted.

    Null is a recorder's own way to write a number that is not finite, and not noted. A cost
    column must lie in its range (`columns.Column.accepts`).
    """
    usable = {}
    if not isinstance(values, dict):
        if values is not None:
            notes.append(f"{what}s must be an object, got {type(values).__name__}: left out")
        return usable
    for name, value in values.items():
        if value is None:
            continue
        if column(name).accepts(value) if name.startswith("cost_") else finite(value):
            usable[name] = value
        else:
            notes.append(f"{what} {shortened(name, 80)!r} is no usable number: taken as missing")
    return usable


def iso(seconds):
    """Return seconds since 1970 as ISO 8601 in UTC, or empty text where they are no time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def added(timed, more):
    """Return (seconds, count) of two parts of a section together; the count is None where one's is."""
    is_known = None not in (timed[1], more[1])
    return timed[0] + more[0], timed[1] + more[1] if is_known else None


def seconds_of(text):
    """Return an ISO time in seconds since 1970, one without a zone taken as UTC; None for anything else."""
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00")) if isinstance(text, str) else None
        return at and at.replace(tzinfo=at.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def one_level(name):
    """Return a name as one level of a section's path.

    >>> one_level("data/augment")
    'data∕augment'
    """
    return name.strip().replace("/", "∕") or "(no name)"
