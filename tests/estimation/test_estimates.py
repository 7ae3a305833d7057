"""Systems from sheets, CSV files and runs: estimates, contradictions, and what cannot be used."""

import csv
import json
import re
import shutil

import numpy as np
import pytest
import yaml
from conftest import DATA, REFERENCE, ROOT, record, write_run

import traincost as tc
from traincost.__main__ import main
from traincost.errors import NothingToReport, ParameterError
from traincost.estimation import contradictions as against
from traincost.estimation import estimates
from traincost.estimation.figures import date, number
from traincost.results.systems import read_claims, read_systems

COMPUTE = REFERENCE / "compute"
MILESTONES = ROOT / "params" / "milestones.yaml"


def sheet(path, *systems, **more):
    """Write a sheet of systems; each is (name, figures) or (name, figures, date)."""
    entries = [
        {
            "system": s[0],
            "date": s[2] if len(s) > 2 else "2020-01-01",
            "domain": "x",
            "source": "y",
            "figures": s[1],
        }
        for s in systems
    ]
    path.write_text(yaml.safe_dump({"systems": entries, **more}), encoding="utf-8")
    return path


LANGUAGE = {"parameters": 1e9, "tokens": 1e10}
HARDWARE = {"processor": "NVIDIA V100", "processors": 8, "time_s": 3600}


def estimated(path):
    reported = read_systems(path)
    return estimates.estimate_systems(reported.frame).set_index("system"), reported


def test_each_way_to_an_estimate(tmp_path):
    convolution = {"flop_per_pass": 1e9, "examples": 1e6, "epochs": 10}
    found, _ = estimated(
        sheet(
            tmp_path / "s.yaml",
            ("language", LANGUAGE),
            ("convolution", convolution),
            ("multiply-adds", {**convolution, "flop_per_pass": None, "multiply_adds_per_pass": 1e9}),
            ("hardware", HARDWARE),
            ("hours", {"processor": "V100", "processor_hours": 8}),
            ("both", {**LANGUAGE, **HARDWARE, "utilisation": 0.5}),
            ("stated", {"stated_compute_flop": 5e20}),
            ("nothing", {"parameters": 5e9}),
        )
    )
    assert found.loc["language", "value_flop"] == 6e19
    assert found.loc["convolution", "value_flop"] == 3e16  # forward and backward
    assert found.loc["multiply-adds", "value_flop"] == 6e16
    assert found.loc["hardware", "burden_flop"] == 8 * 125e12 * 3600
    assert found.loc["hours", "burden_flop"] == found.loc["hardware", "burden_flop"]
    assert found.loc["hardware", "value_flop"] == pytest.approx(0.2 * found.loc["hardware", "burden_flop"])
    assert found.loc["hardware", "utilisation_assumed"]
    both = found.loc["both"]
    assert both["implied_utilisation"] == pytest.approx(6e19 / both["burden_flop"])
    assert both["value_flop"] == 6e19  # counted operations; the hardware stands beside them as a check
    assert both["method"] == "network operations"
    assert both["check_flop"] == pytest.approx(0.5 * both["burden_flop"])
    assert both["check_method"] == "burden at stated utilisation"
    assert found.loc["stated", "method"] == "stated"
    assert np.isnan(found.loc["nothing", "value_flop"])
    assert "`epochs` is missing" in found.loc["nothing", "problem"]


def test_contradictions_are_found_and_named(tmp_path):
    short = {"processor": "V100", "processors": 1, "time_s": 1000}  # 1.25e17 at the peak
    found, reported = estimated(
        sheet(
            tmp_path / "s.yaml",
            ("impossible", {"operations_flop": 2e17, **short}),
            ("suspicious", {"operations_flop": 1e17, **short, "utilisation": 0.8}),
            ("apart", {"operations_flop": 1e15, **short, "utilisation": 0.4}),
            ("stated", {"operations_flop": 1e18, "stated_compute_flop": 1e20}),
            ("percent", {"operations_flop": 5e16, **short, "utilisation": 72}),
            ("stored", {"stated_compute_flop": 1e20, **short}),
            ("fine", {"operations_flop": 5e16, **short, "utilisation": 0.4, "stated_compute_flop": 6e16}),
        )
    )
    table = against.contradictions(found.reset_index(), reported.frame)
    kinds = {(row.subject, row.kind) for row in table.itertuples()}
    assert kinds >= {
        ("impossible", "implied utilisation above 1"),
        ("suspicious", "implied utilisation suspiciously high"),
        ("apart", "two measures disagree"),
        ("impossible", "two measures disagree, utilisation assumed"),
        ("stated", "stated value differs from its inputs"),
        ("percent", "utilisation stored as a percentage"),
        ("stored", "implied utilisation above 1"),
    }
    assert not any(subject == "fine" for subject, _ in kinds)
    assert table["ratio"].is_monotonic_decreasing
    assert (table["first_source"] != "").all()
    assert (table["second_source"] != "").all()


def test_an_error_that_does_not_fall_is_not_projected(tmp_path):
    rising = [
        (f"s{i}", {"stated_compute_flop": 10.0 ** (16 + i), "error": 0.3 + 0.001 * i}) for i in range(6)
    ]
    found, reported = estimated(sheet(tmp_path / "s.yaml", *rising))
    fits = estimates.fit_errors(found, 0.01)
    assert not fits["exponents"]["established"]
    assert not len(against.contradictions(found.reset_index(), reported.frame, fits))


def test_a_burden_as_given_needs_no_rate(tmp_path):
    found, _ = estimated(sheet(tmp_path / "s.yaml", ("given", {"burden_flop": 1e20})))
    assert found.loc["given", "burden_flop"] == 1e20
    assert found.loc["given", "value_flop"] == pytest.approx(0.2e20)


def test_systems_are_in_the_order_of_their_dates(tmp_path):
    rows = [("a", LANGUAGE, "2021-07"), ("b", LANGUAGE, None), ("d", LANGUAGE, "2021-02")]
    rows.append(("c", LANGUAGE, "2021-02"))
    found, _ = estimated(sheet(tmp_path / "s.yaml", *rows))
    assert list(estimates.by_date(found.reset_index())["system"]) == ["c", "d", "a", "b"]


def test_figures_are_printed_with_the_digits_they_have(tmp_path):
    figures = {"parameters": 1.38e8, "tokens": 563610000000.0, "epochs": 90, "utilisation": 0.35}
    reported = read_systems(sheet(tmp_path / "s.yaml", ("a", {**figures, "processor": "V100"})))
    printed = dict(zip(reported.where["figure"], reported.where["value"], strict=True))
    assert printed == {
        "parameters": "1.38e+08",
        "tokens": "5.6361e+11",
        "epochs": "90",
        "utilisation": "0.35",
        "processor": "V100",
    }


def test_what_a_sheet_leaves_out_is_listed_with_its_reason(tmp_path):
    left_out = [{"system": "<b>x</b>", "reason": "unread"}, "y", {"reason": 3}]
    path = sheet(tmp_path / "s.yaml", ("a", LANGUAGE), left_out=left_out)
    reported = read_systems(path)
    assert list(reported.left_out.itertuples(index=False, name=None)) == [
        ("<b>x</b>", "unread"),
        ("y", ""),
        ("", "3"),
    ]
    assert not len(read_systems(sheet(tmp_path / "t.yaml", ("a", LANGUAGE), left_out="none")).left_out)


def test_claims_about_one_thing_are_set_against_each_other():
    claims = [
        {"about": "n", "value": 10, "where": "a"},
        {"about": "n", "value": 12, "where": "b", "note": "rounded"},
        {"about": "n", "value": 11, "where": "c"},
        {"about": "same", "value": 5, "where": "a"},
        {"about": "same", "value": 5, "where": "b"},
    ]
    (row,) = against.claim_contradictions(claims).itertuples()
    assert (row.subject, row.first, row.first_source, row.second, row.second_source) == (
        "n",
        10,
        "a",
        12,
        "b",
    )
    assert row.ratio == pytest.approx(1.2)
    assert row.note == "rounded; also 11 (c)"


def test_the_documents_six_contradictions_are_in_the_shipped_claims():
    table = against.claim_contradictions(read_claims(ROOT / "params" / "literature.yaml"))
    subjects = " ".join(table["subject"])
    for about in (
        "papers read",
        "ImageNet exponent",
        "object-detection",
        "top-1 error",
        "R²",
        "doubling time",
    ):
        assert about in subjects
    projected = table[table["subject"].str.contains("top-1 error")].iloc[0]
    assert projected["ratio"] == pytest.approx(1e59)
    assert table["subject"].str.contains("30-day months").any()  # the figure that is not reproduced


@pytest.mark.parametrize(
    ("text", "value"),
    [("3e23", 3e23), ("3E+23", 3e23), ("1,200,000.5", 1200000.5), (5, 5.0), ("1_000", 1000), (".5", 0.5)],
)
def test_number_forms(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "text", ["", "many", "2-1", "nan", "inf", "3,5e22", "1,5", "12,34", None, True, [1], "1e999"]
)
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match="number"):
        number(text)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2020-05-28", "2020-05-28"),
        ("2020-05", "2020-05-01"),
        ("28/05/2020", "2020-05-28"),
        ("2012", "2012-07-01"),
        (2012, "2012-07-01"),
        ("2022-01-20T00:00:00", "2022-01-20"),
        ("2026-01-01T08:00:00+00:00", "2026-01-01"),
    ],
)
def test_date_forms(text, day):
    assert f"{date(text):%Y-%m-%d}" == day


@pytest.mark.parametrize("text", ["soon", "2020-05-28, 2021-01-01", "31/02/2020", "20"])
def test_what_is_no_date(text):
    with pytest.raises(ValueError, match="must be one date"):
        date(text)


def test_rows_that_cannot_be_used_are_named(tmp_path):
    path = sheet(
        tmp_path / "s.yaml",
        ("good", LANGUAGE),
        ("zero", {"stated_compute_flop": 0, **LANGUAGE}),
        ("negative", {"stated_compute_flop": -5}),
        ("words", {"parameters": "many", "tokens": 5}),
        ("two dates", LANGUAGE, "2020-01-01 and 2021-01-01"),
        ("no date", LANGUAGE, None),
        ("odd", {"flops": 3, **LANGUAGE}),
        ("chip", {"processor": "Mystery 9000", "processors": 1, "time_s": 1}),
        ("half", {"precision": "half", **HARDWARE}),
        ("upper", {"precision": "BF16", "processor": "A100", "processor_hours": 1}),
        ("percent", {"error": 35, **LANGUAGE}),
        ("frozen", {"frozen_parameters": 2e9, **LANGUAGE}),
        ("huge", {"parameters": 1e300, "tokens": 1e300}),
    )
    found, reported = estimated(path)
    problems = {(row.system, row.column): row.reason for row in reported.rejected.itertuples()}
    assert problems["zero", "stated_compute_flop"] == "must be above zero, got 0"
    assert problems["negative", "stated_compute_flop"] == "must be above zero, got -5"
    assert problems["words", "parameters"].startswith("must be a number, got 'many'; accepted is")
    assert "must be one date" in problems["two dates", "date"]
    assert "has no date" in problems["no date", "date"]
    assert problems["odd", "flops"].startswith("is no figure that is known")
    assert "; the figures are parameters, " in problems["odd", "flops"]
    assert found.loc["chip", "rate_note"] == "no rate for 'Mystery 9000'"
    assert problems["half", "precision"].startswith("must be one of bf16")
    assert problems["percent", "error"] == "must be a fraction below one, got 35"
    assert "exceeds `parameters`" in found.loc["frozen", "problem"]
    assert "more than a number can hold" in found.loc["huge", "problem"]
    assert found.loc["upper", "rate_note"].startswith("NVIDIA A100 40GB SXM4, bf16")
    assert found.loc["good", "value_flop"] == 6e19
    assert found.loc["two dates", "value_flop"] == 6e19


def test_misspelt_fields_of_a_sheet_are_named_with_the_nearest(tmp_path):
    entry = {"system": "a", "dte": "2022-01", "parameters": "1B", "figures": {**LANGUAGE, "tokns": 5}}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"systems": [entry]}))
    _, reported = estimated(tmp_path / "s.yaml")
    problems = {row.column: row.reason for row in reported.rejected.itertuples()}
    assert problems["dte"] == (
        "is not read (did you mean date?); an entry has system, date, domain, source, figures, stages"
    )
    assert problems["parameters"] == "is a figure: it stands under `figures`"
    assert problems["tokns"].startswith("is no figure that is known (did you mean tokens?); the figures are ")


def test_a_base_that_no_system_is_called_is_named(tmp_path):
    entries = [
        {"system": name, "figures": {**LANGUAGE, **({"base": base} if base else {})}}
        for name, base in (("A-1", ""), ("b", "a 1"), ("c", "nowhere"))
    ]
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"systems": entries}))
    _, reported = estimated(tmp_path / "s.yaml")
    rows = reported.rejected[reported.rejected["column"] == "base"]
    assert rows[["system", "reason"]].values.tolist() == [
        ["c", "no system is called 'nowhere': what it took is not added"]
    ]


def test_a_sheet_of_misspelt_figures_is_refused_with_the_first(tmp_path):
    entry = {"system": "a", "figures": {"parameters": "1B", "tokns": 5}}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"systems": [entry]}))
    said = r"`epochs` is missing; tokns is no figure that is known \(did you mean tokens\?\)$"
    with pytest.raises(NothingToReport, match=said):
        tc.estimate(tmp_path / "s.yaml")


def test_csv_with_old_and_new_names_units_and_another_encoding(tmp_path):
    old = "System,Publication date,Parameters,Training compute (FLOPs),Training dataset size (datapoints)\n"
    path = tmp_path / "old.csv"
    text = 'Système,flops,count,,\nAlpha,31/12/2019,"1,000",1E+20,5\nBêta,2020,,2e21,\n'
    path.write_bytes((old + text).encode("latin-1"))
    reported = read_systems(path)
    assert list(reported.frame["system"]) == ["Alpha", "Bêta"]
    assert list(reported.frame["stated_compute_flop"]) == [1e20, 2e21]
    reasons = " ".join(reported.rejected["reason"])
    assert "is not UTF-8" in reasons
    assert "is a row of units" in reasons
    new = "Model,Publication date,Training compute (FLOP),Training hardware,Hardware quantity,"
    new += "Training time (hours)\n"
    (tmp_path / "new.csv").write_text(new + "Gamma,2020-01-02,1e20,NVIDIA V100,8,10\n")
    found, _ = estimated(tmp_path / "new.csv")
    assert found.loc["Gamma", "burden_flop"] == 8 * 125e12 * 36000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.yaml", "systems: 3", "it has no list `systems`"),
        ("s.yaml", "a: [", "is no YAML"),
        ("s.yaml", "!!python/object/apply:os.system ['x']", "is no YAML"),
        ("s.yaml", "systems: [{system: a}]", "must be a mapping of what the paper states"),
        ("s.csv", "a,b\n1,2\n", "names no column System or Model"),
        ("s.csv", "", "holds no system that can be used"),
        ("missing.yaml", None, "cannot be opened"),
    ],
)
def test_nothing_usable_ends_with_one_line(tmp_path, capsys, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(NothingToReport, match=re.escape(message)):
        read_systems(tmp_path / name)
    assert main(["audit", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_runs_with_a_compute_block_are_systems(tmp_path):
    stage = {
        "name": "training",
        "epochs": 2,
        "flops_per_pass": 1e6,
        "passes_per_epoch": 1000,
        "forward_backward": 3,
    }
    block = {"stages": [stage], "processors": 2, "rate_flops_per_s": 1e9}
    write_run(tmp_path / "a", record("a", compute=block, runtime_s=50.0))
    write_run(tmp_path / "b", record("b", compute={"stages": [{"epochs": 1}]}))
    write_run(tmp_path / "c", record("c"))
    write_run(tmp_path / "d", record("d", status="failed", compute=block))
    found, reported = estimated(tmp_path)
    assert list(found.index) == ["a", "b"]
    assert found.loc["a", "operations_flop"] == 6e9
    assert found.loc["a", "burden_flop"] == 2 * 1e9 * 50
    assert found.loc["a", "implied_utilisation"] == pytest.approx(0.06)
    assert found.loc["a", "operations_method"] == "eq. 1, a training step = 3 × a forward pass"
    reasons = dict(zip(reported.rejected["system"], reported.rejected["reason"], strict=True))
    assert "`flops_per_pass` is missing" in reasons["b"]
    assert reasons["c"] == "has no compute block"
    assert reasons["d"] == "is not counted: status is failed"


def test_stages_by_schedule_and_stages_counted_are_both_named(tmp_path):
    stages = [{"epochs": 1, "flops_per_pass": 1e6, "passes_per_epoch": 10}, {"counted_flop": 1e7}]
    write_run(tmp_path / "a", record("a", compute={"stages": stages}))
    found, _ = estimated(tmp_path)
    assert found.loc["a", "operations_flop"] == 2e7
    assert found.loc["a", "operations_method"] == (
        "eq. 1, a training step = 1 × a forward pass; counted while training, forward and backward"
    )


def test_total_flos_of_a_model_of_images_is_not_used(tmp_path):
    shutil.copytree(DATA / "huggingface", tmp_path / "runs")
    configs = sorted(path.parent for path in (tmp_path / "runs").rglob("trainer_state.json"))
    (configs[0] / "config.json").write_text('{"model_type": "vit", "image_size": 224, "patch_size": 16}')
    found, reported = estimated(tmp_path / "runs")
    assert found["operations_flop"].isna().sum() == 1
    questions = reported.rejected[reported.rejected["column"].eq("operations_flop")]
    assert len(questions) == 1
    assert "takes every pixel value for a token" in questions["reason"].iloc[0]


def test_total_flos_of_an_image_model_is_recounted_by_patches(tmp_path):
    shutil.copytree(DATA / "huggingface", tmp_path / "runs")
    before, _ = estimated(tmp_path / "runs")
    configs = sorted(path.parent for path in (tmp_path / "runs").rglob("trainer_state.json"))
    sizes = {"model_type": "vit", "image_size": 224, "patch_size": 16, "num_channels": 3}
    (configs[0] / "config.json").write_text(json.dumps(sizes))
    after, _ = estimated(tmp_path / "runs")
    ratio = (after["operations_flop"] / before["operations_flop"]).dropna()
    # 14 × 14 patches and one token for the whole, in place of 3 × 224 × 224 values.
    assert sorted(ratio.round(12).unique()) == pytest.approx([197 / 150_528, 1.0])


def test_settings_in_the_path_of_a_systems_run_are_checked(tmp_path):
    write_run(tmp_path / "lr_1", record("a", compute={"stages": [{"counted_flop": 1e7}]}))
    assert len(read_systems(tmp_path, path_pattern="lr_{lr}").frame) == 1
    with pytest.raises(ParameterError, match="`path_pattern` must hold fields in braces"):
        read_systems(tmp_path, path_pattern="lr_")


def test_runs_without_compute_blocks_are_refused(tmp_path):
    write_run(tmp_path / "a", record("a"))
    with pytest.raises(NothingToReport, match=r"holds no run with a compute block; Recorder\.compute"):
        read_systems(tmp_path)


def test_every_figure_of_the_shipped_sheet_says_where_it_stands():
    reported = read_systems(MILESTONES)
    assert not len(reported.rejected)
    assert len(reported.frame) >= 15
    assert len(reported.left_out) >= 1
    assert (reported.left_out["reason"] != "").all()
    assert (reported.where["at"] != "").all()
    assert (reported.where["printed"].str.len() > 0).mean() > 0.95
    assert reported.frame["date"].dt.year.between(2012, 2025).all()
    assert reported.frame["domain"].nunique() >= 4


def test_the_papers_own_totals_agree_with_the_next_evidence():
    found, _ = estimated(MILESTONES)
    checked = found[found["stated_flop"].gt(0) & found["check_flop"].gt(0)]
    assert len(checked) >= 6
    assert checked["check_ratio"].between(1 / 3, 3).all()
    assert found["value_flop"].notna().all()
    assert (found["implied_utilisation"].dropna() <= 1).all()
    assert found["implied_utilisation"].notna().sum() >= 20


def test_printed_pairs_imply_the_published_utilisations():
    found, _ = estimated(MILESTONES)
    implied = found["implied_utilisation"].round(3)
    printed = {"PaLM 540B": 0.304, "BLOOM 176B": 0.318, "Llama 2 7B": 0.391, "Llama 3 70B": 0.279}
    printed |= {"Llama 3.1 8B": 0.139, "Llama 4 Scout": 0.229, "SmolLM2-1.7B": 0.225, "DeepSeek-V3": 0.173}
    assert implied[list(printed)].to_dict() == printed
    assert found.loc["Llama 3.2 1B", "consistent"] == False  # noqa: E712 - distilled: other work is in the hours
    assert found.loc["OpenAI Five", "low_flop"] == pytest.approx(720 * 8.64e19, rel=0.01)


@pytest.mark.parametrize(
    "claim", [{"about": "x", "value": 0, "where": "y"}, {"about": "x", "value": "3 months"}, 3]
)
def test_claims_that_cannot_be_compared_are_refused(tmp_path, claim):
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump({"claims": [claim]}))
    with pytest.raises(ParameterError, match="`claims`: each must have about, a value above zero"):
        read_claims(tmp_path / "claims.yaml")


def test_a_sheet_that_gives_no_estimate_is_refused(tmp_path):
    reported = read_systems(sheet(tmp_path / "s.yaml", ("alone", {"parameters": 1e9})))
    with pytest.raises(NothingToReport, match="no system can be estimated; the first, 'alone'"):
        estimates.estimate_systems(reported.frame)


def test_the_time_of_a_burden_is_the_stage_or_run(tmp_path):
    timed = {"counted_flop": 1e10, "processors": 2, "rate_flops_per_s": 1e9, "time_s": 20.0}
    block = {"stages": [{"counted_flop": 1e10}], "processors": 2, "rate_flops_per_s": 1e9}
    write_run(tmp_path / "whole", record("whole", compute=block, runtime_s=50.0))
    write_run(tmp_path / "stages", record("stages", compute={"stages": [timed]}, runtime_s=50.0))
    write_run(tmp_path / "counted", record("counted", compute={"stages": [{"counted_flop": 1e10}]}))
    found, _ = estimated(tmp_path)
    times = {"counted": "", "stages": "training stages", "whole": "whole run"}
    assert found["burden_time"].to_dict() == times
    assert found.loc["stages", "implied_utilisation"] == pytest.approx(0.25)
    assert found.loc["whole", "implied_utilisation"] == pytest.approx(0.1)


def test_an_impossible_date_costs_its_own_row(tmp_path):
    text = "systems:\n- {system: a, date: 2020-13-45, figures: {parameters: 1e9, tokens: 1e10}}\n"
    (tmp_path / "s.yaml").write_text(
        text + "- {system: b, date: 2020-01-02, figures: {stated_compute_flop: 5}}\n"
    )
    reported = read_systems(tmp_path / "s.yaml")
    assert list(reported.frame["system"]) == ["a", "b"]
    assert "must be one date" in reported.rejected["reason"].iloc[0]


def test_the_two_utilisations_of_a_list_are_kept_apart(tmp_path):
    header = "Training time (hours),Model,Training compute (FLOP),"
    header += "Hardware utilization (MFU),Hardware utilization (HFU)\n"
    (tmp_path / "s.csv").write_text(header + "abc\n1,Alpha,1e20,,0.62\n")
    reported = read_systems(tmp_path / "s.csv")
    assert list(reported.frame["hfu"].dropna()) == [0.62]
    assert not len(reported.frame["utilisation"].dropna())


def test_names_cannot_forge_lines_of_the_audit(tmp_path, capsys):
    figures = {"operations_flop": 2e17, "processor": "V100", "processors": 1, "time_s": 1000}
    main(["audit", str(sheet(tmp_path / "s.yaml", ("a\n0 contradictions\x1b[2J", figures)))])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.splitlines()[-1].endswith("contradictions among 1 system")
    assert not any(line == "0 contradictions" for line in out.splitlines())


def test_audit_prints_the_contradictions(tmp_path, capsys):
    figures = {"operations_flop": 2e17, "processor": "V100", "processors": 1, "time_s": 1000}
    assert main(["audit", str(sheet(tmp_path / "s.yaml", ("big", figures)))]) == 0
    out = capsys.readouterr().out
    assert (
        "big: implied utilisation above 1: 2.00 × 10¹⁷ (as given) against 1.25 × 10¹⁷ (NVIDIA Tesla V100"
        in out
    )
    assert "contradictions among 1 system" in out


# -- Epoch AI's database ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def database():
    return read_systems(COMPUTE / "epoch_all_systems_2025-08.csv")


@pytest.mark.reference
def test_rows_with_compute(database):
    assert database.frame["stated_compute_flop"].gt(0).sum() == 988


@pytest.mark.reference
def test_a_utilisation_of_72_is_found(database):
    found = against.contradictions(estimates.estimate_systems(database.frame), database.frame)
    stored = found[found["kind"] == "utilisation stored as a percentage"]
    assert list(stored["first"]) == [72.0]


@pytest.mark.reference
def test_single_chip_rows_above_their_peak_are_found(database):
    with open(COMPUTE / "chips.csv", newline="") as file:
        chips = {row["Hardware name"]: row for row in csv.DictReader(file)}
    columns = [
        "Tensor-FP16/BF16 performance (FLOP/s)",
        "FP16 (half precision) performance (FLOP/s)",
        "FP32 (single precision) performance (FLOP/s)",
    ]

    def rate(name, precision):
        values = [chips[name][c] for c in columns if chips[name][c]] if name in chips else []
        return (float(values[0]), name, "chips.csv") if values else None

    frame = database.frame.assign(processor_hours=np.nan)  # by quantity and time alone
    found = estimates.estimate_systems(frame, rate)
    known = found[found["burden_flop"].gt(0) & found["stated_flop"].gt(0)]
    assert len(known) == 267
    above = known[known["stated_flop"] > known["burden_flop"]]
    assert len(above) == 37
    table = against.contradictions(found, frame)
    named = table.loc[table["kind"] == "implied utilisation above 1", "subject"]
    without_base = above.loc[above["base"].eq(""), "system"]
    assert set(without_base) <= set(named)  # a total that holds a base is of another scope than the hardware
    assert not set(above.loc[above["base"].ne(""), "system"]) & set(named)


def test_a_small_utilisation_is_not_printed_as_none(tmp_path):
    figures = {"operations_flop": 1e15, "processor": "V100", "processors": 1, "time_s": 10_000}
    found = tc.estimate(sheet(tmp_path / "s.yaml", ("a", figures)))
    assert "imply a utilisation between 0.0008" in str(found)
    assert "0.00 " not in str(found)
