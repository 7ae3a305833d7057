"""Sentences are true of the numbers, and say what cannot be said."""

import re

import numpy as np
import pandas as pd
from conftest import collection_of, grid

from traincost.analysis import effects, fields, knobs, sections
from traincost.columns import HOURS
from traincost.results import findings


def said(sentences):
    return " ".join(sentence.plain() for sentence in sentences)


def dependence(config, runtime, **options):
    made = collection_of(config, runtime)
    table = effects.main_effects(made, n_permutations=499, **options)
    return said(findings.dependence(table, effects.interactions(made), fields.describe(made.runs)))


def test_noise_is_called_chance():
    rng = np.random.default_rng(1)
    config = grid(a=list("xyz"), b=list("pqr"), c=["1", "2"])
    text = dependence(config, np.exp(rng.normal(0, 0.3, 18)))
    assert "No factor's effect on runtime can be distinguished from chance." in text
    assert "depends" not in text


def test_a_direction_is_said_of_a_numeric_factor():
    rng = np.random.default_rng(0)
    lr = rng.random(30)
    text = dependence(pd.DataFrame({"lr": lr}), np.exp(-2 * lr + rng.normal(0, 0.1, 30)))
    assert "Runtime depends on lr" in text
    assert "Runtime falls with lr (Spearman ρ -0.9" in text


def test_an_interaction_test_that_only_hours_allow_says_nothing():
    config = pd.DataFrame({"a": list("xxyyzz"), "b": list("pqpqpq")})
    table = effects.interactions(collection_of(config, np.array([1.0, 2, 4, 2, 1, 1])))
    assert list(table["scale"]) == ["hours"]
    assert findings.interaction(table) == []


def test_repetitions_are_said_to_be_no_evidence_only_where_there_are_some():
    config = grid(a=list("xyz"), b=list("pq"), seed=[0, 1, 2])
    rng = np.random.default_rng(0)
    runtime = np.exp(rng.normal(0, 0.3, 18))
    assert "6 configurations are repeated over seed" in dependence(config, runtime)
    single = grid(a=list("xyz"), b=list("pq"))
    single["seed"] = range(6)
    assert "repeated" not in dependence(single, runtime[:6])


def test_long_lists_of_factors_are_cut_with_a_count():
    rng = np.random.default_rng(0)
    config = pd.DataFrame({f"f{i}": rng.integers(0, 2, 60).astype(str) for i in range(12)})
    text = dependence(config, np.exp(rng.normal(0, 0.3, 60)))
    assert re.search(r"and \d others cannot be told from chance", text)


def test_the_largest_part_may_be_what_a_section_leaves_untimed():
    rows = [(0, "epoch", 95.0, 2), (0, "epoch/train", 20.0, 2), (0, "epoch/log", 1e-4, 2)]
    made = collection_of({"a": ["x"]}, [100.0], rows)
    text = said(findings.where_time_goes(sections.shares(made), sections.composition(made)))
    assert text.startswith("The largest part of a run is epoch, inside but untimed: 75.00 % of its runtime")
    assert "epoch/train with 20.00 %" in text


def test_tiny_sections_are_not_called_none():
    made = collection_of({"a": ["x"]}, [100.0], [(0, "setup", 1e-4, 1)])
    text = said(findings.where_time_goes(sections.shares(made), sections.composition(made)))
    assert "setup" in text
    assert "100.00 % of the runtime is unattributed" in text


def test_a_larger_unattributed_rest_is_said_beside_the_largest_section():
    made = collection_of({"a": ["x"]}, [100.0], [(0, "eval", 40.0, 1)])
    text = said(findings.where_time_goes(sections.shares(made), sections.composition(made)))
    assert "The largest part of a run that any section timed is eval: 40.00 %" in text
    assert "more than that is unattributed" in text


def test_hours_of_runs_left_out_are_said():
    excluded = pd.DataFrame(
        {"status": ["failed", "failed", "running"], "runtime_s": [3600.0, np.nan, 1800.0]}
    )
    text = said(findings.excluded(excluded, HOURS))
    assert text == "left out: 3 (2 failed and 1 running); 1.50 h of runtime that no statistic here includes"


def test_keys_of_numbers_cannot_run_into_each_other():
    from traincost.results.findings.numbers import key

    assert key("level", "a.b", "c") != key("level", "a", "b.c")
    assert len(key("level", "x" * 10_000)) < 200
    assert key("level", "x" * 10_000) != key("level", "x" * 10_001)


def summary(config, runtime, rows=(), excluded=(), saved=None):
    made = collection_of(config, runtime, rows)
    table = effects.main_effects(made, n_permutations=199)
    whole, bounds = sections.composition(made), knobs.bounds(made)
    left_out = pd.DataFrame({"status": list(excluded)})
    measured = [{"knob": "eval", "measured": saved, "low": 0.29, "high": 0.33, "n_configurations": 12}]
    measured = pd.DataFrame(measured if saved else [], columns=list(measured[0]))
    return findings.summary(made.runs["runtime_s"], HOURS, table, whole, bounds, left_out, measured)


def test_a_summary_is_at_most_five_true_sentences():
    rng = np.random.default_rng(0)
    config = grid(task=list("abcd"), lr=["1", "2", "3"])
    runtime = 3600 * np.exp((config["task"] == "a") * 2.0 + rng.normal(0, 0.1, 12))
    rows = [(i, "eval", 0.4 * t, 10) for i, t in enumerate(runtime)]
    found = summary(config, runtime, rows, ["failed"])
    assert len(found) == 5
    text = said(found)
    assert text.startswith(f"12 runs took {HOURS.text(runtime.sum())} in all")
    assert "Runtime depends on task." in text
    assert (
        "The largest timed part of a run is eval, with 40.00 % of its runtime; 60.00 % was not timed" in text
    )
    possible = "possible saving is that of eval (run it once instead of each time): at most 36.00 % of a run"
    assert f"{possible}, if nothing else changes." in text
    assert text.endswith("1 run is left out of every statistic.")
    text = said(summary(config, runtime, rows, saved=0.312))
    assert (
        "changes; turned, it saved 31.2 % (29.0 % to 33.0 %) over 12 configurations that were run again."
        in text
    )


def test_a_summary_claims_nothing_where_there_is_nothing():
    found = summary(pd.DataFrame({"a": ["x"]}), [3600.0])
    assert said(found) == "1 run took 1.00 h in all, 1.00 h each on average."
    rng = np.random.default_rng(1)
    config = grid(a=list("xyz"), b=list("pqr"), c=["1", "2"])
    assert "can be told from chance" in said(summary(config, np.exp(rng.normal(8, 0.3, 18))))
