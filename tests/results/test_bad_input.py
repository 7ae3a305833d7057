"""Bad input is one clear line: of responses, of fields that are named, and of very many levels."""

import time

import numpy as np
import pandas as pd
import pytest
from conftest import grid, record, runs_of, write_run

import traincost as tc
from traincost.__main__ import main
from traincost.errors import ParameterError
from traincost.pages import publish
from traincost.results.systems import read_systems


def sweep(score=None, **choices):
    config = grid(task=list("abc"), lr=[1, 2], seed=range(3))
    rng = np.random.default_rng(0)
    runs = runs_of(config, np.exp(rng.normal(4, 0.1, len(config))), **choices)
    if score is not None:
        runs.frame["score.acc"] = score(np.arange(len(config)))
    return runs


@pytest.mark.parametrize(
    ("score", "line"),
    [
        (
            lambda i: np.full(len(i), 0.5),
            "The score acc is the same in all runs, so there is no variation to",
        ),
        (lambda i: np.where(i % 2, 0.01 * i, np.nan), "9 runs lack the score acc and are left out here."),
        (lambda i: 0.1 * i - 1, "c has 1.20 more than a ("),
    ],
)
def test_an_odd_response_is_said_in_a_line(score, line):
    assert line in str(tc.effects(sweep(score), "acc"))


@pytest.mark.parametrize(
    ("response", "line"),
    [
        ("acc", "`response` 'acc' is known of 1 run: at least 2 are needed"),
        (
            "nope",
            "must be a cost column, a score or a section of the runs, got 'nope'; there are: runtime_s, acc",
        ),
    ],
)
def test_a_response_that_tells_nothing_is_refused(response, line):
    runs = sweep(lambda i: np.where(i == 3, 0.5, np.nan))
    with pytest.raises(ParameterError) as refused:
        tc.effects(runs, response)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_replicates_that_leave_one_configuration_leave_no_question():
    said = "No setting that varies can be examined: each either repeats a configuration or names a run."
    assert str(tc.effects(sweep(replicates=("task", "lr")))) == said


def test_runs_that_are_all_far_from_each_other_are_kept():
    runs = sweep()
    runs.frame["runtime_s"] = 10.0 ** (2 * np.arange(len(runs)) - 10)
    assert "set aside" not in str(tc.effects(runs))
    assert len(runs.examined.kept) == runs.examined.kept.sum() == len(runs)


@pytest.mark.slow
def test_ten_thousand_levels_take_seconds(tmp_path):
    n = 20_000
    runtime_s = np.exp(np.random.default_rng(0).normal(4, 0.3, n))
    table = pd.DataFrame({"model": [f"m{i // 2}" for i in range(n)], "seed": np.arange(n) % 2})
    table.assign(runtime_s=runtime_s).to_csv(tmp_path / "t.csv", index=False)
    began = time.process_time()
    runs = tc.read(tmp_path / "t.csv")
    assert "The effect of model cannot be told from chance." in str(tc.effects(runs))
    for answer in (tc.summary, tc.levels, tc.costs, tc.provenance):
        assert len(answer(runs).html()) < 2**20
    assert time.process_time() - began < 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"responses": ["acc"]}, "`response` 'acc' is known of 1 run: at least 2 are needed"),
        (
            {"replicates": ["nope"]},
            "`replicates` names 'nope', which is no setting of the runs; there are: lr",
        ),
        (
            {"factors": ["nope"]},
            "`factors` names 'nope', which is no setting of the runs; there are: lr, seed",
        ),
        ({"replicates": ["lr"], "factors": ["lr"]}, "'lr' is named by `replicates` and by `factors`"),
    ],
)
def test_a_page_refuses_bad_input_in_the_same_line(tmp_path, parameters, line):
    for i in range(8):
        config = {"lr": i // 4, "seed": i % 4}
        scores = {"acc": 0.5} if i == 3 else {}
        write_run(tmp_path / f"runs/r{i}", record(f"r{i}", config=config, scores=scores, runtime_s=100.0 + i))
    with pytest.raises(ParameterError) as refused:
        publish.page(tmp_path / "runs", tmp_path / "out", **parameters)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.glob("out/*"))


def test_systems_are_chosen_by_column_and_runs_by_setting(tmp_path):
    sheet = tmp_path / "list.csv"
    sheet.write_text(
        "Model,Publication date,Domain,Parameters,Training dataset size (total)\n"
        "a,2020-01-01,Language,1e9,1e10\nb,2021-01-01,Vision,1e8,1e9\nc,2022-01-01,Language,1e10,1e11\n"
    )
    assert list(read_systems(sheet, where={"domain": "Language"}).frame["system"]) == ["a", "c"]
    assert list(read_systems(sheet, where={"parameters": {"min": 1e9}}).frame["system"]) == ["a", "c"]
    with pytest.raises(ParameterError, match="`where`: 'domain' has no level 'Speech'; it has: Language"):
        read_systems(sheet, where={"domain": ["Speech"]})
    block = {"stages": [{"counted_flop": 1e15}], "processors": 1, "processor": "A100"}
    for name in "ab":
        write_run(tmp_path / f"runs/{name}", record(name, compute=block, config={"task": name}))
    assert list(read_systems(tmp_path / "runs", where={"task": "b"}).frame["system"]) == ["b"]


def test_a_plan_is_made_from_the_runs_that_are_chosen(tmp_path, capsys):
    for i in range(12):
        config = {"task": "ab"[i % 2], "lr": i // 4, "seed": i // 2 % 2}
        write_run(tmp_path / f"runs/r{i}", record(f"r{i}", config=config, runtime_s=100.0 * (1 + i % 2) + i))
    assert main(["plan", str(tmp_path / "runs")]) == 0
    whole = capsys.readouterr().out
    assert main(["plan", str(tmp_path / "runs"), "-p", "where", "{task: a}"]) == 0
    chosen = capsys.readouterr().out
    assert chosen != whole
    assert "6 runs" in whole
    assert "3 runs" in chosen
