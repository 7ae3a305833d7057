"""Whether a section's occurrences are alike, which the bound of a cadence knob assumes.

Two things tell. A record may hold the seconds of the first, shortest and longest occurrence: if
occurrences are exchangeable, the first of n is the longest with probability 1/n, and the shortest
with 1/n. And runs of one configuration may differ in how often a section occurred, as with early
stopping: then seconds per occurrence can be set against the count.

Contract: a `sections.Timing` in, arrays and frames out.
"""

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis.designs import within

ALPHA = 0.05  # of a section: the two tests of its first occurrence share it
LEVEL = 0.95  # of the interval of growth
MIN_DF = 3  # of the growth with the count
LONGER, SHORTER = "the first takes longer", "the first takes less"
GROWING, FALLING = "longer where there are more", "shorter where there are more"
ALIKE, UNKNOWN = "alike", "unknown"
_COLUMNS = (
    "section", "finding", "n_recorded", "n_longest", "n_shortest", "p_longest", "p_shortest", "first_ratio",
    "n_compared", "growth", "growth_low", "growth_high",
)  # fmt: skip


def alike(t, sections, configurations):
    """Say of each of some sections whether its occurrences are alike, by the configuration of each run.

    Returns
    -------
    DataFrame
        A row per section: ``finding``, one of the constants of this module; ``n_recorded`` (runs with
        several occurrences whose record has the first), ``n_longest``, ``n_shortest`` (runs in which
        the first was that), ``p_longest``, ``p_shortest``, ``first_ratio`` (seconds of the first
        occurrences over those of as many later ones); ``n_compared`` (runs in a configuration whose
        counts differ), ``growth`` and its 95 % t interval ``growth_low``, ``growth_high``: the change
        of seconds per occurrence with twice the count, a share. NaN where not known.
    """
    rows = []
    for i in map(t.paths.index, sections):
        first, growth = _first(t, i), _growth(t, i, configurations)
        rows.append((t.paths[i], _finding(first, growth), *first, *growth))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _finding(first, growth):
    n_recorded, _, _, p_longest, p_shortest, _ = first
    _, _, low, high = growth
    if n_recorded:
        if p_longest <= ALPHA / 2:
            return LONGER
        return SHORTER if p_shortest <= ALPHA / 2 else ALIKE
    if np.isnan(low):
        return UNKNOWN
    return GROWING if low > 0 else FALLING if high < 0 else ALIKE


def _first(t, i):
    """Return what the records tell of the first occurrences of section `i` (see `alike`)."""
    known = _recorded(t, i)
    n = int(known.sum())
    if not n:
        return 0, 0, 0, *[np.nan] * 3
    first, least, most = (values[known, i] for values in t.extents)
    counts = t.counts[known, i]
    later = np.maximum(0.0, t.seconds[known, i] - first) / (counts - 1)
    n_longest = int(((first == most) & (most > least)).sum())
    n_shortest = int(((first == least) & (most > least)).sum())
    # The binomial of the mean probability has the heavier tail (Hoeffding 1956, Ann. Math. Stat. 27).
    p_longest, p_shortest = (
        float(stats.binom.sf(k - 1, n, np.mean(1 / counts))) for k in (n_longest, n_shortest)
    )
    ratio = first.sum() / later.sum() if later.sum() > 0 else np.nan
    return n, n_longest, n_shortest, p_longest, p_shortest, ratio


def _recorded(t, i):
    if t.extents is None:
        return np.zeros(len(t.runtime_s), dtype=bool)
    return np.isfinite(t.extents[:, :, i]).all(axis=0) & (t.counts[:, i] > 1)


def _growth(t, i, configurations):
    """Return how many runs tell, and the change of seconds per occurrence with twice the count."""
    seconds, counts = t.seconds[:, i], t.counts[:, i]
    with np.errstate(invalid="ignore"):
        known = (seconds > 0) & (counts >= 1)
    frame = pd.DataFrame({"configuration": configurations, "count": counts, "s": seconds})[known]
    frame = frame[frame.groupby("configuration")["count"].transform("nunique") > 1]
    df = len(frame) - frame["configuration"].nunique() - 1
    if df < MIN_DF:
        return len(frame), *[np.nan] * 3
    of = pd.factorize(frame["configuration"])[0]
    count, each_s = frame["count"].to_numpy(), (frame["s"] / frame["count"]).to_numpy()
    x, y = within(np.log2(count), of), within(np.log(each_s), of)
    slope = (x @ y) / (x @ x)
    half = stats.t.isf((1 - LEVEL) / 2, df) * np.sqrt(((y - slope * x) ** 2).sum() / df / (x @ x))
    return len(frame), *(float(np.expm1(b)) for b in (slope, slope - half, slope + half))


def warm_up(t):
    """Return which part of a section's seconds its first occurrence takes beyond a later one.

    Shape (runs, sections); 0 where the record does not tell, and for every run where the first
    occurrence is not the longest more often than chance would have it.
    """
    share = np.zeros_like(t.whole)
    for i in range(len(t.paths)) if t.extents is not None else ():
        beyond_s, whole = np.nan_to_num(beyond_later(t, i)), t.whole[:, i]
        share[:, i] = np.divide(beyond_s, whole, out=share[:, i], where=whole > 0)
    return share


def beyond_later(t, i):
    """Return the seconds that the first occurrence of section `i` takes beyond a later one, by run.

    NaN where the record does not tell; 0 in every other run where the first occurrence is not the
    longest more often than chance would have it.
    """
    seconds, known = np.full(len(t.runtime_s), np.nan), _recorded(t, i)
    n, _, _, p_longest, _, _ = _first(t, i)
    if n:
        first, whole = t.extents[0, known, i], t.whole[known, i]
        beyond_s = first - np.maximum(0.0, whole - first) / (t.counts[known, i] - 1)
        seconds[known] = np.clip(beyond_s, 0.0, whole) if p_longest <= ALPHA / 2 else 0.0
    return seconds
