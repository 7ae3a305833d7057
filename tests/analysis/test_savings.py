"""What was saved is what the sections and everything else saved, and the bound is of the same runs."""

import numpy as np
import pytest
import yaml
from conftest import ROOT, collection_of, grid
from scipy import stats

from traincost.analysis import savings
from traincost.errors import ParameterError
from traincost.reading.collection import read_collection

CONFIG = grid(task=list("abc"), loss=list("xy"))
KNOBS = [{"name": "eval", "sections": ["epoch/eval"], "kind": "cadence", "kept": 1, "change": "once"}]
SIZES = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0])


def made(count, train=40.0, per_eval=5.0, config=CONFIG):
    rows, total = [], []
    for i in range(len(config)):
        each, trained = per_eval * SIZES[i], train * SIZES[i]
        rows += [
            (i, "epoch", trained + count * each, 4),
            (i, "epoch/eval", count * each, count),
            (i, "epoch/eval/gen", 0.8 * count * each, count),
        ]
        total.append(trained + count * each + 2.0)
    return collection_of(config, total, rows)


def measured(after, before=None, **options):
    return savings.measured_savings(before or made(8), {"eval": after}, KNOBS, **options).iloc[0]


def test_a_knob_that_does_what_it_says_saves_its_bound():
    row = measured(made(1))
    assert row["measured"] == pytest.approx(row["bound"], abs=1e-12)
    assert row["inside"] == pytest.approx(row["bound"])
    assert row["outside"] == pytest.approx(0, abs=1e-12)
    assert row["governed"] - row["inside"] == pytest.approx(row["still_governed"])


def test_what_else_changed_is_told_apart_and_named():
    row = measured(made(1, train=30.0))
    assert row["inside"] == pytest.approx(row["bound"])
    assert row["outside"] == pytest.approx(10 / 80, rel=0.05)
    assert row["elsewhere"] == "epoch"
    assert row["inside"] + row["outside"] == pytest.approx(row["measured"])
    assert row["outcome"] == savings.ABOVE


def test_sections_that_still_take_time_save_less():
    row = measured(made(4))
    assert row["outcome"] == savings.BELOW
    assert row["still_governed"] == pytest.approx(row["governed"] / 2)


def test_the_interval_is_that_of_the_configurations_savings():
    before, after = made(8), made(1, train=35.0)
    row = measured(after, before)
    each = 1 - after.runs["runtime_s"] / before.runs["runtime_s"]
    interval = stats.ttest_1samp(each, 0).confidence_interval()
    assert [row["low"], row["high"]] == pytest.approx([interval.low, interval.high])


def test_the_bound_is_of_configurations_run_again():
    before = made(8)
    before.sections.loc[before.sections["run"].eq(0), "seconds"] *= 0.1
    few = made(1, config=CONFIG.iloc[1:].reset_index(drop=True))
    row = measured(few, before)
    assert row["n_configurations"] == 5
    assert row["bound"] == pytest.approx(0.42, abs=0.01)


def test_a_rerun_that_names_no_knob_is_refused():
    with pytest.raises(ParameterError, match="`reruns` must name knobs, got 'evla'; there are: eval"):
        savings.measured_savings(made(8), {"evla": made(1)}, KNOBS)


def test_the_bounds_of_the_demo_against_what_was_saved():
    parameters = yaml.safe_load((ROOT / "params/demo.yaml").read_text(encoding="utf-8"))
    baseline = read_collection(ROOT / parameters["rerun_baseline"])
    reruns = {knob: read_collection(ROOT / path) for knob, path in parameters["reruns"].items()}
    table = savings.measured_savings(
        baseline, reruns, parameters["knobs"], parameters["cadence_section"]
    ).set_index("knob")
    once, quarter = table.loc["val_check_interval"], table.loc["eval_generation_num_samples"]
    assert list(table["n_configurations"]) == [12, 12]
    assert once["outcome"] == savings.AT_BOUND
    assert quarter["outcome"] == savings.BELOW
    # A quarter of the questions takes about a quarter of the time, so that is what the bound lacks.
    assert quarter["still_governed"] / quarter["governed"] == pytest.approx(0.25, abs=0.02)
    assert table["outside"].abs().max() < 0.02
