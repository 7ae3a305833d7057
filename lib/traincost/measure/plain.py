"""Values as JSON has them, so that any program can read a record."""

import math

MAX_DEPTH = 50  # of nested config values; a deeper one is almost surely a cycle


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
    if isinstance(value, dict):
        return {str(k): plain(v, null_non_finite, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
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
