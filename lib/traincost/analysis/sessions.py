"""When and where the runs of two collections ran, and whether the machine may have changed between them.

A setting that was changed is the likely cause of a change of runtime only if nothing else went with
it. Runs that all started before the others, or on another host, ran on a machine that may have been
another one. And a machine that becomes slower within a session makes the ratio of a pair go with the
start order of that session.

Contract: two collections' ``runs`` frames and their `pairs.Pairing` in, values and frames out.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis.order import ranks_of, starts_s
from traincost.analysis.roles import is_place
from traincost.analysis.verdicts import ALPHA
from traincost.columns import settings
from traincost.words import in_natural_order

APART, MIXED, UNKNOWN = "one after the other", "mixed", "not recorded"  # the starts of two collections
SIDES = ("before", "after")
MIN_UNITS = 6  # configurations, to set their ratio against their start order
MIN_DF = 4  # within configurations, where these are fewer
MAX_NAMED = 5  # places, settings or levels that are listed


@dataclass(frozen=True)
class Circumstances:
    """How far two collections ran at one time and in one place."""

    order: str  # `APART`, `MIXED` or `UNKNOWN`: how the starts of the two lie
    first: str = ""  # the side that started first, where they lie `APART`
    places: tuple = ()  # (setting, levels before, levels after) of settings that name a machine and differ

    @property
    def allow_a_cause(self):
        """Whether a setting that was changed may be called the likely cause of a change."""
        return self.order == MIXED and not self.places


def circumstances(before, after):
    """Return the `Circumstances` of two collections, over their completed runs."""
    frames = [side.runs for side in (before, after)]
    places = []
    for name, column in settings([*frames[0], *frames[1]]).items():
        found = [frame[column].dropna() for frame in frames if column in frame]
        if len(found) == 2 and is_place(name, all(map(pd.api.types.is_numeric_dtype, found))):
            sides = [set(levels) for levels in found]
            if all(sides) and sides[0] != sides[1]:
                places.append((name, *map(_few_levels, sides)))
    starts = [starts_s(frame) for frame in frames]
    if not all(np.isfinite(side).any() for side in starts):
        return Circumstances(UNKNOWN, places=tuple(places))
    (low, high), (then, last) = ((np.nanmin(side), np.nanmax(side)) for side in starts)
    if high < then or last < low:
        return Circumstances(APART, SIDES[0] if high < then else SIDES[1], tuple(places))
    return Circumstances(MIXED, places=tuple(places))


def _few_levels(levels):
    return few(in_natural_order(f"{x:.12g}" if isinstance(x, float) else str(x) for x in levels))


def few(names):
    """Return the first names as text, and how many more there are."""
    more = len(names) - MAX_NAMED
    return ", ".join(map(str, names[:MAX_NAMED])) + (f" and {more} more" if more > 0 else "")


def session_drift(before, after, pairing):
    """Set the ratio of runtime after to before against the start order within each session.

    Over configurations, or within them where these are fewer than `MIN_UNITS`.

    Returns
    -------
    DataFrame
        A row per side whose runs have an order: ``side``, ``n`` (configurations or pairs), ``r``
        (correlation of the log ratio with the rank of the start), ``p`` (two-sided t), ``drifts``
        (p at most 5 % over the number of rows: Bonferroni).
    """
    logs = [np.log(side.runs["runtime_s"].to_numpy(dtype=float)) for side in (before, after)]
    pairs = pairing.pairs
    ratio = np.array(
        [logs[1][b].mean() - logs[0][a].mean() for a, b in zip(pairs["before"], pairs["after"], strict=True)]
    )
    of = pd.factorize(pairs["configuration"])[0]
    rows = []
    for side, runs in zip(SIDES, (before.runs, after.runs), strict=True):
        rank = ranks_of(runs)
        if rank is not None:
            found = _correlation(np.array([rank[i].mean() for i in pairs[side]]), ratio, of)
            rows += [(side, *found)] if found else []
    table = pd.DataFrame(rows, columns=["side", "n", "r", "p"])
    return table.assign(drifts=table["p"] <= ALPHA / max(len(table), 1))


def _correlation(x, y, of):
    """Return (n, r, p) of configurations' means, or of pairs within configurations; None for too few."""
    n = np.bincount(of)
    x_mean, y_mean = (np.bincount(of, values) / n for values in (x, y))
    if len(n) >= MIN_UNITS:
        x, y, df = x_mean - x_mean.mean(), y_mean - y_mean.mean(), len(n) - 2
    else:
        x, y, df = x - x_mean[of], y - y_mean[of], len(of) - len(n) - 1
    scale = np.sqrt((x**2).sum() * (y**2).sum())
    if df < MIN_DF or not scale > 1e-12:
        return None
    r = float(np.clip((x * y).sum() / scale, -1, 1))
    t = np.inf if abs(r) == 1 else abs(r) * np.sqrt(df / (1 - r**2))
    return len(x), r, float(2 * stats.t.sf(t, df))
