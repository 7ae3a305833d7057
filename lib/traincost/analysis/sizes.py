"""How much a setting changes the response: ratios between levels, the effect of doubling, spread.

On the log scale a difference of adjusted means is a ratio, and a slope on log2 x the effect of doubling x. On
a response's own scale both are differences in its unit.

Contract: described fields, a response and what was judged of it in, frames out.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.libqsturng import qsturng

from traincost.analysis.designs import design, indicator, means, orthonormal, stack, within
from traincost.analysis.families import holm
from traincost.analysis.verdicts import ALPHA, SIZED

LEVEL = 0.95  # of the intervals
MAX_PAIRED = 24  # levels that are all compared with each other; of more, each with the least
HETEROSCEDASTIC = 0.2  # p of |residual| against x, from which the interval is by HC3
TUKEY, GAMES = "Tukey-Kramer", "Games-Howell"
T, HC3 = "t", "t, HC3"
RATIOS = ["factor", "level", "than", "estimate", "low", "high", "df", "method"]
DOUBLINGS = ["factor", "estimate", "low", "high", "df", "method"]
TURNS = ["factor", "at", "is_peak"]


@dataclass(frozen=True, eq=False)
class _Sample:
    """What a factor's size is estimated from."""

    y: np.ndarray  # response of each unit
    at: np.ndarray  # a run of each unit
    others: list  # of Field: what is held
    groups: np.ndarray | None  # within which units are compared
    error: tuple | None  # mean square and df, where these are of repetitions and not of the residuals


def ratios(judged, fields, y):
    """Compare the levels of each factor that goes with the response.

    Differences of adjusted means with simultaneous intervals: Tukey-Kramer (Kramer 1956, Biometrics 12) on
    the error of the factor's test; where the spread differs between its levels, of the levels' own means,
    Games-Howell (1976, J. Educ. Stat. 1). `fields` are those that were tested, `y` is the response on the
    scale that was tested, a value per run.

    Returns
    -------
    DataFrame
        A row per pair of levels, the larger first: ``factor``, ``level``, ``than``, ``estimate`` with
        ``low`` and ``high`` (differences on the scale of `y`), ``df``, ``method``. Of more than
        `MAX_PAIRED` levels each is compared with the least only.
    """
    rows = []
    for row, field, sample in _sized(judged, fields, y):
        if not field.trend:
            rows += _pairs(field, sample, row.unequal_spread)
    return pd.DataFrame(rows, columns=RATIOS)


def doublings(judged, fields, y):
    """Estimate what doubling each positive number that goes with the response does to it.

    The slope on log2 x with the others held, linear in rank; by HC3 (Long & Ervin 2000, Am. Stat. 54)
    where the size of the residuals goes with x.

    Returns
    -------
    DataFrame
        ``factor``, ``estimate`` with ``low`` and ``high`` (95 %, on the scale of `y`), ``df``, ``method``.
    """
    found = ((field.name, _slope(field, sample)) for field, sample in _positive(judged, fields, y))
    return pd.DataFrame([(name, *row) for name, row in found if row], columns=DOUBLINGS)


def turns(judged, fields, y):
    """Find the numbers along which the response rises and falls, or falls and rises.

    Two lines (Simonsohn 2018, Adv. Methods Pract. Psychol. Sci. 1), up to and from the value nearest to
    where a quadratic in log2 x turns: their slopes, each with its 95 % interval, have opposite signs. A
    quadratic alone would take a response that levels off for one that turns.

    Returns
    -------
    DataFrame
        ``factor``, ``at`` (the value where it turns), ``is_peak`` (or a trough).
    """
    found = ((field.name, _turn(field, sample)) for field, sample in _positive(judged, fields, y))
    return pd.DataFrame([(name, *row) for name, row in found if row], columns=TURNS)


def _positive(judged, fields, y):
    """Yield field and sample of each factor with a size that is a positive number of several values."""
    for _, field, sample in _sized(judged, fields, y):
        values = field.values
        if values is not None and field.n_levels > 2 and np.isfinite(values).all() and (values > 0).all():
            yield field, sample


def _sized(judged, fields, y):
    """Yield the row, field and sample of each factor beside whose verdict a size stands."""
    by_name = {field.name: field for field in fields}
    for row in judged.table.itertuples():
        if row.verdict in SIZED:
            field = by_name[row.factor]
            sample = _sample(judged, row, field, by_name, y)
            if sample is not None:
                yield row, field, sample


def _sample(judged, row, field, by_name, y):
    for stratum in judged.strata:
        if field in stratum.fields:
            lack, of_repeats = judged.structure.lack, stratum.cells is not None
            held = [by_name[name] for name in row.held] if of_repeats or row.p_held <= ALPHA else []
            error = (lack.mean_square_repeats, lack.df_repeats) if of_repeats else None
            return _Sample(stratum.y, stratum.at, held, stratum.groups, error)
        if any(field.name == test.factor for test in stratum.tests):  # one that a finer factor fixes
            return _Sample(stratum.y, stratum.at, [], stratum.groups, None)
    return None


def _pairs(field, sample, unequal):
    """Return a row of `RATIOS` for each pair of levels."""
    present, codes = np.unique(field.codes[sample.at], return_inverse=True)
    k = len(present)
    others = within(stack([design(f, sample.at, degree=1) for f in sample.others], len(codes)), sample.groups)
    levels = within(np.eye(k)[codes], sample.groups)
    columns = np.column_stack([levels, orthonormal(others)])
    inverse = np.linalg.pinv(columns.T @ columns)
    coefficients = inverse @ (columns.T @ sample.y)
    mean = coefficients[:k]
    order = np.argsort(-mean, kind="stable")
    residual = sample.y - columns @ coefficients
    n_groups = 1 if sample.groups is None else int(sample.groups.max()) + 1
    rank = orthonormal(np.column_stack([levels, others])).shape[1]
    df = len(codes) - n_groups - rank
    square = (residual @ residual) / df if df > 0 else np.nan
    if sample.error is not None:
        square, df = sample.error
    rows = []
    for i, a in enumerate(order):
        for b in order[i + 1 :] if k <= MAX_PAIRED else order[max(i + 1, k - 1) :]:
            if unequal:
                found = _games_howell(sample.y, codes, a, b, k)
            else:
                variance = (inverse[a, a] + inverse[b, b] - 2 * inverse[a, b]) * square
                found = _tukey_kramer(mean[a] - mean[b], variance, df, k)
            rows.append((field.name, field.labels[present[a]], field.labels[present[b]], *found))
    return [row for row in rows if np.isfinite(row[4])]


def _tukey_kramer(difference, variance, df, k):
    half = _quantile(k, df) * np.sqrt(variance / 2) if df > 0 and variance > 0 else np.nan
    return difference, difference - half, difference + half, df, TUKEY


def _games_howell(y, codes, a, b, k):
    first, second = y[codes == a], y[codes == b]
    difference, nothing = first.mean() - second.mean(), (np.nan, np.nan, np.nan, GAMES)
    if min(len(first), len(second)) < 2:
        return difference, *nothing
    parts = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    if not sum(parts):
        return difference, *nothing
    df = sum(parts) ** 2 / (parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1))
    half = _quantile(k, df) * np.sqrt(sum(parts) / 2)
    return difference, difference - half, difference + half, df, GAMES


def _quantile(k, df):
    if k == 2:
        return np.sqrt(2) * stats.t.ppf((1 + LEVEL) / 2, df)
    return float(qsturng(LEVEL, k, df))  # within 0.1 % of scipy's, which takes 0.1 s


def _slope(field, sample):
    """Return (estimate, low, high, df, method) of doubling a number; None where it cannot be estimated."""
    x = np.log2(field.values[sample.at])
    held = stack([design(f, sample.at, degree=1) for f in sample.others], len(x))
    basis = orthonormal(within(held, sample.groups))
    x = within(x, sample.groups)
    rest = x - basis @ (basis.T @ x)
    spread = rest @ rest
    n_groups = 1 if sample.groups is None else int(sample.groups.max()) + 1
    df = len(x) - n_groups - basis.shape[1] - 1
    if df < 1 or spread <= 1e-12 * len(x):
        return None
    slope = (rest @ sample.y) / spread
    y = sample.y - basis @ (basis.T @ sample.y)
    residual = y - slope * rest
    method, variance = T, (residual @ residual) / df / spread
    if sample.error is not None:
        variance, df = sample.error[0] / spread, sample.error[1]
    elif np.ptp(np.abs(residual)) > 0 and stats.spearmanr(np.abs(residual), x).pvalue <= HETEROSCEDASTIC:
        leverage = 1 / len(x) + (basis**2).sum(axis=1) + rest**2 / spread
        weighed = rest * residual / np.maximum(1 - leverage, 1e-9)
        method, variance = HC3, (weighed @ weighed) / spread**2
    half = stats.t.ppf((1 + LEVEL) / 2, df) * np.sqrt(variance)
    return slope, slope - half, slope + half, df, method


def _turn(field, sample):
    """Return (at, is_peak) of the value at which the slopes on its two sides have opposite signs, or None."""
    x = np.log2(field.values[sample.at])
    values = np.unique(x)
    if len(values) < 3:
        return None
    held = stack([design(f, sample.at, degree=1) for f in sample.others], len(x))
    columns = np.column_stack([np.ones_like(x), x - x.mean(), (x - x.mean()) ** 2])
    basis = orthonormal(within(held, sample.groups))
    rise, bend = np.linalg.lstsq(columns, sample.y - basis @ (basis.T @ sample.y), rcond=None)[0][1:]
    inner = values[1:-1]
    vertex = x.mean() - rise / (2 * bend) if bend else np.nan
    if not values[0] < vertex < values[-1]:
        return None
    at = inner[np.abs(inner - vertex).argmin()]
    sides = [_slope(field, _part(sample, mask)) for mask in (x <= at, x >= at)]
    if None in sides or not all(low * high > 0 for _, low, high, *_ in sides):
        return None
    (left, *_), (right, *_) = sides
    value = field.values[sample.at][np.abs(x - at).argmin()]
    return (float(value), bool(left > 0)) if left * right < 0 else None


def _part(sample, mask):
    """Return a sample of some of the units, centred anew."""
    groups = None if sample.groups is None else np.unique(sample.groups[mask], return_inverse=True)[1]
    return replace(sample, y=within(sample.y[mask], groups), at=sample.at[mask], groups=groups)


# -- spread --------------------------------------------------------------------------------

REPEATS, CONFIGURATIONS, SETTINGS, REST = "repeats", "configurations", "settings", "runs"


def spread(judged, y):
    """Say how far runs differ, as standard deviations of the tested scale (of log runtime: about a CV).

    Returns
    -------
    DataFrame
        ``source``: `SETTINGS` (by the sum of the settings' effects), `CONFIGURATIONS` (beyond that sum),
        `REPEATS` (of one configuration); without repetitions the last two are one, `REST`. ``sd``, and
        ``low``, ``high`` of its 95 % interval where it has one, ``df``.
    """
    names = ["source", "sd", "low", "high", "df"]
    found = judged.structure
    if found is None:
        return pd.DataFrame(columns=names)
    total, lack = y.var(ddof=1), found.together
    if lack.df_repeats > 0:
        repeats = lack.mean_square_repeats
        n = np.bincount(found.of_run)
        beyond = max(0.0, (lack.mean_square - repeats) * (1 / n).mean()) if lack.df > 0 else 0.0
        rows = [(REPEATS, repeats, lack.df_repeats)]
        if lack.df > 0:
            rows.insert(0, (CONFIGURATIONS, beyond, 0))
    else:
        basis = found.additive
        centred = y - y.mean()
        df = len(y) - 1 - basis.shape[1]
        if df < 1:
            return pd.DataFrame(columns=names)
        rest = max(0.0, centred @ centred - ((basis.T @ centred) ** 2).sum()) / df
        rows = [(REST, rest, df)]
    rows.insert(0, (SETTINGS, max(0.0, total - sum(variance for _, variance, _ in rows)), 0))
    table = pd.DataFrame(rows, columns=["source", "sd", "df"]).astype({"df": int})
    for name, tail in (("low", (1 + LEVEL) / 2), ("high", (1 - LEVEL) / 2)):
        table[name] = np.sqrt(table["sd"] * table["df"] / stats.chi2.ppf(tail, table["df"]))
    return table.assign(sd=np.sqrt(table["sd"]))[names]


def unusual_cells(judged, y):
    """Name the configurations that differ most from the sum of the settings' effects.

    Only where the settings act together. Each mean's distance from the additive model, against the
    scatter of repetitions; by Holm over all configurations.

    Returns
    -------
    DataFrame
        ``levels`` (names and levels of the repeating settings), ``n_runs``, ``estimate`` with ``low``,
        ``high`` (95 %, of it alone), ``p_family``; the largest distance first, those that clear only.
    """
    names = ["levels", "n_runs", "estimate", "low", "high", "p_family"]
    found = judged.structure
    if found is None or not found.act_together:
        return pd.DataFrame(columns=names)
    lack, of_run, basis = found.together, found.of_run, found.additive
    centred = y - y.mean()
    residual = means(centred - basis @ (basis.T @ centred), of_run)
    n = np.bincount(of_run)
    cell = np.asarray(indicator(of_run) @ basis) / n[:, None]
    variance = lack.mean_square_repeats * np.maximum(1 / n - 1 / len(y) - (cell**2).sum(axis=1), 0.0)
    known = variance > 1e-12 * lack.mean_square_repeats
    error = np.sqrt(np.where(known, variance, np.nan))
    p = holm(2 * stats.t.sf(np.abs(residual) / error, lack.df_repeats))
    half = stats.t.ppf((1 + LEVEL) / 2, lack.df_repeats) * error
    rows = []
    for c in np.argsort(-np.abs(residual), kind="stable"):
        if p[c] <= ALPHA:
            run = found.first[c]
            levels = tuple((f.name, f.labels[f.codes[run]]) for f in found.repeating)
            rows.append((levels, int(n[c]), residual[c], residual[c] - half[c], residual[c] + half[c], p[c]))
    return pd.DataFrame(rows, columns=names)
