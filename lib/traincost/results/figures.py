"""Frames to figures, without arithmetic beyond placing marks.

Each function takes a frame that `effects`, `sections`, `speedups` or `cost` returned (or a
plain table of runs) and returns a `Drawing`. Legends are text, for the page to set in HTML.
"""

import functools
import itertools
import time
import warnings
from collections import deque
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from traincost.analysis.sections import UNATTRIBUTED
from traincost.analysis.verdicts import ALPHA
from traincost.columns import percent
from traincost.estimation.trends import LARGE
from traincost.results import svg
from traincost.results.svg import GRID, INK, MUTED, PAGE, REST, SERIES

# Inches of 72 units. At a pixel a unit, a figure fits a phone and its text, all of one size, can be read.
WIDTH = 4.8
WIDE = 7.2  # where that holds too little; on a phone, such a figure scrolls
MAX_LABEL = 32  # characters of a level or section on an axis
MAX_SYSTEMS = 48  # in one figure
MAX_ROWS = 24  # levels in one figure; the page says how many there are
LABELLED = 0.05  # of a bar: what is wide enough for its number
NARROW_CELLS = 7  # columns of a heat map whose numbers `WIDTH` holds side by side
EQUAL_CONTRAST = 0.179  # relative luminance against which black and white contrast alike
BLACK = "#000001"  # black itself is no attribute in SVG, and would take the colour of the page's text
MANY_RUNS = 300  # from which a level's runs are drawn as a violin instead of points

# When the last drawings of this process began, in seconds since the epoch, and how long each took:
# what a profile of a build shows (`builds`).
TAKEN = deque(maxlen=1_000)


@dataclass(frozen=True)
class Drawing:
    """An inline SVG, and a legend of (key, text) pairs, as `render.figure` draws them."""

    svg: str
    legend: tuple = ()


def _drawn(function):
    """Draw under the page's style, and convert before that style is left."""

    @functools.wraps(function)
    def drawing(*args, **kwargs):
        began, started = time.time(), time.perf_counter()
        with (
            mpl.rc_context({**mpl.rcParamsDefault, "backend": "svg"}),
            mpl.rc_context(svg.RC),
            warnings.catch_warnings(),
        ):
            # Text is set by the browser; what DejaVu Sans lacks is not missing there.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure, legend = function(*args, **kwargs)
            drawn = Drawing(svg.inline(figure, function.__name__.replace("_", "-")), tuple(legend))
        TAKEN.append((began, time.perf_counter() - started))
        return drawn

    return drawing


def _axes(height, width=WIDTH):
    figure = Figure(figsize=(width, height))
    return figure, figure.add_subplot()


def clipped(text, limit=MAX_LABEL):
    """Return text for an axis: one line, and its middle left out where it is long."""
    text = "".join(c if c.isprintable() else "·" for c in str(text))
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}…{text[-(limit - head - 1) :]}"


def labels_apart(labels, limit=MAX_LABEL):
    """Return several labels `clipped`; those that would look alike begin shortly before they differ.

    >>> labels_apart(["a" * 40 + "1" + "b" * 40, "a" * 40 + "2" + "b" * 40], 9)
    ['…aa1…bbbb', '…aa2…bbbb']
    """
    alike = {}
    for label in dict.fromkeys(map(str, labels)):
        alike.setdefault(clipped(label, limit), []).append(label)
    shown = {}
    for text, group in alike.items():
        same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*group, strict=False))
        start = max(0, len(list(same)) - 2)
        for label in group:
            shown[label] = text if len(group) == 1 else clipped(f"…{label[start:]}", limit)
    return [shown[str(label)] for label in labels]


def _cut(n, limit=MAX_ROWS):
    """Return a legend entry that says how many levels are not drawn, where some are not."""
    return [(None, f"the first {limit} of {n} levels")] if n > limit else []


def _label_rows(axes, labels):
    axes.set_yticks(range(len(labels)), labels_apart(labels))
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


@_drawn
def effect_bars(effects):
    """One-way eta squared per factor with its chance level, and the interval on log runtime."""
    effects = effects.head(MAX_ROWS)
    figure, axes = _axes(0.75 + 0.46 * len(effects))
    rows = np.arange(len(effects))
    axes.barh(rows - 0.1, effects["eta_squared"], height=0.4, color=SERIES[0])
    axes.vlines(effects["chance"], rows - 0.36, rows + 0.16, color=INK, linewidth=1.6)
    axes.hlines(rows + 0.28, effects["low"], effects["high"], color=SERIES[1], linewidth=1.6)
    axes.plot(effects["log_epsilon_squared"], rows + 0.28, "o", color=SERIES[1], markersize=4, clip_on=False)
    _label_rows(axes, effects["factor"])
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of variance: bars of runtime, points of log runtime")
    axes.grid(axis="x")
    marks = effects[["eta_squared", "chance", "verdict"]].itertuples(index=False)
    for row, (eta, chance, verdict) in enumerate(marks):
        # Beside the bar, where it ends early; inside the plot, where it does not.
        end = np.nanmax([eta, chance, 0.0])
        side = {"ha": "left", "x": end + 0.02} if end <= 0.5 else {"ha": "right", "x": 0.99}
        y = row - 0.1 if end <= 0.5 else row - 0.42
        axes.text(s=verdict, y=y, va="center", color=INK, **side)
    legend = [
        (svg.THEME[SERIES[0]], "η², one-way, of runtime over runs"),
        ("tick", "what an unrelated factor reaches on average"),
        (svg.THEME[SERIES[1]], "ε² of log runtime with its interval"),
    ]
    return figure, legend


@_drawn
def level_heatmap(table, unit):
    """Mean runtime by two factors; `table` is levels x levels in seconds, NaN where empty."""
    figure, axes = _axes(0.9 + 0.36 * len(table), WIDTH if table.shape[1] <= NARROW_CELLS else WIDE)
    sns.heatmap(
        table / unit.seconds,
        ax=axes,
        cbar=False,
        cmap=sns.color_palette("crest", as_cmap=True),
        annot=table.map(lambda s: "" if pd.isna(s) else unit.number(s)),
        fmt="",
        linewidths=1,
        linecolor=PAGE,
        annot_kws={"fontsize": svg.RC["font.size"]},
    )
    _readable(axes, table.shape[1])
    for row, column in zip(*np.where(table.isna().to_numpy()), strict=True):
        axes.add_patch(mpl.patches.Rectangle((column, row), 1, 1, fill=False, hatch="////", lw=0, ec=MUTED))
    axes.set_yticklabels(labels_apart(table.index, 24), rotation=0)
    axes.set_xticklabels(labels_apart(table.columns, 20), rotation=30, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.set_xlabel(clipped(table.columns.name))
    axes.set_ylabel(clipped(table.index.name))
    legend = [("hatch", "no run")] if table.isna().to_numpy().any() else []
    cut = zip(table.shape, table.attrs["n_levels"], strict=True)
    return figure, legend + [(None, f"the {n} slowest of {of} levels") for n, of in cut if n < of]


def _readable(axes, n_columns):
    """Print each cell's number in black or white, whichever has more contrast: at least 4.5 to 1."""
    colours = axes.collections[0].get_facecolors()
    for text in axes.texts:
        x, y = (int(place) for place in text.get_position())
        light = _luminance(colours[y * n_columns + x]) > EQUAL_CONTRAST
        text.set_color(BLACK if light else "#ffffff")


def _luminance(colour):
    """Return the relative luminance of an sRGB colour (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@_drawn
def runtime_by_level(runtimes, table, name, unit):
    """Runtime of each run by level; `runtimes` has ``level`` and ``runtime_s``.

    `table` has each level's ``mean_s``.
    """
    levels = list(dict.fromkeys(runtimes["level"]))[:MAX_ROWS]
    means = table.set_index("level")["mean_s"].reindex(levels)
    shown = runtimes[runtimes["level"].isin(levels)].assign(t=lambda d: d["runtime_s"] / unit.seconds)
    figure, axes = _axes(0.8 + 0.34 * len(levels))
    common = {"data": shown, "x": "t", "y": "level", "order": levels, "ax": axes}
    if len(shown) > MANY_RUNS:
        sns.violinplot(**common, color=SERIES[0], inner=None, cut=0, linewidth=0, gridsize=24)
    else:
        # The jitter is decoration, drawn from numpy's global state; the same bytes need a seed.
        state = np.random.get_state()
        np.random.seed(0)
        sns.stripplot(**common, color=SERIES[0], size=4.5, alpha=0.75, jitter=0.18)
        np.random.set_state(state)
    axes.vlines(
        means / unit.seconds, np.arange(len(levels)) - 0.36, np.arange(len(levels)) + 0.36, color=INK, lw=1.8
    )
    axes.axvline(runtimes["runtime_s"].mean() / unit.seconds, color=SERIES[1], linewidth=1.1)
    axes.axvline(
        runtimes["runtime_s"].median() / unit.seconds, color=SERIES[1], linewidth=1.1, linestyle=(0, (4, 3))
    )
    _label_rows(axes, levels)
    axes.set_xlim(left=0)
    axes.set_ylabel(clipped(name))
    axes.set_xlabel(f"runtime ({unit.symbol})")
    axes.grid(axis="x")
    legend = [
        (svg.THEME[SERIES[0]], "the runs of a level" if len(shown) > MANY_RUNS else "a run"),
        ("tick", "mean of the level"),
        (svg.THEME[SERIES[1]], "mean (solid) and median (dashed) of all runs"),
    ]
    return figure, legend + _cut(len(table))


@_drawn
def time_per_occurrence(timing, name):
    """Seconds per occurrence of sections, on a log axis, by level."""
    return _occurrences(timing, name)


@_drawn
def subsection_times(timing, name):
    """The same for the subsections of one section."""
    return _occurrences(timing, name)


def _occurrences(timing, name):
    levels = list(dict.fromkeys(timing["level"]))[:MAX_ROWS]
    sections = list(dict.fromkeys(timing["section"]))[: len(SERIES)]
    figure, axes = _axes(0.8 + 0.34 * len(levels))
    markers = "osD^vPX><"
    for i, section in enumerate(sections):
        rows = timing[timing["section"].eq(section) & timing["level"].isin(levels)]
        axes.plot(
            rows["per_occurrence_s"],
            [levels.index(level) for level in rows["level"]],
            markers[i],
            color=SERIES[i],
            markersize=6,
        )
    axes.set_xscale("log")
    _plain_log_axis(axes, timing["per_occurrence_s"])
    _label_rows(axes, levels)
    axes.set_ylabel(clipped(name))
    axes.set_xlabel("seconds per occurrence (log scale)")
    axes.grid(axis="both")
    legend = [((markers[i], svg.colour(i)), s) for i, s in enumerate(sections)]
    return figure, legend + _cut(timing["level"].nunique())


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _powers_of_ten(axis):
    """Label a log axis as 10ⁿ, in text: maths would be drawn, not written."""
    low, high = axis.get_view_interval()
    few = high < 300 * low  # decades alone would leave the axis bare
    axis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=9))
    axis.set_major_formatter(mpl.ticker.FuncFormatter(_power_of_ten))
    axis.set_minor_locator(mpl.ticker.NullLocator())


def _power_of_ten(value, _):
    exponent = int(np.floor(np.log10(value) + 1e-9))
    power = "10" + str(exponent).translate(_SUPERSCRIPT)
    factor = round(value / 10.0**exponent)
    return power if factor == 1 else f"{factor}·{power}"


def _plain_log_axis(axes, values):
    """Label decades with plain numbers, and more where there are few."""
    low, high = values.min(), values.max()
    axes.set_xlim(low / 1.6, high * 1.6)
    several = high > 100 * low
    axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0,) if several else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())


@_drawn
def runtime_composition(composition):
    """Share of each part of a run, by level and overall; the rest is the grey end."""
    rows = composition
    if len(rows) > MAX_ROWS + 1:  # the last is of all runs
        rows = pd.concat([rows.head(MAX_ROWS), rows.tail(1)])
    parts = [name for name in composition.columns if name not in ("n_runs", UNATTRIBUTED)]
    figure, axes = _axes(0.75 + 0.36 * len(rows))
    places = np.arange(len(rows))
    left = np.zeros(len(rows))
    for i, part in enumerate([*parts, UNATTRIBUTED]):
        colour = REST if part == UNATTRIBUTED else SERIES[i % len(SERIES)]
        width = rows[part].to_numpy(dtype=float).clip(0.0)  # of threads, parts exceed the whole
        axes.barh(places, width, left=left, height=0.72, color=colour, edgecolor=PAGE, linewidth=0.8)
        for place, (start, share) in enumerate(zip(left, width, strict=True)):
            if share >= LABELLED:
                axes.text(
                    start + share / 2,
                    place,
                    percent(share, 0).removesuffix(" %"),
                    ha="center",
                    va="center",
                    color=INK if part == UNATTRIBUTED else PAGE,
                )
        left += width
    _label_rows(axes, rows.index)
    axes.set_xlim(0, max(1.0, left.max()))
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, symbol=" %"))
    axes.set_xlabel("mean share of runtime")
    legend = [(svg.colour(i), part) for i, part in enumerate(parts)]
    legend.append((svg.colour(None), UNATTRIBUTED))
    legend.append((None, f"numbers: per cent, of parts of {percent(LABELLED, 0)} or more"))
    return figure, [*legend, *_cut(len(composition) - 1)]


@_drawn
def knob_bounds(bounds):
    """The most each knob can save, with its resampling range."""
    bounds = bounds.dropna(subset="bound").head(MAX_ROWS)
    figure, axes = _axes(0.75 + 0.34 * len(bounds))
    rows = np.arange(len(bounds))
    joint = bounds["kind"].eq("joint")
    axes.barh(rows, bounds["bound"], height=0.55, color=np.where(joint, REST, SERIES[0]))
    axes.hlines(rows, bounds["low"], bounds["high"], color=INK, linewidth=1.6)
    for row, bound, high in zip(rows, bounds["bound"], bounds["high"], strict=True):
        axes.text(max(bound, high) + 0.008, row, percent(bound), va="center", color=INK)
    _label_rows(axes, bounds["knob"])
    axes.set_xlim(0, min(1.12, 1.18 * bounds["high"].max() + 0.06))
    _percent_axis(axes)
    axes.set_xlabel("at most saved, mean share of runtime")
    legend = [
        (svg.THEME[SERIES[0]], "upper bound of a knob"),
        (svg.THEME[REST], "of all together, overlaps counted once"),
        ("range", "resampling range over runs"),
    ]
    return figure, legend if joint.any() else legend[::2]


@_drawn
def bound_and_measured(savings):
    """Bound of each turned knob as a bar, what was really saved as a point with its interval."""
    savings = savings.head(MAX_ROWS)
    figure, axes = _axes(0.8 + 0.46 * len(savings))
    rows = np.arange(len(savings))
    axes.barh(rows, savings["bound"], height=0.5, color=SERIES[0])
    axes.hlines(rows, savings["low"], savings["high"], color=INK, linewidth=1.6)
    axes.plot(savings["measured"], rows, "o", color=SERIES[1], markersize=6)
    _label_rows(axes, savings["knob"])
    axes.axvline(0, color=MUTED, linewidth=0.8)
    _percent_axis(axes)
    axes.set_xlabel("saved, mean share of runtime")
    return figure, [
        (svg.THEME[SERIES[0]], "upper bound"),
        (("o", svg.THEME[SERIES[1]]), "measured with the knob turned"),
        ("range", "its interval"),
    ]


def _percent_axis(axes):
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5, steps=(1, 2, 5, 10)))
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, symbol=" %"))
    axes.grid(axis="x")


@_drawn
def runtime_changes(changes):
    """Paired change of runtime with its interval, overall and by level."""
    n = len(changes)
    changes = changes.head(MAX_ROWS)
    figure, axes = _axes(0.8 + 0.3 * len(changes))
    rows = np.arange(len(changes))
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.hlines(rows, changes["low"], changes["high"], color=INK, linewidth=1.6)
    told = changes["p_family"].le(ALPHA)
    for chosen, colour in ((told, SERIES[1]), (~told, REST)):
        axes.plot(changes["change"].where(chosen), rows, "o", color=colour, markersize=6)
    pairs = zip(changes["factor"], changes["level"], strict=True)
    _label_rows(axes, [f"{factor}={level}" if factor else level for factor, level in pairs])
    _percent_axis(axes)
    axes.set_xlabel("change of runtime (left of zero: faster)")
    return figure, [
        (svg.THEME[SERIES[1]], "told from chance"),
        (svg.THEME[REST], "not told from chance"),
        ("range", "interval"),
        *_cut(n),
    ]


@_drawn
def change_parts(parts, unit):
    """Change of mean runtime by part: through how often it ran, what a call cost, or undivided.

    The two of a part lie end to end, or on either side of zero where they are opposed.
    """
    figure, axes = _axes(0.8 + 0.32 * len(parts))
    rows = np.arange(len(parts))
    count_s, call_s = parts["count_s"].fillna(0.0), parts["call_s"].fillna(0.0)
    undivided_s = parts["total_s"].where(parts["count_s"].isna(), 0.0)
    pieces = [
        (count_s, 0.0, SERIES[0], "by how often it ran"),
        (call_s, count_s.where(count_s * call_s > 0, 0.0), SERIES[1], "by what one call cost"),
        (undivided_s, 0.0, REST, "undivided"),
    ]
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for seconds, start_s, colour, _ in pieces:
        axes.barh(rows, seconds / unit.seconds, left=start_s / unit.seconds, height=0.6, color=colour)
    _label_rows(axes, parts["part"])
    axes.grid(axis="x")
    axes.set_xlabel(f"change of mean runtime ({unit.symbol})")
    return figure, [(svg.THEME[colour], text) for seconds, _, colour, text in pieces if seconds.any()]


@_drawn
def score_against_cost(points, cost_label, score_label):
    """Score against cost; ``cost``, ``score``, ``front`` (no other run beats it on both)."""
    figure, axes = _axes(3.4)
    for front, colour, size in ((False, REST, 4.5), (True, SERIES[1], 6)):
        shown = points[points["front"].eq(front)]
        axes.plot(shown["cost"], shown["score"], "o", color=colour, markersize=size)
    axes.set_xlabel(clipped(cost_label, 60))
    axes.set_ylabel(clipped(score_label, 60))
    axes.grid(axis="both")
    return figure, [
        (svg.THEME[SERIES[1]], "no other run is both cheaper and better"),
        (svg.THEME[REST], "another run is cheaper and better"),
    ]


@_drawn
def system_estimates(estimates):
    """Best estimate of each system with its band, in the order given."""
    n = len(estimates)
    rows = estimates.tail(MAX_SYSTEMS)
    figure, axes = _axes(0.8 + 0.24 * len(rows))
    places = np.arange(len(rows))
    axes.hlines(places, rows["low_flop"], rows["high_flop"], color=SERIES[0], linewidth=1.6)
    axes.plot(rows["value_flop"], places, "o", color=SERIES[0], markersize=4.5)
    stated = rows["stated_flop"].to_numpy(dtype=float)
    axes.plot(stated, places, "|", color=INK, markersize=9, markeredgewidth=1.6)
    _label_rows(axes, rows["system"])
    axes.set_xscale("log")
    _powers_of_ten(axes.xaxis)
    axes.set_xlabel("training compute (FLOP)")
    axes.grid(axis="x")
    legend = [(svg.THEME[SERIES[0]], "estimate with its band")]
    if np.isfinite(stated).any():
        legend.append(("tick", "what the source itself states"))
    cut = [(None, f"the latest {MAX_SYSTEMS} of {n} systems")] if n > MAX_SYSTEMS else []
    return figure, legend + cut


@_drawn
def conversion_fit(points, fit):
    """Hardware burden against network operations with the fitted line and its interval."""
    figure, axes = _axes(3.6)
    x = np.linspace(fit.x_low, fit.x_high, 60)
    middle = fit.intercept + fit.slope * x
    half = np.array([fit.interval(value) for value in x])
    axes.fill_between(10**x, 10 ** (middle - half), 10 ** (middle + half), color=GRID, linewidth=0)
    axes.plot(10**x, 10**middle, color=SERIES[1], linewidth=1.4)
    axes.plot(points["operations_flop"], points["burden_flop"], "o", color=SERIES[0], markersize=5)
    axes.plot(10**x, 10**x, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    _powers_of_ten(axes.xaxis)
    _powers_of_ten(axes.yaxis)
    axes.set_xlabel("network operations (FLOP)")
    axes.set_ylabel("hardware burden (FLOP)")
    below = " (the fit knows nothing of the dashed limit)" if (middle - half < x).any() else ""
    return figure, [
        (("o", svg.THEME[SERIES[0]]), "a system with both measures"),
        (svg.THEME[SERIES[1]], f"fit, with its prediction interval in grey{below}"),
        (svg.THEME[MUTED], "dashed: equal; below it more work than the peak allows"),
    ]


@_drawn
def compute_trend(trends, points):
    """Compute of systems by date, outliers and large-scale systems marked, a line an era and group."""
    figure, axes = _axes(4.0)
    groups = [
        (~points["low_outlier"] & ~points["large_scale"], "o", SERIES[0], "a system"),
        (points["large_scale"], "D", SERIES[1], "large scale"),
        (points["low_outlier"], "X", MUTED, "low outlier, dropped"),
    ]
    for chosen, marker, colour, _ in groups:
        shown = points[chosen]
        axes.plot(shown["date"], shown["flop"], marker, color=colour, markersize=4.5, alpha=0.85)
    colours = [SERIES[1] if group == LARGE else SERIES[0] for group in trends["group"]]
    for row, colour in zip(trends.itertuples(), colours, strict=True):
        _growth(axes, row, colour)
    axes.set_yscale("log")
    _powers_of_ten(axes.yaxis)
    axes.set_ylabel("training compute (FLOP)")
    axes.grid(axis="both")
    legend = [((m, svg.THEME[c]), text) for chosen, m, c, text in groups if chosen.any()]
    for colour in dict.fromkeys(colours):
        drawn = dict.fromkeys(
            group for group, its in zip(trends["group"], colours, strict=True) if its == colour
        )
        text = f"fitted trend ({' or '.join(drawn)}); shaded, the interval of its slope"
        legend.append((svg.THEME[colour], text))
    return figure, legend


def _growth(axes, row, colour):
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
    axes.plot([row.first, row.last], [row.start_flop, row.end_flop], color=colour, linewidth=1.6)
