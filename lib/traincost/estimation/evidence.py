"""What is known of a training, ranked: a candidate for each kind of evidence, with its interval.

The order is that of the strength of the evidence: stated by the developers for this scope; counted
operations; hardware time at a measured throughput, at a stated utilisation, at an assumed one; operations
by the total parameters of a mixture of experts; a third party's figure. The best is the first there is; the
others stand beside it as checks and are not averaged in.

Contract: one row of figures and its rates in, `Candidate`s out.
"""

import functools
import math
import re
from dataclasses import dataclass, field

import numpy as np

from traincost.estimation import quantities, uncertainty
from traincost.estimation.compute import FORWARD_BACKWARD, Stage
from traincost.estimation.quantities import Quantity

# Kinds of evidence, the strongest first, as a system's ``method`` names them.
STATED, COUNTED, MEASURED = "stated", "network operations", "measured throughput"
AT_STATED, AT_ASSUMED = "burden at stated utilisation", "burden at assumed utilisation"
BY_TOTAL, THIRD_PARTY = "operations of all experts", "third party"
RANKS = {
    kind: rank
    for rank, kind in enumerate((STATED, COUNTED, MEASURED, AT_STATED, AT_ASSUMED, BY_TOTAL, THIRD_PARTY), 1)
}
MEANINGS = {
    STATED: "stated by its developers, or recorded in the list",
    COUNTED: "counted operations: active parameters × tokens, or forward passes",
    MEASURED: "hardware time × measured throughput",
    AT_STATED: "hardware time × stated utilisation",
    AT_ASSUMED: "hardware time × an assumed utilisation",
    BY_TOTAL: "total parameters × tokens of a mixture of experts, its active share assumed",
    THIRD_PARTY: "a third party's figure",
}

# Classes, by what makes an estimate wrong: each with the quantiles of recorded / counted operations on Epoch
# AI's list (2025-08, 1,892 rows; `CALIBRATED` has what such intervals hold there).
DENSE_RECENT, DENSE, EXPERTS = "language, recent, confident", "language, data set size", "mixture of experts"
REPORTED, ON_A_BASE, ON_A_KNOWN_BASE = "total reported", "on a base model", "on a base model that is known"
OF_THE_LIST = {
    # Tokens are those of the data set, seen as often as its epochs say, once where they say nothing.
    DENSE_RECENT: ((0.05, 0.50), (0.25, 0.999), (0.5, 1.0), (0.75, 1.07), (0.95, 3.3)),
    DENSE: ((0.05, 0.38), (0.25, 0.999), (0.5, 1.0), (0.75, 1.1), (0.95, 26.0)),
    # Totals that their developers report, which the list did not compute by the same rule.
    REPORTED: ((0.05, 0.30), (0.25, 0.95), (0.5, 1.0), (0.75, 1.5), (0.95, 125.0)),
    # By all parameters, of which few are active.
    EXPERTS: ((0.05, 0.012), (0.25, 0.063), (0.5, 0.143), (0.75, 0.212), (0.95, 0.9)),
    # The total includes a base model that is not counted.
    ON_A_BASE: ((0.05, 0.8), (0.25, 3.0), (0.5, 45.0), (0.75, 750.0), (0.95, 3.8e5)),
    # The base has a total of its own; whether a list's total holds it is not always so.
    ON_A_KNOWN_BASE: ((0.05, 0.02), (0.25, 0.4), (0.5, 0.95), (0.75, 1.05), (0.95, 2.0)),
}
ACTIVE_SHARE = 0.143  # of the parameters of a mixture of experts: the median of EXPERTS
# Tokens that were really processed: what the form of the model leaves out (attention, embeddings), and one in
# ten reports that mean something else by a figure.
_DENSE_FORM, _EXPERT_FORM, _FORWARD_FORM = 0.06, 0.10, 0.15
_DENSE_MEDIAN, _ODD_SHARE, _ODD_SIGMA = 1.03, 0.1, 0.5
# A printed utilisation is of a good stretch; the hours hold downtime and repeated steps (PaLM, Llama 3.1).
WALL_CLOCK = ((0.05, 0.60), (0.5, 0.92), (0.95, 1.12))
HFU_TO_MFU = (0.75, 1.0)  # full recomputation is a fourth forward pass
TOKENS_PER_WORD = Quantity(4 / 3, 1.2, 1.5, quantities.WITHIN)
_HALVES = (1.0, 0.5)

# Utilisation where none is stated: median, standard deviation of log10, and most, of the dense peak. From
# trainings whose hours and operations are both known; less than is often assumed (0.3 to 0.4).
UTILISATION = {
    "large language model, A100 or later": (0.28, 0.20, 0.75),
    "language model": (0.20, 0.30, 0.75),
    "on tensor cores": (0.20, 0.33, 0.75),
    "fp32 without tensor cores": (0.33, 0.30, 0.90),
}
_LATE = re.compile(r"A100|A800|H100|H800|H200|TPU v4$|TPU v5")
_LARGE_MODEL, _LANGUAGE_SINCE = 7e9, 2019
MAX_NAME = 120  # characters of a name that are searched
# Names that say that N is the total of a mixture of experts.
_EXPERT_NAME = re.compile(
    r"^(?!.*(dense|distill)).*(\bmoe|moe\b|mixtral|\d+x\d+(\.\d+)?b|-a\d+(\.\d+)?b|deepseek.*(v[2-9]|r[1-9]|vl2)|kimi"
    r"|llama[- ]4|\bglm-?(4\.[5-9]|[5-9](?![\db]))|switch|glam\b|gshard|grok-1|dbrx|\barctic\b|jamba"
    r"|minimax[- ]?(text|m)|hunyuan-(large|turbo)|qwen3-(235|30|next)|qwen3\.5|st-moe|olmoe|sparse|expert"
    r"|pangu-σ|m6-t|step-[23]|ernie[- ]4\.5|nllb|gpt-oss|longcat|\bling[- ]|\bring-1t|dots\.llm|mimo-v2"
    r"|nemotron[- ]3[- ](nano|super|ultra)|intellect-3)",
    re.IGNORECASE,
)
_ACTIVE_NAME = re.compile(r"-a(\d+(?:\.\d+)?)b\b", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One estimate of one system, by one kind of evidence.

    Attributes
    ----------
    kind : str
        One of `RANKS`.
    value_flop : float
    how : str
        In words: the formula and what it took.
    of_class : str
        Whose measured coverage the interval has (`CALIBRATED`); empty where none was measured.
    draws : array or float
        Of the compute.
    terms : dict
        Its uncertain inputs, as drawn.
    without_base_flop : float
        Its own stages alone, where the system was trained from a base.
    is_lower_bound : bool
        A base was trained before, and is not counted.
    """

    kind: str
    value_flop: float
    how: str
    of_class: str = ""
    draws: object = math.nan
    terms: dict = field(default_factory=dict)
    without_base_flop: float = math.nan
    is_lower_bound: bool = False

    @property
    def rank(self):
        """The place among the kinds of evidence; 1 is the strongest."""
        return RANKS[self.kind]

    @functools.cached_property
    def ends(self):
        """The ends of its 90 % interval."""
        return uncertainty.interval(self.draws, self.value_flop)


# What the intervals of a class hold of the totals that Epoch AI's list (2025-08) records: systems, share.
CALIBRATED = {
    DENSE_RECENT: (176, 0.92),
    DENSE: (170, 0.86),
    REPORTED: (35, 0.94),
    EXPERTS: (22, 0.95),
    ON_A_BASE: (52, 0.94),
    ON_A_KNOWN_BASE: (73, 0.88),
    AT_STATED: (43, 0.93),
    AT_ASSUMED: (211, 0.88),
}


def is_language(row):
    """Say whether a row's data are tokens: it states tokens, or is a language model."""
    return row.tokens > 0 or row.words > 0 or "language" in row.domain.lower()


def active_parameters(row):
    """Return the active parameters, and whether the total had to stand for them."""
    if row.active_parameters > 0:
        return row.active_parameters, False
    name = row.system[:MAX_NAME]
    named = _ACTIVE_NAME.search(name)
    if named and 0 < float(named[1]) * 1e9 < row.parameters:
        return float(named[1]) * 1e9, False
    return row.parameters, bool(_EXPERT_NAME.search(name))


def assumed_utilisation(row, rate):
    """Return the case of `UTILISATION` of a row and its rate."""
    tensor = rate is None or rate.has_tensor_cores
    if not tensor:
        return "fp32 without tensor cores"
    year = row.date.year if row.date == row.date else _LANGUAGE_SINCE
    if not is_language(row) or year < _LANGUAGE_SINCE:
        return "on tensor cores"
    late = rate is not None and _LATE.search(rate.family)
    large = active_parameters(row)[0] >= _LARGE_MODEL
    return "large language model, A100 or later" if late and large else "language model"


# -- drawn inputs ---------------------------------------------------------------------------------------


# Inputs that the stages of one system share; all others are drawn for each stage.
_SHARED = ("parameters", "active_parameters", "utilisation", "hfu", "rate_flop_per_s")


def _drawn(row, figure):
    """Return a figure of a row with the draws of how it was written."""
    value = getattr(row, figure)
    written = row.written.get(figure)
    if written is None or not math.isclose(written.value, value, rel_tol=1e-9):
        return value
    name = figure if figure in _SHARED or not row.stage else f"{figure} of {row.stage}"
    return uncertainty.of_quantity(written, name)


def _model_form(of_class):
    if of_class in OF_THE_LIST:
        return uncertainty.by_quantiles("model form", OF_THE_LIST[of_class])
    if of_class == "experts":
        return uncertainty.lognormal("model form", 1.0, _EXPERT_FORM)
    if of_class == "forward":
        return uncertainty.lognormal("model form", 1.0, _FORWARD_FORM)
    return _dense_form()


@functools.lru_cache(maxsize=1)
def _dense_form():
    usual = uncertainty.lognormal("model form", _DENSE_MEDIAN, _DENSE_FORM)
    odd = uncertainty.lognormal("model form, odd", 1.0, _ODD_SIGMA)
    return np.where(uncertainty.uniforms("model form, whether odd") < _ODD_SHARE, odd, usual)


def product(terms):
    """Multiply drawn inputs."""
    total = 1.0
    for term in terms.values():
        total = total * term
    return total


# -- candidates -----------------------------------------------------------------------------------------


def stated(row):
    """Return the candidate of a total that is stated for this scope, or None."""
    if not row.stated_compute_flop > 0:
        return None
    drawn = _drawn(row, "stated_compute_flop")
    how = row.stated_note or "as stated"
    return Candidate(STATED, row.stated_compute_flop, how, "", drawn, {"stated figure": drawn})


def third_party(row):
    """Return the candidate of a third party's figure, or None: off by ten either way, nothing said."""
    if not row.third_party_compute_flop > 0:
        return None
    terms = {"stated figure": _drawn(row, "third_party_compute_flop")}
    terms["third party"] = uncertainty.lognormal("third party", 1.0, 0.6)
    return Candidate(
        THIRD_PARTY, row.third_party_compute_flop, "a third party's figure", "", product(terms), terms
    )


def operations(row):
    """Return the candidate of counted operations, or None, and why not.

    Returns
    -------
    tuple of (Candidate or None, str)
        The second says what is missing or wrong.
    """
    if row.operations_flop > 0:
        how = row.operations_note or "as given"
        return Candidate(COUNTED, row.operations_flop, how, "", row.operations_flop), ""
    of_tokens = (is_language(row) and row.parameters > 0) or row.active_parameters > 0
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found, problem = _language(row) if of_tokens else _forward(row)
    except ValueError as refused:
        return None, str(refused)
    if found is not None and not np.isfinite(found.value_flop):
        return None, "its figures multiply to more than a number can hold"
    return found, problem


def _language(row):
    tokens, of_data_set, how = _tokens(row)
    if tokens is None:
        return None, how
    n, is_total = active_parameters(row)
    frozen = row.frozen_parameters if row.frozen_parameters > 0 else row.frozen_share * n
    frozen = frozen if frozen > 0 else 0.0
    if frozen > n:
        raise ValueError(f"`frozen_parameters` ({frozen:g}) exceeds `parameters` ({n:g})")
    figure = "active_parameters" if row.active_parameters > 0 else "parameters"
    through = 4 if row.gradients_through_frozen else 2
    per_token = 6 * (n - frozen) + through * frozen
    terms = {"parameters": _drawn(row, figure) / getattr(row, figure) if n == getattr(row, figure) else 1.0}
    terms |= tokens
    drawn_tokens = product({k: v for k, v in terms.items() if k != "parameters"})
    value_tokens = _value_of(row)
    extra, more = _of_stage(row, value_tokens)
    kind, of_class, share, note = COUNTED, "", 1.0, "6 N D" if not frozen else f"(6 N + {through} N frozen) D"
    if row.active_parameters > 0 or (n != row.parameters):
        of_class = "experts" if row.parameters > n else ""
        note += ", N active"
    elif is_total:
        kind, of_class, share = BY_TOTAL, EXPERTS, ACTIVE_SHARE
        note += f", N the total of a mixture of experts, {ACTIVE_SHARE:g} of it active assumed"
    if of_data_set and not of_class:
        of_class = DENSE_RECENT if _is_recent(row) else DENSE
    if of_data_set and "reported" in row.stated_note.lower():
        of_class = REPORTED
    form = _model_form(of_class)
    terms["model form"] = form
    value = (per_token * value_tokens + extra) * share
    draws = (per_token * terms["parameters"] * drawn_tokens + extra) * form
    calibrated = of_class if of_class in OF_THE_LIST else ""
    return Candidate(kind, value, note + how + more, calibrated, draws, terms), ""


def _is_recent(row):
    recent = row.date == row.date and row.date.year >= 2021
    return recent and row.domain.strip().lower() == "language" and row.confidence == "confident"


def _tokens(row):
    """Return drawn factors of the tokens, whether they are a data set's, and a note; or None, and why."""
    if row.tokens > 0:
        return {"tokens": _drawn(row, "tokens")}, False, ""
    if row.words > 0:
        tokens = {
            "words": _drawn(row, "words"),
            "tokens a word": uncertainty.of_quantity(TOKENS_PER_WORD, "words"),
        }
        return tokens, False, ", D from words at 4/3 tokens each"
    if row.steps > 0 and row.batch_size > 0:
        tokens = {"steps": _drawn(row, "steps"), "batch size": _drawn(row, "batch_size")}
        return tokens, False, ", D = steps × tokens a batch"
    if row.dataset_tokens > 0:
        tokens = {"data set": _drawn(row, "dataset_tokens")}
        if row.epochs > 0:
            return {**tokens, "epochs": _drawn(row, "epochs")}, True, ", D = data set × epochs"
        return tokens, True, ", D = data set, taken as seen once"
    return None, False, "`tokens` is missing"


def _value_of(row):
    if row.tokens > 0:
        return row.tokens
    if row.words > 0:
        return row.words * TOKENS_PER_WORD.value
    if row.steps > 0 and row.batch_size > 0:
        return row.steps * row.batch_size
    return row.dataset_tokens * (row.epochs if row.epochs > 0 else 1)


def _of_stage(row, tokens):
    """Return what a stage does beside its own training, in FLOP: a teacher, a reference, generation."""
    extra, notes = 0.0, []
    if row.teacher_parameters > 0:
        extra, notes = extra + 2 * row.teacher_parameters * tokens, [*notes, "2 N D of the teacher"]
    if row.generated_tokens > 0:
        n = active_parameters(row)[0]
        extra, notes = (
            extra + 2 * n * row.generated_tokens + 2 * n * tokens,
            [*notes, "generation and reference"],
        )
    if row.reward_parameters > 0:
        extra, notes = extra + 2 * row.reward_parameters * tokens, [*notes, "2 N D of the reward model"]
    return extra, "".join(f" + {note}" for note in notes)


def _forward(row):
    """Count operations by forward passes (2007.05558 eq. 1)."""
    stage = Stage(
        epochs=_or_none(row.epochs),
        flops_per_pass=_or_none(row.flop_per_pass),
        multiply_adds_per_pass=_or_none(row.multiply_adds_per_pass),
        passes_per_epoch=_or_none(row.examples),
        forward_backward=FORWARD_BACKWARD,
    )
    value = stage.operations()
    per_pass = "flop_per_pass" if row.flop_per_pass > 0 else "multiply_adds_per_pass"
    terms = {
        figure: _drawn(row, figure) / getattr(row, figure) for figure in ("epochs", per_pass, "examples")
    }
    terms["model form"] = _model_form("forward")
    how = f"eq. 1, a training step = {FORWARD_BACKWARD} × a forward pass"
    return Candidate(COUNTED, value, how, "", value * product(terms), terms), ""


def _or_none(value):
    return None if value is None or math.isnan(value) else value


def hours_terms(row, rate):
    """Return the drawn factors of processor-seconds × peak rate."""
    if row.burden_flop > 0:
        return {"burden": _drawn(row, "burden_flop")}
    if row.processor_hours > 0:
        terms = {"hours": _drawn(row, "processor_hours") * 3600}
    else:
        terms = {"processors": _drawn(row, "processors"), "time": _drawn(row, "time_s")}
    if row.rate_flop_per_s > 0:
        return {**terms, "rate": _drawn(row, "rate_flop_per_s")}
    if rate.low < rate.high:
        return {**terms, "rate": rate.low * (rate.high / rate.low) ** uncertainty.uniforms("rate")}
    if rate.by_halves:
        return {**terms, "rate": rate.flop_per_s, "whole or half": uncertainty.either("halves", _HALVES)}
    return {**terms, "rate": rate.flop_per_s}


def hardware(row, rate, burden):
    """Return the candidates of hardware time, best evidence first.

    Parameters
    ----------
    row : figures of a system
    rate : accelerators.Rate, or None where the burden or the rate is as given
    burden : float
        FLOP at the peak.
    """
    found = []
    throughput = measured(row)
    if throughput:
        found.append(throughput)
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
    if row.processor_hours > 0:
        seconds, value = {"hours": _drawn(row, "processor_hours") * 3600}, row.processor_hours * 3600
    elif row.processors > 0 and row.time_s > 0:
        seconds = {"processors": _drawn(row, "processors"), "time": _drawn(row, "time_s")}
        value = row.processors * row.time_s
    else:
        return None
    wall = {"wall clock": uncertainty.by_quantiles("wall clock", WALL_CLOCK)}
    if row.achieved_flop_per_s > 0:
        terms = {**seconds, "throughput": _drawn(row, "achieved_flop_per_s"), **wall}
        how = "hours × FLOP/s achieved by one processor"
        return Candidate(MEASURED, value * row.achieved_flop_per_s, how, "", product(terms), terms)
    n, is_total = active_parameters(row)
    if row.tokens_per_s_per_processor > 0 and n > 0 and not is_total:
        per_token = 6 * n
        terms = {**seconds, "throughput": _drawn(row, "tokens_per_s_per_processor") * per_token, **wall}
        terms["model form"] = _model_form("")
        how = "hours × tokens a second × 6 N"
        return Candidate(
            MEASURED, value * row.tokens_per_s_per_processor * per_token, how, "", product(terms), terms
        )
    return None


def stated_utilisation(row):
    """Return a stated utilisation in model FLOP, its drawn factors, and how; None where none is."""
    wall = {"wall clock": uncertainty.by_quantiles("wall clock", WALL_CLOCK)}
    if 0 < row.utilisation <= 1:
        return (
            row.utilisation,
            {"utilisation": _drawn(row, "utilisation"), **wall},
            f"MFU {row.utilisation:.3g} stated",
        )
    if 0 < row.hfu <= 1:
        low, high = {"full": (0.75, 0.75), "none": (1.0, 1.0)}.get(row.recomputation, HFU_TO_MFU)
        share = math.sqrt(low * high)
        terms = {"utilisation": _drawn(row, "hfu"), **wall}
        terms["recomputation"] = low + (high - low) * uncertainty.uniforms("recomputation")
        return row.hfu * share, terms, f"HFU {row.hfu:.3g} stated, {share:.2g} of it model FLOP"
    return None, {}, ""


def with_base(candidate, base, of_list=False):
    """Return a candidate with the compute of the base that it was trained from.

    A base of which nothing is known (None) leaves a lower bound, with the interval that totals of such
    systems had; `of_list` says that the system is of a list, whose totals may or may not hold their base.
    """
    own = candidate.value_flop
    if base is None:
        beyond = uncertainty.by_quantiles("base", OF_THE_LIST[ON_A_BASE])
        terms = {**candidate.terms, "base": beyond}
        how = f"{candidate.how}; its base is not counted"
        return Candidate(candidate.kind, own, how, ON_A_BASE, own * beyond, terms, own, True)
    # What the base's figures and its own share by name was drawn alike, though they are of two systems.
    of_base, whether = _shuffled(base.draws), 1.0
    of_class = candidate.of_class
    if of_list:
        whether, of_class = uncertainty.by_quantiles("base", OF_THE_LIST[ON_A_KNOWN_BASE]), ON_A_KNOWN_BASE
    draws = (candidate.draws + of_base) * whether
    terms = {**candidate.terms, "base": of_base * whether}
    how = f"{candidate.how}; with its base"
    return Candidate(candidate.kind, own + base.value_flop, how, of_class, draws, terms, own)


def _shuffled(draws):
    if np.ndim(draws) == 0:
        return draws
    return draws[np.argsort(uncertainty.uniforms("of another system"), kind="stable")]


def summed(parts, n_stages):
    """Return one candidate for several stages of a system, or None where none is known."""
    parts = [part for part in parts if part is not None]
    if not parts:
        return None
    if len(parts) == 1 and n_stages == 1:
        return parts[0]
    weakest = max(parts, key=lambda part: part.rank)
    how = "; ".join(dict.fromkeys(part.how for part in parts))
    if len(parts) < n_stages:
        how += f" ({len(parts)} of {n_stages} stages: of the others too little is known)"
    terms = {
        f"{name} ({i})" if name in weakest.terms and part is not weakest else name: term
        for i, part in enumerate(parts, 1)
        for name, term in part.terms.items()
    }
    value, draws = sum(part.value_flop for part in parts), sum(part.draws for part in parts)
    return Candidate(weakest.kind, value, how, weakest.of_class, draws, terms)
