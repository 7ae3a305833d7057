"""How long one occurrence of a repeated section takes."""

import pytest
from conftest import runs_of

import traincost as tc

ROWS = [
    (r, section, seconds * (1 + r // 2), n)
    for r in range(4)
    for section, seconds, n in (("eval", 10.0, 5), ("eval/x", 4.0, 20), ("train", 40.0, 8), ("setup", 1.0, 1))
]


@pytest.fixture(scope="module")
def answer():
    runs = runs_of({"task": list("aabb")}, [100.0] * 4, ROWS, rows="task", cadence_section="eval")
    return tc.occurrences(runs)


def test_seconds_per_occurrence_by_level(answer):
    table = answer.tables["occurrences"].frame.set_index("section")
    assert table.loc["eval"].to_dict() == {"level.a": 2.0, "level.b": 4.0}
    assert "setup" not in table.index  # it runs once


def test_levels_that_take_much_the_same_are_not_compared():
    rows = [(r, "eval", 20.0 + 0.1 * r, 5) for r in range(4)]
    text = str(tc.occurrences(runs_of({"task": list("aabb")}, [100.0] * 4, rows, rows="task")))
    assert text.startswith("Each time, eval takes 4.1 s, much the same at every level of task.")


def test_levels_that_are_numbers_are_said_with_their_setting():
    rows = [(r, "eval", 20.0 * (1 + r // 2), 5) for r in range(4)]
    text = str(tc.occurrences(runs_of({"size": [8, 8, 32, 32]}, [100.0] * 4, rows, rows="size")))
    assert text.startswith("Each time, eval takes 8.0 s for size 32, against 4.0 s for size 8.")


def test_the_scheduled_section_comes_first_with_its_count(answer):
    text = str(answer)
    assert text.startswith("Each time, eval takes 4.0 s for task b, against 2.0 s for task a.")
    assert "eval runs 5 times in a run." in text


def test_sections_inside_others_have_a_figure_of_their_own(answer):
    assert set(answer.figures["occurrences"].frame["section"]) == {"eval", "train"}
    assert set(answer.figures["subsections"].frame["section"]) == {"eval/x"}


def test_runs_without_repeated_sections_say_nothing():
    answer = tc.occurrences(runs_of({"task": list("ab")}, [1.0, 2.0], [(0, "setup", 0.5, 1)]))
    assert str(answer) == ""
    assert answer.tables == answer.figures == {}


def test_of_many_levels_the_slowest_and_the_fastest_are_shown():
    tasks = [f"name=model--tags=['{letter * 3}', 'gru']--x" for letter in "abcdefg"]
    rows = [(i, "eval", 10.0 * (i + 1), 5) for i in range(7)]
    runs = runs_of({"task": tasks}, [100.0 * (i + 1) for i in range(7)], rows, rows="task")
    table = tc.occurrences(runs).tables["occurrences"]
    assert [heading.text for heading in table.headings] == ["section", "ggg", "fff", "eee", "bbb", "aaa"]
    assert f"level.{tasks[2]}" in table.frame  # for the JSON
    assert "the 3 levels with the slowest runs and the 2 with the fastest of 7" in table.note.plain()
    assert "for ggg" in str(tc.occurrences(runs))
