"""F-tests of factors on units that are compared with each other, and their tails under chance.

Between the units of a stratum, or within groups of them, each factor is tested alone and with the
others held. Where the spread differs between a factor's levels (Brown & Forsythe 1974), its tests use
Welch's F (1951, Biometrika 38). All tests of a stratum share the responses that chance draws.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special, stats

from traincost.analysis.designs import (
    NEGLIGIBLE,
    beyond,
    design,
    f_tail,
    indicator,
    means,
    orthonormal,
    stack,
    within,
)

MIN_PERMUTED = 10  # units; of fewer, too few arrangements differ
MIN_RESIDUAL_DF = 5  # for a test with the other factors held
MIN_ALONE_DF = 2  # for a test of a factor alone
MIN_LEVEL = 4  # units of a level, to estimate its spread from
START_ORDER = "start order"


@dataclass(frozen=True, eq=False)
class FTest:
    """An F-test of one factor in a stratum.

    Its basis and that of the model of it and what is held are in the coordinates of the stratum's
    basis. `levels` are the codes of a factor too large for a matrix, or whose spread differs.
    """

    factor: str
    held: tuple
    basis: np.ndarray
    whole: np.ndarray
    residual_df: int
    levels: np.ndarray | None = None
    welch: bool = False
    partial: tuple = ()  # what the others explain beside the factor, for Welch's F

    @property
    def which(self):
        return "held" if self.held else "alone"


class Stratum:
    """Units with a response, and the tests made on them.

    `y` is about the mean of all units, or of their group in `groups`, within which they are compared;
    `order`, the mean rank of start of each unit, is centred likewise; None where it is not known or equal, as
    its coordinates `order_direction`, of length one.
    """

    def __init__(self, y, at, fields, groups=None, rank=None, cells=None, more=()):
        self.groups, self.at, self.fields, self.cells = groups, at, list(fields), cells
        self.y = within(y, groups)
        self.n_groups = 1 if groups is None else int(groups.max()) + 1
        self.order = None if rank is None or np.ptp(rank) == 0 else within(rank, groups)
        if self.order is not None and np.abs(self.order).max() < NEGLIGIBLE:
            self.order = None
        self._designs = {
            f.name: within(design(f, at), groups) for f in (*self.fields, *more) if not f.is_large
        }
        order = [] if self.order is None else [self.order[:, None]]
        self._basis = orthonormal(stack([*self._designs.values(), *order], len(self.y)))
        self._at = {name: self._basis.T @ x for name, x in self._designs.items()}
        order_at = None if self.order is None else orthonormal(self._basis.T @ self.order[:, None])
        self.order_direction, self.tests, self.unequal = order_at, [], set()

    def slope_of_order(self):
        """Return the change per place in start order with the factors held; 0 where they fix it."""
        held = self.span(self.fields)
        order, y = self._basis.T @ self.order, self._basis.T @ self.y
        rest = order - held @ (held.T @ order)
        return float((rest @ y) / (rest @ rest)) if rest @ rest > NEGLIGIBLE else 0.0

    def span(self, fields):
        """Return an orthonormal basis, in coordinates, of what several factors explain."""
        known = [self._at[f.name] for f in fields if f.name in self._at]
        return orthonormal(stack(known, self._basis.shape[1]))

    def linear(self, field):
        """Return the same of one factor, a trend only linear in rank."""
        if not field.trend or field.name not in self._at:
            return self.span([field])
        return orthonormal(self._basis.T @ within(design(field, self.at, degree=1), self.groups))

    def residual_df(self, rank):
        """Return what a model of so many degrees of freedom leaves."""
        return len(self.y) - self.n_groups - rank

    def add(self, field):
        """Add the tests of a factor, alone and with the others held, as far as they can be made."""
        others = [f for f in self.fields if f is not field and f.name in self._at]
        if field.name not in self._at:
            return self._add_large(field)
        own = self.span([field])
        if self.cells is not None:  # repetitions are the only error
            basis = beyond(self.span(others), self._at[field.name])
            df = len(self.y) - 1 - self.cells.rank
            names = tuple(f.name for f in others) or (" ",)
            if basis.shape[1] and df > 0:
                self.tests.append(FTest(field.name, names, basis, None, df))
            return None
        df = self.residual_df(own.shape[1])
        if own.shape[1] and df >= MIN_ALONE_DF:
            self.tests.append(FTest(field.name, (), own, own, df))
        if others:
            self._add_held(field.name, self.span(others), self._at[field.name], others)
        return None

    def _add_held(self, name, held, columns, others):
        basis = beyond(held, columns)
        whole = np.column_stack([held, basis])
        df = self.residual_df(whole.shape[1])
        if basis.shape[1] and df >= MIN_RESIDUAL_DF:
            self.tests.append(FTest(name, tuple(f.name for f in others), basis, whole, df))

    def _add_large(self, field):
        if self.groups is not None or self.cells is not None:
            return
        _, codes = np.unique(field.codes[self.at], return_inverse=True)
        df = self.residual_df(int(codes.max()))
        if codes.max() and df >= MIN_ALONE_DF:
            self.tests.append(FTest(field.name, (), None, None, df, codes))

    def add_nested(self, field, others):
        """Add the tests of a factor that a finer one fixes, in place of that one."""
        own = self.span([field])
        self.tests.append(FTest(field.name, (), own, own, self.residual_df(own.shape[1])))
        if others:
            self._add_held(field.name, self.span(others), self._at[field.name], others)

    def add_columns(self, name, columns):
        """Add the test of a factor of its own on these units; say whether it can be made."""
        own = orthonormal(columns)
        df = self.residual_df(own.shape[1])
        if not own.shape[1] or df < MIN_ALONE_DF:
            return False
        order = [] if self.order is None else [self.order[:, None]]
        self._basis = orthonormal(stack([own, *order], len(self.y)))
        at = self._basis.T @ own
        self.tests.append(FTest(name, (), at, at, df))
        return True

    def add_order(self):
        """Add the tests of start order, alone (between all units) and with the factors held."""
        if self.order is None:
            return
        at, df = self.order_direction, self.residual_df(1)
        if self.groups is None:
            self.tests.append(FTest(START_ORDER, (), at, at, df))
        if self.fields:
            self._add_held(START_ORDER, self.span(self.fields), at, self.fields)
        elif self.groups is not None and df >= MIN_RESIDUAL_DF:
            self.tests.append(FTest(START_ORDER, (" ",), at, at, df))

    def allow_unequal_spread(self, unequal):
        """Use Welch's F for the factors whose spread differs between levels."""
        by_name = {f.name: f for f in self.fields}
        self.unequal = unequal
        for i, test in enumerate(self.tests):
            if test.factor in unequal and test.factor in by_name:
                codes = np.unique(by_name[test.factor].codes[self.at], return_inverse=True)[1]
                partial = self._partial(codes, test.held) if test.held else ()
                self.tests[i] = replace(test, levels=codes, welch=True, partial=partial)

    def _partial(self, codes, held):
        """Return (columns, coefficients per coordinate): what the held factors explain beside the levels."""
        columns = stack([self._designs[name] for name in held], len(codes))
        columns = self._basis @ orthonormal(self._basis.T @ columns)
        levels = np.eye(int(codes.max()) + 1)[codes]
        coefficients = np.linalg.pinv(np.column_stack([levels, columns]))[levels.shape[1] :]
        return columns, coefficients @ self._basis

    def tails(self, responses):
        """Return the tails, (tests, draws), of centred responses, (n, draws)."""
        total = (responses**2).sum(axis=0)
        at = self._basis.T @ responses
        explained = self.cells.explained(responses) if self.cells is not None else None
        return np.array([self._tail(test, responses, at, total, explained) for test in self.tests])

    def _tail(self, test, responses, at, total, explained):
        if test.welch:
            if test.partial:
                columns, coefficients = test.partial
                responses = responses - columns @ (coefficients @ at)
            return welch(responses, test.levels)
        if test.basis is None:
            df = int(test.levels.max())
            between = ((indicator(test.levels) @ responses) ** 2 / np.bincount(test.levels)[:, None]).sum(0)
            return f_tail(between, np.maximum(0.0, total - between), df, test.residual_df, total)
        own = ((test.basis.T @ at) ** 2).sum(axis=0)
        fitted = explained if test.whole is None else ((test.whole.T @ at) ** 2).sum(axis=0)
        residual = np.maximum(0.0, total - fitted)
        return f_tail(own, residual, test.basis.shape[1], test.residual_df, total)

    def draw(self, n, rng):
        """Return `n` responses as chance would have them, (units, n)."""
        if len(self.y) >= MIN_PERMUTED and self.groups is None:
            return rng.permuted(np.tile(self.y, (n, 1)), axis=1).T
        return within(rng.standard_normal((len(self.y), n)), self.groups)


def welch(responses, codes):
    """Return the tail of Welch's F over levels with `MIN_LEVEL` units or more; 1 with fewer than two such."""
    n = np.bincount(codes)
    use = n >= MIN_LEVEL
    if use.sum() < 2:
        return np.ones(responses.shape[1])
    sums, n = indicator(codes)[use], n[use][:, None]
    k = len(n)
    mean = sums @ responses / n
    variance = np.maximum((sums @ responses**2 - n * mean**2) / (n - 1), 1e-20)
    weight = n / variance
    whole = weight.sum(axis=0)
    centre = (weight * mean).sum(axis=0) / whole
    between = (weight * (mean - centre) ** 2).sum(axis=0) / (k - 1)
    h = ((1 - weight / whole) ** 2 / (n - 1)).sum(axis=0)
    statistic = between / (1 + 2 * (k - 2) / (k * k - 1) * h)
    return special.fdtrc(k - 1, (k * k - 1) / (3 * h), statistic)


def spread_differs(y, codes):
    """Return p of the Brown-Forsythe test over levels with three units or more; 1 where it cannot be made."""
    medians = pd.Series(y).groupby(codes).median().to_numpy()
    keep = np.bincount(codes)[codes] >= 3
    kept = np.unique(codes[keep], return_inverse=True)[1]
    if not len(kept) or kept.max() < 1:
        return 1.0
    deviation = np.abs(y - medians[codes])[keep]
    mean, n = means(deviation, kept), np.bincount(kept)
    df, df_rest = len(n) - 1, len(kept) - len(n)
    if df_rest <= 0:
        return 1.0
    rest = ((deviation - mean[kept]) ** 2).sum()
    between = (n * (mean - deviation.mean()) ** 2).sum()
    return float(stats.f.sf(between / df / max(rest / df_rest, 1e-24), df, df_rest))
