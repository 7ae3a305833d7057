"""What an answer says of effects is true of the numbers, and says what cannot be said."""

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
