"""When runs were started, and what a machine that changed meanwhile could have done to their times.

A machine that slows down or speeds up during a sweep changes the runs that are started later. It is taken
not to change by more than a factor of two over a sweep, and where configurations are repeated, not by
more than their repetitions say.

Contract: arrays in, numbers out.
"""

from datetime import datetime

import numpy as np
from scipy import stats

from traincost.analysis.designs import means, within

DRIFT = 2.0  # times: a machine is taken not to change by more over a sweep
LEAST_DISTINCT = 0.8  # of the starts, to tell an order by


def starts_s(started_at, runtime_s):
    """Return when each run was started, in seconds, or None where that tells no order.

    That is where a start is unknown, where at most four in five differ, or where all lie within one
    median runtime: runs that were launched together.

    Parameters
    ----------
    started_at : sequence of str
        Of each run in ISO 8601; empty where unknown.
    runtime_s : array_like
    """
    times = [_seconds(text) for text in started_at]
    if not times or any(time is None for time in times):
        return None
    times = np.array(times)
    if len(np.unique(times)) <= LEAST_DISTINCT * len(times):
        return None
    return None if np.ptp(times) <= np.median(runtime_s) else times


def _seconds(text):
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


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
    quantile = stats.studentized_range.ppf(0.95, len(n), df)
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
