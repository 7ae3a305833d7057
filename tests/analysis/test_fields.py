"""What a config field is taken for."""

import numpy as np
import pandas as pd
import pytest
from conftest import fields_of, grid

from traincost.analysis import fields, levels


def test_each_kind_of_field():
    n = 24
    rng = np.random.default_rng(0)
    found = fields_of(
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
    assert found["run_name"].reason == "one value per run: it names the run"


def test_few_repeated_values_make_a_numeric_field_levels():
    assert fields_of({"a": [1, 2] * 12})["a"].kind == "levels"
    assert fields_of({"a": [1, 2, 3, 4, 5]})["a"].kind == "numeric"  # fewer than 3 runs a level
    assert fields_of({"a": list(range(9)) * 5})["a"].kind == "numeric"  # more than 8 values


def test_levels_in_natural_order_and_missing_last():
    found = fields_of({"loss": ["pv10", None, "pv2", "pv0", "pv2"], "b": [128, 8, np.nan, 16, 16]})
    assert found["loss"].labels == ("pv0", "pv2", "pv10", "(unset)")
    assert list(found["loss"].codes) == [2, 3, 1, 0, 1]
    assert found["b"].labels == ("8", "16", "128", "(unset)")
    assert fields_of({"a": ["", "x", "x"]})["a"].labels == ("(empty)", "x")


def test_identical_partitions_are_merged_and_named():
    found = fields_of({"task": list("aabbcc") * 2, "task_id": [1, 1, 2, 2, 3, 3] * 2, "lr": [1, 2] * 6})
    assert found["task"].title == "task = task_id"
    assert found["task_id"].kind == "merged"
    assert found["task_id"].reason == "varies exactly with task"


def test_numeric_fields_of_other_ranks_are_not_merged():
    rng = np.random.default_rng(0)
    found = fields_of({"lr": rng.random(12), "decay": rng.random(12)})
    assert {field.kind for field in found.values()} == {"numeric"}


def test_a_field_fixed_by_another():
    found = fields_of({"loss": list("xyz") * 6, "beta": [0, 0, 1] * 6, "task": list("ab") * 9})
    assert found["beta"].fixed_by == "loss"
    assert found["loss"].fixed_by == ""


def test_text_with_a_level_per_configuration_names_it():
    config = grid(task=list("abc"), lr=[1, 2], seed=[0, 1, 2])
    config["name"] = config["task"] + config["lr"].astype(str)
    assert (
        fields_of(config)["name"].reason
        == "one level per combination of the other factors: it names the configuration"
    )
    # The only factor is not a mere name, even though each configuration has a level of its own.
    assert fields_of(grid(task=list("abc"), seed=[0, 1]))["task"].kind == "levels"


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("random_seed", [0, 1, 2] * 8, "replicate"),
        ("train.seedEverything", [0, 1, 2] * 8, "replicate"),
        ("cv_fold", ["fold_1", "fold_2", "fold_3"] * 8, "replicate"),
        ("trial", [1.0, 2.0, 3.0] * 8, "replicate"),
        ("run", ["baseline", "tuned", "large"] * 8, "levels"),
        ("n_seeds", [1, 3, 5] * 8, "levels"),
        ("num_restarts", [1, 3, 5] * 8, "levels"),
        ("seed", [0.1, 0.2, 0.3] * 8, "levels"),
        ("master_port", list(range(40_000, 40_240, 10)), "identifier"),
        ("export", list(np.random.default_rng(0).permutation(24) * 3), "numeric"),
        ("", list(np.random.default_rng(0).permutation(24)), "identifier"),
        ("Unnamed: 0", list(np.random.default_rng(0).permutation(24)), "identifier"),
        ("nth", list(range(24)), "identifier"),
        ("nth", list(range(24, 0, -1)), "identifier"),
        ("lr", list(np.random.default_rng(0).random(24)), "numeric"),
        ("hostname", ["n1", "n2", "n3"] * 8, "place"),
        ("slurm_nodelist", ["n1", "n2", "n3"] * 8, "place"),
        ("CUDA_VISIBLE_DEVICES", [0, 1, 2] * 8, "place"),
        ("nodes", [1, 2, 3] * 8, "levels"),
        ("worker", [1, 2, 3] * 8, "levels"),
        ("worker", ["w1", "w2", "w3"] * 8, "place"),
    ],
)
def test_names_and_values_give_the_role(name, values, kind):
    found = fields_of({name: values, "task": list("abcdefgh") * 3})
    assert found[name].kind == kind


def test_a_counter_by_start_order_and_the_only_setting():
    order = np.random.default_rng(0).permutation(24).astype(float)
    config = pd.DataFrame({"config.nth": order * 2, "config.task": list("ab") * 12})
    assert fields.describe(config)[0].kind == "numeric"
    assert fields.describe(config, start_rank=order)[0].kind == "identifier"
    assert fields_of({"depth": list(range(12))})["depth"].kind == "numeric"


def test_what_is_asked_for_overrides_the_name():
    config = {"run": [0, 1, 2] * 8, "batch": [1, 2] * 12, "task": list("abcdefgh") * 3}
    frame = pd.DataFrame({f"config.{name}": values for name, values in config.items()})
    found = {f.name: f for f in fields.describe(frame, ["batch"], ["run"])}
    assert (found["run"].kind, found["batch"].kind) == ("levels", "replicate")
    assert found["run"].reason == "asked for as a factor"


@pytest.mark.parametrize(
    ("replicates", "factors", "message"),
    [
        (["tsak"], (), "`replicates` names 'tsak', which is no setting of the runs; there are: lr, task"),
        ((), ["tsak"], "`factors` names 'tsak', which is no setting of the runs; there are: lr, task"),
        (["lr"], ["lr"], "'lr' is named by `replicates` and by `factors`: name it in one"),
    ],
)
def test_names_that_are_not_there_are_refused(replicates, factors, message):
    config = pd.DataFrame({"config.task": list("ab"), "config.lr": [1, 2]})
    with pytest.raises(ValueError, match=message):
        fields.check_named(config, replicates, factors)
    fields.check_named(config, ["seed"])  # where there is none, nothing repeats


def test_a_setting_that_goes_with_a_host_is_marked():
    found = fields_of({"A": list("ab") * 8, "hostname": ["n1", "n2"] * 8})
    assert (found["A"].placed, found["A"].names) == (True, ("A", "hostname"))
    assert (found["hostname"].kind, found["hostname"].same_as) == ("place", "A")
    assert [f.name for f in fields.tested(found.values())] == ["A"]


def test_recorded_devices_are_places_and_chosen_ones_factors():
    devices = ["A100", "H100"] * 4
    runs = pd.DataFrame({"config.A": list("aabb") * 2, "config.device": devices, "device": devices})
    assert fields.describe(runs)[1].kind == "place"
    assert fields.describe(runs.drop(columns="device"))[1].kind == "levels"


def test_a_name_made_of_crossed_settings_is_no_factor():
    config = grid(task=list("abc"), lr=["1", "2"], seed=[0, 1])
    config["name"] = config["task"] + config["lr"]
    assert fields_of(config)["name"].kind == "identifier"
    methods = {
        "method": list("abcdefgh") * 3,
        "lr": [1, 1, 2, 2, 3, 3, 4, 4] * 3,
        "width": list("abcdeabc") * 3,
    }
    assert fields_of(methods)["method"].kind == "levels"  # its settings were chosen with it, not crossed


def test_held_fields_include_the_determining_one():
    few = grid(task=list("ab"), loss=list("pqrstu"))
    few["beta"] = few["loss"].isin(["p", "q"]).astype(int).astype(str)
    described = list(fields_of(few).values())
    held = fields.held_fields(fields.factors(described), len(few))
    assert [f.name for f in held] == ["task", "beta"]  # 2 runs a level of loss: too few to hold it
    many = pd.concat([few, few], ignore_index=True)
    held = fields.held_fields(fields.factors(list(fields_of(many).values())), len(many))
    assert [f.name for f in held] == ["task", "loss"]


def test_configurations_are_settings_of_all_factors():
    config = grid(task=list("ab"), lr=[0.1, 0.2], seed=[0, 1, 2])
    described = list(fields_of(config).values())
    codes = [field.codes for field in fields.factors(described)]
    assert len(set(fields.combined(codes, len(config)))) == 4


def test_bins_are_quartiles_with_the_missing_last():
    field = fields_of({"lr": [*np.linspace(1, 9, 12), np.nan]})["lr"]
    codes, labels = fields.bins(field)
    assert len(labels) == 5
    assert labels[-1] == "(unset)"
    assert codes[-1] == 4


def test_replicates_given_as_text_are_refused():
    with pytest.raises(ValueError, match="`replicates` must be a list"):
        fields_of({"a": [1, 2]}, replicates="seed")


def test_axes_refuses_a_field_that_is_not_there():
    no_effects = pd.DataFrame({"factor": [], "clears": []})
    with pytest.raises(ValueError, match="`rows` must be a setting of the runs, got 'tsak'"):
        levels.axes(list(fields_of({"task": list("aabb")}).values()), no_effects, 4, "tsak")


def test_axes_are_two_settings():
    no_effects = pd.DataFrame({"factor": [], "clears": []})
    fields = list(fields_of({"task": list("aabb")}).values())
    with pytest.raises(ValueError, match="`columns` must be another setting than `rows`, got 'task'"):
        levels.axes(fields, no_effects, 4, "task", "task")


def test_levels_that_print_alike_stay_apart():
    assert fields_of({"a": [None, "(unset)", "x"]})["a"].labels == ("(unset)", "x", "(unset) [2]")
    assert fields_of({"a": ["", "(empty)", "x"]})["a"].labels == ("(empty)", "(empty) [2]", "x")
    assert len(set(fields_of({"a": [0.1, 0.1 + 1e-15]})["a"].labels)) == 2


def test_a_numeric_id_does_not_hide_its_levels():
    found = fields_of(
        {"task_id": list(range(10)) * 4, "task": list("abcdefghij") * 4, "lr": [1] * 20 + [2] * 20}
    )
    assert found["task"].kind == "levels"
    assert found["task"].title == "task = task_id"
    assert found["task_id"].kind == "merged"


def test_a_repeating_numeric_field_can_fix_another():
    width = np.repeat(np.arange(9), 4)
    found = fields_of({"width": width, "loss": np.where(width < 5, "x", "y"), "rep": list("ab") * 18})
    assert found["width"].kind == "numeric"
    assert found["loss"].fixed_by == "width"


def test_bins_with_ties_and_few_values():
    field = fields_of({"dropout": [5.0, 5.0, np.nan, np.nan]})["dropout"]
    assert fields.bins(field)[1] == ("5", "(unset)")
    field = fields_of({"n": [0.0] * 8 + [1.0, 2.0, 3.0, 4.0, 5.0]})["n"]
    labels = fields.bins(field)[1]
    assert labels[0] == "0"
    assert not any(label.startswith("-") for label in labels)


def test_an_empty_parameter_chooses_no_nameless_setting():
    described = list(fields_of({"": ["x"] * 4, "task": list("aabb")}).values())
    no_effects = pd.DataFrame({"factor": [], "clears": []})
    first, second = levels.axes(described, no_effects, 4)
    assert first.name == fields.ALL_RUNS
    assert second is None
