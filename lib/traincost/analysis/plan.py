"""What a proposed sweep would take, from the runs of a collection.

The additive model of log runtime over configurations, y = Xβ + u, with the mean over a
configuration's runs as y. A run's runtime is exp(Xβ + u + e), u what the model misses of a
configuration (or an interaction), e what differs between its repetitions. The exponential of an
unbiased mean is biased: its expectation is exp(Xβ + (σu² + σe²)/2), and that of the fitted exp(Xβ̂)
is larger than exp(Xβ) by half its variance v. So a run is predicted by
exp(Xβ̂ + (s² - v)/2) (Goldberger 1968, Econometrica 36, to first order).

Of a configuration that was run before, u is known in part: its own mean ȳ of n runs is weighed
against the additive model, λȳ + (1-λ)Xβ̂ with λ = σu²/(σu² + σe²/n) (best linear unbiased prediction;
Henderson 1975, Biometrics 31; Fay & Herriot 1979). What is left of u has the variance
σu²σe²/(nσu² + σe²). Without repetitions σe is not known, and λ is 0. Of a combination never run, the
sum of the settings' effects is all there is: `n_before` says which.

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
from traincost.errors import NothingToReport, ParameterError, brief, require, require_count
from traincost.words import level_among

COVERAGE = 0.90  # of the intervals
N_DRAWS = 10_000
MAX_DRAWN = 5_000_000  # runs drawn in all; a larger plan gets fewer draws
MAX_LOG_S = 600.0
MAX_CELLS = 10_000  # configurations of a plan
TOTAL = "the whole sweep"
FAILED = ("failed", "killed")  # statuses
DEFAULTS = {"levels": {}, "seeds": 1, "knobs": [], "devices": 1, "price_per_hour": None, "currency": "USD"}
DEFAULTS |= {"replicates": []}


@dataclass(frozen=True, eq=False)
class Model:
    """The additive model of log runtime over configurations."""

    factors: list  # of Field: what the model holds
    units: Units
    matrix: np.ndarray  # (configurations, parameters)
    coefficients: np.ndarray
    covariance: np.ndarray  # of the coefficients, in units of the variance of a configuration's mean
    variance: float  # of the configurations' means about the model
    df: int
    repeat_variance: float  # of runs about their configuration's mean; 0 without repetitions, as its df
    repeat_df: int
    repeats: float  # runs in a configuration (harmonic mean)
    n_runs: np.ndarray  # of each configuration
    # Whether the model fits every configuration, so that `variance` and `df` are of repetitions alone, and
    # the runs cannot tell whether settings act together.
    is_saturated: bool = False

    @property
    def missed_variance(self):
        """Variance of what the model misses of a configuration (σu²)."""
        return max(0.0, self.variance - self.repeat_variance / self.repeats)


@dataclass(frozen=True, eq=False)
class Own:
    """What is known of planned configurations from their own runs."""

    n: np.ndarray  # how many; 0 where there is none
    mean_log: np.ndarray  # their mean log runtime

    def weight(self, missed, repeat):
        """Return λ, and the variance left of u, from σu² and σe²: (cells,) or (draws, cells)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where((self.n > 0) & (missed > 0), self.n * missed / (self.n * missed + repeat), 0.0)
        return weight, (1 - weight) * missed


def fit(runs, described):
    """Fit the additive model of log runtime to completed runs, a row each, and their described settings.

    `NothingToReport` where neither the model nor repetitions leave a degree of freedom to predict with.
    """
    runtime_s = runs["runtime_s"].to_numpy(dtype=float)
    factors = _fields.held_fields(_fields.factors(described), len(runtime_s))
    units = Units.of(_fields.factors(described), runtime_s)
    n = np.bincount(units.of_run)
    matrix = np.column_stack([np.ones(len(n)), *(design(field, units.first) for field in factors)])
    covariance = np.linalg.pinv(matrix.T @ matrix)
    coefficients = covariance @ matrix.T @ units.mean_log
    df = int(len(matrix) - np.linalg.matrix_rank(matrix))
    within = np.log(runtime_s) - units.mean_log[units.of_run]
    repeat_df = len(within) - len(n)
    repeat_variance = float((within**2).sum() / repeat_df) if repeat_df else 0.0
    repeats = float(len(n) / (1 / n).sum())
    if df:
        variance, variance_df = float(((units.mean_log - matrix @ coefficients) ** 2).sum() / df), df
    elif repeat_df and factors:
        # The model fits every configuration: only its repetitions vary.
        variance, variance_df = repeat_variance / repeats, repeat_df
    else:
        raise NothingToReport(
            f"too few runs to predict from: nothing is left to estimate chance from; "
            f"configurations: {len(matrix)}"
        )
    return Model(
        factors=factors,
        units=units,
        matrix=matrix,
        coefficients=coefficients,
        covariance=covariance,
        variance=variance,
        df=variance_df,
        repeat_variance=repeat_variance,
        repeat_df=int(repeat_df),
        repeats=repeats,
        n_runs=n,
        is_saturated=not df,
    )


def predict(model, rows, seeds=1, own=None):
    """Predict the runtime of configurations and of their sum.

    Parameters
    ----------
    model : Model
    rows : ndarray, (cells, parameters)
        Their rows of the model's matrix.
    seeds : int
        Runs of each configuration.
    own : Own, optional
        Of the runs of each; none, if left out.

    Returns
    -------
    tuple of ndarray
        Predicted seconds of each cell and of the sum (last), and the lower and upper ends of
        their 90 % prediction intervals, each (cells + 1,).
    """
    rng = np.random.default_rng(0)
    cells = expected(model, rows, seeds, own)
    n_draws = max(500, min(N_DRAWS, MAX_DRAWN // (len(rows) * max(seeds, 1))))
    centre, spread = centres(model, rows, n_draws, rng, own)
    drawn = np.zeros_like(centre)
    for _ in range(seeds):
        drawn += seconds_of(centre + rng.standard_normal(centre.shape) * spread)
    drawn = np.column_stack([drawn, drawn.sum(axis=1)])
    low, high = np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)
    return np.append(cells, cells.sum()), low, high


def expected(model, rows, seeds=1, own=None):
    """Return the expected seconds of each cell, corrected for the logarithm; arguments as `predict`."""
    leverage = np.einsum("ij,jk,ik->i", rows, model.covariance, rows)
    own = _known(model, own, len(rows))
    weight, left = own.weight(model.missed_variance, model.repeat_variance)
    additive = rows @ model.coefficients
    # The expectation of exp of the weighed mean is to be that of exp(Xβ + u): half the variances apart.
    bias = left - (1 - weight**2) * leverage * model.variance
    log_mean = additive + weight * (own.mean_log - additive) + (bias + model.repeat_variance) / 2
    return seeds * np.exp(log_mean)


def _known(model, own, n_cells):
    if own is None or not model.repeat_df:
        return Own(np.zeros(n_cells), np.zeros(n_cells))
    return own


def seconds_of(log_s):
    """Return exp of log seconds; with a degree of freedom or two, a draw may lie beyond any float."""
    return np.exp(np.minimum(log_s, MAX_LOG_S))


def centres(model, rows, n_draws, rng, own=None):
    """Draw what runs of planned configurations share: log seconds, and the spread of runs about it.

    Rows share the variances and coefficients of their draw; each cell has its own draw of what the
    model misses of it. Arguments as of `predict`.

    Returns
    -------
    ndarray, (draws, cells); ndarray, (draws, 1)
        The log seconds, and the standard deviation of a run about them.
    """
    own = _known(model, own, len(rows))
    variance = model.variance * model.df / rng.chisquare(model.df, n_draws)
    repeat = np.zeros(n_draws)
    if model.repeat_df:
        repeat = model.repeat_variance * model.repeat_df / rng.chisquare(model.repeat_df, n_draws)
    missed = np.maximum(0.0, variance - repeat / model.repeats)[:, None]
    root = np.linalg.cholesky(model.covariance + 1e-12 * np.eye(len(model.covariance)))
    shared = (rng.standard_normal((n_draws, len(root))) @ root.T * np.sqrt(variance)[:, None]) @ rows.T
    weight, left = own.weight(missed, repeat[:, None])
    additive = rows @ model.coefficients + shared
    drawn = additive + weight * (own.mean_log - additive)
    drawn += rng.standard_normal(drawn.shape) * np.sqrt(left)
    return drawn, np.sqrt(repeat)[:, None]


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
    if model.is_saturated or model.df < 2 or not len(at):
        return pd.DataFrame(columns=names)
    # What a fit without configuration i gives, from the fit of all (Cook & Weisberg 1982, ch. 2).
    deleted = residual[at] / (1 - leverage[at])
    variance = (model.variance * model.df - residual[at] * deleted) / (model.df - 1)
    spread = np.sqrt(np.maximum(variance, 0) / (1 - leverage[at]))
    half = stats.t.ppf((1 + COVERAGE) / 2, model.df - 1) * spread
    middle = y[at] - deleted
    ends = np.exp([y[at], middle - half, middle + half])
    labels = [
        ", ".join(f"{field.name}={field.labels[field.codes[run]]}" for field in model.factors)
        for run in model.units.first[at]
    ]
    return pd.DataFrame(dict(zip(names, (labels, *ends, np.abs(deleted) <= half), strict=True)))


# -- a plan --------------------------------------------------------------------------------


def plan(runs, described, proposal, timing=None, excluded=None):
    """Say what a proposed sweep would take.

    Parameters
    ----------
    runs, described
        As `fit` takes them.
    proposal : dict
        As `checked` returns it.
    timing : Timing, optional
        The runs' sections, where the proposal has knobs.
    excluded : DataFrame, optional
        The runs that did not complete, by ``status`` and ``runtime_s``.

    Returns
    -------
    DataFrame
        A row per configuration and `TOTAL` last: a column per factor (``level.<name>``),
        ``n_runs``, ``hours``, ``low``, ``high`` (90 % prediction interval), ``device_hours``, and
        ``money`` where a price is given; with knobs ``hours_at_least``, if each saves all it can;
        ``n_before``, completed runs of it so far (0: never run); ``failed_hours``, what failed runs
        would add if they took the share of all hours that they took so far.

    Raises
    ------
    ParameterError
        The proposal has an unknown factor, or a level that was never run.
    NothingToReport
        Too few runs to predict from.
    """
    model = fit(runs, described)
    cells = cells_of(model, proposal["levels"])
    rows = rows_of(model, cells)
    own, n_before = own_runs(model, cells)
    seconds, low, high = predict(model, rows, proposal["seeds"], own=own)
    table = pd.DataFrame(
        [*cells, (TOTAL,) * len(model.factors)], columns=[f"level.{f.name}" for f in model.factors]
    )
    table["n_runs"] = [*[proposal["seeds"]] * len(cells), proposal["seeds"] * len(cells)]
    table = table.assign(hours=seconds / 3600, low=low / 3600, high=high / 3600)
    if proposal["knobs"]:
        table["hours_at_least"] = table["hours"] * (1 - _turned(timing, proposal["knobs"]))
    table["device_hours"] = table["hours"] * proposal["devices"]
    if proposal["price_per_hour"] is not None:
        table["money"] = table["device_hours"] * proposal["price_per_hour"]
    table["n_before"] = [*n_before, n_before.sum()]
    share = failed_share(runs, excluded)
    table["failed_hours"] = table["hours"] * (share / (1 - share))
    return table


def failed_share(runs, excluded=None):
    """Return the share of all hours of completed and failed runs that the failed took."""
    if excluded is None or not len(excluded):
        return 0.0
    failed_s = excluded.loc[excluded["status"].isin(FAILED), "runtime_s"].sum()
    return float(failed_s / (failed_s + runs["runtime_s"].sum()))


def _turned(timing, knobs):
    """Return the most, as a share of runtime, that the knobs save together."""
    bounds = _knobs.bounds(timing, knobs)
    for row in bounds.itertuples():
        if not np.isfinite(row.bound):
            raise ParameterError(f"`knobs`: what {row.knob!r} saves is not known: no section or count of it")
    return float(bounds["bound"].iloc[-1])


def rows_of(model, cells):
    """Return the rows of the model's matrix of planned configurations (tuples of labels)."""
    columns = [np.ones(len(cells))]
    for i, field in enumerate(model.factors):
        codes = field.codes[model.units.first]
        # Any configuration that has the level has its columns.
        of_level = dict(zip(codes, design(field, model.units.first), strict=True))
        columns.append(np.array([of_level[field.labels.index(cell[i])] for cell in cells]))
    return np.column_stack(columns)


def own_runs(model, cells):
    """Return the `Own` runs of planned configurations, and how many runs each has had.

    Where the model leaves out a setting that divides a configuration further, its runs are counted,
    and predict nothing: which of them is planned is not known.
    """
    places = {cell: i for i, cell in enumerate(cells)}
    n, units, mean_log = (np.zeros(len(cells)) for _ in range(3))
    for unit, run in enumerate(model.units.first):
        i = places.get(tuple(field.labels[field.codes[run]] for field in model.factors))
        if i is not None:
            n[i] += model.n_runs[unit]
            units[i] += 1
            mean_log[i] = model.units.mean_log[unit]
    single = units == 1
    return Own(np.where(single, n, 0.0), np.where(single, mean_log, 0.0)), n.astype(int)


def cells_of(model, levels):
    """Return the planned configurations as tuples of labels, in the model's order of factors."""
    by_name = {field.name: field for field in model.factors}
    holds = f"settings that the model holds ({', '.join(by_name) or 'none'})"
    for name in levels:
        if name not in by_name:
            raise ParameterError(f"`levels` must name {holds}, got {brief(name)}")
    chosen = []
    for name, field in by_name.items():
        asked = [_fields.UNSET if level is None else label(level) for level in levels.get(name, field.labels)]
        asked = list(dict.fromkeys(level_among(level, field.labels) for level in asked))
        for level in asked:
            if level not in field.labels:
                known = ", ".join(field.labels[:20])
                raise ParameterError(
                    f"`levels`: {name} was never run with {level!r}, so nothing is known of it; "
                    f"its levels are: {known}"
                )
        chosen.append(asked)
    if np.prod([float(len(asked)) for asked in chosen]) > MAX_CELLS:
        most = max(zip(by_name, chosen, strict=True), key=lambda pair: len(pair[1]))
        raise ParameterError(
            f"all levels together make more than {MAX_CELLS:,} configurations; name with `levels` those that "
            f"are planned: {most[0]} alone has {len(most[1])}"
        )
    return list(itertools.product(*chosen))


def interacts(runs, described):
    """Say whether the data show an interaction, which the additive model leaves out."""
    table = effects.interactions(runs["runtime_s"], described)
    return bool((table["p"][table["scale"] == "log"] <= ALPHA).any())


def repeats(runs, described):
    """Say whether a configuration was run more than once, so that its own runs count."""
    return fit(runs, described).repeat_df > 0


def hides_interactions(runs, described):
    """Say whether the runs cannot tell if settings act together, which a combination never run shows."""
    model = fit(runs, described)
    return model.is_saturated and len(model.factors) > 1


def checked(proposal):
    """Return the proposal with its `DEFAULTS`; `ParameterError` for an unknown key or a value of wrong type.

    ``levels`` maps a factor to a list of its levels (all of a factor that is not named); ``knobs`` are those
    turned, as `knobs.Knob` takes them.
    """
    for name in proposal:
        if name not in DEFAULTS:
            raise ParameterError(f"a plan has the keys {', '.join(DEFAULTS)}; got {brief(name)}")
    filled = {**DEFAULTS, **proposal}
    if isinstance(filled["levels"], dict):
        filled["levels"] = {name: _listed(levels) for name, levels in filled["levels"].items()}
    for name, kind in (("levels", dict), ("knobs", list), ("replicates", list), ("currency", str)):
        require(isinstance(filled[name], kind), name, f"a {kind.__name__}", filled[name])
    for name, levels in filled["levels"].items():
        if not isinstance(levels, list) or not levels:
            raise ParameterError(f"`levels`: {name} must be a list of levels, got {brief(levels)}")
    for name in ("seeds", "devices"):
        require_count(filled[name], name, most=1_000_000)
    _knobs.knobs_of(filled["knobs"])
    price = filled["price_per_hour"]
    is_number = isinstance(price, int | float) and not isinstance(price, bool)
    require(price is None or (is_number and price > 0), "price_per_hour", "a number above zero", price)
    return filled


def _listed(levels):
    """Return one level, or an array of them, as a list; what is neither stays, to be refused."""
    levels = levels.tolist() if hasattr(levels, "tolist") else levels
    return list(levels) if isinstance(levels, tuple) else [levels] if _is_level(levels) else levels


def _is_level(value):
    return isinstance(value, str | int | float)
