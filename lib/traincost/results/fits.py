"""Lines fitted through several systems: hardware burden on network operations, and error on compute."""

import numpy as np
import pandas as pd

from traincost.estimation import estimates
from traincost.printing import SPACE, power, significant, two
from traincost.results.figures import Figure, axes_of, labels_on_grid, name_points, powers_of_ten, thinned
from traincost.results.prose import Name, Number, key, say
from traincost.results.result import More
from traincost.results.svg import GRID, MUTED, PAGE, SERIES
from traincost.results.tables import Heading, Table, of_one


def conversion_blocks(estimated, fit, pairs="consistent", elsewhere=""):
    """Return what is said and drawn of converting one measure into the other.

    The fit is through ``consistent`` pairs, or ``all``; `elsewhere` names what it was made on, where that is
    not these systems.
    """
    points = estimates.both_measures(estimated, consistent=pairs == "consistent")
    if fit is None:
        few = say(
            "Fewer than three systems report both measures{consistent}, so neither is converted into the "
            "other.",
            consistent=" without contradicting themselves" if pairs == "consistent" else "",
        )
        return ([few],)
    derived = estimates.converted(estimated, fit)
    figure = None if elsewhere else Figure.of("conversion", thinned(points), draw_conversion, _caption, fit)
    table = More(say("The burden that the fit gives, by system"), (_derived_table(derived, fit),))
    return [_conversion(points, fit, elsewhere), *_derived(derived)], figure, table


def _derived(derived):
    if len(derived):
        outside = derived["outside"].sum()
        yield say(
            "For {n} {n:system|systems} without a recorded hardware burden, the fit estimates it[ ({outside} "
            "{outside:lies|lie} outside the fitted range)].",
            n=Number.count("conversion.n_derived", len(derived)),
            outside=Number.count("conversion.n_outside", outside) if outside else None,
        )


def _derived_table(derived, fit):
    return Table(
        "derived",
        say("Hardware burden derived from network operations, in FLOP, with its prediction interval."),
        (
            Heading("system", "system"),
            Heading("operations_flop", "operations", significant),
            Heading("burden_flop", "burden, derived", significant),
            Heading("low_flop", "from", significant, f"95 %, of a line through {fit.n} systems"),
            Heading("high_flop", "to", significant),
            Heading("outside", "outside the fitted range", lambda value: "yes" if value else "no"),
        ),
        derived,
        filter="systems with operations and without hardware burden",
        origins=of_one(derived["system"], "the system of the row"),
        holds=("derived",),
        limit=20,
    )


def _conversion(points, fit, elsewhere=""):
    """What the conversion fit is, and how little it pins down."""
    n_counts = points["operations_flop"].nunique()
    is_shared = not elsewhere and n_counts < len(points)
    return say(
        "Over {n} systems[ of {data}] with both measures, log₁₀ burden is {a} + {b} · log₁₀ operations (R² "
        "{r}). [They have only {counts} distinct counts of operations, and the fit treats systems that share "
        "one as independent. ]A value converted by the fit is derived, not measured, and its prediction "
        "interval is ×/÷ {w} in the middle of the data.",
        data=Name(elsewhere) if elsewhere else None,
        counts=Number.count("conversion.n_operations", n_counts) if is_shared else None,
        **_line(fit),
    )


def _line(fit):
    factor = 10 ** fit.interval(fit.x_mean)
    return {
        "n": Number.count("conversion.n", fit.n),
        "a": Number.two("conversion.intercept", fit.intercept),
        "b": Number.two("conversion.slope", fit.slope),
        "r": Number.two("conversion.r_squared", fit.r_squared),
        "w": Number("conversion.factor", factor, significant(factor, 2)),
    }


def _caption(points, fit):
    return say(
        "Hardware burden against network operations of {n} systems with both, the fitted line (intercept "
        "{a}, slope {b}, R² {r}) and its prediction interval (×/÷ {w} in the middle).",
        **_line(fit),
    )


def draw_conversion(points, fit):
    """Hardware burden against network operations with the fitted line and its interval."""
    figure, axes = axes_of(3.8)
    x = np.linspace(fit.x_low, fit.x_high, 60)
    middle = fit.intercept + fit.slope * x
    half = np.array([fit.interval(value) for value in x])
    axes.fill_between(10**x, 10 ** (middle - half), 10 ** (middle + half), color=GRID, linewidth=0)
    axes.plot(10**x, 10**middle, color=SERIES[1], linewidth=1.6)
    shown = thinned(points.sort_values("operations_flop", ignore_index=True))
    operations, burden = shown["operations_flop"].to_numpy(), shown["burden_flop"].to_numpy()
    axes.plot(operations, burden, "o", color=SERIES[0], markersize=5.5, mec=PAGE, mew=0.6)
    axes.plot(10**x, 10**x, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(x=0.1, y=0.08)
    powers_of_ten(axes.xaxis)
    powers_of_ten(axes.yaxis)
    axes.grid(axis="y")
    labels_on_grid(axes, "hardware burden (FLOP)")
    axes.set_xlabel("network operations (FLOP)")
    ends = [len(shown) - 1, 0, *range(1, len(shown) - 1)]
    name_points(axes, operations[ends], burden[ends], list(shown["system"].iloc[ends]), 4)
    below = " (the fit knows nothing of the dashed limit)" if (middle - half < x).any() else ""
    return figure, [
        (("o", SERIES[0]), "a system with both measures"),
        (SERIES[1], f"fit, with its prediction interval in grey{below}"),
        (MUTED, "dashed: equal; below it more work than the peak allows"),
    ]


def error_blocks(fits, target, direction="error on compute"):
    """Return what is said and tabled of error against compute (`estimation.estimates.fit_errors`).

    `direction` is the regression that is said first: ``error on compute`` or ``compute on error``.
    """
    if not fits:
        few = say(
            "Fewer than three systems report an error rate that differs from the others', so error is not "
            "set against compute."
        )
        return ([few],)
    exponents, projections = fits["exponents"], fits["projections"]
    n = Number.count("error.n", exponents["n"])
    if not exponents["established"]:
        flat = say(
            "Over {n} systems it is not established that the error falls with compute, so nothing is "
            "projected.",
            n=n,
        )
        return [flat], _errors_table(exponents, {})
    said = [_by_measure(fits), _falls(exponents, n, direction), _projected(projections, target)]
    return said, _errors_table(exponents, projections)


_MEASURES = {
    estimates.TOTALS: "stated totals",
    estimates.OPERATIONS: "network operations",
    estimates.BURDEN: "hardware burden",
    estimates.CONSOLIDATED: "hardware burden, derived from operations where it is missing",
    estimates.FORWARD: "FLOP of one forward pass",
}


def _by_measure(fits):
    n_derived = fits["n_derived"]
    return say(
        "Compute is {measure}[; {n} of them derived, which lie on a line by construction, so that R² and "
        "intervals are no evidence].",
        measure=_MEASURES[fits["measure"]],
        n=Number.count("error.n_derived", n_derived) if n_derived else None,
    )


def _falls(exponents, n, direction="error on compute"):
    """Exponents in both directions of the regression, the one asked for first."""
    numbers = {
        "e": _exponent("exponent", exponents["error_on_compute"]),
        "low": _exponent("exponent_low", exponents["low"]),
        "high": _exponent("exponent_high", exponents["high"]),
        "r": _exponent("exponent_reverse", exponents["compute_on_error"]),
        "n": n,
        "r_squared": Number.two("error.r_squared", exponents["r_squared"]),
    }
    said = (
        "Over {n} systems the error falls as compute to the power of one over {e} (interval {low} to {high}, "
        "R² {r_squared}); regressed the other way the exponent is {r}."
    )
    if direction == "compute on error":
        said = (
            "Over {n} systems compute rises as the error to the power of minus {r}, regressed on it (R² "
            "{r_squared}); the other way, the error falls as compute to the power of one over {e} (interval "
            "{low} to {high})."
        )
    return say(said, **numbers)


def _exponent(name, value):
    return Number.of(key("error", name), value, "{:.1f}".format)


def _projected(projections, target):
    return say(
        "To reach an error of {t}, {parts}. Both forms describe the data; neither is known to hold there.",
        t=Number("projection.target", target, f"{100 * target:g}{SPACE}%"),
        parts=[_projection(form, found) for form, found in projections.items()],
    )


def _projection(form, found):
    return say(
        "the {form} form {x} (prediction interval {low} to {high}, {beyond} orders of magnitude beyond the "
        "data)",
        form=form,
        x=_power(key("projection", form), found["log10_flop"]),
        low=_power(key("projection", form, "low"), found["low"]),
        high=_power(key("projection", form, "high"), found["high"]),
        beyond=Number.of(key("projection", form, "beyond"), found["orders_beyond"], "{:.0f}".format),
    )


def _power(name, log10_flop):
    text = "no limit" if np.isinf(log10_flop) else f"{power(log10_flop)}{SPACE}FLOP"
    return Number(name, log10_flop, text)


def _errors_table(exponents, projections):
    rows = [
        ("slope of log10 error on log10 compute", exponents["slope"], np.nan, np.nan),
        ("R²", exponents["r_squared"], np.nan, np.nan),
        ("exponent", exponents["error_on_compute"], exponents["low"], exponents["high"]),
        ("exponent, regressed the other way", exponents["compute_on_error"], np.nan, np.nan),
        *(
            (f"log10 of the FLOP projected, {form} form", found["log10_flop"], found["low"], found["high"])
            for form, found in projections.items()
        ),
    ]
    return Table(
        "errors",
        say("Error against compute: exponents, and what the target would take."),
        (
            Heading("quantity", "quantity"),
            Heading("value", "value", two),
            Heading("low", "interval from", two, "of the exponent; prediction interval of a projection"),
            Heading("high", "interval to", two),
        ),
        pd.DataFrame(rows, columns=["quantity", "value", "low", "high"]),
        int(exponents["n"]),
        "systems with an error and an estimate",
        holds=("error", "projection"),
    )
