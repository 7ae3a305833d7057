"""A summary is at most five sentences, each of them true; what was read is counted beside it."""

import dataclasses

import numpy as np
import pandas as pd
from conftest import grid, runs_of

import traincost as tc
from traincost.printing import plain, time_text


def sweep(scale=1.0):
    rng = np.random.default_rng(0)
    config = grid(task=list("abcd"), lr=["1", "2", "3"])
    runtime_s = 36_000 * np.exp((config["task"] == "a") * 2.0 + rng.normal(0, 0.1, 12))
    rows = [(i, "eval", 0.4 * t, 10) for i, t in enumerate(runtime_s)]
    knobs = [{"name": "eval", "sections": ["eval"], "kind": "cadence", "change": "run it once"}]
    return runs_of(config, runtime_s * scale, rows).choosing(knobs=knobs)


def with_excluded(runs, **columns):
    columns = {"run_id": "z", "path": "z", "status": "failed", "reason": "it failed"} | columns
    collection = dataclasses.replace(runs.collection, excluded=pd.DataFrame(columns))
    return dataclasses.replace(runs, collection=collection)


def test_a_summary_is_at_most_five_true_sentences():
    runs = with_excluded(sweep(), runtime_s=[60.0])
    answer = tc.summary(runs)
    assert len(answer.sentences) == 5
    text = str(answer)
    assert text.startswith(f"12 completed runs took {plain(time_text(runs.runtime_s.sum()))} in all")
    assert "Runtime depends on task." in text
    part = "The largest timed part of a run is eval, with 40.0 % of its runtime; 60.0 % was not timed"
    assert part in text
    possible = "The largest possible saving is that of eval (run it once): at most 36.0 % of a run"
    assert f"{possible}, if nothing else changes." in text
    assert text.endswith("1 run is left out of every statistic, 1 min 0 s of run time.")


def test_a_summary_says_what_a_turned_knob_saved():
    runs = sweep()
    text = str(tc.summary(runs, tc.knobs(runs, {"eval": sweep(0.7)})))
    assert "changes; turned, it saved 30.0" in text
    assert "over 12 configurations that were run again." in text


def test_a_summary_claims_nothing_where_there_is_nothing():
    text = str(tc.summary(runs_of({"a": ["x"]}, [36_000.0])))
    assert text == "1 run took 10.0 h in all, 10.0 h each on average."
    rng = np.random.default_rng(1)
    config = grid(a=list("xyz"), b=list("pqr"), c=["1", "2"])
    assert "can be told from chance" in str(tc.summary(runs_of(config, np.exp(rng.normal(8, 0.3, 18)))))


def test_hours_of_runs_left_out_are_counted():
    runs = runs_of({"a": ["x"]}, [36_000.0])
    status = ["failed", "failed", "running"]
    text = str(with_excluded(runs, status=status, runtime_s=[3600.0, np.nan, 1800.0]))
    left_out = "left out: 3 (2 failed and 1 running); 1.5 h of runtime that no statistic here includes"
    assert left_out in text.splitlines()


def test_named_settings_stand_in_for_the_shortest_shared_ones():
    config = {"a": [1, 1], "batch": [8, 8], "lr": [0.1, 0.2]}
    assert "a=1 and batch=8" in str(runs_of(config, [1.0, 2.0]))
    chosen = str(runs_of(config, [1.0, 2.0], shared_settings=("batch",)))
    assert "batch=8" in chosen
    assert "a=1" not in chosen
