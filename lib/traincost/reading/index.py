"""An index of a collection: its runs as a Parquet data set, which is read in place of the files.

`POINTER` in the folder of an index names the parts that count (`parquet`), each the work of one
reader. A part is never changed once written. A refresh writes what is new or changed as a part of
its own, beside, and then puts a new list of parts in the place of the old by renaming one file.
Who reads meanwhile sees the old index or the new; a refresh that is killed leaves files that no
list names, and the next removes them. Which runs are duplicates, or parts of others, is not
stored: an index is sorted out as its directory is.
"""

import os
import re
import uuid
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
import orjson

from traincost import __version__
from traincost.errors import NothingToReport, ParameterError
from traincost.reading import folders, remote
from traincost.reading.batch import reader, recognised, unchanged
from traincost.reading.engines import engine
from traincost.reading.formats import READERS
from traincost.reading.formats.files import content, state
from traincost.reading.listing import Listing, collector_paused, listed, ordered
from traincost.reading.ownership import gathered
from traincost.reading.redaction import KEY_BYTES, Rule
from traincost.reading.rows import Block, printable

POINTER = "traincost-index.json"
FORMAT, OLDER = "traincost/index/2", "traincost/index/1"  # the older withheld nothing
KEY = "traincost-index.key"  # of the marks of what is withheld (`redaction`): for the owner alone
PART_SOURCES = 100_000  # of a part at most: what is held in memory at once
RESCANNED = 0.02  # of the directories, from which on their list is written anew
SMALL_SOURCES = 10_000  # parts with fewer are put together
MAX_SMALL = 8  # of one reader
_OURS = re.compile(r"(sources|runs|excluded|sections|directories)-[0-9a-f]{32}\.parquet")


@dataclass(frozen=True)
class Part:
    """One part of an index.

    Attributes
    ----------
    id : str
        In the names of its files.
    reader : str
    n_sources : int
    dead : list of int
        Rows of its sources that count no more: gone, or read again since.
    """

    id: str
    reader: str
    n_sources: int
    dead: list

    @property
    def live(self):
        """Rows of its sources that count."""
        return _without(self.n_sources, self.dead)


def opened(path):
    """Return the index in a folder or at a URL, or None where there is none.

    Raises
    ------
    NothingToReport
        It cannot be read, or was written by another version.
    """
    folder = folders.at(path)
    try:
        found = folder.read(POINTER) if folder else None
    except OSError as problem:
        raise NothingToReport(f"{folder.shown} cannot be read: {remote.why(problem)}") from None
    if found is None:
        return None
    stored = _index(folder, found)
    if stored is None:
        raise NothingToReport(
            f"the index {folder.shown} is of an earlier version, which kept secrets in it: refresh it "
            "with `traincost index`"
        )
    return stored


def _index(folder, found):
    """Return the index that a pointer tells of; None where an earlier version made it."""
    try:
        pointer = orjson.loads(found)
        if pointer["format"] == OLDER:
            return None
        if pointer["format"] != FORMAT:
            raise NothingToReport(
                f"the index {folder.shown} has the format {pointer['format']!r}; this version of "
                f"traincost reads {FORMAT!r}: update traincost"
            )
        parts = [Part(**part) for part in pointer["parts"]]
        unopened = [tuple(entry) for entry in pointer["unopened"]]
        alone = Part(**pointer["left_alone"]) if pointer["left_alone"] else None
        seen = Part(**pointer["directories"]) if pointer.get("directories") else None
        version = pointer.get("version", "")
        return Index(folder, pointer["name"], pointer["reader"], parts, alone, unopened, seen, version)
    except (orjson.JSONDecodeError, KeyError, TypeError) as problem:
        why = f"{type(problem).__name__}: {problem}"
        raise NothingToReport(
            f"the index {folder.shown} cannot be read: {POINTER} is damaged ({why})"
        ) from None


@dataclass(frozen=True, eq=False)
class Index:
    """An index as one refresh left it.

    Attributes
    ----------
    folder : folders.Folder
    name : str
        Of the collection.
    format : str
        What its readers were: one's name, or ``auto``.
    parts : list of Part
    left_alone : Part, or None
        Lists the sources that are parts of the runs of others, their readers in place of stamps.
    unopened : list of (path, reason)
    directories : Part, or None
        Lists the directories, with what tells whether they changed.
    version : str
        Of traincost, that wrote it.
    """

    folder: object
    name: str
    format: str
    parts: list
    left_alone: Part | None
    unopened: list
    directories: Part | None
    version: str

    def rule(self, show):
        """Return how the paths of its sources are redacted: as its runs were, where the key is there.

        Raises
        ------
        ParameterError
            Something is to be shown: what was withheld is not in the index.
        """
        if show:
            raise ParameterError(
                f"`show` needs the runs themselves; the index {self.folder.shown} holds nothing withheld"
            )
        try:
            key = self.folder.read(KEY)
        except OSError:  # the owner's alone
            key = None
        return Rule(key[:KEY_BYTES]) if key else Rule()

    def sources(self):
        """Yield (path, reader, part, row) of each source; the part is None where it was left alone."""
        for part in self.parts:
            paths = self._table(part, "sources", ["path"])["path"].to_pylist()
            for row in part.live.tolist():
                yield folders.decoded(paths[row]), part.reader, part, row
        if self.left_alone:
            table = self._table(self.left_alone, "sources")
            for path, reader in zip(table["path"].to_pylist(), table["stamp"].to_pylist(), strict=True):
                yield folders.decoded(path), reader, None, 0

    def block(self, part):
        """Return the sources of a part that count; its places are their rows."""
        from traincost.reading import parquet

        return parquet.read_part(lambda name: self._table(part, name)).only(part.live.tolist())

    def _table(self, part, name, columns=None):
        from traincost.reading import parquet

        try:
            return parquet.table(self.folder.file(file_name(name, part)), columns)
        except (OSError, ValueError) as problem:
            raise NothingToReport(
                f"the index {self.folder.shown} cannot be read ({remote.why(problem)}); if it was "
                "refreshed twice just now, try again, else make it again"
            ) from None

    def known(self):
        """Return (path, reader) of each source read to (id of its part, row, claims, parts, stamp)."""
        from traincost.reading import parquet

        found = {}
        for part in self.parts:
            table, live = self._table(part, "sources"), part.live
            table = table.take(live) if part.dead else table
            paths = map(folders.decoded, table["path"].to_pylist())
            stored = (live.tolist(), *parquet.summary(table), table["stamp"].to_pylist())
            keys = zip(paths, repeat(part.reader), strict=False)
            found.update(zip(keys, zip(repeat(part.id), *stored, strict=False), strict=True))
        return found

    def seen(self):
        """Return the directories of the collection as they were (`listing.Listing`)."""
        from traincost.reading import parquet

        # Another version may take other names for sources.
        if self.directories is None or self.version != __version__:
            return {}
        return parquet.directories(self._table(self.directories, "directories"))

    def reading(self, format):
        """Return the listing of the index, and a function of positions in it that yields their blocks.

        Raises
        ------
        ParameterError
            The index does not hold what `format` asks for.
        """
        entries = list(self.sources())
        if format != self.format:
            if self.format != "auto" or any(e[1] == format and e[2] is None for e in entries):
                raise ParameterError(
                    f"`format` must be {self.format!r}, with which the index was made, got "
                    f"{format!r}; an index of its own would hold that"
                )
            if format not in READERS:
                raise ParameterError(f"`format` must be auto or one of {', '.join(READERS)}, got {format!r}")
            entries = [entry for entry in entries if entry[1] == format]
        entries = _by_register(entries)
        listing = Listing(self.folder.shown, self.name, [entry[:2] for entry in entries], self.unopened)
        return listing, lambda places: self._read(entries, places)

    def _read(self, entries, places):
        wanted = {}
        for place in places:
            _, _, part, row = entries[place]
            if part is not None:
                wanted.setdefault(part.id, (part, []))[1].append((row, place))
        for part, rows in wanted.values():
            block, rows = self.block(part), sorted(rows)
            position = {row: i for i, row in enumerate(block.places)}
            block = block.only([position[row] for row, _ in rows])
            yield replace(block, places=[place for _, place in rows])


def _without(n, rows):
    """Return the first `n` rows but for some."""
    is_left = np.ones(n, dtype=bool)
    is_left[rows] = False
    return np.flatnonzero(is_left)


def file_name(table, part):
    """Return the name of the file of one of a part's tables."""
    return f"{table}-{part.id}.parquet"


def _by_register(entries):
    order = {name: i for i, name in enumerate(READERS)}
    entries.sort(key=lambda entry: order[entry[1]])
    return ordered(entries)


# -- refreshing ----------------------------------------------------------------------------


def refresh(runs_dir, output, format="auto", progress=None, workers=1, scheduler=""):
    """Make the index of a directory, or bring it up to date.

    Only what is new or changed is read; what is gone is dropped.

    Parameters
    ----------
    runs_dir : str or path
        A directory, or the URL of one.
    output : str or path
        Folder of the index, or its URL.
    format, progress, workers, scheduler
        As `collection.read_collection` takes them.

    Returns
    -------
    dict
        ``read``, ``kept``, ``dropped``: numbers of sources.

    Raises
    ------
    NothingToReport
        `runs_dir` cannot be read.
    ParameterError
        `output` holds something else, or is no place to write to.
    """
    _needed()
    folder = folders.at(output)
    if folder is None:
        raise ParameterError(f"the index needs a folder, got {output!r}")
    with engine(workers, scheduler) as run, collector_paused():
        listing, directories = _listed(runs_dir, format, folder)
        with folders.told(folder):
            folder.make()
            with folder.locked():
                old = _old(folder)
                folder.remove(folder.leftovers(_OURS.fullmatch, _files(old)))
                key = folder.read(KEY)
                # Marks that were made with another key would not agree with new ones.
                old = old if old and old.format == format and key else None
                work = _Refresh(listing, directories, folder, old)
                rule = Rule(key[:KEY_BYTES] if key else _new_key(folder))
                work.run(reader(listing, run, rule, progress or iter, stamped=True), format)
    return work.counts


def _listed(runs_dir, format, folder):
    """Return the listing, for which only directories that changed were read.

    And the part of the index that still lists nearly all of them, or None.
    """
    with folders.told(folder):
        found = None if remote.is_url(runs_dir) else folder.read(POINTER)
    old = None if found is None else _index(folder, found)
    try:
        known = old.seen() if old and old.format == format else {}
    except NothingToReport:  # replaced meanwhile by another refresh, or damaged
        known = {}
    listing = listed(runs_dir, format, known)
    if not listing.sources:
        raise NothingToReport(f"runs_dir {listing.shown!r} holds no runs that traincost understands")
    same = sum(known.get(path) is entry for path, entry in (listing.seen or {}).items())
    is_alike = same > (1 - RESCANNED) * max(len(known), len(listing.seen or {}))
    return listing, old.directories if known and is_alike else None


def _needed():
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ParameterError("an index needs pyarrow: pip install 'traincost[scale]'") from None


def _new_key(folder):
    key = os.urandom(KEY_BYTES)
    folder.publish({KEY: key}, mode=0o600)
    return key


def _old(folder):
    """Return the index that is in a folder, or None; refuse a folder of something else."""
    found = folder.read(POINTER)
    if found is not None:
        return _index(folder, found)
    other = [name for name in folder.names() if name not in (folders.LOCK, KEY) and not _OURS.fullmatch(name)]
    if other:
        raise ParameterError(
            f"{folder.shown} holds something else than an index ({other[0]!r}); give a folder of its own"
        )
    return None


def _files(index):
    """Return the names of the files that an index consists of."""
    from traincost.reading.parquet import TABLES

    if index is None:
        return set()
    names = {file_name(table, part) for part in index.parts for table in TABLES}
    alone = {"sources": index.left_alone, "directories": index.directories}
    return names | {file_name(table, part) for table, part in alone.items() if part}


class _Refresh:
    """One refresh: what is kept of the old index, and what is written beside it."""

    def __init__(self, listing, directories, folder, old):
        self._listing, self._folder, self._old = listing, folder, old
        self._same_directories = directories
        self._known = old.known() if old else {}
        self._kept, self._stored, self._read = set(), set(), 0

    @property
    def counts(self):
        """Numbers of sources read, kept and dropped."""
        return {"read": self._read, "kept": len(self._kept), "dropped": len(self._known) - len(self._kept)}

    def run(self, read_files, format):
        """Read what has to be read, and switch to the new list of parts."""
        left = []
        with closing(_Parts(self._folder)) as parts:
            # The blocks that come back hold claims alone; their runs are written.
            for _ in gathered(
                self._listing.sources, lambda places: self._block(places, read_files, parts), left
            ):
                pass
            left = recognised(self._listing, [part for part in left if part[0] not in self._stored])
            remaining = self._remaining()
            small = [part for part in remaining if len(part.live) < SMALL_SOURCES]
            if len(small) > MAX_SMALL:
                self._put_together(small, parts)
                remaining = [part for part in remaining if part not in small]
            pointer = {
                "format": FORMAT,
                "name": self._listing.name,
                "reader": format,
                "unopened": [[printable(path), printable(reason)] for path, reason in self._listing.unopened],
                "left_alone": self._left_alone([place for place, _ in left]),
                "directories": self._directories(),
                "version": __version__,
                "parts": [vars(part) for part in remaining + parts.finished()],
            }
            self._folder.publish({POINTER: orjson.dumps(pointer)})
            parts.keep()

    def _block(self, places, read_files, parts):
        """Yield what the sources at `places` claim, in order, having written what had to be read."""
        found, new, sources = {}, [], self._listing.sources
        for place in places:
            entry = self._known.get(sources[place])
            if entry and self._is_unchanged(entry[-1]):
                self._kept.add(entry[:2])
                found[place] = entry[2:]
            else:
                new.append(place)
        for block in read_files(new):
            parts.add(sources[block.places[0]][1], block, [sources[place][0] for place in block.places])
            self._read += len(block.places)
            claimed = zip(block.claims, block.parts, block.stamps, strict=True)
            found.update(zip(block.places, claimed, strict=True))
        self._stored.update(found)
        if found:
            yield Block(sorted(found), *zip(*(found[place] for place in sorted(found)), strict=True), None)

    def _is_unchanged(self, stamp):
        root, versions = self._listing.root, self._listing.versions
        if versions:
            return unchanged(stamp, versions.state, lambda name: "")
        return unchanged(stamp, lambda name: state(f"{root}/{name}"), lambda name: content(f"{root}/{name}"))

    def _remaining(self):
        """Return the old parts as far as they were kept."""
        rows = {}
        for part, row in self._kept:
            rows.setdefault(part, []).append(row)
        return [
            replace(part, dead=_without(part.n_sources, rows[part.id]).tolist())
            for part in (self._old.parts if self._old else [])
            if part.id in rows
        ]

    def _put_together(self, small, parts):
        """Write what is in many small parts to few."""
        for part in sorted(small, key=lambda part: part.reader):
            paths = dict(self._paths(part))
            block = self._old.block(part)
            parts.add(part.reader, block, [paths[row] for row in block.places])

    def _paths(self, part):
        return ((row, path) for path, _, owner, row in replace(self._old, parts=[part]).sources() if owner)

    def _left_alone(self, places):
        """Write the list of the sources that were left alone; return its part, or None."""
        from traincost.reading import parquet

        if not places:
            return None
        part = Part(uuid.uuid4().hex, "", len(places), [])
        paths, readers = zip(*(self._listing.sources[place] for place in places), strict=True)
        block = Block(places, [False] * len(places), [[] for _ in places], list(readers), None)
        with self._folder.create(file_name("sources", part)) as file:
            parquet.write_sources(file, block, [folders.encoded(path) for path in paths])
        return vars(part)

    def _directories(self):
        """Write the list of the directories, or keep that of the old index; return its part, or None."""
        from traincost.reading import parquet

        seen = self._listing.seen
        if not seen:
            return None
        if self._old and self._same_directories and self._same_directories == self._old.directories:
            return vars(self._same_directories)
        part = Part(uuid.uuid4().hex, "", len(seen), [])
        with self._folder.create(file_name("directories", part)) as file:
            parquet.write_directories(file, seen)
        return vars(part)


class _Parts:
    """The parts that a refresh writes; those of one that fails are removed again."""

    def __init__(self, folder):
        self._folder, self._done, self._kept = folder, [], False
        self._writer = self._part = None
        self._names = []

    def add(self, reader, block, paths):
        """Append a block of one reader's sources."""
        if self._writer and (self._part.reader != reader or self._writer.n_sources >= PART_SOURCES):
            self._finish()
        if not self._writer:
            self._begin(reader)
        self._writer.add(block, [folders.encoded(path) for path in paths])

    def _begin(self, reader):
        from traincost.reading import parquet

        self._part = Part(uuid.uuid4().hex, reader, 0, [])
        self._names += [file_name(table, self._part) for table in parquet.TABLES]
        self._writer = parquet.Writer(lambda table: self._folder.create(file_name(table, self._part)))

    def _finish(self):
        writer, self._writer = self._writer, None
        writer.close()
        self._done.append(replace(self._part, n_sources=writer.n_sources))

    def finished(self):
        """Return the parts, whole."""
        if self._writer:
            self._finish()
        return self._done

    def keep(self):
        """Leave the parts where they are: a list names them now."""
        self._kept = True

    def close(self):
        """Remove the parts again, unless they are to be kept."""
        if self._kept:
            return
        if self._writer:
            self._writer.abandon()
        self._folder.remove(self._names)
