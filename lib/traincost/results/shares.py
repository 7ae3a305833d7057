"""Where the time goes: the share of each section, and what runs inside the largest."""

import matplotlib as mpl
import numpy as np
import pandas as pd

from traincost.analysis import sections
from traincost.analysis.sections import OTHER, UNATTRIBUTED
from traincost.columns import count, percent, significant
from traincost.results.figures import MAX_ROWS, Figure, axes_of, cut, label_rows
from traincost.results.numbers import LARGE_REST, LEAST_SHARE, N_LISTED, N_NAMED, key, names, plural, share
from traincost.results.prose import Name, Number, join, say
from traincost.results.result import Result
from traincost.results.svg import INK, PAGE, REST, SERIES
from traincost.results.tables import Heading, Table

LABELLED = 0.05  # of a bar: what is wide enough for its number


def shares(runs, *, name=""):
    """Say where the time goes.

    Parameters
    ----------
    runs : Runs
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per section and the unattributed rest, as `analysis.sections.shares`
        returns it.
    """
    table = sections.shares(runs.timing)
    drawn = sections.drawn_parts(runs.composition)
    return Result.showing(
        "shares",
        table,
        _where_time_goes(table, runs.composition),
        Figure.of("composition", drawn, draw_composition, _caption),
        _table(table),
        prefix=name,
        of=runs.label,
    )


def _where_time_goes(shares, composition):
    """The largest parts of the runtime, what is inside the largest, and the untimed rest."""
    rest = shares.iloc[-1]
    if len(shares) < 2:
        return [say("The runs recorded no sections, so where their time went cannot be said.")]
    parts = _parts(shares, composition)
    top = parts.index[0]
    said = [_dominant(top, parts, shares)]
    within = shares[(shares["parent"] == top) & (shares["share"] >= LEAST_SHARE)]
    if len(within):
        said.append(
            say(
                "Within it, {children}.",
                children=[
                    say("{s} takes {x}", s=Name(r.section), x=_part_share(r.section, r.share))
                    for r in within.head(N_NAMED).itertuples()
                ],
            )
        )
    others = parts.iloc[1 : N_LISTED + 1]
    if len(others):
        said.append(
            say(
                "Next {come} {others}.",
                come=plural(len(others), "comes", "come"),
                others=[say("{s} with {x}", s=Name(n), x=_part_share(n, x)) for n, x in others.items()],
            )
        )
    said.append(_rest(rest))
    if shares["overlapping"].any():
        said.append(
            say(
                "Sections that overlap in time (threads, or double timing): {s}. Their shares may add up "
                "to more than the whole.",
                s=names(shares.loc[shares["overlapping"], "section"].head(N_LISTED)),
            )
        )
    return said


def _parts(shares, composition):
    """Return the mean share of each part of the composition, the largest first.

    What parents leave untimed is a part; negligible parts are left out, unless all are.
    """
    whole = composition.iloc[-1].drop(["n_runs", UNATTRIBUTED]).drop(OTHER, errors="ignore")
    whole = whole.astype(float).sort_values(ascending=False, kind="stable")
    return whole[(whole >= LEAST_SHARE) | (whole == whole.iloc[0])]


def _part_share(part, value):
    return share(key("sections", part, "share"), value)


def _dominant(top, parts, shares):
    pooled = shares.set_index("section")["pooled_share"].get(top)
    lead = say(
        "The largest part of a run{timed} is {s}: {x} of its runtime on average{pooled}",
        timed=" that any section timed" if parts.iloc[0] < shares["share"].iloc[-1] else "",
        s=Name(top),
        x=_part_share(top, parts.iloc[0]),
        pooled=say(" ({p} of all runtime together)", p=share(key("sections", top, "pooled_share"), pooled))
        if pooled is not None
        else "",
    )
    larger = shares["share"].iloc[-1] > parts.iloc[0]
    return join([lead, say("; more than that is unattributed." if larger else ".")], "")


def _rest(rest):
    if rest["share"] < 0:
        return say(
            "The disjoint sections add up to more than the runtime, by {x} of it.",
            x=share("unattributed.excess", -rest["share"]),
        )
    return say(
        "{x} of the runtime is unattributed: no section timed it{tail}.",
        x=share("unattributed.share", rest["share"]),
        tail=", so nothing here can explain it" if rest["share"] > LARGE_REST else "",
    )


def _caption(composition):
    """The largest part of the whole, and its range over levels."""
    parts = composition.drop(columns=["n_runs"])
    whole = parts.iloc[-1].drop(UNATTRIBUTED).drop(OTHER, errors="ignore")
    rest = share("unattributed.share", parts.iloc[-1][UNATTRIBUTED])
    if not len(whole):
        return say("All of the runtime is unattributed: {rest}.", rest=rest)
    largest = whole.idxmax()
    lead = say(
        "Disjoint parts of the runtime: {s} takes {x}, and {rest} is unattributed.",
        s=Name(largest),
        x=_part_share(largest, whole.max()),
        rest=rest,
    )
    if len(parts) < 3:
        return lead
    low, high = parts[largest].iloc[:-1].min(), parts[largest].iloc[:-1].max()
    return join(
        [
            lead,
            say(
                "Over the levels the former lies between {low} and {high}.",
                low=share(key("composition", largest, "low"), low),
                high=share(key("composition", largest, "high"), high),
            ),
        ]
    )


def draw_composition(composition):
    """Share of each part of a run, by level and overall; the rest is the grey end."""
    rows = composition
    if len(rows) > MAX_ROWS + 1:  # the last is of all runs
        rows = pd.concat([rows.head(MAX_ROWS), rows.tail(1)])
    parts = [name for name in composition.columns if name not in ("n_runs", UNATTRIBUTED)]
    figure, axes = axes_of(0.75 + 0.36 * len(rows))
    places = np.arange(len(rows))
    left = np.zeros(len(rows))
    for i, part in enumerate([*parts, UNATTRIBUTED]):
        colour = REST if part == UNATTRIBUTED else SERIES[i % len(SERIES)]
        width = rows[part].to_numpy(dtype=float).clip(0.0)  # of threads, parts exceed the whole
        axes.barh(places, width, left=left, height=0.72, color=colour, edgecolor=PAGE, linewidth=0.8)
        for place, (start, part_share) in enumerate(zip(left, width, strict=True)):
            if part_share >= LABELLED:
                axes.text(
                    start + part_share / 2,
                    place,
                    percent(part_share, 0).removesuffix(" %"),
                    ha="center",
                    va="center",
                    color=INK if part == UNATTRIBUTED else PAGE,
                )
        left += width
    label_rows(axes, rows.index)
    axes.set_xlim(0, max(1.0, left.max()))
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, symbol=" %"))
    axes.set_xlabel("mean share of runtime")
    legend = [(SERIES[i % len(SERIES)], part) for i, part in enumerate(parts)]
    legend.append((REST, UNATTRIBUTED))
    legend.append((None, f"numbers: per cent, of parts of {percent(LABELLED, 0)} or more"))
    return figure, [*legend, *cut(len(composition) - 1)]


def _table(frame):
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
