"""Detectron2: an output folder's ``metrics.json``, ``config.yaml``, ``log.txt`` and ``last_checkpoint``.

The runtime is the log's "Total training time"; without it, iterations times the time of one, a lower
bound that leaves out hooks such as evaluations: then it counts nowhere. Training is complete where its
last iteration was reached or the final model was written.
"""

import os
import re

from traincost.columns import finite
from traincost.reading.formats import durations, json_lines
from traincost.reading.formats.by_name import first_of
from traincost.reading.formats.endings import lines_at_end, of_console
from traincost.reading.formats.files import Folder, Unreadable, read_head, text_of
from traincost.reading.formats.run import Run, flat, runtime
from traincost.reading.formats.statuses import COMPLETED, CONSOLE, FILES, KILLED, NOT_RECORDED, UNKNOWN
from traincost.reading.formats.yaml_text import parse_yaml

NAME = "detectron2"
TITLE = "Detectron2 output folders (metrics.json, log.txt)"
METRICS_NAME, CONFIG_NAME, LOG_NAME, LAST_NAME = "metrics.json", "config.yaml", "log.txt", "last_checkpoint"
NAMES, sources = first_of(METRICS_NAME, beside=(CONFIG_NAME, LOG_NAME, LAST_NAME))
LOWER_BOUND = (
    "its runtime is at least {:.4g} s: iterations times the time of one, without evaluations and hooks"
)
_TOTAL = re.compile(r"Total training time: (.+?) \((.+?) on hooks\)")
_WORLD = re.compile(r"World size: (\d{1,6})")
_GPU = re.compile(r"^GPU [\d,]+ +(.+?)(?: \(arch.*)?$", re.MULTILINE)
_NO_SCORES = ("iteration", "time", "data_time", "eta_seconds", "lr")


def recognises(path):
    """Say whether metrics are Detectron2's: lines with an iteration and the time that is left."""
    return json_lines.begins_with(path, "iteration", "eta_seconds")


def read(path, run_id):
    """Return the run in the folder of `path`; none where the metrics are another tool's."""
    if not recognises(path):
        return []
    folder, run = Folder(os.path.dirname(path)), Run(run_id, named=False)
    config = folder.mapping(CONFIG_NAME, parse_yaml, run.notes)
    run.config = flat({k: v for k, v in config.items() if k not in ("OUTPUT_DIR", "VERSION")}, run.notes)
    metrics = _Metrics()
    try:
        for row in json_lines.objects(path):
            metrics.add(row)
    except Unreadable as problem:
        run.notes.append(f"{METRICS_NAME} {problem}")
    run.scores = metrics.scores
    log, total, hooks = _log(folder)
    world, gpu = _WORLD.search(log), _GPU.search(log)
    run.devices, run.device = (float(world[1]) if world else None), (gpu[1] if gpu else "")
    if metrics.data_s:
        run.sections["data"] = (metrics.data_s, metrics.iterations)
    if hooks:
        run.sections["hooks"] = (hooks, None)
    run.runtime_s, run.reason = runtime(total or metrics.seconds, "Total training time")
    _add_end(run, folder, metrics, total)
    return [run]


class _Metrics:
    """What the rows of metrics add up to; a resumed training repeats iterations, which count once more."""

    def __init__(self):
        self.last, self.seconds, self.data_s, self.iterations, self.scores = -1, 0.0, 0.0, 0, {}
        self._interval = 20

    def add(self, row):
        at, seconds, waited = row.get("iteration"), row.get("time"), row.get("data_time")
        if finite(at) and finite(seconds) and seconds >= 0:
            self._interval = at - self.last if 0 < at - self.last <= 100_000 else self._interval
            self.seconds += seconds * self._interval
            self.data_s += waited * self._interval if finite(waited) else 0.0
            self.iterations += int(self._interval)
            self.last = at
        self.scores.update((k, v) for k, v in row.items() if k not in _NO_SCORES and finite(v))


def _log(folder):
    """Return the beginning of the log, and the total time and that on hooks in its last lines."""
    if LOG_NAME not in folder:
        return "", None, None
    try:
        beginning = read_head(folder.of(LOG_NAME), 2**16).decode("utf-8", "replace")
        totals = [match for line in lines_at_end(folder.of(LOG_NAME)) if (match := _TOTAL.search(line))]
    except Unreadable:
        return "", None, None
    return beginning, *(map(durations.seconds, totals[-1].groups()) if totals else (None, None))


def _add_end(run, folder, metrics, total):
    asked = run.config.get("SOLVER.MAX_ITER")
    last = text_of(folder.of(LAST_NAME), 1) if LAST_NAME in folder else ""
    is_final, reached = last.strip().startswith("model_final"), metrics.last + 1
    if is_final or (finite(asked) and reached >= asked) or total:
        run.end(COMPLETED, run.reason if total else LOWER_BOUND.format(run.runtime_s or 0), FILES)
        return
    console = of_console(folder.of(LOG_NAME)) if LOG_NAME in folder else None
    if console:
        run.end(*console, CONSOLE)
    elif finite(asked):
        run.end(KILLED, f"reached {reached:g} of {asked:g} iterations: killed, or at work still", FILES)
    else:
        run.end(UNKNOWN, LOWER_BOUND.format(run.runtime_s or 0), NOT_RECORDED)
