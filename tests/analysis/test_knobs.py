"""Bounds of knobs: at most, never added, unknown where counts are."""

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, runs_of

from traincost.analysis import knobs as analysis
from traincost.analysis import sections
from traincost.analysis.knobs import JOINT, Knob
from traincost.results.knobs import knobs as knobs_of

ROWS = [
    (0, "epoch/eval", 40.0, 10),
    (0, "epoch/eval/gen", 30.0, 10),
    (0, "epoch/train", 20.0, 10),
    (0, "ckpt", 5.0, 10),
    (1, "epoch/eval", 100.0, 4),
    (1, "epoch/eval/gen", 60.0, 4),
    (1, "epoch/train", 50.0, 4),
]


def bounds(*knobs, rows=ROWS, runtime_s=(100.0, 200.0), **options):
    t = timing(rows, runtime_s)
    return analysis.bounds(t, [dict(knob) for knob in knobs], **options).set_index("knob")


def timing(rows, runtime_s):
    return sections.timing(collection_of({"run": range(len(runtime_s))}, runtime_s, rows))


def test_a_share_knob_saves_at_most_its_sections_share():
    row = bounds({"name": "gen", "sections": ["epoch/eval/gen"]}).loc["gen"]
    assert row["bound"] == pytest.approx((0.3 + 0.3) / 2)
    assert row["pooled_bound"] == pytest.approx(90 / 300)
    assert row["speed_up"] == pytest.approx(1 / (1 - 0.3))
    assert row["saved_s"] == pytest.approx(90)


def test_a_cadence_knob_keeps_some_occurrences():
    row = bounds({"name": "k", "sections": ["epoch/eval"], "kind": "cadence", "kept": 2}).loc["k"]
    assert row["governed_share"] == pytest.approx((0.4 + 0.5) / 2)
    assert row["bound"] == pytest.approx((0.4 * 0.8 + 0.5 * 0.5) / 2)


def test_more_kept_than_there_are_saves_nothing():
    knob = {"name": "k", "sections": ["epoch/eval"], "kind": "cadence", "kept": 50}
    assert bounds(knob).loc["k", "bound"] == 0


def test_an_unknown_count_is_unknown_and_not_one():
    rows = [(0, "eval", 40.0, np.nan), (1, "eval", 100.0, 4)]
    knob = {"name": "k", "sections": ["eval"], "kind": "cadence"}
    row = bounds(knob, rows=rows).loc["k"]
    assert row["n_known"] == 1
    assert row["bound"] == pytest.approx(0.5 * 0.75)
    # The run without the section saves nothing, which says nothing of the one that has it.
    row = bounds(knob, rows=[(0, "eval", 40.0, np.nan)]).loc["k"]
    assert np.isnan(row["bound"])
    assert row["tier"] == "unknown"


def test_the_cadence_section_gives_the_count():
    knob = {"name": "k", "sections": ["epoch/eval/gen"], "kind": "cadence", "kept": 1}
    rows = [(0, "epoch/eval", 40.0, 10), (0, "epoch/eval/gen", 30.0, 1000), (1, "epoch/eval", 4.0, 2)]
    row = bounds(knob, rows=rows, cadence_section="epoch/eval").loc["k"]
    assert row["bound"] == pytest.approx((0.3 * 0.9 + 0) / 2)


def test_nested_knobs_are_never_added():
    found = bounds(
        {"name": "eval", "sections": ["epoch/eval"]},
        {"name": "gen", "sections": ["*/gen"]},
    )
    assert found.loc[JOINT, "bound"] == found.loc["eval", "bound"]


def test_a_share_inside_a_cadence_is_counted_once():
    found = bounds(
        {"name": "k", "sections": ["epoch/eval"], "kind": "cadence", "kept": 2},
        {"name": "gen", "sections": ["epoch/eval/gen"]},
    )
    # All of the generation, and 80 % or 50 % of what of the evaluation is not generation.
    expected = ((0.3 + 0.1 * 0.8) + (0.3 + 0.2 * 0.5)) / 2
    assert found.loc[JOINT, "bound"] == pytest.approx(expected)


def test_disjoint_knobs_do_add_up_in_the_joint_bound():
    found = bounds({"name": "a", "sections": ["epoch/train"]}, {"name": "b", "sections": ["ckpt"]})
    assert found.loc[JOINT, "bound"] == pytest.approx(found.loc["a", "bound"] + found.loc["b", "bound"])


def test_a_pattern_crosses_slashes_and_is_otherwise_literal():
    rows = [(0, "a.b/[x]", 10.0, 1), (0, "aXb/[x]", 20.0, 1)]
    row = bounds({"name": "k", "sections": ["a.*[x]"]}, rows=rows).loc["k"]
    assert row["sections"] == "a.b/[x]"


def test_no_matching_section_is_unknown():
    row = bounds({"name": "k", "sections": ["nope"]}).loc["k"]
    assert np.isnan(row["bound"])
    assert row["sections"] == ""


def test_overlapping_children_never_save_more_than_their_parent():
    rows = [(0, "a", 8.0, 1), (0, "a/x", 6.0, 1), (0, "a/y", 6.0, 1)]
    found = bounds({"name": "k", "sections": ["a/*"]}, rows=rows, runtime_s=(10.0, 10.0))
    assert found.loc["k", "bound"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("bound", "tier"),
    [(0.1, "high-leverage"), (0.0999, "secondary"), (0.0005, "secondary"), (0.00049, "not worth touching")],
)
def test_tiers(bound, tier):
    assert analysis.tier(bound) == tier


def test_the_range_over_levels_and_resamples():
    row = bounds({"name": "k", "sections": ["epoch/train"]}, codes=np.array([0, 1])).loc["k"]
    assert (row["level_low"], row["level_high"]) == (0.2, 0.25)
    assert 0.2 <= row["low"] <= row["bound"] <= row["high"] <= 0.25


def test_proposed_knobs_leave_training_alone():
    t = timing(ROWS, [100.0, 200.0])
    proposed = {knob.name: knob for knob in analysis.propose(t)}
    assert set(proposed) == {"epoch/eval", "epoch/eval/gen", "ckpt"}
    assert proposed["epoch/eval"].kind == "cadence"
    assert analysis.bounds(t)["proposed"].all()


def test_no_sections_give_no_knobs():
    assert not len(analysis.bounds(timing([], [100.0])))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("eval", "a knob must be a mapping"),
        ({"name": "k", "sections": ["a"], "knid": "share"}, "knob 'k': unknown key 'knid'"),
        ({"name": "k", "sections": "a"}, "`sections` must be a list"),
        ({"name": "k", "sections": ["a"], "kind": "often"}, r"`kind` must be one of .*'often'"),
        ({"name": "k", "sections": ["a"], "kept": -1}, "`kept` must be a number of at least 0, got -1"),
        ({"name": "", "sections": ["a"]}, "`name` must be text"),
    ],
)
def test_a_wrong_knob_is_refused_by_name(entry, message):
    with pytest.raises(ValueError, match=message):
        Knob.of(entry)


def test_an_unknown_cadence_section_is_refused():
    with pytest.raises(ValueError, match="`cadence_section` must be a section of the runs, got 'evla'"):
        bounds({"name": "k", "sections": ["ckpt"]}, cadence_section="evla")


def test_knobs_need_names_of_their_own():
    knob = {"name": "k", "sections": ["ckpt"]}
    with pytest.raises(ValueError, match="`knobs` must have names of their own; 'k' is taken"):
        bounds(knob, knob)
    with pytest.raises(ValueError, match="'all knobs together' is taken"):
        bounds(knob | {"name": JOINT})


def test_counts_known_in_part_give_figures_of_these_runs():
    rows = [(0, "eval", 40.0, np.nan), (1, "eval", 100.0, 4)]
    row = bounds({"name": "k", "sections": ["eval"], "kind": "cadence"}, rows=rows).loc["k"]
    assert row["governed_share"] == pytest.approx(0.5)
    text = said({"name": "k", "sections": ["eval"], "kind": "cadence"}, rows=rows)
    assert "Known in 1 of 2 runs only." in text
    assert "over these runs together" in text


def said(*entries, rows=ROWS):
    """Return what the answer about these knobs says."""
    knobs = tuple(map(Knob.of, entries))
    return str(knobs_of(runs_of({"task": ["a", "b"]}, [100.0, 200.0], rows, knobs=knobs)))


def test_overlap_is_said_only_where_knobs_overlap():
    together, overlap = "All together they save at most", "The knobs overlap, so their bounds do not add up"
    apart = said({"name": "a", "sections": ["epoch/train"]}, {"name": "b", "sections": ["ckpt"]})
    nested = said({"name": "a", "sections": ["epoch/eval"]}, {"name": "b", "sections": ["*/gen"]})
    nothing = said({"name": "a", "sections": ["x"]}, {"name": "b", "sections": ["y"]})
    assert [together in text for text in (apart, nested, nothing)] == [True, False, False]
    assert [overlap in text for text in (apart, nested, nothing)] == [False, True, False]


def test_the_resampling_range_ignores_the_size_of_chunks(golden, monkeypatch):
    t = sections.timing(golden)
    monkeypatch.setattr(analysis, "N_RESAMPLES", 200)
    whole = analysis.bounds(t)
    monkeypatch.setattr(analysis, "MAX_DRAWN", 7 * len(golden.runs))
    pd.testing.assert_frame_equal(analysis.bounds(t), whole, check_exact=True)
