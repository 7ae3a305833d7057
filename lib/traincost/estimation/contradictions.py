"""Where the figures of systems, or printed claims, contradict each other.

Contract: estimated systems and what was reported of them in, a frame of contradictions out.
"""

import math

import numpy as np
import pandas as pd

from traincost.estimation import evidence
from traincost.estimation.compute import SUSPICIOUS_UTILISATION
from traincost.estimation.estimates import DISAGREE, apart

APART, APART_ASSUMED = "two measures disagree", "two measures disagree, utilisation assumed"
IMPOSSIBLE, SUSPICIOUS = "implied utilisation above 1", "implied utilisation suspiciously high"
ABOVE_PEAK = "more work than the hardware could do at its peak"
STATED_APART = "stated value differs from its inputs"
FINETUNE_APART = "stated fine-tuning compute differs from its inputs"
PERCENTAGE = "utilisation stored as a percentage"
PROJECTIONS = "projections of two forms"
SCOPES = "operations and hardware are of different scopes"
WORDS = "words may stand for tokens"
_NUMBERS = ["subject", "kind", "first", "first_source", "second", "second_source", "ratio", "note"]


def contradictions(estimates, frame, fits=None):
    """List what the systems' own figures contradict.

    `fits`, of `estimates.fit_errors`, adds the two forms' projections where they differ.

    Returns
    -------
    DataFrame
        ``subject``, ``kind``, ``first`` and ``second`` (values) with where each stands,
        ``ratio`` (the larger over the smaller), ``note``; the largest ratio first. Kinds: two measures
        apart by more than `DISAGREE` after utilisation (`APART`, or `APART_ASSUMED` where none is
        stated); implied utilisation above 1 (`IMPOSSIBLE`), or `SUSPICIOUS`; a stated value that its
        own inputs do not give (`STATED_APART`, `FINETUNE_APART`), or one that they give times 4/3 (`WORDS`);
        operations and hardware of a fine-tune that are of different `SCOPES`; a utilisation
        stored as a `PERCENTAGE` among fractions; the `PROJECTIONS` of two forms of one fit.
    """
    rows = []
    for e, reported in zip(estimates.itertuples(), frame.itertuples(), strict=True):
        rows += [row for check in _CHECKS for row in check(e, reported)]
        stored = reported.utilisation
        if stored > 1:
            note = "a utilisation above 1: a percentage among fractions?"
            first, second = (stored, "as stored"), (stored / 100, "as a percentage")
            rows.append(_row(e.system, PERCENTAGE, first, second, note))
    rows += _projections(fits)
    return _table(rows)


def _table(rows):
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
    return (subject, kind, *first, *second, ratio, note)


def _measures_apart(e, _):
    # An implied utilisation is of operations and burden of one scope.
    if apart(e.operations_flop, e.achieved_flop) and np.isfinite(e.implied_utilisation):
        at = f"burden at utilisation {e.utilisation:g}" + (" (assumed)" if e.utilisation_assumed else "")
        kind = APART_ASSUMED if e.utilisation_assumed else APART
        yield _row(e.system, kind, (e.operations_flop, e.operations_method), (e.achieved_flop, at))


def _utilisation(e, _):
    if e.implied_utilisation > 1:
        kind, note = IMPOSSIBLE, ABOVE_PEAK
        if e.operations_method.startswith("6 N D") and "active" not in e.operations_method:
            note += ": is it a mixture of experts, of which few parameters are active?"
    elif e.implied_utilisation > SUSPICIOUS_UTILISATION:
        kind, note = SUSPICIOUS, "few implementations come this near the peak"
    else:
        return
    yield _row(e.system, kind, (e.operations_flop, e.operations_method), (e.burden_flop, e.rate_note), note)


def _stated_apart(e, _):
    """A stated total against the next best evidence of the same scope."""
    if e.method != evidence.STATED or not e.check_flop > 0:
        return
    stated = (e.stated_flop, "stated")
    if apart(e.value_flop, e.check_flop):
        yield _row(e.system, STATED_APART, stated, (e.check_flop, e.check_method))
    elif e.check_method == evidence.COUNTED and math.isclose(e.check_ratio, 4 / 3, rel_tol=0.01):
        note = "a token is about three quarters of a word"
        yield _row(e.system, WORDS, stated, (e.check_flop, e.operations_method), note)


def _finetune_apart(e, reported):
    """What a list says that the own stages took against what they count to."""
    own, counted = reported.finetune_compute_flop, e.operations_flop
    if e.base and own > 0 and apart(own, counted):
        yield _row(e.system, FINETUNE_APART, (own, "stated"), (counted, e.operations_method))


def _scopes(e, _):
    """A fine-tune whose operations are above what its hardware could do: one of them is its base's."""
    if e.base and e.operations_flop > e.burden_flop and not np.isfinite(e.implied_utilisation):
        note = "of a system with a base, one is of the base"
        first, second = (e.operations_flop, e.operations_method), (e.burden_flop, e.rate_note)
        yield _row(e.system, SCOPES, first, second, note)


def _stated_above_peak(e, _):
    """A stored total against the peak of the hardware it names, where there is no own count.

    A total that includes a base is of another scope than the hardware of the last stages.
    """
    if e.stated_flop > e.burden_flop and not np.isfinite(e.operations_flop) and not e.base:
        first, second = (e.stated_flop, "stated"), (e.burden_flop, e.rate_note)
        yield _row(e.system, IMPOSSIBLE, first, second, ABOVE_PEAK)


_CHECKS = (_measures_apart, _utilisation, _scopes, _stated_apart, _finetune_apart, _stated_above_peak)


def claim_contradictions(claims):
    """List where printed claims about one thing differ.

    Each claim maps ``about``, ``value``, ``where``, and optionally ``note``: what it depends on (a dataset, a
    period, the days of a month).

    Returns
    -------
    DataFrame
        As `contradictions`; the smallest and the largest value of each thing, and in the note
        the values between.
    """
    about, rows = {}, []
    for claim in sorted(claims, key=lambda claim: claim["value"]):
        about.setdefault(claim["about"], []).append(claim)
    for subject in dict.fromkeys(claim["about"] for claim in claims):
        sides = [(claim["value"], claim["where"]) for claim in about[subject]]
        if sides[0][0] == sides[-1][0]:
            continue
        notes = [claim["note"] for claim in about[subject] if claim.get("note")]
        if sides[1:-1]:
            notes.append("also " + ", ".join(f"{value:g} ({where})" for value, where in sides[1:-1]))
        rows.append(_row(subject, "printed claims differ", sides[0], sides[-1], "; ".join(notes)))
    return _table(rows)
