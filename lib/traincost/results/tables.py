"""Tables: which columns of a frame are printed, under which heading and how.

A `Table` keeps the frame whole for the JSON beside the page; the page prints its columns with
fixed digits and cuts it after `MAX_ROWS`.
"""

import math
from dataclasses import dataclass

import pandas as pd

from traincost.printing import time_parts
from traincost.results import markup
from traincost.results.prose import Captioned, Sentence
from traincost.words import printable

ELSEWHERE = "elsewhere"  # of a row: a table in the details prints it
MAX_ROWS = 60  # on the page; the JSON has all
MAX_COLUMNS = 16  # of a table with a column per score or cost; the JSON has all
MAX_WIDE, MAX_NARROW = 6, 4  # columns, on a screen and on a phone; beyond them, a table scrolls
MAX_RUN_ROWS = 20  # of a table with a row per run, to look things up in rather than to read
MAX_RUNS = 1_000  # that the JSON lists, as rows of that table and as the origin of another's row


@dataclass(frozen=True)
class Bar:
    """A bar in a column of its own, before the number that it shows."""

    # Columns of the frame, of a range that is drawn as a line and of what chance would reach, an upright;
    # none, if left out.
    low: str = ""
    high: str = ""
    chance: str = ""
    # Column of the names of colours (`fluid.colour`); all bars have that of the first kind, if left out.
    colour: str = ""
    # The column's heading, such as ``0 to 100 % of a run``; "bar", for a screen reader, if left out.
    text: str = ""
    most: float = 1.0  # the value at which the track is full
    of: str = ""  # column of the bar's length; that of the number, if left out
    # Powers of ten at the ends of a logarithmic scale, on which a point stands instead of a bar.
    log: tuple = ()

    def place(self, value):
        """Return where a value lies on the track, as a fraction; None where it is missing."""
        if value is None or pd.isna(value) or (self.log and not value > 0):
            return None
        if not self.log:
            return value / self.most
        low, high = self.log
        return (math.log10(value) - low) / (high - low)


@dataclass(frozen=True, eq=False)
class Heading:
    """One printed column."""

    # Its name in the frame, and its heading.
    name: str
    text: str
    printer: object = str  # prints a value; `str` aligns the column as text
    note: str = ""  # what it means, below the table
    bar: Bar | None = None  # drawn before the number
    hide_on_phone: bool = False  # not seen on a phone: a figure says it, or it is of less use
    below_on_phone: bool = False  # on a phone, it stands under the row's name
    code: bool = False  # its values are names in the code of a run
    sub: str = ""  # a column whose text stands under the value, small
    swatch: str = ""  # a column of the names of colours, which stand before the row's name as squares
    link: str = ""  # a column of addresses that the row's name leads to, made by this library; empty for none

    @property
    def is_text(self):
        """Whether the column is aligned as text."""
        return self.printer is str


@dataclass(frozen=True)
class Origin:
    """What one row of a table is of: how many runs, which in words, and their ids.

    `runs` is None where it is all completed runs, or where they are not told apart.
    """

    n_runs: int
    filter: str
    runs: tuple | None = None


@dataclass(frozen=True, eq=False)
class Table(Captioned):
    """A table of a report."""

    name: str  # its anchor, and its name in the JSON
    caption: Sentence
    headings: tuple  # the first is the rows' own heading; one that is None or false is left out
    frame: pd.DataFrame  # everything, in machine form
    n_runs: int | None = None  # how many runs the numbers are of; as many as it has rows, if left out
    filter: str = "completed runs"  # which runs those are, in words
    origins: tuple = ()  # one per row; none where every row is of all these runs
    holds: tuple = ()  # what the keys of the numbers begin with that are read off it; its name, if left out
    limit: int = MAX_ROWS  # rows that the page prints
    # One line under the caption: how many runs, the method, and what is the same in every row.
    note: Sentence | None = None
    # The first column has paths: each row is set in below the one that its path begins with.
    tree: bool = False
    # A column that says how a row is set: ``quiet`` (muted), ``total`` (bold, below a line), empty, or
    # `ELSEWHERE`: another table of the page prints it.
    rows: str = ""
    # Least and most of a heat map, whose cells are shaded in eight steps; none for any other table.
    shades: tuple = ()
    # The same as a figure, which is not shown but can be plotted, and has its data in the JSON.
    drawn: object = None
    aliases: tuple = ()  # ids that once stood here, and still lead to it; that of `drawn` is one of them

    def __post_init__(self):
        object.__setattr__(self, "headings", tuple(heading for heading in self.headings if heading))
        if self.n_runs is None:
            object.__setattr__(self, "n_runs", len(self.frame))

    @property
    def here(self):
        """The rows that this table prints itself."""
        return self.frame[self.frame[self.rows] != ELSEWHERE] if self.rows else self.frame

    @property
    def places(self):
        """The ids that once stood here."""
        return (*self.aliases, *((f"figure-{self.drawn.name}",) if self.drawn else ()))

    @property
    def scrolls(self):
        """Whether it holds more columns than fit: on a phone, or anywhere."""
        columns = len(self.headings) + sum(heading.bar is not None for heading in self.headings)
        on_phone = sum(not (h.hide_on_phone or h.below_on_phone) for h in self.headings)
        return bool(self.shades) or columns > MAX_WIDE or on_phone > MAX_NARROW

    @property
    def data(self):
        """The frame without the columns that only say how a row is set, and in which colour."""
        looks = {
            self.rows,
            *(h.swatch for h in self.headings),
            *(h.link for h in self.headings),
            *(h.bar.colour for h in self.headings if h.bar),
        }
        looks -= {heading.name for heading in self.headings}
        return self.frame[[name for name in self.frame.columns if name not in looks]]

    def origin_of_rows(self):
        """Return an `Origin` per row."""
        return self.origins or (Origin(self.n_runs, self.filter),) * len(self.frame)

    def printed(self):
        """Yield each row as it is printed."""
        for row in self.frame[[h.name for h in self.headings]].itertuples(index=False, name=None):
            yield [cell(heading, value) for heading, value in zip(self.headings, row, strict=True)]

    def to_text(self):
        """Return the table for a terminal, in columns."""
        cells = pd.DataFrame(self.printed(), columns=[h.text for h in self.headings])
        return cells.map(printable).rename(columns=printable).to_string(index=False)

    def to_latex(self):
        """Return the rows of a ``tabular``, the header first; a missing value is a dash."""
        return markup.latex([h.text for h in self.headings], self.printed())

    def to_markdown(self):
        """Return the table in GitHub's Markdown."""
        rules = ["---" if h.is_text else "---:" for h in self.headings]
        return markup.markdown([h.text for h in self.headings], rules, self.printed())

    def to_csv(self):
        """Return the whole frame as CSV, numbers in full."""
        return markup.rows_as_csv(self.data.columns, self.data.itertuples(index=False, name=None))

    def __str__(self):
        return self.to_markdown()


def of_settings(names, rows, members, filter="completed runs"):
    """Return the origins of rows that are each of the runs with one setting of the fields `names`."""
    origins = []
    for row in rows:
        where = ", ".join(f"{name} = {level}" for name, level in zip(names, row, strict=True))
        runs = members.get(tuple(row), ())
        origins.append(Origin(len(runs), f"{filter} where {where}", runs))
    return tuple(origins)


def of_one(ids, filter="the run of the row"):
    """Return the origins of rows that are one run, or whatever `filter` says, each."""
    return tuple(Origin(1, filter, (each,)) for each in ids)


SHADES = 8


def shades_of(values):
    """Return least and most of what is shaded; none where nothing differs.

    >>> shades_of([[1.0, 3.0], [None, 2.0]])
    (1.0, 3.0)
    """
    finite = [float(v) for row in values for v in row if v is not None and v == v]
    return (min(finite), max(finite)) if finite else ()


def shade(value, least, most):
    """Return the class of a shaded cell: ``q0`` to ``q7``, in equal ratios; ``none`` where there is no value.

    >>> shade(10.0, 1.0, 100.0), shade(None, 1.0, 100.0), shade(5.0, 5.0, 5.0)
    ('q4', 'none', 'q0')
    """
    if value is None or pd.isna(value):
        return "none"
    if not least < most:
        return "q0"
    by_ratio = least > 0
    low, high, at = (math.log(v) if by_ratio else v for v in (least, most, value))
    return f"q{round((SHADES - 1) * (at - low) / (high - low))}"


def in_tree_order(paths):
    """Return the order in which each path follows the one that it lies in; siblings stay in their order.

    >>> in_tree_order(["a/x", "b", "a", "b/y/z"])
    [1, 3, 2, 0]
    """
    paths = [str(path) for path in paths]
    known = {path: i for i, path in reversed([*enumerate(paths)])}
    inside = {}
    for i, path in enumerate(paths):
        parts = path.split("/")
        above = ("/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
        inside.setdefault(next((known[p] for p in above if p in known), None), []).append(i)
    order, waiting = [], list(reversed(inside.get(None, [])))
    while waiting:
        at = waiting.pop()
        order.append(at)
        if known[paths[at]] == at:  # of two rows of one path, the first holds what lies in it
            waiting += reversed(inside.get(at, []))
    return order


def cell(heading, value):
    """Print one value under its heading; a missing one is a dash."""
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "–"
    return "–" if pd.isna(value) else heading.printer(value)


def setting(value):
    """A level of a setting: a number without the zeros of its column's type."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def part_of(total_s, signed=False):
    """Return a printer of durations that are parts of one total, in its unit."""
    return lambda seconds: time_parts([seconds], total_s, signed)[0]


def as_printed(text):
    """Keep text that has been printed already, and align it as a number."""
    return text
