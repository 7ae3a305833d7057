"""TensorBoard's event files: durations, hyper-parameters, and directories that are one run."""

import shutil
import subprocess
import sys

import pytest
from conftest import DATA, ROOT, record, write_run
from encoding import (
    event_file,
    event_record,
    field,
    scalar,
    session_end,
    session_start,
    tensor_scalar,
    version,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.reading import listing
from traincost.reading.collection import read_collection
from traincost.reading.formats import tensorboard, tfrecords

T = 1_700_000_000.0
NAME = "events.out.tfevents.1700000000.host.1.0"
RUN = (version(T), scalar(T + 10, "loss", 0.5), scalar(T + 60, "loss", 0.25))


def write(folder, *events, name=NAME):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(events[0] if len(events) == 1 and name.endswith("raw") else event_file(*events))
    return path


def read_one(folder):
    (run,) = tensorboard.read(str(folder / sorted(p.name for p in folder.glob("*.tfevents.*"))[0]), "run")
    return run


def test_a_checksum_is_that_of_the_standard():
    assert tfrecords.crc32c(b"123456789") == 0xE3069283  # RFC 3720's polynomial, check value


def test_runtime_scores_and_start(tmp_path):
    write(tmp_path, *RUN)
    run = read_one(tmp_path)
    assert (run.runtime_s, run.reason) == (60, "")
    assert run.scores == {"loss": 0.25}
    assert run.started_at == "2023-11-14T22:13:20.000+00:00"
    assert "runtime is approximate: from the first event to the last of its files" in run.notes


def test_a_resumed_run_counts_no_pause(tmp_path):
    write(tmp_path, *RUN)
    later = [scalar(T + 1000 + s, "loss", s / 100) for s in (0, 30)]
    write(tmp_path, version(T + 1000), *later, name="events.out.tfevents.1700001000.host.2.0")
    assert read_one(tmp_path).runtime_s == 90
    assert read_one(tmp_path).scores == {"loss": pytest.approx(0.3)}


def test_two_writers_at_once_count_once(tmp_path):
    write(tmp_path, *RUN)
    write(tmp_path, version(T + 5), scalar(T + 70, "rank1", 1.0), name=NAME + ".1")
    assert read_one(tmp_path).runtime_s == 70


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=8))
def test_the_union_of_spans_counts_every_second_once(spans):
    spans = [(first, first + length) for first, length in spans]
    covered = {second for first, last in spans for second in range(first, last)}
    assert tensorboard._union_s(spans) == len(covered)


def test_hyper_parameters_and_a_tensor_that_is_a_scalar(tmp_path):
    start = session_start(T, lr=0.1, layers=2.0, opt="sgd", amp=True)
    write(tmp_path, version(T), start, *RUN[1:], tensor_scalar(T + 61, "val", 0.75), session_end(T + 61))
    run = read_one(tmp_path)
    assert run.config == {"lr": 0.1, "layers": 2, "opt": "sgd", "amp": "True"}
    assert run.scores["val"] == 0.75
    assert run.reason == ""


@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [((), "killed", "has no end"), ((session_end(T + 60, 2),), "failed", "ended with a failure")],
)
def test_a_session_says_how_it_ended(tmp_path, ending, status, reason):
    write(tmp_path, version(T), session_start(T, lr=0.1), *RUN[1:], *ending)
    run = read_one(tmp_path)
    assert run.status == status
    assert reason in run.reason
    assert run.runtime_s == 60


def test_a_run_that_alone_lacks_an_end_was_killed(tmp_path):
    for i in range(3):
        write(tmp_path / f"run{i}", *RUN, scalar(T + 60 + i, "loss", 0.1))
        if i < 2:
            write(tmp_path / f"run{i}" / "1700000060.5", session_start(T + 60, lr=0.1), session_end(T + 60))
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["run0", "run1"]
    assert list(found.runs["config.lr"]) == [0.1, 0.1]
    assert list(found.excluded["status"]) == ["killed"]
    assert "has no hyper-parameters" in found.excluded["reason"].iloc[0]


def test_what_one_writer_makes_is_one_run(tmp_path):
    write(tmp_path / "a" / "run", *RUN)
    write(tmp_path / "a" / "run" / "1700000060.5", session_start(T + 60, lr=0.1), session_end(T + 60))
    for part in ("train", "test"):
        write(
            tmp_path / "a" / "run" / f"acc_x_{part}",
            scalar(T + 1, "acc/x", 0.5),
            scalar(T + 80, "acc/x", 1.0),
        )
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["a/run"]
    assert found.runs["runtime_s"].iloc[0] == 80
    assert found.runs["score.acc_x_train"].iloc[0] == 1
    assert not len(found.excluded)


def test_train_and_validation_are_one_run(tmp_path):
    for part, last in (("train", 60), ("validation", 65)):
        write(tmp_path / "run" / part, version(T), scalar(T + 5, "loss", 1.0), scalar(T + last, "loss", 0.5))
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["run"]
    assert list(found.runs["runtime_s"]) == [65]
    assert {"score.train/loss", "score.validation/loss"} <= set(found.runs)


def test_a_run_in_the_directory_of_another_is_not_hidden(tmp_path):
    for name in ("outer", "outer/a_run", "outer/z"):
        write(tmp_path / name, *RUN[:2], scalar(T + 60, "other", float(len(name))))
    assert list(read_collection(tmp_path).runs["run_id"]) == ["outer/a_run", "outer", "outer/z"]


def test_events_beside_a_record_are_part_of_its_run(tmp_path):
    write_run(tmp_path / "a", record("a"))
    write(tmp_path / "a" / "logs", *RUN)
    found = read_collection(tmp_path)
    assert list(found.runs["format"]) == ["traincost"]
    assert list(found.parts["part_of"]) == ["a/run.json"]


def test_a_copy_is_counted_once(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, *RUN)
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["a"]
    assert list(found.excluded["status"]) == ["duplicate"]


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        (b"", "killed", "holds no event"),
        (event_file(version(T)), "unknown", "fewer than two points"),
        (event_file(version(T), scalar(T + 9, "hp_metric", -1.0)), "unknown", "fewer than two points"),
        (event_file(*RUN)[:-3], "killed", "ends within an event"),
        (b"text that is no event file at all", "unreadable", "is damaged at byte 0"),
        (event_file(*RUN, b"\x0b\x0c"), "unreadable", "no protocol buffer"),
    ],
)
def test_what_has_no_duration_or_no_end_is_listed(tmp_path, content, status, reason):
    write(tmp_path / "good", *RUN)
    write(tmp_path / "bad", *RUN).write_bytes(content)
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["good"]
    assert list(found.excluded["status"]) == [status]
    assert reason in found.excluded["reason"].iloc[0]


def test_a_cut_file_before_a_resume_is_a_note(tmp_path):
    write(tmp_path, *RUN).write_bytes(event_file(*RUN, scalar(T + 90, "loss", 0.1))[:-3])
    write(tmp_path, version(T + 1000), scalar(T + 1030, "loss", 0.1), name=NAME + ".2")
    write(tmp_path, version(T + 30), name=NAME + ".profile-empty")
    run = read_one(tmp_path)
    assert (run.runtime_s, run.reason) == (90, "")
    assert any("ends within an event" in note for note in run.notes)


def test_a_large_event_is_passed_over_but_for_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(tfrecords, "MAX_EVENT_BYTES", 100)
    image = field(1, T + 90) + field(5, field(1, field(1, "image") + field(4, bytes(500))))
    write(tmp_path, *RUN, image, field(2, 7) + field(5, bytes(300)))
    run = read_one(tmp_path)
    assert (run.runtime_s, run.reason, run.scores) == (90, "", {"loss": 0.25})


def test_limits_are_named(tmp_path, monkeypatch):
    write(tmp_path, *RUN)
    monkeypatch.setattr(tensorboard, "MAX_EVENTS", 2)
    assert read_one(tmp_path).reason == "holds more than 2 events"
    monkeypatch.undo()
    monkeypatch.setattr(tensorboard, "MAX_TAGS", 1)
    write(tmp_path, *RUN, scalar(T + 61, "other", 0.5))
    run = read_one(tmp_path)
    assert (run.scores, run.reason) == ({"loss": 0.25}, "")
    assert tensorboard._TOO_MANY in run.notes


def test_clocks_that_are_none_and_numbers_that_are_none(tmp_path):
    odd = [scalar(wall, "loss", float("nan")) for wall in (0.0, -5.0, float("nan"), float("inf"), 1e300)]
    write(tmp_path, *RUN, *odd, scalar(T + 61, "nan", float("nan")))
    run = read_one(tmp_path)
    assert run.runtime_s == 61
    assert "nan" not in run.scores


def test_cut_at_every_byte_gives_a_run_or_a_reason(tmp_path):
    whole = event_file(version(T), session_start(T, lr=0.1), *RUN[1:], session_end(T + 61))
    path = write(tmp_path, *RUN)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        run = read_one(tmp_path)
        assert run.reason, size


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_flipped_bit_is_noticed(tmp_path_factory, data):
    whole = bytearray(event_file(*RUN))
    at = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[at // 8] ^= 1 << at % 8
    path = write(tmp_path_factory.mktemp("flip"), *RUN)
    path.write_bytes(whole)
    assert read_one(path.parent).reason


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_in_a_whole_record_are_survived(tmp_path_factory, content):
    path = write(tmp_path_factory.mktemp("bytes"), *RUN)
    path.write_bytes(event_file(*RUN) + event_record(content))
    run = read_one(path.parent)
    assert run.reason or run.runtime_s > 0


def check_producer(found):
    """Check what ``producers/summary_writer.py`` makes."""
    runs = found.runs.set_index("run_id")
    assert set(found.factors) == {"lr", "batch_size"}
    assert set(runs.index) == {f"lr{lr}_b{b}" for lr in (0.1, 0.01) for b in (8, 16, 32)}
    assert (runs["config.opt"] == "sgd").all()
    # Six epochs of 2 / batch size, of which the first is over before the first event but one.
    assert (runs["runtime_s"] > 5 * 2 / runs["config.batch_size"]).all()
    assert list(found.excluded["run_id"]) == ["lr0.1_b64"]
    assert list(found.excluded["status"]) == ["killed"]
    assert found.excluded["runtime_s"].iloc[0] > 0


def test_the_writers_own_files():
    found = read_collection(DATA / "tensorboard")
    check_producer(found)
    # By TensorBoard's own reader: two files of 0.7966 s and 0.7635 s, and hyper-parameters after.
    resumed = found.runs.set_index("run_id").loc["lr0.1_b8", "runtime_s"]
    assert resumed == pytest.approx(0.7966 + 0.7635 + 0.0003, abs=2e-4)


@pytest.mark.torch
def test_what_torchs_writer_makes_now(tmp_path):
    pytest.importorskip("torch")
    script = ROOT / "tests" / "producers" / "summary_writer.py"
    subprocess.run([sys.executable, script, tmp_path / "runs"], check=True, timeout=600)
    found = read_collection(tmp_path / "runs")
    check_producer(found)
    # The pause of two seconds before it was resumed is not in it.
    assert found.runs.set_index("run_id").loc["lr0.1_b8", "runtime_s"] < 2 + 6 * 2 / 8


def test_no_broken_file_of_a_run_takes_its_others_down(tmp_path):
    """One after another, directories for a single series included."""
    folder = shutil.copytree(DATA / "tensorboard", tmp_path / "runs")
    sources = listing.listed(folder, "tensorboard").sources
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        content = path.read_bytes()
        path.write_bytes(b"no event")
        for source, _ in sources:
            assert all(run.reason or run.runtime_s for run in tensorboard.read(str(folder / source), "run"))
        path.write_bytes(content)


def test_damage_is_found_among_many_records_of_one_length(tmp_path):
    content = event_file(version(T), *(scalar(T + i, "loss", float(i)) for i in range(300)))
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(content)
    assert tensorboard._events(str(path)).n_points == 300
    size = (len(content) - len(event_file(version(T)))) // 300
    place = len(content) - 100 * size - size // 2  # within one of the last hundred
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    events = tensorboard._events(str(path))
    assert events.n_points == 199
    assert events.problem.startswith("is damaged at byte ")
