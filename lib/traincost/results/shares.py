"""Where the time goes: the share of each section, and what runs inside the largest."""

import matplotlib as mpl
import numpy as np
import pandas as pd

from traincost.analysis import sections
from traincost.analysis.sections import OTHER, UNATTRIBUTED
from traincost.printing import count, percent, ratio_text, share_text, time_text
from traincost.results.figures import MAX_ROWS, Figure, axes_of, cut, label_rows
from traincost.results.numbers import (
    LARGE_REST,
    LEAST_SHARE,
    N_LISTED,
    N_NAMED,
    key,
    names,
    number_of,
    plural,
    share,
)
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
    some = _in_some(shares)
    within = shares[(shares["parent"] == top) & (shares["share"] >= LEAST_SHARE)]
    if len(within):
        said.append(
            say(
                "Within it, {children}.",
                children=[
                    say(
                        "{s} takes {x}{some}",
                        s=Name(r.section),
                        x=_part_share(r.section, r.share),
                        some=some.get(r.section, ""),
                    )
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
                others=[
                    say("{s} with {x}{some}", s=Name(n), x=_part_share(n, x), some=some.get(n, ""))
                    for n, x in others.items()
                ],
            )
        )
    said += [_rest(rest), *_overlapping_runs(rest)]
    inside = shares.iloc[:-1][shares["overlapping"].iloc[:-1]]
    if len(inside):
        said.append(
            say(
                "Sections that overlap in time (threads, or double timing) are inside {s}.",
                s=[_overlapping(row) for row in inside.head(N_LISTED).itertuples()],
            )
        )
    return said + _unsynchronised(shares)


def _in_some(shares):
    """Name of each section that only some runs have to a remark on these."""
    rows = shares[(shares["n_present"] > 0) & (shares["n_present"] < shares["n_runs"])]
    return {
        row.section: say(
            " (in {n} of {of} runs, {x} of these)",
            n=number_of(key("sections", row.section, "n_present"), row.n_present),
            of=number_of("sections.n_runs", row.n_runs),
            x=_share(key("sections", row.section, "share_present"), row.share_present),
        )
        for row in rows.itertuples()
    }


def _overlapping(row):
    x = Number(key("sections", row.section, "overlap"), row.overlap, ratio_text(row.overlap))
    return say("{s} ({x} as long together)", s=Name(row.section), x=x)


def _unsynchronised(shares):
    """Sections whose clock did not wait for the device."""
    rows = shares[shares["n_unsynchronised"] > 0]
    if not len(rows):
        return []
    return [
        say(
            "In {n} {runs} the clock did not wait for the device, which works on after a section has ended: "
            "time of {s} may count in the next section that waits.",
            n=number_of("sections.n_unsynchronised", rows["n_unsynchronised"].max()),
            runs=plural(rows["n_unsynchronised"].max(), "run"),
            s=[*names(rows["section"].head(N_NAMED)), *(["others"] if len(rows) > N_NAMED else [])],
        )
    ]


def _parts(shares, composition):
    """Return the mean share of each part of the composition, the largest first.

    What parents leave untimed is a part; negligible parts are left out, unless all are.
    """
    whole = composition.iloc[-1].drop(["n_runs", UNATTRIBUTED]).drop(OTHER, errors="ignore")
    whole = whole.astype(float).sort_values(ascending=False, kind="stable")
    return whole[(whole >= LEAST_SHARE) | (whole == whole.iloc[0])]


def _part_share(part, value):
    return _share(key("sections", part, "share"), value)


def _share(name, value):
    return Number(name, float(value), times_of_runtime(value))


def times_of_runtime(value):
    """Return a share as it is printed: one above the whole, of several threads, as a multiple."""
    if value < -sections.TOLERANCE:  # what sections that overlap leave untimed
        return "none"
    return share_text(value) if value <= 1 + sections.TOLERANCE else f"{ratio_text(value)} the runtime"


def _dominant(top, parts, shares):
    pooled = shares.set_index("section")["pooled_share"].get(top)
    value = parts.iloc[0]
    lead = say(
        "The largest part of a run{timed} is {s}: {takes} on average{pooled}",
        timed=" that any section timed" if value < shares["share"].iloc[-1] else "",
        s=Name(top),
        takes=say(
            "{x} of its runtime" if value <= 1 + sections.TOLERANCE else "it takes {x}",
            x=_part_share(top, value),
        ),
        pooled=join([_pooled(top, pooled), *filter(None, [_in_some(shares).get(top)])], "")
        if pooled is not None
        else "",
    )
    larger = shares["share"].iloc[-1] > parts.iloc[0]
    return join([lead, say("; more than that is unattributed." if larger else ".")], "")


def _pooled(top, pooled):
    return say(" ({p} of all runtime together)", p=_share(key("sections", top, "pooled_share"), pooled))


def _rest(rest):
    if rest["share"] < -sections.TOLERANCE:
        return say(
            "Top-level sections overlap in time (threads, or double timing): together they take {x} longer "
            "than the runs, so that their shares add up to more than the whole.",
            x=share("unattributed.excess", -rest["share"]),
        )
    return say(
        "{x} of the runtime is unattributed: no section timed it{tail}.",
        x=share("unattributed.share", max(0.0, rest["share"])),
        tail=", so nothing here can explain it" if rest["share"] > LARGE_REST else "",
    )


def _overlapping_runs(rest):
    """That top-level sections exceed some runs, where they do not exceed the runs on average."""
    if not rest["overlapping"] or rest["share"] < -sections.TOLERANCE:
        return []
    return [
        say(
            "In some runs top-level sections overlap in time (threads, or double timing) and together take "
            "{x} as long as the run.",
            x=Number("unattributed.overlap", rest["overlap"], ratio_text(rest["overlap"])),
        )
    ]


def _caption(composition):
    """The largest part of the whole, and its range over levels."""
    parts = composition.drop(columns=["n_runs"])
    whole = parts.iloc[-1].drop(UNATTRIBUTED).drop(OTHER, errors="ignore")
    rest = _share("unattributed.share", parts.iloc[-1][UNATTRIBUTED])
    if not len(whole):
        return say("All of the runtime is unattributed: {rest}.", rest=rest)
    largest = whole.idxmax()
    lead = say(
        "Disjoint parts of the runtime{overlap}: {s} takes {x}, and {rest} is unattributed.",
        overlap=", which overlap in time" if rest.value < -sections.TOLERANCE else "",
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
                    f"{100 * part_share:.0f}",
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
    legend.append((None, f"numbers: per cent, of parts of {percent(LABELLED)} or more"))
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
            Heading("share", "mean share", times_of_runtime, "each run counts once; absent counts as zero"),
            Heading("share_present", "where present", times_of_runtime, "mean over the runs that have it"),
            Heading("pooled_share", "pooled share", times_of_runtime, "all seconds over all runtime"),
            Heading("per_occurrence_s", "one occurrence", time_text, "seconds / count, mean over runs"),
            Heading("count", "times a run", count),
            Heading("untimed_share", "untimed inside", share_text, "mean share that its children leave"),
            Heading("present", "in runs"),
            Heading("kind", "place"),
        ),
        printed,
        int(frame["n_runs"].max()),
        holds=("sections", "unattributed", "cadence"),
    )


def _printed_sum(shares):
    """Say what percentages add up to as they are printed, where rounding keeps them from a hundred."""
    total = sum(round(1_000 * share) for share in shares) / 1_000
    if total == 1:
        return ""
    return say(", as printed to {x} by rounding", x=Number("sections.printed_sum", total, share_text(total)))
