"""Doubling times of training compute by era and group: their sentences and tables."""

import numpy as np

from traincost.estimation import trends as estimation
from traincost.estimation.trends import ALL, LARGE, REGULAR
from traincost.printing import count, significant, span, two
from traincost.results.numbers import first_names, key, number_of, plural
from traincost.results.prose import Name, Number, When, join, say
from traincost.results.tables import Heading, Origin, Table, as_printed

GROUP_NAMES = {ALL: "all systems", REGULAR: "regular-scale systems", LARGE: "large-scale systems"}
GROUPS = f"{LARGE}: set apart by its z-score; {REGULAR}: the others of such an era; {ALL}: none is set apart"


def growth(fitted, what, options):
    """Each doubling time with its data, period and filter."""
    if not len(fitted):
        return [say("No era holds three dated systems over a year or more, so no trend is fitted.")]
    return [_doubling(row, what, options["drop_low"]) for row in fitted.itertuples()]


def grouped(fitted, options, unfitted):
    """What the filter is, who is in no fit, and what an interval is."""
    if not len(fitted):
        return []
    return [
        *_outliers(fitted["descriptive"].any(), options),
        *_unfitted(unfitted),
        say(
            "An interval is the wider, at either end, of Student's t and of {n} seeded draws of systems, "
            "each drawn estimate off by a log-uniform factor of up to {noise}; a month is a twelfth of a "
            "mean year.",
            n=number_of("trends.n_draws", options["n_draws"]),
            noise=Number("trends.noise", estimation.NOISE, f"{estimation.NOISE:g}"),
            month=Number("trends.month_days", options["days_per_month"], f"{options['days_per_month']:.4g}"),
        ),
    ]


def _doubling(row, what, dropped):
    base = ("trends", row.era_start, row.group)
    lead = say(
        "{data}, {a} to {b}, {group} ({n} systems{dropped}): ",
        dropped=", low outliers dropped" if dropped else "",
        data=what,
        a=When(f"{row.first:%Y-%m}"),
        b=When(f"{row.last:%Y-%m}"),
        group=GROUP_NAMES[row.group],
        n=number_of(key(*base, "n"), row.n),
    )
    if row.n < estimation.MIN_SYSTEMS:
        least = number_of("trends.min_systems", estimation.MIN_SYSTEMS)
        return join([lead, say("too few; growth is claimed from {k} systems on.", k=least)], "")
    low = months(key(*base, "doubling_low"), row.doubling_low)
    if max(row.slope_high, row.slope_t_high) <= 0:
        said = say("compute does not grow.")
    elif not row.established:
        said = say(
            "growth is not established; a doubling takes at least {low}, without upper limit.", low=low
        )
    else:
        said = say(
            "compute doubles in {d} (interval {low} to {high}).",
            d=months(key(*base, "doubling_months"), row.doubling_months),
            low=low,
            high=months(key(*base, "doubling_high"), row.doubling_high),
        )
    return join([lead, said], "")


def months(name, value):
    """Return a doubling time as it is printed."""
    return Number(name, float(value), f"{significant(value, 2)} months")


def _outliers(large, options):
    """Say what a low outlier is, and a large-scale system where these are set apart."""
    if not options["drop_low"]:
        return []
    set_apart = say(
        ", one more than {z} above it, after {start}, is large-scale, and the others are regular-scale",
        z=Number("trend.large_z", options["large_z"], f"{options['large_z']:g}"),
        start=When(options["large_from"]),
    )
    said = say(
        "Each system is set against those published within {window} days of it: one whose log₁₀ compute is "
        "more than {low} standard deviations below their mean is a low outlier{large}.",
        window=number_of("trend.window_days", options["window_days"]),
        low=Number("trend.low_z", -options["low_z"], f"{-options['low_z']:g}"),
        large=set_apart if large else "",
    )
    descriptive = say(
        "Large-scale systems were set apart by their compute itself, so the gap between the groups, "
        "and how well each fits, is no evidence of two trends."
    )
    return [said, descriptive] if large else [said]


def _unfitted(unfitted):
    """Name the systems that are in no fit, by the reason."""
    low = unfitted.loc[unfitted["low_outlier"], "system"]
    few = unfitted.loc[~unfitted["low_outlier"], "system"]
    reasons = (
        ("n_low", low, plural(len(low), "low outlier")),
        ("n_few", few, "in an era and group too small for a fit"),
    )
    parts = [
        say("{n} {why} ({who})", n=number_of(key("trend", name), len(who)), why=why, who=first_names(who))
        for name, who, why in reasons
        if len(who)
    ]
    if not parts:
        return []
    n = number_of("trend.n_unfitted", len(unfitted))
    are = plural(len(unfitted), "is", "are")
    return [say("Of the dated systems, {n} {are} in no fit: {parts}.", n=n, are=are, parts=parts)]


def rows_of(fitted):
    """Say what makes a row: an era and group, or a group alone."""
    return "era and group" if fitted["era_start"].nunique() > 1 else "group"


def _print_months(value):
    return "no limit" if np.isinf(value) else significant(value, 3)


DOUBLING = (
    Heading("doubling_months", "doubling (months)", _print_months),
    Heading("doubling_low", "doubling from", _print_months, "months; of the wider interval of the slope"),
    Heading("doubling_high", "doubling to", _print_months),
)


def doubling_table(frame, changed):
    """The doubling time of each group, beside those that other choices of the method give."""
    if not len(frame):
        return None
    known = (
        changed[changed["established"]].groupby(["era_start", "group"])["doubling_months"].agg(["min", "max"])
    )
    told = frame["established"] & frame["n"].ge(estimation.MIN_SYSTEMS)
    ends = [
        known.loc[each] if each in known.index else None
        for each in zip(frame["era_start"], frame["group"], strict=True)
    ]
    printed = frame.assign(
        dates=[f"{row.first:%Y-%m} to {row.last:%Y-%m}" for row in frame.itertuples()],
        interval=[
            _span(low, high) for low, high in zip(frame["doubling_low"], frame["doubling_high"], strict=True)
        ],
        others=["–" if end is None else _span(end["min"], end["max"]) for end in ends],
        row=np.where(told, "", "quiet"),
    )
    return Table(
        "doubling",
        say("Doubling time, in months"),
        (
            Heading("group", "group", sub="dates"),
            Heading("n", "systems", count),
            Heading(
                "doubling_months",
                "months",
                lambda value: "no limit" if np.isinf(value) else significant(value, 2),
            ),
            Heading("interval", "interval", as_printed),
            Heading("others", "other choices", as_printed, hide_on_phone=True),
        ),
        printed,
        int(frame["n"].sum()),
        "dated systems in the period, low outliers dropped",
        holds=("trends", "sensitivity"),
        note=None if told.all() else say("Of a muted group growth is not established."),
        rows="row",
    )


def _span(low, high):
    return span(*("no limit" if np.isinf(end) else significant(end, 2) for end in (low, high)))


def trends_table(frame, data):
    """What `estimation.trends.fit_trends` returns."""
    if not len(frame):
        return None
    kept = "low outliers dropped"
    return Table(
        "trends",
        say("Growth of training compute in {data}, by {rows}.", data=Name(data), rows=rows_of(frame)),
        (
            Heading("era_start", "era from"),
            Heading("group", "group", str, GROUPS),
            Heading("n", "systems", count),
            Heading("first", "first system", "{:%Y-%m-%d}".format),
            Heading("last", "last system", "{:%Y-%m-%d}".format),
            *DOUBLING,
            Heading("slope", "slope", two, "orders of magnitude a year"),
            Heading("slope_low", "slope from", two, "95 %, bootstrap"),
            Heading("slope_high", "slope to", two),
            Heading("slope_t_low", "slope from, t", two, "95 %, Student's t of the line"),
            Heading("slope_t_high", "slope to, t", two),
            Heading("r_squared", "R²", two),
        ),
        frame,
        int(frame["n"].sum()),
        f"dated systems in the period, {kept}",
        tuple(
            Origin(int(row.n), f"{row.group} systems of the era from {row.era_start}, {kept}")
            for row in frame.itertuples()
        ),
    )
