"""An answer as a value: its numbers, sentences, tables and figures, which shows itself where it is looked at.

A notebook displays a `Result` as HTML in which every number keeps its key, beside a bundle of all its
numbers as JSON. The exporter (`pages.exporter`) puts the results of a notebook together as a page.
"""

import functools
import importlib.metadata
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd
from markupsafe import Markup

from traincost.errors import brief
from traincost.results import html
from traincost.results.figures import Figure
from traincost.results.prose import Captioned, Sentence, join, say
from traincost.results.tables import MAX_RUNS, Table
from traincost.words import printable

MIME = "application/vnd.traincost.result+json"
PAGE_HTML = "text/vnd.traincost.page+html"  # for a page, where a notebook's HTML needs a script
FORMAT = "traincost/result/1"
MAX_FIGURE_ROWS = 1_000  # of a figure's frame that the JSON has
_VERSIONED = ("traincost", "numpy", "pandas", "scipy", "statsmodels", "seaborn", "matplotlib")


@dataclass(frozen=True, eq=False)
class Paragraph:
    """Sentences that are set one after another: any iterable of them; one that is None is left out."""

    sentences: tuple

    def __post_init__(self):
        object.__setattr__(self, "sentences", tuple(s for s in self.sentences if s is not None))


class Items(Paragraph):
    """Sentences that are set as a list."""


class Headline(Paragraph):
    """The sentences that a page begins with, in a box."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a page answers first: one to a page, with the id ``answer``."""

    finding: Sentence  # the headline, without a full stop
    lead: Sentence | None = None  # what to do, in bold, which the first of `do` goes on from
    do: tuple = ()  # what it saves, and how that is known
    figure: object = None
    facts: tuple = ()  # a few figures, each with what it is

    @property
    def first(self):
        """The headline and what to do."""
        lead = [join([self.lead, *self.do[:1]])] if self.lead else self.do[:1]
        return (self.finding, *lead, *self.do[1:])

    @property
    def others(self):
        """The facts, as sentences."""
        return tuple(say("{figure} {what}.", figure=figure, what=what) for figure, what in self.facts)

    @property
    def sentences(self):
        """All that it says, in order."""
        return (*self.first, *self.others)

    @property
    def inside(self):
        """The blocks that it holds."""
        return (self.figure,) if self.figure is not None else ()


@dataclass(frozen=True, eq=False)
class Bars(Captioned):
    """A figure made of bars (`fluid`), whose text has one size at every width."""

    name: str  # its anchor, and its name in the JSON
    frame: pd.DataFrame  # what it shows
    drawing: Markup  # as `fluid` makes it, under the same name
    caption: Sentence
    note: Sentence | None = None  # below it, small
    legend: str = ""  # as `fluid.legend` makes it
    quiet: bool = False  # the caption stands below it, small: of the figure of an `Answer`
    drawn: Figure | None = None  # the same for a paper, which `Result.plot` draws
    aliases: tuple = ()  # ids that once stood here, and still lead to it

    def plot(self):
        """Return it as a matplotlib figure.

        Raises
        ------
        ValueError
            It has none.
        """
        if self.drawn is None:
            raise ValueError(f"the figure {self.name!r} is one of a page, and cannot be plotted")
        return self.drawn.plot()


@dataclass(frozen=True, eq=False)
class More:
    """What is seen once it is opened, and in print: never the only place of what the prose uses."""

    summary: Sentence  # what is inside
    blocks: tuple  # as `Result.showing` takes them

    def __post_init__(self):
        object.__setattr__(self, "blocks", _made(self.blocks))

    @property
    def inside(self):
        """The blocks that it holds."""
        return self.blocks


@dataclass(frozen=True)
class Earlier:
    """Ids that once stood here, and still lead here: of headings that were renamed."""

    ids: tuple

    def html(self):
        """Return it as HTML."""
        return html.aliases(self.ids)


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
        What it shows, in order: `Paragraph`, `Items`, `Headline`, `Answer`, `Table`, `Figure`, `Bars`,
        `More`.
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
        """Return a result of blocks: sentences are a paragraph; what is None or empty is left out."""
        return cls(name, frame, _made(blocks), **named)

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
        own = [block for block in _unfolded(self.blocks) if isinstance(block, kind)]
        return own + [block for part in self.parts.values() for block in part._all(kind)]

    @property
    def sentences(self):
        """The sentences of the answer, in order."""
        return [s for block in self._all(_SAYING) for s in block.sentences]

    @property
    def tables(self):
        """Name of each table to the `Table`, which holds its frame and shows itself."""
        return {table.name: table for table in self._all(Table)}

    @property
    def figures(self):
        """Name of each figure to the `Figure` or `Bars`, which has `plot`.

        Among them are those that a page shows as a table.
        """
        blocks = self._all(Captioned)
        figures = [block.drawn if isinstance(block, Table) else block for block in blocks]
        return {figure.name: figure for figure in figures if figure is not None}

    @property
    def numbers(self):
        """Key of each number in the sentences and captions to its value."""
        captions = [said for block in self._all(Captioned) for said in block.said]
        captions += [block.summary for block in self._all(More)]
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
        if not known:
            raise ValueError(f"{self.name} has no figure of these runs; `.frame` has its numbers, to plot")
        if figure is not None and figure not in known:
            raise ValueError(f"`figure` must be one of {', '.join(known)}; got {brief(figure)}")
        return known[figure or next(iter(known))].plot()

    def named(self, name):
        """Return the result with a name of its own, which stands before its keys on a page."""
        parts = {part: result.named(name) for part, result in self.parts.items()}
        return replace(self, prefix=name, parts=parts)

    def __str__(self):
        said = [printable(sentence.plain()) for sentence in self.sentences]
        if not said and self.tables:
            first = next(iter(self.tables.values()))
            said = [printable(first.caption.plain()), "", first.to_text()]
        return "\n".join(said)

    def __repr__(self):
        return str(self) or f"<Result {self.name}: nothing to say>"

    def html(self):
        """Return the answer as HTML, every text in it escaped."""
        own = [as_html(block) for block in self.blocks]
        return "\n".join([*own, *(part.html() for part in self.parts.values())])

    def _repr_html_(self):
        return html.of_a_notebook(self.html())

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "text/html": self._repr_html_(), MIME: self.data()}

    def data(self):
        """Return the numbers, tables and figures as JSON has them, as the exporter takes them."""
        captions = {}
        for block in self._all(Captioned):
            for number in (number for said in block.said for number in said.numbers()):
                kind = "table" if isinstance(block, Table) else "figure"
                captions.setdefault(number.key, f"{kind}-{block.name}")
        headlines = [s.plain() for block in self._all(Headline) for s in block.sentences]
        headlines += [s.plain() for block in self._all(Answer) for s in block.first]
        said = [s.plain() for block in self._all(Answer) for s in block.others]
        said += [s.plain() for b in self._all(Paragraph) if not isinstance(b, Headline) for s in b.sentences]
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


_SAYING = Paragraph | Answer


def _made(blocks):
    """Return blocks as a result has them: sentences are a paragraph; what is None or empty is left out."""
    made = [Paragraph(b) if isinstance(b, Iterable) else b for b in blocks]
    return tuple(block for block in made if block is not None and _has_content(block))


def _has_content(block):
    if isinstance(block, Paragraph):
        return bool(block.sentences)
    if isinstance(block, More):
        return bool(block.inside)
    return not isinstance(block, Table) or len(block.frame) > 0


def _unfolded(blocks):
    """Yield blocks and those inside them, in the order in which they are read."""
    for block in blocks:
        yield block
        if isinstance(block, Answer | More):
            yield from _unfolded(block.inside)


def as_html(block):
    """Return a block as HTML, every text in it escaped."""
    writers = {
        Answer: lambda answer: html.answer(answer, _joined(answer.inside)),
        More: lambda more: html.more(more, _joined(more.inside)),
        Items: lambda items: html.items(items.sentences),
        Table: html.table,
        Figure: html.figure,
        Bars: html.bars,
        Headline: lambda headline: html.headline(headline.sentences),
        Paragraph: lambda paragraph: html.paragraph(paragraph.sentences),
    }
    return writers[type(block)](block) if type(block) in writers else block.html()


def _joined(blocks):
    return Markup("\n".join(map(as_html, blocks)))


def table_data(table):
    """Return a table as the JSON has it, whole."""
    return {
        "caption": table.caption.plain(),
        **_note(table),
        "columns": [str(name) for name in table.data.columns],
        "n_runs": int(table.n_runs),
        "filter": table.filter,
        "rows": html.jsonable(table.data.to_dict("records")),
        "origins": [_origin(origin) for origin in table.origin_of_rows()],
    }


def _note(block):
    return {"note": block.note.plain()} if block.note else {}


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
        **_note(figure),
        "n_rows": len(figure.frame),
        "rows": html.jsonable(rows),
    }


@functools.cache
def versions():
    """Return the versions of what the numbers were computed with."""
    found = {name: importlib.metadata.version(name) for name in _VERSIONED}
    return {"python": platform.python_version(), **found}
