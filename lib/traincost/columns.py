"""Every column once: its name, unit, meaning, valid range, and how it is printed.

A column that this register does not name (a score, say) is printed by its unit, which
`column` reads off the end of the name.
"""

import math
from dataclasses import dataclass

from traincost.printing import MISSING, count, share_text, significant, time_text


@dataclass(frozen=True)
class Column:
    """One column of a run or of a table.

    Attributes
    ----------
    name, meaning : str
    unit : str
        ``s``, ``MiB``, ``count``, ``share`` (printed in percent), or empty for a plain number.
    minimum, maximum : float
        Bounds of a valid value, both included.
    label : str
        What a table calls it; its name, if left out.
    """

    name: str
    unit: str
    meaning: str
    minimum: float = -math.inf
    maximum: float = math.inf
    label: str = ""

    @property
    def called(self):
        """What a table calls it."""
        return self.label or self.name

    def accepts(self, value):
        """Say whether `value` is a finite number within the column's range."""
        if not finite(value) or not self.minimum <= value <= self.maximum:
            return False
        return self.unit != "count" or float(value).is_integer()

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

_COST = (
    Column("cost_runtime_s", "s", "the run end to end: built, trained and scored", 0, label="runtime"),
    Column(
        "cost_runtime_per_run_s",
        "s",
        "runtime · concurrency / models: worker-seconds reserved per model, an upper bound "
        "where the pool idles",
        0,
        label="runtime per model",
    ),
    Column(
        "cost_inference_epoch_s",
        "s",
        "the test pass as a caller waits for it",
        0,
        label="inference, an epoch",
    ),
    Column(
        "cost_inference_batch_s", "s", "forward pass of one test batch, mean", 0, label="inference, a batch"
    ),
    Column(
        "cost_memory_mib",
        "MiB",
        "peak of one worker: memory handed to tensors on CUDA, resident memory on CPU; never "
        "divided by the workers",
        0,
        label="peak memory (MiB)",
    ),
    Column("cost_parameters", "count", "parameters of the scored model", 0, label="parameters"),
    Column("cost_trainable_parameters", "count", "those that gradient descent moves", 0, label="trainable"),
    Column("cost_frozen_parameters", "count", "those that it does not", 0, label="frozen"),
    Column(
        "cost_energy_kwh",
        "",
        "kWh that was measured: by counters of whole GPUs and CPU packages as far as these have one, else by "
        "the sampled power of GPUs",
        0,
        label="energy (kWh)",
    ),
    Column("cost_energy_gpu_kwh", "", "kWh of whole GPUs, by NVML's counter", 0, label="of GPUs (kWh)"),
    Column(
        "cost_energy_gpu_sampled_kwh",
        "",
        "kWh of whole GPUs, by the power that Weights & Biases or MLflow sampled: without CPU, memory, the "
        "rest of the server and cooling",
        0,
        label="of GPUs, sampled (kWh)",
    ),
    Column("cost_energy_cpu_kwh", "", "kWh of CPU packages, by RAPL", 0, label="of CPUs (kWh)"),
    Column("cost_concurrency", "count", "models trained at once", 1, label="at once"),
    Column("cost_models", "count", "models trained in the run", 1, label="models a process"),
    Column(
        "cost_total_flos",
        "",
        "FLOP of the training, forward and backward, as its trainer counts them",
        0,
        label="FLOP",
    ),
    Column(
        "cost_train_samples_per_second",
        "",
        "examples trained on per second of training time",
        0,
        label="samples a second",
    ),
)

COLUMNS = {
    column.name: column
    for column in (
        Column("runtime_s", "s", "wall-clock time of the whole run", 0),
        *_COST,
    )
}
PREFIX = "config."  # of a setting's column among the runs: its dotted path follows
SCORE_PREFIX = "score."  # of a score's column among the runs
COST_ORDER = tuple(column.name for column in _COST)

_SUFFIX_UNITS = {"_s": "s", "_mib": "MiB", "_parameters": "count", "_count": "count"}


def column(name):
    """Return the registered column, or one whose unit is read off the end of `name`."""
    if name in COLUMNS:
        return COLUMNS[name]
    unit = next((u for suffix, u in _SUFFIX_UNITS.items() if name.endswith(suffix)), "")
    return Column(name, unit, "")
