"""Before and after, in words."""

import numpy as np

from traincost.analysis import comparison
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import SCORE_PREFIX, column, decimals_within
from traincost.results.findings.numbers import N_LISTED, N_NAMED, key, names, number_of, plural, rounded
from traincost.results.prose import Name, Number, join, say

MAX_DECIMALS = 6  # of a change of a score
TELLING = 0.01  # of the largest part's change: what a sentence still names
_WAYS = {True: "slower", False: "faster"}  # in the keys of numbers
_TIME = {True: "more", False: "less"}


def comparison_summary(pairing, changes, decomposition, columns, unit):
    """What changed in settings, in runtime, where, and in scores."""
    said = [changed_settings(pairing)[0], _overall(changes.iloc[0])]
    top = comparison.largest(decomposition.parts)
    if len(top):
        said.append(_largest(top.iloc[0], unit))
    scores = columns[columns["column"].str.startswith(SCORE_PREFIX)]
    if len(scores):
        said.append(scores_changed(columns)[0])
    return said


def changed_settings(pairing):
    """The shared settings that differ, the likely cause of a change."""
    rows = pairing.changed
    if not len(rows):
        return [
            say(
                "No shared setting differs, so a change comes from what the records do not name: code, data, "
                "machine or chance."
            )
        ]
    listed = [
        say("{s} ({a} before, {b} after)", s=Name(r.setting), a=Name(r.before), b=Name(r.after))
        for r in rows.head(N_LISTED).itertuples()
    ]
    if len(rows) > N_LISTED:
        listed.append(say("{n} more", n=number_of("changed.n_more", len(rows) - N_LISTED)))
    return [say("Changed {noun}, the likely cause: {s}.", noun=plural(len(rows), "setting"), s=listed)]


def how_paired(pairing, before, after):
    """How many runs were paired, over what, and what was left out."""
    said = [
        say(
            "{a} runs before and {b} after make {n} {pairs} in {c} {configurations}{over}.",
            a=number_of("runs.before", len(before.runs)),
            b=number_of("runs.after", len(after.runs)),
            n=number_of("pairs.n", len(pairing.pairs)),
            pairs=plural(len(pairing.pairs), "pair"),
            c=number_of("pairs.n_configurations", len(pairing.paired)),
            configurations=plural(len(pairing.paired), "configuration"),
            over=say(", over {f}", f=_few(pairing.factors, "factors")) if pairing.factors else "",
        )
    ]
    if len(pairing.unpaired):
        said.append(
            say(
                "{n} {runs} without a pair: they enter the mean runtime of their side, and no paired change.",
                n=number_of("unpaired.n", len(pairing.unpaired)),
                runs=plural(len(pairing.unpaired), "run is", "runs are"),
            )
        )
    if pairing.averaged:
        said.append(
            say("Varied on one side only, and averaged over: {f}.", f=_few(pairing.averaged, "averaged"))
        )
    left_out = len(before.excluded) + len(after.excluded)
    if left_out:
        said.append(
            say(
                "{n} {runs} left out of both sides' statistics as not completed or not usable.",
                n=number_of("excluded.n", left_out),
                runs=plural(left_out, "run is", "runs are"),
            )
        )
    return said


def _few(texts, what):
    more = len(texts) - N_NAMED
    listed = names(texts[:N_NAMED])
    return [*listed, say("{n} more", n=number_of(f"{what}.n_more", more))] if more > 0 else listed


def paired_change(changes):
    """The change overall, then what stands out among the levels."""
    said = [_overall(changes.iloc[0])]
    levels = changes.iloc[1:]
    for verdict in (comparison.SLOWER, comparison.FASTER):
        rows = levels[levels["verdict"] == verdict]
        if len(rows):
            rows = rows.iloc[np.argsort(-rows["log_ratio"].abs().to_numpy(), kind="stable")]
            said.append(_every_level(rows) if len(levels) == len(rows) > N_LISTED else _some_levels(rows))
    apart = levels[levels["verdict"] == comparison.APART]
    if len(apart):
        listed = names([f"{r.factor}={r.level}" for r in apart.head(N_LISTED).itertuples()])
        if len(apart) > N_LISTED:
            listed.append(say("{n} others", n=number_of("change.n_more_apart", len(apart) - N_LISTED)))
        said.append(say("Before and after cannot be told apart for {l}.", l=listed))
    return said


def _every_level(rows):
    first, last = (_level(row) for row in (rows.iloc[0], rows.iloc[-1]))
    return say(
        "Every level took {way} time, from {most} to {least}.",
        way=_time(rows.iloc[0]),
        most=first,
        least=last,
    )


def _some_levels(rows):
    listed = [_level(row) for _, row in rows.head(N_LISTED).iterrows()]
    if len(rows) > N_LISTED:
        n = len(rows) - N_LISTED
        listed.append(say("{n} others", n=number_of(f"change.n_more_{_WAYS[rows.iloc[0].log_ratio > 0]}", n)))
    return say("By level, {way} time: {rows}.", way=_time(rows.iloc[0]), rows=listed)


def _level(row):
    name = Name(f"{row.factor}={row.level}")
    return say("{l} {by}", l=name, by=_by(key("change", row.factor, row.level), row))


def _time(row):
    return _TIME[row.log_ratio > 0]


def change_in_words(base, row):
    """Say a change of paired runtime: which way, by how much, and whether it can be told from chance."""
    if row.verdict == comparison.SAME:
        return say("the same time")
    change = _took(base, row)
    told = row.verdict not in (TOO_FEW, comparison.APART)
    return change if told else say("{c}, which cannot be told from chance", c=change)


def _overall(row):
    if row.verdict == comparison.SAME:
        return say("The paired runs took exactly the same time.")
    change = say("The paired runs took {c}", c=_took("change", row))
    if row.verdict == TOO_FEW:
        return say("{c}; there are too few to tell that from chance.", c=change)
    if row.verdict == comparison.APART:
        return say("{c}, which cannot be told from chance.", c=change)
    return say("{c}.", c=change)


def _by(base, row, what=""):
    """Print a change of runtime with its interval, as parts of the time before, less or more."""
    sign = 1 if row.log_ratio > 0 else -1
    way = _WAYS[row.log_ratio > 0]
    value, ends = sign * row.change, sorted((sign * row.low, sign * row.high))
    texts = rounded(value, *ends)
    parts = [
        Number(f"{base}.{way}{end}", float(v), text)
        for end, v, text in zip(("", "_low", "_high"), (value, *ends), texts, strict=True)
    ]
    if np.isnan(row.low):
        return say("{x}{what}", x=parts[0], what=what)
    return say("{x}{what} ({low} to {high})", x=parts[0], what=what, low=parts[1], high=parts[2])


def _took(base, row):
    return _by(base, row, f" {_time(row)} time")


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
    moved = comparison.largest(d.parts)
    if not len(moved):
        return [*said, say("No part of a run changed.")]
    telling = moved[moved["total_s"].abs() >= TELLING * moved["total_s"].abs().max()]
    return said + [_part(row, unit) for row in telling.head(N_NAMED).itertuples()]


def _part(row, unit):
    base = ("part", row.part)
    total = _signed(key(*base, "total_s"), row.total_s, unit)
    if row.part == comparison.MIX:
        return say("{t} come from other configurations having been run, or in other shares.", t=total)
    if np.isnan(row.count_s):
        return say("{p}: {t}.", p=Name(row.part), t=total)
    times, call = _times(base, row), _cost(base, row)
    if not row.count_s or not row.call_s:
        return say("{p}: {t}, because {why}.", p=Name(row.part), t=total, why=call if row.call_s else times)
    return say(
        "{p}: {t}, of which {n} because {times}, and {c} because {call}.",
        p=Name(row.part),
        t=total,
        n=_signed(key(*base, "count_s"), row.count_s, unit),
        times=times,
        c=_signed(key(*base, "call_s"), row.call_s, unit),
        call=call,
    )


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


def _largest(row, unit):
    return say(
        "Most of the change of the mean runtime is in {p}: {t}.",
        p=Name(row["part"]) if row["part"] != comparison.MIX else comparison.MIX,
        t=_signed(key("part", row["part"], "total_s"), row["total_s"], unit),
    )


def scores_changed(columns):
    """Which scores and cost columns changed, so that a speed-up that costs accuracy shows."""
    if not len(columns):
        return [say("Neither scores nor cost columns are recorded on both sides.")]
    said = []
    for what, rows in (
        ("score", columns[columns["column"].str.startswith(SCORE_PREFIX)]),
        ("cost column", columns[columns["column"].str.startswith("cost_")]),
    ):
        moved = rows[rows["verdict"].isin((comparison.MORE, comparison.LESS))]
        if len(moved):
            said.append(say("Changed {w}: {rows}.", w=plural(len(moved), what), rows=_moved(moved)))
        elif len(rows) and (rows["verdict"] == TOO_FEW).all():
            said.append(say("There are too few runs to tell whether a {w} changed.", w=what))
        elif len(rows):
            within = _within(rows) if what == "score" else ""
            said.append(say("No {w} changed that can be told from chance{within}.", w=what, within=within))
    return said


def _within(rows):
    """Say how much a score may have changed all the same: its interval."""
    listed = []
    varying = rows[rows["low"].notna() & rows["verdict"].ne(comparison.SAME)]
    for row in varying.head(N_NAMED).itertuples():
        decimals = decimals_within(row.low, row.high, MAX_DECIMALS)
        ends = [
            Number(key("column", row.column, end), float(value), f"{value:+.{decimals}f}".replace("-", "−"))
            for end, value in (("low", row.low), ("high", row.high))
        ]
        name = Name(row.column.removeprefix(SCORE_PREFIX))
        listed.append(say("{n} by {low} to {high}", n=name, low=ends[0], high=ends[1]))
    return say("; the intervals allow for a change of {rows}", rows=listed) if listed else ""


def _moved(rows):
    listed = [
        say(
            "{n} ({a} before, {b} after)",
            n=Name(row.column.removeprefix(SCORE_PREFIX)),
            a=_value(row.column, "before", row.before),
            b=_value(row.column, "after", row.after),
        )
        for row in rows.head(N_LISTED).itertuples()
    ]
    if len(rows) > N_LISTED:
        what = rows["column"].iloc[0].partition("_")[0].partition(".")[0]
        listed.append(say("{n} more", n=number_of(f"{what}.n_more_changed", len(rows) - N_LISTED)))
    return listed


def _value(name, side, value):
    return Number(
        key("column", name, side), float(value), column(name.removeprefix(SCORE_PREFIX)).text(value)
    )


def caption_changes(changes):
    """What the figure of changes shows."""
    return join([say("Change of paired runtime, with its interval."), _overall(changes.iloc[0])])


def caption_parts(parts, unit):
    """The part that changed most, and how many are drawn as one; of `comparison.drawn_parts`."""
    n = parts.attrs["n_others"]
    moved = comparison.largest(parts.iloc[: len(parts) - (n > 0)])
    if not len(moved):
        return say("Parts of the change of mean runtime: none changed.")
    said = [say("Parts of the change of mean runtime, which sum to it."), _largest(moved.iloc[0], unit)]
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
