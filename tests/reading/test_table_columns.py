"""What the columns of a table are that nothing names: scores, settings, remarks, and a runtime's unit."""

import pandas as pd
import pytest

from traincost.reading.collection import read_collection
from traincost.reading.formats.table import Table


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


EXPORT = ["Name", "State", "Notes", "User", "Created", "Runtime", "Sweep"]
SETTINGS = {
    "batch_size": ["16", "32", "64"] * 4,
    "lr": ["0.1", "0.01"] * 6,
    "optimizer": ["sgd", "adam", "lion", "sgd"] * 3,
    "seed": ["0", "1", "2"] * 4,
}
ACCURACIES = [f"0.{i}" for i in range(71, 83)]


@pytest.mark.parametrize("first", [[], ["optimizer"], ["lr"], ["seed"], ["lr", "batch_size"]])
def test_settings_of_an_export_stay_settings_in_any_order(tmp_path, first):
    names = [*first, *(name for name in SETTINGS if name not in first)]
    columns = [*EXPORT, *names, "val/acc"]
    rows = [
        [f"r{i}", "finished", "", "", f"2026-03-02T{i + 10}:00:00.000Z", f"{100 + i}", ""]
        + [SETTINGS[name][i] for name in names]
        + [ACCURACIES[i]]
        for i in range(12)
    ]
    path = write(tmp_path / "export.csv", "\n".join(",".join(row) for row in [columns, *rows]))
    found = read_collection(path)
    assert sorted(found.factors) == sorted(SETTINGS)
    assert [name for name in found.runs if name.startswith("score.")] == ["score.val/acc"]


MEASURED = {
    "arch": "aabbaabb",
    "loss_weight": [0.1, 0.25, 0.3, 0.45, 0.5, 0.65, 0.7, 0.85],
    "target_acc": [0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97],
    "precision": [16, 32] * 4,
    "Notes": ["", "ok", "rerun", "ok"] * 2,
    "val_loss": [0.31, 0.42, 0.35, 0.28, 0.33, 0.45, 0.39, None],
    "acc@1": [0.81, 0.92, 0.81, 0.92, 0.83, 0.85, 0.89, 0.9],
    "train_time_s": [10.0, 12.0, 20.0, 22.0, 11.0, 13.0, 21.0, 23.0],
}


@pytest.mark.parametrize(
    ("column", "table", "seconds", "said"),
    [
        ("hours", {"runtime_column": "hours"}, 7200, True),
        ("train_hours", {}, 7200, True),
        ("time (min)", {"runtime_column": "time (min)"}, 120, True),
        ("train_time_ms", {}, 0.002, True),
        ("runtime_s", {}, 2, False),
        ("hours", {"runtime_column": "hours", "runtime_unit": "min"}, 120, False),
        ("took", {"runtime_column": "took"}, 2, False),
    ],
)
def test_the_unit_of_a_runtime_is_that_of_its_name(tmp_path, column, table, seconds, said):
    path = write(tmp_path / "sweep.csv", f"arch,{column}\na,2\nb,3\n")
    found = read_collection(path, table=Table(**table))
    assert found.runs["runtime_s"].iloc[0] == pytest.approx(seconds)
    assert any("by its name" in note for note in found.notes["note"]) == said


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_called_like_a_metric_are_scores(tmp_path, ending):
    frame = pd.DataFrame({name: list(values) for name, values in MEASURED.items()})
    path = tmp_path / f"sweep.{ending}"
    write_as = {"csv": frame.to_csv, "jsonl": frame.to_json, "parquet": frame.to_parquet}[ending]
    write_as(path, **({"orient": "records", "lines": True} if ending == "jsonl" else {"index": False}))
    found = read_collection(path)
    assert sorted(found.factors) == ["arch", "loss_weight", "precision", "target_acc"]
    assert sorted(name for name in found.runs if name.startswith("score.")) == [
        "score.acc@1",
        "score.val_loss",
    ]
    notes = " ".join(found.notes["note"])
    assert "column 'val_loss' is taken for a score; `factor_columns` names" in notes
    assert "column 'Notes' is no setting: it holds remarks" in notes
    named = read_collection(path, table=Table(factor_columns=["arch", "val_loss"], score_columns=["acc@1"]))
    assert sorted(named.factors) == ["arch", "val_loss"]
