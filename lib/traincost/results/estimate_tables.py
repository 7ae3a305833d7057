"""The systems of a card as tables and a figure: the best estimate of each, and what it is from."""

import re

import numpy as np

from traincost.estimation import estimates as estimation
from traincost.estimation import evidence
from traincost.estimation.estimates import DISAGREE
from traincost.estimation.uncertainty import LEVEL
from traincost.printing import SPACE, percent, power, significant, two
from traincost.results.figures import Figure, axes_of, label_rows, powers_of_ten
from traincost.results.prose import Name, Number, Phrase, key, say
from traincost.results.svg import INK, SERIES
from traincost.results.tables import Bar, Heading, Table, of_one

MAX_SYSTEMS = 48  # in one figure
BAND = f"{100 * LEVEL:.0f} % of draws of what is uncertain; the table of classes has what such intervals held"
FLOP = significant
DAY, MONTH = "{:%Y-%m-%d}".format, "{:%Y-%m}".format
# Kinds of evidence as a table has them; an asterisk is at those that assume something.
METHODS = {
    evidence.COUNTED: "operations",
    evidence.MEASURED: "throughput",
    evidence.AT_STATED: "burden",
    evidence.AT_ASSUMED: "burden*",
    evidence.BY_TOTAL: "all experts*",
}
ASSUMING = (evidence.AT_ASSUMED, evidence.BY_TOTAL)
_ARXIV = re.compile(r"\barXiv:([0-9]{4}\.[0-9]{4,5})(v[0-9]+)?\b")


def systems_of(estimated):
    """Return the word for what was estimated: the runs of one's own, or published systems."""
    return "run" if estimated.attrs.get("of_runs") else "system"


def flop(name, value):
    """Return a training compute as it is printed."""
    return Number(name, float(value), f"{significant(value, 2)}{SPACE}FLOP")


def named(system, estimated):
    """Return the name of a system: of a run as in its record, of a published one as a reader writes it."""
    return Name(system) if systems_of(estimated) == "run" else Phrase(system)


def span_of(known):
    """Return the least and the greatest estimate, each with its system, or how many print alike."""
    ends = {"low": known["value_flop"].min(), "high": known["value_flop"].max()}
    said = {}
    for end, value in ends.items():
        printed = flop(key("estimates", end), value)
        alike = known.loc[[flop("", v).text == printed.text for v in known["value_flop"]], "system"]
        n = Number.count(key("estimates", f"n_{end}"), len(alike))
        whose = say("{n} {what}{n:|s} alike in these digits", n=n, what=systems_of(known))
        said[end] = say("{a} ({x})", a=printed, x=named(alike.iloc[0], known) if len(alike) == 1 else whose)
    return said


def _caption(known):
    return say("Best estimate of each system with its interval: from {low} to {high}.", **span_of(known))


def draw_estimates(known):
    """Best estimate of each system with its interval, in the order given."""
    n = len(known)
    rows = known.tail(MAX_SYSTEMS)
    figure, axes = axes_of(0.8 + 0.24 * len(rows))
    places = np.arange(len(rows))
    axes.hlines(places, rows["low_flop"], rows["high_flop"], color=SERIES[0], linewidth=1.6)
    axes.plot(rows["value_flop"], places, "o", color=SERIES[0], markersize=4.5)
    stated = rows["stated_flop"].to_numpy(dtype=float)
    axes.plot(stated, places, "|", color=INK, markersize=9, markeredgewidth=1.6)
    label_rows(axes, rows["system"])
    axes.set_xscale("log")
    powers_of_ten(axes.xaxis)
    axes.set_xlabel("training compute (FLOP)")
    axes.grid(axis="x")
    legend = [(SERIES[0], "estimate with its interval")]
    if np.isfinite(stated).any():
        legend.append(("tick", "what the source itself states"))
    cut = [(None, f"the latest {MAX_SYSTEMS} of {n} systems")] if n > MAX_SYSTEMS else []
    return figure, legend + cut


def estimates_table(frame):
    """The best estimate of each system, in the order given."""
    known = frame[frame["value_flop"].gt(0)]
    low, high = _decades(known)
    scale = f"{power(low)} to {power(high)}"
    bar = Bar("low_flop", "high_flop", "check_flop", log=(low, high), text=scale)
    printed = frame.assign(
        basis=[METHODS.get(method, method) for method in frame["method"]],
        address=[arxiv(source) for source in frame["source"]],
    )
    return Table(
        "estimates",
        say("Best estimate of each {what}, most compute first", what=systems_of(frame)),
        (
            Heading("system", "system", link="address"),
            Heading("date", "date", MONTH, hide_on_phone=True),
            Heading("value_flop", "FLOP", lambda value: significant(value, 2), bar=bar),
            Heading("basis", "from", below_on_phone=True),
            Heading("implied_utilisation", "implied utilisation", two, hide_on_phone=True),
        ),
        printed,
        filter="systems that were read",
        origins=of_one(frame["system"], "the system of the row"),
        holds=("estimates", "systems", "utilisation", "stated"),
        note=_marks(known),
        drawn=Figure.of("estimates", estimation.by_date(known), draw_estimates, _caption),
    )


def _decades(known):
    """Return the powers of ten between which all values lie, at least one apart."""
    values = known[["low_flop", "high_flop", "value_flop", "check_flop"]].to_numpy(dtype=float)
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values):
        return 0, 1
    low = int(np.floor(np.log10(values.min())))
    return low, max(low + 1, int(np.ceil(np.log10(values.max()))))


def arxiv(source):
    """Return the address of the first paper that a source names, empty where it names none.

    >>> arxiv("arXiv:2407.21783"), arxiv("javascript:x")
    ('https://arxiv.org/abs/2407.21783', '')
    """
    match = _ARXIV.search(source)
    return f"https://arxiv.org/abs/{match[1]}{match[2] or ''}" if match else ""


def _marks(known):
    """What line, upright and asterisk mean."""
    some_assume = known["method"].isin(ASSUMING).any()
    return say(
        "Line: interval of {line}{upright}.{assumed}",
        line=Number.of("estimates.level", LEVEL, percent),
        upright="; upright: the next best evidence" if known["check_flop"].gt(0).any() else "",
        assumed=" * a utilisation, or the active share of experts, is assumed." if some_assume else "",
    )


def measures_table(frame):
    """What the best estimates are from; whatever else is known of a system is in `estimates_table`."""
    several = frame.loc[frame["burden_time"].ne(""), "burden_time"].nunique() > 1
    rate = "of the hardware named; no burden without its number and hours"
    best = "of the strongest evidence there is; the others are checks, and not averaged in"
    headings = (
        Heading("system", "system"),
        Heading("date", "date", DAY),
        Heading("value_flop", "best estimate", FLOP, best),
        Heading("low_flop", "interval from", FLOP, BAND),
        Heading("high_flop", "interval to", FLOP),
        Heading("method", "estimated by"),
        Heading("check_flop", "next best", FLOP),
        Heading("check_ratio", "ratio", FLOP, f"best over next; beyond {DISAGREE:g} ×/÷ they contradict"),
        Heading("operations_flop", "operations", FLOP, "network operations, 2007.05558 eq. 1, or 6 N D"),
        Heading("burden_flop", "burden", FLOP, "hardware burden at the peak rate, 2007.05558 eq. 2"),
        several
        and Heading("burden_time", "time of the burden", str, "what the time is of that the burden takes"),
        Heading("utilisation", "utilisation taken", two, "as stated, else the median of those alike"),
        Heading("implied_utilisation", "implied utilisation", two, "operations / burden; impossible above 1"),
        frame["base"].ne("").any() and Heading("base", "trained from"),
        Heading("operations_method", "operations by", str, "eq. 1 of 2007.05558; N parameters, D tokens"),
        Heading("rate_note", "peak rate", str, rate),
        frame["spread_from"].ne("").any() and Heading("spread_from", "interval mostly from"),
        Heading("problem", "problem"),
    )
    return Table(
        "measures",
        say("In FLOP: the best estimate with its interval, the next best as a check, and both measures"),
        headings,
        frame[[heading.name for heading in headings if heading]],
        filter="systems that were read",
        origins=of_one(frame["system"], "the system of the row"),
    )
