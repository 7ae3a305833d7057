"""What is left of a sweep as it is shown: sentences, text, JSON, and the command."""

import json

import pandas as pd
import pytest
from conftest import record, write_run

from traincost.__main__ import main
from traincost.results.plan import as_json
from traincost.results.remaining import remaining
from traincost.results.runs import read


@pytest.fixture
def under_way(tmp_path):
    """Two tasks by three losses by two seeds, one after the other: one at work, two to come, one failed."""
    settings = [(task, loss, seed) for task in "ab" for loss in "xyz" for seed in (0, 1)]
    for i, (task, loss, seed) in enumerate(settings[:10]):
        seconds = 3600.0 * (1 + (task == "b")) * (1 + 0.02 * i % 0.05)
        status = {8: "failed", 9: "running"}.get(i, "completed")
        start = pd.Timestamp("2026-01-01") + pd.Timedelta(3 * i, "h")
        made = record(
            f"r{i}",
            status=status,
            config={"task": task, "loss": loss, "seed": seed},
            runtime_s=seconds if i < 8 else 600.0,
            started_at=f"{start.isoformat()}+00:00",
        )
        write_run(tmp_path / "runs" / f"{i}", made)
    return tmp_path / "runs"


def test_what_remains_is_said_with_its_end_and_money(under_way):
    found = remaining(read(under_way), price_per_hour=2.0)
    text = str(found)
    assert text.startswith("4 runs of 6 combinations remain, 1 of them at work. They take ")
    assert " USD." in text.splitlines()[0]
    assert "With 1 at once, the last ends after" in text
    assert "counted from 2026-01-02 03:10 UTC" in text
    assert (
        "2 of 2 combinations were never run, and are predicted from what each setting does by itself" in text
    )
    assert "Failed runs took" in text
    assert found.numbers["remaining.hours"] == pytest.approx(found.frame["hours"].iloc[-1])
    assert found.html().count("<tr>") == 4  # the header, two combinations, and the whole


def test_runs_that_were_killed_can_be_said_to_be(under_way, capsys):
    at_work = remaining(read(under_way))
    assert "if none is, at_work set to false" in str(at_work)
    killed = remaining(read(under_way), at_work=False)
    text = str(killed)
    assert text.startswith("4 runs of 6 combinations remain, 0 of them at work. They take ")
    assert "at_work" not in text
    assert killed.frame.iloc[-1][["n_at_work", "n_to_run"]].tolist() == [0, 4]
    assert killed.numbers["plan.failed_share"] > at_work.numbers["plan.failed_share"]
    assert main(["plan", str(under_way), "--remaining", "-p", "at_work", "false"]) == 0
    assert capsys.readouterr().out.startswith("4 runs of 6 combinations remain, 0 of them at work")


def test_nothing_remains_of_a_whole_grid(under_way):
    whole = read(under_way).where(task=["a"])
    assert str(remaining(whole)) == "Nothing remains: each of the 3 combinations of the grid was run 2 times."


def test_the_json_of_what_remains_has_its_end(under_way):
    data = json.loads(as_json(remaining(read(under_way))))
    assert data["format"] == "traincost/remaining/1"
    assert data["total"]["n_to_run"] == 3
    assert data["at_once"] == 1
    assert data["ends"]["low"] <= data["ends"]["middle"] <= data["ends"]["high"]
    assert len(data["combinations"]) == 2


def test_the_command_says_what_remains(under_way, tmp_path, capsys):
    out = tmp_path / "left.json"
    asked = ["--remaining", "-p", "at_once", "3", "--json", str(out)]
    assert main(["plan", str(under_way), *asked]) == 0
    text = capsys.readouterr().out
    assert text.startswith("4 runs of 6 combinations remain")
    assert "  task=b, loss=z: " in text
    assert json.loads(out.read_text())["at_once"] == 3


def test_a_search_without_a_grid_is_refused_in_one_line(tmp_path, capsys):
    for i in range(12):
        config = {"lr": 0.001 * (i + 1) ** 2, "task": "ab"[i % 2]}
        write_run(tmp_path / f"{i}", record(f"{i}", config=config, runtime_s=60.0 + i))
    assert main(["plan", str(tmp_path), "--remaining"]) == 2
    err = capsys.readouterr().err
    assert "are no grid: lr takes 12 values" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_the_page_says_what_remains(under_way, tmp_path, capsys):
    assert main(["plan", str(under_way), "--remaining", "-o", str(tmp_path / "page")]) == 0
    data = json.loads((tmp_path / "page/plan.json").read_text())
    assert data["kind"] == "plan"
    assert data["summary"][0].startswith("4 runs of 6 combinations remain")
    assert data["remaining"]["n_seeds"] == 2
    assert "remaining" in data["tables"]


def test_combinations_that_were_never_run_remain_once_each(under_way):
    found = remaining(read(under_way), {"task": ["b"], "loss": ["z"]})
    assert found.frame["n_to_run"].iloc[0] == 1
