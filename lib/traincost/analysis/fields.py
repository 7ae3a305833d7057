"""What each field of the configs is: shared, a factor, a replicate, a place, or a run's name.

Contract: a frame of config columns in, `Field` records out; nothing is tested here. A field
is a *factor* when its effect on runtime can be asked about; `Field.kind` says what else it is:

``shared``
    One level in the whole collection.
``replicate``
    Repeats a configuration (a seed).
``identifier``
    One value per run, or per combination of the other factors: it names them, so it would
    "explain" any runtime.
``place``
    Where a run ran (a host): tested and held, never part of a configuration.
``levels``
    A factor with discrete levels.
``numeric``
    A factor with too many values to be levels: tested as a cubic in rank.
``merged``
    Partitions the runs exactly as another factor does; shown with that factor.

Names and values decide by `roles`; the first that holds is taken, in the order above.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from traincost.analysis import roles
from traincost.columns import settings
from traincost.errors import ParameterError
from traincost.words import natural, unique

RECORDED_PLACES = ("host", "device")  # what runs record of where they ran, beside their settings
UNSET = "(unset)"
EMPTY = "(empty)"
ALL_RUNS = "all runs"
MAX_NUMERIC_LEVELS = 8  # a numeric field with more values is tested as a trend
N_BINS = 4  # of a numeric field with more values, for display
MIN_RUNS_PER_LEVEL = 3  # on average, for a numeric field to be levels
MIN_FINER = 2  # runs per value, on average, of numbers that can fix another factor
MIN_CROSSED = 0.5  # of the combinations of levels: fewer were not crossed, but chosen together
MODEL_WORK = 2e9  # runs × levels² of a factor that a model holds: about a second of work
MODEL_LEVELS = 200  # that a model holds however many runs there are


@dataclass(frozen=True, eq=False)
class Field:
    """One config field over the runs of a collection."""

    name: str  # dotted path in the config
    kind: str  # see the module's docstring
    labels: tuple  # levels as text in natural order, a missing value last
    codes: np.ndarray  # level of each run, an index into `labels`
    values: np.ndarray | None = None  # the numbers of a numeric field, NaN where missing
    names: tuple = ()  # this field and those merged into it
    reason: str = ""  # why the field is left out, where it is
    fixes: tuple = ()  # factors that this one determines: each of its levels has a single level of theirs
    fixed_by: str = ""  # name of a factor that determines this one, or empty
    trend: bool = False  # whether it is tested as a trend in rank: numbers with too many values to be levels
    placed: bool = False  # whether it varies exactly with a place, so that the two cannot be told apart
    same_as: str = ""  # name of the factor with which it is shown, as the two partition the runs identically

    @property
    def n_levels(self):
        """Number of levels."""
        return len(self.labels)

    @property
    def is_factor(self):
        """Whether the field's effect on runtime is asked about."""
        return self.kind in ("levels", "numeric")

    @property
    def is_large(self):
        """Whether it has too many levels for a column each: it is tested alone, by its means."""
        return not self.trend and self.n_levels > most_levels(len(self.codes))

    @property
    def title(self):
        """The field's name, with those merged into it."""
        return " = ".join(self.names or (self.name,))


def most_levels(n_runs):
    """Return how many levels a factor may have to be held in a model of so many runs.

    >>> most_levels(900), most_levels(1_000_000)
    (1490, 200)
    """
    return max(MODEL_LEVELS, int((MODEL_WORK / n_runs) ** 0.5))


def describe(config, replicates=(), factors=(), start_rank=None):
    """Classify every config field.

    Parameters
    ----------
    config : DataFrame
        A row per run; columns named ``config.<dotted path>``, numeric or text, NaN where a
        run lacks the field. Other columns are ignored.
    replicates, factors : sequence of str
        Fields that are taken for one although their name does not say so: a dotted path, or the
        last part of one; `check_named` refuses one that is not there. `ParameterError` for text
        instead of a sequence.
    start_rank : array_like, optional
        The order in which the runs were started, to tell a counter by.

    Returns
    -------
    list of Field
        In the order of the columns.
    """
    names = settings(config)
    asked = _asked(names, replicates, factors)
    fields = [
        _recorded(name, config[name])
        if name not in asked and _is_recorded(name, config[column], config)
        else _field(name, config[column], asked.get(name))
        for name, column in names.items()
    ]
    fields = _merge(_leave_out_counters(fields, asked, start_rank))
    remaining = _leave_out_names(fields, asked)
    return _relate(fields if remaining is fields else _merge(remaining))


def _asked(names, replicates, factors):
    """Return the role of each field that was asked for; names that are not there ask for nothing."""
    asked = {}
    for role, wanted in (("replicate", replicates), ("factor", factors)):
        if isinstance(wanted, str):
            raise ParameterError(f"`{role}s` must be a list of field names, got the text {wanted!r}")
        for name in wanted:
            asked.update((field, role) for field in names if name in (field, field.rsplit(".", 1)[-1]))
    return asked


def check_named(config, replicates=(), factors=()):
    """Raise `ParameterError` for names that are no field of the runs, or that are asked for as both."""
    names = settings(config)
    for parameter, wanted in (("replicates", replicates), ("factors", factors)):
        for name in wanted:
            # A seed is recognised by its name, so to name it where there is none asks for nothing.
            if not _asked(names, [name], ()) and not roles.sounds_repeated(name):
                known = ", ".join(sorted(names)[:30]) or "none"
                raise ParameterError(
                    f"`{parameter}` names {name!r}, which is no setting of the runs; there are: {known}"
                )
    both = _asked(names, replicates, ()).keys() & _asked(names, (), factors).keys()
    if both:
        raise ParameterError(f"{min(both)!r} is named by `replicates` and by `factors`: name it in one")


def factors(fields):
    """Return the factors among `fields`."""
    return [field for field in fields if field.is_factor]


def tested(fields):
    """Return what is tested: the factors, and the places where runs ran."""
    return [field for field in fields if (field.is_factor or field.kind == "place") and not field.same_as]


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


def bins(field):
    """Return codes for display: a numeric field in quartiles, any other by its levels."""
    values = field.values
    if not field.trend or field.n_levels <= N_BINS:
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


_SHARED = "shared", "one level in the whole collection"
_PLACE = "place", "where a run ran: tested and held, no part of a configuration"


def _field(name, series, asked):
    codes, labels, values = levels(series)
    numeric = values is not None
    few = len(labels) <= MAX_NUMERIC_LEVELS and len(series) / len(labels) >= MIN_RUNS_PER_LEVEL
    trend = numeric and not few
    kind, reason = "numeric" if trend else "levels", ""
    alone = len(labels) == len(series)
    if len(labels) <= 1:
        kind, reason = _SHARED
    elif asked == "factor":
        reason = "asked for as a factor"
    elif asked == "replicate":
        kind, reason = "replicate", "repeats a configuration, as asked for"
    elif roles.repeats(name, labels, values):
        kind, reason = "replicate", "repeats a configuration: its name and its counted values say so"
    elif alone and (not numeric or roles.names_a_run(name)):
        kind, reason = "identifier", "one value per run: it names the run"
    elif roles.is_place(name, numeric):
        kind, reason = _PLACE
    return Field(name, kind, labels, codes, values, (name,), reason, trend=trend)


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


def labelled(series):
    """Return the level of each value, as text."""
    codes, labels, _ = levels(series)
    return np.array(labels, dtype=object)[codes]


def _number_text(value):
    value = float(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.12g}"


# -- relations between fields --------------------------------------------------------------


def _is_recorded(name, column, config):
    """Say whether a setting is what the runs' records say of where they ran, and no choice."""
    if name not in RECORDED_PLACES or name not in config:
        return False
    return bool((column.fillna("").astype("str") == config[name].fillna("").astype("str")).all())


def _recorded(name, series):
    """Describe where runs ran, as their records say it and not their settings."""
    codes, labels, _ = levels(series.astype(object).where(series.notna() & series.ne(""), None).astype("str"))
    kind, reason = _PLACE if len(labels) > 1 else _SHARED
    return Field(name, kind, labels, codes, None, (name,), reason)


def _leave_out_counters(fields, asked, start_rank):
    """Set aside whole numbers that count the runs, where the values of another factor repeat."""
    if not any(f.is_factor and f.n_levels < len(f.codes) for f in fields):
        return fields
    alone = [f for f in fields if f.kind == "numeric" and f.n_levels == len(f.codes) and f.name not in asked]
    counters = {f.name for f in alone if roles.is_counter(f.values, start_rank)}
    reason = "one whole number per run, in the order of the runs: it counts them"
    return _identifiers(fields, counters, reason)


def _identifiers(fields, names, reason):
    """Set fields of these names aside, as what names a run or configuration."""
    return [replace(f, kind="identifier", reason=reason) if f.name in names else f for f in fields]


def _merge(fields):
    """Merge factors that partition the runs identically, under the one that is best tested.

    That is one with levels where these have enough runs each, else a numeric one. Numbers of other
    ranks stay apart, and so does text that goes with several of them. A factor that varies exactly
    with a place is merged with it, and marked.
    """
    candidates, merged = tested(fields), {}
    sizes = Counter(field.n_levels for field in candidates)
    groups = _grouped(candidates, lambda f: _partition(f) if sizes[f.n_levels] > 1 else f.n_levels)
    for alike in (part for group in groups for part in _mergeable(group)):
        first = _best(alike)
        others = [field for field in alike if field is not first]
        names = tuple(name for field in (first, *others) for name in field.names)
        placed = bool(others) and any(field.kind == "place" for field in alike)
        merged[first.name] = replace(first, names=names, placed=placed or first.placed)
        for field in others:
            reason = f"varies exactly with {first.name}"
            kind = field.kind if field.kind == "place" else "merged"
            merged[field.name] = replace(field, kind=kind, reason=reason, same_as=first.name)
    return [merged.get(field.name, field) for field in fields]


def _grouped(fields, key):
    """Return lists of the fields that have one key, in the order of their first."""
    groups = {}
    for field in fields:
        groups.setdefault(key(field), []).append(field)
    return list(groups.values())


def _mergeable(group):
    """Divide fields of one partition into those that are one question."""
    ranks = _grouped(group, lambda f: f.codes.tobytes() if f.kind == "numeric" else "levels")
    return ranks if sum(same[0].kind == "numeric" for same in ranks) > 1 else [group]


def _best(alike):
    enough = len(alike[0].codes) / alike[0].n_levels >= MIN_RUNS_PER_LEVEL
    kinds = ("levels", "numeric") if enough else ("numeric", "levels")
    return next((f for kind in kinds for f in alike if f.kind == kind), alike[0])


def _partition(field):
    """Return a key that is equal for fields that partition the runs identically."""
    alone = field.n_levels == len(field.codes)
    # Levels numbered in order of first appearance.
    return "one value per run" if alone else pd.factorize(field.codes)[0].tobytes()


def _leave_out_names(fields, asked):
    """Set aside text with one level per combination of the other factors, where these are crossed."""
    candidates = factors(fields)
    naming = set()
    for f in candidates:
        others = [g for g in candidates if g is not f and g.name not in naming]
        if f.values is not None or f.name in asked or len(others) < 2:
            continue
        if not all(g.n_levels <= f.n_levels and determines(f.codes, g.codes) for g in others):
            continue
        if f.n_levels != int(combined([g.codes for g in others], len(f.codes)).max()) + 1:
            continue
        # Numbers drawn for each combination are as many as it; chosen levels are crossed.
        drawn = sum(g.n_levels == f.n_levels for g in others) >= 2
        if drawn or f.n_levels >= MIN_CROSSED * np.prod([float(g.n_levels) for g in _not_fixed(others)]):
            naming.add(f.name)
    if not naming:
        return fields
    reason = "one level per combination of the other factors: it names the configuration"
    return _identifiers(fields, naming, reason)


def _not_fixed(fields):
    """Return the fields that no other of them determines."""
    return [
        f
        for f in fields
        if not any(g.n_levels > f.n_levels and determines(g.codes, f.codes) for g in fields if g is not f)
    ]


def _relate(fields):
    candidates = tested(fields)
    if not candidates:
        return fields
    # What holds for each distinct combination of levels holds for all runs.
    of_run = combined([f.codes for f in candidates], len(candidates[0].codes))
    first = first_of_each(of_run)
    codes = {f.name: f.codes[first] for f in candidates}
    fixes = {f.name: _fixed(f, candidates, codes) for f in candidates}
    by_levels = sorted(candidates, key=lambda f: f.n_levels)
    fixed_by = {name: g.name for g in reversed(by_levels) for name in fixes[g.name]}
    return [
        replace(f, fixes=fixes[f.name], fixed_by=fixed_by.get(f.name, "")) if f.name in fixes else f
        for f in fields
    ]


def _fixed(f, candidates, codes):
    """Return the names of those that `f` fixes; none for values that hardly repeat."""
    n_runs = len(f.codes)
    if f.n_levels == n_runs or (f.trend and n_runs / f.n_levels < MIN_FINER):
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
    out = {f.name for f in candidates if f.is_large}
    for f in sorted(candidates, key=lambda f: -f.n_levels):
        if f.name in out:
            continue
        fixed = [g for g in candidates if g.name in f.fixes]
        if n_runs / f.n_levels >= MIN_RUNS_PER_LEVEL:
            out.update(g.name for g in fixed)
        elif fixed:
            out.add(f.name)
    return [f for f in candidates if f.name not in out]
