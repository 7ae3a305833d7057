"""DVCLive: ``metrics.json`` and ``plots/``; of its first versions, ``dvclive.json`` and ``dvclive/``.

Since version 2 no time is written, so that the runtime is not known; before, the rows of its series
had a ``timestamp`` in milliseconds. A folder holds the last run only: the others are Git revisions.
"""

import os
import re

from traincost.columns import finite
from traincost.reading.formats.csv_rows import column, names_in, rows_of
from traincost.reading.formats.files import Folder, mapping_in, names, parse_json
from traincost.reading.formats.run import Run, flat, iso, runtime
from traincost.reading.formats.statuses import NOT_RECORDED, UNKNOWN
from traincost.reading.formats.yaml_text import parse_yaml

NAME = "dvclive"
TITLE = "DVCLive folders (metrics.json, plots/)"
METRICS_NAME, OLD_NAME, PARAMS_NAME, FOLDER_NAME = "metrics.json", "dvclive.json", "params.yaml", "dvclive"
NAMES = re.compile("|".join(map(re.escape, (METRICS_NAME, OLD_NAME))))
NO_TIME = (
    "its runtime is not known: DVCLive 2 and later writes no time; time the training beside it, for example "
    "with traincost.Recorder"
)
APPROXIMATE = "runtime is approximate: from the first to the last point of its series"
MAX_SERIES = 500
MAX_NESTING = 8  # of folders of series


def sources(directory, found):
    """Return the metrics of DVCLive's own folder."""
    is_own = os.path.basename(directory) == FOLDER_NAME or "plots" in found
    return [name for name in (METRICS_NAME, OLD_NAME) if name in found and (is_own or name == OLD_NAME)][:1]


def recognises(path):
    """Say whether metrics are DVCLive's: an object with a step, beside its plots."""
    folder, name = os.path.split(path)
    is_own = os.path.basename(folder) == FOLDER_NAME or "plots" in names(folder) or name == OLD_NAME
    found = mapping_in(path, parse_json, [])
    return is_own and bool(found) and "iteration" not in found


def read(path, run_id):
    """Return the run of DVCLive's folder; none where the metrics are another tool's."""
    if not recognises(path):
        return []
    folder, name = os.path.split(path)
    home = os.path.dirname(folder) if os.path.basename(folder) == FOLDER_NAME else folder
    run = Run(run_id.removesuffix(f"/{FOLDER_NAME}"), named=False)
    scores = flat(mapping_in(path, parse_json, run.notes), run.notes)
    run.scores = {k: v for k, v in scores.items() if finite(v) and k != "step"}
    for place in map(Folder, (folder, home)):
        if PARAMS_NAME in place:
            run.config = flat(place.mapping(PARAMS_NAME, parse_yaml, run.notes), run.notes)
            break
    times, reason = [], NO_TIME
    for series in _series(os.path.join(folder, FOLDER_NAME if name == OLD_NAME else "plots")):
        if "timestamp" in names_in(series):
            times += [at / 1000 for at in column(*rows_of(series, []), "timestamp") if at]
    if times:
        run.started_at = iso(min(times))
        run.runtime_s, reason = runtime(max(times) - min(times), "the time between its points")
        run.notes.append(APPROXIMATE)
        run.parts = [FOLDER_NAME] if name == OLD_NAME else []
    run.end(UNKNOWN, reason, NOT_RECORDED)
    return [run]


def _series(folder):
    pending, found = [(folder, 0)], []
    while pending and len(found) < MAX_SERIES:
        place, depth = pending.pop()
        for name in names(place):
            path = os.path.join(place, name)
            if name.endswith(".tsv"):
                found.append(path)
            elif depth < MAX_NESTING and os.path.isdir(path):
                pending.append((path, depth + 1))
    return found[:MAX_SERIES]
