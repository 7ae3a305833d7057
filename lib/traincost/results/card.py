"""What an estimation card answers first: how compute grew, or what one's own runs took; how to cite it."""

from traincost import __version__
from traincost.estimation import estimates as estimation
from traincost.estimation.trends import LARGE, MIN_SYSTEMS
from traincost.results.estimate_tables import flop, named, span_of, systems_of
from traincost.results.estimates import checked
from traincost.results.growth import GROUP_NAMES, months
from traincost.results.numbers import eta, key, number_of, plural
from traincost.results.prose import Name, Number, Phrase, When, join, say
from traincost.results.result import Answer, Result


def card(systems, growth=None, *, name=""):
    """Say what a reader of a card needs first, and how to cite it.

    Parameters
    ----------
    systems : Result
        What `estimate` returned.
    growth : Result, optional
        What `trends` returned for it.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` is that of `systems`. Its parts: ``answer`` and ``cite``.
    """
    known = systems.frame[systems.frame["value_flop"].gt(0)]
    grown = _established(growth)
    figures = growth.figures if growth is not None else {}
    answer = Answer(
        finding=_finding(known, grown, systems_of(systems.frame)),
        lead=_lead(known, systems_of(systems.frame)),
        do=(*_groups(grown), *_checked(known)),
        figure=figures.get("trend"),
        facts=tuple(_facts(systems.frame, grown, systems_of(systems.frame))),
    )
    parts = {"answer": (known, answer), "cite": (known, [_cited(systems, known, grown)])}
    return Result.of_parts("card", systems.frame, parts, name, systems.of)


def _established(growth):
    """The trends that may be claimed, that of the group which is no exception first."""
    if growth is None or not len(growth.frame):
        return []
    fitted = growth.frame[growth.frame["established"] & growth.frame["n"].ge(MIN_SYSTEMS)]
    last = fitted[fitted["era_start"].eq(fitted["era_start"].max())]
    return sorted(last.itertuples(), key=lambda row: row.group == LARGE)


def _interval(row):
    base = ("trends", row.era_start, row.group)
    low = months(key(*base, "doubling_low"), row.doubling_low)
    high = months(key(*base, "doubling_high"), row.doubling_high)
    return say("({low} to {high})", low=_bare(low), high=_bare(high))


def _bare(number):
    """Return a number of months without the word, which stands before it."""
    return Number(number.key, number.value, number.text.removesuffix(" months"))


def _doubling(row):
    return months(key("trends", row.era_start, row.group, "doubling_months"), row.doubling_months)


def _finding(known, grown, what):
    if grown:
        return say(
            "Training compute doubled every {d} {interval}",
            d=_doubling(grown[0]),
            interval=_interval(grown[0]),
        )
    total = float(known["value_flop"].sum())
    if len(known) == 1:
        return say("{x} took {a}", x=named(known["system"].iloc[0], known), a=flop("estimates.low", total))
    if what == "run":  # alike enough to be added up
        return say(
            "{n} runs took {a} together",
            n=number_of("estimates.n", len(known)),
            a=flop("estimates.total_flop", total),
        )
    return say(
        "{n} systems took from {low} to {high}", n=number_of("estimates.n", len(known)), **span_of(known)
    )


def _lead(known, what):
    """How many systems there are, and the least and the most of them."""
    if len(known) < 2:
        return None
    return say(
        "{n} {systems}, from {low} to {high}.",
        n=number_of("estimates.n", len(known)),
        systems=plural(len(known), what),
        **span_of(known),
    )


def _groups(grown):
    """Which systems the doubling time is of, and that of the others."""
    if not grown:
        return []
    first, *others = grown
    said = say(
        "The doubling time is that of {n} {group}",
        n=number_of(key("trends", first.era_start, first.group, "n"), first.n),
        group=GROUP_NAMES[first.group],
    )
    rest = [
        say(
            "{n} {group} give {d} {interval}",
            n=number_of(key("trends", row.era_start, row.group, "n"), row.n),
            group=GROUP_NAMES[row.group],
            d=_doubling(row),
            interval=_interval(row),
        )
        for row in others
    ]
    return [say("{a}.", a=join([said, *rest], "; "))]


def _checked(known):
    """How far the estimates agree with totals that sources state."""
    agreement = checked(known)
    if agreement is None:
        return []
    n, near, factor = agreement
    return [
        say(
            "Of {n} stated totals that can be checked, {near} {lie} within a factor of {f} of the next best "
            "evidence.",
            n=number_of("stated.n", n),
            near="all" if near == n else number_of("stated.n_near", near),
            lie=plural(near, "lies", "lie"),
            f=Number("stated.factor", factor, f"{factor:g}"),
        )
    ]


def _facts(frame, grown, what):
    yield say("{n}", n=number_of("systems.n", len(frame))), say(plural(len(frame), what))
    dates = frame["date"].dropna()
    if len(dates):
        ends = dates.min(), dates.max()
        first, last = (f"{date:%Y}" if ends[0].year < ends[1].year else f"{date:%Y-%m-%d}" for date in ends)
        span = say("{a} to {b}", a=When(first), b=When(last)) if first != last else say("{a}", a=When(first))
        yield span, say("first and last date")
    if grown:
        yield say("{d}", d=_doubling(grown[0])), say("doubling time, {g}", g=GROUP_NAMES[grown[0].group])
    both = estimation.both_measures(frame)
    if len(both):
        yield (
            say("{u}", u=eta("utilisation.median", both["implied_utilisation"].median())),
            say("implied utilisation, median of {n}", n=number_of("utilisation.n", len(both))),
        )


def _cited(systems, known, grown):
    """One sentence to cite the card by, with the data, the period and the method."""
    dates = known["date"].dropna()
    period = (
        say(", {a} to {b}", a=When(f"{dates.min():%Y}"), b=When(f"{dates.max():%Y}")) if len(dates) else ""
    )
    doubling = ""
    if grown:
        row = grown[0]
        doubling = say(
            "; doubling time {d} {interval}, {n} {group}, {a} to {b}",
            d=_doubling(row),
            interval=_interval(row),
            n=number_of(key("trends", row.era_start, row.group, "n"), row.n),
            group=GROUP_NAMES[row.group],
            a=When(f"{row.first:%Y-%m}"),
            b=When(f"{row.last:%Y-%m}"),
        )
    return say(
        "Cite as: traincost {version}, {data}: training compute of {n} {systems}{period}{doubling}. Method "
        "of {papers}.",
        papers=[Phrase("arXiv:2007.05558"), Phrase("arXiv:2202.05924")],
        version=When(__version__),
        data=Name(systems.of),
        n=number_of("estimates.n", len(known)),
        systems=plural(len(known), systems_of(systems.frame)),
        period=period,
        doubling=doubling,
    )
