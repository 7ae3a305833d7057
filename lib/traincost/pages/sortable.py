"""A table to sort, search and page through in a notebook, where itables is installed.

The table's program is put into the notebook once (`load`), never fetched from a host; what
comes from runs is text to it.
"""

import importlib.util

from traincost.results import render
from traincost.results.tables import setting

MAX_BYTES = 2**20  # of a table's data; beyond it, itables shows the first and last rows and says so


def can_sort():
    """Say whether itables is installed."""
    return importlib.util.find_spec("itables") is not None


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


def sortable(table):
    """Return a `tables.Table` as the HTML of a sortable one; numbers sort as numbers."""
    import itables

    frame = table.frame[[heading.name for heading in table.headings]].copy()
    for heading in table.headings:
        if heading.is_text:
            frame[heading.name] = [_cut(value) for value in frame[heading.name]]
        elif heading.printer is setting:
            frame[heading.name] = frame[heading.name].convert_dtypes()  # whole numbers as 1, not 1.0
    frame.columns = [_cut(heading.text) for heading in table.headings]
    html = itables.to_html_datatable(
        frame,
        table_id=f"table-{table.name}",
        allow_html=False,
        connected=False,
        showIndex=False,
        maxBytes=MAX_BYTES,
        classes="display compact",
        display_logo_when_loading=False,
    )
    return f"<p>{render.sentence(table.caption)}</p>{html}"


def _cut(value):
    text = "–" if value != value or value is None else str(value)
    return text if len(text) <= render.MAX_SHOWN else f"{text[: render.MAX_SHOWN - 1]}…"
