"""Where the time goes, in sentences that are true of the shares."""

from conftest import runs_of

import traincost as tc


def said(rows):
    return str(tc.shares(runs_of({"a": ["x"]}, [100.0], rows)))


def test_the_largest_part_may_be_what_a_section_leaves_untimed():
    text = said([(0, "epoch", 95.0, 2), (0, "epoch/train", 20.0, 2), (0, "epoch/log", 1e-4, 2)])
    assert text.startswith("The largest part of a run is epoch, inside but untimed: 75.00 % of its runtime")
    assert "epoch/train with 20.00 %" in text


def test_tiny_sections_are_not_called_none():
    text = said([(0, "setup", 1e-4, 1)])
    assert "setup" in text
    assert "100.00 % of the runtime is unattributed" in text


def test_a_larger_unattributed_rest_is_said_beside_the_largest():
    text = said([(0, "eval", 40.0, 1)])
    assert "The largest part of a run that any section timed is eval: 40.00 %" in text
    assert "more than that is unattributed" in text


def test_sections_that_overlap_are_named():
    text = said([(0, "a", 80.0, 1), (0, "a/x", 60.0, 1), (0, "a/y", 60.0, 1), (0, "b", 60.0, 1)])
    assert "Sections that overlap in time (threads, or double timing): a" in text
    assert "The disjoint sections add up to more than the runtime, by 40.00 % of it." in text


def test_runs_without_sections_say_so():
    answer = tc.shares(runs_of({"a": ["x"]}, [100.0]))
    assert str(answer) == "The runs recorded no sections, so where their time went cannot be said."


def test_printed_shares_say_what_they_add_up_to():
    thirds = [(0, name, 100.0 / 3, 1) for name in "abc"]
    caption = tc.shares(runs_of({"a": ["x"]}, [100.0], thirds)).tables["sections"].caption
    assert "as printed to 99.99 % by rounding" in caption.plain()
