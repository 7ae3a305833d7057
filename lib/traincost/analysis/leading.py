"""What a page leads with: where an average run spends its time, and which change would save the most.

Contract: a `Timing`, the bounds of its knobs and the kinds of its sections in, values out; no words.
"""

from dataclasses import dataclass

import numpy as np

from traincost.analysis.fields import UNSET
from traincost.analysis.kinds import TRAINING, kind_of, subject_of
from traincost.analysis.sections import OTHER, REST, UNATTRIBUTED, cut

HIGH = 0.10  # of a run: a change that saves as much is worth a headline
HALF = 0.5  # of a run untimed: nothing else can be the headline
FAR_MORE = 1.5  # times training, from which what a knob governs takes the time


@dataclass(frozen=True, eq=False)
class Leading:
    """What leads."""

    untimed: float  # mean share of a run that no section timed
    training: float  # mean share of sections known to be training; 0 where none is
    training_pooled: float  # the same of all hours
    knob: object  # the row of `knobs.bounds` that saves the most hours in all; None where none saves anything
    subject: str  # in a word, what that knob governs; empty where that is of several kinds or of none
    governed: tuple  # the disjoint parts of a run (`sections.composition`) that it governs
    by_mean: object  # the row of the knob of the largest mean share, where that is another one; else None


def leading(t, composition, bounds, section_kinds=None):
    """Say what leads, of a timing, its composition, the bounds of its knobs, and kinds (`kinds.kind_of`)."""
    whole = composition.iloc[-1].drop("n_runs").astype(float)
    parts = whole.drop(UNATTRIBUTED)
    # What a parent leaves untimed is of its kind.
    kinds = {part: kind_of(part.removesuffix(REST.format("")), section_kinds) for part in parts.index}
    trains = [part for part in parts.index if part != OTHER and kinds[part] == TRAINING]
    seconds = cut(t)
    training = parts[trains].sum(), sum(seconds[part].sum() for part in trains) / t.runtime_s.sum()
    training = tuple(map(float, training))
    known = bounds[(bounds["kind"] != "joint") & (bounds["bound"] > 0)]
    if not len(known):
        return Leading(whole[UNATTRIBUTED], *training, None, "", (), None)
    best = known.loc[known["pooled_bound"].astype(float).idxmax()]
    by_mean = known.loc[known["bound"].astype(float).idxmax()]
    sections = best["sections"].split(", ")
    governed = tuple(part for part in parts.index if any(f"{part}/".startswith(f"{s}/") for s in sections))
    return Leading(
        float(whole[UNATTRIBUTED]),
        *training,
        best,
        subject_of(sections, section_kinds),
        governed,
        None if by_mean["knob"] == best["knob"] else by_mean,
    )


def current_values(knob, described):
    """Return the levels of the setting that a knob is named after, or none where there is no such setting."""
    for field in described:
        if field.name == knob or field.name.rsplit(".", 1)[-1] == knob:
            return tuple("not set" if label in (UNSET, "None") else label for label in field.labels)
    return ()


def counts_of(t, sections):
    """Return how often the first of some sections with a count runs, the distinct numbers in order."""
    for path in sections:
        if path in t.paths:
            counts = t.counts[:, t.paths.index(path)]
            known = np.unique(counts[np.isfinite(counts)])
            if len(known):
                return known.astype(int)
    return np.array([], dtype=int)
