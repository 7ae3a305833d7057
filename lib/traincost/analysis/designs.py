"""Factors as design matrices over runs or configurations, and the algebra of F-tests.

Models are compared by their numerical rank, so that aliased factors, empty cells and
disconnected grids give the degrees of freedom that the data have. What lies between groups is
computed from group means, never from a matrix with a column per group.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse, special, stats

from traincost.analysis import fields as _fields

TREND_DF = 3  # a numeric factor is a cubic in rank
NEGLIGIBLE = 1e-12  # of the total sum of squares: rounding, not variation
RANK = 1e-8  # of the longest column: a direction shorter than this is rounding


@dataclass(frozen=True, eq=False)
class Units:
    """The configurations of a collection."""

    of_run: np.ndarray  # configuration of each run
    first: np.ndarray  # a run of each configuration, to look its levels up
    mean: np.ndarray  # mean response of each configuration
    mean_log: np.ndarray  # mean of its logarithm

    @classmethod
    def of(cls, candidates, y, log=None):
        """Group the runs with response `y` by their setting of the `candidates`.

        `log` is what stands for the logarithm of a response that may not be positive.
        """
        of_run = _fields.combined([field.codes for field in candidates], len(y))
        first = _fields.first_of_each(of_run)
        return cls(of_run, first, means(y, of_run), means(np.log(y) if log is None else log, of_run))

    def at(self, candidates):
        """Return (field, its design over the configurations) pairs."""
        return [(field, design(field, self.first)) for field in candidates]


def design(field, at=None, as_levels=False, degree=TREND_DF):
    """Return the columns that a factor adds to a model, centred: (n, k-1) or (n, <= 4).

    Dummies of the levels (of a trend too, with `as_levels`), or powers of the standardised
    mid-rank of a trend, up to `degree`, with a column of its own for missing values.
    """
    codes = field.codes if at is None else field.codes[at]
    if as_levels or not field.trend:
        present, codes = np.unique(codes, return_inverse=True)
        columns = np.eye(len(present))[codes][:, 1:]
    else:
        columns = _trend(field.values if at is None else field.values[at], degree)
    return columns - columns.mean(axis=0)


def _trend(values, degree):
    missing = np.isnan(values)
    rank = np.zeros(len(values))
    known = stats.rankdata(values[~missing])
    scale = known.std() if len(known) else 0.0
    rank[~missing] = (known - known.mean()) / scale if scale > 0 else 0.0
    degree = min(degree, len(np.unique(known)) - 1)
    powers = [np.where(missing, 0.0, rank**power) for power in range(1, degree + 1)]
    columns = [*powers, missing.astype(float)] if missing.any() else powers
    return stack([column[:, None] for column in columns], len(values))


def orthonormal(columns):
    """Return an orthonormal basis of the span of `columns`, by its numerical rank."""
    return beyond(np.empty((len(columns), 0)), columns)


def beyond(basis, columns):
    """Return an orthonormal basis of what `columns` add to the span of `basis`."""
    if not columns.shape[1]:
        return columns
    rest = columns
    if basis.shape[1]:
        rest = columns - basis @ (basis.T @ columns)
        rest -= basis @ (basis.T @ rest)  # once more: cancellation leaves components of `basis`
    q, r = np.linalg.qr(rest)
    left, singular, _ = np.linalg.svd(r, full_matrices=False)
    # Against the size of the columns themselves: what is left of a jointly determined factor
    # is rounding error, and would look like a direction of its own.
    return q @ left[:, singular > RANK * max(1e-300, np.linalg.norm(columns, axis=0).max())]


def stack(designs, n):
    """Return several designs as one matrix of `n` rows."""
    return np.column_stack(designs) if designs else np.empty((n, 0))


# -- groups --------------------------------------------------------------------------------


def means(y, groups):
    """Return the mean of `y`, (n,) or (n, columns), in each group (numbers from 0, each with a member)."""
    n = np.bincount(groups)
    if y.ndim == 1:
        return np.bincount(groups, y) / n
    return np.asarray(indicator(groups) @ y) / n[:, None]


def within(y, groups):
    """Return `y`, (n,) or (n, columns), about the mean of its group; of None, about the mean of all."""
    return y - (y.mean(axis=0) if groups is None else means(y, groups)[groups])


def indicator(groups):
    """Return the matrix, (groups, n), that sums over groups."""
    n = len(groups)
    return sparse.csr_matrix((np.ones(n), (groups, np.arange(n))), shape=(int(groups.max()) + 1, n))


@dataclass(frozen=True, eq=False)
class Cells:
    """The model with a mean per group, and what columns explain within the groups."""

    groups: np.ndarray  # group of each response
    inside: np.ndarray  # (n, columns): orthonormal basis of what the columns vary by within groups

    @classmethod
    def of(cls, groups, columns):
        """Make the model of groups, and of columns that may vary within them."""
        varies = within(columns, groups)
        moving = np.abs(varies).max(axis=0, initial=0.0) > RANK
        return cls(groups, orthonormal(varies[:, moving]))

    @property
    def rank(self):
        """Degrees of freedom beside the mean."""
        return int(self.groups.max()) + self.inside.shape[1]

    def explained(self, centred):
        """Return the sums of squares that it explains of centred responses, (n,) or (n, draws)."""
        sums = indicator(self.groups) @ centred
        n = np.bincount(self.groups)
        between = (sums**2 / (n if centred.ndim == 1 else n[:, None])).sum(axis=0)
        return between + ((self.inside.T @ centred) ** 2).sum(axis=0)


@dataclass(frozen=True)
class LackOfFit:
    """Whether groups differ by more than a model says: its lack of fit against the scatter within groups."""

    p: float  # of the F-test; NaN where one of the degrees of freedom is missing
    df: int
    df_repeats: int
    mean_square: float
    mean_square_repeats: float


def lack_of_fit(y, columns, groups, absorbed=None):
    """Test the additive model of `columns` against a mean per group.

    `absorbed` are the levels of a further factor of that model, which the groups refine.
    """
    levels = np.zeros(len(y), dtype=np.int64) if absorbed is None else absorbed
    centred, additive, cells = y - y.mean(), Cells.of(levels, columns), Cells.of(groups, columns)
    total = centred @ centred
    fitted, whole = additive.explained(centred), cells.explained(centred)
    df, df_repeats = cells.rank - additive.rank, len(y) - 1 - cells.rank
    lack, rest = max(0.0, whole - fitted), max(0.0, total - whole)
    p = float(f_tail(lack, rest, df, df_repeats, total)) if df > 0 and df_repeats > 0 else np.nan
    return LackOfFit(
        p, df, df_repeats, lack / df if df > 0 else np.nan, rest / df_repeats if df_repeats > 0 else np.nan
    )


def f_tail(explained, residual, df, residual_df, total):
    """Upper tail of the F statistic; rounding error counts as no residual and no effect."""
    if df == 0 or residual_df <= 0:
        return np.nan
    negligible = NEGLIGIBLE * total
    explained = np.where(explained <= negligible, 0.0, explained)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (explained / df) / (np.where(residual <= negligible, 0.0, residual) / residual_df)
    return special.fdtrc(df, residual_df, np.where(explained == 0, 0.0, statistic))
