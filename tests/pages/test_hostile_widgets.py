"""The widgets that choose runs, of names that try to be markup: text to every widget, and short."""

import ipywidgets
import pytest
from conftest import grid, runs_of

from traincost.pages import choosing, controls
from traincost.pages.controls import MAX_LABEL

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "$\\href{javascript:alert(1)}{x}$",
    "`code` **b** [a](javascript:x)",
    "\u202egnirts",
    "a\nb\r\t\x00c",
    "&lt;b&gt;",
    "{{ 7*7 }}",
    "x" * 10_000,
]


def widgets(widget):
    """Yield a widget and all that it holds."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from widgets(child)


@pytest.fixture(scope="module")
def choice():
    """A choice of runs whose settings, levels, sections and statuses are hostile."""
    config = grid(**{name: [f"{name}{i}" for i in range(2)] for name in HOSTILE[:4]})
    for i, name in enumerate(HOSTILE[4:]):  # two levels each, and none the same as another
        pattern = [0b0011, 0b0101, 0b0110, 0b1001, 0b1111][i]
        config[name] = [HOSTILE[i + (row & pattern).bit_count() % 2] for row in range(len(config))]
    sections = [(run, f"e/{name}", 1.0, 8) for run in range(len(config)) for name in ("eval", *HOSTILE[:2])]
    runs = runs_of(config, [50.0 + 3 * row for row in range(len(config))], sections)
    runs.frame["status"] = [HOSTILE[row % 2] for row in range(len(config))]
    knobs = [{"name": name, "sections": ["e/eval"], "kind": "cadence", "kept": 1} for name in HOSTILE]
    return choosing.Choice(runs.choosing(knobs=knobs))


def test_no_widget_takes_a_name_for_markup(choice):
    found = list(widgets(controls.controls(choice)))
    assert len(found) > len(HOSTILE)
    assert sum(isinstance(each, ipywidgets.SelectMultiple) for each in found) >= len(HOSTILE)
    for each in found:
        state = each.get_state()
        assert not isinstance(each, ipywidgets.HTML | ipywidgets.HTMLMath | ipywidgets.Output)
        assert not state.get("description_allow_html")
        assert not state.get("tooltip")


def test_what_widgets_say_is_one_short_line_without_turns(choice):
    said = []
    for each in widgets(controls.controls(choice)):
        state = each.get_state()
        texts = [state.get("description", ""), *state.get("_options_labels", ())]
        said += [text for text in texts if isinstance(text, str)]
    assert len(said) > 3 * len(HOSTILE)
    for text in said:
        assert len(text) <= MAX_LABEL + len(", kept"), text[:80]
        assert text.replace("\xa0", " ").isprintable(), repr(text)


def test_no_label_holds_a_formula(choice):
    """The lab sets formulas in the labels of widgets, where they could be links."""
    for each in widgets(controls.controls(choice)):
        said = each.get_state().get("description", "")
        said += each.value if isinstance(each, ipywidgets.Label) else ""
        assert not {"$", "\\"} & set(said), said


def test_hostile_levels_choose_what_they_name(choice):
    lists = [w for w in widgets(controls.controls(choice)) if isinstance(w, ipywidgets.SelectMultiple)]
    for each in lists:
        each.value = [each.options[0][1]]
        assert 0 < len(choice.runs) < len(choice.all_runs), (each.description, each.options)
        each.value = []
    assert len(choice.runs) == len(choice.all_runs)


def test_a_refusal_is_text(choice):
    box = controls.controls(choice)
    refusal = box.children[-1]
    assert isinstance(refusal, ipywidgets.Label)
    controls._follow(choice, None, lambda _: {"where": {HOSTILE[0]: [HOSTILE[1]]}}, refusal, None)
    assert HOSTILE[0] in refusal.value
    controls._follow(choice, None, lambda _: {"where": {HOSTILE[2]: ["$x$"]}}, refusal, None)
    assert refusal.value
    assert not {"$", "\\"} & set(refusal.value)
