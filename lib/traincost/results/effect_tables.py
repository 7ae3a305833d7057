"""Tables and the figure of what a response depends on."""

import numpy as np

from traincost.analysis import verdicts
from traincost.printing import count, probability, two
from traincost.results.figures import MAX_ROWS, Figure, axes_of, clipped, label_rows
from traincost.results.prose import Number, say
from traincost.results.svg import INK, SERIES
from traincost.results.tables import Bar, Heading, Table

P_NOTE = "{}, family-wise over all tests of all factors"


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
    axes.set_xlabel(f"share of variance: bars of {label}, points of {clipped(what.tested)}")
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
        (SERIES[1], f"ε² of {clipped(what.tested)} with its interval"),
    ]
    return figure, legend


def effects_table(frame, what):
    """The verdict on each factor and how much of the variation goes with it."""
    p = frame[["p_alone", "p_held"]].astype(float).min(axis=1)
    shown = frame.assign(
        p=p,
        fixed=[f"fixed by {by}" if by else "" for by in frame["fixed_by"]],
        row=["" if sized else "quiet" for sized in frame["verdict"].isin(verdicts.SIZED)],
    )
    n = int(frame["n_runs"].max()) if len(frame) else 0
    return Table(
        "effects",
        say("How much of the variation of {what} goes with each setting", what=what.words),
        (
            Heading("factor", "setting", code=True, sub="fixed"),
            Heading("verdict", "verdict", below_on_phone=True),
            Heading("eta_squared", "η²", two, bar=Bar(chance="chance", text="0 to 1")),
            Heading("chance", "chance", two, hide_on_phone=True),
            Heading("p", "p", probability),
        ),
        shown,
        n,
        holds=("effects", "start_order", "far", "response"),
        note=say(
            "η² of {n} runs; the upright line and chance are what an unrelated setting reaches on average. "
            "p: family-wise, {b} permutations.{fixed}",
            fixed=" A setting that another fixes is tested on the means of that one's levels."
            if (frame["fixed_by"] != "").any()
            else "",
            n=Number.count("effects.n_runs", n),
            b=Number.count("effects.n_permutations", frame["n_permutations"].max() if len(frame) else 0),
        ),
        rows="row",
        drawn=Figure("effects", frame, draw_effects, say("Effect of each setting."), (what,)),
    )


def statistics_table(frame, what):
    """What `effects.main_effects` returns."""
    printed = frame.assign(
        interval=[_interval(low, high) for low, high in zip(frame["low"], frame["high"], strict=True)]
    )
    return Table(
        "statistics",
        say("Every statistic of each setting's effect on {what}.", what=what.words),
        (
            Heading("factor", "setting", code=True),
            Heading("n_levels", "levels", count),
            Heading("p_alone", "p alone", probability, P_NOTE.format(what.tested)),
            Heading("p_held", "p, others held", probability, "the same, with the other settings held"),
            Heading("log_epsilon_squared", "ε² (tested)", two, f"of {what.tested}, not below zero"),
            Heading(
                "interval", "interval", str, f"95 %, of the population η² of {what.tested}; noncentral F"
            ),
            Heading("partial_eta_squared", "partial η²", two, f"additive model of {what.label}, type II"),
            Heading("partial_chance", "its chance", two, "df / (df + residual df)"),
            Heading("epsilon_squared", "ε²", two, "η² corrected for bias (Kelley)"),
            Heading("omega_squared", "ω²", two, "η² corrected for bias (Hays)"),
        ),
        printed,
        int(frame["n_runs"].max()) if len(frame) else 0,
        holds=("predicted",),
    )


def interactions_table(frame, n_runs, what):
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
        frame.assign(response=frame["scale"].map({"hours": what.label, "log": what.tested})),
        n_runs,
        holds=("interaction",),
    )


def _interval(low, high):
    if np.isnan(low):
        return "–"
    return f"{low:.2f} to {high:.2f}" if high >= 0.005 else "< 0.01"
