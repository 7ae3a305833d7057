"""Reading in other processes and on a Dask cluster gives what reading here gives."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pandas as pd
import pytest
from conftest import ROOT, record, write_run
from test_index import assert_same, odd_collection

from traincost.__main__ import main
from traincost.errors import ParameterError
from traincost.reading import batch as reading
from traincost.reading import engines, refreshing, tables
from traincost.reading.collection import read_collection
from traincost.reading.listing import listed
from traincost.reading.redaction import Rule

scale = pytest.mark.scale


def many_runs(root, n):
    """Write `n` runs in folders of a thousand."""
    for i in range(n):
        config = {"task": "abc"[i % 3], "lr": [0.1, "1e-1", 0.01][i % 3], "seed": i // 3}
        found = record(
            f"r{i}", config=config, sections={"a": {"seconds": i / 7, "count": 2}}, runtime_s=10.0 + i
        )
        write_run(root / f"{i // 1000}" / f"r{i}", found)
    return root


# -- partitions ----------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 5, 7])
def test_partitions_do_not_show(tmp_path, monkeypatch, batch):
    root = odd_collection(tmp_path / "runs")
    whole = read_collection(root)
    monkeypatch.setattr(reading, "BATCH", batch)
    assert_same(read_collection(root), whole)


def test_the_order_of_partitions_does_not_show(tmp_path):
    root = odd_collection(tmp_path / "runs")
    listing = listed(root)
    tasks = [reading._task(listing, [place], Rule(), False) for place in range(len(listing.sources))]
    batches = [reading.read_batch(task) for task in tasks]
    expected = tables.joined(list(batches))
    random.Random(0).shuffle(batches)
    shuffled = tables.joined(batches)
    assert repr(shuffled.to_pylist()) == repr(expected.to_pylist())  # a NaN equals none, but reads alike


def test_every_attribute_of_a_run_is_carried():
    """An attribute that is added to `Run` must be given a column, or it would be lost on the way."""
    import dataclasses

    from traincost.reading.formats.run import Run

    carried = {*tables.RUNS.names} - {"place", "content"}
    told = {"parts", "named", "fingerprint", "extents"}  # in claims of a batch, the content, and sections
    assert {field.name for field in dataclasses.fields(Run)} == carried | told


# -- processes -----------------------------------------------------------------------------


def test_worker_processes_read_the_same(tmp_path, monkeypatch):
    root = odd_collection(tmp_path / "runs")
    monkeypatch.setattr(reading, "BATCH", 3)
    assert_same(read_collection(root, workers=2), read_collection(root))


# A reader that takes its process with it, where a file asks for that.
DEADLY = """
import os, sys
from traincost.reading.formats import run_record
read = run_record.read
def deadly(path, run_id):
    if b"deadly" in open(path, "rb").read():
        os._exit(1)
    return read(path, run_id)
run_record.read = deadly
"""


@pytest.mark.slow
def test_a_file_that_kills_its_worker_costs_one_run(tmp_path, monkeypatch):
    for i in range(20):
        write_run(tmp_path / "runs" / f"r{i}", record(f"r{i}" if i != 7 else "deadly"))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(DEADLY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}{os.pathsep}{ROOT / 'lib'}")
    monkeypatch.setattr(reading, "BATCH", 8)
    found = read_collection(tmp_path / "runs", workers=2)
    assert len(found.runs) == 19
    assert list(found.excluded["reason"]) == [engines.LOST]
    assert list(found.excluded["path"]) == ["r7/run.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": -1}, "`workers` must be 0"),
        ({"workers": 2, "scheduler": "tcp://127.0.0.1:1"}, "exclude each other"),
    ],
)
def test_engines_that_cannot_be(tmp_path, arguments, message):
    write_run(tmp_path / "a", record())
    with pytest.raises(ParameterError, match=message):
        read_collection(tmp_path, **arguments)


# -- Dask ----------------------------------------------------------------------------------


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(*arguments):
    """Start a module of Python, silent."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "lib")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


class Cluster:
    """A scheduler and workers, each a process, that talk over TCP."""

    def __init__(self, folder, workers=2):
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.folder = folder
        port = self.address.rpartition(":")[2]
        self.processes = [
            start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        ]
        self.workers = [self.add_worker() for _ in range(workers)]
        self._wait(workers)

    def add_worker(self):
        """Start a worker of one thread."""
        options = ("--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", self.folder)
        worker = start("distributed.cli.dask_worker", self.address, *options)
        self.processes.append(worker)
        return worker

    def _wait(self, workers):
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            if workers:
                client.wait_for_workers(workers, timeout=60)

    def close(self):
        """End all processes."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    pytest.importorskip("distributed", reason="needs the scale extra")
    cluster = Cluster(tmp_path / "dask")
    yield cluster
    cluster.close()


@scale
def test_a_cluster_survives_the_loss_of_a_worker(tmp_path, cluster, monkeypatch):
    root = many_runs(tmp_path / "runs", 1_500)
    write_run(root / "poisoned", "{")
    monkeypatch.setattr(reading, "BATCH", 50)
    here = read_collection(root)
    seen = []

    def killing(sources):
        for source in sources:
            seen.append(source)
            if len(seen) == 400:
                os.kill(cluster.workers[0].pid, signal.SIGKILL)
            yield source

    assert_same(read_collection(root, scheduler=cluster.address, progress=killing), here)
    assert len(seen) == 1_501
    assert cluster.workers[0].poll() == -signal.SIGKILL
    assert list(here.excluded["path"]) == ["poisoned/run.json"]
    assert refreshing.refresh(root, tmp_path / "index", scheduler=cluster.address)["read"] == 1_501
    assert_same(read_collection(tmp_path / "index"), here)


@scale
def test_a_page_is_built_on_a_cluster(tmp_path, cluster):
    root = many_runs(tmp_path / "runs", 60)
    assert main(["page", str(root), "-o", str(tmp_path / "a")]) == 0
    assert main(["page", str(root), "-o", str(tmp_path / "b"), "--scheduler", cluster.address]) == 0
    for name in ("profiling.html", "profiling.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@scale
@pytest.mark.parametrize("kind", ["nobody listens", "nobody answers", "no workers"])
def test_a_scheduler_that_does_not_answer(tmp_path, capsys, kind):
    pytest.importorskip("distributed", reason="needs the scale extra")
    write_run(tmp_path / "runs" / "a", record())
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if kind == "nobody answers":
            silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        empty = Cluster(tmp_path / "dask", workers=0) if kind == "no workers" else None
        address = empty.address if empty else address
        started = time.monotonic()
        assert (
            main(["page", str(tmp_path / "runs"), "-o", str(tmp_path / "out"), "--scheduler", address]) == 2
        )
        took = time.monotonic() - started
        if empty:
            empty.close()
    error = capsys.readouterr().err
    assert ("has no workers" if empty else "does not answer") in error
    assert error.count("\n") == 1
    assert took < 15


# -- faults --------------------------------------------------------------------------------


def test_a_directory_that_vanishes_while_it_is_read(tmp_path, monkeypatch):
    for i in range(4):
        write_run(tmp_path / "runs" / f"r{i}", record(f"r{i}"))
    monkeypatch.setattr(reading, "BATCH", 1)

    def vanishing(sources):
        for i, source in enumerate(sources):
            if i == 1:
                shutil.rmtree(tmp_path / "runs" / "r3")
            yield source

    found = read_collection(tmp_path / "runs", progress=vanishing)
    assert list(found.runs["run_id"]) == ["r0", "r1", "r2"]
    assert list(found.excluded["reason"]) == ["cannot be opened: No such file or directory"]


def test_a_directory_that_vanishes_while_it_is_listed(tmp_path, monkeypatch):
    for i in range(3):
        write_run(tmp_path / "runs" / f"r{i}", record(f"r{i}"))
    scandir = os.scandir

    def vanishing(path):
        if str(path).endswith("r0"):
            shutil.rmtree(tmp_path / "runs" / "r1")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    found = read_collection(tmp_path / "runs")
    assert list(found.runs["run_id"]) == ["r0", "r2"]
    assert list(found.excluded["reason"]) == ["cannot be opened: No such file or directory"]


def test_files_that_change_during_reading_stop_no_others(tmp_path):
    path = write_run(tmp_path / "runs" / "a", record("a", runtime_s=1.0))
    write_run(tmp_path / "runs" / "b", record("b"))
    old, new = (json.dumps(record("a", runtime_s=t, notes="x" * n)) for t, n in ((1.0, 10), (2.0, 200_000)))
    stop = threading.Event()

    def rewriting():
        while not stop.is_set():
            path.write_text(new)
            path.write_text(old)

    writer = threading.Thread(target=rewriting)
    writer.start()
    try:
        for _ in range(100):
            found = read_collection(tmp_path / "runs")
            runtimes = dict(zip(found.runs["run_id"], found.runs["runtime_s"], strict=True))
            assert runtimes.pop("b") == 100.0
            assert runtimes in ({"a": 1.0}, {"a": 2.0}, {})
            if not runtimes:
                assert list(found.excluded["path"]) == ["a/run.json"]
    finally:
        stop.set()
        writer.join()


@pytest.mark.slow
def test_ten_thousand_unreadable_runs_among_a_hundred_thousand(tmp_path):
    root = many_runs(tmp_path / "runs", 100_000)
    for i in range(0, 100_000, 10):
        (root / f"{i // 1000}" / f"r{i}" / "run.json").write_bytes(b'{"format": "traincost/run/1", ')
    found = read_collection(root)
    assert len(found.runs) == 90_000
    assert len(found.excluded) == 10_000
    assert found.excluded["reason"].str.startswith("is not whole JSON").all()
    refreshing.refresh(root, tmp_path / "index")
    assert_same(read_collection(tmp_path / "index"), found)
    assert main(["page", str(tmp_path / "index"), "-o", str(tmp_path / "out")]) == 0
    assert pd.Series(json.loads((tmp_path / "out/profiling.json").read_text())["n_runs"]).item() == 90_000
