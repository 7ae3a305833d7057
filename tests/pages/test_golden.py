"""Every figure printed on the published page of document 003, from the JSON and from the text."""

import html
import json
import re

import pytest
from conftest import DATA

from traincost.analysis import effects

EXPECTED = json.loads((DATA / "continuous-v2.expected.json").read_text())
PRINTED, TRUE = EXPECTED["printed"], EXPECTED["not_printed_but_true_of_the_records"]
# Sections and knobs by the names that the expected figures use.
KNOBS = {
    "val_check_interval (scheduled evaluation down to one)": ("val_check_interval", "bound"),
    "scheduled evaluation sections, share": ("val_check_interval", "governed_share"),
    "eval_generation_num_samples": ("eval_generation_num_samples", "bound"),
    "checkpoint and output writes": ("checkpoint and output writes", "bound"),
    "posterior-mu diagnostics, scheduled and final": ("posterior-mu diagnostics", "bound"),
    "router-sampled-z animation": ("router-sampled-z animation", "bound"),
}


@pytest.fixture(scope="module")
def built(published):
    return published("golden").parent


@pytest.fixture(scope="module")
def report(built):
    return json.loads((built / "profiling.json").read_text())


@pytest.fixture(scope="module")
def text(built):
    """The page as its reader sees it: table cells and sentences, spaces single."""
    page = (built / "profiling.html").read_text(encoding="utf-8").split("<main>")[1]
    page = re.sub(r"</(td|th|p|li|dd|dt|caption)>", " | ", page)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))


def rows(report, table, key):
    return {row[key]: row for row in report["tables"][table]["rows"]}


def test_counts_and_runtimes(report, text):
    numbers = report["numbers"]
    assert numbers["runtime.n"] == PRINTED["profiled_runs"]
    assert f"profiled runs: {PRINTED['profiled_runs']} |" in text
    for name, hours in PRINTED["runtime_h"].items():
        assert round(numbers[f"runtime.{name}_s"] / 3600, 2) == hours
        assert f"{hours:.2f} h" in text


def test_level_means(report, text):
    levels = rows(report, "levels", "level")
    for task, hours in PRINTED["task_mean_runtime_h"].items():
        assert round(levels[task]["mean_s"] / 3600, 2) == hours
        assert re.search(rf"{task} \| 6 \| {hours:.2f} \|", text)
    name, hours = PRINTED["slowest_loss_setting"]
    assert round(report["numbers"][f"level.loss_setting.{name}.mean_s"] / 3600, 2) == hours
    assert (
        f"slowest of loss_setting on average: {name} at {hours:.2f} h, a difference that cannot be told"
        in text
    )


def test_shared_settings(text):
    for name, level in PRINTED["shared_settings"].items():
        assert f"{name}={level}" in text


@pytest.mark.parametrize("factor", PRINTED["eta_squared"])
def test_eta_squared(report, text, factor):
    row = rows(report, "effects", "factor")[factor]
    assert round(row["eta_squared"], 2) == PRINTED["eta_squared"][factor]
    assert round(row["eta_squared"], 4) == TRUE["eta_squared_exact"][factor]
    assert re.search(rf"{factor} \| [^|]+ \| \d \| {PRINTED['eta_squared'][factor]:.2f} \|", text)


@pytest.mark.parametrize("factor", PRINTED["eta_squared"])
def test_corrected_sizes_chance_and_interval(report, factor):
    row = rows(report, "effects", "factor")[factor]
    _, omega, epsilon, chance, _, _, interval = TRUE["effects"][factor]
    assert round(row["omega_squared"], 4) == omega
    assert round(row["epsilon_squared"], 4) == epsilon
    assert round(row["chance"], 4) == chance
    # The listed interval is of hours; the page draws that of log runtime.
    eta = row["eta_squared"]
    assert effects.eta_interval(eta, row["df"], 35 - row["df"]) == pytest.approx(interval, abs=6e-4)


def test_additive_model(report):
    found = rows(report, "effects", "factor")
    model = TRUE["additive_model_type_2"]
    for factor in ("task_name", "loss_setting"):
        assert found[factor]["partial_sum_sq"] / 3600**2 == pytest.approx(
            model["sum_sq_h2"][factor], abs=5e-4
        )
        assert round(found[factor]["partial_eta_squared"], 4) == model["partial_eta_squared"][factor]
        assert found[factor]["partial_p"] == pytest.approx(model["p"][factor], rel=0.15)
    residual = found["task_name"]["residual_sum_sq"] / 3600**2
    assert residual == pytest.approx(model["sum_sq_h2"]["residual"], abs=5e-4)
    assert found["beta"]["partial_eta_squared"] is None  # fixed by loss_setting, so not in the model


def test_verdicts(report, text):
    found, expected = rows(report, "effects", "factor"), TRUE["verdicts"]
    assert {name for name, row in found.items() if row["clears"]} == set(expected["depends"])
    by_chance = {name for name, row in found.items() if row["verdict"] == "cannot be told from chance"}
    assert by_chance == set(expected["cannot be told from chance"])
    assert "Runtime depends on task_name" in text
    assert "base_conversion takes 4.75 × as long as list_summation (2.84 to 7.95)" in text
    assert "task_name explains 97.30 % of the variance of when they started" in text
    assert "Effects multiply rather than add" in text
    assert round(report["numbers"]["interaction.log.p"], 3) == 0.052
    assert report["numbers"]["interaction.hours.p"] == pytest.approx(4e-6, rel=0.2)


def test_aliased_fields(report, text):
    fixed = {r["factor"]: r["fixed_by"] for r in report["tables"]["effects"]["rows"] if r["fixed_by"]}
    assert fixed == TRUE["aliased"]
    assert "are fixed by loss_setting" in text


def test_scheduled_evaluations(report, text):
    numbers = report["numbers"]
    assert [numbers["cadence.count.0"], numbers["cadence.count.1"]] == PRINTED["scheduled_evals_per_run"]
    assert "runs 32 or 51 times in a run" in text


@pytest.mark.parametrize("section", PRINTED["per_eval_s"])
def test_per_evaluation_time(report, text, section):
    found = rows(report, "occurrences", "section")[section]
    for task, seconds in PRINTED["per_eval_s"][section].items():
        assert round(found[f"level.{task}"]) == seconds
        assert f"{seconds}.0 |" in text
    if section == "epoch/eval_router_sampled":
        for task, seconds in PRINTED["per_eval_s"][section].items():
            assert f"{seconds} s for {task}" in text


@pytest.mark.parametrize("section", PRINTED["mean_share_pct"])
def test_shares(report, text, section):
    share = PRINTED["mean_share_pct"][section]
    assert round(100 * rows(report, "sections", "section")[section]["share"], 2) == share
    assert f"{section} | {share:.2f} %" in text


def test_the_unattributed_rest(report, text):
    rest = TRUE["unattributed_share_pct"]
    assert round(100 * rows(report, "sections", "section")["unattributed"]["share"], 2) == rest
    assert f"{rest} % of the runtime is unattributed" in text


@pytest.mark.parametrize("name", PRINTED["knob_bound_pct"])
def test_knobs(report, text, name):
    knob, column = KNOBS[name]
    expected = PRINTED["knob_bound_pct"][name]
    assert round(100 * rows(report, "knobs", "knob")[knob][column], 2) == expected
    assert f"{expected:.2f} %" in text


def test_pooled_bound_and_range_over_levels(report, text):
    knobs = rows(report, "knobs", "knob")
    assert round(100 * knobs["val_check_interval"]["pooled_bound"], 2) == 47.94
    assert round(knobs["val_check_interval"]["speed_up"], 2) == 1.92
    low, high = TRUE["min_max_by_level_pct"]["epoch/eval_router_sampled/free_generation"]
    generation = knobs["eval_generation_num_samples"]
    assert (round(100 * generation["level_low"]), round(100 * generation["level_high"])) == (low, high)
    assert "1.92 ×" in text


def test_the_page_says_the_records_are_constructed(text):
    assert "Constructed records" in text
    assert "not measurements" in text


def test_the_joint_bound_is_no_sum(report, text):
    knobs = rows(report, "knobs", "knob")
    parts = sum(row["bound"] for name, row in knobs.items() if name != "all knobs together")
    assert knobs["val_check_interval"]["bound"] < knobs["all knobs together"]["bound"] < parts
    assert "their bounds do not add up" in text
    assert "upper bounds derived from the sections' shares" in text
