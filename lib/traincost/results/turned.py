"""What settings saved where they were tried: bound and measured saving, and where it was made."""

import numpy as np

from traincost.analysis import comparison, pairs, savings
from traincost.analysis.verdicts import TOO_FEW
from traincost.printing import SPACE, count, share_text, span
from traincost.results.comparison import change_in_words
from traincost.results.figures import MAX_ROWS, Figure, axes_of, label_rows, percent_axis
from traincost.results.prose import Name, Number, key, say
from traincost.results.svg import INK, MUTED, SERIES
from traincost.results.tables import Bar, Heading, Table, as_printed


def measure(runs, reruns, baseline):
    """Return what turned knobs saved, and how the baseline differs from the runs where it is another."""
    start = baseline or runs
    read = {knob: turned.collection for knob, turned in reruns.items()}
    measured = savings.measured_savings(
        start.collection, read, runs.knobs, runs.cadence_section or None, runs.replicates
    )
    if baseline is None or not reruns:
        return measured, None
    paired = pairs.pair(runs.collection, baseline.collection, None, runs.replicates)
    return measured, comparison.overall_change(runs.collection, baseline.collection, paired)


def said_of_turned(measured, drift):
    """Bound and measured saving: what was done, then a sentence for each knob (`savings.measured_savings`).

    `drift` is the paired change of the baseline against the runs of the page, where it is not these.
    """
    if not len(measured):
        return
    yield say("Some settings were turned, and the runs measured again.")
    if drift is not None:
        yield say(
            "The baseline is the same setup run again: against the runs of this page it took {c}. So much "
            "can differ without a setting being turned.",
            c=change_in_words("drift", drift),
        )
    for row in measured.itertuples():
        yield _measured(row)


def _measured(row):
    parts = {name: _saving(row, name) for name in ("bound", "measured", "low", "high")}
    low = parts["low"]
    parts["low"] = Number(low.key, low.value, low.text.removesuffix(f"{SPACE}%"))
    said = (
        "{k}{by} saved {measured} of a run, against a bound of {bound}; there are too few runs to tell more."
    )
    if row.outcome != TOO_FEW:
        said = (
            "{k}{by} saved {measured} of a run ({low} to {high}) over {n} {n:configuration|configurations}, "
        )
        said += f"{_OUTCOMES[row.outcome]}{{rest}}."
    is_less = row.outcome == savings.BELOW and row.kind == "share"
    return say(
        said,
        k=Name(row.knob),
        by=_turned_by(row),
        n=Number.count(key("turned", row.knob, "n_configurations"), row.n_configurations),
        rest=", which is for doing without its sections altogether" if is_less else "",
        **parts,
    )


_OUTCOMES = {
    savings.ABOVE: "more than the bound of {bound}",
    savings.AT_BOUND: "as much as the bound of {bound}, within chance",
    savings.BELOW: "less than the bound of {bound}",
}


def _saving(row, name):
    return Number.share(key("turned", row.knob, name), getattr(row, name))


def _turned_by(row):
    if not row.setting:
        return ""
    before, after = (
        "not set" if text == "None" else Name(text) for text in (row.setting_before, row.setting_after)
    )
    by = Name(row.setting) if row.setting != row.knob else None
    return say("[, by {by}] ({a} before, {b} after)", by=by, a=before, b=after)


def why(row):
    """Say where the saving of a turned knob was made: in its own sections, and elsewhere."""
    shares = ("inside", "governed", "still_governed", "outside", "elsewhere_share")
    return say(
        "The sections of {k} saved {inside}: they took {governed} of the runtime and still take "
        "{still_governed} of it. Outside them, where a bound assumes no change, {outside} was saved; the "
        "largest change there was in {e} ({elsewhere_share}).",
        k=Name(row.knob),
        e=Name(row.elsewhere),
        **{name: _saving(row, name) for name in shares},
    )


def _caption_turned(measured):
    above = int((measured["outcome"] == savings.ABOVE).sum())
    return say(
        "Bound and measured saving of {n} turned {n:knob|knobs}; {a} saved more than the bound by more than "
        "chance.",
        n=Number.count("turned.n", len(measured)),
        a=Number.count("turned.n_above", above) if above else "none",
    )


def draw_turned(savings):
    """Bound of each turned knob as a bar, what was really saved as a point with its interval."""
    savings = savings.head(MAX_ROWS)
    figure, axes = axes_of(0.8 + 0.46 * len(savings))
    rows = np.arange(len(savings))
    axes.barh(rows, savings["bound"], height=0.5, color=SERIES[0])
    axes.hlines(rows, savings["low"], savings["high"], color=INK, linewidth=1.6)
    axes.plot(savings["measured"], rows, "o", color=SERIES[1], markersize=6)
    label_rows(axes, savings["knob"])
    axes.axvline(0, color=MUTED, linewidth=0.8)
    percent_axis(axes)
    axes.set_xlabel("saved, mean share of runtime")
    return figure, [
        (SERIES[0], "upper bound"),
        (("o", SERIES[1]), "measured with the knob turned"),
        ("range", "its interval"),
    ]


def turned_table(frame):
    """What `savings.measured_savings` returns: bound and measured saving."""
    return Table(
        "turned",
        say("What each change saved where it was tried"),
        (
            Heading("knob", "setting"),
            Heading(
                "measured",
                "saved",
                share_text,
                bar=Bar(low="low", high="high", chance="bound", text="0 to 100 % of a run"),
            ),
            Heading("interval", "95 % interval", as_printed, hide_on_phone=True),
            Heading("bound", "at most", share_text, hide_on_phone=True),
            Heading("outcome", "outcome", below_on_phone=True),
        ),
        frame.assign(interval=_intervals(frame)),
        int(frame["n_configurations"].sum()) if len(frame) else 0,
        "paired configurations",
        holds=("drift", "turned"),
        note=say("Mean over the configurations that were run again; upright line: the bound over these."),
        drawn=Figure.of("turned", frame, draw_turned, _caption_turned) if len(frame) else None,
    )


def inside_table(frame):
    """Where the savings of `savings.measured_savings` were made."""
    return Table(
        "turned-inside",
        say("Where each setting saved, as shares of runtime before."),
        (
            Heading("knob", "setting"),
            Heading("n_configurations", "configurations", count),
            Heading("inside", "saved in its sections", share_text),
            Heading("outside", "saved elsewhere", share_text, "a bound assumes none"),
            Heading("governed", "they took before", share_text, "share of runtime"),
            Heading("still_governed", "they take now", share_text, "of the runtime before"),
        ),
        frame,
        int(frame["n_configurations"].sum()),
        "paired configurations",
        holds=("turned",),
    )


def _intervals(frame):
    ends = zip(frame["low"], frame["high"], strict=True)
    return [span(share_text(a), share_text(b)) for a, b in ends]
