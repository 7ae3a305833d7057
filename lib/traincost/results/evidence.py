"""What estimates rest on: the kinds of evidence, every candidate, and what such intervals held elsewhere."""

import pandas as pd

from traincost.estimation import evidence
from traincost.estimation.estimates import DISAGREE
from traincost.estimation.uncertainty import LEVEL
from traincost.printing import count, percent, share_text, significant
from traincost.results.estimate_tables import BAND
from traincost.results.prose import Number, When, key, say
from traincost.results.result import More
from traincost.results.tables import Heading, Table, of_one


def evidence_blocks(candidates, estimated):
    """Return what is said of the evidence, its kinds, and every candidate."""
    return (
        _ranked(estimated),
        _kinds_table(estimated),
        More(
            say("Every estimate that the evidence gives, and what such intervals held elsewhere"),
            (_candidates_table(candidates), _classes_table(estimated)),
        ),
    )


def _ranked(estimated):
    """How many systems are estimated by which kind of evidence, and how many contradict themselves."""
    counts = estimated["method"].value_counts()
    kinds = [
        say("{n} {what}", n=Number.count(key("evidence", kind), counts[kind]), what=kind)
        for kind in evidence.RANKS
        if counts.get(kind, 0)
    ]
    if kinds:
        yield say("The best estimates, the strongest evidence first: {kinds}.", kinds=kinds)
    n_apart = (~estimated["consistent"]).sum()
    if n_apart:
        yield say(
            "The figures of {n} {n:system|systems} contradict each other, and are in no fit of one measure "
            "on "
            "the other.",
            n=Number.count("evidence.n_inconsistent", n_apart),
        )


def _kinds_table(estimated):
    """The kinds of evidence in their order, with how many best estimates are of each."""
    counts = estimated["method"].value_counts()
    rows = [
        (rank, kind, evidence.MEANINGS[kind], int(counts.get(kind, 0)))
        for kind, rank in evidence.RANKS.items()
    ]
    return Table(
        "kinds",
        say("Kinds of evidence, the strongest first, and how many best estimates are of each."),
        (
            Heading("rank", "rank", count),
            Heading("kind", "evidence"),
            Heading("meaning", "what it is"),
            Heading("n", "systems", count),
        ),
        pd.DataFrame(rows, columns=["rank", "kind", "meaning", "n"]),
        len(estimated),
        "systems that were read",
        holds=tuple(f"evidence.{kind}" for kind in evidence.RANKS),
    )


def _candidates_table(frame):
    several = frame["system"].duplicated(keep=False)
    frame = frame.loc[several[several].index.append(several[~several].index)].reset_index(drop=True)
    return Table(
        "candidates",
        say("Every estimate that the evidence gives, the best of a system first."),
        (
            Heading("system", "system"),
            Heading("rank", "rank", count, "1 is the strongest evidence"),
            Heading("method", "evidence"),
            Heading("value_flop", "estimate", significant),
            Heading("low_flop", "interval from", significant, BAND),
            Heading("high_flop", "interval to", significant),
            Heading("ratio", "best over it", significant, f"a contradiction beyond a factor of {DISAGREE:g}"),
            Heading("how", "how"),
        ),
        frame,
        frame["system"].nunique(),
        "systems with an estimate",
        of_one(frame["system"], "the system of the row"),
        holds=("candidates", "evidence"),
    )


def _classes_table(estimated):
    """What intervals of each class held of the totals that a list records."""
    rows = [(kind, n, share) for kind, (n, share) in evidence.CALIBRATED.items()]
    return Table(
        "classes",
        say(
            "What such intervals of {level} hold of the totals that Epoch AI's list of {month} records, by "
            "class.",
            level=Number.of("classes.level", LEVEL, percent),
            month=When("2025-08"),
        ),
        (
            Heading("kind", "class"),
            Heading("n", "systems", count),
            Heading("held", "held", share_text, "share of their recorded totals within the interval"),
        ),
        pd.DataFrame(rows, columns=["kind", "n", "held"]),
        len(estimated),
        "systems of that list, not of this collection",
    )
