"""Every column once: its name, unit, meaning, valid range, and how it is printed.

A column that this register does not name (a score, say) is printed by its unit, which
`column` reads off the end of the name.
"""

import math
from dataclasses import dataclass

READABLE = 1e15  # from which on a number is printed with an exponent


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
    """

    name: str
    unit: str
    meaning: str
    minimum: float = -math.inf
    maximum: float = math.inf

    def accepts(self, value):
        """Say whether `value` is a finite number within the column's range."""
        if not finite(value) or not self.minimum <= value <= self.maximum:
            return False
        return self.unit != "count" or float(value).is_integer()

    def text(self, value):
        """Print `value`; a missing one is a dash."""
        if value is None or value != value:
            return "–"
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


def significant(value, digits=4):
    """Print with `digits` significant digits, without an exponent where that is readable.

    >>> significant(0.00001234, 3), significant(1234.5), significant(12.0, 3)
    ('1.23e-05', '1,234', '12.0')
    """
    value = float(value)
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if not 1e-4 <= abs(value) < READABLE:
        return f"{value:.{digits - 1}e}"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    return f"{value:,.{max(0, digits - 1 - magnitude)}f}"


def fixed(value, decimals):
    """Print with fixed decimals; beyond what is readable, with an exponent.

    >>> fixed(1234.5, 2), fixed(1e300, 2)
    ('1,234.50', '1.000e+300')
    """
    return f"{value:,.{decimals}f}" if abs(value) < READABLE else significant(value)


def decimals_within(low, high, most=2):
    """Return how many decimals an interval carries: none finer than the first digit of half its width.

    >>> decimals_within(45.49, 47.57), decimals_within(0.05, 0.09), decimals_within(3, 3)
    (0, 2, 2)
    """
    half = (high - low) / 2
    if not (math.isfinite(half) and half > 0):
        return most
    return max(0, min(most, -math.floor(math.log10(half))))


def count(value):
    """Print an integer with thousands separated; a mean of counts keeps one decimal."""
    return fixed(value, 0 if float(value).is_integer() else 1)


def percent(share, decimals=2):
    """Print a share in percent with fixed decimals.

    >>> percent(0.44061)
    '44.06 %'
    """
    number = f"{100 * share:.{decimals}f}" if abs(share) < READABLE else significant(100 * share)
    return f"{number} %".replace("-", "−")


def probability(value):
    """Print a p-value with three decimals, and a smaller one by its bound."""
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"


_PRINTERS = {
    "s": significant,
    "MiB": lambda value: fixed(value, 1) if abs(value) >= 10 else significant(value, 3),
    "count": count,
    "share": percent,
    "": significant,
}

_COST = (
    Column("cost_runtime_s", "s", "the run end to end: built, trained and scored", 0),
    Column(
        "cost_runtime_per_run_s",
        "s",
        "runtime · concurrency / models: worker-seconds reserved per model, an upper bound "
        "where the pool idles",
        0,
    ),
    Column("cost_inference_epoch_s", "s", "the test pass as a caller waits for it", 0),
    Column("cost_inference_batch_s", "s", "forward pass of one test batch, mean", 0),
    Column(
        "cost_memory_mib",
        "MiB",
        "peak of one worker: memory handed to tensors on CUDA, resident memory on CPU; never "
        "divided by the workers",
        0,
    ),
    Column("cost_parameters", "count", "parameters of the scored model", 0),
    Column("cost_trainable_parameters", "count", "those that gradient descent moves", 0),
    Column("cost_frozen_parameters", "count", "those that it does not", 0),
    Column("cost_concurrency", "count", "models trained at once", 1),
    Column("cost_models", "count", "models trained in the run", 1),
    Column(
        "cost_total_flos", "", "FLOP of the training, forward and backward, as its trainer counts them", 0
    ),
    Column("cost_train_samples_per_second", "", "examples trained on per second of training time", 0),
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


@dataclass(frozen=True)
class TimeUnit:
    """The unit in which a page prints durations.

    >>> TimeUnit("h", 3600).text(36936)
    '10.26 h'
    """

    symbol: str
    seconds: float

    def number(self, seconds, decimals=2):
        """Print the number alone, with two decimals or as many as asked for."""
        return fixed(seconds / self.seconds, decimals)

    def text(self, seconds, decimals=2):
        """Print number and unit; a missing duration is a dash."""
        if seconds is None or seconds != seconds:
            return "–"
        return f"{self.number(seconds, decimals)} {self.symbol}"


HOURS, MINUTES, SECONDS = TimeUnit("h", 3600.0), TimeUnit("min", 60.0), TimeUnit("s", 1.0)
MILLISECONDS, MICROSECONDS = TimeUnit("ms", 1e-3), TimeUnit("µs", 1e-6)  # of a few profiled steps


def time_unit(typical_s):
    """Choose the unit for durations whose typical value is `typical_s` seconds."""
    if typical_s >= 2 * HOURS.seconds:
        return HOURS
    if typical_s >= 2 * MINUTES.seconds:
        return MINUTES
    if typical_s >= 100 * MILLISECONDS.seconds or not typical_s > 0:
        return SECONDS
    return MILLISECONDS if typical_s >= 100 * MICROSECONDS.seconds else MICROSECONDS
