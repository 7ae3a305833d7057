"""Energy of whole GPUs by the power that a tracker sampled: its mean over the samples, times the runtime.

It stands behind counters (`measure.energy`, CodeCarbon) and before rated power. CPU, memory, the rest of the
server and cooling are not in it.
"""

import re
from array import array

import numpy as np

ENERGY, SAMPLED = "cost_energy_kwh", "cost_energy_gpu_sampled_kwh"
MAX_SAMPLES = 1_000_000  # of a run
# Beyond so many sampling periods without a sample, the power between two samples is not known.
GAP_PERIODS = 5
# Weights & Biases writes the GPUs that the run's own process uses once more, under a name of their own.
_OF_MACHINE = re.compile(
    r"(?:system\.)?gpu\.(\d+)\.powerWatts(?:/l:.+)?|system/(?:.+/)?gpu_(\d+)_power_usage_watts"
)
_OF_PROCESS = re.compile(r"(?:system\.)?gpu\.process\.(\d+)\.powerWatts(?:/l:.+)?")


class Samples:
    """Samples of power by the names of their metrics, in seconds and watts."""

    def __init__(self):
        self.series = {}
        self.n_left = MAX_SAMPLES

    def add(self, name, time_s, watts):
        """Take a sample if `name` is that of a GPU's power."""
        if self.n_left > 0 and is_power(name):
            times_s, power_w = self.series.setdefault(name, (array("d"), array("d")))
            times_s.append(time_s)
            power_w.append(watts)
            self.n_left -= 1


def is_power(name):
    """Say whether a metric is the power of a GPU, of the whole machine's or the process's own."""
    return bool(_OF_MACHINE.fullmatch(name) or _OF_PROCESS.fullmatch(name))


def add_energy(run, samples, tracker, used=()):
    """Set the energy of a run from `Samples`, and say of what it is; nothing without samples.

    The run's own time counts: that of its leg where it was resumed. `tracker` names what sampled, `used`
    are the numbers of the GPUs that the run worked on, where that is known; else all of the machine count.
    """
    runtime_s = min(filter(None, (run.leg_s, run.runtime_s)), default=None)
    parts = [of_samples(*samples.series[name]) for name in _counted(samples.series, used)]
    parts = [(joules, covered_s) for joules, covered_s in parts if covered_s > 0]
    if not parts or not runtime_s:
        return
    kwh = sum(joules / covered_s for joules, covered_s in parts) * runtime_s / 3.6e6
    run.cost |= {ENERGY: kwh, SAMPLED: kwh}
    n, covered = len(parts), min(1.0, min(covered_s for _, covered_s in parts) / runtime_s)
    run.notes.append(
        f"the sampled energy is of {n} whole GPU{'s' * (n > 1)}, by its power as {tracker} saw it over "
        f"{100 * covered:.0f} % of the runtime: without CPU, memory, the rest of the server and cooling"
    )


def _counted(names, used):
    """Return the metrics that count: each GPU once, and only those the run used where that is known."""
    own = {match[1] for name in names if (match := _OF_PROCESS.fullmatch(name))} or set(used)
    machine = {name: match[1] or match[2] for name in names if (match := _OF_MACHINE.fullmatch(name))}
    return [name for name, gpu in machine.items() if not own or gpu in own]


def of_samples(times_s, power_w):
    """Return the energy of samples by trapezoids in joules, and the seconds that they cover.

    Gaps longer than `GAP_PERIODS` sampling periods are in neither.
    """
    times, power = np.asarray(times_s, dtype=float), np.asarray(power_w, dtype=float)
    known = np.isfinite(times) & np.isfinite(power) & (power >= 0)
    order = np.argsort(times[known], kind="stable")
    times, power = times[known][order], power[known][order]
    steps = np.diff(times)
    if not (steps > 0).any():
        return 0.0, 0.0
    whole = steps <= GAP_PERIODS * np.median(steps[steps > 0])
    joules = (steps * (power[1:] + power[:-1]) / 2)[whole].sum()
    return float(joules), float(steps[whole].sum())
