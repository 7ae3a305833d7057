"""MLflow's two stores: child runs, searches, deleted and killed runs, and hostile databases."""

import os
import shutil
import sqlite3
import struct
import subprocess
import sys

import pytest
import yaml
from conftest import DATA, ROOT
from encoding import event_file, scalar
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.reading.collection import read_collection
from traincost.reading.formats import mlflow, sqlite

START = 1_700_000_000_000  # ms
SCHEMA = """
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT);
CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name TEXT, status TEXT, start_time BIGINT,
    end_time BIGINT, lifecycle_stage TEXT, experiment_id INTEGER);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE latest_metrics (key TEXT, value FLOAT, timestamp BIGINT, is_nan BOOLEAN, run_uuid TEXT);
CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, is_nan BOOLEAN, run_uuid TEXT);
INSERT INTO experiments VALUES (1, 'grid', 'active'), (2, 'old', 'deleted');
"""
CODES = {"RUNNING": 1, "FINISHED": 3, "FAILED": 4, "KILLED": 5}


def run_id(name):
    """Return an id of 32 hexadecimal digits that ends in those of a short name."""
    return name.encode().hex().rjust(32, "0")


def write_database(path, *runs):
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    for run in runs:
        add_to_database(connection, **run)
    connection.commit()
    connection.close()
    return path


def add_to_database(connection, name, seconds=60.0, status="FINISHED", parent="", params=None, metrics=None,
                    stage="active", experiment=1, title=None):  # fmt: skip
    own = run_id(name)
    end = None if seconds is None else START + int(1000 * seconds)
    row = (own, title or name, status, START, end, stage, experiment)
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    for key, value in (params or {}).items():
        connection.execute("INSERT INTO params VALUES (?, ?, ?)", (key, value, own))
    for key, value in (metrics or {}).items():
        nan = value != value
        row = (key, 0.0 if nan else value, START + 5000, nan, own)
        connection.execute("INSERT INTO latest_metrics VALUES (?, ?, ?, ?, ?)", row)
    if parent:
        connection.execute("INSERT INTO tags VALUES (?, ?, ?)", ("mlflow.parentRunId", run_id(parent), own))


def write_files(store, *runs):
    """Write the same as files, as older versions of MLflow do."""
    for experiment, (title, stage) in {1: ("grid", "active"), 2: ("old", "deleted")}.items():
        folder = store / str(experiment)
        folder.mkdir(parents=True, exist_ok=True)
        meta = {"experiment_id": str(experiment), "name": title, "lifecycle_stage": stage}
        (folder / "meta.yaml").write_text(yaml.safe_dump(meta))
    for run in runs:
        add_to_files(store, **run)


def add_to_files(store, name, seconds=60.0, status="FINISHED", parent="", params=None, metrics=None,
                 stage="active", experiment=1, title=None):  # fmt: skip
    folder = store / str(experiment) / run_id(name)
    meta = {
        "run_id": run_id(name),
        "run_uuid": run_id(name),
        "run_name": title or name,
        "status": CODES[status],
        "start_time": START,
        "end_time": None if seconds is None else START + int(1000 * seconds),
        "lifecycle_stage": stage,
    }
    texts = {"meta.yaml": yaml.safe_dump(meta)}
    texts |= {f"params/{key}": value for key, value in (params or {}).items()}
    texts |= {f"metrics/{key}": f"{START + 5000} {value} 0\n" for key, value in (metrics or {}).items()}
    texts |= {"tags/mlflow.parentRunId": run_id(parent)} if parent else {}
    for part, text in texts.items():
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (folder / part).write_text(text)
    return folder


@pytest.fixture(params=["sqlite", "files"])
def store(request, tmp_path):
    """Return a function that writes runs to a store of either kind and reads it."""

    def read(*runs):
        if request.param == "sqlite":
            write_database(tmp_path / "mlflow.db", *runs)
        else:
            write_files(tmp_path / "mlruns", *runs)
        return read_collection(tmp_path)

    return read


def names(frame):
    return [bytes.fromhex(value).decode().strip("\0") for value in frame["run_id"]]


# -- runs ----------------------------------------------------------------------------------


def test_a_run_with_its_time_settings_and_scores(store):
    found = store(
        {"name": "a", "params": {"lr": "1e-3", "hash": "123e4"}, "metrics": {"f1": 0.5, "nan": float("nan")}},
        {"name": "b", "params": {"lr": "0.001", "hash": "00012"}, "seconds": 0.25},
    )
    assert names(found.runs) == ["a", "b"]
    assert list(found.runs["runtime_s"]) == [60, 0.25]
    assert list(found.runs["config.lr"]) == [0.001, 0.001]
    assert list(found.runs["config.hash"]) == ["123e4", "00012"]
    assert set(found.runs["config.experiment"]) == {"grid"}
    assert found.runs["started_at"].iloc[0] == "2023-11-14T22:13:20.000+00:00"
    assert found.runs["score.f1"].iloc[0] == 0.5
    assert "score.nan" not in found.runs


@pytest.mark.parametrize(
    ("run", "status", "reason", "runtime_s"),
    [
        ({"status": "FAILED"}, "failed", "FAILED", 60),
        ({"status": "KILLED"}, "killed", "KILLED", 60),
        ({"status": "RUNNING", "seconds": None, "metrics": {"f1": 1}}, "running", "or killed", 5),
        ({"status": "RUNNING", "seconds": None}, "running", "or killed", None),
        ({"seconds": None}, "completed", "has no end time", None),
        ({"seconds": -1.0}, "completed", "must be above zero", None),
        ({"stage": "deleted"}, "completed", "was deleted", 60),
        ({"experiment": 2}, "completed", "was deleted", 60),
    ],
)
def test_what_is_no_whole_run_is_listed_with_its_time(store, run, status, reason, runtime_s):
    found = store({"name": "a"}, {"name": "b", **run})
    assert names(found.runs) == ["a"]
    (row,) = found.excluded.to_dict("records")
    assert row["status"] == status
    assert reason in row["reason"]
    assert row["runtime_s"] == runtime_s or (runtime_s is None and row["runtime_s"] != row["runtime_s"])


def test_settings_with_the_runs_time_or_id_are_dropped(store):
    def params(name):
        return {
            "epoch_s": "1700000012.5",
            "stamp": "20231114_221320",
            "model": f"/models/{run_id(name)}/weights",
            "until": "2019-01-01 00:00:00",
            "n": "1700000",
        }

    found = store(*({"name": name, "params": params(name)} for name in "ab"))
    kept = {column for column in found.runs if column.startswith("config.")}
    assert kept == {"config.experiment", "config.until", "config.n"}
    assert found.notes["note"].str.contains("epoch_s, ").all()


def test_a_copied_store_is_duplicates(tmp_path):
    path = write_database(tmp_path / "a" / "mlflow.db", {"name": "a"})
    shutil.copytree(path.parent, tmp_path / "b")
    found = read_collection(tmp_path)
    assert len(found.runs) == 1
    assert list(found.excluded["status"]) == ["duplicate"]


# -- child runs ----------------------------------------------------------------------------


def test_child_runs_are_sections_of_their_parent(store):
    found = store(
        {"name": "p", "params": {"lr": "0.1"}},
        {"name": "s1", "parent": "p", "seconds": 10, "title": "step"},
        {"name": "s2", "parent": "p", "seconds": 20, "title": "step"},
        {"name": "s3", "parent": "s2", "seconds": 5, "title": "eval/f1"},
        {"name": "s4", "parent": "p", "seconds": 3, "title": "able-fox-12"},
        {"name": "s5", "parent": "p", "seconds": None, "status": "RUNNING"},
        {"name": "q", "params": {"lr": "0.2"}},
    )
    assert names(found.runs) == ["p", "q"]
    sections = {r.section: (r.seconds, r.count) for r in found.sections.itertuples()}
    assert sections == {"step": (30, 2), "step/eval∕f1": (5, 1), "child run": (3, 1)}
    assert not len(found.excluded)
    assert found.notes["note"].str.contains("has no end time: it is no section").any()


def test_the_settings_of_steps_belong_to_their_run(store):
    runs = []
    for i, lr in enumerate(("0.1", "0.2")):
        runs += [
            {"name": f"p{i}"},
            {"name": f"s{i}", "parent": f"p{i}", "title": "train", "params": {"lr": lr}},
        ]
    assert store(*runs).factors == ["train.lr"]


@pytest.mark.parametrize("params", [{}, {"best_lr": "0.2", "cv": "5"}, {"lr": "0.2", "n_trials": "3"}])
def test_the_children_of_a_search_are_runs(store, params):
    children = [{"name": f"c{i}", "parent": "p", "params": {"lr": f"0.{i}"}} for i in range(1, 4)]
    found = store({"name": "p", "seconds": 200, "params": params}, *children, {"name": "x", "parent": "c1"})
    assert sorted(names(found.runs)) == ["c1", "c2", "c3"]
    assert list(found.sections["section"]) == ["x"]
    (container,) = found.excluded.to_dict("records")
    assert "groups 3 runs of a search" in container["reason"]
    assert container["runtime_s"] != container["runtime_s"]  # its hours are theirs


def test_folds_of_a_run_with_settings_are_sections(store):
    folds = [{"name": f"c{i}", "parent": "p", "params": {"fold": str(i)}, "seconds": 10} for i in range(3)]
    found = store({"name": "p", "params": {"lr": "0.1"}}, *folds)
    assert names(found.runs) == ["p"]
    assert list(found.sections["section"]) == ["c0", "c1", "c2"]


def test_runs_with_circular_or_absent_parents_are_read(store):
    found = store(
        {"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}, {"name": "c", "parent": "gone"},
        {"name": "d", "parent": "d"},
    )  # fmt: skip
    assert {"c", "d"} <= set(names(found.runs))
    assert len(found.runs) + len(found.sections) == 4


def test_a_chain_of_children_is_followed_to_a_limit(store):
    found = store(*({"name": f"{i:03}", "parent": f"{i - 1:03}" if i else ""} for i in range(200)))
    assert len(found.runs) == 1
    assert len(found.sections) == mlflow.MAX_NESTING
    assert (found.sections["count"] == 1).all()


# -- the store of files --------------------------------------------------------------------


def test_models_and_nested_stores_are_no_runs(tmp_path):
    store = tmp_path / "mlruns"
    write_files(store, {"name": "a"})
    write_files(store / "mlruns", {"name": "b"})
    model = store / "1" / "models" / "m-0123456789abcdef"
    for folder, meta in (
        (model, {"model_id": "m-0123456789abcdef", "experiment_id": "1", "status": 2}),
        (store / "models" / "registered", {"name": "registered"}),
        (store / "1" / "datasets" / "x", {"digest": "x", "name": "data"}),
    ):
        folder.mkdir(parents=True)
        (folder / "meta.yaml").write_text(yaml.safe_dump(meta))
    (model / "metrics").mkdir()
    (tmp_path / "recipe").mkdir()
    (tmp_path / "recipe" / "meta.yaml").write_text("{% set version = 1 %}\npackage: {name: {{ x }}}")
    found = read_collection(tmp_path)
    assert sorted(names(found.runs)) == ["a", "b"]
    assert not len(found.excluded)


def test_names_with_slashes_and_the_last_step_of_a_metric(tmp_path):
    write_files(tmp_path, {"name": "a", "params": {"optim/lr": "0.1\n"}})
    folder = tmp_path / "1" / run_id("a") / "metrics" / "val"
    folder.mkdir(parents=True)
    (folder / "f1").write_text(f"{START} 0.9 7\n{START + 1} 0.1 3\n{START + 2} 0.")
    (folder / "empty").write_text("")
    system = folder.parent / "system"
    system.mkdir()
    (system / "gpu_0_memory_usage_megabytes").write_text(f"{START} 100 0\n{START} 300 1\n{START} 200 2\n")
    (system / "cpu_utilization_percentage").write_text(f"{START} 50 0\n")
    found = read_collection(tmp_path)
    assert found.runs["config.optim/lr"].iloc[0] == 0.1
    assert {n: found.runs[n].iloc[0] for n in found.runs if n.startswith("score.")} == {"score.val/f1": 0.9}
    assert found.runs["cost_gpu_0_memory_usage_mib"].iloc[0] == pytest.approx(300e6 / 2**20)
    assert found.notes["note"].str.contains("metrics/val/empty holds no value").any()


@pytest.mark.parametrize("content", [b"", b"\xff", b"run_id: [", b"x: 1", b"a: &a [*a]", None])
def test_a_damaged_description_takes_no_other_run_with_it(tmp_path, content):
    write_files(tmp_path, {"name": "a"}, {"name": "b"})
    meta = tmp_path / "1" / run_id("b") / "meta.yaml"
    meta.unlink() if content is None else meta.write_bytes(content)
    found = read_collection(tmp_path)
    assert names(found.runs) == ["a"]
    assert names(found.excluded) == ["b"]
    assert "meta.yaml" in found.excluded["reason"].iloc[0]


def test_runs_are_read_without_their_experiments_description(tmp_path):
    write_files(tmp_path / "mlruns", {"name": "a"})
    shutil.copytree(tmp_path / "mlruns" / "1" / run_id("a"), tmp_path / "alone" / run_id("c"))
    (tmp_path / "mlruns" / "1" / "meta.yaml").write_bytes(b"\xff")
    found = read_collection(tmp_path)
    assert sorted(names(found.runs)) == ["a", "c"]


def test_logs_belong_to_the_run_among_its_artifacts_only(tmp_path):
    write_files(tmp_path / "project" / "mlruns", {"name": "a"})
    write_database(tmp_path / "project" / "mlflow.db", {"name": "b"})
    events = event_file(scalar(2e8, "x", 1.0), scalar(3e8, "x", 1.0))
    artifacts = tmp_path / "project" / "mlruns" / "1" / run_id("a") / "artifacts"
    for folder in (artifacts / "logs", tmp_path / "project" / "logs"):
        folder.mkdir(parents=True)
        (folder / "events.out.tfevents.1.h").write_bytes(events)
    found = read_collection(tmp_path)
    assert sorted(found.runs["format"]) == ["mlflow", "mlflow", "tensorboard"]
    assert len(found.parts) == 1


# -- the database --------------------------------------------------------------------------


def test_a_database_in_use_is_read_without_writing(tmp_path):
    path = write_database(tmp_path / "mlflow.db", {"name": "a"})
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    add_to_database(connection, "b")
    connection.commit()
    before = sorted((p.name, p.stat().st_mtime_ns) for p in tmp_path.iterdir())
    assert "mlflow.db-wal" in dict(before)
    try:
        assert names(read_collection(tmp_path).runs) == ["a", "b"]
        assert sorted((p.name, p.stat().st_mtime_ns) for p in tmp_path.iterdir()) == before
    finally:
        connection.close()


def test_a_half_changed_database_is_read_as_before(tmp_path):
    path = write_database(tmp_path / "live" / "mlflow.db", {"name": "a"})
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size=1")
    connection.execute("BEGIN")
    connection.execute("DELETE FROM runs")
    for i in range(500):
        connection.execute("INSERT INTO params VALUES (?, ?, ?)", (f"k{i}", "v" * 200, "x"))
    shutil.copytree(path.parent, tmp_path / "killed")  # what is there when the process is killed
    connection.close()
    assert (tmp_path / "killed" / "mlflow.db-journal").exists()
    assert names(read_collection(tmp_path / "killed").runs) == ["a"]


@pytest.mark.parametrize("name", ["mlflow.db", "a b#?%41&mode=rwc.db", "é.sqlite", "tracking.sqlite3"])
def test_any_name_of_a_database_is_opened_as_it_stands(tmp_path, name):
    write_database(tmp_path / name, {"name": "a"})
    assert len(read_collection(tmp_path).runs) == 1
    assert os.listdir(tmp_path) == [name]


def test_databases_of_other_tools_are_no_matter(tmp_path):
    write_database(tmp_path / "mlflow.db", {"name": "a"})
    (tmp_path / "thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0")
    (tmp_path / "folder.db").mkdir()
    with sqlite3.connect(tmp_path / "optuna.db") as connection:
        connection.execute("CREATE TABLE trials (id INTEGER)")
    connection.close()
    found = read_collection(tmp_path)
    assert len(found.runs) == 1
    assert not len(found.excluded)


@pytest.mark.parametrize(("content", "reason"), [(b"", "is empty"), (b"no database", "is no SQLite")])
def test_what_bears_mlflows_name_must_be_its_database(tmp_path, content, reason):
    write_database(tmp_path / "good" / "mlflow.db", {"name": "a"})
    (tmp_path / "mlflow.db").write_bytes(content)
    found = read_collection(tmp_path)
    assert len(found.runs) == 1
    assert reason in found.excluded["reason"].iloc[0]


def test_views_that_never_end_are_not_asked(tmp_path):
    path = write_database(tmp_path / "mlflow.db", {"name": "a"})
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE runs")
        connection.execute(
            "CREATE VIEW runs AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT x AS run_uuid, '' AS name, '' AS status, 1 AS start_time, 2 AS end_time, "
            "'' AS lifecycle_stage, 1 AS experiment_id FROM c"
        )
    connection.close()
    assert mlflow.read(str(path), "dir") == []


def test_work_is_bounded(tmp_path, monkeypatch):
    runs = [{"name": f"{i:04}", "params": {"lr": "1"}} for i in range(500)]
    path = write_database(tmp_path / "mlflow.db", *runs)
    monkeypatch.setattr(sqlite, "MAX_STEPS", 1000)
    monkeypatch.setattr(sqlite, "_STEPS_PER_CALL", 100)
    (run,) = mlflow.read(str(path), "dir")
    assert run.reason == "takes more than 1000 steps to read"


def test_pages_that_are_reached_over_and_over_end_the_reading(tmp_path):
    """A table whose inner pages all lead to one leaf has 60**8 rows in a few kilobytes."""
    path = write_database(tmp_path / "mlflow.db", {"name": "a", "params": {"lr": "0.1"}})
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA page_size=512")
    connection.execute("VACUUM")
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'params'").fetchone()
    connection.close()
    data = path.read_bytes()
    leaf, n_pages = data[512 * (root - 1) : 512 * root], len(data) // 512
    added = [inner(n_pages + level + 1) for level in range(1, 8)] + [leaf]
    data = data[: 512 * (root - 1)] + inner(n_pages + 1) + data[512 * root :] + b"".join(added)
    path.write_bytes(data[:28] + struct.pack(">I", len(data) // 512) + data[32:])
    (run,) = mlflow.read(str(path), "dir")
    assert run.reason == "is damaged: it gives more rows than fit in it"


def inner(child):
    """Return an inner page of a table, every cell of which leads to one page."""
    cells = [struct.pack(">I", child) + bytes([key]) for key in range(1, 61)]
    content = b"".join(cells)
    start = 512 - len(content)
    pointers = b"".join(struct.pack(">H", start + 5 * i) for i in range(len(cells)))
    header = struct.pack(">BHHHBI", 5, 0, len(cells), start, 0, child)
    return (header + pointers).ljust(start, b"\0") + content


def test_odd_types_in_the_columns_are_survived(tmp_path):
    path = write_database(tmp_path / "mlflow.db", {"name": "a"})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET start_time = 'soon', end_time = x'00ff', name = x'fffe'")
        connection.execute("INSERT INTO params VALUES (x'ff', x'fe00', ?)", (run_id("a"),))
        connection.execute("INSERT INTO params VALUES (NULL, NULL, NULL)")
        connection.execute("INSERT INTO latest_metrics VALUES (1, 'x', 9e999, 0, ?)", (run_id("a"),))
    connection.close()
    (run,) = mlflow.read(str(path), "dir")
    assert run.reason == "has no start time"


def test_cut_anywhere_gives_a_run_or_a_reason(tmp_path):
    whole = write_database(tmp_path / "mlflow.db", {"name": "a", "params": {"lr": "0.1"}}).read_bytes()
    path = tmp_path / "mlflow.db"
    for size in [*range(120), *range(120, len(whole), 509)]:
        path.write_bytes(whole[:size])
        found = mlflow.read(str(path), "dir")
        assert all(run.reason or run.runtime_s == 60 for run in found)


@pytest.fixture(scope="module")
def whole_database(tmp_path_factory):
    runs = [{"name": "a", "params": {"lr": "1"}}, {"name": "b", "parent": "a"}]
    return write_database(tmp_path_factory.mktemp("whole") / "mlflow.db", *runs).read_bytes()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=20))
def test_any_bytes_in_a_database_are_survived(whole_database, tmp_path_factory, changes):
    whole = bytearray(whole_database)
    for at, value in changes:
        whole[at % len(whole)] = value
    path = tmp_path_factory.mktemp("bytes") / "mlflow.db"
    path.write_bytes(whole)
    for run in mlflow.read(str(path), "dir"):
        assert run.reason or run.runtime_s > 0


# -- the real tool -------------------------------------------------------------------------


def check_producer(found):
    """Check what ``producers/mlflow_stores.py`` makes, in either store."""
    assert set(found.factors) == {"lr", "batch_size"}
    assert sorted(found.runs["config.lr"].unique()) == [0.01, 0.1]
    assert len(found.runs) == 6
    assert (found.runs["runtime_s"] > 3 * 0.4 / found.runs["config.batch_size"]).all()
    assert list(found.sections["section"]) == ["evaluate"] * 6
    assert (found.sections["seconds"] >= 0.02).all()
    assert found.runs["cost_gpu_0_memory_usage_mib"].to_numpy() == pytest.approx(101e6 / 2**20)
    assert sorted(found.excluded["status"]) == ["failed", "running"]
    assert (found.excluded["runtime_s"] > 0).all()


@pytest.mark.parametrize("kind", ["sqlite", "files"])
def test_mlflows_own_stores(kind):
    check_producer(read_collection(DATA / "mlflow" / kind))


def test_runtimes_are_those_in_the_database():
    found = read_collection(DATA / "mlflow" / "sqlite")
    with sqlite3.connect(f"file:{DATA}/mlflow/sqlite/mlflow.db?mode=ro&immutable=1", uri=True) as connection:
        query = "SELECT run_uuid, (end_time - start_time) / 1000.0 FROM runs"
        expected = dict(connection.execute(query))
    connection.close()
    for row in found.runs.itertuples():
        assert row.runtime_s == pytest.approx(expected[row.run_id])


@pytest.mark.torch
def test_what_mlflow_writes_now(tmp_path):
    pytest.importorskip("mlflow")
    script = ROOT / "tests" / "producers" / "mlflow_stores.py"
    subprocess.run([sys.executable, script, tmp_path / "runs"], check=True, timeout=600)
    for kind in ("sqlite", "files"):
        check_producer(read_collection(tmp_path / "runs" / kind))


def test_what_was_run_is_a_setting_where_it_differs(tmp_path):
    runs = [{"name": f"{i}", "params": {"model.width": "1"}} for i in range(2)]
    path = write_database(tmp_path / "mlflow.db", *runs)
    for source in ("fit.py", "other.py"):
        connection = sqlite3.connect(path)
        found = [run_id for (run_id,) in connection.execute("SELECT run_uuid FROM runs ORDER BY run_uuid")]
        for i, run_id in enumerate(found):
            value = source if i else "fit.py"
            own = "key = 'mlflow.source.name' AND run_uuid = ?"
            connection.execute(f"DELETE FROM tags WHERE {own}", (run_id,))
            connection.execute("INSERT INTO tags VALUES ('mlflow.source.name', ?, ?)", (value, run_id))
        connection.commit()
        connection.close()
        configs = [run.config for run in mlflow.read(str(path), "dir")]
        assert [config.get("source_name") for config in configs] == (
            [None, None] if source == "fit.py" else ["fit.py", "other.py"]
        )
        assert all(config["model.width"] == "1" for config in configs)
