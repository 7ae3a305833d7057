"""Rows of a table: CSV, JSON or Parquet, without guesses about what a cell means.

A CSV's cells are text, and an empty one is missing; so ``NA`` and ``nan`` are text, and ``007``
keeps its zeros. JSON and Parquet have types of their own; nested values become dotted columns, and
a duration is a text with its unit (``3607.362 s``). The index of a pandas frame is dropped.
"""

import datetime
import json
import os

import pyarrow as pa

from traincost.reading.formats.files import Unreadable, head_of, parse_json, read_bytes, read_head, shortened
from traincost.reading.formats.run import flat
from traincost.reading.formats.table_text import INDEX, cells, decoded, plain

MAX_TABLE_MIB = 64
MAX_ROWS = 200_000
MAX_CELLS = 4_000_000
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
MAYBE = ".txt"  # of tables among much else: those whose first line names what SLURM's accounting does
_BATCH = 10_000


def read_rows(path):
    """Return the columns of a table, and its rows as (column to value, why the row cannot be used).

    A value is an int, float or text; missing cells are left out. Raises `Unreadable`.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS and not is_maybe(path):
        raise Unreadable(f"is no table that can be read; it must end in {', '.join(ENDINGS)}")
    if ending == ".parquet":
        return _parquet(path)
    content = read_bytes(path, MAX_TABLE_MIB)
    if ending in (".csv", ".tsv", MAYBE):
        return _csv(decoded(content))
    content = content.removeprefix(b"\xef\xbb\xbf")
    return _json_list(content) if ending == ".json" else _json_lines(content)


def is_maybe(path):
    """Say whether a text file is a table after all: what ``sacct`` printed."""
    is_text = os.path.splitext(path)[1].lower() == MAYBE
    first = head_of(path, 1024).partition(b"\n")[0] if is_text else b""
    return b"JobID" in first and b"State" in first


def is_list(path):
    """Say whether a JSON file begins as a list does: any other is no table."""
    try:
        return read_head(path, 256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    except Unreadable:
        return True  # and say why it cannot be read


def _csv(text):
    lines, separator = cells(text)
    names = [name.strip() if separator == " " else name for name in next(lines, [])]
    columns = [name for name in names if not INDEX.fullmatch(name)]
    _check_columns(columns)
    rows = []
    for line in lines:
        found = zip(names, line, strict=False)
        row = {name: cell for name, cell in found if cell != "" and not INDEX.fullmatch(name)}
        is_whole = len(line) == len(names)
        rows.append((row, "" if is_whole else f"has {len(line)} cells under {len(names)} columns"))
        _check_size(len(rows), len(columns))
    return columns, plain(columns, rows, separator)


def _json_list(content):
    """Read a list of objects, as pandas writes the records of a frame."""
    found = parse_json(content)
    if not isinstance(found, list) or not found or not all(isinstance(entry, dict) for entry in found):
        raise Unreadable("is no table: it holds no list of JSON objects")
    _check_size(len(found), 1, sum(map(len, found)))
    rows = [(_flat(entry), "") for entry in found]
    columns = {name: None for row, _ in rows for name in row}
    _check_columns(list(columns))
    return list(columns), rows


def _json_lines(content):
    columns, rows, n_cells = {}, [], 0
    for line in filter(bytes.strip, content.splitlines()):
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
            columns = [name for name in file.schema_arrow.names if not INDEX.fullmatch(name)]
            _check_columns(columns)
            rows = []
            for batch in file.iter_batches(_BATCH, columns=columns):
                for row in _without_nanoseconds(batch).to_pylist():
                    cells = {name: _plain(value) for name, value in row.items() if value is not None}
                    rows.append((_flat(cells), ""))
        return list(dict.fromkeys(name for row, _ in rows for name in row) or columns), rows
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise Unreadable(f"is no Parquet that can be read: {shortened(problem, 120)}") from None


def _check_parquet(metadata):
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if size > MAX_TABLE_MIB * 2**20:
        raise Unreadable(f"unpacks to more than {MAX_TABLE_MIB} MiB")
    _check_size(metadata.num_rows, metadata.num_columns)


def _without_nanoseconds(batch):
    """Return a batch whose durations Python can hold: those in nanoseconds become microseconds."""
    for i, column in enumerate(batch.schema):
        if pa.types.is_duration(column.type) and column.type.unit == "ns":
            values = batch.column(i).cast(pa.duration("us"), safe=False)
            batch = batch.set_column(i, column.name, values)
    return batch


def _flat(cells):
    """Return cells with what is nested flattened; the name of a column stays, a dot in it included."""
    flattened = {}
    for name, value in cells.items():
        found = flat({"": value}, [])
        flattened |= {name + path: level for path, level in found.items()}
    return flattened


def _plain(value):
    """Return a value of JSON's types; a duration, a time, a decimal or bytes as text."""
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds()!r} s"
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
