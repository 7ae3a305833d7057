"""The benchmark's own arithmetic, order and collections; these tests are of no speed."""

import harness
import pytest
import synthetic
from benchmarks import read_benchmarks
from harness import Measured, Results, interleaved

from traincost.reading.collection import read_collection


def test_works_run_in_turn_and_the_first_is_not_counted():
    order, seconds = [], iter([100.0, 3.0, 1.0, 2.0, 2.0, 2.0])

    def ours():
        order.append("ours")
        return next(seconds)

    took = interleaved({"ours": ours, "theirs": lambda: order.append("theirs")}, n=5)
    turns = [tuple(order[i : i + 2]) for i in range(0, 12, 2)]
    assert {frozenset(turn) for turn in turns} == {frozenset(["ours", "theirs"])}
    assert len(set(turns)) == 2  # neither always comes first
    assert took["ours"] == 2.0
    assert 0 < took["theirs"] < 1.0


@pytest.mark.parametrize(
    ("role", "ours", "theirs", "bound", "target", "value", "met"),
    [
        ("floor", 3.0, 2.0, "at most", 1.5, 1.5, True),
        ("floor", 3.1, 2.0, "at most", 1.5, 1.55, False),
        ("peer", 2.0, 30.0, "at least", 15.0, 15.0, True),
        ("peer", 2.1, 30.0, "at least", 15.0, 30 / 2.1, False),
        ("peer", 2.0, None, "at least", 15.0, None, None),
        ("floor", 2.0, 1.0, None, None, 2.0, None),
        ("limit", 1.1, None, "at most", 1.05, 1.1, False),
    ],
)
def test_a_target_is_met_or_not(role, ours, theirs, bound, target, value, met):
    entry = Measured.of("work", "other", role, ours, theirs, "s", bound, target)
    assert entry.value == (value if value is None else pytest.approx(value))
    assert entry.met is met


def test_the_table_says_what_was_missed_or_not_installed():
    results = Results("full")
    results.compare("read", 0.05, [("parse", 0.02, 2.0)], [("rival", None, 8.0), ("other", 0.2, 2.0)])
    results.limit("memory", 5.0, "KiB", 2.0)
    lines = results.table()
    assert [line.split()[-1] for line in lines[2:6]] == ["NO", "8", "yes", "NO"]
    assert "not installed" in lines[3]
    assert "50 ms" in lines[2]
    assert "medians of 5 in turn" in lines[-1]


def test_what_is_written_is_what_the_page_reads(tmp_path):
    results = Results("full")
    results.compare("read", 3.0, [("parse", 2.0, 2.0)], [("rival", None, 8.0)])
    results.limit("memory", 5.0, "KiB", 2.0)
    results.write(tmp_path / "build" / "results.json")
    found = read_benchmarks(tmp_path / "build" / "results.json")
    assert list(found.frame["met"]) == [True, None, False]
    assert found.frame["of_target"].iloc[0] == 0.75
    assert found.n_repetitions == harness.N
    assert found.machine["cores"] >= 1


def test_synthetic_collections_are_usable_seeded_and_nested(tmp_path):
    small, large = dict(synthetic.records(36)), dict(synthetic.records(60))
    assert small == dict(synthetic.records(36))
    assert small != dict(synthetic.records(36, seed=1))
    assert all(large[path]["config"] == record["config"] for path, record in small.items())
    found = read_collection(synthetic.write(tmp_path / "runs", 60))
    assert len(found.runs) == 60
    assert not len(found.excluded)
    assert not len(found.notes)
    assert set(found.sections["section"]) == set(synthetic.SECTIONS)
    assert {"task", "loss", "optimiser"} <= set(found.factors)
    assert len([name for name in found.runs if name.startswith("config.")]) == 6


def test_settings_of_a_table_are_as_read_from_files(tmp_path):
    read = read_collection(synthetic.write(tmp_path / "runs", 36)).runs
    made = synthetic.table(36).runs
    assert made["config.f0"].dtype == read["config.task"].dtype
    assert made["config.f0"].nunique() == 6
