"""What a change of the mean runtime is made of: how often each part ran, and what one call cost."""

import numpy as np

from traincost.analysis import decomposition as analysis
from traincost.printing import count, share_text, time_parts, time_text, time_unit
from traincost.results import fluid
from traincost.results.figures import Figure, axes_of, label_rows
from traincost.results.names import hue
from traincost.results.prose import N_NAMED, Name, Number, key, plural, say
from traincost.results.svg import MUTED, REST, SERIES
from traincost.results.tables import Bar, Heading, Table, as_printed, part_of

ALIKE = 0.05  # relative: what one call took, closer than this, is much the same
CANCELLING = 2  # times the whole change that the largest part is, from where shares of it say nothing
AS_OFTEN = 0.005  # relative: counts closer than this are as often
TELLING = 0.01  # of the largest part's change: what a sentence still names


def mean_change(decomposition):
    """From what to what the mean runtime went."""
    d = decomposition
    return say(
        "Mean runtime over all runs went from {a} to {b}, a change of {c}; the parts below sum to it.",
        a=Number.time("mean.before_s", d.before_s),
        b=Number.time("mean.after_s", d.after_s),
        c=_signed("mean.change_s", d.change_s, d.change_s),
    )


def decomposed(decomposition):
    """Which parts the change of mean runtime is made of, the largest first."""
    moved = analysis.largest(decomposition.parts)
    if not len(moved):
        return [say("No part of a run changed.")]
    telling = moved[moved["total_s"].abs() >= TELLING * moved["total_s"].abs().max()]
    return [_part(row, decomposition.change_s) for row in telling.head(N_NAMED).itertuples()]


def _part(row, change_s):
    base = ("part", row.part)
    total = _signed(key(*base, "total_s"), row.total_s, change_s)
    if row.part == analysis.MIX:
        return say("{t} come from other configurations having been run, or in other shares.", t=total)
    if np.isnan(row.count_s):
        return say("{p}: {t}.", p=Name(row.part), t=total)
    parts = {
        "p": Name(row.part),
        "t": total,
        "n": _signed(key(*base, "count_s"), row.count_s, change_s),
        "times": say(
            "it ran {b} instead of {a} {a:time|times} a run",
            a=Number.of(key(*base, "count_before"), row.count_before, count),
            b=Number.of(key(*base, "count_after"), row.count_after, count),
        ),
        "c": _signed(key(*base, "call_s"), row.call_s, change_s),
        "call": say(
            "one call took {b} instead of {a}",
            a=Number.time(key(*base, "call_before_s"), row.call_before_s),
            b=Number.time(key(*base, "call_after_s"), row.call_after_s),
        ),
        "once": _once(base, row),
    }
    if row.count_s and row.call_s:
        return say("{p}: {t}, of which {n} because {times}, and {c} because {call}{once}.", **parts)
    because = "{call}" if row.call_s else "{times}"
    return say(f"{{p}}: {{t}}, because {because}{{once}}.", **parts)


def _once(base, row):
    """Say what is known of seconds that a part takes whatever its count."""
    if abs(row.once_s) >= TELLING * abs(row.total_s):
        first = _signed(key(*base, "once_s"), row.once_s, row.total_s)
        return say(" ({s} of it by the first call of a run alone: a warm-up)", s=first)
    if not row.count_s or row.count_before == 0 or row.count_after == 0 or row.fixed_s == 0:
        return ""  # its count is the same, it did not run at all on a side, or nothing is fixed
    if np.isnan(row.fixed_s):
        return say(" (assuming no warm-up, as its counts changed too much alike to tell one)")
    seconds = Number.time(key(*base, "fixed_s"), row.fixed_s)
    return say(" (besides {s} a run that do not grow with its calls)", s=seconds)


def _signed(name, value, total_s):
    return Number.of(name, value, part_of(total_s, signed=True))


def draw_parts(parts):
    """Change of mean runtime by part: through how often it ran, what a call cost, or undivided.

    The two of a part lie end to end, or on either side of zero where they are opposed.
    """
    figure, axes = axes_of(0.8 + 0.32 * len(parts))
    unit = time_unit(parts["total_s"].abs().max())
    rows = np.arange(len(parts))
    count_s, call_s = parts["count_s"].fillna(0.0), (parts["call_s"] + parts["once_s"]).fillna(0.0)
    undivided_s = parts["total_s"].where(parts["count_s"].isna(), 0.0)
    pieces = [
        (count_s, 0.0, SERIES[0], "by how often it ran"),
        (call_s, count_s.where(count_s * call_s > 0, 0.0), SERIES[1], "by what one call cost"),
        (undivided_s, 0.0, REST, "undivided"),
    ]
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for seconds, start_s, colour, _ in pieces:
        axes.barh(rows, seconds / unit.seconds, left=start_s / unit.seconds, height=0.6, color=colour)
    label_rows(axes, parts["part"])
    axes.grid(axis="x")
    axes.set_xlabel(f"change of mean runtime ({unit.symbol})")
    return figure, [(colour, text) for seconds, _, colour, text in pieces if seconds.any()]


def parts_table(decomposition, n_runs, section_kinds=None):
    """The largest parts of a change of mean runtime, the others as one, and the whole."""
    change_s = decomposition.change_s
    drawn = analysis.drawn_parts(decomposition.parts)
    n_others = drawn.attrs["n_others"]
    texts = time_parts([*drawn["total_s"], change_s], change_s, signed=True)
    share = drawn["total_s"] / change_s if change_s else drawn["total_s"] * np.nan
    largest_s = drawn["total_s"].abs().max()
    # Of parts that cancel, a share of what is left says nothing.
    cancel = largest_s > CANCELLING * abs(change_s)
    colours = [fluid.colour(hue(part, section_kinds)) for part in drawn["part"]]
    if n_others:
        colours[-1] = fluid.colour("other")
    frame = drawn.assign(
        how=[_how_often(row) for row in drawn.itertuples()],
        share=share,
        length=drawn["total_s"].abs() / largest_s if cancel else share.abs().clip(upper=1.0),
        change_text=texts[:-1],
        colour=colours,
        row="",
    )
    whole = {"part": "mean run", "how": "", "share": 1.0, "change_text": texts[-1], "total_s": change_s}
    frame.loc[len(frame)] = {**dict.fromkeys(frame.columns, np.nan), **whole, "colour": "", "row": "total"}
    return Table(
        "largest-parts",
        say("Parts of the change of {t}", t=_signed("mean.change_s", change_s, change_s)),
        (
            Heading("part", "part", code=True, sub="how"),
            Heading("change_text", "change", as_printed, bar=Bar(colour="colour", of="length")),
            None if cancel else Heading("share", "of it", share_text),
        ),
        frame,
        n_runs,
        holds=("mean", "part"),
        note=say(
            "The parts sum to it{how}.", how=", and mostly cancel: bars are of the largest" if cancel else ""
        ),
        rows="row",
        drawn=Figure(
            "parts", drawn, draw_parts, say("Parts of the change of mean runtime, which sum to it.")
        ),
        aliases=("what-the-change-is-made-of",),
    )


def _how_often(row):
    """Whether a part ran as often as before, and how its calls changed."""
    if np.isnan(row.count_before) or np.isnan(row.count_s):
        return ""
    if abs(row.count_after - row.count_before) > AS_OFTEN * max(row.count_before, row.count_after):
        times = plural(row.count_before, "time")
        return f"ran {count(row.count_after)} instead of {count(row.count_before)} {times}"
    if not row.call_before_s > 0 or np.isnan(row.call_after_s):
        return "ran as often"
    if abs(row.call_after_s / row.call_before_s - 1) < ALIKE:
        return "ran as often; one call took much the same"
    before, after = time_text(row.call_before_s), time_text(row.call_after_s)
    return f"ran as often; one call took {after} instead of {before}"


def parts_in_full(frame, n_runs):
    """The parts of a `decomposition.Decomposition`, by how often each ran and what a call took."""
    texts = {
        f"{name}_text": time_parts(frame[name], frame["total_s"].sum(), signed=True)
        for name in ("count_s", "call_s", "once_s", "total_s")
    }
    return Table(
        "parts",
        say("Change of the mean runtime by part. The last column sums to the change."),
        (
            Heading("part", "part", code=True),
            Heading("count_before", "times before", count, "mean per run"),
            Heading("count_after", "times after", count),
            Heading("call_before_s", "one call before", time_text),
            Heading("call_after_s", "one call after", time_text),
            Heading("fixed_s", "whatever its count", time_text, "a run: 0 none found, – cannot be told"),
            Heading("count_s_text", "by how often", as_printed, "midpoint weights: no order is preferred"),
            Heading("call_s_text", "by what a call costs", as_printed),
            frame["once_s"].any() and Heading("once_s_text", "by first calls", as_printed),
            Heading("total_s_text", "in all", as_printed),
        ),
        frame.assign(**texts),
        n_runs,
        holds=("mean", "part"),
    )
