"""A report as it grows: blocks shown in a notebook, and every number kept for the JSON.

``show`` returns something that JupyterLab displays and that the exporter sets on the page;
``finish`` hands over title and numbers in an output of their own.
"""

import importlib.metadata
import math
import platform
from dataclasses import dataclass

from traincost.results import anchors, lab_style, render
from traincost.results.prose import Sentence
from traincost.results.tables import MAX_RUNS, Table

FORMAT = "traincost/report/1"
MIME = "application/vnd.traincost.results.report+json"
MAX_FIGURE_ROWS = 1_000
_VERSIONED = ("traincost", "numpy", "pandas", "scipy", "statsmodels", "seaborn", "matplotlib")


@dataclass(frozen=True, eq=False)
class Figure:
    """A drawing with its name and caption."""

    name: str
    drawing: object
    caption: Sentence
    frame: object

    @classmethod
    def of(cls, name, frame, draw, caption, *args):
        """Draw and caption the same frame; None where it is empty."""
        if not len(frame):
            return None
        return cls(name, draw(frame, *args), caption(frame, *args), frame)


@dataclass(frozen=True, eq=False)
class Items:
    """Sentences to be set as a list."""

    sentences: list
    ordered: bool = False


@dataclass(frozen=True)
class Shown:
    """HTML that a notebook displays."""

    html: str

    def _repr_html_(self):
        return self.html


@dataclass(frozen=True)
class Title:
    """The title, with the notebook's style before it."""

    shown: Shown

    def _ipython_display_(self):
        lab_style.display_styled(self.shown)


class Report:
    """The report of one notebook.

    Parameters
    ----------
    kind : str
        ``profiling``, for example: the name of the page and of its JSON.
    settings : dataclass
        The notebook's parameters (`settings.Profiling`, `settings.Estimation`).
    collection : Collection or Systems
    """

    def __init__(self, kind, settings, collection):
        self.kind = kind
        self.settings = settings
        self.collection_name = settings.collection or collection.name
        self.parameters = render.jsonable(settings.public(collection.name))
        self.versions = versions()
        self.title = kind
        self.summary = []
        self.numbers, self.tables, self.findings, self.figures = {}, {}, [], {}
        self.holders, self.captioned = {}, {}

    @property
    def data_file(self):
        """Name of the JSON beside the page."""
        return f"{self.kind}.json"

    def header(self, heading):
        """Show the title with its links and note, and name the page after it."""
        title = (self.settings.project, self.collection_name, heading)
        self.title = f"{' '.join(filter(None, title[:2]))}: {heading}"
        return Title(Shown(render.header(title, self.settings.links, self.settings.note)))

    def show(self, *blocks):
        """Show paragraphs (lists of sentences), `Items`, `Table`s and `Figure`s.

        None, and a table without rows, are skipped.
        """
        return Shown("\n".join(self._html(block) for block in blocks if block is not None))

    def summarise(self, sentences):
        """Show the headline findings in a box, and name them in the report's data."""
        for sentence in sentences:
            self._count(sentence)
        self.summary = [sentence.plain() for sentence in sentences]
        return Shown(render.summary(sentences))

    def _html(self, block):
        if isinstance(block, Table):
            return self._table(block)
        if isinstance(block, Figure):
            self._count(block.caption)
            self._holds(f"figure-{block.name}", (block.name,), block.caption)
            self.figures[block.name] = _figure_data(block)
            return render.figure(block.name, block.drawing, block.caption)
        sentences = block.sentences if isinstance(block, Items) else block
        for sentence in sentences:
            self._count(sentence)
            self.findings.append(sentence.plain())
        if not sentences:
            return ""
        if isinstance(block, Items):
            return render.items(sentences, block.ordered)
        return render.paragraph(sentences)

    def _table(self, block):
        if not len(block.frame):
            return ""
        self._count(block.caption)
        self._holds(f"table-{block.name}", block.holds or (block.name,), block.caption)
        rows = block.frame.to_dict("records")
        self.tables[block.name] = {
            "caption": block.caption.plain(),
            "columns": [str(name) for name in block.frame.columns],
            "n_runs": int(block.n_runs),
            "filter": block.filter,
            "rows": render.jsonable(rows),
            "origins": [_origin(origin) for origin in block.origin_of_rows()],
        }
        return render.table(block, self.data_file)

    def _holds(self, anchor, prefixes, caption):
        """Note which numbers are read off a table or figure, and which its caption names."""
        for prefix in prefixes:
            held = self.holders.get(prefix, "figure-")
            if held.startswith("figure-"):  # a table has the number itself
                self.holders[prefix] = anchor
        for number in caption.numbers():
            self.captioned.setdefault(number.key, anchor)

    def _count(self, sentence):
        for number in sentence.numbers():
            value = render.jsonable(number.value)
            first = self.numbers.setdefault(number.key, value)
            if first != value and not math.isclose(first, value, rel_tol=1e-9):
                raise ValueError(f"the number {number.key!r} is {first!r} and {value!r} in one report")

    def finish(self, collection=None, **more):
        """Return the report's data as a display of its own.

        Parameters
        ----------
        collection : Collection, optional
            Its run ids (up to `tables.MAX_RUNS`) and excluded runs are listed.
        **more
            Further entries of the JSON.
        """
        data = {
            "format": FORMAT,
            "kind": self.kind,
            "title": self.title,
            "parameters": self.parameters,
            "versions": self.versions,
            "summary": self.summary,
            "numbers": self.numbers,
            "anchors": anchors.of_numbers(self.numbers, self.holders, self.captioned),
            "findings": self.findings,
            "figures": self.figures,
            "tables": self.tables,
            **render.jsonable(more),
        }
        if hasattr(collection, "runs"):
            ids = list(collection.runs["run_id"])
            excluded = collection.excluded[["run_id", "path", "status", "reason", "runtime_s"]]
            data["n_runs"] = len(ids)
            data["runs"] = ids[:MAX_RUNS]
            data["latest"] = max(filter(None, collection.runs["started_at"]), default="")
            data["excluded"] = render.jsonable(excluded.to_dict("records"))
        return _Data(data)


def _origin(origin):
    """Return what a row is of, as the JSON has it; ids of runs are cut after the first `MAX_RUNS`."""
    runs = None if origin.runs is None else [str(run) for run in origin.runs[:MAX_RUNS]]
    return {"n_runs": int(origin.n_runs), "filter": origin.filter, "runs": runs}


def _figure_data(block):
    """Return what a figure shows, as the JSON has it: its caption and its (first) rows."""
    frame = block.frame.head(MAX_FIGURE_ROWS)
    rows = frame.to_dict("records")
    if frame.index.name is not None:  # levels by parts: kept apart, whatever they are called
        rows = [{"level": level, "values": row} for level, row in zip(frame.index, rows, strict=True)]
    return {
        "caption": block.caption.plain(),
        "n_rows": len(block.frame),
        "rows": render.jsonable(rows),
    }


@dataclass(frozen=True, eq=False)
class _Data:
    """The report's data, displayed as JSON and, for a reader of the notebook, as a line."""

    data: dict

    def _repr_mimebundle_(self, include=None, exclude=None):
        n = len(self.data["numbers"])
        return {MIME: self.data, "text/plain": f"{self.data['title']}: {n} numbers"}


def versions():
    """Return the versions of what the numbers were computed with."""
    found = {name: importlib.metadata.version(name) for name in _VERSIONED}
    return {"python": platform.python_version(), **found}
