"""How long runs take by the levels of two settings."""

import numpy as np
import pytest
from conftest import grid, runs_of

import traincost as tc


@pytest.fixture(scope="module")
def runs():
    config = grid(task=["a", "b", "c"], lr=["1", "2"], seed=[0, 1])
    config = config[~((config["task"] == "c") & (config["lr"] == "2"))].reset_index(drop=True)
    return runs_of(config, 3600.0 * np.arange(1, 11), rows="task", columns="lr")


def test_levels_are_means_of_their_runs_slowest_first(runs):
    answer = tc.levels(runs)
    means = runs.frame.groupby("config.task")["runtime_s"].mean().sort_values(ascending=False)
    assert list(answer.frame["level"]) == list(means.index)
    assert list(answer.frame["mean_s"]) == list(means)
    across = answer.tables["levels-across"].frame.set_index("level")
    assert across.loc["2", "n_runs"] == 4


def test_the_caption_names_the_slowest_cell_and_counts_empty_ones(runs):
    caption = tc.levels(runs).figures["cells"].caption
    assert "slowest is c, 1 at 9.5 h" in caption.plain()
    assert "1 of 6 cells hold no run." in caption.plain()


def test_rows_lead_to_their_runs(runs):
    origins = tc.levels(runs).tables["levels"].origin_of_rows()
    assert [origin.runs for origin in origins] == [
        ("r8", "r9"), ("r4", "r5", "r6", "r7"), ("r0", "r1", "r2", "r3"),
    ]  # fmt: skip
    assert origins[0].filter == "completed runs where task = c"


def test_one_setting_has_no_levels_across():
    answer = tc.levels(runs_of({"a": list("xxyy")}, [1.0, 2, 3, 4]))
    assert set(answer.tables) == {"levels"}
    assert set(answer.figures) == {"levels"}


def test_many_levels_are_cut_with_a_count_in_the_legend():
    answer = tc.levels(runs_of({"a": [f"v{i // 2}" for i in range(60)]}, np.arange(1.0, 61)))
    assert (None, "the first 24 of 30 levels") in answer.figures["levels"].drawing().legend
    assert len(answer.frame) == 30
