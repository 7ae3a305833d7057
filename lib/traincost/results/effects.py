"""What runtime, or another response, depends on: the effect of each setting and the test of it."""

import numpy as np

from traincost.analysis import plan, roles, verdicts
from traincost.analysis.plan import COVERAGE
from traincost.printing import percent, probability_is, share_text
from traincost.results.effect_tables import effects_table, interactions_table, statistics_table
from traincost.results.findings import SENTENCES
from traincost.results.numbers import N_NAMED, eta, key, names, number_of, plural
from traincost.results.prose import Name, Number, say
from traincost.results.responses import asked_of
from traincost.results.result import More, Result
from traincost.results.sizes import (
    cells_table,
    doublings_table,
    ratios_table,
    spread_table,
    together,
    with_sizes,
)
from traincost.results.threats import threats

CROWDED = 3  # runs far from all others that a sentence names


def effects(runs, response="runtime_s", *, of=1, name=""):
    """Say what runtime, or another response, depends on.

    Parameters
    ----------
    runs : Runs
    response : str
        ``runtime_s``, a cost column, the name of a score, or a section, whose seconds are meant; of
        runs that have it.
    of : int
        How many responses are examined on the page; the tests are family-wise within one.
    name : str
        Stands before the keys of its numbers on a page; the response, if left out and not runtime.

    Returns
    -------
    Result
        ``frame`` has a row per setting that varies, as `analysis.effects.main_effects` returns it, and the
        size that stands beside its verdict: ``size`` with ``size_low`` and ``size_high``, ``size_kind``
        (ratio, doubling, or a difference), ``level`` and ``than`` where levels are compared. The tables
        ``ratios``, ``doublings``, ``spread`` and ``together`` hold all sizes; of runtime, what
        `threats` found follows the verdicts.

    Raises
    ------
    ParameterError
        The response is not one of the runs', or tells nothing: it is the same in all, or of one run.

    Examples
    --------
    >>> list(effects(runs).frame.query("clears")["factor"])
    ['task_name']
    """
    what = asked_of(runs, response)
    found = what.examined
    table = with_sizes(found)
    of_runtime = response == "runtime_s"
    predicted = plan.left_out(what.frame, found.fields) if of_runtime else ()
    threatened = threats(runs) if of_runtime else None
    ordered = threatened is not None and "start order" in set(threatened.frame["threat"])
    return Result.showing(
        "effects",
        table,
        _dependence(what, table, found, ordered) + _many(what, of),
        [*threatened.sentences] if of_runtime else None,
        effects_table(table, what),
        More(
            say("Every statistic of each setting, all sizes, and whether the effects add up"),
            (
                _details(what, table, found) + _predicted(predicted),
                statistics_table(table, what),
                ratios_table(found, what),
                doublings_table(found, what),
                spread_table(found, what),
                cells_table(found, what),
                interactions_table(found.interactions, len(what.frame), what),
                *(threatened.tables.values() if of_runtime else ()),
            ),
        ),
        prefix=name or ("" if of_runtime else response),
        of=runs.label,
    )


def _dependence(what, table, found, ordered):
    """What the effects amount to, most important first; `ordered` if start order is told of elsewhere."""
    tested = table[table["kind"] != "replicate"]
    missing = what.n_missing
    said = [_missing(what, missing)] if missing else []
    if not len(tested):
        return [*said, _nothing_varies(what, found.fields)]
    if (tested["verdict"] == verdicts.NO_VARIATION).all():
        return [*said, _no_variation(what)]
    act_together = found.judged.structure.act_together
    if not tested["clears"].any():
        said.append(_nothing_clears(what, tested, act_together))
    for verdict, sentences in SENTENCES.items():
        rows = tested[tested["verdict"] == verdict]
        if len(rows):
            said += sentences(what, rows, act_together)
    said += together(what, found)
    said += _drift(what, found.judged.start, ordered)
    return said + _far(what, found)


def _details(what, table, found):
    """What else there is to say of the tests, for who opens the details."""
    tested = table[table["kind"] != "replicate"]
    structure = found.judged.structure
    if structure is None:
        return []
    said = _relations(what, tested) + _units(what, table, found)
    said += _host(what, found.fields) if what.timed and not _records_host(what.frame) else []
    return said + _interaction(what, found.interactions, structure.act_together)


def _missing(what, n):
    return say(
        "{n} {runs} {what} and {are} left out here.",
        n=number_of("response.n_missing", n),
        runs=plural(n, "run lacks", "runs lack"),
        what=what.words,
        are=plural(n, "is", "are"),
    )


def _many(what, of):
    if of < 2:
        return []
    return [
        say(
            "This is one of {n} responses examined here: each has its own family of tests, so expect a "
            "finding by chance in one of twenty responses that depend on nothing.",
            n=number_of("response.of", of),
        )
    ]


def _no_variation(what):
    if what.name == "runtime_s":
        return say("All runs took the same time, so there is no variation to explain.")
    return say("{what} is the same in all runs, so there is no variation to explain.", what=what.subject)


def _nothing_varies(what, fields):
    if not any(field.kind not in ("shared",) for field in fields):
        return say("No setting varies between the runs, so {what} cannot be related to any.", what=what.words)
    return say("No setting that varies can be examined: each either repeats a configuration or names a run.")


def _nothing_clears(what, tested, act_together):
    if act_together:
        return say("Configurations differ by more than repeats do, but no setting does so by itself.")
    if (tested["verdict"] == verdicts.TOO_FEW).all():
        return say("There are too few runs to tell what {what} depends on.", what=what.words)
    return say("No setting's effect on {what} can be told from chance.", what=what.words)


def _p(key, value):
    return Number(key, float(value), probability_is(value))


def _drift(what, start, ordered):
    """A change of the machine, or of what it runs, over the sweep."""
    if start.get("verdict") == verdicts.DEPENDS:
        return [
            say(
                "{what} changed over the sweep: from the first start to the last it {way} by {change}, the "
                "settings held. The machine, its load or the code changed meanwhile.",
                what=what.subject,
                way="rose" if start["change"] > 0 else "fell",
                change=what.change("start_order.change", abs(start["change"]), start["change"]),
            )
        ]
    if start.get("verdict") == verdicts.GOES_WITH and not ordered:
        return [
            say(
                "{what} changed over the sweep, but settings changed with it, so that neither can be told.",
                what=what.subject,
            )
        ]
    return []


def _far(what, found):
    """Runs that are set aside because no setting explains how far they lie from the others."""
    at = np.flatnonzero(~found.kept)
    if not len(at):
        return []
    listed = [
        say("{run} ({value})", run=Name(run), value=what.value(key("far", run), value))
        for run, value in what.each(at[:CROWDED])
    ]
    if len(at) > CROWDED:
        listed.append(say("{n} more", n=number_of("far.n_more", len(at) - CROWDED)))
    changed = [
        say("{f} {verdict}", f=Name(factor), verdict=verdict) for factor, verdict in found.with_far.items()
    ]
    return [
        say(
            "{n} {runs} far from all others, and no setting says why: {listed}. {they} counted as cost, and "
            "set aside from these tests and sizes{changed}.",
            n=number_of("far.n", len(at)),
            runs=plural(len(at), "run lies", "runs lie"),
            they=plural(len(at), "It is", "They are"),
            listed=listed,
            changed=say("; counted in, the verdicts are: {v}", v=changed[:N_NAMED]) if changed else "",
        )
    ]


def _relations(what, tested):
    said = []
    joint = tested[tested["partial_df"] == 0]
    if len(joint):
        said.append(say("{f}: jointly determined by the other factors.", f=names(joint["factor"])))
    trends = tested[np.isfinite(tested["direction"].astype(float)) & tested["clears"]]
    for row in trends.itertuples():
        said.append(
            say(
                "{what} {way} with {f} (Spearman ρ {rho}).",
                what=what.subject,
                way="rises" if row.direction > 0 else "falls",
                f=Name(row.factor),
                rho=eta(key("effects", row.factor, "direction"), row.direction),
            )
        )
    return said


_UNITS = {
    "run": "each run counts as evidence, as its configuration tells nothing beyond the settings",
    "run, error from repeats alone": "what repeats differ by is the measure of chance, as there are too few "
    "configurations to be one",
    "configuration": "each configuration counts once, as configurations differ by more than repeats do",
}


def _units(what, table, found):
    """What repeats a configuration, and what the tests therefore take as evidence."""
    rows, structure = table[table["kind"] == "replicate"], found.judged.structure
    if structure is None or structure.n_configurations == len(structure.of_run):
        return []
    over = say(" over {f}", f=names(rows["factor"].head(N_NAMED))) if len(rows) else ""
    return [
        say(
            "{n} configurations are repeated{over}; {how}.",
            n=number_of("effects.n_repeated", structure.n_configurations),
            over=over,
            how=_UNITS[structure.unit],
        )
    ]


def _records_host(runs):
    return "host" in runs and bool((runs["host"].fillna("") != "").all())


def _host(what, fields):
    """That a difference between machines cannot be seen, where nothing says on which a run ran."""
    if any(field.kind == "place" or field.placed for field in fields):
        return []
    if any(
        field.kind == "shared" and roles.is_place(field.name, field.values is not None) for field in fields
    ):
        return []
    return [say("The runs do not record their host, so a difference between machines would not be seen.")]


def _interaction(what, table, act_together):
    """Whether effects add up or multiply."""
    if not len(table) or act_together:
        return []
    p = table.set_index("scale")["p"]
    if "log" not in p:  # the test cannot be made there, and hours alone do not tell
        return []
    test = table["test"].iloc[0]
    if p["log"] <= verdicts.ALPHA:
        return [
            say(
                "The settings act together: their effects do not add up, even as percentages ({test}, "
                "p {p}).",
                test=test,
                p=_p("interaction.log.p", p["log"]),
            )
        ]
    if p.get("hours", np.nan) <= verdicts.ALPHA:
        return [
            say(
                "Effects multiply rather than add, as far as these runs tell: additivity is rejected for "
                "{what} itself ({test}, p {a}), not for its logarithm (p {b}).",
                what=what.words,
                test=test,
                a=_p("interaction.hours.p", p["hours"]),
                b=_p("interaction.log.p", p["log"]),
            )
        ]
    return [
        say(
            "No interaction was found ({test}, p {p} for log {what}), which does not show that there is "
            "none.",
            what=what.words,
            test=test,
            p=_p("interaction.log.p", p["log"]),
        )
    ]


def _predicted(left_out):
    """How often a configuration predicted from the others lies within its interval."""
    if not len(left_out):
        return []
    inside = int(left_out["inside"].sum())
    return [
        say(
            "Predicted from the others by the additive model, {n} of {of} configurations ({x}) lie within "
            "their {level} prediction interval.",
            n=number_of("predicted.n_inside", inside),
            of=number_of("predicted.n", len(left_out)),
            x=Number("predicted.share", inside / len(left_out), share_text(inside / len(left_out))),
            level=Number("predicted.coverage", COVERAGE, percent(COVERAGE)),
        )
    ]
