"""Each run, completed or not, with the settings that differ: to look runs up in."""

import pandas as pd

from traincost.analysis import subsets
from traincost.columns import PREFIX
from traincost.printing import time_text
from traincost.results.prose import say
from traincost.results.result import Result
from traincost.results.snapshot import counted
from traincost.results.tables import Heading, Table, of_one, setting


def listing(runs, *, name=""):
    """List each run, completed or not, with the settings that differ between these runs.

    Parameters
    ----------
    runs : Runs
        Possibly none.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per run, the completed ones first: ``run_id``, ``status``, ``runtime_s``,
        ``runtime`` (in the unit that is printed), and every setting as ``config.…``.

    Examples
    --------
    >>> len(listing(runs).frame)
    36
    """
    frame = _each(runs)
    return Result.showing("listing", frame, [counted(runs)], _table(frame), prefix=name, of=runs.label)


def _each(runs):
    """Return the rows of completed and other runs in one frame, whole numbers as such where they can be."""
    parts = [f.assign(status=subsets.statuses_of(f)) for f in (runs.frame, runs.excluded) if len(f)]
    names = dict.fromkeys(name for part in parts for name in part if name.startswith(PREFIX))
    columns = ["run_id", "status", "runtime_s", *names]
    if not parts:
        return pd.DataFrame(columns=["run_id", "status", "runtime_s", "runtime"])
    # As objects: runs that were left out may lack a setting, or have text where others have numbers.
    each = pd.concat([part.reindex(columns=columns).astype(object) for part in parts], ignore_index=True)
    each = each.infer_objects()
    each.insert(3, "runtime", (each["runtime_s"].astype(float) / runs.unit.seconds).round(2))
    return each


def _table(frame):
    settings = [name for name in frame if name.startswith(PREFIX) and frame[name].nunique(dropna=False) > 1]
    return Table(
        "listing",
        say("Each run with the settings that differ between these runs"),
        (
            Heading("run_id", "run"),
            Heading("status", "status"),
            Heading("runtime_s", "runtime", time_text),
            *(Heading(name, name.removeprefix(PREFIX), _printer(frame[name])) for name in settings),
        ),
        frame,
        len(frame),
        "completed and other runs",
        origins=of_one(frame["run_id"]),
        holds=("listing", "chosen"),
    )


def _printer(column):
    return setting if pd.api.types.is_numeric_dtype(column) else str
