"""Print what a planned sweep would take (`analysis.plan`): readable lines, and JSON."""

import json

from traincost.analysis import fields, plan
from traincost.columns import count, percent, significant, time_unit

FORMAT = "traincost/plan/1"
MAX_LINES = 60  # configurations that are printed; the JSON has all


def lines(table, proposal, collection):
    """Return a plan (`analysis.plan.plan`) as lines: the whole first, then its configurations.

    `proposal` is what `analysis.plan.checked` returns, `collection` the runs it was predicted from.
    """
    whole, cells = table.iloc[-1], table.iloc[:-1]
    unit = time_unit(3600 * cells["hours"].median() / proposal["seeds"])
    said = [
        f"{count(whole['n_runs'])} runs in {count(len(cells))} configurations: {_hours(whole, unit)}, "
        f"{significant(whole['device_hours'], 3)} device-hours"
    ]
    if "money" in table:
        said[0] += f", {significant(whole['money'], 3)} {proposal['currency']}"
    if "hours_at_least" in table:
        least = unit.text(3600 * whole["hours_at_least"])
        said.append(f"with the knobs turned at least {least}, if each saves the most that it can")
    said += _how_reliable(collection.runs, fields.describe(collection.runs, proposal["replicates"]))
    names = [name for name in table if name.startswith("level.")]
    for row in cells.head(MAX_LINES).to_dict("records"):
        label = ", ".join(f"{name.removeprefix('level.')}={row[name]}" for name in names) or "all runs"
        said.append(f"  {label}: {_hours(row, unit)}")
    if len(cells) > MAX_LINES:
        said.append(f"  and {count(len(cells) - MAX_LINES)} more configurations")
    return said


def _how_reliable(runs, described):
    said = []
    if plan.interacts(runs, described):
        said.append(
            "the factors interact in these runs, which the prediction leaves out: it may be off by more"
        )
    tested = plan.left_out(runs, described)
    if len(tested):
        said.append(
            f"predicted from the others, {tested['inside'].sum()} of {len(tested)} configurations run before "
            f"lie within their {percent(plan.COVERAGE, 0)} interval"
        )
    return said


def _hours(row, unit):
    middle, low, high = (unit.number(3600 * row[name]) for name in ("hours", "low", "high"))
    return f"{middle} {unit.symbol} ({low} to {high})"


def as_json(table, proposal):
    """Return a plan as JSON text."""
    content = {"format": FORMAT, "coverage": plan.COVERAGE, "proposal": proposal}
    content["configurations"] = table.iloc[:-1].to_dict("records")
    content["total"] = table.drop(columns=[c for c in table if c.startswith("level.")]).iloc[-1].to_dict()
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1, default=_plain) + "\n"


def _plain(value):
    return value.item() if hasattr(value, "item") else str(value)
