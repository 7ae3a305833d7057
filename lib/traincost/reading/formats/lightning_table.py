"""Texts that hold one table of timed actions, as SimpleProfiler lays it out: a run for each file.

Other tools print such a table too (kronfluence); their actions do not contain each other.
Where the text calls itself a report of Lightning's stage, its actions are read as
Lightning's. The config is what stands in a ``command.txt`` beside it: the command's ``--name value`` pairs.
"""

import os
import re
import shlex

from traincost.reading.formats.files import Unreadable, names, read_bytes, shortened
from traincost.reading.formats.lightning import add_reports
from traincost.reading.formats.run import Run, flat
from traincost.reading.formats.simple_profiler import read_reports

NAME = "lightning-table"
TITLE = "texts with a table of timed actions (*.txt, *.log)"
COMMAND_NAME = "command.txt"
MAX_COMMAND_MIB = 1
NAMES = re.compile(r".*\.(txt|log)", re.DOTALL)


def sources(directory, names):
    """Return the texts but for the command."""
    return [name for name in names if name.endswith((".txt", ".log")) and name != COMMAND_NAME]


def recognises(path):
    """Say whether a text begins with a table, as few do."""
    folder, name = os.path.split(path)
    return bool(read_reports(folder, [name])[0])


def read(path, run_id):
    """Return the run that a table is of; none where the text's beginning holds no table."""
    folder, name = os.path.split(path)
    reports, notes = read_reports(folder, [name])
    if not reports:
        return []
    is_alone = len(sources(folder, names(folder))) == 1
    run = Run(run_id if is_alone else f"{run_id}/{name}", named=False, notes=notes)
    run.config = _command(os.path.join(folder, COMMAND_NAME), run.notes)
    return [add_reports(run, reports)]


def _command(path, notes):
    """Return the options of the command in a text: ``--name value``, ``--name=value`` or ``--name``."""
    try:
        words = shlex.split(read_bytes(path, MAX_COMMAND_MIB).decode("utf-8", "replace"))
    except (Unreadable, ValueError) as problem:
        if os.path.lexists(path):
            notes.append(f"{COMMAND_NAME} {shortened(problem)}: the settings are unknown")
        return {}
    options = {}
    for word, following in zip(words, [*words[1:], "--"], strict=False):
        if word.startswith("--") and len(word) > 2:
            name, given, value = word[2:].partition("=")
            options[name] = value if given else True if following.startswith("--") else following
    return flat(options, notes)
