"""What a planned sweep would take, predicted from runs: sentences, a table, and JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from traincost.analysis import plan as analysis
from traincost.columns import count, percent, significant, time_unit
from traincost.results.numbers import N_NAMED, names, number_of
from traincost.results.prose import Number, say
from traincost.results.result import Headline, Items, Result
from traincost.results.tables import Heading, Table

FORMAT = "traincost/plan/1"
MAX_LINES = 60  # configurations that are printed as text; the table has all


@dataclass(frozen=True, eq=False)
class Plan(Result):
    """A plan, which lists its configurations where it is printed as text.

    Attributes
    ----------
    proposal : mapping
        As `analysis.plan.checked` returns it.
    lines : tuple of str
        The plan as text.
    """

    proposal: Mapping = field(default_factory=dict)
    lines: tuple = ()

    def __str__(self):
        return "\n".join(self.lines)


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
    18 runs in 6 configurations: 500.51 s (478.40 to 523.98), 0.139 device-hours...
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
    unit = time_unit(3600 * table["hours"].iloc[:-1].median() / seeds)
    said = [_whole(table, currency, unit), *_with_knobs(table, unit), *failed(runs, table, unit)]
    said += [*never_run(table), *trust(runs, table)]
    return Plan.showing(
        "plan",
        table,
        Headline((said[0],)),
        Items(tuple(said[1:])),
        _table(table, currency, unit, len(runs)),
        prefix=name,
        of=runs.label,
        proposal=proposal,
        lines=(*(sentence.plain() for sentence in said), *configurations(table, unit)),
    )


def _whole(table, currency, unit):
    whole = table.iloc[-1]
    money = ""
    if "money" in table:
        amount = Number("plan.money", float(whole["money"]), significant(whole["money"], 3))
        money = say(", {amount} {currency}", amount=amount, currency=currency)
    device_hours = float(whole["device_hours"])
    return say(
        "{n} runs in {k} configurations: {hours} {unit} ({low} to {high}), {d} device-hours{money}",
        n=number_of("plan.n_runs", whole["n_runs"]),
        k=number_of("plan.n_configurations", len(table) - 1),
        unit=unit.symbol,
        d=Number("plan.device_hours", device_hours, significant(device_hours, 3)),
        money=money,
        **{end: _hours(whole, end, unit) for end in ("hours", "low", "high")},
    )


def _hours(row, name, unit):
    return Number(f"plan.{name}", float(row[name]), unit.number(3600 * row[name]))


def _with_knobs(table, unit):
    if "hours_at_least" not in table:
        return []
    least = _hours(table.iloc[-1], "hours_at_least", unit)
    return [
        say(
            "with the knobs turned at least {least} {unit}, if each saves the most that it can",
            least=least,
            unit=unit.symbol,
        )
    ]


def failed(runs, table, unit):
    """What failed runs would add, if they took the share of all hours that they took so far."""
    share = analysis.failed_share(runs.frame, runs.excluded)
    if not share:
        return []
    hours = table["hours"].iloc[-1] * share / (1 - share)
    return [
        say(
            "failed runs took {share} of all hours so far; the same share would add {hours} {unit}",
            share=Number("plan.failed_share", share, percent(share, 1)),
            hours=Number("plan.failed_hours", float(hours), unit.number(3600 * hours)),
            unit=unit.symbol,
        )
    ]


def never_run(table):
    """Name the planned combinations that were never run."""
    cells = table.iloc[:-1]
    unseen = cells[cells["n_before"] == 0]
    if not len(unseen):
        return []
    listed = names([_label(row, table) for row in unseen.head(N_NAMED).to_dict("records")])
    if len(unseen) > N_NAMED:
        listed.append(say("{n} more", n=number_of("plan.n_more_never_run", len(unseen) - N_NAMED)))
    return [
        say(
            "never run so far, and predicted from what each setting does by itself: {n} of {of} "
            "combinations ({l})",
            n=number_of("plan.n_never_run", len(unseen)),
            of=number_of("plan.n_configurations", len(cells)),
            l=listed,
        )
    ]


def trust(runs, table):
    """What speaks for and against the model: an interaction, and predictions of each from the others."""
    said = []
    unseen = (table["n_before"].iloc[:-1] == 0).any()
    repeated = analysis.repeats(runs.frame, runs.described)
    if (unseen or not repeated) and analysis.interacts(runs.frame, runs.described):
        what = "a combination never run" if repeated else "any combination"
        said.append(
            say("the factors interact in these runs: {what} may be off by more than the interval", what=what)
        )
    if unseen and analysis.hides_interactions(runs.frame, runs.described):
        said.append(
            say(
                "whether settings act together cannot be told from these runs: if they do, a combination "
                "never run may be off by more than the interval"
            )
        )
    tested = analysis.left_out(runs.frame, runs.described)
    if len(tested):
        said.append(
            say(
                "predicted from the others, {n} of {of} configurations run before lie within their {level} "
                "interval",
                n=number_of("predicted.n_inside", tested["inside"].sum()),
                of=number_of("predicted.n", len(tested)),
                level=Number("predicted.coverage", analysis.COVERAGE, percent(analysis.COVERAGE, 0)),
            )
        )
    return said


def configurations(table, unit):
    """Yield a line of text for each configuration of a plan."""
    cells = table.iloc[:-1]
    for row in cells.head(MAX_LINES).to_dict("records"):
        label = _label(row, table)
        middle, low, high = (unit.number(3600 * row[end]) for end in ("hours", "low", "high"))
        never = "" if row["n_before"] else ", never run"
        yield f"  {label}: {middle} {unit.symbol} ({low} to {high}){never}"
    if len(cells) > MAX_LINES:
        yield f"  and {count(len(cells) - MAX_LINES)} more configurations"


def _label(row, table):
    levels = (f"{name.removeprefix('level.')}={row[name]}" for name in factors_of(table))
    return ", ".join(levels) or "all runs"


def factors_of(table):
    """Return the columns that hold the levels of a plan's configurations."""
    return [name for name in table if name.startswith("level.")]


def _table(frame, currency, unit, n_runs):
    def hours(value):
        return unit.number(3600 * value)

    failed = frame["failed_hours"].iloc[-1] > 0
    least = Heading(
        "hours_at_least", "at least", hours, "with the knobs turned, if each saves all that it can"
    )
    return Table(
        "plan",
        say("What each configuration would take, and the whole."),
        (
            *(Heading(name, name.removeprefix("level.")) for name in factors_of(frame)),
            Heading(
                "n_before",
                "run before",
                count,
                "completed runs; 0: never run, and predicted from its settings",
            ),
            Heading("n_runs", "runs", count),
            Heading("hours", f"time ({unit.symbol})", hours),
            Heading("low", "from", hours, f"{percent(analysis.COVERAGE, 0)} prediction interval"),
            Heading("high", "to", hours),
            *([least] if "hours_at_least" in frame else []),
            Heading("device_hours", "device-hours", significant),
            *([Heading("money", currency, significant)] if "money" in frame else []),
            *([Heading("failed_hours", "failed", hours, "what failed runs would add")] if failed else []),
        ),
        frame,
        n_runs,
        "completed runs that it is predicted from",
    )


def as_json(planned):
    """Return a `Plan` as JSON text."""
    table = planned.frame
    content = {"format": FORMAT, "coverage": analysis.COVERAGE, "proposal": planned.proposal}
    content["configurations"] = table.iloc[:-1].to_dict("records")
    content["total"] = table.drop(columns=factors_of(table)).iloc[-1].to_dict()
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1, default=plain) + "\n"


def plain(value):
    """Return what JSON has no type for as what it has."""
    return value.item() if hasattr(value, "item") else str(value)
