"""Utilisation of one's own runs: achieved FLOP/s and MFU by level, against the chip's dense rate."""

import re

import pytest
from conftest import ROOT, record, write_run

from traincost.errors import ParameterError
from traincost.estimation import estimates
from traincost.estimation import utilisation as estimation
from traincost.results.costs import costs
from traincost.results.runs import read
from traincost.results.systems import read_systems
from traincost.results.utilisation import utilisation

GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 32}


@pytest.fixture
def runs(tmp_path):
    """Return a function of compute blocks to runs of 100 s, two to each of the tasks a, b, …"""

    def made(*blocks):
        for i, block in enumerate(blocks):
            config = {"task": "abcdef"[i // 2], "seed": i % 2}
            write_run(tmp_path / f"r{i}", record(f"r{i}", compute=block, config=config, runtime_s=100.0))
        return read(tmp_path)

    return made


def block(flop, **more):
    return {"stages": [{"counted_flop": flop}], "processors": 2, "processor": "A100", **more}


PEAK = 2 * 100 * 312e12  # of two A100 in 100 s


def test_levels_are_set_against_the_dense_peak(runs):
    found = utilisation(
        runs(block(0.4 * PEAK), block(0.2 * PEAK), block(0.04 * PEAK), block(0.06 * PEAK)), "task"
    )
    levels = found.frame.set_index("level")
    assert levels["mfu"].to_dict() == pytest.approx({"a": 0.3, "b": 0.05, "all runs": 0.175})
    assert levels["achieved_flop_per_s"]["a"] == pytest.approx(0.3 * 312e12)
    assert levels["low"].to_dict() == {"a": False, "b": True, "all runs": False}
    text = str(found)
    assert "The runs used 17.5 % of the dense peak" in text
    assert "between 4.0 % and 40.0 %, run by run" in text
    assert "Below 10.0 % are b (5.0 %)" in text
    data = found.data()["tables"]["utilisation"]
    assert data["origins"][0] == {
        "n_runs": 2,
        "filter": "completed runs where task = a",
        "runs": ["r0", "r1"],
    }


def test_an_impossible_mfu_is_said(runs):
    assert "An MFU above one is impossible" in str(utilisation(runs(block(2 * PEAK), block(PEAK)), "task"))


def test_a_model_and_its_tokens_are_operations(runs, tmp_path):
    given = {"model": GPT2, "tokens": 1e6, "context": 32, "processors": 1, "rate_flops_per_s": 1e12}
    found = utilisation(runs(given, given))
    flop = found.frame["operations_flop"].iloc[-1] / 2
    assert flop == pytest.approx(6 * 1e6 * (2 * 12 * 64 * 64 + 100 * 64) + 1e6 * 12 * 2 * 64 * 32)
    table = estimates.estimate_systems(read_systems(tmp_path).frame)
    assert table["operations_flop"].tolist() == pytest.approx([flop, flop])


def test_devices_that_no_record_names_are_parameters(runs):
    bare = {"stages": [{"counted_flop": 0.3 * PEAK}]}
    made = runs(bare, bare)
    assert "Of 2 runs no utilisation is known: what it ran on is not known." in str(utilisation(made))
    assert utilisation(made, processor="A100", processors=2).frame["mfu"].iloc[-1] == pytest.approx(0.3)
    with pytest.raises(ParameterError, match="`processor`: no rate for 'H10'; the nearest known are"):
        utilisation(made, processor="H10")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (block(1e15, processor="Mystery 9000"), "no rate for 'Mystery 9000'"),
        (block(1e15, processors=0), "the number of its processors is not known"),
        ({"stages": [{"epochs": 1}]}, "`flops_per_pass` is missing"),
        ({"model": {"model_type": "rwkv"}, "tokens": 5}, "`model_type` must be one of"),
        ({"model": GPT2}, "`tokens` must be above zero beside `model`, got None"),
        ({"model": GPT2, "tokens": 5, "context": 0}, "`context` must be a whole number above zero"),
    ],
)
def test_what_is_missing_is_named(runs, given, problem):
    made = runs(given, block(1e15))
    achieved = estimation.by_run(made.collection)
    assert problem in achieved["problem"].iloc[0]
    assert not achieved["mfu"].iloc[0] > 0
    assert achieved["mfu"].iloc[1] > 0


def test_runs_without_operations_say_nothing(runs):
    found = utilisation(runs({}, {}))
    assert str(found) == ""
    assert not len(found.frame)


def test_the_shipped_sweep_has_a_utilisation():
    found = utilisation(read(ROOT / "notebooks/runs/demo-sweep"))
    assert found.frame["n_known"].iloc[-1] == 36
    assert 0 < found.frame["mfu"].iloc[-1] < 1


def test_the_costs_hold_utilisation_by_level(runs):
    made = runs(block(0.4 * PEAK), block(0.2 * PEAK), block(0.04 * PEAK), block(0.06 * PEAK))
    found = costs(made.choosing(rows="task"))
    text = str(found)
    assert (
        "Below 10.0 % are b (5.0 %): look at input, batch size and precision first. About nine in ten" in text
    )
    rows = {row["level"]: row for row in found.data()["tables"]["utilisation"]["rows"]}
    assert rows["a"]["mfu"] == pytest.approx(0.3)
    assert rows["a"]["achieved_flop_per_s"] == pytest.approx(0.3 * 312e12)
    assert found.data()["numbers"]["utilisation.mfu"] == pytest.approx(0.175)
    shown = re.sub(r"<[^>]+>", "", found._repr_mimebundle_()["text/html"])
    assert "Dense peak of a device: 3.12 × 10¹⁴ FLOP/s" in shown.replace("\xa0", " ")


def test_the_costs_say_nothing_of_an_unknown_utilisation(runs):
    bare = {"stages": [{"counted_flop": 0.3 * PEAK}]}
    assert "utilisation" not in costs(runs(bare, bare)).data()["tables"]


def test_the_devices_of_a_record_are_those_of_its_run(tmp_path):
    stages = {"stages": [{"counted_flop": 0.3 * PEAK}]}
    write_run(tmp_path / "r", record("r", compute=stages, runtime_s=100.0, devices=2, device="NVIDIA A100"))
    assert estimation.by_run(read(tmp_path).collection)["mfu"].tolist() == pytest.approx([0.3])
