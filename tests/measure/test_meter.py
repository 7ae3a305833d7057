"""The meter and the inference timer, without torch."""

import subprocess
import sys
import textwrap

import pytest

from traincost.columns import COLUMNS, column
from traincost.measure import meter as cost
from traincost.measure.meter import InferenceTimer, Meter
from traincost.printing import plain, significant, time_unit


@pytest.fixture
def clock(monkeypatch):
    now = [50.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def tick(seconds):
        now[0] += seconds

    return tick


def test_a_search_of_12_models_at_concurrency_2(clock):
    meter = Meter(concurrency=2)
    with meter:
        clock(30)
        meter.models = 12  # a search knows only at its end
    columns = meter.columns()
    assert columns["cost_runtime_s"] == 30
    assert columns["cost_runtime_per_run_s"] == 30 * 2 / 12
    assert (columns["cost_concurrency"], columns["cost_models"]) == (2, 12)


def test_one_model_reports_its_own_wall_clock(clock):
    with Meter() as meter:
        clock(7)
    assert meter.columns()["cost_runtime_per_run_s"] == 7


def test_a_meter_starts_afresh(clock):
    meter = Meter()
    for seconds in (3, 4):
        meter.start()
        clock(seconds)
        meter.stop()
    assert meter.columns()["cost_runtime_s"] == 4


@pytest.mark.parametrize("bad", [0, -1, 1.0, True, None, "2"])
@pytest.mark.parametrize("name", ["concurrency", "models"])
def test_counts_must_be_positive_integers(name, bad):
    with pytest.raises(ValueError, match=f"`{name}` must be an integer of at least 1, got"):
        Meter(**{name: bad})
    meter = Meter()
    with meter:
        setattr(meter, name, bad)
    with pytest.raises(ValueError, match=f"`{name}` must be an integer"):
        meter.columns()


def test_more_workers_than_models_are_refused():
    with pytest.raises(ValueError, match=r"`concurrency` \(3\) exceeds `models` \(2\)"):
        Meter(concurrency=3, models=2)
    with Meter(concurrency=8) as meter:
        pass
    with pytest.raises(ValueError, match=r"`concurrency` \(8\) exceeds `models` \(1\)"):
        meter.columns()


def test_reading_out_of_order_raises_instead_of_reporting_zero():
    meter = Meter()
    with pytest.raises(RuntimeError, match="stopped before it was started"):
        meter.stop()
    meter.start()
    with pytest.raises(RuntimeError, match="read before it was stopped"):
        meter.columns()


def test_no_column_per_model_memory():
    with Meter() as meter:
        pass
    assert [name for name in meter.columns() if "memory" in name] == ["cost_memory_mib"]


def test_the_inference_timer_tells_forward_passes_from_the_epoch(clock):
    timer = InferenceTimer()

    def loader():
        for _ in range(2):
            clock(10)
            yield None

    with timer:
        for _ in timer.batches(loader()):
            clock(3)
    assert timer.columns() == {"cost_inference_batch_s": 3, "cost_inference_epoch_s": 26}


def test_no_test_pass_no_columns(clock):
    timer = InferenceTimer()
    assert timer.columns() == {}
    with timer:
        pass
    assert timer.columns() == {}


def test_a_pass_that_breaks_off_measured_nothing(clock):
    timer = InferenceTimer()

    def interrupted():
        with timer:
            for i, _ in enumerate(timer.batches(range(3))):
                clock(1)
                if i:
                    raise KeyError("broken batch")

    with pytest.raises(KeyError):
        interrupted()
    assert timer.columns() == {}


def test_integers_of_numpy_count():
    numpy = pytest.importorskip("numpy")
    with Meter(numpy.int64(2), numpy.int64(4)) as meter:
        pass
    assert type(meter.columns()["cost_models"]) is int


def test_each_use_of_the_timer_starts_afresh(clock):
    timer = InferenceTimer()
    for seconds in (5, 7):
        with timer:
            for _ in timer.batches([None]):
                clock(seconds)
    assert timer.columns()["cost_inference_batch_s"] == 7


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_memory_counts_the_largest_child(tmp_path, how):
    # In a process of its own: a high-water mark only rises. It is small although this one,
    # which starts it, is not.
    script = f"""
        import multiprocessing
        from traincost.measure.meter import peak_memory

        def allocate():
            block = bytearray(300 * 2**20)
            block[::4096] = b"x" * len(block[::4096])

        if __name__ == "__main__":
            before = peak_memory()
            child = multiprocessing.get_context("{how}").Process(target=allocate)
            child.start()
            child.join()
            print(before, peak_memory())
    """
    path = tmp_path / "child.py"
    path.write_text(textwrap.dedent(script))
    out = subprocess.run([sys.executable, path], check=True, capture_output=True, text=True).stdout
    before, after = map(float, out.split())
    assert before < 100
    assert 300 < after < before + 420


@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1)])
def test_the_unit_of_the_resident_peak(monkeypatch, platform, unit):
    monkeypatch.setattr(sys, "platform", platform)
    assert cost._rss_bytes() == unit


class FakeCuda:
    """torch.cuda as its documentation has it, with two devices' counters."""

    def __init__(self, initialized, peaks):
        self.initialized, self.peaks, self.calls = initialized, peaks, []

    def is_initialized(self):
        return self.initialized

    def device_count(self):
        self.calls.append("device_count")
        return len(self.peaks)

    def max_memory_allocated(self, device):
        return self.peaks[device]

    def reset_peak_memory_stats(self, device):
        self.calls.append(("reset", device))
        self.peaks[device] = 0

    def synchronize(self, device):
        self.calls.append(("synchronize", device))


def fake_torch(monkeypatch, cuda):
    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {"cuda": cuda}))
    return cuda


def test_cuda_reports_its_busiest_device(monkeypatch):
    cuda = fake_torch(monkeypatch, FakeCuda(True, [3 * 2**20, 8 * 2**20]))
    meter = Meter()
    meter.start()
    assert cuda.peaks == [0, 0]
    cuda.peaks[:] = [5 * 2**20, 2**20]
    meter.stop()
    assert meter.columns()["cost_memory_mib"] == 5
    assert ("synchronize", 1) in cuda.calls


def test_cuda_is_left_alone_where_nothing_used_it(monkeypatch):
    cuda = fake_torch(monkeypatch, FakeCuda(False, []))
    with Meter() as meter:
        pass
    assert cuda.calls == []
    assert meter.columns()["cost_memory_mib"] > 1


def test_each_cost_column_is_registered_with_its_meaning():
    with Meter() as meter:
        pass
    for name in [*meter.columns(), "cost_parameters", "cost_inference_batch_s"]:
        assert COLUMNS[name].meaning


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("cost_parameters", 1479684, "1,479,684"),
        ("cost_runtime_s", 3e-7, "300 ns"),
        ("cost_runtime_s", 12.3456, "12.3 s"),
        ("cost_memory_mib", 449.3515, "449"),
        ("cost_memory_mib", 0.5, "0.500"),
        ("cost_models", float("nan"), "–"),
        ("score", 0.0, "0"),
        ("latency_s", 1234.5, "20 min 34 s"),
    ],
)
def test_values_are_printed_by_their_unit(name, value, text):
    assert plain(column(name).text(value)) == text


@pytest.mark.parametrize(
    ("value", "ok"), [(3, True), (3.0, True), (3.5, False), (-1, False), ("3", False), (True, False)]
)
def test_a_count_accepts_counts(value, ok):
    assert column("cost_parameters").accepts(value) is ok


def test_significant_digits_do_not_vanish():
    assert significant(0.00012345) == "0.000123"
    assert significant(-0.5, 2) == "−0.50"
    assert significant(99999.6, 3) == "100,000"


@pytest.mark.parametrize(
    ("typical", "symbol"),
    [
        (7200, "h"),
        (7199, "min"),
        (120, "min"),
        (119, "s"),
        (0.1, "s"),
        (0.09, "ms"),
        (9e-5, "µs"),
        (float("nan"), "s"),
    ],
)
def test_the_unit_of_a_page(typical, symbol):
    assert time_unit(typical).symbol == symbol
