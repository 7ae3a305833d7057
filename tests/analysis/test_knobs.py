"""Bounds of knobs: at most, never added, unknown where counts are."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, runs_of

from traincost.analysis import knobs as analysis
from traincost.analysis import occurrences, sections
from traincost.analysis.knobs import JOINT, Knob
from traincost.printing import plain
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


@pytest.mark.parametrize(
    "rows",
    [
        [(0, "Compute Score", 60.0, 1)],  # a name that tells nothing
        [(0, "eval", 99.5, 3)],  # the job itself
        [(0, "evaluate", 80.0, 3), (0, "evaluate/train", 30.0, 3)],  # around training
        [(0, "on_validation_end", 60.0, 3)],  # a hook
        [(0, "setup", 60.0, 1)],
    ],
)
def test_what_is_no_option_by_its_name_is_not_proposed(rows):
    assert analysis.propose(timing(rows, [100.0])) == []


def test_what_is_said_to_be_training_is_not_proposed():
    t = timing([(0, "rollout/generate", 60.0, 3)], [100.0])
    assert len(analysis.propose(t)) == 1
    assert analysis.propose(t, {"*generate": "training"}) == []


def test_a_batch_is_not_proposed_to_run_once():
    rows = [(0, "validation_step", 30.0, 900), (0, "eval", 30.0, 9), (0, "data", 20.0, 900)]
    kinds = {knob.name: knob.kind for knob in analysis.propose(timing(rows, [100.0]))}
    assert kinds == {"validation_step": "share", "eval": "cadence", "data": "share"}


def test_knobs_are_ranked_by_what_they_save_in_all():
    rows = [(0, "load", 500.0, 1), (0, "eval", 100.0, 1), (1, "eval", 6.0, 1)]
    knobs = [{"name": name, "sections": [name]} for name in ("eval", "load")]
    found = analysis.bounds(timing(rows, [1000.0, 10.0]), knobs)
    assert list(found["knob"][:2]) == ["load", "eval"]
    assert found["bound"].iloc[0] < found["bound"].iloc[1]


def test_small_settings_are_counted_and_not_listed():
    rows = [(0, "eval", 40.0, 4), (0, "ckpt", 0.05, 1), (1, "eval", 40.0, 4)]
    answer = said_of({"name": "e", "sections": ["eval"]}, {"name": "c", "sections": ["ckpt"]}, rows=rows)
    table = answer.tables["knobs"]
    assert list(table.here["knob"]) == ["e", JOINT]
    assert "1 more setting would save under 0.1 % and is not listed." in table.note.plain()
    assert "| c |" in str(answer.tables["knobs-bounds"])
    (small,) = (row for row in answer.tables["knobs-bounds"].printed() if row[0] == "c")
    assert plain(small[2]) == "0.025 %"


def test_a_setting_has_its_value_and_how_often_it_happens():
    config = {"task": ["a", "b"], "trainer.val_check": [0.5, 0.5]}
    rows = [(0, "eval", 40.0, 10), (1, "eval", 50.0, 20)]
    knobs = (Knob("val_check", ("eval",), "cadence", "evaluate once per run"),)
    table = knobs_of(runs_of(config, [100.0, 200.0], rows, knobs=knobs)).tables["knobs"]
    assert table.frame[["label", "now"]].iloc[0].to_list() == [
        "Evaluate once per run",
        "val_check, now 0.5: 10 or 20 times a run",
    ]


def test_savings_are_told_in_money_where_there_is_a_price():
    runs = runs_of(
        {"task": ["a", "b"]}, [3600.0] * 2, [(0, "eval", 1800.0, 1)], knobs=(Knob("k", ("eval",)),)
    )
    table = knobs_of(runs, devices=2, price_per_hour=3.0).tables["knobs"]
    assert table.frame["saved_money"].iloc[0] == pytest.approx(3.0)
    assert [heading.text for heading in table.headings][-1] == "USD"
    assert "saved_money" not in knobs_of(runs).tables["knobs"].frame


def test_a_pattern_without_a_section_is_named():
    text = said({"name": "k", "sections": ["evla"]}, {"name": "e", "sections": ["epoch/eval"]})
    assert re.search(r"No section of these runs matches k \(patterns: \S+\); the sections are \S", text)


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


def said_of(*entries, rows=ROWS):
    """Return the answer about these knobs."""
    knobs = tuple(map(Knob.of, entries))
    return knobs_of(runs_of({"task": ["a", "b"]}, [100.0, 200.0], rows, knobs=knobs))


def said(*entries, rows=ROWS):
    """Return what the answer about these knobs says."""
    return str(said_of(*entries, rows=rows))


def test_overlap_is_said_only_where_knobs_overlap():
    def together(*entries):
        rows = said_of(*entries).tables["knobs"].frame.set_index("label")["now"]
        return rows.get("All of these together")

    nested = together({"name": "a", "sections": ["epoch/eval"]}, {"name": "b", "sections": ["*/gen"]})
    apart = together({"name": "a", "sections": ["epoch/train"]}, {"name": "b", "sections": ["ckpt"]})
    assert (nested, apart) == ("they overlap, so the rows do not add up", "")
    assert together({"name": "a", "sections": ["epoch/train"]}) is None


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
    assert "the records do not tell whether those of eval do." in text
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


def test_a_knob_of_some_runs_says_what_it_saves_there():
    text = said({"name": "k", "sections": ["ckpt"]})
    assert "governs 2.5 % of a run and saves at most 2.5 % on average" in text
    assert "k is in 1 of 2 runs, of which it saves at most 5.0 % on average." in text
    assert "is in 2 of" not in said({"name": "k", "sections": ["epoch/eval"]})


def test_hours_saved_are_those_of_completed_runs():
    assert "over all completed runs together" in said({"name": "k", "sections": ["epoch/eval"]})


def test_threads_never_save_all_or_speed_up_without_end():
    rows = [(run, path, 90.0, 1) for run in (0, 1) for path in ("load", "train")]
    answer = knobs_of(runs_of({"a": ["x", "y"]}, [100.0] * 2, rows, knobs=(Knob("k", ("load", "train")),)))
    row = answer.frame.iloc[0]
    assert np.isnan([row["bound"], row["pooled_bound"], row["saved_s"], row["speed_up"]]).all()
    assert row["overlap"] == pytest.approx(1.8)
    assert "What k saves cannot be bounded" in str(answer)
    assert "together take 1.8 × as long as what encloses them" in str(answer)
    assert not re.search("inf|100 %", str(answer))
    assert answer.tables["knobs"].frame["bound"].isna().all()


def test_a_thread_beside_others_says_that_it_may_be_hidden():
    rows = [(run, path, seconds, 1) for run in (0, 1) for path, seconds in (("load", 90.0), ("train", 60.0))]
    answer = knobs_of(runs_of({"a": ["x", "y"]}, [100.0] * 2, rows, knobs=(Knob("k", ("load",)),)))
    assert answer.frame["bound"].iloc[0] == pytest.approx(0.9)
    assert "k overlaps in time with other sections" in str(answer)


def test_a_knob_whose_clock_did_not_wait_says_so():
    runs = runs_of({"task": ["a", "b"]}, [100.0, 200.0], ROWS, knobs=(Knob("k", ("ckpt",)),))
    runs.sections["synchronised"] = 0.0
    assert "In 1 run the clock did not wait for the device" in str(knobs_of(runs))


def test_savings_are_compared_on_the_base_of_all_hours():
    rows = [(0, "eval", 50.0, 1), (1, "write", 2000.0, 1)]
    knobs = (Knob("eval", ("eval",)), Knob("write", ("write",)))
    answer = knobs_of(runs_of({"a": ["x", "y"]}, [100.0, 10_000.0], rows, knobs=knobs))
    said = (
        "1 setting could save 10 % of all hours or more; no other setting here saves more than 0.5 % of them."
    )
    assert plain(str(answer)).startswith(said)


@pytest.mark.parametrize(
    ("setting", "section", "warned"),
    [("stopper.patience", "eval", True), ("early_stopping", "eval", True), ("lr", "eval", False),
     ("patience", "write", False)],
)  # fmt: skip
def test_fewer_evaluations_may_keep_runs_from_stopping_early(setting, section, warned):
    rows = [(i, section, 300.0, 10) for i in range(4)]
    knobs = (Knob("k", (section,), "cadence"),)
    text = str(knobs_of(runs_of({"a": list("xxyy"), setting: [10] * 4}, [1000.0] * 4, rows, knobs=knobs)))
    assert (f"Runs may stop early by what they evaluate ({setting})" in text) == warned
