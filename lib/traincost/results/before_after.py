"""What a comparison answers first: how much runtime changed, with what, and one bar of a run of each side."""

import numpy as np

from traincost.analysis import comparison as analysis
from traincost.analysis.decomposition import MIX, largest, stacked
from traincost.analysis.differences import mean_runs
from traincost.analysis.fields import Field
from traincost.analysis.sections import timing
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import SCORE_PREFIX
from traincost.printing import count, effect_texts, time_parts
from traincost.results import labelled, mean_bars
from traincost.results.prose import Name, Number, key, say, with_more
from traincost.results.result import Answer, Bars

SIDES = ("before", "after")
LEAST_SEEN = 0.005  # of the longer run: a part that a reader may ask about
N_CHANGED = 2  # settings named in the lead


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
    value, *ends = (abs(float(x)) for x in (row.change, row.low, row.high))
    way, time = ("slower", "more") if row.log_ratio > 0 else ("faster", "less")
    text = effect_texts(value, *sorted(ends), signed=False)[0]
    said = _CHANGES.get(row.verdict, "Runs take {x} {time} time")
    return say(said + "{scores}", x=Number(f"change.{way}", value, text), time=time, scores=_scores(scores))


# The headline, where it does not say how much.
_CHANGES = {
    analysis.SAME: "Runs take exactly the same time",
    TOO_FEW: "There are too few pairs of runs to tell a change",
    analysis.APART: "Before and after cannot be told apart",
    analysis.NOT_SLOWER: "Runs are not slower than before",
}


def _scores(scores):
    """What became of the scores; nothing, where there are none or too few."""
    moved = scores[scores["verdict"].isin((analysis.MORE, analysis.LESS))]
    if len(moved) == 1:
        (row,) = moved.itertuples()
        way = "rose" if row.verdict == analysis.MORE else "fell"
        return say("; {score} {way}", score=Name(row.column.removeprefix(SCORE_PREFIX)), way=way)
    if len(moved):
        return say("; {n} scores changed", n=Number.count("score.n_changed", len(moved)))
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
    return say("With {l},", l=with_more(listed, len(changed), "changed.n_more", "more changed"))


def _took(made_of, has_lead):
    ends = made_of.before_s, made_of.after_s
    a, b = Number.several(("mean.before_s", "mean.after_s"), ends, time_parts(ends, max(ends)))
    return say("{first} mean run took {b} instead of {a}.", first="a" if has_lead else "A", b=b, a=a)


def _part(made_of):
    """The part that changed most, as a part of the whole change, and how it came about."""
    moved = largest(made_of.parts)
    if not len(moved) or not made_of.change_s:
        return None
    row = moved.iloc[0]
    values = row["total_s"], made_of.change_s
    texts = time_parts(map(abs, values), made_of.change_s)
    t, total = Number.several((key("part", row["part"], "total_s"), "mean.change_s"), values, texts)
    said = "Of the {total} {way}, {t} is {part}{how}."
    if row["total_s"] * made_of.change_s < 0 or abs(row["total_s"]) > abs(made_of.change_s):
        said = "Most changed {part}, by {t}, against {total} in all."
    return say(
        said,
        way="saved" if made_of.change_s < 0 else "added",
        t=t,
        total=total,
        part="other configurations having been run" if row["part"] == MIX else Name(row["part"]),
        how=_how(row),
    )


def _how(row):
    """How often the part ran, where most of its change comes of that."""
    if not np.isfinite(row["count_s"]) or abs(row["count_s"]) < abs(row["call_s"]):
        return ""
    a, b = (Number.of(key("part", row["part"], n), row[n], count) for n in ("count_before", "count_after"))
    return say(", which ran {b} instead of {a} {a:time|times}", a=a, b=b)


def _bars(before, after):
    """The mean run of either side by section; None where no section was timed."""
    t = timing(stacked(before.collection, after.collection))
    if not t.paths:
        return None
    sides = np.repeat([0, 1], [len(before.collection.runs), len(after.collection.runs)])
    means = mean_runs(t, Field("side", "levels", SIDES, sides)).reindex(SIDES)
    longest = float(means["mean_s"].max())
    rows = [mean_bars.level_of(side, row, longest, before.section_kinds) for side, row in means.iterrows()]
    untimed = means.drop(columns=mean_bars.BESIDE).iloc[:, -1].max() > LEAST_SEEN * longest
    hatched = "; hatched: no section timed it" if untimed else ""
    return Bars(
        "sides",
        means.rename_axis("side").reset_index(),
        labelled.labelled_bars(rows, name="sides", title="The mean run before and after, by section"),
        say(
            "Mean run over {a} runs before and {b} after{hatched}.",
            a=Number.count("runs.before", len(before.collection.runs)),
            b=Number.count("runs.after", len(after.collection.runs)),
            hatched=hatched,
        ),
        quiet=True,
    )
