"""Ray Tune and RLlib: a folder per trial, with ``params.json``, ``result.json`` and ``progress.csv``.

The runtime is ``time_total_s`` of the last result, which goes on after a restore. How a trial ended
stands in the experiment's state beside the trials (JSON within JSON), else in ``error.txt`` or in the
last result. A scheduler ends trials early on purpose: how many iterations one took is a score. Pickles
are not opened.
"""

import os
import re
from functools import lru_cache

from traincost.columns import finite
from traincost.reading.formats.csv_rows import last_of, names_in, rows_of
from traincost.reading.formats.endings import lines_at_end
from traincost.reading.formats.files import Folder, Unreadable, head_of, parse_json, read_bytes
from traincost.reading.formats.run import Run, flat, iso, runtime
from traincost.reading.formats.statuses import (
    COMPLETED,
    FAILED,
    FILES,
    NOT_RECORDED,
    QUEUED,
    RUNNING,
    UNKNOWN,
)
from traincost.reading.sensitive import vocabulary

NAME = "ray"
TITLE = "Ray Tune and RLlib trials (params.json, result.json)"
PARAMS_NAME, RESULT_NAME = "params.json", "result.json"
PROGRESS_NAME, ERROR_NAME = "progress.csv", "error.txt"
NAMES = re.compile("|".join(map(re.escape, (PARAMS_NAME, RESULT_NAME))))
MAX_STATE_MIB = 64
LAST_BYTES = 2**20  # of results, in which the last is
_STATE = re.compile(r"experiment_state.*\.json", re.DOTALL)
_NO_SCORES = vocabulary(
    "config timestamp checkpoint_dir_name should_checkpoint done training_iteration trial_id "
    "date time_this_iter_s time_total_s pid hostname node_ip time_since_restore "
    "iterations_since_restore experiment_tag experiment_id timesteps_since_restore "
    "timesteps_total episodes_total warmup_time time timers perf counters info sampler_perf "
    "hist_stats num_healthy_workers trial_log_path"
)


def sources(directory, found):
    """Return what stands for a trial's folder."""
    if RESULT_NAME in found and (PARAMS_NAME in found or PROGRESS_NAME in found):
        return [RESULT_NAME]
    return [PARAMS_NAME] if PARAMS_NAME in found and (PROGRESS_NAME in found or ERROR_NAME in found) else []


def recognises(path):
    """Say whether a file is a trial's."""
    head = head_of(path, 2**16)
    return b"trial_id" in head or (bool(head) and os.path.basename(path) == PARAMS_NAME)


def read(path, run_id):
    """Return the trial in the folder of `path`; none where it is something else."""
    folder, run = Folder(os.path.dirname(path)), Run(run_id, named=False)
    beside = Folder(os.path.dirname(folder.path))
    states = beside.like(_STATE)
    last = _last_result(folder, run.notes)
    failed_early = PARAMS_NAME in folder and states
    if not {"trial_id", "time_total_s"} <= last.keys() and not failed_early:
        return []
    config = folder.mapping(PARAMS_NAME, parse_json, run.notes)
    config = config or (last.get("config") if isinstance(last.get("config"), dict) else {})
    run.config = flat(config, run.notes)
    newest = beside.of(states[-1]) if states else ""
    state = _state(newest, str(last.get("trial_id", "")), os.path.basename(folder.path))
    if last.get("trial_id"):
        run.run_id, run.named = str(last["trial_id"]), True
    run.runtime_s, reason = runtime(last.get("time_total_s"), "time_total_s")
    ended, took = last.get("timestamp"), last.get("time_total_s")
    run.started_at = iso(
        state.get("start_time") or (ended - took if finite(ended) and finite(took) else None)
    )
    run.host = str(last.get("hostname") or "")
    own = {name: value for name, value in last.items() if name not in _NO_SCORES}
    run.scores = {name: value for name, value in flat(own, []).items() if finite(value)}
    if finite(last.get("training_iteration")):
        run.scores["training_iteration"] = last["training_iteration"]
    run.end(*_ending(state.get("status"), last, folder))
    run.reason = run.reason or reason
    return [run]


def _last_result(folder, notes):
    """Return the last whole line of results, else the last row of ``progress.csv``."""
    if RESULT_NAME in folder:
        try:
            lines = lines_at_end(folder.of(RESULT_NAME), LAST_BYTES)
        except Unreadable as problem:
            notes.append(f"{RESULT_NAME} {problem}")
            lines = []
        for line in reversed(lines):
            try:
                entry = parse_json(line.encode("utf-8", "replace")) if line.strip() else None
            except Unreadable:
                continue
            if isinstance(entry, dict):
                return entry
    path = folder.of(PROGRESS_NAME)
    header = names_in(path) if PROGRESS_NAME in folder else []
    is_told = {"trial_id", "time_total_s"} <= set(header)
    return last_of(*rows_of(path, notes)) | {"trial_id": ""} if is_told else {}


def _ending(status, last, folder):
    if ERROR_NAME in folder or status == "ERROR":
        which = ERROR_NAME if ERROR_NAME in folder else "the experiment's state says ERROR"
        return FAILED, f"the trial failed: {which}"
    if status == "TERMINATED":
        return COMPLETED, ""
    if status in ("RUNNING", "PAUSED"):
        return RUNNING, f"the experiment's state says {status}: at work still, or killed"
    if status == "PENDING":
        return QUEUED, "the experiment's state says PENDING: it had not begun"
    if last.get("done") is True:
        return COMPLETED, "", FILES
    return UNKNOWN, "", NOT_RECORDED


# -- the experiment's state ----------------------------------------------------------------


def _state(path, trial_id, name):
    try:
        trials = _trials(read_bytes(path, MAX_STATE_MIB)) if path else ()
    except Unreadable:
        return {}
    own = (t for t in trials if t.get("trial_id") == trial_id or str(t.get("relative_logdir", "")) == name)
    return next(own, {})


@lru_cache(maxsize=2)
def _trials(content):
    """Return the trials in a state: before Ray 2.4 below ``checkpoints``, each a text of JSON."""
    state = parse_json(content)
    entries = state.get("trial_data") or state.get("checkpoints") if isinstance(state, dict) else None
    trials = []
    for entry in entries if isinstance(entries, list) else ():
        entry = entry[0] if isinstance(entry, list) and entry else entry
        try:
            trial = parse_json(entry.encode()) if isinstance(entry, str) else entry
        except Unreadable:
            continue
        if isinstance(trial, dict):
            trials.append(trial)
    return tuple(trials)
