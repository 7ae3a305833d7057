"""How long runs take by the levels of two settings."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns

from traincost.analysis import levels as analysis
from traincost.printing import count, time_unit
from traincost.results import arguments, svg
from traincost.results.figures import MAX_ROWS, Figure, axes_of, clipped, cut, label_rows, labels_apart
from traincost.results.prose import Name, Number, key, say
from traincost.results.result import More, Result
from traincost.results.svg import INK, MUTED, PAGE, SERIES
from traincost.results.tables import Heading, Table, of_settings, part_of

EQUAL_CONTRAST = 0.179  # relative luminance against which black and white contrast alike
BLACK = "#000001"  # black itself is no attribute in SVG, and would take the colour of the page's text
MANY_RUNS = 300  # from which a level's runs are drawn as a violin instead of points


@arguments.checked
def levels(runs, *, name=""):
    """Say how long runs take by the levels of two settings.

    The settings are `runs.rows` and `runs.columns`, or those of largest effect.

    Parameters
    ----------
    runs : Runs
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per level of the first setting, slowest first: ``level``, ``n_runs``,
        ``mean_s``, ``median_s``, ``min_s``, ``max_s``.

    Examples
    --------
    >>> levels(runs).frame["level"].iloc[0]
    'sorting'
    """
    (by, across), runtime_s, unit = runs.axes, runs.runtime_s, runs.unit
    table = analysis.level_runtimes(runtime_s, by)
    cells = analysis.cell_runtimes(runtime_s, by, across)
    each = analysis.level_of_runs(runtime_s, by)
    beside = analysis.level_runtimes(runtime_s, across)
    ids = runs.frame["run_id"]
    return Result.showing(
        "levels",
        table,
        _cells_table(cells, table, beside, len(runs)),
        Figure.of("levels", each, draw_levels, _caption_levels, table, by.name, unit)
        if len(runs) > 1
        else None,
        More(
            say("Runtime by level: mean, median and range"),
            (_table(table, by, unit, ids), _table(beside, across, unit, ids, "levels-across")),
        ),
        prefix=name,
        of=runs.label,
    )


def _cells_table(cells, by_level, by_other, n_runs):
    """Mean runtime by two settings, as a heat map; None without a second setting."""
    if not cells.size:
        return None
    rows = [level for level in by_level["level"] if level in cells.index]
    columns = [level for level in by_other["level"] if level in cells.columns]
    ordered = cells.loc[rows, columns]
    # Levels that are called like a column of ours stay apart from it.
    frame = ordered.set_axis([f"cell {i}" for i in range(len(columns))], axis=1)
    frame.insert(0, "level", rows)
    longest = float(np.nanmax(ordered.to_numpy()))
    return Table(
        "cells",
        say("Runtime of each {r} and {c}", r=Name(cells.index.name), c=Name(cells.columns.name)),
        (
            Heading("level", cells.index.name),
            *(Heading(f"cell {i}", str(level), part_of(longest)) for i, level in enumerate(columns)),
        ),
        frame.reset_index(drop=True),
        n_runs,
        note=say(
            "{each}, slowest first both ways; the stronger the colour, the longer{empty}.",
            each="Mean runtime" if cells.attrs["n_most"] > 1 else "One run a cell",
            empty="; hatched: no run" if ordered.isna().to_numpy().any() else "",
        ),
        shades=(float(np.nanmin(ordered.to_numpy())), longest),
        drawn=Figure.of("cells", cells, draw_cells, _caption_cells, time_unit(longest)),
    )


def _caption_cells(levels_by, unit):
    """The slowest cell, and how many cells hold no run."""
    rows, columns = levels_by.index.name, levels_by.columns.name
    stacked = levels_by.stack().dropna()
    at = stacked.idxmax()
    empty = levels_by.isna().to_numpy().sum()
    return say(
        "{what} in {u} by {r} and {c}: slowest is {a}, {b} at {t}.[ {empty} of {n} cells hold no run.]",
        what="Mean runtime" if levels_by.attrs["n_most"] > 1 else "Runtime, one run a cell,",
        u=unit.symbol,
        r=Name(rows),
        c=Name(columns),
        a=Name(at[0]),
        b=Name(at[1]),
        t=Number.of("cells.slowest.mean_s", stacked.max(), unit.text),
        empty=Number.count("cells.empty", empty) if empty else None,
        n=Number.count("cells.n", levels_by.size),
    )


def _caption_levels(runtimes, levels, name, unit):
    if len(levels) < 2:
        return say("Runtime of each run.")
    slow, fast = levels.iloc[0], levels.iloc[-1]
    low, high = (
        Number.of(key("level", name, row.level, "mean_s"), row.mean_s, unit.text) for row in (fast, slow)
    )
    return say(
        "Runtime by {f}: from {low} on average at {a} to {high} at {b}.",
        f=Name(name),
        low=low,
        a=Name(fast.level),
        high=high,
        b=Name(slow.level),
    )


def draw_cells(table, unit):
    """Mean runtime by two factors; `table` is levels x levels in seconds, NaN where empty."""
    figure, axes = axes_of(0.9 + 0.36 * len(table))
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


def draw_levels(runtimes, table, name, unit):
    """Runtime of each run by level; `runtimes` has ``level`` and ``runtime_s``.

    `table` has each level's ``mean_s``.
    """
    levels = list(table["level"])[:MAX_ROWS]
    means = table.set_index("level")["mean_s"].reindex(levels)
    shown = runtimes[runtimes["level"].isin(levels)].assign(t=lambda d: d["runtime_s"] / unit.seconds)
    figure, axes = axes_of(0.8 + 0.34 * len(levels))
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
    label_rows(axes, levels)
    axes.set_xlim(left=0)
    _lines_of_all(axes, runtimes["runtime_s"], unit)
    axes.set_ylabel("")
    axes.set_xlabel(f"runtime ({unit.symbol})")
    axes.grid(axis="x")
    legend = [
        (SERIES[0], "the runs of a level") if len(shown) > MANY_RUNS else (("o", SERIES[0]), "a run"),
        ("tick", "mean of the level"),
    ]
    return figure, legend + cut(len(table))


def _lines_of_all(axes, runtime_s, unit):
    """Draw the mean and the median of all runs as lines with their values above."""
    lines = {"mean": (runtime_s.mean(), "-"), "median": (runtime_s.median(), (0, (4, 3)))}
    sides = ("left", "right") if lines["mean"][0] >= lines["median"][0] else ("right", "left")
    for (name, (value, style)), side in zip(lines.items(), sides, strict=True):
        at = value / unit.seconds
        axes.axvline(at, color=SERIES[1], linewidth=1.2, linestyle=style)
        axes.annotate(
            f"{name} {unit.text(value)}",
            (at, 1),
            (3 if side == "left" else -3, 4),
            xycoords=axes.get_xaxis_transform(),
            textcoords="offset points",
            ha=side,
            color=SERIES[1],
        )


def _table(frame, field, unit, run_ids, table="levels"):
    """What `analysis.level_runtimes` returns for a field; None without one."""
    if field is None:
        return None
    name = field.name
    return Table(
        table,
        say("Runtime by {f}, in {u}, slowest first.", f=Name(name), u=unit.symbol),
        (
            Heading("level", name),
            Heading("n_runs", "runs", count),
            Heading("mean_s", "mean", unit.number),
            Heading("median_s", "median", unit.number),
            Heading("min_s", "min", unit.number),
            Heading("max_s", "max", unit.number),
        ),
        frame,
        int(frame["n_runs"].sum()),
        origins=of_settings([name], zip(frame["level"], strict=True), analysis.members(run_ids, field)),
        holds=(key("level", name),),
    )
