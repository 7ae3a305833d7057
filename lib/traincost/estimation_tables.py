"""Frames to the tables of the estimation card (`tables` has those of the profiling page)."""

import numpy as np
import pandas as pd

from traincost.columns import count, significant
from traincost.compute import ASSUMED_UTILISATION, NOMINAL_BAND
from traincost.prose import Name, say
from traincost.tables import Heading, Origin, Table, parameters, two, versions  # noqa: F401 - the card shows them too


def _flop(value):
    return f"{value:.2e}"


def _months(value):
    return "no limit" if np.isinf(value) else significant(value, 3)


def _day(value):
    return f"{value:%Y-%m-%d}"


def estimates(frame):
    """What `estimates.estimate_systems` returns."""
    return Table(
        "estimates",
        say("Training compute of each system, in FLOP: both measures, the best estimate and its band."),
        (
            Heading("system", "system"),
            Heading("date", "date", _day),
            Heading("operations_flop", "operations", _flop, "network operations, 2007.05558 eq. 1, or 6 N D"),
            Heading("burden_flop", "burden", _flop, "hardware burden at the peak rate, 2007.05558 eq. 2"),
            Heading("utilisation", "utilisation", two, f"as stated, else {ASSUMED_UTILISATION:g} assumed"),
            Heading("implied_utilisation", "implied", two, "operations / burden; above 1 is a contradiction"),
            Heading("value_flop", "best estimate", _flop),
            Heading(
                "low_flop", "from", _flop, f"nominal ×/÷{NOMINAL_BAND:g} without claimed coverage, or wider"
            ),
            Heading("high_flop", "to", _flop),
            Heading("stated_flop", "stated", _flop, "what the source itself gives as its total"),
            Heading("method", "method"),
            Heading("operations_method", "operations by"),
            Heading("rate_note", "rate"),
            Heading("problem", "problem"),
        ),
        frame,
        len(frame),
        "systems that were read",
        origins=tuple(Origin(1, "the system of the row", (system,)) for system in frame["system"]),
        holds=("estimates", "systems", "utilisation", "stated"),
    )


def rates(frame):
    """The peak rates that `frame`, of estimates, used."""
    used = frame[frame["burden_flop"].gt(0) & frame["rate_flop_per_s"].gt(0)]
    used = (
        used.groupby(["rate_note", "rate_source", "rate_flop_per_s"], sort=True)
        .size()
        .reset_index(name="size")
    )
    return Table(
        "rates",
        say("Peak rates taken for the hardware burden."),
        (
            Heading("rate_note", "rate"),
            Heading("rate_flop_per_s", "FLOP/s", _flop),
            Heading("size", "systems", count),
            Heading("rate_source", "source"),
        ),
        used,
        int(used["size"].sum()),
        "systems with a hardware burden at a known rate",
        origins=tuple(Origin(int(n), "systems with a hardware burden at this rate") for n in used["size"]),
    )


def sources(where):
    """Where each figure of a sheet stands."""
    return Table(
        "sources",
        say("Where each figure stands in its paper, with the words as printed."),
        (
            Heading("system", "system"),
            Heading("source", "paper"),
            Heading("figure", "figure"),
            Heading("value", "value"),
            Heading("at", "where"),
            Heading("printed", "as printed"),
        ),
        where,
        where["system"].nunique(),
        "figures of the sheet",
        origins=tuple(Origin(1, "the system of the row", (system,)) for system in where["system"]),
        holds=("systems.n_left_out",),
    )


def trends(frame, name):
    """What `trends.fit_trends` returns."""
    return Table(
        "trends",
        say("Growth of training compute in {data}, by era and group.", data=Name(name)),
        (
            Heading("era_start", "era from"),
            Heading("group", "group"),
            Heading("n", "systems", count),
            Heading("first", "first", _day),
            Heading("last", "last", _day),
            Heading("slope", "slope", two, "orders of magnitude a year"),
            Heading("slope_low", "from", two, "bootstrap"),
            Heading("slope_high", "to", two),
            Heading("slope_t_low", "t from", two, "least squares"),
            Heading("slope_t_high", "t to", two),
            Heading("doubling_months", "doubling (months)", _months),
            Heading("doubling_low", "at least", _months),
            Heading("doubling_high", "at most", _months),
            Heading("r_squared", "R²", two),
        ),
        frame,
        int(frame["n"].sum()) if len(frame) else 0,
        "dated systems in the period, low outliers dropped",
        origins=tuple(
            Origin(int(n), f"{group} systems of the era from {era}, low outliers dropped")
            for n, group, era in _columns(frame, "n", "group", "era_start")
        ),
    )


def sensitivity(frame):
    """What `trends.sensitivity` returns."""
    return Table(
        "sensitivity",
        say("The doubling time when one choice of the method is changed."),
        (
            Heading("choice", "choice"),
            Heading("value", "value", significant),
            Heading("era_start", "era from"),
            Heading("group", "group"),
            Heading("n", "systems", count),
            Heading("doubling_months", "doubling (months)", _months),
            Heading("doubling_low", "at least", _months),
            Heading("doubling_high", "at most", _months),
        ),
        frame,
        int(frame["n"].max()) if len(frame) else 0,
        "dated systems of the largest group",
        origins=tuple(
            Origin(int(n), "dated systems of the row's era and group") for (n,) in _columns(frame, "n")
        ),
    )


def _columns(frame, *names):
    """Return the rows of some columns; an empty frame may lack them."""
    return frame[list(names)].itertuples(index=False, name=None) if len(frame) else ()


def errors(fits):
    """What `estimates.fit_errors` returns, as one row per quantity; None where it fits nothing."""
    if not fits:
        return None
    exponents = fits["exponents"]
    projections = fits["projections"].items() if exponents["established"] else ()
    rows = [
        ("exponent", exponents["error_on_compute"], exponents["low"], exponents["high"]),
        ("exponent, regressed the other way", exponents["compute_on_error"], np.nan, np.nan),
        *(
            (f"log10 of the FLOP projected, {form} form", found["log10_flop"], found["low"], found["high"])
            for form, found in projections
        ),
    ]
    return Table(
        "errors",
        say("Error against compute: exponents, and what the target would take."),
        (
            Heading("quantity", "quantity"),
            Heading("value", "value", two),
            Heading("low", "from", two, "interval of the exponent, prediction interval of a projection"),
            Heading("high", "to", two),
        ),
        pd.DataFrame(rows, columns=["quantity", "value", "low", "high"]),
        int(exponents["n"]),
        "systems with an error and an estimate",
        holds=("error", "projection"),
    )


def own_contradictions(frame):
    """What `estimates.contradictions` returns."""
    return _contradictions(frame, "contradictions", "What the systems' own figures contradict.")


def claims(frame):
    """What `estimates.claim_contradictions` returns."""
    return _contradictions(frame, "claims", "Where printed claims about one thing differ.", "n_claims")


def _contradictions(frame, name, caption, counted="n_own"):
    return Table(
        name,
        say(caption),
        (
            Heading("subject", "of what"),
            Heading("kind", "kind"),
            Heading("first", "one value", significant),
            Heading("first_source", "where"),
            Heading("second", "the other", significant),
            Heading("second_source", "where"),
            Heading("ratio", "ratio", significant),
            Heading("note", "note"),
        ),
        frame,
        len(frame),
        "contradictions",
        origins=tuple(
            Origin(1, "the system or claim of the row", (subject,)) for subject in frame["subject"]
        ),
        holds=(f"contradictions.{counted}", "contradictions"),
    )


def rejected(frame):
    """What could not be used of the input."""
    return Table(
        "rejected",
        say("What could not be used, by row and column."),
        (
            Heading("row", "row", count),
            Heading("system", "system"),
            Heading("column", "column"),
            Heading("reason", "reason"),
        ),
        frame,
        len(frame),
        "rows with a problem",
        holds=("systems.n_rejected",),
    )
