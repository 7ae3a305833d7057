"""An answer as a value: its numbers, sentences, tables and figures, which shows itself where it is looked at.

A notebook displays a `Result` as HTML in which every number keeps its key, beside a bundle of all its
numbers as JSON. The exporter (`pages.exporter`) puts the results of a notebook together as a page.
"""

import functools
import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from traincost.results import html, style
from traincost.results.figures import Figure
from traincost.results.tables import MAX_RUNS, Table

MIME = "application/vnd.traincost.result+json"
PAGE_HTML = "text/vnd.traincost.page+html"  # for a page, where a notebook's HTML needs a script
FORMAT = "traincost/result/1"
MAX_FIGURE_ROWS = 1_000  # of a figure's frame that the JSON has
_VERSIONED = ("traincost", "numpy", "pandas", "scipy", "statsmodels", "seaborn", "matplotlib")


@dataclass(frozen=True, eq=False)
class Paragraph:
    """Sentences that are set one after another."""

    sentences: tuple


@dataclass(frozen=True, eq=False)
class Items:
    """Sentences that are set as a list."""

    sentences: tuple
    ordered: bool = False


@dataclass(frozen=True, eq=False)
class Headline:
    """The sentences that a page begins with, in a box."""

    sentences: tuple


@dataclass(frozen=True, eq=False)
class Result:
    """The answer to one question.

    Attributes
    ----------
    name : str
        What it answers, in a word: ``effects``.
    frame : DataFrame
        Its numbers.
    blocks : tuple
        What it shows, in order: `Paragraph`, `Items`, `Headline`, `Table`, `Figure`.
    prefix : str
        Stands before the keys of its numbers on a page, so that two answers to one question can
        stand on it; empty for the first.
    of : str
        What it is about: the name of the runs.
    parts : mapping of str to Result
        The answers that it is made of, if it is made of several; each is an attribute, too.
    more : mapping
        Further entries of a page's JSON.
    """

    name: str
    frame: pd.DataFrame
    blocks: tuple = ()
    prefix: str = ""
    of: str = ""
    parts: Mapping = field(default_factory=dict)
    more: Mapping = field(default_factory=dict)

    @classmethod
    def showing(cls, name, frame, *blocks, **named):
        """Return a result of blocks: a list is a paragraph; what is None or empty is left out."""
        made = [Paragraph(tuple(b)) if isinstance(b, list | tuple) else b for b in blocks]
        return cls(name, frame, tuple(b for b in made if b is not None and _has_content(b)), **named)

    @classmethod
    def of_parts(cls, name, frame, parts, prefix="", of="", more=None):
        """Return a result made of others: `parts` has the name of each to its frame and its blocks."""
        made = {
            part: cls.showing(f"{name}.{part}", of_part, *blocks, prefix=prefix, of=of)
            for part, (of_part, *blocks) in parts.items()
        }
        return cls(name, frame, prefix=prefix, of=of, parts=made, more=more or {})

    def __getattr__(self, name):
        try:
            return self.__dict__["parts"][name]
        except KeyError:
            raise AttributeError(
                f"the result {self.__dict__.get('name')!r} has no attribute {name!r}"
            ) from None

    def __dir__(self):
        return [*super().__dir__(), *self.parts]

    def _all(self, kind):
        own = [block for block in self.blocks if isinstance(block, kind)]
        return own + [block for part in self.parts.values() for block in part._all(kind)]

    @property
    def sentences(self):
        """The sentences of the answer, in order."""
        return [s for block in self._all(Paragraph | Items | Headline) for s in block.sentences]

    @property
    def tables(self):
        """Name of each table to the `Table`, which holds its frame and shows itself."""
        return {table.name: table for table in self._all(Table)}

    @property
    def figures(self):
        """Name of each figure to the `Figure`, which has `plot`."""
        return {figure.name: figure for figure in self._all(Figure)}

    @property
    def numbers(self):
        """Key of each number in the sentences and captions to its value."""
        captions = [block.caption for block in self._all(Table | Figure)]
        found = {}
        for sentence in (*self.sentences, *captions):
            for number in sentence.numbers():
                found.setdefault(number.key, html.jsonable(number.value))
        return found

    def plot(self, figure=None):
        """Draw one of its figures, to restyle and save.

        Parameters
        ----------
        figure : str, optional
            One of `figures`; the first, if left out.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError
            There is no such figure.
        """
        known = self.figures
        if not known or (figure is not None and figure not in known):
            allowed = ", ".join(known) or "none, as this result has no figure"
            raise ValueError(f"`figure` must be one of {allowed}; got {figure!r}")
        return known[figure or next(iter(known))].plot()

    def named(self, name):
        """Return the result with a name of its own, which stands before its keys on a page."""
        parts = {part: result.named(name) for part, result in self.parts.items()}
        return replace(self, prefix=name, parts=parts)

    def __str__(self):
        return "\n".join(sentence.plain() for sentence in self.sentences)

    def __repr__(self):
        return str(self) or f"<Result {self.name}: nothing to say>"

    def html(self):
        """Return the answer as HTML, every text in it escaped."""
        own = [_html(block) for block in self.blocks]
        return "\n".join([*own, *(part.html() for part in self.parts.values())])

    def _repr_html_(self):
        return f"{style.sheet()}\n{self.html()}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "text/html": self._repr_html_(), MIME: self.data()}

    def data(self):
        """Return the numbers, tables and figures as JSON has them, as the exporter takes them."""
        captions = {}
        for block in self._all(Figure | Table):
            for number in block.caption.numbers():
                captions.setdefault(number.key, _anchor(block))
        headlines = [s.plain() for block in self._all(Headline) for s in block.sentences]
        said = [s.plain() for block in self._all(Paragraph | Items) for s in block.sentences]
        return {
            "format": FORMAT,
            "name": self.name,
            "prefix": self.prefix,
            "of": self.of,
            "numbers": self.numbers,
            "summary": headlines,
            "findings": said,
            "tables": {name: table_data(table) for name, table in self.tables.items()},
            "figures": {name: _figure_data(figure) for name, figure in self.figures.items()},
            "holds": {name: list(table.holds or (name,)) for name, table in self.tables.items()},
            "captions": captions,
            "versions": versions(),
            "more": html.jsonable(dict(self.more)),
        }


def _has_content(block):
    if isinstance(block, Paragraph | Items | Headline):
        return bool(block.sentences)
    return not isinstance(block, Table) or len(block.frame) > 0


def _anchor(block):
    return f"{'table' if isinstance(block, Table) else 'figure'}-{block.name}"


def _html(block):
    if isinstance(block, Table):
        return html.table(block)
    if isinstance(block, Figure):
        return html.figure(block)
    if isinstance(block, Items):
        return html.items(block.sentences, block.ordered)
    if isinstance(block, Headline):
        return html.headline(block.sentences)
    return html.paragraph(block.sentences) if isinstance(block, Paragraph) else block.html()


def table_data(table):
    """Return a table as the JSON has it, whole."""
    return {
        "caption": table.caption.plain(),
        "columns": [str(name) for name in table.frame.columns],
        "n_runs": int(table.n_runs),
        "filter": table.filter,
        "rows": html.jsonable(table.frame.to_dict("records")),
        "origins": [_origin(origin) for origin in table.origin_of_rows()],
    }


def _origin(origin):
    """Return what a row is of, as the JSON has it; ids of runs are cut after the first `MAX_RUNS`."""
    runs = None if origin.runs is None else [str(run) for run in origin.runs[:MAX_RUNS]]
    return {"n_runs": int(origin.n_runs), "filter": origin.filter, "runs": runs}


def _figure_data(figure):
    """Return what a figure shows, as the JSON has it: its caption and its (first) rows."""
    frame = figure.frame.head(MAX_FIGURE_ROWS)
    rows = frame.to_dict("records")
    if frame.index.name is not None:  # levels by parts: kept apart, whatever they are called
        rows = [{"level": level, "values": row} for level, row in zip(frame.index, rows, strict=True)]
    return {
        "caption": figure.caption.plain(),
        "n_rows": len(figure.frame),
        "rows": html.jsonable(rows),
    }


@functools.cache
def versions():
    """Return the versions of what the numbers were computed with."""
    found = {name: importlib.metadata.version(name) for name in _VERSIONED}
    return {"python": platform.python_version(), **found}
