"""Frames to the tables of the estimation card (`tables` has those of the profiling page)."""

import numpy as np
import pandas as pd

from traincost.columns import count, significant
from traincost.estimation.compute import ASSUMED_UTILISATION, NOMINAL_BAND
from traincost.estimation.estimates import APART, APART_ASSUMED
from traincost.estimation.trends import ALL, LARGE, REGULAR
from traincost.results.prose import Name, say
from traincost.results.tables import Heading, Origin, Table, setting, two

BAND = f"×/÷{NOMINAL_BAND:g}, wider where the two measures lie farther apart; no coverage is claimed"
BURDEN_TIME = "what the time is of that the burden takes"


def _flop(value):
    return f"{value:.2e}"


def _months(value):
    return "no limit" if np.isinf(value) else significant(value, 3)


def _day(value):
    return f"{value:%Y-%m-%d}"


def estimates(frame):
    """What `estimates.estimate_systems` returns."""
    several = frame.loc[frame["burden_time"].ne(""), "burden_time"].nunique() > 1
    return Table(
        "estimates",
        say("Training compute of each system, in FLOP: both measures, the best estimate and its band."),
        (
            Heading("system", "system"),
            Heading("date", "date", _day),
            Heading("operations_flop", "operations", _flop, "network operations, 2007.05558 eq. 1, or 6 N D"),
            Heading("burden_flop", "burden", _flop, "hardware burden at the peak rate, 2007.05558 eq. 2"),
            *([Heading("burden_time", "time of the burden", str, BURDEN_TIME)] if several else []),
            Heading(
                "utilisation", "utilisation taken", two, f"as stated, else {ASSUMED_UTILISATION:g} assumed"
            ),
            Heading(
                "implied_utilisation", "implied utilisation", two, "operations / burden; impossible above 1"
            ),
            Heading(
                "value_flop",
                "best estimate",
                _flop,
                "√(operations · burden · utilisation taken), or what there is",
            ),
            Heading("low_flop", "band from", _flop, BAND),
            Heading("high_flop", "band to", _flop),
            Heading("stated_flop", "stated total", _flop, "what the source itself gives"),
            Heading("method", "estimated by"),
            Heading("operations_method", "operations by", str, "eq. 1 of 2007.05558; N parameters, D tokens"),
            Heading(
                "rate_note", "peak rate", str, "of the hardware named; no burden without its number and hours"
            ),
            Heading("problem", "problem"),
        ),
        frame,
        len(frame),
        "systems that were read",
        origins=tuple(Origin(1, "the system of the row", (system,)) for system in frame["system"]),
        holds=("estimates", "systems", "utilisation", "stated"),
    )


def rates(frame):
    """The peak rates that `frame`, of estimates, used: a row a processor, one for those of the input."""
    used = frame[frame["burden_flop"].gt(0) & frame["rate_flop_per_s"].gt(0)]
    used = (
        used.groupby(["rate_note", "rate_source"], sort=True)["rate_flop_per_s"]
        .agg(size="size", lowest_flop_per_s="min", median_flop_per_s="median", highest_flop_per_s="max")
        .reset_index()
    )
    ends = used["lowest_flop_per_s"].lt(used["highest_flop_per_s"]).any()
    return Table(
        "rates",
        say("Peak rates taken for the hardware burden."),
        (
            Heading("rate_note", "peak rate"),
            Heading("size", "systems", count, "with a hardware burden at this rate"),
            *([Heading("lowest_flop_per_s", "lowest FLOP/s", _flop)] if ends else []),
            Heading("median_flop_per_s", "median FLOP/s" if ends else "FLOP/s", _flop),
            *([Heading("highest_flop_per_s", "highest FLOP/s", _flop)] if ends else []),
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
    )


def left_out(frame):
    """What a sheet says was left out of it."""
    return Table(
        "left-out",
        say("Systems that the sheet leaves out, each with its reason."),
        (Heading("system", "system"), Heading("reason", "reason")),
        frame,
        len(frame),
        "systems left out",
        origins=tuple(Origin(1, "the system of the row", (system,)) for system in frame["system"]),
        holds=("systems.n_left_out",),
    )


def trends(frame, name):
    """What `trends.fit_trends` returns."""
    return Table(
        "trends",
        say("Growth of training compute in {data}, by {rows}.", data=Name(name), rows=_of_eras(frame)),
        (
            Heading("era_start", "era from"),
            Heading("group", "group", str, GROUPS),
            Heading("n", "systems", count),
            Heading("first", "first system", _day),
            Heading("last", "last system", _day),
            *_DOUBLING,
            Heading("slope", "slope", two, "orders of magnitude a year"),
            Heading("slope_low", "slope from", two, "95 %, bootstrap"),
            Heading("slope_high", "slope to", two),
            Heading("slope_t_low", "slope from, t", two, "95 %, Student's t of the line"),
            Heading("slope_t_high", "slope to, t", two),
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


def _of_eras(frame):
    return "era and group" if len(frame) and frame["era_start"].nunique() > 1 else "group"


GROUPS = f"{LARGE}: set apart by its z-score; {REGULAR}: the others of such an era; {ALL}: none is set apart"
_DOUBLING = (
    Heading("doubling_months", "doubling (months)", _months),
    Heading("doubling_low", "doubling from", _months, "months; of the bootstrap interval of the slope"),
    Heading("doubling_high", "doubling to", _months),
)
_CHOICES = {
    "window_days": "window (days)",
    "large_z": "threshold of large scale (z)",
    "noise": "noise (×/÷)",
}


def sensitivity(frame):
    """What `trends.sensitivity` returns."""
    return Table(
        "sensitivity",
        say("The doubling time when one choice of the method is changed."),
        (
            Heading("changed", "choice changed"),
            Heading("value", "to", setting),
            Heading("era_start", "era from"),
            Heading("group", "group"),
            Heading("n", "systems", count),
            *_DOUBLING,
        ),
        frame.assign(changed=frame["choice"].map(_CHOICES)) if len(frame) else frame,
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
            Heading("low", "interval from", two, "of the exponent; prediction interval of a projection"),
            Heading("high", "interval to", two),
        ),
        pd.DataFrame(rows, columns=["quantity", "value", "low", "high"]),
        int(exponents["n"]),
        "systems with an error and an estimate",
        holds=("error", "projection"),
    )


def own_contradictions(frame):
    """What `estimates.contradictions` returns."""
    measures_alone = frame["kind"].isin([APART, APART_ASSUMED]).all()
    caption = "Systems whose two measures disagree." if measures_alone else "Systems whose figures disagree."
    return Table(
        "contradictions",
        say(caption),
        (
            Heading("subject", "system"),
            Heading("kind", "what disagrees"),
            Heading("first", "first value", _three),
            Heading("first_source", "its source"),
            Heading("second", "second value", _three),
            Heading("second_source", "its source"),
            Heading("ratio", "ratio", significant, "the larger over the smaller"),
            Heading("note", "note"),
        ),
        frame,
        len(frame),
        "contradictions",
        origins=tuple(Origin(1, "the system of the row", (subject,)) for subject in frame["subject"]),
    )


def claims(frame):
    """What `estimates.claim_contradictions` returns."""
    return Table(
        "claims",
        say("Where printed claims about one thing differ."),
        (
            Heading("subject", "claim"),
            Heading("first", "lowest", setting),
            Heading("first_source", "printed in"),
            Heading("second", "highest", setting),
            Heading("second_source", "printed in"),
            Heading("ratio", "ratio", _four),
            Heading("note", "note"),
        ),
        frame.assign(first=frame["first"].astype(float), second=frame["second"].astype(float)),
        len(frame),
        "claims printed in several places",
        origins=tuple(Origin(1, "the claim of the row", (subject,)) for subject in frame["subject"]),
        holds=("contradictions.n_claims",),
    )


def _three(value):
    """Print a compute or a utilisation with three digits."""
    return f"{value:.3g}"


def _four(value):
    return f"{value:.4g}"


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
