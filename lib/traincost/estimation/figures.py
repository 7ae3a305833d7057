"""What is reported of a system or of one stage of its training: names, kinds, and reading one figure."""

import datetime
import re

import numpy as np
import pandas as pd

from traincost.columns import finite
from traincost.estimation import energy, quantities
from traincost.estimation.accelerators import PRECISIONS
from traincost.estimation.dates import MONTHS

TEXT = "text"
# What a figure is called in a sheet, and what kind of number it is. Units are in the names.
KINDS = {
    "parameters": "count",
    "active_parameters": "count",
    "frozen_parameters": "count",
    "frozen_share": "fraction",
    "gradients_through_frozen": TEXT,
    "teacher_parameters": "count",
    "reward_parameters": "count",
    "tokens": "count",
    "words": "count",
    "dataset_tokens": "count",
    "generated_tokens": "count",
    "epochs": "count",
    "examples": "count",
    "steps": "count",
    "batch_size": "count",
    "context_length": "count",
    "flop_per_pass": "flop",
    "multiply_adds_per_pass": "count",
    "processor": TEXT,
    "precision": TEXT,
    "processors": "count",
    "time_s": "time",
    "processor_hours": "hours",
    "utilisation": "fraction",
    "hfu": "fraction",
    "recomputation": TEXT,
    "tokens_per_s_per_processor": "count",
    "achieved_flop_per_s": "rate",
    "stated_compute_flop": "flop",
    "stated_note": TEXT,
    "third_party_compute_flop": "flop",
    "finetune_compute_flop": "flop",
    "operations_flop": "flop",
    "operations_note": TEXT,
    "burden_flop": "flop",
    "rate_flop_per_s": "rate",
    "error": "fraction",
    "base": TEXT,
    "energy_kwh": "energy",
    "power_w": "power",
    "facility_power_w": "power",
    "pue": "count",
    "region": TEXT,
    "confidence": TEXT,
}
FIGURES = tuple(KINDS)
TEXT_FIGURES = tuple(name for name, kind in KINDS.items() if kind == TEXT)
NUMERIC = tuple(name for name, kind in KINDS.items() if kind != TEXT)
ALIASES = {"mfu": "utilisation"}  # other names that a sheet may use
STAGES = ("pre-training", "training", "context extension", "fine-tuning", "reinforcement learning")
STAGES += ("distillation",)
# Sizes that are printed rounded; counts of processors or epochs are not.
_ROUNDED = (
    "parameters", "active_parameters", "frozen_parameters", "tokens", "words", "dataset_tokens",
    "stated_compute_flop", "third_party_compute_flop", "finetune_compute_flop", "flop_per_pass",
    "multiply_adds_per_pass",
)  # fmt: skip
_OF_MODELS = ("parameters", "active_parameters", "tokens", "dataset_tokens")
_LEAST_MODEL = 1000  # a bare number below it has lost its unit
_ONE_OF = {"precision": PRECISIONS, "recomputation": ("none", "selective", "full")}
_DATES = "2020-05-28, 2020-05, 2020, 28/05/2020, March 2023 or 14 March 2023"


def number(value, kind=None):
    """Return a figure as a float, in the middle of a range; ValueError where it cannot be read.

    Without a kind (`quantities.read`), the unit says which: "7B", "46%", "12 hours", "3640 PF-days".
    """
    if kind is not None:
        return quantities.read(value, kind).value
    for each in quantities.KINDS:
        try:
            return quantities.read(value, each).value
        except ValueError:
            continue
    raise ValueError(f"must be a number as papers write it, with its unit, got {value!r:.60}")


def date(value):
    """Return a date: ISO, DD/MM/YYYY, "March 2023", or a bare year (its middle); ValueError for all else."""
    text = " ".join(str(value).split())
    found = _date(text)
    if found is None:
        raise ValueError(f"must be one date such as {_DATES}, got {value!r:.60}")
    if found > pd.Timestamp(datetime.date.today()):
        raise ValueError(f"must be one date that is not in the future, got {value!r:.60}")
    return found


def _date(text):
    try:
        if re.fullmatch(r"(1[89]|2\d)\d\d(\.0)?", text):
            year = int(float(text))  # of a year that is not over, its first day
            return pd.Timestamp(year, 7 if year < datetime.date.today().year else 1, 1)
        if match := re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text):
            day, month, year = map(int, match.groups())
            return pd.Timestamp(year, month, day)
        if match := re.fullmatch(r"(?:(\d{1,2})\.? )?([A-Za-z]{3,9})\.?(?: (\d{1,2}),?)?,? (\d{4})", text):
            month = MONTHS.index(match[2][:3].lower()) + 1
            return pd.Timestamp(int(match[4]), month, int(match[1] or match[3] or 1))
        if re.fullmatch(r"\d{4}-\d{2}(-\d{2})?([T ]\d{2}:\d{2}\S*)?", text):
            return pd.Timestamp(text).tz_localize(None)
    except ValueError:
        pass
    return None


def dated(value):
    """Return a date; ValueError, with what follows from it, where there is none."""
    if value in (None, ""):
        raise ValueError("has no date: it is in no trend")
    try:
        return date(value)
    except ValueError as problem:
        raise ValueError(f"{problem}: it is in no trend") from None


def read(figure, value, from_list=False):
    """Read one figure of `FIGURES`: its value, and how it was written (`quantities.Quantity`, or None).

    NaN of an empty one. A number of a database, `from_list`, may be any. ValueError where it cannot be used;
    the message says what was got and what is accepted.
    """
    if value in (None, "") or (isinstance(value, float) and np.isnan(value)):
        return np.nan, None
    if KINDS[figure] == TEXT:
        return _text(figure, value), None
    written = quantities.read(value, KINDS[figure])
    if finite(value) and figure in _ROUNDED and value > 0:
        written = quantities.stored(float(value))
    if written.value <= 0:
        raise ValueError(f"must be above zero, got {written.value:g}")
    if figure in _OF_MODELS and written.value < _LEAST_MODEL and not from_list:
        raise ValueError(
            f"{value!r:.60} of what? Accepted is a count with its unit, such as {written.value:g}B or "
            f"{written.value:g}e9"
        )
    if figure == "pue" and written.value < 1:
        raise ValueError(f"must be at least 1 (facility over equipment), got {written.value:g}")
    if figure in ("error", "frozen_share") and written.value >= 1 + (figure == "frozen_share"):
        raise ValueError(f"must be a fraction below one, got {written.value:g}")
    return written.value, written


def _text(figure, value):
    text = str(value).strip()
    if figure == "region":
        return energy.intensity(text).region
    if figure not in _ONE_OF:
        return text
    if text.lower() not in _ONE_OF[figure]:
        raise ValueError(f"must be one of {', '.join(_ONE_OF[figure])}, got {value!r:.60}")
    return text.lower()


def percentage(figure, value):
    """Return the question that a utilisation above 1 asks, or None."""
    if figure in ("utilisation", "hfu") and value > 1:
        return (
            f"{value:g} is above 1, which no processor reaches: write a percentage as {value:g}% or "
            f"{value / 100:g}; it is not used"
        )
    return None
