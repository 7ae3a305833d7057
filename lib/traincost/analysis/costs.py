"""What the runs cost, tabulated: cost columns by level, score against cost, hours and money.

Contract: a collection's ``runs`` and ``excluded`` frames in, frames out. `cost` measures what
is tabulated here.
"""

import numpy as np
import pandas as pd

from traincost.analysis import fields
from traincost.analysis.levels import ids_by_level
from traincost.columns import COST_ORDER, PREFIX, SCORE_PREFIX, settings
from traincost.errors import ParameterError, brief, require_among
from traincost.words import natural, unique

_COLUMNS = ("column", "mean", "std", "min", "max", "n", "n_runs", "shared_process")
# The name and the seed of a run are no part of its configuration.
_NOT_SETTINGS = (f"{PREFIX}name", f"{PREFIX}seed")
COPY = "duplicate"  # status of a copy of a run: what it took is what the run took
NOT_COMPLETED = ("running", "failed", "killed", "unfinished")  # statuses
MANY_UNFINISHED = 0.2  # of a level's runs: its means are of the short ones


def cost_table(collection, split="cost", by=None, latest=True):
    """Summarise the runs' cost columns, or their scores, over the runs of each row.

    Parameters
    ----------
    collection : Collection
    split : str
        ``cost``, ``scores``, or the prefix of some scores: ``test`` reads ``test_*`` and no cost
        column.
    by : list of str, optional
        Config fields whose settings make the rows (`ParameterError` for another name). Left out: a row
        per task and report where the runs name their task, else one row for all runs.
    latest : bool
        Of several reports of one task in one configuration, take the latest only. Tasks that
        share a name but differ in configuration are different tasks.

    Returns
    -------
    DataFrame
        Long: the row's key columns (`by`, with "(setting)" behind a name that is taken; or ``task``
        and ``report``; or ``runs``), then
        ``column``, ``mean``, ``std`` (sample, ddof 1; NaN for one run), ``min``, ``max``,
        ``n`` (runs that have the column), ``n_runs`` (completed runs in the row),
        ``shared_process`` (some of them were trained by one process). Empty where no run has
        a column of the split.
    """
    names = _split_columns(collection.runs, split)
    keys, runs = _row_keys(collection.runs, by, latest)
    grouped = runs.groupby(keys, sort=False, dropna=False) if len(runs) else None
    parts = []
    for column, name in names.items() if grouped is not None else ():
        part = grouped[column].agg(["mean", "std", "min", "max", "count"]).rename(columns={"count": "n"})
        part.insert(0, "column", name)
        part["n_runs"] = grouped.size()
        shared = grouped["process"].agg(lambda process: process[process.ne("")].duplicated().any())
        part["shared_process"] = shared.astype(bool)
        parts.append(part[part["n"] > 0].reset_index())
    names = [*keys, *_COLUMNS]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=names)


def cost_members(collection, by=None):
    """Return the ids of the runs of each row of `cost_table`: a dict of the row's keys to tuple."""
    keys, runs = _row_keys(collection.runs, by, latest=True)
    if not len(runs):
        return {}
    ids = runs.groupby(keys, sort=False, dropna=False)["run_id"].agg(tuple)
    return {at if isinstance(at, tuple) else (at,): found for at, found in ids.items()}


def n_superseded(collection, by=None):
    """Return how many runs the cost table leaves out: those of reports that have a later one."""
    return len(collection.runs) - len(_row_keys(collection.runs, by, latest=True)[1])


def _split_columns(runs, split):
    """Return the columns of a split, with the names that the table gives them."""
    if split == "cost":
        found = [name for name in COST_ORDER if name in runs]
        return {n: n for n in found + sorted(c for c in runs if c.startswith("cost_") and c not in found)}
    prefix = SCORE_PREFIX if split == "scores" else f"{SCORE_PREFIX}{split}_"
    return {n: n.removeprefix(SCORE_PREFIX) for n in runs if n.startswith(prefix)}


def _row_keys(runs, by, latest):
    """Return the key columns of a table's rows, and the runs with these columns."""
    if "process" not in runs:
        runs = runs.assign(process="")
    if by is not None:
        keys = unique(map(_key, by))
        for name in by:
            require_among(name, sorted(settings(runs)), "by", "name config fields")
        of_runs = {k: fields.labelled(runs[PREFIX + name]) for k, name in zip(keys, by, strict=True)}
        return list(keys), runs.assign(**of_runs)
    if "task" not in runs or not runs["task"].ne("").any():
        return ["runs"], runs.assign(runs=fields.ALL_RUNS)
    if latest:
        runs = runs[_is_latest(runs)]
    return ["task", "report", "path"], runs


def _key(name):
    """Return what a setting's column is called beside those that the table needs."""
    is_taken = name in (*_COLUMNS, "run_id", "process") or name.startswith(("cost_", SCORE_PREFIX))
    return f"{name} (setting)" if is_taken else name


def _is_latest(runs):
    """Say of each run whether its report is the latest of its task and configuration.

    Reports whose settings are unknown are never taken for one configuration.
    """
    config = [name for name in settings(runs).values() if name not in _NOT_SETTINGS]
    codes = [fields.levels(runs[name])[0] for name in ("task", *config)]
    unknown = runs[config].isna().all(axis=1) if config else pd.Series(True, index=runs.index)
    codes.append(np.where(unknown, 1 + pd.factorize(runs["path"])[0], 0))
    group = fields.combined(codes, len(runs))
    # By time, and reports of one second by their number: -10 is after -9.
    when = [(at, natural(report)) for at, report in zip(runs["started_at"], runs["report"], strict=True)]
    last = {}
    for g, w in zip(group, when, strict=True):
        last[g] = max(last.get(g, w), w)
    return [w == last[g] for g, w in zip(group, when, strict=True)]


def process_order(runs):
    """Say how runs that share a process compare: seeds of one process are not exchangeable.

    Returns
    -------
    dict
        ``n_processes`` with more than one run; ``n_first_slowest``, of which the first run,
        which carries the warm-up, is the slowest; ``n_memory_rises``, of which no run's memory
        peak is below the one before (each inherits it).
    """
    found = {"n_processes": 0, "n_first_slowest": 0, "n_memory_rises": 0}
    if "process" not in runs:
        return found
    for name, group in runs.groupby("process", sort=False):
        if not name or len(group) < 2:
            continue
        found["n_processes"] += 1
        found["n_first_slowest"] += bool(group["runtime_s"].iloc[0] == group["runtime_s"].max())
        if "cost_memory_mib" in group:
            memory = group["cost_memory_mib"].dropna()
            found["n_memory_rises"] += bool(len(memory) > 1 and memory.is_monotonic_increasing)
    return found


def unfinished(collection, by):
    """Return how many runs of each level of the config field `by` were not completed.

    Returns
    -------
    DataFrame
        ``level``, ``n_completed``, ``n_unfinished``, ``share`` unfinished, ``flagged``
        (more than `MANY_UNFINISHED`), for levels with an unfinished run.
    """
    column = PREFIX + by
    excluded = collection.excluded
    names = ["level", "n_completed", "n_unfinished", "share", "flagged"]
    if column not in collection.runs or column not in excluded:
        return pd.DataFrame(columns=names)
    excluded = excluded[excluded["status"].isin(NOT_COMPLETED)]
    if not collection.runs[column].isna().any():
        excluded = excluded[excluded[column].notna()]  # a run of unknown level belongs to none
    both = pd.concat([collection.runs[column], excluded[column]], ignore_index=True)
    codes, labels, _ = fields.levels(both)
    n = len(labels)
    completed = np.bincount(codes[: len(collection.runs)], minlength=n)
    missing = np.bincount(codes[len(collection.runs) :], minlength=n)
    share = missing / (completed + missing)
    table = pd.DataFrame({"level": labels, "n_completed": completed, "n_unfinished": missing, "share": share})
    return table.assign(flagged=share > MANY_UNFINISHED)[missing > 0].reset_index(drop=True)


def spent(collection, by=None, devices=1, price_per_hour=None, power_w=None):
    """Return hours, device-hours, money and energy, by level and in total.

    Money is `price_per_hour` of a device times device-hours, energy `power_w` of a device times device-hours:
    what a parameter says times the hours, nothing measured. `by` is a config field, a total alone if left
    out; `devices` are those that each run reserves.

    Returns
    -------
    DataFrame
        A row per level and `fields.ALL_RUNS` last: ``level``, ``n_runs``, ``runtime_s``
        (completed), ``n_excluded`` (copies aside), ``n_timed`` of these (whose time is known),
        ``excluded_s`` (their time; NaN where of none), ``device_hours`` (both), and ``money``,
        ``energy_kwh`` where their parameter is given.
    """
    runs, excluded = collection.runs, _without_copies(collection.excluded)
    parts = [([fields.ALL_RUNS], np.zeros(len(runs), int), np.zeros(len(excluded), int))]
    if by and (column := PREFIX + by) in runs:
        both = pd.concat([runs[column], excluded.get(column, pd.Series(dtype=runs[column].dtype))])
        codes, levels, _ = fields.levels(both.reset_index(drop=True))
        # Runs that were left out may have no settings: they are of no level.
        parts.insert(0, (levels, codes[: len(runs)], codes[len(runs) :]))
    table = pd.concat([_spent(*part, runs, excluded) for part in parts], ignore_index=True)
    table["device_hours"] = (table["runtime_s"] + table["excluded_s"].fillna(0.0)) / 3600 * devices
    if price_per_hour is not None:
        table["money"] = table["device_hours"] * price_per_hour
    if power_w is not None:
        table["energy_kwh"] = table["device_hours"] * power_w / 1000
    return table


def spent_members(collection, by):
    """Return the ids of the runs, those left out included, of each level of `by`: a dict as `spent`."""
    column = PREFIX + by
    if column not in collection.runs:
        return {}
    parts = [
        part
        for part in (collection.runs, _without_copies(collection.excluded))
        if column in part and len(part)
    ]
    both = pd.concat([part[["run_id", column]] for part in parts], ignore_index=True)
    codes, labels, _ = fields.levels(both[column])
    return ids_by_level(both["run_id"], codes, labels)


def lost_s(excluded):
    """Return the known seconds of each run left out, copies aside: a copy took nothing itself."""
    return _without_copies(excluded)["runtime_s"].clip(lower=0).dropna()


def _without_copies(excluded):
    return excluded[excluded["status"] != COPY]


def _spent(levels, here, there, runs, excluded):
    """Return runs and seconds of each level, by the codes of the runs and of those left out."""
    n = len(levels)
    left_out = excluded if len(there) else excluded.head(0)
    left_s = np.full(len(left_out), np.nan)
    if "runtime_s" in left_out:
        left_s = left_out["runtime_s"].clip(lower=0).to_numpy(dtype=float)
    known, n_excluded = np.isfinite(left_s), np.bincount(there, minlength=n)
    seconds = np.bincount(there[known], left_s[known], minlength=n)
    n_timed = np.bincount(there[known], minlength=n)
    return pd.DataFrame(
        {
            "level": levels,
            "n_runs": np.bincount(here, minlength=n),
            "runtime_s": np.bincount(here, runs["runtime_s"], minlength=n),
            "n_excluded": n_excluded,
            "n_timed": n_timed,
            "excluded_s": np.where((n_excluded > 0) & (n_timed == 0), np.nan, seconds),
        }
    )


def score_front(runs, score, goal="max"):
    """Return score and cost of each run, and which no other run beats on both.

    The cost is ``cost_runtime_per_run_s`` where a run has it, else its ``runtime_s``. `goal` is ``max`` where
    a larger score is better, ``min`` where a smaller one is. `ParameterError` where no run has the score.

    Returns
    -------
    DataFrame
        ``run_id``, ``cost`` (seconds), ``score``, ``front``; by rising cost. A run is on the
        front unless another is no worse on both and better on one. Empty without a `score`.
    """
    columns = ["run_id", "cost", "score", "front"]
    if not score:
        return pd.DataFrame(columns=columns)
    column = f"{SCORE_PREFIX}{score}"
    if column not in runs:
        known = sorted(name.removeprefix(SCORE_PREFIX) for name in runs if name.startswith(SCORE_PREFIX))
        raise ParameterError(
            f"`score` must be one of {', '.join(known) or 'none there are'}, got {brief(score)}"
        )
    cost = runs[_cost_column(runs)].fillna(runs["runtime_s"])
    points = pd.DataFrame({"run_id": runs["run_id"], "cost": cost, "score": runs[column]}).dropna()
    worth = points["score"] if goal == "max" else -points["score"]
    points = points.assign(worth=worth).sort_values(["cost", "worth"], ascending=[True, False], kind="stable")
    best_cheaper = points.groupby("cost")["worth"].max().cummax().shift(fill_value=-np.inf)
    best_equal = points.groupby("cost")["worth"].transform("max")
    points["front"] = (points["worth"] > points["cost"].map(best_cheaper)) & (points["worth"] == best_equal)
    return points[columns].reset_index(drop=True)


def _cost_column(runs):
    return "cost_runtime_per_run_s" if "cost_runtime_per_run_s" in runs else "runtime_s"


def cost_label(runs):
    """Return what `score_front` takes for the cost, in words."""
    return "runtime per model, in s" if _cost_column(runs) != "runtime_s" else "runtime, in s"


def default_rows(collection, by):
    """Return the fields that make the cost table's rows where no parameter says.

    None, so that `cost_table` takes the runs' own tasks, where they name such; else the field
    that the page compares.
    """
    if collection.runs["task"].ne("").any() or by.name == fields.ALL_RUNS:
        return None
    return [by.name]
