"""Threats to the reading of effects: each is found where it is, and a clean collection is quiet."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from conftest import HOSTILE, ROOT, grid, record, runs_of, write_run

import traincost as tc
from traincost.analysis import fields
from traincost.analysis import threats as analysis

SETTINGS = {"task": list("abcd"), "lr": [1, 2, 3], "seed": [0, 1, 2]}
EPOCH = pd.Timestamp("2026-01-01T00:00:00Z")


def moments(started_s):
    """Return seconds as ISO 8601, with milliseconds as several tools write them."""
    return [(EPOCH + pd.Timedelta(seconds=float(s))).isoformat(timespec="milliseconds") for s in started_s]


def made(config, runtime_s, started_s=None, out=(), **choices):
    """Return runs that started when told; `out` are (status, reason, runtime_s, config) of others."""
    runs = runs_of(config, runtime_s, rows="", **choices)
    if started_s is not None:
        runs.frame["started_at"] = moments(started_s)
    rows = [
        {"run_id": f"x{i}", "path": f"x{i}/run.json", "status": status, "reason": reason, "runtime_s": s}
        | {f"config.{name}": value for name, value in own.items()}
        for i, (status, reason, s, own) in enumerate(out)
    ]
    excluded = pd.DataFrame(rows) if rows else runs.excluded
    return dataclasses.replace(runs, collection=dataclasses.replace(runs.collection, excluded=excluded))


def one_after_another(runtime_s, order):
    """Return when each run started, on one machine, in an order."""
    started_s = np.empty(len(order))
    started_s[order] = np.concatenate([[0.0], np.cumsum(runtime_s[order] + 5.0)[:-1]])
    return started_s


def clean(rng, sd=0.3):
    """Return a grid that was run one after another in a shuffled order, unrelated to runtime."""
    config = grid(**SETTINGS)
    runtime_s = 100.0 * rng.lognormal(0, sd, len(config))
    return made(config, runtime_s, one_after_another(runtime_s, rng.permutation(len(config))))


def test_a_clean_grid_says_nothing():
    answer = tc.threats(clean(np.random.default_rng(0)))
    assert str(answer) == ""
    assert not len(answer.frame)


@pytest.mark.slow
def test_clean_collections_are_quiet_in_nineteen_of_twenty():
    found = [tc.threats(clean(np.random.default_rng(seed), 0.02 + 0.01 * (seed % 40))) for seed in range(300)]
    for threat in ("start order", "time limit", "not completed", "overlap", "missing", "drawn at random"):
        assert sum(threat in set(answer.frame["threat"]) for answer in found) <= 0.05 * len(found), threat


# -- order ---------------------------------------------------------------------------------


def test_the_setting_of_the_outer_loop_goes_with_the_order():
    config = grid(**SETTINGS)
    runtime_s = np.full(len(config), 100.0)
    answer = tc.threats(made(config, runtime_s, one_after_another(runtime_s, np.arange(len(config)))))
    assert list(answer.frame["setting"]) == ["task"]
    assert answer.frame["value"].iloc[0] == pytest.approx(0.94, abs=0.01)
    assert "task explains" in str(answer)
    assert "of the order in which the runs started" in str(answer)


def test_the_demo_ran_task_by_task():
    answer = tc.threats(tc.read(ROOT / "notebooks" / "runs" / "demo-sweep"))
    assert "task_name explains 97.3 % of the variance of the order in which the runs started" in str(answer)


@pytest.mark.parametrize("started_s", [None, np.zeros(36), np.repeat(np.arange(18), 2) * 1e3, np.arange(36)])
def test_starts_that_tell_no_order_say_none(started_s):
    config = grid(**SETTINGS)
    answer = tc.threats(made(config, np.full(36, 100.0), started_s))
    assert "start order" not in set(answer.frame["threat"])


# -- a time limit --------------------------------------------------------------------------


def limited(rng, limit_s=130.0):
    config = grid(**SETTINGS)
    runtime_s = 100.0 * rng.lognormal(0, 0.3, len(config)) * np.where(config["task"] == "d", 2.0, 1.0)
    return config, np.where(runtime_s > limit_s, limit_s * (1 + 0.001 * rng.random(len(config))), runtime_s)


def test_runs_ended_by_a_time_limit_are_counted_by_level():
    config, runtime_s = limited(np.random.default_rng(3))
    n = int((runtime_s >= 130).sum())
    answer = tc.threats(made(config, runtime_s))
    assert f"{n} of 36 runs end within 0.5 % of the longest time" in str(answer)
    assert "; of task = d it is" in str(answer)


def test_killed_runs_at_the_limit_count_too():
    config, runtime_s = limited(np.random.default_rng(3))
    capped = runtime_s >= 130
    out = [
        ("killed", "timeout", s, dict(c))
        for s, (_, c) in zip(runtime_s[capped], config[capped].iterrows(), strict=True)
    ]
    answer = tc.threats(made(config[~capped].reset_index(drop=True), runtime_s[~capped], out=out))
    assert f"({capped.sum()} did not complete)" in str(answer)


@pytest.mark.parametrize("sd", [0.0, 1e-4, 0.002, 0.01])
def test_runs_that_are_alike_by_configuration_end_at_no_limit(sd):
    rng, config = np.random.default_rng(1), grid(**SETTINGS)
    base_s = 100.0 * (1 + config["task"].map({"a": 0, "b": 1, "c": 2, "d": 3}))
    runtime_s = base_s.to_numpy() * rng.lognormal(0, sd, len(config))
    assert "time limit" not in set(tc.threats(made(config, runtime_s)).frame["threat"])


@pytest.mark.slow
def test_a_limit_is_found_and_no_other():
    found, false = 0, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found += "time limit" in set(tc.threats(made(*limited(rng))).frame["threat"])
        shapes = (
            rng.lognormal(0, 0.5, 60),
            rng.gamma(2, 1, 60),
            rng.uniform(1, 2, 60),
            10 + rng.normal(0, 0.1, 60),
        )
        config = {"x": rng.integers(0, 4, 60), "y": rng.random(60)}
        false += "time limit" in set(tc.threats(made(config, shapes[seed % 4])).frame["threat"])
    assert found >= 90
    assert false <= 5


# -- endings and missing cells -------------------------------------------------------------


def test_failures_of_one_level_are_named():
    config = grid(**SETTINGS)
    fails = (config["lr"] == 3) & (config["seed"] > 0)
    out = [("failed", "status is failed", 10.0, dict(c)) for _, c in config[fails].iterrows()]
    answer = tc.threats(
        made(config[~fails].reset_index(drop=True), np.linspace(50, 99, (~fails).sum()), out=out)
    )
    assert "of lr = 3 it is 8 of 12 runs, of the others 0 of 24" in str(answer)


def failing(rng, by_configuration):
    config = grid(task=list("abcd"), lr=[1, 2, 3, 4], seed=[0, 1, 2])
    of_runs = rng.random(len(config)) < 0.3
    fails = np.repeat(rng.random(16) < 0.3, 3) if by_configuration else of_runs
    described = fields.describe(config.add_prefix("config."), ["seed"])
    return fails, described


@pytest.mark.slow
@pytest.mark.parametrize("by_configuration", [False, True])
def test_endings_without_a_pattern_are_blamed_on_no_setting(by_configuration):
    rng = np.random.default_rng(0)
    found = [len(analysis.by_level(*failing(rng, by_configuration))) > 0 for _ in range(200)]
    assert np.mean(found) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


def test_missing_cells_of_a_grid_are_named():
    config = grid(**SETTINGS)
    gone = (config["task"] == "c") & (config["lr"] == 2)
    failed = (config["task"] == "d") & (config["lr"] == 1)
    out = [("failed", "status is failed", 10.0, dict(c)) for _, c in config[failed].iterrows()]
    kept = config[~gone & ~failed].reset_index(drop=True)
    answer = tc.threats(made(kept, np.linspace(50, 99, len(kept)), out=out))
    assert "Of the 12 combinations of task and lr, 2 have no completed run (1 tried)" in str(answer)
    assert "task = c with lr = 2 and task = d with lr = 1" in str(answer)


def test_a_nested_setting_is_no_axis_of_a_grid():
    config = grid(arch=list("abcd"), lr=[1, 2], seed=[0, 1])
    config["family"] = config["arch"].map({"a": "x", "b": "x", "c": "y", "d": "y"})
    assert "missing" not in set(tc.threats(made(config, np.linspace(50, 99, len(config)))).frame["threat"])


def test_a_setting_of_one_level_is_no_grid_axis():
    config = grid(optimizer=["adam", "sgd"], lr=[1, 2], momentum=[0.9, 0.99, np.nan], seed=[0, 1])
    config.loc[config["optimizer"] == "adam", "momentum"] = np.nan
    assert "missing" not in set(tc.threats(made(config, np.linspace(50, 99, len(config)))).frame["threat"])


def test_pruned_runs_are_said_to_be_chosen_by_their_score():
    out = [("failed", "status is PRUNED", 10.0, {"task": "a"})] * 2
    answer = tc.threats(made(grid(**SETTINGS), np.linspace(50, 99, 36), out=out))
    assert "2 runs were pruned" in str(answer)


def test_resumed_records_are_named(tmp_path):
    for i in range(3):
        write_run(tmp_path / f"r{i}", record(f"r{i}", runtime_s=10.0 + i, config={"lr": i}))
    write_run(tmp_path / "r1", record("r1", runtime_s=11.5, config={"lr": 1}, legs=2))
    assert "1 run was resumed (r1)" in str(tc.threats(tc.read(tmp_path)))


# -- overlap -------------------------------------------------------------------------------


def pooled(rng, slots):
    """Return runs of a pool of workers, which do not slow each other down and idle at times."""
    config = grid(**SETTINGS)
    runtime_s = 100.0 * rng.lognormal(0, 0.2, len(config))
    free, started_s = np.zeros(slots), np.empty(len(config))
    for i in rng.permutation(len(config)):
        slot = free.argmin()
        started_s[i] = free[slot] + 150.0 * (rng.random() < 0.3)
        free[slot] = started_s[i] + runtime_s[i]
    return made(config, runtime_s, started_s)


def test_runs_that_slow_each_other_down_are_seen():
    rng, config = np.random.default_rng(0), grid(**SETTINGS)
    four_at_once = rng.permutation(36) < 16
    runtime_s = 100.0 * rng.lognormal(0, 0.1, 36) * np.where(four_at_once, 1.5, 1.0)
    started_s = np.empty(36)
    started_s[four_at_once] = np.repeat(np.arange(4) * 300.0, 4)
    started_s[~four_at_once] = 2_000.0 + 300.0 * np.arange(20)
    text = str(tc.threats(made(config, runtime_s, started_s)))
    assert "Runs overlapped on machines that are not recorded" in text
    assert "up to 4 at once, and runs took longer where more were at work" in text
    assert "with the settings held" in text


def test_runs_on_machines_of_their_own_do_not_overlap():
    config = pd.DataFrame({"host": list("ab") * 10, "lr": np.repeat([1, 2], 10)})
    runs = made(config, np.full(20, 100.0), np.repeat(np.arange(10) * 110.0, 2))
    assert "overlap" not in set(tc.threats(runs).frame["threat"])
    together = made(config.assign(host="a"), np.full(20, 100.0), np.repeat(np.arange(10) * 110.0, 2))
    assert "Runs overlapped on one machine: in 100 % of their time" in str(tc.threats(together))


def test_starts_in_whole_seconds_make_no_overlap():
    runtime_s = np.full(36, 3.9)
    started_s = np.floor(np.cumsum(runtime_s) - 3.9)
    assert "overlap" not in set(tc.threats(made(grid(**SETTINGS), runtime_s, started_s)).frame["threat"])


@pytest.mark.slow
@pytest.mark.parametrize("slots", [2, 4, 36])
def test_a_pool_without_slowing_is_rarely_called_overlap(slots):
    rng = np.random.default_rng(slots)
    p = [tc.threats(pooled(rng, slots)).frame.query("threat == 'overlap'")["p"].iloc[0] for _ in range(200)]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


# -- assignment ----------------------------------------------------------------------------


def searched(rng, n=30, drift=False):
    lr = rng.random(n)
    config = pd.DataFrame(
        {"lr": np.sort(lr) if drift else lr, "dropout": rng.random(n), "act": rng.choice(list("ab"), n)}
    )
    runtime_s = 100.0 * rng.lognormal(0, 0.3, n)
    return made(config, runtime_s, one_after_another(runtime_s, np.arange(n)))


def test_a_random_search_is_named_where_it_is_one():
    answer = tc.threats(searched(np.random.default_rng(2)))
    assert "Settings look drawn at random (lr: 30 values and dropout: 30 values in 30 configurations)" in str(
        answer
    )
    for other in (searched(np.random.default_rng(2), drift=True), clean(np.random.default_rng(0))):
        assert "drawn at random" not in set(tc.threats(other).frame["threat"])


def test_of_a_random_search_no_combination_is_missing():
    rng = np.random.default_rng(2)
    listed = pd.concat([grid(width=list("abcdef"), act=list("pqr")).iloc[2:]] * 2, ignore_index=True)
    listed = listed.sample(frac=1, random_state=0, ignore_index=True)
    drawn = pd.DataFrame({"lr": rng.random(len(listed)), "dropout": rng.random(len(listed))})
    runtime_s = 100.0 * rng.lognormal(0, 0.3, len(listed))
    starts = one_after_another(runtime_s, np.arange(len(listed)))
    threats = [
        set(tc.threats(made(config, runtime_s, starts)).frame["threat"])
        for config in (listed, pd.concat([drawn, listed], axis=1))
    ]
    assert "missing" in threats[0]
    assert "drawn at random" in threats[1]
    assert "missing" not in threats[1]


# -- bad input -----------------------------------------------------------------------------


def odd_starts():
    runs = made(grid(**SETTINGS), np.linspace(50, 99, 36))
    runs.frame["started_at"] = [
        "",
        "soon",
        "9999-99-99",
        "0001-01-01",
        "2026-01-01T00:00:00+00:00",
        "<b>",
    ] * 6
    return runs


BAD = {
    "one run": lambda: made({"a": ["x"]}, [1.0], [0.0]),
    "no settings": lambda: made(pd.DataFrame(index=range(5)), [1.0] * 5, range(5)),
    "all equal": lambda: made(grid(**SETTINGS), np.full(36, 5.0), np.zeros(36)),
    "odd starts": odd_starts,
    "many levels": lambda: made(
        {"id": np.arange(10_000) // 2, "x": np.arange(10_000) % 7}, np.ones(10_000), np.arange(10_000)
    ),
    "nothing known of the others": lambda: made(
        {"a": list("xy")}, [1.0, 2.0], out=[("failed", "", np.nan, {})]
    ),
    "all failed but two": lambda: made(
        {"a": list("xy")}, [1.0, 2.0], out=[("failed", "", 1.0, {"a": "z"})] * 30
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_takes_nothing_down(name):
    runs = BAD[name]()
    for answer in (tc.threats(runs), tc.threats(runs, "score")):
        json.dumps(answer.data(), allow_nan=False)
        assert answer.html() is not None


def test_hostile_names_and_levels_stay_text():
    config = grid(task=[HOSTILE, "b", "c"], lr=[1, 2, 3, 4], seed=[0, 1]).rename(columns={"lr": HOSTILE})
    fails = ((config["task"] == HOSTILE) & (config.index != 0)).to_numpy()
    out = [("failed", HOSTILE, 10.0, dict(c)) for _, c in config[fails].iterrows()]
    kept = config[~fails].reset_index(drop=True)
    runtime_s = np.full(len(kept), 100.0)
    answer = tc.threats(made(kept, runtime_s, one_after_another(runtime_s, np.arange(len(kept))), out=out))
    assert set(answer.frame["threat"]) == {"start order", "missing", "not completed"}
    assert HOSTILE.replace("\x00", "") not in answer.html().replace("\x00", "")
    assert "&lt;b&gt;" in answer.html()
