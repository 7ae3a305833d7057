"""What a reader returns for each run, whatever the format it came from."""

from dataclasses import dataclass, field

COMPLETED = "completed"
RUNNING = "running"
FAILED = "failed"
STATUSES = (COMPLETED, RUNNING, FAILED)
KILLED = "killed"
UNREADABLE = "unreadable"
UNFINISHED = "unfinished"  # asked for, and not there


@dataclass(slots=True)
class Run:
    """One training of one configuration with one seed.

    Attributes
    ----------
    run_id : str
    status : str
        One of `STATUSES`, `KILLED`, `UNREADABLE` or `UNFINISHED`.
    started_at : str
        ISO 8601, or empty.
    runtime_s : float, or None
        Wall-clock time; positive and finite where the run is usable.
    config : dict
        Flat: dotted path to number or text (`flatten.flat`).
    sections : dict
        Section path to (seconds, count); the count is None where it is not known.
    cost, scores : dict
        Column name to finite number.
    compute : dict
        The record's compute block, as it stands.
    task, report : str
        Name of the experiment and of the directory that reports it, where the tool has such.
    parts : list of str
        Paths below the source's directory, ``/`` between their names, that were read as parts of
        this run: they are no runs of their own.
    process : str
        Equal for runs that one process trained one after another; empty for a run of its own.
    named : bool
        Whether `run_id` is the tool's own name for the run; else it is its path, and a run that
        equals another in all that was measured is taken for a copy.
    fingerprint : str
        What only copies of a run share, where the format has such; empty where it has none.
    notes : list of str
        What was dropped from the run, and why.
    reason : str
        Why the run cannot be used; empty where it can.
    """

    run_id: str
    status: str = COMPLETED
    started_at: str = ""
    runtime_s: float | None = None
    config: dict = field(default_factory=dict)
    sections: dict = field(default_factory=dict)
    cost: dict = field(default_factory=dict)
    scores: dict = field(default_factory=dict)
    compute: dict = field(default_factory=dict)
    task: str = ""
    report: str = ""
    parts: list = field(default_factory=list)
    process: str = ""
    named: bool = True
    fingerprint: str = ""
    notes: list = field(default_factory=list)
    reason: str = ""
