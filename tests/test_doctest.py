"""The examples in docstrings run."""

import doctest
import importlib

import pytest
from conftest import ROOT

import traincost as tc
from traincost.printing import SPACE

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


class Checker(doctest.OutputChecker):
    """Takes the no-break space before a unit for the ordinary one of a docstring."""

    def check_output(self, want, got, flags):
        return super().check_output(want, got.replace(SPACE, " "), flags)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, shipped):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in doctest.DocTestFinder().find(module, name, extraglobs=shipped):
        runner.run(example)
    assert runner.tries > 0
    assert runner.failures == 0
