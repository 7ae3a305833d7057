"""Why the slow ones are slow: the mean run of each level by section, and what the difference is made of."""

import numpy as np

from traincost.analysis import differences as analysis
from traincost.analysis.sections import UNATTRIBUTED
from traincost.printing import count, ratio_text, share_text, time_parts
from traincost.results import fluid, mean_bars
from traincost.results.figures import Figure
from traincost.results.names import part_names
from traincost.results.occurrences import occurrences
from traincost.results.prose import N_NAMED, Name, Number, key, say
from traincost.results.result import Bars, Earlier, More, Result
from traincost.results.shares import draw_composition
from traincost.results.tables import Bar, Heading, Table, part_of

LEAST_SAID = 0.02  # of the difference: a smaller part is not named in prose
FAR_APART = 100  # times as long: of so little, the ratio tells nothing
ALIKE = 0.05  # relative: counts closer than this are as often


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
        slow=Name(short.get(slow, slow)),
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


def _how(row, named):
    """Whether the largest part runs more often, or takes longer each time."""
    base = key("difference", row.part)
    ratio = row.slow_each_s / row.fast_each_s if row.fast_each_s else np.nan
    often = "runs {n} times a run against {m} on average"
    if row.slow_count == row.fast_count:
        often = "runs as often in both ({n} times a run)"
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
