"""Stable-Baselines3 with RL Zoo, and Spinning Up: what a reinforcement learner writes beside its agent.

``N.monitor.csv``: a line of JSON with the start, then a row per episode with the time since then; one
file per environment, which run at once, so the last end of any counts and not their sum.
``progress.csv`` has ``time/time_elapsed``; Spinning Up's ``progress.txt`` a column ``Time``. Both are
cumulative, and approximate: what comes after the last episode or log is not in them. Settings: RL Zoo's
``args.yml`` and ``config.yml`` (ordered mappings, of which nothing is constructed), or ``config.json``.
"""

import os
import re

from traincost.columns import finite
from traincost.reading.formats.csv_rows import column, last_of, legs, names_in, number, rows_of
from traincost.reading.formats.endings import lines_at_end
from traincost.reading.formats.files import Folder, Unreadable, head_of, mapping_in, parse_json
from traincost.reading.formats.run import Run, flat, iso, runtime
from traincost.reading.formats.statuses import COMPLETED, FILES, NOT_RECORDED, UNKNOWN
from traincost.reading.formats.yaml_text import parse_yaml
from traincost.reading.sensitive import vocabulary

NAME = "stable-baselines3"
TITLE = "Stable-Baselines3, RL Zoo and Spinning Up (monitor.csv, progress.csv, progress.txt)"
PROGRESS_NAME, SPINNING_NAME = "progress.csv", "progress.txt"
ARGS_NAME, CONFIG_NAME, SPINNING_CONFIG = "args.yml", "config.yml", "config.json"
MAX_EPISODES = 100  # over which the reward is a mean, as the tool's own
MAX_ENVIRONMENTS = 10_000
_MONITOR = re.compile(r"(?:.*[._-])?monitor\.csv", re.DOTALL)
NAMES = re.compile(
    _MONITOR.pattern + "|" + "|".join(map(re.escape, (PROGRESS_NAME, SPINNING_NAME))), re.DOTALL
)
ELAPSED = "time/time_elapsed"
APPROXIMATE = "runtime is approximate: until the last episode or log ended"
_PATHS = vocabulary("tensorboard_log log_folder yaml_file trained_agent save_replay_buffer uuid track")


def sources(directory, found):
    """Return the first file that stands for the agent's folder."""
    monitors = [name for name in found if _MONITOR.fullmatch(name)]
    return (monitors + [name for name in (PROGRESS_NAME, SPINNING_NAME) if name in found])[:1]


def recognises(path):
    """Say whether a file is such a tool's, by its beginning."""
    name = os.path.basename(path)
    if _MONITOR.fullmatch(name):
        return _beginning(path) is not None
    header = names_in(path)
    if name == PROGRESS_NAME:
        return ELAPSED in header
    return "Time" in header and bool({"TotalEnvInteracts", "AverageEpRet"} & set(header))


def read(path, run_id):
    """Return the run in the folder of `path`; none where its files are another tool's."""
    if not recognises(path):
        return []
    folder, run = Folder(os.path.dirname(path)), Run(run_id, named=False, notes=[APPROXIMATE])
    times = [_add_monitors(run, folder), _add_progress(run, folder)]
    total = max(filter(None, times), default=None)
    run.runtime_s, run.reason = runtime(total, "the time of its last episode or log")
    settings = _zoo(folder, run.notes)
    if SPINNING_NAME in folder:
        settings |= folder.mapping(SPINNING_CONFIG, parse_json, run.notes)
    run.config = {**flat(settings, run.notes), **run.config}
    has_agent = any(f"{settings.get(name)}.zip" in folder for name in ("env", "env_id"))
    run.end(*(COMPLETED, run.reason, FILES) if has_agent else (UNKNOWN, run.reason, NOT_RECORDED))
    return [run]


# -- monitors ------------------------------------------------------------------------------


def _beginning(path):
    """Return the JSON in the first line of a monitor, or None where there is none."""
    first = head_of(path, 4096).partition(b"\n")[0]
    try:
        found = parse_json(first[1:]) if first.startswith(b"#") else None
    except Unreadable:
        return None
    return found if isinstance(found, dict) and finite(found.get("t_start")) else None


def _add_monitors(run, folder):
    """Add start, environment and reward; return the time until the last episode of any environment."""
    starts, ends, rewards = [], [], []
    for path in map(folder.of, folder.like(_MONITOR)[:MAX_ENVIRONMENTS]):
        beginning = _beginning(path)
        try:
            lines = lines_at_end(path)
        except Unreadable:  # gone since it was listed: the others tell what they tell
            continue
        if beginning is None:
            continue
        starts.append(beginning["t_start"])
        if "env_id" in beginning:
            run.config.setdefault("env", str(beginning["env_id"]))
        episodes = [line.split(",") for line in lines if line and line[0] in "-.0123456789"]
        last = [cells for cells in episodes if len(cells) >= 3 and number(cells[2]) is not None]
        if last:
            ends.append(beginning["t_start"] + number(last[-1][2]))
            rewards += [number(cells[0]) for cells in last[-MAX_EPISODES:]]
    rewards = [reward for reward in rewards if reward is not None]
    if rewards:
        run.scores["ep_rew_mean"] = sum(rewards) / len(rewards)
    run.started_at = iso(min(starts)) if starts else ""
    return max(ends) - min(starts) if ends else None


# -- progress ------------------------------------------------------------------------------


def _add_progress(run, folder):
    """Add the last values that were logged; return the time until then."""
    for name, time_name in ((PROGRESS_NAME, ELAPSED), (SPINNING_NAME, "Time")):
        if name in folder and time_name in names_in(folder.of(name)):
            logged = rows_of(folder.of(name), run.notes)
            run.fingerprint = repr(logged)
            values = last_of(*logged).items()
            run.scores |= {
                k: v for k, v in values if not k.startswith("time/") and k not in ("Time", "Epoch")
            }
            order = column(*logged, "time/total_timesteps") or column(*logged, "Epoch")
            return legs(column(*logged, time_name), order)[0]
    return None


# -- settings ------------------------------------------------------------------------------


def _zoo(folder, notes):
    """Return what RL Zoo was asked and what it took, from the folder of the environment's name."""
    for inside in map(Folder, map(folder.of, folder.names)):
        if ARGS_NAME in inside:
            asked, taken = (mapping_in(inside.of(n), parse_yaml, notes) for n in (ARGS_NAME, CONFIG_NAME))
            return {k: v for k, v in {**asked, **taken}.items() if k not in _PATHS}
    return {}
