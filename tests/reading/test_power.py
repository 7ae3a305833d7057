"""Energy of the power that Weights & Biases and MLflow sampled, from what their own writers leave."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import record, write_run

from traincost.estimation.energy import estimate_energy
from traincost.reading import merging
from traincost.reading.collection import read_collection
from traincost.reading.formats import power
from traincost.reading.formats.run import Run
from traincost.results.systems import read_systems

WATTS = "system/gpu_{}_power_usage_watts"
WANDB = """
import sys, time, wandb
settings = wandb.Settings(console="off", disable_git=True, silent=True, x_disable_meta=True,
    x_disable_machine_info=True, x_disable_stats=True, x_save_requirements=False)
with wandb.init(project="p", mode="offline", dir=sys.argv[1], config={"lr": 0.1}, settings=settings) as run:
    for watts in (100.0, 300.0, 200.0):
        run._interface.publish_stats({"gpu.0.powerWatts": watts, "gpu.process.0.powerWatts": watts,
            "gpu.1.powerWatts": 60.0, "gpu.0.powerPercent": 50.0, "cpu": 3.0})
        run.log({"loss": 1.0})
        time.sleep(0.7)
"""
MLFLOW = """
import sys, time, mlflow
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient
mlflow.set_tracking_uri(sys.argv[1])
client, now = MlflowClient(), int(time.time() * 1000)
run = client.create_run("0", start_time=now)
for i, watts in enumerate((100.0, 300.0, 200.0)):
    at = now + 10_000 * i
    for gpu, drawn, busy in ((0, watts, 90.0), (1, 60.0, 0.0)):
        client.log_metric(run.info.run_id, f"system/gpu_{gpu}_power_usage_watts", drawn, at, i)
        client.log_metric(run.info.run_id, f"system/gpu_{gpu}_power_usage_percentage", 50.0, at, i)
        client.log_metric(run.info.run_id, f"system/gpu_{gpu}_utilization_percentage", busy, at, i)
client.log_param(run.info.run_id, "lr", 0.1)
client.set_terminated(run.info.run_id, end_time=now + 25_000)
"""


def written_by(script, *arguments):
    """Run a script that writes as the tool itself does, in a process of its own."""
    environment = os.environ | {"MLFLOW_ALLOW_FILE_STORE": "true", "WANDB_ERROR_REPORTING": "false"}
    subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, env=environment, capture_output=True
    )


@pytest.mark.slow
def test_the_log_of_wandb_gives_the_energy_of_its_gpu(tmp_path):
    written_by(WANDB, str(tmp_path))
    found = read_collection(tmp_path)
    run = found.runs.iloc[0]
    assert run["cost_energy_gpu_sampled_kwh"] == run["cost_energy_kwh"]
    assert 150 * run["runtime_s"] / 3.6e6 < run["cost_energy_kwh"] < 250 * run["runtime_s"] / 3.6e6
    assert "of 1 whole GPU, by its power as Weights & Biases saw it" in found.notes["note"].str.cat()


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite:///{}/mlflow.db", "file://{}/mlruns"])
def test_the_monitor_of_mlflow_gives_the_energy_of_busy_gpus(tmp_path, store):
    written_by(MLFLOW, store.format(tmp_path))
    found = read_collection(tmp_path)
    assert found.runs["cost_energy_kwh"].tolist() == pytest.approx([225 * 25 / 3.6e6])
    assert found.runs["devices"].tolist() == [1]
    note = found.notes["note"].str.cat()
    assert "of 1 whole GPU, by its power as MLflow saw it over 80 % of the runtime: without CPU" in note


def test_events_of_older_wandb_give_the_energy(tmp_path):
    files = tmp_path / "wandb/run-20260101_080000-abc/files"
    files.mkdir(parents=True)
    (files / "wandb-summary.json").write_text(json.dumps({"_wandb": {"runtime": 40}, "loss": 0.5}))
    (files / "config.yaml").write_text("lr: {value: 0.1}\n")
    rows = [{"system.gpu.0.powerWatts": 180.0, "_timestamp": 1.7e9 + at} for at in (0, 15, 30)]
    (files / "wandb-events.jsonl").write_text("\n".join(map(json.dumps, rows)) + '\n{"system.gpu')
    assert read_collection(tmp_path).runs["cost_energy_kwh"].tolist() == pytest.approx([180 * 40 / 3.6e6])


def samples(**series):
    found = power.Samples()
    for name, values in series.items():
        for i, watts in enumerate(values):
            found.add(name.replace("_", ".").replace("power", "powerWatts"), 10.0 * i, watts)
    return found


def energy(found, used=(), **times):
    run = Run("r", **({"runtime_s": 100.0} | times))
    power.add_energy(run, found, "it", used)
    return run.cost.get(power.ENERGY)


def test_a_gpu_is_counted_once():
    both = samples(gpu_0_power=[360, 360], gpu_1_power=[360, 360])
    assert energy(both) == pytest.approx(2 * 0.01)
    assert energy(both, used={"1"}) == pytest.approx(0.01)
    own = samples(gpu_0_power=[360, 360], gpu_1_power=[72, 72], gpu_process_0_power=[360, 360])
    assert energy(own) == pytest.approx(0.01)


def test_a_resumed_leg_has_its_own_energy():
    assert energy(samples(gpu_0_power=[360, 360]), leg_s=50.0) == pytest.approx(0.005)


@pytest.mark.parametrize("watts", [[], [100], [np.nan, np.nan, np.nan], [-1, -1]])
def test_power_that_was_not_sampled_is_no_energy(watts):
    assert energy(samples(gpu_0_power=watts)) is None


def test_gaps_are_not_in_the_mean():
    joules, covered_s = power.of_samples([0, 10, 20, 30, 1000, 1010], [360, 360, 360, 360, 0, 0])
    assert (joules, covered_s) == (360 * 30, 40)


@pytest.mark.parametrize(
    "name",
    ["gpu.0.powerPercent", "system/gpu_0_power_usage_percentage", "loss", "gpu.0.enforcedPowerLimitWatts"],
)
def test_other_metrics_are_no_power(name):
    assert not power.is_power(name)


def row(reader_cost, host="a", runtime_s=10.0):
    cost = [{"name": name, "value": value} for name, value in reader_cost.items()]
    empty = {"config": [], "scores": [], "sections": [], "notes": [], "leg_s": None, "devices": None}
    return empty | {
        "cost": cost,
        "host": host,
        "runtime_s": runtime_s,
        "started_at": "",
        "status": "completed",
    }


def test_the_energy_of_a_counter_comes_first():
    sampled = row({power.ENERGY: 2.0, power.SAMPLED: 2.0})
    counted = row({power.ENERGY: 1.0})
    ordered = sorted([sampled, counted], key=lambda r: power.SAMPLED in merging._costs(r))
    assert ordered[0] is counted
    assert merging._with_sampled([*counted["cost"], {"name": power.SAMPLED, "value": 2.0}], 4.0) == [
        {"name": power.ENERGY, "value": 1.0},
        {"name": power.SAMPLED, "value": 4.0},
    ]


def test_ranks_of_one_machine_share_its_gpus():
    def parts(*hosts):
        rows = [row({power.ENERGY: 2.0, power.SAMPLED: 2.0}, host) for host in hosts]
        return {e["name"]: e["value"] for e in merging._ranks([(None, r) for r in rows])["cost"]}

    assert parts("a", "a") == {power.ENERGY: 2.0, power.SAMPLED: 2.0}
    assert parts("a", "b") == {power.ENERGY: 4.0, power.SAMPLED: 4.0}


def test_a_card_says_that_the_energy_was_sampled(tmp_path):
    cost = {"cost_energy_kwh": 2.0, "cost_energy_gpu_sampled_kwh": 2.0}
    block = {"stages": [{"counted_flop": 1e15}], "processors": 1, "processor": "A100"}
    write_run(tmp_path / "a", record("a", compute=block, cost=cost))
    write_run(tmp_path / "b", record("b", compute=block, cost={"cost_energy_kwh": 2.0}))
    found = estimate_energy(read_systems(tmp_path).frame).set_index("system")
    assert found["evidence"].to_dict() == {"a": "by sampled power", "b": "measured"}
    assert found.loc["a", "boundary"] == "GPUs, sampled by Weights & Biases or MLflow"
