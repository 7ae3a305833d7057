"""Readers of tools that leave files beside a training: what each gives, and what it leaves alone."""

import json
import shutil
import sqlite3

import pytest
from conftest import DATA

from traincost.reading.collection import read_collection
from traincost.reading.formats import (
    READERS,
    console,
    detectron2,
    openmmlab,
    optuna,
    python_config,
    sacred,
    stable_baselines3,
    ultralytics,
)
from traincost.results import inventory


def sample(tmp_path, kind):
    """Return a copy of a sample collection that may be changed."""
    return shutil.copytree(DATA / kind, tmp_path / kind)


def by_path(found):
    """Return the rows of all runs of a collection by the folder that they lie in."""
    rows = [*found.runs.to_dict("records"), *found.excluded.to_dict("records")]
    return {row["path"].rpartition("/")[0].rpartition("/")[2]: row for row in rows}


KNOWN = {
    "ultralytics": ("train", "completed", 48.188, 1.0),
    "stable-baselines3": ("Swing-v1_1", "completed", 601.25, None),
    "sacred": ("1", "completed", 900.5, None),
    "detectron2": ("output_0", "completed", 241.0, 1.0),
    "openmmlab": ("tinydet", "completed", 294.0, 1.0),
    "dvclive": ("old", "unknown", 180.0, None),
    "console": ("bs8", "completed", 812.3344, None),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_a_sample_has_the_known_runtime_and_end(kind):
    folder, status, runtime_s, devices = KNOWN[kind]
    row = by_path(read_collection(DATA / kind))[folder]
    assert (row["status"], row["format"]) == (status, kind)
    assert row["runtime_s"] == pytest.approx(runtime_s, abs=0.3)
    assert devices is None or row["devices"] == devices


# -- Ultralytics, YOLOv5 ---------------------------------------------------------------------


def epochs(folder, rows):
    """Write results with a row per (epoch, time)."""
    lines = ["epoch,time,train/box_loss,metrics/mAP50(B),metrics/mAP50-95(B)"]
    lines += [f"{epoch},{time},1.0,0.5,{0.1 if epoch > 2 else 0.3}" for epoch, time in rows]
    (folder / "results.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("rows", "patience", "plots", "status", "runtime_s"),
    [
        ([(1, 10), (2, 20), (3, 5), (4, 15)], 100, [], "completed", 35),  # resumed: the time starts anew
        ([(1, 10), (2, 20)], 100, [], "killed", 20),
        ([(1, 10), (2, 20), (3, 30)], 1, [], "completed", 30),  # no better for one epoch
        ([(1, 10), (2, 20)], 50, ["results.png", "confusion_matrix_normalized.png"], "completed", 20),
    ],
)
def test_the_end_of_a_yolo_run_by_epochs_patience_plots(tmp_path, rows, patience, plots, status, runtime_s):
    args = (
        f"task: detect\nmode: train\nmodel: y.pt\nepochs: 4\npatience: {patience}\ndevice: [0, 1]\nname: a\n"
    )
    (tmp_path / "args.yaml").write_text(args)
    epochs(tmp_path, rows)
    for name in plots:
        (tmp_path / name).touch()
    (run,) = ultralytics.read(str(tmp_path / "args.yaml"), "x")
    assert (run.status, run.runtime_s, run.devices) == (status, runtime_s, 2.0)
    assert "name" not in run.config
    assert (run.scores["train/box_loss"], run.scores["metrics/mAP50(B)"]) == (1.0, 0.5)


@pytest.mark.parametrize("content", ["task: detect\nmode: predict\nmodel: y.pt\n", "lr: 1\n", "- 1\n", "{"])
def test_settings_of_other_tools_are_no_yolo_run(tmp_path, content):
    for name in ("args.yaml", "opt.yaml"):
        (tmp_path / name).write_text(content)
        assert ultralytics.read(str(tmp_path / name), "x") == []


def test_settings_without_results_stopped_before_an_epoch(tmp_path):
    (tmp_path / "args.yaml").write_text("task: detect\nmode: train\nmodel: y.pt\nepochs: 4\n")
    (run,) = ultralytics.read(str(tmp_path / "args.yaml"), "x")
    assert (run.status, run.runtime_s) == ("failed", None)


# -- Stable-Baselines3 -----------------------------------------------------------------------


def test_environments_at_once_take_the_longest_not_the_sum(tmp_path):
    for n, times in enumerate(((10, 20), (15, 32.5))):
        rows = "".join(f"1.0,5,{t}\n" for t in times)
        start = f'#{{"t_start": 1700000000.{n}, "env_id": "E-v0"}}\n'
        (tmp_path / f"{n}.monitor.csv").write_text(start + "r,l,t\n" + rows)
    (run,) = stable_baselines3.read(str(tmp_path / "0.monitor.csv"), "x")
    assert run.runtime_s == pytest.approx(32.6)
    assert run.config["env"] == "E-v0"


def test_the_zoos_ordered_mappings_are_settings_without_construction(tmp_path):
    (run,) = stable_baselines3.read(str(DATA / "stable-baselines3/ppo/Swing-v1_1/0.monitor.csv"), "x")
    assert (run.config["algo"], run.config["learning_rate"], run.config["seed"]) == ("ppo", 0.0003, 41)


def test_progress_of_another_tool_is_left_alone(tmp_path):
    (tmp_path / "progress.csv").write_text("trial_id,time_total_s\na,3\n")
    assert stable_baselines3.read(str(tmp_path / "progress.csv"), "x") == []


# -- Optuna ----------------------------------------------------------------------------------


def database(path, version):
    """Write a database as Optuna of a version does, as far as it is read."""
    connection = sqlite3.connect(path)
    value = ", value FLOAT" if version == 1 else ""
    connection.executescript(
        "CREATE TABLE studies (study_id INTEGER, study_name TEXT);"
        f"CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state TEXT{value}, "
        "datetime_start TEXT, datetime_complete TEXT);"
        "CREATE TABLE trial_params (trial_id INTEGER, param_name TEXT, param_value FLOAT, "
        "distribution_json TEXT);"
        "INSERT INTO studies VALUES (1, 's');"
    )
    states = ["COMPLETE", "PRUNED", "FAIL", "RUNNING", "WAITING"]
    for i, state in enumerate(states):
        end = None if state in ("RUNNING", "WAITING") else f"2026-01-01 00:00:{10 + i}"
        row = [i + 1, i, 1, state, *([0.5] if version == 1 else []), "2026-01-01 00:00:00", end]
        connection.execute(f"INSERT INTO trials VALUES ({', '.join('?' * len(row))})", row)
        choices = json.dumps({"name": "CategoricalDistribution", "attributes": {"choices": ["a", None]}})
        name = "IntUniformDistribution" if version < 3 else "IntDistribution"
        for param, number, kind in (("c", i % 2, choices), ("n", 3.0, json.dumps({"name": name}))):
            connection.execute("INSERT INTO trial_params VALUES (?, ?, ?, ?)", (i + 1, param, number, kind))
    if version > 1:
        connection.execute("CREATE TABLE trial_values (trial_id INTEGER, objective INTEGER, value FLOAT)")
        connection.execute("INSERT INTO trial_values VALUES (1, 0, 0.5)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_trials_of_every_version_of_the_database(tmp_path, version):
    database(tmp_path / "any.db", version)
    runs = optuna.read(str(tmp_path / "any.db"), "x")
    assert [run.status for run in runs] == ["completed", "pruned", "failed", "running", "queued"]
    assert [run.runtime_s for run in runs] == [10, 11, 12, None, None]
    assert [run.config for run in runs[:2]] == [{"c": "a", "n": 3}, {"c": "None", "n": 3}]
    assert runs[0].scores == {"value": 0.5}
    assert runs[0].run_id == "s/0"


def test_studies_of_one_name_in_two_files_are_both_read(tmp_path):
    for name in ("a.db", "b.db", "copy.db"):
        database(tmp_path / name, 3)
    connection = sqlite3.connect(tmp_path / "b.db")
    connection.execute("UPDATE trials SET datetime_complete = '2026-01-01 00:01:00' WHERE trial_id = 1")
    connection.commit()
    connection.close()
    found = read_collection(tmp_path)
    assert sorted(found.runs["runtime_s"]) == [10, 60]
    # Of the copy, all; of the other, the trials without an end, which have the starts of those of the first.
    assert found.excluded["status"].value_counts().to_dict() == {
        "duplicate": 9,
        **dict.fromkeys(("pruned", "failed", "running", "queued"), 1),
    }


def test_a_journal_of_operations_is_replayed(tmp_path):
    operations = [
        {"op_code": 0, "study_name": "j", "directions": [1]},
        {"op_code": 4, "study_id": 0, "datetime_start": "2026-01-01T00:00:00"},
        {"op_code": 5, "trial_id": 0, "param_name": "lr", "param_value_internal": 0.1, "distribution": "{}"},
        {"op_code": 6, "trial_id": 0, "state": 1, "value": 0.5, "datetime_complete": "2026-01-01 00:00:07"},
        {"op_code": 4, "study_id": 0, "state": 4},
        {"op_code": 4, "study_id": {"of": "no study"}},
    ]  # fmt: skip
    path = tmp_path / "journal.log"
    path.write_text("\n".join(map(json.dumps, operations)) + '\n{"op_code": 6, "trial')
    first, second = optuna.read(str(path), "x")
    assert (first.status, first.runtime_s, first.config, first.scores) == (
        "completed",
        7.0,
        {"lr": 0.1},
        {"value": 0.5},
    )
    assert second.status == "queued"


# -- Sacred, Ray -----------------------------------------------------------------------------


def test_a_run_of_sacreds_that_fell_silent_was_killed(tmp_path):
    folder = sample(tmp_path, "sacred") / "1"
    record = json.loads((folder / "run.json").read_text())
    del record["stop_time"]
    record["status"] = "RUNNING"
    record["heartbeat"] = "2026-09-01T08:10:00.250000"
    (folder / "run.json").write_text(json.dumps(record))
    (run,) = sacred.read(str(folder / "run.json"), "1")
    assert (run.status, run.runtime_s, run.host, run.device) == ("killed", 600.0, "node07", "Tesla V100")


def test_trials_of_ray_have_the_state_of_their_experiment(tmp_path):
    folder = sample(tmp_path, "ray")
    found = read_collection(folder)
    assert found.runs[["run_id", "status", "evidence"]].values.tolist() == [
        ["3f2a1_00000", "completed", "the tool's own record"]
    ]
    assert found.excluded["status"].tolist() == ["failed"]
    assert found.runs["host"].tolist() == ["host 1"]
    next(folder.rglob("experiment_state*")).unlink()
    assert read_collection(folder).runs["evidence"].tolist() == ["what its files hold"]  # done in its result


# -- Detectron2, OpenMMLab -------------------------------------------------------------------


def test_iterations_times_their_time_is_a_lower_bound(tmp_path):
    folder = sample(tmp_path, "detectron2") / "output_0"
    (folder / "log.txt").unlink()
    (run,) = detectron2.read(str(folder / "metrics.json"), "x")
    assert run.reason.startswith("its runtime is at least ")
    (folder / "last_checkpoint").unlink()
    (folder / "metrics.json").write_text((folder / "metrics.json").read_text()[:600])
    (run,) = detectron2.read(str(folder / "metrics.json"), "x")
    assert (run.status, run.reason) == ("killed", "reached 80 of 400 iterations: killed, or at work still")


def test_two_sittings_of_a_work_directory_add_up():
    (run,) = openmmlab.read(str(DATA / "openmmlab/tiny3/20260502_090009"), "x")
    assert run.runtime_s == pytest.approx(252, abs=2)
    assert run.sections["data"] == (pytest.approx(20.0), 400)
    assert run.config["model.backbone.depth"] == 50


def test_a_configuration_is_parsed_and_never_run(tmp_path):
    made = tmp_path / "made"
    call = f"open({str(made)!r}, 'w')"
    text = f"a = dict(b=[1, -2], c={call})\n{call}\nd = a\ne = 1 if a else 2\n"
    assert python_config.settings(text) == {"a": {"b": [1, -2]}}
    assert not made.exists()


TRACEBACK = "Traceback (most recent call last):\nValueError: x\n"


# -- console logs, look-alikes ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "runtime_s", "usable"),
    [
        ("{'loss': 1.0, 'epoch': 1}\n{'train_runtime': 12.5, 'train_loss': 0.5}\n", "completed", 12.5, True),
        ("{'loss': 1.0}\n 10/10 [01:40<00:00]\n" + TRACEBACK, "failed", 100, False),
        ("iter 0: loss 4, time 1000.00ms, mfu 1%\niter 10: loss 3, time 50.00ms\n", "unknown", 1.5, False),
        ("iter 0: loss 4, time 1000ms\niter 1: loss 4.2.1, time 50ms\n", "unknown", 1.05, False),
        ("iter 0: loss 4, time 1000ms\niter 1: loss 4, time 5..0ms\n", "unknown", 1.0, False),
    ],
)
def test_what_a_console_log_printed(tmp_path, text, status, runtime_s, usable):
    (tmp_path / "train.log").write_text(text)
    (run,) = console.read(str(tmp_path / "train.log"), "x")
    assert (run.status, run.runtime_s, not run.reason) == (status, pytest.approx(runtime_s), usable)


def test_look_alikes_are_not_read_and_named(tmp_path):
    shutil.copytree(DATA / "traincost", tmp_path / "ours")
    for name, content in (
        ("run.json", {"hello": 1}),
        ("results.json", {"results": {}, "versions": {}}),
        ("all_results.json", {"accuracy": 1}),
        ("meta.yaml", {"name": "m", "version": 1, "run_id": "a", "creation_timestamp": 1, "status": "READY"}),
    ):
        (tmp_path / "others").mkdir(exist_ok=True)
        (tmp_path / "others" / name).write_text(json.dumps(content))
    found = read_collection(tmp_path)
    assert (len(found.runs), len(found.excluded)) == (1, 0)
    said = "\n".join(inventory.lines(tmp_path))
    for what in ("neither a record of traincost nor of Sacred", "lm-evaluation-harness", "model registry"):
        assert what in said


def test_a_reader_that_recognises_says_so_of_its_sample():
    for kind in (name for name, reader in READERS.items() if hasattr(reader, "recognises")):
        reader, folder = READERS[kind], DATA / kind
        listed = read_collection(folder, kind, require_runs=False)
        paths = [*listed.runs["path"], *listed.excluded["path"]]
        assert paths, kind
        assert all(reader.recognises(str(folder / path)) for path in paths), kind


# -- CodeCarbon ------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["", "+00:00", "Z"])
def test_ranks_with_and_without_a_zone_are_one_job(tmp_path, zone):
    """Found by fuzzing: times with a zone were not comparable to those without."""
    names = "timestamp,project_name,run_id,duration,emissions,energy_consumed,tracking_mode"
    rows = [
        names,
        "2026-04-01T10:00:00,fit,a,3600,0.1,2,machine",
        "2026-04-01T10:00:05,fit,b,3600,0.1,2,machine",
    ]
    (tmp_path / "emissions.csv").write_text("\n".join(rows).replace(":05,", f":05{zone},"))
    found = read_collection(tmp_path)
    assert found.runs["cost_energy_kwh"].tolist() == [2.0]
    assert any("ranks of one job" in note for note in found.notes["note"])
