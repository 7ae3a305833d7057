"""Which settings' effects on a response are distinguishable from chance, and what can be said of each.

Each factor has up to two F-tests in the stratum where it varies (`strata`, `stratum`): alone, and with the
other factors held. All tests are one family: the statistic is the smallest tail over all of them, under
permutations of the response that all tests of a stratum share (Westfall & Young 1993, single-step min-p;
of studentised statistics, Janssen 1997). In strata of few units, or within configurations, normal noise
is drawn instead. The family-wise p-value of a test is (1 + b) / (1 + B), b the draws whose smallest tail
is at most its own. The order in which runs were started is a member of the family.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis.designs import NEGLIGIBLE
from traincost.analysis.order import goes_beyond_drift, slope_bounds, start_share
from traincost.analysis.strata import ALPHA, CONFIGURATION, strata_of, structure
from traincost.analysis.stratum import MIN_ALONE_DF, MIN_LEVEL, START_ORDER

N_PERMUTATIONS = 1_999
MAX_PERMUTED = 1_999 * 5_000  # response values drawn in all; of more units, fewer draws
LINKED = 0.05  # p of the association of two designs
ORDERED = 0.5  # share of start rank that a factor explains, from which its levels ran at different times
LOOSELY_ORDERED = 0.2  # the same, from which a drift cannot be claimed without holding the factor
TIE = 1e-9  # relative; F-tails closer than this are equal
CHUNK = 500_000  # drawn values in memory at a time

DEPENDS = "depends on it"
HERE = "differs in these configurations"
GOES_WITH = "goes with it and with what changes with it"
ORDER = "goes with it, or with the time of the runs"
CHANCE = "cannot be told from chance"
TOO_FEW = "too few runs to tell"
NO_VARIATION = "no variation to explain"
CLEARING = (DEPENDS, HERE)
SIZED = (DEPENDS, HERE, GOES_WITH, ORDER)  # verdicts beside which a size stands
_COLUMNS = [
    "factor", "p_alone", "p_held", "held", "verdict", "n_permutations", "entangled_with",
    "entangled_r_squared", "tested_on",
    "unequal_spread", "start_share", "lacks", "hold_too_few",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Judged:
    """What the tests of a response amount to."""

    # A row per factor and place: ``factor``, ``p_alone``, ``p_held`` (family-wise, NaN where the test cannot
    # be made), ``held`` (names), ``verdict``, ``n_permutations``; ``entangled_with`` (factors that it is tied
    # to: an association with p at most 5 %, and an effect of their own), ``entangled_r_squared`` (the share
    # of each that goes with it), ``tested_on`` (the finer factor whose level means it was tested on, or
    # empty), ``unequal_spread``, ``start_share`` (of the rank of start that it explains; NaN where starts
    # tell nothing), ``lacks`` (what a test would need), ``hold_too_few`` (whether it could be tested alone
    # only).
    table: pd.DataFrame
    # ``verdict``, ``p_alone`` and ``p_held`` of start order, and ``change``, that of the response from the
    # first start to the last; empty where it is not tested.
    start: dict
    structure: object  # strata.Structure, or None
    strata: list  # of Stratum; the first is that between units


def family_wise(fields, y, start=None, n_permutations=N_PERMUTATIONS):
    """Test all factors and places of a response `y`, and say what the tests amount to.

    `y` is on the scale that is tested, a value per run; `start` says when each was started, on any scale.
    """
    if not fields:
        return Judged(pd.DataFrame(columns=_COLUMNS), {}, None, [])
    centred = y - y.mean()
    if (centred**2).sum() <= NEGLIGIBLE * len(y) * max(1.0, y.mean() ** 2):
        nothing = np.nan, np.nan, (), NO_VARIATION, 0, (), (), "", False, np.nan, "", False
        rows = [(f.name, *nothing) for f in fields]
        return Judged(pd.DataFrame(rows, columns=_COLUMNS), {}, None, [])
    found = structure(fields, y)
    rank = None if start is None else stats.rankdata(start)
    strata = strata_of(found, fields, y, rank)
    drawn = max(99, min(n_permutations, MAX_PERMUTED // max(len(s.y) for s in strata)))
    p, raw, detrended = _family(strata, drawn, slope_bounds(y, rank, found))
    evidence = _Evidence(found, strata, p, raw, detrended, rank, y)
    rows = [evidence.row(field, drawn) for field in fields]
    return Judged(pd.DataFrame(rows, columns=_COLUMNS), evidence.of_start(), found, strata)


def _family(strata, n_draws, bounds):
    """Return p, the tail, and the tail without a drift, by (factor, which)."""
    rng = np.random.default_rng(0)
    smallest = np.ones(n_draws)
    keys, observed, detrended = [], [], []
    for stratum in strata:
        if not stratum.tests:
            continue
        step = max(1, CHUNK // len(stratum.y))
        for at in range(0, n_draws, step):
            tails = stratum.tails(stratum.draw(min(step, n_draws - at), rng))
            smallest[at : at + step] = np.minimum(smallest[at : at + step], np.nanmin(tails, axis=0))
        keys += [(test.factor, test.which) for test in stratum.tests]
        observed += list(stratum.tails(stratum.y[:, None])[:, 0])
        detrended += list(stratum.tails(_without_drift(stratum, bounds)[:, None])[:, 0])
    smallest.sort()
    below = np.searchsorted(smallest, np.asarray(observed) * (1 + TIE), side="right")
    p = (1 + below) / (1 + n_draws)
    return (dict(zip(keys, values, strict=True)) for values in (p, observed, detrended))


def _without_drift(stratum, bounds):
    if stratum.order is None:
        return stratum.y
    slope = np.clip((stratum.order @ stratum.y) / (stratum.order @ stratum.order), *bounds)
    return stratum.y - slope * stratum.order


# -- verdicts ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Evidence:
    """All tests, from which the verdict on each factor follows."""

    structure: object
    strata: list
    p: dict
    raw: dict
    detrended: dict
    rank: np.ndarray | None
    y: np.ndarray

    def row(self, field, n_permutations):
        """Return the row of a factor."""
        alone, held = (self.p.get((field.name, which), np.nan) for which in ("alone", "held"))
        names = next((t.held for s in self.strata for t in s.tests if t.factor == field.name and t.held), ())
        linked = self._linked(field)
        share = np.nan if self.rank is None else start_share(field, self.rank)
        verdict = self._verdict(field, alone, held, linked, share)
        unequal = field.name in self.strata[0].unequal
        nested = field.fixed_by if field not in self.structure.fields else ""
        lacks = self._lacks(field, unequal) if verdict == TOO_FEW else ""
        hold_too_few = bool(verdict == DEPENDS and np.isnan(held) and self._others(field) and not nested)
        return (
            field.name, alone, held, tuple(n for n in names if n != " "), verdict, n_permutations,
            tuple(linked), tuple(linked.values()), nested, unequal, share, lacks, hold_too_few,
        )  # fmt: skip

    def _others(self, field):
        return [f for s in self.strata if field in s.fields for f in s.fields if f is not field]

    def _linked(self, field):
        """Return the factors tied to one, with R²: associated with it, and with an effect of their own."""
        tied = {}
        for stratum in self.strata:
            if field in stratum.fields:
                own = stratum.linear(field)
                for other in stratum.fields:
                    if other is not field and self.raw.get((other.name, "alone"), 1.0) <= ALPHA:
                        p, shared = _association(own, stratum.linear(other), len(stratum.y))
                        if p <= LINKED:
                            tied[other.name] = shared
        return tied

    def _survives(self, field, which):
        key = (field.name, which)
        return self.detrended.get(key, 0.0) <= max(ALPHA, self.raw.get(key, 0.0))

    def _verdict(self, field, alone, held, linked, share):
        if np.isnan(alone) and np.isnan(held):
            return TOO_FEW
        if field.name in self.strata[0].unequal and not self._estimable(field):
            return TOO_FEW
        structure = self.structure
        if structure.here and field in structure.repeating:
            which = "alone" if np.isnan(held) else "held"
            if self.p[field.name, which] > ALPHA:
                return CHANCE
            verdict = HERE if self._survives(field, which) else ORDER
        elif (held <= ALPHA and self._survives(field, "held")) or (
            alone <= ALPHA and not held <= ALPHA and not linked and self._survives(field, "alone")
        ):
            verdict = DEPENDS
        elif alone <= ALPHA and linked:
            verdict = GOES_WITH
        else:
            verdict = ORDER if alone <= ALPHA or held <= ALPHA else CHANCE
        if verdict in CLEARING and share >= ORDERED and not goes_beyond_drift(self.y, field):
            verdict = ORDER
        if verdict in CLEARING and field.placed:
            verdict = GOES_WITH
        return verdict

    def _estimable(self, field):
        """Say whether two levels have the units to estimate their spread from, or it is tested elsewhere."""
        first = self.strata[0]
        elsewhere = any(t.factor == field.name for s in self.strata[1:] for t in s.tests)
        return elsewhere or (np.bincount(field.codes[first.at]) >= MIN_LEVEL).sum() >= 2

    def _lacks(self, field, unequal):
        """Say what a test of a factor would need."""
        if unequal:
            return f"at least two levels with {MIN_LEVEL} runs each, as their spread differs"
        for stratum in self.strata:
            if field in stratum.fields:
                rank = stratum.span([field]).shape[1] if not field.is_large else field.n_levels - 1
                left = max(0, stratum.residual_df(rank))
                unit = "configurations" if self.structure.unit == CONFIGURATION else "runs"
                values = f"{len(stratum.y)} {unit} for {field.n_levels} values"
                return f"{values} leave {left} of {MIN_ALONE_DF} degrees of freedom"
        return f"{field.fixed_by} has too few levels to compare"

    def of_start(self):
        """Return the verdict on start order and its p-values; empty where it is not tested."""
        if self.rank is None:
            return {}
        alone, held = (self.p.get((START_ORDER, which), np.nan) for which in ("alone", "held"))
        if np.isnan(alone) and np.isnan(held):
            return {}
        free = all(self._share_in_first(f) < LOOSELY_ORDERED for f in self.strata[0].fields)
        if held <= ALPHA or (np.isnan(held) and alone <= ALPHA and free):
            verdict = DEPENDS
        else:
            verdict = GOES_WITH if alone <= ALPHA and not free else CHANCE
        # How much the response changed from the first start to the last, the factors held.
        stratum = next(s for s in reversed(self.strata) if any(t.factor == START_ORDER for t in s.tests))
        change = stratum.slope_of_order() * float(np.ptp(self.rank))
        return {"verdict": verdict, "p_alone": alone, "p_held": held, "change": change}

    def _share_in_first(self, field):
        first = self.strata[0]
        if first.order is None:
            return 0.0
        own = first.linear(field)
        return float(((own.T @ first.order_direction) ** 2).sum())


def _association(a, b, n):
    """Return p and R² of the association of two orthonormal designs (Pearson's χ², Pillai's trace)."""
    df, common = a.shape[1] * b.shape[1], float(((a.T @ b) ** 2).sum())
    return (stats.chi2.sf((n - 1) * common, df), common / a.shape[1]) if df else (1.0, 0.0)
