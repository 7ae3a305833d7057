"""Our own builds, recorded: the parts of a build, its cells and its figures."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import nbformat
import pytest
from conftest import ROOT, record, write_run

from traincost.__main__ import main
from traincost.pages import builds
from traincost.reading.collection import read_collection

PARTS = ["check", "notebook", "export", "write"]


def small_collection(root, n=4):
    for i in range(n):
        config = {"task": "ab"[i % 2]}
        sections = {"eval": {"seconds": 20.0 + i, "count": 4}}
        write_run(root / f"r{i}", record(f"r{i}", config=config, runtime_s=60.0 + 10 * i, sections=sections))
    return root


@pytest.mark.slow
def test_builds_become_a_collection_with_a_page(tmp_path, capsys):
    runs, out = small_collection(tmp_path / "sweep"), tmp_path / "out"
    for n in (1, 2):
        assert main(["page", str(runs), "-o", str(out), "--profile"]) == 0
        said = capsys.readouterr().out.split()
        assert said == [str(out / "profiling.html"), str(out / "build/profiling.html")]
        assert len(read_collection(out / "build/runs").runs) == n
    found = read_collection(out / "build/runs")
    assert list(found.runs["run_id"]) == ["1", "2"]
    assert found.runs["config.collection"].eq("sweep").all()
    assert found.runs["config.n_runs"].eq(4).all()
    assert not len(found.excluded)
    assert "builds of sweep" in (out / "build/profiling.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_parts_of_a_build_add_up(tmp_path):
    runs, out = small_collection(tmp_path / "sweep"), tmp_path / "out"
    main(["page", str(runs), "-o", str(out), "--profile"])
    built = json.loads((out / "build/runs/1/run.json").read_text())
    seconds = {name: entry["seconds"] for name, entry in built["sections"].items()}
    assert [name for name in seconds if "/" not in name] == PARTS
    # What lies between them is little: nothing of weight is left out.
    assert 0.9 * built["runtime_s"] < sum(seconds[name] for name in PARTS) <= built["runtime_s"]
    cells = {name: s for name, s in seconds.items() if name.startswith("notebook/") and name.count("/") == 1}
    assert {"notebook/imports", "notebook/read", "notebook/what-runtime-depends-on"} <= set(cells)
    assert 0.8 * seconds["notebook"] < sum(cells.values()) <= 1.01 * seconds["notebook"]
    figures = {name: s for name, s in seconds.items() if name.endswith("/figures")}
    assert figures
    for name, spent in figures.items():
        assert 0 < spent < seconds[name.removesuffix("/figures")]


@pytest.mark.slow
def test_a_profiled_page_is_the_same_page(tmp_path):
    runs = small_collection(tmp_path / "sweep")
    main(["page", str(runs), "-o", str(tmp_path / "a")])
    main(["page", str(runs), "-o", str(tmp_path / "b"), "--profile"])
    for name in ("profiling.html", "profiling.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_build_that_is_refused_leaves_nothing(tmp_path, capsys):
    assert main(["page", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out"), "--profile"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert main(["page", str(tmp_path), "-o", "s3://bucket/out", "--profile"]) == 2
    assert "`--profile` needs a folder of this machine" in capsys.readouterr().err


def stamp(second):
    return datetime.fromtimestamp(second, UTC).isoformat()


def test_cells_go_by_their_tag_or_the_heading_above_them():
    def timed(source, start, end, *tags):
        papermill = {"start_time": stamp(start), "end_time": stamp(end)}
        return nbformat.v4.new_code_cell(source, metadata={"tags": [*tags], "papermill": papermill})

    heading = nbformat.v4.new_markdown_cell("## What it cost\n\nWords.\n\n### In money")
    cells = [timed("import a", 103, 105, "imports"), heading, timed("b", 105, 109), timed("c", 110, 111)]
    whole = {"start_time": stamp(100), "end_time": stamp(112)}
    nb = nbformat.v4.new_notebook(cells=cells, metadata={"papermill": whole})
    found = list(builds.cell_seconds(nb, [(106.0, 2.5), (110.5, 0.5), (99.0, 1.0)]))
    assert found == [
        ("start-of-kernel", 3.0),
        ("imports", 2.0),
        ("in-money", 4.0),
        ("in-money/figures", 2.5),
        ("in-money", 1.0),
        ("in-money/figures", 0.5),
        ("end-of-kernel", 1.0),
    ]


def test_the_next_build_is_counted_from_the_last(tmp_path):
    for name in ("1", "7", "notes"):
        (tmp_path / name).mkdir()
    assert builds._next(tmp_path).name == "8"


def test_the_command_line_compiles_no_grammar_of_addresses():
    """jsonschema does as it is imported; in a process of its own, where nothing has imported it yet."""
    code = (
        "import sys; from traincost.pages import publish\n"
        "publish._import_nbformat()\n"
        "assert 'jsonschema' in sys.modules\n"
        "assert 'rfc3987_syntax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
