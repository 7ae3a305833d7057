"""What each field of the configs is: shared, a factor, a replicate, or a run's name.

Contract: a frame of config columns in, `Field` records out; nothing is tested here. A field
is a *factor* when its effect on runtime can be asked about; `Field.kind` says what else it is:

``shared``
    One level in the whole collection.
``replicate``
    Repeats a configuration (a seed).
``identifier``
    Text with one level per run, or per configuration: it names runs, so it would "explain"
    any runtime.
``levels``
    A factor with discrete levels.
``numeric``
    A factor with too many values to be levels: tested as a cubic in rank.
``merged``
    Partitions the runs exactly as another factor does; shown with that factor.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from traincost.columns import PREFIX
from traincost.errors import ParameterError
from traincost.words import natural, unique

UNSET = "(unset)"
EMPTY = "(empty)"
ALL_RUNS = "all runs"
MAX_NUMERIC_LEVELS = 8  # a numeric field with more values is tested as a trend
N_BINS = 4  # of a numeric field with more values, for display
MIN_RUNS_PER_LEVEL = 3  # on average, for a numeric field to be levels
ENTANGLED_V = 0.75  # bias-corrected Cramér's V from which two factors are hard to separate
MAX_CELL_ROWS, MAX_CELL_COLUMNS = 24, 12  # levels of two factors that are compared cell by cell
MAX_MODEL_LEVELS = 200  # a factor with more levels is tested alone, never held in a model


@dataclass(frozen=True, eq=False)
class Field:
    """One config field over the runs of a collection.

    Attributes
    ----------
    name : str
        Dotted path in the config.
    kind : str
        See the module's docstring.
    labels : tuple of str
        Levels in natural order, a missing value last.
    codes : ndarray of int
        Level of each run, an index into `labels`.
    values : ndarray of float, or None
        The numbers of a numeric field, NaN where missing.
    names : tuple of str
        This field and those merged into it.
    reason : str
        Why the field is left out, where it is.
    fixes : tuple of str
        Factors that this one determines: each of its levels has a single level of theirs.
    fixed_by : str
        Name of a factor that determines this one, or empty.
    entangled_with : tuple of str
        Factors that can hardly be told from this one (`ENTANGLED_V`).
    """

    name: str
    kind: str
    labels: tuple
    codes: np.ndarray
    values: np.ndarray | None = None
    names: tuple = ()
    reason: str = ""
    fixes: tuple = ()
    fixed_by: str = ""
    entangled_with: tuple = ()

    @property
    def n_levels(self):
        """Number of levels."""
        return len(self.labels)

    @property
    def is_factor(self):
        """Whether the field's effect on runtime is asked about."""
        return self.kind in ("levels", "numeric")

    @property
    def title(self):
        """The field's name, with those merged into it."""
        return " = ".join(self.names or (self.name,))


def describe(config, replicates=("seed",)):
    """Classify every config field.

    Parameters
    ----------
    config : DataFrame
        A row per run; columns named ``config.<dotted path>``, numeric or text, NaN where a
        run lacks the field. Other columns are ignored.
    replicates : sequence of str
        Fields that repeat a configuration: a dotted path, or the last part of one.

    Returns
    -------
    list of Field
        In the order of the columns.

    Raises
    ------
    ValueError
        `replicates` is text instead of a sequence.
    """
    if isinstance(replicates, str):
        raise ValueError(f"`replicates` must be a list of field names, got the text {replicates!r}")
    fields = [
        _field(name.removeprefix(PREFIX), config[name], replicates)
        for name in config.columns
        if name.startswith(PREFIX)
    ]
    fields = _merge(fields)
    remaining = _leave_out_identifiers(fields)
    return _relate(fields if remaining is fields else _merge(remaining))


def factors(fields):
    """Return the factors among `fields`."""
    return [field for field in fields if field.is_factor]


def combined(codes, n_runs):
    """Number the distinct combinations of several code arrays, each of length `n_runs`.

    In the order of their first appearance.
    """
    number, n_possible = np.zeros(n_runs, dtype=np.int64), 1
    for code in codes:
        n_levels = int(code.max()) + 1
        if n_possible * n_levels >= 2**62:  # renumbered, so that the product cannot overflow
            number = pd.factorize(number)[0]
            n_possible = int(number.max()) + 1
        number = number * n_levels + code
        n_possible *= n_levels
    return _renumbered(number, n_possible)


def _renumbered(numbers, n_possible):
    """Number from 0 in the order of first appearance."""
    if n_possible > len(numbers):
        return pd.factorize(numbers)[0]
    first = np.full(n_possible, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    order = np.argsort(first, kind="stable")
    rank = np.empty(n_possible, dtype=np.int64)
    rank[order] = np.arange(n_possible)
    return rank[numbers]


def first_of_each(numbers):
    """Return where each number first appears, of numbers in the order of first appearance."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))


def determines(f, g):
    """Say whether each level of `f` has a single level of `g` (arrays of codes)."""
    first = np.full(int(f.max()) + 1, -1)
    first[f] = g
    return bool((first[f] == g).all())


def cramers_v(f, g, n_runs=None):
    """Bias-corrected Cramér's V of two code arrays (Bergsma 2013, J. Korean Stat. Soc. 42).

    `n_runs` says how many runs each pair of codes stands for; one, if left out.

    >>> f = np.repeat([0, 1], 20)
    >>> round(cramers_v(f, f), 3)
    1.0
    """
    rows, columns = int(f.max()) + 1, int(g.max()) + 1
    table = np.bincount(f * columns + g, n_runs, minlength=rows * columns).reshape(rows, columns)
    n = table.sum()
    expected = np.outer(table.sum(1), table.sum(0)) / n
    # Every level occurs, so no expectation is zero.
    phi = ((table - expected) ** 2 / expected).sum() / n
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (n - 1))
    rows = rows - (rows - 1) ** 2 / (n - 1)
    columns = columns - (columns - 1) ** 2 / (n - 1)
    smaller = min(rows, columns) - 1
    return float(np.sqrt(phi / smaller)) if smaller > 0 else 0.0


def bins(field):
    """Return codes for display: a numeric field in quartiles, any other by its levels."""
    values = field.values
    if field.kind != "numeric" or field.n_levels <= N_BINS:
        return field.codes, field.labels
    present = np.isfinite(values)
    edges = np.unique(np.quantile(values[present], np.linspace(0, 1, N_BINS + 1)[1:-1]))
    codes = np.searchsorted(edges, values, side="left")  # NaN sorts last, into the top bin
    used, codes[present] = np.unique(codes[present], return_inverse=True)
    labels = []
    for k in range(len(used)):
        inside = values[present][codes[present] == k]
        low, high = _number_text(inside.min()), _number_text(inside.max())
        labels.append(low if low == high else f"{low} to {high}")
    if not present.all():
        codes[~present] = len(labels)
        labels.append(UNSET)
    return codes, unique(labels)


# -- from a column to a field --------------------------------------------------------------


def _field(name, series, replicates):
    codes, labels, values = levels(series)
    numeric = values is not None
    kind, reason = "levels", ""
    if len(labels) <= 1:
        kind, reason = "shared", "one level in the whole collection"
    elif name in replicates or name.rsplit(".", 1)[-1] in replicates:
        kind, reason = "replicate", "repeats a configuration"
    elif not numeric and len(labels) == len(series):
        kind, reason = "identifier", "one level per run: it names the run"
    elif numeric and not (
        len(labels) <= MAX_NUMERIC_LEVELS and len(series) / len(labels) >= MIN_RUNS_PER_LEVEL
    ):
        kind = "numeric"
    return Field(name, kind, labels, codes, values, (name,), reason)


def levels(series):
    """Return codes, labels in natural order (missing last), and numbers or None.

    Numbers written differently (``1e-3``, ``0.001``) are one level.
    """
    numeric = pd.api.types.is_numeric_dtype(series.dtype)
    codes, values = pd.factorize(series, use_na_sentinel=True)
    values = list(values)
    order = sorted(range(len(values)), key=lambda i: values[i] if numeric else natural(values[i]))
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = len(values)  # code -1, a missing value, comes last
    labels = [_number_text(values[i]) if numeric else (values[i] or EMPTY) for i in order]
    if (codes < 0).any():
        labels.append(UNSET)
    if numeric and len(set(labels)) < len(labels):  # told apart by more digits than are shown
        labels = [repr(float(values[i])) for i in order] + labels[len(order) :]
    return rank[codes], unique(labels), series.to_numpy(dtype=float) if numeric else None


def _number_text(value):
    value = float(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.12g}"


# -- relations between fields --------------------------------------------------------------


def _merge(fields):
    """Merge factors that partition the runs identically, under the one that is best tested.

    That is one with levels where these have enough runs each, else a numeric one. Of numbers that
    differ in every run, as learning rates drawn at random, only those of equal ranks are merged.
    """
    same_size, groups = {}, {}
    for field in factors(fields):
        same_size.setdefault(field.n_levels, []).append(field)
    for alike in same_size.values():
        for field in alike:
            key = _partition(field) if len(alike) > 1 else field.n_levels
            groups.setdefault(key, []).append(field)
    merged = {}
    for group in groups.values():
        enough = len(group[0].codes) / group[0].n_levels >= MIN_RUNS_PER_LEVEL
        best = "levels" if enough else "numeric"
        first = next((f for f in group if f.kind == best), group[0])
        names = tuple(name for f in (first, *(g for g in group if g is not first)) for name in f.names)
        merged[first.name] = replace(first, names=names)
        for field in group:
            if field is not first:
                reason = f"varies exactly with {first.name}"
                merged[field.name] = replace(field, kind="merged", reason=reason)
    return [merged.get(field.name, field) for field in fields]


def _partition(field):
    """Return a key that is equal for fields that partition the runs identically."""
    if field.n_levels == len(field.codes):
        return "ranks", field.codes.tobytes()
    # Levels numbered in order of first appearance.
    return "partition", pd.factorize(field.codes)[0].tobytes()


def _leave_out_identifiers(fields):
    """Set aside text with one level per configuration, as long as another factor remains."""
    candidates = factors(fields)
    most = max((f.n_levels for f in candidates), default=0)
    # One level per configuration means that it determines every other factor.
    naming = {
        f.name
        for f in candidates
        if f.kind == "levels"
        and f.values is None
        and f.n_levels == most  # with fewer it cannot determine the others
        and all(g is f or determines(f.codes, g.codes) for g in candidates)
    }
    if len(naming) in (0, len(candidates)):
        return fields
    reason = "one level per configuration: it names the configuration"
    return [replace(f, kind="identifier", reason=reason) if f.name in naming else f for f in fields]


def _relate(fields):
    """Note which factors fix which, and which are entangled."""
    candidates = factors(fields)
    if not candidates:
        return fields
    # What holds for each distinct combination of levels holds for all runs.
    of_run = combined([f.codes for f in candidates], len(candidates[0].codes))
    first, n_runs = first_of_each(of_run), np.bincount(of_run)
    codes = {f.name: f.codes[first] for f in candidates}
    shown = {f.name: bins(f)[0][first] for f in candidates}
    fixes = {f.name: _fixed_by(f, candidates, codes) for f in candidates}
    entangled = {f.name: [] for f in candidates}
    for i, f in enumerate(candidates):
        for g in candidates[i + 1 :]:
            if g.name in fixes[f.name] or f.name in fixes[g.name]:
                continue
            if cramers_v(shown[f.name], shown[g.name], n_runs) >= ENTANGLED_V:
                entangled[f.name].append(g.name)
                entangled[g.name].append(f.name)
    by_levels = sorted(candidates, key=lambda f: f.n_levels)
    return [
        replace(
            f,
            fixes=fixes[f.name],
            fixed_by=next((g.name for g in by_levels if f.name in fixes[g.name]), ""),
            entangled_with=tuple(entangled[f.name]),
        )
        if f.is_factor
        else f
        for f in fields
    ]


def _fixed_by(f, candidates, codes):
    """Return the names of the factors that `f` fixes; none for numbers that hardly repeat."""
    if f.kind != "levels" and len(f.codes) / f.n_levels < MIN_RUNS_PER_LEVEL:
        return ()
    return tuple(
        g.name
        for g in candidates
        if g is not f and f.n_levels > g.n_levels and determines(codes[f.name], codes[g.name])
    )


def held_fields(candidates, n_runs):
    """Return the factors that an additive model holds together: no one determined by another.

    Of such a pair, the determining one stays if it averages at least `MIN_RUNS_PER_LEVEL` runs a
    level, else the other.
    """
    out = {f.name for f in candidates if f.kind == "levels" and f.n_levels > MAX_MODEL_LEVELS}
    for f in sorted(candidates, key=lambda f: -f.n_levels):
        if f.name in out:
            continue
        fixed = [g for g in candidates if g.name in f.fixes]
        if n_runs / f.n_levels >= MIN_RUNS_PER_LEVEL:
            out.update(g.name for g in fixed)
        elif fixed:
            out.add(f.name)
    return [f for f in candidates if f.name not in out]


def axes(fields, effects, n_runs, rows="", columns=""):
    """Choose the two fields whose levels a page compares.

    Parameters
    ----------
    fields : list of Field
    effects : DataFrame
        Factors by size of effect, as `effects.main_effects` returns them.
    n_runs : int
    rows, columns : str
        Names asked for; an empty one is chosen: the factor of largest effect among those that
        clear chance, else among all; then the next that neither fixes it nor is fixed by it.

    Returns
    -------
    tuple of (Field or None, Field or None)

    Raises
    ------
    ParameterError
        A name asked for is no field of the runs.
    """
    by_name = {field.name: field for field in fields}
    for parameter, name in (("rows", rows), ("columns", columns)):
        if name and name not in by_name:
            raise ParameterError(
                f"`{parameter}` must be a setting of the runs, got {name!r}; there are: "
                f"{', '.join(sorted(by_name)[:30]) or 'none'}"
            )
    ordered = effects.sort_values("clears", ascending=False, kind="stable")["factor"]
    ranked = [by_name[name] for name in ordered if by_name[name].is_factor]
    # Runs that each have a name only can still be told apart by it.
    ranked = ranked or [f for f in fields if f.kind == "identifier" and f.n_levels <= 24]
    first = by_name[rows] if rows else next(iter(ranked), None)
    if first is None:
        return all_runs(n_runs), None
    if columns:
        return first, by_name[columns]
    apart = (
        f
        for f in ranked
        if f is not first
        and not determines(bins(f)[0], bins(first)[0])
        and not determines(bins(first)[0], bins(f)[0])
    )
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
    if field is None:
        return {}
    codes, labels = bins(field)
    ids = pd.Series(run_ids.to_numpy()).groupby(codes).agg(tuple)
    return {(labels[i],): found for i, found in ids.items()}


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
    cells = pd.DataFrame(
        means,
        index=pd.Index(row_labels, name=rows.name),
        columns=pd.Index(column_labels, name=columns.name),
    )
    cells = cells.iloc[
        _slowest(runtime_s, row_codes, MAX_CELL_ROWS), _slowest(runtime_s, column_codes, MAX_CELL_COLUMNS)
    ]
    cells.attrs.update(n_most=int(n.max()), n_levels=shape)
    return cells


def _slowest(runtime_s, codes, most):
    """Return the levels of the largest mean runtime, at most so many, in their own order."""
    means = np.bincount(codes, runtime_s) / np.bincount(codes)
    return np.sort(np.argsort(-means, kind="stable")[:most])


def level_of_runs(runtime_s, field):
    """Return ``level`` and ``runtime_s`` of each run, levels in natural order."""
    codes, labels = bins(field)
    order = np.argsort(codes, kind="stable")
    levels = np.array(labels, dtype=object)[codes[order]]
    return pd.DataFrame({"level": levels, "runtime_s": runtime_s.to_numpy()[order]})
