"""Runs whose time lies far from all others and is explained by no setting: debug runs, mostly.

One run of seconds among many of hours spreads the response so far that no effect can be told from chance.
Such runs are named and set aside from tests and sizes, and still counted as cost.

Contract: described fields and the response in, a mask out.
"""

import numpy as np

from traincost.analysis import fields as _fields
from traincost.analysis.designs import design, stack

FAR = 5.0  # robust standard deviations
RATIO = np.log(3.0)  # and at least so far: three times longer or shorter
MIN_RUNS = 8
MOST = 0.25  # of the runs; more of them are a part of the collection
SIGMA = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
MIN_LEVEL = 4  # runs of a level, to say what is usual there
REPEATING = 1.5  # runs per level, on average, from which a factor can explain a run
MIN_RESIDUAL_DF = 3


def far_runs(fields, y):
    """Say of each run whether its log response `y` is far (Hampel 1974; Davies & Gather 1993).

    A candidate lies more than max(5 · 1.4826 · MAD, ln 3) from the median. It is dropped where a setting
    explains it: all runs of one of its levels are candidates; or it is usual among the runs of a level;
    or the additive model of the other runs predicts it.
    """
    none = np.zeros(len(y), dtype=bool)
    if len(y) < MIN_RUNS:
        return none
    away = np.abs(y - np.median(y))
    far = away > max(FAR * SIGMA * np.median(away), RATIO)
    if not far.any() or far.mean() > MOST:
        return none
    usual = ~far
    factors = [f for f in _fields.factors(fields) if not f.trend and f.n_levels < len(y) / REPEATING]
    for f in factors:
        far &= np.bincount(f.codes, usual, minlength=f.n_levels)[f.codes] > 0
    for f in factors:
        far &= ~_usual_in_level(f, y, far)
    return far & _unpredicted(factors, y, usual) if far.any() else none


def _usual_in_level(field, y, asked):
    """Say of the runs asked for whether they lie within the spread of their own level."""
    inside = np.zeros(len(y), dtype=bool)
    for level in np.unique(field.codes[asked]):
        members = field.codes == level
        if members.sum() >= MIN_LEVEL:
            away = np.abs(y[members] - np.median(y[members]))
            inside[members] = away <= FAR * SIGMA * np.median(away)
    return inside


def _unpredicted(factors, y, usual):
    """Say of each run whether the additive model of the usual ones misses it by far."""
    held = [f for f in factors if not f.is_large]
    columns = np.column_stack([np.ones(len(y)), stack([design(f) for f in held], len(y))])
    n, rank = usual.sum(), np.linalg.matrix_rank(columns[usual])
    if n - rank < MIN_RESIDUAL_DF:
        return np.ones(len(y), dtype=bool)
    residual = np.abs(y - columns @ np.linalg.lstsq(columns[usual], y[usual], rcond=None)[0])
    spread = SIGMA * np.median(residual[usual]) * np.sqrt(n / (n - rank))
    return residual > max(FAR * spread, RATIO)
