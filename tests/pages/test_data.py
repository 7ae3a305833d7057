"""From a number to the file of a run: the published form of the data, and its origins."""

import csv
import importlib.resources
import io
import json
import re

import jsonschema
import nbformat
import pytest
from conftest import ROOT, record, write_run

import traincost as tc
from traincost.results.tables import MAX_RUNS

NAMES = ["golden", "demo", "compare", "plan", "benchmark", "demo-card", "milestones"]
SCHEMAS = importlib.resources.files("traincost.pages") / "schemas"
BENCHMARK = ROOT / "tests/bench/benchmark.schema.json"


def data(page):
    return json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))


def schema(kind):
    path = BENCHMARK if kind == "benchmark" else SCHEMAS / f"{kind}.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["profiling", "compare", "plan", "benchmark", "estimation"])
def test_a_schema_is_one(kind):
    jsonschema.Draft202012Validator.check_schema(schema(kind))


@pytest.mark.parametrize("other", ["compare", "plan", "benchmark", "estimation"])
def test_schemas_say_the_same_of_what_several_reports_have(other):
    first, second = schema("profiling"), schema(other)
    assert first["$defs"] == second["$defs"]
    shared = set(first["properties"]) & set(second["properties"]) - {"kind"}
    assert len(shared) >= 10
    assert all(first["properties"][name] == second["properties"][name] for name in shared)


@pytest.mark.parametrize("name", NAMES)
def test_the_data_of_a_page_are_as_its_schema_says(published, name):
    report = data(published(name))
    validator = jsonschema.Draft202012Validator(schema(report["kind"]))
    validator.validate(report)
    for spoilt in ({"numbers": {"a": [1]}}, {"format": "other"}, {"surprise": 1}, {"anchors": {"a": "x"}}):
        assert not validator.is_valid({**report, **spoilt})


@pytest.mark.parametrize("name", NAMES)
def test_every_row_says_what_it_is_of(published, name):
    report = data(published(name))
    for table in report["tables"].values():
        assert len(table["origins"]) == len(table["rows"])
        for origin in table["origins"]:
            assert origin["filter"]
            assert origin["runs"] is None or len(origin["runs"]) == min(origin["n_runs"], MAX_RUNS)


def test_a_level_leads_to_runs_and_they_to_files(published, golden):
    report = data(published("golden"))
    files = {row["run_id"]: row["path"] for row in report["tables"]["runs"]["rows"]}
    assert files == dict(zip(golden.runs["run_id"], golden.runs["path"], strict=True))
    runtime_s = golden.runs.set_index("run_id")["runtime_s"]
    table = report["tables"]["levels"]
    for row, origin in zip(table["rows"], table["origins"], strict=True):
        assert origin["filter"] == f"completed runs where task_name = {row['level']}"
        assert row["mean_s"] == pytest.approx(runtime_s[origin["runs"]].mean())
    spent = report["tables"]["spent"]
    assert [len(origin["runs"] or ()) for origin in spent["origins"]] == [6] * 6 + [0]
    assert spent["origins"][-1] == {"n_runs": 36, "filter": "all runs", "runs": None}


def test_money_is_of_the_runs_left_out_too(tmp_path):
    for i in range(6):
        config, status = {"a": "xy"[i % 2]}, "failed" if i == 5 else "completed"
        write_run(tmp_path / f"r{i}", record(f"r{i}", config=config, runtime_s=9.0 + i, status=status))
    runs = tc.read(tmp_path)
    spent = tc.costs(runs).data()["tables"]["spent"]["origins"]
    assert spent[1] == {"n_runs": 3, "filter": "all runs where a = y", "runs": ["r1", "r3", "r5"]}
    (origin,) = runs.result.data()["tables"]["excluded"]["origins"]
    assert origin["runs"] == ["r5"]


def test_a_cost_row_names_its_runs(tmp_path):
    for i in range(4):
        changes = {"config": {"a": "xy"[i % 2]}, "cost": {"cost_memory_mib": 5.0 + i}}
        write_run(tmp_path / f"r{i}", record(f"r{i}", runtime_s=9.0 + i, **changes))
    table = tc.costs(tc.read(tmp_path), "a").tables["cost"]
    # The slower first.
    assert [origin.runs for origin in table.origin_of_rows()] == [("r1", "r3"), ("r0", "r2")]


@pytest.mark.parametrize("name", NAMES)
def test_tables_can_be_downloaded_and_lie_beside_the_page(published, name):
    page, report = published(name).read_text(encoding="utf-8"), data(published(name))
    folder = published(name).parent / f"{report['kind']}-tables"
    assert {path.stem for path in folder.iterdir()} == set(report["tables"])
    links = re.findall(r'<a href="([^"]+)-tables/([^"]+).csv">\2</a>', page)
    assert [table for _, table in links] == sorted(report["tables"])
    assert {kind for kind, _ in links} == {report["kind"]}
    for table in report["tables"]:
        whole = (folder / f"{table}.csv").read_bytes().decode()
        n = len(list(csv.reader(io.StringIO(whole, newline="")))) - 1
        assert n == len(report["tables"][table]["rows"])


def test_the_tables_of_an_earlier_build_do_not_stay(tmp_path):
    cells = [nbformat.v4.new_markdown_cell("# Mine")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "mine.ipynb")
    stale, other = tmp_path / "out/mine-tables/gone.csv", tmp_path / "out/mine-tables/mine.txt"
    stale.parent.mkdir(parents=True)
    stale.write_text("a")
    other.write_text("b")
    tc.publish(tmp_path / "mine.ipynb", tmp_path / "out")
    assert not stale.exists()
    assert other.exists()
