"""Numbers out of files that may hold anything."""

from traincost.columns import column, finite
from traincost.reading.formats.files import shortened


def described(value):
    """Return a value in a message: itself where it is short and plain, else its type."""
    if value is None or isinstance(value, bool | float | str):
        return shortened(repr(value), 80)
    if isinstance(value, int) and finite(value):
        return shortened(repr(value), 80)
    return f"a {type(value).__name__}"


def runtime(value, name="runtime_s"):
    """Return a runtime in seconds and an empty reason, or None and why it is none."""
    if value is None:
        return None, f"{name} is missing or null"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, f"{name} must be a number of seconds, got {described(value)}"
    if not finite(value):
        return None, f"{name} is not finite ({described(value)})"
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
        if finite(value) and (not name.startswith("cost_") or column(name).accepts(value)):
            usable[name] = value
        else:
            notes.append(f"{what} {shortened(name, 80)!r} is no usable number: taken as missing")
    return usable
