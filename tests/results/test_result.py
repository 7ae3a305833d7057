"""An answer is a value: it shows itself, keeps its numbers, and changes nothing of the user's."""

import dataclasses
import html
import json
import re

import matplotlib as mpl
import pandas as pd
import pytest
from conftest import HOSTILE, grid, runs_of

import traincost as tc
from traincost.results.prose import Number, say
from traincost.results.result import MIME, Result
from traincost.results.tables import MAX_RUNS, Heading, Origin, Table
from traincost.words import printable

NAMES = [
    "runs", "summary", "effects", "levels", "occurrences", "shares", "knobs", "costs", "scores",
    "provenance", "compare",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_shows_itself_as_text_html_and_numbers(answers, shown, name):
    answer, shown = answers[name], shown[name]
    assert set(shown) == {"text/plain", "text/html", MIME}
    assert shown["text/plain"] == repr(answer)
    assert len(answer.frame)
    assert "<script" not in shown["text/html"]
    assert json.loads(json.dumps(shown[MIME], allow_nan=False)) == shown[MIME]
    for table in answer.tables.values():
        assert shown[MIME]["tables"][table.name]["n_runs"] == table.n_runs
        assert f'id="table-{table.name}"' in shown["text/html"]
    for figure in answer.figures:
        assert f'id="figure-{figure}"' in shown["text/html"]
    for sentence in answer.sentences:
        assert printable(sentence.plain()) in str(answer)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_its_key_where_it_is_shown(answers, shown, name):
    answer = answers[name]
    said = [number for sentence in answer.sentences for number in sentence.numbers()]
    assert {number.key for number in said} <= set(answer.numbers)
    keys = re.findall(r'data-key="([^"]*)"', shown[name]["text/html"])
    assert set(map(html.unescape, keys)) == {seen(key) for key in answer.numbers}


def seen(key):
    return key.replace("\x00", "␀")


def test_an_answer_is_frozen(answers):
    with pytest.raises(dataclasses.FrozenInstanceError):
        answers["effects"].frame = pd.DataFrame()
    with pytest.raises(AttributeError, match="the result 'effects' has no attribute 'p_values'"):
        _ = answers["effects"].p_values


def test_the_parts_of_an_answer_are_attributes(answers):
    compared = answers["compare"]
    assert {"summary", "settings", "runtime", "made_of", "rest"} <= set(dir(compared))
    assert set(compared.runtime.tables) == {"changes", "changes-in-full"}
    assert {"changes", "parts", "columns"} <= set(compared.tables)
    pd.testing.assert_frame_equal(compared.frame, compared.runtime.frame)
    assert compared.named("second").runtime.data()["prefix"] == "second"


def test_answers_do_not_share_state(sweep):
    first, second = tc.effects(sweep), tc.effects(sweep, response="e")
    assert first.data()["prefix"] == ""
    assert second.data()["prefix"] == "e"
    assert set(first.numbers) & set(second.numbers)
    assert first.data() == tc.effects(sweep).data()
    named = first.named("mine")
    assert (named.data()["prefix"], first.data()["prefix"]) == ("mine", "")
    assert named.numbers == first.numbers


def test_a_plot_leaves_the_settings_and_the_backend_alone(answers):
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        before = dict(mpl.rcParams), mpl.get_backend()
        figure = answers["levels"].plot()
        answers["levels"].html()
        assert (dict(mpl.rcParams), mpl.get_backend()) == before
    assert isinstance(figure, mpl.figure.Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_plot_can_be_restyled_and_saved(answers, tmp_path):
    figure = answers["effects"].plot("effects")
    figure.axes[0].set_title("mine")
    figure.savefig(tmp_path / "mine.pdf")
    assert (tmp_path / "mine.pdf").stat().st_size > 1_000
    with pytest.raises(ValueError, match="`figure` must be one of cells, levels; got 'cell'"):
        answers["levels"].plot("cell")
    with pytest.raises(ValueError, match="provenance has no figure of these runs"):
        answers["provenance"].plot()


def test_an_answer_without_anything_to_say_says_so():
    nothing = Result.showing("empty", pd.DataFrame(), [], None)
    assert str(nothing) == ""
    assert repr(nothing) == "<Result empty: nothing to say>"
    assert nothing.numbers == {}


def test_numbers_that_are_not_finite_are_null():
    made = Result.showing("n", pd.DataFrame(), [say("{n}", n=Number("a", float("nan"), "–"))])
    assert made.numbers == {"a": None}


def test_the_ids_of_many_runs_are_cut():
    ids = tuple(map(str, range(MAX_RUNS + 5)))
    origins = (Origin(len(ids), "f", ids),)
    table = Table("t", say("T."), (Heading("a", "a"),), pd.DataFrame({"a": ["x"]}), 1, origins=origins)
    (origin,) = Result.showing("n", table.frame, table).data()["tables"]["t"]["origins"]
    assert origin["n_runs"] == MAX_RUNS + 5
    assert origin["runs"] == list(ids[:MAX_RUNS])


def test_runs_show_themselves_and_count_what_was_chosen(sweep):
    assert "10 completed runs took" in str(sweep)
    assert str(len(sweep.where(task=["a"]))) == "4"
    chosen = sweep.where({"task": HOSTILE}, lr=1)
    assert str(chosen).startswith("2 of 10 completed runs")
    assert chosen.label == f"made: task={HOSTILE}, lr=1"
    assert "No completed run is chosen." in str(sweep.where(statuses=["failed"]))
    again = chosen.choosing(rows="lr")
    assert (again.rows, again.columns, again.label) == ("lr", "lr", chosen.label)


@pytest.mark.parametrize("name", ["effects", "levels", "occurrences", "shares", "knobs", "costs", "summary"])
def test_one_run_without_settings_or_sections_has_answers(name):
    answer = getattr(tc, name)(runs_of({"a": ["x"]}, [3.0]))
    assert answer._repr_mimebundle_()["text/plain"]
    assert answer.html() is not None


def test_another_response_is_worded_as_itself(sweep):
    memory = tc.effects(sweep, response="cost_memory_mib")
    assert "untime" not in str(memory)
    assert "cost_memory_mib" in str(memory)
    score = tc.effects(sweep, response=HOSTILE)
    assert score.data()["prefix"] == HOSTILE
    with pytest.raises(ValueError, match="`response` must be a cost column, a score or a section"):
        tc.effects(sweep, response="memory")


def test_a_response_that_some_runs_lack_is_of_the_others():
    runs = runs_of(grid(a=list("xyz"), seed=[0, 1]), [1.0, 2, 3, 4, 5, 6])
    runs.frame["score.f1"] = [0.1, 0.2, 0.3, float("nan"), 0.5, 0.6]
    assert tc.effects(runs, response="f1").frame["n_runs"].iloc[0] == 5
    assert "1 run lacks the score f1 and is left out here." in str(tc.effects(runs, response="f1"))
    runs.frame["score.f1"] = 0.0
    assert "The score f1 is the same in all runs" in str(tc.effects(runs, response="f1"))
    runs.frame["score.f1"] = [0.1, *[float("nan")] * 5]
    with pytest.raises(ValueError, match="'f1' is known of 1 run: at least 2 are needed"):
        tc.effects(runs, response="f1")


def test_a_score_is_compared_on_its_own_scale():
    runs = runs_of(grid(a=list("xyz"), seed=[0, 1, 2, 3]), list(range(1, 13)))
    runs.frame["score.f1"] = [-0.1, -0.11, -0.1, -0.09, 0.0, 0.01, 0.0, 0.02, 0.9, 0.91, 0.9, 0.92]
    found = tc.effects(runs, response="f1")
    assert "The score f1 depends on a" in str(found)
    assert re.search(r"z has 1\.01 more than x \(0\.9\d+ to 1\.0\d+\)", str(found))
    row = found.frame.iloc[0]
    assert (row["size_kind"], row["level"], row["than"]) == ("difference", "z", "x")
    assert row["size"] == pytest.approx(0.9075 + 0.1)


def test_an_answer_without_sentences_prints_its_table():
    runs = runs_of({"task": list("aabb"), "lr": [1, 2, 1, 2]}, [1.0, 2.0, 3.0, 4.0])
    said = str(tc.levels(runs)).splitlines()
    assert said[0].startswith("Runtime of each task and lr")
    assert [line.split() for line in said[2:]] == [
        ["task", "2", "1"],
        ["b", "4.0", "s", "3.0", "s"],
        ["a", "2.0", "s", "1.0", "s"],
    ]


@pytest.mark.parametrize("question", ["levels", "effects", "differences", "listing"])
def test_no_name_of_a_run_controls_a_terminal(question):
    runs = runs_of({"task": ["a\x1b[2J", "b\r\x9b1m"] * 6, "s": [*range(6)] * 2}, [5.0, 90.0] * 6)
    said = str(getattr(tc, question)(runs))
    assert said
    assert all(character.isprintable() or character == "\n" for character in said)
