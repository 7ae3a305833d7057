"""What ``traincost formats`` says of a directory."""

import json

import pytest
from conftest import record, write_run

from traincost.__main__ import main
from traincost.errors import NothingToReport, ParameterError
from traincost.reading import refreshing
from traincost.results import inventory


def mixed(root):
    """A tree of two kinds of runs, one run that failed, and files that are none."""
    for i, lr in enumerate((0.1, 0.2)):
        config = {"task": "t", "lr": lr, "seed": i}
        write_run(
            root / f"a{i}", record(f"a{i}", config=config, sections={"epoch": {"seconds": 1, "count": 2}})
        )
    write_run(root / "broken", record("broken", status="failed"))
    (root / "notes").mkdir()
    (root / "notes/todo.md").write_text("buy milk")
    folder = root / "toy/2026-01-02T03-04-05"
    folder.mkdir(parents=True)
    results = {"name": "toy", "seeds": [0], "completed": [0], "runs": [{"cost_runtime_s": 30.0, "f1": 0.5}]}
    (folder / "results.json").write_text(json.dumps(results))
    (folder / "checkpoint.ckpt").write_bytes(b"x")
    return root


def test_each_kind_has_its_block_and_nothing_is_left_unsaid(tmp_path):
    text = "\n".join(inventory.lines(mixed(tmp_path / "runs")))
    assert text.startswith("runs: 3 runs read, 1 left out, 0 sources part of these, 2 files not read")
    assert "run records (run.json) [traincost]: 2 runs" in text
    assert "factors    lr (2)" in text
    assert "replicates seed (2)" in text
    assert "shared     task = t" in text
    assert "sections   epoch" in text
    assert "pyhighlights results (results.json) [pyhighlights]: 1 run\n  runtime    30.0 s to 30.0 s" in text
    assert "scores     f1" in text
    assert "broken/run.json: status is failed" in text
    assert ".md: 1 file of no known kind" in text
    assert "checkpoint.ckpt: may hold pickled objects" in text  # in a run's own directory


def test_a_directory_without_runs_is_still_described(tmp_path):
    (tmp_path / "a.csv").write_text("no,table")
    assert inventory.lines(tmp_path)[-1].endswith("a table of runs is given by its own path")
    assert inventory.lines(tmp_path)[0].endswith(
        "0 runs read, 0 left out, 0 sources part of these, 1 file not read"
    )


def test_a_directory_without_runs_is_told_what_is_read(tmp_path):
    assert "traincost reads: run records (run.json), " in "\n".join(inventory.lines(tmp_path))
    write_run(tmp_path / "a", record())
    assert "traincost reads" not in "\n".join(inventory.lines(tmp_path))


def test_files_of_an_index_are_not_taken_for_unread(tmp_path):
    runs = mixed(tmp_path / "runs")
    refreshing.refresh(runs, tmp_path / "index")
    of_runs, of_index = inventory.lines(runs), inventory.lines(tmp_path / "index")
    assert of_index[0] == of_runs[0].removesuffix(", 2 files not read") != of_runs[0]
    assert of_index[1:] == of_runs[1 : of_runs.index("Not read (2)") - 1]


def test_what_cannot_be_read_at_all_is_refused(tmp_path):
    with pytest.raises(NothingToReport, match="does not exist"):
        inventory.lines(tmp_path / "absent")
    with pytest.raises(ParameterError, match="must be auto or one of"):
        inventory.lines(tmp_path, format="nothing")


def test_long_lists_are_counted(tmp_path):
    for i in range(30):
        write_run(tmp_path / f"r{i}", record(f"r{i}", status="failed"))
    text = inventory.lines(tmp_path)
    assert "  and 10 more" in text
    assert sum("status is failed" in line for line in text) == inventory.MAX_LINES


def test_the_command_prints_names_without_control_characters(tmp_path, capsys):
    write_run(tmp_path / "a", record("a", config={"task\x1b[31m": "x"}))
    assert main(["formats", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "task�[31m = x" in printed


def test_a_path_pattern_gives_settings(tmp_path):
    for lr in ("1e-3", "0.01"):
        write_run(tmp_path / f"lr_{lr}", record(lr, config={}))
    assert "  factors    lr (2)" in inventory.lines(tmp_path, path_pattern="lr_{lr}")


def test_only_some_of_the_runs_are_described(tmp_path, capsys):
    runs = mixed(tmp_path / "runs")
    text = "\n".join(inventory.lines(runs, where={"lr": 0.1}))
    assert text.startswith("runs: 1 run read, 0 left out, 0 sources part of these, 2 files not read")
    assert main(["formats", str(runs), "-p", "where", "{lr: 0.1}"]) == 0
    assert capsys.readouterr().out.strip() == text
    assert main(["formats", str(runs), "-p", "where", "{rl: 0.1}"]) == 2
    assert "`where` must name settings of the runs, got 'rl'" in capsys.readouterr().err


def test_columns_of_a_table_are_named_as_for_pages(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("lr,took,score\n1,10,0.5\n2,20,0.6\n")
    named = ["-p", "runtime_column", "took", "-p", "score_columns", "[score]"]
    assert main(["formats", str(tmp_path / "t.csv"), *named]) == 0
    printed = capsys.readouterr().out
    assert "runtime    10.0 s to 20.0 s" in printed
    assert "scores     score" in printed


def test_a_file_that_a_reader_used_is_not_counted(tmp_path):
    folder = tmp_path / "multirun/0"
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra/config.yaml").write_text("lr: 0.1\n")
    (folder / ".hydra/hydra.yaml").write_text("hydra: {job: {name: train}}\n")
    write_run(folder, record("a"))
    (folder / "loss.png").write_bytes(b"x")
    text = inventory.lines(tmp_path)
    assert "Not read (1)" in text
    assert "  .png: 1 file of no known kind" in text
