"""The verdict is a family-wise test: it must not find effects in noise, and must find real ones."""

import numpy as np
import pandas as pd
import pytest
from conftest import fields_of, grid
from scipy import stats

from traincost.analysis import effects, fields, verdicts
from traincost.analysis.designs import Units
from traincost.analysis.verdicts import CHANCE, DEPENDS, GOES_WITH, HELD, NO_VARIATION, TOO_FEW, family_wise

CLEARS = {DEPENDS, GOES_WITH, HELD}


def noise_config(rng, n):
    """Return `n` settings of 5 factors of 2-8 levels, a continuous one and an aliased one."""
    config = pd.DataFrame(
        {f"f{k}": rng.integers(0, k, n).astype(str) for k in (2, 3, 4, 6, 8)} | {"lr": rng.random(n)}
    )
    config["aliased"] = config["f6"].map(lambda level: str(int(level) % 2))
    return config


def verdicts_of(config, log_runtime, n_permutations=999):
    """Return the verdict of each factor, by name."""
    factors = fields.factors(fields_of(config).values())
    units = Units.of(factors, np.exp(log_runtime))
    return family_wise(units.at(factors), units.mean_log, n_permutations).set_index("factor")["verdict"]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("n", [16, 36, 100])
def test_noise_is_rarely_taken_for_an_effect(n, seeds):
    rng = np.random.default_rng(1000 * n + seeds)
    wrong = 0
    for _ in range(400):
        config = noise_config(rng, n if seeds == 1 else n // 3)
        # A configuration's runs share its noise in full: the hardest case for a test on runs.
        log_runtime = np.repeat(rng.normal(0, 0.5, len(config)), seeds)
        log_runtime = log_runtime + rng.normal(0, 0.05, len(log_runtime)) * (seeds > 1)
        config = config.loc[config.index.repeat(seeds)].reset_index(drop=True)
        config["seed"] = np.tile(np.arange(seeds), len(config) // seeds)
        wrong += verdicts_of(config, log_runtime).isin(CLEARS).any()
    assert wrong <= 0.08 * 400


@pytest.mark.slow
def test_a_doubling_by_a_second_factor_is_found():
    rng = np.random.default_rng(5)
    config = grid(task=list("abcdef"), loss=list("xyz"), amp=["off", "on"])
    found = 0
    for _ in range(100):
        effect = rng.normal(0, 1.0, 6)[config["task"].map(ord) - ord("a")]
        effect = effect + np.log(2) * (config["amp"] == "on") + rng.normal(0, 0.5, len(config))
        found += verdicts_of(config, effect)["amp"] in CLEARS
    assert found >= 50


def test_replicates_do_not_multiply_the_evidence():
    # One factor, no effect: configurations differ, their seeds hardly. A test on runs would
    # see 36 independent runs and find the factor in most such collections.
    rng = np.random.default_rng(7)
    config = grid(task=list("abc"), lr=["1", "2", "3", "4"], seed=[0, 1, 2])
    wrong_on_runs = wrong = 0
    for _ in range(60):
        log_runtime = np.repeat(rng.normal(0, 0.5, 12), 3) + rng.normal(0, 0.01, 36)
        wrong += verdicts_of(config, log_runtime, 499).isin(CLEARS).any()
        groups = [log_runtime[config["task"] == task] for task in "abc"]
        wrong_on_runs += stats.f_oneway(*groups).pvalue < 0.05
    assert wrong <= 0.15 * 60
    assert wrong_on_runs > 2 * wrong


def test_both_tests_clear():
    config = grid(task=list("abcd"), loss=list("xyz"), amp=["0", "1"])
    rng = np.random.default_rng(0)
    log_runtime = 2.0 * (config["task"] == "a") + rng.normal(0, 0.1, len(config))
    assert verdicts_of(config, log_runtime)["task"] == DEPENDS
    assert verdicts_of(config, log_runtime)["loss"] == CHANCE


def test_an_effect_hidden_by_another_is_found_once_held():
    config = grid(task=list("abcdef"), loss=list("xyz"), amp=["0", "1"])
    rng = np.random.default_rng(0)
    log_runtime = 1.5 * config["task"].map(ord) + 0.4 * (config["amp"] == "1") + rng.normal(0, 0.1, 36)
    assert verdicts_of(config, log_runtime)["amp"] == HELD


def test_an_entangled_factor_is_said_to_go_with_it():
    rng = np.random.default_rng(3)
    task = np.repeat(list("abcd"), 18)
    host = np.where(rng.random(72) < 0.12, np.roll(task, 18), task)  # nearly the same partition
    # A value of its own makes each run a configuration, so that both factors vary between them.
    config = pd.DataFrame({"task": task, "host": "h" + pd.Series(host), "lr": rng.random(72)})
    log_runtime = pd.Series(task).map(ord) + rng.normal(0, 0.2, 72)
    found = verdicts_of(config, log_runtime)
    assert found["task"] == DEPENDS
    assert found["host"] == GOES_WITH


def test_too_few_runs_to_reach_any_verdict():
    config = pd.DataFrame({"task": list("aabb"), "lr": list("xyxy")})
    assert set(verdicts_of(config, np.array([0.0, 0.1, 5.0, 5.1]))) == {TOO_FEW}


def test_equal_runtimes_leave_nothing_to_explain():
    config = grid(task=list("abc"), lr=["1", "2"])
    assert set(verdicts_of(config, np.full(6, np.log(7.3)))) == {NO_VARIATION}


def test_p_values_are_those_of_the_definition():
    # Recomputed the slow way: the same draws, scipy's F test for each of them.
    config = grid(task=list("abc"), lr=["1", "2"], amp=["u", "v"])
    y = np.random.default_rng(1).normal(0, 1, 12) + (config["task"] == "a")
    factors = fields.factors(fields_of(config[["task"]]).values())
    units = Units(np.arange(12), np.arange(12), np.exp(y.to_numpy()), y.to_numpy())
    result = family_wise(units.at(factors), y.to_numpy(), 199, seed=4)
    draws = np.tile(y - y.mean(), (199, 1))
    draws = np.random.default_rng(4).permuted(draws, axis=1)
    groups = [np.flatnonzero(config["task"] == task) for task in "abc"]
    tails = [stats.f_oneway(*(draw[g] for g in groups)).pvalue for draw in draws]
    observed = stats.f_oneway(*(y.to_numpy()[g] for g in groups)).pvalue
    expected = (1 + sum(t <= observed * (1 + verdicts.TIE) for t in tails)) / 200
    assert result["p_alone"].iloc[0] == pytest.approx(expected, abs=1e-12)


def test_the_same_seed_gives_the_same_p():
    config = noise_config(np.random.default_rng(2), 24)
    response, described = np.exp(np.random.default_rng(3).normal(0, 1, 24)), fields_of(config).values()
    first, second = (effects.main_effects(response, described, n_permutations=499) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
