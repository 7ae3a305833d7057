"""Where the time goes: the share of each timed section, and of what nothing timed.

A section's seconds include its children's, so only disjoint sections are ever summed: those
with no recorded ancestor among them. The *share* of a section is the mean over runs of
seconds / runtime, each run counting once and a run without the section counting 0; the
*pooled* share is the ratio of the sums. Disjoint shares and the unattributed rest make 1.

Contract: a collection's ``runs`` and ``sections`` frames in, frames out.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.analysis.fields import ALL_RUNS, bins

UNATTRIBUTED = "unattributed"
REST = "{}, inside but untimed"
OTHER = "other sections"
SPLIT_ABOVE = 0.5  # a part of a composition with a larger mean share is shown by its children
LEAST_DRAWN = 0.01  # mean share of a part that can be seen in a bar
MAX_PARTS = 8  # of a composition; the smallest beyond are put together
# Row and column names of ours: a section of such a name gets "(section)" behind it.
RESERVED = (UNATTRIBUTED, OTHER, "n_runs", "level", "all knobs together")
TOLERANCE = 1e-3  # relative: what profilers round their seconds to


@dataclass(frozen=True, eq=False)
class Timing:
    """The sections of a collection as arrays, (runs, sections) where nothing else is said."""

    paths: list  # sections, parents before their children
    parent: list  # index of the nearest recorded ancestor, -1 for none
    children: list  # lists of indices of the sections whose nearest recorded ancestor each is
    seconds: np.ndarray  # as recorded; NaN where a run lacks the section
    counts: np.ndarray  # as recorded; NaN where a run lacks the section, or its count
    whole: np.ndarray  # `seconds`, where a missing parent is the sum of its children, and 0 for the rest
    runtime_s: np.ndarray  # (runs,)
    # (3, runs, sections): seconds of the first, shortest and longest occurrence; NaN where a run does not
    # tell, None where none does.
    extents: np.ndarray | None = None
    synchronised: np.ndarray | None = None  # whether the clock waited for the device (1 or 0); likewise

    @property
    def roots(self):
        """Indices of the sections that have no recorded ancestor."""
        return [i for i, parent in enumerate(self.parent) if parent < 0]

    def rest(self, i):
        """Seconds of section `i` that none of its children covers, per run."""
        return self.whole[:, i] - self.whole[:, self.children[i]].sum(axis=1)

    def unattributed(self):
        """Seconds of each run that no section timed; negative where sections overlap."""
        return self.runtime_s - self.whole[:, self.roots].sum(axis=1)


def timing(collection):
    """Arrange a collection's sections as `Timing`.

    ``collection.sections`` has the columns ``run`` (row number in ``runs``), ``section``,
    ``seconds`` and ``count``, and may have ``first_s``, ``min_s``, ``max_s`` and ``synchronised``;
    ``collection.runs`` has ``runtime_s``.
    """
    runtime_s = collection.runs["runtime_s"].to_numpy(dtype=float)
    frame = collection.sections
    codes, paths = pd.factorize(frame["section"])
    paths = [f"{path} (section)" if path in RESERVED or path.endswith(REST[2:]) else path for path in paths]
    order = sorted(range(len(paths)), key=lambda i: paths[i].split("/"))
    place = np.empty(len(paths), dtype=np.int64)
    place[order] = np.arange(len(paths))
    paths = [paths[i] for i in order]
    at = (frame["run"].to_numpy(), place[codes])
    del codes  # as long as the sections of all runs

    def arranged(*names):
        arrays = np.full((len(names), len(runtime_s), len(paths)), np.nan)
        for array, name in zip(arrays, names, strict=True):
            array[at] = frame[name]
        return arrays

    def arranged_if_told(*names):
        told = all(name in frame and frame[name].notna().any() for name in names)
        return arranged(*names) if told else None

    seconds, counts = arranged("seconds", "count")
    synchronised, extents = arranged_if_told("synchronised"), arranged_if_told("first_s", "min_s", "max_s")
    synchronised = None if synchronised is None else synchronised[0]
    parent = _parents(paths)
    children = [[] for _ in paths]
    for i, above in enumerate(parent):
        if above >= 0:
            children[above].append(i)
    whole = _filled(seconds, children)
    return Timing(paths, parent, children, seconds, counts, whole, runtime_s, extents, synchronised)


def _parents(paths):
    index = {path: i for i, path in enumerate(paths)}
    ancestors = ((path.rsplit("/", n)[0] for n in range(1, path.count("/") + 1)) for path in paths)
    return [next((index[above] for above in each if above in index), -1) for each in ancestors]


def _filled(seconds, children):
    whole = np.nan_to_num(seconds)
    present = ~np.isnan(seconds)
    for i, inside in reversed(list(enumerate(children))):  # children come after their parents
        lacking = ~present[:, i] & present[:, inside].any(axis=1)
        whole[lacking, i] = whole[lacking][:, inside].sum(axis=1)
        present[lacking, i] = True
    return whole


def shares(t):
    """Return the share of each section, and of the unattributed rest.

    A run that has a section without its recorded parent counts it for the parent too.

    Returns
    -------
    DataFrame
        A row per section, the largest mean share first, the unattributed rest last:
        ``section``; ``parent`` (nearest recorded ancestor, or empty); ``disjoint`` (has none,
        so it may be summed with the other disjoint rows); ``share``, ``pooled_share``;
        ``share_low``, ``share_high`` (smallest and largest run); ``n_runs``, ``n_present``;
        ``share_present`` (mean over the runs that have it);
        ``seconds`` (total over runs); ``count`` (mean over runs that have it);
        ``per_occurrence_s`` (mean over those runs of seconds / count);
        ``untimed_share`` (mean share of a parent that its children leave);
        ``overlapping`` (its children exceed it in some run; of the rest: the disjoint sections exceed
        the runtime), ``overlap`` (their seconds over those of what encloses them, mean over the runs
        in which they exceed it; NaN where they do not); ``n_unsynchronised`` (runs whose clock did not
        wait for the device).
    """
    share = np.column_stack([t.whole, t.unattributed()])
    seconds = share.sum(axis=0)
    share /= t.runtime_s[:, None]  # in place: these are as large as the runs' sections
    n_present = [*(~np.isnan(t.seconds)).sum(axis=0), len(t.runtime_s)]
    has = np.column_stack([t.whole > 0, np.ones(len(t.runtime_s), bool)])
    overlap = [*_of_parents(t, _overlap), _overlap(t.unattributed(), t.runtime_s)]
    table = pd.DataFrame(
        {
            "section": [*t.paths, UNATTRIBUTED],
            "parent": [*(t.paths[i] if i >= 0 else "" for i in t.parent), ""],
            "disjoint": [*(i < 0 for i in t.parent), True],
            "share": share.mean(axis=0),
            "pooled_share": seconds / t.runtime_s.sum(),
            "share_low": share.min(axis=0),
            "share_high": share.max(axis=0),
            "n_runs": len(t.runtime_s),
            "n_present": n_present,
            "seconds": seconds,
            "count": [*mean_present(t.counts), np.nan],
            "per_occurrence_s": [*mean_present(t.seconds / t.counts), np.nan],
            "untimed_share": [*_of_parents(t, lambda rest, _: (rest / t.runtime_s).mean()), np.nan],
            "overlapping": np.isfinite(overlap),
            "share_present": mean_present(share, has),
            "overlap": overlap,
            "n_unsynchronised": [*unsynchronised(t).sum(axis=0), 0],
        }
    )
    order = np.argsort(-table["share"].to_numpy()[:-1], kind="stable")
    return table.iloc[[*order, len(order)]].reset_index(drop=True)


def _of_parents(t, function):
    """Return a function of what a section's children leave of it and of its seconds; NaN without children."""
    return [function(t.rest(i), t.whole[:, i]) if t.children[i] else np.nan for i in range(len(t.paths))]


def _overlap(rest, whole):
    """Return the parts of a whole over it, mean over the runs in which they exceed it (threads)."""
    exceeded = (rest < -TOLERANCE * whole) & (whole > 0)  # by more than rounding
    return float((1 - rest[exceeded] / whole[exceeded]).mean()) if exceeded.any() else np.nan


def overlap_around(t, i):
    """Return by how much section `i` and those beside it, or beside one around it, exceed what encloses them.

    Their seconds over those of what encloses them, the largest along the way up; NaN where none does.
    """
    found = [_overlap(t.unattributed(), t.runtime_s)]
    while t.parent[i] >= 0:
        i = t.parent[i]
        found.append(_overlap(t.rest(i), t.whole[:, i]))
    return max((value for value in found if value == value), default=np.nan)


def unsynchronised(t):
    """Say in which runs the clock of each section did not wait for the device, (runs, sections)."""
    if t.synchronised is None:
        return np.zeros(t.whole.shape, dtype=bool)
    return t.synchronised == 0


def mean_present(values, has=True):
    """Mean of each column over its finite values, where a run `has` it; NaN where it has none."""
    present = np.isfinite(values) & has
    n = present.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return values.sum(axis=0, where=present) / np.where(n > 0, n, np.nan)


def composition(t, by=None):
    """Return a cut through the tree: disjoint parts that, with the rest, make up each run.

    A part whose mean share exceeds `SPLIT_ABOVE` is replaced by its children and by what of
    it they leave untimed; the smallest parts are put together beyond `MAX_PARTS`. The levels of the
    Field `by` are compared; with none, or a single level, only the whole is returned.

    Returns
    -------
    DataFrame
        A row per level and the whole (``level`` `fields.ALL_RUNS`), a column per part, the largest first,
        `UNATTRIBUTED` last; each row sums to 1.
    """
    share = {name: seconds / t.runtime_s for name, seconds in cut(t).items()}
    order = sorted(share, key=lambda name: -share[name].mean())
    if len(order) > MAX_PARTS:
        share[OTHER] = sum(share[name] for name in order[MAX_PARTS - 1 :])
        order = [*order[: MAX_PARTS - 1], OTHER]
    frame = pd.DataFrame({name: share[name] for name in order}, index=range(len(t.runtime_s)))
    frame[UNATTRIBUTED] = t.unattributed() / t.runtime_s
    whole = frame.mean().to_frame().T.assign(level=ALL_RUNS, n_runs=len(frame))
    codes, labels = bins(by) if by is not None else (None, ())
    if len(labels) < 2:
        return whole.set_index("level")
    each = frame.groupby(codes).mean()
    each = each.assign(level=[labels[i] for i in each.index], n_runs=np.bincount(codes)[each.index])
    return pd.concat([each, whole]).set_index("level")


def drawn_parts(composition):
    """Return a `composition` to draw: several parts too small to see in any row become `OTHER`.

    The largest is always kept; each row still sums to 1.
    """
    parts = composition.drop(columns=["n_runs", UNATTRIBUTED])
    unseen = [name for name in parts.columns[1:] if name == OTHER or parts[name].max() < LEAST_DRAWN]
    if len(unseen) < 2:
        return composition
    others = parts[unseen].sum(axis=1)
    kept = parts.drop(columns=unseen)
    return pd.concat([kept.assign(**{OTHER: others}), composition[[UNATTRIBUTED, "n_runs"]]], axis=1)


def cut(t):
    """Return seconds per run of each part of a cut through the tree, by name.

    Disjoint parts: a part whose mean share exceeds `SPLIT_ABOVE` is replaced by its children and
    by what they leave untimed.
    """
    parts, queue = {}, list(t.roots)
    while queue:
        i = queue.pop(0)
        children = t.children[i]
        if children and (t.whole[:, i] / t.runtime_s).mean() > SPLIT_ABOVE:
            parts[REST.format(t.paths[i])] = t.rest(i)
            queue += children
        else:
            parts[t.paths[i]] = t.whole[:, i]
    return parts


def _largest_first(t):
    """Return the names of the parts of the cut, by their mean share."""
    parts = cut(t)
    return sorted(parts, key=lambda name: -(parts[name] / t.runtime_s).mean())


def repeated_parts(t):
    """Return the parts of the cut that occur more than once a run on average, largest first."""
    mean_counts = dict(zip(t.paths, mean_present(t.counts), strict=True))
    return [name for name in _largest_first(t) if mean_counts.get(name, 0) > 1]


def subsections(t):
    """Return the children of the largest part of the cut that has any."""
    for name in _largest_first(t):
        if name in t.paths and t.children[t.paths.index(name)]:
            return [t.paths[i] for i in t.children[t.paths.index(name)]]
    return []


def counts(t, section):
    """Return how often `section` ran in each run, NaN where that is not known."""
    if section not in t.paths:
        return np.full(len(t.runtime_s), np.nan)
    return t.counts[:, t.paths.index(section)]


def per_occurrence(t, by, sections=None):
    """Return seconds per occurrence (one evaluation, say) by section and level of the Field `by`.

    Of all `sections` that occur more than once a run on average, if they are left out.

    Returns
    -------
    DataFrame
        ``level``, ``section``, ``per_occurrence_s`` (mean over the level's runs of
        seconds / count), ``count`` (mean), ``n_runs`` (with a count). Levels in natural order.
    """
    codes, labels = bins(by)
    if sections is None:
        repeated = mean_present(t.counts) > 1
        sections = [path for path, keep in zip(t.paths, repeated, strict=True) if keep]
    rows = []
    for i in map(t.paths.index, sections):
        each = t.seconds[:, i] / t.counts[:, i]
        known = np.isfinite(each)
        n = np.bincount(codes[known])
        seconds, occurred = (np.bincount(codes[known], x[known]) for x in (each, t.counts[:, i]))
        rows += [
            (labels[k], t.paths[i], seconds[k] / n[k], occurred[k] / n[k], int(n[k]))
            for k in np.flatnonzero(n)
        ]
    return pd.DataFrame(rows, columns=["level", "section", "per_occurrence_s", "count", "n_runs"])
