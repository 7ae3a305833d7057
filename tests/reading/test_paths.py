"""Settings that stand in paths."""

import pytest
from conftest import record, write_run

from traincost.errors import ParameterError
from traincost.reading.batch import Claims
from traincost.reading.collection import read_collection
from traincost.reading.formats.paths import PathPattern


@pytest.mark.parametrize(
    ("pattern", "path", "fields"),
    [
        ("glue/{task}/lr_{lr}/…", "x/glue/cola/lr_2e-4/b/c", {"task": "cola", "lr": "2e-4"}),
        ("glue/{task}/lr_{lr}/...", "glue/cola/lr_2e-4", {"task": "cola", "lr": "2e-4"}),
        ("{task}-{loss}", "sorting-beta_w0", {"task": "sorting", "loss": "beta_w0"}),
        ("seed_{seed}/**/layers_{layers}", "seed_1/a/b/layers_14", {"seed": "1", "layers": "14"}),
        ("seed_{seed}/…/layers_{layers}", "seed_1/layers_14", {"seed": "1", "layers": "14"}),
        ("seed_{seed}/…/{task}/lr_*", "x/seed_1/glue/cola/lr_1/b", {"seed": "1", "task": "cola"}),
        ("seed_{seed}/…/{task}/lr_*", "x/seed_1/alpaca/lr_1/b", {"seed": "1", "task": "alpaca"}),
        ("seed_{seed}/*/layers_{layers}", "seed_1/a/layers_14", {"seed": "1", "layers": "14"}),
        ("seed_{seed}/*/layers_{layers}", "seed_1/a/b/layers_14", {}),
        ("lr_{lr}", "warmlr_1", {}),
        ("a.b_{x}", "aXb_1", {}),
        ("{x}(", "1(", {"x": "1"}),
        ("lr_{lr}", "lr_1\n2", {"lr": "1\n2"}),
    ],
)
def test_a_pattern_takes_whole_parts(pattern, path, fields):
    assert PathPattern(pattern).fields(path) == fields


@pytest.mark.parametrize("pattern", ["lr", "{}", "{a}/{a}", "/"])
def test_a_pattern_without_usable_fields_is_refused(pattern):
    with pytest.raises(ParameterError, match="`path_pattern` must hold fields in braces"):
        PathPattern(pattern)


def test_a_setting_in_the_path_wins_and_numbers_are_numbers(tmp_path):
    for lr in ("1e-3", "0.001", "0.01"):
        write_run(tmp_path / f"lr_{lr}/x", record(lr, config={"lr": "wrong", "task": "t"}))
    write_run(tmp_path / "elsewhere", record("elsewhere"))
    found = read_collection(tmp_path, path_pattern="lr_{lr}/{name}")
    lr = dict(zip(found.runs["run_id"], found.runs["config.lr"], strict=True))
    assert lr["1e-3"] == lr["0.001"] == 0.001
    assert list(found.notes["path"]) == ["elsewhere/run.json"]
    assert "does not match `path_pattern`" in found.notes["note"].iloc[0]


def test_a_log_belongs_to_no_run_at_the_root():
    claims = Claims(with_logs=True)
    claims.add("a/run.json", "traincost", [])
    claims.add("run.json", "traincost", ["logs/one"])
    assert claims.owner("a/deep/log.txt", "tensorboard") == "a/run.json"
    assert claims.owner("a/deep/run.json", "traincost") is None
    assert claims.owner("log.txt", "tensorboard") == "run.json"
    assert claims.owner("b/log.txt", "tensorboard") is None
    assert claims.owner("logs/one/log.txt", "tensorboard") == "run.json"
    assert claims.owner("logs/one/all_results.json", "traincost") == "run.json"
    assert claims.owner("ab/log.txt", "tensorboard") is None


def test_logs_of_one_reader_are_runs_of_their_own():
    claims = Claims(with_logs=True)
    claims.add("a/x.json", "kineto", ["y.json"])
    assert claims.owner("a/y.json", "kineto") == "a/x.json"
    assert claims.owner("a/z.json", "kineto") is None
    assert claims.owner("a/z.json", "tensorboard") == "a/x.json"
