"""The examples in docstrings run."""

import doctest
import importlib

import pytest
from conftest import ROOT

LIB = ROOT / "lib"
MODULES = [
    ".".join(path.relative_to(LIB).with_suffix("").parts)
    for path in sorted(LIB.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0
