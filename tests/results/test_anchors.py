"""Every number, heading, figure and table has a place to link to, and it stays where it is."""

import html
import json
import re

import pytest

from traincost.results import anchors

# What people link to: an anchor that is renamed or dropped here breaks their links.
PROFILING = [
    "contents", "top", "runtime-snapshot", "table-levels", "table-levels-across",
    "what-runtime-depends-on", "figure-effects", "table-effects", "table-interactions", "figure-cells",
    "figure-levels", "time-per-occurrence", "figure-occurrences", "table-occurrences",
    "where-the-time-goes", "figure-composition", "table-sections", "figure-subsections", "what-to-change",
    "figure-knobs", "table-knobs", "what-it-cost", "table-spent", "how-this-was-made", "table-runs",
    "table-fields", "table-parameters", "table-versions",
]  # fmt: skip
ESTIMATION = [
    "contents", "top", "overview", "estimates", "figure-estimates", "table-estimates",
    "converting-between-the-two", "figure-conversion", "growth-over-time", "figure-trend", "table-trends",
    "table-sensitivity", "error-against-compute", "contradictions", "table-contradictions", "table-claims",
    "when-to-use-which", "references", "table-rates", "table-sources", "table-left-out", "table-parameters",
    "table-versions",
]  # fmt: skip
COMPARE = [
    "contents", "top", "what-was-changed", "table-changed", "how-much-runtime-changed", "figure-changes",
    "table-changes", "what-the-change-is-made-of", "figure-parts", "table-parts", "what-else-changed",
    "table-columns", "how-this-was-made", "table-parameters", "table-versions",
]  # fmt: skip
BENCHMARK = [
    "contents", "top", "what-was-measured", "figure-ratios", "table-measured", "how-this-was-made",
    "table-machine", "table-parameters", "table-versions",
]  # fmt: skip
PLACE = re.compile(r'<(?:h[1-6]|figure|table)\b[^>]*? id="([^"]+)"')


@pytest.mark.parametrize(
    ("name", "expected"),
    [("golden", PROFILING), ("compare", COMPARE), ("benchmark", BENCHMARK), ("milestones", ESTIMATION)],
)
def test_the_places_of_a_page_are_those_people_link_to(published, name, expected):
    page = published(name).read_text(encoding="utf-8")
    assert PLACE.findall(page) == expected
    assert len(re.findall(r"<(?:h[1-6]|figure|table)\b", page)) == len(expected)


@pytest.mark.parametrize("name", ["golden", "demo", "compare", "benchmark", "demo-card", "milestones"])
def test_every_number_links_to_what_holds_it(published, name):
    page = published(name).read_text(encoding="utf-8")
    report = json.loads(published(name).with_suffix(".json").read_text(encoding="utf-8"))
    assert set(report["anchors"]) == set(report["numbers"])
    assert {*report["anchors"].values()} <= set(PLACE.findall(page))
    held = re.findall(r"<(?:figure|table)\b.*?</(?:figure|table)>", page, flags=re.DOTALL)
    elsewhere = page
    for block in held:
        elsewhere = elsewhere.replace(block, "")
    numbers = re.findall(r'<data value="[^"]*" data-key="([^"]*)">', elsewhere)
    linked = re.findall(r'<a href="#([^"]+)"><data value="[^"]*" data-key="([^"]*)">[^<]*</data></a>', page)
    assert len(numbers) > 10
    assert {html.unescape(key) for _, key in linked} >= {html.unescape(key) for key in numbers}
    assert all(report["anchors"][html.unescape(key)] == anchor for anchor, key in linked)


def test_the_longest_beginning_decides_and_a_caption_is_the_last_resort():
    holders = {"level": "table-a", "level.x": "table-b", "cells": "figure-c"}
    keys = ["level.y.mean_s", "level.x.mean_s", "level.x\\.z.mean_s", "cells", "cellspan", "other"]
    assert anchors.of_numbers(keys, holders, {"other": "figure-d"}) == {
        "level.y.mean_s": "table-a",
        "level.x.mean_s": "table-b",
        "level.x\\.z.mean_s": "table-a",
        "cells": "figure-c",
        "other": "figure-d",
    }
