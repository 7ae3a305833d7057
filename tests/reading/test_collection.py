"""Reading directories: bad runs are listed with their reason, and never hide good ones."""

import json
import os

import numpy as np
import pytest
from conftest import record, write_run

from traincost.analysis import fields
from traincost.errors import NothingToReport
from traincost.reading.collection import read_collection
from traincost.reading.formats import files


def excluded(collection):
    return dict(zip(collection.excluded["path"], collection.excluded["reason"], strict=True))


def read_beside_a_good_run(root, content, name="bad"):
    """Read a directory of one good run and one with `content`; the good one must be there."""
    write_run(root / "good", record("good"))
    write_run(root / name, content)
    collection = read_collection(root)
    assert "good" in list(collection.runs["run_id"])
    return collection


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"format": "traincost/run/1", "run_', "is not whole JSON"),
        ("", "is empty"),
        ("  \n", "is empty"),
        (b'{"run_id": "\xff"}', "is not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        ("[1, 2]", "holds a JSON list at the top"),
        ("3", "holds a JSON int at the top"),
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        (record(runtime_s=float("nan")), "runtime_s is not finite"),
        (record(runtime_s=float("inf")), "runtime_s is not finite"),
        (record(runtime_s=-3.0), "must be above zero, got -3"),
        (record(runtime_s=0), "must be above zero, got 0"),
        (record(runtime_s=None), "runtime_s is missing or null"),
        (record(runtime_s="12"), "must be a number of seconds, got '12'"),
        (record(runtime_s=True), "must be a number of seconds, got True"),
        ({k: v for k, v in record().items() if k != "runtime_s"}, "lacks runtime_s"),
        ({"format": "x"}, "lacks run_id, config, runtime_s"),
        (record(format="traincost/run/9"), "has the format 'traincost/run/9'"),
        (record(config=[1]), "config must be an object, got list"),
        (record(status="running"), "status is running: at work still, or killed"),
        (record(status="failed", error={"type": "MemoryError"}), "status is failed (MemoryError)"),
        (record(status="crashed"), "status must be one of completed, running, failed"),
    ],
)
def test_a_bad_record_is_listed_with_its_reason(tmp_path, content, reason):
    collection = read_beside_a_good_run(tmp_path, content)
    assert len(collection.runs) == 1
    assert reason in excluded(collection)[os.path.join("bad", "run.json")]


def test_runtimes_of_unfinished_runs_stay_in_sight(tmp_path):
    collection = read_beside_a_good_run(tmp_path, record("b", status="failed", runtime_s=50.0))
    assert list(collection.excluded["runtime_s"]) == [50.0]
    assert list(collection.excluded["config.task"]) == ["t"]


def test_a_directory_named_like_the_record(tmp_path):
    write_run(tmp_path / "good", record("good"))
    (tmp_path / "bad" / "run.json").mkdir(parents=True)
    assert excluded(read_collection(tmp_path))["bad/run.json"] == "is a directory, not a file"


def test_a_pipe_named_like_the_record_is_not_waited_for(tmp_path):
    write_run(tmp_path / "good", record("good"))
    (tmp_path / "bad").mkdir()
    os.mkfifo(tmp_path / "bad" / "run.json")
    assert excluded(read_collection(tmp_path))["bad/run.json"] == "is not a regular file"


def test_a_file_beyond_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_MIB", 0)
    write_run(tmp_path / "big", record("b"))
    with pytest.raises(NothingToReport, match="larger than 0 MiB"):
        read_collection(tmp_path)


def test_duplicate_ids_keep_the_first(tmp_path):
    write_run(tmp_path / "run-2", record("same", runtime_s=2.0))
    write_run(tmp_path / "run-10", record("same", runtime_s=10.0))
    collection = read_collection(tmp_path)
    assert list(collection.runs["runtime_s"]) == [2.0]
    assert excluded(collection)["run-10/run.json"] == "has the run_id of run-2/run.json"


def test_non_finite_values_elsewhere_are_missing_and_noted(tmp_path):
    bad = record(
        "bad",
        config={"task": "t", "clip": float("inf")},
        scores={"f1": float("nan"), "acc": 0.5, "ok": None},
        cost={"cost_memory_mib": float("inf"), "cost_models": 1.5},
        sections={
            "a": {"seconds": float("nan"), "count": 1},
            "b": {"seconds": 5.0, "count": -1},
            "c//d": {"seconds": 1},
        },
    )
    collection = read_beside_a_good_run(tmp_path, bad)
    row = collection.runs.set_index("run_id").loc["bad"]
    assert row["score.acc"] == 0.5
    assert {c for c in collection.runs if c.startswith(("cost_", "config.clip", "score.f1"))} == set()
    assert list(collection.sections["section"]) == ["b"]
    assert np.isnan(collection.sections["count"].iloc[0])
    notes = " ".join(collection.notes["note"])
    for part in (
        "'clip'",
        "score 'f1'",
        "'cost_memory_mib'",
        "'cost_models'",
        "section 'a'",
        "section 'c//d'",
    ):
        assert part in notes
    assert "'ok'" not in notes  # null is how the recorder writes a score that is not finite


EXTENT = ["first_s", "min_s", "max_s", "synchronised"]


def extents_of(tmp_path, **entries):
    write_run(tmp_path / "a", record("a", sections=entries))
    sections = read_collection(tmp_path).sections
    return {name: tuple(row) for name, *row in sections[["section", *EXTENT]].itertuples(index=False)}


def test_the_extent_of_occurrences_is_read_where_it_is_recorded(tmp_path):
    whole = {"seconds": 9.0, "count": 3, "first_s": 4.0, "min_s": 2.0, "max_s": 4.0}
    found = extents_of(
        tmp_path, old={"seconds": 1.0, "count": 2}, new=whole, gpu=whole | {"synchronised": False}
    )
    assert np.isnan(found["old"]).all()
    assert found["new"][:3] == (4.0, 2.0, 4.0)
    assert np.isnan(found["new"][3])
    assert found["gpu"] == (4.0, 2.0, 4.0, 0.0)


@pytest.mark.parametrize(
    "change",
    [{"first_s": "4"}, {"first_s": 1.0}, {"max_s": 50.0}, {"min_s": 3.5}, {"count": None}, {"min_s": -1.0}],
)
def test_an_extent_that_contradicts_its_total_is_none(tmp_path, change):
    entry = {"seconds": 9.0, "count": 3, "first_s": 4.0, "min_s": 2.0, "max_s": 4.0, "synchronised": 1}
    assert np.isnan(extents_of(tmp_path, a=entry | change)["a"]).all()


def test_sections_that_are_no_object(tmp_path):
    collection = read_beside_a_good_run(tmp_path, record("bad", sections=[1], scores=3, cost="x"))
    assert len(collection.runs) == 2
    assert len(collection.notes) == 3


def test_levels_compare_as_they_should(tmp_path):
    configs = [
        {
            "lr": "1e-3",
            "sha": "123e4567",
            "sched": None,
            "amp": True,
            "opt": {"a.b": 1},
            "l": [1, "x"],
            "mix": 8,
        },
        {
            "lr": 0.001,
            "sha": "00ff",
            "sched": "cos",
            "amp": False,
            "opt": {"a.b": 1.0},
            "l": [1, "x"],
            "mix": "auto",
        },
        {"lr": "0.0010", "sha": "12", "amp": True, "opt": {}, "l": [], "mix": 8.0, "empty": ""},
    ]
    for i, config in enumerate(configs):
        write_run(tmp_path / str(i), record(str(i), config=config))
    collection = read_collection(tmp_path)
    found = {field.name: field.labels for field in fields.describe(collection.runs)}
    assert found["lr"] == ("0.001",)
    assert set(found["sha"]) == {"123e4567", "00ff", "12"}
    assert found["sched"] == ("None", "cos", "(unset)")
    assert found["amp"] == ("False", "True")
    assert found["opt.a\\.b"] == ("1", "(unset)")
    assert found["opt"] == ("{}", "(unset)")
    assert set(found["l"]) == {"[]", '[1, "x"]'}
    assert found["mix"] == ("8", "auto")
    assert found["empty"] == ("(empty)", "(unset)")


def test_fields_of_late_runs_are_kept(tmp_path):
    for i in range(120):
        write_run(tmp_path / str(i), record(str(i)))
    write_run(tmp_path / "zz", record("zz", config={"task": "t", "late": 1}, scores={"f1": 1.0}))
    collection = read_collection(tmp_path)
    assert "config.late" in collection.runs
    assert "score.f1" in collection.runs
    assert collection.factors == ["late"]


def test_config_keys_cannot_take_the_place_of_columns(tmp_path):
    for i in range(2):
        config = {"status": f"s{i}", "runtime_s": i, "C": 1, "__import__('os')": i}
        write_run(tmp_path / str(i), record(str(i), config=config, runtime_s=100.0))
    collection = read_collection(tmp_path)
    assert list(collection.runs["status"]) == ["completed", "completed"]
    assert list(collection.runs["runtime_s"]) == [100.0, 100.0]
    assert collection.factors == ["status", "runtime_s", "__import__('os')"]


def test_runs_are_in_natural_order_of_their_paths(tmp_path):
    for i in (10, 9, 2, 1):
        write_run(tmp_path / f"r{i}", record(f"r{i}"))
    assert list(read_collection(tmp_path).runs["run_id"]) == ["r1", "r2", "r9", "r10"]


def test_huge_numbers_and_names_of_any_bytes(tmp_path):
    write_run(tmp_path / "a", json.dumps(record("a", config={"n": 10**400, "m": 2**60})))
    write_run(tmp_path / "b", json.dumps(record("b\ud800", config={"n": 1, "m": 2**60})))
    odd = os.fsencode(tmp_path) + b"/c\xff\ndir"
    os.mkdir(odd)
    with open(os.path.join(odd, b"run.json"), "w") as file:
        json.dump(record("c", config={"n": 2}), file)
    collection = read_collection(tmp_path)
    assert len(collection.runs) == 3
    assert all(path.encode("utf-8") for path in collection.runs["path"])


def test_a_symlink_loop_is_not_followed(tmp_path):
    write_run(tmp_path / "a", record("a"))
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert len(read_collection(tmp_path).runs) == 1


def test_earlier_states_of_a_run_are_copies_of_it(tmp_path):
    started = "2026-03-01T10:00:00+00:00"
    for folder, run_id, status, runtime_s, start in (
        ("a", "a", "completed", 100.0, started),
        ("backup/a", "a", "running", 40.0, started),  # saved while it went on
        ("b", "b", "failed", 30.0, started),
        ("backup/b", "b", "failed", 30.0, started),
        ("late/b", "b", "running", 10.0, started),
        ("again/b", "b", "failed", 20.0, "2026-03-02T10:00:00+00:00"),  # tried again, and failed again
        ("c", "c", "running", 5.0, started),
    ):
        write_run(tmp_path / folder, record(run_id, status=status, runtime_s=runtime_s, started_at=start))
    found = read_collection(tmp_path)
    assert list(found.runs["path"]) == ["a/run.json"]
    status = found.excluded.set_index("path")["status"].to_dict()
    assert status == {
        "again/b/run.json": "failed",
        "b/run.json": "failed",
        "backup/a/run.json": "duplicate",
        "backup/b/run.json": "duplicate",
        "c/run.json": "running",
        "late/b/run.json": "duplicate",
    }
    reasons = found.excluded.set_index("path")["reason"]
    assert reasons["backup/a/run.json"].startswith("has the run_id and the start of a/run.json: a copy, or")


def test_temporary_files_of_a_killed_recorder_are_ignored(tmp_path):
    write_run(tmp_path / "a", record("a"))
    (tmp_path / "a" / ".run.json.123.tmp").write_text("{")
    collection = read_collection(tmp_path)
    assert len(collection.runs) == 1
    assert not len(collection.excluded)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "missing", "does not exist"),
        (lambda p: "", "does not exist"),
        (lambda p: write_run(p / "a", record()), "is a file; it must be the directory"),
        (lambda p: p, "holds no runs that traincost understands"),
        (lambda p: 3, "`runs_dir` must be a path, got 3"),
    ],
)
def test_nothing_to_report(tmp_path, make, message):
    with pytest.raises(NothingToReport, match=message):
        read_collection(make(tmp_path))


def test_no_good_run_names_the_first_reason(tmp_path):
    write_run(tmp_path / "a", record(status="running"))
    with pytest.raises(
        NothingToReport, match=r"no completed run.*1 left out, the first 'a/run.json': status is running"
    ):
        read_collection(tmp_path)


def test_runs_of_another_format_are_not_called_foreign(tmp_path):
    write_run(tmp_path / "a", record())
    with pytest.raises(
        NothingToReport, match=r"no runs of this format: Weights & Biases .*`format` auto"
    ) as said:
        read_collection(tmp_path, format="wandb")
    assert "another tool" not in str(said.value)


def test_an_unknown_format_is_refused(tmp_path):
    write_run(tmp_path / "a", record())
    with pytest.raises(ValueError, match="`format` must be auto or one of traincost"):
        read_collection(tmp_path, format="parquet")


def test_a_directory_that_cannot_be_opened_is_listed(tmp_path, monkeypatch):
    write_run(tmp_path / "a", record("a"))
    (tmp_path / "locked").mkdir()
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)  # root ignores permissions, so they are simulated
    assert excluded(read_collection(tmp_path))["locked"] == "cannot be opened: Permission denied"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps(record()).replace("100.0", "1" + "0" * 400), "runtime_s is not finite (a int)"),
        (json.dumps(record(runtime_s="[]")).replace('"[]"', "[" * 1010 + "]" * 1010), "got a list"),
    ],
)
def test_numbers_and_nesting_beyond_all_bounds(tmp_path, text, reason):
    collection = read_beside_a_good_run(tmp_path, text)
    assert reason in excluded(collection)[os.path.join("bad", "run.json")]


def test_values_beyond_all_bounds_cost_only_themselves(tmp_path):
    huge = 10**400
    bad = record(
        "bad",
        config={"deep": "DEEP", "digits": "9" * 5000, "nan": [float("nan")], "big": huge},
        cost={"cost_models": huge, "cost_memory_mib": huge},
        scores={"f1": huge},
        sections={"a": {"seconds": huge, "count": 1}, "b": {"seconds": 1, "count": huge}},
    )
    text = json.dumps(bad).replace('"DEEP"', "[" * 700 + "]" * 700)
    collection = read_beside_a_good_run(tmp_path, text)
    assert len(collection.runs) == 2
    assert fields.describe(collection.runs)
    notes = " ".join(collection.notes["note"])
    assert "config 'nan' holds a number that is not finite" in notes
    assert "score 'f1'" in notes


def test_a_reader_that_fails_costs_its_own_file(tmp_path, monkeypatch):
    from traincost.reading.formats import run_record

    read = run_record.read

    def failing(path, run_id):
        if "bad" in str(path):
            raise ZeroDivisionError("oops")
        return read(path, run_id)

    monkeypatch.setattr(run_record, "read", failing)
    collection = read_beside_a_good_run(tmp_path, record("b"))
    assert excluded(collection)["bad/run.json"] == "cannot be read: ZeroDivisionError: oops"


def test_too_many_fields_are_noted_once(tmp_path):
    config = {f"g{i}": {f"k{j}": j for j in range(50)} for i in range(60)}
    collection = read_beside_a_good_run(tmp_path, record("bad", config=config))
    assert list(collection.notes["note"]) == ["config fields beyond the first 2000 are left out"]


def test_links_are_followed_only_out_of_the_collection(tmp_path):
    write_run(tmp_path / "elsewhere" / "x", record("x"))
    write_run(tmp_path / "runs" / "a", record("a"))
    (tmp_path / "runs" / "latest").symlink_to(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "out").symlink_to(tmp_path / "elsewhere" / "x")
    (tmp_path / "elsewhere" / "x" / "back").symlink_to(tmp_path)
    collection = read_collection(tmp_path / "runs")
    assert list(collection.runs["run_id"]) == ["a", "x"]
    assert not len(collection.excluded)


def test_directories_deeper_than_the_limit_are_listed(tmp_path):
    write_run(tmp_path / "a", record("a"))
    deep = tmp_path.joinpath(*["d"] * 70)
    write_run(deep, record("deep"))
    collection = read_collection(tmp_path)
    assert len(collection.runs) == 1
    assert "deeper than 64 directories" in collection.excluded["reason"].iloc[0]


def test_large_integers_stay_apart_and_null_is_missing(tmp_path):
    for i, (big, n) in enumerate([(2**60 + 1, 1), (2**60 + 2, 2), (2**60 + 2, None)]):
        write_run(tmp_path / str(i), record(str(i), config={"big": big, "n": n}))
    found = {field.name: field.labels for field in fields.describe(read_collection(tmp_path).runs)}
    assert found["big"] == (str(2**60 + 1), str(2**60 + 2))
    assert found["n"] == ("1", "2", "(unset)")
