"""Bound against measured saving: what happened when a knob was really turned.

A bound (`knobs`) is what turning a knob saves at most, if nothing outside its sections changes.
The saving measured in runs with the knob turned is split into what was saved in its sections, and
what changed outside them.

Contract: collections in, frames out.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis import decomposition, pairs
from traincost.analysis.knobs import bounds, governed, knobs_of
from traincost.analysis.sections import UNATTRIBUTED, timing
from traincost.analysis.verdicts import TOO_FEW
from traincost.errors import require_among

LEVEL = 0.95  # of the intervals
ABOVE = "more than the bound"
AT_BOUND = "as much as the bound"
BELOW = "less than the bound"
_COLUMNS = (
    "knob", "kind", "change", "setting", "setting_before", "setting_after", "n_configurations", "bound",
    "measured", "low", "high", "inside", "outside", "governed", "still_governed", "elsewhere",
    "elsewhere_share", "outcome",
)  # fmt: skip


def measured_savings(baseline, reruns, knobs, cadence_section=None, replicates=()):
    """Set the bound of each knob against what runs with it turned really saved.

    Parameters
    ----------
    baseline : Collection
        Runs with no knob turned.
    reruns : dict of str to Collection
        Name of a knob (`ParameterError` where there is none) to runs with this knob turned.
    knobs : list of Knob or mapping
    cadence_section : str, optional
        As in `knobs.bounds`.
    replicates : sequence of str

    Returns
    -------
    DataFrame
        A row per rerun: ``knob``, ``kind``, ``change``; ``setting``, ``setting_before``,
        ``setting_after`` (what differs, with commas where it is several, empty where the records
        name nothing); ``n_configurations``; then mean shares of runtime
        over the paired configurations: ``bound``, ``measured`` and the ``low``, ``high`` of its
        95 % t interval, ``inside`` (saved in the knob's sections), ``outside`` (saved elsewhere;
        the two sum to ``measured``), ``governed``, ``still_governed`` (what the sections took
        before, and take now, both of the runtime before), ``elsewhere`` (what outside changed
        most) with its ``elsewhere_share``; ``outcome``, whether the interval holds the bound.
    """
    knobs = {knob.name: knob for knob in knobs_of(knobs or [])}
    rows = []
    for name, after in reruns.items():
        require_among(name, knobs, "reruns", "name knobs", most=None)
        paired = pairs.pair(baseline, after, None, replicates)
        rows.append(_row(knobs[name], baseline, after, paired, cadence_section))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _row(knob, baseline, after, paired, cadence_section):
    before = _chosen(baseline, paired.pairs["before"])
    bound = float(bounds(timing(before), [knob], cadence_section)["bound"].iloc[0])
    saved, of, mask = _saved_by_section(knob, baseline, after, paired)
    measured = saved.sum(axis=1)
    low = high = np.nan
    if len(measured) > 1:
        # Not scipy's t-test, which warns where all configurations saved exactly the same.
        half = stats.t.isf((1 - LEVEL) / 2, len(measured) - 1) * stats.sem(measured)
        low, high = measured.mean() - half, measured.mean() + half
    inside, outside = saved.loc[:, mask].sum(axis=1).mean(), saved.loc[:, ~mask].mean()
    elsewhere = outside.abs().idxmax()
    changed = (", ".join(paired.changed[name]) for name in ("setting", "before", "after"))
    return (
        knob.name, knob.kind, knob.change, *changed, len(saved), bound, measured.mean(), low, high, inside,
        outside.sum(), of, of - inside, elsewhere, outside[elsewhere], outcome(bound, low, high),
    )  # fmt: skip


def outcome(bound, low, high):
    """Say how the interval of a measured saving lies to its bound."""
    if not np.isfinite([bound, low, high]).all():
        return TOO_FEW
    if low > bound:
        return ABOVE
    return BELOW if high < bound else AT_BOUND


def _saved_by_section(knob, baseline, after, paired):
    """Return what each section's own time, without its children's, saved as a share of runtime before.

    That is a row per paired configuration, a column per section and for the unattributed rest; then the mean
    share of runtime that the knob's sections took before, and which columns the knob governs.
    """
    t = timing(decomposition.stacked(baseline, after))
    own = np.column_stack([*(t.rest(i) for i in range(len(t.paths))), t.unattributed()])
    mask = np.append(governed(knob, t), False)
    n_first = len(baseline.runs)
    saved, shares = [], []
    for _, group in paired.pairs.groupby("configuration"):
        here, there = np.concatenate(list(group["before"])), np.concatenate(list(group["after"])) + n_first
        whole = t.runtime_s[here].mean()
        saved.append((own[here].mean(axis=0) - own[there].mean(axis=0)) / whole)
        shares.append(own[here][:, mask].sum(axis=1).mean() / whole)
    return pd.DataFrame(saved, columns=[*t.paths, UNATTRIBUTED]), float(np.mean(shares)), mask


def _chosen(collection, rows):
    rows = np.sort(np.concatenate(list(rows)))
    sections = collection.sections[collection.sections["run"].isin(rows)]
    return SimpleNamespace(
        runs=collection.runs.iloc[rows].reset_index(drop=True),
        sections=sections.assign(run=np.searchsorted(rows, sections["run"])),
    )
