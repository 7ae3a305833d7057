"""Synthetic collections of any size, seeded: six settings and twelve sections a run.

    python tests/bench/synthetic.py FOLDER N

writes N run records below FOLDER. Of two sizes, the larger repeats the settings of the smaller:
the first 36 runs are a grid of two settings, and from 1,296 on the configurations repeat by seed.
"""

import sys
from pathlib import Path

import numpy as np
import orjson
import pandas as pd

from traincost.reading.collection import Collection

TASKS = ["addition", "conversion", "equations", "sorting", "summation", "encoding"]
LOSSES = ["const_w0", "const_w1", "linear_w0", "linear_w1", "cosine_w0", "cosine_w1"]
LEVELS = {
    "task": TASKS,
    "loss": LOSSES,
    "optimiser": ["adam", "sgd", "lion"],
    "lr": [0.0003, 0.001, 0.003, 0.01],
    "width": [64, 128, 256],
}
# Share of a run's time, its children's included, and how often it runs.
SECTIONS = {
    "setup": (0.04, 1),
    "epoch": (0.88, 4),
    "epoch/train": (0.50, 16),
    "epoch/train/load": (0.02, 320),
    "epoch/train/forward": (0.20, 320),
    "epoch/train/backward": (0.25, 320),
    "epoch/train/step": (0.02, 320),
    "epoch/evaluate": (0.35, 16),
    "epoch/evaluate/generate": (0.30, 16),
    "epoch/evaluate/score": (0.04, 16),
    "checkpoint": (0.02, 4),
    "test": (0.04, 1),
}
PER_FOLDER = 1_000


def settings(n):
    """Return the settings of `n` runs, as codes into `LEVELS`, and their seeds."""
    codes, rest = {}, np.arange(n)
    for name, levels in LEVELS.items():
        rest, codes[name] = np.divmod(rest, len(levels))
    return codes, rest


def runtimes(codes, rng):
    """Return log-normal runtimes in seconds; task and loss matter, the other settings do not."""
    log = rng.normal(8.0, 0.15, len(codes["task"]))
    return np.exp(log + 0.2 * codes["task"] + 0.1 * codes["loss"])


def records(n, seed=0):
    """Yield (path below the collection, record) of `n` runs."""
    rng = np.random.default_rng(seed)
    codes, seeds = settings(n)
    runtime_s = runtimes(codes, rng)
    shares = np.array([share for share, _ in SECTIONS.values()])
    for i in range(n):
        seconds = runtime_s[i] * shares * rng.uniform(0.97, 1.0, len(shares))
        sections = zip(SECTIONS.items(), seconds.tolist(), strict=True)
        yield (
            f"{i // PER_FOLDER:04}/{i:07}/run.json",
            {
                "format": "traincost/run/1",
                "run_id": f"run-{i:07}",
                "status": "completed",
                "started_at": "2026-01-01T08:00:00+00:00",
                "runtime_s": float(runtime_s[i]),
                "config": {
                    **{name: levels[codes[name][i]] for name, levels in LEVELS.items()},
                    "seed": int(seeds[i]),
                },
                "sections": {name: {"seconds": s, "count": count} for (name, (_, count)), s in sections},
                "cost": {"cost_memory_mib": 2048.0},
                "scores": {"test_accuracy": round(float(rng.uniform(0.5, 1.0)), 4)},
            },
        )


def told(record):
    """Return a record with what the recorder tells beyond it: machine, person, occurrences of sections."""
    config = {**record["config"], "user": "anna", "data_dir": "/home/anna/data/arithmetic"}
    sections = {}
    for name, entry in record["sections"].items():
        each_s = entry["seconds"] / entry["count"]
        sections[name] = {**entry, "first_s": each_s, "min_s": each_s, "max_s": each_s, "synchronised": True}
    machine = {"host": f"node{record['config']['width']}", "device": "NVIDIA A100-SXM4-80GB", "devices": 1}
    return {**record, "config": config, "sections": sections, **machine}


def write(folder, n, seed=0, more=lambda record: record):
    """Write `n` records, each with what `more` adds, below `folder`; return it."""
    made = set()
    for path, record in records(n, seed):
        path, record = Path(folder, path), more(record)
        if path.parent not in made:
            path.parent.mkdir(parents=True)
            made.add(path.parent)
        path.write_bytes(orjson.dumps(record))
    return Path(folder)


def table(n, seed=0, n_levels=(6, 6, 4, 3, 2)):
    """Return a collection of `n` runs in memory, with a text setting for each of `n_levels`.

    The columns of text are those of `read_collection`: their equal values are one object.
    """
    rng = np.random.default_rng(seed)
    codes = {f"f{i}": rng.permutation(np.arange(n) % k) for i, k in enumerate(n_levels)}
    log = rng.normal(8.0, 0.3, n) + 0.1 * codes["f0"]
    columns = {"run_id": [f"run-{i}" for i in range(n)], "runtime_s": np.exp(log)}
    for name, k in zip(codes, n_levels, strict=True):
        levels = np.array([f"{name}-level-{j}" for j in range(k)], dtype=object)
        columns[f"config.{name}"] = pd.Series(levels[codes[name]], dtype="str")
    empty = pd.DataFrame()
    return Collection("synthetic", pd.DataFrame(columns), empty, empty, empty, {})


def mlruns(folder, n):
    """Write a store of MLflow's files with `n` runs of five parameters and two metrics; return its folder."""
    experiment = folder / "1"
    experiment.mkdir(parents=True)
    described = "experiment_id: '1'\nname: e\nlifecycle_stage: active\nartifact_location: file:///x\n"
    (experiment / "meta.yaml").write_text(described)
    for i in range(n):
        run = experiment / f"a{i:031x}"
        entries = {f"params/{name}": str(i % 3) for name in LEVELS}
        entries |= {f"tags/mlflow.{name}": "x" for name in ("user", "source.name", "runName")}
        points = "".join(f"{1_770_000_000_000 + i} 0.5 {step}\n" for step in range(10))
        entries |= {f"metrics/{name}": points for name in ("acc", "loss")}
        start = 1_770_000_000_000 + 1000 * i
        entries["meta.yaml"] = (
            f"artifact_uri: file:///x\nend_time: {start + 60_000}\nexperiment_id: '1'\n"
            f"lifecycle_stage: active\nrun_id: {run.name}\nrun_name: r\nrun_uuid: {run.name}\n"
            f"start_time: {start}\nstatus: 3\nuser_id: u\nsource_type: 4\n"
        )
        for name, text in entries.items():
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_text(text)
    return folder


def trace(folder, n):
    """Write a trace of the PyTorch profiler with `n` operators; return its path."""
    arguments = {"Ev Idx": 0, "Input Dims": [[64, 128], [128, 64], []], "Input type": ["float", "float", ""]}
    whole = {"ph": "X", "pid": 1, "tid": 1}
    operator = {**whole, "cat": "cpu_op", "name": "aten::mm", "dur": 8, "args": arguments}
    events = [{**operator, "ts": 10 * i} for i in range(n)]
    step = {**whole, "cat": "user_annotation", "dur": 9e3}
    events += [{**step, "name": f"ProfilerStep#{i}", "ts": 1e4 * i} for i in range(n // 1000 + 1)]
    path = folder / "host_1.1.pt.trace.json"
    path.write_bytes(orjson.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
