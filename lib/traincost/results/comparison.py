"""What changed between two collections: the settings, how much runtime, which parts of it, and the rest."""

import numpy as np

from traincost.analysis import comparison as analysis
from traincost.analysis import decomposition, pairs, sessions
from traincost.analysis.costs import NOT_COMPLETED
from traincost.analysis.decomposition import MIX, largest, stacked
from traincost.analysis.differences import mean_runs
from traincost.analysis.fields import Field
from traincost.analysis.sections import timing
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import SCORE_PREFIX
from traincost.printing import count, effect_texts, probability, time_parts
from traincost.results import arguments, labelled, mean_bars
from traincost.results.change_tables import (
    changes_in_full,
    changes_table,
    columns_table,
    drift_table,
    scores_changed,
    scores_table,
    settings_table,
    unpaired_table,
)
from traincost.results.decomposition import decomposed, mean_change, parts_in_full, parts_table
from traincost.results.prose import N_LISTED, N_NAMED, Name, Number, join, key, names, say, with_more
from traincost.results.result import Answer, Bars, More, Result
from traincost.results.runs import listed

_WAYS = {True: "slower", False: "faster"}  # in the keys of numbers
_TIME = {True: "more", False: "less"}


@arguments.checked
def compare(before, after, *, pair_by=None, renamed=None, name=""):
    """Say what changed between two collections.

    Runs are paired by configuration: one setting of all factors that both collections have.

    Parameters
    ----------
    before, after : Runs
        The `replicates` of `before` hold for both.
    pair_by : str or list of str, optional
        Settings that tell configurations apart; the factors of both collections if left out.
    renamed : mapping, optional
        Setting to a mapping of its levels before to what they are called after.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has the paired change of runtime, overall and by level
        (`analysis.comparison.runtime_change`). Its parts: ``summary``, ``settings`` (what was
        changed), ``runtime`` (how much), ``made_of`` (which parts of a run), ``rest`` (scores and
        cost columns).

    Raises
    ------
    ParameterError
        The runs have no configuration in common, or a setting named is not one of theirs.

    Examples
    --------
    >>> compare(runs, runs).frame["verdict"].iloc[0]
    'no change'
    """
    first, second = before.collection, after.collection
    pairing = pairs.pair(
        first, second, list(listed("pair_by", pair_by)) or None, before.replicates, renamed or {}
    )
    changes = analysis.runtime_change(first, second, pairing)
    made_of = decomposition.decompose(first, second, pairing)
    columns = analysis.column_changes(first, second, pairing)
    where = sessions.circumstances(first, second)
    drift = sessions.session_drift(first, second, pairing)
    n_runs = len(first.runs) + len(second.runs)
    places = {setting for setting, *_ in where.places}
    changed = pairing.changed[~pairing.changed["setting"].isin(places)]
    said = [_overall(changes.iloc[0])]
    said += [] if where.allow_a_cause else _machine(where)
    said += [] if len(changed) else [_no_setting()]
    said[1:1] = _did_not_complete(before, after)
    parts = {
        "summary": (changes, answer(before, after, changed, changes, made_of, columns, said)),
        "runtime": (
            changes,
            [*_paired_change(changes), *_drift(drift), *_in_quartiles(pairing)],
            changes_table(changes),
            More(
                say("Pairs, intervals, p and verdict of each level"),
                (changes_in_full(changes), drift_table(drift)),
            ),
        ),
        "made_of": (
            made_of.parts,
            [mean_change(made_of)],
            parts_table(made_of, n_runs, before.section_kinds),
            More(
                say("Every part, by how often it ran and by what one call took"),
                (decomposed(made_of), parts_in_full(made_of.parts, n_runs)),
            ),
        ),
        "rest": (
            columns,
            scores_changed(columns),
            scores_table(columns),
            More(say("Every score and cost column, with intervals"), (columns_table(columns),)),
        ),
        "settings": (pairing.changed, *_settings(pairing, where, changes.iloc[0], first, second)),
    }
    label = f"{before.label} → {after.label}"
    more = {**after.more, "before_runs": before.more["runs"]}
    return Result.of_parts("compare", changes, parts, name, label, more)


def _settings(pairing, where, overall, first, second):
    return (
        _changed_settings(pairing, where, overall),
        _how_paired(pairing, first, second),
        settings_table(pairing.changed),
        More(
            say("{n} runs without a pair", n=Number.count("unpaired.n", len(pairing.unpaired))),
            (unpaired_table(pairing.unpaired),),
        ),
    )


def _changed_settings(pairing, where, overall):
    """The shared settings that differ, and whether they may be called the likely cause of a change."""
    places = {setting for setting, *_ in where.places}
    rows = pairing.changed[~pairing.changed["setting"].isin(places)]
    has_changed = overall["verdict"] in (analysis.SLOWER, analysis.FASTER)
    machine = _machine(where)
    if not len(rows):
        return [_no_setting(), *machine]
    listed = [
        say("{s} ({a} before, {b} after)", s=Name(r.setting), a=Name(r.before), b=Name(r.after))
        for r in rows.head(N_LISTED).itertuples()
    ]
    said = say(
        "Changed {n:setting|settings}{cause}: {s}.",
        n=len(rows),
        cause=", the likely cause" if where.allow_a_cause and has_changed else "",
        s=with_more(listed, len(rows), "changed.n_more"),
    )
    return [said if where.allow_a_cause else join([said, *machine])]


def _no_setting():
    return say(
        "No shared setting differs, so a change comes from what the records do not name: code, data, machine "
        "or chance."
    )


def _machine(where):
    """Say what else may have changed: the machine, by where the runs ran or when they started."""
    if where.places:
        listed = [
            say("{s} ({a} before, {b} after)", s=Name(setting), a=Name(a), b=Name(b))
            for setting, a, b in where.places
        ]
        yield say("They ran on other machines: {s}.", s=listed)
    if where.order == sessions.APART:
        other = sessions.SIDES[where.first == sessions.SIDES[0]]
        yield say(
            "All runs {a} started earlier than those {b}, so the machine may have changed, too.",
            a=where.first,
            b=other,
        )
    elif where.order == sessions.UNKNOWN:
        yield say("When the runs started is not recorded, so the machine may have changed, too.")


def _drift(drift):
    """Say that the ratio of a pair goes with the order of a session, where it does."""
    return [
        say(
            "How much longer a pair took {way} with the start order of the runs {side} (r {r}, p {p}): a "
            "machine that changed during that session would look the same.",
            way="grows" if row.r > 0 else "falls",
            side=row.side,
            r=Number.two(key("drift", row.side, "r"), row.r),
            p=Number.of(key("drift", row.side, "p"), row.p, probability),
        )
        for row in drift[drift["drifts"]].itertuples()
    ]


def _in_quartiles(pairing):
    if pairing.numbers:
        yield say(
            "{f} {n:has|have} many values, and {n:is|are} compared in quartiles.",
            f=_few(list(pairing.numbers), "numbers"),
            n=len(pairing.numbers),
        )


def _how_paired(pairing, before, after):
    """How many runs were paired, over what, and what was left out."""
    yield say(
        "{a} runs before and {b} after make {n} {n:pair|pairs} in {c} {c:configuration|configurations}[, "
        "over {f}].",
        a=Number.count("runs.before", len(before.runs)),
        b=Number.count("runs.after", len(after.runs)),
        n=Number.count("pairs.n", len(pairing.pairs)),
        c=Number.count("pairs.n_configurations", len(pairing.paired)),
        f=_few(pairing.factors, "factors"),
    )
    if len(pairing.unpaired):
        yield say(
            "{n} {n:run is|runs are} without a pair: they enter the mean runtime of their side, and no "
            "paired change.",
            n=Number.count("unpaired.n", len(pairing.unpaired)),
        )
    if pairing.averaged:
        yield say("Varied on one side only, and averaged over: {f}.", f=_few(pairing.averaged, "averaged"))
    left_out = len(before.excluded) + len(after.excluded)
    if left_out:
        yield say(
            "{n} {n:run is|runs are} left out of both sides' statistics as not completed or not usable.",
            n=Number.count("excluded.n", left_out),
        )


def _did_not_complete(before, after):
    """How many runs of each side did not complete, where any did not."""
    sides = [side.excluded["status"][side.excluded["status"].isin(NOT_COMPLETED)] for side in (before, after)]
    n, m = map(len, sides)
    if not n + m:
        return
    statuses = [
        [
            say("{n} {status}", n=Number.count(key("died", side, status, "n"), k), status=Name(status))
            for status, k in found.value_counts().items()
        ]
        for side, found in zip(SIDES, sides, strict=True)
    ]
    yield say(
        "{m} {m:run|runs} after did not complete[ ({late})], and {n} before[ ({early})].",
        m=Number.count("died.after.n", m),
        n=Number.count("died.before.n", n),
        late=statuses[1],
        early=statuses[0],
    )


def _few(texts, what):
    return with_more(names(texts[:N_NAMED]), len(texts), f"{what}.n_more")


def _paired_change(changes):
    """What stands out among the levels."""
    levels = changes.iloc[1:]
    for verdict in (analysis.SLOWER, analysis.FASTER):
        rows = levels[levels["verdict"] == verdict]
        if len(rows):
            rows = rows.iloc[np.argsort(-rows["log_ratio"].abs().to_numpy(), kind="stable")]
            yield _every_level(rows) if len(levels) == len(rows) > N_LISTED else _some_levels(rows)
    apart = levels[levels["verdict"] == analysis.APART]
    if len(apart):
        listed = names([f"{r.factor}={r.level}" for r in apart.head(N_LISTED).itertuples()])
        listed = with_more(listed, len(apart), "change.n_more_apart", "others")
        yield say("Before and after cannot be told apart for {l}.", l=listed)


def _every_level(rows):
    most, least = (_level(rows.iloc[at]) for at in (0, -1))
    way = _time(rows.iloc[0])
    return say(
        "Runs of every level took {way} time, from {most} to {least}.", way=way, most=most, least=least
    )


def _some_levels(rows):
    listed = [_level(row) for _, row in rows.head(N_LISTED).iterrows()]
    more = f"change.n_more_{_WAYS[rows.iloc[0].log_ratio > 0]}"
    listed = with_more(listed, len(rows), more, "others")
    return say("By level, {way} time: {rows}.", way=_time(rows.iloc[0]), rows=listed)


def _level(row):
    name = Name(f"{row.factor}={row.level}")
    return say("{l} {by}", l=name, by=_by(key("change", row.factor, row.level), row))


def _time(row):
    return _TIME[row.log_ratio > 0]


def change_in_words(base, row):
    """Say a change of paired runtime: which way, by how much, and whether it can be told from chance."""
    if row.verdict == analysis.SAME:
        return say("the same time")
    change = _took(base, row)
    told = row.verdict in (analysis.SLOWER, analysis.FASTER)
    return change if told else say("{c}, which cannot be told from chance", c=change)


# What follows the change of runtime, for each verdict.
_OVERALL = {
    TOO_FEW: "; there are too few to tell that from chance",
    analysis.APART: ", which cannot be told from chance",
    analysis.NOT_SLOWER: ": they are not slower, but cannot be told from equally fast",
}


def _overall(row):
    if row.verdict == analysis.SAME:
        return say("The paired runs took exactly the same time.")
    is_one_sided = row.verdict == analysis.SLOWER and row.low <= 0
    return say(
        "The paired runs took {c}{told}[, by the one-sided bound of a check at least {x}].",
        c=_took("change", row),
        told=_OVERALL.get(row.verdict, ""),
        x=Number.share("change.slower_at_least", row.at_least) if is_one_sided else None,
    )


def _by(base, row, what=""):
    """Print a change of runtime with its interval, as parts of the time before, less or more."""
    sign = 1 if row.log_ratio > 0 else -1
    name = f"{base}.{_WAYS[row.log_ratio > 0]}"
    values = sign * row.change, *sorted((sign * row.low, sign * row.high))
    texts = effect_texts(*values, signed=False)
    x, low, high = Number.several((name, f"{name}_low", f"{name}_high"), values, texts)
    low = None if np.isnan(row.low) else low
    return say("{x}{what}[ ({low} to {high})]", x=x, what=what, low=low, high=high)


def _took(base, row):
    return _by(base, row, f" {_time(row)} time")


# -- what the page answers first -----------------------------------------------------------


SIDES = ("before", "after")
LEAST_SEEN = 0.005  # of the longer run: a part that a reader may ask about
N_CHANGED = 2  # settings named in the lead


def answer(before, after, changed, changes, made_of, columns, sentences):
    """Return the `Answer` of a comparison.

    `changed` has the shared settings that differ, without those of place; `changes` and `columns` are those
    of `analysis.comparison`; `sentences` is what else is said: the change in words, and its causes.
    """
    lead = _with(changed)
    # The runs that only one side has may be the long ones.
    mix_s = made_of.parts.loc[made_of.parts["part"] == MIX, "total_s"].abs().sum()
    is_apart = mix_s > LEAST_SEEN * made_of.before_s
    took = _mean_took(made_of, lead is not None, changes.iloc[0] if is_apart else None)
    part = _part_changed(made_of)
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
    return say(
        said + "{scores}", x=Number(f"change.{way}", value, text), time=time, scores=_scores_moved(scores)
    )


# The headline, where it does not say how much.
_CHANGES = {
    analysis.SAME: "Runs take exactly the same time",
    TOO_FEW: "There are too few pairs of runs to tell a change",
    analysis.APART: "Before and after cannot be told apart",
    analysis.NOT_SLOWER: "Runs are not slower than before",
}


def _scores_moved(scores):
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
    return say("With {l},", l=with_more(listed, len(changed), "answer.n_more_changed", "more changed"))


def _mean_took(made_of, has_lead, paired):
    """The mean run of either side, and of the configurations `paired`, where these are not all."""
    ends = [made_of.before_s, made_of.after_s]
    keys = ["mean.before_s", "mean.after_s"]
    if paired is not None:
        ends += [float(paired[name]) for name in ("before_s", "after_s")]
        keys += ["paired.before_s", "paired.after_s"]
    a, b, *both = Number.several(keys, ends, time_parts(ends, max(ends)))
    return say(
        "{first} mean run took {b} instead of {a}[; of what both sides ran, {d} instead of {c}].",
        first="a" if has_lead else "A",
        b=b,
        a=a,
        c=both[0] if both else None,
        d=both[1] if both else None,
    )


def _part_changed(made_of):
    """The part that changed most, as a part of the whole change, and how it came about."""
    moved = largest(made_of.parts)
    if not len(moved) or not made_of.change_s:
        return None
    row = moved.iloc[0]
    values = row["total_s"], made_of.change_s
    said, signed = "Of the {total} {way}, {t} is {part}{how}.", False
    if row["total_s"] * made_of.change_s < 0 or abs(row["total_s"]) > abs(made_of.change_s):
        said, signed = "Most changed {part}, by {t}, against {total} in all.", True
    texts = time_parts(values if signed else map(abs, values), made_of.change_s, signed)
    t, total = Number.several((key("part", row["part"], "total_s"), "mean.change_s"), values, texts)
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
