"""Collections for the tests, made as a user's would be: directories of run records."""

import dataclasses
import fcntl
import functools
import importlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import traincost as tc
from traincost.analysis import fields
from traincost.pages import publish
from traincost.reading.collection import Collection, read_collection
from traincost.results.runs import Runs

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
REFERENCE = ROOT.parent / "shared" / "reference"
ARTEFACTS = Path(os.environ.get("TRAINCOST_ARTEFACTS", ROOT / "ci-artefacts"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def pytest_addoption(parser):
    parser.addoption(
        "--benchmarks",
        nargs="?",
        const="full",
        choices=["full", "small"],
        help="run the benchmarks of tests/bench; small: only to see that they run",
    )
    parser.addoption("--peers-venv", metavar="FOLDER", help="where ydata-profiling is, or may be, installed")


def pytest_collection_modifyitems(config, items):
    absent = pytest.mark.skip(reason=f"the reference material is not at {REFERENCE}")
    for item in items:
        if "reference" in item.keywords and not REFERENCE.is_dir():
            item.add_marker(absent)


def record(run_id="a", **changes):
    """Return a whole, valid record."""
    return {
        "format": "traincost/run/1",
        "run_id": run_id,
        "status": "completed",
        "started_at": "2026-01-01T08:00:00+00:00",
        "runtime_s": 100.0,
        "config": {"task": "t"},
        "sections": {},
        **changes,
    }


def write_run(folder, content):
    """Write a record (a dict, or raw bytes or text) as `folder`/run.json."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def collection_of(config, runtime_s, sections=()):
    """Return a `Collection` of a config frame (names without prefix) and runtimes.

    `sections` are (run, section, seconds, count) rows.
    """
    config = pd.DataFrame(config)
    ids = [f"r{i}" for i in range(len(config))]
    runs = pd.DataFrame(
        {
            "run_id": ids,
            "path": [f"{run_id}/run.json" for run_id in ids],
            "format": "traincost",
            "status": "completed",
            **dict.fromkeys(("started_at", "task", "report", "process"), ""),
            "runtime_s": np.asarray(runtime_s, dtype=float),
            **{f"config.{name}": config[name] for name in config},
        }
    )
    sections = pd.DataFrame(sections, columns=["run", "section", "seconds", "count"])
    sections = sections.astype({"run": int, "section": "str", "seconds": float, "count": float})
    excluded = pd.DataFrame(columns=["run_id", "path", "status", "reason", "runtime_s"])
    notes = pd.DataFrame(columns=["path", "run_id", "note"])
    return Collection("made", runs, sections, excluded, notes, compute={})


def runs_of(config, runtime_s, sections=(), **choices):
    """Return the `Runs` of `collection_of` with the choices that `traincost.read` takes."""
    return Runs(collection_of(config, runtime_s, sections), **choices)


def fields_of(config, replicates=()):
    """Return the described fields of a config frame, by name."""
    config = pd.DataFrame(dict(config)).add_prefix("config.")
    return {field.name: field for field in fields.describe(config, replicates)}


def grid(**levels):
    """Return the full grid of the levels as a frame."""
    return pd.MultiIndex.from_product(levels.values(), names=levels.keys()).to_frame(index=False)


@pytest.fixture(scope="session")
def golden():
    """The constructed collection of the golden page."""
    return read_collection(DATA / "continuous-v2")


HOSTILE = "<b>$x_1$ \\frac 漢\x00 &"


@pytest.fixture(scope="session")
def sweep():
    """Runs with sections, a cost and a score, one of them left out; their names try to be markup."""
    config = grid(task=["a", HOSTILE, "c"], lr=[1, 2], seed=[0, 1])
    config = config[~((config["task"] == "c") & (config["lr"] == 2))].reset_index(drop=True)
    runtime_s = np.exp(np.random.default_rng(0).normal(4, 1, len(config)))
    timed = (("e", 0.45, 6), ("e/x", 0.3, 6), (f"e/{HOSTILE}", 0.1, 12), ("t", 0.2, 1))
    rows = [(i, path, share * s, n) for i, s in enumerate(runtime_s) for path, share, n in timed]
    runs = runs_of(config, runtime_s, rows, rows="task", columns="lr")
    runs.frame["cost_memory_mib"] = 400.0 + runtime_s
    runs.frame[f"score.{HOSTILE}"] = np.linspace(0.4, 0.6, len(config))
    out = pd.DataFrame([("z", "z/run.json", "failed", HOSTILE, 60.0, "a")])
    out.columns = ["run_id", "path", "status", "reason", "runtime_s", "config.task"]
    return dataclasses.replace(runs, collection=dataclasses.replace(runs.collection, excluded=out))


@pytest.fixture(scope="session")
def answers(sweep):
    """Name of each question to the answer to it about `sweep`."""
    faster = sweep.collection.runs.assign(runtime_s=sweep.runtime_s * 0.8)
    after = dataclasses.replace(sweep, collection=dataclasses.replace(sweep.collection, runs=faster))
    turned = tc.knobs(sweep.choosing(knobs=[{"name": HOSTILE, "sections": ["e"]}]), {HOSTILE: after})
    return {
        "runs": sweep.result,
        "summary": tc.summary(sweep, turned),
        "effects": tc.effects(sweep),
        "levels": tc.levels(sweep),
        "occurrences": tc.occurrences(sweep),
        "shares": tc.shares(sweep),
        "knobs": turned,
        "costs": tc.costs(sweep, devices=2, price_per_hour=1.5, power_w=300),
        "scores": tc.scores(sweep, HOSTILE),
        "provenance": tc.provenance(sweep),
        "compare": tc.compare(sweep, after),
    }


@pytest.fixture(scope="session")
def shown(answers):
    """Name of each question to what a notebook displays of the answer, drawn once."""
    return {name: answer._repr_mimebundle_() for name, answer in answers.items()}


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """Return a function of a page's name to the page, built once for all test processes."""
    parameters = publish.read_parameters
    builds = {
        "golden": lambda to: publish.page(
            DATA / "continuous-v2", to, **parameters(DATA / "continuous-v2.params.yaml")
        ),
        "demo": lambda to: publish.page(
            ROOT / "notebooks/runs/demo-sweep", to, **parameters(ROOT / "params/demo.yaml")
        ),
        "compare": lambda to: publish.compare(
            ROOT / "notebooks/runs/demo-sweep-control", ROOT / "notebooks/runs/demo-sweep-once", to
        ),
        "benchmark": lambda to: importlib.import_module("benchmark_page").build(
            ROOT / "reports/benchmark/results.json", to
        ),
        "plan": lambda to: publish.build(
            "plan", {"runs_dir": ROOT / "notebooks/runs/demo-sweep", "seeds": 3, "price_per_hour": 0.04}, to
        ),
        "demo-card": lambda to: publish.estimate(ROOT / "notebooks/runs/demo-sweep", to),
        "milestones": lambda to: publish.estimate(
            ROOT / "params/milestones.yaml", to, **parameters(ROOT / "params/milestones-card.yaml")
        ),
    }
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "published"

    @functools.cache
    def page(name):
        folder, built = shared / name, shared / f"{name}.built"
        folder.mkdir(parents=True, exist_ok=True)
        with open(shared / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not built.exists():
                built.write_text(str(builds[name](folder)), encoding="utf-8")
        return Path(built.read_text(encoding="utf-8"))

    return page


@pytest.fixture(scope="module")
def browser():
    """A real Chromium, driven by Playwright."""
    sync_api = pytest.importorskip("playwright.sync_api")
    assert CHROMIUM, "no Chromium is installed (Debian: apt install chromium)"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
