"""What is left of a sweep that is under way: the runs, their hours, and when the last of them ends."""

import pandas as pd

from traincost.analysis import plan as analysis
from traincost.analysis import remaining as left
from traincost.printing import count, money, percent
from traincost.results import arguments
from traincost.results.plan import (
    device_time,
    failed,
    interval,
    level_headings,
    never_run,
    printed_hours,
    shown,
    spent,
    trust,
)
from traincost.results.prose import Number, When, say
from traincost.results.tables import Heading, Table, as_printed

_WALL = ("wall_middle", "wall_low", "wall_high")


@arguments.checked
def remaining(
    runs,
    levels=None,
    *,
    seeds=None,
    devices=1,
    price_per_hour=None,
    currency="USD",
    at_once=None,
    at_work=True,
    name="",
):
    """Say what is left of the grid that some runs are part of.

    Parameters
    ----------
    runs : Runs
        Those so far, with those at work among the excluded; their `replicates` repeat a configuration.
    levels : mapping of str to list, optional
        Factor to the levels that are planned; of a factor left out, all that were run.
    seeds : int, optional
        Runs of each configuration; as many as the one with most has, if left out.
    devices : int
        That a run holds.
    price_per_hour : float, optional
        Of a device.
    currency : str
    at_once : int, optional
        Runs at one time; as observed from starts and runtimes, if left out.
    at_work : bool
        Whether runs without an end are at work still; if not, they were killed, and are to run again.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Plan
        ``frame`` has a row per combination with runs left and the whole last: ``level.<factor>``,
        ``n_before``, ``n_at_work``, ``n_to_run``, ``hours`` with ``low`` and ``high`` (90 % prediction
        interval), ``device_hours``, and ``money`` where a price is given.

    Raises
    ------
    ParameterError
        An argument cannot be used, or a level was never run.
    NothingToReport
        The runs are no grid, or too few to predict from.

    Examples
    --------
    >>> print(remaining(runs))
    Nothing remains: each of the 36 combinations of the grid was run.
    """
    asked = {
        "levels": levels or {},
        "devices": devices,
        "price_per_hour": price_per_hour,
        "currency": currency,
    }
    proposal = analysis.checked(
        {**asked, "seeds": 1 if seeds is None else seeds, "replicates": list(runs.replicates)}
    )
    proposal["seeds"] = seeds  # None: as many as were seen
    excluded = runs.excluded if at_work else left.ended(runs.excluded)
    found = left.remaining(runs.frame, runs.described, excluded, proposal, at_once)
    table = found.frame
    said = [_whole_left(found, currency)]
    if len(table) > 1:
        said += [
            _until(found),
            *failed(runs.frame, excluded, table),
            *never_run(table),
            *trust(runs, table),
        ]
    said += _unsure(found)
    block = _left_table(table, currency, len(runs)) if len(table) > 1 else None
    proposal["at_once"] = at_once
    return shown("remaining", runs, name, table, said, block, proposal, remaining=_numbers(found))


def _whole_left(found, currency):
    whole = found.frame.iloc[-1]
    n = Number.count("remaining.n_combinations", found.n_combinations)
    if len(found.frame) == 1:
        times = Number.count("remaining.n_seeds", found.n_seeds) if found.n_seeds > 1 else None
        said = "Nothing remains: each of the {n} combinations of the grid was run[ {times} times]."
        return say(said, n=n, times=times)
    return say(
        "{left} {left:run|runs} of {n} combinations {left:remains|remain}, {work} of them at work. "
        "{left:It takes|They take} {hours} ({low} to {high}): {spent}.",
        left=Number.count("remaining.n_runs", whole["n_to_run"] + whole["n_at_work"]),
        n=n,
        work=Number.count("remaining.n_at_work", whole["n_at_work"]),
        spent=spent("remaining", whole, currency),
        **interval("remaining", whole),
    )


def _until(found):
    """When the last run ends, if as many run at once as so far."""
    middle, low, high = found.wall_hours
    if middle != middle:
        return say("When the runs started is not recorded: set at_once to learn when the rest ends.")
    parts = interval("remaining", dict(zip(_WALL, found.wall_hours, strict=True)), _WALL)
    known = found.latest_s == found.latest_s
    ends = [When(_moment(found.latest_s + 3600 * hours)) if known else None for hours in (middle, low, high)]
    return say(
        "With {k} at once, the last ends after {wall_middle} ({wall_low} to {wall_high})[: on {end}][ "
        "({first} to {last})][, counted from {latest}, the last moment that a run recorded].",
        k=Number.count("remaining.at_once", found.at_once),
        end=ends[0],
        first=ends[1] if ends[1] != ends[2] else None,
        last=ends[2],
        latest=When(_moment(found.latest_s)) if known else None,
        **parts,
    )


def _moment(seconds):
    """Return a moment to the minute, in UTC; one beyond what a date can be is left open."""
    try:
        return f"{pd.Timestamp(seconds, unit='s'):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError):
        return "no date"


def _unsure(found):
    if found.n_overdue:
        yield say(
            "{n} {n:run is|runs are} at work longer than nearly all that was predicted, and {n:is|are} taken "
            "to end now.",
            n=Number.count("remaining.n_overdue", found.n_overdue),
        )
    if found.frame.iloc[-1]["n_at_work"]:
        yield say(
            "A run that recorded no end is taken to be at work: if none is, at_work set to false plans to "
            "run it again."
        )
    if found.n_unknown:
        yield say(
            "{n} {n:run is|runs are} at work or failed with a level that no completed run has: nothing is "
            "known of it, so it is left out.",
            n=Number.count("remaining.n_unknown", found.n_unknown),
        )


def _left_table(frame, currency, n_runs):
    return Table(
        "remaining",
        say("What is left of each combination, and of the whole."),
        (
            *level_headings(frame),
            Heading("n_before", "run before", count, "completed runs"),
            Heading("n_at_work", "at work", count),
            Heading("n_to_run", "to run", count),
            Heading("time", "time left", as_printed),
            Heading("interval", "interval", as_printed, f"{percent(analysis.COVERAGE)} prediction interval"),
            Heading("device_hours", "device time", device_time),
            "money" in frame and Heading("money", currency, money),
        ),
        printed_hours(frame),
        n_runs,
        "completed runs that it is predicted from",
        holds=("remaining", "plan"),
    )


def _numbers(found):
    middle, low, high = found.wall_hours
    known = found.latest_s == found.latest_s and middle == middle
    return {
        "n_combinations": found.n_combinations,
        "n_seeds": found.n_seeds,
        "at_once": found.at_once,
        "wall_hours": middle,
        "wall_hours_low": low,
        "wall_hours_high": high,
        "ends": {
            name: _moment(found.latest_s + 3600 * hours)
            for name, hours in (("middle", middle), ("low", low), ("high", high))
        }
        if known
        else None,
        "n_overdue": found.n_overdue,
        "n_unknown": found.n_unknown,
    }
