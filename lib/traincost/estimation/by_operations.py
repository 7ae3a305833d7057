"""Counted operations of a training, as evidence: parameters × tokens, or forward passes.

Contract: one row of figures in, a `Candidate` out, or what is missing for one.
"""

import math

import numpy as np

from traincost.estimation import quantities, uncertainty
from traincost.estimation.compute import FORWARD_BACKWARD, Stage
from traincost.estimation.evidence import (
    ACTIVE_SHARE,
    BY_TOTAL,
    COUNTED,
    DENSE,
    DENSE_RECENT,
    EXPERTS,
    OF_THE_LIST,
    REPORTED,
    Candidate,
    active_parameters,
    drawn_figure,
    is_language,
    model_form,
    product,
)
from traincost.estimation.quantities import Quantity

TOKENS_PER_WORD = Quantity(4 / 3, 1.2, 1.5, quantities.WITHIN)


def operations(row):
    """Return the candidate of counted operations, or None, and what is missing or wrong."""
    if row.operations_flop > 0:
        how = row.operations_note or "as given"
        return Candidate(COUNTED, row.operations_flop, how, "", row.operations_flop), ""
    of_tokens = (is_language(row) and row.parameters > 0) or row.active_parameters > 0
    if not of_tokens and (missing := _missing(row)):
        return None, missing
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found, problem = _language(row) if of_tokens else _forward(row)
    except ValueError as refused:
        return None, str(refused)
    if found is not None and not np.isfinite(found.value_flop):
        return None, "its figures multiply to more than a number can hold"
    return found, problem


def _missing(row):
    """Return which figure a count lacks that has all others, or empty text."""
    if row.flop_per_pass > 0 or row.multiply_adds_per_pass > 0:
        return ""
    if row.epochs > 0 and row.examples > 0:
        return "`flop_per_pass` (or `multiply_adds_per_pass`) is missing"
    has_tokens = row.tokens > 0 or row.words > 0 or row.dataset_tokens > 0
    return "`parameters` is missing" if has_tokens and not row.parameters > 0 else ""


def _relative(row, figure):
    """Return a figure's draws over its value."""
    return drawn_figure(row, figure) / getattr(row, figure)


def _language(row):
    figures, how = _tokens(row)
    if not figures:
        return None, how
    n, is_total = active_parameters(row)
    frozen = row.frozen_parameters if row.frozen_parameters > 0 else row.frozen_share * n
    frozen = frozen if frozen > 0 else 0.0
    if frozen > n:
        raise ValueError(f"`frozen_parameters` ({frozen:g}) exceeds `parameters` ({n:g})")
    figure = "active_parameters" if row.active_parameters > 0 else "parameters"
    through = 4 if row.gradients_through_frozen else 2
    per_token = 6 * (n - frozen) + through * frozen
    tokens = {_NAMES.get(name, name): drawn_figure(row, name) for name in figures}
    n_tokens = math.prod(getattr(row, name) for name in figures)
    if "words" in figures:
        tokens["tokens a word"] = uncertainty.of_quantity(TOKENS_PER_WORD, "words")
        n_tokens *= TOKENS_PER_WORD.value
    extra, more = _of_stage(row, n_tokens)
    kind, of_class, share, note = COUNTED, "", 1.0, "6 N D" if not frozen else f"(6 N + {through} N frozen) D"
    if row.active_parameters > 0 or (n != row.parameters):
        of_class = "experts" if row.parameters > n else ""
        note += ", N active"
    elif is_total:
        kind, of_class, share = BY_TOTAL, EXPERTS, ACTIVE_SHARE
        note += f", N the total of a mixture of experts, {ACTIVE_SHARE:g} of it active assumed"
    if "dataset_tokens" in figures:
        of_class = of_class or (DENSE_RECENT if _is_recent(row) else DENSE)
        of_class = REPORTED if "reported" in row.stated_note.lower() else of_class
    form = model_form(of_class)
    parameters = _relative(row, figure) if n == getattr(row, figure) else 1.0
    value = (per_token * n_tokens + extra) * share
    draws = (per_token * parameters * product(tokens) + extra) * form
    calibrated = of_class if of_class in OF_THE_LIST else ""
    terms = {"parameters": parameters, **tokens, "model form": form}
    return Candidate(kind, value, note + how + more, calibrated, draws, terms), ""


def _is_recent(row):
    recent = row.date == row.date and row.date.year >= 2021
    return recent and row.domain.strip().lower() == "language" and row.confidence == "confident"


_NAMES = {"dataset_tokens": "data set", "batch_size": "batch size"}  # of figures among the terms


def _tokens(row):
    """Return the figures whose product is the tokens, and a note; or none, and why."""
    if row.tokens > 0:
        unused = f" (tokens processed: the {row.epochs:g} epochs are in it)" if row.epochs > 1 else ""
        return ("tokens",), unused
    if row.words > 0 and row.epochs > 0:
        return ("words", "epochs"), ", D from words at 4/3 tokens each, × epochs"
    if row.words > 0:
        return ("words",), ", D from words at 4/3 tokens each"
    if row.steps > 0 and row.batch_size > 0:
        return ("steps", "batch_size"), ", D = steps × tokens a batch"
    if row.dataset_tokens > 0 and row.epochs > 0:
        return ("dataset_tokens", "epochs"), ", D = data set × epochs"
    if row.dataset_tokens > 0:
        return ("dataset_tokens",), ", D = data set, taken as seen once"
    return (), "`tokens` is missing"


def _of_stage(row, tokens):
    """Return what a stage does beside its own training, in FLOP: a teacher, a reference, generation."""
    parts = (
        (2 * row.teacher_parameters * tokens, "2 N D of the teacher"),
        (2 * active_parameters(row)[0] * (row.generated_tokens + tokens), "generation and reference"),
        (2 * row.reward_parameters * tokens, "2 N D of the reward model"),
    )
    given = row.teacher_parameters > 0, row.generated_tokens > 0, row.reward_parameters > 0
    done = [part for part, is_given in zip(parts, given, strict=True) if is_given]
    return sum(flop for flop, _ in done), "".join(f" + {note}" for _, note in done)


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
    terms = {figure: _relative(row, figure) for figure in ("epochs", per_pass, "examples")}
    terms["model form"] = model_form("forward")
    how = f"eq. 1, a training step = {FORWARD_BACKWARD} × a forward pass"
    return Candidate(COUNTED, value, how, "", value * product(terms), terms), ""


def _or_none(value):
    return None if value is None or math.isnan(value) else value
