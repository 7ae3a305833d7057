"""Runs in columns as pandas frames: settings as numbers or levels, sections, and what is left out.

Contract: tables of runs (`tables`) in, frames out; no file is opened.
"""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from traincost.columns import PREFIX, SCORE_PREFIX
from traincost.reading import tables
from traincost.reading.formats.files import parse_json, shortened
from traincost.reading.formats.statuses import UNREADABLE
from traincost.reading.tables import EXACT, EXTENT, coded, printable

NULL = str(None)  # how `formats.run.flat` writes a JSON null
# Neither a leading zero nor a hundred digits: those are names, not quantities.
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")
PLACES = ("host", "device")
_LONG_DIGITS, _MAX_FLOAT32 = 14, 3e38  # no number that a person chose has as many
_IDENTITY = (
    *("run_id", "path", "format", "status", "started_at", "runtime_s", "task", "report", "process"),
    *("evidence", "devices", "device", "host"),
)


def runs_frame(runs, sources):
    """Return a row per run: what identifies it, its settings, costs and scores."""
    identity, config = _identity(runs, sources), _config_columns(runs)
    columns = {
        **identity,
        **config,
        **_places(identity, config),
        **_number_columns(runs, "cost", ""),
        **_number_columns(runs, "scores", SCORE_PREFIX),
    }
    return pd.DataFrame(columns, copy=False)


def _places(identity, config):
    """Return where runs took place as settings, where it varies and no setting says it: host and device."""
    known = {PREFIX + name: identity[name].mask(identity[name] == "") for name in PLACES}
    return {name: column for name, column in known.items() if column.nunique() > 1 and name not in config}


def _identity(runs, sources):
    found = [sources[place] for place in runs["place"].to_pylist()]
    columns = {
        "path": _texts([printable(path) for path, _ in found]),
        "format": _texts([reader for _, reader in found]),
        "runtime_s": runs["runtime_s"].to_numpy(),
        "devices": runs["devices"].to_numpy(),
    }
    return {name: columns[name] if name in columns else _texts(runs[name]) for name in _IDENTITY}


def _texts(values):
    return pd.Series(values.to_pandas() if isinstance(values, pa.ChunkedArray) else values, dtype="str")


def _config_columns(runs):
    """Return a column per setting, in the order in which the runs first set them."""
    rows, names, values = tables.entries(runs["config"])
    levels, codes = coded(values)
    levels, columns = [json.loads(level) for level in levels], {}
    for name, found in _by_name(names):
        column = np.full(len(runs), -1, dtype=np.int32)
        column[rows[found]] = codes[found]
        columns[PREFIX + name] = _series(levels, column)
    return columns


def _by_name(names):
    """Yield each name, in order of first appearance, and the positions at which it stands."""
    levels, codes = coded(names)
    # Small integers are sorted by their digits, in a fraction of the time.
    order = np.argsort(codes.astype(np.uint16) if len(levels) < 2**16 else codes, kind="stable")
    starts = np.cumsum([0, *np.bincount(codes, minlength=len(levels))])
    for name, start, end in zip(levels, starts, starts[1:], strict=False):
        yield name, order[start:end]


def _series(levels, codes):
    """Return levels as numbers where all are, and else as text; code -1 is missing.

    Among numbers a JSON null is missing too; among words it is the level ``None``.

    Text counts as a number if every level reads as one, so that ``1e-3`` and ``0.001`` are
    one level, while a hash among words stays text.
    """
    used, codes = np.unique(codes, return_inverse=True)
    present = _alike([levels[code] if code >= 0 else None for code in used.tolist()])
    numbers = [np.nan if level is None or level == NULL else _number(level) for level in present]
    if None not in numbers and not all(np.isnan(number) for number in numbers):
        table = np.array(numbers, dtype=float)
        return pd.Series((table.astype(np.int64) if _whole(table) else table)[codes])
    return pd.Series(np.array([_text(level) for level in present], dtype=object)[codes], dtype="str")


def _alike(levels):
    """Return levels with one spelling for what is one: truth values, and numbers that were in float32.

    >>> _alike(["true", "FALSE", None]), _alike([0.10000000149011612, 0.1])
    (['True', 'False', None], [0.1, 0.1])
    """
    texts = {level.lower() for level in levels if isinstance(level, str)} - {NULL.lower()}
    numbers = {level for level in levels if isinstance(level, int | float)}
    if texts & _TRUTH.keys() and texts <= _TRUTH.keys() | {"0", "1"} and numbers <= {0, 1}:
        return [_truth(level) for level in levels]
    return [_without_float32(level) if level.__class__ is float else level for level in levels]


_TRUTH = {"true": "True", "false": "False"}


def _truth(level):
    text = str(level).lower()
    if text == NULL.lower():
        return level
    return _TRUTH.get(text) or str(bool(float(text)))


def _without_float32(value):
    """Return the number that was stored as a float of 32 bits, where its digits show that it was."""
    if len(repr(value)) < _LONG_DIGITS or abs(value) > _MAX_FLOAT32:
        return value
    short = np.float32(value)
    return float(str(short)) if float(short) == value and np.isfinite(short) else value


def _number(value):
    """Return a level as a number, or None where it is no finite one."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    number = float(value)
    return _without_float32(number) if np.isfinite(number) else None


def _text(value):
    if isinstance(value, float):
        return f"{value:.15g}"
    return tables.digits(value) if isinstance(value, int) else value


def _number_columns(runs, kind, prefix):
    """Return a column per name, sorted: integers where all are and no run lacks one."""
    rows, names, values = tables.entries(runs[kind])
    values, columns = values.to_numpy(), {}
    for name, found in sorted(_by_name(names), key=lambda entry: entry[0]):
        column = np.full(len(runs), np.nan)
        column[rows[found]] = values[found]
        columns[prefix + name] = column.astype(np.int64) if _whole(column) else column
    return columns


def _whole(numbers):
    return bool((numbers == np.round(numbers)).all() and (abs(numbers) <= EXACT).all())


def sections_frame(runs):
    """Return a row per run and section."""
    rows, names, *values = tables.entries(runs["sections"])
    numbers = zip(("seconds", "count", *EXTENT), (value.to_numpy() for value in values), strict=True)
    return pd.DataFrame({"run": rows, "section": _texts(names), **dict(numbers)}, copy=False)


def excluded_frame(runs, listing):
    """Return a row per run that is left out, with the reason."""
    frame = pd.DataFrame({**_identity(runs, listing.sources), "reason": _texts(runs["reason"])})
    if listing.unopened:
        paths = [printable(path) for path, _ in listing.unopened]
        unopened = {name: [""] * len(paths) for name in _IDENTITY} | {
            "run_id": [path.rpartition("/")[2] for path in paths],
            "path": paths,
            "status": [UNREADABLE] * len(paths),
            "reason": [reason for _, reason in listing.unopened],
        }
        last = pd.DataFrame({name: _texts(unopened[name]) for name in frame})
        last[["runtime_s", "devices"]] = np.nan
        frame = pd.concat([frame, last], ignore_index=True)
    frame["reason"] = _texts([shortened(reason) for reason in frame["reason"]])
    identity, config = _identity(runs, listing.sources), _config_columns(runs)
    config = pd.DataFrame({**config, **_places(identity, config)}, index=range(len(runs)))
    return pd.concat([frame, config.reindex(frame.index)], axis=1)


def notes_frame(runs, sources):
    """Return a row per note: what was left out of a run that is used."""
    rows = np.repeat(np.arange(len(runs)), pc.list_value_length(runs["notes"]).to_numpy())
    places = runs["place"].to_numpy()[rows].tolist()
    return pd.DataFrame(
        {
            "path": _texts([printable(sources[place][0]) for place in places]),
            "run_id": _texts(runs["run_id"].take(rows)),
            "note": _texts(pc.list_flatten(runs["notes"])),
        }
    )


def parts_frame(parts, sources):
    """Return a row per source that belongs to the run at another path."""
    rows = [(printable(sources[place][0]), sources[place][1], printable(owner)) for place, owner in parts]
    return pd.DataFrame(rows, columns=["path", "format", "part_of"])


def compute_blocks(runs):
    """Return the compute blocks; runs whose blocks are equal share one."""
    levels, codes = coded(runs["compute"])
    parsed = [parse_json(text.encode()) if text else None for text in levels]
    return {i: parsed[code] for i, code in enumerate(codes.tolist()) if levels[code]}
