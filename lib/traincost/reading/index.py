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
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from traincost import __version__
from traincost.errors import NothingToReport, ParameterError
from traincost.reading import folders, remote
from traincost.reading.formats import READERS, table
from traincost.reading.listing import POINTER, Listing, ordered, readers
from traincost.reading.listing import POINTER_KEY as KEY
from traincost.reading.redaction import KEY_BYTES, Rule
from traincost.reading.tables import RUNS, Batch, changed

FORMAT = "traincost/index/4"
OLD_FORMATS = ("traincost/index/1", "traincost/index/2", "traincost/index/3")
_SEALED = re.compile(rb'(\{.*),"checksum":"([0-9a-f]{32})"\}', re.DOTALL)
_ID = re.compile(r"[0-9a-f]{32}")
_READERS = (*READERS, table.NAME)
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
        is_whole = _ID.fullmatch(self.id) and (not self.reader or self.reader in _READERS)
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
    return None if found is None else of_pointer(folder, found)


def of_pointer(folder, found):
    """Return the index that the content of its pointer describes."""
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

        Raises `ParameterError` where something is to be shown: what was withheld is not in the index.
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
        found = []
        for part in self.parts:
            with suppress(Damaged):
                self._table(part, "sources", ["claims"])
                self._content(part, "runs")
                found.append(part)
        return found

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
        unpacked = {}  # to children as (name, reader); no name holds the sign between them
        for text in set(packed):
            children = os.fsdecode(text).split("/") if text else []
            unpacked[text] = list(zip(children[::2], children[1::2], strict=True))
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
        order = list(_READERS)
        entries.sort(key=lambda entry: order.index(entry[1]))
        ordered(entries)
        listing = Listing(self.folder.shown, self.name, [entry[:2] for entry in entries], self.unopened)
        return listing, lambda places: self._read(entries, places)

    def _read(self, entries, places):
        wanted = {}
        for place in places:
            _, _, part, row = entries[place]
            if part is not None:
                wanted.setdefault(part.id, (part, {}))[1][row] = place
        for part, place_of in wanted.values():
            batch = self.batch(part)
            batch = batch.only([i for i, row in enumerate(batch.places) if row in place_of])
            yield placed(batch, [place_of[row] for row in batch.places])


def placed(batch, places):
    """Return a batch with other places for its sources."""
    new = np.zeros(max(batch.places, default=0) + 1, dtype=np.int64)
    new[batch.places] = places
    runs = changed(batch.runs, place=pa.array(new[batch.runs["place"].to_numpy()]))
    return replace(batch, places=places, runs=runs)


def file_name(table, part):
    """Return the name of the file of one of a part's tables."""
    return f"{table}-{part.id}.parquet"
