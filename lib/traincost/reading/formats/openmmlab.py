"""OpenMMLab: a work directory of MMEngine (``STAMP/vis_data/scalars.json``) or of MMCV (``STAMP.log.json``).

The runtime is the span of the log, approximate; a second stamp in a work directory is the same training,
resumed, and adds up. Sections are ``data``, the time that iterations waited for data, and ``val``, the gaps
before the log's lines of validation. The configuration is Python, which is parsed and never run.
"""

import os
import re
from dataclasses import dataclass, field

from traincost.columns import finite
from traincost.reading.formats import json_lines, python_config
from traincost.reading.formats.endings import of_console
from traincost.reading.formats.files import Folder, Unreadable, shortened, text_of
from traincost.reading.formats.run import Run, flat, iso, runtime
from traincost.reading.formats.statuses import COMPLETED, CONSOLE, FILES, KILLED, NOT_RECORDED, UNKNOWN
from traincost.reading.formats.table_columns import moment

NAME = "openmmlab"
TITLE = "OpenMMLab work directories (scalars.json, *.log.json)"
MAX_LEGS = 100
MAX_LOG_MIB = 64
STAMP = re.compile(r"\d{8}_\d{6}")
_OLD = re.compile(r"(\d{8}_\d{6}|None)\.log\.json")
NAMES = re.compile(rf"{STAMP.pattern}|{_OLD.pattern}")
APPROXIMATE = "runtime is approximate: from the first to the last line of its log"
_LINE = re.compile(r"(\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d)(?:,\d+)? - ")
_TRAIN = re.compile(
    r"(?:Epoch|Iter)(?:\(train\))? *\[(\d+)\](?:\[ *(\d+)/(\d+)\])?"
    r"|Iter(?:\(train\))? *\[ *(\d+)/(\d+)\]"
)
_VAL = re.compile(r"(?:Epoch|Iter)\(val\)")
_DEVICES = re.compile(r"(?:GPU number: |world_size[=: ]+)(\d{1,5})|gpu_ids = range\(0, (\d{1,5})\)")
_GPU = re.compile(r"GPU [\d,]+: (.+)")
_NO_SCORES = ("mode", "epoch", "iter", "lr", "memory", "data_time", "time", "step", "eta_seconds", "base_lr")
_NO_SETTINGS = ("work_dir", "log_config", "log_level", "gpu_ids", "load_from", "resume_from", "resume")


@dataclass
class _Leg:
    """One sitting of a training: a log, and what its rows add up to."""

    span_s: float | None = None
    start_s: float | None = None
    data_s: float = 0.0
    iterations: int = 0
    val_s: float = 0.0
    n_val: int = 0
    seconds: float = 0.0  # iterations times their time
    epoch: float = 0
    is_epoch_whole: bool = False
    scores: dict = field(default_factory=dict)
    config: str = ""
    head: str = ""
    seed: object = None


def sources(directory, found):
    """Return the first log of a work directory, or the first folder of a sitting: it stands for all."""
    old = [name for name in found if _OLD.fullmatch(name)][:1]
    stamps = [name for name in found if STAMP.fullmatch(name)][:1]
    return old or stamps


def read(path, run_id):
    """Return the run whose work directory holds `path`; none where it is something else."""
    folder, name = Folder(os.path.dirname(path)), os.path.basename(path)
    pattern, leg_of = (STAMP, _new_leg) if STAMP.fullmatch(name) else (_OLD, _old_leg)
    legs = [leg_of(folder, sitting) for sitting in folder.like(pattern)[:MAX_LEGS]]
    legs = [leg for leg in legs if leg and (leg.span_s is not None or leg.iterations)]
    if not legs:
        return []
    run = Run(run_id, named=False, notes=[APPROXIMATE])
    _add_settings(run, folder, legs)
    spans = [leg.span_s if leg.span_s is not None else leg.seconds for leg in legs]
    run.runtime_s, run.reason = runtime(sum(spans), "the span of its log")
    run.started_at = iso(legs[0].start_s).removesuffix("+00:00")  # the machine's own time
    if len(legs) > 1:
        run.notes.append(f"resumed: {len(legs)} legs are one run, whose times add up")
    for leg in legs:
        run.scores |= leg.scores
    for section, seconds, count in (("data", "data_s", "iterations"), ("val", "val_s", "n_val")):
        total_s, n = (sum(getattr(leg, name) for leg in legs) for name in (seconds, count))
        if n:
            run.sections[section] = (total_s, n)
    head = legs[-1].head + legs[-1].config
    devices, gpu = _DEVICES.search(head), _GPU.search(head)
    run.devices = float(devices[1] or devices[2]) if devices else None
    run.device = gpu[1].strip() if gpu else ""
    stem = name.removesuffix(".log.json")
    log = folder.of(f"{stem}/{stem}.log" if STAMP.fullmatch(name) else f"{stem}.log")
    _add_end(run, legs, log)
    return [run]


# -- legs ----------------------------------------------------------------------------------


def _new_leg(folder, stamp):
    """Read a sitting of MMEngine's; None where the folder is something else."""
    own, inside = Folder(folder.of(stamp)), Folder(folder.of(f"{stamp}/vis_data"))
    if "scalars.json" not in inside and f"{stamp}.log" not in own:
        return None
    leg = _Leg()
    _add_rows(leg, inside.of("scalars.json"))
    _add_log(leg, own.of(f"{stamp}.log"))
    leg.config = leg.config or text_of(inside.of("config.py"), MAX_LOG_MIB)
    return leg


def _old_leg(folder, name):
    leg = _Leg()
    _add_rows(leg, folder.of(name))
    log = name.removesuffix(".json")
    if log in folder:
        _add_log(leg, folder.of(log))
    return leg


def _add_rows(leg, path):
    training = []
    try:
        for row in json_lines.objects(path):
            if isinstance(row.get("config"), str):
                leg.config, leg.seed = row["config"], row.get("seed")
                leg.head += str(row.get("env_info", ""))
                continue
            if row.get("mode", "train") == "train" and ("lr" in row or "loss" in row):
                training.append(row)
            elif row.get("mode") != "train":
                leg.scores.update((k, v) for k, v in row.items() if k not in _NO_SCORES and finite(v))
    except Unreadable:
        pass
    _add_intervals(leg, training)


def _add_intervals(leg, rows):
    """Add the iterations that rows stand for: those since the row before, or since an epoch began."""
    at = [row.get("iter", row.get("step")) for row in rows]
    for i, row in enumerate(rows):
        if not finite(at[i]):
            continue
        before = at[i - 1] if i and finite(at[i - 1]) and at[i - 1] < at[i] else 0
        n = at[i] - before
        is_resumed = i == 0 and row.get("epoch") not in (None, 1)
        if is_resumed and len(rows) > 1 and finite(at[1]) and at[1] > at[0]:
            n = at[1] - at[0]  # it goes on counting from the sitting before
        leg.iterations += int(n)
        leg.seconds += row["time"] * n if finite(row.get("time")) else 0.0
        leg.data_s += row["data_time"] * n if finite(row.get("data_time")) else 0.0


def _add_log(leg, path):
    """Add the span of a log, the gaps before its validations, and how far it came."""
    text = text_of(path, MAX_LOG_MIB)
    leg.head += text[: 2**15]
    first = last = before_val = None
    in_val = False
    for line in text.splitlines():
        match = _LINE.match(line)
        at = moment(match[1].replace("/", "-")) if match else None
        if at is None:
            continue
        first = at if first is None else first
        if _VAL.search(line):
            before_val = last if not in_val else before_val
            leg.val_s += at - (last if last is not None else at)
            leg.n_val += not in_val
            in_val = True
        elif progress := _TRAIN.search(line):
            in_val = False
            epoch, at_iter, n_iter, done, of = progress.groups()
            leg.epoch = float(epoch or done or 0)
            leg.is_epoch_whole = (at_iter is not None and at_iter == n_iter) or (
                done is not None and done == of
            )
        last = at
    if first is not None:
        leg.start_s, leg.span_s = first, last - first


# -- settings and end ----------------------------------------------------------------------


def _add_settings(run, folder, legs):
    text = next((leg.config for leg in reversed(legs) if leg.config), "")
    scripts = [name for name in folder.names if name.endswith(".py")]
    text = text or (text_of(folder.of(scripts[0]), MAX_LOG_MIB) if len(scripts) == 1 else "")
    try:
        config = python_config.settings(text)
    except Unreadable as problem:
        run.notes.append(f"its configuration {problem}: the settings are unknown")
        config = {}
    run.config = flat({k: v for k, v in config.items() if k not in _NO_SETTINGS}, run.notes)
    seed = next((leg.seed for leg in legs if leg.seed is not None), None)
    if isinstance(seed, int):
        run.config.setdefault("seed", seed)


def _add_end(run, legs, log):
    asked = next((run.config[n] for n in _LIMITS if finite(run.config.get(n))), None)
    last, console = legs[-1], of_console(log)
    if asked and last.epoch >= asked and last.is_epoch_whole:
        run.end(COMPLETED, run.reason, FILES)
    elif console:
        run.end(*console, CONSOLE)
    elif asked and last.epoch:
        reached = last.epoch if last.is_epoch_whole else max(0, last.epoch - 1)
        what = shortened(f"{reached:g} of {asked:g}", 60)
        run.end(KILLED, f"reached {what} epochs or iterations: killed, or at work still", FILES)
    else:
        run.end(UNKNOWN, run.reason, NOT_RECORDED)


_LIMITS = (
    *("runner.max_epochs", "train_cfg.max_epochs", "total_epochs", "max_epochs"),
    *("runner.max_iters", "train_cfg.max_iters", "total_iters", "max_iters"),
)
