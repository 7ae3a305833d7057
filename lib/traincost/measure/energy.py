"""Energy that counters measured while a run went: of GPUs by NVML, of CPU packages by Linux RAPL.

The boundary of each number is in its column: ``cost_energy_gpu_kwh`` are whole GPUs (other tenants and MIG
slices among them), ``cost_energy_cpu_kwh`` CPU packages. Memory, fans, the power supply, cooling and idle
machines are in neither. A counter that cannot be read has no column, and `Counters.problems` says why.

Only the standard library; NVML needs the extra ``energy`` (nvidia-ml-py).
"""

import contextlib
import importlib.util
import os
import re
import sys
import threading

JOULES_PER_KWH = 3.6e6
POWERCAP = "/sys/class/powercap"
# A RAPL counter of 262,143 J wraps in 15 minutes at 300 W, and a second wrap could not be seen.
EVERY_S = 30.0


class Rapl:
    """The energy of CPU packages, by the powercap files of Linux below `root`."""

    def __init__(self, root=POWERCAP):
        self.problems = []
        self._zones = {path: limit for path in self._packages(root) if (limit := self._limit(path))}
        self._last, self.joules = {}, 0.0

    def _packages(self, root):
        """Return the folders of packages: not their parts, which they contain, nor psys, which overlaps."""
        try:
            names = os.listdir(root)
        except OSError:
            return []
        top = sorted(name for name in names if re.fullmatch(r"intel-rapl:\d+", name))
        found = [os.path.join(root, name) for name in top]
        return [path for path in found if self._text(os.path.join(path, "name")).startswith("package")]

    def _text(self, path):
        try:
            with open(path, encoding="ascii") as file:
                return file.read().strip()
        except PermissionError:
            self._note(f"{path} may not be read by this user: run as root, or let an administrator chmod it")
        except (OSError, UnicodeDecodeError) as problem:
            self._note(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}")
        return ""

    def _note(self, problem):
        if problem not in self.problems:
            self.problems.append(problem)

    def _microjoules(self, path, name="energy_uj"):
        text = self._text(os.path.join(path, name))
        return int(text) if text.isdecimal() else None

    def _limit(self, path):
        is_read = self._microjoules(path) is not None
        return self._microjoules(path, "max_energy_range_uj") if is_read else None

    def start(self):
        """Begin to count."""
        self.joules = 0.0
        self._last = {path: self._microjoules(path) for path in self._zones}

    def update(self):
        """Add what was used since the last reading; a counter that fell has wrapped once."""
        for path, limit in self._zones.items():
            now, before = self._microjoules(path), self._last[path]
            if now is None or before is None:
                self._last[path] = None
                continue
            self.joules += ((now - before) % limit if now < before else now - before) / 1e6
            self._last[path] = now

    def result(self):
        """Return joules since the start, or None where a package could not be read throughout."""
        if not self._zones or None in self._last.values():
            return None
        return self.joules


class Nvml:
    """The energy of GPUs, by the counter of NVML (Volta and later): millijoules since the driver was loaded.

    `library` has the functions of nvidia-ml-py; it itself if left out.
    """

    def __init__(self, library=None):
        self.problems, self._first, self._library = [], {}, None
        try:
            library = library or _nvml()
            if library is None:
                return
            library.nvmlInit()
            self._library = library
        except Exception as problem:  # of a driver that is not there, in as many ways as there are versions
            self.problems.append(f"NVML cannot be used: {problem}")

    def start(self):
        """Begin to count."""
        self._first = self._read()

    def _read(self):
        """Return (index, UUID) of each GPU to its counter; a GPU without one is noted."""
        if self._library is None:
            return {}
        found = {}
        for index in range(self._library.nvmlDeviceGetCount()):
            try:
                handle = self._library.nvmlDeviceGetHandleByIndex(index)
                uuid = self._library.nvmlDeviceGetUUID(handle)
                uuid = uuid.decode() if isinstance(uuid, bytes) else uuid
                found[index, uuid] = self._library.nvmlDeviceGetTotalEnergyConsumption(handle)
            except Exception as problem:
                self.problems.append(f"GPU {index} has no energy counter: {problem}")
        return found

    def result(self):
        """Return joules of the GPUs that this process may use, or None."""
        if self._library is None or not self._first:
            return None
        now, joules, used = self._read(), 0.0, _visible(self._first)
        for gpu in used:
            if gpu not in now or now[gpu] < self._first[gpu]:
                self.problems.append(
                    f"the energy counter of GPU {gpu[0]} ran backwards: the driver was loaded again, so the "
                    "energy of GPUs is not known"
                )
                return None
            joules += (now[gpu] - self._first[gpu]) / 1e3
        return joules if used else None


def _nvml():
    if importlib.util.find_spec("pynvml") is None:
        return None
    import pynvml

    return pynvml


def _visible(gpus):
    """Return those of NVML's GPUs that CUDA shows this process: by UUID, as the two may number otherwise."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        uuids = {
            f"GPU-{uuid}"
            for i in range(torch.cuda.device_count())
            if (uuid := getattr(torch.cuda.get_device_properties(i), "uuid", None))
        }
        if uuids:
            return [gpu for gpu in gpus if gpu[1] in uuids]
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return list(gpus)
    wanted = [part.strip() for part in listed.split(",")]
    return [gpu for gpu in gpus if str(gpu[0]) in wanted or any(w and gpu[1].startswith(w) for w in wanted)]


class Counters:
    """What the counters of this machine show from start to stop.

    Parameters
    ----------
    rapl, nvml : optional
        `Rapl` and `Nvml` of this machine, if left out.
    every_s : float
        Time between two readings of RAPL, whose counters wrap.
    """

    def __init__(self, rapl=None, nvml=None, every_s=EVERY_S):
        self._rapl, self._nvml = rapl or Rapl(), nvml or Nvml()
        self._every_s, self._ended, self._thread = every_s, None, None
        self._columns = {}

    @property
    def problems(self):
        """Why counters could not be read, a line each."""
        return [*self._rapl.problems, *self._nvml.problems]

    def start(self):
        """Begin to count; a thread reads the counters that wrap."""
        self._columns = {}
        self._rapl.start()
        self._nvml.start()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(self._ended,), name="energy", daemon=True)
        if self._rapl._zones:
            self._thread.start()

    def _watch(self, ended):
        while not ended.wait(self._every_s):
            with contextlib.suppress(Exception):  # a measurement must not end a training
                self._rapl.update()

    def stop(self):
        """Stop counting."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._rapl.update()
        parts = {"gpu": self._nvml.result(), "cpu": self._rapl.result()}
        known = {part: joules / JOULES_PER_KWH for part, joules in parts.items() if joules is not None}
        self._columns = {f"cost_energy_{part}_kwh": kwh for part, kwh in known.items()}
        if known:
            self._columns = {"cost_energy_kwh": sum(known.values()), **self._columns}

    def columns(self):
        """Return ``cost_energy_kwh`` and its parts by boundary; none of what was not measured."""
        return dict(self._columns)
