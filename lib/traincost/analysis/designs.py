"""Factors as design matrices over runs or configurations, and the algebra of F-tests.

Models are compared by their numerical rank, so that aliased factors, empty cells and
disconnected grids give the degrees of freedom that the data have.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from traincost.analysis import fields as _fields

TREND_DF = 3  # a numeric factor is a cubic in rank
NEGLIGIBLE = 1e-12  # of the total sum of squares: rounding, not variation


@dataclass(frozen=True, eq=False)
class Units:
    """The configurations of a collection, as units of testing.

    Attributes
    ----------
    of_run : ndarray of int
        Configuration of each run.
    first : ndarray of int
        A run of each configuration, to look its levels up.
    mean, mean_log : ndarray of float
        Mean response, and mean log response, of each configuration.
    """

    of_run: np.ndarray
    first: np.ndarray
    mean: np.ndarray
    mean_log: np.ndarray

    @classmethod
    def of(cls, candidates, y):
        """Group the runs with response `y` by their setting of the `candidates`."""
        of_run = _fields.combined([field.codes for field in candidates], len(y))
        n = np.bincount(of_run)
        first = _fields.first_of_each(of_run)
        mean = np.bincount(of_run, y) / n
        return cls(of_run, first, mean, np.bincount(of_run, np.log(y)) / n)

    def at(self, candidates):
        """Return (field, its design over the configurations) pairs."""
        return [(field, design(field, self.first)) for field in candidates]


def design(field, at=None, as_levels=False):
    """Return the columns that a factor adds to a model, centred: (n, k-1) or (n, <= 4).

    Dummies of the levels (of a numeric factor too, with `as_levels`), or powers of the
    standardised mid-rank of a numeric factor, with a column of its own for missing values.
    """
    codes = field.codes if at is None else field.codes[at]
    if field.kind == "levels" or as_levels:
        present, codes = np.unique(codes, return_inverse=True)
        columns = np.eye(len(present))[codes][:, 1:]
    else:
        columns = _trend(field.values if at is None else field.values[at])
    return columns - columns.mean(axis=0)


def _trend(values):
    missing = np.isnan(values)
    rank = np.zeros(len(values))
    known = stats.rankdata(values[~missing])
    scale = known.std() if len(known) else 0.0
    rank[~missing] = (known - known.mean()) / scale if scale > 0 else 0.0
    degree = min(TREND_DF, len(np.unique(known)) - 1)
    powers = [np.where(missing, 0.0, rank**power) for power in range(1, degree + 1)]
    return np.column_stack([*powers, missing.astype(float)] if missing.any() else powers)


def orthonormal(columns):
    """Return an orthonormal basis of the span of `columns`, by its numerical rank."""
    if not columns.shape[1]:
        return columns
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    tolerance = max(columns.shape) * np.finfo(float).eps * max(1.0, singular[0])
    return left[:, singular > tolerance * 10]


def beyond(basis, columns):
    """Return an orthonormal basis of what `columns` add to the span of `basis`."""
    rest = columns - basis @ (basis.T @ columns)
    rest -= basis @ (basis.T @ rest)  # once more: cancellation leaves components of `basis`
    left, singular, _ = np.linalg.svd(rest, full_matrices=False)
    # Against the size of the columns themselves: what is left of a jointly determined factor
    # is rounding error, and would look like a direction of its own.
    return left[:, singular > 1e-8 * max(1e-300, np.linalg.norm(columns, axis=0).max())]


def stack(designs, n):
    """Return several designs as one matrix of `n` rows."""
    return np.column_stack(designs) if designs else np.empty((n, 0))


def f_tail(explained, residual, df, residual_df, total):
    """Upper tail of the F statistic; rounding error counts as no residual and no effect."""
    if df == 0 or residual_df <= 0:
        return np.nan
    negligible = NEGLIGIBLE * total
    explained = np.where(explained <= negligible, 0.0, explained)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (explained / df) / (np.where(residual <= negligible, 0.0, residual) / residual_df)
    return special.fdtrc(df, residual_df, np.where(explained == 0, 0.0, statistic))
