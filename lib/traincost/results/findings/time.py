"""Where the time goes, in words."""

import numpy as np

from traincost.analysis.sections import OTHER, UNATTRIBUTED
from traincost.columns import significant
from traincost.results.findings.numbers import (
    LARGE_REST,
    LEAST_SHARE,
    N_LISTED,
    N_NAMED,
    key,
    names,
    number_of,
    plural,
    share,
)
from traincost.results.prose import Name, Number, join, say


def per_occurrence(timing, sections):
    """Time per occurrence of each of `sections`, said once: slowest and fastest levels."""
    return [_slow_and_fast(timing, name) for name in dict.fromkeys(sections) if _n_levels(timing, name) > 1]


def _n_levels(timing, section):
    return (timing["section"] == section).sum()


def _slow_and_fast(timing, section):
    rows = timing[timing["section"] == section].sort_values("per_occurrence_s", ascending=False)

    def listed(part):
        return [say("{t} for {level}", t=_each(section, r), level=Name(r.level)) for r in part.itertuples()]

    n = min(2, len(rows) // 2)
    return say(
        "One occurrence of {s} takes {slow} on average, against {fast}.",
        s=Name(section),
        slow=listed(rows.head(n)),
        fast=listed(rows.iloc[::-1].head(n)),
    )


def _each(section, row):
    seconds = row.per_occurrence_s
    name = key("occurrence", section, row.level, "seconds")
    return Number(name, seconds, f"{significant(seconds, 3)} s")


def occurrences_per_run(counts, section):
    """How often the scheduled section runs: the distinct counts, or their range."""
    counts = np.unique(counts[np.isfinite(counts)]).astype(int)
    if not len(counts):
        return []
    if len(counts) <= N_NAMED:
        text = [number_of(key("cadence", "count", i), value) for i, value in enumerate(counts)]
        if len(text) > 1:
            text = join([say("{a}", a=t) for t in text], " or ")
    else:
        text = say(
            "{a} to {b}",
            a=number_of("cadence.count.min", counts[0]),
            b=number_of("cadence.count.max", counts[-1]),
        )
    noun = plural(counts[-1], "time")
    return [say("{s} runs {n} {noun} in a run.", s=Name(section), n=text, noun=noun)]


def where_time_goes(shares, composition):
    """The largest parts of the runtime, what is inside the largest, and the untimed rest."""
    rest = shares.iloc[-1]
    if len(shares) < 2:
        return [say("The runs recorded no sections, so where their time went cannot be said.")]
    parts = _parts(shares, composition)
    top = parts.index[0]
    said = [_dominant(top, parts, shares)]
    within = shares[(shares["parent"] == top) & (shares["share"] >= LEAST_SHARE)]
    if len(within):
        said.append(
            say(
                "Within it, {children}.",
                children=[
                    say("{s} takes {x}", s=Name(r.section), x=_part_share(r.section, r.share))
                    for r in within.head(N_NAMED).itertuples()
                ],
            )
        )
    others = parts.iloc[1 : N_LISTED + 1]
    if len(others):
        said.append(
            say(
                "Next {come} {others}.",
                come=plural(len(others), "comes", "come"),
                others=[say("{s} with {x}", s=Name(n), x=_part_share(n, x)) for n, x in others.items()],
            )
        )
    said.append(_rest(rest))
    if shares["overlapping"].any():
        said.append(
            say(
                "Sections that overlap in time (threads, or double timing): {s}. Their shares may add up "
                "to more than the whole.",
                s=names(shares.loc[shares["overlapping"], "section"].head(N_LISTED)),
            )
        )
    return said


def _parts(shares, composition):
    """Return the mean share of each part of the composition, the largest first.

    What parents leave untimed is a part; negligible parts are left out, unless all are.
    """
    whole = composition.iloc[-1].drop(["n_runs", UNATTRIBUTED]).drop(OTHER, errors="ignore")
    whole = whole.astype(float).sort_values(ascending=False, kind="stable")
    return whole[(whole >= LEAST_SHARE) | (whole == whole.iloc[0])]


def _part_share(part, value):
    return share(key("sections", part, "share"), value)


def _dominant(top, parts, shares):
    pooled = shares.set_index("section")["pooled_share"].get(top)
    lead = say(
        "The largest part of a run{timed} is {s}: {x} of its runtime on average{pooled}",
        timed=" that any section timed" if parts.iloc[0] < shares["share"].iloc[-1] else "",
        s=Name(top),
        x=_part_share(top, parts.iloc[0]),
        pooled=say(" ({p} of all runtime together)", p=share(key("sections", top, "pooled_share"), pooled))
        if pooled is not None
        else "",
    )
    larger = shares["share"].iloc[-1] > parts.iloc[0]
    return join([lead, say("; more than that is unattributed." if larger else ".")], "")


def _rest(rest):
    if rest["share"] < 0:
        return say(
            "The disjoint sections add up to more than the runtime, by {x} of it.",
            x=share("unattributed.excess", -rest["share"]),
        )
    return say(
        "{x} of the runtime is unattributed: no section timed it{tail}.",
        x=share("unattributed.share", rest["share"]),
        tail=", so nothing here can explain it" if rest["share"] > LARGE_REST else "",
    )


def caption_composition(composition):
    """The largest part of the whole, and its range over levels."""
    parts = composition.drop(columns=["n_runs"])
    whole = parts.iloc[-1].drop(UNATTRIBUTED).drop(OTHER, errors="ignore")
    rest = share("unattributed.share", parts.iloc[-1][UNATTRIBUTED])
    if not len(whole):
        return say("All of the runtime is unattributed: {rest}.", rest=rest)
    largest = whole.idxmax()
    lead = say(
        "Disjoint parts of the runtime: {s} takes {x}, and {rest} is unattributed.",
        s=Name(largest),
        x=_part_share(largest, whole.max()),
        rest=rest,
    )
    if len(parts) < 3:
        return lead
    low, high = parts[largest].iloc[:-1].min(), parts[largest].iloc[:-1].max()
    return join(
        [
            lead,
            say(
                "Over the levels the former lies between {low} and {high}.",
                low=share(key("composition", largest, "low"), low),
                high=share(key("composition", largest, "high"), high),
            ),
        ]
    )


def caption_occurrences(timing, name):
    """The section whose single occurrence takes longest."""
    means = timing.groupby("section", sort=False)["per_occurrence_s"].mean()
    top = means.idxmax()
    value = Number(
        key("occurrence", top, "mean_level_seconds"), float(means.max()), f"{significant(means.max(), 3)} s"
    )
    return say(
        "Time of one occurrence by section and {f}; of the sections shown {s} takes longest, {t} on "
        "average over the levels.",
        f=Name(name),
        s=Name(top),
        t=value,
    )
