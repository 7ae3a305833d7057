"""From a directory to a page, the three ways; and what stops a page from being written."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from conftest import ROOT, record, write_run

from traincost.__main__ import main
from traincost.errors import ParameterError, RefusedNotebook
from traincost.pages import publish
from traincost.pages.exporter import TraincostExporter, contents, read
from traincost.pages.outputs import anchor, markdown
from traincost.pages.publish import BuildFailed
from traincost.printing import plain

BIN = Path(sys.executable).parent


def small_collection(root, n=6):
    for i in range(n):
        config = {"task": "ab"[i % 2], "lr": [0.1, 0.2, 0.3][i % 3]}
        sections = {"eval": {"seconds": 20.0 + i, "count": 4}, "eval/gen": {"seconds": 9.0, "count": 4}}
        write_run(root / f"r{i}", record(f"r{i}", config=config, runtime_s=60.0 + 10 * i, sections=sections))
    return root


def page_of(folder, kind="profiling"):
    return (folder / f"{kind}.html").read_text(encoding="utf-8")


def changed_collection(root, n=6):
    """The same small collection with fewer evaluations, a setting changed and a run missing."""
    for i in range(1, n):
        config = {"task": "ab"[i % 2], "lr": [0.1, 0.2, 0.3][i % 3], "evaluate": "once"}
        sections = {"eval": {"seconds": 5.0 + i, "count": 1}, "eval/gen": {"seconds": 2.0, "count": 1}}
        seconds = 45.0 + 10 * i + 0.1 * i**2
        write_run(root / f"r{i}", record(f"r{i}", config=config, runtime_s=seconds, sections=sections))
    return root


def built(tmp_path, kind):
    """Build one of the pages; the comparison's sides have each what the other lacks."""
    runs = small_collection(tmp_path / "runs")
    if kind == "compare":
        publish.compare(runs, changed_collection(tmp_path / "other"), tmp_path / "out")
    else:
        knobs = [{"name": "eval", "sections": ["eval"], "kind": "cadence"}]
        reruns = {"eval": str(changed_collection(tmp_path / "other"))}
        baseline = str(small_collection(tmp_path / "again"))
        parameters = {"knobs": knobs, "reruns": reruns, "rerun_baseline": baseline}
        publish.page(runs, tmp_path / "out", **parameters if kind == "reruns" else {})
    return tmp_path / "out", "compare" if kind == "compare" else "profiling"


KINDS = pytest.mark.parametrize("kind", ["profiling", "reruns", "compare"])


@KINDS
def test_the_page_is_one_file_without_script_or_request(tmp_path, kind):
    folder, name = built(tmp_path, kind)
    page = page_of(folder, name)
    expected = [f"{name}-tables", f"{name}.html", f"{name}.json"]
    assert sorted(p.name for p in folder.iterdir()) == expected
    assert "<script" not in page
    assert not re.search(rf'(src|href)="(?!#|data:|{name}\.json|{name}-tables/)', page)
    assert "default-src 'none'" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', page):
        assert target in ids


@KINDS
def test_every_number_in_prose_has_its_key_in_the_json(tmp_path, kind):
    folder, name = built(tmp_path, kind)
    page = page_of(folder, name)
    numbers = json.loads((folder / f"{name}.json").read_text())["numbers"]
    found = re.findall(r'<data value="([^"]*)" data-key="([^"]*)">', page)
    assert found
    for value, key in found:
        assert numbers[html.unescape(key)] == pytest.approx(json.loads(value))
    main_part = page.split("<main", 1)[1]
    prose = re.sub(r"<(svg|table|code|data|var|time|dl)\b.*?</\1>", "", main_part, flags=re.DOTALL)
    assert not re.findall(r"[0-9]", html.unescape(re.sub(r"<[^>]+>", "", prose)))


@pytest.mark.slow
def test_papermill_and_nbconvert_give_the_same_page(tmp_path):
    runs = small_collection(tmp_path / "runs")
    publish.page(runs, tmp_path / "out")
    executed = tmp_path / "executed.ipynb"
    subprocess.run(
        [
            BIN / "papermill",
            "--no-progress-bar",
            ROOT / "notebooks/profiling.ipynb",
            executed,
            "-p",
            "runs_dir",
            runs,
        ],
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [BIN / "jupyter", "nbconvert", "--log-level=ERROR", "--to", "traincost", executed.name],
        cwd=tmp_path,  # the notebook in the working directory, as the README's line has it
        check=True,
    )
    assert (tmp_path / "executed.html").read_text(encoding="utf-8") == page_of(tmp_path / "out")
    assert (tmp_path / "profiling.json").read_bytes() == (tmp_path / "out/profiling.json").read_bytes()


@pytest.mark.slow
def test_papermill_builds_the_comparison_too_and_hides_paths(tmp_path):
    runs, other = small_collection(tmp_path / "runs"), changed_collection(tmp_path / "other")
    publish.compare(runs, other, tmp_path / "out")
    executed = tmp_path / "executed.ipynb"
    arguments = ["-p", "before", str(runs), "-p", "after", str(other)]
    notebook = ROOT / "notebooks/compare.ipynb"
    subprocess.run(
        [BIN / "papermill", "--no-progress-bar", notebook, executed, *arguments],
        check=True,
        capture_output=True,
    )
    page, resources = TraincostExporter().from_notebook_node(nbformat.read(executed, as_version=4))
    assert page == page_of(tmp_path / "out", "compare")
    assert str(tmp_path) not in page + resources["outputs"]["./compare.json"].decode()


def test_a_comparison_says_changes_and_lists_unpaired_runs(tmp_path):
    folder, name = built(tmp_path, "compare")
    text = re.sub(r"<[^>]+>", "", page_of(folder, name))
    assert "Changed setting, the likely cause: evaluate ((no such setting) before, once after)." in text
    assert re.search(r"The paired runs took [\d.]+.% less time \([\d.]+ to [\d.]+\)\.", text)
    assert "because it ran 1 instead of 4 times a run" in text
    assert "1 run is without a pair" in text
    report = json.loads((folder / "compare.json").read_text())
    assert [row["run_id"] for row in report["tables"]["unpaired"]["rows"]] == ["r0"]
    parts = report["tables"]["parts"]["rows"]
    assert sum(row["total_s"] for row in parts) == pytest.approx(report["numbers"]["mean.change_s"], abs=1e-9)


@pytest.mark.slow
def test_bounds_stand_against_what_was_saved_only_if_asked(tmp_path):
    folder, _ = built(tmp_path, "reruns")
    text = re.sub(r"<[^>]+>", "", page_of(folder))
    assert (
        "The baseline is the same setup run again: against the runs of this page it took the same time."
        in text
    )
    assert re.search(
        r"eval, by evaluate \(.*?\) saved [\d.]+\s% of a run \(.*?\) over 5 configurations, ", text
    )
    report = json.loads((folder / "profiling.json").read_text())
    assert report["parameters"]["reruns"] == {"eval": "other"}
    (row,) = report["tables"]["turned"]["rows"]
    assert row["inside"] + row["outside"] == pytest.approx(row["measured"])
    publish.page(tmp_path / "runs", tmp_path / "plain")
    assert "turned" not in json.loads((tmp_path / "plain/profiling.json").read_text())["tables"]


@pytest.mark.parametrize("name", ["01", "nan", "a b{x}'\"$é"])
@pytest.mark.slow
def test_directories_whose_names_read_as_something_else(tmp_path, name, monkeypatch, capsys):
    small_collection(tmp_path / name, 2)
    monkeypatch.chdir(tmp_path)
    assert main(["page", name, "-o", "out"]) == 0
    assert json.loads((tmp_path / "out/profiling.json").read_text())["parameters"]["runs_dir"] == name


@pytest.mark.slow
def test_nothing_beside_the_runs_or_in_profiles_is_loaded(tmp_path, monkeypatch):
    runs = small_collection(tmp_path / "runs", 2)
    planted = f"open({str(tmp_path / 'planted')!r}, 'w').close()"
    (runs / "seaborn.py").write_text(planted)
    (runs / "sitecustomize.py").write_text(planted)
    (runs / "matplotlibrc").write_text("font.size: 40\n")
    (runs / "ipython_config.py").write_text(planted)
    profile = tmp_path / "home" / ".ipython" / "profile_default" / "startup"
    profile.mkdir(parents=True)
    (profile / "00.py").write_text(planted)
    (runs / "r0" / "x.pkl").write_bytes(
        b"cos\nsystem\n(S'touch " + os.fsencode(tmp_path / "planted") + b"'\ntR."
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(runs)
    first = publish.page(runs, tmp_path / "out").read_bytes()
    assert not (tmp_path / "planted").exists()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "C")
    assert (
        publish.page(small_collection(tmp_path / "again" / "runs", 2), tmp_path / "out2").read_bytes()
        == first
    )


@pytest.mark.slow
def test_the_command_line_names_a_knob_without_sections(tmp_path, capsys):
    runs = small_collection(tmp_path / "runs", 2)
    knobs = tmp_path / "params.yaml"
    knobs.write_text("knobs: [{name: k, sections: [evla]}, {name: e, sections: [eval]}]")
    assert main(["page", str(runs), "-o", str(tmp_path / "out"), "-f", str(knobs)]) == 0
    err = capsys.readouterr().err
    assert "traincost: the knob 'k' matches no section of these runs; mend its `sections`\n" in err
    assert "'e'" not in err


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([record("only")], ["in all, 1 run", "No setting varies", "recorded no sections"]),
        ([record("a"), record("b", runtime_s=120.0)], ["No setting varies between the runs"]),
        (
            [record(f"r{i}", config={"task": "ab"[i % 2]}, runtime_s=9.5) for i in range(6)],
            ["All runs took the same time"],
        ),
        (
            [record(f"r{i}", config={"task": "ab"[i % 2], "lr": i}, runtime_s=9.5 + i % 3) for i in range(4)],
            ["cannot be told from chance"],
        ),
        (
            [record("a"), record("b", config={"task": "u"}, status="failed", runtime_s=7200.0)],
            ["left out", "status is failed"],
        ),
        (
            [record("a", sections={"x": {"seconds": 80, "count": 1}, "y": {"seconds": 70}})],
            ["add up to more than the whole"],
        ),
        (
            [record("a", sections={"x": {"seconds": 80}})],
            ["no run counted how often", "x is 80.0 % of a run"],
        ),
    ],
)
@pytest.mark.slow
def test_a_page_that_says_what_cannot_be_said(tmp_path, runs, says):
    for run in runs:
        write_run(tmp_path / "runs" / run["run_id"], run)
    parameters = (
        {"knobs": [{"name": "k", "sections": ["x"], "kind": "cadence"}]} if "x" in str(runs[0]) else {}
    )
    publish.page(tmp_path / "runs", tmp_path / "out", **parameters)
    text = plain(re.sub(r"<[^>]+>", "", page_of(tmp_path / "out")))
    for part in says:
        assert part in text


def test_hostile_names_from_runs_are_text_on_the_page(tmp_path):
    payload = '"><img src=x onerror=alert(1)><script>alert(2)</script>&amp;\n$x$ `a` **b**'
    for i in range(6):
        write_run(
            tmp_path / "runs" / f"r{i}<img src=x onerror=alert(3)>",
            record(
                f"{payload}{i}",
                config={
                    payload: f"{payload}{i % 2}",
                    "b": ["漢字\x00", "x" * 5000][i % 2],
                    "l": [1, payload],
                },
                runtime_s=10.0 + i,
                sections={payload.replace("/", "|"): {"seconds": 5.0, "count": 3}},
                scores={payload: 0.5},
                status="failed" if i == 5 else "completed",
            ),
        )
    publish.page(tmp_path / "runs", tmp_path / "out", project=payload, note=payload)
    write_run(tmp_path / "runs" / "more", record("more", config={"b": payload}, runtime_s=9.0))
    shutil.copytree(tmp_path / "runs", tmp_path / "after" / payload.replace("/", "|")[:40])
    (after,) = (tmp_path / "after").iterdir()
    write_run(after / "more", record(payload, config={"b": f"{payload}2", payload: 3}, runtime_s=8.0))
    publish.compare(tmp_path / "runs", after, tmp_path / "out", note=payload)
    for kind in ("profiling", "compare"):
        page = page_of(tmp_path / "out", kind)
        assert not re.search(r"<(script|img)", page)
        assert "alert(1)" in page
        assert len(page) < 300_000


def test_a_failed_cell_writes_no_page_and_keeps_the_notebook(tmp_path, monkeypatch, capsys):
    broken = nbformat.read(ROOT / "notebooks/profiling.ipynb", as_version=4)
    broken.cells[0].source = "1 / 0"
    monkeypatch.setattr(publish, "notebook_path", lambda kind: tmp_path / "broken.ipynb")
    nbformat.write(broken, tmp_path / "broken.ipynb")
    runs = small_collection(tmp_path / "runs", 2)
    with pytest.raises(BuildFailed, match="ZeroDivisionError"):
        publish.page(runs, tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["profiling.failed.ipynb"]
    assert main(["page", str(runs), "-o", str(tmp_path / "out")]) == 1
    assert "kept for inspection" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "rowz", "task"], "'rowz' is not a parameter; did you mean 'rows'"),
        (["-p", "rows", "nope"], "`rows` must be a setting of the runs, got 'nope'"),
        (["-p", "replicates", "[3]"], "`replicates` must be a list such as [a], got [3]"),
        (["-p", "knobs", "[{name: k, sections: [a], kind: x}]"], "`kind` must be one of"),
        (["-p", "knobs", "[{"], "`knobs` must be a list such as [{…}], as YAML, got '[{'"),
        (["-f", "missing.yaml"], "the parameter file missing.yaml cannot be read"),
        (["-f", "list.yaml"], "must be a mapping of names to values"),
        (["-f", "tag.yaml"], "could not determine a constructor for the tag"),
        (["-p", "format", "parquet"], "`format` must be auto or one of"),
        (["-p", "cadence_section", "evla"], "`cadence_section` must be a section of the runs"),
        (["-p", "reruns", "{eval: runs}"], "`reruns` must name knobs, got 'eval'; there are: none"),
        (["-p", "reruns", "{eval: 1}"], "`reruns` must be a mapping such as {a: path}, got {'eval': 1}"),
    ],
)
def test_unusable_arguments_end_with_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.yaml").write_text("[1]")
    (tmp_path / "tag.yaml").write_text("rows: !!python/object/apply:os.system ['touch planted']")
    small_collection(tmp_path / "runs", 4)
    assert main(["page", "runs", "-o", "out", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("traincost: ")
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere"),
        (["bad"], "holds no completed run to report on"),
        (["other"], "the collections have no factor in common: BEFORE varies lr, task; AFTER varies depth"),
        (["renamed"], "if it is a1 there, say so: renamed: {task: {a: a1}}"),
        (["runs", "-p", "pair_by", "[lrr]"], "`pair_by` must name settings of both collections, got 'lrr'"),
        (
            ["runs", "-p", "after", "x", "-p", "befor", "x"],
            "'befor' is not a parameter; did you mean 'before'",
        ),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_compared_ends_with_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    small_collection(tmp_path / "runs")
    write_run(Path("bad/a"), record("a", status="failed"))
    for i in range(4):
        write_run(Path(f"other/{i}"), record(f"{i}", config={"depth": i % 2}, runtime_s=10.0 + i))
        config = {"task": ["a1", "b1"][i % 2], "lr": [0.1, 0.2][i // 2]}
        write_run(Path(f"renamed/{i}"), record(f"{i}", config=config))
    assert main(["compare", "runs", *arguments, "-o", "out"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize("content", [None, "empty", "file", "only bad runs"])
def test_nothing_to_report_ends_with_one_line(tmp_path, monkeypatch, capfd, content):
    monkeypatch.chdir(tmp_path)
    if content == "empty":
        Path("runs").mkdir()
    elif content == "file":
        Path("runs").write_text("x")
    elif content:
        write_run(Path("runs/a"), "{")
    assert main(["page", "runs"]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("traincost: ")
    assert captured.err.count("\n") == 1
    assert not Path("reports").exists()


@pytest.mark.slow
def test_a_page_goes_where_sent_and_else_to_reports(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small_collection(tmp_path / "sweep", 2)
    assert main(["page", "sweep"]) == 0
    out = capsys.readouterr().out.strip()
    assert Path(out) == tmp_path / "reports" / "sweep" / "profiling.html"
    assert Path(out).is_file()


@pytest.mark.slow
def test_output_that_cannot_be_written(tmp_path, capsys):
    small_collection(tmp_path / "runs", 2)
    (tmp_path / "out").write_text("a file")
    assert main(["page", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 2
    assert "out" in capsys.readouterr().err


def test_the_exporter_refuses_an_unknown_parameter_and_a_failed_cell(tmp_path):
    nb = nbformat.read(ROOT / "notebooks/profiling.ipynb", as_version=4)
    with pytest.raises(RefusedNotebook, match="was it executed"):
        TraincostExporter().from_notebook_node(nb)
    nb.cells[0].outputs = [nbformat.v4.new_output("display_data", {"text/plain": "x"})]
    nb.metadata["papermill"] = {"parameters": {"runs_dirr": "x"}}
    with pytest.raises(ParameterError, match="did you mean 'runs_dir'"):
        TraincostExporter().from_notebook_node(nb)
    nb.cells[0].outputs = [nbformat.v4.new_output("error", ename="E", evalue="no", traceback=[])]
    with pytest.raises(RefusedNotebook, match="a cell failed with E: no"):
        TraincostExporter().from_notebook_node(nb)


@pytest.mark.slow
def test_what_papermill_did_not_know_makes_no_page(tmp_path):
    """papermill only logs a parameter that the notebook does not have."""
    runs, executed = small_collection(tmp_path / "runs", 2), tmp_path / "x.ipynb"
    arguments = ["-p", "runs_dir", runs, "-p", "rowz", "task"]
    subprocess.run(
        [BIN / "papermill", "--no-progress-bar", ROOT / "notebooks/profiling.ipynb", executed, *arguments],
        check=True,
        capture_output=True,
    )
    with pytest.raises(ParameterError, match="'rowz' is not a parameter; did you mean 'rows'"):
        TraincostExporter().from_notebook_node(nbformat.read(executed, as_version=4))


def test_headings_get_stable_anchors_and_markdown_html_is_text():
    assert anchor("Where the time goes") == "where-the-time-goes"
    assert '<h2 id="what-to-change">What to change</h2>' in markdown("## What to change")
    assert "<img" not in markdown("<img src=x onerror=alert(1)>")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A\n## B c\n### D\n## E")])
    assert contents(read(nb, "x")[1]) == [("b-c", "B c"), ("e", "E")]


@pytest.mark.slow
def test_a_large_collection_makes_a_page_of_the_same_size(tmp_path):
    def size(name, n):
        rng = np.random.default_rng(0)
        for i in range(n):
            config = {"task": "abcdef"[i % 6], "loss": f"l{i // 6 % 6}", "seed": i // 36}
            sections = {"eval": {"seconds": 30.0, "count": 4}, "train": {"seconds": 20.0, "count": 4}}
            runtime = float(np.exp(rng.normal(4.5, 0.3)))
            write_run(
                tmp_path / name / f"{i}", record(f"{i}", config=config, runtime_s=runtime, sections=sections)
            )
        page = publish.page(tmp_path / name, tmp_path / "out" / name)
        shutil.rmtree(tmp_path / name)
        return page.stat().st_size

    assert size("many", 720) < 1.15 * size("few", 72)


@pytest.mark.slow
def test_names_that_are_words_of_ours_do_not_collide(tmp_path):
    words = ["section", "level", "n_runs", "unattributed", "all runs", "(unset)", ""]
    for i in range(14):
        config = {"lr": ["lr", "tuned"][i % 2], "": 1, "a.b": words[i // 2], "level": i % 2, "path": "p"}
        sections = {
            "unattributed": {"seconds": 5.0, "count": 2},
            "all knobs together": {"seconds": 4.0, "count": 2},
            "level": {"seconds": 3.0, "count": 2},
        }
        config |= {"opt": None} if i % 3 else {}
        write_run(
            tmp_path / "runs" / f"r{i}",
            record(f"r{i}", config=config, runtime_s=20.0 + i % 5, sections=sections, cost={"models": 1}),
        )
    publish.page(tmp_path / "runs", tmp_path / "out", rows="a\\.b", columns="lr")
    report = json.loads((tmp_path / "out/profiling.json").read_text())
    shares = {row["section"]: row["share"] for row in report["tables"]["sections"]["rows"]}
    assert sum(shares.values()) == pytest.approx(1)
    assert {row["level"] for row in report["tables"]["levels"]["rows"]} == {*words[:-1], "(empty)"}


@pytest.mark.slow
def test_runs_without_any_setting(tmp_path):
    for i in range(5):
        write_run(tmp_path / "runs" / f"r{i}", record(f"r{i}", config={}, runtime_s=20.0 + i))
    publish.page(tmp_path / "runs", tmp_path / "out")
    assert "No setting varies between the runs" in page_of(tmp_path / "out")


@pytest.mark.slow
def test_many_levels_say_how_many_are_drawn(tmp_path):
    for i in range(60):
        config = {"task": f"t{i // 2}", "lr": i % 2}
        sections = {"e": {"seconds": 5.0, "count": 2}}
        write_run(
            tmp_path / "runs" / f"r{i}", record(f"r{i}", config=config, runtime_s=20.0 + i, sections=sections)
        )
    publish.page(tmp_path / "runs", tmp_path / "out", rows="task")
    page = page_of(tmp_path / "out")
    assert page.count("the first 24 of 30 levels") >= 1
    assert page.count("and 6 more, each faster") >= 1


@pytest.mark.slow
def test_a_very_long_name_does_not_swell_the_page(tmp_path):
    for i in range(6):
        config = {"task": "ab"[i % 2] * 100_000}
        sections = {"s" * 50_000: {"seconds": 5.0, "count": 2}}
        write_run(
            tmp_path / "runs" / f"r{i}", record(f"r{i}", config=config, runtime_s=20.0 + i, sections=sections)
        )
    assert publish.page(tmp_path / "runs", tmp_path / "out").stat().st_size < 250_000


def test_a_kernel_that_dies_is_told_and_writes_no_page(tmp_path, monkeypatch, capfd):
    broken = nbformat.read(ROOT / "notebooks/profiling.ipynb", as_version=4)
    broken.cells[
        0
    ].source = "import os, sys; print('last words', file=sys.__stderr__, flush=True); os._exit(9)"
    nbformat.write(broken, tmp_path / "broken.ipynb")
    monkeypatch.setattr(publish, "notebook_path", lambda kind: tmp_path / "broken.ipynb")
    assert main(["page", str(small_collection(tmp_path / "runs", 2)), "-o", str(tmp_path / "out")]) == 1
    assert "the kernel died" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_users_notebook_becomes_a_page_where_it_lies(tmp_path, monkeypatch):
    nb = nbformat.read(ROOT / "notebooks/compare.ipynb", as_version=4)
    nb.cells.insert(0, nbformat.v4.new_code_cell("import helper\nopen('data.txt').close()"))
    folder = tmp_path / "analyses"
    folder.mkdir()
    nbformat.write(nb, folder / "mine.ipynb")
    (folder / "helper.py").write_text("")
    (folder / "data.txt").write_text("")
    small_collection(tmp_path / "runs")
    changed_collection(tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    page = publish.publish("analyses/mine.ipynb", before="runs", after="other", replicates="seed")
    assert page == tmp_path / "reports/mine/mine.html"
    assert "took" in page.read_text(encoding="utf-8")
    assert str(tmp_path) not in page.read_text(encoding="utf-8")


def test_a_page_is_computed_with_one_thread_unless_asked_otherwise(tmp_path, monkeypatch):
    source = "import os; print([os.environ.get(f'{n}_NUM_THREADS') for n in ('OPENBLAS', 'MKL')])"
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    nb = publish.execute(nbformat.v4.new_notebook(cells=[cell]), {}, tmp_path / "failed.ipynb")
    assert nb.cells[0].outputs[0].text == "['1', '3']\n"


def test_a_kernel_that_dies_early_is_started_again():
    tries = []

    def execute(last):
        tries.append(1)
        if len(tries) < last:
            raise RuntimeError("Kernel died before replying to kernel_info")
        return "executed"

    assert publish._with_a_kernel(execute, publish.KERNEL_STARTS) == "executed"
    assert len(tries) == publish.KERNEL_STARTS
    with pytest.raises(RuntimeError, match="died"):
        publish._with_a_kernel(execute, 100)

    def broken():
        tries.append(1)
        raise RuntimeError("another reason")

    tries.clear()
    with pytest.raises(RuntimeError, match="another"):
        publish._with_a_kernel(broken)
    assert len(tries) == 1
