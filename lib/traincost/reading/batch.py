"""Read a batch of sources: the same function here, in a worker process, or on a cluster.

A task goes in, a `rows.Block` comes out, and nothing else is shared: what a batch gives does not
depend on any other.
"""

import json
import os
from dataclasses import dataclass

from traincost.reading import remote
from traincost.reading.formats import READERS
from traincost.reading.formats.files import parse_json, watched
from traincost.reading.formats.run import UNREADABLE, Run
from traincost.reading.listing import collector_paused
from traincost.reading.redaction import Redactor, Rule
from traincost.reading.rows import block

BATCH = 1_000  # sources


@dataclass(frozen=True)
class Task:
    """What to read.

    Attributes
    ----------
    root : str
        Directory or URL of the collection.
    name : str
        Of the collection, for a run that lies in its very directory.
    places : list of int
        Positions of the sources in the listing.
    sources : list of (path, reader)
    rule : redaction.Rule, or None
        What is withheld of the runs; None where none are read.
    stamped : bool
        Whether to note what each source was read from.
    versions : dict, or None
        Of a remote collection, every file in or below the directories of the sources, to its
        size in bytes and what tells one version of it from another (`remote`).
    """

    root: str
    name: str
    places: list
    sources: list
    rule: Rule | None
    stamped: bool = False
    versions: dict | None = None


def reader(listing, run, rule, progress=iter, stamped=False):
    """Return a function of positions in a `listing.Listing`, which yields the blocks read there.

    Parameters
    ----------
    run : callable
        Reads tasks (`engines.engine`).
    rule : redaction.Rule
    progress : callable
        Wraps the list of sources; moves as they are read.
    stamped : bool
        As in `Task`.
    """
    # One bar for all readers; what turns out to be a part of a run never moves it.
    bar = iter(progress(listing.sources))

    def read(places):
        tasks = (_task(listing, places[i : i + BATCH], rule, stamped) for i in range(0, len(places), BATCH))
        for found in run(tasks):
            for _ in found.places:
                next(bar, None)
            yield found

    return read


def _task(listing, places, rule, stamped):
    sources = [listing.sources[place] for place in places]
    versions = listing.versions.near(sources) if listing.versions else None
    return Task(listing.root, listing.name, places, sources, rule, stamped, versions)


def read_batch(task):
    """Return the `rows.Block` of the sources of a `Task`."""
    read = _stamped if task.stamped else _unstamped
    with collector_paused(), remote.staged(task) as root:
        found = (read(root, task, *source) for source in task.sources)
        return block(task.places, found, Redactor(task.rule))


def recognised(listing, parts):
    """Return the parts of runs that are what their names say.

    Parameters
    ----------
    parts : list of (position in the listing, owner)
        Those whose reader cannot tell more from a file's beginning stay.
    """
    asked = [p for p, _ in parts if hasattr(READERS[listing.sources[p][1]], "recognises")]
    dropped = set()
    for i in range(0, len(asked), BATCH):
        task = _task(listing, asked[i : i + BATCH], None, False)
        with remote.staged(task) as root:
            entries = zip(task.places, task.sources, strict=True)
            dropped.update(p for p, (path, name) in entries if not READERS[name].recognises(f"{root}/{path}"))
    return [part for part in parts if part[0] not in dropped]


def _read(root, task, path, reader):
    """Return the runs of one source; whatever is wrong with it, the others are read."""
    directory = path.rpartition("/")[0] or task.name
    try:
        return READERS[reader].read(f"{root}/{path}", directory)
    except Exception as problem:
        # Readers give reasons for all that is known to happen; this is for what is not.
        reason = f"cannot be read: {type(problem).__name__}: {problem}"
        return [Run(directory, UNREADABLE, reason=reason)]


def _unstamped(root, task, path, reader):
    return _read(root, task, path, reader), ""


def _stamped(root, task, path, reader):
    """Return the runs of a source, and what they were read from."""
    with watched() as used:
        runs = _read(root, task, path, reader)
    states = {_relative(root, name): state for name, state in used.items()}
    if task.versions is not None:
        states = {name: task.versions.get(name, state) for name, state in states.items()}
    return runs, json.dumps(states)


def _relative(root, path):
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else os.path.relpath(path, root)


def unchanged(stamp, current, content):
    """Say whether a source still is what it was read from.

    Parameters
    ----------
    stamp : str
        As `read_batch` gave it: JSON, the name of each file and directory to its state.
    current : callable
        Name to its state now, as `files.state` gives it.
    content : callable
        Name to a digest of its content now, for where the states leave it open.
    """
    states = parse_json(stamp.encode())
    for name, state in states.items():
        now = current(name)
        if state is None or now is None:
            return False
        if state[:3] != now and not _same_content(state, now, name, content):
            return False
    return bool(states)


def _same_content(state, now, name, content):
    """Say whether a file that was read, and whose size and time of modification are as they were, is too."""
    return len(state) == 4 and state[:2] == now[:2] and state[3] != "" and content(name) == state[3]
