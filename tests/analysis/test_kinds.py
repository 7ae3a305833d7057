"""What kind of work a section is, by the words of its name."""

import pytest

from traincost.analysis import kinds
from traincost.analysis.kinds import EVALUATION, LOADING, OTHER, SETUP, TRAINING
from traincost.errors import ParameterError


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("epoch/eval_router_sampled", EVALUATION),
        ("epoch/eval_router_sampled/free_generation", EVALUATION),
        ("sanity_check", EVALUATION),
        ("run_training_epoch/[Strategy].validation_step", EVALUATION),
        ("train_eval", EVALUATION),
        ("epoch/train", TRAINING),
        ("[Strategy].backward", TRAINING),
        ("ProfilerStep/Optimizer.step#SGD.step", TRAINING),
        ("Trainer.compute_loss", TRAINING),
        ("run/setup", SETUP),
        ("[LightningModule].configure_optimizers", SETUP),
        ("epoch/checkpoint", SETUP),
        ("load_model", SETUP),
        ("load", SETUP),
        ("run/load", SETUP),
        ("load_data", LOADING),
        ("epoch/load", LOADING),
        ("fit/train_step/load", LOADING),
        ("epoch/load_checkpoint", SETUP),
        ("Save Covariance", SETUP),
        ("[Callback]ModelCheckpoint.on_train_epoch_end", SETUP),
        ("[_TrainingEpochLoop].train_dataloader_next", LOADING),
        ("data_time", LOADING),
        ("batch-generator", LOADING),
        ("DataLoaderIter.next", LOADING),
        ("train/epoch_end", OTHER),
        ("ProfilerStep", OTHER),
    ],
)
def test_the_last_part_of_a_path_tells_the_kind(path, kind):
    assert kinds.kind_of(path) == kind


@pytest.mark.parametrize(
    "name", ["on_train_start", "[LightningModule].on_validation_end", "on_test_epoch_end"]
)
def test_a_hook_is_of_no_kind(name):
    assert kinds.kind_of(name) == OTHER


@pytest.mark.parametrize("name", ["latest", "contest", "constraint", "overloaded", "old_log_prob", "login"])
def test_a_part_of_a_word_tells_nothing(name):
    assert kinds.kind_of(name) == OTHER
    assert kinds.proposal_of(name) == ""


def test_a_given_kind_holds_instead_first_match_first():
    given = {"epoch/*": TRAINING, "epoch/eval": EVALUATION}
    assert kinds.kind_of("epoch/eval", given) == TRAINING
    assert kinds.kind_of("epoch/eval", dict(reversed(given.items()))) == EVALUATION
    assert kinds.kind_of("run/eval", given) == EVALUATION
    assert kinds.proposal_of("epoch/eval", given) == ""


def test_data_loading_is_coloured_like_setup():
    assert kinds.hue_of("data_time") == SETUP
    assert kinds.hue_of("epoch/train") == TRAINING


@pytest.mark.parametrize(
    ("paths", "subject"),
    [
        (["epoch/eval", "epoch/eval/free_generation"], "evaluation"),
        (["data_time"], "data loading"),
        (["epoch/checkpoint", "run/write_outputs"], "checkpoints"),
        (["run/write_outputs"], "writing files"),
        (["run/setup", "epoch/checkpoint"], "setup"),
        (["eval", "train"], ""),
        (["mystery"], ""),
        ([], ""),
    ],
)
def test_sections_are_called_by_what_they_share(paths, subject):
    assert kinds.subject_of(paths) == subject


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("epoch/eval", "evaluation"),
        ("epoch/checkpoint", "checkpoints"),
        ("data", "data loading"),
        ("epoch/train/log_images", "diagnostics"),
        ("epoch/train", ""),
        ("run/setup", ""),
        ("Compute Pairwise Score", ""),
        ("on_train_start", ""),
    ],
)
def test_only_repeated_or_optional_sections_are_proposed(path, why):
    assert kinds.proposal_of(path) == why


@pytest.mark.parametrize("given", [{"a": "evaluating"}, {"a": ["evaluation"]}, {1: "evaluation"}, ["a"], "a"])
def test_a_bad_kind_is_refused_in_one_line(given):
    with pytest.raises(ParameterError, match="`section_kinds`") as problem:
        kinds.checked_kinds(given)
    assert "\n" not in str(problem.value)


def test_a_pattern_is_literal_but_for_its_asterisk():
    assert kinds.kind_of("a.b/[x]", {"a.*[x]": TRAINING}) == TRAINING
    assert kinds.kind_of("aXb/[x]", {"a.*[x]": TRAINING}) == OTHER
