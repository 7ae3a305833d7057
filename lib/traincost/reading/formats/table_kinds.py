"""Tables that tools write, told by the names of their columns: what is what in them, and which rows are runs.

SLURM's ``sacct``; what the pages of Weights & Biases and MLflow export; ``mlflow.search_runs()`` and
``study.trials_dataframe()`` as CSV or Parquet; CodeCarbon's ``emissions.csv``.
"""

import re
from dataclasses import dataclass, field

from traincost.reading.formats import codecarbon_rows
from traincost.reading.formats.table_columns import METRICS, SEED

_WANDB = ("Name", "State", "Created", "Runtime")
_WANDB_BASE = {
    *("Name", "Agent", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "Group"),
    *("Job Type", "Updated", "End Time", "Hostname", "Host", "Commit", "GitHub", "GPU Count", "GPU Type"),
    *("Command", "Ended", "Python Version", "Operating System", "Path", "Entity", "Project", "Description"),
    "Relative Time",
}
_MLFLOW = ("Start Time", "Duration", "Run ID", "Status")
_MLFLOW_BASE = {
    *_MLFLOW,
    *("Name", "Source Type", "Source Name", "User", "Experiment ID", "Experiment Name", "Version"),
}
_SLURM = {"JobID", "State"}
_SLURM_ELAPSED = ("Elapsed", "ElapsedRaw")
_SLURM_SETTINGS = ("JobName", "Partition", "WorkDir", "QOS", "Constraints")
_RESOURCES = ("AllocTRES", "ReqTRES", "TRES", "AllocGRES")
_GPU = re.compile(
    r"(?:^|,)gres/gpu(?::([\w.\-]+))?=(\d{1,6})|(?:^|,)gpu(?::([a-zA-Z][\w.\-]*))?[:=](\d{1,6})"
)
MIN_ROWS = 4  # from which on the number of different values tells what was measured
_MEASURED = re.compile(
    rf"(^|[._/\-\s(])({METRICS}|precision|val|valid|test|eval)($|[._/\-\s)@\d])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Kind:
    """What the columns of a tool's table are; a column that is named nowhere is nothing."""

    title: str  # what a person calls it
    runtime: str = ""  # a column, as the next three; empty for none
    run: str = ""
    status: str = ""
    path: str = ""
    started: str = ""  # a column of times, as `ended`; their difference is the runtime where that is empty
    ended: str = ""
    settings: dict = field(default_factory=dict)  # column to the name of the setting, score or cost
    scores: dict = field(default_factory=dict)
    costs: dict = field(default_factory=dict)
    rows: object = None  # of the rows, those that are runs, and what was left out or put together, in words
    machine: object = None  # of a row, its (devices, device, host)
    note: str = ""  # what is to be said of every run


def known(columns, rows):
    """Return the `Kind` of a table, or None where it is no tool's."""
    names = set(columns)
    if names >= _SLURM and names & set(_SLURM_ELAPSED):
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


# -- SLURM: the documentation of ``sacct`` says what the columns hold -----------------------------


def _slurm(columns):
    return Kind(
        "SLURM's accounting (sacct)",
        runtime=next(name for name in _SLURM_ELAPSED if name in columns),
        run="JobID",
        status="State",
        started="Start" if "Start" in columns else "",
        settings={name: name for name in _SLURM_SETTINGS if name in columns},
        rows=_jobs,
        machine=_given,
    )


def _jobs(rows):
    """Return the rows of jobs, and what is said of the others: a step has a dot in its id."""
    found = [(row, reason) for row, reason in rows if "." not in str(row.get("JobID", ""))]
    steps = len(rows) - len(found)
    return found, [f"{steps} rows are steps of jobs, whose time they repeat: not counted"] if steps else []


def _given(row):
    """Return the (devices, device, host) that a job was given.

    A typed device (``gres/gpu:a100=4``) says again what ``gres/gpu=4`` says.
    """
    node = str(row.get("NodeList", ""))
    for name in _RESOURCES:
        counts, types = [], []
        for one, n, other, m in _GPU.findall(str(row.get(name, ""))):
            kind = one or other
            (types if kind else counts).append((kind, int(n or m)))
        total = sum(n for _, n in counts) or sum(n for _, n in types)
        if total:
            return float(total), ", ".join(sorted({kind for kind, _ in types})), node
    return None, "", "" if node.lower() in ("none assigned", "none") else node


# -- other tools -----------------------------------------------------------------------------


def _wandb(columns, rows):
    rest = [name for name in columns if name not in _WANDB_BASE]
    summary = _after_the_fall(rest)
    split = summary and all(_may_be_measured(name, rows) for name in summary)
    scores = summary if split else [name for name in rest if _is_measured(name, rows)]
    names = [row.get("Name") for row, _ in rows]
    unique = len(set(names)) == len(names) and None not in names
    host = "Hostname" if "Hostname" in columns else "Host"
    return Kind(
        "an export of Weights & Biases' page",
        runtime="Runtime",
        run="ID" if "ID" in columns else "Name" if unique else "",
        status="State",
        started="Created",
        settings={name: name for name in rest if name not in scores},
        scores={name: name for name in scores},
        machine=lambda row: (None, str(row.get("GPU Type", "")), str(row.get(host, ""))),
        note="read from a table that W&B's page exported: runtimes in whole seconds",
    )


def _mlflow(columns, rows):
    rest = [name for name in columns if name not in _MLFLOW_BASE]
    scores = [name for name in rest if _is_measured(name, rows)]
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
    return Kind(
        "Optuna's frame of trials",
        runtime="duration" if "duration" in columns else "",
        run="number",
        status="state",
        started="datetime_start" if "datetime_start" in columns else "",
        ended="datetime_complete" if "datetime_complete" in columns else "",
        settings=_prefixed(columns, "params_"),
        scores={name: name for name in columns if re.fullmatch(r"values?(_.*)?", name)},
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


# -- settings and measurements, where nothing marks them ------------------------------------------


def _after_the_fall(names):
    """Return the names from where an alphabetical order begins anew; none where that is not once.

    >>> _after_the_fall(["lr", "seed", "epoch", "loss"])
    ['epoch', 'loss']
    """
    falls = [i for i in range(1, len(names)) if names[i].casefold() < names[i - 1].casefold()]
    return names[falls[0] :] if len(falls) == 1 else []


def _may_be_measured(name, rows):
    """Say whether a column may be of a summary: no seed, and neither words nor whole numbers that repeat."""
    texts = _cells(name, rows)
    if SEED.search(name):
        return False
    if all(map(_NUMBER.fullmatch, texts)) and not all(float(text).is_integer() for text in texts):
        return True
    return len(texts) < MIN_ROWS or len(set(texts)) > len(texts) / 2 or bool(_MEASURED.search(name))


def _cells(name, rows):
    return [str(row[name]).strip() for row, _ in rows if name in row]


def _is_measured(name, rows):
    """Say whether a column holds what was measured: by its name, or as numbers that hardly repeat."""
    texts = _cells(name, rows)
    if not texts or not all(map(_NUMBER.fullmatch, texts)):
        return False
    if _MEASURED.search(name):
        return True
    has_fractions = any(not float(text).is_integer() for text in texts)
    return len(texts) >= MIN_ROWS and has_fractions and len(set(texts)) > len(texts) / 2
