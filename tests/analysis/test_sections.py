"""Shares and compositions: time adds up."""

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, fields_of
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.analysis import levels, sections
from traincost.analysis.sections import OTHER, UNATTRIBUTED


def timing(rows, runtime_s):
    """Return the sections, (run, section, seconds, count) rows, of runs as arrays."""
    return sections.timing(collection_of({"run": range(len(runtime_s))}, runtime_s, rows))


def shares(rows, runtime_s):
    return sections.shares(timing(rows, runtime_s)).set_index("section")


def by_level(levels):
    """Return a field of the runs, from the level of each."""
    return fields_of({"task": levels})["task"]


def test_share_is_a_mean_and_pooled_share_a_ratio():
    found = shares([(0, "eval", 50.0, 5), (1, "eval", 10.0, 2)], [100.0, 1000.0])
    assert found.loc["eval", "share"] == pytest.approx((0.5 + 0.01) / 2)
    assert found.loc["eval", "pooled_share"] == pytest.approx(60 / 1100)
    assert found.loc["eval", "per_occurrence_s"] == pytest.approx((10 + 5) / 2)


def test_a_run_without_the_section_counts_zero_and_is_counted():
    found = shares([(0, "eval", 50.0, 5)], [100.0, 100.0])
    assert found.loc["eval", "share"] == 0.25
    assert found.loc["eval", "n_present"] == 1
    assert found.loc["eval", "n_runs"] == 2


def test_children_are_never_added_to_parents():
    rows = [(0, "epoch", 80.0, 1), (0, "epoch/train", 50.0, 9), (0, "epoch/train/step", 45.0, 90)]
    found = shares(rows, [100.0])
    assert found.loc[UNATTRIBUTED, "share"] == pytest.approx(0.2)
    assert list(found["disjoint"]) == [True, False, False, True]
    assert found.loc["epoch/train/step", "parent"] == "epoch/train"


def test_the_nearest_recorded_ancestor_is_the_parent():
    found = shares([(0, "a", 9.0, 1), (0, "a/b/c", 5.0, 1)], [10.0])
    assert found.loc["a/b/c", "parent"] == "a"
    assert not found.loc["a/b/c", "disjoint"]


def test_a_child_without_its_parent_is_still_attributed():
    rows = [(0, "a", 8.0, 1), (0, "a/b", 6.0, 1), (1, "a/b", 6.0, 1)]
    found = shares(rows, [10.0, 10.0])
    assert found.loc[UNATTRIBUTED, "share"] == pytest.approx((0.2 + 0.4) / 2)
    assert found.loc["a", "share"] == pytest.approx((0.8 + 0.6) / 2)  # never below its child's
    assert found.loc["a", "n_present"] == 1


def test_overlap_is_reported_and_not_hidden():
    found = shares([(0, "a", 8.0, 1), (0, "a/x", 6.0, 1), (0, "a/y", 6.0, 1)], [10.0])
    assert found.loc["a", "overlapping"]
    assert not found.loc[UNATTRIBUTED, "overlapping"]
    found = shares([(0, "a", 8.0, 1), (0, "b", 6.0, 1)], [10.0])
    assert found.loc[UNATTRIBUTED, "overlapping"]
    assert found.loc[UNATTRIBUTED, "share"] == pytest.approx(-0.4)


def test_no_sections_leave_everything_unattributed():
    found = shares([], [10.0, 20.0])
    assert list(found.index) == [UNATTRIBUTED]
    assert found.loc[UNATTRIBUTED, "share"] == 1


def test_a_dominant_part_is_shown_by_children_and_rest():
    rows = [
        (0, "epoch", 90.0, 1),
        (0, "epoch/train", 40.0, 1),
        (0, "epoch/eval", 30.0, 1),
        (0, "setup", 5.0, 1),
    ]
    found = sections.composition(timing(rows, [100.0]))
    assert dict(found.drop(columns="n_runs").iloc[0]) == pytest.approx(
        {
            "epoch/train": 0.4,
            "epoch/eval": 0.3,
            "epoch, inside but untimed": 0.2,
            "setup": 0.05,
            UNATTRIBUTED: 0.05,
        }
    )


def test_composition_by_level_puts_small_parts_together():
    rows = [(r, f"s{i:02}", 1.0 + i, 1) for r in range(4) for i in range(12)]
    found = sections.composition(timing(rows, [100.0] * 4), by_level(list("aabb")))
    assert list(found.index) == ["a", "b", "all runs"]
    assert OTHER in found
    assert found.drop(columns="n_runs").sum(axis=1).to_numpy() == pytest.approx(np.ones(3))


def test_parts_that_no_bar_would_show_are_drawn_as_one():
    rows = [(r, name, s, 1) for r in range(4) for name, s in (("a", 60.0), ("b", 0.5), ("c", 0.4))]
    rows += [(0, "d", 1.5, 1), (1, "e", 2.1, 1)]  # of one level: 0.75 and 1.05 per cent
    whole = sections.composition(timing(rows, [100.0] * 4), by_level(list("xxyy")))
    found = sections.drawn_parts(whole)
    assert list(found) == ["a", "e", OTHER, UNATTRIBUTED, "n_runs"]
    assert found[OTHER].to_numpy() == pytest.approx(whole[["b", "c", "d"]].sum(axis=1).to_numpy())
    assert found.drop(columns="n_runs").sum(axis=1).to_numpy() == pytest.approx(np.ones(3))


def test_one_unseen_part_and_the_largest_keep_their_names():
    rows = [(0, "a", 0.5, 1), (0, "b", 0.4, 1)]
    whole = sections.composition(timing(rows, [100.0]))
    assert list(sections.drawn_parts(whole)) == list(whole)
    rows.append((0, "c", 0.3, 1))
    whole = sections.composition(timing(rows, [100.0]))
    assert list(sections.drawn_parts(whole))[:2] == ["a", OTHER]


def test_unseen_parts_join_those_beyond_the_limit():
    rows = [(0, f"s{i:02}", 10.0 if i < 5 else 0.5, 1) for i in range(12)]
    whole = sections.composition(timing(rows, [100.0]))
    assert OTHER in whole
    found = sections.drawn_parts(whole)
    assert list(found)[:6] == [f"s{i:02}" for i in range(5)] + [OTHER]
    assert found[OTHER].iloc[0] == pytest.approx(0.035)


def test_per_occurrence_by_level():
    rows = [
        (0, "e", 10.0, 2),
        (1, "e", 30.0, 3),
        (2, "e", 8.0, 4),
        (2, "once", 3.0, 1),
        (3, "e", 8.0, np.nan),
    ]
    found = sections.per_occurrence(timing(rows, [100.0] * 4), by_level(list("aabb")))
    assert list(found["section"].unique()) == ["e"]  # `once` is not repeated
    assert list(found["per_occurrence_s"]) == [pytest.approx((5 + 10) / 2), 2.0]
    assert list(found["n_runs"]) == [2, 1]  # the last run's count is not known


@st.composite
def trees(draw):
    """Return runtime and consistent nested sections of a few runs, some absent."""
    rows, runtimes = [], []
    for run in range(draw(st.integers(1, 4))):
        runtime = draw(st.floats(1, 1e5))
        runtimes.append(runtime)
        left = runtime
        for top in draw(st.lists(st.sampled_from("abcd"), unique=True)):
            seconds = left * draw(st.floats(0, 1))
            left -= seconds
            rows.append((run, top, seconds, 1))
            inside = seconds
            for child in draw(st.lists(st.sampled_from("xyz"), unique=True)):
                part = inside * draw(st.floats(0, 1))
                inside -= part
                rows.append((run, f"{top}/{child}", part, 2))
    return rows, runtimes


@settings(max_examples=25, deadline=None)
@given(trees())
def test_disjoint_shares_and_the_rest_make_one(made):
    rows, runtimes = made
    t = timing(rows, runtimes)
    assert (t.whole[:, t.roots].sum(axis=1) + t.unattributed()) / t.runtime_s == pytest.approx(
        np.ones(len(runtimes))
    )
    composition = sections.composition(t, levels.all_runs(len(runtimes)))
    assert composition.drop(columns="n_runs").sum(axis=1).iloc[-1] == pytest.approx(1)
    table = sections.shares(t)
    assert not table["overlapping"].any()
    assert table["share"].between(-1e-9, 1 + 1e-9).all()


def test_frames_are_left_as_they_were():
    made = collection_of({"a": ["x", "y"]}, [10.0, 20.0], [(0, "b", 1.0, 1)])
    before = made.runs.copy(), made.sections.copy()
    sections.shares(sections.timing(made))
    pd.testing.assert_frame_equal(made.runs, before[0])
    pd.testing.assert_frame_equal(made.sections, before[1])


@pytest.mark.parametrize("name", [UNATTRIBUTED, OTHER, "level", "n_runs", "a, inside but untimed"])
def test_sections_named_like_our_words_are_kept(name):
    rows = [(r, f"s{i}", 5.0, 2) for r in range(2) for i in range(10)]
    rows += [(r, name, 30.0, 2) for r in range(2)]
    t = timing(rows, [100.0] * 2)
    composition = sections.composition(t, levels.all_runs(2))
    assert composition.drop(columns="n_runs").sum(axis=1).iloc[-1] == pytest.approx(1)
    found = sections.shares(t).set_index("section")
    assert found.loc[f"{name} (section)", "share"] == pytest.approx(0.3)
    assert found.loc[UNATTRIBUTED, "share"] == pytest.approx(0.2)
