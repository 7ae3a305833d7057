"""Every column once: its name, unit, meaning, valid range, and how it is printed.

A column that this register does not name (a score, say) is printed by its unit, which
`column` reads off the end of the name.
"""

import math
from dataclasses import dataclass

from traincost.printing import MISSING, count, share_text, significant, time_text


@dataclass(frozen=True)
class Column:
    """One column of a run or of a table."""

    name: str
    unit: str  # ``s``, ``MiB``, ``count``, ``share`` (printed in percent), or empty for a plain number
    meaning: str
    minimum: float = -math.inf  # of valid values
    label: str = ""  # what a table calls it; its name, if left out

    @property
    def called(self):
        """What a table calls it."""
        return self.label or self.name

    def accepts(self, value):
        """Say whether `value` is a finite number within the column's range."""
        in_range = finite(value) and value >= self.minimum
        return in_range and (self.unit != "count" or float(value).is_integer())

    def text(self, value):
        """Print `value`; a missing one is a dash."""
        if value is None or value != value:
            return MISSING
        return _PRINTERS[self.unit](value)


def finite(value):
    """Say whether `value` is a number, no truth value, and within the range of a float."""
    if value.__class__ is float:  # nearly all there are
        return value - value == 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


_PRINTERS = {
    "s": time_text,
    "MiB": lambda value: count(round(value)) if abs(value) >= 100 else significant(value),
    "count": count,
    "share": share_text,
    "": lambda value: significant(value, 4),
}

_COST = tuple(
    Column(name, unit, meaning, minimum, label)
    for name, unit, minimum, label, meaning in (
        ("cost_runtime_s", "s", 0, "runtime", "the run end to end: built, trained and scored"),
        ("cost_runtime_per_run_s", "s", 0, "runtime per model",
         "runtime · concurrency / models: worker-seconds reserved per model, an upper bound where the pool "
         "idles"),
        ("cost_inference_epoch_s", "s", 0, "inference, an epoch", "the test pass as a caller waits for it"),
        ("cost_inference_batch_s", "s", 0, "inference, a batch", "forward pass of one test batch, mean"),
        ("cost_memory_mib", "MiB", 0, "peak memory (MiB)",
         "peak of one worker: memory handed to tensors on CUDA, resident memory on CPU; never divided "
         "by the workers"),
        ("cost_parameters", "count", 0, "parameters", "parameters of the scored model"),
        ("cost_trainable_parameters", "count", 0, "trainable", "those that gradient descent moves"),
        ("cost_frozen_parameters", "count", 0, "frozen", "those that it does not"),
        ("cost_energy_kwh", "", 0, "energy (kWh)",
         "kWh that was measured: by counters of whole GPUs and CPU packages as far as these have one, else "
         "by the sampled power of GPUs"),
        ("cost_energy_gpu_kwh", "", 0, "of GPUs (kWh)", "kWh of whole GPUs, by NVML's counter"),
        ("cost_energy_gpu_sampled_kwh", "", 0, "of GPUs, sampled (kWh)",
         "kWh of whole GPUs, by the power that Weights & Biases or MLflow sampled: without CPU, memory, the "
         "rest of the server and cooling"),
        ("cost_energy_cpu_kwh", "", 0, "of CPUs (kWh)", "kWh of CPU packages, by RAPL"),
        ("cost_concurrency", "count", 1, "at once", "models trained at once"),
        ("cost_models", "count", 1, "models a process", "models trained in the run"),
        ("cost_total_flos", "", 0, "FLOP",
         "FLOP of the training, forward and backward, as its trainer counts them"),
        ("cost_train_samples_per_second", "", 0, "samples a second",
         "examples trained on per second of training time"),
    )
)  # fmt: skip

COLUMNS = {"runtime_s": Column("runtime_s", "s", "wall-clock time of the whole run", 0)}
COLUMNS |= {column.name: column for column in _COST}
PREFIX = "config."  # of a setting's column among the runs: its dotted path follows
SCORE_PREFIX = "score."  # of a score's column among the runs
COST_ORDER = tuple(column.name for column in _COST)

_SUFFIX_UNITS = {"_s": "s", "_mib": "MiB", "_parameters": "count", "_count": "count"}


def settings(columns):
    """Return the settings among the columns of a frame: dotted path to column."""
    return {name.removeprefix(PREFIX): name for name in columns if name.startswith(PREFIX)}


def column(name):
    """Return the registered column, or one whose unit is read off the end of `name`."""
    if name in COLUMNS:
        return COLUMNS[name]
    unit = next((u for suffix, u in _SUFFIX_UNITS.items() if name.endswith(suffix)), "")
    return Column(name, unit, "")
