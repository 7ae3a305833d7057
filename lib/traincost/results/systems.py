"""Read published systems, or one's own runs, for the estimation card."""

import os
from dataclasses import replace

from traincost.analysis.subsets import rows_where, subset
from traincost.errors import NothingToReport, ParameterError, brief
from traincost.estimation import lists, systems
from traincost.reading import remote
from traincost.reading.collection import read_collection
from traincost.reading.formats.files import Unreadable, read_bytes
from traincost.results.runs import Runs


def read_systems(source, format="auto", path_pattern="", where=None):
    """Read a sheet (YAML), a CSV of systems, or a directory of runs with compute blocks.

    `source` is a path, a URL, or `Runs` that were read already; `format` and `path_pattern` are those
    of `collection.read_collection`, for runs. `where` says which runs are taken, by their settings, or which
    systems, by the columns of `estimation.systems.Systems`, which is returned: ``{"domain": ["Language"]}``.
    Raises `NothingToReport` for a file that cannot be read or used, `ParameterError` for such a `where`.
    """
    if where and not isinstance(where, dict):
        raise ParameterError(f"`where` must be a mapping of settings to levels, got {brief(where)}")
    where = {name: kept if isinstance(kept, list | dict) else [kept] for name, kept in (where or {}).items()}
    if isinstance(source, Runs):
        source = source.where(where) if where else source
        return replace(_named(source.label, systems.from_runs, source.collection), name=source.label)
    path = os.fspath(source)
    if os.path.isdir(path) or remote.is_url(path):
        collection = subset(read_collection(path, format, path_pattern=path_pattern), where)
        return _named(remote.shown(path), systems.from_runs, collection)
    text, problems = _named(path, _decoded, path)
    name, ending = os.path.splitext(os.path.basename(path))
    parse = lists.from_csv if ending.lower() == ".csv" else systems.from_sheet
    found = _named(path, parse, text, name, problems)
    kept = rows_where(found.frame, where)
    if not kept.any():
        raise NothingToReport(f"{path!r} holds no system where {where}")
    return found if kept.all() else replace(found, frame=found.frame[kept].reset_index(drop=True))


def read_claims(path):
    """Return the printed claims in a YAML file, a list of mappings; none for an empty path.

    Raises `NothingToReport` for a file without a list ``claims``, `ParameterError` for a claim that is none.
    """
    path = os.fspath(path)
    return _named(path, lambda: systems.claims_of(read_bytes(path).decode("utf-8"))) if path else []


def _named(path, function, *arguments):
    """Call a function; where it refuses what it was given, the message begins with the path."""
    try:
        return function(*arguments)
    except (Unreadable, UnicodeDecodeError, NothingToReport) as problem:
        raise NothingToReport(f"{path!r} {problem}") from None


def _decoded(path):
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError as problem:
        reason = f"is not UTF-8 (byte {problem.start}); read as Latin-1, so names may look wrong"
        return content.decode("latin-1"), [(0, "", "", reason)]
