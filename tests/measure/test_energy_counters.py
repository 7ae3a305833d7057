"""Energy by counters: packages and not their parts, wraps, permissions, and counters that run backwards."""

import os
import time
from types import SimpleNamespace

import pytest

from traincost.measure.energy import JOULES_PER_KWH, Counters, Nvml, Rapl
from traincost.measure.meter import Meter


def zone(root, name, label, microjoules=0, limit=262_143_328_850):
    """Write one powercap zone, as Linux shows it."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{label}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text(f"{limit}\n")
    return folder / "energy_uj"


@pytest.fixture
def machine(tmp_path):
    """Two packages with their parts, and psys, which overlaps them."""
    return {
        name: zone(tmp_path, name, label)
        for name, label in {
            "intel-rapl:0": "package-0",
            "intel-rapl:0:0": "core",
            "intel-rapl:0:1": "dram",
            "intel-rapl:1": "package-1",
            "intel-rapl:2": "psys",
            "intel-rapl-mmio:0": "package-0",
        }.items()
    }


class Library:
    """The functions of nvidia-ml-py that are called, over counters of the test: no GPU is needed."""

    def __init__(self, counters):
        self.counters = counters

    def nvmlInit(self):
        pass

    def nvmlDeviceGetCount(self):
        return len(self.counters)

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetUUID(self, handle):
        return f"GPU-{handle}a"

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        if self.counters[handle] is None:
            raise RuntimeError("Not Supported")
        return self.counters[handle]


NO_GPU = SimpleNamespace(problems=[], start=lambda: None, result=lambda: None)


def test_packages_are_summed_and_their_parts_are_not(tmp_path, machine):
    rapl = Rapl(tmp_path)
    rapl.start()
    for path in machine.values():
        path.write_text("3600000000\n")
    rapl.update()
    assert rapl.result() == 2 * 3600  # two packages; not core, dram, psys nor a second interface


def test_a_counter_that_wraps_is_continued(tmp_path):
    path = zone(tmp_path, "intel-rapl:0", "package-0", 900, limit=1000)
    rapl = Rapl(tmp_path)
    rapl.start()
    path.write_text("100")
    rapl.update()
    assert rapl.result() == pytest.approx(200e-6)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_without_permission_the_reason_is_one_line(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0").chmod(0)
    assert_no_energy(tmp_path, "may not be read by this user")


def test_a_counter_that_is_no_number_is_no_energy(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0").write_text("<unsupported>")
    rapl = Rapl(tmp_path)
    rapl.start()
    assert rapl.result() is None


def test_a_counter_that_cannot_be_read_is_named(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0").unlink()
    assert_no_energy(tmp_path, "cannot be read: No such file")


def assert_no_energy(root, reason):
    rapl = Rapl(root)
    rapl.start()
    rapl.update()
    assert rapl.result() is None
    assert reason in rapl.problems[0]
    assert "\n" not in rapl.problems[0]
    assert len(rapl.problems) == 1


def test_a_package_that_vanishes_leaves_no_number(tmp_path):
    path = zone(tmp_path, "intel-rapl:0", "package-0", 5)
    rapl = Rapl(tmp_path)
    rapl.start()
    path.unlink()
    rapl.update()
    assert rapl.result() is None


def test_gpus_are_counted_in_millijoules(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    library = Library([1000, 5000, None])
    nvml = Nvml(library)
    nvml.start()
    library.counters = [4000, 6000, None]
    assert nvml.result() == pytest.approx(4.0)
    assert "GPU 2 has no energy counter: Not Supported" in nvml.problems


@pytest.mark.parametrize("visible", ["1", "GPU-1a", " 1 "])
def test_only_the_gpus_of_the_process_are_counted(monkeypatch, visible):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    library = Library([0, 0])
    nvml = Nvml(library)
    nvml.start()
    library.counters = [9000, 1000]
    assert nvml.result() == pytest.approx(1.0)


def test_a_gpu_counter_that_ran_backwards_is_dropped(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    library = Library([5000])
    nvml = Nvml(library)
    nvml.start()
    library.counters = [10]
    assert nvml.result() is None
    assert "ran backwards: the driver was loaded again" in nvml.problems[0]


def test_a_missing_driver_is_a_problem_and_no_error():
    class Broken(Library):
        def nvmlInit(self):
            raise RuntimeError("Driver Not Loaded")

    nvml = Nvml(Broken([]))
    nvml.start()
    assert nvml.result() is None
    assert nvml.problems == ["NVML cannot be used: Driver Not Loaded"]


def test_the_meter_has_energy_with_its_boundary(tmp_path, machine):
    counters = Counters(rapl=Rapl(tmp_path), nvml=NO_GPU)
    with Meter(energy=counters) as meter:
        machine["intel-rapl:0"].write_text("3600000000")
    columns = meter.columns()
    assert columns["cost_energy_cpu_kwh"] == columns["cost_energy_kwh"] == 3600 / JOULES_PER_KWH
    assert "cost_energy_gpu_kwh" not in columns


def test_a_machine_without_counters_has_no_energy_column(tmp_path):
    with Meter(energy=Counters(rapl=Rapl(tmp_path / "none"), nvml=NO_GPU)) as meter:
        pass
    assert not any("energy" in name for name in meter.columns())


def test_a_counter_that_wraps_often_is_read_during_the_run(tmp_path):
    path = zone(tmp_path, "intel-rapl:0", "package-0", 0, limit=1000)
    counters = Counters(rapl=Rapl(tmp_path), nvml=NO_GPU, every_s=0.01)
    counters.start()
    for microjoules in (600, 200, 800):  # 600, then a wrap to 1200, then 1800
        (tmp_path / "next").write_text(str(microjoules))
        (tmp_path / "next").replace(path)  # at once, as the kernel's own: never read while it is empty
        waited = time.monotonic() + 2
        while counters._rapl._last[str(path.parent)] != microjoules and time.monotonic() < waited:
            pass
    counters.stop()
    assert counters.columns()["cost_energy_kwh"] == pytest.approx(1800e-6 / JOULES_PER_KWH)
