"""Read a directory, table, index or URL of runs as pandas frames.

`read_collection` never fails for what a run contains: a run that cannot be used is a row of
``excluded`` with its path and the reason, and its hours, where they are known.
Runs come as pyarrow tables (`tables`), from the readers or from an index, and are sorted out here
in the same way, so that it does not matter which.
"""

import os
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from itertools import islice

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from traincost.columns import PREFIX
from traincost.errors import NothingToReport, ParameterError, brief
from traincost.reading import batch, frames, tables
from traincost.reading.formats import JOBS, READERS, RESUMABLE, other, table_files
from traincost.reading.formats import table as _table
from traincost.reading.formats.files import Unreadable
from traincost.reading.formats.paths import PathPattern
from traincost.reading.formats.statuses import DUPLICATE, UNREADABLE
from traincost.reading.listing import POINTER, POINTER_KEY, Listing, is_live, is_url, listed, readers
from traincost.reading.redaction import Numbering, Redactor, Rule, numbered
from traincost.reading.tables import printable

MAX_SEEN = 500  # files of a directory without runs that are looked at


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
        (`formats.run.Run`), else empty; then ``config.<dotted path>`` (of ``host`` and ``device`` too,
        where they vary), ``cost_*``, ``score.<name>``; NaN where a run lacks the value.
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
    parts: pd.DataFrame = field(default_factory=lambda: frames.parts_frame([], []))

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
    """Read the runs under a directory, or those of a table, as a `Collection`.

    It is the same whatever `workers` and `scheduler` are, and for an index as for its directory.

    Parameters
    ----------
    runs_dir : str or path
        A directory, the URL of one (``s3://bucket/runs``), an index of either, a file with a
        row per run, or a store (``mlflow:http://…``, ``optuna:postgresql://…``).
    format, table, workers, scheduler
        A reader's name, or ``auto`` for all of them; which column of a table is what
        (`formats.table.Table`); processes to read in, 1 being this one and 0 one for each core, or the
        address of a Dask scheduler. A script that asks for other processes must hold its own work below
        ``if __name__ == "__main__"``.
    progress : callable, optional
        Wraps the list of files to read, as ``tqdm`` does.
    path_pattern : str
        Settings that stand in the paths of the runs (`formats.paths.PathPattern`); these win over
        a setting of that name in the run's own files.
    require_runs : bool
        Refuse a directory without a usable run; else its frames are returned, empty.
    show : sequence of str
        Settings to let through that would be withheld as a secret, a person or a machine
        (`sensitive`): a dotted path, or the last part of one.

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
    if is_live(runs_dir):
        listing, batches, titles = _read_live(runs_dir, format, table, rule)
    elif is_table(runs_dir):
        listing, batches, titles = read_table(os.fspath(runs_dir), format, table, rule)
    else:
        _refuse_columns(table)
        stored = _index(runs_dir)
        rule = stored.rule(show) if stored else rule
        with batch.engine(workers, scheduler) as run:
            listing, batches = _read_directory(runs_dir, stored, format, progress or iter, run, rule, parts)
        titles = [READERS[name].TITLE for name in readers(format)]
    redactor, shown = Redactor(rule), Numbering()
    if pattern or any(name in JOBS for _, name in listing.sources):
        parts += _described(batches, listing.sources, pattern, redactor)
    runs = numbered(tables.joined(batches), shown)
    listing, parts = _redacted(listing, parts, lambda texts: shown.all(redactor.paths(texts)))
    runs, joined = _joined(runs, listing.sources)
    parts += joined
    runs, rest = _sorted_out(runs, listing.sources)
    if require_runs:
        _refuse_nothing(listing, runs, rest, titles)
    # The largest column by far is not held twice while the others are made.
    sections, runs = frames.sections_frame(runs), runs.drop_columns("sections")
    found = Collection(
        name=listing.name,
        runs=frames.runs_frame(runs, listing.sources),
        sections=sections,
        excluded=frames.excluded_frame(rest, listing),
        notes=frames.notes_frame(runs, listing.sources),
        compute=frames.compute_blocks(runs),
        parts=frames.parts_frame(parts, listing.sources),
    )
    # What is computed next takes its memory elsewhere.
    del runs
    pa.default_memory_pool().release_unused()
    return found


# -- reading -------------------------------------------------------------------------------


def _read_live(address, format, table, rule):
    """Return the listing of a store, its runs as a batch, and the title of its kind."""
    from traincost.reading import live

    _refuse_columns(table)
    listing, found = live.runs(address, format)
    return listing, [tables.tabulated([0], [(found, "")], Redactor(rule))], [READERS[listing.name].TITLE]


def is_table(runs_dir):
    """Say whether a path is that of a table of runs."""
    if not isinstance(runs_dir, str | os.PathLike) or is_url(runs_dir) or not os.path.isfile(runs_dir):
        return False
    path = os.fspath(runs_dir)
    ending = os.path.splitext(path)[1].lower()
    if ending == ".json":
        return table_files.is_list(path)
    return ending in table_files.ENDINGS or table_files.is_maybe(path)


def read_table(path, format, table, rule):
    """Return a listing whose sources are the rows of a table, their batch, and the title of tables."""
    if format not in ("auto", _table.NAME):
        raise ParameterError(f"`format` must be auto or {_table.NAME} for a table, got {brief(format)}")
    try:
        rows = _table.read_runs(path, table or _table.Table())
    except Unreadable as problem:
        raise NothingToReport(f"runs_dir {path!r} {problem}") from None
    name = printable(os.path.splitext(os.path.basename(os.path.realpath(path)))[0])
    listing = Listing(path, name, [(place, _table.NAME) for place, _ in rows], [])
    found = [([run], "") for _, run in rows]
    return listing, [tables.tabulated(range(len(rows)), found, Redactor(rule))], [_table.TITLE]


def _described(batches, sources, pattern, redactor):
    """Add what jobs and paths say of the runs; return which sources are parts of runs."""
    from traincost.reading import jobs

    parts = jobs.describe(batches, sources, pattern, redactor)
    if pattern and not jobs.matches(batches, sources, pattern):
        raise ParameterError(
            f"`path_pattern` {pattern.text!r} matches the path of no run; a part of a path must match "
            "whole, as lr_{lr} or *_{lr} do"
        )
    return parts


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
    names = (POINTER, POINTER_KEY) if is_path and not is_url(runs_dir) else ()
    has_index = any(os.path.lexists(os.path.join(runs_dir, name)) for name in names)
    if not has_index and not is_url(runs_dir):
        return None
    from traincost.reading import index

    return index.opened(runs_dir)


def _redacted(listing, parts, shown):
    """Return a listing and parts of runs whose paths and reasons may be published."""
    paths, sources = [path for path, _ in listing.sources], listing.sources
    if (shown_paths := shown(paths)) != paths:
        sources = [(path, reader) for path, (_, reader) in zip(shown_paths, sources, strict=True)]
    unopened = [tuple(shown(entry)) for entry in listing.unopened]
    parts = [(place, *shown([owner])) for place, owner in parts]
    return replace(listing, name=shown([listing.name])[0], sources=sources, unopened=unopened), parts


def _refuse_columns(table):
    plain = _table.Table()
    if table is not None and table != plain:
        names = [f.name for f in fields(table) if getattr(table, f.name) != getattr(plain, f.name)]
        raise ParameterError(f"`{names[0]}` is for a table of runs; `runs_dir` is a directory")


# -- sorting out ---------------------------------------------------------------------------


def _joined(runs, sources):
    """Put together the runs of one job; return these, and what became a part of which."""
    if not _may_join(runs, sources):
        return runs, []
    from traincost.reading import joins

    return joins.together(runs, sources)


def _may_join(runs, sources):
    """Say, without looking at each, whether some runs may be of one job: most collections are one tool's."""
    readers = {reader for _, reader in sources}
    has_parts = any(pc.any(pc.not_equal(runs[name], "")).as_py() for name in ("job", "step"))
    return len(readers) > 1 or not readers.isdisjoint(RESUMABLE) or has_parts


def _sorted_out(runs, sources):
    """Part usable runs from the rest; of runs with one id, or of copies, the first stays."""
    found, ids, contents = {}, {}, {}
    for i, place, run_id, content in _candidates(runs):
        path = sources[place][0]
        if run_id in ids and not (content and ids[run_id][1] not in ("", content)):
            found[i] = f"has the run_id of {printable(ids[run_id][0])}"
        elif content in contents:
            same = printable(contents[content])
            found[i] = f"equals {same} in settings, start, runtime and sections: a copy"
        else:
            ids.setdefault(run_id, (path, content))
            if content:
                contents[content] = path
    found |= _snapshots(runs, sources)
    if found:
        statuses, reasons = (runs[name].to_pylist() for name in ("status", "reason"))
        for i, reason in found.items():
            statuses[i], reasons[i] = DUPLICATE, reason
        runs = tables.changed(runs, status=statuses, reason=reasons)
    usable = pc.equal(runs["reason"], "")
    # A filter copies: most collections have nothing to leave out.
    return (runs.filter(usable) if not pc.all(usable).as_py() else runs), runs.filter(pc.invert(usable))


def _snapshots(runs, sources):
    """Return row to reason of runs that did not complete, and are a copy or a state of another run.

    A backup that was made while a run went on has its id and its start, and no end. Of several the one
    that completed stays, else the longest.
    """
    if _all_distinct(runs["run_id"]):
        return {}
    frame = runs.select(["place", "run_id", "started_at", "reason", "status", "runtime_s"]).to_pandas()
    frame = frame[(frame["started_at"].fillna("") != "") & ~frame["status"].isin((DUPLICATE, UNREADABLE))]
    frame = frame[frame.duplicated(["run_id", "started_at"], keep=False)]
    frame = frame.assign(completed=frame["reason"] == "").sort_values(
        ["completed", "runtime_s"], ascending=False, kind="stable"
    )
    found = {}
    for _, rows in frame.groupby(["run_id", "started_at"], sort=False):
        first = printable(sources[rows["place"].iloc[0]][0])
        reason = f"has the run_id and the start of {first}: a copy, or an earlier state of it"
        found |= dict.fromkeys(rows.index[1:][~rows["completed"].iloc[1:]], reason)
    return found


def _candidates(runs):
    """Yield (row, place, run_id, content) of usable runs that share one of the last two with another."""
    if _are_distinct(runs):
        return
    frame = runs.select(["place", "run_id", "content", "reason"]).to_pandas()
    frame = frame[frame["reason"] == ""]
    shared = frame["run_id"].duplicated(keep=False)
    copied = (frame["content"] != "") & frame["content"].duplicated(keep=False)
    frame = frame[shared | copied]
    configs = tables.configs(runs.select(["config"]).take(pa.array(frame.index.to_numpy())))
    for row, config in zip(frame.itertuples(), configs, strict=True):
        # A copy has the same settings too, of whatever origin.
        alone = row.content.startswith(tables.ALONE) or not row.content
        content = row.content if alone else (row.content, *config.items())
        yield row.Index, row.place, row.run_id, content


def _are_distinct(runs):
    """Say whether no two runs share an id or a content, as nearly always."""
    contents = runs["content"].filter(pc.not_equal(runs["content"], ""))
    return _all_distinct(runs["run_id"]) and _all_distinct(contents)


def _all_distinct(values):
    return pc.count_distinct(values).as_py() == len(values)


def _refuse_nothing(listing, usable, rest, titles):
    if len(usable):
        return
    left_out = len(rest) + len(listing.unopened)
    if not left_out and len(titles) == 1:
        raise NothingToReport(
            f"runs_dir {listing.shown!r} holds no runs of this format: {titles[0]}; with `format` auto, "
            "those of all tools are looked for"
        )
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
    known, endings = Counter(), Counter()
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in sorted(names))
    for path in islice(paths, MAX_SEEN):
        if what := other.recognise(path):
            known[what] += 1
        else:
            endings[os.path.splitext(path)[1] or "no ending"] += 1
    said = [f"{what} ({n})" for what, n in known.most_common(3)]
    said += [f"{ending} ({n})" for ending, n in endings.most_common(5)]
    if not said:
        return ""
    has_table = any(ending in table_files.ENDINGS for ending in endings)
    hint = "; a table of runs is given by its own path" if has_table else ""
    return f". There are: {'; '.join(said)}{hint}"
