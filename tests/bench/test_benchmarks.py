"""The results of a benchmark: what is refused, and what the page says of them."""

import json
import math
import re

import benchmark_page
import pytest
from benchmarks import judged, missed, read_benchmarks
from conftest import ROOT

from traincost.errors import NothingToReport

RESULTS = ROOT / "reports/benchmark/results.json"


def entry(**changes):
    return {
        "work": "sort",
        "against": "sorted",
        "role": "peer",
        "ours": 2.0,
        "theirs": 3.0,
        "unit": "s",
        "value": 1.5,
        "bound": "at least",
        "target": 3.0,
        "met": False,
        **changes,
    }


FLOOR = {"role": "floor", "against": "copy", "value": 2.0, "bound": "at most", "target": 4.0, "met": True}
LIMIT = {"work": "memory", "role": "limit", "against": "", "theirs": None, "unit": "KiB", "bound": "at most"}


def written(tmp_path, measured, **changes):
    whole = {"format": "traincost/benchmark/1", "size": "full", "n_repetitions": 5, "machine": {"cores": 2}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**whole, "measured": measured, **changes}), encoding="utf-8")
    return path


def text(sentences):
    return " ".join(sentence.plain() for sentence in sentences)


def test_a_target_that_is_met_needs_less_than_one(tmp_path):
    found = read_benchmarks(written(tmp_path, [entry(), entry(**FLOOR)]))
    assert list(found.frame["of_target"]) == [2.0, 0.5]
    assert list(judged(found.frame)["against"]) == ["sorted", "copy"]
    assert list(missed(found.frame)["against"]) == ["sorted"]


def test_what_was_not_measured_or_asked_is_not_judged(tmp_path):
    absent = entry(against="absent", theirs=None, value=None, met=None)
    free = entry(against="free", bound=None, target=None, met=None)
    noise = entry(**LIMIT, ours=-0.1, value=-0.1, target=2.0, met=True)
    found = read_benchmarks(written(tmp_path, [entry(), absent, free, noise]))
    assert list(judged(found.frame)["work"]) == ["sort", "memory"]
    assert math.isnan(found.frame["of_target"].iloc[3])
    assert list(benchmark_page.measured_table(found.frame).frame["target_text"])[1:] == [
        "at least 3.00 ×",
        "–",
        "at most 2.00 KiB",
    ]
    assert benchmark_page.works(found.frame)[0].plain() == (
        "sort takes 2.00 s. That is 1.50 × as fast as sorted and 1.50 × as fast as free."
    )
    assert text(benchmark_page.summary(found)).startswith("1 of 2 targets are met.")


def test_the_worst_miss_is_named_first_and_few_are(tmp_path):
    worse = [entry(against=f"p{i}", value=3.0 / (i + 2), target=3.0) for i in range(8)]
    late = entry(**LIMIT, ours=40.0, value=40.0, target=2.0, met=False)
    said = benchmark_page.summary(read_benchmarks(written(tmp_path, [*worse, late, entry(**FLOOR)])))
    assert [s.plain() for s in said[:3]] == [
        "1 of 10 targets are met.",
        "Missed: memory is 40.0 KiB, where at most 2.00 KiB is asked.",
        "Missed: sort is 0.333 × as fast as p7, where at least 3.00 × is asked.",
    ]
    assert len(said) == 5


def test_a_small_size_says_that_it_says_nothing(tmp_path):
    found = read_benchmarks(written(tmp_path, [entry()], size="small"))
    assert "the ratios say nothing" in benchmark_page.summary(found)[0].plain()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "run make bench"),
        ("[]", "its format is not traincost/benchmark/1"),
        ({"measured": []}, "`measured` must be a list of comparisons"),
        ({"measured": [entry(role="rival")]}, "`measured` must be a list of comparisons"),
        ({"measured": [entry(ours="fast")]}, "`measured` must be a list of comparisons"),
        ({"measured": [entry(ours=None)]}, "`measured` must be a list of comparisons"),
        ({"measured": [entry(met=1)]}, "`measured` must be a list of comparisons"),
        ({"measured": [entry(), entry()]}, "the same `work` and `against`"),
        ({"measured": [entry()], "machine": []}, "`machine` a mapping"),
        ({"measured": [entry()], "n_repetitions": True}, "`n_repetitions` must be a count"),
    ],
)
def test_what_are_no_results_is_refused_in_one_line(tmp_path, content, why):
    path = tmp_path / "results.json"
    if isinstance(content, str):
        path.write_text(content)
    else:
        path = written(tmp_path, **content)
    with pytest.raises(NothingToReport, match="holds no results of a benchmark") as refused:
        read_benchmarks(path)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_missing_results_are_refused(tmp_path):
    with pytest.raises(NothingToReport, match="run make bench"):
        read_benchmarks(tmp_path / "none.json")


def test_names_among_the_results_are_text_in_the_answer(tmp_path):
    payload = '"><img src=x onerror=alert(1)><script>alert(2)</script>\n$x$ `a`'
    hostile = [entry(work=payload, against=payload), entry(**{**LIMIT, "work": payload}, value=1.0)]
    path = written(tmp_path, hostile, machine={payload: payload, "packages": {payload: payload}})
    found = read_benchmarks(path)
    made = (
        benchmark_page.title(found, payload, payload, payload).html() + benchmark_page.benchmark(found).html()
    )
    assert not re.search(r"<(script|img)", made)
    assert "alert(1)" in made


@pytest.mark.parametrize(
    ("value", "unit", "printed"),
    [
        (0.00123, "s", "1.23 ms"),
        (3.21e-7, "s", "0.321 µs"),
        (250.0, "s", "4.17 min"),
        (1.05, "", "1.05"),
        (float("nan"), "s", "–"),
    ],
)
def test_a_quantity_is_printed_with_the_unit_that_suits_it(value, unit, printed):
    assert benchmark_page.quantity(value, unit) == printed


def test_the_page_counts_what_its_table_lists(published):
    report = json.loads(published("benchmark").with_suffix(".json").read_text(encoding="utf-8"))
    outcomes = [row["outcome"] for row in report["tables"]["measured"]["rows"]]
    assert report["numbers"]["targets.n_met"] == outcomes.count("met")
    assert report["numbers"]["targets.n"] == outcomes.count("met") + outcomes.count("missed")
    assert len(outcomes) == len(json.loads(RESULTS.read_text())["measured"])
