"""The CSV that a training writes row by row: names may be padded, and the last row may be cut."""

import csv
import io

from traincost.columns import finite
from traincost.reading.formats.files import Unreadable, head_of, read_bytes, shortened

MAX_CSV_MIB = 64
MAX_NAMES = 1_000
MAX_ROWS = 1_000_000
SEPARATORS = ",;\t"


def names_in(path):
    """Return the names in the first line of a file, without their padding; none where it has no such line."""
    first = head_of(path, 2**15).decode("utf-8", "replace").partition("\n")[0]
    separator = max(SEPARATORS, key=first.count)
    return [name.strip().strip('"') for name in first.strip().split(separator)] if separator in first else []


def rows_of(path, notes):
    """Return the names of a file, and its rows as lists of numbers, None where a cell is none.

    What is wrong with it is noted; a row that is shorter than the names is cut, and left out.
    """
    try:
        text = read_bytes(path, MAX_CSV_MIB).decode("utf-8", "replace")
    except Unreadable as problem:
        notes.append(f"{path.rpartition('/')[2]} {problem}")
        return [], []
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows = []
    try:
        names = [name.strip() for name in next(lines, [])][:MAX_NAMES]
        for cells in lines:
            if len(cells) >= len(names) and len(rows) < MAX_ROWS:
                rows.append([number(cell) for cell in cells[: len(names)]])
    except csv.Error as problem:
        notes.append(f"{path.rpartition('/')[2]} is not whole CSV: {shortened(str(problem))}")
        return [], []
    return names, rows


def number(text):
    """Return a finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if finite(value) else None


def column(names, rows, name):
    """Return the numbers of a column; empty where there is none of that name."""
    return [row[names.index(name)] for row in rows] if name in names else []


def last_of(names, rows):
    """Return each name to its last number."""
    found = {}
    for row in rows:
        found.update((name, value) for name, value in zip(names, row, strict=True) if value is not None)
    return found


def legs(times, order):
    """Return the sum of a cumulative time that starts anew while the order goes on, and its number of legs.

    >>> legs([10.0, 20.0, 5.0, 15.0], [1, 2, 3, 4])
    (35.0, 2)
    """
    total, count, before, before_step = 0.0, 1, None, None
    for at, step in zip(times, order or [None] * len(times), strict=False):
        if at is None:
            continue
        if before is not None and at < before:
            went_on = step is None or before_step is None or step >= before_step
            total, count = (total + before, count + 1) if went_on else (total, count)
        before, before_step = at, step
    return (total + before, count) if before is not None else (None, 0)
