"""What threatens the reading of effects: when runs ran, how they ended, and which are missing.

Each function looks for one threat and returns a frame, empty where there is none of it. What is
statistical is tested at 5 % over the settings together (Holm 1979, Scand. J. Stat. 6); nothing here
says why runtimes differ.

Contract: a collection's ``runs``, ``excluded`` and ``notes`` frames and the runs' fields in, frames
out; randomness is seeded.
"""

import itertools
import math

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis import fields as _fields
from traincost.analysis.families import holm
from traincost.analysis.order import start_ranks
from traincost.columns import settings

ALPHA = 0.05
EXPLAINED = 0.5  # of the variance of start rank, from which a setting goes with the order
CAP_WIDTH = 0.005  # relative, of the runtimes that end at a cap
CAP_SHARE, CAP_RUNS = 0.05, 3  # that end there at least
CAP_DENSER = 10  # times the density below it
CAP_BELOW = 10  # widths below the cap that it is compared with
OVERLAPPING = 0.05  # of run time, from which overlap is said
MIN_DF = 3  # of a correlation
MIN_RHO = 0.2  # from which runtime is said to go with how many runs were at work
MAX_TOGETHER = 5_000  # runs that are correlated; of more, evenly chosen ones
N_DRAWS = 999
MAX_DRAWN = 4_000_000  # values drawn in all
MIN_CONFIGURATIONS = 8  # for endings to be shuffled by configuration
MAX_CELLS = 100_000  # of a full crossing
IS_GRID = 0.5  # share of the full crossing that was tried, from which it is taken for a grid
FILLED = 0.9  # of the configurations: distinct values of a setting drawn at random
MIN_DRAWN = 15  # configurations, for a random search to be told
UNTRIED = ("completed", "duplicate", "unreadable")  # excluded for a reason that is no ending


# -- when runs ran -------------------------------------------------------------------------


def order(started_s, runtime_s, described):
    """Return the settings that go with the order in which runs started.

    Returns
    -------
    DataFrame
        ``factor``, ``explained`` (one-way eta squared of start rank; a numeric setting in quartiles),
        ``p`` (F test, Holm over the settings), ``n_runs``; of those of at least `EXPLAINED` and
        p <= `ALPHA`, the largest first.
    """
    columns = ["factor", "explained", "p", "n_runs"]
    rank = start_ranks(started_s, runtime_s)
    rows = []
    for field in _fields.factors(described) if rank is not None else ():
        codes, labels = _fields.bins(field)
        explained, p = _one_way(rank, codes, len(labels))
        rows.append((field.name, explained, p, len(rank)))
    table = pd.DataFrame(rows, columns=columns)
    table["p"] = holm(table["p"].to_numpy(dtype=float))
    table = table[(table["explained"] >= EXPLAINED) & (table["p"] <= ALPHA)]
    return table.sort_values("explained", ascending=False, kind="stable", ignore_index=True)


def _one_way(y, codes, k):
    """Return eta squared and the p-value of the one-way F test; p is 1 where it cannot be made."""
    n = np.bincount(codes, minlength=k)
    sums = np.bincount(codes, y - y.mean(), minlength=k)
    between = (sums[n > 0] ** 2 / n[n > 0]).sum()
    total = ((y - y.mean()) ** 2).sum()
    df, df_residual = (n > 0).sum() - 1, len(y) - (n > 0).sum()
    if total == 0 or df < 1:
        return 0.0, 1.0
    if df_residual < 1:
        return between / total, 1.0
    within = max(total - between, 1e-12 * total)
    return between / total, float(stats.f.sf(between / df / (within / df_residual), df, df_residual))


def overlap(started_s, runtime_s, asked, held=(), hosts=None):
    """Return how far runs overlapped in time, and whether runtime goes with how many were at work.

    Parameters
    ----------
    started_s, runtime_s : ndarray
        Of all runs whose time is known, those that did not complete included; NaN is left out.
    asked : ndarray of bool
        Runs whose runtime is asked about.
    held : sequence of ndarray of int
        Level of each run, of each setting that is held.
    hosts : ndarray of int, optional
        Machine of each run; all on one, if left out.

    Returns
    -------
    DataFrame
        Of at most one row: ``share`` (of run time with another run at work), ``most`` (runs at work at
        once), ``rho`` and ``p`` (Spearman's, one-sided, of runtime with the mean number of others at
        work), ``held`` (whether the settings were, of which there may be too many), ``n_runs``.
        Empty where less than `OVERLAPPING` of the run time overlaps, or a start is missing.
    """
    columns = ["share", "most", "rho", "p", "held", "n_runs"]
    known = np.isfinite(started_s) & (runtime_s > 0)
    if known.sum() < 2 or not known[asked].all():
        return pd.DataFrame(columns=columns)
    start, asked = started_s[known], asked[known]
    # A start in whole seconds or minutes lies up to one before the true one.
    step = next((step for step in (60.0, 1.0) if (start % step == 0).all()), 0.0)
    length = np.maximum(runtime_s[known] - step, 1e-3 * runtime_s[known])
    start = start - start.min()
    if hosts is not None:  # machines one after another, so that none overlaps another
        start = start + hosts[known] * ((start + length).max() + 1.0)
    share, most, others = _at_work(start, start + length)
    if share < OVERLAPPING:
        return pd.DataFrame(columns=columns)
    held = [codes[known][asked] for codes in held]
    together = _together(runtime_s[known][asked], others[asked], held)
    return pd.DataFrame([(share, most, *together, int(asked.sum()))], columns=columns)


def _at_work(start, end):
    """Return the overlapping share of run time, the most at once, and the others at work in each run."""
    at = np.concatenate([start, end])
    change = np.repeat([1, -1], len(start))
    in_time = np.lexsort((change, at))  # of equal times, ends come first
    at, n_at_work = at[in_time], np.cumsum(change[in_time])
    gaps = np.diff(at, append=at[-1])
    run_time = (n_at_work * gaps).sum()
    integral = np.concatenate([[0.0], np.cumsum(n_at_work * gaps)])
    reached = integral[np.searchsorted(at, [start, end], side="left")]
    length = end - start  # 0 of a run too short for the digits of a start
    others = np.divide(reached[1] - reached[0], length, out=np.ones_like(length), where=length > 0) - 1
    return (n_at_work * gaps)[n_at_work > 1].sum() / run_time, int(n_at_work.max()), others


def _together(y, others, held):
    """Return Spearman's rho of two values, its one-sided p, and whether codes were held (additively)."""
    every = max(1, len(y) // MAX_TOGETHER)
    y, others = stats.rankdata(y[::every]), stats.rankdata(others[::every])
    dummies = [np.eye(int(codes.max()) + 1)[codes[::every]][:, 1:] for codes in held]
    design = np.column_stack([np.ones(len(y)), *dummies])
    if design.shape[1] > len(y) // 2:  # too many settings to hold
        design = design[:, :1]
    df = len(y) - np.linalg.matrix_rank(design) - 1
    left = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (y, others)]
    if df < MIN_DF or min(map(np.ptp, left)) < 1e-6:
        return np.nan, np.nan, False
    rho = np.corrcoef(*left)[0, 1]
    t = rho * math.sqrt(df / max(1e-12, 1 - rho**2))
    return float(rho), float(stats.t.sf(t, df)), design.shape[1] > 1


# -- how they ended ------------------------------------------------------------------------


def attempts(runs, excluded):
    """Return every run that was tried, with its settings.

    Returns
    -------
    DataFrame
        The completed runs, then the excluded ones that ended otherwise (`UNTRIED` has the others) and
        whose settings are known: the config columns, ``runtime_s``, ``failed`` and ``started_at``.
    """
    columns = list(settings(runs).values())
    status = excluded["status"].astype("str") if "status" in excluded else pd.Series(dtype="str")
    reason = excluded["reason"].astype("str") if "reason" in excluded else pd.Series(dtype="str")
    ended = ~status.isin(UNTRIED) & ~reason.str.contains("had not begun", regex=False)
    present = [name for name in columns if name in excluded]
    failed = excluded[ended.to_numpy(dtype=bool)]
    failed = failed[failed[present].notna().any(axis=1).to_numpy(dtype=bool)] if present else failed[:0]
    kept = ["runtime_s", *(["started_at"] if "started_at" in runs else []), *columns]
    both = [runs.reindex(columns=kept), failed.reindex(columns=kept)]
    both = [frame for frame in both if len(frame)] or [runs.reindex(columns=kept)]
    tried = pd.concat(both, ignore_index=True)
    return tried.assign(failed=np.arange(len(tried)) >= len(runs))


def cap(runtime_s, failed, codes):
    """Return the maximum that many runs end at, as at a time limit.

    At least `CAP_RUNS` and `CAP_SHARE` of the runs lie within `CAP_WIDTH` of the longest, over
    `CAP_DENSER` times as densely as below it, and nowhere else do half as many lie so close: of a
    collection whose runs of one configuration are that much alike, the slowest are no cap. Arguments are of
    all runs that were tried: `runtime_s` is NaN where not known, `codes` are their configurations.

    Returns
    -------
    DataFrame
        Of at most one row: ``runtime_s`` (the longest), ``n_runs`` (that end there), ``n_failed`` (of
        these), ``n_of`` (runs whose time is known). ``attrs["at_cap"]`` says which runs.
    """
    nothing = pd.DataFrame(columns=["runtime_s", "n_runs", "n_failed", "n_of"])
    known = np.isfinite(runtime_s) & (runtime_s > 0)
    y = np.sort(runtime_s[known])
    n = len(y)
    if n < 2 * CAP_RUNS:
        return nothing
    width, start = -math.log1p(-CAP_WIDTH), y[-1] * (1 - CAP_WIDTH)
    at = n - np.searchsorted(y, start, side="left")
    below = n - at - np.searchsorted(y, y[-1] * math.exp(-(1 + CAP_BELOW) * width), side="left")
    if at < max(CAP_RUNS, CAP_SHARE * n) or at * CAP_BELOW <= CAP_DENSER * below or n - at < CAP_RUNS:
        return nothing
    if (known & ~failed & (runtime_s < start)).sum() < CAP_RUNS:
        return nothing  # all that completed take the same time
    rest = y[: n - at]
    elsewhere = np.searchsorted(rest, rest * math.exp(width), side="right") - np.arange(len(rest))
    is_capped = known & (runtime_s >= start)
    if 2 * elsewhere.max() >= at or len(np.unique(codes[is_capped])) < 2:
        return nothing
    row = (y[-1], int(at), int((failed & is_capped).sum()), n)
    table = pd.DataFrame([row], columns=nothing.columns)
    table.attrs["at_cap"] = is_capped
    return table


def by_level(happened, described):
    """Return the levels of which something happened to more runs than to the others.

    The statistic is Pearson's chi square of a setting's levels by what happened, a truth value of each run.
    It is set against that of shuffled runs; of shuffled configurations, with all their runs, where at least
    `MIN_CONFIGURATIONS` are repeated, since runs of one configuration end alike.

    Returns
    -------
    DataFrame
        A row per setting with p <= `ALPHA` (Holm over the settings), the smallest first, for its level
        of the largest share: ``factor``, ``level``, ``n_level``, ``n_happened``, ``n_others``,
        ``n_others_happened``, ``p``.
    """
    columns = ["factor", "level", "n_level", "n_happened", "n_others", "n_others_happened", "p"]
    n, total = len(happened), int(happened.sum())
    candidates = _fields.factors(described)
    if not 0 < total < n or not candidates:
        return pd.DataFrame(columns=columns)
    sizes, hits, first = _shuffled_units(happened, candidates)
    shown = [_fields.bins(field) for field in candidates]
    p = holm(_chi_square_p([codes[first] for codes, _ in shown], hits - sizes * total / n, sizes))
    rows = [
        _worst(field, *bins, happened, own) for field, bins, own in zip(candidates, shown, p, strict=True)
    ]
    table = pd.DataFrame(rows, columns=columns)
    return table[table["p"] <= ALPHA].sort_values("p", kind="stable", ignore_index=True)


def _worst(field, codes, labels, happened, p):
    """Return the row of a setting: of equal shares, the level that most runs have."""
    n = np.bincount(codes, minlength=len(labels))
    hits = np.bincount(codes, happened, minlength=len(labels)).astype(int)
    i = max(range(len(labels)), key=lambda i: (hits[i] / max(n[i], 1), n[i]))
    return field.name, labels[i], n[i], hits[i], n.sum() - n[i], hits.sum() - hits[i], p


def _shuffled_units(happened, candidates):
    """Return the runs of each unit, to how many of them it happened, and one of its runs."""
    n = len(happened)
    of_run = _fields.combined([field.codes for field in candidates], n)
    size = np.bincount(of_run)
    if (size > 1).sum() < MIN_CONFIGURATIONS:
        return np.ones(n), happened.astype(float), np.arange(n)
    return size.astype(float), np.bincount(of_run, happened), _fields.first_of_each(of_run)


def _chi_square_p(codes, beyond, sizes):
    """Return the p-value of each setting: its chi square among those of shuffled units.

    `codes` are of units; `beyond` is what happened in each beyond its share, `sizes` its runs.
    """
    n, rng = len(sizes), np.random.default_rng(0)
    n_draws = max(199, min(N_DRAWS, MAX_DRAWN // n))
    found = np.empty((n_draws + 1, len(codes)))
    for draw in found:
        for j, own in enumerate(codes):
            runs = np.bincount(own, sizes)
            draw[j] = (np.bincount(own, beyond) ** 2 / np.maximum(runs, 1)).sum()
        shuffled = rng.permutation(n)
        beyond, sizes = beyond[shuffled], sizes[shuffled]
    return (found >= found[0] * (1 - 1e-9)).mean(axis=0)


# -- which are missing ---------------------------------------------------------------------


def missing(failed, described):
    """Return the configurations of a grid of which no run completed; `failed` is of the described runs.

    Returns
    -------
    DataFrame
        ``levels`` (a tuple, in the order of ``attrs["factors"]``), ``n_failed`` (runs of it that were
        tried; 0 where none was). Empty where the runs are no grid: fewer than two settings whose
        values repeat, or less than `IS_GRID` of the full crossing tried. ``attrs["n_cells"]`` is the
        size of the crossing.
    """
    crossed = [f for f in _fields.factors(described) if _is_crossed(f)]
    nothing = pd.DataFrame(columns=["levels", "n_failed"])
    nothing.attrs.update(factors=[], n_cells=0)
    n_cells = math.prod(f.n_levels for f in crossed)
    if len(crossed) < 2 or n_cells > MAX_CELLS:
        return nothing
    shape = [f.n_levels for f in crossed]
    cell = np.ravel_multi_index([f.codes for f in crossed], shape)
    tried = np.bincount(cell, minlength=n_cells)
    completed = np.bincount(cell, ~failed, minlength=n_cells)
    if (tried > 0).mean() < IS_GRID:
        return nothing
    lacking = np.flatnonzero(completed == 0)
    at = np.unravel_index(lacking, shape)
    levels = zip(*([f.labels[i] for i in codes] for f, codes in zip(crossed, at, strict=True)), strict=True)
    table = pd.DataFrame({"levels": list(levels), "n_failed": tried[lacking]})
    table.attrs.update(factors=[f.name for f in crossed], n_cells=n_cells)
    return table


def _is_crossed(field):
    # A setting that some runs lack, or that another fixes, is no axis of a grid.
    return not field.fixed_by and _fields.UNSET not in field.labels and 2 * field.n_levels <= len(field.codes)


def pruned(excluded):
    """Return the excluded runs that were ended for their score."""
    return excluded[_told(excluded, ("status", "reason"), "prun")]


def resumed(notes, excluded):
    """Return ``run_id`` and ``note`` of the runs that were resumed, as far as their records tell."""
    columns = ["run_id", "note"]
    rows = [
        frame[_told(frame, (name,), "resumed")][["run_id", name]].set_axis(columns, axis=1)
        for frame, name in ((notes, "note"), (excluded, "reason"))
        if name in frame and "run_id" in frame
    ]
    found = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns)
    return found.drop_duplicates("run_id")


def _told(frame, columns, word):
    told = np.zeros(len(frame), dtype=bool)
    for name in set(columns) & set(frame):
        texts = frame[name].astype("str")
        told |= texts.str.contains(word, case=False, regex=False, na=False).to_numpy(dtype=bool)
    return told


# -- how settings were assigned ------------------------------------------------------------


def drawn_at_random(described, rank):
    """Return the settings that look drawn at random, as in a random search.

    Numbers of which hardly any repeats between configurations, and that go neither with each other, nor with
    another setting, nor with start order. The described fields are of all runs that were tried; where their
    starts have no rank, two such settings are asked for.

    Returns
    -------
    DataFrame
        ``factor``, ``n_values``, ``n_configurations``; empty where any of it fails.
    """
    columns = ["factor", "n_values", "n_configurations"]
    candidates = _fields.factors(described)
    nothing = pd.DataFrame(columns=columns)
    if not candidates:
        return nothing
    of_run = _fields.combined([field.codes for field in candidates], len(candidates[0].codes))
    first = _fields.first_of_each(of_run)
    drawn = [f for f in candidates if f.values is not None and f.n_levels >= FILLED * len(first)]
    if len(first) < MIN_DRAWN or len(drawn) < (1 if rank is not None else 2):
        return nothing
    if any(len(f.names) > 1 or not np.isfinite(f.values).all() for f in drawn):
        return nothing  # settings that change together were not drawn apart
    ranks = {f.name: stats.rankdata(f.values[first]) for f in drawn}
    others = [f for f in candidates if f.name not in ranks]
    p = [stats.spearmanr(a, b).pvalue for a, b in itertools.combinations(ranks.values(), 2)]
    p += [_one_way(a, *_levels(f, first))[1] for a in ranks.values() for f in others]
    if rank is not None:
        p += [stats.spearmanr(a, rank[first]).pvalue for a in ranks.values()]
    if min(holm(np.asarray(p, dtype=float)), default=0.0) <= ALPHA:
        return nothing
    return pd.DataFrame([(f.name, f.n_levels, len(first)) for f in drawn], columns=columns)


def _levels(field, rows):
    codes, labels = _fields.bins(field)
    return codes[rows], len(labels)
