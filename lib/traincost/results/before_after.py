"""What a comparison answers first: how much runtime changed, with what, and one bar of a run of each side."""

import numpy as np

from traincost.analysis import comparison as analysis
from traincost.analysis.decomposition import MIX, largest, stacked
from traincost.analysis.differences import mean_runs
from traincost.analysis.fields import Field
from traincost.analysis.sections import timing
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import SCORE_PREFIX
from traincost.printing import count, effect_texts, time_parts, time_text
from traincost.results import fluid, labelled
from traincost.results.names import hue, part_names
from traincost.results.numbers import key, number_of, plural
from traincost.results.prose import Name, Number, say
from traincost.results.result import Answer, Bars

SIDES = ("before", "after")
LEAST_SEEN = 0.005  # of the longer run: a part that a reader may ask about
N_CHANGED = 2  # settings named in the lead
_BESIDE = ["n_runs", "mean_s", "shortest_s", "longest_s"]


def answer(before, after, changed, changes, made_of, columns, sentences):
    """Return the `Answer` of a comparison.

    Parameters
    ----------
    before, after : Runs
    changed : DataFrame
        The shared settings that differ, without those of place: ``setting``, ``before``, ``after``.
    changes : DataFrame
        As `analysis.comparison.runtime_change` returns it.
    made_of : Decomposition
    columns : DataFrame
        As `analysis.comparison.column_changes` returns it.
    sentences : iterable of Sentence
        What else is said: the change in words, and what else may have caused it.
    """
    lead, took = _with(changed), _took(made_of, bool(len(changed)))
    part = _part(made_of)
    return Answer(
        finding=_finding(changes.iloc[0], columns),
        lead=lead,
        do=(took, *sentences[:1], *([part] if part else []), *sentences[1:]),
        figure=_bars(before, after),
    )


def _finding(row, columns):
    """The headline: how much, as far as it can be told, and what it did to the scores."""
    scores = columns[columns["column"].str.startswith(SCORE_PREFIX)]
    return say("{change}{scores}", change=_change(row), scores=_scores(scores))


def _change(row):
    if row.verdict == analysis.SAME:
        return say("Runs take exactly the same time")
    if row.verdict == TOO_FEW:
        return say("There are too few pairs of runs to tell a change")
    if row.verdict == analysis.APART:
        return say("Before and after cannot be told apart")
    if row.verdict == analysis.NOT_SLOWER:
        return say("Runs are not slower than before")
    is_more = row.log_ratio > 0
    value, *ends = (abs(float(x)) for x in (row.change, row.low, row.high))
    way, time = ("slower", "more") if is_more else ("faster", "less")
    text = effect_texts(value, *sorted(ends), signed=False)[0]
    return say("Runs take {x} {time} time", x=Number(f"change.{way}", value, text), time=time)


def _scores(scores):
    """What became of the scores; nothing, where there are none or too few."""
    moved = scores[scores["verdict"].isin((analysis.MORE, analysis.LESS))]
    if len(moved) == 1:
        (row,) = moved.itertuples()
        way = "rose" if row.verdict == analysis.MORE else "fell"
        return say("; {score} {way}", score=Name(row.column.removeprefix(SCORE_PREFIX)), way=way)
    if len(moved):
        return say("; {n} scores changed", n=number_of("score.n_changed", len(moved)))
    if len(scores) and not (scores["verdict"] == TOO_FEW).all():
        return "; no score changed beyond chance"
    return ""


def _with(changed):
    """The settings that differ, with what they are now; None where there are none."""
    if not len(changed):
        return None
    listed = [
        say("{s} at {b} instead of {a}", s=Name(row.setting), a=Name(row.before), b=Name(row.after))
        for row in changed.head(N_CHANGED).itertuples()
    ]
    if len(changed) > N_CHANGED:
        listed.append(say("{n} more changed", n=number_of("changed.n_more", len(changed) - N_CHANGED)))
    return say("With {listed},", listed=listed)


def _took(made_of, has_lead):
    texts = time_parts([made_of.before_s, made_of.after_s], max(made_of.before_s, made_of.after_s))
    ends = (("mean.after_s", made_of.after_s, texts[1]), ("mean.before_s", made_of.before_s, texts[0]))
    b, a = (Number(name, float(value), text) for name, value, text in ends)
    return say("{first} mean run took {b} instead of {a}.", first="a" if has_lead else "A", b=b, a=a)


def _part(made_of):
    """The part that changed most, as a part of the whole change, and how it came about."""
    moved = largest(made_of.parts)
    if not len(moved) or not made_of.change_s:
        return None
    row = moved.iloc[0]
    texts = time_parts([abs(row["total_s"]), abs(made_of.change_s)], made_of.change_s)
    part, whole = (
        Number(name, float(value), text)
        for name, value, text in zip(
            (key("part", row["part"], "total_s"), "mean.change_s"),
            (row["total_s"], made_of.change_s),
            texts,
            strict=True,
        )
    )
    if row["total_s"] * made_of.change_s < 0 or abs(row["total_s"]) > abs(made_of.change_s):
        return say(
            "Most changed {part}, by {t}, against {total} in all.", part=_called(row), t=part, total=whole
        )
    return say(
        "Of the {total} {way}, {t} is {part}{how}.",
        way="saved" if made_of.change_s < 0 else "added",
        t=part,
        total=whole,
        part=_called(row),
        how=_how(row),
    )


def _called(row):
    return "other configurations having been run" if row["part"] == MIX else Name(row["part"])


def _how(row):
    """How often the part ran, where most of its change comes of that."""
    if not np.isfinite(row["count_s"]) or abs(row["count_s"]) < abs(row["call_s"]):
        return ""
    base = ("part", row["part"])
    return say(
        ", which ran {b} instead of {a} {times}",
        a=Number(key(*base, "count_before"), float(row["count_before"]), count(row["count_before"])),
        b=Number(key(*base, "count_after"), float(row["count_after"]), count(row["count_after"])),
        times=plural(row["count_before"], "time"),
    )


def _bars(before, after):
    """The mean run of either side by section; None where no section was timed."""
    t = timing(stacked(before.collection, after.collection))
    if not t.paths:
        return None
    sides = np.repeat([0, 1], [len(before.collection.runs), len(after.collection.runs)])
    means = mean_runs(t, Field("side", "levels", SIDES, sides)).reindex(SIDES)
    columns = list(means.columns.drop(_BESIDE))
    named = part_names(columns)
    longest = float(means["mean_s"].max())
    rows = [
        fluid.Level(
            side,
            tuple(
                fluid.Part(named[part], max(0.0, float(row[part])), text, hue(part, before.section_kinds))
                for part, text in zip(columns, time_parts(row[columns], longest), strict=True)
            ),
            time_text(row["mean_s"]),
        )
        for side, row in means.iterrows()
    ]
    untimed = means[columns[-1]].max() > LEAST_SEEN * longest
    hatched = "; hatched: no section timed it" if untimed else ""
    return Bars(
        "sides",
        means.rename_axis("side").reset_index(),
        labelled.labelled_bars(rows, name="sides", title="The mean run before and after, by section"),
        say(
            "Mean run over {a} runs before and {b} after{hatched}.",
            a=number_of("runs.before", len(before.collection.runs)),
            b=number_of("runs.after", len(after.collection.runs)),
            hatched=hatched,
        ),
        quiet=True,
    )
