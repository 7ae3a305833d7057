"""Which scores and cost columns changed between two collections, and by how much at most."""

import numpy as np

from traincost.analysis import comparison as analysis
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import SCORE_PREFIX, column
from traincost.printing import MISSING, change_text, count, difference_texts, probability, span
from traincost.results.prose import N_LISTED, N_NAMED, Name, Number, key, say, with_more
from traincost.results.tables import Heading, Table, as_printed


def scores_changed(columns):
    """Which scores and cost columns changed, so that a speed-up that costs accuracy shows."""
    if not len(columns):
        yield say("Neither scores nor cost columns are recorded on both sides.")
        return
    for what, rows in (
        ("score", columns[columns["column"].str.startswith(SCORE_PREFIX)]),
        ("cost column", columns[columns["column"].str.startswith("cost_")]),
    ):
        moved = rows[rows["verdict"].isin((analysis.MORE, analysis.LESS))]
        if len(moved):
            yield say("Changed {w}{n:|s}: {rows}.", w=what, n=len(moved), rows=_moved(moved))
        elif len(rows) and (rows["verdict"] == TOO_FEW).all():
            yield say("There are too few runs to tell whether a {w} changed.", w=what)
        elif len(rows):
            within = _within(rows) if what == "score" else ""
            yield say("No {w} changed that can be told from chance{within}.", w=what, within=within)


def _within(rows):
    """Say how much a score may have changed all the same: its interval."""
    listed = []
    varying = rows[rows["low"].notna() & rows["verdict"].ne(analysis.SAME)]
    for row in varying.head(N_NAMED).itertuples():
        keys = [key("column", row.column, end) for end in ("low", "high")]
        texts = difference_texts(row.change, row.low, row.high, signed=True)[1:]
        low, high = Number.several(keys, (row.low, row.high), texts)
        name = Name(row.column.removeprefix(SCORE_PREFIX))
        listed.append(say("{n} by {low} to {high}", n=name, low=low, high=high))
    return say("[; the intervals allow for a change of {rows}]", rows=listed)


def _moved(rows):
    listed = [
        say(
            "{n} ({a} before, {b} after)",
            n=Name(row.column.removeprefix(SCORE_PREFIX)),
            a=_value(row.column, "before", row.before),
            b=_value(row.column, "after", row.after),
        )
        for row in rows.head(N_LISTED).itertuples()
    ]
    what = rows["column"].iloc[0].partition("_")[0].partition(".")[0]
    return with_more(listed, len(rows), f"{what}.n_more_changed")


def _value(name, side, value):
    return Number.of(key("column", name, side), value, column(name.removeprefix(SCORE_PREFIX)).text)


def scores_table(frame):
    """The scores before and after, and their change; None where there are none."""
    scores = _printed(frame[frame["column"].str.startswith(SCORE_PREFIX)])
    if not len(scores):
        return None
    n = int(scores["n_configurations"].max())
    told = scores["verdict"].isin((analysis.MORE, analysis.LESS))
    return Table(
        "scores",
        say("Scores"),
        (
            Heading("name", "score", code=True),
            Heading("before_text", "before", as_printed),
            Heading("after_text", "after", as_printed),
            Heading("difference", "change", as_printed),
            Heading("p_family", "p", probability, hide_on_phone=True),
        ),
        scores.assign(row=["" if each else "quiet" for each in told]),
        n,
        "paired configurations",
        note=say(
            "Mean over {n} configurations; p family-wise (Holm).",
            n=Number.count("columns.n_configurations", n),
        ),
        rows="row",
    )


def columns_table(frame):
    """What `comparison.column_changes` returns."""
    ratio = "of a cost the geometric mean of after / before, less one; of a score the mean difference"
    printed = _printed(frame)
    return Table(
        "columns",
        say("Cost columns and scores before and after, over paired configurations"),
        (
            Heading("name", "column", code=True),
            Heading("n_configurations", "configurations", count),
            Heading("before_text", "before", as_printed),
            Heading("after_text", "after", as_printed),
            Heading("difference", "change", as_printed, ratio),
            Heading("interval", "interval", as_printed, "95 %, t"),
            Heading("p_family", "p", probability, "two-sided t, family-wise over the rows (Holm)"),
            Heading("verdict", "verdict"),
        ),
        printed,
        int(printed["n_configurations"].max()) if len(printed) else 0,
        "paired configurations",
        holds=("column",),
    )


def _printed(frame):
    """Return the columns with each value as it is printed."""
    names = [name.removeprefix(SCORE_PREFIX) for name in frame["column"]]
    texts = {
        f"{side}_text": [column(name).text(value) for name, value in zip(names, frame[side], strict=True)]
        for side in ("before", "after")
    }
    changes = [_change(row) for row in frame.itertuples()]
    difference, interval = zip(*changes, strict=True) if changes else ((), ())
    return frame.assign(name=names, **texts, difference=difference, interval=interval)


def _change(row):
    """Print a change and its interval: of a cost in percent, of a score as a difference."""
    if row.relative:
        texts = [change_text(value) for value in (row.change, row.low, row.high)]
    else:
        texts = difference_texts(row.change, row.low, row.high, signed=True)
    return texts[0] if row.change else "0", MISSING if np.isnan(row.low) else span(*texts[1:])
