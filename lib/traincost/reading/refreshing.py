"""Making an index of a collection, and bringing it up to date: only what is new or changed is read.

`index` says what the files are.
"""

import hashlib
import os
import re
import uuid
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from traincost import __version__
from traincost.errors import NothingToReport, ParameterError, brief
from traincost.reading import folders, remote
from traincost.reading.batch import engine, gathered, reader, recognised, unchanged
from traincost.reading.collection import is_table, read_table
from traincost.reading.formats.files import content, state
from traincost.reading.index import (
    FORMAT,
    OLD_FORMATS,
    SCHEMAS,
    Damaged,
    Part,
    checksum,
    file_name,
    of_pointer,
    placed,
)
from traincost.reading.listing import POINTER, collector_paused, listed
from traincost.reading.listing import POINTER_KEY as KEY
from traincost.reading.redaction import KEY_BYTES, Rule
from traincost.reading.tables import RUNS, Batch, printable

PART_SOURCES = 100_000  # of a part at most: what is held in memory at once
RESCANNED = 0.02  # of the directories, from which on their list is written anew
SMALL_SOURCES = 10_000  # parts with fewer are put together
MAX_SMALL = 8  # of one reader
_OURS = re.compile(r"(sources|runs|directories)-[0-9a-f]{32}\.parquet")
DIRECTORIES = pa.schema(
    [
        ("path", pa.binary()),
        *((name, pa.int64()) for name in ("inode", "modified_ns", "changed_ns")),
        ("children", pa.binary()),
    ]
)


def _sealed(pointer):
    """Return the content of a pointer, with its checksum at its end."""
    body = orjson.dumps(pointer)[:-1]
    return body + b',"checksum":"%s"}' % checksum(body).encode()


def refresh(runs_dir, output, format="auto", progress=None, workers=1, scheduler="", table=None):
    """Make the index of a directory, the URL of one, or a table of runs; or bring it up to date.

    Only what is new or changed is read; what is gone is dropped. A table is read as a whole. `output` is
    the folder of the index, or its URL; the rest is as `collection.read_collection` takes it.

    Returns a dict of the numbers of sources ``read``, ``kept`` and ``dropped``. Raises `NothingToReport`
    where `runs_dir` cannot be read, and `ParameterError` where `output` holds something else, or is no
    place to write to.
    """
    folder = folders.at(output)
    if folder is None:
        raise ParameterError(f"the index needs a folder, got {brief(output)}")
    with engine(workers, scheduler) as run, collector_paused():
        of_rows = is_table(runs_dir)
        listing, directories = (None, None) if of_rows else _listed(runs_dir, format, folder)
        with folders.told(folder):
            folder.make()
            with folder.locked():
                old = _old(folder)
                folder.remove(folder.leftovers(_OURS.fullmatch, _files(old)))
                key = folder.read(KEY)
                # Marks that were made with another key would not agree with new ones.
                old = old if old and old.format == format and key and old.is_key(key) else None
                old = old and replace(old, parts=old.whole())
                if not key or len(key) != KEY_BYTES:
                    key = os.urandom(KEY_BYTES)
                    folder.publish({KEY: key}, mode=0o600)
                rule = Rule(key)
                if of_rows:
                    listing, (found,), _ = read_table(os.fspath(runs_dir), format, table, rule)
                    work = _Refresh(listing, None, folder, None, checksum(key))
                    work.run(lambda places: [found] if places else [], format)
                else:
                    work = _Refresh(listing, directories, folder, old, checksum(key))
                    work.run(reader(listing, run, rule, progress or iter, stamped=True), format)
    return work.counts


def _listed(runs_dir, format, folder):
    """Return the listing, for which only directories that changed were read.

    And the part of the index that still lists nearly all of them, or None.
    """
    with folders.told(folder):
        found = None if remote.is_url(runs_dir) else folder.read(POINTER)
    old = _current(folder, found)
    try:
        known = old.seen() if old and old.format == format else {}
    except NothingToReport:  # replaced meanwhile by another refresh, or damaged
        known = {}
    if isinstance(runs_dir, str | os.PathLike) and os.path.isfile(runs_dir):
        raise NothingToReport(f"{os.fspath(runs_dir)!r} is a file, and no table of runs")
    listing = listed(runs_dir, format, known)
    if not listing.sources:
        raise NothingToReport(f"runs_dir {listing.shown!r} holds no runs that traincost understands")
    same = sum(known.get(path) is entry for path, entry in (listing.seen or {}).items())
    is_alike = same > (1 - RESCANNED) * max(len(known), len(listing.seen or {}))
    return listing, old.directories if known and is_alike else None


def _current(folder, found):
    """Return the index of a pointer; None for one that is damaged or of an earlier version: made again."""
    is_earlier = found is not None and any(f'"{name}"'.encode() in found for name in OLD_FORMATS)
    try:
        return None if found is None or is_earlier else of_pointer(folder, found)
    except Damaged:
        return None


def _old(folder):
    """Return the index that is in a folder, or None; refuse a folder of something else."""
    found = folder.read(POINTER)
    if found is not None:
        return _current(folder, found)
    other = [name for name in folder.names() if name not in (folders.LOCK, KEY) and not _OURS.fullmatch(name)]
    if other:
        raise ParameterError(
            f"{folder.shown} holds something else than an index ({other[0]!r}); give a folder of its own"
        )
    return None


def _files(index):
    if index is None:
        return set()
    names = {file_name(table, part) for part in index.parts for table in SCHEMAS}
    alone = {"sources": index.left_alone, "directories": index.directories}
    return names | {file_name(table, part) for table, part in alone.items() if part}


class _Refresh:
    """One refresh: what is kept of the old index, and what is written beside it."""

    def __init__(self, listing, directories, folder, old, key):
        self._listing, self._folder, self._old, self._key = listing, folder, old, key
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
        parts = _Parts(self._folder)
        try:
            # The batches that come back hold claims alone; their runs are written.
            for _ in gathered(self._listing.sources, lambda p: self._claims(p, read_files, parts), left):
                pass
            left = recognised(self._listing, [part for part in left if part[0] not in self._stored])
            remaining = self._remaining()
            small = [part for part in remaining if len(part.live) < SMALL_SOURCES]
            if len(small) > MAX_SMALL:  # they are put together to few
                for part in sorted(small, key=lambda part: part.reader):
                    entries = replace(self._old, parts=[part], left_alone=None).sources()
                    parts.add(part.reader, self._old.batch(part), [path for path, *_ in entries])
                remaining = [part for part in remaining if part not in small]
            pointer = {
                "format": FORMAT,
                "name": self._listing.name,
                "reader": format,
                "unopened": [[printable(path), printable(reason)] for path, reason in self._listing.unopened],
                "left_alone": self._left_alone([place for place, _ in left]),
                "directories": self._directories(),
                "version": __version__,
                "key": self._key,
                "parts": [vars(part) for part in remaining + parts.finished()],
            }
            self._folder.publish({POINTER: _sealed(pointer)})
        except BaseException:
            parts.abandon()
            raise

    def _claims(self, places, read_files, parts):
        """Yield what the sources at `places` claim, in order, having written what had to be read."""
        found, new, sources = {}, [], self._listing.sources
        for place in places:
            entry = self._known.get(sources[place])
            if entry and self._is_unchanged(entry[-1]):
                self._kept.add(entry[:2])
                found[place] = entry[2:]
            else:
                new.append(place)
        for batch in read_files(new):
            parts.add(sources[batch.places[0]][1], batch, [sources[place][0] for place in batch.places])
            self._read += len(batch.places)
            claimed = zip(batch.claims, batch.parts, batch.stamps, strict=True)
            found.update(zip(batch.places, claimed, strict=True))
        self._stored.update(found)
        if found:
            claimed = zip(*(found[place] for place in sorted(found)), strict=True)
            yield Batch(sorted(found), *claimed, RUNS.empty_table())

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
            replace(part, dead=np.delete(np.arange(part.n_sources), rows[part.id]).tolist())
            for part in (self._old.parts if self._old else [])
            if part.id in rows
        ]

    def _left_alone(self, places):
        """Write the list of the sources that were left alone; return its part, or None."""
        if not places:
            return None
        paths, names = zip(*(self._listing.sources[place] for place in places), strict=True)
        columns = [list(map(os.fsencode, paths)), [False] * len(places), [[]] * len(places), list(names)]
        return self._written("sources", columns, SCHEMAS["sources"])

    def _directories(self):
        """Write the list of the directories, or keep that of the old index; return its part, or None."""
        seen = self._listing.seen
        if not seen:
            return None
        if self._old and self._same_directories and self._same_directories == self._old.directories:
            return vars(self._same_directories)
        packed = [os.fsencode("/".join(chain.from_iterable(children))) for _, children in seen.values()]
        states = zip(*(state for state, _ in seen.values()), strict=True)
        columns = [list(map(os.fsencode, seen)), *map(list, states), packed]
        return self._written("directories", columns, DIRECTORIES)

    def _written(self, name, columns, schema):
        part = Part(uuid.uuid4().hex, "", len(columns[0]), [])
        with self._folder.create(file_name(name, part)) as file:
            summed = _Summed(file)
            pq.write_table(pa.table(columns, schema=schema), summed, compression="zstd")
        return vars(replace(part, files={name: summed.found}))


class _Summed:
    """A file for pyarrow to write to, which sums up what is written."""

    def __init__(self, file):
        self._file, self._size, self._hash = file, 0, hashlib.blake2b(digest_size=16)
        self.closed, self.flush, self.tell = False, file.flush, file.tell

    def write(self, content):
        self._hash.update(content)
        self._size += len(content)
        return self._file.write(content)

    @property
    def found(self):
        """Size and checksum of what was written."""
        return [self._size, self._hash.hexdigest()]


class _Parts:
    """The parts that a refresh writes; those of one that fails are removed again."""

    def __init__(self, folder):
        self._folder, self._done = folder, []
        self._part, self._names, self._open = None, [], ExitStack()

    def add(self, reader, batch, paths):
        """Append a batch of one reader's sources."""
        if self._part and (self._part.reader != reader or self._part.n_sources >= PART_SOURCES):
            self._finish()
        if not self._part:
            self._begin(reader)
        first = self._part.n_sources
        sources = [list(map(os.fsencode, paths)), batch.claims, batch.parts, batch.stamps]
        self._files["sources"].write_table(pa.table(sources, schema=SCHEMAS["sources"]))
        rows = list(range(first, first + len(paths)))
        self._files["runs"].write_table(placed(batch, rows).runs)
        self._part = replace(self._part, n_sources=first + len(paths))

    def _begin(self, reader):
        self._part = Part(uuid.uuid4().hex, reader, 0, [])
        self._names += [file_name(table, self._part) for table in SCHEMAS]
        self._files, self._summed = {}, {}
        for table, schema in SCHEMAS.items():
            file = self._open.enter_context(self._folder.create(file_name(table, self._part)))
            summed = self._summed[table] = _Summed(file)
            writer = pq.ParquetWriter(summed, schema, compression="zstd")
            self._files[table] = self._open.enter_context(writer)

    def _finish(self):
        part, self._part = self._part, None
        self._open.close()
        self._done.append(replace(part, files={name: s.found for name, s in self._summed.items()}))

    def finished(self):
        """Return the parts, whole."""
        if self._part:
            self._finish()
        return self._done

    def abandon(self):
        """Remove the parts again."""
        with suppress(OSError):  # of a full disk, for one
            self._open.__exit__(RuntimeError, None, None)
        self._folder.remove(self._names)
