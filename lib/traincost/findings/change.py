"""What to change, in words."""

import numpy as np

from traincost.findings.numbers import key, number_of, share
from traincost.prose import Name, Number, join, say
from traincost.speedups import JOINT

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
    base = ("knobs", row.knob)
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
                governed=share(key(*base, "governed_share"), row.governed_share),
                bound=share(key(*base, "bound"), row.bound),
                t=Number(key(*base, "saved_s"), row.saved_s, unit.text(row.saved_s)),
                pooled=share(key(*base, "pooled_bound"), row.pooled_bound),
                speed=Number(key(*base, "speed_up"), row.speed_up, f"{row.speed_up:.2f} ×"),
            ),
        ],
        "",
    )


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
            x=share(key("knobs", JOINT, "bound"), row["bound"]),
            low=share(key("knobs", JOINT, "low"), row["low"]),
            high=share(key("knobs", JOINT, "high"), row["high"]),
        )
    ]


def what_a_bound_is(bounds):
    """The sentence that these are upper bounds."""
    said = [
        say(
            "These are upper bounds derived from the sections' shares: at most this is saved, if nothing "
            "outside the sections changes. They are not fresh measurements of changed runs."
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
        x=share(key("knobs", top["knob"], "bound"), top["bound"]),
        low=share(key("knobs", top["knob"], "low"), top["low"]),
        high=share(key("knobs", top["knob"], "high"), top["high"]),
    )
