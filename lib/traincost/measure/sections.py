"""Timed sections of a run: their clocks, how they nest in each thread, and their sums."""

import functools
import math
import time
from threading import get_ident

# Of a function's code: generator, coroutine, asynchronous generator (inspect's CO_ flags).
_SUSPENDED = 0x20 | 0x80 | 0x200
# The extent of a section's occurrences: when the first began, its seconds, and the fewest and the
# most seconds of any. One tuple, so that the thread which writes never sees half of it.
NONE_YET, UNKNOWN = None, ()


def _widened(extent, began, seconds):
    if extent is UNKNOWN:
        return UNKNOWN
    if extent is NONE_YET:
        return (began, seconds, seconds, seconds)
    earliest, first, least, most = extent
    if began < earliest:
        earliest, first = began, seconds
    return (earliest, first, min(least, seconds), max(most, seconds))


class Total:
    """Seconds, count and extent of a section over the threads that it was met in."""

    __slots__ = ("count", "extent", "seconds")

    def __init__(self, seconds=0.0, count=0, extent=NONE_YET):
        self.seconds, self.count, self.extent = seconds, count, extent

    @classmethod
    def of_record(cls, entry):
        """Return what an earlier record has of a section; its first occurrence comes before all others."""
        seconds, count = float(entry["seconds"]), int(entry.get("count") or 0)
        spread = [entry.get(name) for name in ("first_s", "min_s", "max_s")]
        if all(isinstance(value, int | float) for value in spread):
            return cls(seconds, count, (-math.inf, *map(float, spread)))
        return cls(seconds, count, (-math.inf, *[seconds] * 3) if count == 1 else UNKNOWN)

    def add(self, seconds, count, extent):
        """Add what another thread, or a later leg, measured."""
        self.seconds += seconds
        self.count += count
        if extent is UNKNOWN or self.extent is UNKNOWN:
            self.extent = UNKNOWN
        elif extent is not NONE_YET:
            began, first, least, most = extent
            self.extent = _widened(_widened(_widened(self.extent, began, first), began, least), began, most)

    def entry(self, synchronised):
        """Return the section as the record has it; of a single occurrence, the seconds say all."""
        entry = {"seconds": self.seconds, "count": self.count}
        if self.extent and self.count > 1:
            entry |= zip(("first_s", "min_s", "max_s"), self.extent[1:], strict=True)
        return entry if synchronised is None else entry | {"synchronised": synchronised}


def joined(earlier, now):
    """Return the sum of what earlier legs and this one measured of a section; either may be None."""
    if earlier is None:
        return now
    total = Total(earlier.seconds, earlier.count, earlier.extent)
    if now is not None:
        total.add(now.seconds, now.count, now.extent)
    return total


class Thread:
    """The section that a thread is in."""

    __slots__ = ("ident", "node")

    def __init__(self, ident):
        self.ident = ident


class Section:
    """A section under one parent in one thread; entering it starts its clock."""

    __slots__ = (
        *("children", "clock", "count", "extent", "name"),
        *("parent", "recorder", "seconds", "started", "thread"),
    )

    def __init__(self, recorder, thread, name, parent):
        self.recorder, self.thread, self.name, self.parent = recorder, thread, name, parent
        self.clock = recorder._clock
        self.children = {}
        self.seconds, self.count, self.started = 0.0, 0, None
        self.extent = NONE_YET

    def child(self, name):
        child = self.children[name] = Section(self.recorder, self.thread, name, self)
        return child

    def __enter__(self):
        thread = self.thread
        if thread.node is not self.parent or thread.ident != get_ident():
            raise RuntimeError(
                f"section {self.name!r} belongs to the section and thread it was made in; "
                "call section() where you enter it"
            )
        thread.node = self
        self.started = self.clock()
        return self

    def __exit__(self, kind, value, traceback):
        try:
            now = self.clock()
        except Exception:
            now = time.perf_counter()
            if kind is None:  # else the training's own exception is what the user must see
                raise
        finally:
            started, self.started = self.started, None
            if self.thread.node is self:
                self.thread.node = self.parent
            else:
                self._left_out_of_order()
        seconds = now - started
        self.seconds += seconds
        self.occurred(started, seconds)
        self.count += 1

    def occurred(self, began, seconds):
        """Note how long one occurrence took."""
        extent = self.extent
        # Nearly all lie within: they are told here, without a call.
        if not extent or not extent[2] <= seconds <= extent[3]:
            self.extent = _widened(extent, began, seconds)

    def _left_out_of_order(self):
        """Return to the parent if this section is still open above, and warn."""
        node = self.thread.node
        while node is not None and node is not self:
            node = node.parent
        if node is self:
            self.thread.node = self.parent
        self.recorder._warn_once(
            "order",
            f"section {self.name!r} was left out of order: asyncio tasks, or a generator that yields "
            "inside a section, have mixed the nesting; use a thread each, or open sections between yields",
        )

    def __call__(self, function):
        return _timed(self.recorder, self.name, function)

    def collect(self, prefix, now, totals):
        """Add this subtree to `totals`; a path met in several threads is summed."""
        for name, child in list(self.children.items()):
            path = prefix + name
            seconds, count = child.so_far(now)
            if count:
                totals.setdefault(path, Total()).add(seconds, count, child.extent)
            child.collect(path + "/", now, totals)

    def so_far(self, now):
        """Return seconds and count, an occurrence that is still open included."""
        while True:
            started, seconds, count = self.started, self.seconds, self.count
            if self.started is started:  # else another thread left it between the readings
                break
        if started is None:
            return seconds, count
        return seconds + max(0.0, now - started), count + 1


class Deferred:
    """``@run.section("name")`` written before the run has started."""

    def __init__(self, recorder, name):
        self.recorder, self.name = recorder, name

    def __call__(self, function):
        return _timed(self.recorder, self.name, function)

    def __enter__(self):
        self.refuse()

    def refuse(self):
        """Say that the run has not started."""
        raise RuntimeError(
            f"section {self.name!r} entered before the run has started; "
            "enter the recorder first: with Recorder(...) as run"
        )

    def __exit__(self, *exception):
        return False


def _timed(recorder, name, function):
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & _SUSPENDED:
        raise TypeError(
            f"section {name!r} cannot decorate a generator or coroutine function, whose call returns "
            "at once; open the section inside it"
        )

    @functools.wraps(function)
    def timed(*args, **kwargs):
        with recorder.section(name):
            return function(*args, **kwargs)

    return timed


def checked_name(name):
    """Return the name of a section, or say what is wrong with it."""
    if not isinstance(name, str) or not all(name.split("/")):
        raise ValueError(f"a section name is text whose parts between slashes are not empty, got {name!r}")
    return name
