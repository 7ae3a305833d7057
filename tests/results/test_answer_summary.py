"""The answer is what a reader needs first, by rule; what was read is counted beside it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from conftest import grid, runs_of

import traincost as tc
from traincost.printing import plain


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


def finding(runs):
    return tc.summary(runs).sentences[0].plain()


def timed(shares, knobs=None, **choices):
    """Six runs of an hour with these shares of it, each section ten times."""
    rows = [(i, section, 3600 * x, 10) for i in range(6) for section, x in shares.items()]
    runs = runs_of({"task": list("aabbcc")}, [3600.0] * 6, rows)
    return runs.choosing(knobs=knobs or [{"name": "k", "sections": ["eval"], "kind": "share"}], **choices)


def test_the_answer_says_what_to_do_and_what_it_saves():
    runs = with_excluded(sweep(), runtime_s=[60.0])
    text = str(tc.summary(runs)).replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("60.0 % of the time was not timed\n")
    assert (
        "Run it once (eval: 10 times a run). That saves at most 36.0 % of a run, 114 h of 316 h in all."
        in text
    )
    assert (
        "Evaluation takes 40.0 % of a run; 60.0 % was not timed, so what it went into is not known." in text
    )
    assert "1 more run (1 min 0 s) is left out of every statistic." in text
    assert "316 h in all, 12 completed runs." in text


def test_the_answer_tells_savings_in_money_where_priced():
    text = str(tc.summary(sweep(), price_per_hour=2.0, devices=3)).replace("\N{NO-BREAK SPACE}", " ")
    assert "114 h of 316 h in all (683 USD)" in text


@pytest.mark.parametrize(
    ("shares", "headline"),
    [
        ({"eval": 0.5, "train": 0.3}, "Evaluation, not training, takes the time"),
        ({"eval": 0.4, "train": 0.5}, "Evaluation takes as much time as training"),
        ({"eval": 0.2, "train": 0.7}, "Training takes the time; evaluation is 20.0 % of it"),
        ({"eval": 0.05, "train": 0.9}, "Training takes the time, and no one setting saves more than 5.0 %"),
        ({"eval": 0.05, "work": 0.9}, "No one setting saves more than 5.0 %"),
        ({"eval": 0.7, "work": 0.2}, "Evaluation takes 70.0 % of the time"),
        ({"eval": 0.2, "train": 0.2}, "60.0 % of the time was not timed"),
    ],
)
def test_the_headline_follows_from_what_can_be_saved(shares, headline):
    assert finding(timed(shares)).replace("\N{NO-BREAK SPACE}", " ") == headline


def long_and_short():
    """Five short runs that train, and a long one that is evaluated."""
    rows = [(i, "train", 60.0, 1) for i in range(5)] + [(i, "eval", 30.0, 10) for i in range(5)]
    rows += [(5, "train", 100.0, 1), (5, "eval", 800.0, 10)]
    runs = runs_of({"task": list("aabbcc")}, [*[100.0] * 5, 1000.0], rows)
    return runs.choosing(knobs=[{"name": "k", "sections": ["eval"], "kind": "share"}])


def test_hours_lead_where_the_mean_run_tells_otherwise():
    text = plain(str(tc.summary(long_and_short())))
    assert text.startswith("Evaluation, not training, takes the time\n")
    assert "Evaluation takes 38.3 % of a run, training 51.7 % (of all hours 63.3 % and 26.7 %)" in text
    said = plain(str(tc.shares(long_and_short())))
    assert "train is 51.7 % of a run and 26.7 % of all hours." in said
    assert "Of all hours, eval is the largest part, 63.3 %: it is longer in the long runs." in said


def test_the_headline_takes_the_kind_that_is_asked_for():
    runs = timed({"eval": 0.5, "train": 0.3})
    runs = dataclasses.replace(runs, section_kinds={"eval": "data loading"})
    assert finding(runs) == "Data loading, not training, takes the time"


def test_a_knob_leads_by_hours_over_the_mean_run():
    rows = [(0, "load", 0.6 * 360_000, 1), (0, "eval", 0.1 * 360_000, 1)]
    for i in range(1, 6):
        rows += [(i, "load", 36.0, 1), (i, "eval", 0.5 * 3600, 1)]
    runs = runs_of({"task": list("aabbcc")}, [360_000.0, *[3600.0] * 5], rows)
    knobs = [{"name": k, "sections": [k], "kind": "share"} for k in ("load", "eval")]
    text = str(tc.summary(runs.choosing(knobs=knobs))).replace("\N{NO-BREAK SPACE}", " ")
    assert "Change load (load). That saves at most" in text
    assert "Of the average run, eval would save more, 43.3 %; over all hours together it saves less." in text


def test_the_answer_says_what_a_turned_knob_saved():
    runs = sweep()
    text = str(tc.summary(runs, tc.knobs(runs, {"eval": sweep(0.7)}))).replace("\N{NO-BREAK SPACE}", " ")
    assert "; measured in 12 configurations run again, 30.0 %" in text


def test_without_sections_the_finding_is_what_runtime_depends_on():
    text = str(tc.summary(runs_of({"a": ["x"]}, [36_000.0]))).replace("\N{NO-BREAK SPACE}", " ")
    assert text == "1 run took 10.0 h\n10.0 h in all, 1 run."
    config = grid(task=list("abcdef"), lr=["1", "2", "3"])
    rng = np.random.default_rng(1)
    runs = runs_of(config, np.exp((config["task"] == "a") * 1.0 + rng.normal(8, 0.05, 18)))
    assert finding(runs).startswith("Runtime depends on task: a takes 2.")


def test_hours_of_runs_left_out_are_counted():
    runs = runs_of({"a": ["x"]}, [36_000.0])
    status = ["failed", "failed", "running"]
    text = str(with_excluded(runs, status=status, runtime_s=[3600.0, np.nan, 1800.0]))
    left_out = "3 runs are left out of every statistic (2 failed and 1 running), which took 1.5 h."
    assert left_out in text.splitlines()


def test_named_settings_stand_in_for_the_shortest_shared_ones():
    config = {"a": [1, 1], "batch": [8, 8], "lr": [0.1, 0.2]}
    assert "a=1 and batch=8" in str(runs_of(config, [1.0, 2.0]))
    chosen = str(runs_of(config, [1.0, 2.0], shared_settings=("batch",)))
    assert "batch=8" in chosen
    assert "a=1" not in chosen
