"""What a proposed sweep would take, from the runs of a collection.

The additive model of log runtime over configurations, y = Xβ + u, with the mean over a
configuration's runs as y. A run's runtime is exp(Xβ + u + e), u what the model misses of a
configuration (or an interaction), e what differs between its repetitions. The exponential of an
unbiased mean is biased: its expectation is exp(Xβ + (σu² + σe²)/2), and that of the fitted exp(Xβ̂)
is larger than exp(Xβ) by half its variance v. So a run is predicted by
exp(Xβ̂ + (s² - v)/2) (Goldberger 1968, Econometrica 36, to first order).

The interval of a total is simulated: one draw of the variances (scaled inverse χ²) and of β̂ for
all cells, which share it, one of u for the runs of a configuration, one of e for each run. Where no
configuration was repeated, u and e cannot be told apart, and all is taken for u: the seeds of a
planned configuration are then drawn with one error, which makes the interval wider, not narrower.

Contract: a frame of runs and its described settings in, frames out; randomness is seeded.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis import effects
from traincost.analysis import fields as _fields
from traincost.analysis import knobs as _knobs
from traincost.analysis.designs import Units, design
from traincost.analysis.subsets import label
from traincost.analysis.verdicts import ALPHA
from traincost.errors import NothingToReport, ParameterError

COVERAGE = 0.90  # of the intervals
N_DRAWS = 10_000
MAX_DRAWN = 5_000_000  # runs drawn in all; a larger plan gets fewer draws
MAX_CELLS = 10_000  # configurations of a plan
TOTAL = "the whole sweep"
DEFAULTS = {
    "levels": {},
    "seeds": 1,
    "knobs": [],
    "devices": 1,
    "price_per_hour": None,
    "currency": "USD",
    "replicates": ["seed"],
}


@dataclass(frozen=True, eq=False)
class Model:
    """The additive model of log runtime over configurations.

    Attributes
    ----------
    factors : list of Field
        What the model holds.
    units : Units
    matrix : ndarray, (configurations, parameters)
    coefficients : ndarray
    covariance : ndarray
        Of the coefficients, in units of the variance of a configuration's mean.
    variance, df : float
        Of the configurations' means about the model.
    repeat_variance, repeat_df : float
        Of runs about their configuration's mean; 0 and 0 without repetitions.
    repeats : float
        Runs in a configuration (harmonic mean).
    """

    factors: list
    units: Units
    matrix: np.ndarray
    coefficients: np.ndarray
    covariance: np.ndarray
    variance: float
    df: int
    repeat_variance: float
    repeat_df: int
    repeats: float


def fit(runs, described):
    """Fit the additive model of log runtime.

    Parameters
    ----------
    runs : DataFrame
        A row per completed run.
    described : list of Field
        What `fields.describe` makes of them.

    Raises
    ------
    NothingToReport
        There is no residual degree of freedom to predict with.
    """
    runtime_s = runs["runtime_s"].to_numpy(dtype=float)
    factors = _fields.held_fields(_fields.factors(described), len(runtime_s))
    units = Units.of(_fields.factors(described), runtime_s)
    n = np.bincount(units.of_run)
    matrix = np.column_stack([np.ones(len(n)), *(design(field, units.first) for field in factors)])
    covariance = np.linalg.pinv(matrix.T @ matrix)
    coefficients = covariance @ matrix.T @ units.mean_log
    df = len(matrix) - np.linalg.matrix_rank(matrix)
    if df < 1:
        raise NothingToReport(
            f"too few runs to predict from: nothing is left to estimate chance from; "
            f"configurations: {len(matrix)}"
        )
    within = np.log(runtime_s) - units.mean_log[units.of_run]
    repeat_df = len(within) - len(n)
    return Model(
        factors=factors,
        units=units,
        matrix=matrix,
        coefficients=coefficients,
        covariance=covariance,
        variance=float(((units.mean_log - matrix @ coefficients) ** 2).sum() / df),
        df=int(df),
        repeat_variance=float((within**2).sum() / repeat_df) if repeat_df else 0.0,
        repeat_df=int(repeat_df),
        repeats=float(len(n) / (1 / n).sum()),
    )


def predict(model, rows, seeds=1, rng=None):
    """Predict the runtime of configurations and of their sum.

    Parameters
    ----------
    model : Model
    rows : ndarray, (cells, parameters)
        Their rows of the model's matrix.
    seeds : int
        Runs of each configuration.
    rng : numpy.random.Generator, optional
        Of the simulation; seeded with 0 if left out.

    Returns
    -------
    tuple of ndarray
        Predicted seconds of each cell and of the sum (last), and the lower and upper ends of
        their 90 % prediction intervals, each (cells + 1,).
    """
    rng = np.random.default_rng(0) if rng is None else rng
    cells = expected(model, rows, seeds)
    drawn = _simulated(model, rows, seeds, rng)
    low, high = np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)
    return np.append(cells, cells.sum()), low, high


def expected(model, rows, seeds=1):
    """Return the expected seconds of each cell, corrected for the logarithm; arguments as `predict`."""
    leverage = np.einsum("ij,jk,ik->i", rows, model.covariance, rows)
    missed = max(0.0, model.variance - model.repeat_variance / model.repeats)
    spread = missed + model.repeat_variance
    log_mean = rows @ model.coefficients + (spread - leverage * model.variance) / 2
    return seeds * np.exp(log_mean)


def _simulated(model, rows, seeds, rng):
    """Return simulated seconds, (draws, cells + 1), the sum last."""
    n = max(500, min(N_DRAWS, MAX_DRAWN // (len(rows) * max(seeds, 1))))
    variance = model.variance * model.df / rng.chisquare(model.df, n)
    repeat = np.zeros(n)
    if model.repeat_df:
        repeat = model.repeat_variance * model.repeat_df / rng.chisquare(model.repeat_df, n)
    missed = np.maximum(0.0, variance - repeat / model.repeats)
    root = np.linalg.cholesky(model.covariance + 1e-12 * np.eye(len(model.covariance)))
    shared = (rng.standard_normal((n, len(root))) @ root.T * np.sqrt(variance)[:, None]) @ rows.T
    cells = np.zeros((n, len(rows)))
    centre = rows @ model.coefficients + shared + rng.standard_normal(cells.shape) * np.sqrt(missed)[:, None]
    for _ in range(seeds):
        cells += np.exp(centre + rng.standard_normal(cells.shape) * np.sqrt(repeat)[:, None])
    return np.column_stack([cells, cells.sum(axis=1)])


def left_out(runs, described):
    """Predict each configuration from the others.

    Returns
    -------
    DataFrame
        A row per configuration whose levels all occur in others: ``configuration`` (levels as
        text), ``runtime_s`` (geometric mean over its runs), ``low_s``, ``high_s`` (90 % prediction
        interval, t), ``inside``. Empty where too few remain to predict from.
    """
    names = ["configuration", "runtime_s", "low_s", "high_s", "inside"]
    try:
        model = fit(runs, described)
    except NothingToReport:
        return pd.DataFrame(columns=names)
    y, x = model.units.mean_log, model.matrix
    residual = y - x @ model.coefficients
    leverage = np.einsum("ij,jk,ik->i", x, model.covariance, x)
    at = np.flatnonzero(leverage < 1 - 1e-9)  # without the others, nothing is known of their levels
    if model.df < 2 or not len(at):
        return pd.DataFrame(columns=names)
    # What a fit without configuration i gives, from the fit of all (Cook & Weisberg 1982, ch. 2).
    deleted = residual[at] / (1 - leverage[at])
    variance = (model.variance * model.df - residual[at] * deleted) / (model.df - 1)
    spread = np.sqrt(np.maximum(variance, 0) / (1 - leverage[at]))
    half = stats.t.ppf((1 + COVERAGE) / 2, model.df - 1) * spread
    middle = y[at] - deleted
    ends = np.exp([y[at], middle - half, middle + half])
    table = pd.DataFrame(dict(zip(names[1:4], ends, strict=True)))
    labels = [
        ", ".join(f"{field.name}={field.labels[field.codes[run]]}" for field in model.factors)
        for run in model.units.first[at]
    ]
    table.insert(0, "configuration", labels)
    return table.assign(inside=np.abs(deleted) <= half)


# -- a plan --------------------------------------------------------------------------------


def plan(runs, described, proposal, timing=None):
    """Say what a proposed sweep would take.

    Parameters
    ----------
    runs, described
        As `fit` takes them.
    proposal : dict
        As `checked` returns it.
    timing : Timing, optional
        The runs' sections, where the proposal has knobs.

    Returns
    -------
    DataFrame
        A row per configuration and `TOTAL` last: a column per factor (``level.<name>``),
        ``n_runs``, ``hours``, ``low``, ``high`` (90 % prediction interval), ``device_hours``, and
        ``money`` where a price is given; with knobs ``hours_at_least``, if each saves all it can.

    Raises
    ------
    ParameterError
        The proposal has an unknown factor, or a level that was never run.
    NothingToReport
        Too few runs to predict from.
    """
    model = fit(runs, described)
    cells = _cells(model, proposal["levels"])
    added = [_rows(model, i, cells) for i in range(len(model.factors))]
    rows = np.column_stack([np.ones(len(cells)), *added])
    seconds, low, high = predict(model, rows, proposal["seeds"])
    table = pd.DataFrame(
        [*cells, (TOTAL,) * len(model.factors)], columns=[f"level.{f.name}" for f in model.factors]
    )
    n_runs = [proposal["seeds"]] * len(cells)
    table = table.assign(
        n_runs=[*n_runs, sum(n_runs)], hours=seconds / 3600, low=low / 3600, high=high / 3600
    )
    if proposal["knobs"]:
        table["hours_at_least"] = table["hours"] * (1 - _turned(timing, proposal["knobs"]))
    table["device_hours"] = table["hours"] * proposal["devices"]
    if proposal["price_per_hour"] is not None:
        table["money"] = table["device_hours"] * proposal["price_per_hour"]
    return table


def _turned(timing, knobs):
    """Return the most, as a share of runtime, that the knobs save together."""
    bounds = _knobs.bounds(timing, knobs)
    for row in bounds.itertuples():
        if not np.isfinite(row.bound):
            raise ParameterError(f"`knobs`: what {row.knob!r} saves is not known: no section or count of it")
    return float(bounds["bound"].iloc[-1])


def _cells(model, levels):
    """Return the planned configurations as tuples of labels, in the model's order of factors."""
    by_name = {field.name: field for field in model.factors}
    for name in levels:
        if name not in by_name:
            known = ", ".join(by_name) or "none"
            raise ParameterError(f"`levels` must name settings that the model holds ({known}), got {name!r}")
    chosen = []
    for name, field in by_name.items():
        asked = [_fields.UNSET if level is None else label(level) for level in levels.get(name, field.labels)]
        for level in asked:
            if level not in field.labels:
                known = ", ".join(field.labels[:20])
                raise ParameterError(
                    f"`levels`: {name} was never run with {level!r}, so nothing is known of it; "
                    f"its levels are: {known}"
                )
        chosen.append(asked)
    if np.prod([float(len(asked)) for asked in chosen]) > MAX_CELLS:
        raise ParameterError(f"`levels` make more than {MAX_CELLS} configurations; plan fewer at a time")
    return list(itertools.product(*chosen))


def _rows(model, i, cells):
    """Return what factor `i` adds to the model's matrix for the planned cells."""
    field = model.factors[i]
    columns = design(field, model.units.first)
    # Any configuration that has the level has its columns.
    of_level = dict(zip(field.codes[model.units.first], range(len(columns)), strict=True))
    return columns[[of_level[field.labels.index(cell[i])] for cell in cells]]


def interacts(runs, described):
    """Say whether the data show an interaction, which the additive model leaves out."""
    table = effects.interactions(runs["runtime_s"], described)
    return bool((table["p"][table["scale"] == "log"] <= ALPHA).any())


def checked(proposal):
    """Return the proposal with its defaults.

    Parameters
    ----------
    proposal : mapping
        ``levels`` (factor to a list of its levels; all of a factor that is not named), ``seeds``,
        ``knobs`` (those turned, as `knobs.Knob` takes them), ``devices``, ``price_per_hour``,
        ``currency``, ``replicates``.

    Raises
    ------
    ParameterError
        It has an unknown key, or a value of a wrong type.
    """
    for name in proposal:
        if name not in DEFAULTS:
            raise ParameterError(f"a plan has the keys {', '.join(DEFAULTS)}; got {name!r}")
    filled = {**DEFAULTS, **proposal}
    for name, kind in (("levels", dict), ("knobs", list), ("replicates", list), ("currency", str)):
        if not isinstance(filled[name], kind):
            raise ParameterError(f"`{name}` must be a {kind.__name__}, got {filled[name]!r}")
    for name, levels in filled["levels"].items():
        if not isinstance(levels, list) or not levels:
            raise ParameterError(f"`levels`: {name} must be a list of levels, got {levels!r}")
    for name in ("seeds", "devices"):
        value = filled[name]
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
            raise ParameterError(f"`{name}` must be a whole number above zero, got {value!r}")
    _knobs.knobs_of(filled["knobs"])
    price = filled["price_per_hour"]
    if price is not None and (isinstance(price, bool) or not isinstance(price, int | float) or not price > 0):
        raise ParameterError(f"`price_per_hour` must be a number above zero, got {price!r}")
    return filled
