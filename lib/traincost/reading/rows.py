"""Runs in columns: what reading a batch of files returns, and what an index holds.

A `Block` is what a number of sources gave. Its columns join and part without a look at a single
run, travel between processes as a few arrays, and take a fraction of the memory of the runs
as objects. Nothing in them depends on how sources were put into blocks: `joined` blocks give the
same columns as one block of them all, but for the order of levels, which no one may rely on.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from itertools import chain
from math import nan
from operator import attrgetter

import numpy as np
import orjson

from traincost.reading.formats.run import UNREADABLE

TEXTS = ("run_id", "status", "started_at", "task", "report", "process", "reason")
_texts = attrgetter(*TEXTS)
# The columns of pairs: how many of them are coded, and how many plain.
SHAPES = {"config": (2, 0), "cost": (1, 1), "scores": (1, 1), "sections": (1, 2)}
ALONE = "="  # begins a content that tells a copy whatever its settings
EXACT = 2**53  # above it, not every integer is a float


@dataclass(frozen=True, eq=False)
class Coded:
    """Values by their level.

    Attributes
    ----------
    levels : list
        Distinct text and finite numbers; an integer above `EXACT` is text.
    codes : ndarray of int32
        Index into `levels`.
    """

    levels: list
    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class Pairs:
    """What each run holds any number of, end to end: settings, costs, scores or sections.

    Attributes
    ----------
    lengths : ndarray of int64, (runs,)
    coded : tuple of Coded
        The names, and the values where they are levels.
    plain : tuple of ndarray
        Other values.
    """

    lengths: np.ndarray
    coded: tuple
    plain: tuple = ()

    @property
    def runs(self):
        """Row of the run that each pair belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def take(self, rows):
        """Return the pairs of the given rows, in their order."""
        starts = (np.cumsum(self.lengths) - self.lengths)[rows]
        lengths = self.lengths[rows]
        before = np.cumsum(lengths) - lengths
        pairs = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
        coded = tuple(Coded(c.levels, c.codes[pairs]) for c in self.coded)
        return Pairs(lengths, coded, tuple(values[pairs] for values in self.plain))


@dataclass(frozen=True, eq=False)
class Rows:
    """A number of runs.

    Attributes
    ----------
    source : ndarray of int64
        Position of the run's file among the sources.
    texts : dict
        Each of `TEXTS` to a list of str.
    runtime_s : ndarray of float
        NaN where not known.
    content : list of str
        What tells a run without a name of its own from others, its settings aside; empty for
        runs that have one, or nothing to be told by.
    notes, compute : list of str
        JSON, or empty.
    config : Pairs
        Setting names and levels.
    cost, scores : Pairs
        Names; values.
    sections : Pairs
        Paths; seconds, counts (NaN where not known). Of usable runs only.
    """

    source: np.ndarray
    texts: dict
    runtime_s: np.ndarray
    content: list
    notes: list
    compute: list
    config: Pairs
    cost: Pairs
    scores: Pairs
    sections: Pairs

    def __len__(self):
        return len(self.source)

    def take(self, rows):
        """Return the given rows, in their order."""
        listed = rows.tolist()
        return Rows(
            self.source[rows],
            {name: _picked(values, listed) for name, values in self.texts.items()},
            self.runtime_s[rows],
            *(_picked(values, listed) for values in (self.content, self.notes, self.compute)),
            *(pairs.take(rows) for pairs in (self.config, self.cost, self.scores, self.sections)),
        )


@dataclass(frozen=True, eq=False)
class Block:
    """What a number of sources gave.

    Attributes
    ----------
    places : list of int
        Positions of the sources in the listing.
    claims : list of bool
        Whether the directory of each is one of a run that could be read.
    parts : list of list of str
        Paths below the directory of each that were read as parts of its runs.
    stamps : list of str
        What each was read from, as JSON (`batch.stamp`); empty where not asked for.
    rows : Rows, or None
        ``source`` is a position in `places`; None where the runs themselves do not matter.
    """

    places: list
    claims: list
    parts: list
    stamps: list
    rows: Rows

    def only(self, kept):
        """Return the block with the sources at the positions `kept` alone."""
        if len(kept) == len(self.places):
            return self
        new = np.full(len(self.places), -1)
        new[kept] = np.arange(len(kept))
        rows = self.rows
        if rows is not None:
            rows = rows.take(np.flatnonzero(new[rows.source] >= 0))
            rows = replace(rows, source=new[rows.source])
        lists = (self.places, self.claims, self.parts, self.stamps)
        return Block(*(_picked(values, kept) for values in lists), rows)


def block(places, found, redacted):
    """Return the block of the sources at `places`.

    Parameters
    ----------
    found : iterable of (list of Run, str)
        The runs in each source, and its stamp (`Block`). They are taken in one by one, so that
        no run need be kept.
    redacted : callable
        Returns a `Run` without what is to be withheld (`redaction.Redactor`).
    """
    columns, claims, parts, stamps = _Columns(), [], [], []
    for source, (runs, stamp) in enumerate(found):
        read = [run for run in runs if run.status != UNREADABLE]
        claims.append(bool(read))
        parts.append([part for run in read for part in run.parts])
        stamps.append(stamp)
        for run in runs:
            columns.add(redacted(run), source)
    return Block(list(places), claims, parts, stamps, columns.rows())


class _Columns:
    """The columns of runs that are added one by one."""

    def __init__(self):
        self._source, self._texts, self._runtime_s = [], [], []
        self._content, self._notes, self._compute = [], [], []
        self._config, self._cost, self._scores, self._sections = (_Column() for _ in SHAPES)

    def add(self, run, source):
        """Add a `Run`; `source` is the position of the file that it is from."""
        self._source.append(source)
        self._texts.append(_texts(run))
        self._runtime_s.append(nan if run.runtime_s is None else run.runtime_s)
        self._content.append("" if run.named or run.reason else _content(run))
        self._notes.append(json.dumps(run.notes) if run.notes else "")
        self._compute.append(_json(run.compute) if run.compute and not run.reason else "")
        self._config.add(run.config)
        self._cost.add(run.cost)
        self._scores.add(run.scores)
        self._sections.add({} if run.reason else run.sections)

    def rows(self):
        """Return all of it as `Rows`."""
        texts = zip(*self._texts, strict=True) if self._texts else [[]] * len(TEXTS)
        return Rows(
            np.array(self._source, dtype=np.int64),
            {name: _shared(values) for name, values in zip(TEXTS, texts, strict=True)},
            np.array(self._runtime_s, dtype=float),
            self._content,
            _shared(self._notes),
            _shared(self._compute),
            self._config.settings(),
            self._cost.numbers(),
            self._scores.numbers(),
            self._sections.timed(),
        )


class _Column:
    """Mappings of any length, one of each run, end to end."""

    def __init__(self):
        self._lengths, self._names, self._values = [], [], []

    def add(self, mapping):
        self._lengths.append(len(mapping))
        self._names += mapping
        self._values += mapping.values()

    def settings(self):
        """Return names and levels, both coded."""
        return Pairs(self._ends(), (coded(self._names), coded(self._values)))

    def numbers(self):
        """Return coded names, and their numbers."""
        return Pairs(self._ends(), (coded(self._names),), (np.array(self._values, dtype=float),))

    def timed(self):
        """Return coded names, and the first and second number of each; None becomes NaN."""
        values = self._values
        try:
            timed = np.fromiter(chain.from_iterable(values), float, 2 * len(values)).reshape(-1, 2)
        except TypeError:
            timed = np.array(values, dtype=float).reshape(-1, 2)
        return Pairs(self._ends(), (coded(self._names),), (timed[:, 0].copy(), timed[:, 1].copy()))

    def _ends(self):
        return np.array(self._lengths, dtype=np.int64)


def settings(configs):
    """Return a list of flat configs (dicts of name to text or number) as `Pairs`."""
    column = _Column()
    for config in configs:
        column.add(config)
    return column.settings()


def config_of(pairs):
    """Return the flat config of each run, the reverse of `settings`."""
    names, values = pairs.coded
    keys = [names.levels[code] for code in names.codes.tolist()]
    levels = [values.levels[code] for code in values.codes.tolist()]
    ends = np.cumsum(pairs.lengths)
    starts, ends = (ends - pairs.lengths).tolist(), ends.tolist()
    return [dict(zip(keys[a:b], levels[a:b], strict=True)) for a, b in zip(starts, ends, strict=True)]


def coded(values):
    """Return a list of text and numbers as `Coded`."""
    levels = dict.fromkeys(values)
    if any(not isinstance(level, str) and abs(level) > EXACT for level in levels):
        # There, an integer and a float that are equal are written as different levels.
        values = [digits(v) if isinstance(v, int) and abs(v) > EXACT else v for v in values]
        levels = dict.fromkeys(values)
    codes = dict(zip(levels, range(len(levels)), strict=True))
    found = np.fromiter(map(codes.__getitem__, values), np.int32, len(values))
    return Coded([printable(v) if isinstance(v, str) else v for v in levels], found)


def digits(value):
    """Return an integer as text; Python refuses to print one of thousands of digits."""
    return str(value) if abs(value) < 10**1000 else f"an integer of {value.bit_length()} bits"


def printable(text):
    """Return text that UTF-8 can hold: a file name's undecodable bytes become �."""
    text = str(text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def joined(blocks):
    """Return the rows of `blocks` in the order of their sources in the listing.

    ``source`` of the result is the position in the listing. The list is emptied on the way, so
    that the columns are not held twice.
    """
    source = np.concatenate([_places(b)[b.rows.source] for b in blocks] or [np.empty(0, np.int64)])
    rows = [b.rows for b in blocks]
    blocks.clear()
    merged = Rows(
        source,
        {name: list(chain.from_iterable(r.texts[name] for r in rows)) for name in TEXTS},
        _concatenated([r.runtime_s for r in rows]),
        *(
            list(chain.from_iterable(getattr(r, name) for r in rows))
            for name in ("content", "notes", "compute")
        ),
        *(_joined_pairs([getattr(r, name) for r in rows], *shape) for name, shape in SHAPES.items()),
    )
    if (np.diff(source) >= 0).all():
        return merged
    return merged.take(np.argsort(source, kind="stable"))


def _places(block):
    return np.asarray(block.places, dtype=np.int64)


def _joined_pairs(parts, n_coded, n_plain):
    lengths = _concatenated([p.lengths for p in parts], np.int64)
    coded = tuple(_joined_coded([p.coded[i] for p in parts]) for i in range(n_coded))
    return Pairs(lengths, coded, tuple(_concatenated([p.plain[i] for p in parts]) for i in range(n_plain)))


def _joined_coded(parts):
    index, codes = {}, []
    for part in parts:
        table = np.array([index.setdefault(level, len(index)) for level in part.levels], dtype=np.int32)
        codes.append(table[part.codes])
    return Coded(list(index), _concatenated(codes, np.int32))


def _concatenated(arrays, dtype=float):
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)


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
    measured = repr(measured)
    return hashlib.blake2b(measured.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _json(value):
    """Return `value` as JSON; what orjson would change or refuse, the slower one keeps."""
    try:
        text = orjson.dumps(value).decode("utf-8")
    except TypeError:
        text = "null"
    # orjson writes null for a number that is not finite.
    return json.dumps(value) if "null" in text else text


def _shared(values):
    """Return text values that UTF-8 can hold, equal ones as one object."""
    levels = dict.fromkeys(values)
    if len(levels) == 1:
        return [printable(values[0])] * len(values)
    shown = {value: printable(value) for value in levels}
    return list(map(shown.__getitem__, values))


def _picked(values, positions):
    return [values[i] for i in positions]
