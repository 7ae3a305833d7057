"""Measure a run: nested timed sections, written to ``run.json`` as the run goes.

Contract: standard library only, imported in milliseconds, safe to leave in a training
script. Whatever happens to the process, the record on disk is whole: it is written to a
temporary file and renamed, at the start, every ``write_every_s`` seconds, and at the end; by
a thread of its own, so that a long section that has not ended is in it too. The layout of the
record is described in the README, "The run record".
"""

import json
import math
import operator
import os
import platform
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from traincost.measure.sections import UNKNOWN, Deferred, Section, Thread, Total, checked_name, joined

FORMAT = "traincost/run/1"
RECORD_NAME = "run.json"
MAX_DEPTH = 50  # of nested config values; a deeper one is almost surely a cycle


class Recorder:
    """Record one run into ``directory/run.json``.

    Parameters
    ----------
    directory : path
        Folder of the run; made if absent. Its name is the run's id unless `run_id` is given.
    config : mapping, argparse.Namespace or dataclass
        The settings of the run, nested as you like. Values that JSON lacks are written as text.
    run_id : str, optional
        The run's name; it should be unique in its collection.
    resume : bool
        Continue the record found in `directory`: its runtime, sections, costs and scores are
        kept and added to. Without it a completed record is refused, and an unfinished one is
        started over.
    synchronize : callable, optional
        Called before each clock reading, for example ``torch.cuda.synchronize``. Without it, where
        torch works on a device, the record says that sections were not ``synchronised``: what was
        launched in one may be waited for in another.
    meter : traincost.measure.meter.Meter, optional
        Started and stopped with the run; its columns join ``cost``. Set ``run.model`` to the
        scored model to have its parameters counted. A resumed run adds to the runtime that its
        record has, and keeps the larger memory peak.
    write_every_s : float
        Time between two writes while the run goes.

    Attributes
    ----------
    config, cost, scores, compute : dict
        Written with the record; fill them at any time.
    machine : dict
        ``host``, ``device`` and ``devices`` where they are other than what is found
        (`machine`).

    Raises
    ------
    FileExistsError
        `directory` holds a completed record and `resume` is not set.
    TypeError
        `config` is no mapping, and has no attributes.

    Examples
    --------
    >>> import tempfile
    >>> with Recorder(tempfile.mkdtemp(), config={"lr": 0.1}) as run:
    ...     with run.section("epoch"):
    ...         for batch in run.track(range(3), "load"):
    ...             with run.section("train"):
    ...                 pass
    ...     run.scores["test_accuracy"] = 0.93
    """

    def __init__(
        self,
        directory,
        config=None,
        *,
        run_id=None,
        resume=False,
        synchronize=None,
        meter=None,
        write_every_s=5.0,
    ):
        self.directory = Path(directory)
        self.path = self.directory / RECORD_NAME
        self.run_id = self.directory.resolve().name if run_id is None else str(run_id)
        self.config = _settings(config)
        self.cost, self.scores, self.compute = {}, {}, {}
        self.machine = {}
        self.model = None
        self.meter = meter
        self._clock = _synchronized_clock(synchronize)
        self._synchronizes = synchronize is not None
        self._write_every_s = float(write_every_s)
        self._status = "running"
        self._error = None
        self._started_at = None
        self._started = None
        self._runtime_s = None
        self._earlier_s, self._legs = 0.0, 1
        self._earlier_sections, self._earlier_cost = {}, {}
        self._roots = []
        self._local = threading.local()
        self._lock = threading.Lock()
        self._pid = None
        self._ended = threading.Event()
        self._warned = set()
        plain(self.config)  # a config that cannot be written fails here, not hours later
        self._continue(_existing_record(self.path), resume)

    def _continue(self, earlier, resume):
        if earlier is None:
            return
        if not resume:
            if earlier.get("status") == "completed":
                raise FileExistsError(
                    f"{self.path} is the record of a completed run; choose another directory, "
                    "or pass resume=True to continue it"
                )
            return
        self.run_id = earlier.get("run_id", self.run_id)
        self._started_at = earlier.get("started_at")
        self._earlier_s = float(earlier.get("runtime_s") or 0.0)
        legs = earlier.get("legs")
        self._legs = 1 + (legs if isinstance(legs, int) and legs > 0 else 1)
        for name in ("cost", "scores", "compute"):
            getattr(self, name).update(earlier.get(name) or {})
        self._earlier_cost = dict(self.cost)
        for path, entry in (earlier.get("sections") or {}).items():
            if isinstance(entry, dict) and isinstance(entry.get("seconds"), int | float):
                self._earlier_sections[path] = Total.of_record(entry)

    # -- the run ---------------------------------------------------------------------------

    def __enter__(self):
        if self._started is not None:
            raise RuntimeError(f"the recorder of {self.run_id!r} has been started already")
        self.directory.mkdir(parents=True, exist_ok=True)
        self._pid = os.getpid()
        self._started_at = self._started_at or datetime.now(UTC).isoformat(timespec="seconds")
        if self.meter is not None:
            self.meter.start()
        self._started = self._clock()
        self._write()  # a directory that cannot be written is known before the training starts
        threading.Thread(target=self._write_while_running, daemon=True, name="traincost").start()
        return self

    def __exit__(self, kind, value, traceback):
        if os.getpid() != self._pid:
            return False  # a forked child unwinding: the record is its parent's
        finished = kind is None or (kind is SystemExit and value.code in (None, 0))
        self._status = "completed" if finished else "failed"
        self._error = None if finished else {"type": kind.__name__}
        problems = []
        for step in (self._stop_clock, self._read_meter, self._write_last):
            try:
                step()
            except Exception as problem:  # whatever it is, the record must still be written
                problems.append(problem)
        if problems and finished:
            raise problems[0]
        for problem in problems:
            # The training's own exception is what the user must see.
            warnings.warn(f"the record {self.path} could not be completed: {problem}", stacklevel=2)
        return False

    def _stop_clock(self):
        self._runtime_s = time.perf_counter() - self._started
        self._runtime_s = self._clock() - self._started  # may raise: a device that failed

    def _read_meter(self):
        if self.meter is None:
            return
        self.meter.stop()
        columns = self.meter.columns(self.model)
        for name, combine in _RESUMED.items():
            if name in columns and isinstance(self._earlier_cost.get(name), int | float):
                columns[name] = combine(self._earlier_cost[name], columns[name])
        self.cost.update(columns)

    def _write_last(self):
        self._ended.set()
        self._local = threading.local()  # a section entered from now on is refused
        with self._lock:
            self._write()

    # -- sections --------------------------------------------------------------------------

    def section(self, name):
        """Time a section: a context manager, or a decorator of a function.

        Parameters
        ----------
        name : str
            Relative to the enclosing section of the same thread. Slashes nest.

        Raises
        ------
        ValueError
            The name is empty or has an empty part between slashes.
        RuntimeError
            The run has not started, or has ended.
        """
        try:
            thread = self._local.thread
        except AttributeError:
            # Used as a decorator before the run starts, the name is resolved at each call.
            if self._started is None:
                return Deferred(self, checked_name(name))
            thread = self._new_thread()
        node = thread.node
        return node.children.get(name) or node.child(checked_name(name))

    def track(self, iterable, name):
        """Yield from `iterable`, timing each wait for the next item as section `name`.

        The last wait, which finds the end, adds its seconds but is no occurrence.
        """
        iterator = iter(iterable)
        while True:
            section = self.section(name)
            before = section.extent
            with section:
                try:
                    item = next(iterator)
                except StopIteration:
                    section.count -= 1
                    break
            yield item
        section.extent = before

    def add(self, name, seconds, count=1):
        """Add time that was measured elsewhere, as in another process, to section `name`.

        Parameters
        ----------
        name : str
            As for `section`.
        seconds : float
        count : int
            Occurrences that took them.

        Raises
        ------
        ValueError
            `seconds` is negative or not finite, or the name is none.
        RuntimeError
            The run has not started, or has ended.
        """
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"`seconds` must be zero or more, and finite, got {seconds!r}")
        section = self.section(name)
        if isinstance(section, Deferred):
            section.refuse()
        section.seconds += seconds
        if count == 1:
            section.occurred(time.perf_counter(), seconds)  # the first added counts as the first
        elif count > 1:
            section.extent = UNKNOWN  # of several at once, none is known
        section.count += count

    def _new_thread(self):
        if self._runtime_s is not None:
            raise RuntimeError(f"the run {self.run_id!r} has ended; its sections are closed")
        thread = self._local.thread = Thread(threading.get_ident())
        thread.node = Section(self, thread, "", None)
        self._roots.append(thread.node)
        return thread

    # -- the record ------------------------------------------------------------------------

    def record(self):
        """Return the record as it stands, open sections with their time so far."""
        now = time.perf_counter()  # without waiting for a device: this is no measurement's end
        if self._runtime_s is not None:
            now = self._started + self._runtime_s
        runtime_s = now - self._started if self._runtime_s is None else self._runtime_s
        totals = {}
        for root in list(self._roots):
            root.collect("", now, totals)
        synchronised = self._synchronised()
        sections = {
            path: joined(self._earlier_sections.get(path), totals.get(path)).entry(synchronised)
            for path in {**self._earlier_sections, **totals}
        }
        record = {
            "format": FORMAT,
            "run_id": self.run_id,
            "status": self._status,
            "started_at": self._started_at,
            "runtime_s": self._earlier_s + runtime_s,
            "config": plain(dict(self.config)),
            "sections": sections,
            "cost": plain(dict(self.cost), null_non_finite=True),
            "scores": plain(dict(self.scores), null_non_finite=True),
        }
        if self._legs > 1:
            record["legs"] = self._legs
        if self.compute:
            record["compute"] = plain(self.compute, null_non_finite=True)
        if self._error:
            record["error"] = self._error
        return record | machine() | plain(dict(self.machine))

    def _synchronised(self):
        """Say whether clocks waited for the device; None where there is nothing to wait for."""
        if self._synchronizes:
            return True
        return False if _is_device_at_work() else None

    def _write(self):
        temporary = self.directory / f".{RECORD_NAME}.{self._pid}.tmp"
        try:
            temporary.write_text(
                json.dumps(self.record(), ensure_ascii=False, allow_nan=False, indent=1),
                encoding="utf-8",
                errors="backslashreplace",
            )
            os.replace(temporary, self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _write_while_running(self):
        while not self._ended.wait(self._write_every_s):
            try:
                with self._lock:
                    if not self._ended.is_set():
                        self._write()
            except (OSError, RecursionError, RuntimeError, TypeError, ValueError) as problem:
                # A full disk must not end the training, nor a value that changes while it is
                # written: say so, try again at the next turn.
                self._warn_once("write", f"{self.path} could not be written: {problem}")

    def _warn_once(self, about, message):
        if about not in self._warned:
            self._warned.add(about)
            warnings.warn(message, stacklevel=4)


# How a resumed run's costs join those in its record.
_RESUMED = {
    **dict.fromkeys(("cost_runtime_s", "cost_runtime_per_run_s", "cost_energy_kwh"), operator.add),
    **dict.fromkeys(("cost_energy_gpu_kwh", "cost_energy_cpu_kwh"), operator.add),
    "cost_memory_mib": max,
}


def _synchronized_clock(synchronize):
    if synchronize is None:
        return time.perf_counter

    def clock():
        synchronize()
        return time.perf_counter()

    return clock


def _is_device_at_work():
    """Say whether torch, where it is loaded, has a device whose work the clock does not wait for."""
    torch = sys.modules.get("torch")
    try:
        if any(getattr(torch, name).is_initialized() for name in ("cuda", "xpu") if hasattr(torch, name)):
            return True
        return torch.backends.mps.is_available() and torch.mps.current_allocated_memory() > 0
    except (AttributeError, RuntimeError):  # torch is not loaded, half loaded, or of another version
        return False


def _existing_record(path):
    """Return the record at `path`, or None where there is none that can be read."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def machine():
    """Return ``host``, ``device`` (the type of accelerators) and ``devices`` (their number), as far as known.

    Nothing is loaded or started for it. The devices are those of the job: a process works on one, and
    ``WORLD_SIZE`` says how many there are.
    """
    found = {"host": platform.node()}
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        if cuda is not None and cuda.is_initialized():
            found["device"] = cuda.get_device_name()
            found["devices"] = int(os.environ.get("WORLD_SIZE") or 1)
    except Exception:  # a device that failed, or a variable that is no number
        pass
    return {name: value for name, value in found.items() if value}


# -- values as JSON has them -----------------------------------------------------------------------


def _settings(config):
    """Return settings as a dict: of a mapping, or the attributes of a Namespace or a dataclass."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "__dict__") and not isinstance(config, type):
        return dict(vars(config))
    raise TypeError(f"`config` must be a mapping of settings such as vars(args), got {type(config).__name__}")


def plain(value, null_non_finite=False, depth=0):
    """Return `value` as JSON has it: the record must be readable by any program.

    A non-finite number becomes null among measurements, and text among settings, where
    ``inf`` is a setting like any other.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"values nested deeper than {MAX_DEPTH} cannot be recorded")
    if value is None or (isinstance(value, str | bool | int) and type(value).__module__ == "builtins"):
        return value
    if type(value).__module__ in ("numpy", "torch") and hasattr(value, "item"):
        return plain(_item(value), null_non_finite, depth + 1)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return None if null_non_finite else repr(float(value))
    if isinstance(value, Mapping):
        return {str(k): plain(v, null_non_finite, depth + 1) for k, v in value.items()}
    if isinstance(value, set | frozenset | Sequence) and not isinstance(value, str | bytes | bytearray):
        ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain(v, null_non_finite, depth + 1) for v in ordered]
    return _text(value)


def _item(value):
    """Return the Python number in a numpy scalar or a one-element tensor."""
    try:
        return value.item()
    except (TypeError, ValueError, RuntimeError):
        return _text(value)


def _text(value):
    text = str(value)
    # An address differs in every run and would make each run a level of its own.
    return f"{type(value).__module__}.{type(value).__qualname__}" if " at 0x" in text else text
