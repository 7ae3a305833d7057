"""Make the same small collection in both stores of MLflow: ``mlflow_stores.py OUT_DIR``.

``OUT_DIR/sqlite/mlflow.db`` and ``OUT_DIR/files/mlruns`` each hold six runs over learning rate and
batch size, every one with a nested run that evaluates, one that fails, and one that is killed in
the middle.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

SETTINGS = [(lr, batch_size) for lr in ("0.1", "1e-2") for batch_size in (8, 16, 32)]
DEADLINE_S = 120


def train(mlflow, lr, batch_size, n_epochs=3, fails=False):
    """Be one run: every epoch takes longer where the batches are smaller."""
    with mlflow.start_run(run_name=f"lr={lr} b={batch_size}"):
        mlflow.log_params({"lr": lr, "batch_size": batch_size, "started": time.time()})
        for epoch in range(n_epochs):
            time.sleep(0.4 / batch_size)
            mlflow.log_metric("loss", 1 / (1 + epoch), step=epoch)
            mlflow.log_metric("system/gpu_0_memory_usage_megabytes", 100 + epoch % 2, step=epoch)
        with mlflow.start_run(run_name="evaluate", nested=True):
            time.sleep(0.02)
        if fails:
            raise RuntimeError("the loss is not finite")


def work(uri, what):
    """Be a process that writes to the store at `uri`: whole runs, or one without end."""
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("grid")
    if what == "endless":
        train(mlflow, "0.1", 64, n_epochs=1_000_000)
    for lr, batch_size in SETTINGS:
        train(mlflow, lr, batch_size)
    with suppress(RuntimeError):
        train(mlflow, "1e-2", 64, fails=True)


def start(uri, what):
    """Start a process of its own; without the variable MLflow 3 refuses the store of files."""
    environment = os.environ | {"MLFLOW_ALLOW_FILE_STORE": "true"}
    command = [sys.executable, __file__, "--work", uri, what]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def n_metrics(folder):
    """Count what the run without end has logged so far, whichever the store."""
    import sqlite3

    database = folder / "mlflow.db"
    if database.exists():
        with sqlite3.connect(database, timeout=DEADLINE_S) as connection:
            query = "SELECT COUNT(*) FROM metrics JOIN runs USING (run_uuid) WHERE status = 'RUNNING'"
            return connection.execute(query).fetchone()[0]
    running = [
        path.parent for path in folder.glob("mlruns/*/*/meta.yaml") if "end_time: null" in path.read_text()
    ]
    logs = [run / "metrics" / "loss" for run in running]
    return sum(len(log.read_text().splitlines()) for log in logs if log.exists())


def fill(folder, uri):
    """Write the collection to one store."""
    folder.mkdir(parents=True)
    if start(uri, "whole").wait() != 0:
        raise SystemExit(f"the runs for {uri} failed")
    killed, end = start(uri, "endless"), time.monotonic() + DEADLINE_S
    while n_metrics(folder) < 3:
        if time.monotonic() > end or killed.poll() is not None:
            raise SystemExit("the run that is to be killed logged nothing")
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()


def main(out_dir):
    """Write the collection to both stores below `out_dir`."""
    fill(out_dir / "sqlite", f"sqlite:///{out_dir}/sqlite/mlflow.db")
    fill(out_dir / "files", f"file://{out_dir}/files/mlruns")


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(*sys.argv[2:])
    else:
        main(Path(sys.argv[1]).resolve())
