"""What runtime depends on: effect sizes per factor, and a family-wise test of each.

What is *shown* is one-way eta squared of the response over runs, with its chance level: its mean
for a factor unrelated to the response. What is *concluded* is a test (`verdicts`), of the log
response on the units and against the error that the design of the runs allows (`strata`).

Contract: an array and the runs' fields in, a frame out; randomness is seeded.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis import fields as _fields
from traincost.analysis import sizes
from traincost.analysis.designs import Units, beyond, design, f_tail, lack_of_fit, means, orthonormal, stack
from traincost.analysis.explained import Spread, additive_model, bias_corrected, chance_level, eta_interval
from traincost.analysis.far import far_runs
from traincost.analysis.order import ranks_of
from traincost.analysis.strata import RUN, structure
from traincost.analysis.verdicts import CLEARING, N_PERMUTATIONS, family_wise

REPLICATE = "replicate: shown, not tested"


@dataclass(frozen=True, eq=False)
class Effects:
    """What a response depends on, and how much."""

    table: pd.DataFrame  # as `main_effects` returns it, of the runs that are not far
    fields: list  # of Field: what the settings of those runs are
    kept: np.ndarray  # which runs are not far (`far.far_runs`)
    judged: object  # verdicts.Judged
    with_far: dict  # factor to its verdict with the far runs, where it is another
    ratios: pd.DataFrame  # these five as `sizes` returns them; on the log scale where `log` is true
    doublings: pd.DataFrame
    turns: pd.DataFrame
    spread: pd.DataFrame
    cells: pd.DataFrame
    interactions: pd.DataFrame  # as `interactions` returns it
    log: bool  # whether the logarithm of the response was tested, or the response itself


def examine(runs, response, replicates=(), factors=(), log=True):
    """Say what a response depends on, and how much.

    Parameters
    ----------
    runs : DataFrame
        A row per run: ``config.<path>``, and where known ``started_at`` and ``runtime_s``.
    response : array_like
        A number of each run, positive if `log`.
    replicates, factors : sequence of str
        As `fields.describe` takes them.
    log : bool
        Whether to test the logarithm.
    """
    y = _response(response, log)
    start = ranks_of(runs)
    described = _fields.describe(runs, replicates, factors, start)
    scaled = np.log(y) if log else y
    far = far_runs(described, scaled) if log else np.zeros(len(y), dtype=bool)
    with_far = {}
    if far.any():
        whole = family_wise(_fields.tested(described), scaled, start).table
        kept = np.flatnonzero(~far)
        runs, y, scaled = runs.iloc[kept], y[kept], scaled[kept]
        start = ranks_of(runs)
        described = _fields.describe(runs, replicates, factors, start)
    tested = _fields.tested(described)
    judged = family_wise(tested, scaled, start)
    if far.any():
        now = judged.table.set_index("factor")["verdict"]
        before = whole.set_index("factor")["verdict"]
        with_far = {name: verdict for name, verdict in before.items() if verdict != now.get(name)}
    return Effects(
        table=_table(_chosen(described, None), described, y, scaled, judged),
        fields=described,
        kept=~far,
        judged=judged,
        with_far=with_far,
        ratios=sizes.ratios(judged, tested, scaled),
        doublings=sizes.doublings(judged, tested, scaled),
        turns=sizes.turns(judged, tested, scaled),
        spread=sizes.spread(judged, scaled),
        cells=sizes.unusual_cells(judged, scaled),
        interactions=interactions(y, described, log),
        log=log,
    )


def main_effects(response, described, factors=None, n_permutations=N_PERMUTATIONS, start=None, log=True):
    """Effect of each factor on a response.

    Parameters
    ----------
    response : array_like
        A number of each run, positive if `log`.
    described : list of Field
        What `fields.describe` makes of the same runs.
    factors : sequence of str, optional
        Dotted paths of config fields; all that vary, if left out.
    n_permutations : int
        Fewer are drawn for very many runs; the column ``n_permutations`` says.
    start : ndarray, optional
        When each run was started.
    log : bool
        Whether the logarithm is tested, or the response itself.

    Returns
    -------
    DataFrame
        A row per factor and place (and per replicate field, untested), the largest effect first:

        ``factor``, ``kind``, ``n_levels``, ``n_runs``, ``n_configurations``;
        ``eta_squared`` = SS_factor / SS_total of the response over runs, SS_total the
        corrected total (a trend: of its cubic in rank); ``epsilon_squared`` and
        ``omega_squared``, the same corrected for bias; ``chance``, its level for an unrelated
        factor: (k-1)/(N-1), and where repeats are no evidence of their own (k-1)/(C-1) times the share
        of variance between the C configurations;
        ``log_epsilon_squared``, ``low``, ``high``: max(epsilon squared, 0) of the tested response
        over configurations and the 95 % interval of the population value, from the noncentral
        F distribution (Steiger 2004, Psychol. Methods 9);
        ``partial_eta_squared``, ``partial_chance``, ``partial_df``: in the additive model of
        all factors that can be held together, type II, with df/(df + residual df);
        ``direction``: Spearman's rho with the response, trends only;
        ``fixed_by``, ``names``: as in `fields.Field`;
        ``p_alone``, ``p_held``, ``verdict`` and what else `verdicts.Judged.table` has; ``clears``:
        the verdict is one of an effect.

    Raises
    ------
    ValueError
        `response` is not positive, or one of `factors` does not vary.
    """
    y = _response(response, log)
    scaled = np.log(y) if log else y
    judged = family_wise(_fields.tested(described), scaled, start, n_permutations)
    return _table(_chosen(described, factors), described, y, scaled, judged)


def _table(chosen, described, y, scaled, judged):
    units = Units.of(_fields.factors(described), y, scaled)
    by_run = judged.structure is not None and judged.structure.unit == RUN
    table = _sizes(chosen, y, units, by_run).merge(judged.table, on="factor", how="left")
    for name, missing in {"verdict": REPLICATE, "tested_on": "", "lacks": "", "n_permutations": 0}.items():
        table[name] = table[name].fillna(missing)
    for name in ("held", "entangled_with", "entangled_r_squared"):
        table[name] = [value if isinstance(value, tuple) else () for value in table[name]]
    for name in ("unequal_spread", "hold_too_few"):
        table[name] = table[name].eq(True)
    table["n_permutations"] = table["n_permutations"].astype(int)
    return table.assign(clears=table["verdict"].isin(CLEARING))


def effect_sizes(response, described):
    """Effect of each factor on a response, untested: `main_effects` without p-values and verdicts."""
    y = _response(response, True)
    return _sizes(_chosen(described, None), y, Units.of(_fields.factors(described), y))


def interactions(response, described, log=True):
    """Test whether the factors' effects add up.

    With repetitions, the lack of fit of the additive model against the scatter within
    configurations; without, Tukey's one-df test of non-additivity (1949, Biometrics 5).

    Returns
    -------
    DataFrame
        A row for the response (``scale`` "hours") and for its logarithm ("log"): ``scale``,
        ``test``, ``statistic``, ``df``, ``df_residual``, ``p``. Empty where no test can be
        made: with fewer than two factors, or, without repetitions, one whose values hardly repeat.
    """
    y = _response(response, log)
    candidates = _fields.factors(described)
    columns = ["scale", "test", "statistic", "df", "df_residual", "p"]
    if len(candidates) < 2 or np.ptp(y) == 0:
        return pd.DataFrame(columns=columns)
    scales = (("hours", y), ("log", np.log(y))) if log else (("hours", y),)
    found = structure(_fields.tested(described), scales[-1][1])
    units = Units.of(candidates, y, scales[-1][1])
    rows = []
    for scale, values in scales:
        result = _lack_of_fit(found, values) or _tukey(candidates, units, values)
        if result:
            rows.append({"scale": scale, **result})
    return pd.DataFrame(rows, columns=columns)


# -- what is shown -------------------------------------------------------------------------

_SHOWN = (
    "factor", "kind", "n_levels", "n_runs", "n_configurations", "df", "eta_squared", "epsilon_squared",
    "omega_squared", "chance", "log_epsilon_squared", "low", "high", "direction", "fixed_by", "names",
)  # fmt: skip
_ETA = _SHOWN.index("eta_squared")


def _sizes(chosen, y, units, by_run=False):
    """Describe each chosen factor's effect, the largest first; with `by_run` each run is evidence of it."""
    held = _fields.held_fields([field for field in chosen if field.is_factor], len(y))
    spread, log_spread = Spread.of(y), Spread.of(units.mean_log)
    between = spread.between(units.of_run)
    rows = [_shown(field, y, spread, between, log_spread, units, by_run) for field in chosen]
    rows.sort(key=lambda row: -row[_ETA] if row[_ETA] == row[_ETA] else np.inf)
    table = pd.DataFrame(rows, columns=_SHOWN)
    partial = additive_model(units.at(held), units.mean).set_index("factor").reindex(table["factor"])
    return table.assign(**{name: column.to_numpy() for name, column in partial.items()})


def _shown(field, y, spread, between, log_spread, units, by_run):
    df, eta = spread.explained(field)
    n, replicate = len(units.mean), field.kind == "replicate"
    log_epsilon = low = high = np.nan
    if not replicate:
        log_df, log_eta = log_spread.explained(field, units.first)
        log_epsilon = max(0.0, bias_corrected(log_eta, log_df, n)[0])
        low, high = eta_interval(log_eta, log_df, n - 1 - log_df)
    chance = chance_level(df, len(y), len(y) if by_run and not replicate else n, between, replicate)
    direction = _direction(field.values, y) if field.trend else np.nan
    return (
        field.name, field.kind, field.n_levels, len(y), n, df, eta, *bias_corrected(eta, df, len(y)), chance,
        log_epsilon, low, high, direction, field.fixed_by, field.names,
    )  # fmt: skip


def _direction(values, y):
    """Return Spearman's rho of the known values with the response; NaN where either does not vary."""
    known = np.isfinite(values)
    varies = np.ptp(values[known]) > 0 and np.ptp(y[known]) > 0
    return stats.spearmanr(values[known], y[known]).statistic if varies else np.nan


# -- interactions --------------------------------------------------------------------------


def _varies_singly(field, units):
    """Say whether the levels of a factor hardly repeat, so that its own shape cannot be fitted.

    What a trend leaves of a numeric factor's effect would be taken for an interaction.
    """
    return len(units.first) / field.n_levels < 2 or field.n_levels > _fields.most_levels(len(units.of_run))


def _lack_of_fit(found, y):
    if not (found.together.df > 0 and found.together.df_repeats > 0):
        return None
    lack = lack_of_fit(y, found.additive, found.of_run)
    rest = lack.mean_square_repeats
    return {
        "test": "lack of fit",
        "statistic": lack.mean_square / rest if rest > 0 else np.inf,
        "df": lack.df,
        "df_residual": lack.df_repeats,
        "p": lack.p,
    }


def _tukey(factors, units, y):
    if any(_varies_singly(f, units) for f in factors):
        return None
    y = means(y, units.of_run)
    centred = y - y.mean()
    whole = orthonormal(stack([design(f, units.first, as_levels=True) for f in factors], len(y)))
    fitted = whole @ (whole.T @ centred)
    basis = beyond(whole, (fitted**2 - (fitted**2).mean())[:, None])
    residual_df = len(y) - 2 - whole.shape[1]
    if not basis.shape[1] or residual_df <= 0:
        return None
    explained = ((basis.T @ centred) ** 2).sum()
    residual = max(0.0, ((centred - fitted) ** 2).sum() - explained)
    return {
        "test": "Tukey's one-df",
        "statistic": explained / (residual / residual_df) if residual > 0 else np.inf,
        "df": 1,
        "df_residual": residual_df,
        "p": float(f_tail(explained, residual, 1, residual_df, (centred**2).sum())),
    }


# -- arguments -----------------------------------------------------------------------------


def _response(response, log):
    y = np.asarray(response, dtype=float)
    if not len(y) or not np.isfinite(y).all():
        raise ValueError("`response` must be a number in every run")
    if log and not (y > 0).all():
        raise ValueError("`response` must be positive in every run")
    return y


def _chosen(described, factors):
    """Return the fields to report: factors and replicates, or those named."""
    by_name = {field.name: field for field in described}
    if factors is None:
        tested = {field.name for field in _fields.tested(described)}
        return [f for f in described if f.name in tested or f.kind == "replicate"]
    for name in factors:
        if name not in by_name:
            raise ValueError(f"`factors` must be config fields; {name!r} is not one of {sorted(by_name)}")
        if by_name[name].kind == "shared":
            level = by_name[name].labels[0]
            raise ValueError(f"`factors` must vary; {name!r} has one level ({level})")
        if by_name[name].kind not in ("levels", "numeric", "place", "replicate") or by_name[name].same_as:
            raise ValueError(f"`factors` must be testable; {name!r}: {by_name[name].reason}")
    return [by_name[name] for name in factors]
