"""Hardware time of a training, as evidence: at a measured throughput, a stated utilisation or an assumed one.

Contract: one row of figures and its peak rate in, `Candidate`s out.
"""

import math
import re

import numpy as np

from traincost.estimation import uncertainty
from traincost.estimation.evidence import (
    AT_ASSUMED,
    AT_STATED,
    MEASURED,
    Candidate,
    active_parameters,
    drawn_figure,
    is_language,
    model_form,
    product,
)

# A printed utilisation is of a good stretch; the hours hold downtime and repeated steps (PaLM, Llama 3.1).
WALL_CLOCK = ((0.05, 0.60), (0.5, 0.92), (0.95, 1.12))
HFU_TO_MFU = (0.75, 1.0)  # full recomputation is a fourth forward pass
_HALVES = (1.0, 0.5)
# Utilisation where none is stated: median, standard deviation of log10, and most, of the dense peak. From
# trainings whose hours and operations are both known; less than is often assumed (0.3 to 0.4).
UTILISATION = {
    "large language model, A100 or later": (0.28, 0.20, 0.75),
    "language model": (0.20, 0.30, 0.75),
    "on tensor cores": (0.20, 0.33, 0.75),
    "of the rate given": (0.20, 0.33, 0.75),  # of whatever processor; nothing else is known of it
    "fp32 without tensor cores": (0.33, 0.30, 0.90),
}
_LATE = re.compile(r"A100|A800|H100|H800|H200|TPU v4$|TPU v5")
_LARGE_MODEL, _LANGUAGE_SINCE = 7e9, 2019


def assumed_utilisation(row, rate):
    """Return the case of `UTILISATION` of a row and its rate."""
    tensor = rate is None or rate.has_tensor_cores
    if not tensor:
        return "fp32 without tensor cores"
    year = row.date.year if row.date == row.date else _LANGUAGE_SINCE
    if not is_language(row) or year < _LANGUAGE_SINCE:
        return "of the rate given" if rate is None else "on tensor cores"
    late = rate is not None and _LATE.search(rate.family)
    large = active_parameters(row)[0] >= _LARGE_MODEL
    return "large language model, A100 or later" if late and large else "language model"


def hours_terms(row, rate):
    """Return the drawn factors of processor-seconds × peak rate."""
    if row.burden_flop > 0:
        return {"burden": drawn_figure(row, "burden_flop")}
    terms = _seconds(row)[1]
    if row.rate_flop_per_s > 0:
        return {**terms, "rate": drawn_figure(row, "rate_flop_per_s")}
    if rate.low < rate.high:
        return {**terms, "rate": rate.low * (rate.high / rate.low) ** uncertainty.uniforms("rate")}
    terms["rate"] = rate.flop_per_s
    if rate.by_halves:
        terms["whole or half"] = uncertainty.either("halves", _HALVES)
    return terms


def _seconds(row):
    """Return the processor-seconds, NaN where not known, and their drawn factors."""
    if row.processor_hours > 0:
        return row.processor_hours * 3600, {"hours": drawn_figure(row, "processor_hours") * 3600}
    terms = {"processors": drawn_figure(row, "processors"), "time": drawn_figure(row, "time_s")}
    return row.processors * row.time_s, terms


def hardware(row, rate, burden):
    """Return the candidates of hardware time, best evidence first.

    `rate` is None where the burden or the rate is as given; `burden` is FLOP at the peak.
    """
    throughput = measured(row)
    found = [throughput] if throughput else []
    if not np.isfinite(burden):
        return found
    terms = hours_terms(row, rate)
    u, u_terms, how = stated_utilisation(row)
    if u:
        at = {**terms, **u_terms}
        found.append(Candidate(AT_STATED, burden * u, how, AT_STATED, product(at), at))
    case = assumed_utilisation(row, rate)
    median, sigma, most = UTILISATION[case]
    at = {**terms, "utilisation": uncertainty.lognormal("utilisation", median, sigma, most)}
    how = f"utilisation {median:g} assumed ({case})"
    found.append(Candidate(AT_ASSUMED, burden * median, how, AT_ASSUMED, product(at), at))
    return found


def measured(row):
    """Return the candidate of a measured throughput over the hours, or None."""
    value, terms = _seconds(row)
    if not value > 0:
        return None
    n, is_total = active_parameters(row)
    wall = {"wall clock": uncertainty.by_quantiles("wall clock", WALL_CLOCK)}
    if row.achieved_flop_per_s > 0:
        terms |= {"throughput": drawn_figure(row, "achieved_flop_per_s"), **wall}
        value, how = value * row.achieved_flop_per_s, "hours × FLOP/s achieved by one processor"
    elif row.tokens_per_s_per_processor > 0 and n > 0 and not is_total:
        throughput = drawn_figure(row, "tokens_per_s_per_processor") * (6 * n)
        terms |= {"throughput": throughput, **wall, "model form": model_form("")}
        value, how = value * row.tokens_per_s_per_processor * (6 * n), "hours × tokens a second × 6 N"
    else:
        return None
    return Candidate(MEASURED, value, how, "", product(terms), terms)


def stated_utilisation(row):
    """Return a stated utilisation in model FLOP, its drawn factors, and how; None where none is."""
    wall = {"wall clock": uncertainty.by_quantiles("wall clock", WALL_CLOCK)}
    if 0 < row.utilisation <= 1:
        terms = {"utilisation": drawn_figure(row, "utilisation"), **wall}
        return row.utilisation, terms, f"MFU {row.utilisation:.3g} stated"
    if 0 < row.hfu <= 1:
        low, high = {"full": (0.75, 0.75), "none": (1.0, 1.0)}.get(row.recomputation, HFU_TO_MFU)
        share = math.sqrt(low * high)
        terms = {"utilisation": drawn_figure(row, "hfu"), **wall}
        terms["recomputation"] = low + (high - low) * uncertainty.uniforms("recomputation")
        return row.hfu * share, terms, f"HFU {row.hfu:.3g} stated, {share:.2g} of it model FLOP"
    return None, {}, ""
