"""The widgets that choose what an `exploring.Explorer` shows.

One picker per setting that varies, a range of runtime, the status, the two settings to compare
and, per cadence knob, how often it remains. What comes from runs is text to every widget.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from traincost.analysis import fields, subsets
from traincost.columns import time_unit
from traincost.pages import sortable
from traincost.results import lab_style
from traincost.results.figures import clipped
from traincost.results.report import Shown

MAX_PICKERS = 12  # of settings; others are chosen through `where`
MAX_STOPS = 200  # levels in a list, or places on a range
BY_EFFECT = "(by effect)"
HINT = "Where nothing is selected in a list, all of it counts; Ctrl or ⌘ selects several."
HOW_TO_GET = (
    "<p>Widgets and sortable tables need two more packages: <code>pip install ipywidgets itables</code>. "
    "Without them, set the parameters above and run all cells.</p>"
)


@dataclass(frozen=True, eq=False)
class Picker:
    """A widget, and what its value means.

    Attributes
    ----------
    widget : ipywidgets.Widget
    read : callable
        Returns what is chosen, as changes of the settings, or of one of them.
    within : str
        That one: ``where`` or ``kept``; empty for the settings themselves.
    """

    widget: object
    read: Callable
    within: str = ""


def controls(explorer):
    """Display the widgets, or a line that says how to get them.

    A change of any of them draws all displayed views of the `explorer` anew.
    """
    if sortable.can_sort():
        sortable.load()
    if importlib.util.find_spec("ipywidgets") is None:
        return lab_style.display_styled(Shown(HOW_TO_GET))
    import ipywidgets

    made = pickers(explorer.collection, explorer.settings, explorer.knobs)
    for picker in made:
        picker.widget.observe(lambda _: explorer.choose(**changes(explorer.settings, made)), "value")
    row = ipywidgets.HBox([p.widget for p in made], layout=ipywidgets.Layout(flex_flow="row wrap"))
    return lab_style.display_styled(ipywidgets.VBox([ipywidgets.Label(HINT), row]))


def changes(settings, pickers):
    """Return what the pickers choose, as changes of the settings.

    What no picker shows stays as it is. A condition without levels is none.
    """
    changed = {"where": {**settings.where}, "kept": {**settings.kept}}
    for picker in pickers:
        changed.get(picker.within, changed).update(picker.read())
    return changed


def pickers(collection, settings, knobs):
    """Make the pickers for a collection, set to what the settings say.

    Returns
    -------
    list of Picker
    """
    described = [
        field for field in fields.describe(collection.runs, settings.replicates) if field.kind != "shared"
    ]
    made = [_setting(collection, field, settings) for field in _pickable(described)]
    made += [_runtime(collection, settings), _status(collection, settings)]
    made += [_axis(parameter, described, settings) for parameter in ("rows", "columns")]
    made += [_kept(knob, settings) for knob in knobs if knob.kind == "cadence"]
    return [picker for picker in made if picker is not None]


def _pickable(described):
    kinds = ("levels", "numeric", "replicate")
    return [field for field in described if field.kind in kinds][:MAX_PICKERS]


def _setting(collection, field, settings):
    """A list of levels, or a range of a setting with many numbers; None for too long a list."""
    given = settings.where.get(field.name) or {}
    many = field.kind == "numeric" or field.n_levels > MAX_STOPS
    if field.values is not None and isinstance(given, dict) and (given or many):
        values = field.values[np.isfinite(field.values)]
        stops = [(f"{value:.6g}", float(value)) for value in _stops(values)]
        return _range(field.name, stops, given.get("min"), given.get("max"), field.name, "where")
    levels = subsets.levels(collection, field.name)
    if len(levels) > MAX_STOPS:
        return None
    return _list(field.name, levels, [subsets.label(value) for value in given], field.name, "where")


def _runtime(collection, settings):
    values = collection.runs["runtime_s"].to_numpy(dtype=float)
    unit = time_unit(np.median(values))
    stops = [(unit.text(value), float(value)) for value in _stops(values)]
    return _range("runtime", stops, settings.shortest_s, settings.longest_s)


def _stops(values):
    """Return the distinct values, or as many of their quantiles as a range has places for."""
    distinct = np.unique(values)
    if len(distinct) <= MAX_STOPS:
        return distinct
    return np.quantile(distinct, np.linspace(0, 1, MAX_STOPS), method="nearest")


def _status(collection, settings):
    found = {*subsets.statuses_of(collection.runs), *subsets.statuses_of(collection.excluded)}
    if len(found) < 2:
        return None
    picker = _list("status", sorted(found), settings.statuses or [], "statuses")
    return Picker(picker.widget, lambda: {"statuses": list(picker.widget.value) or None})


def _list(name, levels, selected, key, within=""):
    import ipywidgets

    widget = ipywidgets.SelectMultiple(
        options=[(clipped(level), level) for level in levels],
        value=[level for level in levels if level in selected],
        rows=min(6, len(levels)),
        description=clipped(name),
        style={"description_width": "auto"},
    )
    return Picker(widget, lambda: {key: list(widget.value)}, within)


def _range(name, stops, low, high, key=None, within=""):
    """A range over `stops`, (label, value) pairs; None where there is only one."""
    import ipywidgets

    if len(stops) < 2:
        return None
    values = [value for _, value in stops]
    inside = [v for v in values if (low is None or v >= low) and (high is None or v <= high)] or values
    widget = ipywidgets.SelectionRangeSlider(
        options=stops,
        index=(values.index(inside[0]), values.index(inside[-1])),
        description=clipped(name),
        continuous_update=False,
        style={"description_width": "auto"},
        layout=ipywidgets.Layout(width="28em"),
    )

    def read():
        first, last = widget.index
        least = values[first] if first else None
        most = values[last] if last < len(values) - 1 else None
        if key is None:
            return {"shortest_s": least, "longest_s": most}
        ends = {"min": least, "max": most}
        return {key: {end: value for end, value in ends.items() if value is not None}}

    return Picker(widget, read, within)


def _axis(parameter, described, settings):
    import ipywidgets

    widget = ipywidgets.Dropdown(
        options=[(BY_EFFECT, ""), *((clipped(field.name), field.name) for field in described)],
        value=getattr(settings, parameter),
        description=parameter,
        style={"description_width": "auto"},
    )
    return Picker(widget, lambda: {parameter: widget.value})


def _kept(knob, settings):
    import ipywidgets

    widget = ipywidgets.BoundedFloatText(
        value=settings.kept.get(knob.name, knob.kept),
        min=0,
        max=1e9,
        step=1,
        description=f"{clipped(knob.name)}, kept",
        continuous_update=False,
        style={"description_width": "auto"},
        layout=ipywidgets.Layout(width="28em"),
    )
    return Picker(widget, lambda: {knob.name: widget.value}, "kept")
