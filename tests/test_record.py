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

import pytest

from traincost.record import Recorder


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
    assert record["sections"] == {
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
    sections = read(tmp_path)["sections"]
    assert sections["step"] == {"seconds": 9, "count": 3}
    assert sections["load"] == {"seconds": 6, "count": 4}  # the last wait found the end
    assert step.__name__ == "step"


def test_decorator_inside_a_section_is_relative_to_where_it_is_called(tmp_path):
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


def test_open_sections_are_written_with_their_time_so_far(tmp_path, clock):
    with Recorder(tmp_path, write_every_s=5) as run, run.section("epoch"), run.section("train"):
        clock(7)
        with run.section("batch"):
            clock(1)
        record = read(tmp_path)
        assert record["status"] == "running"
        assert record["runtime_s"] == 8
        assert record["sections"]["epoch"] == {"seconds": 8, "count": 1}
        assert record["sections"]["epoch/train/batch"] == {"seconds": 1, "count": 1}


def test_it_writes_no_more_often_than_asked(tmp_path, clock):
    with Recorder(tmp_path, write_every_s=5) as run:
        for _ in range(4):
            with run.section("a"):
                clock(2)
        assert read(tmp_path)["sections"]["a"]["count"] == 3  # at 6 s; not yet at 8 s


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
    assert record["sections"] == {"a": {"seconds": 7, "count": 2}}


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
                        run._due = 0
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
        with Recorder({str(tmp_path)!r}, write_every_s=0) as run:
            print("started", flush=True)
            while True:
                with run.section("epoch"), run.section("train"):
                    run.scores["x"] = list(range(200))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"started\n"
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    record = read(tmp_path)
    assert record["status"] == "running"
    assert record["sections"]["epoch"]["seconds"] >= record["sections"]["epoch/train"]["seconds"]


def test_a_disk_that_cannot_be_written_warns_once_and_fails_at_the_end(tmp_path, clock, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    def train():
        with Recorder(tmp_path, write_every_s=1) as run:
            monkeypatch.setattr(os, "replace", full)
            for _ in range(3):
                with run.section("a"):
                    clock(2)

    with pytest.warns(UserWarning, match="No space") as warned, pytest.raises(OSError, match="No space"):
        train()
    assert len(warned) == 1
    assert read(tmp_path)["status"] == "running"  # the last that could be written
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_importing_it_is_light():
    code = "import sys; from traincost import Recorder; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"pandas", "torch", "numpy"} & set(loaded.split())


def test_a_meter_is_started_stopped_and_read(tmp_path):
    from traincost.cost import Meter

    with Recorder(tmp_path, meter=Meter()) as run:
        run.cost["cost_inference_epoch_s"] = 0.25
    cost = read(tmp_path)["cost"]
    assert cost["cost_runtime_s"] == pytest.approx(read(tmp_path)["runtime_s"], abs=0.1)
    assert cost["cost_inference_epoch_s"] == 0.25
    assert cost["cost_models"] == 1
    assert "cost_parameters" not in cost
