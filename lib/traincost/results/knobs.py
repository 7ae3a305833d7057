"""What to change, the most that it can save, and what it saved where it was tried."""

import numpy as np

from traincost.analysis import comparison, fields, occurrences, pairs, savings
from traincost.analysis import knobs as analysis
from traincost.analysis.kinds import kind_of
from traincost.analysis.knobs import HIGH_LEVERAGE
from traincost.analysis.leading import counts_of, current_values
from traincost.analysis.verdicts import TOO_FEW
from traincost.printing import (
    SPACE,
    change_text,
    count,
    money,
    percent,
    probability,
    ratio_text,
    share_text,
    span,
    time_parts,
    time_text,
)
from traincost.results import fluid
from traincost.results.comparison import change_in_words
from traincost.results.figures import MAX_ROWS, Figure, axes_of, label_rows, percent_axis
from traincost.results.names import hue
from traincost.results.numbers import N_NAMED, duration, first_names, key, number_of, plural, share
from traincost.results.prose import Name, Number, Phrase, join, say
from traincost.results.result import Items, More, Result
from traincost.results.svg import INK, MUTED, REST, SERIES
from traincost.results.tables import ELSEWHERE, Bar, Heading, Origin, Table, as_printed

LEAST_LISTED = 0.001  # of all hours: a setting that saves less stands in the details
APART = 0.02  # by which mean share and share of all hours differ, to tell both
OVERLAP = 1e-6  # relative: bounds that add up to more than their union overlap
TOGETHER = "All of these together"
OVERLAPPING = "they overlap, so the rows do not add up"


def knobs(runs, reruns=None, baseline=None, *, devices=1, price_per_hour=None, currency="USD", name=""):
    """Say what could be changed and the most that this saves, and what it saved where it was tried.

    Parameters
    ----------
    runs : Runs
        Their `knobs`; those proposed from the sections, where they have none.
    reruns : mapping of str to Runs, optional
        Name of a knob to runs with this knob turned.
    baseline : Runs, optional
        What `reruns` are compared with, where it is not `runs`.
    devices : int
        That a run holds.
    price_per_hour : float, optional
        Of a device: what is saved is told in money, too.
    currency : str
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per knob, the one that saves most in all first, the joint bound last, as
        `analysis.knobs.bounds` returns it; the table ``alike`` says whether the occurrences that a
        cadence changes are alike (`analysis.occurrences.alike`), ``turned`` what was measured.

    Raises
    ------
    ParameterError
        A rerun names no known knob, or shares no configuration with the baseline.
    """
    bounds = runs.bounds
    checked, alike = _checked(runs)
    limits = _limits_of(bounds, checked, alike)
    measured, drift = _measure(runs, reruns or {}, baseline)
    price = None if price_per_hour is None else price_per_hour * devices
    shown = _shown(bounds, runs, price)
    table = _table(shown, runs, currency)
    high = set(bounds.loc[bounds["pooled_bound"] >= HIGH_LEVERAGE, "knob"])
    return Result.showing(
        "knobs",
        bounds,
        [*_most(runs, bounds), *_cannot_tell(bounds)],
        table,
        Items(tuple(said for knob, said in limits.items() if knob in high and said is not None)),
        More(
            say("How each bound is reached: sections governed, ranges, speed-up"),
            (
                _what_a_bound_is(len(measured)) + _assumed(alike),
                Items(tuple(_said(bounds, {k: s for k, s in limits.items() if k not in high}))),
                _full(shown, "knobs" if table is None else "knobs-bounds"),
                _alike_table(alike, len(runs.frame)),
            ),
        )
        if len(bounds)
        else None,
        _turned(measured, drift),
        _turned_table(measured),
        More(
            say("Where each of them saved: in its own sections, and elsewhere"),
            (Items(tuple(map(_why, measured.itertuples()))), _inside_table(measured)),
        )
        if len(measured)
        else None,
        prefix=name,
        of=runs.label,
    )


def _checked(runs):
    """Return the sections that each cadence knob makes rarer, and whether their occurrences are alike."""
    t = runs.timing
    checked = analysis.checked_sections(
        analysis.propose(t, runs.section_kinds) if runs.knobs is None else runs.knobs, t
    )
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


def _single(bounds):
    return bounds[bounds["kind"] != "joint"]


def _most(runs, bounds):
    """How many settings save much, and the most that any other does."""
    if not runs.timing.paths:
        return [say("The runs recorded no sections, so what a change would save cannot be said.")]
    known = _single(bounds).dropna(subset="pooled_bound")
    own = say("Name your own under knobs in the parameters.")
    if not len(bounds):
        return [say("No section is repeated or optional by its name, so no setting is proposed."), own]
    if not len(known):
        return []
    high, rest = (known[known["pooled_bound"] >= HIGH_LEVERAGE], known[known["pooled_bound"] < HIGH_LEVERAGE])
    if len(high):
        most = rest.sort_values("bound", ascending=False, kind="stable").head(1)
        said = say(
            "{n} {settings} could {each}save {tenth} of all hours or more{rest}.",
            n=number_of("knobs.n_high", len(high)),
            settings=plural(len(high), "setting"),
            each="each " if len(high) > 1 else "",
            tenth=Number("knobs.high", HIGH_LEVERAGE, percent(HIGH_LEVERAGE)),
            rest=say(
                "; nothing else saves more than {x} of a run",
                x=share(key("knobs", most["knob"].iloc[0], "bound"), most["bound"].iloc[0]),
            )
            if len(most)
            else "",
        )
    else:
        top = rest.iloc[0]
        said = say(
            "No one setting saves more than {x} of all hours: look for time in the model and hardware.",
            x=share(key("knobs", top["knob"], "pooled_bound"), top["pooled_bound"]),
        )
    if not bounds["proposed"].any():
        return [said]
    return [said, say("These were proposed from the names of the sections."), own]


def _cannot_tell(bounds):
    """Name the knobs that match no section, or whose saving is not known, and why."""
    single = _single(bounds)
    missing = single[single["sections"] == ""]
    uncounted = single[(single["sections"] != "") & (single["n_known"] == 0)]
    overlapping = single[(single["n_known"] > 0) & single["bound"].isna()]
    found = []
    if len(missing):
        found.append(
            say(
                "No section of these runs matches {k}: mend the patterns of {them} in the parameters.",
                k=first_names(missing["knob"], N_NAMED),
                them=plural(len(missing), "it", "these"),
            )
        )
    if len(uncounted):
        found.append(
            say(
                "What {k} {save} is unknown: no run counted how often that happens.",
                k=first_names(uncounted["knob"], N_NAMED),
                save=plural(len(uncounted), "saves", "save"),
            )
        )
    if len(overlapping):
        found.append(
            say(
                "What {k} {save} cannot be bounded: the sections overlap in time (threads, or double timing) "
                "and together take {x} as long as what encloses them.",
                k=first_names(overlapping["knob"], N_NAMED),
                save=plural(len(overlapping), "saves", "save"),
                x=_overlap(overlapping.iloc[0]),
            )
        )
    return found


def _said(bounds, limits):
    """How each bound is reached, in the order of the knobs."""
    return [
        join([_knob(row), *filter(None, [limits.get(row.knob)])])
        for row in _single(bounds).dropna(subset="bound").itertuples()
    ]


def _knob(row):
    base = ("knobs", row.knob)
    partly = row.n_known < row.n_runs
    return say(
        "{knob}{change} is {tier}. {known}It governs {governed} of a run and saves at most {bound} on "
        "average; over {which} runs together {t} ({pooled}){speed}.",
        knob=Name(row.knob),
        change=say(" ({c})", c=Phrase(row.change)) if row.change else "",
        tier=row.tier,
        known=say(
            "Known in {n} of {of} runs only. ",
            n=number_of(key(*base, "n_known"), row.n_known),
            of=number_of(key(*base, "n_runs"), row.n_runs),
        )
        if partly
        else "",
        which="these" if partly else "all completed",
        governed=_fine(key(*base, "governed_share"), row.governed_share),
        bound=_fine(key(*base, "bound"), row.bound),
        t=duration(key(*base, "saved_s"), row.saved_s),
        pooled=_fine(key(*base, "pooled_bound"), row.pooled_bound),
        speed=say(", a speed-up of up to {x}", x=_speed_up(key(*base, "speed_up"), row))
        if row.speed_up == row.speed_up
        else ", all of their runtime",
    )


def _fine(name, value):
    return Number(name, float(value), share_text(value, fine=True))


def _limits_of(bounds, checked, alike):
    """Return what keeps the saving of each knob below its bound: name to a sentence, or None."""
    found = {row.section: row for row in alike.itertuples()}
    limits = {}
    for row in _single(bounds).dropna(subset="bound").itertuples():
        said = _limits(row, [found[path] for path in checked.get(row.knob, ())])
        limits[row.knob] = join(said) if said else None
    return limits


def _overlap(row):
    return Number(key("knobs", row["knob"], "overlap"), float(row["overlap"]), ratio_text(row["overlap"]))


def _limits(row, alike):
    """What keeps a saving below its bound, in sentences."""
    said = [_of_some(row)] if 0 < row.n_present < row.n_known else []
    said += [sentence for each in alike for sentence in _of_occurrences(row, each)]
    if row.overlap == row.overlap:
        said.append(
            say(
                "{k} overlaps in time with other sections (threads, or double timing): together they take "
                "{x} as long as what encloses them, so what it saves may be hidden behind them.",
                k=Name(row.knob),
                x=Number(key("knobs", row.knob, "overlap"), row.overlap, ratio_text(row.overlap)),
            )
        )
    if row.n_unsynchronised:
        said.append(
            say(
                "In {n} {runs} the clock did not wait for the device: time of {k} may be of a section "
                "before, and time of its own may count in the next that waits.",
                k=Name(row.knob),
                n=number_of(key("knobs", row.knob, "n_unsynchronised"), row.n_unsynchronised),
                runs=plural(row.n_unsynchronised, "run"),
            )
        )
    return said


def _of_some(row):
    return say(
        "{k} is in {n} of {of} runs, of which it saves at most {x} on average.",
        k=Name(row.knob),
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
            s=first_names(unknown, N_NAMED),
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


def _speed_up(name, row):
    """Return the speed-up with the digits that the range of the bound leaves it."""
    low, high = (1 / (1 - share) if share < 1 else np.inf for share in (row.low, row.high))
    return Number(name, row.speed_up, ratio_text(row.speed_up, low, high))


def _what_a_bound_is(n_measured):
    """The sentence that these are upper bounds; `n_measured` knobs were turned."""
    return [
        say(
            "These are upper bounds derived from the sections' shares: at most this is saved, if nothing "
            "outside the sections changes. They are not measurements of changed runs{those}.",
            those="; those stand below" if n_measured else "",
        )
    ]


def _caption(bounds):
    """The knob that saves most in all."""
    top = bounds.iloc[0]
    return say(
        "The most each change can save: {k} leads with {x} of a run.",
        k=Name(top["knob"]),
        x=share(key("knobs", top["knob"], "bound"), top["bound"]),
    )


def _turned(measured, drift):
    """Bound and measured saving: what was done, then a sentence for each knob.

    Parameters
    ----------
    measured : DataFrame
        As `savings.measured_savings` returns it.
    drift : Series, or None
        Paired change of the baseline against the runs of the page, where it is not these.
    """
    if not len(measured):
        return []
    said = [say("Some settings were turned, and the runs measured again.")]
    if drift is not None:
        said.append(
            say(
                "The baseline is the same setup run again: against the runs of this page it took {c}. So "
                "much can differ without a setting being turned.",
                c=change_in_words("drift", drift),
            )
        )
    return said + [_measured(row) for row in measured.itertuples()]


def _measured(row):
    base = ("turned", row.knob)
    knob = say("{k}{by}", k=Name(row.knob), by=_turned_by(row))
    bound, value, high = (_saving(row, name) for name in ("bound", "measured", "high"))
    low = Number(key(*base, "low"), float(row.low), share_text(row.low).removesuffix(f"{SPACE}%"))
    if row.outcome == TOO_FEW:
        return say(
            "{k} saved {m} of a run, against a bound of {b}; there are too few runs to tell more.",
            k=knob,
            b=bound,
            m=value,
        )
    return say(
        "{k} saved {m} of a run ({low} to {high}) over {n} {c}, {outcome}.",
        k=knob,
        m=value,
        low=low,
        high=high,
        n=number_of(key(*base, "n_configurations"), row.n_configurations),
        c=plural(row.n_configurations, "configuration"),
        outcome=_outcome(row, bound),
    )


def _saving(row, name):
    """Return a figure of a turned knob."""
    value = float(getattr(row, name))
    return Number(key("turned", row.knob, name), value, share_text(value))


def _turned_by(row):
    if not row.setting:
        return ""
    by = say(", by {s}", s=Name(row.setting)) if row.setting != row.knob else ""
    return say(
        "{by} ({a} before, {b} after)", by=by, a=_level(row.setting_before), b=_level(row.setting_after)
    )


def _level(text):
    return "not set" if text == "None" else Name(text)


def _outcome(row, bound):
    if row.outcome == savings.BELOW and row.kind == "share":
        return say("less than the bound of {b}, which is for doing without its sections altogether", b=bound)
    said = {
        savings.ABOVE: "more than the bound of {b}",
        savings.AT_BOUND: "as much as the bound of {b}, within chance",
        savings.BELOW: "less than the bound of {b}",
    }
    return say(said[row.outcome], b=bound)


def _why(row):
    base = ("turned", row.knob)
    still = say(
        "The sections of {k} saved {x}: they took {a} of the runtime and still take {b} of it",
        k=Name(row.knob),
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


def _now(row, runs):
    """The setting of a knob, its current value and how often what it governs runs, as text."""
    values = current_values(row.knob, runs.described)
    told = [row.knob] if row.change else []  # else the row is called so
    if values:
        told.append(f"now {span(values[0], values[-1]) if len(values) > 1 else values[0]}")
    said = ", ".join(told)
    counts = ()
    if row.kind == "cadence":
        sections = [runs.cadence_section] * bool(runs.cadence_section) + row.sections.split(", ")
        counts = counts_of(runs.timing, sections)
    if not len(counts):
        return said
    several = f"{count(counts[0])} to {count(counts[-1])}"
    often = several if len(counts) > N_NAMED else " or ".join(map(count, counts))
    return f"{said}{': ' if said else ''}{often} {plural(counts[-1], 'time')} a run"


def _shown(bounds, runs, price):
    """Add to the bounds how each row is called, coloured and set, and what it saves in money."""
    joint = bounds["kind"] == "joint"
    single = bounds[~joint]
    overlap = joint.any() and single["bound"].sum() > bounds.loc[joint, "bound"].iloc[0] * (1 + OVERLAP)
    together = OVERLAPPING if overlap else ""
    labels = [
        TOGETHER if row.kind == "joint" else _imperative(row.change) or row.knob
        for row in bounds.itertuples()
    ]
    return bounds.assign(
        label=labels,
        now=[together if row.kind == "joint" else _now(row, runs) for row in bounds.itertuples()],
        colour=[_colour(row, runs.section_kinds) for row in bounds.itertuples()],
        row=np.select(
            [
                joint & (len(single.dropna(subset="bound")) > 1),
                ~(bounds["pooled_bound"] >= LEAST_LISTED),
                bounds["pooled_bound"] < HIGH_LEVERAGE,
            ],
            ["total", ELSEWHERE, "quiet"],
            "",
        ),
        **({} if price is None else {"saved_money": bounds["saved_s"] / 3600 * price}),
    )


def _imperative(change):
    return change[:1].upper() + change[1:]


def _colour(row, section_kinds):
    """Return the colour of what a knob governs; that of other sections, where they are of several kinds."""
    sections = row.sections.split(", ")
    if row.kind == "joint" or len({kind_of(path, section_kinds) for path in sections}) > 1:
        return fluid.colour("other")
    return fluid.colour(hue(sections[0], section_kinds))


def _table(frame, runs, currency):
    """The most that each change can save, the largest saving in all first."""
    if not (frame["row"] != ELSEWHERE).any():
        return None
    total_s = float(runs.runtime_s.sum())
    by, levels = runs.axes[0].name, runs.axes[0].n_levels > 1 and frame["level_low"].notna().any()
    apart = (frame["bound"] - frame["pooled_bound"]).abs() >= APART
    n_small = int(((frame["row"] == ELSEWHERE) & frame["bound"].notna()).sum())

    def saved(seconds):
        return time_parts([seconds], total_s)[0]

    return Table(
        "knobs",
        say("The most each change can save"),
        (
            Heading("label", "change", sub="now"),
            Heading(
                "bound",
                "at most",
                share_text,
                bar=Bar(low="level_low", high="level_high", colour="colour", text="0 to 100 % of a run"),
            ),
            *([Heading("pooled_bound", "of all hours", share_text)] if apart.any() else []),
            Heading("saved_s", f"of {time_text(total_s)}", saved),
            *(
                [Heading("saved_money", currency, money, hide_on_phone=True)]
                if "saved_money" in frame
                else []
            ),
        ),
        frame,
        int(frame["n_runs"].max()),
        origins=tuple(map(_of_knob, frame["n_known"], frame["n_runs"])),
        note=_note(by if levels else "", n_small, (frame["kind"] == "cadence").any()),
        rows="row",
        drawn=Figure.of("knobs", frame[frame["bound"].notna()], draw_bounds, _caption),
    )


def _note(by, n_small, some_rarer):
    said = []
    if by:
        said.append(say("Line: range over the levels of {by}.", by=Name(by)))
    if some_rarer:
        said.append(say("Assumes that a section takes as long each time."))
    if n_small:
        said.append(
            say(
                "{n} more {settings} would save under {least} and {are} not listed.",
                n=number_of("knobs.n_small", n_small),
                settings=plural(n_small, "setting"),
                are=plural(n_small, "is", "are"),
                least=Number("knobs.least_listed", LEAST_LISTED, share_text(LEAST_LISTED)),
            )
        )
    return join(said) if said else None


def _full(frame, name):
    """What `analysis.knobs.bounds` returns: how each bound is reached, the smallest too."""

    def between(low, high):
        ends = zip(frame[low], frame[high], strict=True)
        return [span(share_text(a, fine=True), share_text(b, fine=True)) for a, b in ends]

    def fine(value):
        return share_text(value, fine=True)

    printed = frame.assign(
        resampled=between("low", "high"),
        by_level=between("level_low", "level_high"),
        row="",
        governs=frame["sections"].where(frame["kind"] != "joint", ""),
    )
    return Table(
        name,
        say("How each bound is reached"),
        (
            Heading("knob", "setting", sub="governs"),
            Heading("governed_share", "governs", fine, "mean share of the sections it governs"),
            Heading("bound", "saves at most", fine, "mean share of a run"),
            Heading("resampled", "resampling range", as_printed, "2.5 to 97.5 % of means over redrawn runs"),
            Heading("by_level", "over levels", as_printed),
            Heading("speed_up", "speed-up", ratio_text, "1 / (1 - share of all hours)"),
        ),
        printed,
        int(frame["n_runs"].max()),
        origins=tuple(map(_of_knob, frame["n_known"], frame["n_runs"])),
        holds=("knobs",),
    )


def _of_knob(n_known, n_runs):
    known = "completed runs" if n_known == n_runs else "completed runs in which the occurrences were counted"
    return Origin(int(n_known), known)


def _turned_table(frame):
    """What `savings.measured_savings` returns: bound and measured saving."""
    return Table(
        "turned",
        say("What each change saved where it was tried"),
        (
            Heading("knob", "setting"),
            Heading(
                "measured",
                "saved",
                share_text,
                bar=Bar(low="low", high="high", chance="bound", text="0 to 100 % of a run"),
            ),
            Heading("interval", "95 % interval", as_printed, hide_on_phone=True),
            Heading("bound", "at most", share_text, hide_on_phone=True),
            Heading("outcome", "outcome", below_on_phone=True),
        ),
        frame.assign(interval=_intervals(frame)),
        int(frame["n_configurations"].sum()) if len(frame) else 0,
        "paired configurations",
        holds=("drift", "turned"),
        note=say("Mean over the configurations that were run again; upright line: the bound over these."),
        drawn=Figure.of("turned", frame, draw_turned, _caption_turned) if len(frame) else None,
    )


def _inside_table(frame):
    """Where the savings of `savings.measured_savings` were made."""
    return Table(
        "turned-inside",
        say("Where each setting saved, as shares of runtime before."),
        (
            Heading("knob", "setting"),
            Heading("n_configurations", "configurations", count),
            Heading("inside", "saved in its sections", share_text),
            Heading("outside", "saved elsewhere", share_text, "a bound assumes none"),
            Heading("governed", "they took before", share_text, "share of runtime"),
            Heading("still_governed", "they take now", share_text, "of the runtime before"),
        ),
        frame,
        int(frame["n_configurations"].sum()),
        "paired configurations",
        holds=(),
    )


def _intervals(frame):
    ends = zip(frame["low"], frame["high"], strict=True)
    return [span(share_text(a), share_text(b)) for a, b in ends]
