"""What to change, in words."""

import numpy as np

from traincost.analysis.knobs import JOINT
from traincost.columns import decimals_within
from traincost.results.findings.numbers import key, number_of, share_within
from traincost.results.prose import Name, Number, join, say

OVERLAP = 1e-6  # relative: bounds that add up to more than their union overlap


def speedups(bounds, unit):
    """The knobs in order, as list items."""
    knobs = bounds[bounds["kind"] != "joint"]
    if not len(knobs):
        return [say("No section points to a setting that could be changed to save time.")]
    return [_knob(row, unit) for row in knobs.itertuples()]


def _knob(row, unit):
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
                "average; over {which} runs together {t} ({pooled}), a speed-up of up to {speed}.",
                tier=row.tier,
                known=known if partly else "",
                which="these" if partly else "all",
                governed=share_within(key(*base, "governed_share"), row.governed_share, *within),
                bound=share_within(key(*base, "bound"), row.bound, *within),
                t=_saved(key(*base, "saved_s"), row, unit),
                pooled=share_within(key(*base, "pooled_bound"), row.pooled_bound, *within),
                speed=_speed_up(key(*base, "speed_up"), row),
            ),
        ],
        "",
    )


def _saved(name, row, unit):
    """Return the time saved over the runs together, as far as the resampling range says it."""
    per_share = row.saved_s / row.bound / unit.seconds if row.bound > 0 else 0.0
    decimals = decimals_within(per_share * row.low, per_share * row.high)
    return Number(name, row.saved_s, unit.text(row.saved_s, decimals))


def _speed_up(name, row):
    """Return the speed-up with the decimals that the range of the bound leaves it."""
    low, high = (1 / (1 - share) if share < 1 else np.inf for share in (row.low, row.high))
    return Number(name, row.speed_up, f"{row.speed_up:.{max(1, decimals_within(low, high))}f} ×")


def joint_bound(bounds):
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


def what_a_bound_is(bounds, n_measured=0):
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


def caption_knobs(bounds):
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
