"""Cost tables, score against cost, hours and money."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import collection_of, record, write_run

from traincost import read_collection
from traincost.analysis import costs as spending
from traincost.analysis import fields
from traincost.errors import ParameterError
from traincost.measure import meter
from traincost.pages.settings import Profiling
from traincost.results import findings, markup, tables


def runs_of(tmp_path, rows):
    """Write a run record of each (config, runtime, cost, scores, status) and read them."""
    for i, (config, runtime_s, costs, scores, status) in enumerate(rows):
        write_run(
            tmp_path / f"r{i}",
            record(
                f"r{i}",
                config=config,
                runtime_s=runtime_s,
                cost={f"cost_{k}": v for k, v in costs.items()},
                scores=scores,
                status=status,
            ),
        )
    return read_collection(tmp_path)


@pytest.fixture
def collection(tmp_path):
    done = "completed"
    return runs_of(
        tmp_path,
        [
            ({"task": "a", "seed": 0}, 10.0, {"memory_mib": 100.0, "parameters": 5}, {"test_f1": 0.5}, done),
            ({"task": "a", "seed": 1}, 14.0, {"memory_mib": 110.0, "parameters": 5}, {"test_f1": 0.7}, done),
            ({"task": "b", "seed": 0}, 3600.0, {"memory_mib": 300.0}, {"test_f1": 0.9, "val_f1": 1.0}, done),
            ({"task": "b", "seed": 1}, 7200.0, {}, {}, "failed"),
        ],
    )


def test_mean_and_sample_deviation_by_level(collection):
    table = meter.cost_table(collection, by=["task"]).set_index(["task", "column"])
    row = table.loc[("a", "cost_memory_mib")]
    assert (row["mean"], row["min"], row["max"], row["n"]) == (105, 100, 110, 2)
    assert row["std"] == pytest.approx(np.std([100, 110], ddof=1))
    assert np.isnan(table.loc[("b", "cost_memory_mib"), "std"])
    assert ("b", "cost_parameters") not in table.index  # nothing measured is no column, not a zero


def test_a_split_of_scores_carries_no_cost_column(collection):
    table = meter.cost_table(collection, split="test", by=["task"])
    assert set(table["column"]) == {"test_f1"}
    assert set(meter.cost_table(collection, split="val")["column"]) == {"val_f1"}
    assert set(meter.cost_table(collection, split="scores")["column"]) == {"test_f1", "val_f1"}
    assert not len(meter.cost_table(collection, split="nope"))


@pytest.mark.parametrize("name", ["n", "mean", "column", "n_runs", "run_id", "process", "score.n", "cost_x"])
def test_settings_and_scores_may_be_called_like_columns_of_the_tables(tmp_path, name):
    rows = []
    for i in range(4):
        level = "xy"[i % 2]
        config = {"score": {"n": level}} if name == "score.n" else {name: level}
        rows.append((config, 9.0 + i, {"x": i}, {name: 2, "n": i}, "completed"))
    found = runs_of(tmp_path, rows)
    members = spending.cost_members(found, [name])
    assert members == {("x",): ("r0", "r2"), ("y",): ("r1", "r3")}
    for split, shown in (("cost", "x"), ("scores", "n")):
        table = tables.cost(meter.cost_table(found, split, [name]), members, split)
        (column,) = (h.name for h in table.headings if h.text == shown and h.name.startswith(("cost_x", "n")))
        assert list(table.frame[column].str.partition(" ")[0].astype(float)) == [1.0, 2.0]
        assert table.frame.columns.is_unique


def test_a_table_shows_so_many_columns_and_says_of_how_many(tmp_path):
    n = tables.MAX_COLUMNS
    found = runs_of(tmp_path, [({"a": 1}, 1.0, {}, {f"s{i:02}": i for i in range(n + 2)}, "completed")])
    table = tables.cost(meter.cost_table(found, "scores"), name="scores")
    assert [h.name for h in table.headings][2:] == [f"s{i:02}" for i in range(n)]
    assert list(table.frame)[2:] == [f"s{i:02}" for i in range(n + 2)]  # for the JSON and the CSV
    assert table.caption.plain().endswith(f"Columns beyond the first {n} of {n + 2} are not shown.")
    assert "not shown" not in tables.cost(meter.cost_table(found, by=["a"]), name="scores").caption.plain()


def test_without_rows_all_runs_are_one(collection):
    table = meter.cost_table(collection)
    assert set(table["runs"]) == {"all runs"}
    assert table.set_index("column").loc["cost_memory_mib", "n"] == 3


def test_an_unknown_row_is_refused(collection):
    with pytest.raises(ParameterError, match="`by` must name config fields, got 'tsak'; there are: seed"):
        meter.cost_table(collection, by=["tsak"])


def test_printing(collection):
    shown = tables.cost(meter.cost_table(collection, by=["task"]))
    assert shown.frame.set_index("task").loc["a", "cost_memory_mib"] == "105.0 ± 7.1"
    assert shown.frame.set_index("task").loc["a", "cost_parameters"] == "5"
    assert shown.frame.set_index("task").loc["b", "cost_memory_mib"] == "300.0 ± –"
    assert shown.frame.set_index("task").loc["b", "cost_parameters"] == "–"
    assert r"105.0 $\pm$ 7.1" in markup.latex(shown)
    notes = {heading.name: heading.note for heading in shown.headings}
    assert "never divided" in notes["cost_memory_mib"]


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (3e-7, 1e-8, "3.000e-07 ± 1.0e-08"),
        (12.3456, 0.5432, "12.35 ± 0.54"),
        (1234.5, 7.7, "1,234 ± 8"),
        (0.0, 0.0, "0 ± 0"),
    ],
)
def test_a_deviation_has_the_means_decimals(mean, std, text):
    row = SimpleNamespace(column="cost_runtime_s", mean=mean, std=std, shared_process=False)
    assert tables.mean_and_deviation(row) == text


def test_hours_money_and_energy_are_the_parameter_times_the_hours(collection):
    table = spending.spent(collection, "task", devices=4, price_per_hour=2.5, power_w=300).set_index("level")
    hours = (10 + 14) / 3600 * 4
    assert table.loc["a", "device_hours"] == pytest.approx(hours)
    assert table.loc["a", "money"] == pytest.approx(2.5 * hours)
    assert table.loc["b", "excluded_s"] == 7200
    assert table.loc["b", "energy_kwh"] == pytest.approx(0.3 * (3600 + 7200) / 3600 * 4)
    total = table.loc["all runs"]
    assert total["device_hours"] == pytest.approx(table["device_hours"].iloc[:-1].sum())
    text = " ".join(
        s.plain()
        for s in findings.money(
            table.reset_index(), Profiling("x", devices=4, price_per_hour=2.5, power_w=300.0)
        )
    )
    assert "12.03 device-hours, at 4 devices a run: 30.1 USD at 2.5 USD an hour, 3.61 kWh at 300 W" in text
    assert "8.000 went into runs that no statistic includes" in text


def test_without_prices_there_is_no_money(collection):
    table = spending.spent(collection)
    assert list(table["level"]) == ["all runs"]
    assert not {"money", "energy_kwh"} & set(table)


def test_levels_with_many_unfinished_runs_are_flagged(collection):
    table = spending.unfinished(collection, "task").set_index("level")
    assert list(table.index) == ["b"]
    assert table.loc["b", "share"] == 0.5
    assert table.loc["b", "flagged"]
    (sentence,) = findings.many_unfinished(table.reset_index())
    assert "Not completed: 1 of 2 runs of b." in sentence.plain()


@pytest.mark.parametrize(("status", "n"), [("killed", 1), ("duplicate", 0)])
def test_a_killed_run_is_unfinished_and_a_copy_is_not(collection, status, n):
    changed = dataclasses.replace(collection, excluded=collection.excluded.assign(status=status))
    assert spending.unfinished(changed, "task")["n_unfinished"].sum() == n * len(collection.excluded)


@pytest.mark.parametrize(
    ("goal", "front"), [("max", [True, False, True, False, True]), ("min", [True, True, False, False, False])]
)
def test_runs_that_no_other_beats_on_both(goal, front):
    made = collection_of({"a": list("vwxyz")}, [1.0, 2.0, 2.0, 3.0, 4.0])
    made.runs["score.f1"] = [0.5, 0.4, 0.6, 0.6, 0.9]
    points = spending.score_front(made.runs, "f1", goal).sort_values("run_id")
    assert list(points["front"]) == front


def test_what_the_runs_on_the_front_share_is_named(tmp_path):
    done = "completed"
    rows = [
        ({"task": task, "lr": lr, "seed": seed}, float(1 + i), {}, {"f1": score * (1 + i)}, done)
        for i, (task, lr, seed, score) in enumerate(
            (task, lr, seed, score)
            for task, score in (("easy", 1.0), ("hard", 0.01))
            for lr in ("a", "b")
            for seed in range(4)
        )
    ]
    found = runs_of(tmp_path, rows)
    front, described = spending.score_front(found.runs, "f1"), fields.describe(found.runs)
    (sentence,) = findings.front_settings(front, described, found.runs)
    assert sentence.plain().startswith("All runs on the front are of task=easy; whether")
    assert findings.front_settings(front.assign(front=True), described, found.runs) == []
    assert findings.front_settings(front.head(1), described, found.runs) == []


def test_equal_runs_are_both_on_the_front():
    made = collection_of({"a": list("xy")}, [1.0, 1.0])
    made.runs["score.f1"] = [0.5, 0.5]
    assert list(spending.score_front(made.runs, "f1")["front"]) == [True, True]


def test_an_unknown_score_is_refused(collection):
    with pytest.raises(ParameterError, match="`score` must be one of test_f1, val_f1, got 'f2'"):
        spending.score_front(collection.runs, "f2")


def test_the_cost_per_model_is_taken_where_it_is_known(tmp_path):
    rows = [
        ({"a": "x"}, 100.0, {"runtime_per_run_s": 10.0}, {"f1": 0.5}, "completed"),
        ({"a": "y"}, 50.0, {"runtime_per_run_s": 50.0}, {"f1": 0.4}, "completed"),
    ]
    found = runs_of(tmp_path, rows)
    assert list(spending.score_front(found.runs, "f1")["front"]) == [True, False]
    assert spending.cost_label(found.runs) == "runtime per model, in s"


def test_runs_of_their_own_process_share_none():
    made = collection_of({"task": list("aaa")}, [1.0, 2.0, 3.0])
    made.runs["process"] = ["", "", "p"]
    made.runs["cost_memory_mib"] = [5.0, 6.0, 7.0]
    assert not meter.cost_table(made, by=["task"])["shared_process"].any()
    made.runs["process"] = ["", "p", "p"]
    assert meter.cost_table(made, by=["task"])["shared_process"].all()


def test_a_run_without_cost_per_model_is_set_against_its_runtime():
    made = collection_of({"a": list("xy")}, [100.0, 50.0])
    made.runs["cost_runtime_per_run_s"] = [10.0, np.nan]
    made.runs["score.f1"] = [0.5, 0.4]
    assert list(spending.score_front(made.runs, "f1")["cost"]) == [10.0, 50.0]


def test_unreadable_runs_are_of_no_level(tmp_path):
    runs_of(tmp_path, [({"task": "a"}, 1.0, {}, {}, "completed")])
    write_run(tmp_path / "bad", "{")
    write_run(tmp_path / "odd", record("odd", config={}, status="failed"))
    assert not len(spending.unfinished(read_collection(tmp_path), "task"))
