"""The page of what `make bench` measured: the answers that ``benchmark.ipynb`` shows.

``python tests/bench/benchmark_page.py RESULTS OUTPUT`` builds it (`make bench-report`).
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks import judged, missed

from traincost.pages import publish
from traincost.printing import significant, time_unit
from traincost.results.figures import MAX_ROWS, Figure, axes_of, label_rows, plain_log_axis
from traincost.results.prose import N_LISTED, Name, Number, key, plural, say
from traincost.results.result import Headline, Items, Result
from traincost.results.svg import MUTED, SERIES
from traincost.results.tables import Heading, Table
from traincost.results.title import Heading as Title

NOTEBOOK = Path(__file__).with_name("benchmark.ipynb")
PARAMETERS = Path(__file__).parents[2] / "params" / "benchmark.yaml"
FULL = "full"
TITLE = "against floor and peers"


def build(results, output):
    """Build ``benchmark.html`` and ``benchmark.json`` in `output`; return the page's path."""
    parameters = {**publish.read_parameters(PARAMETERS), "results": Path(results)}
    return publish.publish(NOTEBOOK, output, **parameters)


def title(found, project="", collection="", note="", links=None):
    """Begin the page; arguments as `traincost.title`."""
    collection = collection or found.name
    shown = Title(project, collection, TITLE, tuple((links or {}).items()), note)
    more = {"kind": "benchmark", "title": f"{' '.join(filter(None, (project, collection)))}: {TITLE}"}
    return Result("title", pd.DataFrame(), (shown,), of=collection, more=more)


def benchmark(found):
    """Say what was measured of `benchmarks.Benchmarks`: ``summary``, ``measured`` and ``machine``."""
    frame = found.frame
    parts = {
        "summary": [Headline(tuple(summary(found)))],
        "measured": [
            Items(tuple(works(frame))),
            Figure.of("ratios", judged(frame), draw_ratios, _caption_ratios),
            measured_table(frame),
        ],
        "machine": [machine(found), _machine_table({"repetitions": found.n_repetitions, **found.machine})],
    }
    parts = {name: Result.showing(f"benchmark.{name}", frame, *blocks) for name, blocks in parts.items()}
    return Result("benchmark", frame, parts=parts, of=found.name)


# -- sentences -----------------------------------------------------------------------------


def summary(found):
    """How many targets are met, and which are not."""
    rows, late = judged(found.frame), missed(found.frame)
    said = []
    if found.size != FULL:
        said.append(say("Measured at a small size, to see that it runs: the ratios say nothing."))
    said.append(
        say(
            "{n} of {of} {targets} met.",
            n=Number.count("targets.n_met", len(rows) - len(late)),
            of=Number.count("targets.n", len(rows)),
            targets=plural(len(rows), "target is", "targets are"),
        )
    )
    room = N_LISTED - len(said)
    listed = late if len(late) <= room else late.head(room - 1)
    said += map(_miss, listed.itertuples())
    if n_more := len(late) - len(listed):
        said.append(say("{n} more are missed: the table has all.", n=Number.count("targets.n_more", n_more)))
    return said


def _miss(row):
    verb = "takes" if row.role == "floor" else "is"
    said = say("{v}", v=_value(row)) if row.role == "limit" else _ratio(row)
    return say(
        "Missed: {w} {verb} {s}, where {b} {t} is asked.",
        w=Name(row.work),
        verb=verb,
        s=said,
        b=row.bound,
        t=_target(row),
    )


def works(frame):
    """For each work, how long it takes, and how that compares."""
    return [_work(rows) for _, rows in frame.groupby("work", sort=False)]


def _work(rows):
    first = next(rows.itertuples())
    compared = [_ratio(row) for row in rows[rows["value"].notna()].itertuples() if row.role != "limit"]
    if not compared:
        return say("{w}: {v}.", w=Name(first.work), v=_ours(first))
    return say("{w} takes {v}. That is {c}.", w=Name(first.work), v=_ours(first), c=compared)


def _ours(row):
    base = ("benchmark", row.work, row.against)
    return Number(key(*base, "ours"), float(row.ours), quantity(row.ours, row.unit))


def _ratio(row):
    """Say a ratio: so many times the floor, so many times as fast as a peer."""
    template = "{v} the time of the floor ({a})" if row.role == "floor" else "{v} as fast as {a}"
    return say(template, v=_value(row), a=Name(row.against))


def _value(row):
    text = quantity(row.value, row.unit) if row.role == "limit" else f"{significant(row.value, 3)} ×"
    return Number(key("benchmark", row.work, row.against, "value"), float(row.value), text)


def _target(row):
    text = quantity(row.target, row.unit) if row.role == "limit" else f"{significant(row.target, 3)} ×"
    return Number(key("benchmark", row.work, row.against, "target"), float(row.target), text)


def machine(found):
    """How it was measured, and how busy the machine was with other things."""
    values = found.machine
    said = [
        say(
            "Medians of {n} {repetitions}; what is compared ran in turn, in one session.",
            n=Number.count("machine.n_repetitions", found.n_repetitions),
            repetitions=plural(found.n_repetitions, "repetition"),
        )
    ]
    if all(isinstance(values.get(name), int | float) for name in ("cores", "load_before", "load_after")):
        said.append(
            say(
                "The machine has {c} {cores}; its load was {a} at the start and {b} at the end.",
                c=Number.count("machine.cores", values["cores"]),
                cores=plural(values["cores"], "core"),
                a=Number("machine.load_before", float(values["load_before"]), f"{values['load_before']:.2f}"),
                b=Number("machine.load_after", float(values["load_after"]), f"{values['load_after']:.2f}"),
            )
        )
    return said


def _caption_ratios(frame):
    """What the figure of ratios shows."""
    rows = judged(frame)
    return say(
        "What was needed of what each target allows, of {n} {targets}; left of the line it is met.",
        n=Number.count("targets.n", len(rows)),
        targets=plural(len(rows), "target"),
    )


# -- figure and tables ---------------------------------------------------------------------


def draw_ratios(comparisons):
    """What each comparison needed of what its target allows, on a log axis; 1 is just met."""
    comparisons = comparisons.dropna(subset="of_target").head(2 * MAX_ROWS)
    rows = np.arange(len(comparisons))
    figure, axes = axes_of(0.8 + 0.3 * len(comparisons))
    axes.axvline(1, color=MUTED, linewidth=0.8)
    met = comparisons["met"].eq(True)
    for chosen, colour in ((met, SERIES[0]), (~met, SERIES[1])):
        axes.plot(comparisons["of_target"].where(chosen), rows, "o", color=colour, markersize=6)
    axes.set_xscale("log")
    plain_log_axis(axes, pd.concat([comparisons["of_target"], pd.Series([1.0])]))
    # What it is compared with; the table below has the works in the same order.
    label_rows(axes, comparisons["against"].where(comparisons["against"].ne(""), comparisons["work"]))
    axes.set_xlabel("needed of what the target allows (log scale)")
    axes.grid(axis="x")
    return figure, [(("o", SERIES[0]), "target met"), (("o", SERIES[1]), "target missed")]


def quantity(value, unit):
    """Print a number of `unit` with three digits; seconds in the unit that suits them."""
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


def measured_table(frame):
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


def _machine_table(values):
    """What it was measured on."""
    return Table(
        "machine",
        say("Measured on."),
        (Heading("name", "name"), Heading("value", "value")),
        pd.DataFrame(values.items(), columns=["name", "value"], dtype=object),
        0,
        "the machine",
        holds=("machine",),
    )


if __name__ == "__main__":
    print(build(*sys.argv[1:]))
