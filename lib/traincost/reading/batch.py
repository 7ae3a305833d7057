"""Read sources in batches, and tell runs from the parts of other runs.

A task goes in, a `tables.Batch` comes out, and nothing else is shared: what a batch gives does not
depend on any other, so that the same function reads here, in worker processes and on a cluster.

The order of the register of readers is the order of claims: what a reader of logs finds in or
below the directory of a run that an earlier reader found is a part of that run.
"""

import json
import os
from contextlib import nullcontext
from dataclasses import dataclass

from traincost.errors import NothingToReport
from traincost.reading.formats import LOGS, READERS, STORES, table
from traincost.reading.formats.files import parse_json, watched
from traincost.reading.formats.run import Run
from traincost.reading.formats.statuses import UNREADABLE
from traincost.reading.listing import collector_paused
from traincost.reading.redaction import Redactor, Rule
from traincost.reading.tables import tabulated

BATCH = 1_000  # sources


@dataclass(frozen=True)
class Task:
    """What to read."""

    root: str  # directory or URL of the collection
    name: str  # of the collection, for a run that lies in its very directory
    places: list  # positions of the sources in the listing
    sources: list  # of (path, reader)
    rule: Rule | None  # what is withheld of the runs; None where none are read
    stamped: bool = False  # whether to note what each source was read from
    versions: dict | None = None  # of a remote collection, the files near the sources (`remote.Versions`)


def engine(workers=1, scheduler=""):
    """Return a context of a function of tasks that yields their batches in order (`engines.engine`)."""
    if workers == 1 and not scheduler:
        return nullcontext(lambda tasks: map(read_batch, tasks))
    from traincost.reading import engines

    return engines.engine(workers, scheduler)


def reader(listing, run, rule, progress=iter, stamped=False):
    """Return a function of positions in a `listing.Listing`, which yields the batches read there.

    `run` reads tasks (`engine`); `rule` says what is withheld of the runs; `progress` wraps the list
    of sources and moves as they are read.
    """
    # One bar for all readers; what turns out to be a part of a run never moves it.
    bar = iter(progress(listing.sources))
    next(bar, None)  # a source counts as read when the next one is asked for

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
    """Return the `tables.Batch` of the sources of a `Task`."""
    with collector_paused(), _at_hand(task) as root:
        if task.stamped:
            found = (_stamped(root, task, *source) for source in task.sources)
        else:
            found = ((_read(root, task, *source), "") for source in task.sources)
        return tabulated(task.places, found, Redactor(task.rule))


def _at_hand(task):
    """Return a context of the directory in which the files of a task are."""
    if task.versions is None:
        return nullcontext(task.root)
    from traincost.reading import remote

    return remote.staged(task)


def recognised(listing, parts):
    """Return the parts of runs, (position, owner), whose beginning does not show that they are none."""
    asked = [p for p, _ in parts if hasattr(READERS[listing.sources[p][1]], "recognises")]
    dropped = set()
    for i in range(0, len(asked), BATCH):
        task = _task(listing, asked[i : i + BATCH], None, False)
        with _at_hand(task) as root:
            sources = zip(task.places, task.sources, strict=True)
            dropped.update(p for p, (path, name) in sources if not READERS[name].recognises(f"{root}/{path}"))
    return [part for part in parts if part[0] not in dropped]


def _read(root, task, path, reader):
    """Return the runs of one source; whatever is wrong with it, the others are read."""
    directory = path.rpartition("/")[0] or task.name
    try:
        return READERS[reader].read(f"{root}/{path}", directory)
    except NothingToReport:  # a store that cannot be reached: none of the others can be read either
        raise
    except Exception as problem:
        # Readers give reasons for all that is known to happen; this is for what is not.
        reason = f"cannot be read: {type(problem).__name__}: {problem}"
        return [Run(directory, UNREADABLE, reason=reason)]


def _stamped(root, task, path, reader):
    """Return the runs of a source, and what they were read from."""
    with watched() as used:
        runs = _read(root, task, path, reader)
    states = {}
    for path, state in used.items():
        name = path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else os.path.relpath(path, root)
        is_told = state is None or task.versions is None
        states[name] = state if is_told else task.versions.get(name, state)
    return runs, json.dumps(states)


def unchanged(stamp, current, content):
    """Say whether a source still is what it was read from.

    The stamp is JSON, the name of each file and directory to its state; `current` returns the state of
    a name now (`files.state`), `content` a digest of its content now, for where the states leave it open.
    """
    states = parse_json(stamp.encode())
    for name, state in states.items():
        now = current(name)
        if state is None or now is None:
            return False
        if state[:3] != now:
            # A file whose size and time of modification are as they were may have its content still.
            is_alike = len(state) == 4 and state[:2] == now[:2] and state[3] != ""
            if not is_alike or content(name) != state[3]:
                return False
    return bool(states)


# -- parts of runs -------------------------------------------------------------------------


def gathered(sources, read, parts):
    """Yield the batches of all sources that are no part of another's run, reader by reader.

    What is known to be a part is not read. Among the sources of one reader this shows only once
    they are read; they are read all the same, so that it does not matter how they are put into
    batches, and dropped then. `read` takes positions in `sources`, of one reader, and yields their
    batches in order; `parts` gets (position, path of the run it is a part of) of what was left alone.
    """
    waiting = {name: [] for name in (*READERS, table.NAME)}
    for place, (_, name) in enumerate(sources):
        waiting[name].append(place)
    claims = Claims(any(waiting[name] for name in LOGS))
    for name, places in waiting.items():
        for batch in read(claims.free(places, sources, name, parts)):
            yield batch.only(_claimed(batch, claims, sources, name, parts))
    parts.sort()


def _claimed(batch, claims, sources, reader, parts):
    """Let the sources of a batch claim, in order; return the positions of those that may stay."""
    if not claims.matter and not any(batch.parts):
        return batch.places
    kept = []
    for i, place in enumerate(batch.places):
        if claims.free([place], sources, reader, parts):
            kept.append(i)
            if batch.claims[i]:
                claims.add(sources[place][0], reader, batch.parts[i])
    return kept


class Claims:
    """Which directories are those of runs that were read, and what else these runs hold.

    `with_logs` says whether there are logs at all, which the directory of a run can claim.
    """

    def __init__(self, with_logs):
        self._with_logs = with_logs
        self._directories, self._parts = {}, {}

    @property
    def matter(self):
        """Whether a source may be claimed, now or by what is added without parts of its own."""
        return self._with_logs or bool(self._parts)

    def add(self, path, reader, parts):
        """Note a source in which `reader` found readable runs, with what else was read for them."""
        directory = path.rpartition("/")[0]
        if reader not in STORES:
            self._directories.setdefault(directory, (path, reader))
        for part in parts:
            self._parts.setdefault(os.path.normpath(os.path.join(directory, part)), path)

    def free(self, places, sources, reader, parts):
        """Return the places that are no part of a run; add the others to `parts`."""
        if not self._parts and not (reader in LOGS and self._directories):
            return places
        owners = {place: self.owner(sources[place][0], reader) for place in places}
        parts += [(place, owner) for place, owner in owners.items() if owner is not None]
        return [place for place, owner in owners.items() if owner is None]

    def owner(self, path, reader):
        """Return the path of the run that the source of `reader` at `path` is a part of, or None.

        A log is a part of the run of another reader in its directory or above; the collection's
        own directory is no run's alone, so that a run in it claims what it names and what lies
        beside it.
        """
        directory = path.rpartition("/")[0]
        for place in (path, *upwards(directory)):
            if place in self._parts:
                return self._parts[place]
            owner, its_reader = self._directories.get(place, (None, reader))
            if reader in LOGS and its_reader != reader and (place or place == directory):
                return owner
        return None


def upwards(directory):
    """Yield a directory of the collection and those around it, the collection's own last."""
    while directory:
        yield directory
        directory = directory.rpartition("/")[0]
    yield ""
