"""Collections for the tests, made as a user's would be: directories of run records."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from traincost.collection import Collection, read_collection

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
REFERENCE = ROOT.parent / "shared" / "reference"


def pytest_addoption(parser):
    parser.addoption("--benchmarks", action="store_true", help="run the benchmarks of tests/bench")


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
    runs = pd.DataFrame(
        {
            "run_id": [f"r{i}" for i in range(len(config))],
            "runtime_s": np.asarray(runtime_s, dtype=float),
            **{f"config.{name}": config[name] for name in config},
        }
    )
    sections = pd.DataFrame(sections, columns=["run", "section", "seconds", "count"])
    sections = sections.astype({"run": int, "section": "str", "seconds": float, "count": float})
    empty = pd.DataFrame()
    return Collection("made", runs, sections, empty, empty, empty, {})


def grid(**levels):
    """Return the full grid of the levels as a frame."""
    return pd.MultiIndex.from_product(levels.values(), names=levels.keys()).to_frame(index=False)


@pytest.fixture(scope="session")
def golden():
    """The constructed collection of the golden page."""
    return read_collection(DATA / "continuous-v2")
