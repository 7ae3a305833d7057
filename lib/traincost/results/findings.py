"""What a verdict on a setting says, in a sentence each."""

from traincost.analysis import verdicts
from traincost.analysis.order import DRIFT
from traincost.printing import ratio_text
from traincost.results.numbers import N_LISTED, N_NAMED, eta, key, names, number_of
from traincost.results.prose import Name, Number, say
from traincost.results.sizes import size_of


def _factor(row):
    """Name a factor with those that vary exactly with it, the first few."""
    merged = row.names[:N_NAMED]
    more = len(row.names) - len(merged)
    return say(
        "{names}{more}",
        names=Name(" = ".join(merged)),
        more=say(" and {n} more alike", n=number_of(key("effects", row.factor, "n_alike"), more))
        if more
        else "",
    )


def _depends(what, rows, act_together):
    said = []
    for row in rows.itertuples():
        alone = " (too few runs to hold the others)" if row.hold_too_few else ""
        said.append(
            say(
                "{what} depends on {factor}{alone}{size}.",
                what=what.subject,
                factor=_factor(row),
                alone=alone,
                size=size_of(what, row),
            )
        )
    return said


def _here(what, rows, act_together):
    how_much = ", and how much depends on the other settings" if act_together else ""
    return [
        say(
            "{what} differs between the levels of {factor} in these configurations by more than repeats "
            "do{how_much}{size}; there are too few configurations to tell whether it would elsewhere.",
            what=what.subject,
            factor=_factor(row),
            how_much=how_much,
            size=size_of(what, row),
        )
        for row in rows.itertuples()
    ]


def _goes_with(what, rows, act_together):
    said = []
    for row in rows.itertuples():
        others, shared = row.entangled_with, row.entangled_r_squared
        if not others:  # it varies exactly with a place
            others, shared = row.names[1:], (1.0,) * (len(row.names) - 1)
        said.append(
            say(
                "{what} goes with {factor}{size}; it changes with {others}, and these runs cannot tell them "
                "apart.",
                what=what.subject,
                factor=_factor(row),
                size=size_of(what, row),
                others=[
                    say(
                        "{g} (R² {r})",
                        g=Name(g),
                        r=eta(key("effects", row.factor, "with", g, "r_squared"), r),
                    )
                    for g, r in list(zip(others, shared, strict=True))[:N_NAMED]
                ],
            )
        )
    return said


def _order(what, rows, act_together):
    return [
        say(
            "{what} goes with {factor}{size}, but its levels ran at different times: a machine that changed "
            "by up to {drift} would look the same.",
            what=what.subject,
            drift=Number("start_order.most_drift", DRIFT, ratio_text(DRIFT)),
            factor=_factor(row),
            size=size_of(what, row),
        )
        for row in rows.itertuples()
    ]


def _first(texts):
    """Name the first few, and say that there are more."""
    named = names(texts[:N_NAMED])
    return [*named, "others"] if len(texts) > N_NAMED else named


def _chance(what, rows, act_together):
    listed = [_factor(row) for row in rows.head(N_LISTED).itertuples()]
    if len(rows) > N_LISTED:
        listed.append(say("{n} others", n=number_of("effects.n_more_by_chance", len(rows) - N_LISTED)))
    by_itself = " by itself" if act_together else ""
    return [
        say(
            "The effect of {factors}{by_itself} cannot be told from chance.",
            factors=listed,
            by_itself=by_itself,
        )
    ]


def _too_few(what, rows, act_together):
    first = rows.iloc[0]
    lacks = say(" ({lacks})", lacks=Name(first["lacks"])) if first["lacks"] else ""
    return [
        say(
            "For {f} there are too few runs to tell{lacks}.",
            f=_first(tuple(rows["factor"])),
            lacks=lacks if len(rows) == 1 else "",
        )
    ]


SENTENCES = {
    verdicts.DEPENDS: _depends,
    verdicts.HERE: _here,
    verdicts.ORDER: _order,
    verdicts.GOES_WITH: _goes_with,
    verdicts.CHANCE: _chance,
    verdicts.TOO_FEW: _too_few,
}
