"""What estimates rest on: kinds of evidence, candidates, peak rates, sources, and what was not used."""

import pandas as pd

from traincost.estimation import evidence
from traincost.estimation.estimates import DISAGREE
from traincost.estimation.uncertainty import LEVEL
from traincost.printing import count, percent, share_text, significant
from traincost.results.estimate_tables import BAND
from traincost.results.prose import Number, When, first_names, key, say
from traincost.results.result import Earlier, More
from traincost.results.tables import Heading, Origin, Table, of_one


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
            "on the other.",
            n=Number.count("evidence.n_inconsistent", n_apart),
        )


def _kinds_table(estimated):
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


# -- what estimates were made from ---------------------------------------------------------


def input_blocks(reported, estimated):
    """Return what is not read of a list, the peak rates that were taken, and what a sheet leaves out."""
    return (
        Earlier(("references",)),
        _unread(reported.unread),
        More(say("Peak rates taken for the hardware burden"), (_rates_table(estimated),)),
        More(say("What the input leaves out, and why"), (_left_out_table(reported.left_out),)),
    )


def _unread(columns):
    if columns:
        yield say(
            "{n} {n:column|columns} of the list {n:is|are} not read: {names}.",
            n=Number.count("systems.n_unread", len(columns)),
            names=first_names(columns, 12),
        )


def rejected_table(frame):
    """What could not be used, by row and column."""
    return Table(
        "rejected",
        say(
            "What could not be used, by row and column: {n} {n:value|values}.",
            n=Number.count("systems.n_rejected", len(frame)),
        ),
        (
            Heading("row", "row", count),
            Heading("system", "system"),
            Heading("column", "column"),
            Heading("reason", "reason"),
        ),
        frame,
        filter="rows with a problem",
    )


def rates(estimated):
    """Return the peak rates that estimates used: a row a processor, one for those of the input.

    Columns: ``rate_note``, ``rate_source``, ``size`` (systems with a hardware burden at it) and
    ``lowest_flop_per_s``, ``median_flop_per_s``, ``highest_flop_per_s``.
    """
    used = estimated[estimated["burden_flop"].gt(0) & estimated["rate_flop_per_s"].gt(0)]
    by_rate = used.groupby(["rate_note", "rate_source"], sort=True)["rate_flop_per_s"]
    ends = {"lowest_flop_per_s": "min", "median_flop_per_s": "median", "highest_flop_per_s": "max"}
    return by_rate.agg(size="size", **ends).reset_index()


def _rates_table(estimated):
    used = rates(estimated)
    ends = used["lowest_flop_per_s"].lt(used["highest_flop_per_s"]).any()
    return Table(
        "rates",
        say("Peak rates taken for the hardware burden."),
        (
            Heading("rate_note", "peak rate"),
            Heading("size", "systems", count, "with a hardware burden at this rate"),
            ends and Heading("lowest_flop_per_s", "lowest FLOP/s", significant),
            Heading("median_flop_per_s", "median FLOP/s" if ends else "FLOP/s", significant),
            ends and Heading("highest_flop_per_s", "highest FLOP/s", significant),
            Heading("rate_source", "source"),
        ),
        used,
        int(used["size"].sum()),
        "systems with a hardware burden at a known rate",
        tuple(Origin(int(n), "systems with a hardware burden at this rate") for n in used["size"]),
    )


def sources_table(where):
    """Where each figure stands in its paper, with the words as printed."""
    return Table(
        "sources",
        say("Where each figure stands in its paper, with the words as printed."),
        (
            Heading("system", "system"),
            Heading("source", "paper"),
            Heading("figure", "figure"),
            Heading("value", "value"),
            Heading("at", "where"),
            Heading("printed", "as printed"),
        ),
        where,
        where["system"].nunique(),
        "figures of the sheet",
        of_one(where["system"], "the system of the row"),
    )


def _left_out_table(frame):
    return Table(
        "left-out",
        say(
            "Systems that the sheet leaves out, each with its reason: {n}.",
            n=Number.count("systems.n_left_out", len(frame)),
        ),
        (Heading("system", "system"), Heading("reason", "reason")),
        frame,
        filter="systems left out",
        origins=of_one(frame["system"], "the system of the row"),
    )
