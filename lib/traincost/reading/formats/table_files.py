"""Rows of a table: CSV, JSON lines or Parquet, without guesses about what a cell means.

A CSV's cells are text, and an empty one is missing; so ``NA`` and ``nan`` are text, and ``007``
keeps its zeros. JSON and Parquet have types of their own; nested values become dotted columns.
"""

import csv
import io
import json
import os

import pyarrow as pa

from traincost.reading.formats.files import Unreadable, parse_json, read_bytes, read_head, shortened
from traincost.reading.formats.run import flat

MAX_TABLE_MIB = 64
MAX_ROWS = 200_000
MAX_CELLS = 4_000_000
ENDINGS = (".csv", ".jsonl", ".ndjson", ".parquet")
_BATCH = 10_000


def read_rows(path):
    """Return the columns of a table, and its rows as (column to value, why the row cannot be used).

    A value is an int, float or text; missing cells are left out. Raises `Unreadable`.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise Unreadable(f"is no table that can be read; it must end in {', '.join(ENDINGS)}")
    if ending == ".parquet":
        return _parquet(path)
    content = read_bytes(path, MAX_TABLE_MIB).removeprefix(b"\xef\xbb\xbf")
    return _csv(content) if ending == ".csv" else _json_lines(content)


def _csv(content):
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise Unreadable(f"is not UTF-8: {problem.reason} at byte {problem.start}") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        columns = next(lines, [])
        _check_columns(columns)
        rows = []
        for cells in lines:
            if cells:
                rows.append(_csv_row(columns, cells))
                _check_size(len(rows), len(columns))
    except csv.Error as problem:
        raise Unreadable(f"is no whole CSV: line {lines.line_num}: {shortened(problem, 80)}") from None
    return columns, rows


def _csv_row(columns, cells):
    row = {name: cell for name, cell in zip(columns, cells, strict=False) if cell != ""}
    reason = "" if len(cells) == len(columns) else f"has {len(cells)} cells under {len(columns)} columns"
    return row, reason


def _json_lines(content):
    columns, rows, n_cells = {}, [], 0
    for line in content.splitlines():
        if not line.strip():
            continue
        row, reason = _json_row(line)
        rows.append((row, reason))
        columns.update(dict.fromkeys(row))
        n_cells += len(row)
        _check_size(len(rows), 1, n_cells)
    _check_columns(list(columns))
    return list(columns), rows


def _json_row(line):
    try:
        value = parse_json(line)
    except Unreadable as problem:
        return {}, str(problem)
    if not isinstance(value, dict):
        return {}, f"is a JSON {type(value).__name__}, not an object"
    return _flat(value), ""


def _parquet(path):
    import pyarrow.parquet as pq

    read_head(path, 4)  # it is a regular file, and is noted as used
    try:
        with pq.ParquetFile(path) as file:
            _check_parquet(file.metadata)
            columns = list(file.schema_arrow.names)
            _check_columns(columns)
            rows = []
            for batch in file.iter_batches(_BATCH):
                rows += [(row, "") for row in _batch_rows(batch)]
        return list(dict.fromkeys(name for row, _ in rows for name in row) or columns), rows
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise Unreadable(f"is no Parquet that can be read: {shortened(problem, 120)}") from None


def _check_parquet(metadata):
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if size > MAX_TABLE_MIB * 2**20:
        raise Unreadable(f"unpacks to more than {MAX_TABLE_MIB} MiB")
    _check_size(metadata.num_rows, metadata.num_columns)


def _batch_rows(batch):
    """Yield rows: a column's name stands as it is, a dot in it included; what is nested is flattened."""
    for row in batch.to_pylist():
        cells = {name: _plain(value) for name, value in row.items() if value is not None}
        yield _flat(cells)


def _flat(cells):
    flattened = {}
    for name, value in cells.items():
        found = flat({"": value}, [])
        flattened |= {name + path: level for path, level in found.items()}
    return flattened


def _plain(value):
    """Return a value of JSON's types; a time, a decimal or bytes as text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return json.loads(json.dumps(value, default=str)) if isinstance(value, dict | list) else str(value)


def _check_columns(columns):
    if not columns:
        raise Unreadable("is empty")
    twice = next((name for i, name in enumerate(columns) if name in columns[:i]), None)
    if twice is not None:
        raise Unreadable(f"has two columns {shortened(twice, 80)!r}")


def _check_size(n_rows, n_columns, n_cells=0):
    if n_rows > MAX_ROWS:
        raise Unreadable(f"holds more than {MAX_ROWS} rows")
    if max(n_rows * n_columns, n_cells) > MAX_CELLS:
        raise Unreadable(f"holds more than {MAX_CELLS} cells")
