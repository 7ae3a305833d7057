"""What to change, the most that it can save, and what it saved where it was tried."""

import numpy as np

from traincost.analysis import comparison, fields, occurrences, pairs, savings
from traincost.analysis import knobs as analysis
from traincost.analysis.knobs import HIGH_LEVERAGE, JOINT, NOT_WORTH
from traincost.analysis.verdicts import TOO_FEW
from traincost.printing import (
    change_text,
    count,
    percent,
    probability,
    ratio_text,
    share_text,
    span,
    time_text,
)
from traincost.results.comparison import change_in_words
from traincost.results.figures import MAX_ROWS, Figure, axes_of, label_rows, percent_axis
from traincost.results.numbers import N_NAMED, key, names, number_of, plural, share, share_within
from traincost.results.prose import Name, Number, join, say
from traincost.results.result import Items, Result
from traincost.results.svg import INK, MUTED, REST, SERIES
from traincost.results.tables import Heading, Origin, Table

TIER_NOTE = f"high from {percent(HIGH_LEVERAGE)}, not worth touching below {percent(NOT_WORTH, 2)}"
OVERLAP = 1e-6  # relative: bounds that add up to more than their union overlap


def knobs(runs, reruns=None, baseline=None, *, name=""):
    """Say what could be changed and the most that this saves, and what it saved where it was tried.

    Parameters
    ----------
    runs : Runs
        Their `knobs`; those proposed from the sections, where they have none.
    reruns : mapping of str to Runs, optional
        Name of a knob to runs with this knob turned.
    baseline : Runs, optional
        What `reruns` are compared with, where it is not `runs`.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per knob, the largest bound first, the joint bound last, as
        `analysis.knobs.bounds` returns it; the table ``alike`` says whether the occurrences that a
        cadence changes are alike (`analysis.occurrences.alike`), ``turned`` what was measured.

    Raises
    ------
    ParameterError
        A rerun names no known knob, or shares no configuration with the baseline.
    """
    bounds = runs.bounds
    checked, alike = _checked(runs)
    measured, drift = _measure(runs, reruns or {}, baseline)
    return Result.showing(
        "knobs",
        bounds,
        Items(tuple(_said(bounds, checked, alike)), ordered=True),
        _joint_bound(bounds) + _what_a_bound_is(bounds, len(measured)) + _assumed(alike),
        Figure.of("knobs", bounds[bounds["bound"].notna()], draw_bounds, _caption),
        _table(bounds),
        _alike_table(alike, len(runs.frame)),
        Items(tuple(_turned(measured, drift))),
        Figure.of("turned", measured, draw_turned, _caption_turned),
        _turned_table(measured),
        prefix=name,
        of=runs.label,
    )


def _checked(runs):
    """Return the sections that each cadence knob makes rarer, and whether their occurrences are alike."""
    t = runs.timing
    checked = analysis.checked_sections(analysis.propose(t) if runs.knobs is None else runs.knobs, t)
    codes = [field.codes for field in fields.factors(runs.described)]
    sections = dict.fromkeys(path for paths in checked.values() for path in paths)
    return checked, occurrences.alike(t, sections, fields.combined(codes, len(runs.frame)))


def _measure(runs, reruns, baseline):
    """Return what turned knobs saved, and how the baseline differs from the runs where it is another."""
    start = baseline or runs
    read = {knob: turned.collection for knob, turned in reruns.items()}
    measured = savings.measured_savings(
        start.collection, read, runs.knobs, runs.cadence_section or None, runs.replicates
    )
    if baseline is None or not reruns:
        return measured, None
    paired = pairs.pair(runs.collection, baseline.collection, None, runs.replicates)
    return measured, comparison.overall_change(runs.collection, baseline.collection, paired)


def _said(bounds, checked, alike):
    """The knobs in order, as list items."""
    knobs = bounds[bounds["kind"] != "joint"]
    if not len(knobs):
        return [say("No section points to a setting that could be changed to save time.")]
    found = {row.section: row for row in alike.itertuples()}
    return [
        join([_knob(row), *_limits(row, [found[path] for path in checked.get(row.knob, ())])])
        for row in knobs.itertuples()
    ]


def _knob(row):
    what = say(
        "{knob}{change}: ",
        knob=Name(row.knob),
        change=say(" ({c})", c=Name(row.change)) if row.change else "",
    )
    if not row.sections:
        return join([what, say("no section of these runs matches it.")], "")
    if not row.n_known:
        return join([what, say("unknown, since no run counted how often it happens.")], "")
    base, within = ("knobs", row.knob), (row.low, row.high)
    partly = row.n_known < row.n_runs
    known = say(
        "Known in {n} of {of} runs only. ",
        n=number_of(key(*base, "n_known"), row.n_known),
        of=number_of(key(*base, "n_runs"), row.n_runs),
    )
    return join(
        [
            what,
            say(
                "{tier}. {known}It governs {governed} of the runtime and saves at most {bound} of a run on "
                "average; over {which} runs together {t} ({pooled}){speed}.",
                tier=row.tier,
                known=known if partly else "",
                which="these" if partly else "all completed",
                governed=share_within(key(*base, "governed_share"), row.governed_share, *within),
                bound=share_within(key(*base, "bound"), row.bound, *within),
                t=_saved(key(*base, "saved_s"), row),
                pooled=share_within(key(*base, "pooled_bound"), row.pooled_bound, *within),
                speed=say(", a speed-up of up to {x}", x=_speed_up(key(*base, "speed_up"), row))
                if row.speed_up == row.speed_up
                else ", all of the runtime",
            ),
        ],
        "",
    )


def _limits(row, alike):
    """What keeps a saving below its bound, in sentences."""
    if not row.n_known:
        return []
    said = [_of_some(row)] if 0 < row.n_present < row.n_known else []
    said += [sentence for each in alike for sentence in _of_occurrences(row, each)]
    if row.overlap == row.overlap:
        said.append(
            say(
                "It overlaps in time with other sections (threads, or double timing): together they take {x} "
                "as long as what encloses them, so what it saves may be hidden behind them.",
                x=Number(key("knobs", row.knob, "overlap"), row.overlap, ratio_text(row.overlap)),
            )
        )
    if row.n_unsynchronised:
        said.append(
            say(
                "In {n} {runs} the clock did not wait for the device: time that counts here may be of a "
                "section before, and time of its own may count in the next that waits.",
                n=number_of(key("knobs", row.knob, "n_unsynchronised"), row.n_unsynchronised),
                runs=plural(row.n_unsynchronised, "run"),
            )
        )
    return said


def _of_some(row):
    return say(
        "It is in {n} of {of} runs, of which it saves at most {x} on average.",
        n=number_of(key("knobs", row.knob, "n_present"), row.n_present),
        of=number_of(key("knobs", row.knob, "n_known"), row.n_known),
        x=share(key("knobs", row.knob, "bound_present"), row.bound_present),
    )


def _of_occurrences(row, alike):
    """How the occurrences of one section of a cadence knob differ, where they do."""
    base = ("alike", alike.section)
    if alike.finding == occurrences.LONGER:
        kept = say(
            "what that is more, {x} of the runtime on average, stays and is not in the bound",
            x=share(key("knobs", row.knob, "first_share"), row.first_share),
        )
        return [_first(alike, "longest", kept if row.first_share > 0 else "a cadence cannot save that")]
    if alike.finding == occurrences.SHORTER:
        return [
            _first(alike, "shortest", "occurrences grow over a run, and late ones save more than early ones")
        ]
    if alike.finding in (occurrences.GROWING, occurrences.FALLING):
        more = alike.finding == occurrences.GROWING
        value, low, high = (
            Number(key(*base, name), float(getattr(alike, name)), share_text(abs(getattr(alike, name))))
            for name in ("growth", "growth_low", "growth_high")
        )
        return [
            say(
                "In {n} runs of configurations with different counts, one occurrence of {s} takes {x} {more} "
                "({low} to {high}) where there are twice as many: {so}.",
                n=number_of(key(*base, "n_compared"), alike.n_compared),
                s=Name(alike.section),
                x=value,
                more="longer" if more else "less",
                low=low if more else high,
                high=high if more else low,
                so="late ones save more than early ones"
                if more
                else "the first may hold a warm-up that a cadence cannot save",
            )
        ]
    return []


def _first(alike, which, so):
    base = ("alike", alike.section)
    return say(
        "The first occurrence of {s} is the {which} in {n} of {of} runs, {x} as long as a later one: {so}.",
        s=Name(alike.section),
        which=which,
        n=number_of(key(*base, f"n_{which}"), getattr(alike, f"n_{which}")),
        of=number_of(key(*base, "n_recorded"), alike.n_recorded),
        x=Number(key(*base, "first_ratio"), alike.first_ratio, ratio_text(alike.first_ratio)),
        so=so,
    )


def _assumed(alike):
    """That occurrences are taken to be alike, and whether anything tells."""
    unknown = alike.loc[alike["finding"] == occurrences.UNKNOWN, "section"]
    if not len(unknown):
        return []
    return [
        say(
            "The bounds of a cadence take occurrences to be alike; of {s} the records do not tell.",
            s=[*names(unknown.head(N_NAMED)), *(["others"] if len(unknown) > N_NAMED else [])],
        )
    ]


def _alike_table(alike, n_runs):
    """What `occurrences.alike` returns, where anything tells."""
    return Table(
        "alike",
        say("Whether the occurrences of a section are alike, as the bound of a cadence assumes."),
        (
            Heading("section", "section"),
            Heading("finding", "occurrences"),
            Heading("n_recorded", "runs", count, "whose records have the first of several occurrences"),
            Heading("n_longest", "first longest", count),
            Heading(
                "p_longest", "p", probability, "binomial: the first of n is longest with probability 1/n"
            ),
            Heading("n_shortest", "first shortest", count),
            Heading("p_shortest", "p", probability),
            Heading("first_ratio", "first to later", ratio_text),
            Heading("n_compared", "runs compared", count, "of configurations whose counts differ"),
            Heading("growth", "with twice as many", change_text, "change of the seconds of one occurrence"),
        ),
        alike[alike["finding"] != occurrences.UNKNOWN],
        n_runs,
    )


def _saved(name, row):
    """Return the time saved over the runs together."""
    return Number(name, row.saved_s, time_text(row.saved_s))


def _speed_up(name, row):
    """Return the speed-up with the digits that the range of the bound leaves it."""
    low, high = (1 / (1 - share) if share < 1 else np.inf for share in (row.low, row.high))
    return Number(name, row.speed_up, ratio_text(row.speed_up, low, high))


def _joint_bound(bounds):
    """What all knobs together can save, which is not their sum where they overlap."""
    joint = bounds[bounds["kind"] == "joint"]
    single = bounds[bounds["kind"] != "joint"]
    if not len(joint) or not (single["sections"] != "").any():
        return []
    row = joint.iloc[0]
    if np.isnan(row["bound"]):
        return [say("What all of them save together is unknown, since some counts are.")]
    overlap = single["bound"].sum() > row["bound"] * (1 + OVERLAP)
    return [
        say(
            "{lead} they save at most {x} (resampling range {low} to {high}).",
            lead="The knobs overlap, so their bounds do not add up: all together"
            if overlap
            else "All together",
            x=share_within(key("knobs", JOINT, "bound"), row["bound"], row["low"], row["high"]),
            low=share_within(key("knobs", JOINT, "low"), row["low"], row["low"], row["high"]),
            high=share_within(key("knobs", JOINT, "high"), row["high"], row["low"], row["high"]),
        )
    ]


def _what_a_bound_is(bounds, n_measured=0):
    """The sentence that these are upper bounds, where there are any; `n_measured` knobs were turned."""
    if not len(bounds):
        return []
    said = [
        say(
            "These are upper bounds derived from the sections' shares: at most this is saved, if nothing "
            "outside the sections changes. They are not measurements of changed runs{those}.",
            those="; those stand below" if n_measured else "",
        )
    ]
    if bounds["proposed"].any():
        said.append(
            say(
                "The knobs were proposed from the names and counts of the sections; name your own in the "
                "parameters."
            )
        )
    return said


def _caption(bounds):
    """The knob with the largest bound."""
    known = bounds[bounds["bound"].notna()]
    top = known.iloc[0]
    return say(
        "The most each knob can save: {k} leads with {x} (resampling range {low} to {high}).",
        k=Name(top["knob"]),
        x=share_within(key("knobs", top["knob"], "bound"), top["bound"], top["low"], top["high"]),
        low=share_within(key("knobs", top["knob"], "low"), top["low"], top["low"], top["high"]),
        high=share_within(key("knobs", top["knob"], "high"), top["high"], top["low"], top["high"]),
    )


def _turned(measured, drift):
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
    """Return a figure of a turned knob."""
    value = float(getattr(row, name))
    return Number(key("turned", row.knob, name), value, share_text(value))


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


def _caption_turned(measured):
    """How many knobs saved more than their bound."""
    above = int((measured["outcome"] == savings.ABOVE).sum())
    return say(
        "Bound and measured saving of {n} turned {knobs}; {a} saved more than the bound by more than chance.",
        n=number_of("turned.n", len(measured)),
        knobs=plural(len(measured), "knob"),
        a=number_of("turned.n_above", above) if above else "none",
    )


def draw_bounds(bounds):
    """The most each knob can save, with its resampling range."""
    bounds = bounds.dropna(subset="bound").head(MAX_ROWS)
    figure, axes = axes_of(0.75 + 0.34 * len(bounds))
    rows = np.arange(len(bounds))
    joint = bounds["kind"].eq("joint")
    axes.barh(rows, bounds["bound"], height=0.55, color=np.where(joint, REST, SERIES[0]))
    axes.hlines(rows, bounds["low"], bounds["high"], color=INK, linewidth=1.6)
    for row, bound, high in zip(rows, bounds["bound"], bounds["high"], strict=True):
        axes.text(max(bound, high) + 0.008, row, share_text(bound), va="center", color=INK)
    label_rows(axes, bounds["knob"])
    axes.set_xlim(0, min(1.12, 1.18 * bounds["high"].max() + 0.06))
    percent_axis(axes)
    axes.set_xlabel("at most saved, mean share of runtime")
    legend = [
        (SERIES[0], "upper bound of a knob"),
        (REST, "of all together, overlaps counted once"),
        ("range", "resampling range over runs"),
    ]
    return figure, legend if joint.any() else legend[::2]


def draw_turned(savings):
    """Bound of each turned knob as a bar, what was really saved as a point with its interval."""
    savings = savings.head(MAX_ROWS)
    figure, axes = axes_of(0.8 + 0.46 * len(savings))
    rows = np.arange(len(savings))
    axes.barh(rows, savings["bound"], height=0.5, color=SERIES[0])
    axes.hlines(rows, savings["low"], savings["high"], color=INK, linewidth=1.6)
    axes.plot(savings["measured"], rows, "o", color=SERIES[1], markersize=6)
    label_rows(axes, savings["knob"])
    axes.axvline(0, color=MUTED, linewidth=0.8)
    percent_axis(axes)
    axes.set_xlabel("saved, mean share of runtime")
    return figure, [
        (SERIES[0], "upper bound"),
        (("o", SERIES[1]), "measured with the knob turned"),
        ("range", "its interval"),
    ]


def _table(frame):
    """What `speedups.bounds` returns."""

    def between(low, high):
        return [span(share_text(a), share_text(b)) for a, b in zip(frame[low], frame[high], strict=True)]

    printed = frame.assign(resampled=between("low", "high"), by_level=between("level_low", "level_high"))
    return Table(
        "knobs",
        say("What each knob can save at most."),
        (
            Heading("knob", "knob"),
            Heading("tier", "leverage", str, TIER_NOTE),
            Heading("kind", "kind", str, "cadence: done less often; share: not done, or done with less"),
            Heading("governed_share", "governs", share_text, "mean share of the sections it governs"),
            Heading("bound", "saves at most", share_text, "mean share of runtime"),
            Heading("resampled", "resampling range", str, "2.5 to 97.5 % of means over redrawn runs"),
            Heading("by_level", "range over levels"),
            Heading("pooled_bound", "pooled", share_text, "of all runtime together"),
            Heading("saved_s", "saved", time_text),
            Heading("speed_up", "speed-up", ratio_text, "1 / (1 - pooled)"),
        ),
        printed,
        int(frame["n_runs"].max()) if len(frame) else 0,
        origins=tuple(map(_of_knob, frame["n_known"], frame["n_runs"])),
    )


def _of_knob(n_known, n_runs):
    known = "completed runs" if n_known == n_runs else "completed runs in which the occurrences were counted"
    return Origin(int(n_known), known)


def _turned_table(frame):
    """What `savings.measured_savings` returns."""
    return Table(
        "turned",
        say("Bound and measured saving of each knob that was turned, as shares of runtime."),
        (
            Heading("knob", "knob"),
            Heading("n_configurations", "configurations", count),
            Heading("bound", "bound", share_text, "over the configurations that were run again"),
            Heading("measured", "measured", share_text, "mean over configurations"),
            Heading("interval", "interval", str, "95 %, t"),
            Heading("outcome", "outcome"),
            Heading("inside", "saved in its sections", share_text),
            Heading("outside", "saved elsewhere", share_text, "a bound assumes none"),
            Heading("governed", "they took before", share_text, "share of runtime"),
            Heading("still_governed", "they take now", share_text, "of the runtime before"),
        ),
        frame.assign(interval=_intervals(frame)),
        int(frame["n_configurations"].sum()) if len(frame) else 0,
        "paired configurations",
        holds=("drift", "turned"),
    )


def _intervals(frame):
    ends = zip(frame["low"], frame["high"], strict=True)
    return [span(share_text(a), share_text(b)) for a, b in ends]
