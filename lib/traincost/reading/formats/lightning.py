"""Run directories of PyTorch Lightning: ``version_N``, and folders with its profiler's reports.

The config is ``hparams.yaml``, the scores are the last values in ``metrics.csv``, the sections
are the SimpleProfiler's reports, under any name, as a tree (`lightning_actions`). The runtime is
the Total of the last report. Without a report it is what the event files beside it cover; a
report is written at the end, so that a run that was killed has none.
"""

import csv
import io
import os
import re

from traincost.reading.formats import events_beside, lightning_actions
from traincost.reading.formats.csv_rows import number
from traincost.reading.formats.files import Folder, Unreadable, names, read_bytes, shortened
from traincost.reading.formats.run import Run, flat, runtime
from traincost.reading.formats.simple_profiler import elapsed, read_reports
from traincost.reading.formats.statuses import COMPLETED, FILES, KILLED, NOT_RECORDED, UNKNOWN, UNREADABLE
from traincost.reading.formats.yaml_text import parse_yaml

NAME = "lightning"
TITLE = "PyTorch Lightning runs (version_N, hparams.yaml, profiler reports)"
HPARAMS_NAME, METRICS_NAME = "hparams.yaml", "metrics.csv"
MAX_METRICS = 1_000
MAX_SIBLINGS = 50  # versions beside one that are looked at
MAX_HEADER_KIB = 256  # of metrics.csv
NO_REPORT = "no profiler report"
NO_TIME = (
    "CSVLogger writes no time, and nothing else here does; train with TensorBoardLogger beside it, or with "
    "Trainer(profiler='simple')"
)
NO_TRAINING = "holds no training, only {}: it belongs to the run that trained the model"
_PROGRESS = ("", "epoch", "step")  # no scores
_EVENTS = "events.out.tfevents."
_VERSION = re.compile(r"version_[0-9]+")
_REPORT = re.compile(r"(?:fit|validate|test|predict|tune)(?:-(.*))?\.txt", re.DOTALL)
NAMES = re.compile(
    "|".join([*map(re.escape, (HPARAMS_NAME, METRICS_NAME)), re.escape(_EVENTS) + ".*", r".*\.txt"]),
    re.DOTALL,
)


def sources(directory, names):
    """Return the file that tells a run: one of a directory, since they belong together."""
    if HPARAMS_NAME in names:
        return [HPARAMS_NAME]
    if _is_version(directory):
        return [n for n in names if n == METRICS_NAME or n.startswith(_EVENTS) or n.endswith(".txt")][:1]
    return [name for name in names if _REPORT.fullmatch(name)][:1]


def read(path, run_id):
    """Return the run in the directory of `path`; without a version, one for each name of reports."""
    folder = Folder(os.path.dirname(path))
    reports, notes = read_reports(folder.path, folder.names)
    logged = METRICS_NAME in folder or any(name.startswith(_EVENTS) for name in folder.names)
    if _is_version(folder.path) or (HPARAMS_NAME in folder and (reports or notes or logged)):
        return [_version(folder, run_id, reports, notes)]
    groups = {}
    for report in reports:
        name = _REPORT.fullmatch(report.source)
        if name:
            groups.setdefault(name[1] or "", []).append(report)
    if notes and not groups:
        return [Run(run_id, UNREADABLE, named=False, reason="; ".join(notes))]
    runs = []
    for name, group in groups.items():
        run = Run(run_id if len(groups) == 1 else f"{run_id}/{name}", named=False, notes=[*notes])
        runs.append(add_reports(run, group))
    return runs


def add_reports(run, reports):
    """Give a run the sections and the runtime of its reports, and return it.

    A directory of evaluations alone is no run: the training that they belong to lies elsewhere,
    and a profiler that served it too counts it again.
    """
    chains = elapsed(reports)
    parts = [part for chain in chains for part in chain]
    if all(part.stage in lightning_actions.EVALUATIONS for part in parts):
        stages = ", ".join(dict.fromkeys(part.stage for part in parts))
        run.reason = NO_TRAINING.format(stages)
        return run
    run.sections = lightning_actions.merged(parts)
    totals = [part.total_s for part in parts]
    total_s = None if None in totals else sum(totals)
    run.runtime_s, run.reason = runtime(total_s, "the Total of its profiler report")
    if len(chains) > 1:
        run.notes.append(f"its runtime is the sum of {len(chains)} profilers': resumed, or trained again")
    return run


def _is_version(directory):
    return bool(_VERSION.fullmatch(os.path.basename(directory)))


def _version(folder, run_id, reports, notes):
    run = Run(run_id, named=False, notes=[*notes])
    hparams = folder.mapping(HPARAMS_NAME, parse_yaml, run.notes, ": the settings are unknown")
    run.config = flat(hparams, run.notes)
    if METRICS_NAME in folder:
        run.scores = _last_metrics(folder.of(METRICS_NAME), run.notes)
    if reports:
        add_reports(run, reports)
    if run.runtime_s is None and not (reports and not run.sections):
        _add_events(run, folder)
    elif not run.scores or not run.started_at:
        _add_logged(run, events_beside.log_in(folder, run.run_id))
    if not reports and run.scores and all(name.startswith("test") for name in run.scores):
        run.reason = NO_TRAINING.format("test")
    elif not reports and not notes and _others_have_reports(folder.path):
        run.end(KILLED, f"{NO_REPORT}: it is written at the end, and versions beside it have one", FILES)
    elif reports and run.status == COMPLETED:
        run.evidence = FILES
    return run


def _others_have_reports(folder):
    beside, own = os.path.split(folder)
    others = [name for name in names(beside) if name != own and _is_version(name)][:MAX_SIBLINGS]
    return any(_REPORT.fullmatch(name) for other in others for name in names(os.path.join(beside, other)))


def _add_events(run, folder):
    """Take what the event files in the run's directory tell."""
    log = events_beside.log_in(folder, run.run_id)
    if log is None:
        without = NO_TIME if not run.sections else f"{NO_REPORT} with a Total and no event file"
        run.end(UNKNOWN, run.reason or f"its runtime is not known: {without}", NOT_RECORDED)
        return
    run.runtime_s = log.runtime_s
    run.end(log.status, log.reason, log.evidence)
    _add_logged(run, log)
    run.notes += log.notes


def _add_logged(run, log):
    """Take the start, settings and scores of an event file, if there is one; not its time."""
    if log is not None:
        run.started_at = run.started_at or log.started_at
        run.config = {**log.config, **run.config}
        run.scores |= {name: value for name, value in log.scores.items() if name not in _PROGRESS}


def _last_metrics(path, notes):
    """Return the last value of each metric; training and validation write rows of their own."""
    try:
        content = read_bytes(path)
    except Unreadable as problem:
        notes.append(f"{METRICS_NAME} {problem}: the scores are unknown")
        return {}
    if len(content.partition(b"\n")[0]) > MAX_HEADER_KIB * 1024:
        notes.append(f"the header of {METRICS_NAME} is longer than {MAX_HEADER_KIB} KiB: it is not read")
        return {}
    last = {}
    try:
        rows = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
        header = next(rows, [])[:MAX_METRICS]
        for row in rows:
            last.update((name, text) for name, text in zip(header, row, strict=False) if text)
    except csv.Error as problem:
        notes.append(f"{METRICS_NAME} is not whole CSV: {shortened(str(problem))}")
    values = {name: number(text) for name, text in last.items() if name not in _PROGRESS}
    return {name: value for name, value in values.items() if value is not None}
