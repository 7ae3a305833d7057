"""Bounds of knobs: at most, never added, unknown where counts are."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, runs_of

from traincost.analysis import knobs as analysis
from traincost.analysis import occurrences, sections
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


# -- what a bound assumes ------------------------------------------------------------------

EVAL = {"name": "k", "sections": ["eval"], "kind": "cadence"}


def recorded(rows, runtime_s, n_configurations=1):
    """Return runs whose records have the extent of their occurrences: (run, seconds of each)."""
    frame = [(run, "eval", sum(each), len(each)) for run, each in rows]
    config = {"task": [str(run % n_configurations) for run in range(len(runtime_s))]}
    runs = runs_of(config, runtime_s, frame, knobs=(Knob.of(EVAL),))
    for name, function in (("first_s", lambda each: each[0]), ("min_s", min), ("max_s", max)):
        runs.sections[name] = [float(function(each)) for _, each in rows]
    return runs


def test_what_the_first_occurrence_takes_more_is_not_saved():
    runs = recorded([(i, [31.0, 1.0, 1.0, 1.0]) for i in range(4)], [100.0] * 4)
    row = knobs_of(runs).frame.iloc[0]
    # Thirty seconds of warm-up, and four occurrences of one second of which one is kept.
    assert row["bound"] == pytest.approx(0.03)
    assert row["first_share"] == pytest.approx(0.34 * 0.75 - 0.03)
    text = str(knobs_of(runs))
    assert "The first occurrence of eval is the longest in 4 of 4 runs, 31 × as long as a later one" in text
    assert "do not tell" not in text


def test_a_cadence_that_keeps_none_saves_the_first_too():
    runs = recorded([(i, [31.0, 1.0, 1.0, 1.0]) for i in range(4)], [100.0] * 4)
    none = runs.choosing(knobs=[EVAL | {"kept": 0}])
    assert none.bounds["bound"].iloc[0] == pytest.approx(0.34)


def test_one_record_of_few_occurrences_tells_nothing_of_the_first():
    runs = recorded([(0, [2.0, 1.0, 1.0])], [10.0])
    assert runs.bounds["bound"].iloc[0] == pytest.approx(0.4 * 2 / 3)


def test_occurrences_that_grow_over_a_run_are_said_to():
    text = str(knobs_of(recorded([(i, [1.0, 2.0, 3.0, 4.0]) for i in range(4)], [100.0] * 4)))
    assert (
        "is the shortest in 4 of 4 runs, 0.33 × as long as a later one: occurrences grow over a run" in text
    )


def test_runs_of_different_counts_tell_where_records_do_not():
    counts = [2, 4, 8, 16, 3, 6, 12, 24]
    rows = [(i, "eval", n * n * (1.0 + 0.01 * (i % 3)), n) for i, n in enumerate(counts)]
    runs = runs_of({"task": list("aaaabbbb")}, [1000.0] * 8, rows, knobs=(Knob.of(EVAL),))
    text = str(knobs_of(runs))
    assert "In 8 runs of configurations with different counts, one occurrence of eval takes" in text
    assert "longer" in text
    assert "late ones save more than early ones" in text


def test_what_no_record_tells_is_said_to_be_assumed():
    text = said(EVAL, rows=[(0, "eval", 40.0, 10), (1, "eval", 50.0, 10)])
    assert "take occurrences to be alike; of eval the records do not tell." in text
    assert "records do not tell" not in said({"name": "k", "sections": ["ckpt"]})


@pytest.mark.slow
def test_alike_occurrences_are_called_different_in_one_of_twenty():
    rng, found = np.random.default_rng(1), []
    for _ in range(400):
        counts = rng.integers(2, 9, size=9)
        runs = recorded([(i, rng.lognormal(0, 0.3, n)) for i, n in enumerate(counts)], [100.0] * 9, 3)
        t, codes = runs.timing, np.arange(9) % 3
        found.append(occurrences.alike(t, ["eval"], codes)["finding"].iloc[0])
        t = dataclasses.replace(t, extents=None)
        found.append(occurrences.alike(t, ["eval"], codes)["finding"].iloc[0])
    assert np.mean([x not in (occurrences.ALIKE, occurrences.UNKNOWN) for x in found]) <= 0.05


def test_a_knob_of_sections_that_some_runs_have_says_what_it_saves_there():
    text = said({"name": "k", "sections": ["ckpt"]})
    assert "saves at most 2.5 % of a run on average" in text
    assert "It is in 1 of 2 runs, of which it saves at most 5.0 % on average." in text
    assert "It is in" not in said({"name": "k", "sections": ["epoch/eval"]})


def test_hours_saved_are_those_of_completed_runs():
    assert "over all completed runs together" in said({"name": "k", "sections": ["epoch/eval"]})


def test_threads_never_save_more_than_all_or_speed_up_without_end():
    rows = [(run, path, 90.0, 1) for run in (0, 1) for path in ("load", "train")]
    answer = knobs_of(runs_of({"a": ["x", "y"]}, [100.0] * 2, rows, knobs=(Knob("k", ("load", "train")),)))
    row = answer.frame.iloc[0]
    assert row["bound"] == 1
    assert np.isnan(row["speed_up"])
    assert row["overlap"] == pytest.approx(1.8)
    assert "inf" not in str(answer)
    assert "all of the runtime" in str(answer)
    assert "It overlaps in time with other sections" in str(answer)
    assert "together they take 1.8 × as long as what encloses them" in str(answer)


def test_a_knob_whose_clock_did_not_wait_says_so():
    runs = runs_of({"task": ["a", "b"]}, [100.0, 200.0], ROWS, knobs=(Knob("k", ("ckpt",)),))
    runs.sections["synchronised"] = 0.0
    assert "In 1 run the clock did not wait for the device" in str(knobs_of(runs))
