"""A directory of runs as frames.

`read_collection` never fails for what a run contains: a run that cannot be used is a row of
``excluded`` with its path and the reason, and its hours, where they are known, stay in sight.
Runs come as columns (`rows.Rows`), from the readers or from an index, and are sorted out here
in the same way, so that it does not matter which.
"""

import json
import os
import re
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pandas as pd

from traincost.columns import PREFIX, SCORE_PREFIX
from traincost.errors import NothingToReport, ParameterError
from traincost.reading import batch, index
from traincost.reading import rows as _rows
from traincost.reading.engines import engine
from traincost.reading.formats import JOBS, READERS, table_files
from traincost.reading.formats import table as _table
from traincost.reading.formats.files import Unreadable, parse_json, shortened
from traincost.reading.formats.flatten import flat
from traincost.reading.formats.paths import PathPattern
from traincost.reading.formats.run import COMPLETED, FAILED, UNFINISHED, UNREADABLE
from traincost.reading.listing import Listing, listed, readers
from traincost.reading.ownership import gathered, upwards
from traincost.reading.redaction import Numbering, Redactor, Rule, numbered
from traincost.reading.remote import is_url
from traincost.reading.rows import ALONE, EXACT, config_of, digits, joined, printable, settings

NULL = str(None)  # how `flatten.flat` writes a JSON null
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
        A directory, the URL of one (``s3://bucket/runs``), an index of either, or a file with a
        row per run.
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
    if _is_table(runs_dir):
        listing, blocks = _read_table(os.fspath(runs_dir), format, table, rule)
        titles = [_table.TITLE]
    else:
        _refuse_columns(table)
        stored = index.opened(runs_dir)
        rule = stored.rule(show) if stored else rule
        listing, blocks = _read_directory(
            runs_dir, stored, format, progress, (workers, scheduler), rule, parts
        )
        titles = [READERS[name].TITLE for name in readers(format)]
    redactor, shown = Redactor(rule), Numbering()
    parts += _describe(blocks, listing.sources, pattern, redactor)
    rows = numbered(joined(blocks), shown)
    listing, parts = _redacted(listing, parts, lambda texts: map(shown, redactor.paths(texts)))
    usable, rest = _sorted_out(rows, listing.sources)
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


def _read_directory(runs_dir, stored, format, progress, workers, rule, parts):
    """Return the listing and its blocks, and add to `parts`."""
    listing, read = stored.reading(format) if stored else (listed(runs_dir, format), None)
    with engine(*workers) as run:
        read = read or batch.reader(listing, run, rule, progress or iter)
        blocks = list(gathered(listing.sources, read, parts))
    if not stored:
        parts[:] = batch.recognised(listing, parts)
    return listing, blocks


def _is_table(runs_dir):
    if not isinstance(runs_dir, str | os.PathLike) or is_url(runs_dir):
        return False
    ending = os.path.splitext(os.fspath(runs_dir))[1].lower()
    return os.path.isfile(runs_dir) and ending in table_files.ENDINGS


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
    return listing, [_rows.block(range(len(rows)), [([run], "") for _, run in rows], Redactor(rule))]


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


# -- settings from elsewhere ---------------------------------------------------------------


def _describe(blocks, sources, pattern, redactor):
    """Give runs the settings of the job they ran in and those in their paths, block by block.

    A job in whose directory runs were found is no run beside them: it is dropped, and returned
    as (position, path of the first of its runs).
    """
    jobs = _jobs(blocks, sources)
    if not jobs and not pattern:
        return []
    replaced = {}
    for i, block in enumerate(blocks):
        is_job = sources[block.places[0]][1] in JOBS if block.places else False
        rows = block.rows if is_job else _with_jobs(block, sources, jobs, replaced)
        blocks[i] = replace(block, rows=rows)
    for i, block in enumerate(blocks):
        if block.places and sources[block.places[0]][1] in JOBS:
            block = _without_result(block, sources, replaced)
        kept = [n for n, place in enumerate(block.places) if place not in replaced]
        blocks[i] = block = block.only(kept)
        if pattern:
            blocks[i] = replace(block, rows=_with_path_fields(block, sources, pattern, redactor))
    return [(place, sources[first][0]) for place, first in sorted(replaced.items())]


def _jobs(blocks, sources):
    """Return the directory of each job to its (position, config, why its settings are not known)."""
    jobs = {}
    for block in blocks:
        if block.places and sources[block.places[0]][1] in JOBS:
            configs, texts = config_of(block.rows.config), block.rows.texts
            for i, (source, config) in enumerate(zip(block.rows.source.tolist(), configs, strict=True)):
                place = block.places[source]
                unknown = texts["reason"][i] if texts["status"][i] == UNREADABLE else ""
                jobs[_directory(sources, place)] = (place, config, unknown)
    return jobs


def _with_jobs(block, sources, jobs, replaced):
    """Return a block's rows with the settings of their jobs, and note what these stand for."""
    if not jobs:
        return block.rows
    rows, changed, notes = block.rows, config_of(block.rows.config), list(block.rows.notes)
    for i, (source, status) in enumerate(zip(rows.source.tolist(), rows.texts["status"], strict=True)):
        if status == UNREADABLE:
            continue
        place = block.places[source]
        job = next((d for d in upwards(_directory(sources, place)) if d in jobs), None)
        if job is not None:
            job_place, config, unknown = jobs[job]
            changed[i] = {**config, **changed[i]}
            replaced[job_place] = min(place, replaced.get(job_place, place))
            if unknown:
                text = f"lacks the settings of its job: the directory of the job {unknown}"
                notes[i] = _noted(notes[i], [text])
    return replace(rows, config=settings(changed), notes=notes)


def _noted(notes, added):
    """Return a run's notes, as JSON, with more."""
    return json.dumps([*json.loads(notes or "[]"), *added])


def _without_result(block, sources, replaced):
    """Refuse a job without a result where another of its name and directory left one.

    The log of a job that was killed ends like that of any other; its missing result tells.
    """
    texts, places = block.rows.texts, [block.places[source] for source in block.rows.source.tolist()]
    groups = [
        (_directory(sources, place).rpartition("/")[0], report)
        for place, report in zip(places, texts["report"], strict=True)
    ]
    parts = dict(zip(block.places, block.parts, strict=True))
    has_result = [bool(parts[place]) or place in replaced for place in places]
    left_one = {group for group, has in zip(groups, has_result, strict=True) if has}
    statuses, reasons = list(texts["status"]), list(texts["reason"])
    for i, status in enumerate(statuses):
        if groups[i] in left_one and not has_result[i] and status in (COMPLETED, UNFINISHED):
            statuses[i] = FAILED
            reasons[i] = "left no result, as other jobs beside it did: it failed, was killed or is at work"
    return replace(block, rows=replace(block.rows, texts={**texts, "status": statuses, "reason": reasons}))


def _with_path_fields(block, sources, pattern, redactor):
    """Return a block's rows with the settings that stand in their paths."""
    rows, changed, notes = block.rows, config_of(block.rows.config), list(block.rows.notes)
    for i, source in enumerate(rows.source.tolist()):
        path, reader = sources[block.places[source]]
        # What a table says of a run may be the path of its directory.
        found = pattern.fields(path if reader == _table.NAME else path.rpartition("/")[0])
        added = []
        changed[i].update(redactor.config(flat(found, added)))
        if not found:
            added.append("its path does not match `path_pattern`: those settings are not set")
        if added:
            notes[i] = _noted(notes[i], added)
    return replace(rows, config=settings(changed), notes=notes)


def _directory(sources, place):
    return sources[place][0].rpartition("/")[0]


# -- sorting out ---------------------------------------------------------------------------


def _sorted_out(rows, sources):
    """Part usable runs from the rest; of runs with one id, or of copies, the first stays."""
    reasons, statuses = list(rows.texts["reason"]), list(rows.texts["status"])
    ids, contents = {}, {}
    for i, run_id, content in _candidates(rows):
        path = sources[rows.source[i]][0]
        if run_id in ids:
            statuses[i], reasons[i] = "duplicate", f"has the run_id of {printable(ids[run_id])}"
        elif content in contents:
            statuses[i] = "duplicate"
            same = printable(contents[content])
            reasons[i] = f"equals {same} in settings, start, runtime and sections: a copy"
        else:
            ids[run_id] = path
            if content:
                contents[content] = path
    rows = replace(rows, texts={**rows.texts, "status": statuses, "reason": reasons})
    usable = np.array([not reason for reason in reasons], dtype=bool)
    if usable.all():
        return rows, rows.take(np.empty(0, dtype=np.int64))
    return rows.take(np.flatnonzero(usable)), rows.take(np.flatnonzero(~usable))


def _candidates(rows):
    """Return (row, run_id, content) of usable runs, in order, that share one of these with another."""
    usable = np.flatnonzero([not reason for reason in rows.texts["reason"]])
    frame = pd.DataFrame(
        {
            "run_id": pd.Series(rows.texts["run_id"], dtype=object).iloc[usable],
            "content": pd.Series(rows.content, dtype=object).iloc[usable],
        }
    )
    shared = frame["run_id"].duplicated(keep=False)
    copied = (frame["content"] != "") & frame["content"].duplicated(keep=False)
    frame = frame[shared | copied]
    configs = rows.config.take(frame.index.to_numpy())
    names, values = (coded.codes for coded in configs.coded)
    ends = np.cumsum(configs.lengths)
    for i, start, end in zip(frame.index, ends - configs.lengths, ends, strict=True):
        content = rows.content[i]
        # A copy has the same settings too, of whatever origin.
        whole = (content, names[start:end].tobytes(), values[start:end].tobytes()) if content else None
        whole = content if content.startswith(ALONE) else whole
        yield i, rows.texts["run_id"][i], whole


def _refuse_nothing(listing, usable, rest, titles):
    if len(usable):
        return
    left_out = len(rest) + len(listing.unopened)
    if not left_out:
        raise NothingToReport(
            f"runs_dir {listing.shown!r} holds no runs that traincost understands; "
            f"it reads: {', '.join(titles)}"
        )
    path, reason = next(iter(listing.unopened), None) if not len(rest) else _first(rest, listing.sources)
    raise NothingToReport(
        f"runs_dir {listing.shown!r} holds no completed run to report on: {left_out} left out, the first "
        f"{printable(path)!r}: {reason}"
    )


def _first(rows, sources):
    return sources[rows.source[0]][0], rows.texts["reason"][0]


# -- frames --------------------------------------------------------------------------------


def _runs_frame(rows, sources):
    columns = {
        **_identity(rows, sources),
        **_config_columns(rows.config),
        **_number_columns(rows.cost, ""),
        **_number_columns(rows.scores, SCORE_PREFIX),
    }
    return pd.DataFrame(columns, copy=False)


def _identity(rows, sources):
    places = rows.source.tolist()
    found = {
        **rows.texts,
        "path": [printable(sources[place][0]) for place in places],
        "format": [sources[place][1] for place in places],
        "runtime_s": rows.runtime_s,
    }
    return {name: _column(found[name]) for name in _IDENTITY}


def _column(values):
    return values if isinstance(values, np.ndarray) else pd.Series(values, dtype="str")


def _config_columns(config):
    """Return a column per setting, in the order in which the runs first set them."""
    values, columns = config.coded[1], {}
    for name, runs, pairs in _by_name(config):
        codes = np.full(len(config.lengths), -1, dtype=np.int32)
        codes[runs] = values.codes[pairs]
        columns[PREFIX + name] = _series(values.levels, codes)
    return columns


def _by_name(pairs):
    """Yield each name in order of first appearance, the runs that have it, and its pairs."""
    names = pairs.coded[0]
    order = np.argsort(names.codes, kind="stable")
    codes, starts = np.unique(names.codes[order], return_index=True)
    groups = dict(zip(codes.tolist(), np.split(order, starts[1:]), strict=True)) if len(codes) else {}
    runs = pairs.runs
    for code, found in sorted(groups.items(), key=lambda group: group[1][0]):
        yield names.levels[code], runs[found], found


def _series(levels, codes):
    """Return levels as numbers where all are, and else as text; code -1 is missing.

    Among numbers a JSON null is missing too; among words it is the level ``None``.

    Text counts as a number if every level reads as one, so that ``1e-3`` and ``0.001`` are
    one level, while a hash among words stays text.
    """
    used, codes = np.unique(codes, return_inverse=True)
    present = [levels[code] if code >= 0 else None for code in used.tolist()]
    numbers = [np.nan if level is None or level == NULL else _number(level) for level in present]
    if None not in numbers and not all(np.isnan(number) for number in numbers):
        table = np.array(numbers, dtype=float)
        return pd.Series((table.astype(np.int64) if _whole(table) else table)[codes])
    texts = np.array([None if level is None else _text(level) for level in present], dtype=object)
    return pd.Series(texts[codes], dtype="str")


def _number(value):
    """Return a level as a number, or None where it is no finite one."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    number = float(value)
    return number if np.isfinite(number) else None


def _text(value):
    if isinstance(value, float):
        return f"{value:.15g}"
    return digits(value) if isinstance(value, int) else value


def _number_columns(pairs, prefix):
    """Return a column per name, sorted: integers where all are and no run lacks one."""
    (values,), n = pairs.plain, len(pairs.lengths)
    columns = {}
    for name, runs, found in sorted(_by_name(pairs), key=lambda entry: entry[0]):
        column = np.full(n, np.nan)
        column[runs] = values[found]
        columns[prefix + name] = column.astype(np.int64) if _whole(column) else column
    return columns


def _whole(numbers):
    return bool((numbers == np.round(numbers)).all() and (abs(numbers) <= EXACT).all())


def _sections_frame(rows):
    (names,), (seconds, counts) = rows.sections.coded, rows.sections.plain
    texts = pd.array(np.array([*names.levels, ""], dtype=object), dtype="str")
    columns = {
        "run": rows.sections.runs,
        "section": texts.take(names.codes),
        "seconds": seconds,
        "count": counts,
    }
    return pd.DataFrame(columns, copy=False)


def _excluded_frame(rows, listing):
    unopened = {name: [""] * len(listing.unopened) for name in _IDENTITY if name != "runtime_s"}
    unopened["path"] = [printable(path) for path, _ in listing.unopened]
    unopened["run_id"] = [path.rpartition("/")[2] for path in unopened["path"]]
    unopened["status"] = [UNREADABLE] * len(listing.unopened)
    frame = pd.DataFrame({**_identity(rows, listing.sources), "reason": _column(rows.texts["reason"])})
    last = pd.DataFrame({name: _column(values) for name, values in unopened.items()}, dtype="str")
    last["reason"] = _column([reason for _, reason in listing.unopened])
    last["runtime_s"] = np.full(len(last), np.nan)
    frame = pd.concat([frame, last[list(frame)]], ignore_index=True) if len(last) else frame
    frame["reason"] = _column([shortened(reason) for reason in frame["reason"]])
    config = pd.DataFrame(_config_columns(rows.config), index=range(len(rows)))
    return pd.concat([frame, config.reindex(frame.index)], axis=1)


def _notes_frame(rows, sources):
    found = [
        (printable(sources[place][0]), run_id, note)
        for place, run_id, notes in zip(rows.source.tolist(), rows.texts["run_id"], rows.notes, strict=True)
        if notes
        for note in map(printable, json.loads(notes))
    ]
    return pd.DataFrame(found, columns=["path", "run_id", "note"])


def _parts_frame(parts, sources):
    rows = [(printable(sources[place][0]), sources[place][1], printable(owner)) for place, owner in parts]
    return pd.DataFrame(rows, columns=["path", "format", "part_of"])


def _compute(rows):
    """Return the compute blocks; runs whose blocks are equal share one."""
    parsed = {text: parse_json(text.encode()) for text in set(rows.compute) if text}
    return {i: parsed[text] for i, text in enumerate(rows.compute) if text}
