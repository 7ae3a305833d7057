"""How long one occurrence of a repeated section takes, one evaluation say, by level."""

import numpy as np

from traincost.analysis import knobs, sections
from traincost.analysis.levels import level_runtimes
from traincost.printing import time_text
from traincost.results.figures import MAX_ROWS, Figure, axes_of, clipped, cut, label_rows, plain_log_axis
from traincost.results.prose import N_NAMED, Name, Number, join, key, say
from traincost.results.result import Result
from traincost.results.svg import SERIES
from traincost.results.tables import Heading, Table

N_SLOWEST, N_FASTEST = 3, 2  # levels of many that the table shows


def occurrences(runs, *, name=""):
    """Say how long one occurrence of a repeated section takes, one evaluation say, by level.

    Parameters
    ----------
    runs : Runs
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per section and level, as `analysis.sections.per_occurrence` returns it.
    """
    by, t = runs.axes[0], runs.timing
    scheduled = runs.cadence_section or knobs.scheduled(t, runs.section_kinds)
    repeated = sections.repeated_parts(t)
    parts = sections.per_occurrence(t, by, repeated)
    inside = sections.per_occurrence(t, by, sections.subsections(t))
    table = sections.per_occurrence(t, by)
    return Result.showing(
        "occurrences",
        table,
        [
            *_slowest_and_fastest(parts, [scheduled, *repeated[:1]], runs.short(by.name)),
            *_per_run(sections.counts(t, scheduled), scheduled),
        ],
        Figure.of("occurrences", parts, draw_occurrences, _caption, by.name),
        Figure.of("subsections", inside, draw_occurrences, _caption, by.name),
        _table(table, by.name, runs),
        prefix=name,
        of=runs.label,
    )


def _slowest_and_fastest(timing, sections, short):
    """Time per occurrence of each of `sections`, said once: slowest and fastest levels."""
    for section in dict.fromkeys(sections):
        rows = timing[timing["section"] == section].sort_values("per_occurrence_s", ascending=False)
        if len(rows) > 1:
            n = min(2, len(rows) // 2)
            slow, fast = (
                [
                    say("{t} for {level}", t=_each(section, r), level=Name(short.get(r.level, r.level)))
                    for r in part.itertuples()
                ]
                for part in (rows.head(n), rows.iloc[::-1].head(n))
            )
            yield say("Each time, {s} takes {slow}, against {fast}.", s=Name(section), slow=slow, fast=fast)


def _each(section, row):
    return Number.time(key("occurrence", section, row.level, "seconds"), row.per_occurrence_s)


def _per_run(counts, section):
    """How often the scheduled section runs: the distinct counts, or their range."""
    counts = np.unique(counts[np.isfinite(counts)]).astype(int)
    if len(counts):
        said = "{s} runs {n} {k:time|times} in a run."
        yield say(said, s=Name(section), n=how_often(counts), k=counts[-1])


def how_often(counts):
    """Say distinct counts, or their range where there are many."""
    if len(counts) <= N_NAMED:
        listed = [Number.count(key("cadence", "count", i), value) for i, value in enumerate(counts)]
        return join([say("{n}", n=n) for n in listed], " or ")
    ends = Number.count("cadence.count.min", counts[0]), Number.count("cadence.count.max", counts[-1])
    return say("{a} to {b}", a=ends[0], b=ends[1])


def _caption(timing, name):
    """The section whose single occurrence takes longest."""
    means = timing.groupby("section", sort=False)["per_occurrence_s"].mean()
    top = means.idxmax()
    value = Number.time(key("occurrence", top, "mean_level_seconds"), means.max())
    return say(
        "What one time takes by section and {f}: {s} takes longest, {t} on average over the levels.",
        f=Name(name),
        s=Name(top),
        t=value,
    )


def draw_occurrences(timing, name):
    """Seconds per occurrence of sections, on a log axis, by level."""
    levels = list(dict.fromkeys(timing["level"]))[:MAX_ROWS]
    sections = list(dict.fromkeys(timing["section"]))[: len(SERIES)]
    figure, axes = axes_of(0.8 + 0.34 * len(levels))
    markers = "osD^vPX><"
    for i, section in enumerate(sections):
        rows = timing[timing["section"].eq(section) & timing["level"].isin(levels)]
        axes.plot(
            rows["per_occurrence_s"],
            [levels.index(level) for level in rows["level"]],
            markers[i],
            color=SERIES[i],
            markersize=6,
        )
    timed = timing["per_occurrence_s"][timing["per_occurrence_s"] > 0]
    if len(timed):  # a clock may not have moved within any
        axes.set_xscale("log")
        plain_log_axis(axes, timed)
    label_rows(axes, levels)
    axes.set_ylabel(clipped(name))
    axes.set_xlabel("seconds each time (log scale)")
    axes.grid(axis="both")
    legend = [((markers[i], SERIES[i % len(SERIES)]), s) for i, s in enumerate(sections)]
    return figure, legend + cut(timing["level"].nunique())


def _table(timing, name, runs):
    """Seconds per occurrence, sections by levels, the slowest runs' level first; of many levels the ends."""
    wide = timing.pivot(index="section", columns="level", values="per_occurrence_s")
    order = level_runtimes(runs.runtime_s, runs.axes[0])["level"]
    levels = [level for level in order if level in wide] or list(wide)
    wide = wide.reindex(index=list(dict.fromkeys(timing["section"])), columns=levels)
    # A level may be called like the column of the sections.
    wide.columns = [f"level.{level}" for level in levels]
    many, short = len(levels) > N_SLOWEST + N_FASTEST, runs.short(name)
    shown = [*levels[:N_SLOWEST], *levels[-N_FASTEST:]] if many else levels
    return Table(
        "occurrences",
        say("What one time of each section takes, by {f}", f=Name(name)),
        (
            Heading("section", "section", code=True),
            *(Heading(f"level.{level}", short.get(level, level), time_text) for level in shown),
        ),
        wide.reset_index(),
        len(runs.frame),
        holds=("occurrence",),
        note=say(
            "Mean over runs; the {a} levels with the slowest runs and the {b} with the fastest of {n}.",
            a=Number.count("occurrences.n_slowest", N_SLOWEST),
            b=Number.count("occurrences.n_fastest", N_FASTEST),
            n=Number.count("occurrences.n_levels", len(levels)),
        )
        if many
        else say("Mean over runs; slowest runs first."),
    )
