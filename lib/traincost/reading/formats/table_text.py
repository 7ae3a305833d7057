"""Text of a table to rows of text: encodings, separators, and what spreadsheets and pandas add.

Thousands separators and decimal commas in its numbers are decided by column, or refused.
"""

import csv
import io
import re

from traincost.errors import ParameterError
from traincost.reading.formats.files import Unreadable, shortened

SEPARATORS = ",;\t|"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SEP = re.compile(r"sep=(.)\s*")  # a first line that Excel writes and reads
_DASHES = re.compile(r"-+(?: +-+)*\s*")  # below the names in what sacct prints for people
# Names that pandas gives an index, when it is written with a frame.
INDEX = re.compile(r"|Unnamed: \d+(\.\d+)*(_level_\d+)?|__index_level_\d+__")
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:([,' \u00a0\u202f\u2019])\d{3})(?:\1\d{3})*(\.\d+)?")
_EUROPEAN = re.compile(r"[+-]?(\d{1,3}(?:\.\d{3})+|\d+),\d+([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_SIGNS = ",' \u00a0\u202f\u2019"


def decoded(content):
    """Return the text of a file; a byte-order mark tells its encoding. Raises `Unreadable`."""
    encoding = "utf-16" if content.startswith(_UTF16) else "utf-8"
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        name = encoding.upper()
        raise Unreadable(f"is not {name}: {problem.reason} at byte {problem.start}") from None


def cells(text):
    """Yield the cells of each row of a text, the names first, and return which sign parts them.

    Returns an iterator of lists, and the separator; a space stands for columns of fixed width.
    """
    first, _, rest = text.partition("\n")
    given = _SEP.fullmatch(first)
    if given:
        return _rows(rest, given[1]), given[1]
    second = rest.partition("\n")[0]
    if _DASHES.fullmatch(second) and second.strip():
        return _fixed(text), " "
    separator = max(SEPARATORS, key=first.count)
    return _rows(text, separator), separator


def _rows(text, separator):
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        yield from (row for row in lines if row)
    except csv.Error as problem:
        raise Unreadable(f"is no whole CSV: line {lines.line_num}: {shortened(problem, 80)}") from None


def _fixed(text):
    """Yield the cells of columns of fixed width, as the dashes in the second line mark them."""
    lines = text.splitlines()
    places = [match.span() for match in re.finditer(r"-+", lines[1])]
    for i, line in enumerate(lines):
        if i != 1 and line.strip():
            yield [line[start:end].strip() for start, end in places]


# -- numbers -----------------------------------------------------------------------------------


def plain(columns, rows, separator):
    """Return rows whose numbers are written with a decimal point and nothing else.

    A comma is decimal in a whole table that semicolons, tabs or bars part, where no number in it has
    a point. Otherwise it groups thousands where all numbers of its column can be read so: all of
    a column or none, never only the short ones.
    """
    by_column = {name: [row[name] for row, _ in rows if name in row] for name in columns}
    texts = [cell.strip() for found in by_column.values() for cell in found]
    has_commas = separator != "," and any(map(_EUROPEAN.fullmatch, texts))
    if has_commas and not any(map(_POINT.fullmatch, texts)):
        written, signs = _EUROPEAN, str.maketrans(",", ".", ".")
        names = {name for name, found in by_column.items() if any("," in cell for cell in found)}
    else:
        written, signs = _GROUPED, str.maketrans("", "", _SIGNS)
        names = {name for name, found in by_column.items() if _is_grouped(found)}

    def read(name, cell):
        is_read = name in names and written.fullmatch(cell.strip())
        return cell.strip().translate(signs) if is_read else cell

    if not names:
        return rows
    return [({name: read(name, cell) for name, cell in row.items()}, reason) for row, reason in rows]


def _is_grouped(found):
    """Say whether some numbers of a column have groups of thousands, and all others none or such too."""
    matches = [_GROUPED.fullmatch(cell.strip()) for cell in found if not set(_SIGNS).isdisjoint(cell)]
    if not all(matches) or len({match[1] for match in matches}) != 1:
        return False
    return all(_PLAIN.fullmatch(c.strip()) or _GROUPED.fullmatch(c.strip()) or not c.strip() for c in found)


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
