"""The list of runs as a table to sort, search and page through in a notebook, by itables.

Its program is put into the notebook, never fetched from a host; what comes from runs is text to it.
"""

import importlib.util
from dataclasses import dataclass, replace

from traincost.results import html
from traincost.results.result import PAGE_HTML, Result

MAX_BYTES = 2**20  # of a table's data; beyond it, itables shows the first and last rows and says so


def sorted_where_possible(answer):
    """Return a list of runs with a table to sort, where itables is installed; any other answer as it is."""
    is_list = isinstance(answer, Result) and answer.name == "listing" and answer.tables
    return Sortable(answer) if is_list and importlib.util.find_spec("itables") else answer


@dataclass(frozen=True)
class Sortable:
    """A list of runs whose table can be sorted in a notebook, and is a plain one on a page."""

    result: Result

    def __repr__(self):
        return repr(self.result)

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = self.result._repr_mimebundle_()
        said = replace(self.result, blocks=self.result.blocks[:-1]).html()
        table = _datatable(self.result.tables["listing"])
        shown = html.of_a_notebook(f"{said}\n{table}")
        return {**bundle, "text/html": shown, PAGE_HTML: bundle["text/html"]}


def load():
    """Display the program that sortable tables need.

    itables displays what asks for the theme before the program that knows it; in that order the
    first would fail, and leave white tables in a dark lab.
    """
    import itables
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        itables.init_notebook_mode(all_interactive=False, connected=False)
    for output in reversed(captured.outputs):
        output.display()


def _datatable(table):
    """Return the table in the HTML of itables; numbers sort as numbers."""
    import itables

    # Whole numbers as 1, not 1.0.
    frame = table.frame[[heading.name for heading in table.headings]].convert_dtypes()
    frame.columns = [heading.text for heading in table.headings]
    shown = itables.to_html_datatable(
        frame,
        table_id=f"table-{table.name}",
        allow_html=False,
        connected=False,
        showIndex=False,
        maxBytes=MAX_BYTES,
        classes="display compact",
        display_logo_when_loading=False,
    )
    return f"{html.paragraph([table.caption])}{shown}"
