"""What to change, and the most it can save.

A knob names the sections it governs. Turning a ``share`` knob saves at most those sections'
time; turning a ``cadence`` knob, which makes something happen `kept` times instead of
`count`, at most s * max(0, 1 - kept / count) of it: occurrences are taken to be alike, but for a
first one that takes longer where the records show that (`occurrences`): what it takes beyond a
later one (warm-up, compilation) stays whatever the cadence is. Knobs that
govern nested sections overlap, so their savings are never added: the joint bound is that of
the union, taken run by run.

A bound says: at most this, if nothing outside the sections changes. It is not a measurement. Of sections
that overlap in time (threads) and together are all of a run, there is none.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.analysis import kinds
from traincost.analysis.occurrences import warm_up
from traincost.analysis.sections import mean_present, overlap_around, repeated_parts, unsynchronised
from traincost.errors import ParameterError, brief, require_among

HIGH_LEVERAGE = 0.10  # of runtime
NOT_WORTH = 0.0005
ALL = 1e-9  # a pooled bound this close to all of the runtime leaves no speed-up to speak of
KINDS = ("cadence", "share")
JOINT = "all knobs together"
N_RESAMPLES = 2_000
MAX_RESAMPLED = 4_000_000  # values drawn in all; large collections get fewer resamples
MAX_DRAWN = 500_000  # values in memory at a time
MAX_PROPOSED = 8
WHOLE_JOB = 0.99  # of a run: a section that takes as much is the job itself, and no setting
MOST = 0.5  # of the section around it: a part of the same kind is proposed besides that one
_COLUMNS = (
    "knob", "change", "kind", "sections", "governed_share", "bound", "low", "high", "level_low",
    "level_high", "pooled_bound", "saved_s", "speed_up", "n_known", "n_runs", "tier", "n_present",
    "bound_present", "first_share", "overlap", "n_unsynchronised", "governed_pooled",
)  # fmt: skip


@dataclass(frozen=True)
class Knob:
    """A setting a person could change to save time."""

    name: str
    sections: tuple  # paths of the sections it governs; ``*`` matches across slashes
    kind: str = "share"  # or ``cadence``
    change: str = ""  # what to do, in words
    kept: float = 1  # occurrences that remain, of a cadence knob
    proposed: bool = False  # whether `propose` made it, and no person

    @classmethod
    def of(cls, entry):
        """Make a knob of a mapping from a parameter file.

        ValueError names the knob, the key, what is allowed and what was got.
        """
        if isinstance(entry, cls):
            return entry
        allowed = ("name", "sections", "kind", "change", "kept")
        if not isinstance(entry, dict):
            raise ValueError(f"a knob must be a mapping with the keys {allowed}, got {brief(entry)}")
        unknown = sorted(map(str, set(entry) - set(allowed)))
        if unknown:
            raise ValueError(f"knob {entry.get('name')!r}: unknown key {unknown[0]!r}; allowed: {allowed}")
        return cls(**entry)._checked()

    def _checked(self):
        name = self.name
        if not isinstance(name, str) or not name:
            raise ValueError(f"a knob's `name` must be text, got {brief(name)}")
        if isinstance(self.sections, str) or not self.sections:
            raise ValueError(f"knob {name!r}: `sections` must be a list of paths, got {brief(self.sections)}")
        if self.kind not in KINDS:
            raise ValueError(f"knob {name!r}: `kind` must be one of {KINDS}, got {brief(self.kind)}")
        if isinstance(self.kept, bool) or not isinstance(self.kept, int | float) or self.kept < 0:
            raise ValueError(f"knob {name!r}: `kept` must be a number of at least 0, got {brief(self.kept)}")
        return Knob(name, tuple(map(str, self.sections)), self.kind, str(self.change), self.kept)


def knobs_of(entries):
    """Return knobs of mappings from a parameter file; `ParameterError` for no knob, or two of one name."""
    try:
        knobs = [Knob.of(entry) for entry in entries]
    except (TypeError, ValueError) as problem:
        raise ParameterError(f"`knobs`: {problem}") from None
    names = [knob.name for knob in knobs]
    for name in names:
        if names.count(name) > 1 or name == JOINT:
            raise ParameterError(f"`knobs` must have names of their own; {name!r} is taken")
    return knobs


def bounds(t, knobs=None, cadence_section=None, codes=None, section_kinds=None):
    """Return the most that each knob, and all together, can save.

    Parameters
    ----------
    t : sections.Timing
    knobs : sequence of Knob or mapping, optional
        Proposed from the sections (`propose`) if left out.
    cadence_section : str, optional
        Section whose count is the number of scheduled occurrences; each governed section's
        own count, if left out.
    codes : ndarray of int, optional
        Level of each run; the range of the bound over levels is given for it.
    section_kinds : dict of str to str, optional
        As `kinds.kind_of` takes them; what is said to be training is not proposed.

    Returns
    -------
    DataFrame
        A row per knob, the one that saves most in all first, the joint bound last:
        ``knob``, ``change``, ``kind``, ``sections`` (matched, as text),
        ``governed_share`` (mean share of them) and ``governed_pooled`` (of all hours);
        all figures are of the runs whose counts allow a bound:
        ``bound`` (mean share of runtime saved), ``low``, ``high`` (resampling range: 2.5 and
        97.5 % quantiles over resampled runs), ``level_low``, ``level_high``;
        ``pooled_bound``, ``saved_s``, ``speed_up`` = 1 / (1 - pooled bound), NaN where that is all
        of the runtime;
        ``n_known`` (runs whose counts allow a bound), ``n_runs``; ``tier``; ``proposed``;
        ``n_present`` (of the known runs, those that have one of the sections), ``bound_present``
        (the bound, mean over these); ``first_share`` (mean share of runtime that first occurrences
        take beyond later ones, which no cadence saves; 0 where nothing shows that they do);
        ``overlap`` (`sections.overlap_around`, the largest of its sections); ``n_unsynchronised``
        (runs in which the clock of one of them did not wait for the device).
        The bound is NaN where no section matches, no run's count is known, or sections that overlap in
        time are all of the runs.
    """
    knobs = propose(t, section_kinds) if knobs is None else knobs_of(knobs)
    if cadence_section is not None:
        require_among(cadence_section, t.paths, "cadence_section", "be a section of the runs", most=20)
    matched = {knob.name: _matched(knob, t.paths) for knob in knobs}
    rows, union, unknown = [], np.zeros_like(t.whole), np.zeros(t.whole.shape, dtype=bool)
    warm = warm_up(t) if any(knob.kind == "cadence" for knob in knobs) else np.zeros_like(t.whole)
    for knob in knobs:
        asked = knob, matched[knob.name], t, cadence_section
        fractions = _fractions(*asked, warm)
        alike = _fractions(*asked, 0 * warm) if warm.any() else fractions
        rows.append(_row(knob, matched[knob.name], fractions, t, codes, alike))
        np.fmax(union, fractions, out=union)
        unknown |= np.isnan(fractions)
    table = pd.DataFrame(rows, columns=_COLUMNS).sort_values(
        "pooled_bound", ascending=False, kind="stable", na_position="last", ignore_index=True
    )
    if len(knobs) > 1:
        # Where one knob's effect is unknown, so is the union's, unless another saves the whole section.
        union[unknown & ~(union >= 1)] = np.nan
        anywhere = np.any(list(matched.values()), axis=0)
        row = _row(Knob(JOINT, (), "joint"), anywhere, union, t, codes, union)
        table = pd.concat([table, pd.DataFrame([row], columns=_COLUMNS)], ignore_index=True)
    return table.assign(proposed=any(knob.proposed for knob in knobs))


def _row(knob, matched, fractions, t, codes, alike):
    known, saved_s = _saved(fractions, t)
    has = (t.whole[:, matched] > 0).any(axis=1)
    if not known.all() and not (known & has).any():
        known[:] = False  # it is known only of runs without the section, which save nothing
    known &= matched.any()
    share = saved_s / t.runtime_s
    bound = low = high = level_low = level_high = pooled = total_s = present = first = np.nan
    found = [overlap_around(t, i) for i in np.flatnonzero(matched)]
    overlap = max((x for x in found if x == x), default=np.nan)
    all_s = t.runtime_s[known].sum()
    says_nothing = overlap == overlap and saved_s[known].sum() >= (1 - ALL) * all_s
    if known.any() and not says_nothing:
        present = share[known & has].mean() if (known & has).any() else np.nan
        first = (_saved(alike, t)[1] / t.runtime_s)[known].mean() - share[known].mean()
        bound, total_s = share[known].mean(), saved_s[known].sum()
        pooled = total_s / t.runtime_s[known].sum()
        low, high = _resampling_range(share, known)
        level_low, level_high = _level_range(share, known, codes)
    governed_s = _saved(np.broadcast_to(matched.astype(float), t.whole.shape), t)[1]
    governed_share = (governed_s / t.runtime_s)[known].mean() if known.any() else np.nan
    governed_pooled = governed_s[known].sum() / all_s if known.any() else np.nan
    paths = ", ".join(path for path, matches in zip(t.paths, matched, strict=True) if matches)
    speed_up = 1 / (1 - pooled) if pooled < 1 - ALL else np.nan
    n_unsynchronised = int(unsynchronised(t)[:, matched].any(axis=1).sum())
    return (
        knob.name, knob.change, knob.kind, paths, governed_share, bound, low, high, level_low,
        level_high, pooled, total_s, speed_up, int(known.sum()), len(share), tier(bound),
        int((known & has).sum()), present, first, overlap, n_unsynchronised, governed_pooled,
    )  # fmt: skip


def tier(bound):
    """Name the leverage of a bound (a share of runtime)."""
    if bound != bound:
        return "unknown"
    if bound >= HIGH_LEVERAGE:
        return "high-leverage"
    return "not worth touching" if bound < NOT_WORTH else "secondary"


def governed(knob, t):
    """Say of each section of a `Timing` whether the knob governs it, or a section around it."""
    mask = _matched(knob, t.paths)
    for i, parent in enumerate(t.parent):  # parents come first
        mask[i] |= parent >= 0 and mask[parent]
    return mask


def _matched(knob, paths):
    patterns = [kinds.pattern(text) for text in knob.sections]
    return np.array([any(p.fullmatch(path) for p in patterns) for path in paths], dtype=bool)


def _fractions(knob, matched, t, cadence_section, warm):
    """Return the part of each section's time that the knob saves, (runs, sections).

    `warm` is the part of it that the first occurrence takes beyond a later one.
    NaN where a cadence knob governs a section whose count is not known.
    """
    fractions, columns = np.zeros_like(t.whole), np.flatnonzero(matched)
    present = t.whole[:, columns] > 0
    if knob.kind == "share":
        fractions[:, columns] = present
        return fractions
    counts = t.counts[:, columns if cadence_section is None else [t.paths.index(cadence_section)]]
    left_out, warm = np.maximum(0.0, 1.0 - knob.kept / counts), warm[:, columns]
    saved = left_out * (1.0 - warm) + max(0.0, 1.0 - knob.kept) * warm
    fractions[:, columns] = np.where(present, saved, 0.0)
    return fractions


def checked_sections(knobs, t):
    """Return the sections of each cadence knob whose occurrences the bound takes to be alike, by name.

    The outermost of those that it governs, as far as they occur more than once in some run.
    """
    checked = {}
    for knob in (knob for knob in knobs if knob.kind == "cadence"):
        matched = _matched(knob, t.paths)
        checked[knob.name] = [
            path
            for i, path in enumerate(t.paths)
            if matched[i] and not (t.parent[i] >= 0 and matched[t.parent[i]]) and (t.counts[:, i] > 1).any()
        ]
    return checked


def _saved(fractions, t):
    """Return, per run, whether the saving is known, and the seconds saved.

    A section's fraction holds for its children too, where they have no larger one; a whole
    never saves more than its own seconds, even if its children overlap.
    """
    saved = fractions.copy()
    for i, parent in enumerate(t.parent):  # parents come first
        if parent >= 0:
            saved[:, i] = np.maximum(saved[:, i], saved[:, parent])
    # In the place of each fraction come the seconds, once it is used: the array is as large as the runs'.
    for i in reversed(range(len(t.paths))):
        own = np.maximum(0.0, t.rest(i)) * saved[:, i]
        children = saved[:, t.children[i]].sum(axis=1)
        saved[:, i] = np.where(saved[:, i] >= 1, t.whole[:, i], np.minimum(t.whole[:, i], own + children))
    total = np.minimum(t.runtime_s, saved[:, t.roots].sum(axis=1))
    known = np.isfinite(total)
    return known, np.where(known, total, 0.0)


def _resampling_range(share, known):
    """Return the quantiles of the mean over runs drawn with replacement, the same for all knobs."""
    n, rng = len(share), np.random.default_rng(0)
    values, sums, n_known = np.where(known, share, 0.0), [], []
    left = max(200, min(N_RESAMPLES, MAX_RESAMPLED // n))
    while left:
        size = min(left, max(1, MAX_DRAWN // n))
        drawn = rng.integers(0, n, size=(size, n))
        n_known.append(known[drawn].sum(axis=1))
        sums.append(values[drawn].sum(axis=1))
        left -= size
    n_known, sums = np.concatenate(n_known), np.concatenate(sums)
    return np.quantile(sums[n_known > 0] / n_known[n_known > 0], [0.025, 0.975])


def _level_range(share, known, codes):
    if codes is None:
        return np.nan, np.nan
    means = pd.Series(share[known]).groupby(codes[known]).mean()
    return means.min(), means.max()


def propose(t, section_kinds=None):
    """Propose knobs from the sections themselves, those first that take the most time.

    Each section that is repeated or optional by its name (`kinds.proposal_of`) and neither the job itself
    nor around training: to be done once where it is done several times, else to be done without.
    """
    if not len(t.runtime_s):
        return []
    counts = mean_present(t.counts)
    candidates = [i for i in range(len(t.paths)) if _is_candidate(t, i, section_kinds)]
    candidates = sorted(candidates, key=lambda i: -t.whole[:, i].sum())[:MAX_PROPOSED]
    return [_proposal(t, i, counts[i], section_kinds) for i in candidates]


def _proposal(t, i, count, section_kinds):
    path, called = t.paths[i], kinds.bare(t.paths[i])
    in_training = t.parent[i] >= 0 and kinds.kind_of(t.paths[t.parent[i]], section_kinds) == kinds.TRAINING
    if kinds.proposal_of(path, section_kinds) == kinds.LOADING:
        change, kind = "load data while the device computes (more workers, or prefetching)", "share"
    elif count > 1 and not kinds.is_piece(path) and not in_training:
        change = "save a checkpoint only once" if kinds.is_hook(path) else f"run {called} only once"
        kind = "cadence"
    else:
        change, kind = f"do without {called}, or with less of it", "share"
    return Knob(path, (path,), kind, change, proposed=True)


def scheduled(t, section_kinds=None):
    """Return the largest repeated section that is evaluation as a whole, or an empty name."""
    whole = (name for name in repeated_parts(t) if not kinds.is_piece(name))
    return next((name for name in whole if kinds.proposal_of(name, section_kinds) == kinds.EVALUATION), "")


def known(bounds):
    """Return the rows of `bounds` whose bound is known."""
    return bounds[bounds["bound"].notna()]


def _is_candidate(t, i, section_kinds):
    """Whether section `i` is optional, not the job itself, not around training, and no small piece of one."""
    why = kinds.proposal_of(t.paths[i], section_kinds)
    pooled = t.whole[:, i].sum() / t.runtime_s.sum()
    mean = (t.whole[:, i] / t.runtime_s).mean()
    if not why or max(mean, pooled) >= WHOLE_JOB or _trains_inside(t, i, section_kinds):
        return False
    parent = t.parent[i]
    if parent < 0 or kinds.proposal_of(t.paths[parent], section_kinds) != why:
        return True
    return t.whole[:, i].sum() > MOST * t.whole[:, parent].sum()


def _trains_inside(t, i, section_kinds):
    return any(
        kinds.kind_of(t.paths[j], section_kinds) == kinds.TRAINING or _trains_inside(t, j, section_kinds)
        for j in t.children[i]
    )
