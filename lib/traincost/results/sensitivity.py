"""How far doubling times move when one choice of the method changes."""

from traincost.printing import count
from traincost.results.growth import DOUBLING, GROUP_NAMES, months
from traincost.results.numbers import key, number_of
from traincost.results.prose import say
from traincost.results.tables import Heading, Origin, Table, setting


def sensitive(changed, fitted):
    """How far each group's doubling time moves when one choice changes, beside the interval of the fit."""
    if not len(changed) or not len(fitted):
        return []
    last = changed[changed["era_start"] == changed["era_start"].max()]
    era = "In the last era, with" if fitted["era_start"].nunique() > 1 else "With"
    groups = last.groupby("group", sort=False)
    said = [_moves(era, group, rows, fitted) for group, rows in groups if rows["established"].any()]
    return said and [
        *said,
        say("Such a range is not the uncertainty of a fit; a change of the noise moves its interval alone."),
    ]


def _moves(era, group, rows, fitted):
    base, known = ("sensitivity", group), rows[rows["established"]]
    return say(
        "{era} one choice changed at a time, the doubling time fitted to {group} moves between {a} and {b} "
        "(growth is established under {n} of {of} choices of window, threshold and noise){interval}.",
        era=era,
        group=GROUP_NAMES[group],
        a=months(key(*base, "low"), known["doubling_months"].min()),
        b=months(key(*base, "high"), known["doubling_months"].max()),
        n=number_of(key(*base, "n"), len(known)),
        of=number_of(key(*base, "of"), len(rows)),
        interval=_interval(fitted, rows["era_start"].iloc[0], group),
    )


def _interval(fitted, era_start, group):
    """Say the interval of the fit that nothing was changed in."""
    rows = fitted[fitted["era_start"].eq(era_start) & fitted["group"].eq(group) & fitted["established"]]
    if not len(rows):
        return ""
    base = ("trends", era_start, group)
    return say(
        "; the interval of the fit above is {low} to {high}",
        low=months(key(*base, "doubling_low"), rows["doubling_low"].iloc[0]),
        high=months(key(*base, "doubling_high"), rows["doubling_high"].iloc[0]),
    )


_CHOICES = {
    "window_days": "window (days)",
    "large_z": "threshold of large scale (z)",
    "noise": "noise (×/÷)",
}


def sensitivity_table(frame):
    """What `estimation.trends.sensitivity` returns."""
    if not len(frame):
        return None
    return Table(
        "sensitivity",
        say("The doubling time when one choice of the method is changed."),
        (
            Heading("changed", "choice changed"),
            Heading("value", "to", setting),
            Heading("era_start", "era from"),
            Heading("group", "group"),
            Heading("n", "systems", count),
            *DOUBLING,
        ),
        frame.assign(changed=frame["choice"].map(_CHOICES)),
        int(frame["n"].max()),
        "dated systems of the largest group",
        tuple(Origin(int(n), "dated systems of the row's era and group") for n in frame["n"]),
    )
