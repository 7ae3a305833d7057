"""The runs of a collection with the choices that its answers share: what `read` returns.

What several answers need (what each setting is, the sections as arrays, the effects) is computed
when it is first asked for, and once.
"""

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from traincost.analysis import effects, fields, knobs, levels, order, sections, subsets
from traincost.analysis.kinds import checked_kinds
from traincost.analysis.knobs import knobs_of
from traincost.errors import ParameterError, brief, refuse_unknown
from traincost.printing import TimeUnit, time_unit
from traincost.reading.collection import Collection, read_collection
from traincost.reading.formats.table import Table as TableColumns
from traincost.results.snapshot import nothing_chosen, snapshot
from traincost.results.tables import MAX_RUNS
from traincost.words import short_names

# What is chosen of runs for all the answers about them, by `read` or `Runs.choosing`.
CHOICES = (
    "replicates", "factors", "rows", "columns", "knobs", "cadence_section", "section_kinds", "shared_settings"
)  # fmt: skip


def read(
    runs_dir,
    *,
    format="auto",
    path_pattern="",
    replicates=(),
    factors=(),
    rows="",
    columns="",
    knobs=None,
    cadence_section="",
    section_kinds=None,
    shared_settings=None,
    progress=None,
    workers=1,
    scheduler="",
    show=(),
    where=None,
    **table,
):
    """Read the runs under a directory, of an index, or of a table.

    Parameters
    ----------
    runs_dir : str or path
        A directory, the URL of one (``s3://bucket/runs``), an index of either, or a file with a
        row per run.
    format : str
        Name of a reader, or ``auto`` for all of them.
    path_pattern : str
        Settings that stand in the paths of the runs: ``lr_{lr}/seed_{seed}``.
    replicates : str or sequence of str
        Settings that repeat a configuration, beside those whose name says so (a seed, a fold).
    factors : str or sequence of str
        Settings that are examined although their name looks like a seed or an id.
    rows, columns : str
        The settings whose levels are compared; chosen by the size of their effect if left empty.
    knobs : list of mappings, optional
        What could be changed (`analysis.knobs.Knob`); proposed from the sections if left out.
    cadence_section : str
        Section whose count is the number of scheduled evaluations.
    section_kinds : dict of str to str, optional
        Sections, or patterns in which ``*`` matches anything, to the kind of work that they are, where
        their names do not tell (`analysis.kinds.KINDS`).
    shared_settings : list of str, optional
        Settings that are named among what all runs share; the shortest few if left out.
    progress : callable, optional
        Wraps the list of what is read, as ``tqdm`` does.
    workers, scheduler
        Where to read: processes, or the address of a Dask scheduler.
    show : str or list of str
        Settings that are shown although they look like a secret, a person or a machine.
    where : mapping, optional
        Which of the runs are taken: setting to its level or levels, or to ``{"min": 1, "max": 2}``.
    **table
        Which column of a table is what (`reading.formats.table.Table`): ``runtime_column``, …

    Returns
    -------
    Runs

    Raises
    ------
    NothingToReport
        There is no run to read.
    ParameterError
        An argument cannot be used.

    Examples
    --------
    >>> len(read(runs_dir, replicates=["seed"]).where(task_name=["sorting"]))
    6
    """
    own = [name for name in inspect.signature(read).parameters if name != "table"]
    for name in table:
        refuse_unknown(name, [*own, *TableColumns.__dataclass_fields__])
    columns_of_table = TableColumns(**table)
    collection = read_collection(
        runs_dir,
        format,
        progress,
        path_pattern,
        table=columns_of_table,
        workers=workers,
        scheduler=scheduler,
        show=listed("show", show),
    )
    runs = Runs(
        collection,
        replicates=listed("replicates", replicates),
        factors=listed("factors", factors),
        rows=rows,
        columns=columns,
        knobs=None if knobs is None else tuple(knobs_of(knobs)),
        cadence_section=cadence_section,
        section_kinds=checked_kinds(section_kinds or {}),
        shared_settings=None if shared_settings is None else listed("shared_settings", shared_settings),
        runtime_columns=tuple(listed("runtime_column", columns_of_table.runtime_column)),
    )
    return runs.where(where) if where else runs


def listed(name, value):
    """Return names given as a list, as one bare name, or not at all, as a tuple."""
    if value is None:
        return ()
    value = (value,) if isinstance(value, str) else value
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ParameterError(f"`{name}` must be a list of names such as [seed], got {brief(value)}")
    return tuple(value)


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs, and the choices that the answers about them share.

    Attributes
    ----------
    collection : Collection
        What was read.
    replicates, factors, rows, columns, knobs, cadence_section, section_kinds, shared_settings
        As `read` takes them.
    runtime_columns : tuple of str
        Columns of a table that the runtime is the sum of; empty for a directory.
    chosen : str
        Which of the collection's runs these are, in words; empty for all.
    of_all : int, or None
        Completed runs that these were chosen from; None where these are all.
    """

    collection: Collection
    replicates: tuple = ()
    factors: tuple = ()
    rows: str = ""
    columns: str = ""
    knobs: tuple | None = None
    cadence_section: str = ""
    section_kinds: Mapping = field(default_factory=dict)
    shared_settings: tuple | None = None
    runtime_columns: tuple = ()
    chosen: str = ""
    of_all: int | None = None

    @property
    def name(self):
        """Name of the directory or table that was read."""
        return self.collection.name

    @property
    def label(self):
        """The name, and which of the runs these are where they are not all."""
        return f"{self.name}: {self.chosen}" if self.chosen else self.name

    @property
    def frame(self):
        """A row per completed run: ``run_id``, ``runtime_s``, ``config.…``, ``cost_…``, ``score.…``."""
        return self.collection.runs

    @property
    def sections(self):
        """A row per run and section: ``run`` (row of `frame`), ``section``, ``seconds``, ``count``."""
        return self.collection.sections

    @property
    def excluded(self):
        """A row per run that enters no statistic, with its ``reason``."""
        return self.collection.excluded

    @property
    def notes(self):
        """What was left out of runs that are otherwise used: ``path``, ``run_id``, ``note``."""
        return self.collection.notes

    @property
    def runtime_s(self):
        """Runtime of each completed run, in seconds."""
        return self.frame["runtime_s"]

    @functools.cached_property
    def unit(self) -> TimeUnit:
        """The unit that durations are printed in."""
        return time_unit(self.runtime_s.median() if len(self.frame) else 0.0)

    @functools.cached_property
    def described(self):
        """What each setting is: a list of `analysis.fields.Field`."""
        fields.check_named(self.frame, self.replicates, self.factors)
        return fields.describe(self.frame, self.replicates, self.factors, order.ranks_of(self.frame))

    @functools.cached_property
    def fields(self):
        """What each setting is, as a frame: ``field``, ``kind``, ``n_levels``, ``level``, ``reason``."""
        rows = [
            (
                field.name,
                field.kind,
                field.n_levels,
                field.labels[0] if field.kind == "shared" else "",
                "; ".join(filter(None, [field.reason, field.fixed_by and f"fixed by {field.fixed_by}"])),
            )
            for field in self.described
        ]
        return pd.DataFrame(rows, columns=["field", "kind", "n_levels", "level", "reason"])

    def short(self, setting):
        """Return a mapping of the levels of a setting to what a page calls them (`words.short_names`)."""
        for described in self.described:
            if described.name == setting:
                return short_names(described.labels)
        return {}

    @functools.cached_property
    def timing(self):
        """The sections as arrays (`analysis.sections.Timing`)."""
        return sections.timing(self.collection)

    @functools.cached_property
    def examined(self):
        """What runtime depends on, and how much (`analysis.effects.Effects`)."""
        fields.check_named(self.frame, self.replicates, self.factors)
        return effects.examine(self.frame, self.runtime_s, self.replicates, self.factors)

    @property
    def effects(self):
        """Effect of each factor on runtime (`analysis.effects.main_effects`)."""
        return self.examined.table

    @functools.cached_property
    def axes(self):
        """The two settings whose levels are compared, the second None without one."""
        return levels.axes(self.described, self.effects, len(self.frame), self.rows, self.columns)

    @functools.cached_property
    def composition(self):
        """The disjoint parts of a run by level (`analysis.sections.composition`)."""
        return sections.composition(self.timing, self.axes[0])

    @functools.cached_property
    def bounds(self):
        """What each knob can save at most (`analysis.knobs.bounds`)."""
        return knobs.bounds(
            self.timing,
            self.knobs,
            self.cadence_section or None,
            self.axes[0].codes,
            self.section_kinds,
        )

    @property
    def more(self):
        """What a page's JSON says of the runs: their ids, the latest start, and those left out."""
        ids = list(self.frame["run_id"])
        excluded = self.excluded[["run_id", "path", "status", "reason", "runtime_s"]]
        return {
            "n_runs": len(ids),
            "runs": ids[:MAX_RUNS],
            "latest": max(filter(None, self.frame["started_at"]), default=""),
            "excluded": excluded.to_dict("records"),
        }

    def where(self, levels=None, /, *, statuses=None, shortest_s=None, longest_s=None, **named):
        """Return some of the runs, with the same choices.

        Parameters
        ----------
        levels : mapping, optional
            Setting (dotted path) to the level or levels that are kept, or to ``{"min": 1, "max": 2}``.
        statuses : list of str, optional
            Statuses that are kept; only completed runs enter a statistic.
        shortest_s, longest_s : float, optional
            Range of runtime that is kept, in seconds.
        **named
            More of `levels`, for settings whose name can be written so.

        Returns
        -------
        Runs

        Raises
        ------
        ParameterError
            A setting, level or status is not one of the runs'.
        """
        if not isinstance(levels or {}, Mapping):
            raise ParameterError(f"`where` must be a mapping of settings to levels, got {brief(levels)}")
        settings = {name: _levels(kept) for name, kept in {**(levels or {}), **named}.items()}
        statuses = None if statuses is None else listed("statuses", statuses)
        some = subsets.subset(self.collection, settings, statuses, shortest_s, longest_s)
        said = [f"{name}={_in_words(kept)}" for name, kept in settings.items() if kept]
        said += [", ".join(map(str, statuses))] if statuses else []
        said += [f"at least {shortest_s} s"] if shortest_s is not None else []
        said += [f"at most {longest_s} s"] if longest_s is not None else []
        chosen = ", ".join([*filter(None, [self.chosen]), *said])
        return replace(self, collection=some, chosen=chosen, of_all=self.of_all or len(self.frame))

    def choosing(self, **choices):
        """Return the same runs with other choices: ``rows``, ``columns``, ``replicates``, ``knobs``, …"""
        for name in choices:
            refuse_unknown(name, CHOICES)
        for name in ("replicates", "factors"):
            if name in choices:
                choices[name] = listed(name, choices[name])
        if choices.get("knobs") is not None:
            choices["knobs"] = tuple(knobs_of(choices["knobs"]))
        return replace(self, **choices)

    def __len__(self):
        return len(self.frame)

    @functools.cached_property
    def result(self):
        """What was read and what was left out, as a `Result`."""
        return snapshot(self) if len(self.frame) else nothing_chosen(self)

    def __repr__(self):
        return repr(self.result)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.result._repr_mimebundle_(include, exclude)


def _levels(kept):
    return kept if isinstance(kept, list | tuple | dict) else [kept]


def _in_words(kept):
    if isinstance(kept, dict):
        return " to ".join(str(kept[end]) for end in ("min", "max") if end in kept)
    return "/".join(map(str, kept))
