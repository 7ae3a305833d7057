"""What an answer says of effects is true of the numbers, and says what cannot be said."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from conftest import grid, runs_of

import traincost as tc
from traincost.results.prose import key


def said(config, runtime):
    return str(tc.effects(runs_of(config, runtime)))


def test_noise_is_called_chance():
    rng = np.random.default_rng(1)
    config = grid(a=list("xyz"), b=list("pqr"), c=["1", "2"])
    text = said(config, np.exp(rng.normal(0, 0.3, 18)))
    assert "No setting's effect on runtime can be told from chance." in text
    assert "depends" not in text


def test_a_direction_is_said_of_a_numeric_factor():
    rng = np.random.default_rng(0)
    lr = rng.random(30)
    text = said(pd.DataFrame({"lr": lr}), np.exp(-2 * lr + rng.normal(0, 0.1, 30)))
    assert "Runtime depends on lr" in text
    assert "Runtime falls with lr (Spearman ρ −0.9" in text


def scored(config, score):
    """Return runs of an hour each with this score."""
    runs = runs_of(config, [3600.0] * len(config))
    frame = runs.frame.assign(**{"score.acc": score})
    return dataclasses.replace(runs, collection=dataclasses.replace(runs.collection, runs=frame))


def test_a_score_with_an_optimum_is_not_called_steady():
    rng = np.random.default_rng(0)
    config = grid(lr=[1e-4, 1e-3, 1e-2], arch=list("ab"), seed=[0, 1, 2, 3])
    best = config["lr"].map({1e-4: 0.85, 1e-3: 0.88, 1e-2: 0.82}) + rng.normal(0, 0.002, len(config))
    text = str(tc.effects(scored(config, best), "acc"))
    assert "0.001 has 0.05" in text
    assert "is highest near lr = 0.001, and lower on either side" in text
    assert "doubling it" not in text
    assert "rises with lr" not in text
    drawn = pd.DataFrame({"lr": 10 ** rng.uniform(-4, -2, 40)})
    best = 0.9 - 0.1 * (np.log10(drawn["lr"]) + 3) ** 2 + rng.normal(0, 0.004, 40)
    text = str(tc.effects(scored(drawn, best), "acc"))
    assert re.search(r"is highest near lr = 0\.00(1|09|08)\d*, and lower on either side", text)
    assert "doubling it" not in text


def test_an_effect_without_a_steady_trend_says_so():
    rng = np.random.default_rng(0)
    config = grid(width=[8, 16, 32, 64, 128], arch=list("ab"), seed=[0, 1, 2, 3])
    factor = config["width"].map({8: 1.0, 16: 2.0, 32: 1.0, 64: 2.0, 128: 1.0})
    text = said(config, 60 * factor * rng.lognormal(0, 0.4, len(config)))
    assert re.search(r"Runtime depends on width: no steady trend, doubling it goes with \S\d", text)


def test_a_steady_trend_that_levels_off_does_not_turn():
    turned = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = 2 ** rng.uniform(3, 10, 40)
        runs = runs_of(pd.DataFrame({"width": x}), 100 * (1 - np.exp(-x / 60)) * rng.lognormal(0, 0.1, 40))
        turned += list(runs.examined.turns["factor"])
    assert len(turned) <= 2 + 2 * np.sqrt(2)  # at 5 %, of a true straight line


def test_an_interaction_that_only_hours_allow_says_nothing():
    config = pd.DataFrame({"a": list("xxyyzz"), "b": list("pqpqpq")})
    answer = tc.effects(runs_of(config, [1.0, 2, 4, 2, 1, 1]))
    assert list(answer.tables["interactions"].frame["scale"]) == ["hours"]
    assert "interact" not in str(answer)


def test_repetitions_are_no_evidence_and_this_is_said():
    config = grid(a=list("xyz"), b=list("pq"), seed=[0, 1, 2])
    rng = np.random.default_rng(0)
    runtime = np.exp(rng.normal(0, 0.3, 18))
    assert "6 configurations are repeated over seed" in said(config, runtime)
    single = grid(a=list("xyz"), b=list("pq"))
    single["seed"] = range(6)
    assert "repeated" not in said(single, runtime[:6])


def test_only_configurations_with_several_runs_are_repeated():
    config = grid(a=list("xyz"), b=list("pqr"), c=["1", "2"])
    config = pd.concat([config, config.head(5)], ignore_index=True)
    rng = np.random.default_rng(0)
    text = said(config, np.exp(rng.normal(0, 0.3, len(config))))
    assert "5 of 18 configurations are repeated; " in text


def test_what_is_repeated_beside_values_drawn_at_random_is_named():
    rng = np.random.default_rng(0)
    config = pd.DataFrame({"width": np.tile([32, 64, 128, 256], 10), "lr": rng.random(40)})
    text = said(config, config["width"] * np.exp(rng.normal(0, 0.05, 40)))
    assert "4 configurations of width are repeated; " in text


def test_what_goes_with_another_setting_is_no_chance():
    rng = np.random.default_rng(0)
    config = pd.DataFrame({"task": list("aabb") * 6, "host": list("mmnn") * 6, "lr": ["1", "2"] * 12})
    runtime = np.where(config["task"] == "a", 10.0, 20.0) * np.exp(rng.normal(0, 0.05, 24))
    text = said(config, runtime)
    assert "Runtime goes with task = host" in text
    assert "No setting's effect" not in text


def test_long_lists_of_factors_are_cut_with_a_count():
    rng = np.random.default_rng(0)
    config = pd.DataFrame({f"f{i}": rng.integers(0, 2, 60).astype(str) for i in range(12)})
    text = said(config, np.exp(rng.normal(0, 0.3, 60)))
    assert re.search(r"and \d others cannot be told from chance", text)


@pytest.mark.parametrize(
    ("config", "runtime", "text"),
    [
        ({"a": ["x", "x"]}, [1.0, 2.0], "No setting varies between the runs, so runtime cannot be related"),
        ({"a": list("xxyy"), "b": list("pqpq")}, [2.0] * 4, "All runs took the same time"),
        ({"a": list("xxy")}, [1.0, 2, 3], "There are too few runs to tell"),
        ({"name": list("abcd"), "seed": [1, 1, 2, 2]}, [1.0, 2, 3, 4], "either repeats a configuration or"),
    ],
)
def test_what_cannot_be_said_is_said_to_be_so(config, runtime, text):
    assert text in said(config, runtime)


def test_keys_of_numbers_cannot_run_into_each_other():
    assert key("level", "a.b", "c") != key("level", "a", "b.c")
    assert len(key("level", "x" * 10_000)) < 200
    assert key("level", "x" * 10_000) != key("level", "x" * 10_001)
