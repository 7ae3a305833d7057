"""The examples in docstrings run."""

import doctest
import importlib

import pytest
from conftest import ROOT

import traincost as tc

LIB = ROOT / "lib"
MODULES = [
    ".".join(path.relative_to(LIB).with_suffix("").parts)
    for path in sorted(LIB.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.fixture(scope="module")
def shipped():
    """What the examples are about."""
    runs_dir = ROOT / "notebooks/runs/demo-sweep"
    imported = {name: getattr(tc, name) for name in ("read", "estimate")}
    return {
        **imported,
        "runs_dir": runs_dir,
        "runs": tc.read(runs_dir),
        "systems": ROOT / "params/milestones.yaml",
    }


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, shipped):
    module, flags = importlib.import_module(name), doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(module, extraglobs=shipped, optionflags=flags)
    assert result.attempted > 0
    assert result.failed == 0
