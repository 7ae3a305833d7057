"""A plan as it is shown: sentences, table, text and JSON."""

import json

import numpy as np
import pytest
from conftest import ROOT, grid, record, runs_of, write_run

from traincost.__main__ import main
from traincost.errors import ParameterError
from traincost.results.plan import as_json, plan
from traincost.results.runs import read

DEMO = ROOT / "notebooks/runs/demo-sweep"
KNOB = {"name": "val_check_interval", "sections": ["epoch/eval_sampled"]}


@pytest.fixture(scope="module")
def demo():
    return read(DEMO)


def test_a_plan_prints_its_configurations_and_shows_their_table(demo):
    found = plan(demo, {"task_name": ["sorting"]}, seeds=3, devices=2, price_per_hour=5.0)
    text = str(found).splitlines()
    assert text[0].startswith("18 runs in 6 configurations take ")
    assert text[0].endswith(" USD.")
    assert sum("task_name=sorting, loss_setting=" in line for line in text) == 6
    whole = found.frame.iloc[-1]
    assert found.numbers["plan.hours"] == pytest.approx(whole["hours"])
    assert found.numbers["plan.money"] == pytest.approx(10 * whole["hours"])
    assert found.html().count("<tr>") == 8  # the header, six configurations, and the whole
    assert "knobs" not in str(found)


def test_a_plan_with_turned_knobs_says_the_least(demo):
    found = plan(demo, knobs=[KNOB])
    assert "With the knobs turned they take at least" in str(found)
    assert "at least" in [heading.text for heading in found.tables["plan"].headings]


def test_the_json_of_a_plan_has_proposal_and_total(demo):
    data = json.loads(as_json(plan(demo, seeds=2)))
    assert data["format"] == "traincost/plan/1"
    assert data["proposal"]["seeds"] == 2
    assert data["proposal"]["replicates"] == []
    assert len(data["configurations"]) == 36
    assert data["total"]["n_runs"] == 72


def test_a_plan_takes_the_replicates_of_the_runs(demo):
    assert "level.loss_setting" in plan(demo).frame
    assert "level.loss_setting" not in plan(demo.choosing(replicates=["loss_setting"])).frame


def test_a_plan_of_unknown_levels_is_refused(demo):
    with pytest.raises(ParameterError, match="task_name was never run with 'nonesuch'"):
        plan(demo, {"task_name": ["nonesuch"]})


def interacting(tmp_path, lacking=(), tasks="abc", losses="xy"):
    rng = np.random.default_rng(3)
    settings = grid(task=list(tasks), loss=list(losses), seed=[0, 1])
    for i, (task, loss, seed) in enumerate(settings.to_numpy()):
        if (task, loss) == lacking:
            continue
        seconds = 60 * (4 if task == "a" and loss == "x" else 1) * float(np.exp(rng.normal(0, 0.05)))
        config = {"task": task, "loss": loss, "seed": seed}
        write_run(tmp_path / "runs" / f"{i}", record(f"{i}", config=config, runtime_s=seconds))
    return str(tmp_path / "runs")


def test_the_command_prints_hours_and_writes_json(tmp_path, capsys):
    runs = interacting(tmp_path)
    (tmp_path / "plan.yaml").write_text("levels: {task: [a, b]}\nseeds: 3\nprice_per_hour: 2\n")
    out = tmp_path / "plan.json"
    assert main(["plan", runs, "-f", str(tmp_path / "plan.yaml"), "--json", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("12 runs in 4 configurations take ")
    assert "never run" not in text
    assert "act together" not in text  # each was run, and repeated: its own runs tell
    assert "task=a, loss=x: " in text
    data = json.loads(out.read_text())
    assert len(data["configurations"]) == 4
    assert data["total"]["money"] == pytest.approx(2 * data["total"]["hours"])


def test_every_combination_never_run_is_warned_of(tmp_path):
    runs = interacting(tmp_path, ("c", "y"), "abcd", "xyz")
    found = plan(read(runs))
    text = str(found)
    assert (
        "1 of 12 combinations was never run, and is predicted from what each setting does by itself" in text
    )
    assert "by itself: task=c, loss=y." in text
    assert "The settings act together in these runs: a combination never run may be off by more" in text
    assert text.count(", never run") == 1
    assert found.numbers["plan.n_never_run"] == 1
    assert "never run" not in str(plan(read(runs), {"task": ["a", "b"]}))


@pytest.mark.slow
def test_a_corner_never_run_is_always_warned_of():
    """One that takes three times as long as its settings say is never within its interval."""
    rng, config = np.random.default_rng(7), grid(task=list("abcd"), loss=list("xyz"), seed=[0, 1])
    here = ~((config["task"] == "d") & (config["loss"] == "z")).to_numpy()
    for _ in range(200):
        runs = runs_of(config[here].reset_index(drop=True), 60 * np.exp(rng.normal(0, 0.1, here.sum())))
        found = plan(runs)
        assert "1 of 12 combinations was never run" in str(found)
        row = found.frame.set_index(["level.task", "level.loss"]).loc[("d", "z")]
        assert row["n_before"] == 0


def test_failed_runs_are_forecast_and_said(tmp_path):
    runs = interacting(tmp_path)
    for i in range(3):
        config = {"task": "a", "loss": "x", "seed": i + 2}
        write_run(
            tmp_path / "runs" / f"f{i}", record(f"f{i}", config=config, runtime_s=100.0, status="failed")
        )
    found = plan(read(runs))
    share = found.numbers["plan.failed_share"]
    assert 0.1 < share < 0.3
    assert found.numbers["plan.failed_hours"] == pytest.approx(
        found.frame["hours"].iloc[-1] * share / (1 - share)
    )
    assert "Failed runs took" in str(found)
    assert "Failed runs" not in str(plan(read(DEMO)))
    assert json.loads(as_json(found))["total"]["failed_hours"] > 0


def test_the_command_refuses_in_one_line(tmp_path, capsys):
    (tmp_path / "plan.yaml").write_text("levels: {task_name: [nonesuch]}")
    assert main(["plan", str(DEMO), "-f", str(tmp_path / "plan.yaml")]) == 2
    err = capsys.readouterr().err
    assert "task_name was never run with 'nonesuch'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("factor", "said"), [(2.0, True), (1.0, False)])
def test_a_plan_says_where_runtime_goes_with_the_machine(factor, said):
    rng = np.random.default_rng(0)
    config = grid(task=list("abcd"), seed=[0, 1, 2, 3, 4, 5])
    config["host"] = ["m", "n"] * 12
    seconds = 100.0 * np.where(config["host"] == "n", factor, 1.0) * rng.lognormal(0, 0.05, 24)
    text = str(plan(runs_of(config, seconds)))
    assert ("Runtime goes with host: the plan is for machines as these runs had" in text) == said
