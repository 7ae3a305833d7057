"""When runs were started, and what a machine that changed meanwhile could have done to their times.

A machine that slows down or speeds up during a sweep changes the runs that are started later. It is taken
not to change by more than a factor of two over a sweep, and where configurations are repeated, not by
more than their repetitions say.

Contract: frames and arrays in, arrays and numbers out.
"""

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.libqsturng import qsturng

from traincost.analysis.designs import means, within

DRIFT = 2.0  # times: a machine is taken not to change by more over a sweep
DISTINCT = 0.8  # share of starts that differ, up to which they tell no order


def starts_s(runs):
    """Return the start of each run in seconds since 1970, NaN where it has none that can be read."""
    if "started_at" not in runs or not len(runs):
        return np.full(len(runs), np.nan)
    texts = runs["started_at"].astype("str")
    moments = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
    # In seconds, which hold the year 1 too.
    seconds = (moments - pd.Timestamp(0, tz="UTC").as_unit("s")).dt.total_seconds()
    return seconds.to_numpy(dtype=float, na_value=np.nan)


def start_ranks(started_s, runtime_s):
    """Return the rank of each start, or None where starts tell no order.

    They tell none where one is missing, at most `DISTINCT` of them differ, or all lie within one
    median runtime: runs that were launched together.
    """
    n = len(started_s)
    if n < 3 or not np.isfinite(started_s).all():
        return None
    if len(np.unique(started_s)) <= DISTINCT * n or np.ptp(started_s) <= np.median(runtime_s):
        return None
    return stats.rankdata(started_s)


def ranks_of(runs):
    """Return the rank of start of each completed run, or None where starts tell no order."""
    if "runtime_s" not in runs:
        return None
    return start_ranks(starts_s(runs), runs["runtime_s"].to_numpy(dtype=float))


def start_share(field, rank):
    """Return the share of the variance of start rank between levels of a field (quartiles of a trend)."""
    codes = _levels(field)
    spread = ((rank - rank.mean()) ** 2).sum()
    return float(1 - (within(rank, codes) ** 2).sum() / spread) if spread else 0.0


def _levels(field):
    codes = field.codes
    if field.trend:
        codes = np.minimum(3, (stats.rankdata(field.values) - 1) * 4 // len(codes)).astype(int)
    return np.unique(codes, return_inverse=True)[1]


def goes_beyond_drift(y, field):
    """Say whether two levels differ by more than a machine that changed: the lower Tukey-Kramer bound."""
    codes = _levels(field)
    n = np.bincount(codes)
    df = len(y) - len(n)
    if df < 2:
        return False
    mean = means(y, codes)
    spread = np.sqrt((within(y, codes) ** 2).sum() / df)
    # The widest difference for its standard error is among the extremes of few levels; all are looked at.
    order = np.argsort(mean)
    low, high = order[: min(len(n), 200)], order[-min(len(n), 200) :]
    quantile = float(qsturng(0.95, len(n), df))
    apart = mean[high][:, None] - mean[low][None, :]
    half = quantile * spread * np.sqrt((1 / n[high][:, None] + 1 / n[low][None, :]) / 2)
    return bool((apart - half).max() > np.log(DRIFT))


def slope_bounds(y, rank, structure):
    """Return the least and the largest change per place in start order that a machine may have made.

    Within ×/÷ `DRIFT` over the sweep, and within the 95 % interval that repetitions give.
    """
    n = len(y)
    most = np.log(DRIFT) / max(n - 1, 1)
    bounds = -most, most
    if rank is None or structure.n_configurations == n:
        return bounds
    inside, response = within(rank, structure.of_run), within(y, structure.of_run)
    spread, df = inside @ inside, n - structure.n_configurations - 1
    if spread <= 1e-9 or df < 1:
        return bounds
    slope = (inside @ response) / spread
    error = np.sqrt(((response - slope * inside) ** 2).sum() / df / spread)
    half = stats.t.ppf(0.975, df) * error
    low, high = max(-most, slope - half), min(most, slope + half)
    if low <= high:
        return low, high
    return (most, most) if slope > 0 else (-most, -most)
