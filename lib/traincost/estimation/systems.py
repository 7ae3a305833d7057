"""Published systems and what their papers report: sheets and CSV files to frames.

The counterpart of `collection` for the estimation card, and like it the only place that reads:
a row that cannot be used is listed with its name, column and reason, and the rest goes on.

A *sheet* is a YAML file with a list ``systems``; each has ``system``, ``date``, ``domain``,
``source`` and ``figures``, what the paper states: a number, or a mapping with ``value``,
``at`` (section or table) and ``printed`` (the words as printed). A *CSV* has the column names
of Epoch AI's databases, old or new.
"""

import csv
import io
import os
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import yaml

from traincost.columns import finite
from traincost.errors import NothingToReport, ParameterError
from traincost.estimation.accelerators import PRECISIONS
from traincost.estimation.compute import (
    REPORTED,
    STAGES,
    WHOLE_RUN,
    Stage,
    hardware_burden,
    network_operations,
)
from traincost.reading import remote
from traincost.reading.collection import read_collection
from traincost.reading.formats.files import Unreadable, read_bytes, shortened

# What a figure is called in a sheet, and here. Units are in the names.
FIGURES = (
    "parameters",
    "frozen_parameters",
    "tokens",
    "epochs",
    "examples",
    "flop_per_pass",
    "multiply_adds_per_pass",
    "processor",
    "precision",
    "processors",
    "time_s",
    "processor_hours",
    "utilisation",
    "stated_compute_flop",
    "operations_flop",
    "operations_note",
    "burden_flop",
    "rate_flop_per_s",
    "error",
)
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


def read_systems(path, format="auto", path_pattern=""):
    """Read a sheet (YAML), a CSV of systems, or a directory of runs with compute blocks.

    `format` and `path_pattern` are those of `collection.read_collection`, for runs.

    Returns
    -------
    Systems

    Raises
    ------
    NothingToReport
        The file cannot be read, or holds no system that can be used.
    """
    path = os.fspath(path)
    if os.path.isdir(path) or remote.is_url(path):
        return _runs(path, format, path_pattern)
    try:
        content = read_bytes(path)
    except Unreadable as problem:
        raise NothingToReport(f"{path!r} {problem}") from None
    name = os.path.splitext(os.path.basename(path))[0]
    text, rejected = _decoded(content)
    if path.lower().endswith(".csv"):
        rows, where, left_out = _csv_rows(text, rejected), [], []
    else:
        rows, where, left_out = _sheet_rows(text, path, rejected)
    if not rows:
        why = f"; the first problem: {rejected[0][3]}" if rejected else ""
        raise NothingToReport(f"{path!r} holds no system that can be used{why}")
    return _systems(name, rows, where, rejected, left_out)


def _systems(name, rows, where, rejected, left_out=()):
    rows = [{"burden_time": REPORTED, **row} for row in rows]
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


def _decoded(content):
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError as problem:
        reason = f"is not UTF-8 (byte {problem.start}); read as Latin-1, so names may look wrong"
        return content.decode("latin-1"), [(0, "", "", reason)]


# -- values --------------------------------------------------------------------------------


def number(value):
    """Return a figure as a float: 3e23, "3E+23", "1,200,000" or 5; ValueError for anything else."""
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", text):  # a decimal comma is no thousands comma
            text = text.replace(",", "")
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
            raise ValueError(f"must be a number, got {shortened(repr(value), 60)}")
        value = float(text)
    if not finite(value):
        raise ValueError(f"must be a finite number, got {shortened(repr(value), 60)}")
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
    raise ValueError(f"must be one date, got {shortened(repr(value), 60)}")


def _checked(row_number, row, rejected):
    """Return a row with its figures as numbers; what is unusable is missing and listed."""
    name = str(row.get("system") or "").strip()
    if not name:
        if not any(row.get(figure) for figure in FIGURES):
            rejected.append((row_number, "", "system", "the row names no system and reports nothing"))
            return None
        name = f"(unnamed, row {row_number})"
        rejected.append((row_number, name, "system", "the row names no system; its figures are used"))
    checked = {"system": name, "domain": row.get("domain"), "source": row.get("source"), "date": pd.NaT}
    if row.get("date") in (None, ""):
        rejected.append((row_number, name, "date", "has no date: it is in no trend"))
    else:
        try:
            checked["date"] = date(row["date"])
        except ValueError as problem:
            rejected.append((row_number, name, "date", f"{problem}: it is in no trend"))
    for figure in FIGURES:
        value = row.get(figure)
        if value in (None, "") or (isinstance(value, float) and np.isnan(value)):
            continue
        try:
            checked[figure] = _figure(figure, value)
        except ValueError as problem:
            rejected.append((row_number, name, figure, str(problem)))
    return checked


def _figure(figure, value):
    if figure == "precision":
        if str(value).lower() not in PRECISIONS:
            raise ValueError(f"must be one of {', '.join(PRECISIONS)}, got {shortened(repr(value), 60)}")
        return str(value).lower()
    if figure in _TEXT_FIGURES:
        return str(value)
    value = number(value)
    if value <= 0:
        raise ValueError(f"must be above zero, got {value:g}")
    if figure == "error" and value >= 1:
        raise ValueError(f"must be a fraction below one, got {value:g}")
    return value


class _TextDates(yaml.SafeLoader):
    """The safe loader without dates: one that is none would take the whole file down."""


_TextDates.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


# -- sheets --------------------------------------------------------------------------------


def _sheet_rows(text, path, rejected):
    try:
        sheet = _TextDates(text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise NothingToReport(f"{path!r} is no YAML: {shortened(problem)}") from None
    systems = sheet.get("systems") if isinstance(sheet, dict) else None
    if not isinstance(systems, list):
        raise NothingToReport(f"{path!r} is no sheet of systems: it has no list `systems`")
    rows, where = [], []
    for i, entry in enumerate(systems[:MAX_SYSTEMS], start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("figures"), dict):
            name = entry.get("system", "") if isinstance(entry, dict) else ""
            rejected.append((i, str(name), "figures", "must be a mapping of what the paper states"))
            continue
        row = {key: entry.get(key) for key in IDENTITY}
        for figure, stated in entry["figures"].items():
            if figure not in FIGURES:
                reason = f"is no figure that is known; the figures are {', '.join(FIGURES)}"
                rejected.append((i, str(row["system"] or ""), str(figure), reason))
                continue
            parts = stated if isinstance(stated, dict) else {"value": stated}
            row[figure] = parts.get("value")
            at, printed = str(parts.get("at") or ""), str(parts.get("printed") or "")
            source = str(row["source"] or "")
            value = _as_stated(parts.get("value"))
            where.append((str(row["system"] or ""), source, figure, value, at, printed))
        checked = _checked(i, row, rejected)
        if checked:
            rows.append(checked)
    if len(systems) > MAX_SYSTEMS:
        rejected.append((MAX_SYSTEMS + 1, "", "", f"systems beyond the first {MAX_SYSTEMS} are not read"))
    return rows, where, _left_out(sheet.get("left_out"))


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


# -- one's own runs -------------------------------------------------------------------------


def _operations(block):
    """Return what a compute block's stages give: operations, and burden where they state it."""
    stages = [Stage.of(stage) for stage in block.get("stages") or []]
    found = {"operations_flop": network_operations(stages)}
    found["operations_note"] = _operations_note(stages)
    if all(stage.rate_flops_per_s is not None and stage.time_s is not None for stage in stages):
        found["burden_flop"] = hardware_burden(stages)
        found["rate_flop_per_s"] = stages[0].rate_flops_per_s
    return found


def _operations_note(stages):
    factors = sorted({stage.forward_backward for stage in stages if stage.counted_flop is None})
    worth = ", ".join(f"{factor:g}" for factor in factors)
    notes = [f"eq. 1, a training step = {worth} × a forward pass"] if factors else []
    if any(stage.counted_flop is not None for stage in stages):
        notes.append("counted while training, forward and backward")
    return "; ".join(notes)


def _runs(path, format, path_pattern):
    """Return the runs of a directory as systems, by the compute blocks of their records."""
    collection = read_collection(path, format, path_pattern=path_pattern)
    rows, rejected = [], []
    for i, run in enumerate(collection.runs.itertuples()):
        block = collection.compute.get(i)
        if block is None:
            rejected.append((i, run.run_id, "compute", "has no compute block"))
            continue
        row = {"system": run.run_id, "domain": "", "source": run.path, "date": run.started_at or None}
        row |= {"processors": block.get("processors"), "rate_flop_per_s": block.get("rate_flops_per_s")}
        row["time_s"] = run.runtime_s
        try:
            row |= _operations(block)
        except (TypeError, ValueError, AttributeError) as problem:
            rejected.append((i, run.run_id, "stages", str(problem)))
        checked = _checked(i, row, rejected)
        if checked:
            # Stages that lack a time or a rate leave the run's own, evaluation and all.
            checked["burden_time"] = STAGES if "burden_flop" in checked else WHOLE_RUN
            rows.append(checked)
    for run in collection.excluded.itertuples():
        rejected.append((0, run.run_id, "", f"is not counted: {run.reason}"))
    if not rows:
        raise NothingToReport(
            f"no run under {remote.shown(path)!r} has a compute block; Recorder.compute takes stages, "
            "processors and rate_flops_per_s"
        )
    return _systems(collection.name, rows, [], rejected)


# -- CSV -----------------------------------------------------------------------------------


def _csv_rows(text, rejected):
    try:
        table = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as problem:
        rejected.append((0, "", "", f"is no CSV: {problem}"))
        return []
    if not table:
        return []
    columns = _epoch_columns(table[0])
    if "system" not in columns:
        rejected.append((1, "", "", "the header names no column System or Model"))
        return []
    rows = []
    for i, line in enumerate(table[1 : MAX_SYSTEMS + 1], start=2):
        values = {"system": ""}
        for name, places in columns.items():
            # Of several columns of one meaning (MFU, HFU), the first that is filled.
            values[name] = next(
                (line[at].strip() for at in places if at < len(line) and line[at].strip()), ""
            )
        if _is_units(values):
            rejected.append((i, values.get("system", ""), "", "is a row of units, not a system"))
            continue
        if values.get("time_h"):
            try:
                values["time_s"] = number(values["time_h"]) * 3600
            except ValueError as problem:
                rejected.append((i, values["system"], "time_s", str(problem)))
        checked = _checked(i, values, rejected)
        if checked:
            rows.append(checked)
    if len(table) - 1 > MAX_SYSTEMS:
        rejected.append((MAX_SYSTEMS + 2, "", "", f"rows beyond the first {MAX_SYSTEMS} are not read"))
    return rows


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


def read_claims(path):
    """Return the printed claims in a YAML file, a list of mappings; none for an empty path.

    Raises
    ------
    NothingToReport
        The file cannot be read, or has no list ``claims``.
    ParameterError
        A claim lacks something, or its value is no number above zero.
    """
    if not path:
        return []
    try:
        claims = yaml.safe_load(read_bytes(path).decode("utf-8"))
    except Unreadable as problem:
        raise NothingToReport(f"{path!r} {problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise NothingToReport(f"{path!r} is no YAML: {shortened(problem)}") from None
    if not isinstance(claims, dict) or not isinstance(claims.get("claims"), list):
        raise NothingToReport(f"{path!r} must have a list `claims`")
    for claim in claims["claims"]:
        value = claim.get("value") if isinstance(claim, dict) else None
        if not finite(value) or value <= 0 or not claim.get("about") or not claim.get("where"):
            raise ParameterError(
                f"`claims`: each must have about, a value above zero, and where; got {shortened(claim)}"
            )
    return claims["claims"]
