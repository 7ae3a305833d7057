"""The title of a page, with links and a note from its parameters."""

from dataclasses import dataclass

import pandas as pd

from traincost.errors import require
from traincost.results import arguments, html
from traincost.results.result import Result

HEADINGS = {
    "profiling": "profiling",
    "compare": "before and after",
    "plan": "what more runs would take",
    "estimation": "training compute",
}


@dataclass(frozen=True)
class Heading:
    """A page's first heading, what it links to, and a note."""

    project: str
    collection: str
    kind: str
    links: tuple
    note: str

    def html(self):
        """Return it as HTML."""
        return html.template("title").render(title=self)


@arguments.checked
def title(of, kind, *, project="", collection="", note="", links=None):
    """Begin a page: its title, and what its JSON says of all runs.

    Parameters
    ----------
    of : Runs, or a Result
        What the page is about; it has a `name`.
    kind : str
        ``profiling``, ``compare``, ``plan`` or ``estimation``: the name of the JSON beside the page.
    project, collection, note : str
        Shown in the title; the collection is named after its directory if left empty.
    links : mapping of str to str, optional
        Text to address.

    Returns
    -------
    Result
    """
    require(kind in list(HEADINGS), "kind", f"one of {', '.join(HEADINGS)}", kind)
    collection = collection or (of.of if isinstance(of, Result) else of.name)
    heading = HEADINGS[kind]
    shown = Heading(project, collection, heading, tuple((links or {}).items()), note)
    page_title = f"{' '.join(filter(None, (project, collection)))}: {heading}"
    more = {"kind": kind, "title": page_title, **of.more}
    return Result("title", pd.DataFrame(), (shown,), of=collection, more=more)
