"""Tables: which columns of a frame are printed, under which heading and how.

A `Table` keeps the frame whole for the JSON beside the page; the page prints its columns with
fixed digits and cuts it after `MAX_ROWS`.
"""

from dataclasses import dataclass

import pandas as pd

from traincost.results import markup
from traincost.results.prose import Sentence

MAX_ROWS = 60  # on the page; the JSON has all
MAX_COLUMNS = 16  # of a table with a column per score or cost; the JSON has all
MAX_RUN_ROWS = 20  # of a table with a row per run, to look things up in rather than to read
MAX_RUNS = 1_000  # that the JSON lists, as rows of that table and as the origin of another's row


@dataclass(frozen=True, eq=False)
class Heading:
    """One printed column: its name in the frame, its heading, its printer, and a note."""

    name: str
    text: str
    printer: object = str
    note: str = ""

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
class Table:
    """A table of a report.

    Attributes
    ----------
    name : str
        Its anchor, and its name in the JSON.
    caption : Sentence
    headings : tuple of Heading
        The first is the rows' own heading.
    frame : DataFrame
        Everything, in machine form.
    n_runs : int
        How many runs the numbers are of.
    filter : str
        Which runs those are, in words.
    origins : tuple of Origin
        One per row; none where every row is of all these runs.
    holds : tuple of str
        What the keys of the numbers begin with that are read off it; its name, if left out.
    limit : int
        Rows that the page prints.
    """

    name: str
    caption: Sentence
    headings: tuple
    frame: pd.DataFrame
    n_runs: int
    filter: str = "completed runs"
    origins: tuple = ()
    holds: tuple = ()
    limit: int = MAX_ROWS

    def origin_of_rows(self):
        """Return an `Origin` per row."""
        return self.origins or (Origin(self.n_runs, self.filter),) * len(self.frame)

    def printed(self):
        """Yield each row as it is printed."""
        for row in self.frame[[h.name for h in self.headings]].itertuples(index=False, name=None):
            yield [cell(heading, value) for heading, value in zip(self.headings, row, strict=True)]

    def to_latex(self):
        """Return the rows of a ``tabular``, the header first; a missing value is a dash."""
        return markup.latex([h.text for h in self.headings], self.printed())

    def to_markdown(self):
        """Return the table in GitHub's Markdown."""
        rules = ["---" if h.is_text else "---:" for h in self.headings]
        return markup.markdown([h.text for h in self.headings], rules, self.printed())

    def to_csv(self):
        """Return the whole frame as CSV, numbers in full."""
        return markup.rows_as_csv(self.frame.columns, self.frame.itertuples(index=False, name=None))

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


def cell(heading, value):
    """Print one value under its heading; a missing one is a dash."""
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "–"
    return "–" if pd.isna(value) else heading.printer(value)


def setting(value):
    """A level of a setting: a number without the zeros of its column's type."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def as_printed(text):
    """Keep text that has been printed already, and align it as a number."""
    return text
