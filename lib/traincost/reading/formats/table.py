"""A table with a row per run, and an optional second one with a row per run and section.

The columns are named by `Table`. Where they are not, those of a table that a tool wrote are known
(`table_kinds`), else those with our own names are taken (`collection.Collection.runs`), so that a frame of
runs written as CSV reads back; then a pair of columns of start and end times, a column of words for a
status, and, as settings, what is left and names no row and no time (`table_columns`).
"""

import re
from dataclasses import dataclass, field

from traincost.columns import SCORE_PREFIX
from traincost.errors import ParameterError, brief
from traincost.reading.formats import durations, table_columns, table_kinds, table_text
from traincost.reading.formats.files import Unreadable, shortened
from traincost.reading.formats.run import Run, added, described, numbers, runtime
from traincost.reading.formats.statuses import COMPLETED, FILES, OWN_RECORD, UNREADABLE, status_of
from traincost.reading.formats.table_files import read_rows

NAME = "table"
TITLE = "a table of runs (*.csv, *.tsv, *.jsonl, *.json, *.parquet)"
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}
MEMORY_UNITS = {
    "B": 2.0**-20,
    **{unit: 1000.0**power / 2**20 for power, unit in enumerate(("kB", "MB", "GB"), 1)},
    **{unit: 1024.0 ** (power - 2) for power, unit in enumerate(("KiB", "MiB", "GiB"), 1)},
}
OTHER_UNITS = ("count", "")
SECTION_COLUMNS = ("run", "section", "seconds", "count")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
# A unit at the end of a column's name, which a name with its own unit takes the place of.
_UNIT_ENDING = re.compile(r"_(s|sec|seconds|ms|us|min|minutes|h|hours|b|bytes|[kmg]i?b)$", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Which column of a table is what.

    Raises `ParameterError` where a unit is not known, or a key of `sections_columns` is none.
    """

    runtime_column: str | list | None = None  # wall-clock time; of several, their sum; ``runtime_s`` if None
    runtime_unit: str = "s"  # one of `TIME_UNITS`
    # Settings. If None: those named ``config.…``; if there are none, all that is left.
    factor_columns: list | None = None
    # Column to unit: one of `TIME_UNITS`, `MEMORY_UNITS` (``MB`` is decimal, ``MiB`` is not), ``count``, or
    # empty for a plain number. Those named ``cost_…`` are taken too.
    cost_columns: dict = field(default_factory=dict)
    score_columns: list | None = None  # those named ``score.…`` are taken too
    run_column: str = ""  # ``run_id`` if empty and there, as ``status`` and ``path`` of the next two
    status_column: str = ""
    path_column: str = ""
    sections_table: str = ""  # path of the second table, or empty
    # What it calls the columns ``run``, ``section``, ``seconds`` and ``count``, where it has other names for
    # them; the last may be missing.
    sections_columns: dict = field(default_factory=dict)
    sections_unit: str = "s"  # of its ``seconds``: one of `TIME_UNITS`

    def __post_init__(self):
        for name in ("runtime_unit", "sections_unit"):
            _check_among(f"`{name}`", getattr(self, name), TIME_UNITS)
        for column, unit in self.cost_columns.items():
            _check_among(f"`cost_columns`: {column!r}", unit, (*TIME_UNITS, *MEMORY_UNITS, *OTHER_UNITS))
        for name in self.sections_columns:
            _check_among("a key of `sections_columns`", name, SECTION_COLUMNS)


def _check_among(what, value, allowed):
    if value not in tuple(allowed):
        names = ", ".join(name or repr(name) for name in allowed)
        raise ParameterError(f"{what} must be one of {names}; got {brief(value)}")


def read_runs(path, table):
    """Return (path, run) of each row of the table at `path`; the path is ``row N`` where it has none.

    Raises `Unreadable` where the file is no table or too large, and `ParameterError` where a column that
    was named is not there, or none has the runtime.
    """
    columns, rows = read_rows(path)
    kind = table_kinds.known(columns, rows)
    rows, said = kind.rows(rows) if kind and kind.rows else (rows, [])
    roles = _roles(columns, rows, table, kind)
    found = []
    for i, (row, reason) in enumerate(rows, start=1):
        # Without what leads to a machine's own directories.
        place = str(row.get(roles["path"], "")).replace("\\", "/").lstrip("/") or f"row {i}"
        run = _run(row, str(row.get(roles["run"], place)), roles, table)
        run.reason = reason or run.reason
        run.status = UNREADABLE if reason else run.status
        run.notes += [kind.note] if kind and kind.note else []
        found.append((place, run))
    if found:
        found[0][1].notes += [*said, *roles["said"]]
    if table.sections_table:
        _add_sections([run for _, run in found], table)
    return found


# -- columns ---------------------------------------------------------------------------------


def _roles(columns, rows, table, kind):
    """Return which columns are what, as lists and names; an empty name for none."""
    roles = {"said": [], "started": "", "ended": "", "machine": kind and kind.machine}
    _set_runtime(roles, columns, rows, table, kind)
    for role, own in (("run", "run_id"), ("status", "status"), ("path", "path")):
        named = getattr(table, f"{role}_column")
        roles[role] = named or (getattr(kind, role) if kind else own if own in columns else "")
        _check_there(f"`{role}_column`", [named] if named else [], columns)
    if not roles["status"] and kind is None:
        roles["status"] = table_columns.of_statuses(columns, rows)
    roles["cost"] = {name: "" for name in columns if name.startswith("cost_")} | table.cost_columns
    roles["named_cost"] = kind.costs if kind else {}
    scores = [name for name in columns if name.startswith(SCORE_PREFIX)] + list(table.score_columns or ())
    named_scores = {name: name.removeprefix(SCORE_PREFIX) for name in scores}
    roles["score"] = (kind.scores if kind else {}) | named_scores
    for name in ("cost_columns", "score_columns", "factor_columns"):
        _check_there(f"`{name}`", getattr(table, name) or (), columns)
    roles["factor"] = _factors(columns, rows, roles, table, kind)
    return roles


def _set_runtime(roles, columns, rows, table, kind):
    """Set the columns of the runtime, those that are named, the tool's or ours; or of start and end."""
    named = table.runtime_column
    roles["started"] = kind.started if kind else "started_at" if "started_at" in columns else ""
    if named:
        roles["runtime"] = [named] if isinstance(named, str) else list(named)
    elif kind:
        roles["runtime"], roles["ended"] = [kind.runtime] if kind.runtime else [], kind.ended
    elif "runtime_s" in columns:
        roles["runtime"] = ["runtime_s"]
    else:
        roles["runtime"] = table_columns.of_durations(columns, rows)
        if not roles["runtime"]:
            roles["started"], roles["ended"] = table_columns.of_start_and_end(columns, rows)
            if not roles["ended"]:
                raise ParameterError(
                    "`runtime_column` must name the column of the run times, and `runtime_unit` their unit "
                    f"where its name does not; there are {_listed(columns)}"
                )
    roles["unit"] = _unit(roles, table, kind)
    if not kind:
        _check_there("`runtime_column`", roles["runtime"], columns)
        for name in roles["runtime"]:
            table_text.refuse_ambiguous(name, [c for row, _ in rows if isinstance(c := row.get(name), str)])


def _unit(roles, table, kind):
    """Return the unit of the runtime: as asked for, or as the name of its column says."""
    units = {table_columns.unit_of(name) for name in roles["runtime"]}
    told = units.pop() if len(units) == 1 else ""
    if table.runtime_unit != "s" or told in ("", "s") or (kind and not table.runtime_column):
        return table.runtime_unit
    roles["said"] += [
        f"column {shortened(name, 80)!r} is read in {told}, by its name" for name in roles["runtime"]
    ]
    return told


def _factors(columns, rows, roles, table, kind):
    """Return column to the name of its setting."""
    if table.factor_columns is not None:
        return {name: name.removeprefix("config.") for name in table.factor_columns}
    if kind:
        return kind.settings
    own = {name: name.removeprefix("config.") for name in columns if name.startswith("config.")}
    if own:
        return own
    taken = {*roles["runtime"], *roles["cost"], *roles["score"], "started_at"}
    taken |= {roles[role] for role in ("run", "status", "path", "started", "ended")}
    left = [name for name in columns if name not in taken]
    if table.score_columns is None:
        left = _without_scores(left, rows, roles)
    times_s = [_runtime(row, roles, TIME_UNITS[roles["unit"]])[0] for row, _ in rows]
    no_settings = table_columns.no_settings(left, rows, times_s)
    roles["said"] += [
        f"column {shortened(name, 80)!r} is no setting: {why}" for name, why in no_settings.items()
    ]
    return {name: name for name in left if name not in no_settings}


def _without_scores(names, rows, roles):
    """Return the columns that are not called like a metric; the others become scores."""
    scores = table_columns.of_scores(names, rows)
    roles["score"] |= {name: name for name in scores}
    said = "is taken for a score; `factor_columns` names the settings"
    roles["said"] += [f"column {shortened(name, 80)!r} {said}" for name in scores]
    return [name for name in names if name not in scores]


def _check_there(what, names, columns):
    missing = [name for name in names if name not in columns]
    if missing:
        raise ParameterError(f"{what} names {missing[0]!r}; the table has {_listed(columns)}")


def _listed(columns):
    return shortened(", ".join(columns), 600)


# -- rows ------------------------------------------------------------------------------------


def _run(row, run_id, roles, table):
    run = Run(run_id)
    run.config = {name: row[column] for column, name in roles["factor"].items() if column in row}
    run.started_at = str(row.get(roles["started"], "")) if roles["started"] else ""
    run.cost = _costs(row, roles["cost"], run.notes)
    named = {name: _value(row[column]) for column, name in roles["named_cost"].items() if column in row}
    run.cost |= numbers(named, "cost", run.notes)
    scores = {name: _value(row[column]) for column, name in roles["score"].items() if column in row}
    run.scores = numbers(scores, "score", run.notes)
    run.runtime_s, run.reason = _runtime(row, roles, TIME_UNITS[roles["unit"]])
    run.evidence = OWN_RECORD if roles["status"] else FILES
    if roles["machine"]:
        run.devices, run.device, run.host = roles["machine"](row)
    if roles["status"]:
        word = str(row.get(roles["status"], ""))
        run.status = status_of(word)
        if run.status != COMPLETED:
            run.reason = f"status is {shortened(word, 80)}" if word else "status is missing"
    return run


def _runtime(row, roles, factor):
    """Return the sum of some columns in seconds, or end less start, and why there is none."""
    columns, total = roles["runtime"], 0.0
    if not columns:
        seconds = table_columns.between(row.get(roles["started"]), row.get(roles["ended"]))
        return runtime(seconds, f"{roles['ended']} less {roles['started']}")
    for name in columns:
        value = _value(row.get(name))
        seconds = durations.seconds(value) if isinstance(value, str) else None
        if seconds is None:
            seconds, reason = runtime(value, name)
            if reason and not (value == 0 and len(columns) > 1):
                return None, reason.replace("a number of seconds", "a number")
            seconds = (seconds or 0.0) * factor
        total += seconds
    return runtime(total, " + ".join(columns))


def _value(cell):
    """Return a cell as a number where it reads as one, else as it is; None where it is missing."""
    text = cell.strip() if isinstance(cell, str) else ""
    if _NUMBER.fullmatch(text) and len(text) < 400:
        return float(text)
    return None if cell in ("", "None", "-") else cell


def _costs(row, units, notes):
    """Return cost columns in our units, under names that end in them."""
    costs = {}
    for name, unit in units.items():
        value = _value(row.get(name))
        if value is None:
            continue
        negative = isinstance(value, int | float) and value < 0
        if isinstance(value, str) or negative:
            notes.append(f"cost {shortened(name, 80)!r} is no usable number ({described(value)}): missing")
            continue
        column, factor = _cost_column(name, unit)
        costs[column] = value * factor
    return numbers(costs, "cost", notes)


def _cost_column(name, unit):
    """Return the name of a cost column in our unit, and the factor to get there.

    >>> _cost_column("peak_mem", "GiB")
    ('cost_peak_mem_mib', 1024.0)
    """
    if unit == "" and name.startswith("cost_"):
        return name, 1.0
    stem = name.removeprefix("cost_")
    for ending, units in (("_s", TIME_UNITS), ("_mib", MEMORY_UNITS)):
        if unit in units:
            return f"cost_{_UNIT_ENDING.sub('', stem)}{ending}", units[unit]
    ending = "_count" if unit == "count" and not name.endswith("_count") else ""
    return f"cost_{stem}{ending}", 1.0


# -- sections --------------------------------------------------------------------------------


def _add_sections(runs, table):
    """Give runs the sections of the second table; of equal paths of one run, the sum."""
    try:
        columns, rows = read_rows(table.sections_table)
    except Unreadable as problem:
        raise ParameterError(f"`sections_table` {problem}") from None
    names = {name: table.sections_columns.get(name, name) for name in SECTION_COLUMNS}
    needed = [names[name] for name in SECTION_COLUMNS if name != "count" or "count" in table.sections_columns]
    _check_there("`sections_table` or `sections_columns`", needed, columns)
    by_id = {}
    for run in runs:
        by_id.setdefault(run.run_id, []).append(run)
    strangers = []
    for row, reason in rows:
        run_id = str(row.get(names["run"], ""))
        if run_id not in by_id:
            strangers.append(run_id)
        for run in by_id.get(run_id, ()):
            _add_section(run, row, reason, names, TIME_UNITS[table.sections_unit])
    if len(strangers) == len(rows):
        raise ParameterError("`sections_table` has no row of a run in the table; is its run column the same?")
    if strangers:
        runs[0].notes.append(
            f"{len(strangers)} rows of the sections are of runs that the table does not have, the first "
            f"{shortened(strangers[0], 80)!r}: left out"
        )


def _add_section(run, row, reason, names, factor):
    path = str(row.get(names["section"], ""))
    seconds, count = (_value(row.get(names[name])) for name in ("seconds", "count"))
    usable, why = runtime(seconds, names["seconds"]) if seconds != 0 else (0.0, "")
    if reason or why or not all(path.split("/")):
        why = reason or why or "has no usable name"
        run.notes.append(f"section {shortened(path, 80)!r}: {why}: left out")
        return
    counted = isinstance(count, int | float) and count > 0 and float(count).is_integer()
    timed = (usable * factor, int(count) if counted else None)
    run.sections[path] = added(run.sections.get(path, (0.0, 0)), timed)
