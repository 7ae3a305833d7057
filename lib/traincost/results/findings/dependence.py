"""What runtime depends on, in words."""

import numpy as np

from traincost.analysis import verdicts
from traincost.columns import probability
from traincost.results.findings.numbers import N_LISTED, N_NAMED, eta, key, names, number_of
from traincost.results.prose import Name, Number, join, say


def dependence(effects, interactions, fields):
    """What the effects amount to, most important first."""
    tested = effects[effects["kind"] != "replicate"]
    if not len(tested):
        return [_nothing_varies(fields)]
    said = []
    if (tested["verdict"] == verdicts.NO_VARIATION).all():
        return [say("All runs took the same time, so there is no variation to explain.")]
    for verdict, sentences in _VERDICTS.items():
        rows = tested[tested["verdict"] == verdict]
        if len(rows):
            said += sentences(rows)
    if not tested["clears"].any():
        too_few = (tested["verdict"] == verdicts.TOO_FEW).all()
        said.insert(
            0,
            say("There are too few runs to tell what runtime depends on.")
            if too_few
            else say("No factor's effect on runtime can be distinguished from chance."),
        )
    said += _relations(tested)
    said += _replicates(effects)
    said += interaction(interactions)
    return said


def _nothing_varies(fields):
    if not any(field.kind not in ("shared",) for field in fields):
        return say("No setting varies between the runs, so runtime cannot be related to any.")
    return say("No setting that varies can be examined: each either repeats a configuration or names a run.")


def _factor(row):
    """Name a factor with those that vary exactly with it, the first few."""
    merged = row.names[:N_NAMED]
    more = len(row.names) - len(merged)
    return say(
        "{names}{more}",
        names=Name(" = ".join(merged)),
        more=say(" and {n} more alike", n=number_of(key("effects", row.factor, "n_alike"), more))
        if more
        else "",
    )


def _with_eta(row):
    return say(
        "{factor} (η² {eta}, where an unrelated factor reaches {chance} on average)",
        factor=_factor(row),
        eta=eta(key("effects", row.factor, "eta_squared"), row.eta_squared),
        chance=eta(key("effects", row.factor, "chance"), row.chance),
    )


def _depends(rows):
    return [say("Runtime depends on {factors}.", factors=[_with_eta(r) for r in rows.itertuples()])]


def _goes_with(rows):
    said = []
    for row in rows.itertuples():
        others = row.entangled_with or row.held
        said.append(
            say(
                "Runtime goes with {factor}, but not once {others} {verb} held: they are entangled.",
                factor=_with_eta(row),
                others=names(others[:N_NAMED]),
                verb="is" if len(others) == 1 else "are",
            )
        )
    return said


def _held(rows):
    if len(rows) == 1:
        (row,) = rows.itertuples()
        return [
            say(
                "With the others held ({held}), {factor} matters (family-wise p {p}).",
                held=_first(row.held),
                factor=_with_eta(row),
                p=_p(key("effects", row.factor, "p_held"), row.p_held),
            )
        ]
    return [
        say(
            "With the others held, these matter: {factors}.",
            factors=[
                say(
                    "{factor} (η² {eta}, family-wise p {p})",
                    factor=_factor(row),
                    eta=eta(key("effects", row.factor, "eta_squared"), row.eta_squared),
                    p=_p(key("effects", row.factor, "p_held"), row.p_held),
                )
                for row in rows.itertuples()
            ],
        )
    ]


def _first(texts):
    """Name the first few, and say that there are more."""
    named = names(texts[:N_NAMED])
    return [*named, "others"] if len(texts) > N_NAMED else named


def _p(key, value):
    text = probability(value)
    return Number(key, float(value), text if text.startswith("<") else f"= {text}")


def _chance(rows):
    listed = [
        say(
            "{f} (η² {eta}, chance {chance})",
            f=_factor(row),
            eta=eta(key("effects", row.factor, "eta_squared"), row.eta_squared),
            chance=eta(key("effects", row.factor, "chance"), row.chance),
        )
        for row in rows.head(N_LISTED).itertuples()
    ]
    if len(rows) > N_LISTED:
        listed.append(say("{n} others", n=number_of("effects.n_more_by_chance", len(rows) - N_LISTED)))
    return [say("The effect of {factors} cannot be told from chance.", factors=listed)]


def _too_few(rows):
    return [say("For {f} there are too few runs to tell.", f=_first(tuple(rows["factor"])))]


_VERDICTS = {
    verdicts.DEPENDS: _depends,
    verdicts.GOES_WITH: _goes_with,
    verdicts.HELD: _held,
    verdicts.CHANCE: _chance,
    verdicts.TOO_FEW: _too_few,
}


def _relations(tested):
    said = []
    fixed = tested[tested["fixed_by"] != ""]
    for by, rows in fixed.groupby("fixed_by", sort=False):
        said.append(
            say(
                "{f} {verb} fixed by {by}, so their effects are not separate.",
                f=_first(tuple(rows["factor"])),
                verb="is" if len(rows) == 1 else "are",
                by=Name(by),
            )
        )
    pairs = {
        tuple(sorted((row.factor, other))) for row in tested.itertuples() for other in row.entangled_with
    }
    if pairs:
        listed = [say("{a} with {b}", a=Name(a), b=Name(b)) for a, b in sorted(pairs)[:N_NAMED]]
        said.append(say("Hardly varied apart, and so hard to separate: {pairs}.", pairs=listed))
    joint = tested[tested["partial_df"] == 0]
    if len(joint):
        said.append(say("{f}: jointly determined by the other factors.", f=names(joint["factor"])))
    trends = tested[(tested["kind"] == "numeric") & tested["clears"]]
    for row in trends.itertuples():
        said.append(
            say(
                "Runtime {way} with {f} (Spearman ρ {rho}).",
                way="rises" if row.direction > 0 else "falls",
                f=Name(row.factor),
                rho=eta(key("effects", row.factor, "direction"), row.direction),
            )
        )
    return said


def _replicates(effects):
    rows = effects[effects["kind"] == "replicate"]
    if not len(rows) or effects["n_configurations"].iloc[0] == effects["n_runs"].iloc[0]:
        return []
    first = effects.iloc[0]
    return [
        say(
            "{n} configurations are repeated over {f} (η² {eta}); tests take each configuration once, "
            "since its repetitions are not independent evidence.",
            n=number_of("effects.n_configurations", first["n_configurations"]),
            f=names(rows["factor"]),
            eta=[eta(key("effects", r.factor, "eta_squared"), r.eta_squared) for r in rows.itertuples()],
        )
    ]


def interaction(table):
    """Whether effects add up, multiply, or interact."""
    if not len(table):
        return []
    p = table.set_index("scale")["p"]
    if "log" not in p:  # the test cannot be made there, and hours alone do not tell
        return []
    test = table["test"].iloc[0]
    if p["log"] <= verdicts.ALPHA:
        return [
            say(
                "The factors interact: even as percentages, their effects do not add up ({test}, {p}).",
                test=test,
                p=say("p {p}", p=_p("interaction.log.p", p["log"])),
            )
        ]
    if p.get("hours", np.nan) <= verdicts.ALPHA:
        return [
            say(
                "Effects multiply rather than add, as far as these runs tell: additivity is rejected for "
                "runtime itself ({test}, p {a}), not for its logarithm (p {b}).",
                test=test,
                a=_p("interaction.hours.p", p["hours"]),
                b=_p("interaction.log.p", p["log"]),
            )
        ]
    return [
        say(
            "No interaction was found ({test}, p {p} for log runtime), which does not show that there is "
            "none.",
            test=test,
            p=_p("interaction.log.p", p["log"]),
        )
    ]


def caption_effects(effects):
    """What the effect figure shows."""
    tested = effects[effects["kind"] != "replicate"]
    if not len(tested) or tested["eta_squared"].isna().all():
        return say("Share of the variance of runtime that goes with each factor.")
    top = tested.iloc[0]
    below = int((tested["eta_squared"] < tested["chance"]).sum())
    lead = say(
        "{f} goes with the largest share of the variance of runtime, η² {eta}",
        f=Name(top["factor"]),
        eta=eta(key("effects", top["factor"], "eta_squared"), top["eta_squared"]),
    )
    if not below:
        return join([lead, say(".")], "")
    return join(
        [
            lead,
            say(
                "; {n} of {k} factors stay below what an unrelated factor reaches on average.",
                n=number_of("effects.n_below_chance", below),
                k=number_of("effects.n_factors", len(tested)),
            ),
        ],
        "",
    )


def caption_heatmap(levels_by, unit):
    """The slowest cell, and how many cells hold no run."""
    rows, columns = levels_by.index.name, levels_by.columns.name
    stacked = levels_by.stack().dropna()
    at = stacked.idxmax()
    empty = int(levels_by.isna().to_numpy().sum())
    sentence = say(
        "{what} in {u} by {r} and {c}: slowest is {a}, {b} at {t}.",
        what="Mean runtime" if levels_by.attrs["n_most"] > 1 else "Runtime, one run a cell,",
        u=unit.symbol,
        r=Name(rows),
        c=Name(columns),
        a=Name(at[0]),
        b=Name(at[1]),
        t=Number("cells.slowest.mean_s", float(stacked.max()), unit.text(stacked.max())),
    )
    if not empty:
        return sentence
    return join(
        [
            sentence,
            say(
                "{n} of {k} cells hold no run.",
                n=number_of("cells.empty", empty),
                k=number_of("cells.n", levels_by.size),
            ),
        ]
    )


def caption_levels(runtimes, levels, name, unit):
    """How far the levels' means lie apart."""
    slow, fast = levels.iloc[0], levels.iloc[-1]
    if len(levels) < 2:
        return say("Runtime of each run.")
    return say(
        "Runtime by {f}: from {low} on average at {a} to {high} at {b}.",
        f=Name(name),
        low=Number(key("level", name, fast.level, "mean_s"), fast.mean_s, unit.text(fast.mean_s)),
        a=Name(fast.level),
        high=Number(key("level", name, slow.level, "mean_s"), slow.mean_s, unit.text(slow.mean_s)),
        b=Name(slow.level),
    )
