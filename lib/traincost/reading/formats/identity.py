"""Settings that name a run instead of shaping it: its id, and the time at which it was."""

import re
from datetime import UTC, datetime

from traincost.reading.formats.files import shortened

# A date with a time of day: 2026-01-02T03:04:05, 2026-01-02 03-04, 20260102_030405.
_MOMENT = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_]?(0[1-9]|1[0-2])[-_]?(0[1-9]|[12]\d|3[01])"
    r"[-T_ ]?(?:[01]\d|2[0-3])[-:_h]?[0-5]\d(?:[-:_m]?[0-5]\d)?(?!\d)"
)
_EPOCH = re.compile(r"(\d{10})(?:\.\d*|\d{3}|\d{6}|\d{9})?")  # in s, ms, µs or ns
_NEAR_S = 7 * 86400  # a time this close to the run's start is that of the run
_MIN_ID = 6  # characters of an id that is sought in a text


def without_identity(config, run_id, started_s, notes):
    """Return the flat `config` without the fields that hold the run's id or time.

    A path or name that holds either differs in every run and says nothing of what the run did.
    A time is the run's where it lies within a week of its start: others (up to which day the data
    reach) are settings.

    Parameters
    ----------
    config : dict
        Dotted path to number or text.
    run_id : str
        The tool's id of the run, or empty.
    started_s : float or None
        Seconds since 1970.
    notes : list of str
        Says which fields were left out.
    """
    naming = [name for name, value in config.items() if _names_run(value, run_id, started_s)]
    if naming:
        listed = shortened(", ".join(naming))
        notes.append(f"settings that hold the run's id or time are left out: {listed}")
    return {name: value for name, value in config.items() if name not in naming}


def _names_run(value, run_id, started_s):
    if isinstance(value, str) and len(run_id) >= _MIN_ID and run_id in value:
        return True
    if not started_s:
        return False
    return any(abs(moment - started_s) < _NEAR_S for moment in _moments(value))


def _moments(value):
    """Yield the times that a setting holds, in seconds since 1970."""
    if isinstance(value, str):
        for year, month, day in _MOMENT.findall(value):
            try:
                yield datetime(int(year), int(month), int(day), 12, tzinfo=UTC).timestamp()
            except ValueError:  # the 31st of February
                continue
    elif abs(value) >= 10**20:
        return
    epoch = _EPOCH.fullmatch(str(value))
    if epoch:
        yield float(epoch[1])


def iso(seconds):
    """Return seconds since 1970 as ISO 8601 in UTC, or empty text where they are no time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
