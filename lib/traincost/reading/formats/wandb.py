"""Weights & Biases' local directories, online and offline.

Online a run's directory holds ``files/config.yaml`` and ``files/wandb-summary.json``; offline
there is only ``run-ID.wandb``: blocks of records with checksums, as in a LevelDB log, each a
message with the settings, the summary, or the exit of the run. That log is read where there is
one. How a run ended is taken from its exit record, what the metadata of older versions say,
``logs/debug.log`` ("got exitcode: 0"), the end of ``files/output.log``, and what else lies there, in
this order: W&B writes the log in whole blocks of 32 KiB, so that of a run that ended well it is often
cut; and without it a crashed run leaves the same files as any other.

The runtime is W&B's own (``_wandb.runtime``, whole seconds); where that is missing or zero, the
time until the last row that was logged (``_runtime``). The run's id is W&B's. The energy is of the GPUs
whose power W&B sampled: those of the run's own process, where it tells them from the machine's.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from traincost.columns import finite
from traincost.reading.formats import endings, files, json_lines
from traincost.reading.formats.files import Folder, Unreadable, parse_json, read_bytes, shortened
from traincost.reading.formats.power import Samples, add_energy
from traincost.reading.formats.run import Run, flat, iso, runtime, seconds_of, without_identity
from traincost.reading.formats.statuses import (
    COMPLETED,
    CONSOLE,
    DEBUG_LOG,
    DUPLICATE,
    FAILED,
    FILES,
    KILLED,
    NOT_RECORDED,
    UNKNOWN,
)
from traincost.reading.formats.wandb_log import read_log
from traincost.reading.formats.yaml_text import parse_yaml

NAME = "wandb"
TITLE = "Weights & Biases runs (wandb/)"
CONFIG_NAME, SUMMARY_NAME, METADATA_NAME = "config.yaml", "wandb-summary.json", "wandb-metadata.json"
DEBUG_NAME, OUTPUT_NAME, EVENTS_NAME = "debug.log", "output.log", "wandb-events.jsonl"
TRACKER = "Weights & Biases"
_LOG = re.compile(r"run-(.+)\.wandb")
_FOLDER = re.compile(r"(?:offline-)?run-(\d{8}_\d{6})-(.+)")
_LATEST = "latest-run"
_EXIT_CODE = re.compile(r"got exitcode: (-?\d{1,9})")
_DEBUG_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_BOOKKEEPING = ("_wandb", "wandb_version")
_ENDED_BADLY = ("failed", "crashed", "killed", "preempted")
NAMES = re.compile("|".join([_LOG.pattern, *map(re.escape, (CONFIG_NAME, SUMMARY_NAME, METADATA_NAME))]))


def sources(directory, names):
    """Return a run's logs, or in the directory of its files the one that stands for them."""
    home, folder = os.path.split(directory)
    in_run = folder == "files" and _FOLDER.fullmatch(os.path.basename(home))
    candidates = (SUMMARY_NAME, METADATA_NAME, *([CONFIG_NAME] if in_run else []))
    return [*filter(_LOG.fullmatch, names), *[name for name in candidates if name in names][:1]]


def read(path, run_id):
    """Return the one run that has `path` among its files."""
    folder, name = os.path.split(path)
    if _LOG.fullmatch(name):
        alone = len(Folder(folder).like(_LOG)) == 1
        place = _Place(folder, path, Folder(os.path.join(folder, "files") if alone else ""))
        parts = ["."] if alone else []
    elif os.path.basename(folder) == "files":
        home = Folder(os.path.dirname(folder))
        logs = home.like(_LOG)
        place = _Place(home.path, home.of(logs[0]) if len(logs) == 1 else "", Folder(folder))
        parts = [".."]
    else:
        place, parts = _Place(folder, "", Folder(folder)), ["."]
    run = _run(place, run_id)
    run.parts = parts
    return [run]


@dataclass(frozen=True)
class _Place:
    """Where a run's files lie; empty where it has no such."""

    home: str
    log: str
    files: Folder


# -- a run ---------------------------------------------------------------------------------


def _run(place, run_id):
    log = read_log(place.log) if place.log else None
    own_id, local_start = _told_by_name(place)
    own_id = (log and log.run_id) or own_id
    run = Run(own_id or run_id, named=bool(own_id))
    config, bookkeeping = _config(place, log, run.notes)
    summary = place.files.mapping(SUMMARY_NAME, parse_json, run.notes) or (log.summary if log else {})
    metadata = place.files.mapping(METADATA_NAME, parse_json, [])
    started_s = log.started_s if log and log.started_s else bookkeeping.get("start_time")
    started_s = float(started_s) if finite(started_s) else seconds_of(metadata.get("startedAt"))
    run.config = without_identity(flat(config, run.notes), own_id, started_s, run.notes)
    run.started_at = iso(started_s) or local_start
    # By their dotted paths; media and W&B's own aside.
    logged = {
        k: v for k, v in summary.items() if not (k.startswith("_") or (isinstance(v, dict) and "_type" in v))
    }
    run.scores = {name: value for name, value in flat(logged, []).items() if finite(value)}
    run.runtime_s, reason = _runtime(summary, log, run.notes)
    debug = _debug(place)
    run.end(*_ending(place, log, summary, metadata, debug))
    run.reason = run.reason or reason
    _add_machine(run, log, metadata)
    run.leg_s = _leg(log, summary, metadata, debug)
    add_energy(run, log.power if log and log.power.series else _events(place), TRACKER)
    twin = _twin(place, own_id)
    if twin:
        run.end(DUPLICATE, f"is a copy of {twin}")
    return run


def _events(place):
    """Return the power in the log of system metrics that older versions kept among the run's files."""
    power = Samples()
    if EVENTS_NAME not in place.files:
        return power
    try:
        for row in json_lines.objects(place.files.of(EVENTS_NAME)):
            time_s = row.get("_timestamp")
            for name, watts in row.items() if finite(time_s) else ():
                if finite(watts):
                    power.add(name, time_s, watts)
    except Unreadable:
        pass  # what was read of it counts
    return power


def _add_machine(run, log, metadata):
    """Set where the run took place, and what tells the processes of one job.

    The number of GPUs is that of the machine, not of what the run used: it is not taken.
    """
    run.host = _text(metadata, "host") or (log.host if log else "")
    run.device = _text(metadata, "gpu") or (log.gpu if log else "")
    slurm = metadata.get("slurm")
    job = _text(slurm, "job_id") if isinstance(slurm, dict) else ""
    program = _text(metadata, "codePath") or _text(metadata, "program") or (log.program if log else "")
    where = job or (log.group if log else "") or run.host
    run.job = f"{where} {program}" if where else ""


def _text(mapping, name):
    value = mapping.get(name)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _told_by_name(place):
    """Return what the names of a run's directory (a link's target's) and log tell: its id and local start."""
    name = _LOG.fullmatch(os.path.basename(place.log))
    folder = _FOLDER.fullmatch(os.path.basename(os.path.realpath(place.home)))
    start = ""
    with suppress(ValueError):
        start = datetime.strptime(folder[1], "%Y%m%d_%H%M%S").isoformat() if folder else ""
    return name[1] if name else folder[2] if folder else "", start


def _config(place, log, notes):
    """Return the settings, and W&B's own entry among them."""
    config = log.config if log else {}
    if CONFIG_NAME in place.files:
        try:
            content = parse_yaml(read_bytes(place.files.of(CONFIG_NAME)))
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


def _ending(place, log, summary, metadata, debug):
    """Return status, reason and evidence; the metadata of a run that ended often says "running"."""
    code = log.exit_code if log else None
    if code is not None:
        return (FAILED, f"ended with exit code {code}") if code else (COMPLETED, "")
    state, code = metadata.get("state"), metadata.get("exitcode")
    if state in _ENDED_BADLY:
        return KILLED if state == "killed" else FAILED, f"its metadata says {state}"
    if isinstance(code, int) and code:
        return FAILED, f"ended with exit code {shortened(code, 20)}"
    if state == "finished" or (isinstance(code, int) and not isinstance(code, bool)):
        return COMPLETED, ""
    console = endings.of_console(place.files.of(OUTPUT_NAME)) if place.files.path else None
    if debug and debug.exit_code is not None:
        if not debug.exit_code:
            return COMPLETED, "", DEBUG_LOG
        status = console[0] if console else FAILED
        return status, f"ended with exit code {debug.exit_code}, as {DEBUG_NAME} says", DEBUG_LOG
    if console:
        return *console, CONSOLE
    if log:
        return KILLED, log.problem or "its log has no exit record: killed, or at work still", FILES
    if debug:
        return KILLED, f"{DEBUG_NAME} has no exit code: killed, or at work still", DEBUG_LOG
    if not summary:
        return KILLED, f"has no {SUMMARY_NAME} that can be read: killed, or at work still", FILES
    return UNKNOWN, "", NOT_RECORDED


@dataclass(frozen=True)
class _Debug:
    """What W&B's debug log of a run says."""

    exit_code: int | None
    span_s: float  # from its first line to its last


def _debug(place):
    """Return what the debug log in the run's directory says; None where there is none."""
    logs = Folder(os.path.join(place.home, "logs") if place.files.path else "")
    if DEBUG_NAME not in logs:
        return None
    path = logs.of(DEBUG_NAME)
    try:
        first = files.read_head(path, 64).decode("utf-8", "replace")
        lines = endings.lines_at_end(path)
    except Unreadable:
        return None
    codes = [match[1] for line in lines if (match := _EXIT_CODE.search(line))]
    stamps = [seconds_of(match[0]) for line in (first, *lines) if (match := _DEBUG_TIME.match(line))]
    times = [at for at in stamps if at is not None]
    span_s = times[-1] - times[0] if times else 0.0
    return _Debug(int(codes[-1]) if codes else None, max(0.0, span_s))


def _leg(log, summary, metadata, debug):
    """Return how long this part of the run took by itself, where what lies here tells; else None."""
    if debug and debug.exit_code is not None and debug.span_s:
        return debug.span_s
    started_s, last_s = seconds_of(metadata.get("startedAt")), summary.get("_timestamp")
    if started_s and finite(last_s) and last_s > started_s:
        return float(last_s - started_s)
    if log and log.earlier_s and log.exit_runtime_s > log.earlier_s:
        return float(log.exit_runtime_s - log.earlier_s)
    return None


def _twin(place, own_id):
    """Return the name of the directory that ``latest-run`` is a copy of, or empty text."""
    if os.path.basename(place.home) != _LATEST or os.path.islink(place.home):
        return ""
    around = os.path.dirname(place.home)
    for name in files.names(around):
        folder = _FOLDER.fullmatch(name)
        other = os.path.join(around, name, "files")
        if folder and (own_id == folder[2] if own_id else _are_equal(place.files.path, other)):
            return name
    return ""


def _are_equal(*folders):
    """Say whether the settings and summary in two directories are equal to the byte."""
    try:
        contents = [
            [read_bytes(os.path.join(folder, name)) for name in (SUMMARY_NAME, CONFIG_NAME)]
            for folder in folders
        ]
    except Unreadable:
        return False
    return contents[0] == contents[1]
