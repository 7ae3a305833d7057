"""Choosing runs keeps everything of theirs, and nothing of others."""

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, grid, record, write_run

from traincost.analysis import sections
from traincost.analysis.subsets import levels, subset
from traincost.errors import ParameterError
from traincost.reading.collection import read_collection
from traincost.results.runs import Runs


@pytest.fixture
def collection():
    config = grid(task=["a", "b", "c"], lr=[0.1, 0.2])
    timed = [(i, name, 10.0 * i + k, i + 1.0) for i in range(6) for k, name in enumerate(("x", "y")) if i - k]
    return collection_of(config, 100.0 + np.arange(6), timed)


@pytest.fixture
def mixed(tmp_path):
    """Completed, failed and running runs, with a note and a compute block."""
    for i, status in enumerate(["completed", "failed", "completed", "running", "completed"]):
        write_run(
            tmp_path / f"r{i}",
            record(
                f"r{i}",
                status=status,
                config={"task": "ab"[i % 2], "optim": {"lr": 10.0**-i}, "flag": i > 2, "gone": None},
                runtime_s=60.0 * (i + 1),
                scores={"odd": float("nan")} if i == 2 else {},
                compute={"processors": i + 1},
            ),
        )
    return read_collection(tmp_path)


def test_sections_follow_their_runs(collection):
    for kept in ({"task": ["b"]}, {"task": ["a", "c"]}, {"lr": [0.2]}, {"task": ["c"], "lr": [0.1]}):
        found = subset(collection, kept)
        ids = found.runs["run_id"]
        named = found.sections.assign(run_id=ids.to_numpy()[found.sections["run"]]).drop(columns="run")
        whole = collection.runs["run_id"].to_numpy()[collection.sections["run"]]
        expected = collection.sections.assign(run_id=whole).drop(columns="run")
        expected = expected[expected["run_id"].isin(ids)].reset_index(drop=True)
        pd.testing.assert_frame_equal(named, expected)


def test_a_subset_is_as_if_read_alone(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(24):
        config = {"task": "abc"[i % 3], "lr": i // 3 % 2, "seed": i // 6}
        run = record(
            f"r{i:02}",
            config=config,
            runtime_s=float(50 + 10 * (i % 3) + rng.uniform()),
            sections={"x": {"seconds": 5.0 + i, "count": 2}},
        )
        write_run(tmp_path / "all" / f"r{i:02}", run)
        if config["task"] != "b":
            write_run(tmp_path / "some" / f"r{i:02}", run)
    chosen = subset(read_collection(tmp_path / "all"), {"task": ["a", "c"]})
    alone = read_collection(tmp_path / "some")
    pd.testing.assert_frame_equal(chosen.runs, alone.runs)
    pd.testing.assert_frame_equal(chosen.sections, alone.sections)
    some, all_of_them = Runs(chosen), Runs(alone)
    pd.testing.assert_frame_equal(some.effects, all_of_them.effects)
    pd.testing.assert_frame_equal(sections.shares(some.timing), sections.shares(all_of_them.timing))


def test_compute_notes_and_excluded_runs_follow(mixed):
    found = subset(mixed, {"task": ["a"]}, shortest_s=100.0)
    assert list(found.runs["run_id"]) == ["r2", "r4"]
    assert {i: block["processors"] for i, block in found.compute.items()} == {0: 3, 1: 5}
    assert list(found.notes["run_id"]) == ["r2"]
    assert not len(found.excluded)
    assert list(subset(mixed, {"task": ["b"]}).excluded["run_id"]) == ["r1", "r3"]
    assert not len(subset(mixed, longest_s=100.0).notes)


def test_statuses_part_the_frames(mixed):
    failed = subset(mixed, statuses=["failed"])
    assert not len(failed.runs)
    assert list(failed.excluded["run_id"]) == ["r1"]
    completed = subset(mixed, statuses=["completed"])
    assert len(completed.runs) == 3
    assert not len(completed.excluded)


def test_levels_may_be_numbers_text_or_booleans(mixed):
    assert levels(mixed, "optim.lr") == ["0.0001", "0.001", "0.01", "0.1", "1"]
    for given in (0.01, "0.01", 1e-2):
        assert list(subset(mixed, {"optim.lr": [given]}).runs["run_id"]) == ["r2"]
    assert list(subset(mixed, {"flag": [True]}).runs["run_id"]) == ["r4"]
    assert len(subset(mixed, {"gone": [None], "task": []}).runs) == 3


def test_levels_that_sort_alike_have_one_order():
    names = ["v01", "v1", "v001", "w"]
    collection = collection_of({"v": names}, np.ones(4))
    assert levels(collection, "v") == ["v001", "v01", "v1", "w"]


@pytest.mark.parametrize("level", ["x", "x\0", "x\0\0", "x "])
def test_levels_that_differ_at_their_end_are_told_apart(level):
    names = ["x", "x\0", "x\0\0", "x "]
    found = subset(collection_of({"v": names}, np.ones(4)), {"v": [level]})
    assert found.runs["config.v"].tolist() == [level]


def test_a_range_keeps_both_ends(mixed):
    assert list(subset(mixed, {"optim.lr": {"min": 0.0001, "max": 0.01}}).runs["run_id"]) == ["r2", "r4"]
    assert list(subset(mixed, {"optim.lr": {"max": 0.001}}).runs["run_id"]) == ["r4"]
    assert list(subset(mixed, shortest_s=180.0, longest_s=180.0).runs["run_id"]) == ["r2"]


def test_no_condition_keeps_everything(mixed):
    found = subset(mixed)
    pd.testing.assert_frame_equal(found.runs, mixed.runs)
    pd.testing.assert_frame_equal(found.excluded, mixed.excluded)
    assert found.compute == mixed.compute


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"where": {"tsk": ["a"]}}, "`where` must name settings of the runs, got 'tsk'; there are: flag"),
        ({"where": {"task": ["z"]}}, "'task' has no level 'z'; it has: a, b"),
        ({"where": {"task": "a"}}, "'task' must have a list of levels, got 'a'"),
        ({"where": {"task": {"min": 1}}}, "'task' has no numbers"),
        ({"where": {"optim.lr": {"least": 1}}}, "must be numbers as min and max, got"),
        ({"where": {"optim.lr": {"min": "1"}}}, "must be numbers as min and max, got"),
        (
            {"statuses": ["finished"]},
            "must be statuses of the runs, got 'finished'; there are: completed, fa",
        ),
    ],
)
def test_what_the_collection_does_not_have_is_refused(mixed, conditions, message):
    with pytest.raises(ParameterError, match=message):
        subset(mixed, **conditions)
