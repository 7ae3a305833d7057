"""The tables of the benchmark's page."""

import pandas as pd

from traincost.columns import significant, time_unit
from traincost.results.prose import say
from traincost.results.tables import Heading, Table


def quantity(value, unit):
    """Print a number of `unit` with three digits; seconds in the unit that suits them.

    >>> quantity(0.00123, "s"), quantity(1.5, "KiB"), quantity(float("nan"), "s")
    ('1.23 ms', '1.50 KiB', '–')
    """
    if pd.isna(value):
        return "–"
    if unit != "s":
        return f"{significant(value, 3)} {unit}".rstrip()
    shown = time_unit(value)
    return f"{significant(value / shown.seconds, 3)} {shown.symbol}"


def target(row):
    """Print what is asked of a comparison."""
    if row.bound is None:
        return "–"
    times = row.unit if row.role == "limit" else "×"
    return f"{row.bound} {significant(row.target, 3)} {times}".rstrip()


def measured(frame):
    """What `benchmarks.read_benchmarks` found, a row per comparison."""
    rows = list(frame.itertuples())
    printed = frame.assign(
        compared=[f"{row.role}: {row.against}" if row.against else row.role for row in rows],
        ours_text=[quantity(row.ours, row.unit) for row in rows],
        theirs_text=[quantity(row.theirs, row.unit) for row in rows],
        ratio=[None if row.role == "limit" else row.value for row in rows],
        target_text=[target(row) for row in rows],
        outcome=[{True: "met", False: "missed"}.get(row.met, "–") for row in rows],
    )
    return Table(
        "measured",
        say("Each work against its floor and its peers, medians of one session."),
        (
            Heading("work", "work"),
            Heading("compared", "against"),
            Heading("ratio", "ratio", _times, "of a floor ours/theirs, of a peer theirs/ours"),
            Heading("target_text", "target"),
            Heading("outcome", "outcome"),
            Heading("ours_text", "ours"),
            Heading("theirs_text", "theirs"),
        ),
        printed,
        0,
        "repetitions of one session",
        holds=("benchmark", "targets"),
    )


def _times(value):
    return f"{significant(value, 3)} ×"


def machine(values):
    """What it was measured on."""
    return Table(
        "machine",
        say("Measured on."),
        (Heading("name", "name"), Heading("value", "value")),
        pd.DataFrame([(name, str(value)) for name, value in values.items()], columns=["name", "value"]),
        0,
        "the machine",
        holds=("machine",),
    )
