"""Runs as pyarrow tables: what reading a batch of sources gives, and what an index keeps.

A run is a row. What it has any number of (settings, costs, scores, sections) is a list in its row,
so that rows are filtered, joined and written with all that belongs to them. A column of Arrow has
one type, and settings do not: their values are JSON text, so that 1 stays a number and "1" text.
No table depends on how sources were put into batches.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from traincost.reading.bounds import MAX_NAME, Held, are_counted, bounded, searchable
from traincost.reading.formats.statuses import UNREADABLE

TEXTS = (
    *("run_id", "status", "started_at", "task", "report", "process", "reason"),
    *("evidence", "device", "host", "job", "step"),
)
FLOATS = ("runtime_s", "devices", "leg_s")
EXTENT = ("first_s", "min_s", "max_s", "synchronised")  # of a section's occurrences
ALONE = "="  # begins a content that tells a copy whatever its settings
EXACT = 2**53  # above it, not every integer is a float


def _entries(**fields):
    return pa.list_(pa.struct([("name", pa.string()), *fields.items()]))


RUNS = pa.schema(
    [
        ("place", pa.int64()),
        *((name, pa.string()) for name in TEXTS),
        *((name, pa.float64()) for name in FLOATS),
        ("content", pa.string()),
        ("notes", pa.list_(pa.string())),
        ("compute", pa.string()),
        ("config", _entries(value=pa.string())),
        ("cost", _entries(value=pa.float64())),
        ("scores", _entries(value=pa.float64())),
        ("sections", _entries(**dict.fromkeys(("seconds", "count", *EXTENT), pa.float64()))),
    ]
)


@dataclass(frozen=True, eq=False)
class Batch:
    """What a number of sources gave: one item per source in each list, one row per run in `runs`.

    The table has the schema `RUNS`: ``place`` is that of the run's source, null is unknown,
    ``content`` tells a run without a name of its own from others (its settings aside), ``compute`` is
    JSON, and only usable runs (those without ``reason``) have ``sections``.
    """

    places: list  # positions of the sources in the listing
    claims: list  # whether the directory of each is that of a run that could be read
    parts: list  # paths below the directory of each that were read as parts of its runs
    stamps: list  # what each was read from, as JSON (`batch.unchanged`); empty where not asked for
    runs: pa.Table

    def only(self, kept):
        """Return the batch with the sources at the positions `kept` alone."""
        if len(kept) == len(self.places):
            return self
        lists = (self.places, self.claims, self.parts, self.stamps)
        places, *others = ([values[i] for i in kept] for values in lists)
        runs = self.runs.filter(pa.array(np.isin(self.runs["place"].to_numpy(), places)))
        return Batch(places, *others, runs)


def tabulated(places, found, redact):
    """Return the `Batch` of the sources at `places`: the one place where runs become columns.

    `found` yields the runs in each source (a list of `Run`), and its stamp; `redact` is a
    `redaction.Redactor`.
    """
    claims, parts, stamps, runs, runs_places = [], [], [], [], []
    for place, (own, stamp) in zip(places, found, strict=True):
        read = [run for run in own if run.status != UNREADABLE]
        claims.append(bool(read))
        parts.append([part for run in read for part in run.parts] or ())
        stamps.append(stamp)
        runs += own
        runs_places += [place] * len(own)
    return Batch(list(places), claims, parts, stamps, _table(_shown(runs, redact), runs_places))


def _shown(runs, redact):
    """Return runs within limits and without what is to be withheld."""
    held = Held(runs)
    is_within = held.is_short() and are_counted(runs)
    if not is_within:
        runs = list(map(searchable, runs))
        held = Held(runs)
    redact(runs, held)
    # What stands in the place of a text can be longer than that.
    return runs if is_within and redact.longest <= MAX_NAME else list(map(bounded, runs))


def _table(runs, places):
    own = zip(*map(attrgetter(*TEXTS), runs), strict=True) if runs else [[]] * len(TEXTS)
    columns = [
        places,
        *map(texts, own),
        *([getattr(run, name) for run in runs] for name in FLOATS),
        ["" if run.named or run.reason else _content(run) for run in runs],
        [list(map(printable, run.notes)) if run.notes else run.notes for run in runs],
        ["" if run.reason or not run.compute else _json(run.compute) for run in runs],
        settings([run.config for run in runs]),
        _numbers([run.cost for run in runs]),
        _numbers([run.scores for run in runs]),
        _timed(runs),
    ]
    return pa.table(columns, schema=RUNS)


def texts(values):
    """Return text values that UTF-8 can hold as an array."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array(map(printable, values), pa.string())


def settings(configs):
    """Return flat configs (dicts of name to text or number) as the column ``config``."""
    values = _values(configs)
    levels = dict.fromkeys(values)
    if any(not isinstance(level, str) and abs(level) > EXACT for level in levels):
        # There, an integer and a float that are equal are written as different levels.
        values = [digits(v) if isinstance(v, int) and abs(v) > EXACT else v for v in values]
        levels = dict.fromkeys(values)
    written = {level: _level(level) for level in levels}
    return _lists(configs, [pa.array(map(written.__getitem__, values), pa.string())], "config")


def _level(value):
    """Return a value as JSON; 1 and 1.0 are one level."""
    if isinstance(value, str):
        return json.dumps(printable(value))
    return json.dumps(int(value) if abs(value) <= EXACT and value == int(value) else value)


def _numbers(mappings):
    return _lists(mappings, [np.array(_values(mappings), dtype=float)], "cost")


def _timed(runs):
    """Return the sections of usable runs as a column; what is None becomes NaN."""
    mappings = [{} if run.reason else run.sections for run in runs]
    timed = _values(mappings)
    both = zip(*timed, strict=True) if timed else ((), ())
    seconds, counts = (pc.fill_null(pa.array(each, pa.float64()), np.nan) for each in both)
    return _lists(mappings, [seconds, counts, *_extents(runs, mappings, len(timed))], "sections")


def _extents(runs, mappings, n):
    """Return the columns of `EXTENT`; most tools tell nothing of it."""
    if not n or not any(run.extents for run in runs):
        return [_unknown(n)] * len(EXTENT)
    unknown = (None,) * len(EXTENT)
    told = [run.extents.get(path, unknown) for run, own in zip(runs, mappings, strict=True) for path in own]
    *times, waited = zip(*told, strict=True)
    columns = [*(pa.array(each, pa.float64()) for each in times), pa.array(waited).cast(pa.float64())]
    return [pc.fill_null(column, np.nan) for column in columns]


@lru_cache(maxsize=4)
def _unknown(n):
    """Return NaN `n` times: the batches of a sweep have as many sections, and share them."""
    return pa.array(np.full(n, np.nan))


def _values(mappings):
    return list(chain.from_iterable(mapping.values() for mapping in mappings))


def _lists(mappings, values, column):
    """Return mappings as a column of lists of their names and `values`, which lie end to end."""
    ends = np.cumsum([0, *map(len, mappings)], dtype=np.int32)
    fields = list(RUNS.field(column).type.value_type)
    names = texts(list(chain.from_iterable(mappings)))
    return pa.ListArray.from_arrays(
        ends, pa.StructArray.from_arrays([names, *map(pa.array, values)], fields=fields)
    )


def _content(run):
    """Return what tells a run without a name of its own from others, or nothing.

    Two runs can take the same time to the digits that were kept; they do not in every section,
    nor start at the same moment as well.
    """
    if run.fingerprint:
        return f"{ALONE}{_digest((run.fingerprint, run.runtime_s, run.started_at))}"
    if not run.sections and not (run.started_at and run.scores):
        return ""
    return _digest((run.runtime_s, run.started_at, run.sections, run.scores))


def _digest(measured):
    return hashlib.blake2b(repr(measured).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _json(value):
    """Return `value` as JSON; what orjson would change or refuse, the slower one keeps."""
    try:
        text = orjson.dumps(value).decode("utf-8")
    except TypeError:
        text = "null"
    # orjson writes null for a number that is not finite.
    return json.dumps(value) if "null" in text else text


def digits(value):
    """Return an integer as text; Python refuses to print one of thousands of digits."""
    return str(value) if abs(value) < 10**1000 else f"an integer of {value.bit_length()} bits"


def printable(text):
    """Return text that UTF-8 can hold: a file name's undecodable bytes become �."""
    text = str(text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# -- from tables ---------------------------------------------------------------------------


def joined(batches):
    """Return the runs of batches in the order of their sources in the listing; empties the list."""
    runs = pa.concat_tables([RUNS.empty_table(), *(batch.runs for batch in batches)])
    batches.clear()
    places = runs["place"].to_numpy()
    return runs if (np.diff(places) >= 0).all() else runs.take(np.argsort(places, kind="stable"))


def entries(column):
    """Return the row of each entry in a column of lists, and the entries' fields, the name first."""
    lengths = pc.list_value_length(column).to_numpy()
    found = pc.list_flatten(column)
    return np.repeat(np.arange(len(column)), lengths), *found.flatten()


def coded(column):
    """Return the distinct texts of a column, and the index into them of each of its values."""
    encoded = column.dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def configs(runs):
    """Return the flat config of each run, the reverse of `settings`."""
    rows, names, values = entries(runs["config"])
    levels, codes = coded(values)
    levels = [json.loads(level) for level in levels]
    found = [{} for _ in range(len(runs))]
    for row, name, code in zip(rows.tolist(), names.to_pylist(), codes.tolist(), strict=True):
        found[row][name] = levels[code]
    return found


def changed(runs, **columns):
    """Return a table of runs with other columns (lists or arrays) in place of those of their names."""
    for name, values in columns.items():
        field = RUNS.field(name)
        values = values if isinstance(values, pa.Array) else pa.array(values, field.type)
        runs = runs.set_column(runs.schema.get_field_index(name), field, values)
    return runs
