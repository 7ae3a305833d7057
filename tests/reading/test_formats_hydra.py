"""Hydra job directories: what the tool writes, what lies beside it, and what is broken."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import DATA, REFERENCE, ROOT, record, write_run
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.errors import NothingToReport
from traincost.reading.collection import read_collection
from traincost.reading.formats import hydra, yaml_text

LOG = "[2026-01-02 03:04:05,250][app][INFO] - begin\n[2026-01-02 03:04:15,750][app][INFO] - end\n"


def job(
    folder, config="lr: 0.1\n", overrides="[]\n", log=LOG, mode="RUN", subdir="${hydra.job.num}", **files
):
    """Write a job directory as Hydra does; `files` are further names (an underscore for the dot)."""
    inner = folder / ".hydra"
    inner.mkdir(parents=True, exist_ok=True)
    (inner / "config.yaml").write_text(config)
    (inner / "overrides.yaml").write_text(overrides)
    settings = {
        "mode": mode,
        "sweep": {"subdir": subdir},
        "job": {"name": "app", "num": 0},
        "runtime": {"output_dir": str(folder)},
    }
    (inner / "hydra.yaml").write_text(json.dumps({"hydra": settings}))
    if log is not None:
        (folder / "app.log").write_text(log)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def only(collection):
    assert len(collection.runs) == 1
    return collection.runs.iloc[0]


def refused(collection):
    return dict(zip(collection.excluded["run_id"], collection.excluded["reason"], strict=True))


# -- the real tool -------------------------------------------------------------------------


def check_multirun(found):
    assert set(found.runs["format"]) == {"hydra"}
    assert set(found.factors) == {"batch_size", "optim", "optim.name", "optim.lr"}
    assert sorted(found.runs["config.batch_size"]) == [8, 8, 16, 16, 32, 32]
    assert set(found.runs["config.t"]) == {1}
    assert set(found.runs["config.T"]) == {2}
    for _, run in found.runs.iterrows():  # three epochs of 0.4 s / batch size, and the rest of the job
        assert 1.2 / run["config.batch_size"] < run["runtime_s"] < 1.2 / run["config.batch_size"] + 1
    assert list(found.excluded["status"]) == ["failed", "failed"]
    assert all("left no result, as other jobs beside it did" in reason for reason in found.excluded["reason"])
    assert set(found.excluded["config.batch_size"]) == {64}
    assert (found.excluded["runtime_s"] > 0).all()


def test_a_multirun_of_the_tool_is_read():
    found = read_collection(DATA / "hydra")
    check_multirun(found)
    expected = [json.loads(path.read_text())["runtime_s"] for path in (DATA / "hydra").rglob("result.json")]
    assert sorted(found.runs["runtime_s"]) == sorted(expected)
    assert len(found.notes) == 0


@pytest.mark.torch
def test_the_tool_itself_is_read(tmp_path):
    script = ROOT / "tests" / "producers" / "hydra_multirun.py"
    subprocess.run([sys.executable, script, tmp_path / "sweep"], check=True, timeout=300)
    check_multirun(read_collection(tmp_path / "sweep"))


@pytest.mark.reference
def test_the_reference_multirun_has_seven_jobs_and_one_that_failed():
    found = read_collection(REFERENCE / "formats" / "hydra_multirun")
    assert len(found.runs) == 7
    assert {"task_name", "batch_size", "optim.name"} <= set(found.factors)
    assert found.runs["runtime_s"].sum() == pytest.approx(1.5649, abs=1e-4)
    assert list(found.excluded["status"]) == ["failed"]
    assert found.excluded["run_id"].iloc[0] == "multirun/demo/7"


# -- settings ------------------------------------------------------------------------------


def test_keys_that_differ_in_case_or_look_boolean_stay_apart(tmp_path):
    job(tmp_path / "a", "t: 1\nT: 2\n'N': 3\nn: 4\nlr: 1e-3\ncommit: 123e4567\n")
    job(tmp_path / "b", "t: 1\nT: 3\n'N': 3\nn: 4\nlr: 0.001\ncommit: 0a1b2c3d\n")
    found = read_collection(tmp_path)
    assert found.factors == ["T", "commit"]
    assert list(found.runs["config.n"]) == [4, 4]
    assert list(found.runs["config.lr"].astype(float)) == [0.001, 0.001]
    assert list(found.runs["config.commit"]) == ["123e4567", "0a1b2c3d"]


def test_an_override_of_no_field_is_an_unquoted_setting(tmp_path):
    overrides = "[\"steps='random_forest'\", db=mysql, +lr=0.1, ~gone, ++seed=3, a=b=c, on=true, 7]"
    run = only(read_collection(job(tmp_path / "a", "lr: 0.1\nseed: 3\n'on': true\n", overrides)))
    assert run["config.steps"] == "random_forest"
    assert run["config.db"] == "mysql"
    assert run["config.a"] == "b=c"
    assert run["config.lr"] == 0.1
    assert run["config.on"] == "True"
    assert {name for name in run.index if name.startswith("config.")} == {
        f"config.{name}" for name in ("lr", "seed", "on", "steps", "db", "a")
    }


def test_what_hydra_says_of_the_job_is_no_setting(tmp_path):
    for name in ("a", "b"):
        job(tmp_path / name)
    found = read_collection(tmp_path)
    assert found.factors == []
    assert list(found.runs["report"]) == ["app", "app"]
    assert list(found.runs["task"]) == ["", ""]  # the cost table has a row per task where there are any


def test_nothing_is_constructed_and_a_bomb_is_refused(tmp_path):
    job(tmp_path / "a", "x: !!python/object/apply:os.system ['touch gone']\n")
    bomb = "a0: &a0 [1, 1]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
    )
    job(tmp_path / "b", bomb)
    found = read_collection(tmp_path)
    assert "os.system" in only(found)["config.x"]
    assert "holds more than 200000 values" in refused(found)["b"]


def test_a_large_config_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    job(tmp_path / "good")
    job(tmp_path / "bad", "\n".join(f"k{i}: {i}" for i in range(150)))
    monkeypatch.setattr(yaml_text, "_MAX_EVENTS", 50)
    assert refused(read_collection(tmp_path))["bad"] == "has a config.yaml that holds more than 200000 values"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("a: [1\n", "has a config.yaml that is not YAML"),
        ("- 1\n", "has a config.yaml that holds a list at the top, not a mapping"),
    ],
)
def test_a_broken_config_costs_its_own_job(tmp_path, config, reason):
    job(tmp_path / "good")
    job(tmp_path / "bad", config)
    found = read_collection(tmp_path)
    assert only(found)["run_id"] == "good"
    assert refused(found)["bad"].startswith(reason)


def test_broken_side_files_are_noted(tmp_path):
    folder = job(tmp_path / "a", overrides="[1\n")
    (folder / ".hydra" / "hydra.yaml").unlink()
    found = read_collection(folder)
    notes = " ".join(found.notes["note"])
    assert "overrides.yaml is not YAML" in notes
    assert "hydra.yaml cannot be opened" in notes
    assert only(found)["runtime_s"] == 10.5  # the only log there is


# -- runtime -------------------------------------------------------------------------------


def test_runtime_of_the_log_is_said_to_be_approximate(tmp_path):
    found = read_collection(job(tmp_path / "a"))
    assert only(found)["runtime_s"] == 10.5
    assert only(found)["started_at"] == "2026-01-02T03:04:05.250000"
    assert list(found.notes["note"]) == [hydra.APPROXIMATE]


@pytest.mark.parametrize(
    ("log", "runtime_s"),
    [
        ("2026-01-02 03:04:05 begin\nnoise\n2026-01-02 03:04:06 end\n", 1.0),
        ("\x1b[36m2026-01-02 03:04:05,5\x1b[0m b\n[2026-01-02 03:04:06.25][x] e\n", 0.75),
        ("[2026-13-02 03:04:05,0] odd\n" + LOG, 10.5),
        (LOG.replace("end\n", "end\n" + "x" * 200 + "\n"), 10.5),
        (LOG.replace("[2026-01-02 03:04:15", "noise\n" * 50_000 + "[2026-01-02 03:04:15"), 10.5),
    ],
)
def test_logs_of_other_formats_and_any_length(tmp_path, log, runtime_s):
    assert only(read_collection(job(tmp_path / "a", log=log)))["runtime_s"] == runtime_s


@pytest.mark.parametrize("log", [None, "", "begin\n", LOG.splitlines()[0], "\n" * 100_000, LOG[::-1]])
def test_a_job_without_times_is_listed(tmp_path, log):
    job(tmp_path / "good")
    job(tmp_path / "bad", log=log)
    found = read_collection(tmp_path)
    assert only(found)["run_id"] == "good"
    assert list(found.excluded["status"]) == ["unknown"]
    assert refused(found)["bad"].startswith("its runtime is not known: no result")


def test_a_clock_that_goes_back_gives_no_runtime(tmp_path):
    job(tmp_path / "bad", log="".join(reversed(LOG.splitlines(keepends=True))))
    with pytest.raises(NothingToReport, match="its runtime is not known"):
        read_collection(tmp_path)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (
            "[2026-01-02 03:04:16,0][app][ERROR] - it broke\nTraceback (most recent call last):\n"
            '  File "/home/somebody/x.py", line 1, in <module>\nValueError: /home/somebody/data\n',
            "left no result, and its log ends with a traceback (ValueError)",
        ),
        ("[2026-01-02 03:04:16,0][app][CRITICAL] - gone\n", "left no result, and its log ends with an error"),
    ],
)
def test_a_log_that_ends_with_an_error_means_failed(tmp_path, end, reason):
    job(tmp_path / "good", log=LOG.replace("INFO", "ERROR", 1))  # it recovered
    job(tmp_path / "bad", log=LOG + end)
    found = read_collection(tmp_path)
    assert only(found)["run_id"] == "good"
    assert refused(found) == {"bad": reason}
    assert list(found.excluded["status"]) == ["failed"]
    assert list(found.excluded["runtime_s"]) == [10.75]


def test_a_result_goes_before_the_log(tmp_path):
    found = read_collection(job(tmp_path / "a", a_json="[1]", b_json='{"runtime_s": 3.5}'))
    assert only(found)["runtime_s"] == 3.5
    assert only(found)["started_at"] == "2026-01-02T03:04:05.250000"
    assert len(found.notes) == 0


def test_sections_of_a_result_are_left_out_with_a_note(tmp_path):
    result = {"runtime_s": 3.5, "sections": {"epoch": {"seconds": 9.0, "count": 2}}}
    found = read_collection(job(tmp_path / "a", r_json=json.dumps(result)))
    assert not len(found.sections)
    assert list(found.notes["note"]) == [
        "r.json holds sections too: not taken, its timers may span several jobs"
    ]


def test_a_result_of_no_use_is_named(tmp_path):
    job(tmp_path / "a", r_json='{"runtime_s": 1}')
    job(tmp_path / "b", r_json='{"runtime_s": -1}')
    job(tmp_path / "c", r_json='{"runtime_s": 1')
    reasons = refused(read_collection(tmp_path))
    assert reasons["b"] == "runtime_s of r.json must be above zero, got -1"
    assert reasons["c"].startswith("left no result, as other jobs beside it did")


def test_the_start_of_a_single_run_is_in_its_directory(tmp_path):
    folder = job(tmp_path / "2026-01-02" / "03-04-05", log=None, r_json='{"runtime_s": 1}')
    assert only(read_collection(folder))["started_at"] == "2026-01-02T03:04:05"
    folder = job(tmp_path / "2026-01-02" / "03-04-05", log=None, mode="MULTIRUN")
    assert only(read_collection(folder))["started_at"] == ""


# -- jobs and what is in them --------------------------------------------------------------


def test_a_run_in_a_job_has_the_jobs_settings(tmp_path):
    for i in range(2):
        folder = job(tmp_path / str(i), f"lr: {i}\nbatch: 8\n")
        write_run(folder / "out", record(f"r{i}", config={"batch": 9}))
    job(tmp_path / "2", "lr: 2\n")
    (tmp_path / "multirun.yaml").write_text("hydra: {job: {num: '???'}}\n")
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["r0", "r1"]
    assert list(found.runs["config.lr"]) == [0, 1]
    assert list(found.runs["config.batch"]) == [9, 9]
    assert list(found.parts["format"]) == ["hydra", "hydra"]
    assert refused(found)["2"].startswith("left no result, as other jobs beside it did")


def test_jobs_of_another_name_or_place_need_no_result(tmp_path):
    job(tmp_path / "a" / "0", r_json='{"runtime_s": 1}')
    job(tmp_path / "b" / "0")
    other = job(tmp_path / "a" / "1") / ".hydra" / "hydra.yaml"
    other.write_text(other.read_text().replace('"app"', '"other"'))
    assert len(read_collection(tmp_path).runs) == 3


@pytest.mark.parametrize("sign", ["subdir", "multirun.yaml"])
def test_jobs_that_wrote_into_one_directory_give_it_no_settings(tmp_path, sign):
    folder = job(tmp_path / "all", "lr: 0.5\n", mode="MULTIRUN", subdir="." if sign == "subdir" else "${x}")
    if sign == "multirun.yaml":
        (folder / sign).write_text("hydra: {}\n")
    for name in ("x", "y"):
        write_run(folder / name, record(name))
    found = read_collection(tmp_path)
    assert len(found.runs) == 2
    assert "config.lr" not in found.runs
    assert set(found.notes["note"]) == {
        "lacks the settings of its job: the directory of the job is shared by all jobs of a multirun: "
        "its settings are those of the last one only"
    }
    for name in ("x", "y"):
        shutil.rmtree(folder / name)
    with pytest.raises(NothingToReport, match="is shared by all jobs"):
        read_collection(tmp_path)


def test_a_single_run_beside_a_multirun_file_keeps_its_settings(tmp_path):
    folder = job(tmp_path / "a")
    (folder / "multirun.yaml").write_text("hydra: {}\n")
    assert only(read_collection(folder))["config.lr"] == 0.1


def test_a_copied_job_counts_once_a_repeated_one_twice(tmp_path):
    job(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    job(tmp_path / "c")
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["a", "c"]
    assert list(found.excluded["status"]) == ["duplicate"]
    assert "a copy" in refused(found)["b"]


@pytest.mark.parametrize("make", ["empty", "file"])
def test_what_only_has_the_name_is_no_job(tmp_path, make):
    job(tmp_path / "good")
    (tmp_path / "other").mkdir()
    if make == "file":
        (tmp_path / "other" / ".hydra").write_text("x")
    else:
        (tmp_path / "other" / ".hydra").mkdir()
    found = read_collection(tmp_path)
    assert len(found.runs) == 1
    assert not len(found.excluded)


# -- any content ---------------------------------------------------------------------------


FILES = (".hydra/config.yaml", ".hydra/overrides.yaml", ".hydra/hydra.yaml", "app.log", "r.json")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_bytes_give_runs_or_a_reason(tmp_path_factory, data):
    folder = job(tmp_path_factory.mktemp("job"), r_json='{"runtime_s": 2.5}', overrides="[a=1]")
    path = folder / data.draw(st.sampled_from(FILES))
    content = bytearray(path.read_bytes())
    at = int(data.draw(st.floats(0, 1)) * len(content))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        content[at : at + 1] = data.draw(st.binary(max_size=4))
    path.write_bytes(content)
    for run in hydra.read(str(folder / ".hydra"), "job"):
        assert run.reason or (np.isfinite(run.runtime_s) and run.runtime_s > 0)
