"""Ultralytics (YOLOv8 and later: detect, segment, pose, classify), and YOLOv5, 7 and 9.

A run's folder has ``args.yaml`` (``opt.yaml``) with all settings and ``results.csv`` with a row per
epoch. Since Ultralytics 8.3.9 its column ``time`` is the time since training began, in seconds, and
starts anew when a run is resumed; before, and in YOLOv5, the event files beside it alone tell a time. A
run is complete whose last epoch was reached, or that stopped early for its patience and drew the plots
of the end. Folders of ``val``, ``predict`` and ``track`` are no runs.
"""

import os
import re

from traincost.reading.formats import events_beside
from traincost.reading.formats.by_name import first_of
from traincost.reading.formats.csv_rows import column, last_of, legs, names_in, number, rows_of
from traincost.reading.formats.files import Folder, mapping_in, text_of
from traincost.reading.formats.run import Run, flat, runtime
from traincost.reading.formats.statuses import COMPLETED, FAILED, FILES, KILLED, NOT_RECORDED, UNKNOWN
from traincost.reading.formats.yaml_text import parse_yaml

NAME = "ultralytics"
TITLE = "Ultralytics and YOLOv5 runs (args.yaml or opt.yaml, results.csv)"
ARGS_NAME, OPT_NAME, HYP_NAME = "args.yaml", "opt.yaml", "hyp.yaml"
RESULTS_NAME, OLD_RESULTS_NAME = "results.csv", "results.txt"
NAMES, sources = first_of(ARGS_NAME, OPT_NAME, RESULTS_NAME)  # they stand for the run's folder
NO_TIME = (
    "its runtime is not known: results.csv has no time (it has one since Ultralytics 8.3.9) and no event "
    "file lies beside it"
)
_IDENTITY = ("name", "project", "save_dir", "exist_ok")
_LOSS = re.compile(r"train/\w*loss")
_NO_SCORES = re.compile(r"epoch|time|(lr|x)/.*")
_END_PLOTS = re.compile(r"confusion_matrix.*\.png|(Box|Mask|Pose)?(PR|F1|P|R)_curve\.png")


def recognises(path):
    """Say whether a file is of such a run, by its content."""
    return bool(_kind(path, Folder(os.path.dirname(path)))[0])


def read(path, run_id):
    """Return the run in the folder of `path`; none where the file is another tool's."""
    folder = Folder(os.path.dirname(path))
    kind, settings = _kind(path, folder)
    if not kind:
        return []
    run = Run(run_id, named=False)
    run.config = flat({k: v for k, v in settings.items() if k not in _IDENTITY}, run.notes)
    run.devices, run.device = _devices(settings.get("device"))
    run.parts = [RESULTS_NAME] if RESULTS_NAME in folder else []
    results = header, rows = rows_of(folder.of(RESULTS_NAME), run.notes) if run.parts else ([], [])
    run.fingerprint = repr(results) if rows else ""
    last = last_of(header, rows)
    run.scores = {name: value for name, value in last.items() if not _NO_SCORES.fullmatch(name)}
    _add_time(run, folder, results)
    _add_end(run, kind, settings, results, folder)
    return [run]


def _kind(path, folder):
    """Return which of the two wrote a file (empty for neither), and the settings."""
    name = os.path.basename(path)
    if name == RESULTS_NAME:
        header = names_in(path)
        is_ours = bool(header) and header[0] == "epoch" and any(map(_LOSS.fullmatch, header))
        return ("yolo" if is_ours else ""), {}
    settings = mapping_in(path, parse_yaml, [])
    if name == ARGS_NAME:
        is_ours = {"task", "mode", "model"} <= settings.keys() and settings["mode"] == "train"
        return ("ultralytics" if is_ours else ""), settings
    if not {"weights", "epochs"} <= settings.keys() or not {"imgsz", "img_size", "img"} & settings.keys():
        return "", {}
    if not isinstance(settings.get("hyp"), dict) and HYP_NAME in folder:
        settings["hyp"] = folder.mapping(HYP_NAME, parse_yaml, [])
    return "yolov5", settings


def _devices(device):
    """Return how many devices ``0,1``, ``[0, 1]`` or ``cuda:0`` are, and their type where it is no GPU."""
    if isinstance(device, list):
        return float(len(device)) or None, ""
    if isinstance(device, int) and not isinstance(device, bool):
        return 1.0, ""
    text = str(device or "").strip().lower().removeprefix("cuda:")
    if text in ("cpu", "mps"):
        return None, text
    parts = [part.strip() for part in text.strip("[]()").split(",") if part.strip()]
    return (float(len(parts)), "") if parts and all(part.isdigit() for part in parts) else (None, "")


def _add_time(run, folder, results):
    total, n_legs = legs(column(*results, "time"), column(*results, "epoch"))
    if total:
        run.runtime_s, run.reason = runtime(total, "time in results.csv")
        if n_legs > 1:
            run.notes.append(f"resumed: {n_legs} legs are one run, whose times add up")
    elif not events_beside.add(run, folder):
        run.reason = NO_TIME


def _add_end(run, kind, settings, results, folder):
    """Set how the run ended, by its epochs and what it left."""
    asked, reached = number(str(settings.get("epochs"))), _reached(kind, results, folder)
    if reached is None:
        run.end(FAILED, "has no row in results.csv: it stopped before its first epoch ended", FILES)
    elif not asked:
        run.end(UNKNOWN, run.reason, NOT_RECORDED)
    elif reached >= asked or _stopped_early(run, settings, results, folder):
        run.end(COMPLETED, run.reason, FILES)
        if reached < asked:
            run.notes.append(f"stopped early: {reached:g} of {asked:g} epochs")
    else:
        run.end(KILLED, f"reached {reached:g} of {asked:g} epochs: killed, or at work still", FILES)


def _reached(kind, results, folder):
    """Return how many epochs were done; YOLOv5 counts them from 0, and wrote them without names before."""
    epochs = [epoch for epoch in column(*results, "epoch") if epoch is not None]
    if epochs:
        return max(epochs) + (min(epochs) == 0 or kind == "yolov5")
    lines = text_of(folder.of(OLD_RESULTS_NAME)).split("\n") if OLD_RESULTS_NAME in folder else []
    done = [number(line.split("/")[0]) for line in lines if "/" in line[:12]]
    return done[-1] + 1 if done and done[-1] is not None else None


def _stopped_early(run, settings, results, folder):
    """Say whether training ended on purpose: at its limit in hours, or for its patience."""
    hours, patience = number(str(settings.get("time"))), number(str(settings.get("patience")))
    if hours and run.runtime_s and run.runtime_s >= 0.95 * hours * 3600:
        return True
    if "results.png" in folder and folder.like(_END_PLOTS):
        return True
    best = [name for name in results[0] if "mAP" in name and ("50-95" in name or "0.5:0.95" in name)]
    scores = [score or 0.0 for score in column(*results, best[0])] if best else []
    return bool(patience and scores) and len(scores) - 1 - scores.index(max(scores)) >= patience
