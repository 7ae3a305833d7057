"""A table with a row per run, read as a listing whose sources are its rows."""

import os

from traincost.errors import NothingToReport, ParameterError
from traincost.reading import tables
from traincost.reading.formats import table as _table
from traincost.reading.formats import table_files
from traincost.reading.formats.files import Unreadable
from traincost.reading.listing import Listing, is_url
from traincost.reading.redaction import Redactor
from traincost.reading.tables import printable


def is_table(runs_dir):
    """Say whether a path is that of a table of runs."""
    if not isinstance(runs_dir, str | os.PathLike) or is_url(runs_dir):
        return False
    ending = os.path.splitext(os.fspath(runs_dir))[1].lower()
    if not os.path.isfile(runs_dir):
        return False
    if ending == ".json":
        return table_files.is_list(os.fspath(runs_dir))
    return ending in table_files.ENDINGS or table_files.is_maybe(os.fspath(runs_dir))


def read_table(path, format, table, rule):
    """Return a listing of the rows of a table, their batch, and the title of tables."""
    if format not in ("auto", _table.NAME):
        raise ParameterError(f"`format` must be auto or {_table.NAME} for a table, got {format!r}")
    try:
        rows = _table.read_runs(path, table or _table.Table())
    except Unreadable as problem:
        raise NothingToReport(f"runs_dir {path!r} {problem}") from None
    name = printable(os.path.splitext(os.path.basename(os.path.realpath(path)))[0])
    listing = Listing(path, name, [(place, _table.NAME) for place, _ in rows], [])
    found = [([run], "") for _, run in rows]
    return listing, [tables.tabulated(range(len(rows)), found, Redactor(rule))], [_table.TITLE]
