"""W&B's local directories: the log of an offline run, the files of an online one, and copies."""

import json
import shutil
import subprocess
import sys
import tracemalloc

import pytest
import yaml
from conftest import DATA, ROOT
from encoding import BLOCK, exit_record, field, history_record, items, run_record, summary_record, wandb_log
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.reading.collection import read_collection
from traincost.reading.formats import wandb
from traincost.reading.formats import wandb_log as logs

CONFIG = {"lr": 0.1, "optim": {"name": "sgd", "betas": [0.9, 0.99]}}
SUMMARY = {"_wandb": {"runtime": 40}, "_runtime": 38.5, "_step": 9, "loss": 0.5}
RECORDS = (
    run_record("abc123", CONFIG),
    history_record(loss=0.5, _runtime=38.5),
    summary_record(loss=0.5, _runtime=38.5),
    exit_record(runtime_s=40),
)


def write_log(folder, *records, name="run-abc123.wandb"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(wandb_log(*records))
    return path


def write_files(folder, summary=SUMMARY, config=CONFIG, metadata=None, started_s=1_700_000_000.25):
    """Write what an online run leaves: the settings, the summary, and what W&B saw of the machine."""
    inside = folder / "files"
    inside.mkdir(parents=True, exist_ok=True)
    entries = {key: {"desc": None, "value": value} for key, value in config.items()}
    entries |= {"wandb_version": 1, "_wandb": {"desc": None, "value": {"start_time": started_s}}}
    (inside / "config.yaml").write_text(yaml.safe_dump(entries))
    if summary is not None:
        (inside / "wandb-summary.json").write_text(json.dumps(summary))
    if metadata is not None:
        (inside / "wandb-metadata.json").write_text(json.dumps(metadata))


def read_log(path):
    (run,) = wandb.read(str(path), "dir")
    return run


def test_the_log_of_an_offline_run(tmp_path):
    run = read_log(write_log(tmp_path, *RECORDS))
    assert (run.run_id, run.status, run.reason, run.runtime_s) == ("abc123", "completed", "", 40)
    assert run.config == {"lr": 0.1, "optim.name": "sgd", "optim.betas": "[0.9, 0.99]"}
    assert run.scores == {"loss": 0.5}
    assert run.started_at == "2023-11-14T22:13:20.000+00:00"


def test_the_files_of_an_online_run(tmp_path):
    write_files(tmp_path / "run-20231114_231320-abc123", metadata={"state": "running", "host": "h"})
    found = read_collection(tmp_path)
    (row,) = found.runs.to_dict("records")
    assert (row["run_id"], row["runtime_s"], row["status"]) == ("abc123", 40, "unknown")
    assert row["started_at"] == "2023-11-14T22:13:20.250+00:00"
    assert (row["config.lr"], row["config.optim.name"], row["score.loss"]) == (0.1, "sgd", 0.5)
    assert not any("wandb" in name for name in found.runs if name.startswith("config."))


def test_log_and_files_of_one_run_are_one_run(tmp_path):
    folder = tmp_path / "run-20231114_231320-abc123"
    write_files(folder, metadata={})
    write_log(folder, *RECORDS[:-1], exit_record(code=1, runtime_s=40))
    write_files(tmp_path / "run-20231114_231320-other")
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["other"]
    assert list(found.excluded["run_id"]) == ["abc123"]  # only the log says how it ended
    assert list(found.excluded["status"]) == ["failed"]
    assert len(found.parts) == 1


@pytest.mark.parametrize(
    ("summary", "runtime_s", "approximate"),
    [
        ({"_wandb": {"runtime": 40}}, 40, False),
        ({"_runtime": 38.5}, 38.5, True),
        ({"_wandb": {"runtime": 0}, "_runtime": 0.75}, 0.75, True),
        (SUMMARY, 40, False),
    ],
)
def test_wandbs_own_runtime_comes_before_that_of_the_last_row(tmp_path, summary, runtime_s, approximate):
    write_files(tmp_path / "run-20231114_231320-abc123", summary)
    found = read_collection(tmp_path)
    assert list(found.runs["runtime_s"]) == [runtime_s]
    assert found.notes["note"].str.contains("approximate").any() == approximate


@pytest.mark.parametrize(
    ("records", "status", "reason", "runtime_s"),
    [
        (RECORDS[:-1], "killed", "no exit record", 38.5),
        ((*RECORDS[:-1], exit_record(255, 40)), "failed", "exit code 255", 40),
        ((*RECORDS[:-1], exit_record(-9, 40)), "failed", "exit code -9", 40),
        ((), "killed", "no exit record", None),
    ],
)
def test_a_run_that_ended_badly_is_listed_with_time(tmp_path, records, status, reason, runtime_s):
    run = read_log(write_log(tmp_path, *records))
    assert (run.run_id, run.status, run.runtime_s) == ("abc123", status, runtime_s)
    assert reason in run.reason


def test_seven_bytes_are_what_a_run_killed_at_once_leaves(tmp_path):
    path = write_log(tmp_path)
    assert path.stat().st_size == 7
    assert read_log(path).status == "killed"


@pytest.mark.parametrize(
    ("metadata", "status"),
    [({"state": "running"}, "unknown"), ({"state": "killed"}, "killed"), ({"state": "crashed"}, "failed"),
     ({"exitcode": 1}, "failed"), ({"exitcode": 0}, "completed")],
)  # fmt: skip
def test_metadata_says_how_older_runs_ended(tmp_path, metadata, status):
    write_files(tmp_path / "run-20231114_231320-abc123", metadata=metadata)
    (run,) = wandb.read(str(tmp_path / "run-20231114_231320-abc123/files/wandb-summary.json"), "dir")
    assert run.status == status


def test_a_run_without_a_summary_was_killed(tmp_path):
    write_files(tmp_path / "run-20231114_231320-abc123", summary=None)
    write_files(tmp_path / "run-20231114_231320-other")
    found = read_collection(tmp_path)
    assert list(found.excluded["run_id"]) == ["abc123"]
    assert found.excluded["config.lr"].iloc[0] == 0.1


@pytest.mark.parametrize("with_log", [True, False])
def test_the_latest_run_counts_once_as_copy_or_link(tmp_path, with_log):
    folder = tmp_path / "wandb" / "run-20231114_231320-abc123"
    write_files(folder)
    write_files(tmp_path / "wandb" / "run-20231114_231321-other", started_s=1_700_000_001.0)
    if with_log:
        write_log(folder, *RECORDS)
    (tmp_path / "wandb" / "latest-run").symlink_to(folder.name)
    assert len(read_collection(tmp_path).runs) == 2
    (tmp_path / "wandb" / "latest-run").unlink()
    shutil.copytree(folder, tmp_path / "wandb" / "latest-run")
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["abc123", "other"]
    assert list(found.excluded["reason"]) == [f"is a copy of {folder.name}"]


def test_a_copied_directory_is_a_duplicate_by_its_id(tmp_path):
    for name in ("a", "b"):
        write_log(tmp_path / name / "offline-run-20231114_231320-abc123", *RECORDS)
    assert list(read_collection(tmp_path).excluded["status"]) == ["duplicate"]


def test_logs_gathered_in_one_directory_are_a_run_each(tmp_path):
    for name in ("a1", "b2"):
        write_log(tmp_path, run_record(name, CONFIG), RECORDS[-1], name=f"run-{name}.wandb")
    assert list(read_collection(tmp_path).runs["run_id"]) == ["a1", "b2"]


def test_records_in_pieces_and_settings_that_change(tmp_path, monkeypatch):
    long = {"text": "x" * 100_000}
    records = [run_record("abc123", long), field(5, items(1, {"lr": 0.2})), field(4, bytes(33_000))]
    path = write_log(tmp_path, *records, *RECORDS[1:])
    run = read_log(path)
    assert (run.config["lr"], len(run.config["text"]), run.reason) == (0.2, 100_000, "")
    monkeypatch.setattr(logs, "MAX_RECORD_BYTES", 50_000)
    run = read_log(path)
    assert (run.config, run.reason, run.run_id) == ({"lr": 0.2}, "", "abc123")


@pytest.mark.parametrize("left", range(9))
def test_the_next_record_is_found_whatever_a_block_leaves(tmp_path, left):
    filling = field(4, bytes(BLOCK - 7 - 7 - 4 - left))
    assert len(wandb_log(filling)) == BLOCK - left
    assert read_log(write_log(tmp_path, filling, *RECORDS)).runtime_s == 40


def test_typed_and_nested_values_of_a_row(tmp_path):
    row = field(1, field(2, "val") + field(2, "f1") + field(6, 0.5))
    row += field(1, field(1, "n") + field(5, 7)) + field(1, field(1, "_runtime") + field(6, 12.5))
    run = read_log(write_log(tmp_path, RECORDS[0], field(2, row), field(3, row)))
    assert run.runtime_s == 12.5
    assert run.scores == {"val.f1": 0.5, "n": -4}  # zigzag


def test_media_and_text_in_a_summary_are_no_scores(tmp_path):
    media = {"_type": "image-file", "size": 9}
    summary = SUMMARY | {"img": media, "note": "x", "nan": float("nan"), "best": {"f1": 0.5}}
    write_files(tmp_path / "run-20231114_231320-abc123", summary)
    found = read_collection(tmp_path)
    assert {n for n in found.runs if n.startswith("score.")} == {"score.loss", "score.best.f1"}


def test_a_setting_that_holds_the_runs_id_is_no_factor(tmp_path):
    for name in ("abc123", "def456"):
        config = CONFIG | {"out": f"/data/out/{name}", "name": f"run-{name}"}
        write_log(tmp_path / name, run_record(name, config), RECORDS[-1], name=f"run-{name}.wandb")
    found = read_collection(tmp_path)
    assert found.factors == []
    assert found.notes["note"].str.contains("out, name").all()


@pytest.mark.parametrize("name", ["config.yaml", "wandb-summary.json", "wandb-metadata.json"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1, 2]", b"{" * 5000, b"a: &a [*a, *a]"])
def test_a_broken_file_gives_a_note_or_a_reason(tmp_path, name, content):
    folder = tmp_path / "run-20231114_231320-abc123"
    write_files(folder, metadata={})
    (folder / "files" / name).write_bytes(content)
    (run,) = wandb.read(str(folder / "files" / "wandb-summary.json"), "dir")
    assert run.run_id == "abc123"
    assert run.reason or run.notes or name == "wandb-metadata.json" or run.config == {}


@pytest.mark.slow
def test_settings_of_millions_of_values_are_refused_early(tmp_path):
    folder = tmp_path / "run-20231114_231320-abc123"
    write_files(folder)
    (folder / "files" / "config.yaml").write_bytes(b"a: [" + b"1," * 1_000_000 + b"]")
    tracemalloc.start()
    (run,) = wandb.read(str(folder / "files" / "wandb-summary.json"), "dir")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert run.notes == ["config.yaml holds more than 200000 values: the settings are unknown"]
    assert peak < 50e6


def test_cut_at_every_byte_gives_a_reason(tmp_path):
    path = write_log(tmp_path, *RECORDS)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert read_log(path).status == "killed", size


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_flipped_bit_is_noticed(tmp_path_factory, data):
    path = write_log(tmp_path_factory.mktemp("flip"), *RECORDS)
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[at // 8] ^= 1 << at % 8
    path.write_bytes(whole)
    assert read_log(path).reason


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_in_a_whole_record_are_survived(tmp_path_factory, content):
    path = write_log(tmp_path_factory.mktemp("bytes"), *RECORDS, content)
    assert read_log(path).run_id == "abc123"


def check_producer(found):
    """Check what ``producers/wandb_offline.py`` makes."""
    runs = found.runs.set_index("run_id")
    assert set(found.factors) == {"lr", "data.batch_size"}
    assert set(runs.index) == {f"lr0p{lr}b{b}" for lr in ("1", "01") for b in (8, 16, 32)}
    # Three epochs of 8 / batch size; whole seconds above one.
    assert (runs["runtime_s"] >= (3 * 8 / runs["config.data.batch_size"]).map(lambda s: int(s) or s)).all()
    rest = found.excluded.set_index("run_id")
    assert rest["status"].to_dict() == {"lr0p01b64": "failed", "lr0p1b512": "killed"}
    assert (rest["runtime_s"] > 0).all()


def test_wandbs_own_logs():
    check_producer(read_collection(DATA / "wandb"))


@pytest.mark.torch
def test_what_wandb_writes_now(tmp_path):
    pytest.importorskip("wandb")
    script = ROOT / "tests" / "producers" / "wandb_offline.py"
    subprocess.run([sys.executable, script, tmp_path / "runs"], check=True, timeout=600)
    check_producer(read_collection(tmp_path / "runs"))
