"""Result trees of pyhighlights: against its own analyzer's numbers, and odd files."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import REFERENCE, record, write_run

from traincost.analysis import costs, effects, fields, levels
from traincost.pages import publish
from traincost.reading.collection import read_collection
from traincost.results.costs import costs as costs_of
from traincost.results.runs import Runs

TREES = REFERENCE / "pyhighlights"


def results(seeds=(0, 1), completed=None, name="toy", **changes):
    completed = seeds if completed is None else completed
    values = [
        {"cost_runtime_s": 10.0 - s, "cost_memory_mib": 400.0 + s, "test_f1": 0.5, "val_f1": 0.4}
        for s in completed
    ]
    return {"name": name, "seeds": list(seeds), "completed": list(completed), "runs": values, **changes}


def write_results(folder, content, settings=None, started="2026-01-02T03-04-05"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    manifest = {"started": started, "settings": {"batch_size": 8} if settings is None else settings}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return path


def test_a_run_per_completed_seed_and_the_rest_listed(tmp_path):
    write_results(tmp_path / "toy/2026-01-02T03-04-05", results(seeds=(0, 1, 2), completed=(0, 1)))
    found = read_collection(tmp_path)
    assert list(found.runs["config.seed"]) == [0, 1]
    assert list(found.runs["runtime_s"]) == [10, 9]
    assert list(found.runs["score.test_f1"]) == [0.5, 0.5]
    assert found.runs["started_at"].iloc[0] == "2026-01-02T03:04:05"
    assert list(found.excluded["status"]) == ["unfinished"]
    assert found.excluded["run_id"].iloc[0] == "toy/2026-01-02T03-04-05/seed=2"
    assert found.excluded["config.batch_size"].iloc[0] == 8


def test_settings_are_resolved_and_never_an_address(tmp_path):
    settings = {
        "model": {"@key": "name=model--tags=['fr']--namespace=x", "hidden": [1, 2]},
        "trainer_args": {"profiler": "<lightning.SimpleProfiler object at 0x7f98d64b4250>", "max_epochs": 2},
        "callbacks": [{"key": "name=c--tags=[]--namespace=x", "f": "<function go at 0x7f00>"}],
        "save_path": "/somewhere",
        "seeds": [0],
    }
    other = json.loads(json.dumps(settings).replace("0x7f98d64b4250", "0x1234").replace("0x7f00", "0xabcd"))
    other["model"]["key"] = other["model"].pop("@key")
    write_results(tmp_path / "a/1", results(seeds=(0,)), settings)
    write_results(tmp_path / "b/1", results(seeds=(1,)), other | {"seeds": [1]})
    found = read_collection(tmp_path)
    assert found.factors == ["seed"]
    assert found.runs["config.trainer_args.profiler"].iloc[0] == "<lightning.SimpleProfiler>"
    assert not {"config.save_path", "config.seeds"} & set(found.runs)


def test_the_latest_report_of_each_configuration_is_kept(tmp_path):
    stamp = "2026-01-02T03-04-05"
    for n in (9, 10):
        write_results(tmp_path / f"toy/{stamp}-{n}", results(seeds=(0,)), started=f"{stamp}-{n}")
    write_results(
        tmp_path / "toy/2026-01-01T00-00-00", results(seeds=(0,)), {"batch_size": 16}, "2026-01-01T00-00-00"
    )
    found = read_collection(tmp_path)
    latest = costs.cost_table(found)
    assert set(latest["report"]) == {f"{stamp}-10", "2026-01-01T00-00-00"}
    assert len(set(costs.cost_table(found, latest=False)["report"])) == 3
    assert costs.n_superseded(found) == 1
    assert costs.n_superseded(found, by=["batch_size"]) == 0
    assert "1 run of earlier ones is not in it" in str(costs_of(Runs(found)))


def test_latest_never_merges_differing_or_unknown_settings(tmp_path):
    for i in (1, 2):
        folder = tmp_path / f"differ/2026-01-0{i}T00-00-00"
        write_results(folder, results(seeds=(0,)), {"data": {"seed": i}}, f"2026-01-0{i}T00-00-00")
    assert len(costs.cost_table(read_collection(tmp_path))["report"].unique()) == 2
    for path in tmp_path.rglob("manifest.json"):
        path.unlink()
    assert len(costs.cost_table(read_collection(tmp_path))["report"].unique()) == 2


def test_seeds_of_one_process_are_not_exchangeable(tmp_path):
    write_results(tmp_path / "toy/1", results())
    found = read_collection(tmp_path)
    order = costs.process_order(found.runs)
    assert order == {"n_processes": 1, "n_first_slowest": 1, "n_memory_rises": 1}
    row = costs_of(Runs(found)).tables["cost"].frame.iloc[0]
    assert row["cost_memory_mib"] == "400"  # its deviation would be that of an inherited peak
    assert row["cost_runtime_s"] == "9.5 ± 0.7\N{NO-BREAK SPACE}s"


def test_the_deviation_of_a_single_seed_is_a_dash(tmp_path):
    write_results(tmp_path / "toy/1", results(seeds=(0,)))
    row = costs_of(Runs(read_collection(tmp_path))).tables["cost"].frame.iloc[0]
    assert row["cost_runtime_s"] == "10.0 ± –\N{NO-BREAK SPACE}s"


def test_a_column_of_some_seeds_is_summarised_over_those(tmp_path):
    content = results(seeds=(0, 1, 2))
    content["runs"][1]["test_f1"] = float("nan")
    del content["runs"][2]["test_f1"]
    write_results(tmp_path / "toy/1", content)
    table = costs.cost_table(read_collection(tmp_path), split="test").set_index("column")
    assert table.loc["test_f1", "n"] == 1
    assert table.loc["test_f1", "n_runs"] == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"name": "to', "is not whole JSON"),
        (b"", "is empty"),
        (b"[]", "holds a JSON list at the top"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        ({"split": "train", "weights": [1, 1]}, "reports no runs: it has no list `runs`"),
        (results(seeds=(), completed=()), "reports no runs: no seed was completed"),
        (results() | {"runs": None}, "reports no runs: it has no list `runs`"),
        (results() | {"runs": [3, 4]}, "its values must be an object, got int"),
        (results() | {"runs": [{"test_f1": 1.0}, {"cost_runtime_s": "1"}]}, "cost_runtime_s"),
    ],
)
def test_a_bad_file_is_listed_and_stops_no_table(tmp_path, content, reason):
    write_results(tmp_path / "good/1", results())
    write_results(tmp_path / "bad/1", content)
    found = read_collection(tmp_path)
    assert set(found.runs["path"]) == {"good/1/results.json"}
    assert found.excluded["reason"].str.contains(reason, regex=False).any()
    assert len(costs.cost_table(found))


@pytest.mark.parametrize(
    "changes",
    [
        {"seeds": None},
        {"seeds": 2},
        {"completed": None},
        {"completed": None, "seeds": None},
        {"name": ["a", "b"]},
        {"name": None},
        {"summary": None},
        {"summary": {"cost_runtime_s": {"mean": None, "std": "1"}}},
        {"summary": {"cost_runtime_s": 3}},
    ],
)
def test_odd_entries_are_survived(tmp_path, changes):
    write_results(tmp_path / "toy/1", results() | changes)
    found = read_collection(tmp_path)
    assert len(found.runs) == 2
    assert costs.cost_table(found).set_index("column").loc["cost_runtime_s", "mean"] == 9.5


def test_a_directory_named_results_and_a_missing_manifest(tmp_path):
    write_results(tmp_path / "toy/1", results())
    (tmp_path / "toy/1/manifest.json").unlink()
    (tmp_path / "bad/results.json").mkdir(parents=True)
    found = read_collection(tmp_path)
    assert list(found.excluded["reason"]) == ["is a directory, not a file"]
    assert found.notes["note"].str.contains("the settings are unknown").all()


def test_mixed_trees_are_read_together(tmp_path):
    write_results(tmp_path / "toy/1", results())
    write_run(tmp_path / "own", record("own", config={"batch_size": 8}))
    found = read_collection(tmp_path)
    assert set(found.runs["format"]) == {"pyhighlights", "traincost"}
    assert len(read_collection(tmp_path, format="pyhighlights").runs) == 2


# -- the real trees and their analyzer's numbers ----------------------------------------------


@pytest.fixture(scope="module")
def trees():
    return {name: read_collection(TREES / name) for name in ("results", "profiled")}


@pytest.mark.reference
@pytest.mark.parametrize("suffix", ["", "_all_runs"])
@pytest.mark.parametrize("split", ["cost", "test", "val"])
@pytest.mark.parametrize("name", ["results", "profiled"])
def test_every_mean_and_deviation_equals_the_analyzers(trees, name, split, suffix):
    oracle = pd.read_csv(TREES / f"oracle_{name}" / f"{split}{suffix}.csv")
    table = costs.cost_table(trees[name], split, latest=not suffix)
    ours = {(r.task, r.report, r.column): r for r in table.itertuples()}
    compared = 0
    for row in oracle.to_dict("records"):
        for column, printed in row.items():
            if column in ("task", "run", "seeds") or not isinstance(printed, str) or printed == "-":
                continue
            found = ours[row["task"], row["run"], f"{split}_{column}"]
            mean, std = printed.split(" +/- ")
            assert f"{found.mean:.4f}" == mean
            assert f"{found.std:.4f}" == std or (found.n == 1 and np.isnan(found.std) and std == "0.0000")
            compared += 1
    assert compared >= 100


@pytest.mark.reference
def test_seeds_count_the_completed(trees):
    table = costs.cost_table(trees["results"], latest=False).set_index(["task", "column"])
    assert table.loc[("toy_long-fr-b16", "cost_runtime_s"), "n_runs"] == 2  # of five asked for


@pytest.mark.reference
def test_the_search_reports_worker_seconds_per_model(trees):
    runs = trees["results"].runs
    searches = runs[runs["cost_models"] > 1]
    assert len(searches) >= 2
    expected = searches["cost_runtime_s"] * searches["cost_concurrency"] / searches["cost_models"]
    assert searches["cost_runtime_per_run_s"].to_numpy() == pytest.approx(expected.to_numpy())


@pytest.mark.reference
def test_the_first_seed_of_a_process_is_the_slowest(trees):
    runs = trees["results"].runs
    three = runs[runs.groupby("process")["run_id"].transform("size").eq(3) & runs["process"].ne("")]
    order = costs.process_order(three)
    assert order["n_first_slowest"] >= 0.9 * order["n_processes"]


# The factors of the flattened table by the settings that carry them.
FACTORS = {"task_name": "loader.@key", "arch": "model.@key", "batch_size": "batch_size", "seed": "seed"}


@pytest.mark.reference
@pytest.mark.parametrize("design", ["balanced_36", "unbalanced_29"])
def test_eta_squared_of_the_profiled_runs(trees, design):
    runs = trees["profiled"].runs
    oracle = pd.read_csv(TREES / "oracle_eta2_profiled.csv").set_index(["design", "factor"])
    if design == "unbalanced_29":
        flattened = pd.read_csv(TREES / "pyhighlights_profiled_runs.csv")
        dropped = set(flattened["run"].iloc[[0, 1, 5, 7, 13, 20, 31]])
        kept = ~runs["run_id"].str.rsplit("/", n=1).str[0].isin(dropped)
        assert kept.sum() == 29
        runs = runs[kept]
    table = effects.effect_sizes(runs["cost_runtime_s"], fields.describe(runs))
    found = {name: row.eta_squared for row in table.itertuples() for name in row.names}
    for factor, setting in FACTORS.items():
        assert found[setting] == pytest.approx(oracle.loc[(design, factor), "eta2_ssb_sst"], rel=1e-9)


@pytest.mark.reference
def test_level_means_of_the_profiled_runs(trees):
    runs = trees["profiled"].runs
    described = {field.name: field for field in fields.describe(runs)}
    cells = levels.cell_runtimes(runs["cost_runtime_s"], described["name"], described["model.@key"])
    task = cells.index.str.replace(r"-.*", "", regex=True)
    ours = cells.groupby(task).mean()  # both batch sizes have as many runs
    ours.columns = [next(a for a in ("dar", "fr", "mgr") if f"'{a}'" in label) for label in ours.columns]
    oracle = pd.read_csv(TREES / "oracle_heatmap_task_arch.csv", index_col=0)
    pd.testing.assert_frame_equal(ours[oracle.columns], oracle, check_names=False, rtol=1e-9)


def in_words(printed):
    """Return what a printed mean and its unit say, in the unit of the column."""
    units = {"h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6}
    number, *unit = printed.replace("\N{NO-BREAK SPACE}", " ").split(" ± ")[0].split() + printed.split()[-1:]
    symbol = (unit or [""])[0].split("\N{NO-BREAK SPACE}")[-1]
    return float(number.replace(",", "")) * units.get(symbol, 1.0)


@pytest.mark.reference
@pytest.mark.parametrize("name", ["results", "profiled"])
def test_the_printed_cost_table_carries_the_analyzers_numbers(trees, name):
    printed = costs_of(Runs(trees[name])).tables["cost"].frame
    rows = {(row["task"], row["report"]): row for row in printed.to_dict("records")}
    pairs = json.loads((TREES / f"oracle_{name}" / "cost_pairs.json").read_text())
    compared = 0
    for expected in pairs:
        row = rows.get((expected["task"], expected["run"]), {})
        for column, pair in expected.items():
            if isinstance(pair, list) and column not in ("memory_mib",):
                assert in_words(row[f"cost_{column}"]) == pytest.approx(pair[0], rel=6e-2)
                compared += 1
    assert compared >= 90


QUICKSTART = """
import json, sys
from pathlib import Path
import pyhighlights
from cinnamon.registry import Registry
from pyhighlights.components.analyzers import MetricsAnalyzer
from pyhighlights.configurations.keys import TOY_TASK

Registry.build(directory=Path(pyhighlights.__file__).parent)
Registry.from_key(TOY_TASK, save_path="results", seeds=[0, 1], store_predictions=True).run()
report = {
    split: MetricsAnalyzer(directory="results", split=split, pairs=True).analyze().to_dict("records")
    for split in ("cost", "test", "val")
}
Path("analyzed.json").write_text(json.dumps(report))
"""


@pytest.mark.torch
def test_what_pyhighlights_itself_has_just_written(tmp_path):
    pytest.importorskip("pyhighlights")
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", QUICKSTART], cwd=tmp_path, check=True, capture_output=True
    )
    analyzed = json.loads((tmp_path / "analyzed.json").read_text())
    found = read_collection(tmp_path / "results")
    assert list(found.runs["config.seed"]) == [0, 1]
    assert not len(found.excluded)
    compared = 0
    for split, (row,) in analyzed.items():
        ours = costs.cost_table(found, split).set_index("column")
        for column, pair in row.items():
            if isinstance(pair, list):
                summary = ours.loc[f"{split}_{column}"]
                assert [summary["mean"], summary["std"]] == pytest.approx(pair, rel=1e-9)
                compared += 1
    assert compared >= 20
    publish.page(tmp_path / "results", tmp_path / "out")
    assert "1,479,684" in (tmp_path / "out/profiling.html").read_text(encoding="utf-8")
