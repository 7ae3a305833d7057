"""What is left of a grid: which runs, how long, and until when."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, grid

from traincost.analysis import plan, remaining
from traincost.errors import NothingToReport, ParameterError
from traincost.results.runs import Runs

CONFIG = grid(task=list("abcd"), loss=list("xyz"), seed=[0, 1, 2])
SECONDS = 3600.0 * (1 + CONFIG["task"].map(ord).to_numpy() % 4)


def runs_with(done, at_work=(), failed=(), rng=None, so_far_s=600.0, config=CONFIG, n_at_once=2):
    """Return the runs of a grid of which some are done, at work or failed (row numbers)."""
    rng = rng or np.random.default_rng(0)
    seconds = SECONDS[: len(config)] * np.exp(rng.normal(0, 0.1, len(config)))
    collection = collection_of(config.iloc[list(done)].reset_index(drop=True), seconds[list(done)])
    starts = started(n_at_once, collection.runs["runtime_s"])
    others = [*at_work, *failed]
    excluded = config.iloc[others].add_prefix("config.").reset_index(drop=True)
    excluded = excluded.assign(
        run_id=[f"o{i}" for i in others],
        path="",
        started_at="",
        status=["running"] * len(at_work) + ["failed"] * len(failed),
        reason="",
        runtime_s=so_far_s,
    )
    runs = collection.runs.assign(started_at=starts)
    return Runs(dataclasses.replace(collection, runs=runs, excluded=excluded))


def started(n_at_once, seconds):
    """Return when runs started that took the first free place of so many."""
    free, starts = np.zeros(n_at_once), []
    for s in seconds:
        i = int(free.argmin())
        starts.append(free[i])
        free[i] += s
    return [f"{pd.Timestamp('2026-01-01') + pd.Timedelta(s, 's'):%Y-%m-%dT%H:%M:%S}+00:00" for s in starts]


def left(runs, at_once=None, **proposal):
    asked = {**plan.checked(proposal), "seeds": proposal.get("seeds")}
    return remaining.remaining(runs.frame, runs.described, runs.excluded, asked, at_once)


def test_runs_that_remain_are_those_missing_from_the_grid():
    runs = runs_with(range(30), at_work=[30, 31], failed=[32])
    found = left(runs)
    whole = found.frame.iloc[-1]
    assert (found.n_combinations, found.n_seeds) == (12, 3)
    assert (whole["n_before"], whole["n_at_work"], whole["n_to_run"]) == (30, 2, 4)
    cells = found.frame.set_index(["level.task", "level.loss"])
    assert cells.loc[("d", "y"), ["n_before", "n_at_work", "n_to_run"]].tolist() == [0, 2, 1]
    assert cells.loc[("d", "z"), ["n_before", "n_at_work", "n_to_run"]].tolist() == [0, 0, 3]
    assert len(found.frame) == 3


def test_a_running_run_counts_with_what_is_left():
    def hours(so_far_s):
        return left(runs_with(range(35), at_work=[35], so_far_s=so_far_s)).frame["hours"].iloc[-1]

    expected = SECONDS[35] / 3600
    assert hours(0.0) == pytest.approx(expected, rel=0.15)
    assert hours(1800.0) == pytest.approx(hours(0.0) - 0.5, rel=0.05)
    late = left(runs_with(range(35), at_work=[35], so_far_s=1e6))
    assert late.n_overdue == 1
    assert late.frame["hours"].iloc[-1] == 0


def test_a_run_started_again_is_at_work_once():
    runs = runs_with(range(34), at_work=[33, 34, 34])
    assert left(runs).frame["n_at_work"].iloc[-1] == 1


def test_seeds_that_no_two_combinations_share_are_counted():
    config = CONFIG.assign(seed=np.arange(36) * 7)
    found = left(runs_with(range(34), config=config))
    assert found.n_seeds == 3
    assert found.frame["n_to_run"].iloc[-1] == 2


def test_repeats_that_no_setting_names_are_counted_as_most_are():
    config = pd.concat([CONFIG.drop(columns="seed"), CONFIG.drop(columns="seed").head(1)])
    found = left(runs_with(range(36), config=config.head(36)))
    assert found.n_seeds == 3
    assert found.frame["n_to_run"].iloc[-1] == 0


def test_levels_and_seeds_limit_the_grid():
    runs = runs_with(range(24))
    assert left(runs, seeds=5).frame["n_to_run"].iloc[-1] == 9 * 5 - 24
    assert left(runs, levels={"task": ["a"]}).frame["n_to_run"].iloc[-1] == 0
    assert left(runs, levels={"task": ["a"]}, seeds=4).frame["n_to_run"].iloc[-1] == 3


def test_levels_of_no_completed_run_are_counted_apart():
    found = left(runs_with(range(27), at_work=[27, 28]))
    assert found.n_combinations == 9
    assert found.n_unknown == 2


def test_as_many_run_at_once_as_did():
    for n in (1, 2, 5):
        found = left(runs_with(range(24), n_at_once=n), seeds=4)
        assert found.at_once == n
        middle, low, high = found.wall_hours
        assert low < middle < high
        assert middle >= 0.95 * found.frame["hours"].iloc[-1] / n
    assert left(runs_with(range(24)), at_once=4, seeds=4).at_once == 4


def test_without_starts_the_end_is_not_known():
    runs = runs_with(range(24))
    bare = dataclasses.replace(
        runs, collection=dataclasses.replace(runs.collection, runs=runs.frame.assign(started_at=""))
    )
    found = left(bare, seeds=4)
    assert found.at_once is None
    assert np.isnan(found.wall_hours).all()
    assert np.isfinite(left(bare, at_once=2, seeds=4).wall_hours).all()


def test_a_random_search_is_no_grid():
    rng = np.random.default_rng(1)
    config = pd.DataFrame({"lr": rng.uniform(0, 1, 36), "task": list("ab") * 18})
    with pytest.raises(NothingToReport, match="are no grid: lr takes 36 values"):
        left(runs_with(range(36), config=config))


@pytest.mark.parametrize("at_once", [0, -1, 1.5, True])
def test_so_many_at_once_must_be_a_whole_number(at_once):
    with pytest.raises(ParameterError, match="`at_once` must be a whole number above zero"):
        left(runs_with(range(30)), at_once=at_once)


@pytest.mark.slow
def test_what_remains_takes_as_long_as_said():
    """Hours and the time of the end, against the same grid run to its end."""
    rng, held, ended, n = np.random.default_rng(2), 0, 0, 300
    for _ in range(n):
        together = np.exp(rng.normal(0, 0.2, 12)).repeat(3)
        whole = SECONDS * together * np.exp(rng.normal(0, 0.1, 36))
        order = np.random.default_rng(3).permutation(36)
        done, rest = order[:26], order[26:]
        collection = collection_of(CONFIG.iloc[done].reset_index(drop=True), whole[done])
        found = left(Runs(collection), at_once=2, seeds=3)
        row = found.frame.iloc[-1]
        held += row["low"] <= whole[rest].sum() / 3600 <= row["high"]
        # In the order of the grid, each in the first free place.
        loads = np.zeros(2)
        for i in np.sort(rest):
            loads[loads.argmin()] += whole[i] / 3600
        ended += found.wall_hours[1] <= loads.max() <= found.wall_hours[2]
    assert 0.86 <= held / n <= 0.95
    assert 0.86 <= ended / n <= 0.95
