"""How large an effect is, in words and tables: ratios between levels, the effect of doubling, spread.

A size on the log scale is read as a ratio (levels) or a change in percent (doubling); on a response's own
scale as a difference.
"""

import numpy as np

from traincost.analysis import sizes
from traincost.analysis.verdicts import HERE
from traincost.columns import count, decimals_within, percent, probability, significant
from traincost.results.numbers import N_NAMED, key
from traincost.results.prose import Name, Number, say
from traincost.results.tables import Heading, Table, two

RATIO, DOUBLING, DIFFERENCE, DOUBLED = "ratio", "doubling", "difference", "difference by doubling"
_LEVEL = Number("sizes.level", sizes.LEVEL, percent(sizes.LEVEL, 0))
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
    name = key("effects", row.factor, "size")
    printer = {RATIO: _ratio, DOUBLING: _signed}.get(row.size_kind, _difference)
    size, low, high = printer(row.size, row.size_low, row.size_high)
    parts = {
        "size": Number(name, float(row.size), size),
        "low": Number(f"{name}_low", float(row.size_low), low),
        "high": Number(f"{name}_high", float(row.size_high), high),
        "a": Name(row.level),
        "b": Name(row.than),
    }
    if row.size_kind in (DOUBLING, DOUBLED):
        return say(": doubling it goes with {size} ({low} to {high})", **parts)
    if row.size_kind == DIFFERENCE:
        return say(": {a} has {size} more than {b} ({low} to {high})", **parts)
    if what.kind == "seconds":
        return say(": {a} takes {size} as long as {b} ({low} to {high})", **parts)
    return say(": {a} has {size} as much as {b} ({low} to {high})", **parts)


def _ratio(*ends):
    """Print a ratio and its interval with the decimals that it carries.

    >>> _ratio(2.324, 2.071, 2.593)
    ('2.32 ×', '2.07', '2.59')
    """
    decimals = 2 if ends[0] < 10 else 1 if ends[0] < 100 else 0
    texts = [f"{end:.{decimals}f}" for end in ends]
    return f"{texts[0]} ×", texts[1], texts[2]


def _signed(*ends):
    """Print a change in percent, with its sign.

    >>> _signed(-0.281, -0.342, -0.218)
    ('−28 %', '−34', '−22')
    """
    decimals = min(decimals_within(100 * ends[1], 100 * ends[2]), 1)
    texts = [f"{100 * end:+.{decimals}f}".replace("-", "−") for end in ends]
    return f"{texts[0]} %", texts[1], texts[2]


def _difference(*ends):
    return tuple(significant(end, 3).replace("-", "−") for end in ends)


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
            p=Number("interaction.lack_of_fit.p", float(lack.p), _probability(lack.p)),
            most=most,
        )
    ]


def _probability(value):
    text = probability(value)
    return text if text.startswith("<") else f"= {text}"


def _sd(what, name, value):
    return Number(
        name, float(value), percent(value, 0 if value >= 0.1 else 1) if what.log else significant(value)
    )


def _cell(what, i, row):
    levels = ", ".join(f"{name} = {level}" for name, level in row.levels)
    name = key("together", str(i), "estimate")
    if what.log:
        text = _ratio(*np.exp([row.estimate, row.low, row.high]))[0]
        return say(
            "{levels} has {x} what that sum says",
            levels=Name(levels),
            x=Number(name, float(np.exp(row.estimate)), text),
        )
    return say(
        "{levels} differs by {x} from that sum",
        levels=Name(levels),
        x=Number(name, float(row.estimate), _difference(row.estimate)[0]),
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
            Heading("estimate", "×" if found.log else "difference", two if found.log else significant),
            Heading("low", "from", two if found.log else significant),
            Heading("high", "to", two if found.log else significant),
            Heading("method", "method"),
        ),
        frame,
        len(what.frame),
        holds=("effects.ratios", "sizes"),
    )


def doublings_table(found, what):
    """What `analysis.sizes.doublings` returns, in percent."""
    scale = (lambda value: _signed(value, value, value)[0]) if found.log else significant
    return Table(
        "doublings",
        say("What doubling a number goes with, with {level} intervals.", level=_LEVEL),
        (
            Heading("factor", "factor"),
            Heading("estimate", "change", scale),
            Heading("low", "from", scale),
            Heading("high", "to", scale),
            Heading("method", "method"),
        ),
        doublings_of(found),
        len(what.frame),
        holds=("effects.doublings", "sizes"),
    )


def spread_table(found, what):
    """What `analysis.sizes.spread` returns."""
    scale = _cv if found.log else significant
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
            Heading("low", "from", scale, "95 % interval, where it has one"),
            Heading("high", "to", scale),
        ),
        found.spread.assign(source=found.spread["source"].map(_SOURCES)),
        len(what.frame),
    )


_SOURCES = {
    sizes.SETTINGS: "settings, their effects summed",
    sizes.CONFIGURATIONS: "configurations, beyond that sum",
    sizes.REPEATS: "repeats of a configuration",
    sizes.REST: "runs, beyond that sum",
}


def _cv(value):
    return percent(value, 0 if value >= 0.1 else 1)


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
            Heading(
                "estimate", "× that sum" if found.log else "difference", two if found.log else significant
            ),
            Heading("low", "from", two if found.log else significant),
            Heading("high", "to", two if found.log else significant),
            Heading("p_family", "p", probability, "by Holm over all configurations"),
        ),
        frame,
        len(what.frame),
        holds=("together",),
        limit=20,
    )
