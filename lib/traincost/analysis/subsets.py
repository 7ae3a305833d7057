"""Some of a collection's runs, as a collection: what is chosen by setting, status and runtime.

Everything else keeps to the runs that remain: sections and compute blocks are numbered by the
rows of ``runs``, so they are numbered anew.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from traincost.analysis import fields
from traincost.columns import PREFIX, settings
from traincost.errors import ParameterError, brief, require_among
from traincost.words import in_natural_order, level_among

COMPLETED = "completed"


def subset(collection, where=None, statuses=None, shortest_s=None, longest_s=None):
    """Return the runs that meet every condition, as a collection; possibly none.

    Parameters
    ----------
    collection : Collection
    where : dict, optional
        Setting (dotted path) to the levels that are kept, a list; or, of a setting with numbers,
        to a mapping of ``min`` and ``max``, or one of them, both kept. Empty is no condition.
    statuses : list of str, optional
        Statuses that are kept; all if left out. ``completed`` is that of ``collection.runs``.
    shortest_s, longest_s : float, optional
        Range of runtime, both ends kept; an excluded run of unknown runtime is in none.

    Raises
    ------
    ParameterError
        A setting, level or status is not one of the collection's, or a range cannot be used.
    """
    of_runs = {*statuses_of(collection.runs), *statuses_of(collection.excluded)}
    for status in statuses or ():
        if status != COMPLETED:
            require_among(status, sorted(of_runs), "statuses", "be statuses of the runs", most=None)
    for name, limit in (("shortest_s", shortest_s), ("longest_s", longest_s)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float)):
            raise ParameterError(f"`{name}` must be a number of seconds, got {brief(limit)}")
    conditions = [_condition(collection, name, kept) for name, kept in (where or {}).items()]
    masks = []
    for frame in (collection.runs, collection.excluded):
        mask = _within(frame, "runtime_s", shortest_s, longest_s)
        for condition in conditions:
            mask &= condition(frame)
        if statuses is not None:
            mask &= statuses_of(frame).isin(statuses).to_numpy(dtype=bool)
        masks.append(mask)
    return _rows(collection, *masks)


def rows_where(table, where):
    """Say which rows of a table meet conditions on its columns, written as in `subset`; it raises alike."""
    plain = table.select_dtypes(exclude=["bool", "datetime", "datetimetz", "timedelta"]).add_prefix(PREFIX)
    told = [name for name in plain if not plain[name].map(type).isin([dict, tuple, list]).any()]
    rows = SimpleNamespace(runs=plain[told], excluded=plain[told].head(0))
    masks = [_condition(rows, name, kept)(rows.runs) for name, kept in where.items()]
    return np.logical_and.reduce([np.full(len(table), True), *masks])


def levels(collection, name):
    """Return the levels of a setting over all runs, excluded ones included, as printed.

    In order of size where the completed runs have numbers, else in natural order; missing last.
    """
    found = _known(collection, name)
    if has_numbers(collection, name):
        size = pd.to_numeric(pd.Series(list(found)), errors="coerce")
        return [label for _, label in sorted(zip(size.fillna(np.inf), found, strict=True))]
    return sorted(in_natural_order(found), key=fields.UNSET.__eq__)


def label(value):
    """Return a level given as a parameter as it is printed: 0.10 as 0.1, null and true as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return str(value)
    return str(fields.levels(pd.Series([value]))[1][0])


def statuses_of(frame):
    """Return the status of each run; where none is recorded, the run counts as completed."""
    if "status" in frame:
        return frame["status"]
    return pd.Series(COMPLETED, index=frame.index, dtype="str")


def settings_of(collection):
    """Return the dotted paths of all settings, those of excluded runs included."""
    return list(settings([*collection.runs, *collection.excluded]))


def has_numbers(collection, name):
    """Say whether a setting of the completed runs has numbers for levels."""
    column = PREFIX + name
    return column in collection.runs and pd.api.types.is_numeric_dtype(collection.runs[column])


# -- conditions ----------------------------------------------------------------------------


def _condition(collection, name, kept):
    """Return a function that says which rows of a frame of runs meet a condition on a setting."""
    require_among(name, sorted(settings_of(collection)), "where", "name settings of the runs")
    if isinstance(kept, dict) and kept:
        return _range_condition(collection, name, kept)
    if not isinstance(kept, list | tuple | dict):
        raise ParameterError(f"`where`: {name!r} must have a list of levels, got {brief(kept)}")
    known = _known(collection, name)
    wanted = {level_among(label(value), known) for value in kept}
    present = levels(collection, name)
    for absent in sorted(wanted - known):
        raise ParameterError(f"`where`: {name!r} has no level {absent!r}; it has: {', '.join(present[:30])}")
    if not wanted:
        return lambda frame: np.full(len(frame), True)
    return lambda frame: pd.Series(_labels(frame, name)).isin(wanted).to_numpy()  # numpy drops NULs at an end


def _range_condition(collection, name, kept):
    unknown = sorted(map(str, set(kept) - {"min", "max"}))
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and v == v for v in kept.values())
    if unknown or not numbers:
        raise ParameterError(
            f"`where`: a range of {name!r} must be numbers as min and max, got {brief(kept)}"
        )
    if not has_numbers(collection, name):
        raise ParameterError(f"`where`: {name!r} has no numbers, so a range cannot be asked for")
    return lambda frame: _within(frame, PREFIX + name, kept.get("min"), kept.get("max"))


def _within(frame, column, low, high):
    if low is None and high is None:
        return np.full(len(frame), True)
    if column not in frame:
        return np.full(len(frame), False)
    values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float)
    return (values >= (-np.inf if low is None else low)) & (values <= (np.inf if high is None else high))


def _labels(frame, name):
    """Return the level of each run, as printed."""
    column = PREFIX + name
    if column not in frame:
        return np.full(len(frame), fields.UNSET, dtype=object)
    return fields.labelled(frame[column])


def _known(collection, name):
    return {*_labels(collection.runs, name), *_labels(collection.excluded, name)}


# -- rows ----------------------------------------------------------------------------------


def _rows(collection, keep, keep_excluded):
    """Return the collection of the kept runs, everything else in step with them."""
    number = np.cumsum(keep) - 1  # of each row that is kept
    runs = collection.runs[keep].reset_index(drop=True)
    sections = collection.sections[keep[collection.sections["run"]]]
    return replace(
        collection,
        runs=runs,
        sections=sections.assign(run=number[sections["run"]]).reset_index(drop=True),
        excluded=collection.excluded[keep_excluded].reset_index(drop=True),
        notes=_of_runs(collection.notes, "run_id", runs),
        parts=_of_runs(collection.parts, "part_of", runs),
        compute={int(number[i]): block for i, block in collection.compute.items() if keep[i]},
    )


def _of_runs(frame, column, runs):
    if column not in frame:
        return frame
    owners = runs["run_id" if column == "run_id" else "path"]
    return frame[frame[column].isin(owners)].reset_index(drop=True)
