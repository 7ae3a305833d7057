"""What a change of the mean runtime is made of: how often each part ran, and what one call cost."""

import numpy as np

from traincost.analysis import decomposition as analysis
from traincost.columns import column, count, significant
from traincost.results.figures import axes_of, label_rows
from traincost.results.numbers import N_NAMED, key, number_of
from traincost.results.prose import Name, Number, join, say
from traincost.results.svg import MUTED, REST, SERIES
from traincost.results.tables import Heading, Table, signed

TELLING = 0.01  # of the largest part's change: what a sentence still names


def decomposed(decomposition, unit):
    """Which parts the change of mean runtime is made of, the largest first."""
    d = decomposition
    said = [
        say(
            "Mean runtime over all runs went from {a} to {b}, a change of {c}; the parts below sum to it.",
            a=_seconds("mean.before_s", d.before_s, unit),
            b=_seconds("mean.after_s", d.after_s, unit),
            c=_signed("mean.change_s", d.change_s, unit),
        )
    ]
    moved = analysis.largest(d.parts)
    if not len(moved):
        return [*said, say("No part of a run changed.")]
    telling = moved[moved["total_s"].abs() >= TELLING * moved["total_s"].abs().max()]
    return said + [_part(row, unit) for row in telling.head(N_NAMED).itertuples()]


def _part(row, unit):
    base = ("part", row.part)
    total = _signed(key(*base, "total_s"), row.total_s, unit)
    if row.part == analysis.MIX:
        return say("{t} come from other configurations having been run, or in other shares.", t=total)
    if np.isnan(row.count_s):
        return say("{p}: {t}.", p=Name(row.part), t=total)
    times, call = _times(base, row), _cost(base, row)
    if not row.count_s or not row.call_s:
        return say(
            "{p}: {t}, because {why}{once}.",
            p=Name(row.part),
            t=total,
            why=call if row.call_s else times,
            once=_once(base, row),
        )
    return say(
        "{p}: {t}, of which {n} because {times}, and {c} because {call}{once}.",
        once=_once(base, row),
        p=Name(row.part),
        t=total,
        n=_signed(key(*base, "count_s"), row.count_s, unit),
        times=times,
        c=_signed(key(*base, "call_s"), row.call_s, unit),
        call=call,
    )


def _once(base, row):
    """Say what is known of seconds that a part takes whatever its count."""
    if not row.count_s or row.count_before == 0 or row.count_after == 0:
        return ""  # its count is the same, or it did not run at all on a side
    if np.isnan(row.fixed_s):
        return say(" (assuming no warm-up, as its counts changed too much alike to tell one)")
    if not row.fixed_s:
        return ""
    seconds = _call(key(*base, "fixed_s"), row.fixed_s)
    return say(" (besides {s} a run that do not grow with its calls)", s=seconds)


def _times(base, row):
    return say(
        "it ran {b} instead of {a} times a run",
        a=_count(key(*base, "count_before"), row.count_before),
        b=_count(key(*base, "count_after"), row.count_after),
    )


def _cost(base, row):
    return say(
        "one call took {b} instead of {a}",
        a=_call(key(*base, "call_before_s"), row.call_before_s),
        b=_call(key(*base, "call_after_s"), row.call_after_s),
    )


def largest_part(row, unit):
    """Name the part that changed most, and by how much."""
    return say(
        "Most of the change of the mean runtime is in {p}: {t}.",
        p=Name(row["part"]) if row["part"] != analysis.MIX else analysis.MIX,
        t=_signed(key("part", row["part"], "total_s"), row["total_s"], unit),
    )


def caption_parts(parts, unit):
    """The part that changed most, and how many are drawn as one; of `decomposition.drawn_parts`."""
    n = parts.attrs["n_others"]
    moved = analysis.largest(parts.iloc[: len(parts) - (n > 0)])
    if not len(moved):
        return say("Parts of the change of mean runtime: none changed.")
    said = [say("Parts of the change of mean runtime, which sum to it."), largest_part(moved.iloc[0], unit)]
    if n:
        together = number_of("parts.n_others", n)
        said.append(say("The {n} with the smallest changes are drawn as one.", n=together))
    return join(said)


def _seconds(name, value, unit):
    return Number(name, float(value), unit.text(value))


def _signed(name, value, unit):
    sign = "−" if value < 0 else "+"
    return Number(name, float(value), f"{sign}{unit.text(abs(value))}")


def _count(name, value):
    return Number(name, float(value), f"{value:,.1f}".removesuffix(".0"))


def _call(name, value):
    return Number(name, float(value), column("_s").text(value) + " s" if value == value else "–")


def draw_parts(parts, unit):
    """Change of mean runtime by part: through how often it ran, what a call cost, or undivided.

    The two of a part lie end to end, or on either side of zero where they are opposed.
    """
    figure, axes = axes_of(0.8 + 0.32 * len(parts))
    rows = np.arange(len(parts))
    count_s, call_s = parts["count_s"].fillna(0.0), parts["call_s"].fillna(0.0)
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


def parts_table(frame, n_runs):
    """The parts of a `decomposition.Decomposition`."""
    return Table(
        "parts",
        say("Change of the mean runtime by part, in seconds. The last column sums to the change."),
        (
            Heading("part", "part"),
            Heading("count_before", "times before", mean_count, "mean per run"),
            Heading("count_after", "times after", mean_count),
            Heading("call_before_s", "one call before (s)", significant),
            Heading("call_after_s", "one call after (s)", significant),
            Heading(
                "fixed_s", "whatever its count (s)", significant, "a run: 0 none found, – cannot be told"
            ),
            Heading("count_s", "by how often", signed, "midpoint weights: no order of the two is preferred"),
            Heading("call_s", "by what a call costs", signed),
            Heading("total_s", "in all", signed),
        ),
        frame,
        n_runs,
        holds=("mean", "part"),
    )


def mean_count(value):
    """Print a mean of counts: one that is whole, to rounding, without decimals."""
    whole = np.round(value)
    return count(whole) if np.isclose(value, whole, rtol=1e-9, atol=0) else significant(value)
