"""Frames to the tables of a page: which columns, under which heading, printed how.

A `Table` keeps the frame whole for the JSON beside the page; the page prints its columns with
fixed digits and cuts it after `MAX_ROWS`.
"""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.analysis.fields import ALL_RUNS, PREFIX, members
from traincost.analysis.knobs import HIGH_LEVERAGE, NOT_WORTH
from traincost.analysis.sections import UNATTRIBUTED
from traincost.columns import column, count, percent, probability, significant
from traincost.results.prose import Name, Number, Sentence, key, say
from traincost.words import unique

P_NOTE = "log runtime over configurations, family-wise over both tests of all factors"
TIER_NOTE = f"high from {percent(HIGH_LEVERAGE, 0)}, not worth touching below {percent(NOT_WORTH)}"
MAX_ROWS = 60  # on the page; the JSON has all
MAX_COLUMNS = 16  # of a table with a column per score or cost; the JSON has all
MAX_RUN_ROWS = 20  # of a table with a row per run, to look things up in rather than to read
MAX_RUNS = 1_000  # that the JSON lists, as rows of that table and as the origin of another's row


@dataclass(frozen=True, eq=False)
class Heading:
    """One printed column: its name in the frame, its heading, its printer, and a note."""

    name: str
    text: str
    printer: object = str
    note: str = ""

    @property
    def is_text(self):
        """Whether the column is aligned as text."""
        return self.printer is str


@dataclass(frozen=True)
class Origin:
    """What one row of a table is of: how many runs, which in words, and their ids.

    `runs` is None where it is all completed runs, or where they are not told apart.
    """

    n_runs: int
    filter: str
    runs: tuple | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a report.

    Attributes
    ----------
    name : str
        Its anchor, and its name in the JSON.
    caption : Sentence
    headings : tuple of Heading
        The first is the rows' own heading.
    frame : DataFrame
        Everything, in machine form.
    n_runs : int
        How many runs the numbers are of.
    filter : str
        Which runs those are, in words.
    origins : tuple of Origin
        One per row; none where every row is of all these runs.
    holds : tuple of str
        What the keys of the numbers begin with that are read off it; its name, if left out.
    limit : int
        Rows that the page prints.
    """

    name: str
    caption: Sentence
    headings: tuple
    frame: pd.DataFrame
    n_runs: int
    filter: str = "completed runs"
    origins: tuple = ()
    holds: tuple = ()
    limit: int = MAX_ROWS

    def origin_of_rows(self):
        """Return an `Origin` per row."""
        return self.origins or (Origin(self.n_runs, self.filter),) * len(self.frame)


def _of_settings(names, rows, members, filter="completed runs"):
    """Return the origins of rows that are each of the runs with one setting of the fields `names`."""
    origins = []
    for row in rows:
        where = ", ".join(f"{name} = {level}" for name, level in zip(names, row, strict=True))
        runs = members.get(tuple(row), ())
        origins.append(Origin(len(runs), f"{filter} where {where}", runs))
    return tuple(origins)


def _of_one(run_ids):
    """Return the origins of rows that are one run each."""
    return tuple(Origin(1, "the run of the row", (run_id,)) for run_id in run_ids)


def cell(heading, value):
    """Print one value under its heading; a missing one is a dash."""
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "–"
    return "–" if pd.isna(value) else heading.printer(value)


def two(value):
    """Print two decimals, with a minus sign and never a negative zero."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def times(value):
    """A factor, with two decimals."""
    return f"{value:.2f} ×"


def setting(value):
    """A level of a setting: a number without the zeros of its column's type."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def chosen_runs(completed, excluded, unit):
    """The runs themselves, completed or not, with the settings that differ between them."""
    parts = [frame for frame in (completed, excluded) if len(frame)]
    names = dict.fromkeys(name for part in parts for name in part.columns if name.startswith(PREFIX))
    columns = {name: _stacked(parts, name) for name in ("run_id", "status", "runtime_s", *names)}
    frame = pd.DataFrame(columns)
    frame["runtime"] = (frame["runtime_s"].astype(float) / unit.seconds).round(2)
    varying = [name for name in names if frame[name].nunique(dropna=False) > 1]
    return Table(
        "runs",
        say("Each run with the settings that differ between these runs."),
        (
            Heading("run_id", "run"),
            Heading("status", "status"),
            Heading("runtime", f"runtime ({unit.symbol})", two),
            *(Heading(name, name.removeprefix(PREFIX), _setting_printer(frame[name])) for name in varying),
        ),
        frame,
        len(frame),
        "completed and other runs",
    )


def _stacked(parts, name):
    values = [value for part in parts for value in part.get(name, [np.nan] * len(part))]
    return pd.Series(values, dtype=None if values else object)


def _setting_printer(column):
    return setting if pd.api.types.is_numeric_dtype(column) else str


def runs(frame, by, across, unit):
    """The runs with their files and settings, the slowest first: where every other table comes from."""
    shown = [field for field in (by, across) if field is not None and field.name != ALL_RUNS]
    levels = {f"level.{f.name}": [f.labels[code] for code in f.codes] for f in shown}
    listed = frame[["run_id", "path", "started_at", "runtime_s"]].assign(**levels)
    listed = listed.sort_values("runtime_s", ascending=False, kind="stable").head(MAX_RUNS)
    return Table(
        "runs",
        say(
            "The {n} and the file of each, below the directory of the runs; slowest first.",
            n=_of_all(len(listed), len(frame)),
        ),
        (
            Heading("run_id", "run"),
            *(Heading(f"level.{f.name}", f.name) for f in shown),
            Heading("runtime_s", f"runtime ({unit.symbol})", unit.number),
            Heading("path", "file"),
        ),
        listed,
        len(frame),
        origins=_of_one(listed["run_id"]),
        holds=("runtime",),
        limit=MAX_RUN_ROWS,
    )


def _of_all(n, of):
    """Say how many of the runs are listed."""
    if n == of:
        return say("completed runs")
    return say(
        "slowest {n} of {of} completed runs",
        n=Number("runs.n_listed", n, count(n)),
        of=Number("runtime.n", of, count(of)),
    )


def levels(frame, field, unit, run_ids, table="levels"):
    """What `fields.level_runtimes` returns for a field; None without one."""
    if field is None:
        return None
    name = field.name
    return Table(
        table,
        say("Runtime by {f}, in {u}, slowest first.", f=Name(name), u=unit.symbol),
        (
            Heading("level", name),
            Heading("n_runs", "runs", count),
            Heading("mean_s", "mean", unit.number),
            Heading("median_s", "median", unit.number),
            Heading("min_s", "min", unit.number),
            Heading("max_s", "max", unit.number),
        ),
        frame,
        int(frame["n_runs"].sum()),
        origins=_of_settings([name], zip(frame["level"], strict=True), members(run_ids, field)),
        holds=(key("level", name),),
    )


def effects(frame):
    """What `effects.main_effects` returns."""
    printed = frame.assign(
        interval=[_interval(low, high) for low, high in zip(frame["low"], frame["high"], strict=True)]
    )
    return Table(
        "effects",
        say("Effect of each factor on runtime, with the test of it."),
        (
            Heading("factor", "factor"),
            Heading("verdict", "verdict"),
            Heading("n_levels", "levels", count),
            Heading("eta_squared", "η²", two, "one-way, SS_factor / SS_total of runtime over runs"),
            Heading("chance", "chance", two, "what η² of an unrelated factor is on average"),
            Heading("p_alone", "p alone", probability, P_NOTE),
            Heading("p_held", "p, others held", probability, "the same, with the other factors held"),
            Heading("log_epsilon_squared", "ε² (log)", two, "of log runtime, not below zero"),
            Heading("interval", "interval", str, "95 %, of log runtime's population η²; noncentral F"),
            Heading("partial_eta_squared", "partial η²", two, "additive model of runtime, type II"),
            Heading("partial_chance", "its chance", two, "df / (df + residual df)"),
            Heading("epsilon_squared", "ε²", two, "η² corrected for bias (Kelley)"),
            Heading("omega_squared", "ω²", two, "η² corrected for bias (Hays)"),
        ),
        printed,
        int(frame["n_runs"].max()) if len(frame) else 0,
        holds=("effects", "predicted"),
    )


_SCALES = {"hours": "runtime", "log": "log runtime"}


def interactions(frame, n_runs):
    """What `effects.interactions` returns."""
    return Table(
        "interactions",
        say("Tests of whether the factors' effects add up."),
        (
            Heading("response", "response"),
            Heading("test", "test"),
            Heading("statistic", "F", two),
            Heading("df", "df", count),
            Heading("df_residual", "residual df", count),
            Heading("p", "p", probability),
        ),
        frame.assign(response=frame["scale"].map(_SCALES)),
        n_runs,
        holds=("interaction",),
    )


def _interval(low, high):
    if np.isnan(low):
        return "–"
    return f"{low:.2f} to {high:.2f}" if high >= 0.005 else "< 0.01"


def fields(described):
    """What each config field is, and why it is no factor where it is none."""
    rows = [
        (
            field.name,
            field.kind,
            field.n_levels,
            field.labels[0] if field.kind == "shared" else "",
            "; ".join(filter(None, [field.reason, field.fixed_by and f"fixed by {field.fixed_by}"])),
        )
        for field in described
    ]
    return Table(
        "fields",
        say("Every setting of the runs, and what it is taken for."),
        (
            Heading("field", "setting"),
            Heading("kind", "taken for", str, "levels or numeric: a factor; shared: one level in all runs"),
            Heading("n_levels", "levels", count),
            Heading("level", "its level"),
            Heading("reason", "why"),
        ),
        pd.DataFrame(rows, columns=["field", "kind", "n_levels", "level", "reason"]),
        len(described[0].codes) if described else 0,
        holds=("settings",),
    )


def sections(frame):
    """What `sections.shares` returns; where rows are cut, the unattributed rest comes first."""
    if len(frame) > MAX_ROWS:
        frame = frame.sort_values("section", key=lambda names: names != UNATTRIBUTED, kind="stable")
    printed = frame.assign(
        present=[
            f"{count(n)} of {count(of)}" for n, of in zip(frame["n_present"], frame["n_runs"], strict=True)
        ],
        kind=np.select(
            [frame["overlapping"], frame["disjoint"]], ["overlapping", "top level"], "inside its parent"
        ),
    )
    return Table(
        "sections",
        say(
            "Share of runtime by section. Top-level rows and the unattributed rest add up to all of "
            "it{printed}.",
            printed=_printed_sum(frame.loc[frame["disjoint"], "share"]),
        ),
        (
            Heading("section", "section"),
            Heading("share", "mean share", percent, "each run counts once; absent counts as zero"),
            Heading("pooled_share", "pooled share", percent, "all seconds over all runtime"),
            Heading("per_occurrence_s", "one occurrence", _seconds, "seconds / count, mean over runs"),
            Heading("count", "times a run", count),
            Heading("untimed_share", "untimed inside", percent, "mean share that its children leave"),
            Heading("present", "in runs"),
            Heading("kind", "place"),
        ),
        printed,
        int(frame["n_runs"].max()),
        holds=("sections", "unattributed", "cadence"),
    )


def _printed_sum(shares):
    """Say what percentages add up to as they are printed, where rounding keeps them from a hundred."""
    total = sum(round(10_000 * share) for share in shares) / 10_000
    if total == 1:
        return ""
    return say(", as printed to {x} by rounding", x=Number("sections.printed_sum", total, percent(total)))


def _seconds(value):
    return f"{significant(value)} s"


def occurrences(timing, name, n_runs):
    """Seconds per occurrence, sections by levels."""
    wide = timing.pivot(index="section", columns="level", values="per_occurrence_s")
    levels = list(dict.fromkeys(timing["level"]))
    wide = wide.reindex(index=list(dict.fromkeys(timing["section"])), columns=levels)
    # A level may be called like the column of the sections.
    wide.columns = [f"level.{level}" for level in levels]
    return Table(
        "occurrences",
        say("Seconds per occurrence of each section, mean over runs, by {f}.", f=Name(name)),
        (
            Heading("section", "section"),
            *(Heading(f"level.{level}", level, significant) for level in levels),
        ),
        wide.reset_index(),
        n_runs,
        holds=("occurrence",),
    )


def knobs(frame, unit):
    """What `knobs.bounds` returns."""

    def between(low, high):
        return [
            "–" if np.isnan(a) else f"{percent(a)} to {percent(b)}"
            for a, b in zip(frame[low], frame[high], strict=True)
        ]

    printed = frame.assign(resampled=between("low", "high"), by_level=between("level_low", "level_high"))
    return Table(
        "knobs",
        say("What each knob can save at most."),
        (
            Heading("knob", "knob"),
            Heading("tier", "leverage", str, TIER_NOTE),
            Heading("kind", "kind", str, "cadence: done less often; share: not done, or done with less"),
            Heading("governed_share", "governs", percent, "mean share of the sections it governs"),
            Heading("bound", "saves at most", percent, "mean share of runtime"),
            Heading("resampled", "resampling range", str, "2.5 to 97.5 % of means over redrawn runs"),
            Heading("by_level", "range over levels"),
            Heading("pooled_bound", "pooled", percent, "of all runtime together"),
            Heading("saved_s", f"saved ({unit.symbol})", unit.number),
            Heading("speed_up", "speed-up", times, "1 / (1 - pooled)"),
        ),
        printed,
        int(frame["n_runs"].max()) if len(frame) else 0,
        origins=tuple(map(_of_knob, frame["n_known"], frame["n_runs"])),
    )


def _of_knob(n_known, n_runs):
    known = "completed runs" if n_known == n_runs else "completed runs in which the occurrences were counted"
    return Origin(int(n_known), known)


def cost(frame, members=None, name="cost"):
    """What `costs.cost_table` returns: a row per level, mean ± deviation per column.

    `members`, of `costs.cost_members`, are the runs of each row; `name` is that of the split.
    """
    keys = list(frame.columns[: list(frame.columns).index("column")])
    names = list(dict.fromkeys(frame["column"]))
    columns = unique(names, taken=[*keys, "n_runs"])  # a score may be called like a setting
    n_shown = min(len(names), MAX_COLUMNS)
    rows = list(dict.fromkeys(frame[keys].itertuples(index=False, name=None)))
    printed = {
        (*row[: len(keys)], row.column): mean_and_deviation(row)
        for row in frame[[*keys, *_SUMMARY]].itertuples(index=False)
    }
    n_runs = frame.groupby(keys, sort=False)["n_runs"].max().to_list() if len(frame) else []
    wide = pd.DataFrame(
        [
            (*row, n, *(printed.get((*row, name), "–") for name in names))
            for row, n in zip(rows, n_runs, strict=True)
        ],
        columns=[*keys, "n_runs", *columns],
    )
    of = say(
        " Columns beyond the first {n} of {all} are not shown.",
        n=Number(f"{name}.n_shown", n_shown, count(n_shown)),
        all=Number(f"{name}.n_columns", len(names), count(len(names))),
    )
    return Table(
        name,
        say(
            "{what}: mean over the runs of a row and, of two or more that can be compared, their sample "
            "deviation.{of}",
            what={"cost": "Cost columns", "scores": "Scores"}[name],
            of=of if n_shown < len(names) else "",
        ),
        (
            *(Heading(key, key) for key in keys if key != "path"),
            Heading("n_runs", "runs", count),
            *(
                Heading(in_frame, n.removeprefix("cost_"), as_printed, column(n).meaning)
                for in_frame, n in zip(columns[:n_shown], names[:n_shown], strict=True)
            ),
        ),
        wide,
        sum(n_runs),
        origins=_of_settings(keys, rows, members) if members is not None else (),
        holds=(name, "process") if name == "cost" else (name,),
    )


_SUMMARY = ["column", "mean", "std", "shared_process"]


def as_printed(text):
    """Keep text that has been printed already, and align it as a number."""
    return text


def mean_and_deviation(row):
    """Print mean ± deviation with the mean's decimals; – for the deviation of a single run.

    Seeds of one process inherit each other's memory peak, so theirs has no deviation.
    """
    if np.isnan(row.mean):
        return "–"
    mean = column(row.column).text(row.mean)
    if row.column == "cost_memory_mib" and row.shared_process:
        return mean
    if np.isnan(row.std):
        return f"{mean} ± –"
    if row.std == 0 and column(row.column).unit == "count":
        return mean
    if "e" in mean:
        return f"{mean} ± {significant(row.std, 2)}"
    return f"{mean} ± {row.std:,.{len(mean.partition('.')[2])}f}"


def spent(frame, name, unit, currency, members):
    """What `costs.spent` returns; the runs of each level are `costs.spent_members`."""
    rows = list(frame["level"])[:-1]
    n_all = int(frame[["n_runs", "n_excluded"]].iloc[-1].sum())
    headings = [
        Heading("level", name),
        Heading("n_runs", "runs", count),
        Heading("runtime_s", f"runtime ({unit.symbol})", unit.number),
        Heading("n_excluded", "left out", count),
        Heading("excluded_s", f"their runtime ({unit.symbol})", unit.number),
        Heading("device_hours", "device-hours", significant),
    ]
    if "money" in frame:
        headings.append(Heading("money", currency, significant, "price_per_hour times device-hours"))
    if "energy_kwh" in frame:
        headings.append(Heading("energy_kwh", "kWh", significant, "power_w times device-hours"))
    return Table(
        "spent",
        say("Hours spent, with those of runs left out of the statistics."),
        tuple(headings),
        frame,
        n_all,
        "all runs",
        origins=(
            *_of_settings([name], zip(rows, strict=True), members, "all runs"),
            Origin(n_all, "all runs"),
        ),
    )


def front(frame):
    """The runs that no other run beats on score and cost both."""
    return Table(
        "front",
        say("Runs that no other beats on both, from the cheapest."),
        (
            Heading("run_id", "run"),
            Heading("cost", "cost (s)", significant),
            Heading("score", "score", significant),
        ),
        frame[frame["front"].astype(bool)],
        len(frame),
        origins=_of_one(frame.loc[frame["front"].astype(bool), "run_id"]),
    )


def unfinished(frame, name):
    """What `costs.unfinished` returns."""
    return Table(
        "unfinished",
        say("Runs of each level that were not completed; its means are of the others."),
        (
            Heading("level", name),
            Heading("n_completed", "completed", count),
            Heading("n_unfinished", "not completed", count),
            Heading("share", "share not completed", percent),
        ),
        frame,
        int(frame["n_completed"].sum() + frame["n_unfinished"].sum()),
        "completed and unfinished runs",
        origins=tuple(
            Origin(int(n), f"completed and unfinished runs where {name} = {level}")
            for level, n in zip(frame["level"], frame["n_completed"] + frame["n_unfinished"], strict=True)
        ),
    )


def excluded(frame, unit):
    """The runs that no statistic includes."""
    frame = frame[["run_id", "path", "status", "reason", "runtime_s"]]
    return Table(
        "excluded",
        say(
            "Runs left out of every statistic: {n}. Their runtime is shown as far as it is known.",
            n=Number("excluded.n", len(frame), count(len(frame))),
        ),
        (
            Heading("run_id", "run"),
            Heading("path", "path"),
            Heading("status", "status"),
            Heading("reason", "reason"),
            Heading("runtime_s", f"runtime ({unit.symbol})", unit.number),
        ),
        frame,
        len(frame),
        "runs left out",
        origins=_of_one(frame["run_id"]),
        limit=MAX_RUN_ROWS,
    )


def notes(frame):
    """What was dropped from runs that are otherwise used, or is only known of them roughly."""
    groups = frame.groupby("note", sort=False)
    listed = groups.agg(n_runs=("run_id", "size"), run_id=("run_id", "first"), path=("path", "first"))
    origins = [Origin(len(g), "completed runs with the row's note", tuple(g["run_id"])) for _, g in groups]
    return Table(
        "notes",
        say("What was left out of runs that are otherwise used, or is known roughly only."),
        (
            Heading("note", "note"),
            Heading("n_runs", "runs", count),
            Heading("run_id", "the first of them"),
            Heading("path", "its file"),
        ),
        listed.reset_index(),
        frame["run_id"].nunique(),
        origins=origins,
        limit=MAX_RUN_ROWS,
    )


def parameters(values):
    """The parameters that this page was built with."""
    rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in values.items()]
    return Table(
        "parameters",
        say("Parameters of this page."),
        (Heading("name", "parameter"), Heading("value", "value")),
        pd.DataFrame(rows, columns=["name", "value"]),
        0,
        "parameters",
    )


def versions(values):
    """The versions of what computed the numbers."""
    return Table(
        "versions",
        say("Computed with."),
        (Heading("name", "package"), Heading("version", "version")),
        pd.DataFrame(values.items(), columns=["name", "version"]),
        0,
        "versions",
    )


def turned(frame):
    """What `savings.measured_savings` returns."""
    return Table(
        "turned",
        say("Bound and measured saving of each knob that was turned, as shares of runtime."),
        (
            Heading("knob", "knob"),
            Heading("n_configurations", "configurations", count),
            Heading("bound", "bound", percent, "over the configurations that were run again"),
            Heading("measured", "measured", percent, "mean over configurations"),
            Heading("interval", "interval", str, "95 %, t"),
            Heading("outcome", "outcome"),
            Heading("inside", "saved in its sections", percent),
            Heading("outside", "saved elsewhere", percent, "a bound assumes none"),
            Heading("governed", "they took before", percent, "share of runtime"),
            Heading("still_governed", "they take now", percent, "of the runtime before"),
        ),
        frame.assign(interval=_intervals(frame)),
        int(frame["n_configurations"].sum()) if len(frame) else 0,
        "paired configurations",
        holds=("drift", "turned"),
    )


def _intervals(frame):
    ends = zip(frame["low"], frame["high"], strict=True)
    return ["–" if np.isnan(a) else f"{percent(a)} to {percent(b)}" for a, b in ends]
