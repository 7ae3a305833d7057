"""Every figure printed on the published page of document 003, from the JSON and from the text."""

import html
import json
import re

import pytest
from conftest import DATA

from traincost.analysis import explained
from traincost.printing import plain, share_text, time_text

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
    page = re.split("<main[^>]*>", (built / "profiling.html").read_text(encoding="utf-8"))[1]
    page = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    page = re.sub(r"<span class=\"sub|</(td|th|p|li|dd|dt|caption|h1)>", r" | \g<0>", page)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))


def rows(report, table, key):
    return {row[key]: row for row in report["tables"][table]["rows"]}


def share_of(report, table, key, name, column):
    """Return a share as the JSON has it, and as the page prints it."""
    value = rows(report, table, key)[name][column]
    return 100 * value, plain(share_text(value))


def test_counts_and_runtimes(report, text):
    numbers = report["numbers"]
    assert numbers["runtime.n"] == PRINTED["profiled_runs"]
    assert f"in all, {PRINTED['profiled_runs']} runs" in text
    for name, hours in PRINTED["runtime_h"].items():
        assert round(numbers[f"runtime.{name}_s"] / 3600, 2) == hours
        assert f"{hours:.1f} h" in text


def test_level_means(report, text):
    levels = rows(report, "levels", "level")
    for task, hours in PRINTED["task_mean_runtime_h"].items():
        assert round(levels[task]["mean_s"] / 3600, 2) == hours
        assert re.search(rf"{task} \| 6 \| {levels[task]['mean_s'] / 3600:.1f}( h)? \|", text)
    name, hours = PRINTED["slowest_loss_setting"]
    slowest = report["tables"]["levels-across"]["rows"][0]
    assert (slowest["level"], round(slowest["mean_s"] / 3600, 2)) == (name, hours)


def test_shared_settings(text):
    for name, level in PRINTED["shared_settings"].items():
        assert f"{name} {'not set' if level is None else level}" in text.replace("None", "not set")


@pytest.mark.parametrize("factor", PRINTED["eta_squared"])
def test_eta_squared(report, text, factor):
    row = rows(report, "effects", "factor")[factor]
    assert round(row["eta_squared"], 2) == PRINTED["eta_squared"][factor]
    assert round(row["eta_squared"], 4) == TRUE["eta_squared_exact"][factor]
    assert re.search(rf"{factor} (\|[^|]+)+\| {row['eta_squared']:.2f} \| {row['chance']:.2f} \|", text)


@pytest.mark.parametrize("factor", PRINTED["eta_squared"])
def test_corrected_sizes_chance_and_interval(report, factor):
    row = rows(report, "effects", "factor")[factor]
    _, omega, epsilon, chance, _, _, interval = TRUE["effects"][factor]
    assert round(row["omega_squared"], 4) == omega
    assert round(row["epsilon_squared"], 4) == epsilon
    assert round(row["chance"], 4) == chance
    # The listed interval is of hours; the page draws that of log runtime.
    eta = row["eta_squared"]
    assert explained.eta_interval(eta, row["df"], 35 - row["df"]) == pytest.approx(interval, abs=6e-4)


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
    assert "base_conversion takes 4.8 × as long as list_summation (2.8 to 7.9)" in text
    assert "task_name explains 97.3 % of the variance of the order in which the runs started" in text
    assert "Effects multiply rather than add" in text
    assert round(report["numbers"]["interaction.log.p"], 3) == 0.052
    assert report["numbers"]["interaction.hours.p"] == pytest.approx(4e-6, rel=0.2)


def test_aliased_fields(report, text):
    fixed = {r["factor"]: r["fixed_by"] for r in report["tables"]["effects"]["rows"] if r["fixed_by"]}
    assert fixed == TRUE["aliased"]
    assert "fixed by loss_setting" in text


def test_scheduled_evaluations(report, text):
    numbers = report["numbers"]
    assert [numbers["cadence.count.0"], numbers["cadence.count.1"]] == PRINTED["scheduled_evals_per_run"]
    assert "runs 32 or 51 times in a run" in text


@pytest.mark.parametrize("section", PRINTED["per_eval_s"])
def test_per_evaluation_time(report, text, section):
    found = rows(report, "occurrences", "section")[section]
    for task, seconds in PRINTED["per_eval_s"][section].items():
        assert round(found[f"level.{task}"]) == seconds
        each = plain(time_text(found[f"level.{task}"]))
        assert f"| {each} |" in text
        if section == "epoch/eval_router_sampled":
            assert f"{each} for {task}" in text


@pytest.mark.parametrize("section", PRINTED["mean_share_pct"])
def test_shares(report, text, section):
    value, printed = share_of(report, "sections", "section", section, "share")
    assert round(value, 2) == PRINTED["mean_share_pct"][section]
    assert re.search(rf"{section.rsplit('/')[-1]} (\| )+{printed}", text)


def test_the_unattributed_rest(report, text):
    value, printed = share_of(report, "sections", "section", "unattributed", "share")
    assert round(value, 2) == TRUE["unattributed_share_pct"]
    assert f"No section timed {printed}" in text


@pytest.mark.parametrize("name", PRINTED["knob_bound_pct"])
def test_knobs(report, text, name):
    knob, column = KNOBS[name]
    value = rows(report, "knobs", "knob")[knob][column]
    assert round(100 * value, 2) == PRINTED["knob_bound_pct"][name]
    assert plain(share_text(value, fine=True)) in text


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
    assert "they overlap, so the rows do not add up" in text
    assert "upper bounds derived from the sections' shares" in text
