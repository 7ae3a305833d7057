"""Why the runs of one level take longer than those of another: by which sections, and how.

The mean run of a level is cut into disjoint parts (`sections.cut`), so that the parts of each level add up
to its mean runtime, and the parts of the difference to the difference.

Contract: a `Timing` and a field in, frames out.
"""

import numpy as np
import pandas as pd

from traincost.analysis.fields import bins
from traincost.analysis.sections import OTHER, UNATTRIBUTED, cut, mean_present

LEAST_PART = 0.02  # of the mean run of every level: smaller parts are put together
MOST_PARTS = 7  # sections that are told apart


def mean_runs(t, field):
    """Return the mean run of each level of a `Field` by section, the slowest level first.

    Returns
    -------
    DataFrame
        Index ``level``; a column per part in seconds, the largest first, `OTHER` and `UNATTRIBUTED` last, as
        far as there are any; then ``n_runs``, ``mean_s``, ``shortest_s``, ``longest_s``.
    """
    codes, labels = bins(field)
    parts = pd.DataFrame(cut(t), index=range(len(t.runtime_s)))
    total = pd.Series(t.runtime_s).groupby(codes)
    mean_s = total.mean()
    means = parts.groupby(codes).mean()
    share = means.div(mean_s, axis=0).max()
    order = means.mean().sort_values(ascending=False, kind="stable").index
    told = [name for name in order if share[name] >= LEAST_PART][:MOST_PARTS]
    if len(told) == len(order) - 1:
        told = list(order)
    rest = [name for name in order if name not in told]
    frame = means[told].copy()
    if rest:
        frame[OTHER] = means[rest].sum(axis=1)
    frame[UNATTRIBUTED] = pd.Series(t.unattributed()).groupby(codes).mean()
    frame = frame.assign(n_runs=total.size(), mean_s=mean_s, shortest_s=total.min(), longest_s=total.max())
    frame.index = pd.Index([labels[code] for code in frame.index], name="level")
    return frame.sort_values("mean_s", ascending=False, kind="stable")


def difference(t, field):
    """Say where the difference between the slowest and the fastest level comes from.

    The difference of a part that ran c₁ and c₀ times in the mean runs, of s₁ and s₀ seconds, is split
    evenly: (c₁ - c₀) times the mean of s₁/c₁ and s₀/c₀, and the difference of these times the mean count.

    Returns
    -------
    DataFrame
        A row per part, the largest difference first, of the parts of `mean_runs`: ``part``, ``slow_s``,
        ``fast_s``, ``more_s``, ``share`` (of the whole difference); ``slow_count``, ``fast_count``,
        ``slow_each_s``, ``fast_each_s`` (means over runs of seconds / count), ``by_count_s``,
        ``by_each_s``, NaN where no run counts it.
        ``attrs`` has ``slow`` and ``fast``, the levels, and ``total_s``. Empty with a single level.
    """
    runs = mean_runs(t, field)
    names = ["part", "slow_s", "fast_s", "more_s", "share", "slow_count", "fast_count"]
    names += ["slow_each_s", "fast_each_s", "by_count_s", "by_each_s"]
    if len(runs) < 2:
        return pd.DataFrame(columns=names)
    slow, fast = runs.iloc[0], runs.iloc[-1]
    total = slow["mean_s"] - fast["mean_s"]
    codes, labels = bins(field)
    members = [codes == labels.index(level) for level in (slow.name, fast.name)]
    rows = []
    for part in runs.columns.drop(["n_runs", "mean_s", "shortest_s", "longest_s"]):
        more = slow[part] - fast[part]
        share = more / total if total else np.nan
        rows.append((part, slow[part], fast[part], more, share, *_counted(t, part, members, slow, fast)))
    table = pd.DataFrame(rows, columns=names)
    table = table.sort_values("more_s", ascending=False, kind="stable", ignore_index=True)
    table.attrs.update(slow=slow.name, fast=fast.name, total_s=float(total))
    return table


def _counted(t, part, members, slow, fast):
    """Return counts, seconds of one time, and what of the difference goes with either."""
    if part not in t.paths:
        return (np.nan,) * 6
    at = t.paths.index(part)
    counts, seconds = t.counts[:, at], t.seconds[:, at]
    often = [mean_present(counts[inside][:, None])[0] for inside in members]
    if not all(np.isfinite(often)) or not all(often):
        return (np.nan,) * 6
    with np.errstate(divide="ignore", invalid="ignore"):
        each = [mean_present((seconds / counts)[inside][:, None])[0] for inside in members]
    of_level = [slow[part] / often[0], fast[part] / often[1]]
    by_count = (often[0] - often[1]) * sum(of_level) / 2
    return (*often, *each, by_count, (of_level[0] - of_level[1]) * sum(often) / 2)
