"""How much compute trainings took: the estimates, what they rest on, and how far the figures agree."""

import os

import numpy as np

from traincost.errors import NothingToReport
from traincost.estimation import contradictions as against
from traincost.estimation import energy
from traincost.estimation import estimates as estimation
from traincost.estimation.compute import REPORTED, STAGES, WHOLE_RUN
from traincost.estimation.estimates import DISAGREE
from traincost.printing import significant, two
from traincost.results import arguments
from traincost.results.contradictions import contradiction_blocks
from traincost.results.energy import energy_blocks
from traincost.results.estimate_tables import DAY, estimates_table, flop, measures_table, span_of, systems_of
from traincost.results.evidence import evidence_blocks, input_blocks, rejected_table, sources_table
from traincost.results.fits import conversion_blocks, error_blocks
from traincost.results.prose import Name, Number, When, key, say
from traincost.results.result import Earlier, Headline, Items, More, Result
from traincost.results.systems import read_claims, read_systems
from traincost.words import printable


@arguments.checked
def estimate(
    systems,
    *,
    format="auto",
    path_pattern="",
    where=None,
    claims="",
    target_error=0.01,
    measure=estimation.BEST,
    direction="error on compute",
    pairs="consistent",
    conversion="",
    region="",
    prices=None,
    name="",
):
    """Estimate the training compute of systems, by what their sources or records report.

    Network operations are the sum over stages of epochs × FLOP per forward pass × passes per epoch,
    three times for forward and backward (2007.05558 eq. 1), or 6 N D for N parameters and D tokens
    (2001.08361 section 2.1). Hardware burden is processors × peak rate × time (2007.05558 eq. 2).

    Parameters
    ----------
    systems : str, path or Runs
        A sheet (YAML), a CSV with the columns of Epoch AI's databases, or runs whose records have
        compute blocks.
    format, path_pattern : str
        Of a directory of runs, as `read` takes them.
    where : mapping, optional
        Which runs are taken, as `read` takes it; of a list or sheet, which systems, by column: ``{"domain":
        ["Language"]}``.
    claims : str or path
        A YAML file of printed claims to set against each other; none if empty.
    target_error : float
        Error, between 0 and 1, that error against compute is projected to.
    measure : str
        That error is set against: ``best`` (the one that most systems with an error have), ``stated``,
        ``operations``, ``burden``, ``consolidated`` (the burden, derived from operations where there is
        none) or ``forward`` (FLOP of one pass).
    direction : str
        ``error on compute`` or ``compute on error``: the regression that is said first.
    pairs : str
        ``consistent`` ones, or ``all``, that one measure is converted into the other by.
    conversion : str or path
        Systems that the conversion is fitted on, in place of these.
    region : str
        Country or Google Cloud region of the grid, of systems that state none; no CO₂ if empty.
    prices : dict, optional
        Words of a processor's name to the price of its hour, or to the lowest and the highest.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per system, computes in FLOP, as `estimation.estimates.estimate_systems`
        returns it. Its parts: ``summary``, ``overview``, ``estimates``, ``evidence`` (every candidate
        of a system, the best first), ``conversion`` (one measure into the other), ``errors`` (against
        compute), ``contradictions``, ``energy`` (with CO₂ and money), ``provenance`` (peak rates, sources,
        what is not read of a list, and what a sheet leaves out).

    Raises
    ------
    NothingToReport
        A file cannot be read, or no system can be estimated.
    ParameterError
        An argument cannot be used.

    Examples
    --------
    >>> len(estimate(runs).frame[["system", "value_flop"]])
    36
    """
    printed = against.claim_contradictions(read_claims(claims))
    reported = read_systems(systems, format, path_pattern, where)
    estimated, candidates = _estimated(reported)
    estimated.attrs["of_runs"] = not reported.frame["burden_time"].eq(REPORTED).all()
    line, elsewhere = _conversion(estimated, conversion, pairs)
    fits = estimation.fit_errors(estimated, target_error, measure, line)
    own = against.contradictions(estimated, reported.frame, fits)
    spent = energy.estimate_energy(reported.frame, region, prices)
    parts = {
        "summary": (estimated, Headline(_summary(estimated))),
        "overview": (estimated, *_overview_blocks(estimated, reported)),
        "estimates": _estimates(estimation.by_date(estimated), reported),
        "evidence": (candidates, *evidence_blocks(candidates, estimated)),
        "conversion": (
            estimation.both_measures(estimated),
            *conversion_blocks(estimated, line, pairs, elsewhere),
        ),
        "errors": (estimated, *error_blocks(fits, target_error, direction)),
        "contradictions": (own, *contradiction_blocks(own, printed, estimated)),
        "energy": (spent, *energy_blocks(spent)),
        "provenance": (reported.where, *input_blocks(reported, estimated)),
    }
    return Result.of_parts("estimate", estimated, parts, name, reported.name)


def _estimated(reported):
    """Estimate what was reported; where nothing can be, name what was given and could not be used."""
    try:
        return estimation.estimate_all(reported.frame)
    except NothingToReport as problem:
        unread = reported.rejected[~reported.rejected["column"].isin(("", "date"))]
        first = next((f"; {row.column} {row.reason.partition(';')[0]}" for row in unread.itertuples()), "")
        raise NothingToReport(f"{problem}{printable(first)}") from None


def _conversion(estimated, path, pairs):
    """Return the fit of burden on operations, and the name of what it was made on, where not on these."""
    consistent = pairs == "consistent"
    if not path:
        return estimation.fit_conversion(estimated, consistent), ""
    reported = read_systems(path)
    line = estimation.fit_conversion(estimation.estimate_systems(reported.frame), consistent)
    if line is None:
        raise NothingToReport(
            f"{os.fspath(path)!r} has no three systems with both measures to fit a conversion"
        )
    return line, reported.name


def _overview_blocks(estimated, reported):
    return (
        Earlier(("overview", "when-to-use-which")),
        _checks(estimated),
        More(
            say("How many there are, by which measures, and what could be checked"),
            (Items(_overview(estimated, reported)), _stated(estimated)),
        ),
    )


def _summary(estimated):
    """The span, the total of few alike, and how the checks went."""
    known = estimated[estimated["value_flop"].gt(0)]
    if len(known) == 1:
        (system,) = known.itertuples()
        said = say("{x} took {a}.", x=Name(system.system), a=flop("estimates.low", system.value_flop))
    else:
        n = Number.count("estimates.n", len(known))
        said = say("{n} systems took from {low} to {high}.", n=n, **span_of(known))
    return [said, *_utilisation(estimated), *_stated(estimated)]


def _overview(estimated, reported):
    """How many systems there are, by which measures, and of what period."""
    has = estimated[["operations_flop", "burden_flop"]].apply(np.isfinite)
    yield from _counted(
        {
            "systems": ("n", len(estimated)),
            "with network operations": ("n_operations", has["operations_flop"].sum()),
            "with hardware burden": ("n_burden", has["burden_flop"].sum()),
            "with both, so that one checks the other": ("n_both", has.all(axis=1).sum()),
        }
    )
    dates = estimated["date"].dropna()
    if len(dates):
        yield say("dates: {a} to {b}", a=When(DAY(dates.min())), b=When(DAY(dates.max())))
    problems = {
        "without any estimate": ("n_unusable", estimated["value_flop"].isna().sum()),
        "values that could not be used": ("n_rejected", len(reported.rejected)),
        "left out of the sheet, each for its reason": ("n_left_out", len(reported.left_out)),
    }
    yield from _counted({what: counted for what, counted in problems.items() if counted[1]})


def _counted(counts):
    for what, (name, n) in counts.items():
        yield say("{what}: {n}", what=what, n=Number.count(key("systems", name), n))


def _checks(estimated):
    """What the two measures cover, and how far they and the stated totals agree."""
    yield say("Network operations are of training alone: pre-training, training and fine-tuning.")
    yield from _burden_times(estimated["burden_time"])
    yield say(
        "What a search, a failed run or deployment cost is in neither measure, so both are lower bounds of a "
        "project."
    )
    yield from _utilisation(estimated)


_BURDEN_TIMES = {
    WHOLE_RUN: "the whole runtime of the run, evaluation and set-up included: the utilisation that it "
    "implies is that of the run, at most that of its training",
    STAGES: "the time of its training stages alone",
    REPORTED: "the training time, or the burden itself, that its source reports",
}


def _burden_times(burden_time):
    for kind, what in _BURDEN_TIMES.items():
        n = Number.count(key("systems", "n_burden_of", kind), burden_time.eq(kind).sum())
        if n.value:
            yield say("The hardware burden of {n} {n:system|systems} takes {what}.", n=n, what=what)


def _utilisation(estimated):
    both = estimation.both_measures(estimated)
    if not len(both):
        return
    implied = both["implied_utilisation"]
    yield say(
        "Where a system has both measures, operations over burden imply a utilisation{of} between {low} and "
        "{high}, {mid} at the median.",
        of=" of the whole run" if both["burden_time"].eq(WHOLE_RUN).all() else "",
        low=Number.of("utilisation.low", implied.min(), _of_peak),
        high=Number.of("utilisation.high", implied.max(), _of_peak),
        mid=Number.of("utilisation.median", implied.median(), _of_peak),
    )


def _of_peak(value):
    return two(value) if value >= 0.01 else significant(value)


def _stated(estimated):
    """How far the totals that the sources state agree with the next best evidence."""
    stated = estimated[estimated["stated_flop"].gt(0) & estimated["value_flop"].gt(0)]
    if not len(stated):
        return
    n_alone = len(stated) - int(stated["check_flop"].gt(0).sum())
    n, n_near, factor = checked(stated) or (0, 0, DISAGREE)
    yield say(
        "A total is stated for {all} {all:system|systems}[; for {alone} it is the only figure there is].[ Of "
        "{which} {n}, {near} {near:lies|lie} within a factor of {factor} of the next best evidence.]",
        all=Number.count("stated.n_all", len(stated)),
        alone=Number.count("stated.n_alone", n_alone) if n_alone else None,
        which="the other" if n_alone else "these",
        n=Number.count("stated.n", n) if n else None,
        near=Number.count("stated.n_near", n_near),
        factor=Number("stated.factor", factor, f"{factor:g}"),
    )


def checked(estimated):
    """Return how many stated totals have other evidence beside them, how many agree, and how closely.

    None where no total has.
    """
    other = estimated[estimated["stated_flop"].gt(0) & estimated["check_flop"].gt(0)]
    if not len(other):
        return None
    return len(other), int(other["check_ratio"].between(1 / DISAGREE, DISAGREE).sum()), DISAGREE


def _estimates(ordered, reported):
    listed = ordered.sort_values("value_flop", ascending=False, kind="stable", na_position="last")
    n = Number.count("sources.n", len(reported.where))
    return (
        ordered,
        [_known_by(ordered)],
        estimates_table(listed),
        More(say("Both measures, checks, utilisation and peak rates"), (measures_table(listed),)),
        More(say("Where each of the {n} figures stands in its paper", n=n), (sources_table(reported.where),)),
        More(say("What could not be used"), (rejected_table(reported.rejected),)),
    )


def _known_by(frame):
    has = frame[["operations_flop", "burden_flop"]].apply(np.isfinite)
    return say(
        "Operations are known of {a} {what}{a:|s}, burden of {b}, both of {c}.",
        what=systems_of(frame),
        a=Number.count("systems.n_operations", has["operations_flop"].sum()),
        b=Number.count("systems.n_burden", has["burden_flop"].sum()),
        c=Number.count("systems.n_both", has.all(axis=1).sum()),
    )
