"""Kineto traces: microseconds, nesting, ranks, windows, broken files and bombs."""

import gzip
import json
import subprocess
import sys

import pytest
from conftest import DATA, REFERENCE, ROOT, record, write_run
from hypothesis import example, given, settings
from hypothesis import strategies as st

from traincost.reading.collection import read_collection
from traincost.reading.formats import kineto, trace_events

FOREIGN = REFERENCE / "formats"


def span(name, ts, dur, cat="user_annotation", pid=1, tid=1, **more):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def write(path, events, **facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"displayTimeUnit": "ms", **facts, "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read(path, run_id="lr/a"):
    (run,) = kineto.read(str(path), run_id)
    return run


STEPS = [
    span("ProfilerStep#5", 1_000, 4_000_000),
    span("forward", 2_000, 1_000_000),
    span("aten::linear", 3_000, 900_000, "cpu_op"),
    span("Optimizer.step#SGD.step", 2_500_000, 500_000),
    span("ProfilerStep#6", 4_001_000, 6_000_000),
    span("forward", 4_002_000, 1_000_000),
    span("ProfilerStep#5", 1_000, 9_000_000, "gpu_user_annotation", 0, 7),
]


def test_times_are_microseconds_whatever_the_display_unit(tmp_path):
    run = read(write(tmp_path / "t.json", STEPS))
    assert run.runtime_s == 10.0
    assert run.sections == {
        "ProfilerStep": (10.0, 2),
        "ProfilerStep/forward": (2.0, 2),
        "ProfilerStep/Optimizer.step#SGD.step": (0.5, 1),
    }
    assert (run.status, run.reason, run.named) == ("completed", "", False)
    assert run.run_id == "lr/a/t"
    assert run.notes == ["its runtime is the time that the trace covers"]


def test_nesting_is_containment_per_thread_up_to_rounding(tmp_path):
    events = [
        span("b", 10, 91),  # a microsecond past its parent
        span("a", 0, 100),
        span("other", 20, 50, tid=2),
        span("crosses", 90, 60),
        span("a/b", 200, 10),
    ]
    run = read(write(tmp_path / "t.json", events))
    assert run.sections == {
        "a": (pytest.approx(1e-4), 1),
        "a/b": (pytest.approx(9e-5), 1),
        "other": (pytest.approx(5e-5), 1),
        "crosses": (pytest.approx(6e-5), 1),
        "a∕b": (pytest.approx(1e-5), 1),
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 40), st.sampled_from("abc"), st.integers(0, 1)),
        min_size=1,
        max_size=25,
    )
)
@settings(max_examples=60, deadline=None)
@example([(30, 2, "a", 0), (30, 4, "a", 0), (31, 3, "a", 0)])
def test_children_never_take_longer_than_their_parent(spans):
    trace = trace_events.Trace(names=["a", "b", "c"])
    for start, duration, name, thread in spans:
        trace.starts_us.append(start * 10)
        trace.durations_us.append(duration * 10)
        trace.labels.append("abc".index(name))
        trace.threads.append(thread)
    found = kineto.sections(trace, [])
    assert sum(count for _, count in found.values()) == len(spans)
    for path, (seconds, _) in found.items():
        children = [s for other, (s, _) in found.items() if other.rpartition("/")[0] == path]
        assert sum(children) <= seconds + 1e-12


def test_start_device_and_settings_of_the_profiler_but_no_host(tmp_path):
    path = write(
        tmp_path / "t.json",
        STEPS,
        baseTimeNanoseconds=1_767_225_600_000_000_000,
        deviceProperties=[{"id": 0, "name": "GPU X", "totalGlobalMem": 2**34}, {"name": "GPU X"}],
        distributedInfo={"rank": 0, "world_size": 1, "backend": "gloo"},
        with_stack=1,
        host_name="secret",
        username="secret",
        trace_id="ABC",
    )
    run = read(path)
    assert run.started_at == "2026-01-01T00:00:00.001000+00:00"
    assert run.cost == {"cost_device_capacity_mib": 16384.0}
    assert run.config == {"world_size": 1, "backend": "gloo", "device": "GPU X", "with_stack": "True"}
    # Annotations are timed on the host, which does not wait for the device.
    assert set(run.extents) == set(run.sections)
    assert all(extent == (None, None, None, False) for extent in run.extents.values())
    assert "secret" not in repr(run)


@pytest.mark.parametrize(
    "name", ["rank_{}.json", "trace.rank-{}.json.gz", "worker{}.17000000000{}.pt.trace.json"]
)
def test_ranks_are_one_run_as_long_as_the_slowest(tmp_path, name):
    for rank in range(3):
        name_ = name.replace("{}", str(rank))
        write(
            tmp_path / "lr_0.1" / name_,
            [span("step", 0, (rank + 1) * 1e6)],
            distributedInfo={"world_size": 3},
        )
    write(tmp_path / "lr_0.2" / "rank_0.json", [span("step", 0, 1e6)], distributedInfo={"world_size": 2})
    found = read_collection(tmp_path)
    assert list(found.runs["runtime_s"]) == [3.0, 1.0]
    assert list(found.sections["seconds"]) == [3.0, 1.0]
    assert len(found.parts) == 2
    notes = " ".join(found.notes["note"])
    assert "those of the slowest of 3 ranks" in notes
    assert "1 of its 2 ranks found: the slowest may be missing" in notes


def test_ranks_in_directories_are_one_run(tmp_path):
    for rank in range(2):
        write(tmp_path / "a" / f"rank_{rank}" / "trace.json", [span("step", 0, (rank + 1) * 1e6)])
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["a/trace"]
    assert list(found.runs["runtime_s"]) == [2.0]


def test_the_ranks_inside_tell_the_handlers_files_apart(tmp_path):
    for i, folder in enumerate(["ranks", "runs"]):
        for worker in range(2):
            facts = {"distributedInfo": {"rank": worker * (1 - i), "world_size": 2}}
            write(tmp_path / folder / f"host_{worker}.170000000000{worker}.pt.trace.json", STEPS, **facts)
    found = read_collection(tmp_path)
    assert len(found.runs) + len(found.excluded) == 3
    assert list(found.parts["part_of"]) == ["ranks/host_0.1700000000000.pt.trace.json"]


def test_windows_of_one_worker_add_up(tmp_path):
    for window in range(3):
        write(
            tmp_path / "a" / f"host_9.170000000000{window}.pt.trace.json", [span("step", window * 1e9, 2e6)]
        )
    found = read_collection(tmp_path)
    assert list(found.runs["runtime_s"]) == [6.0]
    assert found.sections[["section", "seconds", "count"]].values.tolist() == [["step", 6.0, 3.0]]
    assert "in 3 windows" in found.notes["note"][0]
    assert not found.runs["run_id"].str.contains("host").any()


def test_a_packed_copy_is_a_part_other_traces_are_runs(tmp_path):
    write(tmp_path / "a.json", STEPS)
    write(tmp_path / "a.json.gz", STEPS)
    write(tmp_path / "b.json", STEPS[:1])
    found = read_collection(tmp_path)
    assert list(found.runs["path"]) == ["a.json", "b.json"]
    assert list(found.runs["runtime_s"]) == [10.0, 4.0]
    assert list(found.parts["path"]) == ["a.json.gz"]


def test_a_trace_in_a_run_is_part_of_it(tmp_path):
    write_run(tmp_path / "a", record("a"))
    write(tmp_path / "a" / "profile" / "trace.json", STEPS)
    (tmp_path / "a" / "search.json").write_text('{"best": 1}')
    found = read_collection(tmp_path)
    assert list(found.runs["run_id"]) == ["a"]
    assert list(found.parts["path"]) == ["a/profile/trace.json"]


def test_a_list_may_lack_its_bracket_an_object_not(tmp_path):
    whole = json.dumps(STEPS)
    path = tmp_path / "list.json"
    path.write_text(whole[:-1] + ",\n")
    run = read(path)
    assert (run.status, run.runtime_s) == ("completed", 10.0)
    assert "the list of events has no closing bracket: read as far as it goes" in run.notes
    path = tmp_path / "object.json"
    path.write_text('{"traceEvents": ' + whole[:-1])
    run = read(path)
    assert (run.status, run.reason) == ("killed", "is cut short after 7 events")
    assert run.runtime_s == 10.0


def test_an_unfinished_trace_is_of_a_killed_run(tmp_path):
    text = json.dumps({"traceEvents": STEPS})
    (tmp_path / "trace.json").write_text(text)
    (tmp_path / "trace.json.tmp").write_text(text[: len(text) // 2])
    found = read_collection(tmp_path)
    assert list(found.runs["path"]) == ["trace.json"]
    assert list(found.excluded["status"]) == ["killed"]


def test_truncation_anywhere_gives_a_run_or_a_reason(tmp_path):
    text = json.dumps({"deviceProperties": [{"name": "µ"}], "traceEvents": STEPS}).encode()
    packed = gzip.compress(text)
    path = tmp_path / "t.json"
    for whole in (text, packed, json.dumps(STEPS).encode()):
        for size in range(0, len(whole), 1 if len(whole) < 500 else 3):
            path.write_bytes(whole[:size])
            for run in kineto.read(str(path), "a"):
                assert run.reason or run.runtime_s > 0
                assert (run.status == "completed") == (not run.reason)


@pytest.mark.parametrize("position", range(0, 400, 7))
def test_a_flipped_bit_gives_a_run_or_a_reason(tmp_path, position):
    content = bytearray(json.dumps({"traceEvents": STEPS}).encode())
    content[position] ^= 1 << (position % 8)
    (tmp_path / "t.json").write_bytes(content)
    for run in kineto.read(str(tmp_path / "t.json"), "a"):
        assert run.reason or run.runtime_s > 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"a": {"traceEvents": [{"ph": "X", "ts": 1, "dur": 2}]}}',
        b'[{"epoch": 1, "ph": 7.0}]',
        b'{"note": "traceEvents"}',
        b"\x00" * 100,
        b"\x1f\x8b",
    ],
)
def test_other_json_is_no_trace(tmp_path, content):
    (tmp_path / "t.json").write_bytes(content)
    assert [run for run in kineto.read(str(tmp_path / "t.json"), "a") if run.status != "unreadable"] == []
    assert content[:1] == b"\x1f" or kineto.read(str(tmp_path / "t.json"), "a") == []


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([], "holds no timed event (X, B or E)"),
        ([span("a", "1", "2")], "holds no timed event (X, B or E)"),
        ([span("a", 1, -1), span("a", True, 1)], "holds no timed event (X, B or E)"),
        ([span("a", 5, 0)], "the time from the first event to the last must be above zero, got 0"),
    ],
)
def test_a_trace_without_times_says_so(tmp_path, events, reason):
    run = read(write(tmp_path / "t.json", events))
    assert run.reason == reason


def test_a_non_finite_time_is_left_out_and_noted(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": STEPS}).replace("4001000", "1e300000"))
    run = read(path)
    assert run.reason.startswith("is damaged after") or "1 events without a usable time" in run.notes[-1]


def test_names_that_are_other_readers_are_not_offered():
    names = ["a.json", "b.json.gz", "run.json", "results.json", "config.json", "x.pt.trace.json", "c.txt"]
    assert kineto.sources("d", names) == ["a.json", "b.json.gz", "x.pt.trace.json"]


def test_a_missing_parser_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ijson", None)
    run = read(write(tmp_path / "t.json", STEPS))
    assert run.reason == "needs ijson to be read: pip install 'traincost[formats]'"
    (tmp_path / "other.json").write_text("{}")
    assert kineto.read(str(tmp_path / "other.json"), "a") == []


def bomb(kind):
    """Yield pieces of a document that packs to little."""
    start = b'{"traceEvents": ['
    piece, times = {
        "events": (b'{"ph":"X","ts":1,"dur":1},' * 10_000, 400),
        "spaces": (b" " * 1_000_000, 300),
        "text": (b"a" * 1_000_000, 300),
        "nesting": (b"[" * 1_000_000, 8),
        "arguments": (b"[" * 1_000_000, 8),
        "head": (b"[" * 1_000_000, 20),
        "names": (b"", 0),
    }[kind]
    yield {"text": start + b'{"name": "', "arguments": start + b'{"args": ', "head": b'{"a": '}.get(
        kind, start
    )
    for _ in range(times):
        yield piece
    for i in range(300_000 if kind == "names" else 0):
        yield b'{"ph":"X","cat":"user_annotation","name":"n%d","ts":%d,"dur":1,"pid":%d},' % (i, i, i)


# The high-water mark of this very process; that of getrusage begins with its parent's.
_MEASURE = """
import re, sys
from traincost.reading.formats import kineto
runs = kineto.read(sys.argv[1], "a")
peak_kib = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(peak_kib // 1024, [run.reason for run in runs])
"""


def peak_mib_and_reasons(path):
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True, timeout=600
    )
    peak, reasons = done.stdout.split(" ", 1)
    return int(peak), reasons.strip()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["events", "spaces", "text", "nesting", "arguments", "head", "names"])
def test_a_bomb_is_refused_in_little_memory(tmp_path, kind):
    path = tmp_path / "t.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.writelines(bomb(kind))
    assert path.stat().st_size < 10 * 2**20
    peak_mib, reasons = peak_mib_and_reasons(path)
    assert peak_mib < 512
    assert reasons != "['']"


@pytest.mark.slow
def test_a_large_trace_takes_less_memory_than_its_size(tmp_path):
    """A quarter of a GiB; a whole one took the same memory, and minutes."""
    path = tmp_path / "t.json"
    step = ",".join(
        [json.dumps(span("aten::linear", 1, 2.5, "cpu_op", args={"Input Dims": [[4, 8], [8, 8]]}))] * 60
    )
    size, i = 0, 0
    with open(path, "w") as file:
        size += file.write('{"traceEvents": [')
        while size < 2**28:
            size += file.write(json.dumps(span(f"ProfilerStep#{i}", 1000.0 * i, 900.0)) + f",{step},")
            i += 1
        file.write(json.dumps(span("end", 1000.0 * i, 1000.0)) + "]}")
    peak_mib, reasons = peak_mib_and_reasons(path)
    assert reasons == "['']"
    assert peak_mib < 128


@pytest.mark.reference
def test_reference_traces_are_read_or_refused_with_true_reasons():
    paths = sorted((FOREIGN / "kineto_hta").iterdir())
    runs = {path.name: read(path) for path in paths}
    assert len(runs) == 13
    assert [name for name, run in runs.items() if run.reason] == []
    for path in paths:
        text = path.read_bytes()
        events = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)["traceEvents"]
        timed = [event for event in events if event["ph"] == "X"]
        first, last = min(e["ts"] for e in timed), max(e["ts"] + e["dur"] for e in timed)
        assert runs[path.name].runtime_s == pytest.approx((last - first) / 1e6)
    assert runs["backward_thread.json"].sections == {
        "ProfilerStep": (pytest.approx(0.413451), 1),
        "ProfilerStep/## backward ##": (pytest.approx(0.107988), 1),
    }


@pytest.mark.reference
@pytest.mark.parametrize(
    "name", ["simple-partial", "simple-partial-whitespace", "simple-partial-trailing-comma"]
)
def test_partial_lists_of_another_tool_are_read(name):
    run = read(FOREIGN / "profilers" / "speedscope" / f"{name}.json")
    assert run.runtime_s == pytest.approx(14e-6)
    assert "no closing bracket" in run.notes[-1]


PATTERN = "batch_size_{batch_size}/hidden_{hidden}"


def assert_is_the_producers(folder):
    """Check what `producers/torch_profiler.py` made: six runs, one of two ranks, and a killed one."""
    found = read_collection(folder, path_pattern=PATTERN)
    assert len(found.runs) == 6
    assert found.factors == ["batch_size", "hidden"]
    assert list(found.excluded["status"]) == ["killed"]
    assert list(found.parts["path"]) == ["batch_size_8/hidden_16/rank_1.json.gz"]
    sections = set(found.sections["section"])
    assert {f"ProfilerStep/{name}" for name in ("data", "forward", "backward")} <= sections
    assert "ProfilerStep/Optimizer.step#SGD.step" in sections
    steps = found.sections[found.sections["section"] == "ProfilerStep"]
    assert set(steps["count"]) <= {3, 4}
    assert (steps["seconds"].to_numpy() < found.runs["runtime_s"].to_numpy()).all()
    return found


def test_a_collection_of_the_real_tool():
    found = assert_is_the_producers(DATA / "kineto")
    assert found.runs["runtime_s"].iloc[1] == pytest.approx(0.001424, abs=1e-6)
    assert (found.runs["started_at"].str[:10] == "2026-11-29").all()


@pytest.mark.torch
def test_the_real_tool_as_it_is_today(tmp_path):
    producer = ROOT / "tests" / "producers" / "torch_profiler.py"
    subprocess.run([sys.executable, producer, tmp_path / "runs"], check=True, timeout=600)
    assert_is_the_producers(tmp_path / "runs")
