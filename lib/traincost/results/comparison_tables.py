"""Frames of a comparison to its tables."""

import numpy as np

from traincost.columns import SCORE_PREFIX, column, count, probability, significant
from traincost.results.prose import Number, say
from traincost.results.tables import Heading, Table, as_printed


def changes(frame, unit):
    """What `comparison.runtime_change` returns."""
    printed = frame.assign(scope=_scopes(frame), interval=_intervals(frame))
    return Table(
        "changes",
        say("Paired change of runtime, overall and by level."),
        (
            Heading("scope", "configurations"),
            Heading("n_configurations", "number", count),
            Heading("n_pairs", "pairs", count),
            Heading("before_s", f"before ({unit.symbol})", unit.number, "mean over configurations"),
            Heading("after_s", f"after ({unit.symbol})", unit.number),
            Heading(
                "change", "change", signed_percent, "exp of the mean difference of log runtime, less one"
            ),
            Heading("interval", "interval", str, "95 %, t, of a row alone; levels share a variance"),
            Heading("p_family", "p", probability, "two-sided t, family-wise over the rows (Holm)"),
            Heading("verdict", "verdict"),
        ),
        printed,
        int(frame["n_pairs"].iloc[0]),
        "paired runs",
        holds=("change", "factors", "pairs", "runs"),
    )


def _scopes(frame):
    pairs = zip(frame["factor"], frame["level"], strict=True)
    return [f"{factor}={level}" if factor else level for factor, level in pairs]


def _intervals(frame):
    ends = zip(frame["low"], frame["high"], strict=True)
    return ["–" if np.isnan(a) else f"{signed_percent(a)} to {signed_percent(b)}" for a, b in ends]


def signed_percent(value):
    """Print a change in percent with its sign."""
    return f"{100 * value:+.2f} %".replace("-", "−")


def signed(value):
    """Print seconds with their sign."""
    return f"{'−' if value < 0 else '+'}{significant(abs(value), 3)}" if value else "0"


def mean_count(value):
    """Print a mean of counts: one that is whole, to rounding, without decimals."""
    whole = np.round(value)
    return count(whole) if np.isclose(value, whole, rtol=1e-9, atol=0) else significant(value)


def parts(frame, n_runs):
    """The parts of a `comparison.Decomposition`."""
    return Table(
        "parts",
        say("Change of the mean runtime by part, in seconds. The last column sums to the change."),
        (
            Heading("part", "part"),
            Heading("count_before", "times before", mean_count, "mean per run"),
            Heading("count_after", "times after", mean_count),
            Heading("call_before_s", "one call before (s)", significant),
            Heading("call_after_s", "one call after (s)", significant),
            Heading("count_s", "by how often", signed, "midpoint weights: no order of the two is preferred"),
            Heading("call_s", "by what a call costs", signed),
            Heading("total_s", "in all", signed),
        ),
        frame,
        n_runs,
        holds=("mean", "part"),
    )


def column_changes(frame):
    """What `comparison.column_changes` returns."""
    names = [name.removeprefix(SCORE_PREFIX) for name in frame["column"]]
    printers = [signed_percent if relative else signed for relative in frame["relative"]]
    printed = frame.assign(
        name=names,
        **{
            f"{side}_text": [column(name).text(value) for name, value in zip(names, frame[side], strict=True)]
            for side in ("before", "after")
        },
        difference=[
            printer(value) if value else "0" for printer, value in zip(printers, frame["change"], strict=True)
        ],
        interval=[
            "–" if np.isnan(low) else f"{printer(low)} to {printer(high)}"
            for printer, low, high in zip(printers, frame["low"], frame["high"], strict=True)
        ],
    )
    ratio = "of a cost the geometric mean of after / before, less one; of a score the mean difference"
    return Table(
        "columns",
        say("Cost columns and scores before and after, over paired configurations."),
        (
            Heading("name", "column"),
            Heading("n_configurations", "configurations", count),
            Heading("before_text", "before", as_printed),
            Heading("after_text", "after", as_printed),
            Heading("difference", "change", as_printed, ratio),
            Heading("interval", "interval", str, "95 %, t"),
            Heading("p_family", "p", probability, "two-sided t, family-wise over the rows (Holm)"),
            Heading("verdict", "verdict"),
        ),
        printed,
        int(frame["n_configurations"].max()) if len(frame) else 0,
        "paired configurations",
        holds=("column",),
    )


def changed_settings(frame):
    """The shared settings that differ."""
    return Table(
        "changed",
        say("Settings that have no level in common before and after."),
        (Heading("setting", "setting"), Heading("before", "before"), Heading("after", "after")),
        frame,
        0,
        "settings",
    )


def unpaired(frame):
    """The runs that have no counterpart."""
    return Table(
        "unpaired",
        say("Runs without a pair: {n}.", n=Number("unpaired.n", len(frame), count(len(frame)))),
        (
            Heading("run_id", "run"),
            Heading("side", "side"),
            Heading("path", "path"),
            Heading("reason", "reason"),
        ),
        frame,
        len(frame),
        "unpaired runs",
    )
