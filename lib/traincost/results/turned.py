"""What settings saved where they were tried: bound and measured saving, and where it was made."""

import numpy as np

from traincost.analysis import comparison, pairs, savings
from traincost.analysis.verdicts import TOO_FEW
from traincost.printing import SPACE, count, share_text, span
from traincost.results.comparison import change_in_words
from traincost.results.figures import MAX_ROWS, Figure, axes_of, label_rows, percent_axis
from traincost.results.numbers import key, number_of, plural, share
from traincost.results.prose import Name, Number, say
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
    """Bound and measured saving: what was done, then a sentence for each knob.

    Parameters
    ----------
    measured : DataFrame
        As `savings.measured_savings` returns it.
    drift : Series, or None
        Paired change of the baseline against the runs of the page, where it is not these.
    """
    if not len(measured):
        return []
    said = [say("Some settings were turned, and the runs measured again.")]
    if drift is not None:
        said.append(
            say(
                "The baseline is the same setup run again: against the runs of this page it took {c}. So "
                "much can differ without a setting being turned.",
                c=change_in_words("drift", drift),
            )
        )
    return said + [_measured(row) for row in measured.itertuples()]


def _measured(row):
    base = ("turned", row.knob)
    knob = say("{k}{by}", k=Name(row.knob), by=_turned_by(row))
    bound, value, high = (_saving(row, name) for name in ("bound", "measured", "high"))
    low = Number(key(*base, "low"), float(row.low), share_text(row.low).removesuffix(f"{SPACE}%"))
    if row.outcome == TOO_FEW:
        return say(
            "{k} saved {m} of a run, against a bound of {b}; there are too few runs to tell more.",
            k=knob,
            b=bound,
            m=value,
        )
    return say(
        "{k} saved {m} of a run ({low} to {high}) over {n} {c}, {outcome}.",
        k=knob,
        m=value,
        low=low,
        high=high,
        n=number_of(key(*base, "n_configurations"), row.n_configurations),
        c=plural(row.n_configurations, "configuration"),
        outcome=_outcome(row, bound),
    )


def _saving(row, name):
    """Return a figure of a turned knob."""
    value = float(getattr(row, name))
    return Number(key("turned", row.knob, name), value, share_text(value))


def _turned_by(row):
    if not row.setting:
        return ""
    by = say(", by {s}", s=Name(row.setting)) if row.setting != row.knob else ""
    return say(
        "{by} ({a} before, {b} after)", by=by, a=_level(row.setting_before), b=_level(row.setting_after)
    )


def _level(text):
    return "not set" if text == "None" else Name(text)


def _outcome(row, bound):
    if row.outcome == savings.BELOW and row.kind == "share":
        return say("less than the bound of {b}, which is for doing without its sections altogether", b=bound)
    said = {
        savings.ABOVE: "more than the bound of {b}",
        savings.AT_BOUND: "as much as the bound of {b}, within chance",
        savings.BELOW: "less than the bound of {b}",
    }
    return say(said[row.outcome], b=bound)


def why(row):
    """Say where the saving of a turned knob was made: in its own sections, and elsewhere."""
    base = ("turned", row.knob)
    still = say(
        "The sections of {k} saved {x}: they took {a} of the runtime and still take {b} of it",
        k=Name(row.knob),
        x=share(key(*base, "inside"), row.inside),
        a=share(key(*base, "governed"), row.governed),
        b=share(key(*base, "still_governed"), row.still_governed),
    )
    outside = share(key(*base, "outside"), row.outside)
    return say(
        "{still}. Outside them, where a bound assumes no change, {o} was saved; the largest change there "
        "was in {e} ({x}).",
        still=still,
        o=outside,
        e=Name(row.elsewhere),
        x=share(key(*base, "elsewhere_share"), row.elsewhere_share),
    )


def _caption_turned(measured):
    """How many knobs saved more than their bound."""
    above = int((measured["outcome"] == savings.ABOVE).sum())
    return say(
        "Bound and measured saving of {n} turned {knobs}; {a} saved more than the bound by more than chance.",
        n=number_of("turned.n", len(measured)),
        knobs=plural(len(measured), "knob"),
        a=number_of("turned.n_above", above) if above else "none",
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
        holds=(),
    )


def _intervals(frame):
    ends = zip(frame["low"], frame["high"], strict=True)
    return [span(share_text(a), share_text(b)) for a, b in ends]
