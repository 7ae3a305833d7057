"""What runtime, or another response, depends on: the effect of each setting and the test of it."""

import numpy as np

from traincost.analysis import plan, roles, verdicts
from traincost.analysis.order import DRIFT
from traincost.analysis.plan import COVERAGE
from traincost.printing import percent, probability_is, ratio_text
from traincost.results import arguments
from traincost.results.effect_tables import effects_table, interactions_table, statistics_table
from traincost.results.prose import N_LISTED, N_NAMED, Name, Number, first_names, key, names, say, with_more
from traincost.results.responses import asked_of
from traincost.results.result import More, Result
from traincost.results.sizes import size_of, size_tables, together, turn_of, with_sizes
from traincost.results.threats import threats

CROWDED = 3  # runs far from all others that a sentence names


@arguments.checked
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
        [*_dependence(what, table, found, ordered), *_many(what, of)],
        [*threatened.sentences] if of_runtime else None,
        effects_table(table, what),
        More(
            say("Every statistic of each setting, all sizes, and whether the effects add up"),
            (
                [*_details(what, table, found), *_predicted(predicted)],
                statistics_table(table, what),
                *size_tables(found, what),
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
    if what.n_missing:
        yield say(
            "{n} {n:run lacks|runs lack} {what} and {n:is|are} left out here.",
            n=Number.count("response.n_missing", what.n_missing),
            what=what.words,
        )
    said = None
    if not len(tested) and all(field.kind == "shared" for field in found.fields):
        said = "No setting varies between the runs, so {what} cannot be related to any."
    elif not len(tested):
        said = "No setting that varies can be examined: each either repeats a configuration or names a run."
    elif (tested["verdict"] == verdicts.NO_VARIATION).all() and what.name == "runtime_s":
        said = "All runs took the same time, so there is no variation to explain."
    elif (tested["verdict"] == verdicts.NO_VARIATION).all():
        said = "{subject} is the same in all runs, so there is no variation to explain."
    if said:
        yield say(said, what=what.words, subject=what.subject)
        return
    act_together = found.judged.structure.act_together
    if not tested["verdict"].isin(_OF_A_SETTING).any():
        yield _nothing_clears(what, tested, act_together)
    for verdict in (*_OF_A_SETTING, verdicts.CHANCE, verdicts.TOO_FEW):
        rows = tested[tested["verdict"] == verdict]
        if len(rows):
            yield from _said_of(verdict, what, rows, act_together)
    yield from together(what, found)
    yield from _drift(what, found.judged.start, ordered)
    yield from _far(what, found)


def _details(what, table, found):
    """What else there is to say of the tests, for who opens the details."""
    structure = found.judged.structure
    if structure is None:
        return
    yield from _relations(what, table[table["kind"] != "replicate"])
    yield from _units(what, table, found)
    if what.timed and not _records_host(what.frame):
        yield from _host(what, found.fields)
    yield from _interaction(what, found.interactions, structure.act_together)


def _many(what, of):
    if of >= 2:
        yield say(
            "This is one of {n} responses examined here: each has its own family of tests, so expect a "
            "finding by chance in one of twenty responses that depend on nothing.",
            n=Number.count("response.of", of),
        )


def _nothing_clears(what, tested, act_together):
    if act_together:
        return say("Configurations differ by more than repeats do, but no setting does so by itself.")
    if (tested["verdict"] == verdicts.TOO_FEW).all():
        return say("There are too few runs to tell what {what} depends on.", what=what.words)
    return say("No setting's effect on {what} can be told from chance.", what=what.words)


def _p(key, value):
    return Number.of(key, value, probability_is)


def _drift(what, start, ordered):
    """A change of the machine, or of what it runs, over the sweep."""
    if start.get("verdict") == verdicts.DEPENDS:
        yield say(
            "{what} changed over the sweep: from the first start to the last it {way} by {change}, the "
            "settings held. The machine, its load or the code changed meanwhile.",
            what=what.subject,
            way="rose" if start["change"] > 0 else "fell",
            change=what.change("start_order.change", abs(start["change"]), start["change"]),
        )
    elif start.get("verdict") == verdicts.GOES_WITH and not ordered:
        yield say(
            "{what} changed over the sweep, but settings changed with it, so that neither can be told.",
            what=what.subject,
        )


def _far(what, found):
    """Runs that are set aside because no setting explains how far they lie from the others."""
    at = np.flatnonzero(~found.kept)
    if not len(at):
        return
    listed = [
        say("{run} ({value})", run=Name(run), value=what.value(key("far", run), value))
        for run, value in what.each(at[:CROWDED])
    ]
    changed = [say("{f} {verdict}", f=Name(f), verdict=verdict) for f, verdict in found.with_far.items()]
    yield say(
        "{n} {n:run lies|runs lie} far from all others, and no setting says why: {listed}. "
        "{n:It is|They are} counted as cost, and set aside from these tests and sizes[; counted in, the "
        "verdicts are: {changed}].",
        n=Number.count("far.n", len(at)),
        listed=with_more(listed, len(at), "far.n_more"),
        changed=changed[:N_NAMED],
    )


def _relations(what, tested):
    joint = tested[tested["partial_df"] == 0]
    if len(joint):
        yield say("{f}: jointly determined by the other factors.", f=names(joint["factor"]))
    trends = tested[np.isfinite(tested["direction"].astype(float)) & tested["clears"]]
    trends = trends[~trends["factor"].isin(what.examined.turns["factor"])]
    for row in trends.itertuples():
        yield say(
            "{what} {way} with {f} (Spearman ρ {rho}).",
            what=what.subject,
            way="rises" if row.direction > 0 else "falls",
            f=Name(row.factor),
            rho=Number.two(key("effects", row.factor, "direction"), row.direction),
        )


_UNITS = {
    "run": "each run counts as evidence, as its configuration tells nothing beyond the settings",
    "run, error from repeats alone": "what repeats differ by is the measure of chance, as there are too few "
    "configurations to be one",
    "configuration": "each configuration counts once, as configurations differ by more than repeats do",
}


def _units(what, table, found):
    """What repeats a configuration, and what the tests therefore take as evidence."""
    rows, structure = table[table["kind"] == "replicate"], found.judged.structure
    n_repeated, n_all = int((np.bincount(structure.of_run) > 1).sum()), structure.n_configurations
    if n_repeated:
        # Beside settings of one value per run, what is repeated are those of the others.
        others = [field.name for field in structure.repeating] if structure.single else []
        yield say(
            "{n}[ of {of}] configurations[ of {others}] {n:is|are} repeated[ over {f}]; {how}.",
            n=Number.count("effects.n_repeated", n_repeated),
            of=Number.count("effects.n_repeating", n_all) if n_repeated < n_all else None,
            others=names(others[:N_NAMED]) if len(others) <= N_NAMED else [],
            f=names(rows["factor"].head(N_NAMED)),
            how=_UNITS[structure.unit],
        )


def _records_host(runs):
    return "host" in runs and bool((runs["host"].fillna("") != "").all())


def _host(what, fields):
    """That a difference between machines cannot be seen, where nothing says on which a run ran."""
    known = any(
        field.kind == "place"
        or field.placed
        or (field.kind == "shared" and roles.is_place(field.name, field.values is not None))
        for field in fields
    )
    if not known:
        yield say("The runs do not record their host, so a difference between machines would not be seen.")


def _interaction(what, table, act_together):
    p = table.set_index("scale")["p"]
    # Without a test of the log it cannot be made, and hours alone do not tell.
    if "log" not in p or act_together:
        return
    parts = {"test": table["test"].iloc[0], "what": what.words, "p": _p("interaction.log.p", p["log"])}
    if p["log"] <= verdicts.ALPHA:
        yield say(
            "The settings act together: their effects do not add up, even as percentages ({test}, p {p}).",
            **parts,
        )
    elif p.get("hours", np.nan) <= verdicts.ALPHA:
        yield say(
            "Effects multiply rather than add, as far as these runs tell: additivity is rejected for {what} "
            "itself ({test}, p {a}), not for its logarithm (p {p}).",
            a=_p("interaction.hours.p", p["hours"]),
            **parts,
        )
    else:
        yield say(
            "No interaction was found ({test}, p {p} for log {what}), which does not show that there is "
            "none.",
            **parts,
        )


def _predicted(left_out):
    """How often a configuration predicted from the others lies within its interval."""
    if not len(left_out):
        return
    inside = int(left_out["inside"].sum())
    yield say(
        "Predicted from the others by the additive model, {n} of {of} configurations ({x}) lie within their "
        "{level} prediction interval.",
        n=Number.count("predicted.n_inside", inside),
        of=Number.count("predicted.n", len(left_out)),
        x=Number.share("predicted.share", inside / len(left_out)),
        level=Number.of("predicted.coverage", COVERAGE, percent),
    )


# -- what a verdict says ---------------------------------------------------------------------


# Of a setting, of each verdict that has a size.
_OF_A_SETTING = {
    verdicts.DEPENDS: "{what} depends on {factor}{alone}{size}.",
    verdicts.HERE: "{what} differs between the levels of {factor} in these configurations by more than "
    "repeats do{how_much}{size}; there are too few configurations to tell whether it would elsewhere.",
    verdicts.ORDER: "{what} goes with {factor}{size}, but its levels ran at different times: a machine that "
    "changed by up to {drift} would look the same.",
    verdicts.GOES_WITH: "{what} goes with {factor}{size}; it changes with {others}, and these runs cannot "
    "tell them apart.",
}


def _said_of(verdict, what, rows, act_together):
    if verdict == verdicts.CHANCE:
        listed = [_factor(row) for row in rows.head(N_LISTED).itertuples()]
        yield say(
            "The effect of {factors}{by_itself} cannot be told from chance.",
            factors=with_more(listed, len(rows), "effects.n_more_by_chance", "others"),
            by_itself=" by itself" if act_together else "",
        )
    elif verdict == verdicts.TOO_FEW:
        lacks = rows["lacks"].iloc[0] if len(rows) == 1 else ""
        yield say(
            "For {f} there are too few runs to tell[ ({lacks})].",
            f=first_names(rows["factor"], N_NAMED),
            lacks=Name(lacks) if lacks else None,
        )
    else:
        for row in rows.itertuples():
            yield say(
                _OF_A_SETTING[verdict],
                what=what.subject,
                factor=_factor(row),
                size=size_of(what, row),
                alone=" (too few runs to hold the others)" if row.hold_too_few else "",
                how_much=", and how much depends on the other settings" if act_together else "",
                drift=Number.of("start_order.most_drift", DRIFT, ratio_text),
                others=_entangled(row),
            )
            yield from turn_of(what, row.factor)


def _factor(row):
    """Name a factor with those that vary exactly with it, the first few."""
    merged = row.names[:N_NAMED]
    more = len(row.names) - len(merged)
    return say(
        "{names}[ and {more} more alike]",
        names=Name(" = ".join(merged)),
        more=Number.count(key("effects", row.factor, "n_alike"), more) if more else None,
    )


def _entangled(row):
    """Name the settings that a setting changes with, and how closely."""
    others, shared = row.entangled_with, row.entangled_r_squared
    if not others:  # it varies exactly with a place
        others, shared = row.names[1:], (1.0,) * (len(row.names) - 1)
    return [
        say("{g} (R² {r})", g=Name(g), r=Number.two(key("effects", row.factor, "with", g, "r_squared"), r))
        for g, r in list(zip(others, shared, strict=True))[:N_NAMED]
    ]
