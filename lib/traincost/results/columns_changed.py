"""Which scores and cost columns changed between two collections, and by how much at most."""

import numpy as np

from traincost.analysis import comparison as analysis
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import SCORE_PREFIX, column
from traincost.printing import MISSING, change_text, count, difference_texts, probability, span
from traincost.results.numbers import N_LISTED, N_NAMED, key, number_of, plural
from traincost.results.prose import Name, Number, say
from traincost.results.tables import Heading, Table, as_printed


def scores_changed(columns):
    """Which scores and cost columns changed, so that a speed-up that costs accuracy shows."""
    if not len(columns):
        return [say("Neither scores nor cost columns are recorded on both sides.")]
    said = []
    for what, rows in (
        ("score", columns[columns["column"].str.startswith(SCORE_PREFIX)]),
        ("cost column", columns[columns["column"].str.startswith("cost_")]),
    ):
        moved = rows[rows["verdict"].isin((analysis.MORE, analysis.LESS))]
        if len(moved):
            said.append(say("Changed {w}: {rows}.", w=plural(len(moved), what), rows=_moved(moved)))
        elif len(rows) and (rows["verdict"] == TOO_FEW).all():
            said.append(say("There are too few runs to tell whether a {w} changed.", w=what))
        elif len(rows):
            within = _within(rows) if what == "score" else ""
            said.append(say("No {w} changed that can be told from chance{within}.", w=what, within=within))
    return said


def _within(rows):
    """Say how much a score may have changed all the same: its interval."""
    listed = []
    varying = rows[rows["low"].notna() & rows["verdict"].ne(analysis.SAME)]
    for row in varying.head(N_NAMED).itertuples():
        texts = difference_texts(row.change, row.low, row.high, signed=True)[1:]
        ends = [
            Number(key("column", row.column, end), float(getattr(row, end)), text)
            for end, text in zip(("low", "high"), texts, strict=True)
        ]
        name = Name(row.column.removeprefix(SCORE_PREFIX))
        listed.append(say("{n} by {low} to {high}", n=name, low=ends[0], high=ends[1]))
    return say("; the intervals allow for a change of {rows}", rows=listed) if listed else ""


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
    if len(rows) > N_LISTED:
        what = rows["column"].iloc[0].partition("_")[0].partition(".")[0]
        listed.append(say("{n} more", n=number_of(f"{what}.n_more_changed", len(rows) - N_LISTED)))
    return listed


def _value(name, side, value):
    return Number(
        key("column", name, side), float(value), column(name.removeprefix(SCORE_PREFIX)).text(value)
    )


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
            "Mean over {n} configurations; p family-wise (Holm).", n=number_of("columns.n_configurations", n)
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
    texts = [_change(row) for row in frame.itertuples()]
    return frame.assign(
        name=names,
        **{
            f"{side}_text": [column(name).text(value) for name, value in zip(names, frame[side], strict=True)]
            for side in ("before", "after")
        },
        difference=[change for change, _ in texts],
        interval=[interval for _, interval in texts],
    )


def _change(row):
    """Print a change and its interval: of a cost in percent, of a score as a difference."""
    if row.relative:
        texts = [change_text(value) for value in (row.change, row.low, row.high)]
    else:
        texts = difference_texts(row.change, row.low, row.high, signed=True)
    return texts[0] if row.change else "0", MISSING if np.isnan(row.low) else span(*texts[1:])
