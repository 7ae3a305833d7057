"""What a config field is taken for."""

import numpy as np
import pandas as pd
import pytest
from conftest import grid

from traincost.analysis import fields


def describe(config, replicates=("seed",)):
    frame = pd.DataFrame({f"config.{name}": values for name, values in dict(config).items()})
    return {field.name: field for field in fields.describe(frame, replicates)}


def test_each_kind_of_field():
    n = 24
    rng = np.random.default_rng(0)
    found = describe(
        {
            "task": list("abcd") * 6,
            "batch_size": [8, 16] * 12,
            "lr": rng.random(n),
            "epochs": [3] * n,
            "run_name": [f"run-{i}" for i in range(n)],
            "trainer.seed": [0, 1, 2] * 8,
        }
    )
    assert {name: field.kind for name, field in found.items()} == {
        "task": "levels",
        "batch_size": "levels",
        "lr": "numeric",
        "epochs": "shared",
        "run_name": "identifier",
        "trainer.seed": "replicate",
    }
    assert found["run_name"].reason == "one level per run: it names the run"


def test_a_numeric_field_is_levels_only_with_few_values_and_enough_runs_of_each():
    assert describe({"a": [1, 2] * 12})["a"].kind == "levels"
    assert describe({"a": [1, 2, 3, 4, 5]})["a"].kind == "numeric"  # fewer than 3 runs a level
    assert describe({"a": list(range(9)) * 5})["a"].kind == "numeric"  # more than 8 values


def test_levels_in_natural_order_and_missing_last():
    found = describe({"loss": ["pv10", None, "pv2", "pv0", "pv2"], "b": [128, 8, np.nan, 16, 16]})
    assert found["loss"].labels == ("pv0", "pv2", "pv10", "(unset)")
    assert list(found["loss"].codes) == [2, 3, 1, 0, 1]
    assert found["b"].labels == ("8", "16", "128", "(unset)")
    assert describe({"a": ["", "x", "x"]})["a"].labels == ("(empty)", "x")


def test_identical_partitions_are_merged_and_named():
    found = describe({"task": list("aabbcc") * 2, "task_id": [1, 1, 2, 2, 3, 3] * 2, "lr": [1, 2] * 6})
    assert found["task"].title == "task = task_id"
    assert found["task_id"].kind == "merged"
    assert found["task_id"].reason == "varies exactly with task"


def test_numeric_fields_of_the_same_partition_but_other_ranks_are_not_merged():
    rng = np.random.default_rng(0)
    found = describe({"lr": rng.random(12), "decay": rng.random(12)})
    assert {field.kind for field in found.values()} == {"numeric"}


def test_a_field_fixed_by_another():
    found = describe({"loss": list("xyz") * 6, "beta": [0, 0, 1] * 6, "task": list("ab") * 9})
    assert found["beta"].fixed_by == "loss"
    assert found["loss"].fixed_by == ""


def test_text_with_a_level_per_configuration_names_it():
    config = grid(task=list("abc"), lr=[1, 2], seed=[0, 1, 2])
    config["name"] = config["task"] + config["lr"].astype(str)
    assert describe(config)["name"].reason == "one level per configuration: it names the configuration"
    # The only factor is not a mere name, even though each configuration has a level of its own.
    assert describe(grid(task=list("abc"), seed=[0, 1]))["task"].kind == "levels"


def test_entangled_factors_are_noted_on_both():
    task = np.repeat(list("abcd"), 10)
    host = task.copy()
    host[:2] = "b"
    host[20] = "a"
    found = describe({"task": task, "host": host, "lr": [1, 2] * 20})
    assert found["task"].entangled_with == ("host",)
    assert found["host"].entangled_with == ("task",)


def test_cramers_v_of_unrelated_factors_is_about_zero():
    rng = np.random.default_rng(0)
    values = [fields.cramers_v(rng.integers(0, 4, 60), rng.integers(0, 5, 60)) for _ in range(200)]
    assert np.mean(values) < 0.08  # uncorrected, it is 0.25 on average


def test_held_fields_keep_the_determining_one_with_enough_runs():
    few = grid(task=list("ab"), loss=list("pqrstu"))
    few["beta"] = few["loss"].isin(["p", "q"]).astype(int).astype(str)
    described = list(describe(few).values())
    held = fields.held_fields(fields.factors(described), len(few))
    assert [f.name for f in held] == ["task", "beta"]  # 2 runs a level of loss: too few to hold it
    many = pd.concat([few, few], ignore_index=True)
    held = fields.held_fields(fields.factors(list(describe(many).values())), len(many))
    assert [f.name for f in held] == ["task", "loss"]


def test_configurations_are_settings_of_all_factors():
    config = grid(task=list("ab"), lr=[0.1, 0.2], seed=[0, 1, 2])
    described = list(describe(config).values())
    assert len(set(fields.configurations(fields.factors(described)))) == 4


def test_bins_of_a_numeric_field_are_quartiles_with_the_missing_last():
    field = describe({"lr": [*np.linspace(1, 9, 12), np.nan]})["lr"]
    codes, labels = fields.bins(field)
    assert len(labels) == 5
    assert labels[-1] == "(unset)"
    assert codes[-1] == 4


def test_replicates_given_as_text_are_refused():
    with pytest.raises(ValueError, match="`replicates` must be a list"):
        describe({"a": [1, 2]}, replicates="seed")


def test_axes_refuses_a_field_that_is_not_there():
    no_effects = pd.DataFrame({"factor": [], "clears": []})
    with pytest.raises(ValueError, match="`rows` must be a setting of the runs, got 'tsak'"):
        fields.axes(list(describe({"task": list("aabb")}).values()), no_effects, 4, "tsak")


def test_levels_that_print_alike_stay_apart():
    assert describe({"a": [None, "(unset)", "x"]})["a"].labels == ("(unset)", "x", "(unset) [2]")
    assert describe({"a": ["", "(empty)", "x"]})["a"].labels == ("(empty)", "(empty) [2]", "x")
    assert len(set(describe({"a": [0.1, 0.1 + 1e-15]})["a"].labels)) == 2


def test_a_numeric_id_does_not_hide_the_levels_it_stands_for():
    found = describe(
        {"task_id": list(range(10)) * 4, "task": list("abcdefghij") * 4, "lr": [1] * 20 + [2] * 20}
    )
    assert found["task"].kind == "levels"
    assert found["task"].title == "task = task_id"
    assert found["task_id"].kind == "merged"


def test_a_repeating_numeric_field_can_fix_another_and_be_entangled():
    width = np.repeat(np.arange(9), 4)
    found = describe({"width": width, "loss": np.where(width < 5, "x", "y"), "rep": list("ab") * 18})
    assert found["width"].kind == "numeric"
    assert found["loss"].fixed_by == "width"
    task = np.repeat(list("abcd"), 10)
    params = np.repeat([1.0, 2.0, 3.0, 4.0], 10) + np.arange(40) / 1000
    found = describe({"task": task, "params": params})
    assert found["task"].entangled_with == ("params",)


def test_bins_with_ties_and_few_values():
    field = describe({"dropout": [5.0, 5.0, np.nan, np.nan]})["dropout"]
    assert fields.bins(field)[1] == ("5", "(unset)")
    field = describe({"n": [0.0] * 8 + [1.0, 2.0, 3.0, 4.0, 5.0]})["n"]
    labels = fields.bins(field)[1]
    assert labels[0] == "0"
    assert not any(label.startswith("-") for label in labels)


def test_a_setting_without_a_name_is_not_chosen_by_an_empty_parameter():
    described = list(describe({"": ["x"] * 4, "task": list("aabb")}).values())
    no_effects = pd.DataFrame({"factor": [], "clears": []})
    first, second = fields.axes(described, no_effects, 4)
    assert first.name == fields.ALL_RUNS
    assert second is None
