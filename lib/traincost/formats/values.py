"""Numbers out of files that may hold anything."""

import math

from traincost.columns import column
from traincost.formats.files import shortened


def is_number(value):
    """Say whether `value` is a finite number and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def runtime(value, name="runtime_s"):
    """Return a runtime in seconds and an empty reason, or None and why it is none."""
    if value is None:
        return None, f"{name} is missing or null"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, f"{name} must be a number of seconds, got {shortened(repr(value), 80)}"
    if not math.isfinite(value):
        return None, f"{name} is not finite ({value})"
    if value <= 0:
        return None, f"{name} must be above zero, got {value:g}"
    return float(value), ""


def numbers(values, what, notes):
    """Return the finite numbers of a mapping; anything else in it is missing and noted.

    Null is a recorder's own way to write a number that is not finite, and not noted. A cost
    column must lie in its range (`columns.Column.accepts`).
    """
    if values is None:
        return {}
    if not isinstance(values, dict):
        notes.append(f"{what}s must be an object, got {type(values).__name__}: left out")
        return {}
    usable = {}
    for name, value in values.items():
        if value is None:
            continue
        if is_number(value) and (not name.startswith("cost_") or column(name).accepts(value)):
            usable[name] = value
        else:
            notes.append(f"{what} {shortened(name, 80)!r} is no usable number: taken as missing")
    return usable
