"""Pairs are of equal configuration, and nothing is taken for the same without being told so."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import REFERENCE, collection_of, grid, record, write_run

from traincost.analysis import comparison, pairs
from traincost.analysis.subsets import subset
from traincost.errors import NothingToReport, ParameterError
from traincost.reading.collection import read_collection

CONFIG = grid(task=list("ab"), lr=[0.1, 0.2], seed=[0, 1])


def made(config, **columns):
    return collection_of(config.assign(**columns), np.ones(len(config)))


def pairs_of(paired):
    return [(list(r.before), list(r.after)) for r in paired.pairs.itertuples()]


def test_runs_are_paired_by_configuration_and_seed():
    after = CONFIG.iloc[::-1].reset_index(drop=True)
    paired = pairs.pair(made(CONFIG), made(after))
    assert paired.factors == ("task", "lr")
    assert sorted(pairs_of(paired)) == [([i], [7 - i]) for i in range(8)]
    assert len(paired.paired) == 4
    assert not len(paired.unpaired)
    assert not len(paired.changed)


def test_a_shared_setting_that_differs_is_named():
    paired = pairs.pair(made(CONFIG, batch=8, same=1), made(CONFIG, batch=16, same=1))
    assert paired.changed.to_dict("records") == [{"setting": "batch", "before": "8", "after": "16"}]
    assert len(paired.pairs) == 8


def test_a_setting_of_one_side_only_is_named():
    paired = pairs.pair(made(CONFIG), made(CONFIG, clip=1.0))
    (row,) = paired.changed.to_dict("records")
    assert row == {"setting": "clip", "before": pairs.ABSENT, "after": "1"}
    varied = pairs.pair(made(CONFIG), made(CONFIG, clip=[1, 2] * 4))
    assert varied.averaged == ("clip",)


def test_without_common_seeds_a_configuration_is_one_pair():
    paired = pairs.pair(made(CONFIG), made(CONFIG.assign(seed=CONFIG["seed"] + 5)))
    assert pairs_of(paired)[0] == ([0, 1], [0, 1])
    assert len(paired.pairs) == 4


def test_seeds_of_one_side_only_are_listed():
    paired = pairs.pair(made(CONFIG), made(CONFIG[CONFIG["seed"].eq(0)].reset_index(drop=True)))
    assert len(paired.pairs) == 4
    assert set(paired.unpaired["reason"]) == {"its replicate is not among the runs after"}
    assert list(paired.unpaired["run_id"]) == ["r1", "r3", "r5", "r7"]


def test_a_likely_new_name_of_a_level_is_suggested():
    after = CONFIG.assign(task=CONFIG["task"].replace("b", "b_v2"))
    paired = pairs.pair(made(CONFIG.replace("b", "b_v1")), made(after))
    assert len(paired.pairs) == 4
    reason = paired.unpaired["reason"].iloc[0]
    assert reason.startswith("task=b_v1 is not among the runs after; if it is b_v2 there, say so:")
    assert reason.endswith("renamed: {task: {b_v1: b_v2}}")


def test_a_renamed_level_is_paired_once_that_is_said():
    after = CONFIG.assign(task=CONFIG["task"].replace("b", "z"))
    assert len(pairs.pair(made(CONFIG), made(after)).pairs) == 4
    assert len(pairs.pair(made(CONFIG), made(after), renamed={"task": {"b": "z"}}).pairs) == 8
    assert (
        len(pairs.pair(made(CONFIG), made(CONFIG.replace(0.1, 0.3)), renamed={"lr": {0.1: 0.3}}).pairs) == 8
    )


def test_a_name_of_the_configuration_does_not_part_sides():
    name = CONFIG["task"] + CONFIG["lr"].astype(str)
    paired = pairs.pair(made(CONFIG, path="v1/" + name), made(CONFIG, path="v2/" + name))
    assert paired.factors == ("task", "lr")
    assert len(paired.pairs) == 8


def test_a_field_that_others_fix_is_not_paired_by():
    data = CONFIG["task"].map({"a": "small", "b": "large"})
    paired = pairs.pair(made(CONFIG, data="v1/" + data), made(CONFIG, data="v2/" + data))
    assert paired.factors == ("task", "lr")
    assert len(paired.pairs) == 8
    (row,) = paired.changed.to_dict("records")
    assert row == {"setting": "data", "before": "v1/large, v1/small", "after": "v2/large, v2/small"}


def test_names_pair_runs_where_nothing_else_varies():
    config = pd.DataFrame({"task": list("abc")})
    assert len(pairs.pair(made(config), made(config)).pairs) == 3
    single = pd.DataFrame({"lr": [0.1, 0.1]})
    assert pairs_of(pairs.pair(made(single), made(single))) == [([0, 1], [0, 1])]


def test_a_factor_may_vary_on_one_side_only():
    after = CONFIG[CONFIG["task"].eq("a")].reset_index(drop=True)
    paired = pairs.pair(made(CONFIG), made(after))
    assert paired.factors == ("task", "lr")
    assert len(paired.pairs) == 4
    assert set(paired.unpaired["reason"]) == {"task=b is not among the runs after"}


def test_numbers_and_words_of_the_same_level_meet():
    mixed = CONFIG.assign(lr=["1e-1", "auto"] * 4)
    paired = pairs.pair(made(CONFIG), made(mixed), pair_by=["task", "lr"], replicates=())
    assert set(paired.configurations["lr"][paired.paired]) == {"0.1"}


@pytest.mark.parametrize(
    ("before", "after", "options", "error", "message"),
    [
        (
            CONFIG[["task"]],
            CONFIG[["lr"]],
            {},
            NothingToReport,
            "no factor in common: BEFORE varies task; AFTER",
        ),
        (
            CONFIG[["task"]],
            CONFIG[["task"]].replace({"a": "p", "b": "q"}),
            {},
            NothingToReport,
            "task is a, b before and p, q after; leave it out with pair_by",
        ),
        (
            CONFIG.replace({"a": "sorting", "b": "sorted"}),
            CONFIG.replace({"a": "sorting-2", "b": "x"}),
            {},
            NothingToReport,
            "if it is sorting-2 there, say so: renamed: {task: {sorting: sorting-2}}",
        ),
        (CONFIG, CONFIG, {"pair_by": ["tsak"]}, ParameterError, "`pair_by` must name settings of both"),
        (CONFIG, CONFIG, {"renamed": {"x": {}}}, ParameterError, "`renamed` must name settings of both"),
        (CONFIG, CONFIG, {"renamed": {"task": {"q": "a"}}}, ParameterError, "task has no level 'q' among"),
        (
            CONFIG,
            CONFIG,
            {"renamed": {"task": {"a": "q"}}},
            ParameterError,
            "no level 'q' among the runs after",
        ),
        (CONFIG, CONFIG, {"renamed": {"task": "a"}}, ParameterError, "must map old levels to new ones"),
        (
            CONFIG[CONFIG["task"].eq("a") == CONFIG["lr"].eq(0.1)],
            CONFIG[CONFIG["task"].eq("a") != CONFIG["lr"].eq(0.1)],
            {},
            NothingToReport,
            "no configuration is on both sides, over task, lr",
        ),
    ],
)
def test_what_cannot_be_paired_is_one_clear_line(before, after, options, error, message):
    sides = [made(side.reset_index(drop=True)) for side in (before, after)]
    with pytest.raises(error) as raised:
        pairs.pair(*sides, **options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.reference
def test_batch_sizes_of_the_profiled_trees_by_hand():
    whole = read_collection(REFERENCE / "pyhighlights" / "profiled")
    before, after = (subset(whole, {"batch_size": [size]}) for size in (8, 16))
    paired = pairs.pair(before, after)
    assert len(paired.pairs) == 18
    assert len(paired.paired) == 6
    assert paired.changed.to_dict("records") == [{"setting": "batch_size", "before": "8", "after": "16"}]
    runs = whole.runs.assign(name=whole.runs["path"].str.split("/").str[0].str.removesuffix("-b16"))
    hand = runs.pivot(index=["name", "config.seed"], columns="config.batch_size", values="runtime_s")
    ratio = np.log(hand[16] / hand[8])
    found = comparison.runtime_change(before, after, paired).iloc[0]
    assert found["n_pairs"] == len(ratio) == 18
    assert found["log_ratio"] == pytest.approx(ratio.mean(), abs=1e-12)
    assert found["verdict"] == "faster"


def test_run_records_and_result_trees_can_be_compared(tmp_path):
    for batch, seconds in ((8, 30.0), (16, 20.0)):
        folder = tmp_path / "tree" / f"toy-{batch}" / "2026-01-02T03-04-05"
        folder.mkdir(parents=True)
        values = {"name": "toy", "seeds": [0], "completed": [0], "runs": [{"cost_runtime_s": seconds}]}
        (folder / "results.json").write_text(json.dumps(values))
        (folder / "manifest.json").write_text(json.dumps({"settings": {"batch_size": batch}}))
        config = {"batch_size": str(batch)}
        write_run(tmp_path / "records" / f"{batch}", record(f"{batch}", config=config, runtime_s=2 * seconds))
    tree, records = read_collection(tmp_path / "tree"), read_collection(tmp_path / "records")
    found = comparison.runtime_change(tree, records, pairs.pair(tree, records)).iloc[0]
    assert found["n_configurations"] == 2
    assert found["change"] == pytest.approx(1.0)
