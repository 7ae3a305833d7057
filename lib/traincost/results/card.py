"""What an estimation card answers first: how compute grew, or what one's own runs took; how to cite it."""

from traincost import __version__
from traincost.estimation import estimates as estimation
from traincost.estimation.trends import LARGE, MIN_SYSTEMS
from traincost.results import arguments
from traincost.results.estimate_tables import flop, named, span_of, systems_of
from traincost.results.estimates import checked
from traincost.results.growth import GROUP_NAMES, doubling_of
from traincost.results.prose import Name, Number, Phrase, When, join, key, plural, say
from traincost.results.result import Answer, Result


@arguments.checked
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


def _doubling(row):
    """Return the doubling time of a fit, its interval, and what it is of, as parts of a sentence."""
    found = doubling_of(row)
    bare = (
        Number(found[end].key, found[end].value, found[end].text.removesuffix(" months")) for end in _ENDS
    )
    return {
        "d": found["doubling_months"],
        "interval": say("({low} to {high})", **dict(zip(("low", "high"), bare, strict=True))),
        "n": Number.count(key("trends", row.era_start, row.group, "n"), row.n),
        "group": GROUP_NAMES[row.group],
    }


_ENDS = ("doubling_low", "doubling_high")


def _finding(known, grown, what):
    if grown:
        return say("Training compute doubled every {d} {interval}", **_doubling(grown[0]))
    total = float(known["value_flop"].sum())
    if len(known) == 1:
        return say("{x} took {a}", x=named(known["system"].iloc[0], known), a=flop("estimates.low", total))
    n = Number.count("estimates.n", len(known))
    if what == "run":  # alike enough to be added up
        return say("{n} runs took {a} together", n=n, a=flop("estimates.total_flop", total))
    return say("{n} systems took from {low} to {high}", n=n, **span_of(known))


def _lead(known, what):
    if len(known) < 2:
        return None
    n = Number.count("estimates.n", len(known))
    return say("{n} {what}{n:|s}, from {low} to {high}.", n=n, what=what, **span_of(known))


def _groups(grown):
    """Which systems the doubling time is of, and that of the others."""
    if grown:
        first, *others = grown
        said = [say("The doubling time is that of {n} {group}", **_doubling(first))]
        said += [say("{n} {group} give {d} {interval}", **_doubling(row)) for row in others]
        yield say("{a}.", a=join(said, "; "))


def _checked(known):
    """How far the estimates agree with totals that sources state."""
    agreement = checked(known)
    if agreement is None:
        return
    n, near, factor = agreement
    yield say(
        "Of {n} stated totals that can be checked, {near} {k:lies|lie} within a factor of {f} of the next "
        "best evidence.",
        n=Number.count("stated.n", n),
        near="all" if near == n else Number.count("stated.n_near", near),
        k=near,
        f=Number("stated.factor", factor, f"{factor:g}"),
    )


def _facts(frame, grown, what):
    yield say("{n}", n=Number.count("systems.n", len(frame))), say(plural(len(frame), what))
    dates = frame["date"].dropna()
    if len(dates):
        ends = dates.min(), dates.max()
        first, last = (f"{date:%Y}" if ends[0].year < ends[1].year else f"{date:%Y-%m-%d}" for date in ends)
        span = say("{a} to {b}", a=When(first), b=When(last)) if first != last else say("{a}", a=When(first))
        yield span, say("first and last date")
    if grown:
        yield say("{d}", **_doubling(grown[0])), say("doubling time, {group}", **_doubling(grown[0]))
    both = estimation.both_measures(frame)
    if len(both):
        yield (
            say("{u}", u=Number.two("utilisation.median", both["implied_utilisation"].median())),
            say("implied utilisation, median of {n}", n=Number.count("utilisation.n", len(both))),
        )


def _cited(systems, known, grown):
    """One sentence to cite the card by, with the data, the period and the method."""
    dates = known["date"].dropna()
    parts = {} if not len(dates) else {"from": When(f"{dates.min():%Y}"), "to": When(f"{dates.max():%Y}")}
    doubling = None
    if grown:
        row = grown[0]
        ends = {"a": When(f"{row.first:%Y-%m}"), "b": When(f"{row.last:%Y-%m}")}
        doubling = say("{d} {interval}, {n} {group}, {a} to {b}", **_doubling(row), **ends)
    return say(
        "Cite as: traincost {version}, {data}: training compute of {n} {what}{n:|s}[, {from} to {to}][; "
        "doubling time {doubling}]. Method of {papers}.",
        papers=[Phrase("arXiv:2007.05558"), Phrase("arXiv:2202.05924")],
        version=When(__version__),
        data=Name(systems.of),
        n=Number.count("estimates.n", len(known)),
        what=systems_of(systems.frame),
        doubling=doubling,
        **{"from": None, "to": None, **parts},
    )
