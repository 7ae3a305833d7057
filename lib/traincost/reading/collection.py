"""Read a directory, table, index or URL of runs as pandas frames.

`read_collection` never fails for what a run contains: a run that cannot be used is a row of
``excluded`` with its path and the reason, and its hours, where they are known.
Runs come as pyarrow tables (`tables`), from the readers or from an index, and are sorted out here
in the same way, so that it does not matter which.
"""

import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from traincost.columns import PREFIX, SCORE_PREFIX
from traincost.errors import NothingToReport, ParameterError
from traincost.reading import batch, joins, live, tables
from traincost.reading.formats import JOBS, READERS, other, table_files
from traincost.reading.formats import table as _table
from traincost.reading.formats.files import Unreadable, parse_json, shortened
from traincost.reading.formats.paths import PathPattern
from traincost.reading.formats.statuses import UNREADABLE
from traincost.reading.listing import POINTER, POINTER_KEY, Listing, is_url, listed, readers
from traincost.reading.redaction import Numbering, Redactor, Rule, numbered
from traincost.reading.tables import EXACT, EXTENT, coded, printable

MAX_SEEN = 500  # files of a directory without runs that are looked at
NULL = str(None)  # how `formats.run.flat` writes a JSON null
# Neither a leading zero nor a hundred digits: those are names, not quantities.
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")
PLACES = ("host", "device")
_LONG_DIGITS, _MAX_FLOAT32 = 14, 3e38  # no number that a person chose has as many
_IDENTITY = ["run_id", "path", "format", "status", "started_at", "runtime_s", "task", "report", "process"]
_IDENTITY += ["evidence", "devices", "device", "host"]


@dataclass(frozen=True, eq=False)
class Collection:
    """The runs under one directory.

    Attributes
    ----------
    name : str
        Name of the directory.
    runs : DataFrame
        A row per usable run, completed or of unknown end: ``run_id``, ``path`` (relative to the
        directory), ``format``, ``status``, ``started_at``, ``runtime_s``, and where the tool has such,
        ``task``, ``report``, ``process``, ``evidence``, ``devices``, ``device`` and ``host``
        (`formats.run.Run`), else empty; then ``config.<dotted path>`` (of ``host`` and ``device``
        too, where they vary),
        ``cost_*``, ``score.<name>``; NaN where a run lacks the value.
    sections : DataFrame
        A row per run and section: ``run`` (row number in `runs`), ``section``, ``seconds``,
        ``count``, then ``first_s``, ``min_s``, ``max_s`` (seconds of the first, shortest and longest
        occurrence) and ``synchronised`` (1 where the clock waited for the device, 0 where it did
        not); NaN where not known.
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
    parts: pd.DataFrame = field(default_factory=lambda: _parts_frame([], []))

    @property
    def factors(self):
        """Dotted paths of the config fields that vary between runs."""
        columns = [name for name in self.runs if name.startswith(PREFIX)]
        return [name.removeprefix(PREFIX) for name in columns if self.runs[name].nunique(dropna=False) > 1]


def read_collection(
    runs_dir,
    format="auto",
    progress=None,
    path_pattern="",
    require_runs=True,
    table=None,
    workers=1,
    scheduler="",
    show=(),
):
    """Read the runs under a directory, or those of a table.

    Parameters
    ----------
    runs_dir : str or path
        A directory, the URL of one (``s3://bucket/runs``), an index of either, a file with a
        row per run, or a store (``mlflow:http://…``, ``optuna:postgresql://…``).
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
    workers : int
        Processes to read in: 1 is this one, 0 one for each core. A script that asks for others
        must hold its own work below ``if __name__ == "__main__"``.
    scheduler : str
        Address of a Dask scheduler (``tcp://host:8786``) whose workers read instead.
    show : sequence of str
        Settings to let through that would be withheld as a secret, a person or a machine
        (`sensitive`): a dotted path, or the last part of one.

    Returns
    -------
    Collection
        The same whatever `workers` and `scheduler` are, and for an index as for its directory.

    Raises
    ------
    NothingToReport
        The directory is missing, is none, cannot be read, or holds no run that can be used.
    ParameterError
        `format` is not known, `path_pattern` cannot be used, `table` names what is not there,
        `scheduler` does not answer, or `show` asks an index for what it does not hold.
    """
    pattern = PathPattern(path_pattern) if path_pattern else None
    rule, parts = Rule(show=tuple(show)), []
    if live.is_live(runs_dir):
        _refuse_columns(table)
        listing, found = live.runs(runs_dir, format)
        batches = [tables.tabulated([0], [(found, "")], Redactor(rule))]
        titles = [READERS[listing.name].TITLE]
    elif _is_table(runs_dir):
        listing, batches = _read_table(os.fspath(runs_dir), format, table, rule)
        titles = [_table.TITLE]
    else:
        _refuse_columns(table)
        stored = _index(runs_dir)
        rule = stored.rule(show) if stored else rule
        with batch.engine(workers, scheduler) as run:
            listing, batches = _read_directory(runs_dir, stored, format, progress or iter, run, rule, parts)
        titles = [READERS[name].TITLE for name in readers(format)]
    redactor, shown = Redactor(rule), Numbering()
    if pattern or any(name in JOBS for _, name in listing.sources):
        from traincost.reading import jobs

        parts += jobs.describe(batches, listing.sources, pattern, redactor)
        if pattern and not jobs.matches(batches, listing.sources, pattern):
            raise ParameterError(
                f"`path_pattern` {path_pattern!r} matches the path of no run; a part of a path must match "
                "whole, as lr_{lr} or *_{lr} do"
            )
    runs = numbered(tables.joined(batches), shown)
    listing, parts = _redacted(listing, parts, lambda texts: map(shown, redactor.paths(texts)))
    runs, joined = joins.together(runs, listing.sources)
    parts += joined
    usable, rest = _sorted_out(runs, listing.sources)
    if require_runs:
        _refuse_nothing(listing, usable, rest, titles)
    return Collection(
        name=listing.name,
        runs=_runs_frame(usable, listing.sources),
        sections=_sections_frame(usable),
        excluded=_excluded_frame(rest, listing),
        notes=_notes_frame(usable, listing.sources),
        compute=_compute(usable),
        parts=_parts_frame(parts, listing.sources),
    )


# -- reading -------------------------------------------------------------------------------


def _read_directory(runs_dir, stored, format, progress, run, rule, parts):
    """Return the listing and its batches, and add to `parts`."""
    listing, read = stored.reading(format) if stored else (listed(runs_dir, format), None)
    read = read or batch.reader(listing, run, rule, progress)
    batches = list(batch.gathered(listing.sources, read, parts))
    if not stored:
        parts[:] = batch.recognised(listing, parts)
    return listing, batches


def _index(runs_dir):
    """Return the index at a path or URL, or None where there is none."""
    is_path = isinstance(runs_dir, str | os.PathLike) and bool(os.fspath(runs_dir))
    if not is_path or not (is_url(runs_dir) or _has_index(runs_dir)):
        return None
    from traincost.reading import index

    return index.opened(runs_dir)


def _has_index(folder):
    return any(os.path.lexists(os.path.join(folder, name)) for name in (POINTER, POINTER_KEY))


def _is_table(runs_dir):
    if not isinstance(runs_dir, str | os.PathLike) or is_url(runs_dir):
        return False
    ending = os.path.splitext(os.fspath(runs_dir))[1].lower()
    if not os.path.isfile(runs_dir):
        return False
    if ending == ".json":
        return table_files.is_list(os.fspath(runs_dir))
    return ending in table_files.ENDINGS or table_files.is_maybe(os.fspath(runs_dir))


def _read_table(path, format, table, rule):
    """Return a listing of the rows of a table, and their block."""
    if format not in ("auto", _table.NAME):
        raise ParameterError(f"`format` must be auto or {_table.NAME} for a table, got {format!r}")
    try:
        rows = _table.read_runs(path, table or _table.Table())
    except Unreadable as problem:
        raise NothingToReport(f"runs_dir {path!r} {problem}") from None
    name = printable(os.path.splitext(os.path.basename(os.path.realpath(path)))[0])
    listing = Listing(path, name, [(place, _table.NAME) for place, _ in rows], [])
    found = [([run], "") for _, run in rows]
    return listing, [tables.tabulated(range(len(rows)), found, Redactor(rule))]


def _redacted(listing, parts, shown):
    """Return a listing and parts of runs whose paths and reasons may be published."""
    paths, readers = zip(*listing.sources, strict=True) if listing.sources else ((), ())
    sources = list(zip(shown(paths), readers, strict=True))
    unopened = [tuple(shown(entry)) for entry in listing.unopened]
    parts = [(place, *shown([owner])) for place, owner in parts]
    return replace(listing, name=next(shown([listing.name])), sources=sources, unopened=unopened), parts


def _refuse_columns(table):
    if table is not None and table != _table.Table():
        plain = _table.Table()
        names = [f.name for f in fields(table) if getattr(table, f.name) != getattr(plain, f.name)]
        raise ParameterError(f"`{names[0]}` is for a table of runs; `runs_dir` is a directory")


# -- sorting out ---------------------------------------------------------------------------


def _sorted_out(runs, sources):
    """Part usable runs from the rest; of runs with one id, or of copies, the first stays."""
    statuses, reasons = (runs[name].to_pylist() for name in ("status", "reason"))
    ids, contents = {}, {}
    for i, place, run_id, content in _candidates(runs):
        path = sources[place][0]
        if run_id in ids and not (content and ids[run_id][1] not in ("", content)):
            statuses[i], reasons[i] = "duplicate", f"has the run_id of {printable(ids[run_id][0])}"
        elif content in contents:
            statuses[i] = "duplicate"
            same = printable(contents[content])
            reasons[i] = f"equals {same} in settings, start, runtime and sections: a copy"
        else:
            ids.setdefault(run_id, (path, content))
            if content:
                contents[content] = path
    if not any(reasons):
        return runs, runs.slice(0, 0)
    usable = pa.array([not reason for reason in reasons], pa.bool_())
    runs = tables.changed(runs, status=statuses, reason=reasons)
    return runs.filter(usable), runs.filter(pc.invert(usable))


def _candidates(runs):
    """Yield (row, place, run_id, content) of usable runs that share one of the last two with another."""
    frame = runs.select(["place", "run_id", "content", "reason"]).to_pandas()
    frame = frame[frame["reason"] == ""]
    shared = frame["run_id"].duplicated(keep=False)
    copied = (frame["content"] != "") & frame["content"].duplicated(keep=False)
    frame = frame[shared | copied]
    configs = tables.configs(runs.take(pa.array(frame.index.to_numpy())))
    for row, config in zip(frame.itertuples(), configs, strict=True):
        # A copy has the same settings too, of whatever origin.
        alone = row.content.startswith(tables.ALONE) or not row.content
        content = row.content if alone else (row.content, *config.items())
        yield row.Index, row.place, row.run_id, content


def _refuse_nothing(listing, usable, rest, titles):
    if len(usable):
        return
    left_out = len(rest) + len(listing.unopened)
    if not left_out:
        raise NothingToReport(
            f"runs_dir {listing.shown!r} holds no runs that traincost understands{_seen(listing.root)}; "
            f"it reads: {', '.join(titles)}"
        )
    path, reason = listing.unopened[0] if not len(rest) else ("", rest["reason"][0].as_py())
    path = path or listing.sources[rest["place"][0].as_py()][0]
    raise NothingToReport(
        f"runs_dir {listing.shown!r} holds no completed run to report on: {left_out} left out, the first "
        f"{printable(path)!r}: {reason}"
    )


def _seen(root):
    """Say what lies in a directory without runs: what is recognised, and the endings of the rest."""
    known, endings, n_files = Counter(), Counter(), 0
    for directory, _, names in os.walk(root):
        for name in sorted(names):
            n_files += 1
            if n_files > MAX_SEEN:
                break
            what = other.recognise(os.path.join(directory, name))
            known.update([what] if what else [])
            endings.update([] if what else [os.path.splitext(name)[1] or "no ending"])
    said = [f"{what} ({n})" for what, n in known.most_common(3)]
    said += [f"{ending} ({n})" for ending, n in endings.most_common(5)]
    if not said:
        return ""
    has_table = any(ending in table_files.ENDINGS for ending in endings)
    hint = "; a table of runs is given by its own path" if has_table else ""
    return f". There are: {'; '.join(said)}{hint}"


# -- frames --------------------------------------------------------------------------------


def _runs_frame(runs, sources):
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
    found = {}
    for name in PLACES:
        column = identity[name].mask(identity[name] == "")
        if column.nunique() > 1 and PREFIX + name not in config:
            found[PREFIX + name] = column
    return found


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
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(levels) + 1))
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
    texts = np.array([None if level is None else _text(level) for level in present], dtype=object)
    return pd.Series(texts[codes], dtype="str")


def _alike(levels):
    """Return levels with one spelling for what is one: truth values, and numbers that were in float32.

    >>> _alike(["true", "FALSE", None]), _alike([0.10000000149011612, 0.1])
    (['True', 'False', None], [0.1, 0.1])
    """
    texts = {level.lower() for level in levels if isinstance(level, str)} - {NULL.lower()}
    if texts & _TRUTH.keys() and texts <= _TRUTH.keys() | {"0", "1"}:
        numbers = {level for level in levels if isinstance(level, int | float)}
        if numbers <= {0, 1}:
            return [_truth(level) for level in levels]
    return [_without_float32(level) if level.__class__ is float else level for level in levels]


_TRUTH = {"true": "True", "false": "False"}


def _truth(level):
    if level is None or level == NULL:
        return level
    text = str(level).lower()
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


def _sections_frame(runs):
    rows, names, *values = tables.entries(runs["sections"])
    numbers = zip(("seconds", "count", *EXTENT), (value.to_numpy() for value in values), strict=True)
    return pd.DataFrame({"run": rows, "section": _texts(names), **dict(numbers)}, copy=False)


def _excluded_frame(runs, listing):
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


def _notes_frame(runs, sources):
    found = runs.filter(pc.greater(pc.list_value_length(runs["notes"]), 0))
    rows = [
        (printable(sources[place][0]), run_id, note)
        for place, run_id, notes in zip(
            *(found[n].to_pylist() for n in ("place", "run_id", "notes")), strict=True
        )
        for note in notes
    ]
    return pd.DataFrame(rows, columns=["path", "run_id", "note"])


def _parts_frame(parts, sources):
    rows = [(printable(sources[place][0]), sources[place][1], printable(owner)) for place, owner in parts]
    return pd.DataFrame(rows, columns=["path", "format", "part_of"])


def _compute(runs):
    """Return the compute blocks; runs whose blocks are equal share one."""
    levels, codes = coded(runs["compute"])
    parsed = [parse_json(text.encode()) if text else None for text in levels]
    return {i: parsed[code] for i, code in enumerate(codes.tolist()) if levels[code]}
