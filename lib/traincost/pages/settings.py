"""The parameters of the notebooks: their names, types, and what is refused.

papermill itself only logs a parameter that a notebook does not know, and turns ``01`` into a
number; so each notebook checks what it was given, by name, before it reads a run.
"""

import ast
import dataclasses
import math
import os
from dataclasses import dataclass
from typing import ClassVar

from traincost.errors import ParameterError, refuse_unknown
from traincost.reading.formats.table import Table
from traincost.results import checks


class _FromNotebook:
    """How a notebook's parameters become settings."""

    @classmethod
    def from_notebook(cls, namespace):
        """Take the parameters from a notebook's variables.

        Parameters
        ----------
        namespace : dict
            ``globals()`` of the notebook.

        Raises
        ------
        ParameterError
            papermill injected a parameter that is not one, or a value has the wrong type.
        """
        names = [field.name for field in dataclasses.fields(cls)]
        for name in injected_names(namespace.get("In", [])):
            refuse_unknown(name, names)
        return cls(**{name: namespace[name] for name in names if name in namespace})

    def public(self, name):
        """Return the parameters for the page: the input by its name, without a path."""
        return {**dataclasses.asdict(self), self.INPUT: name}


@dataclass(frozen=True)
class Profiling(_FromNotebook):
    """Parameters of ``profiling.ipynb``.

    Attributes
    ----------
    runs_dir : str
        Directory of the runs, or a table of them.
    format : str
        Name of the reader, or ``auto``.
    path_pattern : str
        Settings that stand in the runs' paths, like ``lr_{lr}/seed_{seed}`` (`formats.paths`).
    project, collection, note : str
        Shown in the title; the collection is named after its directory if left empty.
    links : dict
        Text to address, set below the title.
    rows, columns : str
        The factors whose levels the page compares; chosen by effect size if left empty.
    shared_settings : list of str, or None
        Settings that the snapshot names; the shortest few if None.
    replicates : list of str
        Fields that repeat a configuration.
    cadence_section : str
        Section whose count is the number of scheduled evaluations.
    knobs : list of mappings, or None
        As `knobs.Knob` takes them; proposed from the sections if None.
    reruns : dict
        Name of one of `knobs` to the directory of runs with this knob turned.
    rerun_baseline : str
        Directory of the runs that `reruns` are compared with; these runs if left empty.
    cost_by : list of str, or None
        Fields that make the rows of the cost table; the runs' own tasks, or `rows`, if None.
    score, score_goal : str
        A score to set against the cost, and whether ``max`` or ``min`` of it is better.
    devices : int
        Devices that each run reserves.
    price_per_hour, power_w : float, or None
        Of one device, in `currency` and watts.
    currency : str
    runtime_column, … sections_unit
        Which column of a table of runs is what: `formats.table.Table`.
    workers, scheduler : int, str
        Where the runs are read (`collection.read_collection`); the page does not depend on it.
    """

    INPUT: ClassVar[str] = "runs_dir"

    runs_dir: str
    format: str = "auto"
    path_pattern: str = ""
    project: str = ""
    collection: str = ""
    note: str = ""
    links: dict = dataclasses.field(default_factory=dict)
    rows: str = ""
    columns: str = ""
    shared_settings: list | None = None
    replicates: list = dataclasses.field(default_factory=lambda: ["seed"])
    cadence_section: str = ""
    knobs: list | None = None
    reruns: dict = dataclasses.field(default_factory=dict)
    rerun_baseline: str = ""
    cost_by: list | None = None
    score: str = ""
    score_goal: str = "max"
    devices: int = 1
    price_per_hour: float | None = None
    currency: str = "USD"
    power_w: float | None = None
    runtime_column: list | str | None = None
    runtime_unit: str = "s"
    factor_columns: list | None = None
    cost_columns: dict = dataclasses.field(default_factory=dict)
    score_columns: list | None = None
    run_column: str = ""
    status_column: str = ""
    path_column: str = ""
    sections_table: str = ""
    sections_columns: dict = dataclasses.field(default_factory=dict)
    sections_unit: str = "s"
    workers: int = 1
    scheduler: str = ""

    def __post_init__(self):
        check_types(self)
        _ = self.table  # which refuses what it cannot use
        for knob, directory in self.reruns.items():
            if not isinstance(knob, str) or not isinstance(directory, str):
                raise ParameterError(f"`reruns` must map a knob to a directory, got {knob!r}: {directory!r}")

    @property
    def table(self):
        """Return which column of a table of runs is what."""
        return Table(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Table)})

    @property
    def reading(self):
        """Return the arguments of `collection.read_collection` that say how to read."""
        names = ("format", "path_pattern", "table", "workers", "scheduler")
        return {name: getattr(self, name) for name in names}

    def public(self, name):
        """Return the parameters for the page, without paths and without where the runs were read."""
        names = {part: os.path.basename(getattr(self, part)) for part in ("sections_table", "rerun_baseline")}
        reruns = {knob: os.path.basename(directory) for knob, directory in self.reruns.items()}
        shown = {**super().public(name), **names, "reruns": reruns}
        return {part: value for part, value in shown.items() if part not in ("workers", "scheduler")}


@dataclass(frozen=True)
class Comparison(_FromNotebook):
    """Parameters of ``compare.ipynb``.

    Attributes
    ----------
    before, after : str
        Directories of the runs.
    format, path_pattern : str
        As in `Profiling`, for both.
    project, collection, note, links
        As in `Profiling`.
    pair_by : list of str, or None
        Settings by which configurations are told apart; the factors of both collections if None.
    replicates : list of str
        Fields that repeat a configuration.
    renamed : dict
        Setting to a mapping of its levels before to what they are called after.
    """

    INPUT: ClassVar[str] = "before"

    before: str
    after: str
    format: str = "auto"
    path_pattern: str = ""
    project: str = ""
    collection: str = ""
    note: str = ""
    links: dict = dataclasses.field(default_factory=dict)
    pair_by: list | None = None
    replicates: list = dataclasses.field(default_factory=lambda: ["seed"])
    renamed: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        check_types(self)

    def public(self, name):
        """Return the parameters for the page, without paths."""
        names = {side: os.path.basename(getattr(self, side)) for side in ("before", "after")}
        return {**super().public(name), **names}


@dataclass(frozen=True)
class Exploring(_FromNotebook):
    """Parameters of ``explore.ipynb``: which runs are looked at, and how.

    Attributes
    ----------
    runs_dir, format, path_pattern
        As in `Profiling`.
    where : dict
        Setting to the levels that are kept, or to a range (`subsets.subset`).
    statuses : list of str, or None
        Statuses that are kept; all if None. Only completed runs enter a statistic.
    shortest_s, longest_s : float, or None
        Range of runtime that is kept.
    rows, columns, replicates, cadence_section, knobs
        As in `Profiling`.
    kept : dict
        Cadence knob to the occurrences that remain, in place of its own `kept`.
    """

    INPUT: ClassVar[str] = "runs_dir"

    runs_dir: str
    format: str = "auto"
    path_pattern: str = ""
    where: dict = dataclasses.field(default_factory=dict)
    statuses: list | None = None
    shortest_s: float | None = None
    longest_s: float | None = None
    rows: str = ""
    columns: str = ""
    replicates: list = dataclasses.field(default_factory=lambda: ["seed"])
    cadence_section: str = ""
    knobs: list | None = None
    kept: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        check_types(self)


@dataclass(frozen=True)
class Estimation(_FromNotebook):
    """Parameters of ``estimation.ipynb``.

    Attributes
    ----------
    systems : str
        A sheet (YAML) or CSV of systems, or a directory of runs with compute blocks.
    format : str
        Name of the reader of runs, or ``auto``.
    path_pattern : str
        As in `Profiling`, of runs.
    project, collection, note, links
        As in `Profiling`.
    claims : str
        A YAML file of printed claims to set against each other, or empty.
    subset : str
        Of the systems for the trends: ``records``, ``largest N``, a domain, or all.
    start, end : str
        Period of the trends, both ends excluded; empty for none.
    target_error : float
        Error that the fits of error against compute are projected to.
    n_draws : int
        Of the bootstrap.
    """

    INPUT: ClassVar[str] = "systems"

    systems: str
    format: str = "auto"
    path_pattern: str = ""
    project: str = ""
    collection: str = ""
    note: str = ""
    links: dict = dataclasses.field(default_factory=dict)
    claims: str = ""
    subset: str = ""
    start: str = ""
    end: str = ""
    target_error: float = 0.01
    n_draws: int = 1_000

    def __post_init__(self):
        check_types(self)

    def public(self, name):
        """Return the parameters for the page, without paths."""
        return {**super().public(name), "claims": os.path.basename(self.claims)}


@dataclass(frozen=True)
class Benchmark(_FromNotebook):
    """Parameters of ``benchmark.ipynb``.

    Attributes
    ----------
    results : str
        The file that ``make bench`` wrote.
    project, collection, note, links
        As in `Profiling`.
    """

    INPUT: ClassVar[str] = "results"

    results: str
    project: str = ""
    collection: str = ""
    note: str = ""
    links: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        check_types(self)


def injected_names(cells):
    """Return the names that papermill's injected cell assigns, of executed cell sources."""
    names = []
    for source in cells:
        if source.startswith("# Parameters\n"):
            names += assigned_names(source)
    return names


def assigned_names(source):
    """Return the names that a cell of plain assignments sets."""
    names = []
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def check_types(settings):
    """Refuse a value whose type is not the declared one, or that cannot be used (`results.checks`)."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        allowed = field.type | int if "float" in str(field.type) else field.type
        if not isinstance(value, allowed) or isinstance(value, bool):
            hint = ""
            if field.type is str:
                hint = "; give it as text (papermill: -r instead of -p)"
            raise ParameterError(f"`{field.name}` must be {_type_name(field.type)}, got {value!r}{hint}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"`{field.name}` must be finite, got {value!r}")
        if isinstance(value, list) and field.name != "knobs":
            for item in value:
                if not isinstance(item, str):
                    raise ParameterError(f"`{field.name}` must be a list of text, got {item!r} in it")
    checks.check(**{**vars(settings), "scheduler": ""})  # reading asks the scheduler


def _type_name(kind):
    names = {str: "text", dict: "a mapping", list: "a list", float: "a number", int: "an integer"}
    return names.get(kind) or str(kind).replace("None", "null")
