"""What to change, in words."""

import numpy as np

from traincost.findings.numbers import share
from traincost.prose import Name, Number, join, say
from traincost.speedups import JOINT


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
    key = f"knobs.{row.knob}"
    return join(
        [
            what,
            say(
                "{tier}. It governs {governed} of the runtime and saves at most {bound} of a run on average; "
                "over all runs together {t} ({pooled}), a speed-up of up to {speed}.",
                tier=row.tier,
                governed=share(f"{key}.governed_share", row.governed_share),
                bound=share(f"{key}.bound", row.bound),
                t=Number(f"{key}.saved_s", row.saved_s, unit.text(row.saved_s)),
                pooled=share(f"{key}.pooled_bound", row.pooled_bound),
                speed=Number(f"{key}.speed_up", row.speed_up, f"{row.speed_up:.2f} ×"),
            ),
        ],
        "",
    )


def joint_bound(bounds):
    """What all knobs together can save, which is not their sum."""
    joint = bounds[bounds["kind"] == "joint"]
    if not len(joint):
        return []
    row = joint.iloc[0]
    if np.isnan(row["bound"]):
        return [say("What all of them save together is unknown, since some counts are.")]
    return [
        say(
            "The knobs overlap, so their bounds do not add up: all together they save at most {x} "
            "(resampling range {low} to {high}).",
            x=share(f"knobs.{JOINT}.bound", row["bound"]),
            low=share(f"knobs.{JOINT}.low", row["low"]),
            high=share(f"knobs.{JOINT}.high", row["high"]),
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
        x=share(f"knobs.{top['knob']}.bound", top["bound"]),
        low=share(f"knobs.{top['knob']}.low", top["low"]),
        high=share(f"knobs.{top['knob']}.high", top["high"]),
    )
