"""Job directories of Hydra, of a multirun or single: what was composed, in ``.hydra/``.

Hydra records the settings of a job and never what came of it. So this reader mostly describes:
the runs that other readers find in a job's directory get its settings, and the job is no run
beside them. Where nothing else is found, the job is the run, and its runtime is

1. ``runtime_s``, or ``cost_runtime_s``, of a JSON object in a file of the job's directory: names
   that say their unit. No more is taken from such a file; the jobs of a multirun often share a
   process, and timers that keep adding up tell no job from those before it;
2. else the time from the first to the last record of the job's log, by Hydra's default format or
   any whose lines begin with the date. This is approximate and noted: nothing before or after the
   records counts, and a job killed in the middle ends like any other.

Settings are ``config.yaml`` as it was composed (plain references are resolved, other interpolations
are not known: `resolved`) and, of ``overrides.yaml``, what names no field of it: the choice of
a config group, say. ``hydra.yaml`` names the job and where it wrote, and is no setting.
``multirun.yaml`` is no run. Where all jobs of a multirun wrote into one directory, ``.hydra`` is that
of the last: nothing gets its settings.
"""

import datetime
import math
import os
import re

from traincost.reading.formats import clocks
from traincost.reading.formats.by_name import first_of
from traincost.reading.formats.files import (
    Folder,
    Unreadable,
    mapping_in,
    opened,
    parse_json,
    read_bytes,
    shortened,
)
from traincost.reading.formats.run import MAX_FIELDS, Run, flat, runtime
from traincost.reading.formats.statuses import CONSOLE, FAILED, FILES, NOT_RECORDED, UNKNOWN, UNREADABLE
from traincost.reading.formats.yaml_text import parse_yaml

NAME = "hydra"
TITLE = "Hydra job directories (.hydra)"
FOLDER_NAME = ".hydra"
CONFIG_NAME, OVERRIDES_NAME, HYDRA_NAME = "config.yaml", "overrides.yaml", "hydra.yaml"
MULTIRUN_NAME = "multirun.yaml"
RUNTIME_NAMES = ("runtime_s", "cost_runtime_s")
MAX_RESULTS = 20  # files of a job's directory that are looked into for a runtime
MAX_RESULT_MIB = 1
WHOLE_LOG_BYTES = 2**21  # a log up to this size is read whole, and may show that its clock jumped
LOG_END_BYTES = 2**16  # read at each end of a longer one
NO_RUNTIME = "its runtime is not known: no result with runtime_s in its directory, nor a log with two times"
APPROXIMATE = "runtime is the time from the first to the last record of its log: approximate"

_STAMP = re.compile(
    r"^\[?(?:\x1b\[[0-9;]*m)*(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[,.](\d{1,6}))?", re.MULTILINE
)
_LEVEL = re.compile(r"\[(?:ERROR|CRITICAL)\]")
_TRACEBACK = "Traceback (most recent call last)"
_RAISED = re.compile(r"^([A-Za-z_][\w.]{0,80})(?::|\s*$)")
_DIRECTORY_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[/\\](\d\d)-(\d\d)-(\d\d)")
MAX_CHAIN = 16  # references that lead to references
MAX_LENGTH = 2_000  # of a resolved text
MISSING = "???"
_REFERENCE = re.compile(r"\$\{\s*([A-Za-z_][\w]*(?:\.[\w]+|\[\d+\])*)\s*\}")
_OPEN = "${"
_QUOTED = re.compile(r"""\A(['"])(.*)\1\Z""", re.DOTALL)
_OVERRIDE = re.compile(r"\+{0,2}([^=~]+)=(.*)", re.DOTALL)
NAMES, sources = first_of(FOLDER_NAME)


def read(path, run_id):
    """Return the job whose ``.hydra`` is at `path`; `run_id` names the directory around it."""
    own, folder = Folder(path), Folder(os.path.dirname(path))
    if CONFIG_NAME not in own and HYDRA_NAME not in own:
        return []
    run = Run(run_id, named=False)
    lost = ": the name of the job is unknown"
    hydra = mapping_in(own.of(HYDRA_NAME), parse_yaml, run.notes, lost).get("hydra")
    run.report = _text(hydra, "job", "name")  # the application, which is no task of its own
    run.fingerprint = _text(hydra, "runtime", "output_dir")
    if _is_shared(hydra, folder):
        run.status = UNREADABLE
        run.reason = "is shared by all jobs of a multirun: its settings are those of the last one only"
        return [run]
    try:
        run.config = _config(own, run.notes)
    except Unreadable as problem:
        run.status, run.reason = UNREADABLE, f"has a {CONFIG_NAME} that {problem}"
        return [run]
    _add_times(run, folder, hydra)
    return [run]


# -- settings ------------------------------------------------------------------------------


def _value(hydra, *keys):
    for key in keys:
        hydra = hydra.get(key) if isinstance(hydra, dict) else None
    return hydra


def _text(hydra, *keys):
    value = _value(hydra, *keys)
    return value if isinstance(value, str) and "???" not in value and "${" not in value else ""


def _is_multirun(hydra):
    """Say whether a job is one of a multirun; before Hydra 1.2 only its number tells."""
    mode = _value(hydra, "mode")
    return mode == "MULTIRUN" or (mode is None and isinstance(_value(hydra, "job", "num"), int))


def _is_shared(hydra, folder):
    if not _is_multirun(hydra):
        return False
    subdir = _value(hydra, "sweep", "subdir")
    in_place = isinstance(subdir, str) and os.path.normpath(subdir or ".") == "."
    return in_place or MULTIRUN_NAME in folder


def _config(own, notes):
    if CONFIG_NAME not in own:
        notes.append(f"has no {CONFIG_NAME}: only what was overridden is known")
    config = parse_yaml(read_bytes(own.of(CONFIG_NAME))) if CONFIG_NAME in own else {}
    if config is not None and not isinstance(config, dict):
        raise Unreadable(f"holds a {type(config).__name__} at the top, not a mapping")
    fields = flat(config or {}, notes)
    return resolved(fields | _overrides(own, notes) | fields, notes)


def _overrides(own, notes):
    """Return the overrides of the task as dotted path to text, without their quotes."""
    try:
        lines = parse_yaml(read_bytes(own.of(OVERRIDES_NAME))) if OVERRIDES_NAME in own else []
    except Unreadable as problem:
        notes.append(f"{OVERRIDES_NAME} {problem}: left out")
        return {}
    texts = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    matches = [_OVERRIDE.fullmatch(text) for text in texts[:MAX_FIELDS]]
    return {m[1].strip(): _QUOTED.sub(r"\2", m[2].strip()) for m in matches if m}


# -- references that were saved before they were resolved (OmegaConf) ---------------------------


def resolved(fields, notes):
    """Return flat settings with their plain references resolved; what cannot be is left out and noted.

    ``${size.width}`` is looked up in the same configuration, alone or inside a text, along chains. What
    asks for more (``${oc.env:…}``, ``${eval:…}``, ``${hydra:…}``) or is missing (``???``) is not known: as
    one text in all runs, it would pass for a shared setting. Nothing is run.

    >>> resolved({"a": 64, "b": "${a}", "c": "net_${b}", "d": "${oc.env:HOME}", "e": "???"}, [])
    {'a': 64, 'b': 64, 'c': 'net_64'}
    """
    if not any(isinstance(value, str) and (_OPEN in value or value == MISSING) for value in fields.values()):
        return fields
    found, unknown = {}, []
    for name, value in fields.items():
        value = _followed(fields, value)
        if isinstance(value, str) and (_OPEN in value or value == MISSING):
            unknown.append(name)
        else:
            found[name] = value
    if unknown:
        listed = shortened(", ".join(unknown))
        notes.append(f"settings with interpolations that its files do not resolve are not known: {listed}")
    return found


def _followed(fields, value):
    for _ in range(MAX_CHAIN):
        if not isinstance(value, str) or _OPEN not in value:
            return value
        whole = _REFERENCE.fullmatch(value)
        if whole:
            if fields.get(whole[1], value) == value:
                return value
            value = fields[whole[1]]
            continue
        text = _REFERENCE.sub(lambda match: str(fields.get(match[1], match[0])), value)
        if text == value or len(text) > MAX_LENGTH:
            return value
        value = text
    return value


# -- times ---------------------------------------------------------------------------------


def _add_times(run, folder, hydra):
    """Give the job its start and runtime; where none is known, the reason."""
    logged, started, error = _log_times(folder, _log_name(run.report, folder.names))
    run.started_at = started.isoformat() if started else _directory_start(hydra)
    name, run.runtime_s, run.reason = _result(folder, run.notes)
    if name:
        run.parts, run.evidence = [name], FILES
        return
    run.runtime_s = logged.seconds if logged and logged.seconds > 0 else None
    if error:
        run.end(FAILED, f"left no result, and its log ends with {error}", CONSOLE)
    else:
        run.end(UNKNOWN, "" if run.runtime_s else NO_RUNTIME, NOT_RECORDED)
        run.notes += [APPROXIMATE, *logged.notes] if run.runtime_s else []


def _result(folder, notes):
    """Return the first file that has a runtime, the runtime, and why it cannot be used."""
    for name in [name for name in folder.names if name.endswith(".json")][:MAX_RESULTS]:
        try:
            content = parse_json(read_bytes(folder.of(name), MAX_RESULT_MIB))
        except Unreadable as problem:
            notes.append(f"{name} {problem}: no runtime is taken from it")
            continue
        for key in RUNTIME_NAMES:
            if isinstance(content, dict) and content.get(key) is not None:
                if content.get("sections"):
                    notes.append(f"{name} holds sections too: not taken, its timers may span several jobs")
                return name, *runtime(content[key], f"{key} of {name}")
    return "", None, ""


def _log_name(job, listed):
    """Return the log's name: the job's, else the only one there is."""
    if job and f"{job}.log" in listed:
        return f"{job}.log"
    logs = [name for name in listed if name.endswith(".log")]
    return logs[0] if len(logs) == 1 else ""


def _log_times(folder, name):
    """Return the `clocks.Active` of a log's records, its first time, and the error that it ends with."""
    try:
        head, tail = _ends(folder.of(name)) if name else ("", "")
    except Unreadable:
        return None, None, ""
    at_end = list(_stamped(tail))
    found = [*(_stamped(head) if head is not tail else ()), *at_end]
    error = _error(tail[at_end[-1][1] :] if at_end else tail)
    if not found:
        return None, None, error
    seconds = [at.replace(tzinfo=datetime.UTC).timestamp() for at, _ in found]
    return clocks.active(seconds, is_local=True), found[0][0], error


def _ends(path):
    """Return the text of a log, twice; of a long one, that at its two ends."""
    with opened(path, math.inf) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size <= WHOLE_LOG_BYTES:
            text = file.read(WHOLE_LOG_BYTES).decode("utf-8", "replace")
            return text, text
        head = file.read(LOG_END_BYTES)
        file.seek(max(0, size - LOG_END_BYTES))
        tail = file.read(LOG_END_BYTES)
    return head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")


def _stamped(text):
    """Yield the time of each record that begins with one, and where it begins."""
    for match in _STAMP.finditer(text):
        day, clock, fraction = match.groups()
        try:
            at = datetime.datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0').ljust(6, '0')}")
        except ValueError:  # a month of 13, say
            continue
        yield at, match.start()


def _error(record):
    """Return what went wrong in the last record of a log, by the exception's type alone."""
    if _TRACEBACK in record:
        raised = [match[1] for line in record.splitlines() if (match := _RAISED.match(line))]
        return shortened(f"a traceback ({raised[-1]})") if raised else "a traceback"
    return "an error" if _LEVEL.search(record.split("\n", 1)[0]) else ""


def _directory_start(hydra):
    """Return the start, in local time, that Hydra's default directory of a single run names."""
    match = _DIRECTORY_STAMP.search(_text(hydra, "runtime", "output_dir"))
    if match is None or _is_multirun(hydra):  # the directory of a multirun has the sweep's start
        return ""
    return f"{match[1]}T{match[2]}:{match[3]}:{match[4]}"
