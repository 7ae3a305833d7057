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

from traincost.estimation import uncertainty

# Kinds of evidence, the strongest first, as a system's ``method`` names them.
STATED, COUNTED, MEASURED = "stated", "network operations", "measured throughput"
AT_STATED, AT_ASSUMED = "burden at stated utilisation", "burden at assumed utilisation"
BY_TOTAL, THIRD_PARTY = "operations of all experts", "third party"
MEANINGS = {
    STATED: "stated by its developers, or recorded in the list",
    COUNTED: "counted operations: active parameters × tokens, or forward passes",
    MEASURED: "hardware time × measured throughput",
    AT_STATED: "hardware time × stated utilisation",
    AT_ASSUMED: "hardware time × an assumed utilisation",
    BY_TOTAL: "total parameters × tokens of a mixture of experts, its active share assumed",
    THIRD_PARTY: "a third party's figure",
}
RANKS = {kind: rank for rank, kind in enumerate(MEANINGS, 1)}

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
    """One estimate of one system, by one kind of evidence."""

    kind: str  # one of `RANKS`
    value_flop: float
    how: str  # in words: the formula and what it took
    of_class: str = ""  # whose measured coverage the interval has (`CALIBRATED`); empty for none
    draws: object = math.nan  # of the compute: an array, or a number where nothing is uncertain
    terms: dict = field(default_factory=dict)  # its uncertain inputs, as drawn
    without_base_flop: float = math.nan  # its own stages alone, where the system was trained from a base
    is_lower_bound: bool = False  # a base was trained before, and is not counted

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


# -- drawn inputs ---------------------------------------------------------------------------------------


# Inputs that the stages of one system share; all others are drawn for each stage.
_SHARED = ("parameters", "active_parameters", "utilisation", "hfu", "rate_flop_per_s")


def drawn_figure(row, figure):
    """Return a figure of a row with the draws of how it was written."""
    value = getattr(row, figure)
    written = row.written.get(figure)
    if written is None or not math.isclose(written.value, value, rel_tol=1e-9):
        return value
    name = figure if figure in _SHARED or not row.stage else f"{figure} of {row.stage}"
    return uncertainty.of_quantity(written, name)


def model_form(of_class):
    """Return draws of what the form of a model leaves out, or of what a class of estimates was off by."""
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
    return math.prod(terms.values(), start=1.0)


# -- candidates -----------------------------------------------------------------------------------------


def stated(row):
    """Return the candidate of a total that is stated for this scope, or None."""
    if not row.stated_compute_flop > 0:
        return None
    drawn = drawn_figure(row, "stated_compute_flop")
    how = row.stated_note or "as stated"
    return Candidate(STATED, row.stated_compute_flop, how, "", drawn, {"stated figure": drawn})


def third_party(row):
    """Return the candidate of a third party's figure, or None: off by ten either way, nothing said."""
    if not row.third_party_compute_flop > 0:
        return None
    terms = {"stated figure": drawn_figure(row, "third_party_compute_flop")}
    terms["third party"] = uncertainty.lognormal("third party", 1.0, 0.6)
    value, how = row.third_party_compute_flop, "a third party's figure"
    return Candidate(THIRD_PARTY, value, how, "", product(terms), terms)


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
