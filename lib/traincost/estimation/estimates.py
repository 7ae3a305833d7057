"""Estimates for many systems: both measures of each, combined, and where they contradict.

`systems` reads what is reported; `compute` has the equations; this module applies the latter
to the former, row by row, and lists every contradiction that the numbers show.

Contract: a frame of reported figures and a look-up of peak rates in, frames out.
"""

import math

import numpy as np
import pandas as pd

from traincost.errors import NothingToReport
from traincost.estimation import compute, trends
from traincost.estimation.accelerators import peak_rate

DISAGREE = 2.0  # ×/÷; two values farther apart contradict each other
# Kinds of contradictions.
APART, APART_ASSUMED = "two measures disagree", "two measures disagree, utilisation assumed"
IMPOSSIBLE, SUSPICIOUS = "implied utilisation above 1", "implied utilisation suspiciously high"
STATED_APART = "stated value differs from its inputs"
PERCENTAGE = "utilisation stored as a percentage"
PROJECTIONS = "projections of two forms"
_BY_SCHEDULE = f"eq. 1, a training step = {compute.FORWARD_BACKWARD} × a forward pass"
_NUMBERS = ["subject", "kind", "first", "first_source", "second", "second_source", "ratio", "note"]


def estimate_systems(frame, rate=peak_rate):
    """Estimate the training compute of each system.

    Parameters
    ----------
    frame : DataFrame
        `systems.Systems.frame`.
    rate : callable
        (processor, precision) to (FLOP/s, what was taken, its source), or None for an unknown
        processor.

    Returns
    -------
    DataFrame
        A row per system: ``system``, ``date``, ``domain``, ``source``; ``operations_flop`` and
        how (``operations_method``); ``burden_flop``, ``burden_time`` (of `systems.Systems.frame`; empty
        without a burden), ``rate_flop_per_s``, ``rate_note``, ``rate_source``;
        ``utilisation``, ``utilisation_assumed``; ``implied_utilisation`` (above 1 is a
        contradiction); ``achieved_flop`` = burden x utilisation; ``value_flop``, the best
        estimate: combined of both measures, else the one there is, else the stated value;
        ``method``, ``low_flop``, ``high_flop``, ``band``; ``stated_flop``; ``problem``.

    Raises
    ------
    NothingToReport
        None of the systems can be estimated.
    """
    table = pd.DataFrame([_estimate(row, rate) for row in frame.itertuples(index=False)])
    if not table["value_flop"].gt(0).any():
        first = table.iloc[0]
        raise NothingToReport(
            f"no system can be estimated; the first, {first['system']!r}: {first['problem']}"
        )
    return table


def _estimate(row, rate):
    operations, method, problem = _operations(row)
    burden, rate_value, rate_note, rate_source = _burden(row, rate)
    stated_utilisation = row.utilisation if 0 < row.utilisation <= 1 else None
    utilisation = stated_utilisation or compute.ASSUMED_UTILISATION
    best = _best(operations, burden, stated_utilisation, row)
    both = np.isfinite(operations) and np.isfinite(burden)
    return {
        "system": row.system,
        "date": row.date,
        "domain": row.domain,
        "source": row.source,
        "operations_flop": operations,
        "operations_method": method,
        "burden_flop": burden,
        "burden_time": row.burden_time if np.isfinite(burden) else "",
        "rate_flop_per_s": rate_value,
        "rate_note": rate_note,
        "rate_source": rate_source,
        "utilisation": utilisation if np.isfinite(burden) else np.nan,
        "utilisation_assumed": stated_utilisation is None,
        "implied_utilisation": operations / burden if both else np.nan,
        "achieved_flop": burden * utilisation,
        "value_flop": best.value_flop if best else np.nan,
        "method": best.method if best else "",
        "low_flop": best.low_flop if best else np.nan,
        "high_flop": best.high_flop if best else np.nan,
        "band": best.band if best else "",
        "stated_flop": row.stated_compute_flop,
        "error": row.error,
        "problem": problem if not best else "",
    }


def _operations(row):
    """Return the network operations, how they were found, and what was missing."""
    if row.operations_flop > 0:
        return row.operations_flop, row.operations_note or "as given", ""
    stage = compute.Stage(
        epochs=_or_none(row.epochs),
        flops_per_pass=_or_none(row.flop_per_pass),
        multiply_adds_per_pass=_or_none(row.multiply_adds_per_pass),
        passes_per_epoch=_or_none(row.examples),
        forward_backward=compute.FORWARD_BACKWARD,
    )
    try:
        if row.parameters > 0 and row.tokens > 0:
            frozen = row.frozen_parameters if row.frozen_parameters > 0 else 0
            found = compute.language_model_operations(row.parameters, row.tokens, frozen), "6 N D"
        else:
            found = compute.network_operations([stage]), _BY_SCHEDULE
    except ValueError as problem:
        return np.nan, "", str(problem)
    if not np.isfinite(found[0]):
        return np.nan, "", "its figures multiply to more than a number can hold"
    return (*found, "")


def _burden(row, rate):
    found = rate(row.processor, row.precision) if row.processor else None
    if row.rate_flop_per_s > 0:
        found = (row.rate_flop_per_s, "as given", "the input")
    if found is None and row.burden_flop > 0:
        return row.burden_flop, np.nan, "burden as given", "the input"
    if found is None:
        return np.nan, np.nan, f"no rate for {row.processor!r}" if row.processor else "", ""
    value, note, source = found
    seconds = row.processor_hours * 3600 if row.processor_hours > 0 else row.processors * row.time_s
    burden = row.burden_flop if row.burden_flop > 0 else seconds * value
    return burden if np.isfinite(burden) else np.nan, value, note, source


def _or_none(value):
    return None if value is None or math.isnan(value) else value


def _best(operations, burden, utilisation, row):
    if np.isfinite(operations) and np.isfinite(burden):
        return compute.combine(operations, burden, utilisation, row.source)
    if np.isfinite(operations):
        return compute.Estimate.nominal(operations, "network operations", source=row.source)
    if np.isfinite(burden):
        achieved = burden * (utilisation or compute.ASSUMED_UTILISATION)
        return compute.Estimate.nominal(achieved, "burden at utilisation", source=row.source)
    if row.stated_compute_flop > 0:
        return compute.Estimate.nominal(row.stated_compute_flop, "stated", source=row.source)
    return None


def by_date(estimates):
    """Return the systems by date, then name; those without a date last."""
    return estimates.sort_values(["date", "system"], kind="stable", ignore_index=True)


# -- contradictions ------------------------------------------------------------------------


def both_measures(estimates):
    """Return the systems with both measures."""
    return estimates[estimates["implied_utilisation"].notna()]


def fit_conversion(estimates):
    """Fit burden on operations over the systems with both, or None where there are too few."""
    points = both_measures(estimates)
    try:
        return compute.fit_conversion(points["operations_flop"], points["burden_flop"])
    except ValueError:
        return None


def dated(estimates):
    """Return ``system``, ``date``, ``domain``, ``flop`` of the systems that a trend can use."""
    known = estimates[estimates["value_flop"].gt(0) & estimates["date"].notna()]
    return known[["system", "date", "domain", "value_flop"]].rename(columns={"value_flop": "flop"})


def fit_errors(estimates, target):
    """Fit error against compute in both forms.

    None where too few systems report an error, or it does not change with compute.

    Returns
    -------
    dict
        ``exponents`` (`trends.exponents`) and ``projections`` by form (`trends.project`).
    """
    known = estimates[estimates["error"].gt(0) & estimates["value_flop"].gt(0)]
    if len(known) < 3 or known["value_flop"].nunique() < 2 or known["error"].nunique() < 2:
        return None
    data = known["error"], known["value_flop"]
    try:
        exponents = trends.exponents(*data)
    except ValueError:  # the error does not change with compute at all
        return None
    return {
        "exponents": exponents,
        "projections": {
            form: trends.project(trends.fit_error(*data, form), target, form) for form in trends.FORMS
        },
    }


def contradictions(estimates, frame, fits=None):
    """List what the systems' own figures contradict.

    `fits`, of `fit_errors`, adds the two forms' projections where they differ.

    Returns
    -------
    DataFrame
        ``subject``, ``kind``, ``first`` and ``second`` (values) with where each stands,
        ``ratio`` (the larger over the smaller), ``note``; the largest ratio first. Kinds: two measures
        apart by more than `DISAGREE` after utilisation (`APART`, or `APART_ASSUMED` where none is
        stated); implied utilisation above 1 (`IMPOSSIBLE`), or `SUSPICIOUS`; a stated value that its
        own inputs do not give (`STATED_APART`); a utilisation stored as a `PERCENTAGE` among
        fractions; the `PROJECTIONS` of two forms of one fit.
    """
    rows = []
    for e, stored in zip(estimates.itertuples(), frame["utilisation"], strict=True):
        rows += [row for check in _CHECKS for row in check(e)]
        if stored > 1:
            note = "a utilisation above 1: a percentage among fractions?"
            first, second = (stored, "as stored"), (stored / 100, "as a percentage")
            rows.append(_row(e.system, PERCENTAGE, first, second, note))
    rows += _projections(fits)
    table = pd.DataFrame(rows, columns=_NUMBERS)
    return table.sort_values("ratio", ascending=False, kind="stable", ignore_index=True)


def _projections(fits):
    if not fits or not fits["exponents"]["established"]:
        return []
    values = [(10 ** min(p["log10_flop"], 300), f"{form} form") for form, p in fits["projections"].items()]
    note = "both forms describe the data"
    row = _row("compute at the target error", PROJECTIONS, *values, note)
    return [row] if row[-2] > DISAGREE else []


def _row(subject, kind, first, second, note=""):
    ratio = max(first[0], second[0]) / min(first[0], second[0])
    return (subject, kind, first[0], first[1], second[0], second[1], ratio, note)


def _measures_apart(e):
    a, b = e.operations_flop, e.achieved_flop
    if np.isfinite(a) and np.isfinite(b) and not 1 / DISAGREE <= a / b <= DISAGREE:
        at = f"burden at utilisation {e.utilisation:g}" + (" (assumed)" if e.utilisation_assumed else "")
        kind = APART_ASSUMED if e.utilisation_assumed else APART
        yield _row(e.system, kind, (a, e.operations_method), (b, at))


def _utilisation(e):
    if e.implied_utilisation > 1:
        kind, note = IMPOSSIBLE, "more work than the hardware could do at its peak"
    elif e.implied_utilisation > compute.SUSPICIOUS_UTILISATION:
        kind, note = SUSPICIOUS, "few implementations come this near the peak"
    else:
        return
    yield _row(e.system, kind, (e.operations_flop, e.operations_method), (e.burden_flop, e.rate_note), note)


def _stated_apart(e):
    if not e.stated_flop > 0:
        return
    best = e.operations_flop if np.isfinite(e.operations_flop) else e.achieved_flop
    if np.isfinite(best) and not 1 / DISAGREE <= best / e.stated_flop <= DISAGREE:
        how = e.operations_method if np.isfinite(e.operations_flop) else "burden at utilisation"
        yield _row(e.system, STATED_APART, (e.stated_flop, "stated"), (best, how))


def _stated_above_peak(e):
    """A stored total against the peak of the hardware it names, where there is no own count."""
    if e.stated_flop > e.burden_flop and not np.isfinite(e.operations_flop):
        yield _row(
            e.system,
            IMPOSSIBLE,
            (e.stated_flop, "stated"),
            (e.burden_flop, e.rate_note),
            "more work than the hardware could do at its peak",
        )


_CHECKS = (_measures_apart, _utilisation, _stated_apart, _stated_above_peak)


def claim_contradictions(claims):
    """List where printed claims about one thing differ.

    Parameters
    ----------
    claims : list of mapping
        ``about``, ``value``, ``where``, and optionally ``note``: what the claim depends on
        (a dataset, a period, the days of a month).

    Returns
    -------
    DataFrame
        As `contradictions`; the smallest and the largest value of each thing, and in the note
        the values between.
    """
    about = {}
    for claim in claims:
        about.setdefault(claim["about"], []).append(claim)
    rows = []
    for subject, made in about.items():
        made = sorted(made, key=lambda claim: claim["value"])
        low, high = made[0], made[-1]
        if low["value"] == high["value"]:
            continue
        between = [f"{c['value']:g} ({c['where']})" for c in made[1:-1]]
        notes = [c["note"] for c in made if c.get("note")]
        note = "; ".join([*notes, *([f"also {', '.join(between)}"] if between else [])])
        sides = ((c["value"], c["where"]) for c in (low, high))
        rows.append(_row(subject, "printed claims differ", *sides, note))
    table = pd.DataFrame(rows, columns=_NUMBERS)
    return table.sort_values("ratio", ascending=False, kind="stable", ignore_index=True)
