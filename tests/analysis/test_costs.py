"""Cost tables, score against cost, hours and money."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, grid, record, write_run

import traincost as tc
from traincost.analysis import costs as analysis
from traincost.errors import ParameterError
from traincost.printing import plain
from traincost.reading.collection import read_collection
from traincost.results.costs import costs, mean_and_deviation
from traincost.results.runs import Runs
from traincost.results.scores import scores
from traincost.results.tables import MAX_COLUMNS


def collection_in(tmp_path, rows):
    """Write a run record of each (config, runtime, cost, scores, status) and read them."""
    for i, (config, runtime_s, cost, scored, status) in enumerate(rows):
        write_run(
            tmp_path / f"r{i}",
            record(
                f"r{i}",
                config=config,
                runtime_s=runtime_s,
                cost={f"cost_{k}": v for k, v in cost.items()},
                scores=scored,
                status=status,
            ),
        )
    return read_collection(tmp_path)


@pytest.fixture
def collection(tmp_path):
    done = "completed"
    return collection_in(
        tmp_path,
        [
            ({"task": "a", "seed": 0}, 10.0, {"memory_mib": 100.0, "parameters": 5}, {"test_f1": 0.5}, done),
            ({"task": "a", "seed": 1}, 14.0, {"memory_mib": 110.0, "parameters": 5}, {"test_f1": 0.7}, done),
            ({"task": "b", "seed": 0}, 3600.0, {"memory_mib": 300.0}, {"test_f1": 0.9, "val_f1": 1.0}, done),
            ({"task": "b", "seed": 1}, 7200.0, {}, {}, "failed"),
        ],
    )


def test_mean_and_sample_deviation_by_level(collection):
    table = analysis.cost_table(collection, by=["task"]).set_index(["task", "column"])
    row = table.loc[("a", "cost_memory_mib")]
    assert (row["mean"], row["min"], row["max"], row["n"]) == (105, 100, 110, 2)
    assert row["std"] == pytest.approx(np.std([100, 110], ddof=1))
    assert np.isnan(table.loc[("b", "cost_memory_mib"), "std"])
    assert ("b", "cost_parameters") not in table.index  # nothing measured is no column, not a zero


def test_a_split_of_scores_carries_no_cost_column(collection):
    table = analysis.cost_table(collection, split="test", by=["task"])
    assert set(table["column"]) == {"test_f1"}
    assert set(analysis.cost_table(collection, split="val")["column"]) == {"val_f1"}
    assert set(analysis.cost_table(collection, split="scores")["column"]) == {"test_f1", "val_f1"}
    assert not len(analysis.cost_table(collection, split="nope"))


@pytest.mark.parametrize("name", ["n", "mean", "column", "n_runs", "run_id", "process", "score.n", "cost_x"])
def test_settings_and_scores_may_be_called_like_columns(tmp_path, name):
    rows = []
    for i in range(4):
        level = "xy"[i % 2]
        config = {"score": {"n": level}} if name == "score.n" else {name: level}
        rows.append((config, 9.0 + i, {"x": i}, {name: 2, "n": i}, "completed"))
    found = collection_in(tmp_path, rows)
    assert analysis.cost_members(found, [name]) == {("x",): ("r0", "r2"), ("y",): ("r1", "r3")}
    runs = Runs(found, rows=name)
    for result, split, shown in ((costs(runs, name), "cost", "x"), (scores(runs, by=name), "scores", "n")):
        table = result.tables[split]
        (column,) = (h.name for h in table.headings if h.text == shown and h.name.startswith(("cost_x", "n")))
        assert list(table.frame[column].str.partition(" ")[0].astype(float)) == [1.0, 2.0]
        assert table.frame.columns.is_unique


def test_a_wide_table_says_what_it_does_not_show(tmp_path):
    n = MAX_COLUMNS
    found = collection_in(tmp_path, [({"a": 1}, 1.0, {}, {f"s{i:02}": i for i in range(n + 2)}, "completed")])
    table = scores(Runs(found)).tables["scores"]
    assert [h.name for h in table.headings][2:] == [f"s{i:02}" for i in range(n)]
    assert list(table.frame)[2:] == [f"s{i:02}" for i in range(n + 2)]  # for the JSON and the CSV
    assert table.note.plain().endswith(f"Columns beyond the first {n} of {n + 2} are not shown.")
    few = collection_in(tmp_path / "few", [({"a": 1}, 1.0, {}, {"f1": 1.0}, "completed")])
    assert "not shown" not in scores(Runs(few)).tables["scores"].note.plain()


def test_without_rows_all_runs_are_one(collection):
    table = analysis.cost_table(collection)
    assert set(table["runs"]) == {"all runs"}
    assert table.set_index("column").loc["cost_memory_mib", "n"] == 3


def test_an_unknown_row_is_refused(collection):
    with pytest.raises(ParameterError, match="`by` must name config fields, got 'tsak'; there are: seed"):
        analysis.cost_table(collection, by=["tsak"])


def test_a_cell_is_mean_and_deviation_as_printed(collection):
    shown = costs(Runs(collection), "task").tables["cost"]
    assert shown.frame.set_index("task").loc["a", "cost_memory_mib"] == "105.0 ± 7.1"
    assert shown.frame.set_index("task").loc["a", "cost_parameters"] == "5"
    assert shown.frame.set_index("task").loc["b", "cost_memory_mib"] == "300.0 ± –"
    assert shown.frame.set_index("task").loc["b", "cost_parameters"] == "–"
    assert r"105.0 $\pm$ 7.1" in shown.to_latex()
    notes = {heading.name: heading.note for heading in shown.headings}
    assert "never divided" in notes["cost_memory_mib"]


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (3e-7, 1e-8, "0.30 ± 0.01 µs"),
        (12.3456, 0.5432, "12.3 ± 0.5 s"),
        (1234.5, 7.7, "20.6 ± 0.1 min"),
        (0.0, 0.0, "0 ± 0 s"),
    ],
)
def test_a_deviation_has_the_means_decimals(mean, std, text):
    row = SimpleNamespace(column="cost_runtime_s", mean=mean, std=std, shared_process=False)
    assert plain(mean_and_deviation(row)) == text


def test_money_and_energy_are_parameters_times_hours(collection):
    table = analysis.spent(collection, "task", devices=4, price_per_hour=2.5, power_w=300).set_index("level")
    hours = (10 + 14) / 3600 * 4
    assert table.loc["a", "device_hours"] == pytest.approx(hours)
    assert table.loc["a", "money"] == pytest.approx(2.5 * hours)
    assert table.loc["b", "excluded_s"] == 7200
    assert table.loc["b", "energy_kwh"] == pytest.approx(0.3 * (3600 + 7200) / 3600 * 4)
    total = table.loc["all runs"]
    assert total["device_hours"] == pytest.approx(table["device_hours"].iloc[:-1].sum())
    text = str(costs(Runs(collection, rows="task"), devices=4, price_per_hour=2.5, power_w=300.0))
    assert (
        "took 12.0 h of device time at 4 devices a run: 30.07 USD at 2.50 USD an hour and 3.61 kWh at 300 W"
        in text
    )
    assert "8.0 h of it went into 1 run that no statistic includes" in text


@pytest.mark.parametrize(
    ("seconds", "said", "heading"),
    [
        (
            [np.nan, np.nan],
            "The 3 runs took 1.0 h of device time at 1 device a run; 2 more, left out",
            "not known",
        ),
        (
            [7200.0, np.nan],
            "2.0 h of it went into 1 run that no statistic includes; 1 more took",
            "where it is",
        ),
        ([7200.0, 3600.0], "3.0 h of it went into 2 runs that no statistic includes.", "counted here"),
    ],
)
def test_only_runs_of_known_time_are_said_to_take_it(collection, seconds, said, heading):
    excluded = pd.concat([collection.excluded] * 2, ignore_index=True).assign(runtime_s=seconds)
    found = costs(Runs(dataclasses.replace(collection, excluded=excluded), rows="task"))
    assert said in str(found)
    notes = {h.name: h.note for h in found.tables["spent"].headings}
    assert heading in notes["n_excluded"]


def test_a_copy_of_a_run_costs_nothing(tmp_path):
    for i in range(4):
        write_run(tmp_path / f"{i}", record(f"{i}", config={"task": "ab"[i % 2]}, runtime_s=900.0))
        write_run(tmp_path / f"copy{i}", (tmp_path / f"{i}" / "run.json").read_bytes())
    runs = tc.read(tmp_path)
    found = costs(runs)
    assert str(found).startswith(
        "The 4 runs took 1.0 h of device time at 1 device a run; no other run took any."
    )
    assert "4 copies of runs are not counted" in str(found)
    assert found.numbers["spent.device_hours"] == 1.0
    assert "4 duplicate)." in str(runs)
    assert "4 more runs are left out of every statistic" in str(tc.summary(runs))


def test_without_prices_there_is_no_money(collection):
    table = analysis.spent(collection)
    assert list(table["level"]) == ["all runs"]
    assert not {"money", "energy_kwh"} & set(table)


def test_levels_with_many_unfinished_runs_are_flagged(collection):
    table = analysis.unfinished(collection, "task").set_index("level")
    assert list(table.index) == ["b"]
    assert table.loc["b", "share"] == 0.5
    assert table.loc["b", "flagged"]
    assert "1 of 2 runs of task b did not complete" in str(costs(Runs(collection, rows="task")))


@pytest.mark.parametrize(("status", "n"), [("killed", 1), ("duplicate", 0)])
def test_a_killed_run_is_unfinished_and_a_copy_is_not(collection, status, n):
    changed = dataclasses.replace(collection, excluded=collection.excluded.assign(status=status))
    assert analysis.unfinished(changed, "task")["n_unfinished"].sum() == n * len(collection.excluded)


@pytest.mark.parametrize(
    ("goal", "front"), [("max", [True, False, True, False, True]), ("min", [True, True, False, False, False])]
)
def test_runs_that_no_other_beats_on_both(goal, front):
    made = collection_of({"a": list("vwxyz")}, [1.0, 2.0, 2.0, 3.0, 4.0])
    made.runs["score.f1"] = [0.5, 0.4, 0.6, 0.6, 0.9]
    points = analysis.score_front(made.runs, "f1", goal).sort_values("run_id")
    assert list(points["front"]) == front


def test_what_the_runs_on_the_front_share_is_named():
    config = grid(task=["easy", "hard"], lr=["a", "b"], seed=range(4))
    made = collection_of(config, np.arange(1.0, 17.0))
    worth = np.where(config["task"] == "easy", 1.0, 0.01) * np.arange(1, 17)
    said = {}
    for name, score in {"easy": worth, "all": np.arange(1.0, 17.0), "one": np.arange(16.0, 0.0, -1)}.items():
        made.runs["score.f1"] = score
        said[name] = "".join(map(str, scores(Runs(made), "f1").sentences))
    assert said["easy"].startswith("All runs on the front are of task=easy; no record says whether")
    assert said["all"] == said["one"] == ""


def test_equal_runs_are_both_on_the_front():
    made = collection_of({"a": list("xy")}, [1.0, 1.0])
    made.runs["score.f1"] = [0.5, 0.5]
    assert list(analysis.score_front(made.runs, "f1")["front"]) == [True, True]


def test_an_unknown_score_is_refused(collection):
    with pytest.raises(ParameterError, match="`score` must be one of test_f1, val_f1, got 'f2'"):
        analysis.score_front(collection.runs, "f2")


def test_the_cost_per_model_is_taken_where_it_is_known(tmp_path):
    rows = [
        ({"a": "x"}, 100.0, {"runtime_per_run_s": 10.0}, {"f1": 0.5}, "completed"),
        ({"a": "y"}, 50.0, {"runtime_per_run_s": 50.0}, {"f1": 0.4}, "completed"),
    ]
    found = collection_in(tmp_path, rows)
    assert list(analysis.score_front(found.runs, "f1")["front"]) == [True, False]
    assert analysis.cost_label(found.runs) == "runtime per model, in s"


def test_runs_of_their_own_process_share_none():
    made = collection_of({"task": list("aaa")}, [1.0, 2.0, 3.0])
    made.runs["process"] = ["", "", "p"]
    made.runs["cost_memory_mib"] = [5.0, 6.0, 7.0]
    assert not analysis.cost_table(made, by=["task"])["shared_process"].any()
    made.runs["process"] = ["", "p", "p"]
    assert analysis.cost_table(made, by=["task"])["shared_process"].all()


def test_a_run_without_cost_per_model_costs_its_runtime():
    made = collection_of({"a": list("xy")}, [100.0, 50.0])
    made.runs["cost_runtime_per_run_s"] = [10.0, np.nan]
    made.runs["score.f1"] = [0.5, 0.4]
    assert list(analysis.score_front(made.runs, "f1")["cost"]) == [10.0, 50.0]


def test_unreadable_runs_are_of_no_level(tmp_path):
    collection_in(tmp_path, [({"task": "a"}, 1.0, {}, {}, "completed")])
    write_run(tmp_path / "bad", "{")
    write_run(tmp_path / "odd", record("odd", config={}, status="failed"))
    assert not len(analysis.unfinished(read_collection(tmp_path), "task"))
