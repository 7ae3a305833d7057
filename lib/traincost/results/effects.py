"""What runtime, or another response, depends on: the effect of each setting and the test of it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.analysis import effects as analysis
from traincost.analysis import fields, plan, verdicts
from traincost.analysis.plan import COVERAGE
from traincost.columns import PREFIX, SCORE_PREFIX, count, probability
from traincost.errors import ParameterError
from traincost.results.figures import MAX_ROWS, Figure, axes_of, clipped, label_rows
from traincost.results.numbers import N_LISTED, N_NAMED, eta, key, names, number_of
from traincost.results.prose import Name, Number, join, say
from traincost.results.result import Result
from traincost.results.svg import INK, SERIES
from traincost.results.tables import Heading, Table, two

P_NOTE = "log {} over configurations, family-wise over both tests of all factors"


def effects(runs, response="runtime_s", *, name=""):
    """Say what runtime, or another response, depends on.

    Parameters
    ----------
    runs : Runs
    response : str
        ``runtime_s``, a cost column, the name of a score, or a section, whose seconds are meant; of
        runs that have it, and positive there.
    name : str
        Stands before the keys of its numbers on a page; the response, if left out and not runtime.

    Returns
    -------
    Result
        ``frame`` has a row per setting that varies, as `analysis.effects.main_effects` returns it.

    Raises
    ------
    ParameterError
        The response is not one of the runs', or is not positive.

    Examples
    --------
    >>> list(effects(runs).frame.query("clears")["factor"])
    ['task_name']
    """
    what, y, described = _asked(runs, response)
    of_runtime = response == "runtime_s"
    table = runs.effects if of_runtime else analysis.main_effects(y, described)
    interactions = analysis.interactions(y, described)
    predicted = plan.left_out(runs.frame, described) if of_runtime else ()
    return Result.showing(
        "effects",
        table,
        _dependence(what, table, interactions, described) + _predicted(predicted),
        Figure.of("effects", table, draw_effects, _caption, what),
        _table(table, what),
        _interactions(interactions, len(y), what),
        prefix=name or ("" if of_runtime else response),
        of=runs.label,
    )


@dataclass(frozen=True)
class _Response:
    """How a response is spoken of: runtime in plain words, anything else by its name."""

    name: str

    @property
    def words(self):
        """The response within a sentence."""
        return "runtime" if self.name == "runtime_s" else Name(self.name)

    @property
    def label(self):
        """The response on an axis."""
        return "runtime" if self.name == "runtime_s" else self.name

    @property
    def subject(self):
        """The response at the beginning of a sentence."""
        return "Runtime" if self.name == "runtime_s" else Name(self.name)


def _asked(runs, response):
    """Return how the response is called, its values, and the fields of the runs that have it."""
    values = _values(runs, response)
    known = np.isfinite(values)
    if not known.any() or not (values[known] > 0).all():
        raise ParameterError(f"`response` must be positive in every run that has it; {response!r} is not")
    if known.all():
        return _Response(response), values, runs.described
    return _Response(response), values[known], fields.describe(runs.frame[known], runs.replicates)


def _values(runs, response):
    for column in (response, SCORE_PREFIX + response):
        if column in runs.frame and pd.api.types.is_numeric_dtype(runs.frame[column]):
            return runs.frame[column].to_numpy(dtype=float)
    if response in runs.timing.paths:
        return runs.timing.seconds[:, runs.timing.paths.index(response)]
    numeric = runs.frame.select_dtypes("number").columns
    known = [c.removeprefix(SCORE_PREFIX) for c in numeric if not c.startswith(PREFIX)]
    raise ParameterError(
        f"`response` must be a cost column, a score or a section of the runs, got {response!r}; "
        f"there are: {', '.join([*known, *runs.timing.paths][:30])}"
    )


def _dependence(what, effects, interactions, fields):
    """What the effects amount to, most important first."""
    tested = effects[effects["kind"] != "replicate"]
    if not len(tested):
        return [_nothing_varies(what, fields)]
    said = []
    if (tested["verdict"] == verdicts.NO_VARIATION).all():
        return [_no_variation(what)]
    for verdict, sentences in _VERDICTS.items():
        rows = tested[tested["verdict"] == verdict]
        if len(rows):
            said += sentences(what, rows)
    if not tested["clears"].any():
        too_few = (tested["verdict"] == verdicts.TOO_FEW).all()
        said.insert(
            0,
            say("There are too few runs to tell what {what} depends on.", what=what.words)
            if too_few
            else say("No factor's effect on {what} can be distinguished from chance.", what=what.words),
        )
    said += _relations(what, tested)
    said += _replicates(effects)
    said += _interaction(what, interactions)
    return said


def _no_variation(what):
    if what.name == "runtime_s":
        return say("All runs took the same time, so there is no variation to explain.")
    return say("{what} is the same in all runs, so there is no variation to explain.", what=what.subject)


def _nothing_varies(what, fields):
    if not any(field.kind not in ("shared",) for field in fields):
        return say("No setting varies between the runs, so {what} cannot be related to any.", what=what.words)
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


def _depends(what, rows):
    return [
        say(
            "{what} depends on {factors}.",
            what=what.subject,
            factors=[_with_eta(r) for r in rows.itertuples()],
        )
    ]


def _goes_with(what, rows):
    said = []
    for row in rows.itertuples():
        others = row.entangled_with or row.held
        said.append(
            say(
                "{what} goes with {factor}, but not once {others} {verb} held: they are entangled.",
                what=what.subject,
                factor=_with_eta(row),
                others=names(others[:N_NAMED]),
                verb="is" if len(others) == 1 else "are",
            )
        )
    return said


def _held(what, rows):
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


def _chance(what, rows):
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


def _too_few(what, rows):
    return [say("For {f} there are too few runs to tell.", f=_first(tuple(rows["factor"])))]


_VERDICTS = {
    verdicts.DEPENDS: _depends,
    verdicts.GOES_WITH: _goes_with,
    verdicts.HELD: _held,
    verdicts.CHANCE: _chance,
    verdicts.TOO_FEW: _too_few,
}


def _relations(what, tested):
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
                "{what} {way} with {f} (Spearman ρ {rho}).",
                what=what.subject,
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


def _interaction(what, table):
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


def _caption(effects, what):
    """What the effect figure shows."""
    tested = effects[effects["kind"] != "replicate"]
    if not len(tested) or tested["eta_squared"].isna().all():
        return say("Share of the variance of {what} that goes with each factor.", what=what.words)
    top = tested.iloc[0]
    below = int((tested["eta_squared"] < tested["chance"]).sum())
    lead = say(
        "{f} goes with the largest share of the variance of {what}, η² {eta}",
        what=what.words,
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
            x=Number("predicted.share", inside / len(left_out), f"{100 * inside / len(left_out):.0f} %"),
            level=Number("predicted.coverage", COVERAGE, f"{100 * COVERAGE:.0f} %"),
        )
    ]


def draw_effects(effects, what):
    """One-way eta squared per factor with its chance level, and the interval on log runtime."""
    effects, label = effects.head(MAX_ROWS), clipped(what.label)
    figure, axes = axes_of(0.75 + 0.46 * len(effects))
    rows = np.arange(len(effects))
    axes.barh(rows - 0.1, effects["eta_squared"], height=0.4, color=SERIES[0])
    axes.vlines(effects["chance"], rows - 0.36, rows + 0.16, color=INK, linewidth=1.6)
    axes.hlines(rows + 0.28, effects["low"], effects["high"], color=SERIES[1], linewidth=1.6)
    axes.plot(effects["log_epsilon_squared"], rows + 0.28, "o", color=SERIES[1], markersize=4, clip_on=False)
    label_rows(axes, effects["factor"])
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"share of variance: bars of {label}, points of log {label}")
    axes.grid(axis="x")
    marks = effects[["eta_squared", "chance", "verdict"]].itertuples(index=False)
    for row, (size, chance, verdict) in enumerate(marks):
        # Beside the bar, where it ends early; inside the plot, where it does not.
        end = np.nanmax([size, chance, 0.0])
        side = {"ha": "left", "x": end + 0.02} if end <= 0.5 else {"ha": "right", "x": 0.99}
        y = row - 0.1 if end <= 0.5 else row - 0.42
        axes.text(s=verdict, y=y, va="center", color=INK, **side)
    legend = [
        (SERIES[0], f"η², one-way, of {label} over runs"),
        ("tick", "what an unrelated factor reaches on average"),
        (SERIES[1], f"ε² of log {label} with its interval"),
    ]
    return figure, legend


def _table(frame, what):
    """What `effects.main_effects` returns."""
    printed = frame.assign(
        interval=[_interval(low, high) for low, high in zip(frame["low"], frame["high"], strict=True)]
    )
    return Table(
        "effects",
        say("Effect of each factor on {what}, with the test of it.", what=what.words),
        (
            Heading("factor", "factor"),
            Heading("verdict", "verdict"),
            Heading("n_levels", "levels", count),
            Heading("eta_squared", "η²", two, f"one-way, SS_factor / SS_total of {what.label} over runs"),
            Heading("chance", "chance", two, "what η² of an unrelated factor is on average"),
            Heading("p_alone", "p alone", probability, P_NOTE.format(what.label)),
            Heading("p_held", "p, others held", probability, "the same, with the other factors held"),
            Heading("log_epsilon_squared", "ε² (log)", two, f"of log {what.label}, not below zero"),
            Heading(
                "interval", "interval", str, f"95 %, of the population η² of log {what.label}; noncentral F"
            ),
            Heading("partial_eta_squared", "partial η²", two, f"additive model of {what.label}, type II"),
            Heading("partial_chance", "its chance", two, "df / (df + residual df)"),
            Heading("epsilon_squared", "ε²", two, "η² corrected for bias (Kelley)"),
            Heading("omega_squared", "ω²", two, "η² corrected for bias (Hays)"),
        ),
        printed,
        int(frame["n_runs"].max()) if len(frame) else 0,
        holds=("effects", "predicted"),
    )


def _interactions(frame, n_runs, what):
    """What `effects.interactions` returns."""
    return Table(
        "interactions",
        say("Tests of whether the factors' effects add up."),
        (
            Heading("response", "response"),
            Heading("test", "test"),
            Heading("statistic", "F", two),
            Heading("df", "df", count),
            Heading("df_residual", "residual df", count),
            Heading("p", "p", probability),
        ),
        frame.assign(response=frame["scale"].map({"hours": what.label, "log": f"log {what.label}"})),
        n_runs,
        holds=("interaction",),
    )


def _interval(low, high):
    if np.isnan(low):
        return "–"
    return f"{low:.2f} to {high:.2f}" if high >= 0.005 else "< 0.01"
