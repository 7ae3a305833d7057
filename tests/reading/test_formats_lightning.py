"""Lightning's runs and reports, tables of timed actions, and the sections of pyhighlights' seeds."""

import csv
import json
import math
import os
import shutil
import subprocess
import sys

import pytest
from conftest import DATA, REFERENCE, ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.analysis import sections
from traincost.errors import NothingToReport
from traincost.reading.collection import read_collection
from traincost.reading.formats import (
    READERS,
    lightning,
    lightning_actions,
    lightning_table,
    simple_profiler,
    tensorboard,
)
from traincost.reading.formats.run import Run
from traincost.reading.formats.simple_profiler import Report, elapsed, parse
from traincost.reading.formats.statuses import KILLED

FIT = {
    "run_training_epoch": (8.0, 2),
    "run_training_batch": (6.0, 10),
    "[LightningModule]Net.optimizer_step": (5.5, 10),
    "[Strategy]SingleDeviceStrategy.training_step": (2.0, 10),
    "[Strategy]SingleDeviceStrategy.backward": (3.0, 10),
    "[Strategy]SingleDeviceStrategy.validation_step": (0.5, 4),
    "[LightningModule]Net.setup": (0.1, 1),
}
VALIDATION = "[Strategy]SingleDeviceStrategy.validation_step"
STEP = "run_training_epoch/run_training_batch/[LightningModule].optimizer_step"


def table(rows, total_s, stage="fit", title=True):
    """Return a report as SimpleProfiler prints it now."""
    lines = [("Action", "Mean duration (s)", "Num calls", "Total time (s)", "Percentage %")]
    lines.append(("Total", "-", str(sum(count for _, count in rows.values())), f"{total_s:.5}", "100 %"))
    for name, (seconds, count) in rows.items():
        lines.append((name, f"{seconds / count:.5}", str(count), f"{seconds:.5}", f"{seconds / total_s:.5}"))
    text = [f"{stage.upper()} Profiler Report".strip(), ""] if title else []
    text += ["-" * 80, _row(lines[0]), "-" * 80, _row(lines[1]), "-" * 80, *map(_row, lines[2:]), "-" * 80]
    return "\n".join(text) + "\n"


def _row(cells):
    return f"|  {cells[0]:<40s}\t|  " + "\t|  ".join(f"{cell:<15}" for cell in cells[1:]) + "\t|"


def later(rows, **more):
    """Return the rows of a later report of the same profiler."""
    return {**rows, **more, "[LightningModule]Net.setup": (0.2, rows["[LightningModule]Net.setup"][1] + 1)}


def write(folder, **files):
    """Write a run's files; ``fit`` stands for the report of that stage."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        name = {"hparams": "hparams.yaml", "metrics": "metrics.csv"}.get(name, f"{name}-perf.txt")
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def seconds_of(run):
    return {path: seconds for path, (seconds, _) in run.sections.items()}


# -- the tables ------------------------------------------------------------------------------

LAYOUTS = {
    "2.x": table({"get": (4.072e4, 12), "a|{'b': 1, 'c'}|d": (0.5, 3)}, 5e4),
    "spaces": """\
-------------------------------------
|  Action   |  Mean duration (s)    |  Num calls            |  Total time (s)       |  Percentage %         |
-------------------------------------
|  Total    |  -                    |  15                   |  5e+04                |  100 %                |
-------------------------------------
|  get      |  3393.3               |  12                   |  4.072e+04            |  81.4                 |
|  a|{'b': 1, 'c'}|d  | 0.16667     |  3                    |  0.5                  |  0.001                |
""",
    "1.3": """\
FIT Profiler Report

Action   \t|  Mean duration (s)\t|Num calls      \t|  Total time (s) \t|  Percentage %   \t|
-------------------------------------
Total    \t|  -              \t|_              \t|  50000.0        \t|  100 %          \t|
-------------------------------------
get      \t|  3393.3         \t|12             \t|  40720.0        \t|  81.4           \t|
a|{'b': 1, 'c'}|d\t|  0.16667\t|3              \t|  0.5            \t|  0.001          \t|
""",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_numbers(layout):
    (report,) = parse(LAYOUTS[layout])
    assert report.total_s == 5e4
    assert report.rows == {"get": (4.072e4, 12), "a|{'b': 1, 'c'}|d": (0.5, 3)}


@pytest.mark.parametrize("end", ["", "\t|"])
def test_three_columns_give_neither_calls_nor_a_total(end):
    lines = ["Profiler Report", "", f"Action\t|  Mean duration (s)\t|  Total time (s){end}", "-" * 65]
    (report,) = parse("\n".join([*lines, f"model_forward\t|  0.0017818      \t|  3.3408         {end}", ""]))
    assert report == Report(rows={"model_forward": (3.3408, None)})


def test_a_report_inside_a_log_ends_with_its_table():
    text = (
        "epoch 1 | loss | 3\nINFO: "
        + table(FIT, 10.0)
        + "done\n a | 1 | 2 | 3 | 4\n"
        + table({}, 3.0, "test")
    )
    fit, test = parse(text)
    assert (fit.stage, test.stage, fit.rows, test.total_s) == ("fit", "test", FIT, 3.0)


def test_a_cut_text_gives_no_number_it_lacks():
    text = table(FIT, 10.0)
    for end in range(len(text)):
        for report in parse(text[:end]):
            assert report.rows.items() <= FIT.items()
            assert report.total_s in (None, 10.0)


@pytest.mark.parametrize("number", ["nan", "inf", "-1.0", "1_0", "1e999", "9" * 400, "x", ""])
def test_what_is_no_number_of_seconds_is_no_row(number):
    text = table({"good": (1.0, 1)}, 2.0) + _row(("bad", "1.0", "1", number, "1")) + "\n"
    assert set(parse(text.replace("-" * 80 + "\n|  bad", "|  bad"))[0].rows) == {"good"}


def test_there_are_limits_on_rows_and_reports(monkeypatch):
    monkeypatch.setattr(simple_profiler, "MAX_ACTIONS", 3)
    monkeypatch.setattr(simple_profiler, "MAX_REPORTS", 2)
    reports = parse(table(FIT, 10.0) * 4)
    assert [len(report.rows) for report in reports] == [3, 3]


# -- what each report adds -------------------------------------------------------------------


def stages():
    """Return the reports of one profiler over fit, validate and test."""
    validate = later(FIT, **{VALIDATION: (1.3, 8)})
    test = later(validate, **{"[Strategy]SingleDeviceStrategy.test_step": (0.4, 4)})
    return [
        Report("test", "", 12.0, test),
        Report("fit", "", 10.0, FIT),
        Report("validate", "", 11.0, validate),
    ]


def test_one_profiler_over_three_stages_counts_each_second_once():
    (chain,) = elapsed(stages())
    fit, validate, test = chain
    assert fit.rows == FIT
    assert set(validate.rows) == {
        "[Strategy]SingleDeviceStrategy.validation_step",
        "[LightningModule]Net.setup",
    }
    assert validate.rows["[Strategy]SingleDeviceStrategy.validation_step"] == (pytest.approx(0.8), 4)
    assert test.rows["[Strategy]SingleDeviceStrategy.test_step"] == (0.4, 4)
    assert [part.total_s for part in chain] == [10.0, 1.0, 1.0]


def test_a_longer_run_does_not_continue_a_shorter_one():
    longer = {name: (2 * seconds, count) for name, (seconds, count) in FIT.items()}
    longer["run_training_batch"] = (12.0, 20)
    chains = elapsed([Report("fit", "", 20.0, longer), stages()[1]])
    assert [[part.total_s for part in chain] for chain in chains] == [[10.0], [20.0]]


ROWS = st.dictionaries(
    st.sampled_from([*list(FIT)[:-1], "own"]),
    st.tuples(st.integers(1, 10**6).map(float), st.integers(1, 99)),
    min_size=1,
)


@given(st.lists(ROWS, min_size=1, max_size=4))
@settings(deadline=None)
def test_what_one_profiler_counts_adds_up_to_its_last_report(steps):
    total, reports = {}, []
    for i, rows in enumerate(steps):
        for name, (seconds, count) in {**rows, "[X]Y.setup": (1.0, 1)}.items():
            before_s, before = total.get(name, (0.0, 0))
            total[name] = (before_s + seconds, before + count)
        reports.append(Report("fit", str(i), float(i + 1), dict(total)))
    (chain,) = elapsed(reports[::-1])
    for name, (seconds, count) in total.items():
        parts = [part.rows[name] for part in chain if name in part.rows]
        assert (sum(s for s, _ in parts), sum(n for _, n in parts)) == (pytest.approx(seconds), count)
    assert sum(part.total_s for part in chain) == len(steps)


# -- the tree --------------------------------------------------------------------------------


def tree(rows, stage="fit"):
    return {
        path: seconds for path, (seconds, _) in lightning_actions.sections(Report(stage, rows=rows)).items()
    }


def test_known_actions_stand_inside_what_calls_them():
    found = tree({**FIT, "data/augment": (0.7, 3), "stage_2": (0.1, 1)})
    assert found == {
        "run_training_epoch": 8.0,
        "run_training_epoch/run_training_batch": 6.0,
        STEP: 5.5,
        f"{STEP}/[Strategy].training_step": 2.0,
        f"{STEP}/[Strategy].backward": 3.0,
        "run_training_epoch/[Strategy].validation_step": 0.5,
        "[LightningModule].setup": 0.1,
        "data∕augment": 0.7,
        "stage_2": 0.1,
    }


def test_actions_are_named_by_role_to_compare_models():
    keys = ("ModelCheckpoint{'monitor': 'a', 'every': 1}", "ModelCheckpoint{'monitor': 'b/c', 'every': 2}")
    found = lightning_actions.sections(
        Report("fit", rows={f"[Callback]{key}.on_train_epoch_end": (1.0, 2) for key in keys})
    )
    assert found == {"[Callback]ModelCheckpoint.on_train_epoch_end": (2.0, 4)}


def test_the_actions_of_version_1_3_have_their_place():
    step = "run_training_epoch/run_training_batch/optimizer_step_and_closure"
    found = tree(
        {
            "run_training_epoch": (9.0, 1),
            "get_train_batch": (1.0, 10),
            "run_training_batch": (7.0, 10),
            "optimizer_step_and_closure_0": (4.0, 10),
            "optimizer_step_and_closure_1": (2.5, 10),
            "training_step_and_backward": (6.0, 20),
            "model_forward": (2.0, 20),
            "training_step": (1.9, 20),
            "backward": (3.0, 20),
            "evaluation_step_and_end": (0.5, 3),
            "validation_step": (0.4, 3),
            "on_train_epoch_end": (0.1, 1),
        }
    )
    assert found[step] == 6.5
    assert f"{step}/training_step_and_backward/model_forward/training_step" in found
    assert f"{step}/training_step_and_backward/backward" in found
    assert "run_training_epoch/evaluation_step_and_end/validation_step" in found
    assert "run_training_epoch/on_train_epoch_end" in found


def test_the_actions_of_version_1_0_have_their_place():
    found = tree(dict.fromkeys(("optimizer_step", "model_forward", "model_backward"), (1.0, 1)))
    assert set(found) == {"optimizer_step", "optimizer_step/model_forward", "optimizer_step/model_backward"}


def test_optimizing_by_hand_the_training_step_holds_the_rest():
    step = "run_training_epoch/run_training_batch/[Strategy].training_step"
    rows = {name: value for name, value in FIT.items() if "optimizer_step" not in name}
    rows["[Strategy]SingleDeviceStrategy.training_step"] = (5.5, 10)
    found = tree(
        {**rows, "optimizer_step": (1.0, 10), "[LightningModule]Net.on_before_optimizer_step": (0.5, 10)}
    )
    assert found[f"{step}/[Strategy].backward"] == 3.0
    assert found[f"{step}/optimizer_step"] == 1.0
    assert found[f"{step}/optimizer_step/[LightningModule].on_before_optimizer_step"] == 0.5


def test_where_gradients_are_accumulated_the_passes_stand_beside_the_step():
    batch = "run_training_epoch/run_training_batch"
    rows = {**FIT, "[LightningModule]Net.optimizer_step": (3.1, 5)}
    found = tree({**rows, "[LightningModule]Net.configure_gradient_clipping": (0.2, 5)})
    assert found[f"{batch}/[Strategy].training_step"] == 2.0
    assert found[f"{batch}/[Strategy].backward"] == 3.0
    # Half of the passes, 2.5 s, ran inside the steps.
    assert found[f"{batch}/[LightningModule].optimizer_step"] == pytest.approx(0.6)
    assert (
        found[f"{batch}/[LightningModule].optimizer_step/[LightningModule].configure_gradient_clipping"]
        == 0.2
    )


def test_a_step_that_calls_its_closure_again_still_holds_it():
    found = tree({**FIT, "[Strategy]SingleDeviceStrategy.training_step": (2.0, 30)})
    assert found[f"{STEP}/[Strategy].training_step"] == 2.0
    assert found[STEP] == 5.5


def test_the_sanity_check_gets_what_epochs_leave():
    rows = {
        **FIT,
        "[Strategy]SingleDeviceStrategy.validation_step": (3.0, 6),
        "[_EvaluationLoop].val_next": (1.0, 6),
    }
    assert "sanity_check" not in tree(rows)
    found = tree({**rows, "[Callback]EarlyStopping{'monitor': 'x'}.on_sanity_check_start": (0.0, 1)})
    assert found["sanity_check"] == pytest.approx(2.0)
    assert found["run_training_epoch/[Strategy].validation_step"] == pytest.approx(1.5)
    assert found["run_training_epoch/[_EvaluationLoop].val_next"] == pytest.approx(0.5)
    fits = {**FIT, "on_sanity_check_start": (0.0, 1)}
    assert "sanity_check" not in tree(fits)
    assert tree(fits)["run_training_epoch/[Strategy].validation_step"] == 0.5


def test_a_checkpoint_is_inside_the_hook_long_enough():
    hook = "[Callback]ModelCheckpoint{'monitor': None}.on_train_epoch_end"
    rows = {hook: (1.0, 2), "save_checkpoint": (0.9, 2), "[LightningModule]Net.on_save_checkpoint": (0.1, 2)}
    short = "[Callback]ModelCheckpoint.on_train_epoch_end"
    assert set(tree(rows)) == {
        short,
        f"{short}/save_checkpoint",
        f"{short}/save_checkpoint/[LightningModule].on_save_checkpoint",
    }
    assert "save_checkpoint" in tree({**rows, "save_checkpoint": (1.1, 2)})


@pytest.mark.parametrize(
    ("stage", "step"), [("validate", "validation"), ("test", "test"), ("predict", "predict")]
)
def test_an_evaluation_has_a_tree_of_its_own(stage, step):
    found = tree(
        {
            f"run_{stage}_evaluation": (5.0, 1),
            f"[Strategy]DDPStrategy.{step}_step": (3.0, 4),
            "[Strategy]DDPStrategy.batch_to_device": (1.0, 4),
            "[LightningModule]Net.transfer_batch_to_device": (0.5, 4),
            "[LightningModule]Net.setup": (0.1, 1),
        },
        stage,
    )
    run = f"{stage}/run_{stage}_evaluation"
    assert set(found) == {
        run,
        f"{run}/[Strategy].{step}_step",
        f"{run}/[Strategy].batch_to_device",
        f"{run}/[Strategy].batch_to_device/[LightningModule].transfer_batch_to_device",
        f"{stage}/[LightningModule].setup",
    }


ACTIONS = st.dictionaries(
    st.sampled_from(
        [
            *FIT,
            "optimizer_step",
            "optimizer_step_without_closure_0",
            "training_step_and_backward",
            "save_checkpoint",
            "[Callback]ModelCheckpoint{}.on_save_checkpoint",
            "[Callback]ModelCheckpoint{}.on_validation_end",
            "on_sanity_check_start",
            "sanity_check",
        ]
    )
    | st.text(max_size=30),
    st.tuples(st.floats(0, 1e9), st.none() | st.integers(0, 99)),
    max_size=12,
)


@given(ACTIONS, st.sampled_from(["", "fit", "validate", "test", "predict", "tune"]))
@settings(deadline=None)
def test_any_rows_make_a_tree_of_non_negative_seconds(rows, stage):
    found = lightning_actions.sections(Report(stage, rows=rows))
    assert all(math.isfinite(seconds) and seconds >= 0 for seconds, _ in found.values())
    assert all(all(path.split("/")) for path in found)


# -- directories -----------------------------------------------------------------------------


def test_a_version_is_one_run_of_its_files(tmp_path):
    fit, validate, test = sorted(stages(), key=lambda report: report.total_s)
    write(
        tmp_path / "lightning_logs/version_0",
        hparams="lr: 1e-3\nmodel:\n  width: 8\n",
        metrics="epoch,step,train_loss,val_loss\n0,1,,0.5\n0,1,0.9,\n1,2,,0.25\n1,2,inf,\n",
        fit=table(fit.rows, 10.0),
        validate=table(validate.rows, 11.0, "validate"),
        test=table(test.rows, 12.0, "test"),
    )
    found = read_collection(tmp_path)
    run = found.runs.iloc[0]
    assert run["runtime_s"] == 12.0
    assert (run["config.lr"], run["config.model.width"]) == (0.001, 8)
    assert run["score.val_loss"] == 0.25
    assert "score.train_loss" not in found.runs  # its last value is not finite
    share = sections.shares(sections.timing(found)).set_index("section")
    assert share.loc["run_training_epoch", "share"] == pytest.approx(8 / 12)
    assert share.loc["validate/[Strategy].validation_step", "seconds"] == pytest.approx(0.8)
    assert share.loc[share["disjoint"], "share"].sum() == pytest.approx(1)
    assert not share["overlapping"].any()


def test_versions_are_in_the_order_of_their_numbers(tmp_path):
    for n in (10, 2, 1):
        write(tmp_path / f"version_{n}", hparams=f"n: {n}", fit=table(FIT, 10.0 + n))
    assert list(read_collection(tmp_path).runs["config.n"]) == [1, 2, 10]


def test_a_version_with_a_test_only_is_left_out(tmp_path):
    write(tmp_path / "version_0", hparams="n: 0", fit=table(FIT, 10.0))
    write(tmp_path / "version_1", hparams="n: 0", test=table(stages()[0].rows, 12.0, "test"))
    write(tmp_path / "version_2", hparams="n: 0", metrics="epoch,step,test_loss\n0,1,0.5\n")
    found = read_collection(tmp_path)
    assert list(found.runs["runtime_s"]) == [10.0]
    assert list(found.excluded["reason"]) == [lightning.NO_TRAINING.format("test")] * 2
    assert found.excluded["runtime_s"].isna().all()


def test_a_run_that_alone_lacks_a_report_was_killed(tmp_path):
    write(tmp_path / "version_0", hparams="n: 0", fit=table(FIT, 10.0))
    write(tmp_path / "version_1", hparams="n: 1", metrics="epoch,step,loss\n0,1,0.5\n")
    found = read_collection(tmp_path)
    assert list(found.excluded["status"]) == [KILLED]
    assert "no profiler report: it is written at the end" in found.excluded["reason"].iloc[0]
    assert found.excluded["config.n"].iloc[0] == 1


def test_without_any_report_the_runtime_is_not_known(tmp_path):
    write(tmp_path / "version_0", hparams="{}", metrics="epoch,step,loss\n0,1,0.5\n")
    with pytest.raises(NothingToReport, match="its runtime is not known: CSVLogger writes no time"):
        read_collection(tmp_path)


def test_settings_alone_are_no_run(tmp_path):
    write(tmp_path / "other", hparams="n: 0")
    with pytest.raises(NothingToReport, match="holds no runs that traincost understands"):
        read_collection(tmp_path)


def test_a_resumed_run_is_the_sum_of_its_profilers(tmp_path):
    more = {name: (2 * seconds, count) for name, (seconds, count) in FIT.items()}
    write(tmp_path / "version_0", hparams="{}", fit=table(FIT, 10.0) + table(more, 20.0))
    found = read_collection(tmp_path)
    assert found.runs["runtime_s"].iloc[0] == 30.0
    assert found.sections.set_index("section").loc["run_training_epoch", "seconds"] == 24.0
    assert "sum of 2 profilers'" in found.notes["note"].iloc[0]


def test_copied_reports_and_other_ranks_are_counted_once(tmp_path):
    folder = write(tmp_path / "version_0", hparams="{}", fit=table(FIT, 10.0))
    (folder / "copy of fit-perf.txt").write_text(table(FIT, 10.0))
    assert read_collection(tmp_path).runs["runtime_s"].iloc[0] == 10.0
    ranks = write(tmp_path / "version_1", hparams="{}")
    for rank, total_s in enumerate((10.5, 10.6)):
        (ranks / f"fit-perf-{rank}.txt").write_text(table(FIT, total_s))
    assert list(read_collection(tmp_path).runs["runtime_s"]) == [10.0, 10.5]


def test_a_copied_run_is_recognised(tmp_path):
    folder = write(tmp_path / "a/version_0", hparams="n: 1", fit=table(FIT, 10.0))
    shutil.copytree(folder, tmp_path / "b/version_0")
    found = read_collection(tmp_path)
    assert len(found.runs) == 1
    assert list(found.excluded["status"]) == ["duplicate"]


def test_reports_without_a_version_are_a_run_for_each_name(tmp_path):
    folder = tmp_path / "profiles"
    write(folder, fit=table(FIT, 10.0))
    (folder / "fit-big.txt").write_text(table(FIT, 20.0))
    (folder / "test-notes.txt").write_text("nothing of the kind\n")
    runs = read_collection(tmp_path).runs
    assert dict(zip(runs["run_id"], runs["runtime_s"], strict=True)) == {
        "profiles/big": 20.0,
        "profiles/perf": 10.0,
    }


BODIES = {
    "AdvancedProfiler": "Profile stats for: run_training_epoch\n  123 function calls in 1.5 seconds\n",
    "PyTorchProfiler": "Profile stats for: records\n Name  Self CPU %  Self CPU\n aten::add 1.844ms\n",
}


@pytest.mark.parametrize("name", BODIES)
def test_the_reports_of_other_profilers_are_named_as_not_read(tmp_path, name):
    write(tmp_path / "good/version_0", hparams="n: 0", fit=table(FIT, 10.0))
    write(tmp_path / "version_0", hparams="n: 1", fit="FIT Profiler Report\n" + BODIES[name])
    write(tmp_path / "alone", fit="FIT Profiler Report\n" + BODIES[name])
    excluded = read_collection(tmp_path).excluded.set_index("run_id")
    assert name in excluded.loc["alone", "reason"]
    assert excluded.loc["version_0", "status"] == "unknown"  # its report was written: it was not killed
    (run,) = lightning.read(str(tmp_path / "version_0/hparams.yaml"), "x")
    assert run.notes == [f"fit-perf.txt is a report of {name}, which is not read: only SimpleProfiler's are"]


HPARAMS = """\
lr: 1e-4
size: !!python/object/apply:numpy.core.multiarray.scalar
- !!python/object/apply:numpy.dtype
  args: [f8, false, true]
- !!binary |
  AAAAAAAA8D8=
key: !!python/object:pkg.Key
  _hash: {hash}
  name: loss
  tags: !!python/object/apply:builtins.frozenset
  - {tags}
run: !!python/object/apply:os.system ["touch {planted}"]
"""


def test_dumped_objects_are_text_and_the_same_in_every_process(tmp_path):
    planted = tmp_path / "planted"
    for i, (number, tags) in enumerate([(1, "[a, b]"), (-2, "[b, a]")]):
        text = HPARAMS.format(hash=number, tags=tags, planted=planted)
        write(tmp_path / f"version_{i}", hparams=text, fit=table(FIT, 10.0 + i))
    found = read_collection(tmp_path)
    assert found.factors == []
    assert found.runs["config.key"].iloc[0] == (
        "python/object:pkg.Key(name=loss, tags=python/object/apply:builtins.frozenset(['a', 'b']))"
    )
    assert not planted.exists()


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "\x00", "a: &a [*a]", "a: 1\n" * 200_000])
def test_unreadable_settings_are_noted_and_the_run_used(tmp_path, text):
    write(tmp_path / "version_0", hparams=text, fit=table(FIT, 10.0))
    found = read_collection(tmp_path)
    assert found.notes["note"].str.contains("hparams.yaml .*: the settings are unknown").any()


def test_the_event_files_tell_the_runtime_where_no_report_does(tmp_path, monkeypatch):
    class Events:
        @staticmethod
        def sources(directory, names):
            return [name for name in names if name.startswith("events.out.tfevents.")]

        @staticmethod
        def read(path, run_id):
            log = Run(
                run_id, runtime_s=7.0, scores={"loss": 0.5, "epoch": 2.0}, notes=["first to last event"]
            )
            return [log]

    monkeypatch.setitem(READERS, "tensorboard", Events)
    folder = write(tmp_path / "version_0", hparams="n: 1")
    (folder / "events.out.tfevents.1.host").write_bytes(b"")
    (run,) = lightning.read(str(folder / "hparams.yaml"), "version_0")
    assert (run.runtime_s, run.reason, run.scores, run.config) == (7.0, "", {"loss": 0.5}, {"n": 1})
    assert run.notes == ["first to last event"]
    write(tmp_path / "version_1", hparams="n: 2", fit=table(FIT, 10.0))
    (run,) = lightning.read(str(folder / "hparams.yaml"), "version_0")
    assert (run.status, run.runtime_s) == (KILLED, 7.0)


def test_event_files_beside_a_report_tell_scores_and_start(tmp_path):
    (logged,) = (DATA / "tensorboard" / "lr0.01_b8").glob("events.out.tfevents.*")
    alone = tensorboard.read(str(logged), "x")[0]
    folder = write(tmp_path / "version_0", hparams="n: 1", fit=table(FIT, 10.0))
    shutil.copy(logged, folder)
    found = read_collection(tmp_path)
    assert list(found.runs["runtime_s"]) == [10.0]
    assert list(found.runs["started_at"]) == [alone.started_at]
    assert found.runs["score.loss"].iloc[0] == alone.scores["loss"]


@pytest.mark.parametrize(
    ("content", "scores", "note"),
    [
        (b"epoch,step,a\n0,1,2\n0,2\n0,3,,7\n", {"a": 2.0}, None),
        (b"", {}, None),
        (b"a\n" + b"1\n" * 3 + b'"\x00', {}, None),
        (b"a," * 200_000 + b"\n1", {}, "longer than"),
        (b"\xff,b\n1,2\n", {"\ufffd": 1.0, "b": 2.0}, None),
        (b"a\n" + b"9" * 200_000 + b"\n", {}, "is not whole CSV"),
    ],
)
def test_metrics_of_any_shape_are_read_or_noted(tmp_path, content, scores, note):
    (tmp_path / "metrics.csv").write_bytes(content)
    notes = []
    assert lightning._last_metrics(str(tmp_path / "metrics.csv"), notes) == scores
    assert (note is None and not notes) or note in notes[0]


# -- texts with a table ----------------------------------------------------------------------

TABLE = {"Fit Lambda": (3.0, 1), "Save/Load": (1.0, 2)}


def test_each_text_with_a_table_is_a_run(tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "a.txt").write_text(table(TABLE, 4.0, title=False))
    (folder / "b.log").write_text(table(TABLE, 5.0, title=False))
    (folder / "requirements.txt").write_text("torch\n")
    (folder / "command.txt").write_text("python x.py --lr 1e-3 \\\n  --half --name='a b' --n -1 --z\n")
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["job/a.txt", "job/b.log"]
    assert set(found.runs["format"]) == {"lightning-table"}
    config = {name: found.runs[f"config.{name}"].iloc[0] for name in ("lr", "half", "name", "n", "z")}
    assert config == {"lr": 0.001, "half": "True", "name": "a b", "n": -1, "z": "True"}
    assert set(found.sections["section"]) == {"Fit Lambda", "Save∕Load"}


def test_a_table_beside_another_tools_run_is_its_part(tmp_path):
    write(tmp_path / "a/version_0", hparams="{}", fit=table(FIT, 10.0))
    (tmp_path / "a/version_0/out.log").write_text(table(FIT, 10.0, title=False))
    (tmp_path / "a/version_0/notes.txt").write_text("no table\n")
    found = read_collection(tmp_path)
    assert list(found.runs["format"]) == ["lightning"]
    assert set(found.parts["path"]) == {f"a/version_0/{name}" for name in ("fit-perf.txt", "out.log")}


def test_a_command_that_cannot_be_read_is_noted(tmp_path):
    (tmp_path / "a.txt").write_text(table(TABLE, 4.0, title=False))
    (tmp_path / "command.txt").write_text("python 'x")
    assert "command.txt No closing quotation" in read_collection(tmp_path).notes["note"].iloc[0]


# -- seeds of pyhighlights ---------------------------------------------------------------------


def write_seeds(folder, seeds):
    folder.mkdir(parents=True, exist_ok=True)
    runs = [{"cost_runtime_s": 50.0 + seed} for seed in seeds]
    results = {"name": "toy", "seeds": seeds, "completed": seeds, "runs": runs}
    (folder / "results.json").write_text(json.dumps(results))
    (folder / "manifest.json").write_text(json.dumps({"settings": {"batch_size": 8}}))


def test_each_seed_gets_the_sections_of_its_reports(tmp_path):
    write_seeds(tmp_path, [0, 1])
    for seed in (0, 1):
        folder = tmp_path / f"seed={seed}/lightning_logs/version_0"
        rows = {name: (seconds + seed, count) for name, (seconds, count) in FIT.items()}
        write(folder, hparams="{}", fit=table(rows, 10.0 + 5 * seed))
    found = read_collection(tmp_path)
    assert set(found.runs["format"]) == {"pyhighlights"}
    epochs = found.sections[found.sections["section"] == "run_training_epoch"]
    assert dict(zip(epochs["run"], epochs["seconds"], strict=True)) == {0: 8.0, 1: 9.0}
    assert set(found.parts["part_of"]) == {"results.json"}


def test_a_profiler_that_served_all_seeds_is_parted_by_training(tmp_path):
    write_seeds(tmp_path / "toy", [0, 1, 2])
    text = ""
    for n in (1, 2, 3):  # each training takes as long as the first, and its sum is reported
        text += table({name: (n * seconds, n * count) for name, (seconds, count) in FIT.items()}, n * 10.0)
    write(tmp_path / "toy/seed=0/lightning_logs/version_0", hparams="{}", fit=text)
    for seed in (1, 2):
        write(tmp_path / f"toy/seed={seed}/lightning_logs/version_0", hparams="{}")
    found = read_collection(tmp_path)
    epochs = found.sections[found.sections["section"] == "run_training_epoch"]
    assert dict(zip(epochs["run"], epochs["seconds"], strict=True)) == {0: 8.0, 1: 8.0, 2: 8.0}


# -- hostile and broken ------------------------------------------------------------------------


def every_damage(content):
    """Yield the content cut at every byte, and with a bit turned at every few."""
    for end in range(len(content)):
        yield content[:end]
    for place in range(0, len(content), 3):
        yield content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


@pytest.mark.parametrize("name", ["hparams.yaml", "metrics.csv", "fit-perf.txt", "command.txt"])
def test_any_bytes_give_runs_or_a_reason(tmp_path, name):
    contents = {
        "hparams.yaml": b"lr: 1e-3\nkey: !!python/object:a.B {_hash: 1, x: [1, 2]}\n",
        "metrics.csv": b'epoch,step,a,"b"\n0,1,0.5,\n0,1,,nan\n',
        "fit-perf.txt": table(dict(list(FIT.items())[:2]), 10.0).encode(),
        "command.txt": b"python x.py --lr 1 --name='a b' --half\n",
    }
    folder = write(tmp_path / "version_0")
    for other, content in contents.items():
        (folder / other).write_bytes(content)
    for damaged in every_damage(contents[name]):
        (folder / name).write_bytes(damaged)
        (run,) = lightning.read(str(folder / "hparams.yaml"), "x")
        assert run.reason or run.runtime_s > 0
        for table_run in lightning_table.read(str(folder / "fit-perf.txt"), "x"):
            assert table_run.reason or table_run.runtime_s > 0


def test_pipes_and_directories_are_no_texts(tmp_path):
    folder = write(tmp_path / "version_0", hparams="{}", fit=table(FIT, 10.0))
    os.mkfifo(folder / "a.txt")
    (folder / "b.txt").mkdir()
    (folder / "metrics.csv").mkdir()
    found = read_collection(tmp_path)
    assert len(found.runs) == 1
    assert "metrics.csv is a directory" in found.notes["note"].iloc[0]


# -- real files --------------------------------------------------------------------------------


def test_committed_runs_of_lightning_are_read_as_run():
    found = read_collection(DATA / "lightning")
    assert found.factors == ["width", "batch_size"]
    assert list(found.runs["runtime_s"]) == [
        _total(DATA / f"lightning/version_{n}/test-perf_logs.txt") for n in range(1, 7)
    ]
    assert list(found.excluded["status"]) == [KILLED]
    last = found.sections[found.sections["run"] == 5].set_index("section")
    assert last.loc["run_training_epoch", "seconds"] == _total(
        DATA / "lightning/version_6/fit-perf_logs.txt", "run_training_epoch"
    )
    adds_up(found)


def _total(path, action="Total"):
    """Return an action's total by the plainest reading there is."""
    (line,) = [line for line in path.read_text().splitlines() if line.startswith(f"|  {action} ")]
    return float(line.split("|")[4])


def adds_up(found):
    """Assert that sections stay within what encloses them, and with the rest make each run."""
    t = sections.timing(found)
    slack = sections.TOLERANCE
    assert (t.unattributed() >= -slack * t.runtime_s).all()
    for i in range(len(t.paths)):
        assert (t.rest(i) >= -slack * t.whole[:, i] - 1e-12).all() or not t.children[i], t.paths[i]
    cut = sections.composition(t).drop(columns="n_runs")
    assert cut.sum(axis=1).to_numpy() == pytest.approx(1)
    assert not sections.shares(t)["overlapping"].any()


@pytest.mark.reference
@pytest.mark.parametrize("format", ["auto", "lightning"])
def test_shares_of_the_profiled_runs_make_up_each_run(format):
    found = read_collection(REFERENCE / "pyhighlights/profiled", format=format)
    assert len(found.runs) == 36
    assert not len(found.excluded)
    adds_up(found)


@pytest.mark.reference
def test_no_second_of_the_36_profiled_runs_is_counted_twice():
    found = read_collection(REFERENCE / "pyhighlights/profiled", format="lightning")
    for i, path in enumerate(found.runs["path"]):
        folder = (REFERENCE / "pyhighlights/profiled" / path).parent
        last = folder / "test-perf_logs.txt"
        assert found.runs["runtime_s"].iloc[i] == _total(last)
        of_run = found.sections[found.sections["run"] == i]
        assert of_run["seconds"].sum() == pytest.approx(_all_rows(last), rel=1e-3)


def _all_rows(path):
    rows = [line.split("|") for line in path.read_text().splitlines() if line.startswith("|  ")]
    return sum(float(row[4]) for row in rows[2:])


@pytest.mark.reference
def test_the_16_tables_are_the_known_answers():
    place = REFERENCE / "formats/lightning_tables"
    found = read_collection(place)
    assert len(found.runs) == 16
    with open(place / "runs.csv", newline="") as file:
        known = {row["run"]: row for row in csv.DictReader(file)}
    t = sections.timing(found)
    for i, run in found.runs.iterrows():
        row = known[run["run_id"]]
        assert run["runtime_s"] == float(row["total_s"])
        assert t.whole[i].sum() == pytest.approx(float(row["sum_sections_s"]), abs=1e-4)
        assert t.whole[i].sum() == pytest.approx(run["runtime_s"], rel=1e-4)
        for name in ("query_batch_size", "factor_strategy", "train_batch_size"):
            assert str(run[f"config.{name}"]).removesuffix(".0") == (row[name] or "nan")
    with open(place / "sections.csv", newline="") as file:
        rows = {
            (row["run"], row["section"]): (float(row["total_s"]), int(row["count"]))
            for row in csv.DictReader(file)
        }
    ids = found.runs["run_id"]
    assert rows == {(ids[s.run], s.section): (s.seconds, s.count) for s in found.sections.itertuples()}


@pytest.mark.reference
def test_settings_that_differ_in_hash_or_order_are_one():
    runs = read_collection(REFERENCE / "pyhighlights/profiled", format="lightning").runs
    assert runs["config.predictor_backbone"].nunique() == 3
    assert runs["config.name"].nunique() == 3
    assert not runs.filter(like="config.").map(lambda value: "_hash" in str(value)).any(axis=None)


# -- the real tool -----------------------------------------------------------------------------


@pytest.mark.torch
def test_what_lightning_writes_here_is_read(tmp_path):
    pytest.importorskip("lightning")
    script = ROOT / "tests/producers/lightning_runs.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, capture_output=True, timeout=600)
    found = read_collection(tmp_path)
    assert sorted(zip(found.runs["config.width"], found.runs["config.batch_size"], strict=True)) == [
        (width, size) for width in (8, 64, 256) for size in (16, 64)
    ]
    assert list(found.excluded["status"]) == [KILLED]
    assert (
        "run_training_epoch/run_training_batch/[LightningModule].optimizer_step/[Strategy].backward"
        in set(found.sections["section"])
    )
    adds_up(found)


PROFILERS = """
import sys
from lightning.pytorch import Trainer
from lightning.pytorch.demos.boring_classes import BoringModel
from lightning.pytorch.profilers import AdvancedProfiler, PyTorchProfiler, SimpleProfiler

kinds = {"advanced": AdvancedProfiler, "pytorch": PyTorchProfiler}
for name, options in (("simple", {}), ("short", {"extended": False}), ("advanced", {}), ("pytorch", {})):
    profiler = kinds.get(name, SimpleProfiler)(dirpath=sys.argv[1], filename=name, **options)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(accelerator="cpu", max_steps=4, limit_val_batches=0, profiler=profiler, **quiet)
    trainer.fit(BoringModel())
"""


@pytest.mark.torch
def test_the_profilers_of_lightning_are_told_apart(tmp_path):
    pytest.importorskip("lightning")
    subprocess.run([sys.executable, "-c", PROFILERS, tmp_path], check=True, capture_output=True, timeout=300)
    reports, notes = simple_profiler.read_reports(str(tmp_path), sorted(os.listdir(tmp_path)))
    short, simple = reports
    assert (short.source, simple.source) == ("fit-short.txt", "fit-simple.txt")
    assert short.total_s is None
    assert simple.total_s >= simple.rows["run_training_epoch"][0] > 0
    assert simple.rows["run_training_batch"][1] == 4
    assert [note.partition(",")[0] for note in notes] == [
        "fit-advanced.txt is a report of AdvancedProfiler",
        "fit-pytorch.txt is a report of PyTorchProfiler",
    ]
