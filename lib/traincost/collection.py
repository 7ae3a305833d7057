"""A directory of runs as frames; the only place that walks a tree.

`read_collection` never fails for what a run contains: a run that cannot be used is a row of
``excluded`` with its path and the reason, and its hours, where they are known, stay in sight.
"""

import os
import re
from dataclasses import dataclass, field, fields

import numpy as np
import pandas as pd

from traincost import fields as _fields
from traincost.errors import NothingToReport, ParameterError
from traincost.formats import JOBS, LOGS, READERS, STORES, table_files
from traincost.formats import table as _table
from traincost.formats.files import Unreadable, shortened
from traincost.formats.flatten import flat
from traincost.formats.paths import PathPattern
from traincost.formats.run import COMPLETED, FAILED, UNFINISHED, UNREADABLE, Run

SCORE_PREFIX = "score."
NULL = str(None)  # how `flatten.flat` writes a JSON null
MAX_DEPTH = 64  # of directories below runs_dir
# Neither a leading zero nor a hundred digits: those are names, not quantities.
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")
_IDENTITY = ["run_id", "path", "format", "status", "started_at", "runtime_s", "task", "report", "process"]


@dataclass(frozen=True, eq=False)
class Collection:
    """The runs under one directory.

    Attributes
    ----------
    name : str
        Name of the directory.
    runs : DataFrame
        A row per completed, usable run: ``run_id``, ``path`` (relative to the directory),
        ``format``, ``status``, ``started_at``, ``runtime_s``, and where the tool has such,
        ``task``, ``report`` and ``process`` (`formats.run.Run`), else empty; then ``config.<dotted path>``,
        ``cost_*``, ``score.<name>``; NaN where a run lacks the value.
    sections : DataFrame
        A row per run and section: ``run`` (row number in `runs`), ``section``, ``seconds``,
        ``count`` (NaN where not known).
    excluded : DataFrame
        Every other run: the same identity columns, ``reason``, and ``config.*``.
    notes : DataFrame
        ``path``, ``run_id``, ``note``: what was left out of runs that are otherwise used.
    compute : dict
        Row number in `runs` to the record's compute block, where there is one.
    parts : DataFrame
        ``path``, ``format``, ``part_of``: sources that belong to the run at another path.
    """

    name: str
    runs: pd.DataFrame
    sections: pd.DataFrame
    excluded: pd.DataFrame
    notes: pd.DataFrame
    compute: dict
    parts: pd.DataFrame = field(default_factory=lambda: _parts_frame([]))

    @property
    def factors(self):
        """Dotted paths of the config fields that vary between runs."""
        columns = [name for name in self.runs if name.startswith(_fields.PREFIX)]
        return [
            name.removeprefix(_fields.PREFIX) for name in columns if self.runs[name].nunique(dropna=False) > 1
        ]

    def fields(self, replicates=("seed",)):
        """Describe every config field (`fields.describe`)."""
        return _fields.describe(self.runs, replicates)


def read_collection(runs_dir, format="auto", progress=None, path_pattern="", require_runs=True, table=None):
    """Read the runs under a directory, or those of a table.

    Parameters
    ----------
    runs_dir : str or path
        A directory, or a file with a row per run.
    format : str
        A reader's name, or ``auto`` for all of them.
    progress : callable, optional
        Wraps the list of files to read, as ``tqdm`` does.
    path_pattern : str
        Settings that stand in the paths of the runs (`formats.paths.PathPattern`); these win over
        a setting of that name in the run's own files.
    require_runs : bool
        Refuse a directory without a usable run; else its frames are returned, empty.
    table : formats.table.Table, optional
        Which column of a table is what.

    Returns
    -------
    Collection

    Raises
    ------
    NothingToReport
        The directory is missing, is none, cannot be read, or holds no run that can be used.
    ParameterError
        `format` is not known, `path_pattern` cannot be used, or `table` names what is not there.
    """
    pattern = PathPattern(path_pattern) if path_pattern else None
    root = _checked(runs_dir)
    if os.path.isdir(root):
        _refuse_columns(table)
        runs, parts, unopened, titles = _read_directory(root, format, progress)
    else:
        runs, parts, unopened, titles = _read_table(root, format, table), [], [], [_table.TITLE]
    if pattern:
        _add_path_fields(runs, pattern)
    usable, rest = _sorted_out(runs)
    if require_runs:
        _refuse_nothing(root, usable, rest + unopened, titles)
    frame = _runs_frame(usable)
    return Collection(
        name=_printable(_name(root)),
        runs=frame,
        sections=_sections_frame(usable),
        excluded=_excluded_frame(rest + unopened),
        notes=_notes_frame(usable),
        parts=_parts_frame(parts),
        compute={i: run.compute for i, (_, _, run) in enumerate(usable) if run.compute},
    )


# -- reading -------------------------------------------------------------------------------


def _read_directory(root, format, progress):
    """Return the runs, the parts of runs, what could not be opened, and what was looked for."""
    readers = _readers(format)
    sources, unopened = _walk(root, readers)
    runs, parts = _read_sources(root, sources, progress or iter)
    runs, described = _with_jobs(runs)
    return runs, parts + described, unopened, [READERS[name].TITLE for name in readers]


def _read_table(path, format, table):
    if format not in ("auto", _table.NAME):
        raise ParameterError(f"`format` must be auto or {_table.NAME} for a table, got {format!r}")
    try:
        rows = _table.read_runs(path, table or _table.Table())
    except Unreadable as problem:
        raise NothingToReport(f"runs_dir {path!r} {problem}") from None
    return [(place, _table.NAME, run) for place, run in rows]


def _refuse_columns(table):
    if table is not None and table != _table.Table():
        names = [f.name for f in fields(table) if getattr(table, f.name) != getattr(_table.Table(), f.name)]
        raise ParameterError(f"`{names[0]}` is for a table of runs; `runs_dir` is a directory")


def _read_sources(root, sources, progress):
    """Read reader by reader, so that a log that belongs to a run found before is not read again.

    Parameters
    ----------
    sources : list of (path, reader)

    Returns
    -------
    runs : list of (path, reader, Run)
        In natural order of their paths.
    parts : list of (path, reader, owner)
        What was left alone, and the path of the run that it is a part of.
    """
    waiting = {name: [] for name in READERS}
    for path, name in sources:
        waiting[name].append(path)
    runs, parts, claims = [], [], Claims()
    # One bar for all of them: it moves as the sources are taken from it.
    bar = iter(progress(sources))
    for name, paths in waiting.items():
        for path in paths:
            next(bar)
            owner = claims.owner(path, name)
            if owner is not None:
                if _recognised(root, path, READERS[name]):
                    parts.append((path, name, owner))
                continue
            found = _read(root, path, READERS[name])
            claims.add(path, name, found)
            runs += [(path, name, run) for run in found]
    next(bar, None)
    runs.sort(key=lambda entry: _fields.natural(entry[0]))
    return runs, parts


class Claims:
    """Which directories are those of runs that were read, and what else these runs hold."""

    def __init__(self):
        self._directories, self._parts = {}, {}

    def add(self, path, reader, runs):
        """Note the `runs` that a reader found at `path`; an unreadable one claims nothing."""
        directory = os.path.dirname(path)
        for run in runs:
            if run.status != UNREADABLE:
                if reader not in STORES:
                    self._directories.setdefault(directory, (path, reader))
                for part in run.parts:
                    self._parts.setdefault(os.path.normpath(os.path.join(directory, part)), path)

    def owner(self, path, reader):
        """Return the path of the run that the source of `reader` at `path` is a part of, or None.

        A log is a part of the run of another reader in its directory or above; the collection's
        own directory is no run's alone, so that a run in it claims what it names and what lies
        beside it.
        """
        directory = os.path.dirname(path)
        for place in (path, *_upwards(directory)):
            if place in self._parts:
                return self._parts[place]
            owner, its_reader = self._directories.get(place, (None, reader))
            if reader in LOGS and its_reader != reader and (place or place == directory):
                return owner
        return None


def _upwards(directory):
    """Yield a directory of the collection and those around it, the collection's own last."""
    while directory:
        yield directory
        directory = os.path.dirname(directory)
    yield ""


def _read(root, path, reader):
    """Return the runs of one source; whatever is wrong with it, the others are read."""
    try:
        return reader.read(os.path.join(root, path), _directory_id(root, path))
    except Exception as problem:
        # Readers give reasons for all that is known to happen; this is for what is not.
        reason = f"cannot be read: {type(problem).__name__}: {problem}"
        return [Run(_directory_id(root, path), UNREADABLE, reason=reason)]


def _recognised(root, path, reader):
    """Say whether a part is what its name says, where the reader can tell more from its beginning."""
    return not hasattr(reader, "recognises") or reader.recognises(os.path.join(root, path))


def _directory_id(root, path):
    """Return the directory of `path` in the collection, by which runs without a name are told."""
    return os.path.dirname(path) or os.path.basename(os.path.realpath(root))


def _with_jobs(runs):
    """Give the runs inside a job's directory the settings of the job; it is no run beside them."""
    jobs = {os.path.dirname(path): (path, name, run) for path, name, run in runs if name in JOBS}
    if not jobs:
        return runs, []
    replaced = {}
    for path, name, run in runs:
        if name in JOBS or run.status == UNREADABLE:
            continue
        place = next((place for place in _upwards(os.path.dirname(path)) if place in jobs), None)
        if place is not None:
            _describe(run, jobs[place][2])
            replaced.setdefault(jobs[place][0], path)
    _refuse_resultless(jobs, replaced)
    kept = [entry for entry in runs if entry[0] not in replaced or entry[1] not in JOBS]
    return kept, [(path, name, replaced[path]) for path, name, _ in jobs.values() if path in replaced]


def _describe(run, job):
    run.config = {**job.config, **run.config}
    if job.status == UNREADABLE:
        run.notes.append(f"lacks the settings of its job: the directory of the job {job.reason}")


def _refuse_resultless(jobs, replaced):
    """Refuse a job without a result where another of its name and directory left one.

    The log of a job that was killed ends like that of any other; its missing result tells.
    """
    groups = {place: (os.path.dirname(place), run.report) for place, (_, _, run) in jobs.items()}
    has_result = {place: bool(run.parts) or path in replaced for place, (path, _, run) in jobs.items()}
    with_results = {groups[place] for place in jobs if has_result[place]}
    for place, (_, _, run) in jobs.items():
        if groups[place] in with_results and not has_result[place] and run.status in (COMPLETED, UNFINISHED):
            run.status = FAILED
            run.reason = "left no result, as other jobs beside it did: it failed, was killed or is at work"


def _add_path_fields(runs, pattern):
    for path, name, run in runs:
        # What a table says of a run may be the path of its directory.
        found = pattern.fields(path if name == _table.NAME else os.path.dirname(path))
        run.config.update(flat(found, run.notes))
        if not found:
            run.notes.append("its path does not match `path_pattern`: those settings are not set")


# -- finding -------------------------------------------------------------------------------


def _name(root):
    """Return the name of a directory, or of a table without its ending."""
    name = os.path.basename(os.path.realpath(root))
    return name if os.path.isdir(root) else os.path.splitext(name)[0]


def _checked(runs_dir):
    if not isinstance(runs_dir, str | os.PathLike):
        raise NothingToReport(f"`runs_dir` must be a path, got {runs_dir!r}")
    root = os.fspath(runs_dir)
    if not root or not os.path.exists(root):
        raise NothingToReport(f"runs_dir {root!r} does not exist")
    if not os.path.isdir(root):
        if os.path.splitext(root)[1].lower() not in table_files.ENDINGS:
            raise NothingToReport(
                f"runs_dir {root!r} is a file; it must be the directory of the runs, or a table of them "
                f"({', '.join(table_files.ENDINGS)})"
            )
        return root
    try:
        os.scandir(root).close()
    except OSError as problem:
        raise NothingToReport(f"runs_dir {root!r} cannot be read: {problem.strerror}") from None
    return root


def _readers(format):
    if format == "auto":
        return list(READERS)
    if format not in READERS:
        raise ParameterError(f"`format` must be auto or one of {', '.join(READERS)}, got {format!r}")
    return [format]


def _walk(root, readers):
    """Return (path, reader) of each source in natural order, and directories not opened."""
    found, excluded = [], []

    def unopened(problem):
        path = os.path.relpath(problem.filename, root)
        reason = f"cannot be opened: {problem.strerror}"
        excluded.append((path, "", Run(os.path.basename(path), UNREADABLE, reason=reason)))

    seen = {os.path.realpath(root)}
    for directory, folders, files in os.walk(root, onerror=unopened, followlinks=True):
        relative = os.path.relpath(directory, root)
        relative = "" if relative == "." else relative
        # A directory that bears the name of a source is offered too, so that it is not missed.
        names = sorted(files + folders)
        for reader in readers:
            sources = READERS[reader].sources(directory, names)
            found += [(os.path.join(relative, name), reader) for name in sources]
        folders[:] = sorted(_entered(directory, folders, seen), key=_fields.natural)
        if folders and relative.count(os.sep) >= MAX_DEPTH:
            reason = f"lies deeper than {MAX_DEPTH} directories: what is below it is not read"
            excluded.append((relative, "", Run(os.path.basename(relative), UNREADABLE, reason=reason)))
            folders.clear()
    found.sort(key=lambda source: _fields.natural(source[0]))
    return found, excluded


def files_below(runs_dir):
    """Yield the path of every file below a directory, relative to it."""
    for directory, folders, names in os.walk(runs_dir):
        folders.sort(key=_fields.natural)
        for name in sorted(names, key=_fields.natural):
            yield os.path.relpath(os.path.join(directory, name), runs_dir)


def _entered(directory, folders, seen):
    """Return the folders to go into: a link only where its target is not read anyway.

    `seen` begins with the collection's own directory; a link to what lies in it or around it,
    or to a target met before, would count runs twice or never end.
    """
    entered = []
    for name in folders:
        path = os.path.join(directory, name)
        if os.path.islink(path):
            target = os.path.realpath(path)
            if any(
                f"{a}/".startswith(f"{b}/") for known in seen for a, b in ((target, known), (known, target))
            ):
                continue
            seen.add(target)
        entered.append(name)
    return entered


# -- sorting out ---------------------------------------------------------------------------


def _sorted_out(runs):
    """Part usable runs from the rest; of runs with one id, or of copies, the first stays."""
    usable, rest, ids, contents = [], [], {}, {}
    for path, reader, run in runs:
        content = None if run.named else _content(run)
        if not run.reason and run.run_id in ids:
            run.status, run.reason = "duplicate", f"has the run_id of {ids[run.run_id]}"
        elif not run.reason and content in contents:
            run.status = "duplicate"
            run.reason = f"equals {contents[content]} in settings, start, runtime and sections: a copy"
        if run.reason:
            rest.append((path, reader, run))
        else:
            ids[run.run_id] = path
            if content:
                contents[content] = path
            usable.append((path, reader, run))
    return usable, rest


def _content(run):
    """Return what tells a run without a name of its own from others, or None if nothing does.

    Two runs can take the same time to the digits that were kept; they do not in every section,
    nor start at the same moment as well.
    """
    if run.fingerprint:
        return (run.fingerprint, run.runtime_s, run.started_at)
    if not run.sections and not (run.started_at and run.scores):
        return None
    return (run.runtime_s, run.started_at, repr(run.config), repr(run.sections), repr(run.scores))


def _refuse_nothing(root, usable, rest, titles):
    if usable:
        return
    if not rest:
        raise NothingToReport(
            f"runs_dir {root!r} holds no runs that traincost understands; it reads: {', '.join(titles)}"
        )
    path, _, run = rest[0]
    raise NothingToReport(
        f"runs_dir {root!r} holds no completed run to report on: {len(rest)} left out, the first "
        f"{_printable(path)!r}: {run.reason}"
    )


# -- frames --------------------------------------------------------------------------------


def _runs_frame(runs):
    frame = pd.DataFrame([_identity(*entry) for entry in runs], columns=_IDENTITY)
    parts = [frame, _config_frame(runs)]
    for prefix, attribute in (("", "cost"), (SCORE_PREFIX, "scores")):
        values = [getattr(run, attribute) for _, _, run in runs]
        names = sorted({name for value in values for name in value})
        parts.append(
            pd.DataFrame({prefix + n: [v.get(n, np.nan) for v in values] for n in names}, index=frame.index)
        )
    return pd.concat(parts, axis=1)


def _identity(path, reader, run):
    return (
        _printable(run.run_id),
        _printable(path),
        reader,
        run.status,
        _printable(run.started_at),
        np.nan if run.runtime_s is None else run.runtime_s,
        _printable(run.task),
        _printable(run.report),
        _printable(run.process),
    )


def _config_frame(runs):
    configs = [run.config for _, _, run in runs]
    names = list(dict.fromkeys(name for config in configs for name in config))
    return pd.DataFrame(
        {
            _fields.PREFIX + _printable(name): _series([config.get(name) for config in configs])
            for name in names
        },
        index=range(len(runs)),
    )


def _series(values):
    """Return levels as numbers where all are, and else as text; None is missing.

    Among numbers a JSON null is missing too; among words it is the level ``None``.

    Text counts as a number if every level reads as one, so that ``1e-3`` and ``0.001`` are
    one level, while a hash among words stays text.
    """
    present = [value for value in values if value is not None and value != NULL]
    numbers = {value: _number(value) for value in present}
    if present and all(number is not None for number in numbers.values()):
        return pd.Series([numbers.get(value, np.nan) for value in values])
    texts = [None if value is None else _text(value) for value in values]
    return pd.Series(texts, dtype="str")


def _number(value):
    """Return a level as a number, or None where it is no finite one."""
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else None  # a larger one is no exact float
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    number = float(value)
    return number if np.isfinite(number) else None


def _text(value):
    if isinstance(value, float):
        return f"{value:.15g}"
    return _digits(value) if isinstance(value, int) else _printable(value)


def _digits(value):
    """Return an integer as text; Python refuses to print one of thousands of digits."""
    return str(value) if abs(value) < 10**1000 else f"an integer of {value.bit_length()} bits"


def _sections_frame(runs):
    rows = [
        (i, _printable(path), seconds, np.nan if count is None else count)
        for i, (_, _, run) in enumerate(runs)
        for path, (seconds, count) in run.sections.items()
    ]
    frame = pd.DataFrame(rows, columns=["run", "section", "seconds", "count"])
    return frame.astype({"run": np.int64, "section": "str", "seconds": float, "count": float})


def _excluded_frame(runs):
    frame = pd.DataFrame([_identity(*entry) for entry in runs], columns=_IDENTITY)
    frame["reason"] = [shortened(_printable(run.reason)) for _, _, run in runs]
    return pd.concat([frame, _config_frame(runs)], axis=1)


def _notes_frame(runs):
    rows = [
        (_printable(path), _printable(run.run_id), _printable(note))
        for path, _, run in runs
        for note in run.notes
    ]
    return pd.DataFrame(rows, columns=["path", "run_id", "note"])


def _parts_frame(parts):
    rows = [(_printable(path), name, _printable(owner)) for path, name, owner in parts]
    return pd.DataFrame(rows, columns=["path", "format", "part_of"])


def _printable(text):
    """Return text that UTF-8 can hold: a file name's undecodable bytes become �."""
    return str(text).encode("utf-8", "replace").decode("utf-8")
