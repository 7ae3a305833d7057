"""Doubling times of training compute by era and group: their sentences and tables."""

import numpy as np

from traincost.estimation import trends as estimation
from traincost.estimation.trends import ALL, LARGE, REGULAR
from traincost.printing import count, significant, span, two
from traincost.results.prose import Name, Number, When, first_names, join, key, say
from traincost.results.result import More
from traincost.results.tables import Heading, Origin, Table, as_printed, setting

GROUP_NAMES = {ALL: "all systems", REGULAR: "regular-scale systems", LARGE: "large-scale systems"}
GROUPS = f"{LARGE}: set apart by its z-score; {REGULAR}: the others of such an era; {ALL}: none is set apart"


def growth_blocks(fitted, changed, unfitted, what, of, options):
    """Return what is said and tabled of doubling times."""
    return (
        _growth(fitted, what, options),
        _doubling_table(fitted, changed),
        More(
            say("How systems are grouped, and the slopes of the fits"),
            (_grouped(fitted, options, unfitted), _trends_table(fitted, of)),
        ),
    )


def _growth(fitted, what, options):
    """Each doubling time with its data, period and filter."""
    if not len(fitted):
        yield say("No era holds three dated systems over a year or more, so no trend is fitted.")
    for row in fitted.itertuples():
        yield _doubling(row, what, options["drop_low"])


def _grouped(fitted, options, unfitted):
    """What the filter is, who is in no fit, and what an interval is."""
    if not len(fitted):
        return
    if options["drop_low"]:
        yield from _outliers(fitted["descriptive"].any(), options)
    yield _unfitted(unfitted)
    yield say(
        "An interval is the wider, at either end, of Student's t and of {n} seeded draws of systems, each "
        "drawn estimate off by a log-uniform factor of up to {noise}; a month is a twelfth of a mean year.",
        n=Number.count("trends.n_draws", options["n_draws"]),
        noise=Number.of("trends.noise", estimation.NOISE, "{:g}".format),
    )


def _doubling(row, what, dropped):
    base = ("trends", row.era_start, row.group)
    lead = say(
        "{data}, {a} to {b}, {group} ({n} systems{dropped}): ",
        dropped=", low outliers dropped" if dropped else "",
        data=what,
        a=When(f"{row.first:%Y-%m}"),
        b=When(f"{row.last:%Y-%m}"),
        group=GROUP_NAMES[row.group],
        n=Number.count(key(*base, "n"), row.n),
    )
    if row.n < estimation.MIN_SYSTEMS:
        least = Number.count("trends.min_systems", estimation.MIN_SYSTEMS)
        return join([lead, say("too few; growth is claimed from {k} systems on.", k=least)], "")
    said = "compute doubles in {doubling_months} (interval {doubling_low} to {doubling_high})."
    if max(row.slope_high, row.slope_t_high) <= 0:
        said = "compute does not grow."
    elif not row.established:
        said = "growth is not established; a doubling takes at least {doubling_low}, without upper limit."
    return join([lead, say(said, **doubling_of(row))], "")


def doubling_of(row):
    """Return the doubling time of a fit and its interval, by name."""
    names = ("doubling_months", "doubling_low", "doubling_high")
    return {name: months(key("trends", row.era_start, row.group, name), getattr(row, name)) for name in names}


def months(name, value):
    """Return a doubling time as it is printed."""
    return Number(name, float(value), f"{significant(value, 2)} months")


def _outliers(is_apart, options):
    """Say what a low outlier is, and a large-scale system where these are set apart."""
    yield say(
        "Each system is set against those published within {window} days of it: one whose log₁₀ compute is "
        "more than {low} standard deviations below their mean is a low outlier[, one more than {z} above it, "
        "after {start}, is large-scale, and the others are regular-scale].",
        window=Number.count("trend.window_days", options["window_days"]),
        low=Number("trend.low_z", -options["low_z"], f"{-options['low_z']:g}"),
        z=Number("trend.large_z", options["large_z"], f"{options['large_z']:g}") if is_apart else None,
        start=When(options["large_from"]),
    )
    if is_apart:
        yield say(
            "Large-scale systems were set apart by their compute itself, so the gap between the groups, and "
            "how well each fits, is no evidence of two trends."
        )


def _unfitted(unfitted):
    low = unfitted.loc[unfitted["low_outlier"], "system"]
    few = unfitted.loc[~unfitted["low_outlier"], "system"]
    reasons = {
        "n_low": (low, "low {n:outlier|outliers}"),
        "n_few": (few, "in an era and group too small for a fit"),
    }
    parts = [
        say(f"{{n}} {why} ({{who}})", n=Number.count(key("trend", name), len(who)), who=first_names(who))
        for name, (who, why) in reasons.items()
        if len(who)
    ]
    if not parts:
        return None
    n = Number.count("trend.n_unfitted", len(unfitted))
    return say("Of the dated systems, {n} {n:is|are} in no fit: {parts}.", n=n, parts=parts)


def rows_of(fitted):
    """Say what makes a row: an era and group, or a group alone."""
    return "era and group" if fitted["era_start"].nunique() > 1 else "group"


def _print_months(value, digits=3):
    return "no limit" if np.isinf(value) else significant(value, digits)


DOUBLING = (
    Heading("doubling_months", "doubling (months)", _print_months),
    Heading("doubling_low", "doubling from", _print_months, "months; of the wider interval of the slope"),
    Heading("doubling_high", "doubling to", _print_months),
)


def _doubling_table(frame, changed):
    """The doubling time of each group, beside those that other choices of the method give."""
    if not len(frame):
        return None
    known = changed[changed["established"]].groupby(["era_start", "group"])["doubling_months"]
    known = known.agg(["min", "max"])
    told = frame["established"] & frame["n"].ge(estimation.MIN_SYSTEMS)
    ends = [
        known.loc[each] if each in known.index else None
        for each in zip(frame["era_start"], frame["group"], strict=True)
    ]
    printed = frame.assign(
        dates=[f"{row.first:%Y-%m} to {row.last:%Y-%m}" for row in frame.itertuples()],
        interval=list(map(_span, frame["doubling_low"], frame["doubling_high"])),
        others=["–" if end is None else _span(end["min"], end["max"]) for end in ends],
        row=np.where(told, "", "quiet"),
    )
    return Table(
        "doubling",
        say("Doubling time, in months"),
        (
            Heading("group", "group", sub="dates"),
            Heading("n", "systems", count),
            Heading("doubling_months", "months", lambda value: _print_months(value, 2)),
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
    return span(_print_months(low, 2), _print_months(high, 2))


def _trends_table(frame, data):
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


# -- how far doubling times move when one choice of the method changes -------------------------


def sensitivity_block(changed, fitted):
    """Return what is said and tabled of doubling times under other choices."""
    return More(
        say("The doubling time under every choice that was tried"),
        (_sensitive(changed, fitted), _sensitivity_table(changed)),
    )


def _sensitive(changed, fitted):
    """How far each group's doubling time moves when one choice changes, beside the interval of the fit."""
    if not len(changed) or not len(fitted):
        return
    last = changed[changed["era_start"] == changed["era_start"].max()]
    era = "In the last era, with" if fitted["era_start"].nunique() > 1 else "With"
    for group, rows in last.groupby("group", sort=False):
        if rows["established"].any():
            yield _moves(era, group, rows, fitted)
    if last["established"].any():
        yield say(
            "Such a range is not the uncertainty of a fit; a change of the noise moves its interval alone."
        )


def _moves(era, group, rows, fitted):
    base, known = ("sensitivity", group), rows[rows["established"]]
    is_same = fitted["era_start"].eq(rows["era_start"].iloc[0]) & fitted["group"].eq(group)
    unchanged = [doubling_of(row) for row in fitted[is_same & fitted["established"]].itertuples()]
    ends = unchanged[0] if unchanged else {"doubling_low": None, "doubling_high": None}
    return say(
        "{era} one choice changed at a time, the doubling time fitted to {group} moves between {a} and {b} "
        "(growth is established under {n} of {of} choices of window, threshold and noise)[; the interval of "
        "the fit above is {doubling_low} to {doubling_high}].",
        era=era,
        group=GROUP_NAMES[group],
        a=months(key(*base, "low"), known["doubling_months"].min()),
        b=months(key(*base, "high"), known["doubling_months"].max()),
        n=Number.count(key(*base, "n"), len(known)),
        of=Number.count(key(*base, "of"), len(rows)),
        **ends,
    )


_CHOICES = {
    "window_days": "window (days)",
    "large_z": "threshold of large scale (z)",
    "noise": "noise (×/÷)",
}


def _sensitivity_table(frame):
    """What `estimation.trends.sensitivity` returns."""
    if not len(frame):
        return None
    return Table(
        "sensitivity",
        say("The doubling time when one choice of the method is changed."),
        (
            Heading("changed", "choice changed"),
            Heading("value", "to", setting),
            Heading("era_start", "era from"),
            Heading("group", "group"),
            Heading("n", "systems", count),
            *DOUBLING,
        ),
        frame.assign(changed=frame["choice"].map(_CHOICES)),
        int(frame["n"].max()),
        "dated systems of the largest group",
        tuple(Origin(int(n), "dated systems of the row's era and group") for n in frame["n"]),
    )
