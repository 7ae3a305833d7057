"""The units on which a factor is tested, and the error that it is tested against.

Runs that agree in every repeating setting are repetitions of a *configuration*. Whether they are
independent evidence is itself tested, by the lack of fit of the additive model (Paull 1950, Ann. Math.
Stat. 21; Bancroft 1964, Biometrics 20): if configurations differ by more than their repetitions do, the
configuration is the unit, and what varies within it is tested there (strata: Nelder 1965). Too few
configurations to estimate their spread from leave a weaker claim, about these configurations alone.

Contract: described fields and a response in, a `Structure` and its strata out; nothing is judged here.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from traincost.analysis import fields as _fields
from traincost.analysis.designs import (
    Cells,
    LackOfFit,
    beyond,
    design,
    lack_of_fit,
    means,
    orthonormal,
    stack,
    within,
)
from traincost.analysis.stratum import MIN_RESIDUAL_DF, Stratum, spread_differs

ALPHA = 0.05
POOLED = 0.5  # p of the lack of fit above which repetitions and configurations are one error
BLOCK = 0.25  # p, over the factors tried, from which one of them only repeats the others
LEAST_LACK_DF = 3  # of the lack of fit, to say anything of configurations
LEAST_REPEAT_DF = 3  # of the repetitions, to be an error
ENOUGH_LACK_DF = 5  # of the lack of fit, to make the configuration the unit
SPREAD = 0.2  # p of the Brown-Forsythe test, from which the spread is taken to differ
NESTED_TREND = 12  # levels of the finer factor from which a nested trend is a cubic
REPEATING = 1.5  # runs per value, on average, from which a numeric factor repeats

RUN, REPEATS, CONFIGURATION = "run", "run, error from repeats alone", "configuration"


@dataclass(frozen=True, eq=False)
class Structure:
    """How the runs of a collection are evidence."""

    unit: str  # `RUN`, `REPEATS` or `CONFIGURATION`
    here: bool  # whether what repeats can be claimed for these configurations only
    fields: list  # those that no finer one fixes
    repeating: list  # of `fields`, those whose values repeat
    single: list  # the others: one value per run, or places
    of_run: np.ndarray  # configuration of each run: its setting of the repeating fields
    first: np.ndarray  # a run of each configuration
    lack: LackOfFit  # of the additive model, where repetitions tell
    # The same with a mean per value of numbers whose values stand in several configurations, so that a step
    # is not taken for settings that act together.
    together: LackOfFit
    additive: np.ndarray  # (n, columns): orthonormal basis of that model
    block: object = None  # a factor that only repeats the settings of the others, or None

    @property
    def act_together(self):
        """Whether configurations differ beyond the sum of the settings' effects, at 5 %."""
        return bool(self.together.p <= ALPHA)

    @property
    def n_configurations(self):
        """Number of configurations."""
        return len(self.first)

    @property
    def of_units(self):
        """Unit of each run."""
        return self.of_run if self.unit == CONFIGURATION else np.arange(len(self.of_run))

    @property
    def units(self):
        """A run of each unit, to look its levels up."""
        return self.first if self.unit == CONFIGURATION else np.arange(len(self.of_run))

    @property
    def active(self):
        """The fields that are tested between units."""
        return self.repeating if self.unit == CONFIGURATION else self.fields


def structure(fields, y):
    """Find the units and the error of a response `y`, on the scale that is tested.

    `fields` are the factors and places (`fields.tested`).
    """
    n = len(y)
    known = {field.name for field in fields}
    top = [field for field in fields if field.fixed_by not in known]
    repeating = [f for f in top if f.is_factor and (not f.trend or f.n_levels <= n / REPEATING)]
    chosen = [f for f in top if f.is_factor]
    n_cells = int(grouped(chosen, np.arange(n)).max()) + 1
    if len(repeating) < len(chosen) and n - n_cells >= LEAST_REPEAT_DF:
        repeating = chosen  # runs that are equal in every setting
    single = [f for f in top if f not in repeating]
    of_run = _fields.combined([f.codes for f in repeating], n) if repeating else np.arange(n)
    first = _fields.first_of_each(of_run)
    lack = together = LackOfFit(np.nan, 0, 0, np.nan, np.nan)
    unit, here = RUN, False
    held = [f for f in top if not f.is_large]
    columns = stack([design(f) for f in held], n)
    if repeating and len(first) < n:
        # Of large factors, with too many levels for columns, the model takes the largest as means.
        large = [f for f in repeating if f.is_large]
        absorbed = max(large, key=lambda f: f.n_levels).codes if large else None
        lack = together = lack_of_fit(y, columns, of_run, absorbed)
        unit, here = _unit(lack, top, repeating)
        if any(_stepped(f, first) for f in held):
            columns = stack([design(f, as_levels=_stepped(f, first)) for f in held], n)
            together = lack_of_fit(y, columns, of_run, absorbed)
    additive = orthonormal(columns)
    found = Structure(unit, here, top, repeating, single, of_run, first, lack, together, additive)
    block = None if unit == REPEATS else _block(found, y)
    return replace(found, block=block)


def _stepped(field, first):
    """Say whether a trend's values stand in several configurations, so that each can have its own mean."""
    few = field.n_levels <= _fields.most_levels(len(field.codes))
    return field.trend and few and len(first) / field.n_levels >= 2


def _unit(lack, fields, repeating):
    """Return the unit, and whether only these configurations can be spoken of."""
    factorial = not any(f.trend for f in repeating)  # with a trend, the configuration stays the unit
    few = (REPEATS, True) if factorial else (CONFIGURATION, False)
    if lack.df == 0:
        if len(repeating) == 1:
            return RUN, False
        return (RUN, True) if factorial and _all_apart(fields, repeating) else (CONFIGURATION, False)
    if lack.df_repeats < LEAST_REPEAT_DF:
        return CONFIGURATION, False
    if lack.df < LEAST_LACK_DF:
        return few
    if lack.p > POOLED:
        return RUN, False
    return few if lack.df < ENOUGH_LACK_DF else (CONFIGURATION, False)


def _all_apart(fields, repeating):
    """Say whether each repeating factor keeps all its degrees of freedom beside the others."""
    n = len(fields[0].codes)
    for f in repeating:
        others = stack([design(g) for g in fields if g is not f], n)
        own = design(f)
        if beyond(orthonormal(others), own).shape[1] < orthonormal(own).shape[1]:
            return False
    return True


def _block(found, y):
    """Return the factor, if any, within whose settings of the others its repetitions lie.

    Such a one is a replicate that no name gives away, or interacts with them: the lack of fit of the
    additive model in the settings of the others, the error what differs within them.
    """
    factors = [f for f in found.active if f in found.repeating]
    if len(factors) < 3 or any(f.is_large for f in factors):
        return None
    units = found.units
    y = means(y, found.of_units)
    columns = stack([design(f, units) for f in found.active], len(units))
    least, block = 1.0, None
    for x in factors:
        groups = grouped([f for f in factors if f is not x], units)
        if groups.max() + 1 >= len(units):
            continue
        lack = lack_of_fit(y, columns, groups)
        if lack.df >= 1 and lack.df_repeats >= LEAST_REPEAT_DF and lack.p < least:
            least, block = lack.p, x
    return block if least <= BLOCK / len(factors) else None


def grouped(fields, units):
    """Number the settings of some fields over units."""
    return _fields.combined([f.codes[units] for f in fields], len(units))


# -- the tests of a structure ---------------------------------------------------------------


def strata_of(found, fields, y, rank=None):
    """Return the strata of a structure with the tests of its factors; the first is that between units.

    `fields` and `y` as of `structure`; `rank` is that of the start of each run.
    """
    n, of_run, block = len(y), found.of_run, found.block
    every = np.arange(n)
    nested = [f for f in fields if f not in found.fields]
    out = []
    if found.unit == REPEATS:
        cells = Cells.of(of_run, stack([design(f) for f in found.single], n))
        out.append(Stratum(y, every, found.active, rank=rank, cells=cells, more=nested))
        if rank is not None:
            out.append(Stratum(y, every, [], of_run, rank))
    elif block is not None:
        units = found.units
        of_unit, unit_y = found.of_units, means(y, found.of_units)
        factors = [f for f in found.active if f in found.repeating and f is not block]
        groups = grouped(factors, units)
        first = units[_fields.first_of_each(groups)]
        unit_rank = None if rank is None else means(rank, of_unit)
        group_rank = None if rank is None else means(unit_rank, groups)
        out.append(Stratum(means(unit_y, groups), first, factors, rank=group_rank, more=nested))
        inside = [block, *(f for f in found.active if f is not block and f not in factors)]
        out.append(Stratum(unit_y, units, inside, groups, unit_rank))
        if found.unit != RUN and found.single:
            out.append(Stratum(y, every, found.single, of_run))
    else:
        of_unit = found.of_units
        unit_rank = None if rank is None else means(rank, of_unit)
        out.append(Stratum(means(y, of_unit), found.units, found.active, rank=unit_rank, more=nested))
        if found.unit != RUN and (found.single or rank is not None):
            out.append(Stratum(y, every, found.single, of_run, rank))
    for stratum in out:
        for field in stratum.fields:
            stratum.add(field)
        # Start order is tested among runs, or within configurations, but not between these.
        between_runs = found.n_configurations == n or found.unit == RUN
        if stratum.cells is None and (stratum.groups is not None or between_runs):
            stratum.add_order()
    _unequal(out[0], found)
    for field in nested:
        out += _nested(field, fields, found, out[0], y, rank)
    return out


def _unequal(stratum, found):
    if found.unit == REPEATS:
        return
    tested = {test.factor for test in stratum.tests}
    unequal = set()
    for f in stratum.fields:
        if f.name in tested and not f.trend:
            codes = np.unique(f.codes[stratum.at], return_inverse=True)[1]
            if spread_differs(stratum.y, codes) <= SPREAD:
                unequal.add(f.name)
    stratum.allow_unequal_spread(unequal)


def _nested(field, fields, found, stratum, y, rank):
    """Test a factor that a finer one fixes: on the means of that one's levels, or on the units."""
    finer = next(f for f in fields if f.name == field.fixed_by)
    others = [f for f in found.fields if f is not finer]
    if found.unit == RUN and found.block is None and finer in found.active:
        beside = [f for f in others if not f.is_large]
        columns = stack([design(f) for f in (*beside, field)], len(y))
        lack = lack_of_fit(y, columns, finer.codes)
        if lack.df >= LEAST_LACK_DF and lack.df_repeats >= MIN_RESIDUAL_DF and lack.p > POOLED:
            stratum.add_nested(field, beside)
            return []
    codes = np.unique(finer.codes, return_inverse=True)[1]
    adjusted = _beside(y, codes, [f for f in others if not f.trend])
    first = _fields.first_of_each(pd.factorize(codes)[0])
    at = np.empty(len(first), dtype=np.int64)
    at[codes[first]] = first
    level_rank = None if rank is None else means(rank, codes)
    nested = Stratum(means(adjusted, codes), at, [], rank=level_rank)
    columns = design(field, at, degree=1 if len(at) < NESTED_TREND else 3)
    return [nested] if nested.add_columns(field.name, columns) else []


def _beside(y, codes, others):
    """Return the response less what other factors explain beside the levels, so that these compare."""
    held = [f for f in others if not f.is_large]
    if not held:
        return y
    columns = stack([design(f) for f in held], len(y))
    inside = within(columns, codes)
    return y - columns @ np.linalg.lstsq(inside, within(y, codes), rcond=None)[0]
