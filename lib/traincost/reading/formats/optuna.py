"""Optuna: a SQLite storage of any version, or the journal file of its `JournalFileBackend`.

A trial is a run: its settings are its parameters, its runtime the time from start to completion (the
machine's local time in a database), its scores the objectives' values. A categorical parameter is
stored as an index into its choices. A pruned trial was stopped on purpose, and a waiting one not begun.
With several studies in a file the study's name is a setting too.
"""

import io
import os
import re
from dataclasses import dataclass, field

from traincost.columns import finite
from traincost.reading.formats import sqlite
from traincost.reading.formats.files import Unreadable, head_of, opened, parse_json, read_head
from traincost.reading.formats.run import Run, flat, runtime
from traincost.reading.formats.statuses import COMPLETED, FAILED, PRUNED, QUEUED, RUNNING, UNREADABLE
from traincost.reading.formats.table_columns import between

NAME = "optuna"
TITLE = "Optuna studies (SQLite, journal)"
MAX_TRIALS = 200_000  # of one file
MAX_ENTRIES = 2_000  # parameters of one trial
MAX_JOURNAL_MIB = 1024
MAX_LINE_BYTES = 2**20
NEEDED = {"studies", "trials", "trial_params"}
# A name without an ending, as the folders of many runs have, fails the first part at once.
_JOURNALS = re.compile(
    r"(?=[^.]*\.)(?i:.*(journal|optuna|study|studies|trial|storage|hpo|tun(e|ing)).*\.(log|jsonl?|txt))"
    r"|(?i:.*journal[^.]*)",
    re.DOTALL,
)
NAMES = re.compile(r".*\.(db|sqlite3?)|" + _JOURNALS.pattern, re.DOTALL)
_ENDS = {
    "COMPLETE": (COMPLETED, ""),
    "PRUNED": (PRUNED, "pruned by its study: stopped on purpose"),
    "FAIL": (FAILED, "the trial failed"),
    "RUNNING": (RUNNING, "the trial has no end: at work still, or killed"),
    "WAITING": (QUEUED, "the trial waits and has not begun"),
}
_STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")  # as a journal numbers them


@dataclass(slots=True)
class Trial:
    """One trial as a storage holds it."""

    study: str
    number: int
    state: str = ""
    start: str = ""
    end: str = ""
    params: dict = field(default_factory=dict)  # name to (stored value, JSON of its distribution)
    values: dict = field(default_factory=dict)  # number of the objective to its value


def sources(directory, names):
    """Return databases and files that may be journals."""
    return [name for name in names if name.endswith(sqlite.ENDINGS) or _JOURNALS.fullmatch(name)]


def recognises(path):
    """Say whether a file begins as a journal or a database does."""
    head = head_of(path, 256)
    return head.startswith(sqlite.SQLITE_MAGIC) or _is_journal(head)


def read(path, run_id):
    """Return the trials in the storage at `path`; none where it is another tool's file."""
    try:
        head = read_head(path, 256)
        if head.startswith(sqlite.SQLITE_MAGIC):
            with sqlite.opened(path) as rows:
                trials = _of_database(rows) if rows.tables >= NEEDED else []
        else:
            trials = _of_journal(path) if _is_journal(head) else []
    except Unreadable as problem:
        is_own = os.path.basename(path).startswith("optuna")
        return [Run(run_id, UNREADABLE, reason=str(problem), named=False)] if is_own else []
    return runs(trials)


def runs(trials):
    """Return the run of each trial."""
    several = len({trial.study for trial in trials}) > 1
    return [_run(trial, several) for trial in trials]


def _run(trial, several):
    # Studies of different files often have one name: what was measured tells their trials apart.
    run = Run(f"{trial.study}/{trial.number}", named=False)
    run.fingerprint = f"{trial.study} {trial.number} {trial.start} {sorted(trial.params.items())}"
    run.task = trial.study
    known = (UNREADABLE, f"has the state {trial.state[:80]!r}, which Optuna does not know")
    run.end(*_ENDS.get(trial.state, known))
    study = {"study": trial.study} if several else {}
    params = {name: _parameter(*stored, run.notes) for name, stored in trial.params.items()}
    run.config = flat(study | params, run.notes)
    run.started_at = trial.start
    run.runtime_s, missing = runtime(between(trial.start, trial.end), "complete less start")
    run.reason = run.reason or missing
    values = {n: value for n, value in sorted(trial.values.items()) if finite(value)}
    run.scores = {"value" if len(trial.values) == 1 else f"values_{n}": v for n, v in values.items()}
    return run


def _parameter(stored, distribution, notes):
    """Return the value of a parameter from what is stored: a number, or an index into choices."""
    try:
        described = parse_json(distribution.encode()) if distribution else {}
    except Unreadable:
        described = {}
    described = described if isinstance(described, dict) else {}
    attributes = described.get("attributes")
    choices = attributes.get("choices") if isinstance(attributes, dict) else None
    if isinstance(choices, list):
        if finite(stored) and 0 <= int(stored) < len(choices):
            return choices[int(stored)]
        notes.append("a parameter has a choice that its distribution lacks: taken as missing")
        return None
    if str(described.get("name", "")).startswith("Int") and finite(stored):
        return int(stored)
    return stored


# -- SQLite --------------------------------------------------------------------------------


def _of_database(rows):
    studies = {key: str(name) for key, name in rows.of("studies", "SELECT study_id, study_name FROM studies")}
    trials = {}
    has_number = _has_column(rows, "trials", "number")
    query = f"SELECT trial_id, {'number' if has_number else 'trial_id'}, study_id, state, datetime_start, "
    for i, number, study, state, *times in rows.of("trials", query + "datetime_complete FROM trials"):
        if len(trials) < MAX_TRIALS:
            number, times = number if isinstance(number, int) else i, [str(time or "") for time in times]
            trials[i] = Trial(studies.get(study, str(study)), number, str(state), *times)
    query = "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params"
    for i, name, value, distribution in rows.of("trial_params", query):
        if i in trials and len(trials[i].params) < MAX_ENTRIES:
            trials[i].params[str(name)] = (value, str(distribution or ""))
    for i, objective, value in rows.of("trial_values", "SELECT trial_id, objective, value FROM trial_values"):
        if i in trials and len(trials[i].values) < MAX_ENTRIES:
            trials[i].values[objective if isinstance(objective, int) else 0] = value
    if _has_column(rows, "trials", "value"):  # Optuna 1
        for i, value in rows.of("trials", "SELECT trial_id, value FROM trials"):
            if i in trials and value is not None:
                trials[i].values[0] = value
    return list(trials.values())


def _has_column(rows, table, name):
    return any(found == name for (found,) in rows.of(table, f"SELECT name FROM pragma_table_info('{table}')"))


# -- journal -------------------------------------------------------------------------------


def _is_journal(head):
    return head.startswith(b"{") and b'"op_code"' in head


def _of_journal(path):
    """Replay a journal: create a study (0), a trial (4), set a parameter (5), a state (6)."""
    studies, counts, trials = [], {}, []
    with opened(path, MAX_JOURNAL_MIB) as file:
        for line in io.BufferedReader(file, 2**18):
            if len(line) > MAX_LINE_BYTES or not line.endswith(b"\n"):
                continue  # one that is being written
            try:
                entry = parse_json(line)
            except Unreadable:
                continue
            if not isinstance(entry, dict):
                continue
            code = entry.get("op_code")
            if code == 0:
                studies.append(str(entry.get("study_name", f"study {len(studies)}")))
            elif code == 4 and len(trials) < MAX_TRIALS:
                trials.append(_created(entry, studies, counts))
            elif code in (5, 6) and isinstance(entry.get("trial_id"), int):
                _apply(entry, trials)
    return [trial for trial in trials if trial.study]


def _created(entry, studies, counts):
    study = entry.get("study_id")
    if not isinstance(study, int) or not 0 <= study < len(studies):
        return Trial("", 0, "RUNNING")  # it has its number among the trials, and is not counted
    trial = Trial(studies[study], counts.get(study, 0), "RUNNING")
    counts[study] = trial.number + 1
    _set_state(trial, entry)
    stored, kinds = entry.get("params"), entry.get("distributions")
    if isinstance(stored, dict) and isinstance(kinds, dict):
        trial.params = {str(n): (v, str(kinds.get(n, ""))) for n, v in list(stored.items())[:MAX_ENTRIES]}
    return trial


def _apply(entry, trials):
    if not 0 <= entry["trial_id"] < len(trials):
        return
    trial = trials[entry["trial_id"]]
    if entry["op_code"] == 6:
        _set_state(trial, entry)
    elif len(trial.params) < MAX_ENTRIES:
        stored, kind = entry.get("param_value_internal"), entry.get("distribution")
        trial.params[str(entry.get("param_name"))] = (stored, str(kind or ""))


def _set_state(trial, entry):
    state = entry.get("state")
    if isinstance(state, int) and 0 <= state < len(_STATES):
        trial.state = _STATES[state]
    trial.start = str(entry.get("datetime_start") or trial.start)
    trial.end = str(entry.get("datetime_complete") or trial.end)
    values = entry.get("values") if isinstance(entry.get("values"), list) else [entry.get("value")]
    if any(value is not None for value in values):
        trial.values = dict(enumerate(values[:MAX_ENTRIES]))
