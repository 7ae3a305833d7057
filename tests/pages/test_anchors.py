"""Every number, heading, figure and table has a place to link to, and it stays where it is."""

import html
import json
import math
import re

import pytest

from traincost.printing import plain

# What people link to: an anchor that is renamed or dropped here breaks their links.
PROFILING = [
    "contents", "top", "runtime-snapshot", "table-levels", "table-levels-across",
    "what-runtime-depends-on", "figure-effects", "table-effects", "table-ratios", "table-spread",
    "table-interactions", "table-threats", "figure-cells",
    "figure-levels", "time-per-occurrence", "figure-occurrences", "table-occurrences",
    "where-the-time-goes", "figure-composition", "table-sections", "figure-subsections", "what-to-change",
    "figure-knobs", "table-knobs", "what-it-cost", "table-spent", "how-this-was-made", "table-runs",
    "table-fields", "table-parameters", "table-versions", "answer", "answer-finding", "figure-answer",
    "figure-mean-runs", "table-cells", "table-difference", "table-knobs-bounds", "table-sections-full",
    "table-statistics", "why-the-slow-ones-are-slow",
]  # fmt: skip
ESTIMATION = [
    "contents", "top", "overview", "estimates", "figure-estimates", "table-estimates", "evidence",
    "table-kinds", "table-candidates", "table-classes", "converting-between-the-two", "figure-conversion",
    "table-derived", "growth-over-time", "figure-trend", "table-trends", "table-sensitivity",
    "error-against-compute", "contradictions", "table-contradictions", "table-claims", "energy",
    "table-energy", "table-energy-assumed", "when-to-use-which", "references", "table-rates", "table-sources",
    "table-left-out", "table-parameters", "table-versions", "answer", "answer-finding", "what-is-counted",
    "network-operations", "hardware-burden", "table-doubling", "table-measures", "sources-and-how-to-cite",
]  # fmt: skip
COMPARE = [
    "contents", "top", "what-was-changed", "table-changed", "how-much-runtime-changed", "figure-changes",
    "table-changes", "what-the-change-is-made-of", "figure-parts", "table-parts", "what-else-changed",
    "table-columns", "how-this-was-made", "table-parameters", "table-versions",
    "answer", "answer-finding", "figure-sides", "who-gained", "where-the-change-is", "table-changes-in-full",
    "table-largest-parts", "table-scores",
]  # fmt: skip
PLAN = [
    "contents", "top", "what-it-would-take", "table-plan", "how-this-was-made", "table-parameters",
    "table-versions",
]  # fmt: skip
BENCHMARK = [
    "contents", "top", "what-was-measured", "figure-ratios", "table-measured", "how-this-was-made",
    "table-machine", "table-parameters", "table-versions",
]  # fmt: skip
# An empty span is where something once stood that its neighbour has replaced.
PLACE = re.compile(r'<(?:h[1-6]|nav|figure|table|section|span)\b[^>]*? id="([^"]+)"')


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("golden", PROFILING),
        ("compare", COMPARE),
        ("plan", PLAN),
        ("benchmark", BENCHMARK),
        ("milestones", ESTIMATION),
    ],
)
def test_the_places_of_a_page_are_those_people_link_to(published, name, expected):
    page = published(name).read_text(encoding="utf-8")
    places = PLACE.findall(page)
    assert sorted(places) == sorted(expected)
    assert set(re.findall(r'<a [^>]*href="#([^"]+)"', page)) <= {*places, "main"}


NAMES = ["golden", "demo", "compare", "benchmark", "demo-card", "milestones"]


def page_and_data(published, name):
    page = published(name)
    return page.read_text(encoding="utf-8"), json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_link_to_a_place_on_the_page(published, name):
    page, report = page_and_data(published, name)
    assert set(report["anchors"]) <= set(report["numbers"])
    assert 5 * len(report["anchors"]) >= 2 * len(report["numbers"])
    assert {*report["anchors"].values()} <= set(PLACE.findall(page))
    elsewhere = re.sub(r"<(figure|table)\b.*?</\1>", "", page, flags=re.DOTALL)
    numbers = re.findall(r'<data value="[^"]*" data-key="([^"]*)">', elsewhere)
    linked = re.findall(r'<a href="#([^"]+)"><data value="[^"]*" data-key="([^"]*)">[^<]*</data></a>', page)
    assert len(numbers) > 10
    assert len(linked) > 3
    assert all(report["anchors"][html.unescape(key)] == anchor for anchor, key in linked)


@pytest.mark.parametrize("name", NAMES)
def test_the_place_a_number_links_to_holds_it(published, name):
    page, report = page_and_data(published, name)
    for key, anchor in report["anchors"].items():
        kind, _, place = anchor.partition("-")
        content, value = report[f"{kind}s"][place], report["numbers"][key]
        if not any(is_close(value, other) for other in leaves(content["rows"])):
            printed = re.findall(rf'data-key="{re.escape(html.escape(key))}">([^<]*)<', page)
            said = content["caption"] + content.get("note", "")
            assert any(plain(html.unescape(text)) in plain(said) for text in printed), (key, anchor)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_a_number_links_to_prints_it(published, name):
    page = published(name).read_text(encoding="utf-8")
    tables = dict(re.findall(r'<table id="([^"]+)"(.*?)</table>', page, re.DOTALL))
    links = re.findall(r'<a href="#([^"]+)"><data value="([^"]*)"[^>]*>([^<]*)</data></a>', page)
    assert sum(anchor in tables for anchor, _, _ in links) > 2
    for anchor, value, text in links:
        if anchor in tables:
            said = re.findall(r"\d[\d.,]*", html.unescape(re.sub("<[^>]+>", " ", tables[anchor])))
            digits = re.findall(r"\d[\d.,]*", text)
            assert set(digits) <= set(said) or any(rounds_to(float(value), each) for each in said), (
                anchor,
                text,
            )


def rounds_to(value, printed):
    """Say whether a value, or its percentage, is what is printed, as 65.8 GWh are 65,813,353 kWh."""
    number = printed.rstrip(".").replace(",", "")
    if number.count(".") > 1:
        return False
    decimals = len(number.partition(".")[2])
    return any(round(abs(v), decimals) == float(number) for v in (value, 100 * value))


def leaves(value):
    """Yield every value in rows of the JSON."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    else:
        yield value


def is_close(value, other):
    """Say whether two are one number; a sentence says of -38 % that it is 38 % less."""
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in (value, other)):
        return value == other
    return math.isclose(abs(value), abs(other), rel_tol=1e-9)
