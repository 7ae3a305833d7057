"""The committed demo pages say what a fresh build says."""

import json
import re

import pytest
from conftest import ROOT

COMMITTED = {
    "demo": ROOT / "reports/demo-sweep/profiling.json",
    "compare": ROOT / "reports/demo-sweep-once/compare.json",
    "benchmark": ROOT / "reports/benchmark/benchmark.json",
    "demo-card": ROOT / "reports/demo-sweep/estimation.json",
    "milestones": ROOT / "reports/milestones/estimation.json",
}


def leaves(value, path=()):
    """Yield every value in a report with its place."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path, value


@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_report_is_that_of_a_fresh_build(published, name):
    committed = json.loads(COMMITTED[name].read_text(encoding="utf-8"))
    fresh = json.loads(published(name).with_suffix(".json").read_text(encoding="utf-8"))
    for report in (committed, fresh):  # of the installation, not of the runs
        del report["versions"], report["tables"]["versions"]
    found, expected = dict(leaves(committed)), dict(leaves(fresh))
    assert set(found) == set(expected), "run make page"
    assert len(expected) > 300
    for place, value in expected.items():
        if isinstance(value, float):  # another processor adds up in another order
            value = pytest.approx(value, rel=1e-6, abs=1e-12)
        assert found[place] == value, (place, "run make page")


@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_page_shows_the_numbers_of_its_data(name):
    report = json.loads(COMMITTED[name].read_text(encoding="utf-8"))
    page = COMMITTED[name].with_suffix(".html").read_text(encoding="utf-8")
    for number in report["numbers"].values():
        assert f'<data value="{json.dumps(number)}"' in page


def test_the_docs_say_what_the_demo_page_measured():
    report = json.loads(COMMITTED["demo"].read_text(encoding="utf-8"))
    text = (ROOT / "docs/numbers.md").read_text(encoding="utf-8")
    for row in report["tables"]["turned"]["rows"]:
        line = re.search(rf"\(`{row['knob']}`\) \|(.*)", text).group(1)
        printed = [float(number) for number in re.findall(r"[0-9.]+", line)]
        expected = [row[name] for name in ("bound", "measured", "low", "high")]
        assert printed == [round(100 * share, 1) for share in expected]
