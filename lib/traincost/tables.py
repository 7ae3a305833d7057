"""Frames to the tables of a page: which columns, under which heading, printed how.

A `Table` keeps the frame whole for the JSON beside the page; the page prints its columns with
fixed digits and cuts it after `MAX_ROWS`.
"""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.columns import COST_ORDER, column, count, percent, probability, significant
from traincost.prose import Name, Number, Sentence, say

MAX_ROWS = 60  # on the page; the JSON has all


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
    """

    name: str
    caption: Sentence
    headings: tuple
    frame: pd.DataFrame
    n_runs: int
    filter: str = "completed runs"


def cell(heading, value):
    """Print one value under its heading; a missing one is a dash."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "–"
    return heading.printer(value)


def two(value):
    """Print two decimals, with a minus sign and never a negative zero."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def times(value):
    """A factor, with two decimals."""
    return f"{value:.2f} ×"


def levels(frame, name, unit):
    """Runtime by level of a factor."""
    return Table(
        "levels",
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
            Heading("epsilon_squared", "ε²", two, "η² corrected for bias (Kelley)"),
            Heading("omega_squared", "ω²", two, "η² corrected for bias (Hays)"),
            Heading("log_epsilon_squared", "ε² (log)", two, "of log runtime, not below zero"),
            Heading("interval", "interval", str, "of log runtime's population η², noncentral F"),
            Heading("partial_eta_squared", "partial η²", two, "additive model, type II"),
            Heading("partial_chance", "its chance", two, "df / (df + residual df)"),
            Heading("p_alone", "p alone", probability, "family-wise, log runtime, configurations"),
            Heading("p_held", "p, others held", probability, "the same, the other factors held"),
        ),
        printed,
        int(frame["n_runs"].max()) if len(frame) else 0,
    )


def _interval(low, high):
    return "–" if np.isnan(low) else f"{low:.2f} to {high:.2f}"


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
            Heading("kind", "taken for"),
            Heading("n_levels", "levels", count),
            Heading("level", "its level"),
            Heading("reason", "why"),
        ),
        pd.DataFrame(rows, columns=["field", "kind", "n_levels", "level", "reason"]),
        len(described[0].codes) if described else 0,
    )


def sections(frame):
    """What `sections.shares` returns."""
    printed = frame.assign(
        present=[
            f"{count(n)} of {count(of)}" for n, of in zip(frame["n_present"], frame["n_runs"], strict=True)
        ],
        kind=np.select(
            [frame["overlapping"], frame["disjoint"]], ["overlapping", "disjoint"], "inside its parent"
        ),
    )
    return Table(
        "sections",
        say("Share of runtime by section. Disjoint rows and the unattributed rest add up to all of it."),
        (
            Heading("section", "section"),
            Heading("share", "mean share", percent, "each run counts once; absent counts as zero"),
            Heading("pooled_share", "pooled share", percent, "all seconds over all runtime"),
            Heading("per_occurrence_s", "one occurrence", _seconds, "seconds / count, mean over runs"),
            Heading("count", "times a run", count),
            Heading("present", "in runs"),
            Heading("kind", "adds up"),
        ),
        printed,
        int(frame["n_runs"].max()),
    )


def _seconds(value):
    return f"{significant(value)} s"


def occurrences(timing, name, n_runs):
    """Seconds per occurrence, sections by levels."""
    wide = timing.pivot(index="section", columns="level", values="per_occurrence_s")
    wide = wide.reindex(
        index=list(dict.fromkeys(timing["section"])), columns=list(dict.fromkeys(timing["level"]))
    )
    wide.columns.name = None
    headings = [Heading(level, level, significant) for level in wide.columns]
    return Table(
        "occurrences",
        say("Seconds per occurrence of each section, mean over runs, by {f}.", f=Name(name)),
        (Heading("section", "section"), *headings),
        wide.reset_index(),
        n_runs,
    )


def knobs(frame, unit):
    """What `speedups.bounds` returns."""

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
            Heading("tier", "leverage"),
            Heading("kind", "kind"),
            Heading("governed_share", "governs", percent, "mean share of the sections it governs"),
            Heading("bound", "saves at most", percent, "mean share of runtime"),
            Heading("resampled", "resampling range"),
            Heading("by_level", "range over levels"),
            Heading("pooled_bound", "pooled", percent, "of all runtime together"),
            Heading("saved_s", f"saved ({unit.symbol})", unit.number),
            Heading("speed_up", "speed-up", times, "1 / (1 - pooled)"),
        ),
        printed,
        int(frame["n_runs"].max()) if len(frame) else 0,
    )


def cost(frame, name):
    """Mean and deviation of the cost columns by level; `frame` has them in long form."""
    names = [n for n in COST_ORDER if n in set(frame["column"])]
    names += sorted(set(frame["column"]) - set(names))
    wide = frame.assign(text=[_mean_std(r) for r in frame.itertuples()])
    wide = wide.pivot(index="level", columns="column", values="text").reindex(
        index=list(dict.fromkeys(frame["level"])), columns=names
    )
    wide.columns.name = None
    n = frame.groupby("level", sort=False)["n_runs"].max()
    wide.insert(0, "n_runs", n.reindex(wide.index))
    return Table(
        "cost",
        say(
            "What the runs cost: mean and, where it can be had, standard deviation over the runs of a level."
        ),
        (
            Heading("level", name),
            Heading("n_runs", "runs", count),
            *(Heading(n, n.removeprefix("cost_"), _as_printed, column(n).meaning) for n in names),
        ),
        wide.reset_index(),
        int(n.sum()),
    )


def _as_printed(text):
    return text


def _mean_std(row):
    printed = column(row.column)
    if np.isnan(row.mean):
        return "–"
    return printed.text(row.mean) + (f" ± {printed.text(row.std)}" if row.std > 0 else "")


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
    )


def notes(frame):
    """What was dropped from runs that are otherwise used."""
    return Table(
        "notes",
        say("Values left out of runs that are otherwise used."),
        (Heading("run_id", "run"), Heading("path", "path"), Heading("note", "note")),
        frame,
        frame["run_id"].nunique(),
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
