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
from traincost.reading.formats.files import Unreadable, mapping_in, names, parse_json, read_head
from traincost.reading.formats.run import Run, flat, iso, runtime
from traincost.reading.formats.statuses import COMPLETED, FILES, NOT_RECORDED, UNKNOWN
from traincost.reading.formats.yaml_text import parse_yaml

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
_PATHS = (
    "tensorboard_log",
    "log_folder",
    "yaml_file",
    "trained_agent",
    "save_replay_buffer",
    "uuid",
    "track",
)


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
    return ELAPSED in header if name == PROGRESS_NAME else _is_spinning(header)


def read(path, run_id):
    """Return the run in the folder of `path`; none where its files are another tool's."""
    folder = os.path.dirname(path)
    found = names(folder)
    if not recognises(path):
        return []
    run = Run(run_id, named=False, notes=[APPROXIMATE])
    times = [_add_monitors(run, folder, found), _add_progress(run, folder, found)]
    known = [seconds for seconds in times if seconds]
    run.runtime_s, run.reason = runtime(max(known) if known else None, "the time of its last episode or log")
    settings = _zoo(folder, found, run.notes) | _spinning(folder, found, run.notes)
    run.config = {**flat(settings, run.notes), **run.config} if settings else run.config
    has_agent = any(f"{env}.zip" in found for env in map(str, (settings.get("env"), settings.get("env_id"))))
    run.end(*(COMPLETED, run.reason, FILES) if has_agent else (UNKNOWN, run.reason, NOT_RECORDED))
    return [run]


# -- monitors ------------------------------------------------------------------------------


def _beginning(path):
    """Return the JSON in the first line of a monitor, or None where there is none."""
    try:
        first = read_head(path, 4096).partition(b"\n")[0]
        found = parse_json(first[1:]) if first.startswith(b"#") else None
    except Unreadable:
        return None
    return found if isinstance(found, dict) and finite(found.get("t_start")) else None


def _add_monitors(run, folder, found):
    """Add start, environment and reward; return the time until the last episode of any environment."""
    starts, ends, rewards = [], [], []
    for name in [name for name in found if _MONITOR.fullmatch(name)][:MAX_ENVIRONMENTS]:
        path = os.path.join(folder, name)
        beginning = _beginning(path)
        if beginning is None:
            continue
        starts.append(beginning["t_start"])
        if "env_id" in beginning:
            run.config.setdefault("env", str(beginning["env_id"]))
        episodes = [line.split(",") for line in lines_at_end(path) if line and line[0] in "-.0123456789"]
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


def _is_spinning(header):
    return "Time" in header and bool({"TotalEnvInteracts", "AverageEpRet"} & set(header))


def _add_progress(run, folder, found):
    """Add the last values that were logged; return the time until then."""
    for name, time_name in ((PROGRESS_NAME, ELAPSED), (SPINNING_NAME, "Time")):
        path = os.path.join(folder, name)
        if name not in found or time_name not in names_in(path):
            continue
        header, rows = rows_of(path, run.notes)
        run.fingerprint = repr((header, rows))
        last = last_of(header, rows)
        run.scores |= {
            k: v for k, v in last.items() if not k.startswith("time/") and k not in ("Time", "Epoch")
        }
        order = column(header, rows, "time/total_timesteps") or column(header, rows, "Epoch")
        return legs(column(header, rows, time_name), order or [None] * len(rows))[0]
    return None


# -- settings ------------------------------------------------------------------------------


def _zoo(folder, found, notes):
    """Return what RL Zoo was asked and what it took, from the folder of the environment's name."""
    for name in found:
        inside = os.path.join(folder, name)
        if ARGS_NAME in names(inside):
            asked = mapping_in(os.path.join(inside, ARGS_NAME), parse_yaml, notes)
            taken = mapping_in(os.path.join(inside, CONFIG_NAME), parse_yaml, notes)
            return {k: v for k, v in {**asked, **taken}.items() if k not in _PATHS}
    return {}


def _spinning(folder, found, notes):
    if SPINNING_NAME not in found or SPINNING_CONFIG not in found:
        return {}
    return mapping_in(os.path.join(folder, SPINNING_CONFIG), parse_json, notes)
