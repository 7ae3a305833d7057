"""CodeCarbon's ``emissions.csv`` in a directory of runs: the energy of each run that it tracked.

Where another tool recorded the same job, the two are one run (`reading.joins`), which gets the energy.
"""

import os

from traincost.reading.formats import codecarbon_rows
from traincost.reading.formats.by_name import first_of
from traincost.reading.formats.csv_rows import names_in
from traincost.reading.formats.files import Unreadable
from traincost.reading.formats.run import Run, numbers, runtime
from traincost.reading.formats.statuses import FILES, UNKNOWN, UNREADABLE
from traincost.reading.formats.table_files import read_rows

NAME = "codecarbon"
TITLE = "CodeCarbon's emissions (emissions.csv)"
FILE_NAME = "emissions.csv"
NAMES, sources = first_of(FILE_NAME)


def recognises(path):
    """Say whether a file is CodeCarbon's."""
    return set(names_in(path)) >= codecarbon_rows.NEEDED


def read(path, run_id):
    """Return the runs in the rows of the file at `path`; none where it is another's."""
    if not recognises(path):
        return []
    try:
        _, rows = read_rows(path)
    except Unreadable as problem:
        name = os.path.basename(os.path.dirname(path)) or run_id
        return [Run(name, UNREADABLE, reason=str(problem), named=False)]
    rows, said = codecarbon_rows.runs(rows)
    runs = [_run(row, reason, run_id) for row, reason in rows]
    if runs:
        runs[0].notes += said
    return runs


def _run(row, reason, run_id):
    run = Run(str(row.get("run_id") or run_id), notes=[codecarbon_rows.NOTE])
    run.config = {"project_name": str(row["project_name"])} if row.get("project_name") else {}
    run.started_at = row[codecarbon_rows.STARTED]
    run.runtime_s, missing = runtime(codecarbon_rows.number(row, "duration"), "duration")
    named = {name: codecarbon_rows.number(row, column) for column, name in codecarbon_rows.COSTS.items()}
    run.cost = numbers(named, "cost", run.notes)
    run.devices, run.device, run.host = codecarbon_rows.machine(row)
    run.end(UNKNOWN if not reason else UNREADABLE, reason or missing, FILES)
    return run
