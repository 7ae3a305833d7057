"""The recorder: nesting, what is on disk at any moment, and what is refused."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types
import warnings
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from traincost.measure.recorder import Recorder


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def __call__(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def read(folder):
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def totals(sections):
    """Return the seconds and counts of sections, as every record has them."""
    return {path: {name: entry[name] for name in ("seconds", "count")} for path, entry in sections.items()}


def extent(folder, path):
    """Return the seconds of the first occurrence, and of the shortest and longest."""
    entry = read(folder)["sections"][path]
    return tuple(entry.get(name) for name in ("first_s", "min_s", "max_s"))


def test_sections_nest_and_add_up(tmp_path, clock):
    with Recorder(tmp_path / "a", {"lr": 0.1}) as run:
        for _ in range(2):
            with run.section("epoch"):
                clock(1)
                with run.section("train"):
                    clock(2)
                with run.section("eval/loss"):
                    clock(4)
        clock(8)
    record = read(tmp_path / "a")
    assert record["status"] == "completed"
    assert record["runtime_s"] == 22
    assert record["run_id"] == "a"
    assert record["config"] == {"lr": 0.1}
    assert totals(record["sections"]) == {
        "epoch": {"seconds": 14, "count": 2},
        "epoch/train": {"seconds": 4, "count": 2},
        "epoch/eval/loss": {"seconds": 8, "count": 2},
    }


def test_decorator_and_tracked_iterable(tmp_path, clock):
    run = Recorder(tmp_path)

    @run.section("step")
    def step(x):
        clock(3)
        return x + 1

    def loader():
        for i in range(3):
            clock(2)
            yield i

    with run:
        assert [step(x) for x in run.track(loader(), "load")] == [1, 2, 3]
    sections = totals(read(tmp_path)["sections"])
    assert sections["step"] == {"seconds": 9, "count": 3}
    assert sections["load"] == {"seconds": 6, "count": 3}  # the wait that finds the end is no item
    assert step.__name__ == "step"


def test_a_decorator_is_relative_to_the_section_it_runs_in(tmp_path):
    with Recorder(tmp_path) as run:
        step = run.section("step")(lambda: None)
        with run.section("epoch"):
            step()
    assert set(read(tmp_path)["sections"]) == {"epoch", "epoch/step"}


def test_threads_start_at_the_run_and_are_summed(tmp_path):
    def work(run):
        with run.section("load"):
            pass

    with Recorder(tmp_path) as run, run.section("epoch"):
        threads = [threading.Thread(target=work, args=(run,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert read(tmp_path)["sections"]["load"]["count"] == 3


def wait_for(condition, seconds=5.0):
    """Wait until `condition` holds, and return what it gave."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("the condition did not come true in time")


def test_open_sections_are_written_with_their_time_so_far(tmp_path):
    with Recorder(tmp_path, write_every_s=0.05) as run, run.section("epoch"), run.section("train"):
        with run.section("batch"):
            time.sleep(0.1)
        record = wait_for(lambda: "epoch/train/batch" in read(tmp_path)["sections"] and read(tmp_path))
        assert record["status"] == "running"
        assert record["runtime_s"] >= record["sections"]["epoch"]["seconds"] > 0
        assert record["sections"]["epoch/train"]["count"] == 1


def test_a_section_without_children_is_visible_while_it_lasts(tmp_path):
    with Recorder(tmp_path, write_every_s=0.05) as run, run.section("long"):
        assert wait_for(lambda: read(tmp_path)["sections"].get("long", {}).get("seconds", 0) > 0.1)


def test_nothing_is_written_between_turns_or_after_the_end(tmp_path):
    with Recorder(tmp_path, write_every_s=60) as run:
        with run.section("a"):
            pass
        assert read(tmp_path)["sections"] == {}
    before = (tmp_path / "run.json").stat().st_mtime_ns
    run._write_while_running()  # the writer's loop ends at once
    assert (tmp_path / "run.json").stat().st_mtime_ns == before


def test_a_thread_outliving_the_run_is_cut_at_its_end(tmp_path):
    inside, leave = threading.Event(), threading.Event()

    def work(run):
        with run.section("late"):
            inside.set()
            leave.wait(5)

    with Recorder(tmp_path) as run:
        thread = threading.Thread(target=work, args=(run,))
        thread.start()
        inside.wait(5)
    time.sleep(0.05)
    leave.set()
    thread.join()
    record = read(tmp_path)
    assert record["sections"]["late"]["seconds"] <= record["runtime_s"]


def test_a_recorder_made_before_a_fork_records_the_child(tmp_path):
    script = f"""
        import os
        from traincost import Recorder
        run = Recorder({str(tmp_path)!r})
        pid = os.fork()
        if pid == 0:
            with run, run.section("child"):
                pass
            os._exit(0)
        os.waitpid(pid, 0)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    assert read(tmp_path)["status"] == "completed"
    assert set(read(tmp_path)["sections"]) == {"child"}


def test_sections_left_out_of_order_are_mended_and_warned_of(tmp_path):
    with Recorder(tmp_path) as run:
        outer = run.section("a")
        outer.__enter__()
        inner = run.section("b")
        inner.__enter__()
        with pytest.warns(UserWarning, match="section 'a' was left out of order"):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        with run.section("after"):
            pass
    assert set(read(tmp_path)["sections"]) == {"a", "a/b", "after"}


def test_a_section_made_in_another_thread_is_refused(tmp_path):
    problems = []

    def work(handle):
        try:
            handle.__enter__()
        except RuntimeError as problem:
            problems.append(str(problem))

    with Recorder(tmp_path) as run:
        thread = threading.Thread(target=work, args=(run.section("a"),))
        thread.start()
        thread.join()
    assert "thread it was made in" in problems[0]


def test_functions_whose_call_returns_at_once_cannot_be_decorated(tmp_path):
    def generator():
        yield 1

    async def coroutine():
        return 1

    run = Recorder(tmp_path)
    for function in (generator, coroutine):
        with pytest.raises(TypeError, match="open the section inside it"):
            run.section("a")(function)


def test_a_device_that_fails_leaves_the_training_its_own_exception(tmp_path):
    broken = []

    def synchronize():
        if broken:
            raise RuntimeError("CUDA error: an illegal memory access")

    def train():
        with Recorder(tmp_path, synchronize=synchronize) as run, run.section("step"):
            broken.append(True)
            raise ZeroDivisionError

    with pytest.warns(UserWarning, match="CUDA error"), pytest.raises(ZeroDivisionError):
        train()
    record = read(tmp_path)
    assert record["status"] == "failed"
    assert record["error"] == {"type": "ZeroDivisionError"}
    assert record["sections"]["step"]["count"] == 1


def test_a_meter_that_cannot_be_read_costs_only_its_columns(tmp_path):
    from traincost.measure.meter import Meter

    def train():
        with Recorder(tmp_path, meter=Meter(8)) as run, run.section("a"):
            pass

    with pytest.raises(ValueError, match="exceeds `models`"):
        train()
    assert read(tmp_path)["status"] == "completed"
    assert set(read(tmp_path)["sections"]) == {"a"}


def test_a_resumed_run_adds_up_its_costs(tmp_path, clock):
    from traincost.measure.meter import Meter

    for seconds, resume in ((3, False), (4, True)):
        with Recorder(tmp_path, meter=Meter(), resume=resume):
            clock(seconds)
    assert read(tmp_path)["legs"] == 2
    cost = read(tmp_path)["cost"]
    assert cost["cost_runtime_s"] == read(tmp_path)["runtime_s"] == 7
    assert cost["cost_runtime_per_run_s"] == 7


def test_a_record_without_counts_can_be_resumed(tmp_path):
    content = {"status": "failed", "runtime_s": 5, "sections": {"a": {"seconds": 2}, "b": 3}}
    (tmp_path / "run.json").write_text(json.dumps(content))
    with Recorder(tmp_path, resume=True) as run, run.section("a"):
        pass
    assert read(tmp_path)["sections"]["a"]["count"] == 1
    assert read(tmp_path)["sections"]["a"]["seconds"] >= 2


@pytest.mark.parametrize("name", ["", "/", "a//b", "/a", "a/", 3, None])
def test_a_section_needs_a_name(tmp_path, name):
    with Recorder(tmp_path) as run, pytest.raises(ValueError, match="section name"):
        run.section(name)


def test_a_section_outside_the_run_is_refused(tmp_path):
    run = Recorder(tmp_path)
    with pytest.raises(RuntimeError, match="before the run has started"), run.section("a"):
        pass
    with run:
        pass
    with pytest.raises(RuntimeError, match="has ended"):
        run.section("a")


def test_a_section_entered_elsewhere_than_it_was_made_is_refused(tmp_path):
    with Recorder(tmp_path) as run:
        handle = run.section("a")
        with run.section("b"), pytest.raises(RuntimeError, match="where you enter it"), handle:
            pass


def test_an_exception_marks_the_run_failed_and_is_raised(tmp_path):
    with pytest.raises(ZeroDivisionError), Recorder(tmp_path) as run, run.section("a"):
        1 / 0  # noqa: B018
    record = read(tmp_path)
    assert record["status"] == "failed"
    assert record["error"] == {"type": "ZeroDivisionError"}
    assert record["sections"]["a"]["count"] == 1


def test_leaving_with_exit_status_zero_completes_the_run(tmp_path):
    with pytest.raises(SystemExit), Recorder(tmp_path):
        sys.exit(0)
    assert read(tmp_path)["status"] == "completed"


def test_a_completed_record_is_refused_and_resume_adds_to_it(tmp_path, clock):
    with Recorder(tmp_path) as run, run.section("a"):
        clock(3)
    with pytest.raises(FileExistsError, match="resume=True"):
        Recorder(tmp_path)
    with Recorder(tmp_path, resume=True) as run:
        run.scores["f1"] = 0.5
        with run.section("a"):
            clock(4)
    record = read(tmp_path)
    assert record["runtime_s"] == 7
    assert totals(record["sections"]) == {"a": {"seconds": 7, "count": 2}}
    assert extent(tmp_path, "a") == (3, 3, 4)


def test_an_unfinished_record_is_started_over_without_resume(tmp_path):
    (tmp_path / "run.json").write_text('{"status": "running", "runtime_s": 50}')
    with Recorder(tmp_path):
        pass
    assert read(tmp_path)["runtime_s"] < 50


def test_values_json_lacks(tmp_path):
    numpy = pytest.importorskip("numpy")
    config = {"path": tmp_path, "clip": math.inf, "n": numpy.int64(3), "object": object(), 1: {"s"}}
    with Recorder(tmp_path, config) as run:
        run.scores |= {"loss": math.nan, "n": 3, "f1": numpy.float32(0.5)}
    record = json.loads((tmp_path / "run.json").read_text(), parse_constant=pytest.fail)
    assert record["scores"] == {"loss": None, "n": 3, "f1": 0.5}
    assert isinstance(record["scores"]["n"], int)
    assert record["config"] == {
        "path": str(tmp_path),
        "clip": "inf",
        "n": 3,
        "object": "builtins.object",  # not its address, which differs in every run
        "1": ["s"],
    }


class Nested(Mapping):
    """A mapping that is no dict, as configuration libraries have."""

    def __init__(self, held):
        self.held = held

    def __getitem__(self, name):
        return self.held[name]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


@dataclass
class Settings:
    lr: float = 0.1
    layers: tuple = (1, 2)


@pytest.mark.parametrize(
    ("config", "recorded"),
    [
        (Namespace(lr=0.1, arch="cnn"), {"lr": 0.1, "arch": "cnn"}),
        (Settings(), {"lr": 0.1, "layers": [1, 2]}),
        (Nested({"optim": Nested({"lr": 0.1})}), {"optim": {"lr": 0.1}}),
        (None, {}),
    ],
)
def test_settings_are_a_mapping_or_have_attributes(tmp_path, config, recorded):
    with Recorder(tmp_path, config):
        pass
    assert read(tmp_path)["config"] == recorded


@pytest.mark.parametrize("config", [["lr"], "lr=0.1", Settings])
def test_settings_of_another_kind_are_refused(tmp_path, config):
    with pytest.raises(TypeError, match=r"`config` must be a mapping of settings such as vars\(args\), got "):
        Recorder(tmp_path, config)


def test_a_config_that_refers_to_itself_is_refused_at_once(tmp_path):
    config = {}
    config["self"] = config
    with pytest.raises(ValueError, match="nested deeper"):
        Recorder(tmp_path, config)


def test_synchronize_runs_before_each_reading(tmp_path, clock):
    with Recorder(tmp_path, synchronize=lambda: clock(1)) as run, run.section("a"):
        pass
    assert read(tmp_path)["sections"]["a"]["seconds"] == 1


def test_a_forked_child_leaves_the_record_alone(tmp_path):
    script = f"""
        import os
        from traincost import Recorder
        with Recorder({str(tmp_path)!r}) as run:
            with run.section("parent"):
                pid = os.fork()
                if pid == 0:
                    with run.section("child"):
                        pass
                    raise SystemExit(3)
                os.waitpid(pid, 0)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    record = read(tmp_path)
    assert record["status"] == "completed"
    assert set(record["sections"]) == {"parent"}


@pytest.mark.parametrize("delay_s", [0.05, 0.15, 0.3])
def test_a_killed_run_leaves_a_whole_record(tmp_path, delay_s):
    script = f"""
        from traincost import Recorder
        with Recorder({str(tmp_path)!r}, write_every_s=0.002) as run:
            print("started", flush=True)
            while True:
                with run.section("epoch"), run.section("train"):
                    run.scores["x"] = list(range(200))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"started\n"
    wait_for(lambda: read(tmp_path)["sections"])
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    record = read(tmp_path)
    assert record["status"] == "running"
    assert record["sections"]["epoch"]["seconds"] >= record["sections"]["epoch/train"]["seconds"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_unwritable_disk_warns_once_and_fails_at_the_end(tmp_path, monkeypatch):
    calls = []

    def full(*args):
        calls.append(args)
        raise OSError(28, "No space left on device")

    def train():
        with Recorder(tmp_path, write_every_s=0.02):
            monkeypatch.setattr(os, "replace", full)
            wait_for(lambda: len(calls) > 3)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(OSError, match="No space"):
            train()
    assert len([w for w in warned if "No space left" in str(w.message)]) == 1
    assert read(tmp_path)["status"] == "running"  # the last that could be written
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_importing_it_is_light():
    code = "import sys; from traincost import Recorder; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"pandas", "torch", "numpy"} & set(loaded.split())


def test_a_meter_is_started_stopped_and_read(tmp_path):
    from traincost.measure.meter import Meter

    with Recorder(tmp_path, meter=Meter()) as run:
        run.cost["cost_inference_epoch_s"] = 0.25
    cost = read(tmp_path)["cost"]
    assert cost["cost_runtime_s"] == pytest.approx(read(tmp_path)["runtime_s"], abs=0.1)
    assert cost["cost_inference_epoch_s"] == 0.25
    assert cost["cost_models"] == 1
    assert "cost_parameters" not in cost


def test_time_measured_elsewhere_is_added_where_it_belongs(tmp_path, clock):
    with Recorder(tmp_path / "a") as run:
        with run.section("epoch"):
            clock(5)
            run.add("train", 3.0, 2)
        run.add("epoch/train", 1.0)
    assert read(tmp_path / "a")["sections"] == {
        "epoch": {"seconds": 5, "count": 1},
        "epoch/train": {"seconds": 4.0, "count": 3},
    }


def test_time_that_cannot_be_added_is_refused(tmp_path):
    run = Recorder(tmp_path / "a")
    with pytest.raises(RuntimeError, match="before the run has started"):
        run.add("a", 1.0)
    with run:
        for seconds in (-1.0, math.nan, math.inf):
            with pytest.raises(ValueError, match="`seconds` must be zero or more"):
                run.add("a", seconds)
        with pytest.raises(ValueError, match="a section name is text"):
            run.add("a//b", 1.0)
    with pytest.raises(RuntimeError, match="has ended"):
        run.add("a", 1.0)
    assert read(tmp_path / "a")["sections"] == {}


def test_the_first_shortest_and_longest_occurrence_are_recorded(tmp_path, clock):
    with Recorder(tmp_path) as run:
        with run.section("once"):
            clock(1)
        for seconds in (9, 2, 5):
            with run.section("epoch"), run.section("eval"):
                clock(seconds)
            clock(1)
    assert extent(tmp_path, "epoch/eval") == extent(tmp_path, "epoch") == (9, 2, 9)
    # Of a single occurrence the seconds say all.
    assert read(tmp_path)["sections"]["once"] == {"seconds": 1, "count": 1}


def test_a_section_inside_itself_is_one_of_its_own(tmp_path, clock):
    def fall(run, depth):
        with run.section("a"):
            clock(1)
            if depth:
                fall(run, depth - 1)

    with Recorder(tmp_path) as run:
        fall(run, 1)
        fall(run, 2)
    assert extent(tmp_path, "a") == (2, 2, 3)
    assert extent(tmp_path, "a/a") == (1, 1, 2)
    assert "first_s" not in read(tmp_path)["sections"]["a/a/a"]


def test_the_first_thread_is_the_one_that_began_first(tmp_path, clock):
    def work(run, seconds):
        for each in seconds:
            with run.section("load"):
                clock(each)

    with Recorder(tmp_path) as run:
        for seconds in ((5, 4), (1, 8)):
            thread = threading.Thread(target=work, args=(run, seconds))
            thread.start()
            thread.join()
        run._roots.reverse()  # in whatever order the threads are met
    assert extent(tmp_path, "load") == (5, 1, 8)


def test_the_wait_that_finds_the_end_is_no_occurrence(tmp_path, clock):
    def loader():
        clock(3)
        yield 0
        clock(2)
        yield 1
        clock(50)

    with Recorder(tmp_path) as run:
        list(run.track(loader(), "load"))
    assert read(tmp_path)["sections"]["load"]["seconds"] == 55
    assert extent(tmp_path, "load") == (3, 2, 3)


def test_single_times_have_an_extent_and_sums_have_none(tmp_path):
    with Recorder(tmp_path) as run:
        for seconds in (2.0, 6.0, 1.0):
            run.add("a", seconds)
            run.add("b", seconds)
        run.add("b", 10.0, count=5)
    assert extent(tmp_path, "a") == (2, 1, 6)
    assert extent(tmp_path, "b") == (None, None, None)


def test_a_resumed_record_without_extents_gets_none(tmp_path):
    old = {"a": {"seconds": 5.0, "count": 4}, "b": {"seconds": 5.0, "count": 1}}
    (tmp_path / "run.json").write_text(json.dumps({"status": "failed", "runtime_s": 9, "sections": old}))
    with Recorder(tmp_path, resume=True) as run:
        run.add("a", 2.0)
        run.add("b", 2.0)
    assert extent(tmp_path, "a") == (None, None, None)
    assert extent(tmp_path, "b") == (5, 2, 5)


def synchronised(folder):
    return read(folder)["sections"]["a"].get("synchronised")


def test_the_record_says_whether_clocks_waited_for_the_device(tmp_path, monkeypatch):
    def device(at_work):
        return types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: at_work))

    for name, torch, synchronize in (
        ("cpu", device(False), None),
        ("cuda", device(True), None),
        ("waits", device(True), lambda: None),
    ):
        monkeypatch.setitem(sys.modules, "torch", torch)
        with Recorder(tmp_path / name, synchronize=synchronize) as run, run.section("a"):
            pass
    assert synchronised(tmp_path / "cpu") is None
    assert synchronised(tmp_path / "cuda") is False
    assert synchronised(tmp_path / "waits") is True
