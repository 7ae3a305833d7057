"""How much of a response a factor explains: eta squared, its corrections, chance level and interval.

Contract: arrays and fields in, numbers out; nothing is tested here (`verdicts`).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize, special

from traincost.analysis.designs import NEGLIGIBLE, beyond, design, f_tail, orthonormal, stack


@dataclass(frozen=True, eq=False)
class Spread:
    """A response about its mean: what there is to explain."""

    centred: np.ndarray
    total: float  # its sum of squares; 0 where all there is is rounding error

    @classmethod
    def of(cls, y):
        """Centre the response `y`."""
        mean = y.mean()
        centred = y - mean
        total = centred @ centred
        # Of equal values, what the mean leaves over is rounding error.
        return cls(centred, 0.0 if total <= NEGLIGIBLE * len(y) * mean**2 else total)

    def explained(self, field, at=None):
        """Return the degrees of freedom of a factor and the share of SS_total it explains."""
        if field.trend:
            basis = orthonormal(design(field, at))
            df, between = basis.shape[1], ((basis.T @ self.centred) ** 2).sum()
        else:
            codes = field.codes if at is None else field.codes[at]
            n = np.bincount(codes)
            sums = np.bincount(codes, self.centred)
            df, between = int((n > 0).sum()) - 1, (sums[n > 0] ** 2 / n[n > 0]).sum()
        return df, min(1.0, between / self.total) if self.total else np.nan

    def between(self, groups):
        """Return the share of it that lies between groups (numbers from 0, each with a member)."""
        if not self.total:
            return np.nan
        return (np.bincount(groups, self.centred) ** 2 / np.bincount(groups)).sum() / self.total


def bias_corrected(eta, df, n):
    """Return epsilon squared (Kelley 1935) and omega squared (Hays 1963).

    With MS_error = SS_error / (n-1-df): (SS - df MS_error) / SS_total, and the same over
    SS_total + MS_error. NaN without residual degrees of freedom.
    """
    residual_df = n - 1 - df
    if residual_df <= 0:
        return np.nan, np.nan
    mean_square = (1 - eta) / residual_df
    return eta - df * mean_square, (eta - df * mean_square) / (1 + mean_square)


def chance_level(df, n, n_units, between, replicate=False):
    """Return what eta squared of an unrelated factor with `df`, of `n` runs, is on average.

    Without replicates df/(N-1). With them, levels are dealt to the C configurations (`n_units`):
    df/(C-1) times the share of the variance that lies `between` these. A replicate field is
    dealt to runs within configurations, so to it the rest of the variance applies.
    """
    if n_units == n:
        return df / (n - 1)
    if replicate:
        return np.minimum(1.0, df / (n - n_units) * (1 - between))
    return df / (n_units - 1) * between if n_units > 1 else np.nan


def eta_interval(eta, df, residual_df):
    """Return the 95 % interval of the population eta squared, by inverting the noncentral F.

    The noncentrality whose distribution puts the observed F at each tail (Steiger 2004),
    over itself plus n.
    """
    if residual_df <= 0 or df <= 0 or not np.isfinite(eta):
        return np.nan, np.nan
    if eta >= 1 - NEGLIGIBLE:
        return 1.0, 1.0
    statistic = eta / df / ((1 - eta) / residual_df)
    n = df + residual_df + 1

    def noncentrality(tail):
        def excess(nc):
            return special.ncfdtr(df, residual_df, nc, statistic) - tail

        if excess(0.0) <= 0:
            return 0.0
        upper = max(1.0, 2 * statistic * df)
        while excess(upper) > 0:
            upper *= 2
        return optimize.brentq(excess, 0.0, upper, xtol=1e-9 * upper)

    low, high = (noncentrality(tail) for tail in (0.975, 0.025))
    return low / (low + n), high / (high + n)


def additive_model(designs, y):
    """Type II sums of squares of the additive model, by comparing models by their rank.

    `designs` are (Field, matrix) pairs over configurations, `y` is the mean response of each of these.

    Returns
    -------
    DataFrame
        ``factor``; ``partial_df``, what the factor adds to the others' rank (0: jointly
        determined by them); ``partial_sum_sq``; ``partial_eta_squared`` = SS/(SS + SS_residual);
        ``partial_chance`` = df/(df + residual df); ``partial_p``, of the plain F-test;
        ``residual_df``, ``residual_sum_sq`` of the whole model.
    """
    centred = y - y.mean()
    whole = orthonormal(stack([x for _, x in designs], len(y)))
    # In the coordinates of the whole model each smaller one is a matter of a few dozen rows.
    fitted, parts = whole.T @ centred, [whole.T @ x for _, x in designs]
    residual = max(0.0, (centred**2).sum() - (fitted**2).sum())
    residual_df = len(y) - 1 - whole.shape[1]
    rows = []
    negligible = NEGLIGIBLE * max((centred**2).sum(), len(y) * y.mean() ** 2 if len(y) else 0.0)
    for i, (field, _) in enumerate(designs):
        others = stack([x for j, x in enumerate(parts) if j != i], len(fitted))
        basis = beyond(orthonormal(others), parts[i])
        df, sum_sq = basis.shape[1], ((basis.T @ fitted) ** 2).sum()
        known = df and residual_df and sum_sq + residual > negligible
        eta = sum_sq / (sum_sq + residual) if known else np.nan
        chance = df / (df + residual_df) if residual_df else np.nan
        p = f_tail(sum_sq, residual, df, residual_df, (centred**2).sum())
        rows.append((field.name, df, sum_sq, eta, chance, p, residual_df, residual))
    columns = ["factor", "partial_df", "partial_sum_sq", "partial_eta_squared", "partial_chance"]
    return pd.DataFrame(rows, columns=[*columns, "partial_p", "residual_df", "residual_sum_sq"])
