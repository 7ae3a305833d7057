"""Where the time goes: the share of each section, and what runs inside the largest."""

import matplotlib as mpl
import numpy as np
import pandas as pd

from traincost.analysis import sections
from traincost.analysis.sections import OTHER, UNATTRIBUTED
from traincost.printing import count, percent, ratio_text, share_text, time_text
from traincost.results import arguments, fluid
from traincost.results.figures import MAX_ROWS, Figure, axes_of, cut, label_rows
from traincost.results.names import hue, part_names
from traincost.results.prose import N_LISTED, N_NAMED, Name, Number, first_names, key, say
from traincost.results.result import More, Result
from traincost.results.svg import INK, PAGE, REST, SERIES
from traincost.results.tables import ELSEWHERE, Bar, Heading, Table, part_of

LEAST_SHARE = 0.00005  # of the runtime: what a sentence about sections still names
LARGE_PART = 0.2  # of the runtime: the second part is named from there on
LARGE_REST = 0.2  # of the runtime: an unattributed part that a reader must be warned of
LEAST_INSIDE = 0.02  # of the part around it: what is named inside it
APART = 0.02  # by which mean share and share of all hours differ, to tell both
LEAST_LISTED = 0.001  # of a run: a smaller section stands in the details
LONG = 40  # characters of a path: of a longer one, prose says the end
LABELLED = 0.05  # of a bar: what is wide enough for its number


@arguments.checked
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
        *_tables(table, runs.section_kinds, drawn),
        prefix=name,
        of=runs.label,
    )


def _where_time_goes(shares, composition):
    """The largest part of the runtime, what is inside it, and the untimed rest."""
    rest = shares.iloc[-1]
    if len(shares) < 2:
        yield say("The runs recorded no sections, so where their time went cannot be said.")
        return
    parts, some = _parts(shares, composition), _in_some(shares)
    yield _dominant(parts, shares, some)
    yield from _of_most_hours(parts, shares)
    # The next part, where it is large, and further ones that only some runs have, with their share there.
    told = [name for name in parts.index[1:2] if parts[name] >= LARGE_PART]
    told += [name for name in parts.index[1:] if name in some and parts[name] >= LEAST_LISTED]
    for name in dict.fromkeys(told[:N_NAMED]):
        x = _part_share(name, parts[name])
        yield say("{s} is {x}{some}.", s=Name(name), x=x, some=some.get(name, ""))
    yield from _rest(rest)
    inside = shares.iloc[:-1][shares["overlapping"].iloc[:-1]]
    if len(inside):
        yield say(
            "Sections that overlap in time (threads, or double timing) are inside {s}.",
            s=[_overlapping(row) for row in inside.head(N_LISTED).itertuples()],
        )
    yield from _unsynchronised(shares)


def _in_some(shares):
    """Name of each section that only some runs have to a remark on these."""
    rows = shares[(shares["n_present"] > 0) & (shares["n_present"] < shares["n_runs"])]
    return {
        row.section: say(
            " (in {n} of {of} runs, {x} of these)",
            n=Number.count(key("sections", row.section, "n_present"), row.n_present),
            of=Number.count("sections.n_runs", row.n_runs),
            x=_share(key("sections", row.section, "share_present"), row.share_present),
        )
        for row in rows.itertuples()
    }


def _overlapping(row):
    x = Number.of(key("sections", row.section, "overlap"), row.overlap, ratio_text)
    return say("{s} ({x} as long together)", s=Name(row.section), x=x)


def _unsynchronised(shares):
    rows = shares[shares["n_unsynchronised"] > 0]
    if len(rows):
        yield say(
            "In {n} {n:run|runs} the clock did not wait for the device, which works on after a section has "
            "ended: time of {s} may count in the next section that waits.",
            n=Number.count("sections.n_unsynchronised", rows["n_unsynchronised"].max()),
            s=first_names(rows["section"], N_NAMED),
        )


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
    return Number.of(name, value, times_of_runtime)


def times_of_runtime(value, fine=False):
    """Return a share as it is printed: one above the whole, of several threads, as a multiple."""
    if value < -sections.TOLERANCE:  # what sections that overlap leave untimed
        return "none"
    if value <= 1 + sections.TOLERANCE:
        return share_text(max(0.0, value), fine)
    return f"{ratio_text(value)} the runtime"


def _dominant(parts, shares, some):
    """The largest part of a run, how much of all hours it is where that differs, and what it is made of."""
    top, value = parts.index[0], parts.iloc[0]
    pooled = shares.set_index("section")["pooled_share"].get(top)
    is_apart = pooled is not None and abs(pooled - value) >= APART
    inside = shares[(shares["parent"] == top) & (shares["share"] >= LEAST_INSIDE * value)]
    named = part_names(inside["section"])
    return say(
        "{s} {is_} {x} of a run{some}[ and {pooled} of all hours][; inside it, {children}].",
        s=Name(top if len(top) <= LONG else part_names(shares["section"])[top]),
        is_="is" if value <= 1 + sections.TOLERANCE else "takes",
        x=_part_share(top, value),
        some=some.get(top, ""),
        pooled=_share(key("sections", top, "pooled_share"), pooled) if is_apart else None,
        children=[
            say("{s} is {x}", s=Name(named[row.section]), x=_part_share(row.section, row.share))
            for row in inside.head(N_NAMED).itertuples()
        ],
    )


def _of_most_hours(parts, shares):
    """The part that takes most of all hours, where it is another than that of the mean run."""
    pooled = shares.set_index("section")["pooled_share"].reindex(parts.index).dropna()
    if len(pooled) and pooled.max() - pooled.get(parts.index[0], np.inf) >= APART:
        name, value = pooled.idxmax(), pooled.max()
        yield say(
            "Of all hours, {s} is the largest part, {x}{why}.",
            s=Name(name),
            x=_share(key("sections", name, "pooled_share"), value),
            why=": it is longer in the long runs" if value > parts[name] else "",
        )


def _rest(rest):
    """What no section timed, or that top-level sections exceed the runs on average, or some of them."""
    if rest["share"] < -sections.TOLERANCE:
        yield say(
            "Top-level sections overlap in time (threads, or double timing): together they take {x} longer "
            "than the runs, so that their shares add up to more than the whole.",
            x=Number.share("unattributed.excess", -rest["share"]),
        )
        return
    if rest["share"] >= LEAST_LISTED:
        yield say(
            "No section timed {x}{tail}.",
            x=Number.share("unattributed.share", rest["share"]),
            tail=": time it before optimising anything else" if rest["share"] > LARGE_REST else " of a run",
        )
    if rest["overlapping"]:
        yield say(
            "In some runs top-level sections overlap in time (threads, or double timing) and together take "
            "{x} as long as the run.",
            x=Number.of("unattributed.overlap", rest["overlap"], ratio_text),
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


def _tables(table, section_kinds, drawn):
    """The share of each section, and below it every statistic of these; all below without a section."""
    shown, full = _table(table, section_kinds, drawn), _full(table, section_kinds)
    said = say("Shares in full: of all hours, where present, and what is inside")
    return (shown, More(said, (full,))) if len(table) > 1 else (More(said, (shown, full)),)


def _table(frame, section_kinds, drawn):
    """Share of a run by section, as a tree; the untimed rest is the last row."""
    n_runs, n_small = frame["n_runs"].max(), _is_small(frame).sum()
    everywhere = (frame["n_present"] == frame["n_runs"]).all()
    figure = Figure("composition", drawn, draw_composition, say("Share of each part of a run, by level."))
    total_s = float(frame.loc[frame["disjoint"], "seconds"].clip(lower=0).sum())
    return Table(
        "sections",
        say("Share of a run by section"),
        (
            Heading("label", "section", code=True),
            Heading("share", "share", times_of_runtime, bar=Bar(colour="colour", of="drawn")),
            Heading("seconds", "in all", part_of(total_s), hide_on_phone=True),
            Heading("per_occurrence_s", "one time", time_text, hide_on_phone=True),
            Heading("count", "times a run", count),
            None if everywhere else Heading("present", "in runs", hide_on_phone=True),
        ),
        _shown(frame, section_kinds),
        int(n_runs),
        holds=("sections", "unattributed", "cadence", "training"),
        note=say(
            "Mean over {n} {n:run|runs}; indented sections lie inside the one above{everywhere}[; {k} under "
            "{least} are below].",
            n=Number.count("sections.n_runs", n_runs),
            everywhere="; every section is in every run" if everywhere and n_runs > 1 else "",
            k=Number.count("sections.n_small", n_small) if n_small else None,
            least=Number.share("sections.least_listed", LEAST_LISTED),
        ),
        tree=True,
        rows="row",
        drawn=figure if len(drawn.columns) > 1 else None,
    )


def _full(frame, section_kinds):
    """What `sections.shares` returns: every section, the smallest too."""
    if len(frame) < 2:
        return None
    # What percentages add up to as they are printed, where rounding keeps them from a hundred.
    printed = sum(round(1_000 * share) for share in frame.loc[frame["disjoint"], "share"]) / 1_000
    return Table(
        "sections-full",
        say(
            "Every section. Top-level rows and the untimed rest add up to all of the runtime[, as printed to "
            "{x} by rounding].",
            x=None if printed == 1 else Number.share("sections.printed_sum", printed),
        ),
        (
            Heading("label", "section", code=True),
            Heading("share", "mean share", lambda value: times_of_runtime(value, fine=True)),
            Heading("share_present", "where present", times_of_runtime, "mean over the runs that have it"),
            Heading("pooled_share", "of all hours", times_of_runtime, "all seconds over all runtime"),
            Heading("untimed_share", "untimed inside", share_text, "mean share that its children leave"),
            Heading("present", "in runs"),
        ),
        _shown(frame, section_kinds),
        int(frame["n_runs"].max()),
        holds=("sections.printed_sum",),
        tree=True,
    )


def _is_small(frame):
    return (frame["share"] < LEAST_LISTED) & (frame["section"] != UNATTRIBUTED)


def _shown(frame, section_kinds):
    n_of = zip(frame["n_present"], frame["n_runs"], strict=True)
    return frame.assign(
        label=frame["section"].where(frame["section"] != UNATTRIBUTED, "untimed: outside every section"),
        row=np.where(_is_small(frame), ELSEWHERE, ""),
        drawn=frame["share"].clip(0.0, 1.0),
        colour=[fluid.colour(hue(section, section_kinds)) for section in frame["section"]],
        present=[f"{count(n)} of {count(of)}" for n, of in n_of],
    )
