"""One job is one run: legs, ranks, tools and steps are put together; what is not one stays apart."""

import json

import pytest
import yaml

from traincost.reading.collection import read_collection

START_S = 1_770_000_000  # 2026-02-02T02:40:00+00:00


def wandb(
    folder, run_id, start_s, runtime_s, *, host="node1", debug=None, scores=None, legs_start=None, **config
):
    """Write what an online run of W&B leaves."""
    files = folder / f"run-20260202_034000-{run_id}" if debug is None else folder / f"run-{debug}-{run_id}"
    inside = files / "files"
    inside.mkdir(parents=True)
    entries = {name: {"value": value} for name, value in config.items()}
    entries["_wandb"] = {"value": {"start_time": start_s}}
    (inside / "config.yaml").write_text(yaml.safe_dump(entries))
    summary = {**(scores or {}), "_wandb": {"runtime": runtime_s}}
    if legs_start is not None:
        summary["_timestamp"] = legs_start + runtime_s / 2
    (inside / "wandb-summary.json").write_text(json.dumps(summary))
    metadata = {"host": host, "program": "fit.py", "state": "running", "gpu": "A100"}
    metadata["startedAt"] = _iso(legs_start if legs_start is not None else start_s)
    (inside / "wandb-metadata.json").write_text(json.dumps(metadata))


def _iso(seconds):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()


def mlflow(folder, run_id, start_s, runtime_s, tags=(), metrics=(), **params):
    """Write a run of MLflow's store of files, in the experiment ``1``."""
    home = folder / "mlruns" / "1"
    home.mkdir(parents=True, exist_ok=True)
    (home / "meta.yaml").write_text("experiment_id: '1'\nname: e\nlifecycle_stage: active\n")
    run = home / run_id
    for part, entries in (("params", params), ("tags", dict(tags)), ("metrics", dict(metrics))):
        (run / part).mkdir(parents=True)
        for name, value in entries.items():
            text = f"{int((start_s + 1) * 1000)} {value} 0\n" if part == "metrics" else str(value)
            (run / part / name.replace("__", ".")).write_text(text)
    meta = {"run_id": run_id, "status": 3, "start_time": int(start_s * 1000), "lifecycle_stage": "active"}
    meta |= {"end_time": int((start_s + runtime_s) * 1000), "artifact_uri": "x"}
    (run / "meta.yaml").write_text(yaml.safe_dump(meta))


def hydra(folder, clock, **config):
    """Write the directory of a job of Hydra's, whose start stands in its path, in local time."""
    hidden = folder / "outputs" / "2026-02-02" / clock / ".hydra"
    hidden.mkdir(parents=True)
    (hidden / "config.yaml").write_text(yaml.safe_dump(config))
    where = f"/scratch/outputs/2026-02-02/{clock}"
    settings = {"mode": "RUN", "job": {"name": "fit"}, "runtime": {"output_dir": where}}
    (hidden / "hydra.yaml").write_text(yaml.safe_dump({"hydra": settings}))


def test_three_tools_saw_one_job(tmp_path):
    for i, width in enumerate((64, 128)):
        start_s = START_S + 5000 * i
        clock = "03-40-00" if i == 0 else "05-03-20"  # an hour ahead of UTC
        hydra(tmp_path, clock, model={"width": width, "act": "relu"}, seed=0)
        mlflow(tmp_path, f"{i}" * 32, start_s + 2, 1000 + i, metrics={"acc": 0.5}, model__width=width)
        wandb(tmp_path / "wandb", f"ab{i}cdefg", start_s + 4, 998 + i, scores={"acc": 0.5}, width=width)
    found = read_collection(tmp_path)
    assert len(found.runs) == 2
    assert not len(found.excluded)
    assert found.runs["runtime_s"].tolist() == [1000.0, 1001.0]
    assert found.runs["config.model.width"].tolist() == [64, 128]
    assert "config.width" not in found.runs
    assert found.runs["config.model.act"].tolist() == ["relu", "relu"]
    assert found.runs["host"].tolist() == ["host 1", "host 1"]
    assert found.runs["status"].tolist() == ["completed", "completed"]  # MLflow's record, not W&B's silence
    assert found.notes["note"].str.contains("the same job was also recorded by").sum() == 2


@pytest.mark.parametrize(
    ("start_s", "runtime_s", "width"),
    [(START_S, 1000, 128), (START_S + 400, 1000, 64), (START_S, 5000, 64)],
    ids=["another setting", "another start", "much longer"],
)
def test_records_that_contradict_stay_apart(tmp_path, start_s, runtime_s, width):
    mlflow(tmp_path, "0" * 32, START_S, 1000, width=64)
    wandb(tmp_path / "wandb", "abcdefgh", start_s, runtime_s, width=width)
    assert len(read_collection(tmp_path).runs) == 2


def test_ranks_are_one_run_and_seeds_are_not(tmp_path):
    for rank in range(4):
        scores = {"acc": 0.5} if rank == 0 else None
        wandb(
            tmp_path,
            f"rank{rank}xyz",
            START_S + rank,
            600 + rank,
            scores=scores,
            seed=7,
            host=f"n{rank // 2}",
        )
        wandb(tmp_path, f"seed{rank}xyz", START_S + 9000, 600, scores={"acc": 0.5}, seed=rank)
    found = read_collection(tmp_path)
    ranks = found.runs[found.runs["devices"].notna()]
    assert len(found.runs) == 4 + 2  # of two machines: W&B does not say that these were one job
    assert ranks["devices"].tolist() == [2.0, 2.0]


def test_equal_runs_at_once_with_scores_are_no_ranks(tmp_path):
    for n in range(2):
        wandb(tmp_path, f"run{n}wxyz", START_S, 600, scores={"acc": 0.5 + n}, lr=1)
    assert len(read_collection(tmp_path).runs) == 2


@pytest.mark.parametrize(("second", "total"), [(5400, 5400), (3500, 5300)], ids=["cumulative", "from zero"])
def test_the_legs_of_a_resumed_run_are_one(tmp_path, second, total):
    start_s = START_S + 18_000
    wandb(tmp_path, "legs0000", START_S, 1800, debug="20260202_024000", legs_start=START_S, lr=1)
    wandb(tmp_path, "legs0000", start_s, second, debug="20260202_074000", legs_start=start_s, lr=1)
    summary = next(tmp_path.glob("*074000*/files/wandb-summary.json"))
    content = json.loads(summary.read_text())
    summary.write_text(json.dumps({**content, "_timestamp": start_s + 3600}))
    found = read_collection(tmp_path)
    assert found.runs["runtime_s"].tolist() == [total]
    assert not len(found.excluded)
    assert found.notes["note"].str.contains("resumed: 2 legs are one run").any()


def test_the_steps_of_a_pipeline_are_its_sections(tmp_path):
    project = "file:///scratch/lab"
    mlflow(
        tmp_path,
        "a" * 32,
        START_S,
        100,
        tags={"mlflow__project__entryPoint": "main", "mlflow__source__name": project},
    )
    for i, (name, begin, seconds) in enumerate((("fetch", 2, 30), ("train", 35, 50))):
        tags = {"mlflow__project__entryPoint": "main", "mlflow__source__name": f"{project}#{name}"}
        metrics = {"f1": 0.5} if name == "train" else {}
        mlflow(tmp_path, f"{i}" * 32, START_S + begin, seconds, tags=tags, metrics=metrics, depth=3)
    found = read_collection(tmp_path)
    assert found.runs[["runtime_s", "config.depth", "score.f1"]].values.tolist() == [[100.0, 3.0, 0.5]]
    assert found.sections[["section", "seconds"]].values.tolist() == [["fetch", 30.0], ["train", 50.0]]


def test_steps_that_overlap_are_no_pipeline(tmp_path):
    for i, (begin, seconds) in enumerate(((0, 100), (2, 50), (35, 50))):
        source = "file:///lab" + ("" if i == 0 else f"#s{i}")
        tags = {"mlflow__project__entryPoint": "main", "mlflow__source__name": source}
        mlflow(tmp_path, f"{i}" * 32, START_S + begin, seconds, tags=tags, lr=1)
    assert len(read_collection(tmp_path).runs) == 3


def test_joining_does_not_depend_on_workers_or_an_index(tmp_path):
    from traincost.reading import refreshing

    runs = tmp_path / "runs"
    mlflow(runs, "0" * 32, START_S, 1000, width=64)
    wandb(runs / "wandb", "abcdefgh", START_S, 1000, width=64)
    refreshing.refresh(runs, tmp_path / "index")
    for place in (runs, tmp_path / "index"):
        found = read_collection(place)
        assert found.runs[["run_id", "runtime_s"]].values.tolist() == [["0" * 32, 1000.0]]
        assert found.parts["format"].tolist() == ["wandb"]
