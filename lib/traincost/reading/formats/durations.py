"""Durations as tools and people write them, in seconds.

Nine spellings: plain seconds; ``01:04:41.25`` and ``64:41``; ``2-03:04:05`` (SLURM); ``0 days
01:04:41.25`` and ``1 day, 2:03:04`` (pandas, Python); ``P0DT1H4M41.25S`` (ISO 8601); ``1h 4m 41s``;
``1.2h`` or ``412ms`` (a number and a unit, MLflow's page); and ``64 minutes``.
"""

import re

UNITS_S = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "µs", "μs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "wk", "week", "weeks"), 604800.0),
}
MAX_LENGTH = 64  # of a duration's text
_CLOCK = re.compile(
    r"([+-])?(?:(\d+)\s*(?:-|days?,?\s+\+?))?(\d+):(\d\d)(?::(\d\d(?:[.,]\d+)?))?", re.IGNORECASE
)
_DAYS = re.compile(r"([+-])?(\d+(?:\.\d+)?)\s*days?", re.IGNORECASE)
_ISO = re.compile(
    r"([+-])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)
_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµμ]+)\.?,?\s*(?:and\s+)?", re.IGNORECASE)


def seconds(text):
    """Return a duration that is written with its own unit or as a clock, in seconds; None for any other text.

    >>> seconds("0 days 01:04:41.250000"), seconds("2-03:04:05"), seconds("412ms"), seconds("P0DT1H4M41.25S")
    (3881.25, 183845.0, 0.412, 3881.25)
    >>> seconds("1h 4m 41s"), seconds("64:41"), seconds("12"), seconds("adam")
    (3881.0, 3881.0, None, None)
    """
    text = text.strip()
    if not text or len(text) > MAX_LENGTH:
        return None
    readings = (read(text) for read in (_of_clock, _of_iso, _of_parts))
    return next((found for found in readings if found is not None), None)


def _of_clock(text):
    match = _CLOCK.fullmatch(text)
    if match is None:
        days = _DAYS.fullmatch(text)
        return _signed(days[1], float(days[2]) * 86400) if days else None
    sign, days, first, second, third = match.groups()
    if third is None and not days:  # minutes and seconds
        return _signed(sign, float(first) * 60 + float(second))
    clock = float(first) * 3600 + float(second) * 60 + float((third or "0").replace(",", "."))
    return _signed(sign, float(days or 0) * 86400 + clock)


def _of_iso(text):
    match = _ISO.fullmatch(text)
    if match is None or not any(match.groups()[1:]):
        return None
    sizes = (604800, 86400, 3600, 60, 1)
    total = sum(float(part or 0) * size for part, size in zip(match.groups()[1:], sizes, strict=True))
    return _signed(match[1], total)


def _of_parts(text):
    at, total = 0, 0.0
    while at < len(text):
        match = _PARTS.match(text, at)
        unit = UNITS_S.get(match[2].lower()) if match else None
        if unit is None:
            return None
        total += float(match[1]) * unit
        at = match.end()
    return round(total, 9) if at else None


def _signed(sign, value):
    return -value if sign == "-" else value
