"""Trends of training compute: outliers, eras, bootstrapped growth, and error against compute.

The method of 2202.05924: rows inside a period; z-scores of log10 compute within a window of
dates; low outliers dropped and large-scale systems set apart; ordinary least squares of log10
FLOP on date by era and group; a bootstrap that redraws rows and multiplies each drawn row by a
log-uniform factor. Quantiles are taken on the slope. Resampling a handful of rows hardly varies them,
so the interval is the wider, at either end, of the bootstrap's and Student's t; where it spans zero,
growth is not established and a doubling time has no upper limit. Of fewer than `MIN_SYSTEMS` systems
none is claimed: where it was, such an interval held the truth 50 (3 systems) and 78 % (4) of the time.

Groups that were cut on the response (large scale, outliers) are descriptive: their gap, R² and
intervals are no evidence of two trends.

Contract: a frame with ``system``, ``date``, ``flop`` in, frames out; randomness is explicit.
"""

import numpy as np
import pandas as pd

from traincost.errors import ParameterError, brief
from traincost.estimation.compute import logs
from traincost.estimation.lines import fit_line

DAYS_PER_YEAR = 365.25
DAYS_PER_MONTH = DAYS_PER_YEAR / 12
WINDOW_DAYS = 364  # either side, the row itself included
LOW_Z, LARGE_Z = -2.0, 0.76
LARGE_FROM = "2015-09-01"
ERAS = (("1950-01-01", "2009-12-31"), ("2009-12-31", "2015-09-01"), ("2015-09-01", "2100-01-01"))
NOISE = 2.0  # each estimate may be off by this factor (2202.05924 app. A, app. H)
N_DRAWS = 1_000
MIN_SYSTEMS = 5  # for a claim of growth
MIN_SPAN_DAYS = 365  # a shorter history says nothing of growth by the year
CHUNK = 1_000_000  # drawn rows in memory at a time
ALL, REGULAR, LARGE = "all", "regular scale", "large scale"  # groups; all, where none is set apart


def in_period(systems, start=None, end=None):
    """Return the rows with a date strictly inside the period and a positive compute.

    The period comes before outlier detection, so it changes each row's neighbours.
    """
    date = systems["date"]
    keep = systems["flop"].gt(0) & np.isfinite(systems["flop"]) & date.notna()
    if start is not None:
        keep &= date > pd.Timestamp(start)
    if end is not None:
        keep &= date < pd.Timestamp(end)
    return systems[keep].sort_values("date", kind="stable", ignore_index=True)


def window_scores(systems, window_days=WINDOW_DAYS, low_z=LOW_Z, large_z=LARGE_Z, large_from=LARGE_FROM):
    """Score each system's compute against its neighbours in time.

    Returns
    -------
    DataFrame
        `systems` with ``n_window`` (rows within `window_days`, itself included), ``z`` (of log10
        FLOP, population standard deviation), ``low_outlier`` (z < `low_z`) and ``large_scale``
        (z > `large_z`, after `large_from`). A z-score of n rows cannot pass √(n-1), so a window
        of few rows can never lose one.
    """
    days = _days(systems["date"])
    log = np.log10(systems["flop"].to_numpy(dtype=float))
    centre = log.mean() if len(log) else 0.0
    order = np.argsort(days, kind="stable")
    first = np.searchsorted(days[order], days - window_days, side="left")
    last = np.searchsorted(days[order], days + window_days, side="right")
    # Sums over windows as differences of running sums: rows by the million, not pairs of them.
    sums = np.concatenate([[0.0], np.cumsum(log[order] - centre)])
    squares = np.concatenate([[0.0], np.cumsum((log[order] - centre) ** 2)])
    n = last - first
    mean = (sums[last] - sums[first]) / n
    sd = np.sqrt(np.maximum(0.0, (squares[last] - squares[first]) / n - mean**2))
    z = np.divide(log - centre - mean, sd, out=np.zeros_like(log), where=sd > 1e-9)
    late = (systems["date"] > pd.Timestamp(large_from)).to_numpy()
    return systems.assign(n_window=n, z=z, low_outlier=z < low_z, large_scale=(z > large_z) & late)


def perturbed_draw(log_compute, rng, factor=NOISE):
    """Return log10 compute with each estimate off by a log-uniform factor in [1/factor, factor].

    2202.05924 app. A. Works on any shape.
    """
    limit = np.log10(factor)
    return log_compute + rng.uniform(-limit, limit, size=np.shape(log_compute))


def bootstrap_slopes(days, log_compute, n_draws=N_DRAWS, rng=None, noise=NOISE):
    """Return the slopes of resampled, perturbed rows: one a draw, per day.

    Each drawn row has its own noise. A draw with two or fewer distinct rows is skipped.
    """
    rng = rng or np.random.default_rng(0)
    x, y = np.asarray(days, dtype=float), np.asarray(log_compute, dtype=float)
    x = x - x.mean()
    slopes = []
    step = max(1, CHUNK // len(x))
    for start in range(0, n_draws, step):
        drawn = rng.integers(0, len(x), size=(min(step, n_draws - start), len(x)))
        slopes.append(_slopes(x[drawn], perturbed_draw(y[drawn], rng, noise), drawn))
    return np.concatenate(slopes)


def _slopes(x, y, drawn):
    ordered = np.sort(drawn, axis=1)
    distinct = 1 + (np.diff(ordered, axis=1) > 0).sum(axis=1)
    x = x - x.mean(axis=1, keepdims=True)
    sum_sq = np.einsum("ij,ij->i", x, x)
    usable = (distinct > 2) & (sum_sq > 0)
    products = np.einsum("ij,ij->i", x, y)  # x is centred, so y need not be
    return products[usable] / sum_sq[usable]


def fit_trends(
    systems,
    start=None,
    end=None,
    eras=ERAS,
    split_large=True,
    drop_low=True,
    window_days=WINDOW_DAYS,
    low_z=LOW_Z,
    large_z=LARGE_Z,
    large_from=LARGE_FROM,
    noise=NOISE,
    n_draws=N_DRAWS,
    seed=0,
    days_per_year=DAYS_PER_YEAR,
    days_per_month=DAYS_PER_MONTH,
):
    """Fit the growth of compute by era and group.

    Parameters
    ----------
    systems : DataFrame
        ``system``, ``date``, ``flop``.
    start, end : date, optional
        Period, both ends excluded.
    eras : sequence of (start, end)
        The start excluded, the end included.
    split_large, drop_low : bool
        Set large-scale systems apart; drop low outliers.
    window_days, low_z, large_z, large_from, noise, n_draws, seed
        Of the outliers (`window_scores`) and of the bootstrap.
    days_per_year, days_per_month : float
        365 and 30 are those of 2202.05924.

    Returns
    -------
    DataFrame
        A row per era and group (three systems or more, over `MIN_SPAN_DAYS`): ``era_start``,
        ``era_end``, ``group`` (`REGULAR` and `LARGE` in an era with large-scale systems, else `ALL`);
        ``n``; ``slope`` (orders of magnitude a year) with ``slope_low``, ``slope_high`` (bootstrap)
        and ``slope_t_low``, ``slope_t_high`` (least squares); ``doubling_months`` with
        ``doubling_low``, ``doubling_high`` (of the wider of the two at either end; infinite where growth
        is not ``established``: both intervals of the slope above zero) and ``doubling_bootstrap_low``,
        ``doubling_bootstrap_high`` (as 2202.05924 prints it), all NaN for fewer than `MIN_SYSTEMS`;
        ``r_squared``; ``first``, ``last`` (dates), ``start_flop``, ``end_flop`` (on the line at these),
        and ``start_low`` to ``end_high``, the same of the interval's slopes through the mean point;
        ``descriptive`` (the group was cut on compute).
    """
    scored = window_scores(in_period(systems, start, end), window_days, low_z, large_z, large_from)
    kept = scored[~scored["low_outlier"]] if drop_low else scored
    rng = np.random.default_rng(seed)
    rows = []
    for era_start, era_end, group, part in _groups(kept, eras, split_large):
        row = _trend(part, n_draws, rng, noise, days_per_year, days_per_month)
        row["descriptive"] = group != ALL
        rows.append({"era_start": era_start, "era_end": era_end, "group": group, **row})
    return pd.DataFrame(rows)


def _groups(kept, eras, split_large=True):
    """Yield era and group with their systems, where these are enough for a trend."""
    large = kept["large_scale"] & split_large
    for era_start, era_end in eras:
        dates = kept["date"]
        inside = (dates > pd.Timestamp(era_start)) & (dates <= pd.Timestamp(era_end))
        rest = REGULAR if (inside & large).any() else ALL
        for group, of_group in ((rest, ~large), (LARGE, large)):
            part = kept[inside & of_group]
            if len(part) >= 3 and np.ptp(_days(part["date"])) >= MIN_SPAN_DAYS:
                yield era_start, era_end, group, part


def not_fitted(scored, eras=ERAS):
    """Return ``system`` and ``low_outlier`` of the systems of `window_scores` that stand in no trend.

    These are low outliers, and too few of a kind.
    """
    fitted = [part.index for *_, part in _groups(scored[~scored["low_outlier"]], eras)]
    rest = scored.drop(index=fitted[0].append(fitted[1:]) if fitted else [])
    return rest[["system", "low_outlier"]]


def _trend(part, n_draws, rng, noise, days_per_year, days_per_month):
    days, log = _days(part["date"]), np.log10(part["flop"].to_numpy(dtype=float))
    line = fit_line(days, log)
    low, high = np.quantile(bootstrap_slopes(days, log, n_draws, rng, noise), [0.025, 0.975])
    t_low, t_high = line.slope_interval()
    bottom, top = min(low, t_low), max(high, t_high)
    enough = line.n >= MIN_SYSTEMS
    # Where lines of the interval's slopes, through the mean point, begin and end.
    first, last = line.x_low - line.x_mean, line.x_high - line.x_mean
    slopes = {"slope": line.slope, "slope_low": low, "slope_high": high}
    slopes |= {"slope_t_low": t_low, "slope_t_high": t_high}
    return {
        "n": line.n,
        **{name: per_day * days_per_year for name, per_day in slopes.items()},
        "doubling_months": doubling_time(line.slope, days_per_month) if enough else np.nan,
        "doubling_low": doubling_time(top, days_per_month) if enough else np.nan,
        "doubling_high": doubling_time(bottom, days_per_month) if enough else np.nan,
        "doubling_bootstrap_low": doubling_time(high, days_per_month) if enough else np.nan,
        "doubling_bootstrap_high": doubling_time(low, days_per_month) if enough else np.nan,
        "established": bool(enough and bottom > 0),
        "r_squared": line.r_squared,
        "first": part["date"].min(),
        "last": part["date"].max(),
        "start_flop": 10 ** line.at(line.x_low),
        "end_flop": 10 ** line.at(line.x_high),
        "start_low": 10 ** (line.y_mean + top * first),
        "start_high": 10 ** (line.y_mean + bottom * first),
        "end_low": 10 ** (line.y_mean + bottom * last),
        "end_high": 10 ** (line.y_mean + top * last),
    }


def doubling_time(slope_per_day, days_per_month=DAYS_PER_MONTH):
    """Return months in which compute doubles; infinite where it does not grow."""
    return np.log10(2) / slope_per_day / days_per_month if slope_per_day > 0 else np.inf


def sensitivity(systems, windows=(182, 730), thresholds=(0.5, 1.0), noises=(1.5, 4.0), **more):
    """Fit the trends as `fit_trends` does, with one choice changed at a time, ``choice`` to ``value``."""
    changes = {"window_days": windows, "large_z": thresholds, "noise": noises}
    parts = [
        fit_trends(systems, **{**more, choice: value}).assign(choice=choice, value=value)
        for choice, values in changes.items()
        for value in values
        if value != more.get(choice)
    ]
    return pd.concat(parts, ignore_index=True)


def record_setters(systems):
    """Return the systems that used more compute than every earlier one."""
    ordered = systems.sort_values("date", kind="stable")
    return ordered[ordered["flop"] > ordered["flop"].cummax().shift(fill_value=0.0)]


def largest(systems, n):
    """Return the systems among the `n` largest of their window of dates."""
    days, flop = _days(systems["date"]), systems["flop"].to_numpy(dtype=float)
    near = np.abs(days[:, None] - days[None, :]) <= WINDOW_DAYS
    rank = (near & (flop[None, :] > flop[:, None])).sum(axis=1)
    return systems[rank < n]


def subset(systems, which=""):
    """Return a subset by name: ``records``, ``largest N`` of each window, or a domain; all if empty.

    `ParameterError` where `which` is none of these.
    """
    if not which:
        return systems
    if which == "records":
        return record_setters(systems)
    kind, _, n = which.partition(" ")
    if kind == "largest" and n.isdecimal() and int(n) > 0:
        return largest(systems, int(n))
    domains = sorted(set(systems["domain"]) - {""})
    if which in domains:
        return systems[systems["domain"] == which]
    raise ParameterError(
        f"`subset` must be records, largest N, or one of {', '.join(domains) or 'no domains'}, "
        f"got {brief(which)}"
    )


def _days(dates):
    return (dates - pd.Timestamp("1970-01-01")).dt.total_seconds().to_numpy() / 86400


# -- error against compute -------------------------------------------------------------------

# What is linear in log10 compute, as a function of the error's log10.
FORMS = {"polynomial": np.negative, "exponential": lambda log_error: 10**-log_error}


def fit_error(error, compute_flop, form="polynomial"):
    """Fit error against compute, in the polynomial or the exponential form of 2007.05558.

    The error, a fraction above 0, as log10(1/error) (``polynomial``) or 1/error (``exponential``), on log10
    compute. ValueError for another form, or fewer than three whole pairs.
    """
    if form not in FORMS:
        raise ValueError(f"`form` must be polynomial or exponential, got {brief(form)}")
    x, log_error = logs(compute_flop, error)
    return fit_line(x, FORMS[form](log_error), "a fit needs three systems of different compute")


def exponents(error, compute_flop):
    """Return the exponents of compute in error^-1, from both directions of the regression.

    ValueError where the error does not change with compute at all.

    Returns
    -------
    dict
        ``error_on_compute``: 1/|slope| of log error on log compute (2007.05558 section 3.2),
        with ``low`` and ``high`` from the slope's 95 % interval; ``compute_on_error``: |slope|
        of the reverse regression; ``n``, ``r_squared``, ``slope``; ``established``, whether that
        interval says that the error falls.
    """
    fit = fit_error(error, compute_flop)
    if fit.slope == 0:
        raise ValueError("the error does not change with compute, so it has no exponent")
    low, high = fit.slope_interval()
    return {
        "n": fit.n,
        "r_squared": fit.r_squared,
        "slope": -fit.slope,
        "error_on_compute": 1 / abs(fit.slope),
        "low": 1 / max(abs(low), abs(high)),
        "high": 1 / low if low > 0 else np.inf,
        "compute_on_error": abs(fit.r_squared / fit.slope),
        "established": low > 0,
    }


def project(fit, target_error, form="polynomial"):
    """Return the compute at which a fit of `fit_error`, of the same form, reaches a target error.

    The interval is Fieller's (calibration): all computes whose prediction interval of a single
    new system holds the target.

    Returns
    -------
    dict
        ``log10_flop``, ``low``, ``high`` (infinite where the slope's sign is not certain), and
        ``orders_beyond``, how far past the largest compute fitted that lies.
    """
    distance = FORMS[form](np.log10(target_error)) - fit.y_mean
    x = fit.x_mean + distance / fit.slope
    scale = (fit.t * fit.residual_sd) ** 2
    a = fit.slope**2 - scale / fit.x_sum_sq
    low, high = -np.inf, np.inf
    if a > 0:
        root = np.sqrt(scale * (a * (1 + 1 / fit.n) + distance**2 / fit.x_sum_sq))
        middle = fit.x_mean + fit.slope * distance / a
        low, high = middle - root / a, middle + root / a
    found = {"log10_flop": x, "low": low, "high": high, "orders_beyond": x - fit.x_high}
    return {name: float(value) for name, value in found.items()}
