"""Why the slow ones are slow: the mean run of each level by section, what differs, and how long it takes."""

import re

import numpy as np

from traincost.analysis import differences as analysis
from traincost.analysis import knobs, sections
from traincost.analysis.levels import level_runtimes
from traincost.analysis.sections import UNATTRIBUTED
from traincost.printing import count, ratio_text, share_text, time_parts, time_text
from traincost.results import arguments, fluid, mean_bars
from traincost.results.figures import MAX_ROWS, Figure, axes_of, clipped, cut, label_rows, plain_log_axis
from traincost.results.names import part_names
from traincost.results.prose import N_NAMED, Name, Number, join, key, say
from traincost.results.result import Bars, Earlier, More, Result
from traincost.results.shares import draw_composition
from traincost.results.svg import SERIES
from traincost.results.tables import Bar, Heading, Table, part_of

_WORD = re.compile(r"[^\W\d_]{2,}")
LEAST_SAID = 0.02  # of the difference: a smaller part is not named in prose
FAR_APART = 100  # times as long: of so little, the ratio tells nothing
ALIKE = 0.05  # relative: counts closer than this are as often


@arguments.checked
def differences(runs, *, name=""):
    """Say why the runs of the slowest level take longer than those of the fastest.

    The levels are those of `runs.rows`, or of the setting of largest effect.

    Parameters
    ----------
    runs : Runs
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per part of a run, as `analysis.differences.difference` returns it.
    """
    by, t = runs.axes[0], runs.timing
    table = analysis.difference(t, by)
    means = analysis.mean_runs(t, by)
    inside = occurrences(runs)
    # On a page the hours say it; in JupyterLab `occurrences` draws it.
    each = [block for block in inside.blocks if not isinstance(block, Figure)]
    one_time = More(
        say("How long one time of each section takes"),
        (Earlier(("time-per-occurrence", "figure-occurrences", "figure-subsections")), *each),
    )
    if len(table) < 2:
        said = [say("{why}.", why=_nothing_to_compare(runs))]
        return Result.showing(
            "differences", table, said, one_time if each else None, prefix=name, of=runs.label
        )
    return Result.showing(
        "differences",
        table,
        _why(table, by.name, runs.short(by.name)),
        _bars(means, by.name, runs),
        _table(table, by.name, int(means["n_runs"].sum()), _colours(means, runs), runs.short(by.name)),
        one_time,
        prefix=name,
        of=runs.label,
    )


def _nothing_to_compare(runs):
    if len(runs) == 1:
        return "There is one run, so none to compare it with"
    if not runs.timing.paths:
        return "The runs recorded no sections, so what makes some of them slow cannot be said"
    return "No setting varies between the runs, so they are not compared"


def _why(table, by, short):
    """The two levels, what their difference is made of, and how its largest part comes about."""
    slow, fast, total = (table.attrs[name] for name in ("slow", "fast", "total_s"))
    named = part_names(table["part"])
    rows = table[table["share"] >= LEAST_SAID].head(N_NAMED)
    if not len(rows):
        return
    whole = table[["slow_s", "fast_s"]].sum()
    keys = [*(key("difference", part, "more_s") for part in rows["part"]), "difference.total_s"]
    seconds = [*rows["more_s"], total]
    *parts, total = Number.several(keys, seconds, time_parts(seconds, total))
    yield say(
        "A run of {slow} takes {a}, one of {fast} {b}. Of the {total} between them, {parts}.",
        slow=Name(_telling(by, short.get(slow, slow))),
        a=Number.time(key("level", by, slow, "mean_s"), whole["slow_s"]),
        fast=Name(short.get(fast, fast)),
        b=Number.time(key("level", by, fast, "mean_s"), whole["fast_s"]),
        total=total,
        parts=[
            say("{t} is {part}", t=t, part="untimed" if part == UNATTRIBUTED else Name(named[part]))
            for t, part in zip(parts, rows["part"], strict=True)
        ],
    )
    counted = rows[np.isfinite(rows["slow_count"])]
    yield from (_how(row, named) for row in counted.head(1).itertuples())


def _telling(by, level):
    """Return what runs of a level are called: of a number or a truth value, with its setting."""
    tells = _WORD.search(level) and level.lower() not in ("true", "false", "none", "yes", "no", "on", "off")
    return level if tells else f"{by} {level}"


def _how(row, named):
    """Whether the largest part runs more often, or takes longer each time."""
    base = key("difference", row.part)
    ratio = row.slow_each_s / row.fast_each_s if row.fast_each_s else np.nan
    often = "runs {n} {n:time|times} a run against {m} on average"
    if row.slow_count == row.fast_count:
        often = "runs as often in both ({n} {n:time|times} a run)"
    cause = ": most of its difference is how long each time takes"
    if abs(row.by_count_s) > abs(row.by_each_s):
        cause = ": most of its difference is that it runs more often"
    as_often = abs(row.slow_count - row.fast_count) <= ALIKE * row.fast_count
    return say(
        f"{{part}} {often}; one time takes {{a}} against {{b}}[, {{ratio}} as long]{{cause}}.",
        part=Name(named[row.part]),
        n=Number.of(f"{base}.slow_count", row.slow_count, count),
        m=Number.of(f"{base}.fast_count", row.fast_count, count),
        a=Number.time(f"{base}.slow_each_s", row.slow_each_s),
        b=Number.time(f"{base}.fast_each_s", row.fast_each_s),
        ratio=Number.of(f"{base}.each_ratio", ratio, ratio_text) if ratio <= FAR_APART else None,
        cause="" if as_often else cause,
    )


def _colours(means, runs):
    """Return the colour of each part, as the figure has it."""
    first = means.iloc[0]
    parts = fluid.ranked(mean_bars.level_of("", first, first["mean_s"], runs.section_kinds).parts)
    columns = means.columns.drop(mean_bars.BESIDE)
    return {column: part.colour for column, part in zip(columns, parts, strict=True)}


def _bars(means, by, runs):
    rows = [
        mean_bars.level_of(
            runs.short(by).get(level, str(level)), row, row["mean_s"], runs.section_kinds, _range(row)
        )
        for level, row in means.iterrows()
    ]
    parts = means.drop(columns=mean_bars.BESIDE)
    share = parts.div(means["mean_s"], axis=0).assign(n_runs=means["n_runs"])
    return Bars(
        "mean-runs",
        means.reset_index(),
        mean_bars.level_bars(rows, name="mean-runs", title=f"Mean run of each {by} by section"),
        say(
            "Mean run of each {by} by section, slowest first; at right the shortest and longest run",
            by=Name(by),
        ),
        legend=fluid.legend(fluid.ranked(rows[0].parts), "mean-runs"),
        drawn=Figure("composition", share, draw_composition, say("Mean run of each level by section."), ()),
    )


def _range(row):
    if row["n_runs"] < 2:
        return ""
    low, high = time_parts([row["shortest_s"], row["longest_s"]], row["longest_s"])
    return f"{low} to {high}"


def _table(table, by, n_runs, colours, short):
    slow, fast, total = (table.attrs[name] for name in ("slow", "fast", "total_s"))
    named = part_names(table["part"])
    sums = {name: table[name].sum() for name in ("slow_s", "fast_s", "more_s", "share")}
    frame = table.assign(
        label=[named[part] for part in table["part"]],
        colour=[colours[part] for part in table["part"]],
        row="",
    )
    frame.loc[len(frame)] = {"part": "whole run", "label": "whole run", "colour": "", "row": "total", **sums}
    of_total = part_of(float(max(sums["slow_s"], 1e-12)))
    return Table(
        "difference",
        say("Where the {t} come from", t=Number.time("difference.total_s", total)),
        (
            Heading("label", "section", code=True, swatch="colour"),
            Heading("slow_s", short.get(slow, str(slow)), of_total, hide_on_phone=True),
            Heading("fast_s", short.get(fast, str(fast)), of_total, hide_on_phone=True),
            Heading("more_s", "more", part_of(total, signed=True)),
            Heading("share", "of the difference", share_text, bar=Bar(colour="colour", of="share")),
        ),
        frame,
        n_runs,
        f"completed runs of {slow} and of {fast}",
        holds=("difference",),
        note=say("Mean run of the slowest and of the fastest {by}.", by=Name(by)),
        rows="row",
    )


# -- how long one time of a repeated section takes -----------------------------------------


N_SLOWEST, N_FASTEST = 3, 2  # levels of many that the table shows


@arguments.checked
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
            *_slowest_and_fastest(parts, [scheduled, *repeated[:1]], by.name, runs.short(by.name)),
            *_per_run(sections.counts(t, scheduled), scheduled),
        ],
        Figure.of("occurrences", parts, draw_occurrences, _occurrences_caption, by.name),
        Figure.of("subsections", inside, draw_occurrences, _occurrences_caption, by.name),
        _occurrences_table(table, by.name, runs),
        prefix=name,
        of=runs.label,
    )


def _slowest_and_fastest(timing, sections, by, short):
    """Time per occurrence of each of `sections`, said once: slowest and fastest levels."""
    for section in dict.fromkeys(sections):
        rows = timing[timing["section"] == section].sort_values("per_occurrence_s", ascending=False)
        if len(rows) < 2:
            continue
        if rows["per_occurrence_s"].iloc[0] <= (1 + ALIKE) * rows["per_occurrence_s"].iloc[-1]:
            said = "Each time, {s} takes {t}, much the same at every level of {by}."
            yield say(said, s=Name(section), t=_each(section, rows.iloc[0]), by=Name(by))
        else:
            n = min(2, len(rows) // 2)
            slow, fast = (
                [
                    say(
                        "{t} for {level}",
                        t=_each(section, r),
                        level=Name(_telling(by, short.get(r.level, r.level))),
                    )
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


def _occurrences_caption(timing, name):
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


def _occurrences_table(timing, name, runs):
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
