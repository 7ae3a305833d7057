"""Which sources are runs of their own, and which belong to the run of another.

The order of the register of readers is the order of claims: what a reader of logs finds in or
below the directory of a run that an earlier reader found is a part of that run.
"""

import os

from traincost.reading.formats import LOGS, READERS, STORES


def gathered(sources, read, parts):
    """Yield the blocks of all sources that are no part of another's run, reader by reader.

    What is known to be a part is not read. Among the sources of one reader this shows only once
    they are read; they are read all the same, so that it does not matter how they are put into
    batches, and dropped then.

    Parameters
    ----------
    sources : list of (path, reader)
        In natural order.
    read : callable
        Takes positions in `sources`, of one reader; yields their blocks in order.
    parts : list
        Gets (position, owner) of what was left alone: the path of the run it is a part of.

    Yields
    ------
    rows.Block
    """
    waiting = {name: [] for name in READERS}
    for place, (_, name) in enumerate(sources):
        waiting[name].append(place)
    claims = Claims(any(waiting[name] for name in LOGS))
    for name, places in waiting.items():
        free = claims.free(places, sources, name, parts)
        for block in read(free):
            yield block.only(_claimed(block, claims, sources, name, parts))
    parts.sort()


def _claimed(block, claims, sources, reader, parts):
    """Let the sources of a block claim, in order; return the positions of those that may stay."""
    if not claims.matter and not any(block.parts):
        return block.places
    kept = []
    for i, place in enumerate(block.places):
        if claims.free([place], sources, reader, parts):
            kept.append(i)
            if block.claims[i]:
                claims.add(sources[place][0], reader, block.parts[i])
    return kept


class Claims:
    """Which directories are those of runs that were read, and what else these runs hold.

    Parameters
    ----------
    with_logs : bool
        Whether there are logs at all, which the directory of a run can claim.
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
        free = []
        for place in places:
            owner = self.owner(sources[place][0], reader)
            if owner is None:
                free.append(place)
            else:
                parts.append((place, owner))
        return free

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
