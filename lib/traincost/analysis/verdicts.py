"""Which factors' effects on runtime are distinguishable from chance.

On the log response, with the configuration as unit, each factor has two F-tests, alone and with
the other factors held. The statistic is the smallest F-tail over all tests of all
factors, under permutations of the response that all tests share (Westfall and Young 1993,
"Resampling-based multiple testing": single step, min-p). The family-wise p-value of a test is
(1 + b) / (1 + B), b the draws whose smallest tail is at most its own.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.analysis import fields as _fields
from traincost.analysis.designs import NEGLIGIBLE, beyond, f_tail, orthonormal, stack

ALPHA = 0.05
N_PERMUTATIONS = 9_999
MAX_PERMUTED = 9_999 * 5_000  # response values drawn in all; more configurations, fewer draws
MIN_RESIDUAL_DF = 5  # for a test with the other factors held
TIE = 1e-9  # relative; F-tails closer than this are equal
CHUNK = 500_000  # permuted values in memory at a time

DEPENDS = "runtime depends on it"
GOES_WITH = "goes with it, but not once the others are held"
HELD = "matters with the others held"
CHANCE = "cannot be told from chance"
TOO_FEW = "too few runs to tell"
NO_VARIATION = "no variation to explain"
CLEARING = (DEPENDS, GOES_WITH, HELD)


@dataclass(frozen=True, eq=False)
class _Test:
    """An F-test: what the factor adds (`basis`) to what is held, in the model of both (`whole`)."""

    factor: str
    held: tuple
    basis: np.ndarray
    whole: np.ndarray

    @property
    def df(self):
        return self.basis.shape[1]

    @property
    def residual_df(self):
        return len(self.basis) - 1 - self.whole.shape[1]

    def tails(self, explained, fitted, total):
        """Return the F-tail of each response, from the sums of squares of the factor, the fit and all."""
        residual = np.maximum(0.0, total - fitted)
        return f_tail(explained, residual, self.df, self.residual_df, total)


class _Tests:
    """Several F-tests of the same responses, by one product of matrices."""

    def __init__(self, tests):
        self._tests = tests
        # A model that several tests share is fitted once.
        parts = {id(part): part for test in tests for part in (test.basis, test.whole)}
        self._place = {key: i for i, key in enumerate(parts)}
        self._rows = np.hstack(list(parts.values())).T.copy()
        self._starts = np.cumsum([0, *(part.shape[1] for part in parts.values())])[:-1]

    def tails(self, centred):
        """Return the F-tails, (tests, ...), of the columns of `centred`, (C,) or (C, draws)."""
        total = (centred**2).sum(axis=0)
        fits = np.add.reduceat((self._rows @ centred) ** 2, self._starts, axis=0)
        return np.array(
            [
                test.tails(fits[self._place[id(test.basis)]], fits[self._place[id(test.whole)]], total)
                for test in self._tests
            ]
        )


def family_wise(designs, y, n_permutations=N_PERMUTATIONS, seed=0):
    """Family-wise p-values of all factors' tests, and the verdict on each factor.

    Parameters
    ----------
    designs : list of (Field, ndarray)
        The factors with their designs over the configurations.
    y : ndarray
        Mean log response of each configuration.
    n_permutations, seed : int

    Returns
    -------
    DataFrame
        ``factor``, ``p_alone``, ``p_held``, ``held`` (names), ``verdict``, ``n_permutations``.
    """
    columns = ["factor", "p_alone", "p_held", "held", "verdict", "n_permutations"]
    if not designs:
        return pd.DataFrame(columns=columns)
    centred = y - y.mean()
    if (centred**2).sum() <= NEGLIGIBLE * len(y) * max(1.0, y.mean() ** 2):
        return _untested(designs, columns, NO_VARIATION, 0)
    tests = _tests(designs)
    n_permutations = max(99, min(n_permutations, MAX_PERMUTED // len(y)))
    if not tests:
        return _untested(designs, columns, TOO_FEW, n_permutations)
    stacked = _Tests(tests)
    observed = stacked.tails(centred)
    smallest, own = _permuted(stacked, centred, n_permutations, np.random.default_rng(seed))
    p = _family_p(observed, smallest)
    reachable = _family_p(np.minimum(observed, own), smallest)
    by_factor = {field.name: {} for field, _ in designs}
    for test, p_test, p_reachable in zip(tests, p, reachable, strict=True):
        by_factor[test.factor]["held" if test.held else "alone"] = (p_test, p_reachable, test.held)
    return pd.DataFrame(
        [(name, *_conclude(results), n_permutations) for name, results in by_factor.items()],
        columns=columns,
    )


def _untested(designs, columns, verdict, n_permutations):
    return pd.DataFrame(
        [(field.name, np.nan, np.nan, (), verdict, n_permutations) for field, _ in designs], columns=columns
    )


def _tests(designs):
    """Return the tests that can be made: each factor alone, and with the others held."""
    n = len(designs[0][1])
    tests, models = [], {}
    for field, columns in designs:
        own = orthonormal(columns)
        alone = _Test(field.name, (), own, own)
        if alone.df and alone.residual_df > 0:
            tests.append(alone)
        others = [
            (other, x)
            for other, x in designs
            if other is not field
            and other.n_levels <= _fields.MAX_MODEL_LEVELS
            and field.name not in other.fixes
            and other.name not in field.fixes
        ]
        if not others:
            continue
        reduced = orthonormal(stack([x for _, x in others], n))
        names = tuple(other.name for other, _ in others)
        model = frozenset((field.name, *names))
        if model not in models:
            models[model] = orthonormal(stack([columns, *(x for _, x in others)], n))
        held = _Test(field.name, names, beyond(reduced, columns), models[model])
        if held.df and held.residual_df >= MIN_RESIDUAL_DF:
            tests.append(held)
    return tests


def _permuted(tests, centred, n_permutations, rng):
    """Return the smallest tail over all tests of each draw, and of each test over all draws."""
    smallest, own = np.ones(n_permutations), 1.0
    step = max(1, CHUNK // len(centred))
    for start in range(0, n_permutations, step):
        draws = np.tile(centred, (min(step, n_permutations - start), 1))
        draws = rng.permuted(draws, axis=1).T
        tails = tests.tails(draws)
        smallest[start : start + step] = tails.min(axis=0)
        own = np.minimum(own, tails.min(axis=1))
    return smallest, own


def _family_p(tails, smallest):
    """Return (1 + b) / (1 + B), b the draws whose smallest tail is at most each of `tails`."""
    b = np.searchsorted(np.sort(smallest), np.asarray(tails) * (1 + TIE), side="right")
    return (1 + b) / (1 + len(smallest))


def _conclude(results):
    """Return p alone, p held, what was held, and the verdict, from a factor's tests."""
    missing = (np.nan, np.nan, ())
    p_alone, reach_alone, _ = results.get("alone", missing)
    p_held, reach_held, held = results.get("held", missing)
    if not (reach_alone <= ALPHA or reach_held <= ALPHA):  # NaN: no such test
        verdict = TOO_FEW
    elif p_alone <= ALPHA and (p_held <= ALPHA or np.isnan(p_held)):
        verdict = DEPENDS
    elif p_alone <= ALPHA:
        verdict = GOES_WITH
    elif p_held <= ALPHA:
        verdict = HELD
    else:
        verdict = CHANCE
    return p_alone, p_held, held, verdict
