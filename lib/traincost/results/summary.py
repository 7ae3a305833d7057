"""The answers of a page in at most five sentences, the most important first."""

from traincost.analysis import verdicts
from traincost.analysis.sections import OTHER, UNATTRIBUTED
from traincost.results.knobs import saving
from traincost.results.numbers import N_NAMED, key, names, number_of, plural, share, share_within
from traincost.results.prose import Name, Number, join, say
from traincost.results.result import Headline, Result
from traincost.results.threats import uneven_endings


def summary(runs, knobs=None, *, name=""):
    """Say in at most five sentences what it cost, what that depends on, where it went and what to change.

    Parameters
    ----------
    runs : Runs
    knobs : Result, optional
        What `knobs` returned for them, where some were turned.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` is that of `runs`.
    """
    turned = knobs.tables.get("turned") if knobs is not None else None
    said = [
        _cost(runs),
        _dependence(runs),
        _largest(runs.composition),
        _knob(runs.bounds, turned.frame if turned else None),
        _left_out(runs),
    ]
    found = tuple(sentence for sentence in said if sentence is not None)
    return Result.showing("summary", runs.frame, Headline(found), prefix=name, of=runs.label)


def _left_out(runs):
    excluded = runs.excluded
    if not len(excluded):
        return None
    known = excluded["runtime_s"].dropna()
    lost_s = float(known.sum())
    hours = say(", {t} of run time", t=Number("excluded.runtime_s", lost_s, runs.unit.text(lost_s)))
    counted = say(
        "{n} {runs} left out of every statistic{hours}.",
        n=number_of("excluded.n", len(excluded)),
        runs=plural(len(excluded), "run is", "runs are"),
        hours=hours if len(known) else "",
    )
    uneven = uneven_endings(runs)
    return counted if uneven is None else join([counted, uneven])


def _cost(runs):
    runtime_s, unit = runs.runtime_s, runs.unit
    n, total = len(runtime_s), float(runtime_s.sum())
    return say(
        "{n} {which}{runs} took {t} in all, {mean} each on average.",
        n=number_of("runtime.n", n),
        which="completed " if len(runs.excluded) else "",
        runs=plural(n, "run"),
        t=Number("runtime.total_s", total, unit.text(total)),
        mean=Number("runtime.mean_s", float(runtime_s.mean()), unit.text(runtime_s.mean())),
    )


def _dependence(runs):
    """Say what runtime depends on, in the words of the strongest verdict."""
    effects, structure = runs.effects, runs.examined.judged.structure
    tested = effects[effects["kind"] != "replicate"]
    if not len(tested) or (tested["verdict"] == verdicts.NO_VARIATION).all():
        return None
    for verdict, template in _STRONGEST.items():
        found = tested[tested["verdict"] == verdict]["factor"]
        if len(found):
            return say(template, f=names(found.head(N_NAMED)))
    if structure.act_together:
        return say("Configurations differ by more than repeats do, but no setting does so by itself.")
    if (tested["verdict"] == verdicts.TOO_FEW).all():
        return say("There are too few runs to tell what runtime depends on.")
    return say("No setting's effect on runtime can be told from chance.")


_STRONGEST = {
    verdicts.DEPENDS: "Runtime depends on {f}.",
    verdicts.HERE: "Runtime differs between the levels of {f} in these configurations.",
    verdicts.ORDER: "Runtime goes with {f}, or with the time at which its levels ran.",
    verdicts.GOES_WITH: "Runtime goes with {f}, or with what changes with it: these runs cannot tell.",
}


def _largest(composition):
    parts = composition.iloc[-1].drop("n_runs").astype(float)
    timed = parts.drop(UNATTRIBUTED).drop(OTHER, errors="ignore")
    if not len(timed):
        return None
    rest = parts[UNATTRIBUTED]
    return say(
        "The largest timed part of a run is {s}, with {x} of its runtime{rest}.",
        s=Name(timed.idxmax()),
        x=share(key("sections", timed.idxmax(), "share"), timed.max()),
        rest=say("; {r} was not timed at all", r=share("unattributed.share", rest)) if rest > 0.05 else "",
    )


def _knob(bounds, measured):
    known = bounds[(bounds["kind"] != "joint") & (bounds["bound"] > 0)]
    if not len(known):
        return None
    top = known.iloc[0]
    change = say(" ({c})", c=Name(top["change"])) if top["change"] else ""
    return say(
        "The largest possible saving is that of {k}{change}: at most {x} of a run, if nothing else "
        "changes{turned}.",
        k=Name(top["knob"]),
        change=change,
        x=share_within(key("knobs", top["knob"], "bound"), top["bound"], top["low"], top["high"]),
        turned=_turned(measured, top["knob"]),
    )


def _turned(measured, knob):
    """Say what turning the knob saved, where runs with it turned were measured."""
    rows = measured[measured["knob"] == knob] if measured is not None else ()
    if not len(rows):
        return ""
    row = rows.iloc[0]
    return say(
        "; turned, it saved {m} ({low} to {high}) over {n} {c} that were run again",
        m=saving(row, "measured"),
        low=saving(row, "low"),
        high=saving(row, "high"),
        n=number_of(key("turned", row["knob"], "n_configurations"), row["n_configurations"]),
        c=plural(row["n_configurations"], "configuration"),
    )
