"""An index of a collection: its runs as Parquet files, which are read in place of the collection.

`POINTER` in the folder of an index names the parts that count, each the work of one reader. A part
is two files: the sources that were read, and their runs (`tables.RUNS`, with ``place`` the row of
the source). A part is never changed once written. A refresh writes what is new or changed as a
part of its own, beside, and then puts a new list of parts in the place of the old by renaming one
file. Who reads meanwhile sees the old index or the new; a refresh that is killed leaves files that
no list names, and the next removes them.

A disk, a copy or a hand may damage any of it. The pointer ends with its own checksum, and holds size
and checksum of every other file: nothing is taken from a file that is not as it was written. A refresh
reads the sources of a damaged part again, and all where the pointer or the key is damaged; whoever
else reads is told in one line. Which runs are duplicates, or parts of others, is not
stored: that is decided when the index is read, as it is for a directory.
"""

import hashlib
import os
import re
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from traincost import __version__
from traincost.errors import NothingToReport, ParameterError
from traincost.reading import folders, remote
from traincost.reading.batch import engine, gathered, reader, recognised, unchanged
from traincost.reading.formats import READERS
from traincost.reading.formats.files import content, state
from traincost.reading.listing import POINTER, Listing, collector_paused, listed, ordered, readers
from traincost.reading.listing import POINTER_KEY as KEY
from traincost.reading.redaction import KEY_BYTES, Rule
from traincost.reading.tables import RUNS, Batch, changed, printable

FORMAT = "traincost/index/4"
OLD_FORMATS = ("traincost/index/1", "traincost/index/2", "traincost/index/3")
PART_SOURCES = 100_000  # of a part at most: what is held in memory at once
RESCANNED = 0.02  # of the directories, from which on their list is written anew
SMALL_SOURCES = 10_000  # parts with fewer are put together
MAX_SMALL = 8  # of one reader
_SEALED = re.compile(rb'(\{.*),"checksum":"([0-9a-f]{32})"\}', re.DOTALL)
_ID = re.compile(r"[0-9a-f]{32}")
_OURS = re.compile(r"(sources|runs|directories)-[0-9a-f]{32}\.parquet")
SCHEMAS = {
    "sources": pa.schema(
        [
            ("path", pa.binary()),
            ("claims", pa.bool_()),
            ("parts", pa.list_(pa.string())),
            ("stamp", pa.string()),
        ]
    ),
    "runs": RUNS,
}
DIRECTORIES = pa.schema(
    [
        ("path", pa.binary()),
        *((name, pa.int64()) for name in ("inode", "modified_ns", "changed_ns")),
        ("children", pa.binary()),
    ]
)


@dataclass(frozen=True)
class Part:
    """One part of an index: the work of one reader."""

    id: str  # in the names of its files
    reader: str
    n_sources: int
    dead: list  # rows of its sources that are gone, or were read again since
    files: dict = field(default_factory=dict)  # table to [size in bytes, checksum] of its file

    def __post_init__(self):
        """Refuse what no refresh has written."""
        n = self.n_sources
        is_whole = _ID.fullmatch(self.id) and (not self.reader or self.reader in READERS)
        is_whole = is_whole and isinstance(self.files, dict) and type(n) is int and n >= 0
        if not (is_whole and all(0 <= row < n for row in self.dead)):
            raise ValueError(f"the part {self.id!r} has values that no refresh wrote")

    @property
    def live(self):
        """Rows of its sources that count."""
        return np.delete(np.arange(self.n_sources), self.dead)


def opened(path):
    """Return the index in a folder or at a URL, or None where there is none."""
    folder = folders.at(path)
    try:
        found = folder.read(POINTER) if folder else None
    except OSError as problem:
        raise NothingToReport(f"{folder.shown} cannot be read: {remote.why(problem)}") from None
    if found is None and folder and folder.read(KEY):
        raise Damaged(folder, POINTER, "does not exist")
    return None if found is None else _index(folder, found)


def _index(folder, found):
    try:
        pointer = orjson.loads(found)
        if pointer["format"] != FORMAT:
            is_old = pointer["format"] in OLD_FORMATS
            raise NothingToReport(
                f"the index {folder.shown} has the format {pointer['format']!r}; this version of traincost "
                f"reads {FORMAT!r}: "
                + ("refresh it with `traincost index`" if is_old else "update traincost")
            )
        sealed = _SEALED.fullmatch(found)
        if not sealed or checksum(sealed[1]) != sealed[2].decode():
            raise Damaged(folder, POINTER, "not as it was written")
        parts = [Part(**part) for part in pointer["parts"]]
        unopened = [tuple(entry) for entry in pointer["unopened"]]
        alone = Part(**pointer["left_alone"]) if pointer["left_alone"] else None
        seen = Part(**pointer["directories"]) if pointer["directories"] else None
        names = (pointer[name] for name in ("version", "key"))
        return Index(folder, pointer["name"], pointer["reader"], parts, alone, unopened, seen, *names)
    except (ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, NothingToReport):
            raise
        raise Damaged(folder, POINTER, f"{type(problem).__name__}: {problem}") from None


class Damaged(NothingToReport):
    """A file of an index is not as it was written."""

    def __init__(self, folder, name, why):
        super().__init__(
            f"the index {folder.shown} is damaged ({name}: {why}): refresh it with `traincost index`, which "
            "reads again what was lost; if it is being refreshed just now, try again"
        )


def checksum(content):
    """Return what tells the content of a file from any other."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _sealed(pointer):
    """Return the content of a pointer, with its checksum at its end."""
    body = orjson.dumps(pointer)[:-1]
    return body + b',"checksum":"%s"}' % checksum(body).encode()


@dataclass(frozen=True, eq=False)
class Index:
    """An index as one refresh left it."""

    folder: object
    name: str  # of the collection
    format: str  # the name of its one reader, or auto
    parts: list
    left_alone: Part | None  # the sources that are parts of others' runs, their readers in place of stamps
    unopened: list  # of (path, reason)
    directories: Part | None  # what tells whether directories changed
    version: str  # of traincost, that wrote it
    key: str  # the checksum of the key

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
        if key and not self.is_key(key):
            raise Damaged(self.folder, KEY, "not as it was written")
        return Rule(key[:KEY_BYTES]) if key else Rule()

    def is_key(self, key):
        """Say whether its marks were made with this key."""
        return checksum(key) == self.key

    def sources(self):
        """Yield (path, reader, part, row) of each source; the part is None where it was left alone."""
        for part in self.parts:
            paths = self._table(part, "sources", ["path"])["path"].to_pylist()
            for row in part.live.tolist():
                yield os.fsdecode(paths[row]), part.reader, part, row
        if self.left_alone:
            table = self._table(self.left_alone, "sources")
            for path, reader in zip(table["path"].to_pylist(), table["stamp"].to_pylist(), strict=True):
                yield os.fsdecode(path), reader, None, 0

    def batch(self, part):
        """Return the sources of a part that count; their places are their rows."""
        sources, runs = (self._table(part, name) for name in SCHEMAS)
        columns = (sources[name].to_pylist() for name in ("claims", "parts", "stamp"))
        return Batch(list(range(len(sources))), *columns, runs).only(part.live.tolist())

    def _table(self, part, name, columns=None):
        content = self._content(part, name)
        table = pq.read_table(pa.BufferReader(content), columns=columns, partitioning=None)
        if name != "runs" and len(table) != part.n_sources:
            raise Damaged(self.folder, file_name(name, part), "not as it was written")
        return table

    def _content(self, part, name):
        """Return the content of the file of one of a part's tables, as it was written."""
        file = file_name(name, part)
        try:
            content = self.folder.read(file)
        except OSError as problem:
            raise Damaged(self.folder, file, remote.why(problem)) from None
        if content is None:
            raise Damaged(self.folder, file, "does not exist")
        if [len(content), checksum(content)] != part.files.get(name):
            raise Damaged(self.folder, file, "not as it was written")
        return content

    def whole(self):
        """Return the parts whose files are as they were written."""
        return [part for part in self.parts if self._is_whole(part)]

    def _is_whole(self, part):
        try:
            self._table(part, "sources", ["claims"])
            self._content(part, "runs")
        except Damaged:
            return False
        return True

    def known(self):
        """Return (path, reader) of each source read to (id of its part, row, claims, parts, stamp)."""
        found = {}
        for part in self.parts:
            table = self._table(part, "sources").take(pa.array(part.live))
            columns = (column.to_pylist() for column in table.columns)
            for row, path, *stored in zip(part.live.tolist(), *columns, strict=True):
                found[os.fsdecode(path), part.reader] = (part.id, row, *stored)
        return found

    def seen(self):
        """Return the directories of the collection as they were (`listing.Listing`)."""
        # Another version may take other names for sources.
        if self.directories is None or self.version != __version__:
            return {}
        paths, *states, packed = (c.to_pylist() for c in self._table(self.directories, "directories").columns)
        unpacked = {text: _unpacked(os.fsdecode(text)) for text in set(packed)}
        entries = zip(zip(*states, strict=True), map(unpacked.__getitem__, packed), strict=True)
        return dict(zip(map(os.fsdecode, paths), entries, strict=True))

    def reading(self, format):
        """Return the listing of the index, and a function of positions in it that yields their batches."""
        entries = list(self.sources())
        if format != self.format:
            if self.format != "auto" or any(e[1] == format and e[2] is None for e in entries):
                raise ParameterError(
                    f"`format` must be {self.format!r}, with which the index was made, got "
                    f"{format!r}; an index of its own would hold that"
                )
            entries = [entry for entry in entries if entry[1] in readers(format)]
        order = list(READERS)
        entries.sort(key=lambda entry: order.index(entry[1]))
        ordered(entries)
        listing = Listing(self.folder.shown, self.name, [entry[:2] for entry in entries], self.unopened)
        return listing, lambda places: self._read(entries, places)

    def _read(self, entries, places):
        wanted = {}
        for place in places:
            _, _, part, row = entries[place]
            if part is not None:
                wanted.setdefault(part.id, (part, []))[1].append((row, place))
        for part, rows in wanted.values():
            batch = self.batch(part)
            position = {row: i for i, row in enumerate(batch.places)}
            batch = batch.only([position[row] for row, _ in sorted(rows)])
            yield _placed(batch, [place for _, place in sorted(rows)])


def _placed(batch, places):
    """Return a batch with other places for its sources."""
    new = np.zeros(max(batch.places, default=0) + 1, dtype=np.int64)
    new[batch.places] = places
    runs = changed(batch.runs, place=pa.array(new[batch.runs["place"].to_numpy()]))
    return replace(batch, places=places, runs=runs)


def _unpacked(text):
    """Return children as (name, reader); no name holds the sign between them."""
    parts = text.split("/") if text else []
    return list(zip(parts[::2], parts[1::2], strict=True))


def file_name(table, part):
    """Return the name of the file of one of a part's tables."""
    return f"{table}-{part.id}.parquet"


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
                old = old if old and old.format == format and key and old.is_key(key) else None
                old = old and replace(old, parts=old.whole())
                key = key if key and len(key) == KEY_BYTES else _new_key(folder)
                rule = Rule(key)
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
        raise NothingToReport(
            f"{os.fspath(runs_dir)!r} is a file: a table is read as it is, without an index"
        )
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
        return None if found is None or is_earlier else _index(folder, found)
    except Damaged:
        return None


def _new_key(folder):
    key = os.urandom(KEY_BYTES)
    folder.publish({KEY: key}, mode=0o600)
    return key


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
    """Return the names of the files that an index consists of."""
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

    def _put_together(self, small, parts):
        """Write what is in many small parts to few."""
        for part in sorted(small, key=lambda part: part.reader):
            entries = replace(self._old, parts=[part], left_alone=None).sources()
            parts.add(part.reader, self._old.batch(part), [path for path, *_ in entries])

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
        self._files["runs"].write_table(_placed(batch, rows).runs)
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
