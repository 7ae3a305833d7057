"""Hugging Face Trainer directories: what the tool writes, what lies beside it, and what is broken."""

import copy
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import DATA, REFERENCE, ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.analysis import sections as sections_
from traincost.errors import NothingToReport
from traincost.pages import publish
from traincost.reading.collection import read_collection
from traincost.reading.formats import huggingface
from traincost.results.systems import read_systems

PATTERN = "lr_{lr}/batch_{batch}"


def evaluation(step, runtime_s, loss=0.5, prefix="eval"):
    return {f"{prefix}_loss": loss, f"{prefix}_runtime": runtime_s, "step": step, "epoch": 1.0}


def trained(train_s=100.0, step=20, loss=0.5, **more):
    return {"train_runtime": train_s, "train_loss": loss, "total_flos": 6e9, "step": step, **more}


def state(*history, step=20, **more):
    """Return the state of a run whose loss was 0.5 all along."""
    losses = [{"loss": 0.5, "step": at} for at in range(5, step + 1, 5)]
    return {
        "global_step": step,
        "max_steps": 20,
        "num_train_epochs": 2,
        "train_batch_size": 8,
        "log_history": [*losses, *history],
        **more,
    }


def write(folder, **files):
    """Write JSON files; in their names an underscore is itself."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        (folder / f"{name}.json").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def only(collection):
    assert len(collection.runs) == 1
    return collection.runs.iloc[0]


def section(collection):
    return {row.section: (row.seconds, row.count) for row in collection.sections.itertuples(index=False)}


def refused(collection):
    return dict(zip(collection.excluded["run_id"], collection.excluded["reason"], strict=True))


def test_each_pass_has_its_own_time(tmp_path):
    write(
        tmp_path / "a",
        trainer_state=state(evaluation(5, 4.0), evaluation(10, 2.0), evaluation(20, 3.0), trained()),
    )
    sections = read_collection(tmp_path).sections.set_index("section")
    assert list(sections.loc["eval", ["count", "first_s", "min_s", "max_s"]]) == [3, 4.0, 2.0, 4.0]
    assert np.isnan(sections.loc["train", "first_s"])


# -- the real tool -------------------------------------------------------------------------


def check_runs(found):
    assert {"lr", "batch", "train_batch_size"} <= set(found.factors)
    assert len(found.runs) == 6
    assert (found.runs["config.batch"] == found.runs["config.train_batch_size"]).all()
    # Of 128 examples in two epochs; evaluated every eight steps, and once more at the end.
    steps = 256 / found.runs["config.batch"]
    counts = found.sections[found.sections["section"] == "eval"]["count"]
    assert list(counts) == list(steps // 8 + 1)
    seconds = found.sections.groupby("run")["seconds"].sum()
    assert list(seconds) == pytest.approx(list(found.runs["runtime_s"]))
    assert set(found.excluded["status"]) == {"killed", "unfinished"}
    reasons = refused(found)
    assert reasons["lr_0.01/batch_4_killed"].endswith("saved last at step 16 of 64")
    assert reasons["lr_0.01/batch_4_resumed"].startswith("was resumed")


def test_the_runs_of_the_tool_are_read():
    found = read_collection(DATA / "huggingface", path_pattern=PATTERN)
    check_runs(found)
    for _, run in found.runs.iterrows():
        results = json.loads((DATA / "huggingface" / run["run_id"] / "all_results.json").read_text())
        assert run["runtime_s"] == pytest.approx(results["train_runtime"] + results["eval_runtime"])
        assert run["score.eval_loss"] == results["eval_loss"]


@pytest.mark.torch
def test_the_tool_itself_is_read(tmp_path):
    script = ROOT / "tests" / "producers" / "hf_trainer.py"
    subprocess.run([sys.executable, script, tmp_path / "runs"], check=True, timeout=600)
    check_runs(read_collection(tmp_path / "runs", path_pattern=PATTERN))


@pytest.mark.reference
def test_files_of_the_reference_tree_are_refused_with_true_reasons():
    tree = REFERENCE / "formats" / "hf_selectiveft" / "raw"
    files = {
        str(path.relative_to(tree))
        for name in ("all_results", "metrics")
        for path in tree.rglob(f"{name}.json")
    }
    assert len(files) == 28

    with pytest.raises(NothingToReport, match="28 left out"):
        read_collection(tree)  # no run of the tree times its training
    for path in files:
        (run,) = huggingface.read(str(tree / path), path)
        if path.endswith("all_results.json"):
            assert run.reason == huggingface.ABOVE
        else:
            assert run.reason == "has no train_runtime: no training was timed, only eval_runtime"
            assert {"dataset", "method", "layers", "batch_size", "lr"} <= set(run.config)
            assert not {"forward_time", "peak_mem", "total_param", "eval_loss"} & set(run.config)


# -- times ---------------------------------------------------------------------------------


def test_a_scheduled_evaluation_is_inside_training_a_later_one_added(tmp_path):
    final = evaluation(20, 7.0, loss=0.3)
    write(tmp_path / "a", trainer_state=state(evaluation(10, 5.0), evaluation(20, 6.0), trained()))
    write(tmp_path / "a", all_results={**trained(), **final}, eval_results=final)
    found = read_collection(tmp_path)
    assert only(found)["runtime_s"] == 107.0
    assert section(found) == {"train": (89.0, 1), "eval": (18.0, 3)}
    shares = sections_.shares(sections_.timing(found)).set_index("section")["share"]
    assert shares[["train", "eval"]].sum() == pytest.approx(1)


def test_a_later_pass_is_counted_once_wherever_it_is_written(tmp_path):
    final = evaluation(20, 7.0, loss=0.3)
    write(tmp_path / "a", trainer_state=state(evaluation(10, 5.0), trained(), final), eval_results=final)
    found = read_collection(tmp_path)
    assert only(found)["runtime_s"] == 107.0
    assert section(found) == {"train": (95.0, 1), "eval": (12.0, 2)}


def test_results_that_repeat_a_pass_on_schedule_add_nothing(tmp_path):
    last = evaluation(20, 6.0)
    write(tmp_path / "a", trainer_state=state(last, trained()), all_results={**trained(), **last})
    found = read_collection(tmp_path)
    assert only(found)["runtime_s"] == 100.0
    assert section(found) == {"train": (94.0, 1), "eval": (6.0, 1)}


def test_results_alone_give_a_run(tmp_path):
    passes = {"eval_runtime": 7.0, "predict_runtime": 2.0, "eval_mnli/mm_runtime": 1.0}
    write(tmp_path / "a", all_results={**trained(), **passes})
    found = read_collection(tmp_path)
    assert only(found)["runtime_s"] == 110.0
    assert section(found) == {
        "train": (100.0, 1),
        "eval": (7.0, 1),
        "predict": (2.0, 1),
        "eval_mnli∕mm": (1.0, 1),
    }


def test_training_without_evaluation_has_no_sections(tmp_path):
    found = read_collection(write(tmp_path / "a", train_results=trained()))
    assert only(found)["runtime_s"] == 100.0
    assert not len(found.sections)


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        ([trained(loss=0.25)], "was resumed: train_runtime is of the last session only"),
        ([evaluation(10, 80.0), evaluation(20, 81.0), trained()], "was resumed: its evaluations took longer"),
    ],
)
def test_a_resumed_run_is_listed_with_its_hours(tmp_path, history, reason):
    write(tmp_path / "good", trainer_state=state(trained()))
    write(tmp_path / "bad", trainer_state=state(*history))
    found = read_collection(tmp_path)
    assert only(found)["run_id"] == "good"
    assert refused(found)["bad"].startswith(reason)
    assert list(found.excluded["runtime_s"]) == [100.0]


@pytest.mark.parametrize("loss", [0.5, 0.4999, 0.6, float("nan")])
def test_agreeing_or_incomparable_losses_are_no_resumed_run(tmp_path, loss):
    found = read_collection(write(tmp_path / "a", trainer_state=state(trained(loss=loss))))
    assert only(found)["runtime_s"] == 100.0


def test_losses_below_zero_are_not_compared(tmp_path):
    content = state(trained(loss=-0.9))
    for entry in content["log_history"][:-1]:
        entry["loss"] = -0.5
    assert len(read_collection(write(tmp_path / "a", trainer_state=content)).runs) == 1


def test_small_rounded_losses_are_no_sign_of_a_resumed_run(tmp_path):
    content = state(trained(loss=0.00006))
    for entry in content["log_history"][:-1]:
        entry["loss"] = 0.0001  # what older versions make of it
    assert len(read_collection(write(tmp_path / "a", trainer_state=content)).runs) == 1


# -- what is a run and what is none --------------------------------------------------------


def test_a_checkpoint_is_no_run_of_its_own(tmp_path):
    write(tmp_path / "a", trainer_state=state(trained()))
    write(tmp_path / "a" / "checkpoint-10", trainer_state=state(step=10))
    found = read_collection(tmp_path)
    assert only(found)["run_id"] == "a"
    assert not len(found.excluded)


def test_a_run_that_left_only_checkpoints_was_killed(tmp_path):
    write(tmp_path / "good", trainer_state=state(trained()))
    for step in (5, 10, 15):  # in order of text, 5 comes last
        write(tmp_path / "bad" / f"checkpoint-{step}", trainer_state=state(evaluation(step, 1.0), step=step))
    (tmp_path / "bad" / "checkpoint-15" / "trainer_state.json").write_text(
        '{"log_his'
    )  # the last is not whole
    write(tmp_path / "none" / "checkpoint-3", other=[])
    found = read_collection(tmp_path)
    assert refused(found) == {
        "bad": "left only checkpoints: it was killed or is at work, saved last at step 10 of 20"
    }
    assert list(found.excluded["status"]) == ["killed"]
    assert list(found.excluded["config.train_batch_size"]) == [8]


def test_a_run_that_only_lacks_results_was_not_killed(tmp_path):
    write(tmp_path / "good", trainer_state=state(trained()))
    write(tmp_path / "bad" / "checkpoint-20", trainer_state=state())
    write(tmp_path / "other", trainer_state=state(evaluation(20, 1.0), step=15))
    found = read_collection(tmp_path)
    assert refused(found)["bad"] == "left only checkpoints: it made all 20 steps and wrote no results"
    assert refused(found)["other"].startswith("has no train_runtime: it was killed or is at work")
    assert list(found.excluded["status"]) == ["unfinished", "killed"]


@pytest.mark.parametrize("results", [evaluation(1, 2.0), trained()])
def test_results_above_the_runs_belong_to_none(tmp_path, results):
    write(tmp_path / "out", all_results=results)
    for name in ("aaa", "zzz"):
        (tmp_path / "out" / name).mkdir()
    for name in ("lr_0.1", "lr_0.2"):
        write(tmp_path / "out" / "seed_1" / name, trainer_state=state(trained(train_s=len(name) + 1.5)))
    found = read_collection(tmp_path)
    assert len(found.runs) + list(found.excluded["status"]).count("duplicate") == 2
    assert refused(found)["out"] == huggingface.ABOVE


def test_a_run_that_was_only_evaluated(tmp_path):
    write(tmp_path / "good", trainer_state=state(trained()))
    write(tmp_path / "bad", all_results=evaluation(0, 2.0))
    found = read_collection(tmp_path)
    assert refused(found) == {"bad": "has no train_runtime: no training was timed, only eval_runtime"}


def test_a_copy_is_counted_once_even_under_another_path(tmp_path):
    write(tmp_path / "lr_1" / "batch_4", trainer_state=state(trained()))
    shutil.copytree(tmp_path / "lr_1", tmp_path / "lr_2")
    write(tmp_path / "lr_3" / "batch_4", trainer_state=state(trained(samples=1)))
    found = read_collection(tmp_path, path_pattern=PATTERN)
    assert list(found.runs["config.lr"]) == [1, 3]
    assert list(found.excluded["status"]) == ["duplicate"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"trainer_state": '{"log'}, "trainer_state.json is not whole JSON"),
        ({"train_results": trained(train_s=-1)}, "train_runtime must be above zero, got -1"),
        ({"train_results": trained(train_s="1")}, "train_runtime must be a number of seconds, got '1'"),
        ({"train_results": trained(train_s=1e308, loss=None) | {"eval_runtime": 1.7e308}}, "is not finite"),
        ({"trainer_state": {"log_history": 3}}, "has no train_runtime: it was killed or is at work"),
    ],
)
def test_broken_files_cost_their_own_run(tmp_path, files, reason):
    write(tmp_path / "good", trainer_state=state(trained()))
    write(tmp_path / "bad", **files)
    found = read_collection(tmp_path)
    assert only(found)["run_id"] == "good"
    assert reason in refused(found)["bad"]


def test_shared_file_names_are_the_trainers_by_content_only(tmp_path):
    write(tmp_path / "good", trainer_state=state(trained()))
    write(tmp_path / "other", metrics={"accuracy": 0.5})
    write(tmp_path / "broken", eval_results="{")
    found = read_collection(tmp_path)
    assert len(found.runs) == 1
    assert not len(found.excluded)


def test_a_broken_file_beside_good_ones_is_noted(tmp_path):
    found = read_collection(write(tmp_path / "a", trainer_state="{", all_results=trained()))
    assert only(found)["runtime_s"] == 100.0
    assert found.notes["note"].iloc[0].startswith("trainer_state.json is not whole JSON")


# -- settings, costs and scores ------------------------------------------------------------


def test_settings_come_from_state_side_files_and_path(tmp_path):
    side = {
        "dataset": "glue",
        "lr": 2e-4,
        "layers": 14,
        "fp16": True,
        "forward_time": 1.5,
        "peak_mem": 3.5,
        "total_param": 7.0,
        "eval_loss": 0.1,
        "output_dir": "out/x",
        "data": "/home/somebody/data",
        "hub_token": "secret",
        "list": [1],
    }
    write(tmp_path / "task_cola" / "a", trainer_state=state(trained()), stats=side)
    write(tmp_path / "task_cola" / "a", config={"hidden_size": 8, "id2label": {"0": "x"}})
    (tmp_path / "task_cola" / "a" / "training_args.bin").write_bytes(b"\x80\x04.")
    run = only(read_collection(tmp_path, path_pattern="task_{task}"))
    assert {name.removeprefix("config."): run[name] for name in run.index if name.startswith("config.")} == {
        "num_train_epochs": 2,
        "max_steps": 20,
        "train_batch_size": 8,
        "model.hidden_size": 8,
        "dataset": "glue",
        "lr": 2e-4,
        "layers": 14,
        "fp16": "True",
        "task": "cola",
    }


def test_a_pickle_is_never_opened(tmp_path, monkeypatch):
    folder = write(tmp_path / "a", trainer_state=state(trained()), stats={"lr": 1})
    for name in ("training_args.bin", "model.pt", "x.pkl", "y.ckpt"):
        (folder / name).write_bytes(b"\x80\x04.")
    from traincost.reading.formats.files import watched

    with watched() as paths:
        read_collection(tmp_path)
    assert any(path.endswith("stats.json") for path in paths)
    assert not any(path.endswith((".bin", ".pt", ".pkl", ".ckpt")) for path in paths)


def test_scores_are_the_last_and_speeds_are_none(tmp_path):
    entry = {**evaluation(20, 5.0, loss=0.2), "eval_samples_per_second": 9.0, "eval_samples": 64}
    entry["eval_model_preparation_time"] = 0.003
    results = trained(train_samples_per_second=2.0)
    write(tmp_path / "a", trainer_state=state(evaluation(10, 5.0), results), all_results={**results, **entry})
    run = only(read_collection(tmp_path))
    assert {name for name in run.index if name.startswith("score.")} == {
        "score.eval_loss",
        "score.train_loss",
    }
    assert run["score.eval_loss"] == 0.2
    assert run["cost_train_samples_per_second"] == 2.0
    assert run["config.eval_samples"] == 64


def test_counted_operations_reach_the_estimate(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, trainer_state=state(trained(train_s=100.0 + len(name), note=name)))
    write(tmp_path / "c", trainer_state=state(trained(total_flos=0)))
    found = read_collection(tmp_path)
    assert list(found.runs["cost_total_flos"].dropna()) == [6e9, 6e9]
    systems = read_systems(tmp_path)
    assert list(systems.frame["operations_flop"]) == [6e9, 6e9]
    assert set(systems.frame["operations_note"]) == {"counted while training, forward and backward"}
    assert "has no compute block" in set(systems.rejected["reason"])


# -- any content ---------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_bytes_give_runs_or_a_reason(tmp_path_factory, data):
    folder = write(
        tmp_path_factory.mktemp("run"),
        trainer_state=state(evaluation(10, 5.0), trained()),
        all_results={**trained(), **evaluation(20, 7.0)},
        config={"a": 1},
    )
    path = folder / data.draw(st.sampled_from(("trainer_state.json", "all_results.json", "config.json")))
    content = bytearray(path.read_bytes())
    at = int(data.draw(st.floats(0, 1)) * len(content))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        content[at : at + 1] = data.draw(st.sampled_from((b"-", b"9", b"[", b"null", b'"', b"\xff", b"e999")))
    path.write_bytes(content)
    check_usable_or_refused(folder)


def check_usable_or_refused(folder):
    for run in huggingface.read(str(folder / "trainer_state.json"), "run"):
        assert run.reason or (np.isfinite(run.runtime_s) and run.runtime_s > 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(state(trained()) | trained() | evaluation(1, 1.0) | {"loss": 0})),
    JSON,
    st.integers(0, 4),
)
def test_any_value_gives_runs_or_a_reason(tmp_path_factory, name, value, at):
    content = copy.deepcopy(state(evaluation(10, 5.0), trained()))
    for mapping in (content, content["log_history"][at % len(content["log_history"])]):
        if isinstance(mapping, dict):
            mapping[name] = value
        if not isinstance(content["log_history"], list):
            break
    folder = write(tmp_path_factory.mktemp("run"), trainer_state=content, all_results={name: value})
    check_usable_or_refused(folder)


def test_very_many_passes_end_soon(tmp_path):
    many = {f"eval_{i}_runtime": 0.001 for i in range(50_000)}
    entries = [{f"eval_{i}_runtime": 0.001, "step": i} for i in range(50_000)]
    write(tmp_path / "a", trainer_state=state(*entries, trained()), all_results=many)
    (run,) = huggingface.read(str(tmp_path / "a" / "trainer_state.json"), "a")
    assert run.runtime_s == pytest.approx(100.0, abs=1)
    assert len(run.sections) == huggingface.MAX_SECTIONS + 1
    assert sum(seconds for seconds, _ in run.sections.values()) == pytest.approx(run.runtime_s)


# -- on a page -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_page_and_a_card_with_settings_from_the_path(tmp_path):
    publish.page(DATA / "huggingface", tmp_path, path_pattern=PATTERN)
    page = json.loads((tmp_path / "profiling.json").read_text())
    assert page["parameters"]["path_pattern"] == PATTERN
    assert "lr" in json.dumps(page["tables"]["fields"])
    publish.estimate(DATA / "huggingface", tmp_path, path_pattern=PATTERN)
    card = json.loads((tmp_path / "estimation.json").read_text())
    assert card["parameters"]["path_pattern"] == PATTERN
    counted = json.loads((DATA / "huggingface/lr_0.001/batch_4/trainer_state.json").read_text())["total_flos"]
    assert str(counted) in json.dumps(card["tables"])
