"""Which values the parameters may have, beyond their types: one check for each name.

Asked by the functions of the API, and by a build before it starts a kernel. A check imports what it
needs when it is asked, so that a wrong date costs nobody the import of pandas.
"""

import dataclasses
import datetime
import importlib
import re

from traincost.errors import ParameterError, brief, require

SAFE_SCHEMES = ("http:", "https:", "mailto:")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check(**values):
    """Raise `ParameterError` for a value that cannot be used; None, and names without a check, pass."""
    for name, value in values.items():
        if value is not None and name in _CHECKS:
            _CHECKS[name](name, value)


def table(values):
    """Return which column of a table is what, by the parameters that say so; refuse what cannot be."""
    from traincost.reading.formats.table import Table

    return Table(**{f.name: values[f.name] for f in dataclasses.fields(Table) if f.name in values})


def _above_zero(name, value):
    require(value > 0, name, "above zero", value)


def _date(name, value):
    try:
        datetime.date.fromisoformat(value or "2000-01-01")
    except ValueError:
        require(False, name, "a date like 2015-09-01", value)


def _format(name, value):
    from traincost.reading.formats import READERS, table

    allowed = ("auto", *READERS, table.NAME)
    require(value in allowed, name, f"auto or one of {', '.join(allowed[1:])}", value)


def _by(module, function):
    """Return a check that calls a function, which refuses a value; empty text is none."""
    return lambda name, value: (
        value == "" or getattr(importlib.import_module(f"traincost.{module}"), function)(value)
    )


def _links(name, value):
    for text, address in value.items():
        if not isinstance(text, str) or not isinstance(address, str):
            raise ParameterError(f"`{name}` must map text to an address, got {brief(text)}: {address!r}")
        scheme = _SCHEME.match(address.strip())
        if address.strip().replace("\\", "/").startswith("//"):
            raise ParameterError(f"`{name}`: {address!r} names a host: begin it with https:")
        # Control characters are how a script's scheme is hidden from a check like this one.
        if any(ord(c) < 0x20 for c in address) or (scheme and scheme.group().lower() not in SAFE_SCHEMES):
            allowed = ", ".join(SAFE_SCHEMES)
            raise ParameterError(f"`{name}`: {address!r} must be a relative address or start with {allowed}")


def _one_of(*allowed):
    return lambda name, value: require(value in allowed, name, f"one of {', '.join(allowed)}", value)


def _eras(name, value):
    for date in value:
        require(isinstance(date, str), name, "a list of dates like 2015-09-01", value)
        _date(name, date)
    require(list(value) == sorted(value), name, "dates in their order", value)


_CHECKS = {
    "format": _format,
    "path_pattern": _by("reading.formats.paths", "PathPattern"),
    "links": _links,
    "knobs": _by("analysis.knobs", "knobs_of"),
    "section_kinds": _by("analysis.kinds", "checked_kinds"),
    "score_goal": _one_of("max", "min"),
    "goal": _one_of("max", "min"),
    "devices": _above_zero,
    "seeds": _above_zero,
    "at_once": _above_zero,
    "price_per_hour": _above_zero,
    "power_w": _above_zero,
    "measure": _one_of("best", "stated", "operations", "burden", "consolidated", "forward"),
    "direction": _one_of("error on compute", "compute on error"),
    "pairs": _one_of("consistent", "all"),
    "eras": _eras,
    "split": _one_of("large", "none"),
    "outliers": _one_of("low", "none"),
    "month_days": _above_zero,
    "year_days": _above_zero,
    "window_days": _above_zero,
    "large_from": _date,
    "region": _by("estimation.energy", "intensity"),
    "prices": _by("estimation.energy", "check_prices"),
    "start": _date,
    "end": _date,
    "target_error": lambda name, value: require(0 < value < 1, name, "between 0 and 1", value),
    "n_draws": lambda name, value: require(value >= 100, name, "at least 100", value),
    "workers": lambda name, value: require(value >= 0, name, "at least 0", value),
    "scheduler": _by("reading.engines", "check"),
}
