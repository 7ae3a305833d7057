"""What was measured against floor and peers, in words."""

from traincost.results.findings.numbers import N_LISTED, key, number_of, plural

from traincost.benchmark_tables import quantity
from traincost.benchmarks import judged, missed
from traincost.columns import significant
from traincost.results.prose import Name, Number, say

FULL = "full"


def summary(found):
    """How many targets are met, and which are not."""
    rows, late = judged(found.frame), missed(found.frame)
    said = []
    if found.size != FULL:
        said.append(say("Measured at a small size, to see that it runs: the ratios say nothing."))
    said.append(
        say(
            "{n} of {of} {targets} met.",
            n=number_of("targets.n_met", len(rows) - len(late)),
            of=number_of("targets.n", len(rows)),
            targets=plural(len(rows), "target is", "targets are"),
        )
    )
    listed = [_miss(row) for row in late.head(N_LISTED - len(said)).itertuples()]
    return said + listed


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
    """Say a ratio: so many times the floor, so many times faster than a peer."""
    template = "{v} the time of the floor ({a})" if row.role == "floor" else "{v} faster than {a}"
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
            n=number_of("machine.n_repetitions", found.n_repetitions),
            repetitions=plural(found.n_repetitions, "repetition"),
        )
    ]
    if all(isinstance(values.get(name), int | float) for name in ("cores", "load_before", "load_after")):
        said.append(
            say(
                "The machine has {c} {cores}; its load was {a} at the start and {b} at the end.",
                c=number_of("machine.cores", values["cores"]),
                cores=plural(values["cores"], "core"),
                a=Number("machine.load_before", float(values["load_before"]), f"{values['load_before']:.2f}"),
                b=Number("machine.load_after", float(values["load_after"]), f"{values['load_after']:.2f}"),
            )
        )
    return said


def caption_ratios(frame):
    """What the figure of ratios shows."""
    rows = judged(frame)
    return say(
        "What was needed of what each target allows, of {n} {targets}; left of the line it is met.",
        n=number_of("targets.n", len(rows)),
        targets=plural(len(rows), "target"),
    )
