"""The widgets of a choice (`choosing.Choice`): what they show, and what a change of one means.

One for each setting that varies, a range of runtime, the status, the two settings to compare and,
for each cadence knob, how often it remains. What comes from runs is text to every widget.
"""

import functools

import ipywidgets
import numpy as np

from traincost.analysis import subsets
from traincost.errors import ParameterError
from traincost.printing import time_text
from traincost.results.figures import clipped

MAX_LABEL = 32  # characters of a name beside or inside a widget, which has more room than an axis
MAX_SETTINGS = 12  # with a widget; others are chosen through `where`
MAX_STOPS = 200  # levels in a list, or places on a range
HINT = "Where nothing is selected in a list, all of it counts; Ctrl or ⌘ selects several."
LABEL = {"description_width": "auto"}
# The lab sets what stands between such signs in a label as a formula, links in it too.
_NO_FORMULA = str.maketrans("$\\", "＄＼")
WIDE = {"width": "28em"}


def controls(choice):
    """Return the widgets, in a box, each set to what is chosen now; a change of one changes the choice."""
    refusal = ipywidgets.Label()
    made = [pair for pair in pickers(choice) if pair is not None]
    for widget, changes in made:
        widget.observe(functools.partial(_follow, choice, widget, changes, refusal), "value")
    row = ipywidgets.HBox([widget for widget, _ in made], layout={"flex_flow": "row wrap"})
    return ipywidgets.VBox([ipywidgets.Label(HINT), row, refusal])


def _follow(choice, widget, changes, refusal, _):
    """Choose what a widget says, or say why not."""
    try:
        choice.choose(**changes(widget))
        refusal.value = ""
    except ParameterError as problem:
        refusal.value = str(problem).translate(_NO_FORMULA)


def _label(name):
    """Return a name as a label beside a widget, or in a list, has it."""
    return clipped(name, MAX_LABEL).translate(_NO_FORMULA)


def pickers(choice):
    """Yield each widget with a function of it that returns the changes it means; None for one without use."""
    varying = [field for field in choice.all_runs.described if field.kind != "shared"]
    settings = [field for field in varying if field.kind in ("levels", "numeric", "replicate")]
    for field in settings[:MAX_SETTINGS]:
        yield _setting(choice, field)
    yield _runtime(choice)
    yield _status(choice)
    for name in ("rows", "columns"):
        yield _axis(choice, name, varying)
    for knob in choice.knobs:
        if knob.kind == "cadence":
            yield _kept(choice, knob)


def _setting(choice, field):
    """A list of levels, or a range of a setting with many numbers; None for too long a list."""

    def where(kept):
        return {"where": {**choice.choices["where"], field.name: kept}}

    given = choice.choices["where"].get(field.name) or {}
    many = field.kind == "numeric" or field.n_levels > MAX_STOPS
    if field.values is not None and isinstance(given, dict) and (given or many):
        values = _stops(field.values[np.isfinite(field.values)])
        stops = [(f"{value:.6g}", float(value)) for value in values]
        slider = _range(field.name, stops, given.get("min"), given.get("max"))
        return slider and (
            slider,
            lambda w: where({k: v for k, v in zip(("min", "max"), _ends(w), strict=True) if v is not None}),
        )
    levels = subsets.levels(choice.all_runs.collection, field.name)
    if len(levels) > MAX_STOPS:
        return None
    given = given if isinstance(given, list | tuple) else [given]
    selected = [subsets.label(value) for value in given]
    return _list(field.name, levels, selected), lambda w: where(list(w.value))


def _runtime(choice):
    values = choice.all_runs.runtime_s.to_numpy(dtype=float)
    stops = [(time_text(value), float(value)) for value in _stops(values)]
    slider = _range("runtime", stops, choice.choices["shortest_s"], choice.choices["longest_s"])
    return slider and (slider, lambda w: dict(zip(("shortest_s", "longest_s"), _ends(w), strict=True)))


def _status(choice):
    runs = choice.all_runs
    found = {*subsets.statuses_of(runs.frame), *subsets.statuses_of(runs.excluded)}
    if len(found) < 2:
        return None
    widget = _list("status", sorted(found), choice.choices["statuses"] or [])
    return widget, lambda w: {"statuses": list(w.value) or None}


def _axis(choice, name, varying):
    fields = {field.name: _label(field.name) for field in varying}
    options = [("(by effect)", ""), *((label, value) for value, label in fields.items())]
    value = choice.choices[name] if choice.choices[name] in fields else ""
    widget = ipywidgets.Dropdown(options=options, value=value, description=name, style=LABEL)
    return widget, lambda w: {name: w.value}


def _kept(choice, knob):
    widget = ipywidgets.BoundedFloatText(
        value=choice.choices["kept"].get(knob.name, knob.kept),
        min=0,
        max=1e9,
        step=1,
        description=f"{_label(knob.name)}, kept",
        continuous_update=False,
        style=LABEL,
        layout=WIDE,
    )
    return widget, lambda w: {"kept": {**choice.choices["kept"], knob.name: w.value}}


def _list(name, levels, selected):
    return ipywidgets.SelectMultiple(
        options=[(_label(level), level) for level in levels],
        value=[level for level in levels if level in selected],
        rows=min(6, len(levels)),
        description=_label(name),
        style=LABEL,
    )


def _stops(values):
    """Return the distinct values, or as many of their quantiles as a range has places for."""
    distinct = np.unique(values)
    if len(distinct) <= MAX_STOPS:
        return distinct
    return np.quantile(distinct, np.linspace(0, 1, MAX_STOPS), method="nearest")


def _range(name, stops, low, high):
    """A range over `stops`, (label, value) pairs; None where there is only one."""
    if len(stops) < 2:
        return None
    values = [value for _, value in stops]
    inside = [v for v in values if (low is None or v >= low) and (high is None or v <= high)] or values
    return ipywidgets.SelectionRangeSlider(
        options=stops,
        index=(values.index(inside[0]), values.index(inside[-1])),
        description=_label(name),
        continuous_update=False,
        style=LABEL,
        layout=WIDE,
    )


def _ends(widget):
    """Return the ends of a range, None where it reaches to the first or last of its places."""
    (first, last), options = widget.index, widget.options
    return (
        options[first][1] if first else None,
        options[last][1] if last < len(options) - 1 else None,
    )
