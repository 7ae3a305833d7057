"""Why some levels are slower: parts that add up, by how often and by how long each time."""

import numpy as np
import pytest
from conftest import collection_of, fields_of, grid, runs_of

from traincost.analysis import differences
from traincost.analysis.sections import OTHER, UNATTRIBUTED, timing
from traincost.results.differences import differences as answer

CONFIG = grid(task=["slow", "mid", "fast"], seed=[0, 1])
EVALS = np.array([50, 50, 40, 40, 30, 30])
EACH_S = np.array([10.0, 12.0, 6.0, 6.0, 4.0, 4.0])


def made():
    sections = []
    for run, (n, s) in enumerate(zip(EVALS, EACH_S, strict=True)):
        sections += [(run, "train", 100.0, 10), (run, "eval", n * s, n)]
        sections += [(run, f"tiny{i}", 0.5, np.nan) for i in range(3)]
    runtime_s = 101.5 + EVALS * EACH_S + 20.0
    return timing(collection_of(CONFIG, runtime_s, sections)), fields_of(CONFIG)["task"], runtime_s


def test_parts_of_each_level_add_up_to_its_mean_run():
    t, field, runtime_s = made()
    runs = differences.mean_runs(t, field)
    assert list(runs.index) == ["slow", "mid", "fast"]
    assert list(runs.columns[:4]) == ["eval", "train", OTHER, UNATTRIBUTED]
    assert runs.iloc[:, :4].sum(axis=1).to_numpy() == pytest.approx(runs["mean_s"].to_numpy())
    assert runs.loc["slow", ["mean_s", "shortest_s", "longest_s"]].tolist() == pytest.approx(
        [runtime_s[:2].mean(), runtime_s[:2].min(), runtime_s[:2].max()]
    )


def test_the_difference_is_split_by_count_and_by_each_time():
    t, field, _ = made()
    found = differences.difference(t, field)
    assert (found.attrs["slow"], found.attrs["fast"]) == ("slow", "fast")
    assert found["more_s"].sum() == pytest.approx(found.attrs["total_s"])
    row = found.set_index("part").loc["eval"]
    assert (row["slow_count"], row["fast_count"]) == (50, 30)
    assert (row["slow_each_s"], row["fast_each_s"]) == (11.0, 4.0)
    assert row["by_count_s"] == pytest.approx(20 * 7.5)
    assert row["by_each_s"] == pytest.approx(7 * 40)
    assert row["by_count_s"] + row["by_each_s"] == pytest.approx(row["more_s"])
    assert found["part"].iloc[0] == "eval"
    assert np.isnan(found.set_index("part").loc[UNATTRIBUTED, "by_each_s"])


def test_one_level_has_no_difference():
    config = grid(task=["a"], seed=[0, 1])
    t = timing(collection_of(config, [1.0, 2.0]))
    assert len(differences.difference(t, fields_of(config)["task"])) == 0


@pytest.mark.parametrize(
    ("slow", "fast", "said"),
    [
        (64, 32, "A run of size 64 takes "),
        ("true", "false", "A run of size true takes "),
        ("1e-3", "x", "A run of size 1e-3 takes "),
        ("large", "small", "A run of large takes "),
    ],
)
def test_runs_of_a_number_are_called_by_their_setting(slow, fast, said):
    rows = [(run, "train", seconds, 1) for run, seconds in enumerate((90.0, 90.0, 40.0, 40.0))]
    runs = runs_of({"size": [slow, slow, fast, fast]}, [100.0, 100.0, 50.0, 50.0], rows)
    text = str(answer(runs))
    assert text.startswith(said)
    assert "runs as often in both (1 time a run)" in text
