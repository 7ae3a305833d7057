"""The results of a page have one value for each number, and ids of their own."""

import re

import pytest
from conftest import grid, runs_of

import traincost as tc
from traincost.errors import RefusedNotebook
from traincost.pages.gathering import Gathered
from traincost.results import html


@pytest.fixture(scope="module")
def runs():
    config = grid(task=["漢", "字"], lr=[0.1, 0.2], seed=[0, 1])
    return runs_of(config, [10.0, 11, 13, 14, 20, 22, 27, 30], [(i, "eval", 2.0 + i, 4) for i in range(8)])


def gathered(*results):
    """Return the gathered results, and the page that they make."""
    found, made = Gathered(), []
    for result in results:
        prefix, _ = found.add(result.data())
        made.append(html.prefixed(result.html(), prefix) if prefix else result.html())
    page = "".join(made)
    return found, html.linked(page, found.anchors(*html.printed(page)))


def result(numbers, name="made", prefix="", **changes):
    """Return what a result hands over, with one table of two numbers."""
    table = {"caption": "", "rows": [{"a": 1.0, "b": 2.0}]}
    named = {"name": name, "prefix": prefix, "of": "runs", "versions": {}}
    shown = {"numbers": numbers, "tables": {name: table}, "figures": {}, "holds": {}, "captions": {}}
    return {**named, **shown, "summary": [], "findings": [], "more": {}, **changes}


def test_a_number_with_two_values_is_refused():
    page = Gathered()
    page.add(result({"a": 1.0}, name="made.first"))
    page.add(result({"a": 1.0 + 1e-12, "b": 2}, name="other"))
    with pytest.raises(RefusedNotebook, match=r"the number 'a' is 1.0 and 2.0 on.*made\(…, name="):
        page.add(result({"a": 2.0}, name="made.third"))
    page.add(result({"a": 2.0}, name="made.third", prefix="second"))
    assert page.report["numbers"] == {"a": 1.0, "b": 2, "second.a": 2.0}


def test_results_of_two_names_keep_their_numbers_apart():
    page = Gathered()
    assert page.add(result({"plan.hours": 1.0, "n": 36}, name="plan")) == ("", False)
    assert page.add(result({"plan.hours": 2.0, "n": 36}, name="remaining")) == ("remaining", False)
    assert page.report["numbers"] == {
        "plan.hours": 1.0,
        "n": 36,
        "remaining.plan.hours": 2.0,
        "remaining.n": 36,
    }


def test_the_longest_beginning_that_holds_the_value_decides():
    rows = {"wide": [{"a": 1.0}], "deep": [{"a": 2.0}]}
    tables = {name: {"caption": "", "rows": held} for name, held in rows.items()}
    holds = {"wide": ["level"], "deep": ["level.x"]}
    numbers = {"level.y.mean": 1.0, "level.x.mean": -2.0, "level.x.min": 1.0, "levels": 1.0, "lost": 5.0}
    page = Gathered()
    page.add(result(numbers, tables=tables, holds=holds, captions={"lost": "figure-f"}))
    places = {"table-wide": {"1", "2"}, "table-deep": {"1", "2"}}
    assert page.anchors(places, {"level.x.min": {"1"}}) == {
        "level.y.mean": "table-wide",
        "level.x.mean": "table-deep",
        "level.x.min": "table-wide",
        "lost": "figure-f",
    }


def test_a_number_links_to_no_table_that_prints_it_otherwise():
    page = Gathered()
    tables = {name: {"caption": "", "rows": [{"a": 0.45}]} for name in ("first", "second")}
    page.add(result({"made.a": 0.45}, tables=tables, holds={key: ["made"] for key in tables}))
    assert page.anchors({"table-first": {"4", "5"}, "table-second": {"45.0"}}, {"made.a": {"45.0"}}) == {
        "made.a": "table-second"
    }
    assert page.anchors({"table-first": {"44"}}, {"made.a": {"45.0"}}) == {}


def test_results_of_several_choices_keep_their_places_apart(runs):
    some = [runs.where(task=[task]) for task in ("漢", "字")] + [runs.where(lr=0.1)]
    found, page = gathered(*(tc.effects(part) for part in (runs, *some)), tc.effects(runs, response="eval"))
    ids = re.findall(r'<(?:table|figure|span) id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(ids) == {f"{kind[:-1]}-{n}" for kind in ("tables", "figures") for n in found.report[kind]}
    keys = {html.text(key) for key in found.report["numbers"]}
    assert set(re.findall(r'data-key="([^"]*)"', page)) == keys
    assert set(re.findall(r'<a href="#([^"]*)"', page)) <= set(ids)


def test_numbers_of_every_choice_link_to_their_own_tables(runs):
    _found, page = gathered(tc.shares(runs), tc.shares(runs.where(lr=0.1)))
    links = re.findall(r'<a href="#([^"]+)"><data value="[^"]*" data-key="([^"]*)">', page)
    assert {("lr-0-1" in anchor, key.startswith("made: lr=0")) for anchor, key in links} == {
        (True, True),
        (False, False),
    }
    assert len({key for _, key in links}) == 4
