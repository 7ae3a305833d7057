"""Estimates for many systems: every candidate that the evidence gives, the best of them, and its interval.

`systems` and `lists` read what is reported; `evidence` ranks what is known of one system; this module goes
through them row by row, with the bases that systems were trained from.

Contract: a frame of reported figures and a look-up of peak rates in, frames out.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.errors import NothingToReport
from traincost.estimation import (
    accelerators,
    by_hardware,
    by_operations,
    compute,
    evidence,
    trends,
    uncertainty,
)
from traincost.estimation.accelerators import rate_of
from traincost.estimation.systems import plain_name

DISAGREE = 3.0  # ×/÷; two estimates farther apart contradict each other
MAX_SHARES = 500  # systems for which the inputs that the spread is from are told apart
_NOTHING = {"problem": "", "implied_utilisation": np.nan}  # of what else is known
MAX_BASES = 5  # a base of a base of …
_LOWER_BOUND = "a lower bound: the base that it was trained from is not counted"


def estimate_systems(frame, rate=rate_of):
    """Estimate the training compute of each system; `NothingToReport` where none can be estimated.

    Parameters
    ----------
    frame : DataFrame
        `systems.Systems.frame`.
    rate : callable
        (processor, precision) to an `accelerators.Rate`, or to (FLOP/s, what was taken, its source), or None
        for an unknown processor.

    Returns
    -------
    DataFrame
        A row per system: ``system``, ``date``, ``domain``, ``source``; ``forward_flop`` of one pass;
        ``operations_flop`` and how (``operations_method``); ``burden_flop``, ``burden_time`` (of
        `systems.Systems.frame`; empty without a burden), ``rate_flop_per_s``, ``rate_note``,
        ``rate_source``; ``utilisation``, stated or assumed (``utilisation_assumed``);
        ``implied_utilisation`` (above 1 is a contradiction); ``achieved_flop`` =
        burden x utilisation; ``value_flop``, the best estimate: that of the strongest evidence
        (`evidence.RANKS`), with its ``method``, ``rank`` and ``how``, its 90 % interval ``low_flop`` to
        ``high_flop``, what that rests on (``band``) and comes from (``spread_from``); ``check_flop``,
        ``check_method``, ``check_ratio``, the next best and best over it; ``base``, ``without_base_flop``;
        ``consistent``, whether neither the check nor the other measure is more than `DISAGREE` away,
        and no utilisation above 1;
        ``stated_flop``; ``error``; ``problem``.
        `estimate_all` has every candidate, too.
    """
    return estimate_all(frame, rate)[0]


def estimate_all(frame, rate=rate_of):
    """Return what `estimate_systems` does, and a frame of every candidate, the best of a system first.

    The latter has ``system``, ``rank``, ``method``, ``value_flop``, ``low_flop``, ``high_flop``, ``how``,
    ``ratio`` (best over it).
    """
    rows = list(frame.itertuples(index=False))
    estimator = _Estimator(rows, rate, len(rows) <= MAX_SHARES)
    table = pd.DataFrame([_as_row(row, *estimator.of(i)) for i, row in enumerate(rows)])
    if not table["value_flop"].gt(0).any():
        first = table.iloc[0]
        raise NothingToReport(
            f"no system can be estimated; the first, {first['system']!r}: {first['problem']}"
        )
    return table, pd.DataFrame(estimator.candidates(), columns=_CANDIDATE)


_CANDIDATE = ("system", "rank", "method", "value_flop", "low_flop", "high_flop", "how", "ratio")


@dataclass(frozen=True)
class _Found:
    """A candidate without its draws: those of ten thousand systems would not fit into memory."""

    kind: str = ""
    rank: int = 0
    value_flop: float = np.nan
    low_flop: float = np.nan
    high_flop: float = np.nan
    how: str = ""
    band: str = ""
    spread: str = ""
    without_base_flop: float = np.nan
    is_lower_bound: bool = False


class _Estimator:
    """Candidates of each row, by its own figures and those of its base."""

    def __init__(self, rows, rate, with_shares):
        self.rows, self.rate, self.with_shares = rows, rate, with_shares
        self.found, self.bases = {}, {}
        self.by_name = {}
        for i, row in enumerate(rows):
            self.by_name.setdefault(plain_name(row.system), i)
        self.is_base = {plain_name(row.base) for row in rows if row.base}

    def of(self, i, depth=0):
        """Return the candidates of a row, best first, and what else is known of it."""
        if i not in self.found:
            self.found[i] = [], _NOTHING  # a base that is its own base
            candidates, known = self._of(self.rows[i], depth)
            if candidates and plain_name(self.rows[i].system) in self.is_base:
                self.bases[i] = candidates[0]
            light = []
            for c in candidates:
                spread = _spread(c) if c is candidates[0] and self.with_shares else ""
                base = c.without_base_flop, c.is_lower_bound
                light.append(_Found(c.kind, c.rank, c.value_flop, *c.ends, c.how, _band(c), spread, *base))
            self.found[i] = light, known
        return self.found[i]

    def _of(self, row, depth):
        stages = row.stages or (row,)
        counted = [by_operations.operations(stage) for stage in stages]
        burdens = [_burden(stage, self.rate) for stage in stages]
        operations = evidence.summed([c for c, _ in counted], len(stages))
        known = _known(row, stages, counted, operations, burdens)
        own = [c for c in (operations, *_hardware(stages, burdens)) if c is not None]
        if row.base:
            base = self._base(row, depth)
            own = [evidence.with_base(c, base, row.stated_with_base) for c in own]
        stated = evidence.stated(row)
        if stated and row.base and not row.stated_with_base:
            stated = evidence.with_base(stated, base)
        found = [c for c in (stated, *own, evidence.third_party(row)) if c is not None]
        return sorted(found, key=lambda c: c.rank), known

    def _base(self, row, depth):
        """Return the best candidate of a row's base, or None."""
        at = self.by_name.get(plain_name(row.base))
        if at is None or depth >= MAX_BASES or self.rows[at] is row:
            return None
        self.of(at, depth + 1)
        best = self.bases.get(at)
        return None if best is None or best.is_lower_bound else best

    def candidates(self):
        """Yield the rows of the frame of candidates."""
        for i, row in enumerate(self.rows):
            found = self.of(i)[0]
            for c in found:
                values = c.value_flop, c.low_flop, c.high_flop
                yield (row.system, c.rank, c.kind, *values, c.how, found[0].value_flop / c.value_flop)


def _as_row(row, candidates, known):
    best = candidates[0] if candidates else _Found()
    check = next((c for c in candidates[1:] if not (c.is_lower_bound or best.is_lower_bound)), _Found())
    ratio = best.value_flop / check.value_flop
    states_own = best.kind == evidence.STATED and row.finetune_compute_flop > 0
    return {
        "system": row.system,
        "date": row.date,
        "domain": row.domain,
        "source": row.source,
        **known,
        "value_flop": best.value_flop,
        "method": best.kind,
        "rank": best.rank,
        "how": best.how,
        "low_flop": best.low_flop,
        "high_flop": best.high_flop,
        "band": best.band,
        "spread_from": best.spread,
        "check_flop": check.value_flop,
        "check_method": check.kind,
        "check_ratio": ratio,
        "consistent": not (apart(best.value_flop, check.value_flop) or _contradicts_itself(known)),
        "base": row.base,
        "without_base_flop": row.finetune_compute_flop if states_own else best.without_base_flop,
        "stated_flop": row.stated_compute_flop,
        "error": row.error,
        "problem": "" if candidates else known["problem"],
    }


def apart(a, b):
    """Say whether two estimates are more than `DISAGREE` apart; not where one is unknown."""
    return bool(np.isfinite(a) and np.isfinite(b) and not 1 / DISAGREE <= a / b <= DISAGREE)


def _contradicts_itself(known):
    """Say whether the two measures contradict each other, whatever the best evidence is."""
    implied = known["implied_utilisation"]  # known where both are of one scope
    return implied > 1 or (implied > 0 and apart(known["operations_flop"], known["achieved_flop"]))


def _known(row, stages, counted, operations, burdens):
    """Return both measures of a row, and what lies between them."""
    values = [b.value for b in burdens if np.isfinite(b.value)]
    burden = sum(values) if values else np.nan
    whole = len(values) == len(stages) and all(c is not None for c, _ in counted)
    first = next((b for b in burdens if np.isfinite(b.value)), burdens[0])
    at_stage = [_utilisation(stage, b) for stage, b in zip(stages, burdens, strict=True)]
    of_hours = [
        (b.value * u, is_stated) for b, (u, is_stated) in zip(burdens, at_stage, strict=True) if b.value > 0
    ]
    achieved = sum(flop for flop, _ in of_hours)
    of_experts = operations is not None and operations.kind == evidence.BY_TOTAL
    value = operations.value_flop if operations else np.nan
    implied = value / burden if whole and not of_experts else np.nan
    if row.stated_with_base and row.base and implied > 1:
        implied = np.nan  # of a fine-tune, a list has the data set of its base, or its own hardware
    problems = [problem for _, problem in counted if problem] or [""]
    if operations is None and first.problem:
        problems = [first.problem]
    return {
        "forward_flop": _forward(row),
        "operations_flop": value,
        "operations_method": operations.how if operations else "",
        "burden_flop": burden,
        "burden_time": row.burden_time if np.isfinite(burden) else "",
        "rate_flop_per_s": first.flop_per_s,
        "rate_note": first.note,
        "rate_source": first.source,
        "utilisation": achieved / burden if burden > 0 else np.nan,
        "utilisation_assumed": not all(is_stated for _, is_stated in of_hours or at_stage),
        "implied_utilisation": implied,
        "achieved_flop": achieved if burden > 0 else np.nan,
        "problem": problems[0],
    }


def _forward(row):
    """Return FLOP of one forward pass of one example, from multiply-adds where these are given."""
    if row.flop_per_pass > 0:
        return row.flop_per_pass
    return compute.flops_from_multiply_adds(row.multiply_adds_per_pass)


def _utilisation(row, burden):
    """Return the utilisation of a row or stage, and whether it is stated."""
    stated, _, _ = by_hardware.stated_utilisation(row)
    return stated or by_hardware.UTILISATION[by_hardware.assumed_utilisation(row, burden.rate)][0], bool(
        stated
    )


def _hardware(stages, burdens):
    """Return the candidates of hardware time, summed over stages.

    A sum has of each stage the best evidence from some rank on, and is of the kind of its weakest part:
    where one stage states its utilisation and the next does not, what is stated is used.
    """
    pairs = zip(stages, burdens, strict=True)
    found = [by_hardware.hardware(stage, burden.rate, burden.value) for stage, burden in pairs]
    known = [candidates for candidates in found if candidates]
    sums = {}
    for best in sorted({c.rank for candidates in known for c in candidates}):
        parts = [next((c for c in candidates if c.rank >= best), None) for candidates in known]
        if None not in parts:
            total = evidence.summed(parts, len(stages))
            sums.setdefault(total.kind, total)
    return list(sums.values())


def _burden(row, rate):
    found = rate(row.processor, row.precision) if row.processor else None
    if isinstance(found, tuple):
        value, note, source = found
        found = accelerators.Rate(value, value, value, "", note, source, "")
    if row.rate_flop_per_s > 0:
        flop_per_s, note, source = row.rate_flop_per_s, "as given", "the input"
    elif found is not None:
        flop_per_s, note = found.flop_per_s, found.note
        source = f"{found.source} ({found.confidence})" if found.confidence else found.source
    elif row.burden_flop > 0:
        return _Burden(row.burden_flop, found, note="burden as given", source="the input")
    else:
        why = accelerators.why_unknown(row.processor) if row.processor else ""
        return _Burden(np.nan, found, note=why, problem=why)
    seconds = row.processor_hours * 3600 if row.processor_hours > 0 else row.processors * row.time_s
    value = row.burden_flop if row.burden_flop > 0 else seconds * flop_per_s
    if found is not None and found.is_slice and row.processors > 1 and not row.processor_hours > 0:
        why = f"{row.processor!r} is several chips: are the {row.processors:g} processors these, or chips?"
        return _Burden(np.nan, found, flop_per_s, why, source, why)
    return _Burden(value if np.isfinite(value) else np.nan, found, flop_per_s, note, source)


@dataclass(frozen=True)
class _Burden:
    """The hardware burden of a row or stage in FLOP, and at which rate."""

    value: float
    rate: object
    flop_per_s: float = np.nan
    note: str = ""
    source: str = ""
    problem: str = ""


def _band(best):
    if best.is_lower_bound:
        return _LOWER_BOUND
    if np.ndim(best.draws) == 0:
        return "exact as given"
    if best.of_class in evidence.CALIBRATED:
        n, share = evidence.CALIBRATED[best.of_class]
        held = f"such intervals hold {100 * share:.0f} % of {n} totals in Epoch AI's list (2025-08)"
        return f"{held}: {best.of_class}"
    return "90 % of draws of how its figures are written, and of the form of the count"


def _spread(best):
    """Name the inputs that most of the interval is from."""
    found = uncertainty.shares(best.draws, best.terms)
    named = [f"{name} {100 * share:.0f} %" for name, share in found.items() if share >= 0.05]
    return ", ".join(named[:3])


def by_date(estimates):
    """Return the systems by date, then name; those without a date last."""
    return estimates.sort_values(["date", "system"], kind="stable", ignore_index=True)


# -- lines through several systems ------------------------------------------------------------------------


def both_measures(estimates, consistent=False):
    """Return the systems with both measures; of these the `consistent` ones, where asked for."""
    both = estimates[estimates["implied_utilisation"].notna()]
    return both[both["consistent"]] if consistent else both


def fit_conversion(estimates, consistent=True):
    """Fit burden on operations over the systems with both, or None where there are too few.

    Pairs that contradict themselves are left out, unless `consistent` is False.
    """
    points = both_measures(estimates, consistent)
    try:
        return compute.fit_conversion(points["operations_flop"], points["burden_flop"])
    except ValueError:
        return None


def converted(estimates, fit):
    """Return the hardware burden that a fit gives where only operations are known: derived, not measured.

    Returns
    -------
    DataFrame
        ``system``, ``operations_flop``, ``burden_flop``, ``low_flop``, ``high_flop`` (95 % prediction
        interval), ``outside`` the fitted range; none without a fit.
    """
    columns = ["system", "operations_flop", "burden_flop", "low_flop", "high_flop", "outside"]
    if fit is None:
        return pd.DataFrame(columns=columns)
    alone = estimates[estimates["operations_flop"].gt(0) & ~estimates["burden_flop"].gt(0)]
    x = np.log10(alone["operations_flop"].to_numpy(dtype=float))
    y, half = fit.at(x), fit.interval(x)
    ends = {"burden_flop": 10**y, "low_flop": 10 ** (y - half), "high_flop": 10 ** (y + half)}
    outside = (x < fit.x_low) | (x > fit.x_high)
    return alone[["system", "operations_flop"]].assign(**ends, outside=outside).reset_index(drop=True)


BEST, TOTALS, OPERATIONS, BURDEN, FORWARD = "best", "stated", "operations", "burden", "forward"
CONSOLIDATED = "consolidated"
_COLUMNS = {BEST: "value_flop"} | {name: f"{name}_flop" for name in (TOTALS, OPERATIONS, BURDEN, FORWARD)}


def measured(estimates, measure=BEST, fit=None):
    """Return FLOP of each system by one measure, as a Series.

    ``best``; ``stated`` totals; ``operations``; ``burden``; ``consolidated``: the burden, and where there
    is none the one that `fit` (of burden on operations) gives for the operations (2007.05558 app. 8.1);
    ``forward``: of one pass.
    """
    if measure != CONSOLIDATED:
        return estimates[_COLUMNS[measure]]
    found = estimates["burden_flop"].where(estimates["burden_flop"].gt(0))
    if fit is None:
        return found
    lacking = found.isna() & estimates["operations_flop"].gt(0)
    given = np.log10(estimates["operations_flop"].where(lacking).to_numpy(dtype=float))
    return found.where(~lacking, 10 ** fit.at(given))


def dated(estimates, measure=BEST, fit=None):
    """Return ``system``, ``date``, ``domain``, ``flop`` of the systems that a trend can use."""
    found = estimates[["system", "date", "domain"]].assign(flop=measured(estimates, measure, fit))
    return found[found["flop"].gt(0) & found["date"].notna()]


def fit_errors(estimates, target, measure=BEST, fit=None):
    """Fit error against compute in both forms, by one measure, and project to a target error.

    None where too few systems report an error, or it does not change with compute. Measure and fit are as of
    `measured`; the best is the one of the measures that most systems with an error have, as totals,
    operations and burdens are not of one kind.

    Returns
    -------
    dict
        ``measure``; ``exponents`` (`trends.exponents`) and ``projections`` by form (`trends.project`);
        ``n_derived``, how many of the computes are converted.
    """
    has_error = estimates["error"].gt(0)
    if measure == BEST:
        counts = {m: (has_error & estimates[_COLUMNS[m]].gt(0)).sum() for m in (OPERATIONS, BURDEN, TOTALS)}
        measure = max(counts, key=counts.get)
    flop = measured(estimates, measure, fit)
    known = has_error & flop.gt(0)
    data = estimates.loc[known, "error"], flop[known]
    if known.sum() < 3 or data[0].nunique() < 2 or data[1].nunique() < 2:
        return None
    try:
        exponents = trends.exponents(*data)
    except ValueError:  # the error does not change with compute at all
        return None
    derived = known & ~estimates["burden_flop"].gt(0) if measure == CONSOLIDATED else known & False
    projections = {f: trends.project(trends.fit_error(*data, f), target, f) for f in trends.FORMS}
    found = {"measure": measure, "n_derived": int(derived.sum())}
    return {**found, "exponents": exponents, "projections": projections}
