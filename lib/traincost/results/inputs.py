"""What estimates were made from: the sources, the peak rates, and what could not be used."""

from traincost.printing import count, significant
from traincost.results.prose import Number, first_names, say
from traincost.results.result import Earlier, More
from traincost.results.tables import Heading, Origin, Table, of_one


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
        len(frame),
        "rows with a problem",
    )


def rates(estimated):
    """Return the peak rates that estimates used: a row a processor, one for those of the input.

    Returns
    -------
    DataFrame
        ``rate_note``, ``rate_source``, ``size`` (systems with a hardware burden at it),
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
        len(frame),
        "systems left out",
        of_one(frame["system"], "the system of the row"),
    )
