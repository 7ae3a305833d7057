"""Text of a table to rows of text: encodings, separators, and what spreadsheets and pandas add."""

import csv
import io
import re

from traincost.reading.formats.files import Unreadable, shortened

SEPARATORS = ",;\t|"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SEP = re.compile(r"sep=(.)\s*")  # a first line that Excel writes and reads
_DASHES = re.compile(r"-+(?: +-+)*\s*")  # below the names in what sacct prints for people
# Names that pandas gives an index, when it is written with a frame.
INDEX = re.compile(r"|Unnamed: \d+(\.\d+)*(_level_\d+)?|__index_level_\d+__")


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
