"""Stores behind a server: a real MLflow server and a real study of Optuna's on a real PostgreSQL."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from check_cases import text_of
from test_scale import free_port

from traincost.__main__ import main
from traincost.errors import NothingToReport, ParameterError
from traincost.reading import live
from traincost.reading.collection import read_collection

BINARIES = [*Path("/usr/lib/postgresql").glob("*/bin"), *map(Path, os.environ["PATH"].split(":"))]
INITDB = next((folder / "initdb" for folder in BINARIES if (folder / "initdb").exists()), None)
N_RUNS = 2_000
START_S = 120  # for a server to answer


# -- without a server ----------------------------------------------------------------------


def test_addresses_of_stores_are_told_from_paths(tmp_path, monkeypatch):
    assert live.is_live("mlflow:http://localhost:5000")
    assert live.is_live("optuna:postgresql://host/db")
    assert not any(map(live.is_live, ("mlflow", "mlflow:", "runs/mlflow:x", "s3://b", tmp_path)))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow:old").mkdir()
    assert not live.is_live("mlflow:old")


@pytest.mark.parametrize(
    "address", ["mlflow:http://anna:hush@host:1", "optuna:postgresql://anna:hush@host/db"]
)
@pytest.mark.slow
def test_a_password_in_an_address_is_refused_and_not_shown(address, capsys):
    assert main(["page", address]) == 2
    said = capsys.readouterr().err
    assert "must hold no password: give it by the environment" in said
    assert "hush" not in said


def test_a_server_that_is_not_there_is_told_at_once():
    started = time.monotonic()
    with pytest.raises(NothingToReport, match=r"mlflow:http://127.0.0.1:\d+ does not answer"):
        read_collection(f"mlflow:http://127.0.0.1:{free_port()}")
    assert time.monotonic() - started < 10


def test_another_readers_name_is_refused_for_a_store():
    with pytest.raises(ParameterError, match="`format` must be auto or mlflow"):
        read_collection("mlflow:http://127.0.0.1:1", format="wandb")


# -- servers -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """The address of a PostgreSQL of our own, on a free port."""
    pytest.importorskip("psycopg", reason="needs the servers extra")
    if INITDB is None:
        pytest.skip("needs Debian's postgresql")
    folder, port = tmp_path_factory.mktemp("postgres"), free_port()
    is_root = os.geteuid() == 0
    if is_root:  # PostgreSQL refuses to run as root
        folder = Path("/tmp", f"traincost-postgres-{port}")
        folder.mkdir(mode=0o700)
        shutil.chown(folder, "postgres", "postgres")
    who = {"user": "postgres", "group": "postgres"} if is_root else {}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", **who}
    data = folder / "data"
    subprocess.run([INITDB, "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"], check=True, **quiet)
    command = [INITDB.with_name("postgres"), "-D", data, "-p", str(port), "-k", folder, "-F"]
    command += ["-c", "listen_addresses=127.0.0.1"]
    server = subprocess.Popen(command, **quiet)
    try:
        _wait(lambda: _connected(port))
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)  # without waiting for clients to leave
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _connected(port):
    import psycopg

    with contextlib.suppress(psycopg.OperationalError):
        psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres").close()
        return True
    return False


def _wait(is_ready):
    ends = time.monotonic() + START_S
    while not is_ready():
        assert time.monotonic() < ends, "the server did not answer"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def server(postgres, tmp_path_factory):
    """The address of an MLflow server on that database, with its runs."""
    import requests

    store, port = f"{postgres.rpartition('/')[0]}/mlflow", free_port()
    _created(postgres, "mlflow")
    folder = tmp_path_factory.mktemp("mlflow")
    arguments = ["server", "--backend-store-uri", store, "--port", str(port), "--workers", "1"]
    arguments += ["--artifacts-destination", str(folder)]
    command = [sys.executable, "-m", "mlflow", *arguments]
    log = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"

    def is_ready():
        with contextlib.suppress(requests.ConnectionError):
            return requests.get(f"{address}/health", timeout=5).ok
        return False

    try:
        _wait(is_ready)
        _fill(store)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _created(postgres, name):
    import psycopg

    connection = psycopg.connect(postgres, autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()


def marks(n):
    """Return the marks of n values in a statement."""
    return ", ".join(["%s"] * n)


def _fill(store):
    """Put runs into MLflow's own tables: 2,000, of which 20 failed, 10 were deleted and 5 are running."""
    import psycopg

    connection = psycopg.connect(store)
    ids = [f"{i:032x}" for i in range(N_RUNS)]
    with connection, connection.cursor() as cursor:
        status = ["FAILED" if i < 20 else "RUNNING" if i < 25 else "FINISHED" for i in range(N_RUNS)]
        begun = 1_770_000_000_000
        rows = [
            (run, "r", "LOCAL", "u", s, begun + i, None if s == "RUNNING" else begun + i + 60_000 + i,
             "deleted" if i >= N_RUNS - 10 else "active", 0)
            for i, (run, s) in enumerate(zip(ids, status, strict=True))
        ]  # fmt: skip
        columns = "run_uuid, name, source_type, user_id, status, start_time, end_time, lifecycle_stage, "
        columns += "experiment_id"
        cursor.executemany(f"INSERT INTO runs ({columns}) VALUES ({marks(9)})", rows)
        params = [("model.width", str(2 ** (i % 3)), run) for i, run in enumerate(ids)]
        cursor.executemany(f"INSERT INTO params (key, value, run_uuid) VALUES ({marks(3)})", params)
        metrics = [("acc", 0.5, begun + i, 1, False, run) for i, run in enumerate(ids)]
        columns = "key, value, timestamp, step, is_nan, run_uuid"
        cursor.executemany(f"INSERT INTO latest_metrics ({columns}) VALUES ({marks(6)})", metrics)
    connection.close()


@pytest.mark.slow
@pytest.mark.scale
def test_pages_of_runs_of_a_real_server_are_all_read(server):
    found = read_collection(f"mlflow:{server}")
    assert len(found.runs) == N_RUNS - 20 - 5 - 10
    assert found.excluded["status"].value_counts().to_dict() == {"failed": 20, "completed": 10, "running": 5}
    assert found.runs["config.model.width"].value_counts().index.sort_values().tolist() == [1, 2, 4]
    assert found.runs["score.acc"].eq(0.5).all()
    assert found.runs["runtime_s"].iloc[0] == pytest.approx(60.025, abs=1e-6)


@pytest.mark.slow
@pytest.mark.scale
def test_a_page_of_a_real_server(server, tmp_path):
    assert main(["page", f"mlflow:{server}", "-o", str(tmp_path / "page")]) == 0
    assert f"{N_RUNS - 35:,} runs took" in text_of(tmp_path / "page" / "profiling.html")


@pytest.mark.slow
@pytest.mark.scale
def test_a_study_in_a_real_database(postgres):
    optuna = pytest.importorskip("optuna", reason="needs the optuna extra")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    _created(postgres, "optuna")
    store = f"{postgres.rpartition('/')[0]}/optuna"
    storage = optuna.storages.RDBStorage(store)
    study = optuna.create_study(study_name="s", storage=storage)

    def objective(trial):
        trial.suggest_categorical("act", ["relu", None])
        width = trial.suggest_int("width", 1, 8)
        time.sleep(0.01)
        if trial.number == 1:
            raise optuna.TrialPruned
        return width

    study.optimize(objective, n_trials=4)
    study.enqueue_trial({"width": 3})
    storage.remove_session()
    storage.engine.dispose()
    found = read_collection(f"optuna:{store}")
    assert sorted(found.runs["run_id"]) == ["s/0", "s/2", "s/3"]
    assert found.runs["runtime_s"].between(0.01, 10).all()
    assert found.runs["score.value"].tolist() == found.runs["config.width"].tolist()
    assert sorted(found.excluded["status"]) == ["pruned", "queued"]
