"""Which runs of two collections are compared: pairs of equal configuration.

A configuration here is a setting of all *common factors*: fields that both collections have and
that vary within at least one of them. A field that each side has with one level is a shared
setting; where the two levels differ it may be the cause of a change (`sessions`), and is no factor.
A setting that names the machine is no factor, either. Within a configuration, runs with the same
replicate level (seed) on both sides are paired; where no such level is on both sides, all runs of
the configuration are, as one pair. A level that was renamed is never guessed: it is paired if the
caller says what it became.

Contract: two collections' ``runs`` frames in, a `Pairing` out.
"""

import difflib
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from traincost.analysis import fields
from traincost.analysis.roles import is_place
from traincost.analysis.sessions import MAX_NAMED, SIDES, few
from traincost.columns import PREFIX
from traincost.errors import NothingToReport, ParameterError, brief, require_among
from traincost.words import in_natural_order

ABSENT = "(no such setting)"
NEAR = 0.6  # of difflib: how alike the names of a level and its successor are


@dataclass(frozen=True, eq=False)
class Pairing:
    """Two collections, paired by configuration."""

    name: str  # of both collections
    factors: tuple  # names of the fields by which configurations are told apart
    of_before: np.ndarray  # configuration of each run before, a row number of `configurations`
    of_after: np.ndarray
    configurations: pd.DataFrame  # a row per configuration of either side: its level of each factor, as text
    # A row per pair: ``configuration``, ``before``, ``after`` (arrays of row numbers of the runs on each
    # side, which are averaged).
    pairs: pd.DataFrame
    # Settings that are not paired by and have no level in common, most of them shared by all runs of a side:
    # ``setting``, ``before``, ``after`` (the level, or the first few).
    changed: pd.DataFrame
    averaged: tuple  # settings that vary on one side only and are absent from the other; averaged over
    unpaired: pd.DataFrame  # ``side``, ``run_id``, ``path``, ``reason``
    numbers: dict = field(default_factory=dict)  # factor with many values to its number in each configuration

    @property
    def paired(self):
        """Configurations that have a pair, as sorted row numbers of `configurations`."""
        return np.unique(self.pairs["configuration"].to_numpy(dtype=int))


def pair(before, after, pair_by=None, replicates=(), renamed=None):
    """Pair the runs of two collections by configuration.

    Parameters
    ----------
    before, after : Collection
    pair_by : sequence of str, optional
        Fields to pair by; the common factors if left out.
    replicates : sequence of str
        Fields that repeat a configuration.
    renamed : dict, optional
        Factor to a mapping of levels of `before` to what `after` calls them.

    Raises
    ------
    NothingToReport
        The collections have no factor in common, or no configuration.
    ParameterError
        `pair_by` or `renamed` name what one of the collections lacks.
    """
    first, second = _renamed(before.runs, after.runs, renamed or {}), after.runs
    described = [{f.name: f for f in fields.describe(runs, replicates)} for runs in (first, second)]
    joined = {name: _joined(first, second, name) for name in described[0] if name in described[1]}
    factors = _factors(described, joined, pair_by)
    n, n_first = len(first) + len(second), len(first)
    codes = fields.combined([joined[name].codes for name in factors], n)
    at = np.unique(codes, return_index=True)[1]
    levels = {name: joined[name].labels_of(joined[name].codes[at]) for name in factors}
    seeds = [joined[name].codes for name in joined if _is(described, name, ("replicate",))]
    seeds = fields.combined(seeds, n)
    pairs = _pairs(codes[:n_first], codes[n_first:], seeds[:n_first], seeds[n_first:])
    if not len(pairs):
        raise NothingToReport(_no_pair(factors, joined))
    of_one_side = (name for name in {**described[0], **described[1]} if name not in joined)
    return Pairing(
        name=f"{before.name} → {after.name}",
        factors=factors,
        of_before=codes[:n_first],
        of_after=codes[n_first:],
        configurations=pd.DataFrame(levels, index=range(len(at))),
        pairs=pairs,
        changed=_changed(described, joined, factors),
        averaged=tuple(name for name in of_one_side if _varies(described, name)),
        unpaired=_unpaired((before.runs, after.runs), pairs, factors, joined),
        numbers=_numbers(first, second, factors, joined, at),
    )


def _numbers(first, second, factors, joined, at):
    """Return the numbers of the factors with many values, in each configuration."""
    found = {}
    for name in factors:
        column = pd.concat([runs[PREFIX + name] for runs in (first, second)], ignore_index=True)
        if pd.api.types.is_numeric_dtype(column.dtype):
            n_levels = len(joined[name].labels)
            repeated = len(column) / 2 >= fields.MIN_RUNS_PER_LEVEL * n_levels
            if n_levels > (fields.MAX_NUMERIC_LEVELS if repeated else fields.N_BINS):
                found[name] = column.to_numpy(dtype=float)[at]
    return found


# -- the fields of both sides --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Joined:
    """A field of both sides."""

    codes: np.ndarray  # level of each run, those before first
    labels: tuple
    n_first: int

    @property
    def sides(self):
        return self.codes[: self.n_first], self.codes[self.n_first :]

    @property
    def meets(self):
        """Whether a level is on both sides."""
        return bool(np.intersect1d(*self.sides).size)

    def labels_of(self, codes):
        return [self.labels[code] for code in codes]


def _joined(first, second, name):
    columns = [runs[PREFIX + name] for runs in (first, second)]
    if not all(pd.api.types.is_numeric_dtype(column.dtype) for column in columns):
        # A number among words on one side is the same level as among numbers on the other.
        columns = [pd.Series([_text(v) for v in column], dtype="str") for column in columns]
    codes, labels, _ = fields.levels(pd.concat(columns, ignore_index=True))
    return _Joined(codes, labels, len(first))


def _text(value):
    if pd.isna(value):
        return None
    number = pd.to_numeric(value, errors="coerce")
    return str(value) if pd.isna(number) else f"{float(number):.12g}"


def _is(described, name, kinds):
    return any(side[name].kind in kinds for side in described if name in side)


def _varies(described, name):
    """Say whether a setting varies on a side; one that names the machine is no part of a configuration."""
    numbers = all(side[name].values is not None for side in described if name in side)
    return _is(described, name, ("levels", "numeric", "merged")) and not is_place(name, numbers)


def _factors(described, joined, pair_by):
    if pair_by is not None:
        for name in pair_by:
            require_among(name, joined, "pair_by", "name settings of both collections")
        return tuple(pair_by)
    varying = [name for name in joined if _varies(described, name)]
    # Where only names tell the runs apart, the names are what they have in common.
    varying = varying or [name for name in joined if _is(described, name, ("identifier",))]
    if not varying:
        _refuse_no_factor(described, joined)
    meeting = [name for name in varying if joined[name].meets]
    return tuple(name for name in varying if name in meeting or not _derived(joined, name, meeting))


def _derived(joined, name, others):
    """Say whether `others` fix a field on each side: one derived from them, or a name of them."""
    if not others:
        return False
    codes, n = joined[name].codes, joined[name].n_first
    whole = fields.combined([joined[other].codes for other in others], len(codes))
    return all(fields.determines(whole[part], codes[part]) for part in (np.s_[:n], np.s_[n:]))


def _refuse_no_factor(described, joined):
    before, after = (sorted(name for name in side if _varies([side], name)) for side in described)
    if not before and not after and joined:
        return  # each side is one configuration: all that differs is shared
    listed = [", ".join(names[:MAX_NAMED]) or "none" for names in (before, after)]
    raise NothingToReport(
        f"the collections have no factor in common: BEFORE varies {listed[0]}; AFTER varies {listed[1]}"
    )


def _changed(described, joined, factors):
    rows = []
    for name in {**described[0], **described[1]}:
        if name in factors or _is(described, name, ("replicate", "identifier")):
            continue
        if name in joined:
            sides = [set(joined[name].labels_of(np.unique(part))) for part in joined[name].sides]
        else:
            sides = [set(side[name].labels) if name in side else {ABSENT} for side in described]
        if not sides[0] & sides[1]:
            rows.append((name, *(few(in_natural_order(levels)) for levels in sides)))
    return pd.DataFrame(rows, columns=["setting", *SIDES])


# -- pairs ---------------------------------------------------------------------------------


def _pairs(of_before, of_after, seed_before, seed_after):
    sides = [_by_seed(of_before, seed_before), _by_seed(of_after, seed_after)]
    rows = []
    for c in sorted(sides[0].keys() & sides[1].keys()):
        here, there = sides[0][c], sides[1][c]
        common = sorted(here.keys() & there.keys())
        rows += [(c, here[level], there[level]) for level in common]
        if not common:
            rows.append((c, *(np.sort(np.concatenate(list(side.values()))) for side in (here, there))))
    return pd.DataFrame(rows, columns=["configuration", *SIDES])


def _by_seed(configurations, seeds):
    """Return configuration to replicate level to the row numbers of its runs."""
    found = {}
    runs = pd.DataFrame({"c": configurations, "seed": seeds})
    for (c, seed), rows in runs.groupby(["c", "seed"]).indices.items():
        found.setdefault(int(c), {})[int(seed)] = rows
    return found


def _unpaired(runs, pairs, factors, joined):
    rows = []
    n_first = len(runs[0])
    for i, (side, frame) in enumerate(zip(SIDES, runs, strict=True)):
        used = np.concatenate([np.empty(0, dtype=int), *pairs[side]])
        for row in np.setdiff1d(np.arange(len(frame)), used):
            reason = _reason(row + i * n_first, i, factors, joined)
            path = frame["path"].iloc[row] if "path" in frame else ""
            rows.append((side, frame["run_id"].iloc[row], path, reason))
    return pd.DataFrame(rows, columns=["side", "run_id", "path", "reason"])


def _reason(row, side, factors, joined):
    """Say why a run has no pair: a level that the other side lacks, or the combination."""
    other, same = SIDES[1 - side], True
    for name in factors:
        code, there = joined[name].codes[row], joined[name].sides[1 - side]
        if code not in there:
            label = joined[name].labels[code]
            return f"{name}={label} is not among the runs {other}{_hint(name, label, side, joined)}"
        same = same & (there == code)
    what = "replicate" if np.any(same) else "configuration"
    return f"its {what} is not among the runs {other}"


def _hint(name, label, side, joined):
    """Suggest what a level may be called on the other side, by its name alone."""
    there, here = joined[name].sides[1 - side], joined[name].sides[side]
    free = joined[name].labels_of(np.setdiff1d(there, here))
    near = difflib.get_close_matches(label, free, 1, NEAR)
    if not near:
        return ""
    old, new = (label, near[0]) if side == 0 else (near[0], label)
    return f"; if it is {near[0]} there, say so: renamed: {{{name}: {{{old}: {new}}}}}"


def _no_pair(factors, joined):
    for name in factors:
        if not joined[name].meets:
            here, there = (joined[name].labels_of(np.unique(side)) for side in joined[name].sides)
            hint = next(filter(None, (_hint(name, label, 0, joined) for label in here)), "")
            return (
                f"no configuration is on both sides: {name} is {few(here)} before and {few(there)} after"
                f"{hint or '; leave it out with pair_by if that is what was changed'}"
            )
    return f"no configuration is on both sides, over {few(factors)}; name the settings to pair by: pair_by"


def _renamed(before, after, renamed):
    """Return the runs before, with the levels that are called otherwise after."""
    for name, levels in renamed.items():
        column = PREFIX + name
        if column not in before or column not in after:
            raise ParameterError(f"`renamed` must name settings of both collections, got {brief(name)}")
        if not isinstance(levels, dict):
            raise ParameterError(f"`renamed`: {name!r} must map old levels to new ones, got {brief(levels)}")
        text = pd.Series([_text(value) for value in before[column]], dtype="str")
        new = {_text(old): _text(level) for old, level in levels.items()}
        for side, known, asked in ((SIDES[0], text, new), (SIDES[1], after[column].map(_text), new.values())):
            for level in asked:
                if level not in set(known):
                    raise ParameterError(f"`renamed`: {name} has no level {level!r} among the runs {side}")
        before = before.assign(**{column: text.replace(new).to_numpy()})
    return before
