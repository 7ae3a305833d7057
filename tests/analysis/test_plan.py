"""A plan's total is unbiased, its intervals hold, and what was never run is refused."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, collection_of, grid, record, write_run
from scipy import stats

from traincost.__main__ import main
from traincost.analysis import fields, plan
from traincost.errors import NothingToReport, ParameterError
from traincost.reading.collection import read_collection

CONFIG = grid(task=list("abcd"), loss=list("xyz"))
DEMO = ROOT / "notebooks" / "runs" / "demo-sweep"


def effect(config):
    return 0.8 * config["task"].map(ord).to_numpy() % 3 + 0.3 * config["loss"].map(ord).to_numpy() % 2


def simulated(rng, config, missed=0.0, repeat=0.4):
    """Return a collection drawn from the model, whose runs of a configuration share what it misses."""
    of = config.groupby(["task", "loss"], sort=False).ngroup().to_numpy()
    y = 3 + effect(config) + rng.normal(0, missed, of.max() + 1)[of] + rng.normal(0, repeat, len(config))
    return collection_of(config, np.exp(y))


def described(collection):
    return collection.runs, fields.describe(collection.runs)


def test_the_shipped_sweep_is_predicted_about_as_often_as_said():
    left_out = plan.left_out(*described(read_collection(DEMO)))
    assert len(left_out) == 36
    assert 0.80 <= left_out["inside"].mean() <= 0.97


def test_leaving_one_out_is_what_a_fit_without_it_gives():
    made = read_collection(DEMO)
    found = plan.left_out(*described(made))
    levels = pd.get_dummies(
        made.runs[["config.task_name", "config.loss_setting"]], drop_first=True, dtype=float
    )
    x = np.column_stack([np.ones(36), levels])
    y = np.log(made.runs["runtime_s"].to_numpy())
    for i in (0, 7, 35):
        keep = np.arange(36) != i
        beta, (rss,), *_ = np.linalg.lstsq(x[keep], y[keep], rcond=None)
        df = 35 - x.shape[1]
        half = stats.t.ppf(0.95, df) * np.sqrt(
            rss / df * (1 + x[i] @ np.linalg.inv(x[keep].T @ x[keep]) @ x[i])
        )
        middle = x[i] @ beta
        row = found.iloc[i]
        assert row["runtime_s"] == pytest.approx(made.runs["runtime_s"][i])
        assert np.log([row["low_s"], row["high_s"]]) == pytest.approx([middle - half, middle + half])
        assert row["inside"] == (middle - half <= y[i] <= middle + half)


def test_the_predicted_mean_is_corrected_for_the_logarithm():
    rng = np.random.default_rng(0)
    truth = np.exp(3 + effect(CONFIG) + 0.4**2 / 2).sum()
    predicted, naive = [], []
    for _ in range(300):
        made = simulated(rng, CONFIG)
        model = plan.fit(*described(made))
        predicted.append(plan.expected(model, model.matrix).sum())
        naive.append(np.exp(model.matrix @ model.coefficients).sum())
    error = np.std(predicted) / np.sqrt(len(predicted))
    assert np.mean(predicted) == pytest.approx(truth, abs=3 * error)
    assert np.mean(naive) < truth - 3 * error


@pytest.mark.slow
@pytest.mark.parametrize(("missed", "seeds", "low"), [(0.0, 1, 0.85), (0.3, 3, 0.85)])
def test_the_interval_of_a_total_holds_as_often_as_said(missed, seeds, low):
    rng = np.random.default_rng(1)
    config = grid(task=list("abcd"), loss=list("xyz"), seed=range(seeds))
    held = 0
    for _ in range(300):
        past, future = simulated(rng, config, missed), simulated(rng, config, missed)
        total = plan.plan(past, {"seeds": seeds}).iloc[-1]
        held += total["low"] <= future.runs["runtime_s"].sum() / 3600 <= total["high"]
    assert low <= held / 300 <= 0.96


def test_the_whole_is_the_sum_and_money_follows_hours():
    table = plan.plan(read_collection(DEMO), {"seeds": 2, "devices": 4, "price_per_hour": 3.0})
    cells, whole = table.iloc[:-1], table.iloc[-1]
    assert whole["hours"] == pytest.approx(cells["hours"].sum())
    assert whole["n_runs"] == 72
    assert whole["device_hours"] == pytest.approx(4 * whole["hours"])
    assert whole["money"] == pytest.approx(12 * whole["hours"])
    # Errors of the configurations partly cancel in the sum.
    assert whole["high"] - whole["low"] < (cells["high"] - cells["low"]).sum()
    assert (table["low"] < table["hours"]).all()
    assert (table["hours"] < table["high"]).all()


def test_the_demo_itself_is_predicted_to_take_what_it_took():
    made = read_collection(DEMO)
    whole = plan.plan(made, {}).iloc[-1]
    assert whole["hours"] == pytest.approx(made.runs["runtime_s"].sum() / 3600, rel=0.01)


def test_turned_knobs_lower_the_hours_by_their_joint_bound():
    knobs = yaml.safe_load((ROOT / "params" / "demo.yaml").read_text())["knobs"]
    table = plan.plan(read_collection(DEMO), {"knobs": knobs[:1]})
    assert (table["hours_at_least"] / table["hours"]).to_numpy() == pytest.approx(1 - 0.421986, abs=1e-4)
    both = plan.plan(read_collection(DEMO), {"knobs": knobs[:2]}).iloc[-1]
    assert 0.42 < 1 - both["hours_at_least"] / both["hours"] < 0.42 + 0.35


def test_levels_of_numbers_are_found_however_they_are_written():
    config = grid(lr=[0.001, 0.01], task=list("abc"))
    table = plan.plan(collection_of(config, np.arange(1.0, 7.0)), {"levels": {"lr": [1e-3]}})
    assert list(table["level.lr"][:-1]) == ["0.001"] * 3


@pytest.mark.parametrize(
    ("proposal", "message"),
    [
        ({"levels": {"task": ["zz"]}}, "task was never run with 'zz', so nothing is known of it"),
        ({"levels": {"beta": [1]}}, "must name settings that the model holds (task, loss), got 'beta'"),
        ({"levels": {"task": "a"}}, "task must be a list of levels, got 'a'"),
        ({"seed": 3}, "a plan has the keys levels, seeds,"),
        ({"seeds": 0}, "`seeds` must be a whole number above zero, got 0"),
        ({"seeds": True}, "`seeds` must be a whole number above zero"),
        ({"price_per_hour": -1}, "`price_per_hour` must be a number above zero"),
        ({"levels": []}, "`levels` must be a dict"),
        ({"knobs": [{"name": "k", "sections": ["x"]}]}, "what 'k' saves is not known"),
        ({"knobs": [{"name": "k"}]}, "missing 1 required"),
    ],
)
def test_a_proposal_that_cannot_be_used_is_named(proposal, message):
    made = collection_of(CONFIG, np.arange(1.0, 13.0))
    with pytest.raises(ParameterError) as raised:
        plan.plan(made, proposal)
    assert message in str(raised.value)


def test_too_few_runs_to_predict_from():
    with pytest.raises(NothingToReport, match="nothing is left to estimate chance from"):
        plan.plan(collection_of(pd.DataFrame({"task": list("abc")}), [1.0, 2.0, 3.0]), {})


def interacting(tmp_path):
    rng = np.random.default_rng(3)
    for i, (task, loss, seed) in enumerate(grid(task=list("abc"), loss=list("xy"), seed=[0, 1]).to_numpy()):
        seconds = 60 * (4 if task == "a" and loss == "x" else 1) * float(np.exp(rng.normal(0, 0.05)))
        config = {"task": task, "loss": loss, "seed": seed}
        write_run(tmp_path / "runs" / f"{i}", record(f"{i}", config=config, runtime_s=seconds))
    return str(tmp_path / "runs")


def test_the_command_says_hours_and_an_interaction_that_the_data_show(tmp_path, capsys):
    runs = interacting(tmp_path)
    (tmp_path / "plan.yaml").write_text("levels: {task: [a, b]}\nseeds: 3\nprice_per_hour: 2\n")
    out = tmp_path / "plan.json"
    assert main(["plan", runs, "-f", str(tmp_path / "plan.yaml"), "--json", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("12 runs in 4 configurations: ")
    assert "the factors interact in these runs" in text
    assert "task=a, loss=x: " in text
    data = json.loads(out.read_text())
    assert len(data["configurations"]) == 4
    assert data["total"]["money"] == pytest.approx(2 * data["total"]["hours"])


def test_the_command_refuses_in_one_line(tmp_path, capsys):
    (tmp_path / "plan.yaml").write_text("levels: {task_name: [nonesuch]}")
    assert main(["plan", str(DEMO), "-f", str(tmp_path / "plan.yaml")]) == 2
    err = capsys.readouterr().err
    assert "task_name was never run with 'nonesuch'" in err
    assert err.count("\n") == 1
