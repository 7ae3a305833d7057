"""How large an effect is, in words and tables: ratios between levels, the effect of doubling, spread.

A size on the log scale is read as a ratio (levels) or a change in percent (doubling); on a response's own
scale as a difference.
"""

import numpy as np
import pandas as pd

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
from traincost.results.prose import N_NAMED, Name, Number, key, say
from traincost.results.tables import Heading, Table, as_printed

RATIO, DOUBLING, DIFFERENCE, DOUBLED = "ratio", "doubling", "difference", "difference by doubling"
_LEVEL = Number.of("sizes.level", sizes.LEVEL, percent)
SIZES = ["size", "size_low", "size_high", "size_kind", "level", "than"]


def with_sizes(found):
    """Return the table of effects with the size that stands beside each verdict.

    That is the effect of doubling a number, or else the ratio of the two levels that differ most. Where the
    response turns along a number, doubling has no one effect.
    """
    ratios = ratios_of(found).groupby("factor", sort=False)
    doublings = doublings_of(found).set_index("factor")
    doublings = doublings.drop(found.turns["factor"])
    rows = []
    for factor in found.table["factor"]:
        row, kind = {}, ""
        if factor in doublings.index:
            row, kind = doublings.loc[factor], DOUBLING if found.log else DOUBLED
        elif factor in ratios.groups:
            pairs = ratios.get_group(factor)
            row, kind = pairs.loc[pairs["estimate"].idxmax()], RATIO if found.log else DIFFERENCE
        ends = (row.get(name, np.nan) for name in ("estimate", "low", "high"))
        rows.append((*ends, kind, row.get("level", ""), row.get("than", "")))
    sized = pd.DataFrame(rows, columns=SIZES, index=found.table.index)
    return found.table.assign(**{name: sized[name] for name in SIZES})


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
    values = row.size, row.size_low, row.size_high
    size, low, high = Number.several((name, f"{name}_low", f"{name}_high"), values, printer(*values))
    if row.size_kind in (DOUBLING, DOUBLED):
        steady = row.size_low * row.size_high > 0
        said = f"{'' if steady else 'no steady trend, '}doubling it goes with {{size}}"
    elif row.size_kind == DIFFERENCE:
        said = "{a} has {size} more than {b}"
    elif what.kind == "seconds":
        said = "{a} takes {size} as long as {b}"
    else:
        said = "{a} has {size} as much as {b}"
    a, b = (Name(short.get(level, level)) for level in (row.level, row.than))
    return say(f": {said} ({{low}} to {{high}})", size=size, low=low, high=high, a=a, b=b)


def turn_of(what, factor):
    """Say that the response turns along a number, where it does."""
    for row in what.examined.turns.itertuples():
        if row.factor == factor:
            yield say(
                "{what} is {most} near {factor} = {at}, and {less} on either side, so what doubling does "
                "depends on where.",
                what=what.subject,
                most="highest" if row.is_peak else "lowest",
                less="lower" if row.is_peak else "higher",
                factor=Name(factor),
                at=Number.of(key("effects", factor, "turn"), row.at, _level_text),
            )


def _level_text(value):
    return count(value) if value == int(value) else f"{value:.3g}"


def together(what, found):
    """Say how far configurations differ beyond the sum of the settings' effects, and which do most."""
    structure = found.judged.structure
    if not structure.act_together:
        return
    beyond = found.spread.set_index("source")["sd"].get(sizes.CONFIGURATIONS, np.nan)
    yield say(
        "The settings act together: configurations differ by {sd}{cv} beyond the sum of the settings' "
        "effects (lack of fit, p {p}).[ Most: {cells}.]",
        sd=Number.of("spread.configurations", beyond, share_text if what.log else significant),
        cv=" (CV)" if found.log else "",
        p=Number.of("interaction.lack_of_fit.p", structure.together.p, probability_is),
        cells=[_cell(what, i, row) for i, row in enumerate(found.cells.head(N_NAMED).itertuples())],
    )


def _cell(what, i, row):
    levels = Name(", ".join(f"{name} = {level}" for name, level in row.levels))
    name = key("together", str(i), "estimate")
    if what.log:
        ratio, low, high = np.exp([row.estimate, row.low, row.high])
        x = Number(name, float(ratio), ratio_text(ratio, low, high))
        return say("{levels} has {x} what that sum says", levels=levels, x=x)
    x = Number.of(name, row.estimate, significant)
    return say("{levels} differs by {x} from that sum", levels=levels, x=x)


# -- tables --------------------------------------------------------------------------------


def size_tables(found, what):
    """Return the tables of all sizes: levels compared, doublings, spread, and unusual configurations."""
    tables = (_ratios_table, _doublings_table, _spread_table, _cells_table)
    return [table(found, what) for table in tables]


def _ratios_table(found, what):
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
        holds=("effects.ratios", "effects", "sizes"),
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


def _doublings_table(found, what):
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
        holds=("effects.doublings", "effects", "sizes"),
    )


def _spread_table(found, what):
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


def _cells_table(found, what):
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
