"""What the runs cost: the cost columns by level, hours, money and energy."""

import numpy as np
import pandas as pd

from traincost.analysis import costs as analysis
from traincost.analysis.levels import level_runtimes
from traincost.columns import column
from traincost.printing import MISSING, SPACE, count, energy, money, plus_minus, share_text, significant
from traincost.results import arguments, fluid
from traincost.results.checks import check
from traincost.results.prose import N_NAMED, Name, Number, Phrase, names, say
from traincost.results.result import More, Result
from traincost.results.runs import listed
from traincost.results.tables import (
    MAX_COLUMNS,
    Bar,
    Heading,
    Origin,
    Table,
    as_printed,
    of_settings,
    part_of,
)
from traincost.results.utilisation import beside_costs
from traincost.words import unique


@arguments.checked
def costs(runs, by=None, *, devices=1, price_per_hour=None, currency="USD", power_w=None, name=""):
    """Say what the runs cost: the cost columns by level, hours, money and energy.

    Parameters
    ----------
    runs : Runs
    by : str or list of str, optional
        Settings that make the rows of the cost table; the runs' own tasks, or `runs.rows`, if left out.
    devices : int
        Devices that each run reserves.
    price_per_hour, power_w : float, optional
        Of one device, in `currency` and watts.
    currency : str
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per level and cost column, as `analysis.costs.cost_table` returns it.

    Raises
    ------
    ParameterError
        `by` names no setting, or a number is not above zero.
    """
    check(devices=devices, price_per_hour=price_per_hour, power_w=power_w)
    collection, axis = runs.collection, runs.axes[0]
    by = rows_by(runs, by)
    table = analysis.cost_table(collection, by=by)
    missing = analysis.unfinished(collection, axis.name)
    spent = analysis.spent(collection, axis.name, devices, price_per_hour, power_w)
    order, n_superseded = analysis.process_order(runs.frame), analysis.n_superseded(collection, by)
    by_level = _spent_table(spent, axis.name, currency, analysis.spent_members(collection, axis.name), runs)
    return Result.showing(
        "costs",
        table,
        [
            *_money(spent, devices, price_per_hour, currency, power_w),
            *_copies(runs.excluded),
            *_many_unfinished(missing, axis.name),
        ],
        by_level if len(spent) > 1 else More(say("Time spent, in numbers"), (by_level,)),
        *beside_costs(runs),
        More(
            say("Cost columns: memory, inference, parameters"),
            (
                _said(table, order, n_superseded),
                cost_table(table, analysis.cost_members(collection, by), runs),
            ),
        )
        if len(table)
        else None,
        More(
            say("Runs that did not complete, by {f}", f=Name(axis.name)),
            (_unfinished_table(missing, axis.name),),
        ),
        prefix=name,
        of=runs.label,
    )


def rows_by(runs, by):
    """Return the settings that make the rows of a table: those asked for, or the runs' own."""
    by = listed("cost_by", by)
    return list(by) or analysis.default_rows(runs.collection, runs.axes[0])


def _said(table, order, n_superseded):
    """What the cost columns do and do not say; arguments as the functions of `analysis.costs` return them."""
    if "cost_memory_mib" in set(table["column"]):
        yield say(
            "Memory is the peak of one worker process, never divided by workers or models: most of it is "
            "there before the first model is built."
        )
    if n_superseded:
        yield say(
            "Of several reports of one task in one configuration, the table has the latest: {n} {n:run|runs} "
            "of earlier ones {n:is|are} not in it.",
            n=Number.count("cost.n_superseded", n_superseded),
        )
    if order["n_processes"]:
        yield say(
            "In {n} {n:report|reports} one process trained several seeds, which are not exchangeable: the "
            "first carries the warm-up (it is the slowest in {first}), and later ones inherit the memory "
            "peak (it never falls in {rises}), so memory is given without deviation there.",
            n=Number.count("process.n", order["n_processes"]),
            first=Number.count("process.n_first_slowest", order["n_first_slowest"]),
            rises=Number.count("process.n_memory_rises", order["n_memory_rises"]),
        )


def _many_unfinished(table, by):
    """A warning for levels of which many runs were not completed."""
    flagged = table[table["flagged"].astype(bool)]
    if len(flagged):
        yield say(
            "{n} of {of} runs of {by} {levels} did not complete: where these are the long ones, the means of "
            "the others are too low.",
            by=Name(by),
            levels=names(flagged["level"].head(N_NAMED)),
            n=Number.count("unfinished.n", flagged["n_unfinished"].sum()),
            of=Number.count("unfinished.of", (flagged["n_unfinished"] + flagged["n_completed"]).sum()),
        )


def _money(table, devices, price_per_hour, currency, power_w):
    """Device time, money and energy in total, as the parameter times the hours, and what was left out."""
    total = table.iloc[-1]
    parts = []
    if "money" in table:
        price = Number("spent.price_per_hour", price_per_hour, money(price_per_hour, currency))
        paid = Number("spent.money", total["money"], money(total["money"], currency))
        parts.append(say("{m} at {price} an hour", m=paid, price=price))
    if "energy_kwh" in table:
        power = Number("spent.power_w", power_w, f"{significant(power_w)}{SPACE}W")
        used = Number.of("spent.energy_kwh", total["energy_kwh"], energy)
        parts.append(say("{e} at {p}", e=used, p=power))
    yield say(
        "{n:|The }{n} {n:run|runs} took {h} of device time at {d} {d:device|devices} a run[: {spent}]; "
        "{left}.",
        n=Number.count("spent.n_runs", total["n_runs"] + total["n_timed"]),
        h=Number.hours("spent.device_hours", total["device_hours"]),
        d=Number.count("spent.devices", devices),
        spent=parts,
        left=_left_out(total, devices),
    )


def _copies(excluded):
    if n := int((excluded["status"] == analysis.COPY).sum()):
        yield say(
            "{n} {n:copy|copies} of runs {n:is|are} not counted: what a copy took is what its run took.",
            n=Number.count("excluded.n_copies", n),
        )


def _left_out(total, devices):
    if not total["n_excluded"]:
        return "no other run took any"
    n_untimed = total["n_excluded"] - total["n_timed"]
    untimed = Number.count("excluded.n_untimed", n_untimed) if n_untimed else None
    if not total["n_timed"]:
        return say("{n} more, left out of every statistic, took an unknown time", n=untimed)
    return say(
        "{t} of it went into {n} {n:run|runs} that no statistic includes[; {more} more took an unknown time]",
        n=Number.count("excluded.n_timed" if n_untimed else "excluded.n", total["n_timed"]),
        t=Number.hours("spent.excluded_device_hours", total["excluded_s"] / 3600 * devices),
        more=untimed,
    )


def cost_table(frame, members, runs, name="cost"):
    """What `analysis.costs.cost_table` returns: a row per level, mean ± deviation per column.

    `members`, of `analysis.costs.cost_members`, are the runs of each row; `name` is that of the split.
    What is the same in every row stands in the note.
    """
    keys = list(frame.columns[: list(frame.columns).index("column")])
    names = list(dict.fromkeys(frame["column"]))
    columns = unique(names, taken=[*keys, "n_runs"])  # a score may be called like a setting
    rows = _slowest_first(dict.fromkeys(frame[keys].itertuples(index=False, name=None)), keys, runs)
    printed = {
        (*row[: len(keys)], row.column): mean_and_deviation(row)
        for row in frame[[*keys, *_SUMMARY]].itertuples(index=False)
    }
    n_runs = {}
    for row in frame[[*keys, "n_runs"]].itertuples(index=False, name=None):
        n_runs[row[:-1]] = max(row[-1], n_runs.get(row[:-1], 0))
    wide = pd.DataFrame(
        [(*row, n_runs[row], *(printed.get((*row, name), MISSING) for name in names)) for row in rows],
        columns=[*keys, "n_runs", *columns],
    )
    called = {at: column(n).called.removeprefix("cost_") for at, n in zip(columns, names, strict=True)}
    same = [at for at in columns if len(wide) > 1 and wide[at].nunique() == 1 and "±" not in wide[at].iloc[0]]
    shown = [(at, n) for at, n in zip(columns, names, strict=True) if at not in same and n not in _ELSEWHERE]
    return Table(
        name,
        say("{what} of the runs of each row", what={"cost": "Cost", "scores": "Scores"}[name]),
        (
            *(Heading(key, key) for key in keys if key != "path"),
            Heading("n_runs", "runs", count, hide_on_phone=True),
            *(Heading(at, called[at], as_printed, column(n).meaning) for at, n in shown[:MAX_COLUMNS]),
        ),
        wide,
        sum(n_runs.values()),
        origins=of_settings(keys, rows, members),
        holds=(name, "process") if name == "cost" else (name,),
        note=_how(name, len(shown), [(called[at], wide[at].iloc[0]) for at in same]),
    )


def _slowest_first(rows, keys, runs):
    """Return the rows in the order of the levels that a page compares, where these make them."""
    axis = runs.axes[0]
    if list(keys) != [axis.name]:
        return list(rows)
    order = {level: i for i, level in enumerate(level_runtimes(runs.runtime_s, axis)["level"])}
    return sorted(rows, key=lambda row: order.get(row[0], len(order)))


_ELSEWHERE = ("cost_runtime_s",)  # which stands beside every level's name elsewhere


def _how(name, n, same):
    """What a cell is, what is the same in every row, and how many columns are not shown."""
    return say(
        "Mean ± sample deviation of two or more runs that can be compared.[ Same in every row: {same}.][ "
        "Columns beyond the first {n} of {all} are not shown.]",
        same=[say("{a} {b}", a=Phrase(a), b=Name(b)) for a, b in same],
        n=Number.count(f"{name}.n_shown", MAX_COLUMNS),
        all=Number.count(f"{name}.n_columns", n) if n > MAX_COLUMNS else None,
    )


_SUMMARY = ["column", "mean", "std", "shared_process"]


def mean_and_deviation(row):
    """Print mean ± deviation with the mean's decimals; – for the deviation of a single run.

    Seeds of one process inherit each other's memory peak, so theirs has no deviation.
    """
    if np.isnan(row.mean):
        return MISSING
    what = column(row.column)
    is_inherited = row.column == "cost_memory_mib" and row.shared_process
    if is_inherited or (row.std == 0 and what.unit == "count"):
        return what.text(row.mean)
    return plus_minus(row.mean, row.std, time=what.unit == "s")


def _spent_table(frame, name, currency, members, runs):
    """What `analysis.costs.spent` returns, slowest levels first; their runs are its `spent_members`."""
    total = frame.iloc[-1]
    levels = frame.iloc[:-1].copy()
    levels["mean_s"] = levels["runtime_s"] / levels["n_runs"].where(levels["n_runs"] > 0)
    levels = levels.sort_values("mean_s", ascending=False, kind="stable", na_position="last")
    whole = total["runtime_s"] + np.nan_to_num(total["excluded_s"])
    shown = pd.concat([levels, frame.tail(1)], ignore_index=True)
    spent_s = shown["runtime_s"] + shown["excluded_s"].fillna(0.0)
    short = runs.short(name)
    shown = shown.assign(
        label=[short.get(level, level) for level in shown["level"]],
        spent_s=spent_s,
        share=spent_s / whole if whole > 0 else np.nan,
        row=[""] * len(levels) + ["total"] * bool(len(levels)) or [""],
        colour=[fluid.colour("evaluation")] * len(levels) + [""],
    )
    n_all = int(total[["n_runs", "n_excluded"]].sum())
    alike = levels["n_runs"].nunique() == 1
    return Table(
        "spent",
        say("Time spent by {f}", f=Name(name)),
        (
            Heading("label", name),
            Heading("share", "share", share_text, bar=Bar(colour="colour")),
            Heading("spent_s", "time", part_of(whole)),
            None if alike else Heading("n_runs", "runs", count, hide_on_phone=True),
            total["n_excluded"]
            and Heading("n_excluded", "left out", count, _counted(total), hide_on_phone=True),
            "money" in frame and Heading("money", currency, money, hide_on_phone=True),
        ),
        shown.drop(columns="mean_s"),
        n_all,
        "all runs",
        origins=(
            *of_settings([name], zip(levels["level"], strict=True), members, "all runs"),
            Origin(n_all, "all runs"),
        ),
        note=say("{n} {n:run|runs} each.", n=Number.count("spent.n_each", levels["n_runs"].iloc[0]))
        if alike
        else None,
        rows="row",
    )


def _counted(total):
    if total["n_timed"] == total["n_excluded"]:
        return "their time is counted here"
    return "their time is counted here where it is known" if total["n_timed"] else "their time is not known"


def _unfinished_table(frame, name):
    n_runs = frame["n_completed"] + frame["n_unfinished"]
    return Table(
        "unfinished",
        say("Runs of each level that were not completed; its means are of the others."),
        (
            Heading("level", name),
            Heading("n_completed", "completed", count),
            Heading("n_unfinished", "not completed", count),
            Heading("share", "share not completed", share_text),
        ),
        frame,
        int(n_runs.sum()),
        "completed and unfinished runs",
        origins=tuple(
            Origin(int(n), f"completed and unfinished runs where {name} = {level}")
            for level, n in zip(frame["level"], n_runs, strict=True)
        ),
    )
