"""How much of their hardware the runs used: achieved FLOP/s and MFU by level, the low ones named."""

from traincost.analysis import fields
from traincost.columns import PREFIX
from traincost.estimation import utilisation as estimation
from traincost.printing import count, share_text, significant
from traincost.results import arguments
from traincost.results.prose import Name, Number, Phrase, key, say
from traincost.results.result import More, Result
from traincost.results.runs import listed
from traincost.results.tables import Heading, Origin, Table

# Where `estimation.LOW` comes from.
_SOURCE = (
    f"About nine in ten of the {estimation.N_PUBLISHED} published language models whose hours and tokens are "
    "both printed used more."
)
MAX_NAMED = 5  # levels of low utilisation that are named


@arguments.checked
def utilisation(runs, by=None, *, processor="", precision="", processors=None, name=""):
    """Say how much of the dense peak of their hardware the runs used (MFU), by level.

    Operations are those of the compute blocks of the records: counted, by stages, or by ``model`` (what a
    config.json holds) and ``tokens``. The time is the whole runtime.

    Parameters
    ----------
    runs : Runs
    by : str, optional
        The setting whose levels make the rows; the runs' own tasks, or `runs.rows`, if left out.
    processor, precision : str
        Of runs whose record does not say what they ran on: "A100 80GB", "bf16".
    processors : int, optional
        Of runs whose record does not say how many they held.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per level, as `estimation.utilisation.by_level` returns it; empty, and
        without a word, where no run has operations.

    Raises
    ------
    ParameterError
        `by` names no setting, or `processor` has no rate.
    """
    by = next(iter(listed("by", by)), runs.axes[0].name)
    achieved = estimation.by_run(runs.collection, processor, precision, processors)
    table = estimation.by_level(runs.collection, achieved, by)
    if not achieved["operations_flop"].gt(0).any():
        return Result.showing("utilisation", table.head(0), prefix=name, of=runs.label)
    said = _said(table, achieved)
    shown = utilisation_table(table, by, runs, achieved)
    return Result.showing("utilisation", table, said, shown, prefix=name, of=runs.label)


def beside_costs(runs):
    """Return what a page says of utilisation beside the costs, as blocks; none where it is not known."""
    if not runs.collection.compute:
        return ()
    by = runs.axes[0].name
    achieved = estimation.by_run(runs.collection)
    if not achieved["mfu"].gt(0).any():
        return ()
    table = estimation.by_level(runs.collection, achieved, by)
    of = say(" by {f}", f=Name(by)) if len(table) > 1 else ""
    return (
        _said(table, achieved),
        More(say("Achieved FLOP/s and MFU{of}", of=of), (utilisation_table(table, by, runs, achieved),)),
    )


def _said(table, achieved):
    total = table.iloc[-1]
    unknown = achieved[~achieved["mfu"].gt(0)]
    if total["n_known"]:
        yield say(
            "The runs used {mfu} of the dense peak of their hardware (MFU) over the whole of their runtime, "
            "{flops} FLOP/s a device; between {low} and {high}, run by run.",
            mfu=_share("mfu", total["mfu"]),
            flops=Number.of("utilisation.achieved", total["achieved_flop_per_s"], significant),
            low=_share("lowest", total["mfu_lowest"]),
            high=_share("highest", total["mfu_highest"]),
        )
        yield from _low(table)
    if len(unknown):
        reason = unknown["problem"].value_counts()
        yield say(
            "Of {n} {n:run|runs} no utilisation is known: {why}.",
            n=Number.count("utilisation.n_unknown", len(unknown)),
            why=Name(reason.index[0]) if len(reason) else "too little is recorded",
        )


def _low(table):
    levels = table.iloc[:-1]
    low = levels[levels["low"]].nsmallest(MAX_NAMED, "mfu")
    named = [
        say("{x} ({mfu})", x=Name(row.level), mfu=_share(key("mfu", row.level), row.mfu))
        for row in low.itertuples()
    ]
    if named or table["low"].iloc[-1]:
        limit = _share("limit", estimation.LOW)
        yield say(
            "{below}: look at input, batch size and precision first. {source}",
            below=say("Below {x} are {l}" if named else "That is below {x}", x=limit, l=named),
            source=_SOURCE,
        )
    if table["mfu"].gt(1).any():
        yield say("An MFU above one is impossible: the operations, the devices or the rate are wrong.")


def _share(name, value):
    return Number.share(key("utilisation", name), value)


def utilisation_table(table, by, runs, achieved):
    """Return the table of achieved FLOP/s and MFU by the levels of the setting `by`."""
    completed = runs.frame["run_id"]
    origins = []
    if len(table) > 1:
        codes, labels, _ = fields.levels(runs.collection.runs[PREFIX + by])
        for k, label in enumerate(labels):
            ids = tuple(completed[codes == k])
            origins.append(Origin(len(ids), f"completed runs where {by} = {label}", ids))
    return Table(
        "utilisation",
        say("Achieved FLOP/s of a device, and the share of its dense peak (MFU), by level."),
        (
            Heading("level", by or "runs"),
            Heading("n_known", "runs", count, "with operations, devices and their peak"),
            Heading("operations_flop", "FLOP", significant),
            Heading("device_hours", "device-hours", significant),
            Heading("achieved_flop_per_s", "FLOP/s a device", significant),
            Heading("mfu", "MFU", share_text, "operations over the dense peak of all the time"),
            Heading("mfu_lowest", "lowest", share_text),
            Heading("mfu_highest", "highest", share_text),
        ),
        table,
        int(table["n_known"].iloc[-1]),
        "completed runs with operations",
        (*origins, Origin(len(completed), "completed runs")),
        note=_peaks(achieved),
    )


def _peaks(achieved):
    known = achieved[achieved["mfu"].gt(0)]
    peaks = known.groupby(["rate_note", "peak_flop_per_s"]).size().sort_values(ascending=False, kind="stable")
    notes = peaks.groupby(level=0, sort=False).sum()
    said = []
    for note, n in notes.head(MAX_NAMED).items():
        rates = [peak for at, peak in peaks.index if at == note]
        between = " to ".join(significant(rate) for rate in sorted({min(rates), max(rates)}))
        said.append(
            say("{r} FLOP/s, {note} ({n} runs)", r=Phrase(between), note=Name(note), n=Phrase(count(n)))
        )
    return say("Dense peak of a device: {all}.", all=said) if said else None
