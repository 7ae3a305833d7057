"""How the bound of each setting is reached, and what keeps a saving below it."""

import numpy as np

from traincost.analysis import occurrences
from traincost.printing import change_text, count, probability, ratio_text, share_text, span
from traincost.results.prose import N_NAMED, Name, Number, Phrase, first_names, join, key, say
from traincost.results.result import Items, More
from traincost.results.tables import Heading, Origin, Table, as_printed


def of_one_knob(bounds):
    """Return the bounds of each knob by itself."""
    return bounds[bounds["kind"] != "joint"]


def _knob(row):
    base = ("knobs", row.knob)
    partly = row.n_known < row.n_runs
    is_all = row.speed_up != row.speed_up
    return say(
        "{knob}[ ({change})] is {tier}. [Known in {n} of {of} runs only. ]It governs {governed} of a run and "
        "saves at most {bound} on average; over {which} runs together {t} ({pooled})[, a speed-up of up to "
        "{speed_up}]{all}.",
        knob=Name(row.knob),
        change=Phrase(row.change) if row.change else None,
        tier=row.tier,
        n=Number.count(key(*base, "n_known"), row.n_known) if partly else None,
        of=Number.count(key(*base, "n_runs"), row.n_runs),
        which="these" if partly else "all completed",
        governed=_fine(key(*base, "governed_share"), row.governed_share),
        bound=_fine(key(*base, "bound"), row.bound),
        t=Number.time(key(*base, "saved_s"), row.saved_s),
        pooled=_fine(key(*base, "pooled_bound"), row.pooled_bound),
        speed_up=None if is_all else _speed_up(key(*base, "speed_up"), row),
        all=", all of their runtime" if is_all else "",
    )


def knob_share(knob, name):
    """Return one of the shares of a knob, as a number of the page."""
    return Number.share(key("knobs", knob["knob"], name), knob[name])


def _fine(name, value):
    return Number(name, float(value), share_text(value, fine=True))


def limits_of(bounds, checked, alike):
    """Return what keeps the saving of each knob below its bound: name to a sentence, or None."""
    found = {row.section: row for row in alike.itertuples()}
    limits = {}
    for row in of_one_knob(bounds).dropna(subset="bound").itertuples():
        said = [*_limits(row, [found[path] for path in checked.get(row.knob, ())])]
        limits[row.knob] = join(said) if said else None
    return limits


def overlap_of(row):
    """Return how long sections that overlap take together, as a number of the page."""
    return Number.of(key("knobs", row.knob, "overlap"), row.overlap, ratio_text)


def _limits(row, alike):
    """What keeps a saving below its bound, in sentences."""
    if 0 < row.n_present < row.n_known:
        yield say(
            "{k} is in {n} of {of} runs, of which it saves at most {x} on average.",
            k=Name(row.knob),
            n=Number.count(key("knobs", row.knob, "n_present"), row.n_present),
            of=Number.count(key("knobs", row.knob, "n_known"), row.n_known),
            x=Number.share(key("knobs", row.knob, "bound_present"), row.bound_present),
        )
    for each in alike:
        yield from _of_occurrences(row, each)
    if row.overlap == row.overlap:
        yield say(
            "{k} overlaps in time with other sections (threads, or double timing): together they take {x} as "
            "long as what encloses them, so what it saves may be hidden behind them.",
            k=Name(row.knob),
            x=overlap_of(row),
        )
    if row.n_unsynchronised:
        yield say(
            "In {n} {n:run|runs} the clock did not wait for the device: time of {k} may be of a section "
            "before, and time of its own may count in the next that waits.",
            k=Name(row.knob),
            n=Number.count(key("knobs", row.knob, "n_unsynchronised"), row.n_unsynchronised),
        )


def _of_occurrences(row, alike):
    """How the occurrences of one section of a cadence knob differ, where they do."""
    base = ("alike", alike.section)
    if alike.finding == occurrences.LONGER:
        kept = say(
            "what that is more, {x} of the runtime on average, stays and is not in the bound",
            x=Number.share(key("knobs", row.knob, "first_share"), row.first_share),
        )
        yield _first(alike, "longest", kept if row.first_share > 0 else "a cadence cannot save that")
    elif alike.finding == occurrences.SHORTER:
        yield _first(
            alike, "shortest", "occurrences grow over a run, and late ones save more than early ones"
        )
    elif alike.finding in (occurrences.GROWING, occurrences.FALLING):
        is_growing = alike.finding == occurrences.GROWING
        names = ("growth", "growth_low", "growth_high")
        values = [getattr(alike, name) for name in names]
        keys, texts = [key(*base, name) for name in names], [share_text(abs(value)) for value in values]
        x, *ends = Number.several(keys, values, texts)
        low, high = ends if is_growing else ends[::-1]
        yield say(
            "In {n} runs of configurations with different counts, one occurrence of {s} takes {x} {more} "
            "({low} to {high}) where there are twice as many: {so}.",
            n=Number.count(key(*base, "n_compared"), alike.n_compared),
            s=Name(alike.section),
            x=x,
            more="longer" if is_growing else "less",
            low=low,
            high=high,
            so="late ones save more than early ones"
            if is_growing
            else "the first may hold a warm-up that a cadence cannot save",
        )


def _first(alike, which, so):
    base = ("alike", alike.section)
    return say(
        "The first occurrence of {s} is the {which} in {n} of {of} runs, {x} as long as a later one: {so}.",
        s=Name(alike.section),
        which=which,
        n=Number.count(key(*base, f"n_{which}"), getattr(alike, f"n_{which}")),
        of=Number.count(key(*base, "n_recorded"), alike.n_recorded),
        x=Number.of(key(*base, "first_ratio"), alike.first_ratio, ratio_text),
        so=so,
    )


def _assumed(alike):
    """That occurrences are taken to be alike, and whether anything tells."""
    unknown = alike.loc[alike["finding"] == occurrences.UNKNOWN, "section"]
    if not len(unknown):
        return
    yield say(
        "The bounds of a cadence assume that occurrences take equally long; the records do not tell whether "
        "those of {s} do.",
        s=first_names(unknown, N_NAMED),
    )


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
    yield say(
        "These are upper bounds derived from the sections' shares: at most this is saved, if nothing outside "
        "the sections changes. They are not measurements of changed runs{those}.",
        those="; those stand below" if n_measured else "",
    )


def in_full(frame, name, limits, alike, n_runs, n_measured):
    """How each bound is reached, behind a heading: in sentences, and in tables, the first called `name`."""
    return More(
        say("How each bound is reached: sections governed, ranges, speed-up"),
        (
            [*_what_a_bound_is(n_measured), *_assumed(alike)],
            # In the order of the knobs.
            Items(
                join([_knob(row), *filter(None, [limits.get(row.knob)])])
                for row in of_one_knob(frame).dropna(subset="bound").itertuples()
            ),
            _bounds_table(frame, name),
            _alike_table(alike, n_runs),
        ),
    )


def _bounds_table(frame, name):
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
        origins=tuple(map(of_knob, frame["n_known"], frame["n_runs"])),
        holds=("knobs",),
    )


def of_knob(n_known, n_runs):
    """Return the runs that a row of a knob is of."""
    known = "completed runs" if n_known == n_runs else "completed runs in which the occurrences were counted"
    return Origin(int(n_known), known)
