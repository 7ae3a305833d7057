"""Published systems, or one's own runs, and what was reported of each: text and collections to frames.

A row that cannot be used is listed with its name, column and reason, and the others are kept.
`results.systems` reads the files.

A *sheet* is YAML with a list ``systems``; each has ``system``, ``date``, ``domain``,
``source`` and ``figures``, what the paper states: a number, or a mapping with ``value``,
``at`` (section or table) and ``printed`` (the words as printed). A *CSV* has the column names
of Epoch AI's databases, old or new.
"""

import csv
import io
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import yaml

from traincost.columns import finite
from traincost.errors import NothingToReport, ParameterError
from traincost.estimation import compute, dates
from traincost.estimation.accelerators import PRECISIONS

# What a figure is called in a sheet, and here. Units are in the names.
FIGURES = (
    "parameters", "frozen_parameters", "tokens", "epochs", "examples", "flop_per_pass",
    "multiply_adds_per_pass", "processor", "precision", "processors", "time_s", "processor_hours",
    "utilisation", "stated_compute_flop", "operations_flop", "operations_note", "burden_flop",
    "rate_flop_per_s", "error",
)  # fmt: skip
_TEXT_FIGURES = ("processor", "precision", "operations_note")
IDENTITY = ("system", "date", "domain", "source")
MAX_SYSTEMS = 20_000

# Epoch's column names, old and new, by pattern; the first that matches is taken.
_EPOCH = {
    "system": r"(system|model)",
    "date": r"publication date",
    "domain": r"domain",
    "parameters": r"parameters",
    "examples": r"training dataset size \((datapoints|total|gradients)\)|dataset size.*",
    "epochs": r"epochs",
    "processor": r"training hardware",
    "processors": r"hardware quantity",
    "time_h": r"(equivalent )?training time \(hours\)",
    "processor_hours": r"training chip-hours",
    "utilisation": r"hardware utilization( \((mfu|hfu)\))?",
    "stated_compute_flop": r"training compute \(flops?\)",
    "source": r"(reference|link)",
}


@dataclass(frozen=True, eq=False)
class Systems:
    """Systems and what was reported of each.

    Attributes
    ----------
    name : str
    frame : DataFrame
        ``system``, ``date``, ``domain``, ``source`` and `FIGURES`; NaN or empty where not reported;
        ``burden_time``, what the time of the hardware burden is of: one of `compute.BURDEN_TIMES`.
    where : DataFrame
        ``system``, ``source``, ``figure``, ``value``, ``at``, ``printed``: where each figure of
        a sheet stands.
    rejected : DataFrame
        ``row``, ``system``, ``column``, ``reason``: what could not be used.
    left_out : DataFrame
        ``system``, ``reason``: what the sheet says was left out of it.
    """

    name: str
    frame: pd.DataFrame
    where: pd.DataFrame
    rejected: pd.DataFrame
    left_out: pd.DataFrame


def _systems(name, rows, where=(), rejected=(), left_out=()):
    if not rows:
        why = f"; the first problem: {rejected[0][3]}" if rejected else ""
        raise NothingToReport(f"holds no system that can be used{why}")
    rows = [{"burden_time": compute.REPORTED, **row} for row in rows]
    frame = pd.DataFrame(rows, columns=[*IDENTITY, *FIGURES, "burden_time"])
    numeric = [figure for figure in FIGURES if figure not in _TEXT_FIGURES]
    frame[numeric] = frame[numeric].astype(float)
    for column in ("domain", "source", *_TEXT_FIGURES):
        frame[column] = pd.Series(["" if pd.isna(v) else str(v) for v in frame[column]], dtype="str")
    frame["date"] = pd.to_datetime(frame["date"], utc=True).dt.tz_localize(None)
    return Systems(
        name,
        frame,
        pd.DataFrame(where, columns=["system", "source", "figure", "value", "at", "printed"]),
        pd.DataFrame(rejected, columns=["row", "system", "column", "reason"]),
        pd.DataFrame(left_out, columns=["system", "reason"]),
    )


# -- values --------------------------------------------------------------------------------


def number(value):
    """Return a figure as a float: 3e23, "3E+23", "1,200,000" or 5; ValueError for anything else."""
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", text):  # a decimal comma is no thousands comma
            text = text.replace(",", "")
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
            raise ValueError(f"must be a number, got {value!r:.60}")
        value = float(text)
    if not finite(value):
        raise ValueError(f"must be a finite number, got {value!r:.60}")
    return float(value)


def date(value):
    """Return a date: ISO, DD/MM/YYYY, or a bare year (its middle); ValueError for anything else."""
    text = str(value).strip()
    if re.fullmatch(r"(1[89]|20)\d\d(\.0)?", text):
        return pd.Timestamp(int(float(text)), 7, 1)
    match = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text)
    try:
        if match:
            day, month, year = map(int, match.groups())
            return pd.Timestamp(year, month, day)
        if re.fullmatch(r"\d{4}-\d{2}(-\d{2})?([T ]\d{2}:\d{2}\S*)?", text):
            return pd.Timestamp(text).tz_localize(None)
    except ValueError:
        pass
    raise ValueError(f"must be one date, got {value!r:.60}")


def _checked(row_number, row, rejected):
    """Return a row with its figures as numbers, None of an empty one; what cannot be used is listed."""
    name = str(row.get("system") or "").strip()
    if not name:
        if not any(row.get(figure) for figure in FIGURES):
            rejected.append((row_number, "", "system", "the row names no system and reports nothing"))
            return None
        name = f"(unnamed, row {row_number})"
        rejected.append((row_number, name, "system", "the row names no system; its figures are used"))
    checked = {"system": name, "domain": row.get("domain"), "source": row.get("source")}
    for column, convert in {"date": _date, **dict.fromkeys(FIGURES, _figure)}.items():
        try:
            checked[column] = convert(column, row.get(column))
        except ValueError as problem:
            rejected.append((row_number, name, column, str(problem)))
    return checked


def _date(_, value):
    if value in (None, ""):
        raise ValueError("has no date: it is in no trend")
    try:
        return date(value)
    except ValueError as problem:
        raise ValueError(f"{problem}: it is in no trend") from None


def _figure(figure, value):
    if value in (None, "") or (isinstance(value, float) and np.isnan(value)):
        return np.nan
    if figure == "precision":
        if str(value).lower() not in PRECISIONS:
            raise ValueError(f"must be one of {', '.join(PRECISIONS)}, got {value!r:.60}")
        return str(value).lower()
    if figure in _TEXT_FIGURES:
        return str(value)
    value = number(value)
    if value <= 0:
        raise ValueError(f"must be above zero, got {value:g}")
    if figure == "error" and value >= 1:
        raise ValueError(f"must be a fraction below one, got {value:g}")
    return value


# -- sheets --------------------------------------------------------------------------------


class _TextDates(yaml.SafeLoader):
    """The safe loader that leaves dates as text: an impossible one would be an error of the whole file."""


_TextDates.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _parsed(text):
    try:
        return _TextDates(text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise NothingToReport(f"is no YAML: {' '.join(str(problem).split()):.300}") from None


def from_sheet(text, name, problems=()):
    """Return the `Systems` of a sheet.

    Parameters
    ----------
    text, name : str
    problems : list of tuple
        Rows of `Systems.rejected` that reading the text gave.

    Raises
    ------
    NothingToReport
        It is no sheet, or holds no system that can be used; the message continues the file's name.
    """
    sheet = _parsed(text)
    entries = sheet.get("systems") if isinstance(sheet, dict) else None
    if not isinstance(entries, list):
        raise NothingToReport("is no sheet of systems: it has no list `systems`")
    rows, where, rejected = [], [], list(problems)
    for i, entry in enumerate(entries[:MAX_SYSTEMS], start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("figures"), dict):
            system = entry.get("system", "") if isinstance(entry, dict) else ""
            rejected.append((i, str(system), "figures", "must be a mapping of what the paper states"))
            continue
        row = {key: entry.get(key) for key in IDENTITY}
        where += _stated(i, row, entry["figures"], rejected)
        rows.append(_checked(i, row, rejected))
    if len(entries) > MAX_SYSTEMS:
        rejected.append((MAX_SYSTEMS + 1, "", "", f"systems beyond the first {MAX_SYSTEMS} are not read"))
    return _systems(name, list(filter(None, rows)), where, rejected, _left_out(sheet.get("left_out")))


def _stated(i, row, figures, rejected):
    """Put the figures that a sheet states into `row`; return where each stands."""
    where, (system, source) = [], (str(row[key] or "") for key in ("system", "source"))
    for figure, stated in figures.items():
        if figure not in FIGURES:
            reason = f"is no figure that is known; the figures are {', '.join(FIGURES)}"
            rejected.append((i, system, str(figure), reason))
            continue
        parts = stated if isinstance(stated, dict) else {"value": stated}
        row[figure] = parts.get("value")
        places = (str(parts.get(key) or "") for key in ("at", "printed"))
        where.append((system, source, figure, _as_stated(row[figure]), *places))
    return where


def _as_stated(value):
    """Write a figure with the digits it has; from a million, as a power of ten."""
    if not finite(value):
        return str(value)
    if abs(value) < 1e6:
        return f"{value:.12g}"
    digits, _, exponent = f"{value:.11e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{exponent}"


def _left_out(entries):
    """Return what a sheet lists as left out: a name, or a mapping of ``system`` and ``reason``."""
    if not isinstance(entries, list):
        return []
    entries = [entry if isinstance(entry, dict) else {"system": entry} for entry in entries[:MAX_SYSTEMS]]
    return [tuple(str(entry.get(name) or "") for name in ("system", "reason")) for entry in entries]


# -- runs -----------------------------------------------------------------------------------


def from_runs(collection):
    """Return the runs of a collection as `Systems`, by the compute blocks of their records.

    Raises
    ------
    NothingToReport
        No run has a compute block; the message continues the directory's name.
    """
    rows, rejected = [], []
    for i, run in enumerate(collection.runs.itertuples()):
        block = collection.compute.get(i)
        if block is None:
            rejected.append((i, run.run_id, "compute", "has no compute block"))
            continue
        rows.append(_run(i, run, block, rejected))
    for run in collection.excluded.itertuples():
        rejected.append((0, run.run_id, "", f"is not counted: {run.reason}"))
    if not rows:
        raise NothingToReport(
            "holds no run with a compute block; Recorder.compute takes stages, processors and "
            "rate_flops_per_s"
        )
    return _systems(collection.name, rows, rejected=rejected)


def _run(i, run, block, rejected):
    row = {"system": run.run_id, "domain": "", "source": run.path, "date": run.started_at or None}
    row |= {"processors": block.get("processors"), "rate_flop_per_s": block.get("rate_flops_per_s")}
    row["time_s"] = run.runtime_s
    try:
        row |= _by_stages(block.get("stages") or [])
    except (TypeError, ValueError, AttributeError) as problem:
        rejected.append((i, run.run_id, "stages", str(problem)))
    checked = _checked(i, row, rejected)
    # Without a time and a rate of each stage, the time is the run's own, evaluation included.
    whole = np.isnan(checked.get("burden_flop", np.nan))
    return {**checked, "burden_time": compute.WHOLE_RUN if whole else compute.STAGES}


def _by_stages(entries):
    """Return what a compute block's stages give: operations, and burden where they state it."""
    stages = [compute.Stage.of(entry) for entry in entries]
    found = {
        "operations_flop": compute.network_operations(stages),
        "operations_note": _operations_note(stages),
    }
    if all(stage.rate_flops_per_s is not None and stage.time_s is not None for stage in stages):
        found["burden_flop"] = compute.hardware_burden(stages)
        found["rate_flop_per_s"] = stages[0].rate_flops_per_s
    return found


def _operations_note(stages):
    factors = sorted({stage.forward_backward for stage in stages if stage.counted_flop is None})
    worth = ", ".join(f"{factor:g}" for factor in factors)
    notes = [f"eq. 1, a training step = {worth} × a forward pass"] if factors else []
    if any(stage.counted_flop is not None for stage in stages):
        notes.append("counted while training, forward and backward")
    return "; ".join(notes)


# -- CSV -----------------------------------------------------------------------------------


def from_csv(text, name, problems=()):
    """Return the `Systems` of a CSV; arguments and errors as `from_sheet`."""
    rows, rejected = [], list(problems)
    try:
        header, *lines = csv.reader(io.StringIO(text, newline=""))
    except csv.Error as problem:
        rejected.append((0, "", "", f"is no CSV: {problem}"))
        return _systems(name, rows, rejected=rejected)
    except ValueError:  # no header
        return _systems(name, rows, rejected=rejected)
    columns = _epoch_columns(header)
    if "system" not in columns:
        rejected.append((1, "", "", "the header names no column System or Model"))
        lines = []
    days = [_first_filled(line, columns.get("date", ())) for line in lines[:MAX_SYSTEMS]]
    days, no_dates = dates.in_iso(days)
    for i, line in enumerate(lines[:MAX_SYSTEMS], start=2):
        values = {key: _first_filled(line, places) for key, places in columns.items()}
        values |= {"date": "" if i - 2 in no_dates else days[i - 2]} if "date" in columns else {}
        if i - 2 in no_dates:
            rejected.append((i, values.get("system", ""), "date", no_dates[i - 2]))
        if _is_units(values):
            rejected.append((i, values["system"], "", "is a row of units, not a system"))
            continue
        if values.get("time_h"):
            try:
                values["time_s"] = number(values["time_h"]) * 3600
            except ValueError as problem:
                rejected.append((i, values["system"], "time_s", str(problem)))
        rows.append(_checked(i, values, rejected))
    if len(lines) > MAX_SYSTEMS:
        rejected.append((MAX_SYSTEMS + 2, "", "", f"rows beyond the first {MAX_SYSTEMS} are not read"))
    return _systems(name, list(filter(None, rows)), rejected=rejected)


def _first_filled(line, places):
    """Return the first filled of several columns of one meaning (MFU, HFU)."""
    return next((line[at].strip() for at in places if at < len(line) and line[at].strip()), "")


def _epoch_columns(header):
    """Return meaning to the places of the columns that have it."""
    columns = {}
    for name, pattern in _EPOCH.items():
        places = [at for at, title in enumerate(header) if re.fullmatch(pattern, title.strip().lower())]
        if places:
            columns[name] = places
    return columns


def _is_units(values):
    """Say whether a row repeats the header or gives units: no figure in it is a number."""
    figures = [values[name] for name in ("parameters", "stated_compute_flop", "date") if values.get(name)]
    return bool(figures) and not any(re.search(r"\d", figure) for figure in figures)


def claims_of(text):
    """Return the printed claims in a YAML text, a list of mappings.

    Raises
    ------
    NothingToReport
        It has no list ``claims``; the message continues the file's name.
    ParameterError
        A claim lacks something, or its value is no number above zero.
    """
    content = _parsed(text)
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise NothingToReport("must have a list `claims`")
    for claim in content["claims"]:
        value = claim.get("value") if isinstance(claim, dict) else None
        if not finite(value) or value <= 0 or not claim.get("about") or not claim.get("where"):
            raise ParameterError(
                f"`claims`: each must have about, a value above zero, and where; got {claim!r:.300}"
            )
    return content["claims"]
