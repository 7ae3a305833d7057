"""Lists of systems as CSV: Epoch AI's databases, old and new, and the released files of 2007.05558.

Columns are known by name; those that are not read are reported. Notes are never taken for numbers.
"""

import csv
import io
import re

from traincost.estimation import dates, systems
from traincost.estimation.figures import FIGURES

# Epoch's column names, old and new, by pattern; of several filled ones the first is taken.
_EPOCH = {
    "system": r"(system|model|name)",
    "date": r"(publication date|year)",
    "domain": r"domain",
    "parameters": r"(number of )?parameters( \(total\))?",
    "active_parameters": r"(active parameters|parameters \(active\))",
    "examples": r"(training )?data ?set size( \((datapoints|total|gradients|tokens|words)\))?",
    "epochs": r"(training )?epochs",
    "batch_size": r"batch size( \((tokens|datapoints|examples)\))?",
    "processor": r"(training )?hardware( type| model)?",
    "processors": r"(training )?hardware quantity",
    "time_h": r"(equivalent )?training time \(hours?\)",
    "processor_hours": r"training chip[- ]hours",
    "utilisation": r"hardware utili[sz]ation( \(mfu\))?|mfu",
    "hfu": r"hardware utili[sz]ation \(hfu\)|hfu",
    "precision": r"numerical format|training precision",
    "stated_compute_flop": r"training compute( \(flops?\))?",
    "finetune_compute_flop": r"fine-?tun(e|ing) compute( \(flops?\))?",
    "base": r"base model",
    "method": r"training compute estimation method",
    "confidence": r"confidence",
    "facility_power_w": r"training power draw \(w\)",
    "source": r"(reference|link)",
}
# What 2007.05558's files have beside; scores are in percent, and the first of several is the benchmark's own.
_LIMITS = {
    "flop_per_pass": r"flops",
    "multiply_adds_per_pass": r"multiadds",
    "epochs": r"training_epochs",
    "examples": r"training_set_size",
    "operations_flop": r"network_operations",
    "burden_flop": r"hardware_burden",
    "score": r"\((top 1 score|box ap|bleu|em score|f1 score)\)",
}
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FORMATS = re.compile(r"\b(bf16|fp16|tf32|fp32|fp64|fp8|int8)\b", re.IGNORECASE)
_NUMBERS = {*FIGURES, "time_h", "date"} - {"processor"}


def from_csv(text, name, problems=()):
    """Return the `Systems` of a CSV; `NothingToReport` where none can be used, in words that follow its name.

    `problems` are rows of `Systems.rejected` that reading the text gave.
    """
    rows, rejected = [], list(problems)
    try:
        header, *lines = csv.reader(io.StringIO(text, newline=""))
    except csv.Error as problem:
        rejected.append((0, "", "", f"is no CSV: {problem}"))
        return systems.of_rows(name, rows, rejected=rejected)
    except ValueError:  # no header
        return systems.of_rows(name, rows, rejected=rejected)
    columns, unread = _columns(header)
    if "system" not in columns:
        rejected.append((1, "", "", "the header names no column System or Model"))
        lines = []
    limit = systems.MAX_SYSTEMS
    days, undated = dates.in_iso([_first_filled(line, columns.get("date", ())) for line in lines[:limit]])
    for i, line in enumerate(lines[:limit], start=2):
        values = {key: _first_filled(line, places) for key, places in columns.items()}
        if "date" in columns:
            values["date"] = "" if i - 2 in undated else days[i - 2]
        if i - 2 in undated:
            rejected.append((i, values.get("system", ""), "date", undated[i - 2]))
        if _is_units(values):
            rejected.append((i, values["system"], "", "is a row of units, not a system"))
        elif row := _row(i, values, rejected):
            rows.append(row)
    if len(lines) > limit:
        rejected.append((limit + 2, "", "", f"rows beyond the first {limit} are not read"))
    return systems.of_rows(name, rows, rejected=rejected, unread=unread)


def _columns(header):
    """Return meaning to the places of the columns that have it, and the titles of the others."""
    known = _EPOCH | (_LIMITS if "network_operations" in header else {})
    columns, read = {}, set()
    for name, pattern in known.items():
        places = [at for at, title in enumerate(header) if re.fullmatch(pattern, title.strip().lower())]
        if places:
            columns[name] = places
            read.update(places)
    return columns, [title for at, title in enumerate(header) if at not in read and title.strip()]


def _first_filled(line, places):
    """Return the first filled of several columns of one meaning (datapoints, total)."""
    return next((line[at].strip() for at in places if at < len(line) and line[at].strip()), "")


def _is_units(values):
    """Say whether a row repeats the header or gives units: it is filled, and no figure in it is a number."""
    figures = [value for name, value in values.items() if value and name in _NUMBERS]
    return bool(figures) and not any(re.search(r"\d", figure) for figure in figures)


def _row(i, values, rejected):
    problems = []
    for figure in ("time_h", "score"):
        if text := values.pop(figure, ""):
            try:
                _derived(figure, text, values)
            except ValueError as problem:
                problems.append((figure.replace("time_h", "time_s"), str(problem)))
    if not values.get("time_s"):
        values.pop("time_s", None)
    formats = _FORMATS.findall(values.get("precision", ""))
    values["precision"] = formats[0].lower() if formats else ""
    if "language" in values.get("domain", "").lower() and values.get("examples"):
        values["dataset_tokens"] = values.pop("examples")
    method = values.pop("method", "")
    if values.get("stated_compute_flop"):
        values["stated_note"] = f"recorded: {method}" if method else "recorded in the list"
    values["confidence"] = values.get("confidence", "").lower()
    given = {name: _number(value) if name in FIGURES else value for name, value in values.items()}
    row = systems.checked(i, given, rejected, from_list=True)
    if row:
        rejected.extend((i, row["system"], *problem) for problem in problems)
        row["stated_with_base"] = True
    return row


def _derived(figure, text, values):
    """Put what a list has in other units into the values: hours of training, a score in percent."""
    value = systems.read("processors", _number(text), from_list=True)[0]
    if figure == "time_h":
        values["time_s"] = value * 3600
    elif not value < 100:
        raise ValueError(f"must be a score in percent below 100, got {text!r:.60}")
    else:
        values["error"] = 1 - value / 100


def _number(text):
    """A plain number of a database as a number; anything else as it is written."""
    if isinstance(text, str) and _PLAIN.fullmatch(text):
        value = float(text)
        return value if value < float("inf") else text
    return text
