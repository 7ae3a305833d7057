"""Arguments of the API that cannot be used are refused in one line that names them."""

import inspect

import pandas as pd
import pytest
from conftest import ROOT

import traincost as tc
from traincost.errors import NothingToReport, ParameterError

# Functions that show nothing of runs, and what executes notebooks: their parameters are those of these.
OTHERS = ("Recorder", "Meter", "InferenceTimer", "read", "page", "publish", "choose")
QUESTIONS = sorted(set(tc.__all__) - set(OTHERS))
ARGUMENTS = [(name, other) for name in QUESTIONS for other in inspect.signature(getattr(tc, name)).parameters]


@pytest.fixture(scope="module")
def good():
    """What each first argument may be."""
    runs = tc.read(ROOT / "notebooks" / "runs" / "demo-sweep")
    return {
        **dict.fromkeys(("runs", "before", "after", "of"), runs),
        "kind": "plan",
        "path": "emissions.csv",
        "model": {"model_type": "gpt2"},
        "systems": tc.estimate(runs),
    }


def asked(question, good, **changed):
    function = getattr(tc, question)
    needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    given = {name: good.get(name) for name in needed}
    if question == "estimate":
        given["systems"] = good["runs"]
    return function(**given | changed)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_each_argument_is_refused_by_its_name(good, name, argument):
    with pytest.raises((ParameterError, NothingToReport)) as refused:
        asked(name, good, **{argument: object()})
    said = str(refused.value)
    assert said.startswith(f"`{argument}` must ")
    assert "object" in said
    assert "\n" not in said


@pytest.mark.parametrize("name", [n for n, argument in ARGUMENTS if argument == "runs"])
@pytest.mark.parametrize("value", ["runs", None, pd.DataFrame({"a": [1, 2]}), 3])
def test_what_is_not_runs_is_refused_with_what_to_do(name, value):
    with pytest.raises(ParameterError, match=r"`runs` must be what tc\.read returns, got ") as refused:
        getattr(tc, name)(value)
    assert ("give tc.read('runs')" in str(refused.value)) == isinstance(value, str)
    assert "\n" not in str(refused.value)


def test_an_answer_in_the_place_of_runs_is_named(good):
    with pytest.raises(ParameterError, match=r"must be what tc\.read returns, got what tc\.effects returns"):
        tc.shares(tc.effects(good["runs"]))


def test_a_choice_of_runs_is_no_argument_of_answers(good):
    said = r"`rows` is chosen for all answers about the runs: tc.read\(…, rows=…\) or runs.choosing\(rows=…\)"
    with pytest.raises(ParameterError, match=said):
        tc.effects(good["runs"], rows="task_name")


def test_an_unknown_argument_is_refused_with_the_nearest(good):
    with pytest.raises(ParameterError, match="'respons' is not a parameter; did you mean 'response'"):
        tc.effects(good["runs"], respons="x")
    with pytest.raises(ParameterError, match="'replicate' is not a parameter; did you mean 'replicates'"):
        tc.read("runs", replicate="seed")


def test_an_unknown_choice_is_refused_with_the_nearest(good):
    with pytest.raises(ParameterError, match="'row' is not a parameter; did you mean 'rows'"):
        good["runs"].choosing(row="task_name")


@pytest.mark.parametrize("levels", [["sorting"], ("sorting",), "sorting", pd.Series(["sorting"]).unique()])
def test_planned_levels_are_a_list_an_array_or_one(good, levels):
    found = tc.plan(good["runs"], {"task_name": levels})
    assert found.frame["level.task_name"].iloc[:-1].unique().tolist() == ["sorting"]


@pytest.mark.parametrize("levels", [[], {}, None])
def test_planned_levels_of_another_kind_are_refused(good, levels):
    with pytest.raises(ParameterError, match="`levels`: task_name must be a list of levels, got"):
        tc.plan(good["runs"], {"task_name": levels})


@pytest.mark.parametrize("value", [pd.DataFrame({"a": [1, 2]}), object(), None, 3])
def test_reading_what_is_no_path_is_refused_in_one_line(value):
    with pytest.raises(NothingToReport, match="`runs_dir` must be a path, got ") as refused:
        tc.read(value)
    assert "\n" not in str(refused.value)
