"""Evidence ranked, not averaged; intervals that hold what they should; bases, stages and experts."""

import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import REFERENCE

from traincost.estimation import by_hardware, estimates, evidence, systems, uncertainty
from traincost.estimation import contradictions as against
from traincost.estimation.accelerators import rate_of
from traincost.results.systems import read_systems

COMPUTE = REFERENCE / "compute"
LANGUAGE = {"parameters": "1B", "tokens": "10B"}
HARDWARE = {"processor": "NVIDIA V100", "processors": 8, "time_s": "1 hour"}


def of(*entries):
    """Return the estimates, the candidates and what was reported of entries of a sheet."""
    listed = [
        {"system": f"s{i}", "date": "2022-01-01", "domain": "x", "source": "y", **entry}
        for i, entry in enumerate(entries)
    ]
    reported = systems.from_sheet(yaml.safe_dump({"systems": listed}), "sheet")
    return *estimates.estimate_all(reported.frame), reported


def figures(**given):
    """Return the estimate of one system, a row."""
    return of({"figures": given})[0].iloc[0]


def test_the_strongest_evidence_is_the_estimate_the_others_check_it():
    given = {**LANGUAGE, **HARDWARE, "utilisation": "50%", "stated_compute_flop": "6.5e19"}
    table, found, _ = of({"figures": given})
    assert list(found["method"]) == [
        "stated",
        "network operations",
        "burden at stated utilisation",
        "burden at assumed utilisation",
    ]
    assert list(found["rank"]) == [1, 2, 4, 5]
    row = table.iloc[0]
    assert row["value_flop"] == 6.5e19
    assert (row["check_flop"], row["check_method"]) == (6e19, "network operations")
    assert found["ratio"].iloc[1] == pytest.approx(6.5 / 6)
    assert figures(**LANGUAGE, **HARDWARE)["value_flop"] == 6e19  # not averaged with the hardware
    assert figures(third_party_compute_flop="1e20")["method"] == "third party"


def test_a_ratio_above_three_is_contradictory_and_not_fitted():
    near, far = {**LANGUAGE, "burden_flop": 3e20}, {**LANGUAGE, "burden_flop": 3e22}
    above = {**LANGUAGE, "burden_flop": 3e19}
    table, _, reported = of(*({"figures": each} for each in (near, far, above)))
    assert list(table["consistent"]) == [True, False, False]
    assert len(estimates.both_measures(table)) == 3
    assert len(estimates.both_measures(table, consistent=True)) == 1
    kinds = against.contradictions(table, reported.frame).set_index("kind")["subject"]
    assert kinds["implied utilisation above 1"] == "s2"
    assert "s1" in list(kinds["two measures disagree, utilisation assumed"])


def test_measured_throughput_comes_before_a_stated_utilisation():
    hours = {"processor": "A100", "processor_hours": 3456, "utilisation": "56%"}
    row = figures(parameters="1.1B", tokens_per_s_per_processor=24000, **hours)
    assert row["method"] == "measured throughput"
    assert row["value_flop"] == pytest.approx(6 * 1.1e9 * 24000 * 3456 * 3600)
    assert row["check_method"] == "burden at stated utilisation"
    assert figures(achieved_flop_per_s="100 TFLOP/s", **hours)["value_flop"] == pytest.approx(
        1e14 * 3456 * 3600
    )


def test_hfu_is_more_than_the_model_needs():
    hours = {"processor": "A100", "processor_hours": 1000}
    full = figures(hfu=0.6, recomputation="full", **hours)["value_flop"]
    none = figures(hfu=0.6, recomputation="none", **hours)["value_flop"]
    unknown = figures(hfu=0.6, **hours)
    assert full == pytest.approx(0.75 * none)
    assert full < unknown["value_flop"] < none
    assert figures(mfu=0.6, **hours)["value_flop"] == pytest.approx(none)


def test_a_mixture_of_experts_counts_its_active_parameters():
    total = {"system": "Some-MoE", "figures": {"parameters": "100B", "tokens": "1T"}}
    active = {
        "system": "Some-MoE 2",
        "figures": {"parameters": "100B", "active_parameters": "10B", "tokens": "1T"},
    }
    named = {"system": "Some-100B-A12B", "figures": {"parameters": "100B", "tokens": "1T"}}
    table, _, _ = of(total, active, named)
    assert list(table["method"]) == ["operations of all experts", "network operations", "network operations"]
    assert list(table["value_flop"]) == [
        pytest.approx(6e23 * evidence.ACTIVE_SHARE),
        pytest.approx(6e22),
        pytest.approx(7.2e22),
    ]
    assert table["high_flop"].iloc[0] / table["low_flop"].iloc[0] > 30
    assert table["implied_utilisation"].isna().all()


def test_six_n_d_is_for_tokens_alone():
    image = {"domain": "Vision", "figures": {"parameters": "1B", "dataset_tokens": "1B"}}
    text = {"domain": "Language", "figures": {"parameters": "1B", "dataset_tokens": "1B", "epochs": 2}}
    words = {"figures": {"parameters": "1B", "words": "3B"}}
    table, _, _ = of(image, text, words)
    assert np.isnan(table["value_flop"].iloc[0])
    assert table["value_flop"].iloc[1] == pytest.approx(1.2e19)
    assert table["value_flop"].iloc[2] == pytest.approx(6e9 * 4e9)


def test_a_base_is_counted_with_and_without():
    base = {"system": "Base 7B", "figures": {"stated_compute_flop": "1e23"}}
    tuned = {"system": "tuned", "figures": {"base": "base-7b", "parameters": "7B", "tokens": "1B"}}
    lost = {
        "system": "lost",
        "figures": {"base": "unheard of", "parameters": "7B", "tokens": "1B", **HARDWARE},
    }
    circle = {"system": "circle", "figures": {"base": "circle", "parameters": "7B", "tokens": "1B"}}
    table, _, reported = of(base, tuned, lost, circle)
    own = 6 * 7e9 * 1e9
    assert table["value_flop"].iloc[1] == pytest.approx(1e23 + own)
    assert list(table["without_base_flop"].iloc[1:]) == [pytest.approx(own)] * 3
    assert table["band"].iloc[2].startswith("a lower bound")
    assert table["value_flop"].iloc[2] == pytest.approx(own)
    assert table["high_flop"].iloc[2] > 1e3 * own
    kinds = against.contradictions(table, reported.frame)["kind"]
    assert not kinds.eq("stated value differs from its inputs").any()


def test_a_total_that_holds_its_base_is_not_impossible(tmp_path):
    header = "Model,Publication date,Domain,Training compute (FLOP),Training hardware,Hardware quantity,"
    header += "Training time (hours),Base model,Finetune compute (FLOP)\n"
    header += "tuned,2023-01-01,Language,1e24,NVIDIA A100,8,10,Llama,2e19\n"
    (tmp_path / "s.csv").write_text(header + "alone,2023-01-01,Language,1e24,NVIDIA A100,8,10,,\n")
    reported = read_systems(tmp_path / "s.csv")
    table = estimates.estimate_systems(reported.frame)
    found = against.contradictions(table, reported.frame)
    assert list(found.loc[found["kind"].eq("implied utilisation above 1"), "subject"]) == ["alone"]
    assert table["without_base_flop"].iloc[0] == 2e19


def test_a_pair_against_a_stated_total_is_not_fitted():
    given = {**LANGUAGE, "stated_compute_flop": "6e19"}
    table, found, _ = of({"figures": {**given, "burden_flop": 6e19 * 17 / 0.2}}, {"figures": given})
    assert list(found["method"])[:2] == ["stated", "network operations"]
    assert table["check_ratio"].iloc[0] == pytest.approx(1)
    assert list(table["consistent"]) == [False, True]
    assert len(estimates.both_measures(table)) == 1
    assert len(estimates.both_measures(table, consistent=True)) == 0


def test_a_utilisation_that_one_stage_states_is_used():
    stages = [
        {"name": "pre-training", "processor_hours": 1000, "utilisation": "50%"},
        {"name": "fine-tuning", "processor_hours": 10},
    ]
    table, found, _ = of({"figures": {"parameters": "1B", "processor": "A100"}, "stages": stages})
    peak = 3600 * 3.12e14
    assert list(found["method"]) == ["burden at assumed utilisation"]
    assert "MFU 0.5 stated" in found["how"].iloc[0]
    assert "assumed" in found["how"].iloc[0]
    assumed = table["value_flop"].iloc[0] / peak - 1000 * 0.5
    assert 0.1 < assumed / 10 < 0.4
    assert table["achieved_flop"].iloc[0] == pytest.approx(table["value_flop"].iloc[0])
    assert table["utilisation"].iloc[0] == pytest.approx((500 + assumed) / 1010)
    assert table["utilisation_assumed"].iloc[0]


def test_an_input_that_stages_share_counts_once_in_the_interval():
    draws = uncertainty.lognormal("a", 1.0, 0.3)
    found = uncertainty.shares(draws + 2 * draws, {"a": draws, "a (2)": 2 * draws})
    assert list(found) == ["a"]
    assert found["a"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("figures_given", "problem"),
    [
        ({"tokens": "1T"}, "`parameters` is missing"),
        ({"words": "3B"}, "`parameters` is missing"),
        ({"epochs": 3, "examples": 100}, "`flop_per_pass` (or `multiply_adds_per_pass`) is missing"),
    ],
)
def test_the_figure_that_a_count_lacks_is_named(figures_given, problem):
    table = of({"figures": figures_given}, {"figures": {"operations_flop": 1e20}})[0]
    assert table["problem"].iloc[0] == problem


def test_words_are_read_as_often_as_there_are_epochs():
    table, found, _ = of(
        {"figures": {"parameters": "340M", "words": "3.3B", "epochs": 40}},
        {"figures": {"parameters": "340M", "words": "3.3B"}},
        {"figures": {"parameters": "340M", "tokens": "4.4B", "epochs": 40}},
    )
    once = 6 * 340e6 * 3.3e9 * 4 / 3
    assert list(table["value_flop"]) == pytest.approx([40 * once, once, once])
    assert "× epochs" in found["how"].iloc[0]
    assert "the 40 epochs are in it" in found["how"].iloc[2]


def test_stages_are_summed_each_with_its_own_figures():
    stages = [
        {"name": "pre-training", "tokens": "1T", "processor_hours": 1000},
        {
            "name": "fine-tuning",
            "tokens": {"value": "1B", "printed": "one billion"},
            "frozen_share": 0.5,
            "processor_hours": 10,
        },
        {"name": "distillation", "tokens": "2B", "teacher_parameters": "70B", "processor_hours": 5},
        {"name": "reinforcement learning", "tokens": "1B", "generated_tokens": "3B", "processor_hours": 5},
    ]
    given = {"parameters": "1B", "processor": "A100"}
    table, _, reported = of({"figures": given, "stages": stages})
    counted = 6e21 + (3 + 1) * 1e18 + 6 * 2e18 + 2 * 70e9 * 2e9 + 6e18 + 2 * 3e18 + 2e18
    assert table["operations_flop"].iloc[0] == pytest.approx(counted)
    assert table["burden_flop"].iloc[0] == pytest.approx(1020 * 3600 * 3.12e14)
    assert "one billion" in list(reported.where["printed"])
    partly = [{"name": "pre-training", "tokens": "1T"}, {"name": "fine-tuning"}]
    row = of({"figures": given, "stages": partly})[0].iloc[0]
    assert row["value_flop"] == pytest.approx(6e21)
    assert "1 of 2 stages" in row["how"]


@pytest.mark.parametrize(
    ("stages", "reason"),
    [
        (3, "must be a list of mappings"),
        ([{"name": "cooking", "tokens": "1B"}], "is no stage that is known, got 'cooking'"),
    ],
)
def test_stages_that_cannot_be_used_are_named(stages, reason):
    _, _, reported = of({"figures": LANGUAGE, "stages": stages})
    assert reported.rejected["reason"].str.contains(reason).any()


def test_nothing_uncertain_gives_no_interval():
    row = figures(operations_flop=1e20)
    assert row["low_flop"] == row["high_flop"] == 1e20
    assert row["band"] == "exact as given"


def test_a_range_is_the_interval_of_what_is_printed():
    row = figures(stated_compute_flop="1e20-4e20")
    assert (row["low_flop"], row["high_flop"]) == (
        pytest.approx(1e20, rel=0.01),
        pytest.approx(4e20, rel=0.01),
    )
    rounded = figures(stated_compute_flop="7e20")
    assert (rounded["low_flop"], rounded["high_flop"]) == (
        pytest.approx(6.55e20, rel=0.001),
        pytest.approx(7.45e20, rel=0.001),
    )


def test_intervals_do_not_depend_on_the_others():
    alone = figures(**LANGUAGE, **HARDWARE)
    among = of({"figures": HARDWARE}, {"figures": {**LANGUAGE, **HARDWARE}})[0].iloc[1]
    assert (alone["low_flop"], alone["high_flop"]) == (among["low_flop"], among["high_flop"])


def test_the_inputs_that_the_spread_is_from_are_named():
    row = figures(processor="A100", processors=8, time_s="2-3 weeks")
    assert row["spread_from"].startswith("utilisation 9")
    wide = figures(processor="A100", processors=8, time_s="1-300 days")
    assert wide["spread_from"].startswith("time 8")


def test_whole_or_half_of_a_board_is_two_peaks():
    given = {"processor": "NVIDIA Tesla K80", "processors": 1, "time_s": 1, "utilisation": 0.5}
    row = SimpleNamespace(**systems._whole({"system": "x", **given, "written": {}}))
    rate = rate_of("NVIDIA Tesla K80")
    terms = by_hardware.hours_terms(row, rate)
    assert sorted(set(terms["whole or half"])) == [0.5, 1.0]
    assert "whole or half" not in by_hardware.hours_terms(row, rate_of("NVIDIA Tesla K80 board"))


def test_words_in_place_of_tokens_are_noticed():
    given = {**LANGUAGE, "stated_compute_flop": "8e19"}
    table, _, reported = of({"figures": given})
    assert list(against.contradictions(table, reported.frame)["kind"]) == ["words may stand for tokens"]


def test_draws_are_their_distributions():
    drawn = uncertainty.lognormal("test", 0.2, 0.3, limit=0.75)
    assert drawn.max() < 0.75
    assert np.median(drawn) == pytest.approx(0.19, abs=0.02)
    drawn = uncertainty.by_quantiles("test", ((0.05, 0.1), (0.5, 1.0), (0.95, 10.0)))
    assert np.quantile(drawn, [0.05, 0.5, 0.95]) == pytest.approx([0.1, 1.0, 10.0], rel=0.02)
    assert set(uncertainty.either("test", (1.0, 0.5))) == {1.0, 0.5}
    assert uncertainty.shares(np.array([1.0, 2, 3, 4]), {"a": np.array([1.0, 2, 3, 4]), "b": 3.0}) == {
        "a": 1.0
    }


# -- the calibration on Epoch AI's list ------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged():
    """Every candidate but the recorded total of each system that has one."""
    reported = read_systems(COMPUTE / "epoch_all_systems_2025-08.csv")
    estimator = estimates._Estimator(list(reported.frame.itertuples(index=False)), rate_of, False)
    rows = []
    for i, row in enumerate(reported.frame.itertuples(index=False)):
        found = estimator._of(row, 0)[0]
        stated_use = any(c.kind == evidence.AT_STATED for c in found)
        several = isinstance(row.processor, str) and "," in row.processor
        for c in found:
            if c.kind == evidence.STATED or not row.stated_compute_flop > 0:
                continue
            low, high = c.ends
            rows.append(
                (i, row.base, c.kind, c.of_class, low, high, row.stated_compute_flop, stated_use or several)
            )
    frame = pd.DataFrame(
        rows, columns=["i", "base", "kind", "of_class", "low", "high", "stated", "other_evidence"]
    )
    frame["held"] = frame["stated"].between(frame["low"], frame["high"])
    frame["width"] = np.log10(frame["high"] / frame["low"])
    return frame.merge(
        reported.frame[["date", "domain", "confidence", "stated_note"]], left_on="i", right_index=True
    )


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.parametrize("of_class", list(evidence.CALIBRATED))
def test_the_printed_coverage_is_the_measured_one(judged, of_class):
    rows = judged[judged["of_class"].eq(of_class)]
    if of_class in (evidence.AT_ASSUMED, evidence.AT_STATED):
        rows = rows[rows["base"].eq("")]
    if of_class == evidence.AT_ASSUMED:
        rows = rows[~rows["other_evidence"]]
    n, share = evidence.CALIBRATED[of_class]
    assert len(rows) == pytest.approx(n, abs=2)
    assert rows["held"].mean() == pytest.approx(share, abs=0.012)


@pytest.mark.reference
@pytest.mark.slow
def test_intervals_hold_the_recorded_totals_of_each_class(judged):
    counted = judged["kind"].isin([evidence.COUNTED, evidence.BY_TOTAL])
    alone, recent = judged["base"].eq(""), judged["date"].dt.year >= 2021
    dense = judged["kind"].eq(evidence.COUNTED) & alone
    confident = recent & judged["domain"].eq("Language") & judged["confidence"].eq("confident")
    assumed = judged["kind"].eq(evidence.AT_ASSUMED) & alone & ~judged["other_evidence"]
    classes = {
        "operations": counted & alone,
        "dense": dense,
        "dense since 2021": dense & recent,
        "dense since 2021, language, confident": dense & confident,
        "experts": judged["kind"].eq(evidence.BY_TOTAL) & alone,
        "operations on a base": counted & ~alone,
        "stated utilisation": judged["kind"].eq(evidence.AT_STATED) & alone,
        "assumed utilisation": assumed,
        "hardware on a base": judged["kind"].eq(evidence.AT_ASSUMED) & ~alone,
        "reported": counted & judged["stated_note"].str.contains("Reported"),
    }
    held = {name: judged.loc[rows, "held"].mean() for name, rows in classes.items()}
    assert all(share >= 0.85 for share in held.values()), held
    widths = {name: judged.loc[rows, "width"].median() for name, rows in classes.items()}
    assert widths["assumed utilisation"] <= 1.3
    assert widths["dense"] <= 1.9
    assert widths["dense since 2021, language, confident"] <= 0.9


@pytest.mark.reference
def test_totals_of_the_list_are_kept_and_operations_counted():
    reported = read_systems(COMPUTE / "epoch_all_systems_2025-08.csv")
    table = estimates.estimate_systems(reported.frame)
    stated = table[table["stated_flop"].gt(0)]
    assert len(stated) == 988
    assert (stated["value_flop"] == stated["stated_flop"]).all()
    assert table["operations_flop"].notna().sum() >= 500
    found = against.contradictions(table, reported.frame)
    impossible = set(found.loc[found["kind"].eq("implied utilisation above 1"), "subject"])
    assert not impossible & set(table.loc[table["base"].ne(""), "system"])  # of another scope, no error
    assert set(reported.unread) == {
        "Task",
        "Training compute lower bound",
        "Training compute upper bound",
        "Notability criteria",
    }


@pytest.mark.slow
def test_ten_thousand_systems_take_seconds():
    text = "Model,Publication date,Domain,Parameters,Training dataset size (total),Training hardware,"
    text += "Hardware quantity,Training time (hours),Hardware utilization (MFU)\n"
    text += "".join(
        f"m{i},2023-01-02,Language,{1e9 + i},1e12,NVIDIA A100,8,{i + 1},0.4\n" for i in range(10_000)
    )
    started = time.perf_counter()
    from traincost.estimation.lists import from_csv

    table = estimates.estimate_systems(from_csv(text, "many").frame)
    assert len(table) == 10_000
    assert time.perf_counter() - started < 20
