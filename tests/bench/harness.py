"""Timings side by side, and the table and file that they end in.

Everything that is compared is run in turn, in one session, so that what else the machine does
falls on all of it alike; medians are compared. A measurement is an entry of the results:

``work``, ``against``: what was done, and what it is held against;
``role``: ``floor`` (what no program can beat), ``peer`` (another that does it), or ``limit``
(a number by itself);
``ours``, ``theirs``: medians, in ``unit``; None where there is no other, or it is not installed;
``value``: of a floor ours/theirs, of a peer theirs/ours (times faster), of a limit ours itself;
``bound``, ``target``: ``at most`` or ``at least`` what, or None where nothing is asked;
``met``: whether it is, or None where nothing could be said.
"""

import importlib.metadata
import importlib.util
import json
import os
import platform
import random
import statistics
import time
from dataclasses import asdict, dataclass

FORMAT = "traincost/benchmark/1"
N = 5  # repetitions, after one that warms caches
PACKAGES = (
    "traincost", "numpy", "pandas", "scipy", "orjson", "statsmodels", "pingouin", "duckdb", "scikit-learn",
    "lightning", "torch",
)  # fmt: skip


def interleaved(works, n=N, n_warming=1):
    """Return the median seconds of each of `works` (name to callable), run in turn `n` times.

    A callable may return its seconds itself; else the call is timed. The turns before, which warm
    caches, do not count. Each turn has an order of its own: what runs after a work that left the
    caches cold pays for it, and must not always be the same.
    """
    taken, names, rng = {name: [] for name in works}, list(works), random.Random(0)
    for _ in range(n_warming + n):
        rng.shuffle(names)
        for name in names:
            started = time.perf_counter()
            seconds = works[name]()
            elapsed = time.perf_counter() - started
            taken[name].append(seconds if isinstance(seconds, float) else elapsed)
    return {name: statistics.median(seconds[n_warming:]) for name, seconds in taken.items()}


def installed(module):
    """Say whether a module can be imported."""
    return importlib.util.find_spec(module) is not None


@dataclass(frozen=True)
class Measured:
    """One entry of the results: attributes as in the module's docstring."""

    work: str
    against: str
    role: str
    ours: float
    theirs: float | None
    unit: str
    value: float | None
    bound: str | None
    target: float | None
    met: bool | None

    @classmethod
    def of(cls, work, against, role, ours, theirs=None, unit="s", bound=None, target=None):
        """Compute what follows from two medians."""
        value = ours if role == "limit" else None
        if theirs is not None:
            value = ours / theirs if role == "floor" else theirs / ours
        met = None
        if value is not None and bound:
            met = bool(value <= target if bound == "at most" else value >= target)
        return cls(work, against, role, ours, theirs, unit, value, bound, target, met)


class Results:
    """What one session measured."""

    def __init__(self, size):
        self.size = size
        self.measured = []
        self.load_before = os.getloadavg()

    def timed(self, works):
        """Return the medians of `interleaved`; at the small size, of one turn that nothing warmed."""
        return interleaved(works) if self.size == "full" else interleaved(works, 1, 0)

    def compare(self, work, ours, floors=(), peers=()):
        """Add the comparisons of one work; return them.

        Parameters
        ----------
        ours : float
            Median seconds.
        floors, peers : iterable of (name, median or None, target or None)
            A floor's target is the most that ours may take, in its times; a peer's is how many
            times faster ours must be. A peer that is not installed has no median.
        """
        entries = [
            Measured.of(work, name, "floor", ours, theirs, "s", target and "at most", target)
            for name, theirs, target in floors
        ]
        entries += [
            Measured.of(work, name, "peer", ours, theirs, "s", target and "at least", target)
            for name, theirs, target in peers
        ]
        self.measured += entries
        return entries

    def limit(self, work, value, unit, target):
        """Add a number that must not be above its target; return it in a list."""
        entry = Measured.of(work, "", "limit", value, None, unit, "at most", target)
        self.measured.append(entry)
        return [entry]

    def as_dict(self):
        """Return all of it, for JSON: no name of a host or path among it."""
        versions = {name: _version(name) for name in PACKAGES}
        machine = {
            "cores": len(os.sched_getaffinity(0)),
            "architecture": platform.machine(),
            "system": platform.system(),
            "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
            "python": platform.python_version(),
            "packages": {name: version for name, version in versions.items() if version},
            "load_before": round(self.load_before[0], 2),
            "load_after": round(os.getloadavg()[0], 2),
        }
        return {
            "format": FORMAT,
            "size": self.size,
            "n_repetitions": N if self.size == "full" else 1,
            "machine": machine,
            "measured": [asdict(entry) for entry in self.measured],
        }

    def write(self, path):
        """Write the results as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def table(self):
        """Return the results as lines of text."""
        rows = [
            ("work", "against", "ours", "theirs", "ratio", "target", "met"),
            *map(_printed, self.measured),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        found = self.as_dict()
        machine = found["machine"]
        load = f"load {machine['load_before']} before, {machine['load_after']} after"
        if self.size != "full":
            load += "; at this size the ratios say nothing"
        return [*lines, f"medians of {found['n_repetitions']} in turn; {machine['cores']} cores, {load}"]


def _printed(entry):
    against = f"{entry.role}: {entry.against}" if entry.against else entry.role
    ours, theirs = _quantity(entry.ours, entry.unit), _quantity(entry.theirs, entry.unit)
    if entry.theirs is None and entry.role != "limit":
        theirs = "not installed"
    ratio = "" if entry.value is None or entry.role == "limit" else f"{entry.value:,.3g} ×"
    target = f"{entry.bound} {entry.target:.3g}" if entry.bound else ""
    met = {True: "yes", False: "NO", None: ""}[entry.met]
    return entry.work, against, ours, theirs, ratio, target, met


def _quantity(value, unit):
    if value is None:
        return ""
    if unit == "s" and value < 0.1:
        return f"{1e3 * value:.3g} ms" if value >= 1e-4 else f"{1e6 * value:.3g} µs"
    return f"{value:,.3g} {unit}".rstrip()


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
