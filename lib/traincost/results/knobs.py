"""What to change, the most that it can save, and what it saved where it was tried."""

import re

import numpy as np

from traincost.analysis import fields, occurrences
from traincost.analysis import knobs as analysis
from traincost.analysis.kinds import EVALUATION, kind_of
from traincost.analysis.knobs import HIGH_LEVERAGE
from traincost.analysis.leading import counts_of, current_values
from traincost.printing import count, money, percent, share_text, span, time_text
from traincost.results import arguments, fluid
from traincost.results.bounds import in_full, knob_share, limits_of, of_knob, of_one_knob, overlap_of
from traincost.results.figures import MAX_ROWS, Figure, axes_of, label_rows, percent_axis
from traincost.results.names import hue
from traincost.results.prose import N_NAMED, Name, Number, first_names, join, names, plural, say
from traincost.results.result import Items, More, Result
from traincost.results.svg import INK, REST, SERIES
from traincost.results.tables import ELSEWHERE, Bar, Heading, Table, part_of
from traincost.results.turned import inside_table, measure, said_of_turned, turned_table, why

_EARLY = re.compile(r"(^|[._-])(patience|early_?stop\w*)$", re.IGNORECASE)
LEAST_LISTED = 0.001  # of all hours: a setting that saves less stands in the details
APART = 0.02  # by which mean share and share of all hours differ, to tell both
OVERLAP = 1e-6  # relative: bounds that add up to more than their union overlap
TOGETHER = "All of these together"
OVERLAPPING = "they overlap, so the rows do not add up"


@arguments.checked
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
    limits = limits_of(bounds, checked, alike)
    measured, drift = measure(runs, reruns or {}, baseline)
    price = None if price_per_hour is None else price_per_hour * devices
    shown = _shown(bounds, runs, price)
    table = _table(shown, runs, currency)
    high = set(bounds.loc[bounds["pooled_bound"] >= HIGH_LEVERAGE, "knob"])
    return Result.showing(
        "knobs",
        bounds,
        [*_most(runs, bounds), *_cannot_tell(runs, bounds), *_early_stops(runs, bounds)],
        table,
        Items(said for knob, said in limits.items() if knob in high),
        in_full(
            shown,
            "knobs" if table is None else "knobs-bounds",
            {knob: said for knob, said in limits.items() if knob not in high},
            alike,
            len(runs.frame),
            len(measured),
        )
        if len(bounds)
        else None,
        said_of_turned(measured, drift),
        turned_table(measured),
        More(
            say("Where each of them saved: in its own sections, and elsewhere"),
            (Items(map(why, measured.itertuples())), inside_table(measured)),
        ),
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


def _most(runs, bounds):
    """How many settings save much, and the most that any other does."""
    if not runs.timing.paths:
        return [say("The runs recorded no sections, so what a change would save cannot be said.")]
    known = of_one_knob(bounds).dropna(subset="pooled_bound")
    own = say("Name your own under knobs in the parameters.")
    if not len(bounds):
        return [say("No section is repeated or optional by its name, so no setting is proposed."), own]
    if not len(known):
        return []
    high, rest = (known[known["pooled_bound"] >= HIGH_LEVERAGE], known[known["pooled_bound"] < HIGH_LEVERAGE])
    if len(high):
        said = say(
            "{n} {n:setting|settings} could {n:|each }save {tenth} of all hours or more[; no other setting "
            "here saves more than {x} of them].",
            n=Number.count("knobs.n_high", len(high)),
            tenth=Number.of("knobs.high", HIGH_LEVERAGE, percent),
            x=knob_share(rest.iloc[0], "pooled_bound") if len(rest) else None,
        )
    else:
        said = say(
            "No one setting saves more than {x} of all hours: the shares say which sections took the rest.",
            x=knob_share(rest.iloc[0], "pooled_bound"),
        )
    if not bounds["proposed"].any():
        return [said]
    return [said, say("These were proposed from the names of the sections."), own]


def _cannot_tell(runs, bounds):
    """Name the knobs that match no section, or whose saving is not known, and why."""
    single = of_one_knob(bounds)
    missing = single[single["sections"] == ""]
    uncounted = single[(single["sections"] != "") & (single["n_known"] == 0)]
    overlapping = single[(single["n_known"] > 0) & single["bound"].isna()]
    if len(missing):
        yield say(
            "No section of these runs matches {k} (patterns: {patterns}); the sections are {sections}.",
            k=first_names(missing["knob"], N_NAMED),
            patterns=first_names(_patterns(runs, missing["knob"]), N_NAMED),
            sections=first_names(runs.timing.paths),
        )
    if len(uncounted):
        yield say(
            "What {k} {n:saves|save} is unknown: no run counted how often that happens.",
            k=first_names(uncounted["knob"], N_NAMED),
            n=len(uncounted),
        )
    if len(overlapping):
        yield say(
            "What {k} {n:saves|save} cannot be bounded: the sections overlap in time (threads, or double "
            "timing) and together take {x} as long as what encloses them.",
            k=first_names(overlapping["knob"], N_NAMED),
            n=len(overlapping),
            x=overlap_of(next(overlapping.itertuples())),
        )


def _early_stops(runs, bounds):
    """That runs which stop by their evaluations would be longer without these."""
    patience = [field.name for field in runs.described if _EARLY.search(field.name)]
    sections = ", ".join(bounds.loc[bounds["kind"] == "cadence", "sections"]).split(", ")
    if patience and any(kind_of(path, runs.section_kinds) == EVALUATION for path in sections if path):
        yield say(
            "Runs may stop early by what they evaluate ({f}): with fewer evaluations they may run longer, "
            "which no bound here counts.",
            f=names(patience[:N_NAMED]),
        )


def _patterns(runs, knobs):
    return [text for knob in runs.knobs or () if knob.name in set(knobs) for text in knob.sections]


def _caption(bounds):
    top = bounds.iloc[0]
    return say(
        "The most each change can save: {k} leads with {x} of a run.",
        k=Name(top["knob"]),
        x=knob_share(top, "bound"),
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
        TOGETHER if row.kind == "joint" else row.change[:1].upper() + row.change[1:] or row.knob
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
            apart.any() and Heading("pooled_bound", "of all hours", share_text, hide_on_phone=True),
            Heading("saved_s", f"of {time_text(total_s)}", part_of(total_s)),
            "saved_money" in frame and Heading("saved_money", currency, money, hide_on_phone=True),
        ),
        frame,
        int(frame["n_runs"].max()),
        origins=tuple(map(of_knob, frame["n_known"], frame["n_runs"])),
        note=_note(by if levels else "", n_small, (frame["kind"] == "cadence").any()),
        rows="row",
        drawn=Figure.of("knobs", frame[frame["bound"].notna()], draw_bounds, _caption),
    )


def _note(by, n_small, some_rarer):
    said = [
        say("Line: range over the levels of {by}.", by=Name(by)) if by else None,
        say("Assumes that a section takes as long each time.") if some_rarer else None,
        say(
            "{n} more {n:setting|settings} would save under {least} and {n:is|are} not listed.",
            n=Number.count("knobs.n_small", n_small),
            least=Number.share("knobs.least_listed", LEAST_LISTED),
        )
        if n_small
        else None,
    ]
    return join(filter(None, said)) if any(said) else None
