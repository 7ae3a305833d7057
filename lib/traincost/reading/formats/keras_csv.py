"""What Keras' CSVLogger writes: ``epoch``, then the logs by name in alphabetical order, and never a time."""

import os
import re

from traincost.reading.formats import events_beside
from traincost.reading.formats.by_name import all_like
from traincost.reading.formats.csv_rows import last_of, names_in, rows_of
from traincost.reading.formats.files import Folder
from traincost.reading.formats.run import Run
from traincost.reading.formats.statuses import NOT_RECORDED, UNKNOWN

NAME = "keras"
TITLE = "logs of Keras' CSVLogger"
# A name without an ending, as the folders of many runs have, fails at once.
NAMES, sources = all_like(
    r"(?=[^.]*\.)(?i:.*(log|history|train|csv|metrics|epoch|result).*\.(csv|log|tsv|txt))"
)
NO_TIME = (
    "its runtime is not known: Keras' CSVLogger writes no time; train with keras.callbacks.TensorBoard "
    "beside it, or record the run with traincost.Recorder"
)
_LOG = re.compile(r"(val_)?[a-z][a-z0-9_]*", re.IGNORECASE)
_OTHERS = frozenset(["step", "steps", "time", "iteration", "iter", "timestamp", "wall_time", "trial_id"])


def recognises(path):
    """Say whether the first line names an epoch and then, in order, what Keras logs."""
    header = names_in(path)
    logs = header[1:]
    return (
        len(header) > 1
        and header[0] == "epoch"
        and "loss" in logs
        and logs == sorted(logs)
        and all(map(_LOG.fullmatch, logs))
        and not _OTHERS & set(logs)
    )


def read(path, run_id):
    """Return the run of a log; none where the file is something else."""
    if not recognises(path):
        return []
    folder = Folder(os.path.dirname(path))
    is_alone = sum(recognises(folder.of(other)) for other in folder.like(NAMES)) == 1
    run = Run(run_id if is_alone else f"{run_id}/{os.path.basename(path)}", named=False)
    last = last_of(*rows_of(path, run.notes))
    run.scores = {k: v for k, v in last.items() if k != "epoch"}
    has_time = is_alone and events_beside.add(run, folder)
    run.end(UNKNOWN, "" if has_time else NO_TIME, NOT_RECORDED)
    return [run]
