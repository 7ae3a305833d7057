"""Tables and the figure of what changed between two collections, and which scores and cost columns did."""

import numpy as np

from traincost.analysis import comparison as analysis
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import SCORE_PREFIX, column
from traincost.printing import (
    MISSING,
    SPACE,
    change_text,
    count,
    difference_texts,
    effect_texts,
    percent,
    probability,
    span,
    time_text,
    two,
)
from traincost.results.figures import MAX_ROWS, Figure, axes_of, cut, label_rows, percent_axis
from traincost.results.prose import N_LISTED, N_NAMED, Name, Number, key, say, with_more
from traincost.results.svg import INK, MUTED, REST, SERIES
from traincost.results.tables import Bar, Heading, Table, as_printed

_AMOUNT = {"more": "added", "less": "saved"}


def drift_table(drift):
    """What `sessions.session_drift` returns, where one drifts."""
    if not drift["drifts"].any():
        return None
    return Table(
        "drift",
        say("The log ratio of a pair against the start order of its runs, within each session."),
        (
            Heading("side", "session"),
            Heading("n", "configurations or pairs", count),
            Heading("r", "r", two),
            Heading("p", "p", probability, "two-sided t; said from 5 % over the number of sessions"),
        ),
        drift,
        int(drift["n"].max()) if len(drift) else 0,
        "paired configurations",
    )


def draw_changes(changes):
    """Paired change of runtime with its interval, overall and by level."""
    n = len(changes)
    changes = changes.head(MAX_ROWS)
    figure, axes = axes_of(0.8 + 0.3 * len(changes))
    rows = np.arange(len(changes))
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.hlines(rows, changes["low"], changes["high"], color=INK, linewidth=1.6)
    told = changes["verdict"].isin((analysis.SLOWER, analysis.FASTER))
    for chosen, colour in ((told, SERIES[1]), (~told, REST)):
        axes.plot(changes["change"].where(chosen), rows, "o", color=colour, markersize=6)
    label_rows(axes, _scopes(changes))
    percent_axis(axes)
    axes.set_xlabel("change of runtime; left of zero: faster")
    return figure, [
        (SERIES[1], "told from chance"),
        (REST, "not told from chance"),
        ("range", "interval"),
        *cut(n),
    ]


def changes_table(frame):
    """The paired change overall and by level: how much, and from what to what."""
    by_factor = {factor: i for i, factor in enumerate(dict.fromkeys(frame["factor"]))}
    frame = frame.iloc[np.lexsort((-frame["before_s"], frame["factor"].map(by_factor)))]
    told = frame["verdict"].isin((analysis.SLOWER, analysis.FASTER))
    signs = set(np.sign(frame["log_ratio"]))
    one_way = len(signs - {0.0}) < 2 and not (frame["low"] * frame["high"] < 0).any()
    way = "more" if 1.0 in signs else "less"
    ends = frame[["low", "high"]].abs() if one_way else frame[["low", "high"]] * 0 + np.nan
    most = _round_up(np.nanmax([0.01, *frame["change"].abs(), *ends.to_numpy().ravel()]))
    bar = Bar("least", "greatest", colour="colour", text=f"0 to {percent(most)}", most=most, of="size")
    return Table(
        "changes",
        say("Time {what}, by level", what=_AMOUNT[way] if one_way else "saved or added"),
        (
            Heading("scope", "level", sub="of"),
            Heading("change_text", way if one_way else "change", as_printed, bar=bar),
            Heading("interval", "95 % interval", as_printed, hide_on_phone=True),
            Heading("before_s", "before", time_text),
            Heading("after_s", "after", time_text),
        ),
        _printed(frame, told, ends, one_way),
        int(frame["n_pairs"].iloc[0]),
        "paired runs",
        holds=("change", "factors", "pairs", "runs"),
        note=_chances(told, frame),
        rows="row",
        drawn=Figure("changes", frame, draw_changes, say("Change of paired runtime, with its interval.")),
        aliases=("how-much-runtime-changed",),
    )


def _printed(frame, told, ends, one_way):
    """Return what the cells show; `ends` are those of the bars' ranges, and `told` is told from chance."""
    texts = [
        effect_texts(abs(x) if one_way else x, *sorted(map(abs, e) if one_way else e), signed=not one_way)
        for x, *e in frame[["change", "low", "high"]].itertuples(index=False)
    ]
    first = frame["factor"].ne(frame["factor"].shift())
    return frame.assign(
        scope=[level if factor else "all configurations" for factor, level in _pairs(frame)],
        of=frame["factor"].where(first & frame["factor"].ne(""), ""),
        size=frame["change"].abs(),
        least=ends.min(axis=1),
        greatest=ends.max(axis=1),
        change_text=[text[0] for text in texts],
        interval=[
            "–" if np.isnan(low) else f"{text[1]} to {text[2]}{SPACE}%"
            for text, low in zip(texts, frame["low"], strict=True)
        ],
        colour=np.where(~told, "ot", np.where(frame["log_ratio"] > 0, "t1", "e1")),
        row=np.where(frame["factor"].eq(""), "total", np.where(told, "", "quiet")),
    )


def _chances(told, frame):
    if told.all():
        return say("Paired by configuration; every row changed by more than chance would explain.")
    if not told.any():
        return say("Paired by configuration; no row changed by more than chance would explain.")
    muted = Number.count("change.n_not_told", int((~told).sum()))
    return say("Paired by configuration; what chance would explain is muted ({n}).", n=muted)


def _round_up(share):
    """Return the next tenth: the end of an axis.

    >>> _round_up(0.448), _round_up(0.6), _round_up(2.34)
    (0.5, 0.6, 2.4)
    """
    return float(np.ceil(round(10 * share, 6)) / 10)


def changes_in_full(frame):
    """What `comparison.runtime_change` returns."""
    printed = frame.assign(scope=_scopes(frame), interval=_intervals(frame))
    return Table(
        "changes-in-full",
        say("Paired change of runtime, overall and by level."),
        (
            Heading("scope", "configurations"),
            Heading("n_configurations", "number", count),
            Heading("n_pairs", "pairs", count),
            Heading("change", "change", change_text, "exp of the mean difference of log runtime, less one"),
            Heading("interval", "interval", as_printed, "95 %, t, of a row alone; levels share a variance"),
            Heading(
                "p_family",
                "p",
                probability,
                "overall by itself, one-sided where slower, as a check; levels family-wise (Holm), "
                "two-sided, ten times as large where the whole did not change",
            ),
            Heading("verdict", "verdict"),
        ),
        printed,
        int(frame["n_pairs"].iloc[0]),
        "paired runs",
    )


def _pairs(frame):
    return zip(frame["factor"], frame["level"], strict=True)


def _scopes(frame):
    return [f"{factor}={level}" if factor else level for factor, level in _pairs(frame)]


def _intervals(frame):
    ends = zip(frame["low"], frame["high"], strict=True)
    return [span(change_text(low), change_text(high)) for low, high in ends]


def settings_table(frame):
    """The shared settings that differ."""
    return Table(
        "changed",
        say("Settings that have no level in common before and after"),
        (Heading("setting", "setting", code=True), Heading("before", "before"), Heading("after", "after")),
        frame,
        0,
        "settings",
        aliases=("what-was-changed",),
    )


def unpaired_table(frame):
    """The runs that have no counterpart."""
    return Table(
        "unpaired",
        say("Runs without a pair: {n}.", n=Number.count("unpaired.n", len(frame))),
        (
            Heading("run_id", "run"),
            Heading("side", "side"),
            Heading("path", "path"),
            Heading("reason", "reason"),
        ),
        frame,
        filter="unpaired runs",
    )


# -- scores and cost columns ---------------------------------------------------------------


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
    scores = _columns_printed(frame[frame["column"].str.startswith(SCORE_PREFIX)])
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
    printed = _columns_printed(frame)
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


def _columns_printed(frame):
    names = [name.removeprefix(SCORE_PREFIX) for name in frame["column"]]
    texts = {
        f"{side}_text": [column(name).text(value) for name, value in zip(names, frame[side], strict=True)]
        for side in ("before", "after")
    }
    changes = [_column_change(row) for row in frame.itertuples()]
    difference, interval = zip(*changes, strict=True) if changes else ((), ())
    return frame.assign(name=names, **texts, difference=difference, interval=interval)


def _column_change(row):
    """Print a change and its interval: of a cost in percent, of a score as a difference."""
    if row.relative:
        texts = [change_text(value) for value in (row.change, row.low, row.high)]
    else:
        texts = difference_texts(row.change, row.low, row.high, signed=True)
    return texts[0] if row.change else "0", MISSING if np.isnan(row.low) else span(*texts[1:])
