"""Numbers in the text of a table: thousands separators and decimal commas, decided by column or refused."""

import re

from traincost.errors import ParameterError
from traincost.reading.formats.files import shortened

MAX_DIGITS = 400
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:([,' \u00a0\u202f\u2019])\d{3})(?:\1\d{3})*(\.\d+)?")
_EUROPEAN = re.compile(r"[+-]?(\d{1,3}(?:\.\d{3})+|\d+),\d+([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_SIGNS = re.compile(r"[,' \u00a0\u202f\u2019]")


def plain(columns, rows, separator):
    """Return rows whose numbers are written with a decimal point and nothing else.

    A comma is decimal in a whole table that semicolons, tabs or bars part, where no number in it has
    a point. Otherwise it groups thousands where all numbers of its column can be read so: all of
    a column or none, never only the short ones.
    """
    by_column = {name: [row[name] for row, _ in rows if name in row] for name in columns}
    if separator != "," and _has_decimal_commas(by_column):
        readings = {name: _from_european for name, found in by_column.items() if any("," in c for c in found)}
    else:
        readings = {name: _from_grouped for name, found in by_column.items() if _is_grouped(found)}
    if not readings:
        return rows
    return [
        ({name: readings[name](cell) if name in readings else cell for name, cell in row.items()}, reason)
        for row, reason in rows
    ]


def _has_decimal_commas(by_column):
    cells = [cell.strip() for found in by_column.values() for cell in found]
    has_commas = any(_EUROPEAN.fullmatch(cell) for cell in cells)
    return has_commas and not any(_POINT.fullmatch(cell) for cell in cells)


def _from_european(cell):
    return cell.strip().replace(".", "").replace(",", ".") if _EUROPEAN.fullmatch(cell.strip()) else cell


def _is_grouped(found):
    """Say whether some numbers of a column have groups of thousands, and all others none or such too."""
    matches = [(_GROUPED.fullmatch(cell.strip()), cell) for cell in found if _SIGNS.search(cell)]
    signs = {match[1] for match, _ in matches if match}
    if len(signs) != 1 or not all(match for match, _ in matches):
        return False
    return all(_PLAIN.fullmatch(c.strip()) or _GROUPED.fullmatch(c.strip()) or not c.strip() for c in found)


def _from_grouped(cell):
    return _SIGNS.sub("", cell.strip()) if _GROUPED.fullmatch(cell.strip()) else cell


def refuse_ambiguous(name, found):
    """Raise `ParameterError` where some cells of a column have a comma that may be either kind.

    `found` are the cells of the column of runtimes as they were: left as they are, its long runs would
    be dropped and the short ones stay.
    """
    odd = [cell for cell in found if "," in cell and not _PLAIN.fullmatch(cell.strip())]
    numbers = [cell for cell in found if _PLAIN.fullmatch(cell.strip())]
    if odd and numbers and all(re.fullmatch(r"[+-]?[\d.,' ]+", cell.strip()) for cell in odd):
        raise ParameterError(
            f"`runtime_column`: cells of {name!r} are written in more than one way, such as "
            f"{shortened(odd[0], 40)!r} beside {shortened(numbers[0], 40)!r}: write them with a decimal "
            "point and no other sign"
        )
