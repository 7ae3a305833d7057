"""How training compute grew over the years: doubling times by era and group, and how sensitive they are."""

import itertools

import matplotlib as mpl
import numpy as np

from traincost.estimation import estimates
from traincost.estimation import trends as estimation
from traincost.estimation.trends import ALL, LARGE, REGULAR
from traincost.printing import count, significant, span, two
from traincost.results import checks
from traincost.results.beside import name_points
from traincost.results.figures import (
    Figure,
    axes_of,
    is_wide,
    labels_on_grid,
    powers_of_ten,
    thinned,
)
from traincost.results.numbers import first_names, key, number_of, plural
from traincost.results.prose import Name, Number, When, join, say
from traincost.results.result import More, Result
from traincost.results.svg import MUTED, PAGE, SERIES
from traincost.results.tables import Heading, Origin, Table, as_printed, setting

GROUP_NAMES = {ALL: "all systems", REGULAR: "regular-scale systems", LARGE: "large-scale systems"}
MAX_NAMED = 12  # systems that a figure tries to name
ERAS = tuple(end for _, end in estimation.ERAS[:-1])  # dates at which one ends and the next begins
EARLIEST, LATEST = estimation.ERAS[0][0], estimation.ERAS[-1][1]
GROUPS = f"{LARGE}: set apart by its z-score; {REGULAR}: the others of such an era; {ALL}: none is set apart"


def trends(
    systems,
    *,
    subset="",
    start="",
    end="",
    eras=ERAS,
    split="large",
    large_z=estimation.LARGE_Z,
    large_from=estimation.LARGE_FROM,
    outliers="low",
    low_z=estimation.LOW_Z,
    window_days=estimation.WINDOW_DAYS,
    measure=estimates.BEST,
    month_days=estimation.DAYS_PER_MONTH,
    year_days=estimation.DAYS_PER_YEAR,
    n_draws=estimation.N_DRAWS,
    name="",
):
    """Fit the growth of training compute by era and group, as 2202.05924 does.

    A line of log10 FLOP on date by least squares; the doubling time is log10(2) / slope. Low outliers
    are dropped and large-scale systems set apart by their z-score among systems of about the same date.

    Parameters
    ----------
    systems : Result
        What `estimate` returned.
    subset : str
        ``records``, ``largest N`` of each window of dates, or a domain; all if empty.
    start, end : str
        Dates such as ``2015-09-01``; only systems between them, both excluded, are used.
    eras : list of str
        Dates at which one era ends and the next begins; one era of all if empty.
    split, large_z, large_from
        ``large``: systems whose z-score is above `large_z` after `large_from` are set apart; ``none``: not.
    outliers, low_z
        ``low``: systems whose z-score is below `low_z` are dropped; ``none``: not.
    window_days : int
        Either side of a system, of those that it is set against.
    measure : str
        ``best``, ``stated``, ``operations``, ``burden``, ``consolidated`` or ``forward``, as of `estimate`.
    month_days, year_days : float
        Of the doubling time and the slope; 30 and 365 are those of 2202.05924.
    n_draws : int
        Bootstrap draws that the intervals are from, at least 100.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per era and group, doubling times in months, as
        `estimation.trends.fit_trends` returns it. Its parts: ``growth``, and ``sensitivity`` (to the
        window, the threshold of large scale, and the noise).

    Raises
    ------
    ParameterError
        An argument cannot be used.

    Examples
    --------
    >>> list(trends(estimate(systems), n_draws=100).frame["group"])
    ['regular scale', 'large scale']
    """
    checks.check(
        start=start,
        end=end,
        eras=eras,
        split=split,
        large_from=large_from,
        outliers=outliers,
        window_days=window_days,
        measure=measure,
        month_days=month_days,
        year_days=year_days,
        n_draws=n_draws,
    )
    period = {"start": start or None, "end": end or None}
    windows = {"window_days": window_days, "low_z": low_z, "large_z": large_z, "large_from": large_from}
    options = {
        **windows,
        "eras": _pairs(eras),
        "split_large": split == "large",
        "drop_low": outliers == "low",
        "days_per_month": month_days,
        "days_per_year": year_days,
        "n_draws": n_draws,
    }
    fit = estimates.fit_conversion(systems.frame) if measure == estimates.CONSOLIDATED else None
    dated = estimation.subset(estimates.dated(systems.frame, measure, fit), subset)
    fitted = estimation.fit_trends(dated, **period, **options)
    changed = estimation.sensitivity(dated, **period, **options)
    scored = estimation.window_scores(estimation.in_period(dated, **period), **windows)
    if outliers == "none":
        scored["low_outlier"] = False
    if split == "none":
        scored["large_scale"] = False
    what = (
        say("{data} ({subset})", data=Name(systems.of), subset=Name(subset)) if subset else Name(systems.of)
    )
    parts = {
        "figure": (
            fitted,
            Figure.of("trend", fitted, draw_trends, _caption, scored, note=_drawn(), wide=True),
        ),
        "growth": (
            fitted,
            _growth(fitted, what, options),
            _doubling_table(fitted, changed),
            More(
                say("How systems are grouped, and the slopes of the fits"),
                (
                    _grouped(fitted, options, estimation.not_fitted(scored, options["eras"])),
                    _trends_table(fitted, systems.of),
                ),
            ),
        ),
        "sensitivity": (
            changed,
            More(
                say("The doubling time under every choice that was tried"),
                (_sensitive(changed, fitted), _sensitivity_table(changed)),
            ),
        ),
    }
    return Result.of_parts("trends", fitted, parts, name, systems.of)


def _pairs(eras):
    """Return eras as (start, end) of the dates between them."""
    return tuple(itertools.pairwise([EARLIEST, *eras, LATEST]))


def _growth(fitted, what, options):
    """Each doubling time with its data, period and filter."""
    if not len(fitted):
        return [say("No era holds three dated systems over a year or more, so no trend is fitted.")]
    return [_doubling(row, what, options["drop_low"]) for row in fitted.itertuples()]


def _grouped(fitted, options, unfitted):
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


def _caption(fitted, points):
    """How many systems the figure shows, and what was set apart."""
    return say(
        "Training compute of {n} dated systems; {low} low {outliers} and {large} large-scale systems are "
        "marked, a line for each {lines}.",
        n=number_of("trend.n", len(points)),
        low=number_of("trend.n_low", points["low_outlier"].sum()),
        outliers=plural(points["low_outlier"].sum(), "outlier"),
        large=number_of("trend.n_large", points["large_scale"].sum()),
        lines=_of_rows(fitted),
    )


def _drawn():
    return say("Lines: fits; shaded: the interval of their slopes.")


def _of_rows(fitted):
    return "era and group" if fitted["era_start"].nunique() > 1 else "group"


def draw_trends(fitted, points):
    """Compute of systems by date, outliers and large-scale systems marked, a line an era and group."""
    figure, axes = axes_of(4.6)
    shown = points.loc[np.sort(_worth_naming(points).index.union(thinned(points).index))]
    groups = [
        (~shown["low_outlier"] & ~shown["large_scale"], ("o", SERIES[0]), "a system"),
        (shown["large_scale"], ("s", SERIES[1]), "large scale"),
        (shown["low_outlier"], ("X", MUTED), "low outlier, in no fit"),
    ]
    for chosen, (marker, colour), _ in groups:
        of_group = shown[chosen]
        axes.plot(of_group["date"], of_group["flop"], marker, color=colour, markersize=5, mec=PAGE, mew=0.6)
    drawn = fitted[fitted["n"] >= estimation.MIN_SYSTEMS]
    for row in drawn.itertuples():
        _draw_line(axes, row, SERIES[1] if row.group == LARGE else SERIES[0])
    axes.set_yscale("log")
    axes.margins(x=0.08)
    powers_of_ten(axes.yaxis)
    axes.grid(axis="y")
    labels_on_grid(axes, "training compute (FLOP)")
    axes.spines["bottom"].set_visible(True)
    if is_wide(figure):
        _say_doubling(axes, drawn)
    order = [*(first := _worth_naming(points)).index, *shown.index.difference(first.index)]
    dates, flop = mpl.dates.date2num(points.loc[order, "date"]), points.loc[order, "flop"].to_numpy()
    name_points(axes, dates, flop, list(first["system"]), 8 if is_wide(figure) else 4)
    legend = [(mark, text) for chosen, mark, text in groups if chosen.any()]
    if len(shown) < len(points):
        legend.append((None, f"{len(shown):,} of {len(points):,} systems are drawn"))
    return figure, legend


def _worth_naming(points):
    """Return the systems that are named first: of most and of least compute, at the ends, set apart."""
    by_flop, by_date = points.sort_values("flop"), points.sort_values("date", kind="stable")
    apart = points[points["large_scale"] | points["low_outlier"]].sort_values("flop", ascending=False)
    listed = [by_flop.index[-1:], by_date.index[:1], by_date.index[-1:], by_flop.index[:1], apart.index]
    first = list(dict.fromkeys(at for index in listed for at in index))[:MAX_NAMED]
    others = thinned(by_flop.drop(first), MAX_NAMED).index if len(points) > len(first) else []
    return points.loc[[*first, *others]]


def _say_doubling(axes, fitted):
    """Say at the foot of the figure how fast each group grew, in its colour."""
    known = fitted[fitted["established"] & np.isfinite(fitted["doubling_months"])]
    for line, row in enumerate(known.iloc[::-1].itertuples()):
        axes.annotate(
            f"{GROUP_NAMES[row.group]} doubled every {significant(row.doubling_months, 2)} months",
            (1, 0),
            (-4, 6 + 15 * line),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            color=SERIES[1] if row.group == LARGE else SERIES[0],
        )


def _draw_line(axes, row, colour):
    """Draw one fitted trend, and what lies between lines of its slope's interval through its middle."""
    middle = row.first + (row.last - row.first) / 2
    centre = np.sqrt(row.start_flop * row.end_flop)
    axes.fill_between(
        [row.first, middle, row.last],
        [row.start_low, centre, row.end_low],
        [row.start_high, centre, row.end_high],
        color=colour,
        alpha=0.2,
        linewidth=0,
    )
    dashed = (0, (5, 3)) if row.group == LARGE else "-"  # told apart without their colours, too
    ends = [row.start_flop, row.end_flop]
    axes.plot([row.first, row.last], ends, color=colour, linewidth=1.8, linestyle=dashed)


def _print_months(value):
    return "no limit" if np.isinf(value) else significant(value, 3)


_DOUBLING = (
    Heading("doubling_months", "doubling (months)", _print_months),
    Heading("doubling_low", "doubling from", _print_months, "months; of the wider interval of the slope"),
    Heading("doubling_high", "doubling to", _print_months),
)


def _doubling_table(frame, changed):
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


def _trends_table(frame, data):
    if not len(frame):
        return None
    kept = "low outliers dropped"
    return Table(
        "trends",
        say("Growth of training compute in {data}, by {rows}.", data=Name(data), rows=_of_rows(frame)),
        (
            Heading("era_start", "era from"),
            Heading("group", "group", str, GROUPS),
            Heading("n", "systems", count),
            Heading("first", "first system", "{:%Y-%m-%d}".format),
            Heading("last", "last system", "{:%Y-%m-%d}".format),
            *_DOUBLING,
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


def _sensitive(changed, fitted):
    """How far each group's doubling time moves when one choice changes, beside the interval of the fit."""
    if not len(changed) or not len(fitted):
        return []
    last = changed[changed["era_start"] == changed["era_start"].max()]
    era = "In the last era, with" if fitted["era_start"].nunique() > 1 else "With"
    groups = last.groupby("group", sort=False)
    said = [_moves(era, group, rows, fitted) for group, rows in groups if rows["established"].any()]
    return said and [
        *said,
        say("Such a range is not the uncertainty of a fit; a change of the noise moves its interval alone."),
    ]


def _moves(era, group, rows, fitted):
    base, known = ("sensitivity", group), rows[rows["established"]]
    return say(
        "{era} one choice changed at a time, the doubling time fitted to {group} moves between {a} and {b} "
        "(growth is established under {n} of {of} choices of window, threshold and noise){interval}.",
        era=era,
        group=GROUP_NAMES[group],
        a=months(key(*base, "low"), known["doubling_months"].min()),
        b=months(key(*base, "high"), known["doubling_months"].max()),
        n=number_of(key(*base, "n"), len(known)),
        of=number_of(key(*base, "of"), len(rows)),
        interval=_interval(fitted, rows["era_start"].iloc[0], group),
    )


def _interval(fitted, era_start, group):
    """Say the interval of the fit that nothing was changed in."""
    rows = fitted[fitted["era_start"].eq(era_start) & fitted["group"].eq(group) & fitted["established"]]
    if not len(rows):
        return ""
    base = ("trends", era_start, group)
    return say(
        "; the interval of the fit above is {low} to {high}",
        low=months(key(*base, "doubling_low"), rows["doubling_low"].iloc[0]),
        high=months(key(*base, "doubling_high"), rows["doubling_high"].iloc[0]),
    )


_CHOICES = {
    "window_days": "window (days)",
    "large_z": "threshold of large scale (z)",
    "noise": "noise (×/÷)",
}


def _sensitivity_table(frame):
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
            *_DOUBLING,
        ),
        frame.assign(changed=frame["choice"].map(_CHOICES)),
        int(frame["n"].max()),
        "dated systems of the largest group",
        tuple(Origin(int(n), "dated systems of the row's era and group") for n in frame["n"]),
    )
