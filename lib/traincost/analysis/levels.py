"""How long runs take by the levels of a setting, and which settings a page compares.

Contract: runtimes and described settings in, frames out.
"""

import numpy as np
import pandas as pd

from traincost.analysis.fields import ALL_RUNS, Field, bins, determines
from traincost.errors import require, require_among

MAX_CELL_ROWS, MAX_CELL_COLUMNS = 24, 12  # levels of two factors that are compared cell by cell


def axes(fields, effects, n_runs, rows="", columns=""):
    """Choose the two fields whose levels a page compares, each a Field or None.

    `effects` are factors by size of effect, as `effects.main_effects` returns them. `rows` and `columns` are
    names asked for (`ParameterError` where there is no such field); an empty one is chosen: the factor of
    largest effect among those that clear chance, else among all; then the next that neither fixes it nor is
    fixed by it.
    """
    by_name = {field.name: field for field in fields}
    for parameter, name in (("rows", rows), ("columns", columns)):
        if name:
            require_among(name, sorted(by_name), parameter, "be a setting of the runs")
    require(not rows or rows != columns, "columns", "another setting than `rows`", columns)
    ordered = effects.sort_values("clears", ascending=False, kind="stable")["factor"]
    ranked = [by_name[name] for name in ordered if by_name[name].is_factor]
    # Runs that each have a name only can still be told apart by it.
    ranked = ranked or [f for f in fields if f.kind == "identifier" and f.n_levels <= 24]
    first = by_name[rows] if rows else next(iter(ranked), None)
    if first is None:
        return all_runs(n_runs), None
    if columns:
        return first, by_name[columns]
    own = bins(first)[0]
    others = ((f, bins(f)[0]) for f in ranked if f is not first)
    apart = (f for f, codes in others if not determines(codes, own) and not determines(own, codes))
    return first, next(apart, None)


def all_runs(n_runs):
    """Return a stand-in with the one level that all runs share."""
    return Field(ALL_RUNS, "shared", (ALL_RUNS,), np.zeros(n_runs, dtype=np.int64), None, (ALL_RUNS,))


def level_runtimes(runtime_s, field):
    """Return runtime by level: ``level``, ``n_runs``, ``mean_s``, ``median_s``, ``min_s``, ``max_s``.

    Slowest first; levels of equal mean in natural order. Empty for no field.
    """
    names = ["n_runs", "mean_s", "median_s", "min_s", "max_s"]
    if field is None:
        return pd.DataFrame(columns=["level", *names])
    codes, labels = bins(field)
    table = pd.Series(runtime_s.to_numpy()).groupby(codes).agg(["size", "mean", "median", "min", "max"])
    table.columns = names
    table.insert(0, "level", [labels[i] for i in table.index])
    return table.sort_values("mean_s", ascending=False, kind="stable", ignore_index=True)


def members(run_ids, field):
    """Return the ids of the runs of each level: a dict of ``(level,)`` to tuple. Empty for no field."""
    return {} if field is None else ids_by_level(pd.Series(run_ids.to_numpy()), *bins(field))


def ids_by_level(run_ids, codes, labels):
    """Return the ids of the runs of each level: a dict of ``(level,)`` to tuple."""
    return {(labels[i],): found for i, found in run_ids.groupby(codes).agg(tuple).items()}


def cell_runtimes(runtime_s, rows, columns):
    """Return mean runtime in seconds, levels of `rows` by levels of `columns`, NaN where empty.

    At most `MAX_CELL_ROWS` by `MAX_CELL_COLUMNS`, those of the largest mean. ``attrs["n_most"]`` is
    the number of runs in the fullest cell, ``attrs["n_levels"]`` how many levels the two have.
    Empty where there is no second field.
    """
    if columns is None:
        return pd.DataFrame()
    (row_codes, row_labels), (column_codes, column_labels) = bins(rows), bins(columns)
    shape = (len(row_labels), len(column_labels))
    at = row_codes * shape[1] + column_codes
    n = np.bincount(at, minlength=shape[0] * shape[1]).astype(float)
    sums = np.bincount(at, runtime_s, minlength=shape[0] * shape[1])
    means = np.divide(sums, n, out=np.full_like(sums, np.nan), where=n > 0).reshape(shape)
    at = pd.Index(row_labels, name=rows.name), pd.Index(column_labels, name=columns.name)
    shown = _slowest(runtime_s, row_codes, MAX_CELL_ROWS), _slowest(runtime_s, column_codes, MAX_CELL_COLUMNS)
    cells = pd.DataFrame(means, *at).iloc[shown]
    cells.attrs.update(n_most=int(n.max()), n_levels=shape)
    return cells


def _slowest(runtime_s, codes, most):
    """Return the levels of the largest mean runtime, at most so many, in their own order."""
    mean_s = np.bincount(codes, runtime_s) / np.bincount(codes)
    return np.sort(np.argsort(-mean_s, kind="stable")[:most])


def level_of_runs(runtime_s, field):
    """Return ``level`` and ``runtime_s`` of each run, levels in natural order."""
    codes, labels = bins(field)
    order = np.argsort(codes, kind="stable")
    levels = np.array(labels, dtype=object)[codes[order]]
    return pd.DataFrame({"level": levels, "runtime_s": runtime_s.to_numpy()[order]})
