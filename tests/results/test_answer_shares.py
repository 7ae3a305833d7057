"""Where the time goes, in sentences that are true of the shares."""

import pytest
from conftest import runs_of

import traincost as tc


def said(rows):
    return str(tc.shares(runs_of({"a": ["x"]}, [100.0], rows)))


def test_the_largest_part_may_be_what_a_section_leaves_untimed():
    text = said([(0, "epoch", 95.0, 2), (0, "epoch/train", 20.0, 2), (0, "epoch/log", 1e-4, 2)])
    assert text.startswith("epoch, inside but untimed is 75.0 % of a run.")


def test_tiny_sections_are_not_called_none():
    text = said([(0, "setup", 1e-4, 1)])
    assert "setup" in text
    assert "No section timed > 99.9 %" in text


def test_a_larger_unattributed_rest_is_said_beside_the_largest():
    text = said([(0, "eval", 40.0, 1)])
    assert "eval is 40.0 % of a run.\nNo section timed 60.0 %" in text


def test_sections_that_overlap_are_named():
    text = said([(0, "a", 80.0, 1), (0, "a/x", 60.0, 1), (0, "a/y", 60.0, 1), (0, "b", 60.0, 1)])
    assert "overlap in time (threads, or double timing) are inside a (1.5 × as long together)." in text
    assert "Top-level sections overlap in time" in text
    assert "together they take 40.0 % longer than the runs" in text


def test_a_section_of_threads_never_exceeds_the_whole():
    answer = tc.shares(runs_of({"a": ["x"]}, [100.0], [(0, "load", 320.0, 1)]))
    assert "load: 3.2 × the runtime of its runtime" not in str(answer)
    assert "320" not in str(answer)
    assert "takes 3.2 × the runtime" in str(answer)
    assert "320.0 %" not in answer.tables["sections"].to_markdown()


def test_overlap_in_some_runs_is_said_despite_a_rest():
    rows = [(0, "a", 80.0, 1), (0, "b", 70.0, 1), (1, "a", 20.0, 1)]
    text = str(tc.shares(runs_of({"a": ["x", "y"]}, [100.0, 100.0], rows)))
    assert "In some runs top-level sections overlap in time" in text
    assert "together take 1.5 × as long as the run" in text


def test_a_section_of_some_runs_says_its_share_there():
    text = said_of([(0, "eval", 40.0, 2), (0, "train", 30.0, 2), (1, "train", 70.0, 2)])
    assert "eval is 20.0 % (in 1 of 2 runs, 40.0 % of these)." in text
    assert "train is 50.0 % of a run." in text


def said_of(rows):
    """Return what is said of two runs of a hundred seconds."""
    return str(tc.shares(runs_of({"a": ["x", "y"]}, [100.0, 100.0], rows)))


def test_sections_whose_clock_did_not_wait_are_marked():
    runs = runs_of({"a": ["x", "y"]}, [100.0, 100.0], [(0, "train", 30.0, 2), (1, "train", 70.0, 2)])
    assert "did not wait" not in str(tc.shares(runs))
    runs = runs_of({"a": ["x", "y"]}, [100.0, 100.0], [(0, "train", 30.0, 2), (1, "train", 70.0, 2)])
    runs.sections["synchronised"] = [0.0, 1.0]
    assert "In 1 run the clock did not wait for the device" in str(tc.shares(runs))
    assert "time of train may count in the next section that waits" in str(tc.shares(runs))


def test_runs_without_sections_say_so():
    answer = tc.shares(runs_of({"a": ["x"]}, [100.0]))
    assert str(answer) == "The runs recorded no sections, so where their time went cannot be said."


def test_printed_shares_say_what_they_add_up_to():
    thirds = [(0, name, 100.0 / 3, 1) for name in "abc"]
    caption = tc.shares(runs_of({"a": ["x"]}, [100.0], thirds)).tables["sections-full"].caption
    assert "as printed to 99.9 % by rounding" in caption.plain()


@pytest.mark.parametrize(("augment", "said"), [(30.0, True), (10.0, False)])
def test_a_large_second_part_is_said(augment, said):
    rows = [(r, section, x, 1) for r in range(4) for section, x in (("train", 50.0), ("augment", augment))]
    text = str(tc.shares(runs_of({"a": list("xxyy")}, [100.0] * 4, rows)))
    assert text.startswith("train is 50.0")
    assert ("augment is 30.0" in text) == said
    assert "augment is 10.0" not in text
