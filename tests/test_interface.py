"""The names of the API stay what they are, whatever else is imported, and cost nothing until used."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest
from conftest import runs_of

import traincost as tc

OF_RUNS = [
    "summary", "effects", "levels", "listing", "occurrences", "shares", "knobs", "costs", "scores",
    "provenance", "threats",
]  # fmt: skip


def modules():
    for module in pkgutil.walk_packages(tc.__path__, "traincost."):
        if module.name != "traincost.__main__":
            yield module.name


@pytest.fixture(scope="module")
def runs():
    return runs_of({"task": list("aabb")}, [1.0, 2.0, 3.0, 4.0], [(i, "eval", 0.5, 2) for i in range(4)])


def test_importing_every_module_changes_no_public_name():
    before = {name: getattr(tc, name) for name in tc.__all__}
    for name in modules():
        importlib.import_module(name)
    assert {name: getattr(tc, name) for name in tc.__all__} == before
    assert all(callable(value) for value in before.values())


@pytest.mark.parametrize("name", OF_RUNS)
def test_an_answer_can_be_asked_for_twice(runs, name):
    first, second = (getattr(tc, name)(runs) for _ in range(2))
    assert first.data() == second.data()


def test_two_sets_of_runs_can_be_compared_twice(runs):
    assert tc.compare(runs, runs).data() == tc.compare(runs, runs).data()


def test_the_api_is_all_that_completion_offers():
    assert dir(tc) == tc.__all__ == sorted(tc.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'read_collection'"):
        _ = tc.read_collection


def test_importing_the_package_imports_no_pandas():
    code = "import sys, traincost; traincost.Recorder; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in loaded.stdout.split()}
    assert not packages & {"pandas", "numpy", "scipy", "matplotlib", "click", "yaml", "jinja2", "pyarrow"}


def test_every_public_name_says_what_it_takes():
    for name in tc.__all__:
        public = getattr(tc, name)
        assert not inspect.signature(public).parameters or "Parameters" in public.__doc__, name
