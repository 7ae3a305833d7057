"""Bounds against what turning the knobs really saved, and how well runs are predicted, in words."""

from traincost.analysis import savings
from traincost.analysis.plan import COVERAGE
from traincost.analysis.verdicts import TOO_FEW
from traincost.columns import decimals_within, percent
from traincost.results.findings.comparison import change_in_words
from traincost.results.findings.numbers import key, number_of, plural, share
from traincost.results.prose import Name, Number, join, say


def turned(measured, drift):
    """Bound and measured saving, and why they differ: what was done, then an item for each knob.

    Parameters
    ----------
    measured : DataFrame
        As `savings.measured_savings` returns it.
    drift : Series, or None
        Paired change of the baseline against the runs of the page, where it is not these.
    """
    if not len(measured):
        return []
    said = [say("Some of the knobs were turned, and the runs measured again.")]
    if drift is not None:
        said.append(
            say(
                "The baseline is the same setup run again; set against the runs of this page, it took {c}. "
                "So much can differ without a knob being turned.",
                c=change_in_words("drift", drift),
            )
        )
    lead = join(said)
    return [lead, *(join([_measured(row), _why(row)]) for row in measured.itertuples())]


def _measured(row):
    base = ("turned", row.knob)
    knob = say("{k}{by}", k=Name(row.knob), by=_turned_by(row))
    if row.outcome == TOO_FEW:
        bound = share(key(*base, "bound"), row.bound)
        value = share(key(*base, "measured"), row.measured)
        return say("{k}: bound {b}, measured {m}; too few runs to tell more.", k=knob, b=bound, m=value)
    bound, value, low, high = (saving(row, name) for name in ("bound", "measured", "low", "high"))
    return say(
        "{k}: predicted over these {n} {c}, at most {b}; saved {m} ({low} to {high}), {outcome}.",
        k=knob,
        b=bound,
        n=number_of(key(*base, "n_configurations"), row.n_configurations),
        c=plural(row.n_configurations, "configuration"),
        m=value,
        low=low,
        high=high,
        outcome=_outcome(row),
    )


def saving(row, name):
    """Return a figure of a turned knob, all of them with as many decimals: they are compared."""
    decimals = max(1, decimals_within(100 * row.low, 100 * row.high))
    value = float(getattr(row, name))
    return Number(key("turned", row.knob, name), value, percent(value, decimals))


def _turned_by(row):
    if not row.setting:
        return ""
    by = say(", by {s}", s=Name(row.setting)) if row.setting != row.knob else ""
    return say("{by} ({a} before, {b} after)", by=by, a=Name(row.setting_before), b=Name(row.setting_after))


def _outcome(row):
    if row.outcome == savings.BELOW and row.kind == "share":
        return "less than the bound, which is for doing without its sections altogether"
    return {
        savings.ABOVE: "more than the bound",
        savings.AT_BOUND: "as much as the bound, within chance",
        savings.BELOW: "less than the bound",
    }[row.outcome]


def _why(row):
    base = ("turned", row.knob)
    still = say(
        "Its sections saved {x}: they took {a} of the runtime and still take {b} of it",
        x=share(key(*base, "inside"), row.inside),
        a=share(key(*base, "governed"), row.governed),
        b=share(key(*base, "still_governed"), row.still_governed),
    )
    outside = share(key(*base, "outside"), row.outside)
    return say(
        "{still}. Outside them, where a bound assumes no change, {o} was saved; the largest change there "
        "was in {e} ({x}).",
        still=still,
        o=outside,
        e=Name(row.elsewhere),
        x=share(key(*base, "elsewhere_share"), row.elsewhere_share),
    )


def caption_turned(measured):
    """How many knobs saved more than their bound."""
    above = int((measured["outcome"] == savings.ABOVE).sum())
    return say(
        "Bound and measured saving of {n} turned {knobs}; {a} saved more than the bound by more than chance.",
        n=number_of("turned.n", len(measured)),
        knobs=plural(len(measured), "knob"),
        a=number_of("turned.n_above", above) if above else "none",
    )


def predicted(left_out):
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
