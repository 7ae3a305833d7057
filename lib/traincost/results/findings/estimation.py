"""The estimation card, in words."""

import numpy as np
from traincost.results.findings.numbers import N_LISTED, eta, key, names, number_of, plural

from traincost.columns import significant
from traincost.estimation.compute import (
    ASSUMED_UTILISATION,
    REPORTED,
    STAGES,
    SUSPICIOUS_UTILISATION,
    WHOLE_RUN,
)
from traincost.estimation.estimates import (
    APART,
    APART_ASSUMED,
    DISAGREE,
    IMPOSSIBLE,
    PERCENTAGE,
    PROJECTIONS,
    STATED_APART,
    SUSPICIOUS,
)
from traincost.estimation.trends import ALL, LARGE, LARGE_FROM, LARGE_Z, LOW_Z, NOISE, REGULAR, WINDOW_DAYS
from traincost.results.prose import Name, Number, When, join, say

_GROUPS = {ALL: "all systems", REGULAR: "regular-scale systems", LARGE: "large-scale systems"}


def flop(name, value):
    """Return a compute in FLOP, printed with two digits and a power of ten."""
    return Number(name, float(value), f"{value:.1e} FLOP")


def summary(estimates):
    """The card in a few sentences: the span, the total of few alike, and how the checks went."""
    known = estimates[estimates["value_flop"].gt(0)]
    if len(known) == 1:
        name, value = known["system"].iloc[0], known["value_flop"].iloc[0]
        said = say("{x} took {a}.", x=Name(name), a=flop("estimates.low", value))
    else:
        n = number_of("estimates.n", len(known))
        said = say("{n} systems took from {low} to {high}.", n=n, **_span(known))
    return [said, *_utilisation(estimates), *_stated(estimates)]


def _span(known):
    """Return the least and the greatest estimate, each with its system, or how many print alike."""
    ends = {"low": known["value_flop"].min(), "high": known["value_flop"].max()}
    said = {}
    for end, value in ends.items():
        printed = flop(key("estimates", end), value)
        alike = known.loc[[flop("", v).text == printed.text for v in known["value_flop"]], "system"]
        n = number_of(key("estimates", f"n_{end}"), len(alike))
        whose = Name(alike.iloc[0]) if len(alike) == 1 else say("{n} systems alike in these digits", n=n)
        said[end] = say("{a} ({x})", a=printed, x=whose)
    return said


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
    if len(left_out):
        items.append(
            say(
                "left out of the sheet, each for its reason: {n}",
                n=number_of("systems.n_left_out", len(left_out)),
            )
        )
    return items


def checks(estimates):
    """What the two measures cover, and how far they and the stated totals agree."""
    said = [
        say("Network operations are of training alone: pre-training, training and fine-tuning."),
        *_burden_times(estimates["burden_time"]),
        say(
            "What a search, a failed run or deployment cost is in neither measure, so both are lower bounds "
            "of a project."
        ),
    ]
    return said + _utilisation(estimates) + _stated(estimates)


_BURDEN_TIMES = {
    WHOLE_RUN: "the whole runtime of the run, evaluation and set-up included: the utilisation that it "
    "implies is that of the run, at most that of its training",
    STAGES: "the time of its training stages alone",
    REPORTED: "the training time, or the burden itself, that its source reports",
}


def _burden_times(burden_time):
    """Say what time the hardware burden of how many systems takes."""
    counts = {kind: int(burden_time.eq(kind).sum()) for kind in _BURDEN_TIMES}
    return [
        say(
            "The hardware burden of {n} {systems} takes {what}.",
            n=number_of(key("systems", "n_burden_of", kind), n),
            systems=plural(n, "system"),
            what=_BURDEN_TIMES[kind],
        )
        for kind, n in counts.items()
        if n
    ]


def _utilisation(estimates):
    both = estimates[estimates["implied_utilisation"].notna()]
    if not len(both):
        return []
    return [
        say(
            "Where a system has both measures, operations over burden imply a utilisation{of} between {low} "
            "and {high}, {mid} at the median.",
            of=" of the whole run" if both["burden_time"].eq(WHOLE_RUN).all() else "",
            low=eta("utilisation.low", both["implied_utilisation"].min()),
            high=eta("utilisation.high", both["implied_utilisation"].max()),
            mid=eta("utilisation.median", both["implied_utilisation"].median()),
        )
    ]


def _stated(estimates):
    stated = estimates[estimates["stated_flop"].gt(0) & estimates["value_flop"].gt(0)]
    other = stated[stated["method"].ne("stated")]
    if not len(stated):
        return []
    said = [
        say(
            "A total is stated for {n} {systems}{alone}.",
            n=number_of("stated.n_all", len(stated)),
            systems=plural(len(stated), "system"),
            alone=_alone(len(stated) - len(other)),
        )
    ]
    if len(other):
        ratio = other["value_flop"] / other["stated_flop"]
        near = ratio.between(1 / DISAGREE, DISAGREE).sum()
        said.append(
            say(
                "Of {which} {n}, {near} {lie} within a factor of {factor} of our estimate.",
                which="these" if len(other) == len(stated) else "the other",
                n=number_of("stated.n", len(other)),
                near=number_of("stated.n_near", near),
                lie=plural(near, "lies", "lie"),
                factor=Number("stated.factor", DISAGREE, f"{DISAGREE:g}"),
            )
        )
    return [join(said)]


def _alone(n):
    if not n:
        return ""
    return say("; for {n} it is the only figure there is", n=number_of("stated.n_alone", n))


def conversion(fit, points):
    """What the conversion fit is, and how little it pins down."""
    if fit is None:
        return [say("Fewer than three systems report both measures, so neither is converted into the other.")]
    return [
        say(
            "Over {n} systems with both measures, log₁₀ burden is {a} + {b} · log₁₀ operations (R² {r}). "
            "{repeated}A value converted by the fit is derived, not measured, and its prediction interval is "
            "×/÷ {w} in the middle of the data.",
            n=number_of("conversion.n", fit.n),
            repeated=_repeated(points["operations_flop"]),
            a=Number("conversion.intercept", fit.intercept, f"{fit.intercept:.2f}"),
            b=Number("conversion.slope", fit.slope, f"{fit.slope:.2f}"),
            r=eta("conversion.r_squared", fit.r_squared),
            w=Number("conversion.factor", 10 ** fit.interval(fit.x_mean), _factor(fit)),
        )
    ]


def _repeated(operations):
    """Say how many different operation counts there are, where systems share them."""
    n = operations.nunique()
    if n == len(operations):
        return ""
    return say(
        "Only {n} counts of operations differ among them, and the fit takes systems that share one for "
        "independent. ",
        n=number_of("conversion.n_operations", n),
    )


def _factor(fit):
    return significant(10 ** fit.interval(fit.x_mean), 2)


def trend(trends, name, settings, unfitted):
    """Each doubling time with its data, period and filter; then what the filter is, and who is in no fit."""
    if not len(trends):
        return [say("No era holds three dated systems over a year or more, so no trend is fitted.")]
    said = [_trend(row, name, settings.subset) for row in trends.itertuples()]
    said += _outliers(trends["descriptive"].any()) + _unfitted(unfitted)
    said.append(
        say(
            "Intervals are from {n} seeded draws of systems, each drawn estimate off by a log-uniform "
            "factor of up to {noise}; a month is a twelfth of a mean year.",
            n=number_of("trends.n_draws", settings.n_draws),
            noise=Number("trends.noise", NOISE, f"{NOISE:g}"),
        )
    )
    return said


def _outliers(large):
    """Say what a low outlier is, and a large-scale system where these are set apart."""
    said = say(
        "Each system is set against those published within {window} days of it: one whose log₁₀ compute is "
        "more than {low} standard deviations below their mean is a low outlier{large}.",
        window=number_of("trend.window_days", WINDOW_DAYS),
        low=Number("trend.low_z", -LOW_Z, f"{-LOW_Z:g}"),
        large=say(
            ", one more than {z} above it, after {start}, is large-scale, and the others are regular-scale",
            z=Number("trend.large_z", LARGE_Z, f"{LARGE_Z:g}"),
            start=When(LARGE_FROM),
        )
        if large
        else "",
    )
    descriptive = say(
        "Large-scale systems were set apart by their compute itself, so the gap between the groups, "
        "and how well each fits, is no evidence of two trends."
    )
    return [said, descriptive] if large else [said]


def _unfitted(unfitted):
    """Name the systems that are in no fit, by the reason."""
    reasons = ((True, "low", "low outlier"), (False, "few", "in an era and group too small for a fit"))
    parts = []
    for is_low, name, reason in reasons:
        who = unfitted.loc[unfitted["low_outlier"].eq(is_low), "system"]
        if len(who):
            n = number_of(key("trend", f"n_{name}"), len(who))
            noun = plural(len(who), reason) if is_low else reason
            parts.append(say("{n} {noun} ({who})", n=n, noun=noun, who=_some(who)))
    if not parts:
        return []
    n = number_of("trend.n_unfitted", len(unfitted))
    are = plural(len(unfitted), "is", "are")
    return [say("Of the dated systems, {n} {are} in no fit: {parts}.", n=n, are=are, parts=parts)]


def _some(texts):
    """Return the first few names, and that there are more."""
    return names(texts.head(N_LISTED)) + (["others"] if len(texts) > N_LISTED else [])


def _trend(row, name, subset):
    base = ("trends", row.era_start, row.group)
    period = say("{a} to {b}", a=When(f"{row.first:%Y-%m}"), b=When(f"{row.last:%Y-%m}"))
    lead = say(
        "{data}{subset}, {period}, {group} ({n} systems, low outliers dropped): ",
        data=Name(name),
        subset=say(" ({s})", s=Name(subset)) if subset else "",
        period=period,
        group=_GROUPS[row.group],
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


def sensitive(table, trends):
    """How far each group's point estimate moves when one choice changes, beside the interval of `trends`."""
    if not len(table):
        return []
    last = table[table["era_start"] == table["era_start"].max()]
    era = "In the last era, with" if trends["era_start"].nunique() > 1 else "With"
    said = []
    for group, rows in last.groupby("group", sort=False):
        known = rows[rows["established"]]
        if not len(known):
            continue
        base = ("sensitivity", group)
        said.append(
            say(
                "{era} one choice changed at a time, the doubling time fitted to {group} moves between {a} "
                "and {b} (growth is established under {n} of {of} choices of window, threshold and "
                "noise){interval}.",
                era=era,
                group=_GROUPS[group],
                a=_months(key(*base, "low"), known["doubling_months"].min()),
                b=_months(key(*base, "high"), known["doubling_months"].max()),
                n=number_of(key(*base, "n"), len(known)),
                of=number_of(key(*base, "of"), len(rows)),
                interval=_interval_above(trends, rows["era_start"].iloc[0], group),
            )
        )
    if said:
        said.append(
            say(
                "Such a range is not the uncertainty of a fit; a change of the noise moves its interval "
                "alone."
            )
        )
    return said


def _interval_above(trends, era_start, group):
    """Say the interval of the fit that nothing was changed in."""
    rows = trends[trends["era_start"].eq(era_start) & trends["group"].eq(group) & trends["established"]]
    if not len(rows):
        return ""
    base = ("trends", era_start, group)
    return say(
        "; the interval of the fit above is {low} to {high}",
        low=_months(key(*base, "doubling_low"), rows["doubling_low"].iloc[0]),
        high=_months(key(*base, "doubling_high"), rows["doubling_high"].iloc[0]),
    )


def error_against_compute(fits, target):
    """Exponents in both directions, and both projections."""
    if not fits:
        return [
            say(
                "Fewer than three systems report an error rate that differs from the others', so error is "
                "not set against compute."
            )
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


# Each kind of contradiction: the key of its count, and what is said of it.
_KINDS = {
    IMPOSSIBLE: (
        "n_impossible",
        "The implied utilisation of {n} {systems} is above one, which is impossible: one of the figures is "
        "wrong ({who}).",
    ),
    APART_ASSUMED: (
        "n_apart_assumed",
        "The two measures of {n} {systems} differ by more than a factor of {factor} when a utilisation of "
        "{assumed} is assumed, since none is stated.",
    ),
    APART: (
        "n_apart",
        "The two measures of {n} {systems} differ by more than a factor of {factor} at the utilisation that "
        "is stated ({who}).",
    ),
    SUSPICIOUS: (
        "n_suspicious",
        "The implied utilisation of {n} {systems} is above {high}, which few implementations reach ({who}).",
    ),
    STATED_APART: (
        "n_stated",
        "The total stated for {n} {systems} is more than a factor of {factor} from what the other figures "
        "give ({who}).",
    ),
    PERCENTAGE: (
        "n_percentages",
        "The utilisation of {n} {systems} stands as a percentage among fractions ({who}).",
    ),
    PROJECTIONS: (
        "n_projections",
        "The two forms of error against compute project totals more than a factor of {factor} apart.",
    ),
}


def contradictions(own, claims, estimates):
    """How many systems disagree with themselves, in which way, and how many printed claims differ."""
    limits = {
        "factor": Number("contradictions.factor", DISAGREE, f"{DISAGREE:g}"),
        "assumed": Number("contradictions.assumed", ASSUMED_UTILISATION, f"{ASSUMED_UTILISATION:g}"),
        "high": Number("contradictions.high", SUSPICIOUS_UTILISATION, f"{SUSPICIOUS_UTILISATION:g}"),
    }
    said = []
    for kind, (name, words) in _KINDS.items():
        who = own.loc[own["kind"].eq(kind), "subject"]
        if len(who):
            n = number_of(key("contradictions", name), len(who))
            said.append(say(words, n=n, systems=plural(len(who), "system"), who=_some(who), **limits))
    if not said and not len(claims):
        said = [say("No contradiction was found among the figures.")]
    return said + _possible(own, estimates) + _printed(claims)


def _printed(claims):
    if not len(claims):
        return []
    n = number_of("contradictions.n_claims", len(claims))
    return [say("Printed claims differ about {n} {things}.", n=n, things=plural(len(claims), "thing"))]


def _possible(own, estimates):
    """Say that no implied utilisation is impossible, where none is and there are some."""
    n = estimates["implied_utilisation"].notna().sum()
    if not n or own["kind"].eq(IMPOSSIBLE).any():
        return []
    return [
        say(
            "None of the implied utilisations ({n}) is above one, which would be impossible.",
            n=number_of("utilisation.n", n),
        )
    ]


def caption_estimates(estimates):
    """The span of the estimates."""
    return say("Best estimate of each system with its band: from {low} to {high}.", **_span(estimates))


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
        "marked, a line for each {lines}.",
        n=number_of("trend.n", len(points)),
        low=number_of("trend.n_low", points["low_outlier"].sum()),
        outliers=plural(points["low_outlier"].sum(), "outlier"),
        large=number_of("trend.n_large", points["large_scale"].sum()),
        lines="group" if trends["era_start"].nunique() == 1 else "era and group",
    )
