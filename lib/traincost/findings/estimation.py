"""The estimation card, in words."""

import numpy as np

from traincost.columns import significant
from traincost.estimates import DISAGREE
from traincost.findings.numbers import N_LISTED, N_NAMED, eta, key, names, number_of, plural
from traincost.prose import Name, Number, When, join, say
from traincost.trends import LARGE, NOISE


def flop(name, value):
    """Return a compute in FLOP, printed with two digits and a power of ten."""
    return Number(name, float(value), f"{value:.1e} FLOP")


def summary(estimates):
    """The card in a few sentences: the span, the total of few alike, and how the checks went."""
    known = estimates[estimates["value_flop"].gt(0)].sort_values("value_flop", kind="stable")
    low, high = known.iloc[0], known.iloc[-1]
    if len(known) == 1:
        said = [say("{x} took {a}.", x=Name(low["system"]), a=flop("estimates.low", low["value_flop"]))]
    else:
        said = [
            say(
                "{n} systems took from {a} ({x}) to {b} ({y}).",
                n=number_of("estimates.n", len(known)),
                a=flop("estimates.low", low["value_flop"]),
                x=Name(low["system"]),
                b=flop("estimates.high", high["value_flop"]),
                y=Name(high["system"]),
            )
        ]
    return said + _utilisation(estimates) + _stated(estimates)


def overview(estimates, rejected, left_out):
    """How many systems there are, and by which measures."""
    has = np.isfinite(estimates[["operations_flop", "burden_flop"]])
    both = has.all(axis=1).sum()
    items = [
        say("systems: {n}", n=number_of("systems.n", len(estimates))),
        say(
            "with network operations: {n}", n=number_of("systems.n_operations", has["operations_flop"].sum())
        ),
        say("with hardware burden: {n}", n=number_of("systems.n_burden", has["burden_flop"].sum())),
        say("with both, so that one checks the other: {n}", n=number_of("systems.n_both", both)),
    ]
    dates = estimates["date"].dropna().sort_values()
    if len(dates):
        items.append(
            say(
                "dates: {a} to {b}", a=When(f"{dates.iloc[0]:%Y-%m-%d}"), b=When(f"{dates.iloc[-1]:%Y-%m-%d}")
            )
        )
    unusable = estimates["value_flop"].isna().sum()
    if unusable:
        items.append(say("without any estimate: {n}", n=number_of("systems.n_unusable", unusable)))
    if len(rejected):
        items.append(
            say("values that could not be used: {n}", n=number_of("systems.n_rejected", len(rejected)))
        )
    if left_out:
        items.append(
            say(
                "left out, since what an estimate needs could not be read in the paper itself: {n}",
                n=number_of("systems.n_left_out", left_out),
            )
        )
    return items


def checks(estimates):
    """How far the two measures, and the papers' own totals, agree."""
    said = [
        say(
            "Both measures cover training alone: pre-training, training and fine-tuning. What a search, a "
            "failed run or deployment cost is not in them, so they are lower bounds of a project."
        )
    ]
    return said + _utilisation(estimates) + _stated(estimates)


def _utilisation(estimates):
    both = estimates[estimates["implied_utilisation"].notna()]
    if not len(both):
        return []
    return [
        say(
            "Where a system reports both measures, operations over burden imply a utilisation between {low} "
            "and {high}, {mid} at the median.",
            low=eta("utilisation.low", both["implied_utilisation"].min()),
            high=eta("utilisation.high", both["implied_utilisation"].max()),
            mid=eta("utilisation.median", both["implied_utilisation"].median()),
        )
    ]


def _stated(estimates):
    stated = estimates[estimates["stated_flop"].gt(0) & estimates["method"].ne("stated")]
    stated = stated[stated["value_flop"].gt(0)]
    if not len(stated):
        return []
    ratio = stated["value_flop"] / stated["stated_flop"]
    return [
        say(
            "Of {n} sources that state a total, {near} lie within a factor of {factor} of ours.",
            factor=Number("stated.factor", DISAGREE, f"{DISAGREE:g}"),
            n=number_of("stated.n", len(stated)),
            near=number_of("stated.n_near", ratio.between(1 / DISAGREE, DISAGREE).sum()),
        )
    ]


def conversion(fit):
    """What the conversion fit is, and how little it pins down."""
    if fit is None:
        return [say("Fewer than three systems report both measures, so neither is converted into the other.")]
    return [
        say(
            "Over {n} systems with both measures, log burden is {a} + {b} · log operations (R² {r}). A "
            "value converted by it is derived, not measured, and its prediction interval is ×/÷ {w} in the "
            "middle of the data.",
            n=number_of("conversion.n", fit.n),
            a=Number("conversion.intercept", fit.intercept, f"{fit.intercept:.2f}"),
            b=Number("conversion.slope", fit.slope, f"{fit.slope:.2f}"),
            r=eta("conversion.r_squared", fit.r_squared),
            w=Number("conversion.factor", 10 ** fit.interval(fit.x_mean), _factor(fit)),
        )
    ]


def _factor(fit):
    return significant(10 ** fit.interval(fit.x_mean), 2)


def trend(trends, name, settings):
    """Each doubling time with its data, period and filter."""
    if not len(trends):
        return [say("No era holds three dated systems over a year or more, so no trend is fitted.")]
    said = [_trend(row, name, settings.subset) for row in trends.itertuples()]
    if trends["descriptive"].any():
        said.append(
            say(
                "Large-scale systems were set apart by their compute itself, so the gap between the groups, "
                "and how well each fits, is no evidence of two trends."
            )
        )
    said.append(
        say(
            "Intervals are from {n} seeded draws of systems, each drawn estimate off by a log-uniform "
            "factor of up to {noise}; a month is a twelfth of a mean year.",
            n=number_of("trends.n_draws", settings.n_draws),
            noise=Number("trends.noise", NOISE, f"{NOISE:g}"),
        )
    )
    return said


def _trend(row, name, subset):
    base = ("trends", row.era_start, row.group)
    period = say("{a} to {b}", a=When(f"{row.first:%Y-%m}"), b=When(f"{row.last:%Y-%m}"))
    lead = say(
        "{data}{subset}, {period}, {group} ({n} systems, low outliers dropped): ",
        data=Name(name),
        subset=say(" ({s})", s=Name(subset)) if subset else "",
        period=period,
        group="large-scale systems" if row.group == LARGE else "systems not set apart",
        n=number_of(key(*base, "n"), row.n),
    )
    low = _months(key(*base, "doubling_low"), row.doubling_low)
    if row.slope_high <= 0:
        return join([lead, say("compute does not grow.")], "")
    if not row.established:
        return join(
            [
                lead,
                say(
                    "growth is not established; a doubling takes at least {low}, without upper limit.",
                    low=low,
                ),
            ],
            "",
        )
    return join(
        [
            lead,
            say(
                "compute doubles in {d} (interval {low} to {high}).",
                d=_months(key(*base, "doubling_months"), row.doubling_months),
                low=low,
                high=_months(key(*base, "doubling_high"), row.doubling_high),
            ),
        ],
        "",
    )


def _months(name, value):
    return Number(name, float(value), f"{significant(value, 2)} months")


def sensitive(table):
    """How far each group's doubling time moves when one choice changes."""
    if not len(table):
        return []
    last = table[table["era_start"] == table["era_start"].max()]
    said = []
    for group, rows in last.groupby("group", sort=False):
        known = rows[rows["established"]]
        if not len(known):
            continue
        base = ("sensitivity", group)
        said.append(
            say(
                "In the last era the doubling time of {group} lies between {a} and {b} where growth is "
                "established, {n} of {of} choices of window, threshold and noise.",
                group="large-scale systems" if group == LARGE else "systems not set apart",
                a=_months(key(*base, "low"), known["doubling_months"].min()),
                b=_months(key(*base, "high"), known["doubling_months"].max()),
                n=number_of(key(*base, "n"), len(known)),
                of=number_of(key(*base, "of"), len(rows)),
            )
        )
    return said


def error_against_compute(fits, target):
    """Exponents in both directions, and both projections."""
    if not fits:
        return [
            say("Fewer than three systems report an error that changes, so it is not set against compute.")
        ]
    both = fits["exponents"]
    if not both["established"]:
        return [
            say(
                "Over {n} systems it is not established that the error falls with compute, so nothing is "
                "projected.",
                n=number_of("error.n", both["n"]),
            )
        ]
    said = [
        say(
            "Over {n} systems the error falls as compute to the power of one over {e} (interval {low} to "
            "{high}); regressed the other way the exponent is {r}.",
            n=number_of("error.n", both["n"]),
            e=_exponent("exponent", both["error_on_compute"]),
            low=_exponent("exponent_low", both["low"]),
            high=_exponent("exponent_high", both["high"]),
            r=_exponent("exponent_reverse", both["compute_on_error"]),
        )
    ]
    parts = [_projection(form, found) for form, found in fits["projections"].items()]
    said.append(
        say(
            "To reach an error of {t}, {parts}. Both forms describe the data; neither is known to hold "
            "there.",
            t=Number("projection.target", target, f"{100 * target:g} %"),
            parts=parts,
        )
    )
    return said


def _exponent(name, value):
    return Number(key("error", name), value, f"{value:.1f}")


def _projection(form, found):
    beyond = found["orders_beyond"]
    return say(
        "{form} {x} (prediction interval {low} to {high}, {beyond} orders of magnitude beyond the data)",
        form=f"the {form} form",
        x=_power(key("projection", form), found["log10_flop"]),
        low=_power(key("projection", form, "low"), found["low"]),
        high=_power(key("projection", form, "high"), found["high"]),
        beyond=Number(key("projection", form, "beyond"), beyond, f"{beyond:.0f}"),
    )


def _power(name, log10_flop):
    text = "no limit" if np.isinf(log10_flop) else f"1e{log10_flop:.0f} FLOP"
    return Number(name, log10_flop, text)


def contradictions(own, claims):
    """How many contradictions there are, and the gravest."""
    n = len(own) + len(claims)
    if not n:
        return [say("No contradiction was found among the figures.")]
    said = [
        say(
            "{n} {noun} found: {a} among the systems' own figures, {b} among printed claims.",
            n=number_of("contradictions.n", n),
            noun=plural(n, "contradiction was", "contradictions were"),
            a=number_of("contradictions.n_own", len(own)),
            b=number_of("contradictions.n_claims", len(claims)),
        )
    ]
    above = own[own["kind"] == "implied utilisation above 1"]
    if len(above):
        said.append(
            say(
                "More work than the hardware could do at its peak: {s}.",
                s=names(above["subject"].head(N_LISTED)),
            )
        )
    percentages = own[own["kind"] == "utilisation stored as a percentage"]
    if len(percentages):
        said.append(
            say(
                "A utilisation stored as a percentage among fractions: {s}.",
                s=names(percentages["subject"].head(N_NAMED)),
            )
        )
    return said


def caption_estimates(estimates):
    """The span of the estimates."""
    known = estimates[estimates["value_flop"].gt(0)].sort_values("value_flop")
    low, high = known.iloc[0], known.iloc[-1]
    return say(
        "Best estimate of each system with its band: from {a} for {x} to {b} for {y}.",
        a=flop("estimates.low", low["value_flop"]),
        x=Name(low["system"]),
        b=flop("estimates.high", high["value_flop"]),
        y=Name(high["system"]),
    )


def caption_conversion(points, fit):
    """Where the conversion line runs."""
    return say(
        "Hardware burden against network operations of {n} systems with both, the fitted line and its "
        "prediction interval.",
        n=number_of("conversion.n", fit.n),
    )


def caption_trend(trends, points):
    """How many systems the trend figure shows, and what was set apart."""
    return say(
        "Training compute of {n} dated systems; {low} low {outliers} and {large} large-scale systems are "
        "marked, a line for each era and group.",
        n=number_of("trend.n", len(points)),
        low=number_of("trend.n_low", points["low_outlier"].sum()),
        outliers=plural(points["low_outlier"].sum(), "outlier"),
        large=number_of("trend.n_large", points["large_scale"].sum()),
    )
