"""How long a sequence of clock times took, where the clock may have jumped.

A machine's clock is set (a board without a battery begins in 1970 or 2018), set back, or runs on
while the machine is suspended; local time changes its offset twice a year. Between records that come
in the order in which they were written, time that falls and a gap far beyond the others are no time
that a run took: they are left out, and named with their size. Pauses that recur count.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

SMALL_FALL_S, SMALL_LOCAL_FALL_S = 1.0, 60.0  # writers in several threads or processes
LONG_S = 6 * 3600  # a gap is taken for a suspend from here on
SET_S = 7 * 86400  # and from here on for a clock that was set
BEYOND = 50  # times the others
MIN_GAPS = 5  # from which on there are others to compare with
RARE = 0.05  # of the gaps; what is more frequent recurs
HOUR_S = 3600.0


@dataclass(frozen=True)
class Active:
    """The spans (first, last) in which a sequence was written, and notes of what was left out."""

    spans: list
    notes: list

    @property
    def seconds(self):
        """Length of the spans together."""
        return float(sum(last - first for first, last in self.spans))


def active(times, steps=None, is_local=False):
    """Return the `Active` of times in seconds, in the order of writing.

    Time that falls where the step falls too (`steps`, where known) is another training, not a clock set
    back. Times that are local (`is_local`) may be off by an hour twice a year.
    """
    at = np.array(times, dtype=float)
    gaps = np.diff(at)
    forward = gaps[gaps > 0]
    typical = float(np.median(forward)) if len(forward) else 0.0
    falls = gaps < -(SMALL_LOCAL_FALL_S if is_local else SMALL_FALL_S)
    if len(gaps) and not len(forward):
        return Active([(float(at[0]), float(at[0]))], [])
    if steps is not None and falls.any():
        falls &= np.diff(np.array(steps, dtype=float)) >= 0
    jumps = _jumps(gaps, forward)
    hours = _hours(at, gaps, typical) if is_local else np.zeros(len(gaps), bool)
    if not (falls.any() or jumps.any() or hours.any()):
        return Active([(float(at.min()), float(at.max()))] if len(at) else [], [])
    notes, splits = [], []
    for i in np.flatnonzero(falls | jumps | hours)[::-1].tolist():
        if falls[i]:
            is_hour = is_local and 0 <= gaps[i] + HOUR_S <= 5 * typical + SMALL_LOCAL_FALL_S
            back = HOUR_S if is_hour else -gaps[i] + typical
            at[: i + 1] -= back
            kind = "the clock went back" + (" (the end of summer time, say)" if is_hour else "")
            notes.append(f"{kind} by {said(back if is_hour else -gaps[i])} between two records: left out")
        elif hours[i]:
            at[: i + 1] += HOUR_S
            note = f"a gap of {said(gaps[i])} in the night that summer time begins: an hour is left out"
            notes.append(note)
        elif gaps[i] > SET_S:
            at[: i + 1] += gaps[i] - typical
            notes.append(f"the clock jumped by {said(gaps[i])} between two records: it was set; left out")
        else:
            splits.append(i)
            notes.append(f"a gap of {said(gaps[i])}, far beyond the others (a suspend), is left out")
    cuts = [0, *(i + 1 for i in reversed(splits)), len(at)]
    pieces = [at[a:b] for a, b in pairwise(cuts)]
    return Active([(float(piece.min()), float(piece.max())) for piece in pieces], notes[::-1])


def _jumps(gaps, forward):
    if len(forward) < MIN_GAPS:
        return gaps > SET_S * 4 if len(gaps) > 1 else np.zeros(len(gaps), bool)
    others = max(np.quantile(forward, 1 - 2 * RARE), np.median(forward), 1e-3)
    found = (gaps > LONG_S) & (gaps > BEYOND * others)
    return found if found.sum() <= max(1, RARE * len(gaps)) else np.zeros(len(gaps), bool)


def _hours(at, gaps, typical):
    """Say which sole gap is an hour too long, in a night from Saturday to Sunday."""
    longer = gaps > HOUR_S
    if longer.sum() != 1 or len(gaps) < MIN_GAPS or typical > HOUR_S / 4:
        return np.zeros(len(gaps), bool)
    i = int(np.argmax(longer))
    after = datetime.fromtimestamp(at[i + 1], UTC)  # local, as written
    is_night = after.weekday() == 6 and 1 <= after.hour <= 4 and after.month in (3, 4, 9, 10, 11)
    return longer & is_night & (abs(gaps - HOUR_S - typical) < 2 * typical)


def said(seconds):
    """Return a length in words, without a number that could be read as hours of training."""
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if abs(seconds) >= 2 * size or (size == 3600 and abs(seconds) >= size):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"
