"""No page takes the place of another collection's by accident."""

import json
import os

import pytest
from conftest import record, write_run

from traincost.__main__ import main
from traincost.errors import ParameterError
from traincost.pages import publish


def report(*runs, **more):
    return {"profiling.json": json.dumps({"runs": runs, "n_runs": len(runs), **more}).encode()}


def put(folder, files, **more):
    publish._write("profiling", {"profiling.html": b"page", **files}, folder, **more)


def test_the_report_of_another_collection_is_not_replaced(tmp_path):
    put(tmp_path, report("a", "b"))
    put(tmp_path, report("b", "c"))  # it has grown
    with pytest.raises(ParameterError, match=r"holds the profiling report of another .* with --force"):
        put(tmp_path, report("x", "y"))
    assert json.loads((tmp_path / "profiling.json").read_text())["runs"] == ["b", "c"]
    put(tmp_path, report("x", "y"), force=True)
    assert json.loads((tmp_path / "profiling.json").read_text())["runs"] == ["x", "y"]


@pytest.mark.parametrize("there", [b"", b"{", b"[]", b'{"runs": 3}', b'{"runs": [[]]}', b"\xff"])
def test_what_is_no_report_is_replaced(tmp_path, there):
    (tmp_path / "profiling.json").write_bytes(there)
    put(tmp_path, report("x"))
    assert json.loads((tmp_path / "profiling.json").read_text())["runs"] == ["x"]


def test_a_report_that_does_not_list_its_runs_is_replaced(tmp_path):
    put(tmp_path, report("a", n_runs=2_000))
    put(tmp_path, report("x"))
    put(tmp_path, {"profiling.json": b"{}"})
    assert (tmp_path / "profiling.json").read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("vae/wandb", "vae-wandb"),
        ("vae/outputs", "vae-outputs"),
        ("vae/lightning_logs", "vae-lightning_logs"),
        ("vae/mlruns/", "vae-mlruns"),
        ("vae/runs", "vae-runs"),
        ("vae/sweep", "sweep"),
    ],
)
def test_a_folder_named_by_a_tool_takes_in_its_parent(tmp_path, monkeypatch, path, name):
    (tmp_path / path).mkdir(parents=True)
    assert publish._telling(str(tmp_path / path)) == name
    monkeypatch.chdir(tmp_path / path)
    assert publish._telling(os.path.abspath(".")) == name
    assert publish._telling(f"s3://bucket/{path}") == name


@pytest.mark.slow
def test_the_command_says_where_and_keeps_what_another_built(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for project in ("one", "two"):
        for i in range(4):
            run = record(f"{project}{i}", config={"task": "ab"[i % 2]}, runtime_s=60.0 + i)
            write_run(tmp_path / project / "runs" / f"r{i}", run)
        assert main(["page", f"{project}/runs"]) == 0
        assert capsys.readouterr().out.strip() == str(tmp_path / f"reports/{project}-runs/profiling.html")
    assert main(["page", "one/runs", "-o", "mine"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "mine/profiling.html")
    old = (tmp_path / "mine/profiling.html").read_bytes()
    assert main(["page", "two/runs", "-o", "mine"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "holds the profiling report of another collection" in said.err
    assert said.err.count("\n") == 1
    assert (tmp_path / "mine/profiling.html").read_bytes() == old
    assert main(["page", "two/runs", "-o", "mine", "--force"]) == 0
    assert (tmp_path / "mine/profiling.html").read_bytes() != old
