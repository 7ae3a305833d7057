"""Blocks of runs as Parquet files, and back.

A part is four files: the sources that were read, the usable runs, the other runs, and the
sections of the usable ones. Settings are JSON, so that a number stays a number and text text.
"""

import json
import os
from contextlib import ExitStack, suppress
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from traincost.reading.rows import TEXTS, Block, Coded, Pairs, Rows, joined

TABLES = ("sources", "runs", "excluded", "sections")
_LISTS = ("content", "notes", "compute")
_NUMBERS = pa.map_(pa.string(), pa.float64())
_RUNS = pa.schema(
    [
        ("source", pa.int64()),
        *((name, pa.string()) for name in TEXTS),
        ("runtime_s", pa.float64()),
        *((name, pa.string()) for name in _LISTS),
        ("config", pa.map_(pa.string(), pa.string())),
        ("cost", _NUMBERS),
        ("scores", _NUMBERS),
    ]
)
SCHEMAS = {
    "sources": pa.schema(
        [("path", pa.binary()), ("claims", pa.bool_()), ("parts", pa.string()), ("stamp", pa.string())]
    ),
    "directories": pa.schema(
        [
            ("path", pa.binary()),
            *((name, pa.int64()) for name in ("inode", "modified_ns", "changed_ns")),
            ("children", pa.binary()),
        ]
    ),
    "runs": _RUNS,
    "excluded": _RUNS,
    "sections": pa.schema(
        [("run", pa.int64()), ("section", pa.string()), ("seconds", pa.float64()), ("count", pa.float64())]
    ),
}


class Writer:
    """Writes blocks, one after another, as a part.

    Parameters
    ----------
    create : callable
        Opens the file of a table (one of `TABLES`) for writing bytes.
    """

    def __init__(self, create):
        self._stack = ExitStack()
        self.n_sources = self.n_runs = 0
        try:
            self._files = {name: self._open(create(name), SCHEMAS[name]) for name in TABLES}
        except BaseException:
            self._stack.close()
            raise

    def _open(self, file, schema):
        file = self._stack.enter_context(file)
        return self._stack.enter_context(pq.ParquetWriter(file, schema, compression="zstd"))

    def add(self, block, paths):
        """Append a block; `paths` (bytes) are those of its sources."""
        rows = block.rows
        usable = np.array([not reason for reason in rows.texts["reason"]], dtype=bool)
        good = rows.take(np.flatnonzero(usable))
        tables = {
            "sources": _sources_table(block, paths),
            "runs": _runs_table(good, self.n_sources),
            "excluded": _runs_table(rows.take(np.flatnonzero(~usable)), self.n_sources),
            "sections": _sections_table(good.sections, self.n_runs),
        }
        for name, table in tables.items():
            if len(table):
                self._files[name].write_table(table)
        self.n_sources += len(paths)
        self.n_runs += len(good)

    def close(self):
        """Finish the files."""
        self._stack.close()

    def abandon(self):
        """Close the files as they are, whatever hinders it."""
        with suppress(OSError):
            self._stack.__exit__(RuntimeError, None, None)


def write_sources(file, block, paths):
    """Write a table of sources alone, those of a block without runs."""
    pq.write_table(_sources_table(block, paths), file, compression="zstd")


def write_directories(file, seen):
    """Write what a listing has seen (`listing.Listing`)."""
    # Two by two, name and reader; no name holds the sign between them.
    packed = [os.fsencode("/".join(chain.from_iterable(children))) for _, children in seen.values()]
    states = zip(*(state for state, _ in seen.values()), strict=True)
    columns = [list(map(os.fsencode, seen)), *map(list, states), packed]
    pq.write_table(pa.table(columns, schema=SCHEMAS["directories"]), file, compression="zstd")


def directories(table):
    """Return what `write_directories` wrote."""
    paths, *states, packed = (column.to_pylist() for column in table.columns)
    unpacked = {text: _unpacked(os.fsdecode(text)) for text in set(packed)}
    children = map(unpacked.__getitem__, packed)
    states = zip(*states, strict=True)
    return dict(zip(map(os.fsdecode, paths), zip(states, children, strict=True), strict=True))


def _unpacked(text):
    parts = text.split("/") if text else []
    return list(zip(parts[::2], parts[1::2], strict=True))


def table(file, columns=None):
    """Return a table of a part; `file` is a path, or what pyarrow reads from."""
    return pq.read_table(file, columns=columns, partitioning=None)


def _sources_table(block, paths):
    columns = [paths, block.claims, [json.dumps(p) if p else "" for p in block.parts], block.stamps]
    return pa.table(columns, schema=SCHEMAS["sources"])


def _runs_table(rows, first_source):
    columns = [
        rows.source + first_source,
        *(rows.texts[name] for name in TEXTS),
        pa.array(rows.runtime_s, from_pandas=False),
        *(getattr(rows, name) for name in _LISTS),
        _map(rows.config, _texts(rows.config.coded[1], json.dumps)),
        _map(rows.cost, rows.cost.plain[0]),
        _map(rows.scores, rows.scores.plain[0]),
    ]
    return pa.table(columns, schema=_RUNS)


def _map(pairs, values):
    offsets = np.concatenate([[0], np.cumsum(pairs.lengths)]).astype(np.int32)
    return pa.MapArray.from_arrays(offsets, _texts(pairs.coded[0], str), pa.array(values))


def _texts(coded, text):
    levels = pa.array([text(level) for level in coded.levels], pa.string())
    return levels.take(pa.array(coded.codes)) if len(coded.codes) else pa.array([], pa.string())


def _sections_table(sections, first_run):
    names = _texts(sections.coded[0], str)
    return pa.table([sections.runs + first_run, names, *sections.plain], schema=SCHEMAS["sections"])


# -- reading -------------------------------------------------------------------------------


def read_part(read):
    """Return a part as one block, its places the rows of ``sources``.

    Parameters
    ----------
    read : callable
        Returns a table (one of `TABLES`) as a `pyarrow.Table`.
    """
    sources = read("sources")
    own = list(range(len(sources)))
    usable = _rows(read("runs"), read("sections"))
    others = _rows(read("excluded"), SCHEMAS["sections"].empty_table())
    rows = joined([Block(own, [], [], [], rows) for rows in (usable, others)])
    return Block(own, *summary(sources), sources["stamp"].to_pylist(), rows)


def summary(sources):
    """Return what a table of sources claims: for each whether its directory, and what parts."""
    parts = [json.loads(text) if text else [] for text in sources["parts"].to_pylist()]
    return sources["claims"].to_pylist(), parts


def _rows(table, sections):
    lengths = np.bincount(sections["run"].to_numpy(), minlength=len(table))
    timed = tuple(sections[name].to_numpy() for name in ("seconds", "count"))
    names, values = _unmapped(table["config"])
    return Rows(
        table["source"].to_numpy(),
        {name: table[name].to_pylist() for name in TEXTS},
        table["runtime_s"].to_numpy(),
        *(table[name].to_pylist() for name in _LISTS),
        Pairs(_lengths(table["config"]), (_coded(names, str), _coded(values, json.loads))),
        *(_number_pairs(table[name]) for name in ("cost", "scores")),
        Pairs(lengths, (_coded(sections["section"].combine_chunks(), str),), timed),
    )


def _number_pairs(column):
    names, values = _unmapped(column)
    return Pairs(_lengths(column), (_coded(names, str),), (values.to_numpy(zero_copy_only=False),))


def _unmapped(column):
    array = column.combine_chunks()
    return array.keys, array.items


def _lengths(column):
    return np.diff(column.combine_chunks().offsets.to_numpy()).astype(np.int64)


def _coded(array, value):
    encoded = array.dictionary_encode()
    levels = [value(text) for text in encoded.dictionary.to_pylist()]
    return Coded(levels, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32))
