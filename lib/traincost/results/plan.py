"""What a planned sweep would take, predicted from runs: sentences, a table, and JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from traincost.analysis import plan as analysis
from traincost.analysis.verdicts import SIZED
from traincost.printing import count, money, percent, plain, time_interval, time_text
from traincost.results import arguments
from traincost.results.prose import N_NAMED, Number, names, say, with_more
from traincost.results.result import Headline, Items, Result
from traincost.results.tables import Heading, Table, as_printed
from traincost.words import printable

FORMAT, REMAINING = "traincost/plan/1", "traincost/remaining/1"
MAX_LINES = 60  # configurations that are printed as text; the table has all


@dataclass(frozen=True, eq=False)
class Plan(Result):
    """A plan, which lists its configurations where it is printed as text."""

    proposal: Mapping = field(default_factory=dict)  # as `analysis.plan.checked` returns it
    lines: tuple = ()  # the plan as text

    def __str__(self):
        return "\n".join(map(printable, self.lines))


@arguments.checked
def plan(runs, levels=None, *, seeds=1, knobs=None, devices=1, price_per_hour=None, currency="USD", name=""):
    """Predict what a planned sweep would take: from each combination's own runs, and from the settings.

    A combination that was run before, in runs that repeat some configuration, is drawn to its own mean;
    one never run is predicted by the additive model of log runtime alone, and named.

    Parameters
    ----------
    runs : Runs
        What to predict from; their `replicates` repeat a configuration.
    levels : mapping of str to list, optional
        Factor to the levels that are planned; of a factor left out, all that were run.
    seeds : int
        Runs of each configuration.
    knobs : list of mappings, optional
        Knobs that are turned (`analysis.knobs.Knob`).
    devices : int
        That a run holds.
    price_per_hour : float, optional
        Of a device.
    currency : str
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Plan
        ``frame`` has a row per configuration and the whole last: ``level.<factor>``, ``n_runs``,
        ``hours`` with ``low`` and ``high`` (90 % prediction interval), ``device_hours``, and where
        they are asked for ``money`` and ``hours_at_least``, if each knob saves all that it can;
        ``n_before``, runs so far (0: never run); ``failed_hours``, what failed runs would add.

    Raises
    ------
    ParameterError
        An argument cannot be used, or a level was never run.
    NothingToReport
        There are too few runs to predict from.

    Examples
    --------
    >>> print(plan(runs, {"task_name": ["sorting"]}, seeds=3))  # doctest: +ELLIPSIS
    18 runs in 6 configurations take 8.3 min (8.0 to 8.7): 8.3 min of device time...
    """
    proposal = analysis.checked(
        {
            "levels": levels or {},
            "seeds": seeds,
            "knobs": knobs or [],
            "devices": devices,
            "price_per_hour": price_per_hour,
            "currency": currency,
            "replicates": list(runs.replicates),
        }
    )
    table = analysis.plan(runs.frame, runs.described, proposal, runs.timing if knobs else None, runs.excluded)
    said = [_whole(table, currency), *_with_knobs(table), *failed(runs.frame, runs.excluded, table)]
    said += [*never_run(table), *trust(runs, table)]
    return shown("plan", runs, name, table, said, _table(table, currency, len(runs)), proposal)


def shown(kind, runs, name, table, said, block, proposal, **more):
    """Return an answer about runs to come: its frame, sentences, a table or None, and what was asked."""
    return Plan.showing(
        kind,
        table,
        Headline(said[:1]),
        Items(said[1:]),
        block,
        prefix=name,
        of=runs.label,
        proposal=proposal,
        lines=(*(sentence.plain() for sentence in said), *_configurations(table)),
        more=more,
    )


def _whole(table, currency):
    whole = table.iloc[-1]
    return say(
        "{n} {n:run|runs} in {k} {k:configuration|configurations} {n:takes|take} {hours} ({low} to {high}): "
        "{spent}.",
        n=Number.count("plan.n_runs", whole["n_runs"]),
        k=Number.count("plan.n_configurations", len(table) - 1),
        spent=spent("plan", whole, currency),
        **interval("plan", whole),
    )


def interval(base, row, names=("hours", "low", "high")):
    """Return hours and their interval as numbers by name, all in the unit of the former."""
    hours = [row[name] for name in names]
    texts = time_interval(*(3600 * value for value in hours))
    numbers = Number.several([f"{base}.{name}" for name in names], hours, texts)
    return dict(zip(names, numbers, strict=True))


def spent(base, row, currency):
    """Say the device time, and what it costs where a price is given."""
    hours = 3600 * row["device_hours"]
    text = time_interval(hours, hours, hours)[0]  # in the unit of the hours beside it
    is_priced = "money" in row
    return say(
        "{d} of device time[ for {m}]",
        d=Number(f"{base}.device_hours", float(row["device_hours"]), text),
        m=Number.of(f"{base}.money", row["money"], lambda m: money(m, currency)) if is_priced else None,
    )


def _with_knobs(table):
    if "hours_at_least" in table:
        yield say(
            "With the knobs turned they take at least {least}, if each saves the most that it can.",
            least=Number.hours("plan.hours_at_least", table["hours_at_least"].iloc[-1]),
        )


def failed(runs, excluded, table):
    """What failed runs would add, if they took the share of all hours that they took so far."""
    lost = analysis.failed_share(runs, excluded)
    if lost:
        yield say(
            "Failed runs took {share} of all hours so far: the same share would add {hours}.",
            share=Number.share("plan.failed_share", lost),
            hours=Number.hours("plan.failed_hours", table["hours"].iloc[-1] * lost / (1 - lost)),
        )


def never_run(table):
    """Name the planned combinations that were never run."""
    cells = table.iloc[:-1]
    unseen = cells[cells["n_before"] == 0]
    if len(unseen):
        listed = names([_label(row, table) for row in unseen.head(N_NAMED).to_dict("records")])
        yield say(
            "{n} of {of} combinations {n:was|were} never run, and {n:is|are} predicted from what each "
            "setting does by itself: {l}.",
            n=Number.count("plan.n_never_run", len(unseen)),
            of=Number.count("plan.n_configurations", len(cells)),
            l=with_more(listed, len(unseen), "plan.n_more_never_run"),
        )


def trust(runs, table):
    """What speaks for and against the model: an interaction, and predictions of each from the others."""
    unseen = (table["n_before"].iloc[:-1] == 0).any()
    repeated = analysis.repeats(runs.frame, runs.described)
    if (unseen or not repeated) and analysis.interacts(runs.frame, runs.described):
        what = "a combination never run" if repeated else "any combination"
        yield say(
            "The settings act together in these runs: {what} may be off by more than its interval.",
            what=what,
        )
    if unseen and analysis.hides_interactions(runs.frame, runs.described):
        yield say(
            "Whether settings act together cannot be told from these runs: if they do, a combination never "
            "run may be off by more than its interval."
        )
    yield from _places(runs)
    tested = analysis.left_out(runs.frame, runs.described)
    if len(tested):
        yield say(
            "Predicted from the others, {n} of {of} configurations run before lie within their {level} "
            "interval.",
            n=Number.count("predicted.n_inside", tested["inside"].sum()),
            of=Number.count("predicted.n", len(tested)),
            level=Number.of("predicted.coverage", analysis.COVERAGE, percent),
        )


def _places(runs):
    """That runtime goes with the machine, which no plan knows."""
    is_place = {field.name for field in runs.described if field.kind == "place" or field.placed}
    if not is_place:
        return
    table = runs.effects
    sized = table[table["verdict"].isin(SIZED)]
    found = [row.factor for row in sized.itertuples() if is_place & {*row.names}]
    if found:
        yield say(
            "Runtime goes with {f}: the plan is for machines as these runs had, in the shares in which they "
            "had them.",
            f=names(found[:N_NAMED]),
        )


def _configurations(table):
    """Yield a line of text for each configuration of a plan."""
    cells = table.iloc[:-1]
    for row in cells.head(MAX_LINES).to_dict("records"):
        label = _label(row, table)
        middle, ends = _texts(row)
        never = "" if row["n_before"] else ", never run"
        yield plain(f"  {label}: {middle} ({ends}){never}")
    if len(cells) > MAX_LINES:
        yield f"  and {count(len(cells) - MAX_LINES)} more configurations"


def _texts(row):
    middle, low, high = time_interval(*(3600 * row[end] for end in ("hours", "low", "high")))
    return middle, f"{low} to {high}"


def printed_hours(frame):
    """Add the hours of each row and their interval as they are printed."""
    texts = [_texts(row) for row in frame.to_dict("records")]
    return frame.assign(time=[middle for middle, _ in texts], interval=[ends for _, ends in texts])


def device_time(hours):
    """Print hours in the unit in which they read best."""
    return time_text(3600 * hours)


def _label(row, table):
    levels = (f"{name.removeprefix('level.')}={row[name]}" for name in _factors_of(table))
    return ", ".join(levels) or "all runs"


def _factors_of(table):
    """Return the columns that hold the levels of a plan's configurations."""
    return [name for name in table if name.startswith("level.")]


def _table(frame, currency, n_runs):
    return Table(
        "plan",
        say("What each configuration would take, and the whole."),
        (
            *level_headings(frame),
            Heading(
                "n_before",
                "run before",
                count,
                "completed runs; 0: never run, and predicted from its settings",
            ),
            Heading("n_runs", "runs", count),
            Heading("time", "time", as_printed),
            Heading("interval", "interval", as_printed, f"{percent(analysis.COVERAGE)} prediction interval"),
            "hours_at_least" in frame
            and Heading(
                "hours_at_least",
                "at least",
                device_time,
                "with the knobs turned, if each saves all that it can",
            ),
            Heading("device_hours", "device time", device_time),
            "money" in frame and Heading("money", currency, money),
            frame["failed_hours"].iloc[-1] > 0
            and Heading("failed_hours", "failed", device_time, "what failed runs would add"),
        ),
        printed_hours(frame),
        n_runs,
        "completed runs that it is predicted from",
    )


def level_headings(frame):
    """Return the headings of the levels of a plan's configurations."""
    return [Heading(name, name.removeprefix("level.")) for name in _factors_of(frame)]


# -- as JSON -------------------------------------------------------------------------------


def as_json(planned):
    """Return what `plan` or `remaining` returned as JSON text; what is not known is null."""
    table, is_left = planned.frame, "remaining" in planned.more
    content = {"format": REMAINING if is_left else FORMAT, "coverage": analysis.COVERAGE}
    content["proposal"] = planned.proposal
    for name, value in planned.more.get("remaining", {}).items():
        content[name] = None if value != value else value
    content["combinations" if is_left else "configurations"] = table.iloc[:-1].to_dict("records")
    content["total"] = table.drop(columns=_factors_of(table)).iloc[-1].to_dict()
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1, default=_as_builtin) + "\n"


def _as_builtin(value):
    """Return what JSON has no type for as what it has."""
    return value.item() if hasattr(value, "item") else str(value)
