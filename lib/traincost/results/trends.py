"""How training compute grew over the years: doubling times by era and group, and how sensitive they are."""

import itertools

import matplotlib as mpl
import numpy as np

from traincost.estimation import estimates
from traincost.estimation import trends as estimation
from traincost.estimation.trends import LARGE
from traincost.printing import significant
from traincost.results import arguments
from traincost.results.figures import (
    Figure,
    axes_of,
    is_wide,
    labels_on_grid,
    name_points,
    powers_of_ten,
    thinned,
)
from traincost.results.growth import GROUP_NAMES, growth_blocks, rows_of, sensitivity_block
from traincost.results.prose import Name, Number, say
from traincost.results.result import Result
from traincost.results.svg import MUTED, PAGE, SERIES

MAX_NAMED = 12  # systems that a figure tries to name
ERAS = tuple(end for _, end in estimation.ERAS[:-1])  # dates at which one ends and the next begins
EARLIEST, LATEST = estimation.ERAS[0][0], estimation.ERAS[-1][1]


@arguments.checked
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
    period = {"start": start or None, "end": end or None}
    windows = {"window_days": window_days, "low_z": low_z, "large_z": large_z, "large_from": large_from}
    options = {
        **windows,
        "eras": tuple(itertools.pairwise([EARLIEST, *eras, LATEST])),
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
    scored = _scored(estimation.in_period(dated, **period), windows, options)
    parts = _parts(fitted, changed, scored, options, systems.of, subset)
    return Result.of_parts("trends", fitted, parts, name, systems.of)


def _scored(dated, windows, options):
    """Return systems with their z-scores, and which of them are dropped or set apart."""
    scored = estimation.window_scores(dated, **windows)
    scored["low_outlier"] &= options["drop_low"]
    scored["large_scale"] &= options["split_large"]
    return scored


def _parts(fitted, changed, scored, options, of, subset):
    """Return the parts of the answer: name to its frame and blocks."""
    what = say("{data} ({subset})", data=Name(of), subset=Name(subset)) if subset else Name(of)
    drawn = say("Lines: fits; shaded: the interval of their slopes.")
    unfitted = estimation.not_fitted(scored, options["eras"])
    return {
        "figure": (
            fitted,
            Figure.of("trend", fitted, draw_trends, _caption, scored, note=drawn, wide=True),
        ),
        "growth": (fitted, *growth_blocks(fitted, changed, unfitted, what, of, options)),
        "sensitivity": (changed, sensitivity_block(changed, fitted)),
    }


def _caption(fitted, points):
    """How many systems the figure shows, and what was set apart."""
    return say(
        "Training compute of {n} dated systems; {low} low {low:outlier|outliers} and {large} large-scale "
        "systems are marked, a line for each {lines}.",
        n=Number.count("trend.n", len(points)),
        low=Number.count("trend.n_low", points["low_outlier"].sum()),
        large=Number.count("trend.n_large", points["large_scale"].sum()),
        lines=rows_of(fitted),
    )


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
