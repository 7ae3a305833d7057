"""Tables that tools write, told by the names of their columns: what is what in them, and which rows are runs.

SLURM's ``sacct``; what the pages of Weights & Biases and MLflow export; ``mlflow.search_runs()`` and
``study.trials_dataframe()`` as CSV or Parquet; CodeCarbon's ``emissions.csv``.
"""

import re
from dataclasses import dataclass, field

from traincost.reading.formats import codecarbon_rows, slurm
from traincost.reading.formats.table_splits import after_the_fall, measured

_WANDB = ("Name", "State", "Created", "Runtime")
_WANDB_BASE = {
    *(
        "Name",
        "Agent",
        "State",
        "Notes",
        "User",
        "Tags",
        "Created",
        "Runtime",
        "Sweep",
        "ID",
        "Group",
        "Job Type",
    ),
    *(
        "Updated",
        "End Time",
        "Hostname",
        "Host",
        "Commit",
        "GitHub",
        "GPU Count",
        "GPU Type",
        "Command",
        "Ended",
    ),
    *("Python Version", "Operating System", "Path", "Entity", "Project", "Description", "Relative Time"),
}
_MLFLOW = ("Start Time", "Duration", "Run ID", "Status")
_MLFLOW_BASE = {
    *_MLFLOW,
    "Name",
    "Source Type",
    "Source Name",
    "User",
    "Experiment ID",
    "Experiment Name",
    "Version",
}


@dataclass(frozen=True)
class Kind:
    """What the columns of a tool's table are; a column that is named nowhere is nothing.

    Attributes
    ----------
    title : str
        What a person calls it.
    runtime, run, status, path : str
        Columns; empty for none.
    started, ended : str
        Columns of times; their difference is the runtime where `runtime` is empty.
    settings, scores, costs : dict
        Column to the name of the setting, score or cost.
    rows : callable, or None
        Of the rows, those that are runs, and what was left out or put together, in words.
    machine : callable, or None
        Of a row, its (devices, device, host).
    note : str
        What is to be said of every run.
    """

    title: str
    runtime: str = ""
    run: str = ""
    status: str = ""
    path: str = ""
    started: str = ""
    ended: str = ""
    settings: dict = field(default_factory=dict)
    scores: dict = field(default_factory=dict)
    costs: dict = field(default_factory=dict)
    rows: object = None
    machine: object = None
    note: str = ""


def known(columns, rows):
    """Return the `Kind` of a table, or None where it is no tool's."""
    names = set(columns)
    if names >= slurm.NEEDED and names & slurm.ELAPSED:
        return _slurm(columns)
    if names.issuperset(_WANDB) and names & {"Sweep", "User", "Tags", "Notes", "Agent", "ID"}:
        return _wandb(columns, rows)
    if names.issuperset(_MLFLOW):
        return _mlflow(columns, rows)
    if {"run_id", "experiment_id", "start_time", "end_time"} <= names:
        return _search_runs(columns)
    if {"number", "state"} <= names and names & {"duration", "datetime_complete"}:
        return _optuna(columns)
    if names >= codecarbon_rows.NEEDED:
        return _codecarbon()
    return None


def _slurm(columns):
    elapsed = next(name for name in ("Elapsed", "ElapsedRaw") if name in columns)
    return Kind(
        "SLURM's accounting (sacct)",
        runtime=elapsed,
        run="JobID",
        status="State",
        started="Start" if "Start" in columns else "",
        settings={name: name for name in slurm.SETTINGS if name in columns},
        rows=slurm.jobs,
        machine=slurm.machine,
    )


def _wandb(columns, rows):
    rest = [name for name in columns if name not in _WANDB_BASE]
    scores = after_the_fall(rest) or [name for name in rest if measured(name, rows)]
    names = [row.get("Name") for row, _ in rows]
    unique = len(set(names)) == len(names) and None not in names
    return Kind(
        "an export of Weights & Biases' page",
        runtime="Runtime",
        run="ID" if "ID" in columns else "Name" if unique else "",
        status="State",
        started="Created",
        settings={name: name for name in rest if name not in scores},
        scores={name: name for name in scores},
        machine=_of_columns("GPU Type", next((n for n in ("Hostname", "Host") if n in columns), "")),
        note="read from a table that W&B's page exported: runtimes in whole seconds",
    )


def _mlflow(columns, rows):
    rest = [name for name in columns if name not in _MLFLOW_BASE]
    scores = [name for name in rest if measured(name, rows)]
    return Kind(
        "an export of MLflow's page",
        runtime="Duration",
        run="Run ID",
        status="Status",
        started="Start Time",
        settings={name: name for name in rest if name not in scores},
        scores={name: name for name in scores},
        note="its duration is rounded, as MLflow's page shows it (1.2h): up to 5 % off",
    )


def _search_runs(columns):
    return Kind(
        "MLflow's frame of runs",
        run="run_id",
        status="status" if "status" in columns else "",
        started="start_time",
        ended="end_time",
        settings=_prefixed(columns, "params."),
        scores=_prefixed(columns, "metrics."),
    )


def _optuna(columns):
    has_duration = "duration" in columns
    values = {name: name for name in columns if re.fullmatch(r"values?(_.*)?", name)}
    return Kind(
        "Optuna's frame of trials",
        runtime="duration" if has_duration else "",
        run="number",
        status="state",
        started="datetime_start" if "datetime_start" in columns else "",
        ended="datetime_complete" if "datetime_complete" in columns else "",
        settings=_prefixed(columns, "params_"),
        scores=values,
    )


def _codecarbon():
    return Kind(
        "CodeCarbon's emissions.csv",
        runtime="duration",
        run="run_id",
        path=codecarbon_rows.PLACE,
        started=codecarbon_rows.STARTED,
        settings={"project_name": "project_name"},
        costs=codecarbon_rows.COSTS,
        rows=codecarbon_rows.runs,
        machine=codecarbon_rows.machine,
        note=codecarbon_rows.NOTE,
    )


def _prefixed(columns, prefix):
    return {name: name.removeprefix(prefix) for name in columns if name.startswith(prefix)}


def _of_columns(device, host):
    return lambda row: (None, str(row.get(device, "")), str(row.get(host, "")) if host else "")
