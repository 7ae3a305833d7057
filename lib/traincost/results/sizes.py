"""How large an effect is, in words and tables: ratios between levels, the effect of doubling, spread.

A size on the log scale is read as a ratio (levels) or a change in percent (doubling); on a response's own
scale as a difference.
"""

import numpy as np

from traincost.analysis import sizes
from traincost.analysis.verdicts import HERE
from traincost.printing import (
    count,
    difference_texts,
    effect_texts,
    percent,
    probability,
    probability_is,
    ratio_text,
    ratio_texts,
    share_text,
    significant,
    span,
)
from traincost.results.numbers import N_NAMED, key
from traincost.results.prose import Name, Number, say
from traincost.results.tables import Heading, Table, as_printed

RATIO, DOUBLING, DIFFERENCE, DOUBLED = "ratio", "doubling", "difference", "difference by doubling"
_LEVEL = Number("sizes.level", sizes.LEVEL, percent(sizes.LEVEL))
SIZES = ["size", "size_low", "size_high", "size_kind", "level", "than"]


def with_sizes(found):
    """Return the table of effects with the size that stands beside each verdict.

    That is the effect of doubling a number, or else the ratio of the two levels that differ most.
    """
    ratios = ratios_of(found).groupby("factor", sort=False)
    doublings = doublings_of(found).set_index("factor")
    rows = []
    for factor in found.table["factor"]:
        if factor in doublings.index:
            row = doublings.loc[factor]
            kind = DOUBLING if found.log else DOUBLED
            rows.append((row["estimate"], row["low"], row["high"], kind, "", ""))
        elif factor in ratios.groups:
            pairs = ratios.get_group(factor)
            row = pairs.loc[pairs["estimate"].idxmax()]
            kind = RATIO if found.log else DIFFERENCE
            rows.append((row["estimate"], row["low"], row["high"], kind, row["level"], row["than"]))
        else:
            rows.append((np.nan, np.nan, np.nan, "", "", ""))
    return found.table.assign(**dict(zip(SIZES, zip(*rows, strict=True), strict=True))) if rows else (
        found.table.assign(**{name: [] for name in SIZES})
    )  # fmt: skip


def ratios_of(found):
    """Return the comparisons of levels as ratios, or as differences on a response's own scale."""
    return _rescaled(found.ratios, np.exp if found.log else None)


def doublings_of(found):
    """Return the effects of doubling as changes, fractions of the response; or as differences."""
    return _rescaled(found.doublings, np.expm1 if found.log else None)


def _rescaled(frame, scale):
    if scale is None:
        return frame
    return frame.assign(**{name: scale(frame[name].astype(float)) for name in ("estimate", "low", "high")})


def size_of(what, row):
    """Say the size beside a verdict: what follows the factor's name, or nothing where it has none."""
    if not row.size_kind or not np.isfinite(row.size_low):
        return ""
    name, short = key("effects", row.factor, "size"), what.runs.short(row.factor)
    printer = {RATIO: ratio_texts, DOUBLING: effect_texts}.get(row.size_kind, difference_texts)
    size, low, high = printer(row.size, row.size_low, row.size_high)
    parts = {
        "size": Number(name, float(row.size), size),
        "low": Number(f"{name}_low", float(row.size_low), low),
        "high": Number(f"{name}_high", float(row.size_high), high),
        "a": Name(short.get(row.level, row.level)),
        "b": Name(short.get(row.than, row.than)),
    }
    if row.size_kind in (DOUBLING, DOUBLED):
        return say(": doubling it goes with {size} ({low} to {high})", **parts)
    if row.size_kind == DIFFERENCE:
        return say(": {a} has {size} more than {b} ({low} to {high})", **parts)
    if what.kind == "seconds":
        return say(": {a} takes {size} as long as {b} ({low} to {high})", **parts)
    return say(": {a} has {size} as much as {b} ({low} to {high})", **parts)


def together(what, found):
    """Say how far configurations differ beyond the sum of the settings' effects, and which do most."""
    structure = found.judged.structure
    lack = structure.together
    if not structure.act_together:
        return []
    rows = found.spread.set_index("source")
    beyond = rows["sd"].get(sizes.CONFIGURATIONS, np.nan)
    named = [_cell(what, i, row) for i, row in enumerate(found.cells.head(N_NAMED).itertuples())]
    most = say(" Most: {cells}.", cells=named) if named else ""
    return [
        say(
            "The settings act together: configurations differ by {sd}{cv} beyond the sum of the settings' "
            "effects (lack of fit, p {p}).{most}",
            sd=_sd(what, "spread.configurations", beyond),
            cv=" (CV)" if found.log else "",
            p=Number("interaction.lack_of_fit.p", float(lack.p), probability_is(lack.p)),
            most=most,
        )
    ]


def _sd(what, name, value):
    return Number(name, float(value), share_text(value) if what.log else significant(value))


def _cell(what, i, row):
    levels = ", ".join(f"{name} = {level}" for name, level in row.levels)
    name = key("together", str(i), "estimate")
    if what.log:
        text = ratio_text(*np.exp([row.estimate, row.low, row.high]))
        return say(
            "{levels} has {x} what that sum says",
            levels=Name(levels),
            x=Number(name, float(np.exp(row.estimate)), text),
        )
    return say(
        "{levels} differs by {x} from that sum",
        levels=Name(levels),
        x=Number(name, float(row.estimate), significant(row.estimate)),
    )


# -- tables --------------------------------------------------------------------------------


def ratios_table(found, what):
    """What `analysis.sizes.ratios` returns, as ratios."""
    frame = ratios_of(found)
    here = " In these configurations only." if (found.table["verdict"] == HERE).any() else ""
    ending = "as ratios" if found.log else "as differences"
    return Table(
        "ratios",
        say(
            "Levels compared, {ending}, with simultaneous {level} intervals.{here}",
            ending=ending,
            here=here,
            level=_LEVEL,
        ),
        (
            Heading("factor", "factor"),
            Heading("level", "level"),
            Heading("than", "than"),
            Heading("size", "ratio" if found.log else "difference", as_printed),
            Heading("interval", "interval", as_printed),
            Heading("method", "method"),
        ),
        _with_texts(frame, ratio_texts if found.log else difference_texts),
        len(what.frame),
        holds=("effects.ratios", "sizes"),
    )


def _with_texts(frame, printer):
    """Add each estimate and its interval as they are printed, ``size`` and ``interval``."""
    ends = zip(frame["estimate"], frame["low"], frame["high"], strict=True)
    texts = [printer(*each) for each in ends]
    return frame.assign(
        size=[size for size, _, _ in texts],
        interval=[
            span(a, b) if np.isfinite(low) else "–"
            for (_, a, b), low in zip(texts, frame["low"], strict=True)
        ],
    )


def doublings_table(found, what):
    """What `analysis.sizes.doublings` returns, in percent."""
    return Table(
        "doublings",
        say("What doubling a number goes with, with {level} intervals.", level=_LEVEL),
        (
            Heading("factor", "factor"),
            Heading("size", "change", as_printed),
            Heading("interval", "interval", as_printed),
            Heading("method", "method"),
        ),
        _with_texts(doublings_of(found), effect_texts if found.log else difference_texts),
        len(what.frame),
        holds=("effects.doublings", "sizes"),
    )


def spread_table(found, what):
    """What `analysis.sizes.spread` returns."""
    scale = share_text if found.log else significant
    return Table(
        "spread",
        say(
            "How far {what} differs, as {measure}: by the sum of the settings' effects, and beyond that.",
            what=what.words,
            measure="coefficient of variation" if found.log else "standard deviation",
        ),
        (
            Heading("source", "between"),
            Heading("sd", "CV" if found.log else "sd", scale),
            Heading("interval", "interval", as_printed, "95 %, where it has one"),
        ),
        found.spread.assign(
            source=found.spread["source"].map(_SOURCES),
            interval=[
                "–" if np.isnan(low) else span(scale(low), scale(high))
                for low, high in zip(found.spread["low"], found.spread["high"], strict=True)
            ],
        ),
        len(what.frame),
    )


_SOURCES = {
    sizes.SETTINGS: "settings, their effects summed",
    sizes.CONFIGURATIONS: "configurations, beyond that sum",
    sizes.REPEATS: "repeats of a configuration",
    sizes.REST: "runs, beyond that sum",
}


def cells_table(found, what):
    """What `analysis.sizes.unusual_cells` returns."""
    frame = _rescaled(found.cells, np.exp if found.log else None)
    frame = frame.assign(
        configuration=[", ".join(f"{n} = {v}" for n, v in levels) for levels in frame["levels"]]
    )
    return Table(
        "together",
        say("Configurations that differ most from the sum of the settings' effects."),
        (
            Heading("configuration", "configuration"),
            Heading("n_runs", "runs", count),
            Heading("size", "to that sum" if found.log else "difference", as_printed),
            Heading("interval", "interval", as_printed),
            Heading("p_family", "p", probability, "by Holm over all configurations"),
        ),
        _with_texts(frame, ratio_texts if found.log else difference_texts),
        len(what.frame),
        holds=("together",),
        limit=20,
    )
