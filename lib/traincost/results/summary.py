"""What a page answers first: the finding, what to change and what it saves, one bar of a run, four facts."""

from traincost.analysis import costs, savings, verdicts
from traincost.analysis.leading import FAR_MORE, HALF, HIGH, counts_of, current_values, leading
from traincost.analysis.sections import OTHER, UNATTRIBUTED
from traincost.printing import money, share_text, time_parts, time_text
from traincost.results import arguments, fluid, labelled
from traincost.results.bounds import knob_share
from traincost.results.differences import how_often
from traincost.results.names import hue, part_names
from traincost.results.prose import N_NAMED, Name, Number, Phrase, When, key, names, say
from traincost.results.responses import asked_of
from traincost.results.result import Answer, Bars, Result
from traincost.results.sizes import size_of, with_sizes
from traincost.results.snapshot import runtime_stats
from traincost.results.threats import uneven_endings

LEAST_TOLD = 0.2  # of a run untimed: a reader must be warned of it
LEAST_SEEN = 0.005  # of a run: what can be seen of the hatched end of a bar
LEAST_DONE = 0.01  # of all hours: a change that saves less is not proposed
MUCH_APART = 0.02  # by which shares differ that are worth telling apart


@arguments.checked
def summary(runs, knobs=None, *, devices=1, price_per_hour=None, currency="USD", name=""):
    """Say what a reader needs first: the finding, what to change and what it saves, and four facts.

    Parameters
    ----------
    runs : Runs
    knobs : Result, optional
        What `knobs` returned for them, where some were turned.
    devices : int
        That a run holds.
    price_per_hour : float, optional
        Of a device.
    currency : str
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` is that of `runs`.
    """
    found = leading(runs.timing, runs.composition, runs.bounds, runs.section_kinds)
    turned = knobs.tables.get("turned") if knobs is not None else None
    price = None if price_per_hour is None else price_per_hour * devices
    lead, saves = _what_to_do(runs, found, turned.frame if turned else None, price, currency)
    answer = Answer(
        finding=_finding(runs, found),
        lead=lead,
        do=tuple(s for s in [*saves, _why(runs, found), *_left_out(runs)] if s is not None),
        figure=_bar(runs, found),
        facts=tuple(_facts(runs)),
    )
    return Result.showing("summary", runs.frame, answer, prefix=name, of=runs.label)


# -- the finding ---------------------------------------------------------------------------


def _finding(runs, found):
    """The headline, by what the best knob can save and by what it governs."""
    if not runs.timing.paths:
        return _dependence(runs)
    if found.untimed >= HALF:
        return say("{x} of the time was not timed", x=Number.share("unattributed.share", found.untimed))
    if found.knob is None or found.knob["pooled_bound"] < HIGH:
        return _nothing_saves(runs, found)
    governs = "governed_pooled" if _hours_lead(found) else "governed_share"
    return say(_HEADLINES[_compared(found, governs)], **_what_takes(found, governs))


# What the best knob governs against training: by far more, as much, less, or no training is known.
_HEADLINES = {
    "more": "{subject}, not training, {n:takes|take} the time",
    "alike": "{subject} {n:takes|take} as much time as training",
    "less": "Training takes the time; {what} {n:is|are} {x} of it",
    "alone": "{subject} {n:takes|take} {x} of the time",
}


def _compared(found, governs):
    """Return the key of the headline, by mean shares of a run or by shares of all hours."""
    governed = float(found.knob[governs])
    training = found.training_pooled if governs == "governed_pooled" else found.training
    if not training:
        return "alone"
    if governed > FAR_MORE * training:
        return "more"
    return "alike" if governed * FAR_MORE >= training else "less"


def _hours_lead(found):
    """Say whether all hours make another headline than the mean run: a few long runs have most of them."""
    return _compared(found, "governed_pooled") != _compared(found, "governed_share")


def _what_takes(found, governs="governed_share"):
    """Return what the best knob governs, at the beginning of a sentence and in it, and how much that is."""
    what = found.subject or Name(found.knob["knob"])
    return {
        "what": what,
        "subject": found.subject.capitalize() if found.subject else what,
        "n": 2 if found.subject in ("checkpoints", "diagnostics") else 1,
        "x": knob_share(found.knob, governs),
    }


def _nothing_saves(runs, found):
    if found.knob is None:
        top = runs.composition.iloc[-1].drop(["n_runs", UNATTRIBUTED]).astype(float)
        named = part_names(top.index)
        return say(
            "{part} takes {x} of the time",
            part="Other sections" if top.idxmax() == OTHER else Name(named[top.idxmax()]),
            x=Number.share(key("sections", top.idxmax(), "share"), top.max()),
        )
    most = knob_share(found.knob, "pooled_bound")
    if found.training >= HALF:
        return say("Training takes the time, and no one setting saves more than {x}", x=most)
    return say("No one setting saves more than {x}", x=most)


def _dependence(runs):
    """What runtime depends on, in the words of the strongest verdict; else how long all took."""
    what = asked_of(runs, "runtime_s")
    table = with_sizes(what.examined)
    tested = table[table["kind"] != "replicate"]
    for verdict, template in _STRONGEST.items():
        rows = tested[tested["verdict"] == verdict]
        if len(rows):
            first = next(rows.itertuples())
            size = size_of(what, first) if first.size_kind else ""
            of = Name(first.factor) if first.size_kind else names(rows["factor"].head(N_NAMED))
            return say("Runtime {goes} {f}{size}", goes=template, f=of, size=size)
    total = Number.time("runtime.total_s", runs.runtime_s.sum())
    return say("{n} {n:run|runs} took {t}", n=Number.count("runtime.n", len(runs)), t=total)


_STRONGEST = {
    verdicts.DEPENDS: "depends on",
    verdicts.HERE: "differs, in these configurations, by",
    verdicts.ORDER: "goes with",
    verdicts.GOES_WITH: "goes with",
}


# -- what to do ----------------------------------------------------------------------------


def _what_to_do(runs, found, turned, price, currency):
    """Return what to do, and sentences on what that saves."""
    knob = found.knob
    if not _is_proposed(knob):
        return None, []
    name = knob["knob"]
    now = _now(runs, knob)
    change = knob["change"] or f"change {name}"
    lead = say("{do}" if now else "{do}.", do=Phrase(change[:1].upper() + change[1:]))
    of_all = float(runs.runtime_s.sum())
    saved, total = time_parts([knob["saved_s"], of_all], of_all)
    paid = None if price is None else knob["saved_s"] / 3600 * price
    said = say(
        "[{now}. ]That saves at most {x}, {t} of {total} in all[ ({paid} {currency})]{measured}.",
        now=now,
        x=_at_most(knob),
        t=Number(key("knobs", name, "saved_s"), float(knob["saved_s"]), saved),
        total=Number("runtime.total_s", of_all, total),
        paid=None if price is None else Number.of(key("knobs", name, "saved_money"), paid, money),
        currency=currency,
        measured=_measured(turned, name),
    )
    return lead, [said, _other_leader(found)]


def _at_most(knob):
    of_run, pooled = knob_share(knob, "bound"), knob_share(knob, "pooled_bound")
    if abs(knob["bound"] - knob["pooled_bound"]) < MUCH_APART:
        return say("{x} of a run", x=of_run)
    return say("{y} of all hours ({x} of the average run)", x=of_run, y=pooled)


def _is_proposed(knob):
    return knob is not None and knob["pooled_bound"] >= LEAST_DONE


def _now(runs, knob):
    """The name of the setting, its current value and how often what it governs runs."""
    values = current_values(knob["knob"], runs.described)
    often = None
    if knob["kind"] == "cadence":
        counts = counts_of(runs.timing, filter(None, [runs.cadence_section, *knob["sections"].split(", ")]))
        often = say("{n} {k:time|times} a run", n=how_often(counts), k=counts[-1]) if len(counts) else None
    if not values and not often and knob["knob"] in knob["change"]:
        return None
    return say(
        "({name}[, now {first}][ to {last}][: {often}])",
        name=Name(knob["knob"]),
        first=Name(values[0]) if values else None,
        last=Name(values[-1]) if len(values) > 1 else None,
        often=often,
    )


def _measured(turned, knob):
    """What turning the knob saved, where runs with it turned were measured."""
    rows = turned[turned["knob"] == knob] if turned is not None else ()
    if not len(rows):
        return ""
    row = rows.iloc[0]
    base = key("turned", knob)
    return say(
        "; measured in {n} {n:configuration|configurations} run again, {measured} ({low} to {high}), "
        "{outcome} of {bound}{chance}",
        n=Number.count(f"{base}.n_configurations", row["n_configurations"]),
        outcome=row["outcome"],
        chance=", within chance" if row["outcome"] == savings.AT_BOUND else "",
        **{name: Number.share(f"{base}.{name}", row[name]) for name in ("measured", "low", "high", "bound")},
    )


def _other_leader(found):
    """That another knob saves more of the mean run, where it does not save more hours."""
    other = found.by_mean
    if other is None or other["bound"] - found.knob["bound"] < MUCH_APART:
        return None
    return say(
        "Of the average run, {other} would save more, {x}; over all hours together it saves less.",
        other=Name(other["knob"]),
        x=knob_share(other, "bound"),
    )


def _why(runs, found):
    """What the best knob governs and what training takes, and that the rest was not timed."""
    if not runs.timing.paths:
        return None
    is_proposed = _is_proposed(found.knob)
    parts = _what_takes(found) if is_proposed else {"subject": None}
    untimed = found.untimed > LEAST_TOLD
    if not (is_proposed or found.training or untimed):
        return None
    by_hours = is_proposed and _hours_lead(found)
    return say(
        "[{subject} {n:takes|take} {x} of a run][{first} {training}{of}][ (of all hours {hours} and "
        "{trained})][{then}{untimed} was not timed, so what it went into is not known].",
        **parts,
        hours=knob_share(found.knob, "governed_pooled") if by_hours else None,
        trained=Number.share("training.pooled_share", found.training_pooled) if by_hours else None,
        first=", training" if is_proposed else "Training takes",
        training=Number.share("training.share", found.training) if found.training else None,
        of="" if is_proposed else " of a run",
        then="; " if is_proposed or found.training else "",
        untimed=Number.share("unattributed.share", found.untimed) if untimed else None,
    )


def _left_out(runs):
    known_s = costs.lost_s(runs.excluded)
    if len(runs.excluded):
        yield say(
            "{n} more {n:run|runs}[ ({t})] {n:is|are} left out of every statistic.",
            n=Number.count("excluded.n", len(runs.excluded)),
            t=Number.time("excluded.runtime_s", known_s.sum()) if len(known_s) else None,
        )
        yield uneven_endings(runs)


# -- the figure and the facts ---------------------------------------------------------------


def _bar(runs, found):
    if not runs.timing.paths:
        return None
    shares = runs.composition.iloc[-1].drop("n_runs").astype(float)
    labels = part_names(shares.index)
    parts = [
        fluid.Part(labels[part], max(0.0, share), share_text(share), hue(part, runs.section_kinds))
        for part, share in shares.items()
        if share > 0
    ]
    governed = [labels[part] for part in found.governed] if _is_proposed(found.knob) else []
    said = ""
    if governed:
        said = f"{found.subject or found.knob['knob']} {share_text(found.knob['governed_share'])}"
    hatched = "; hatched: no section timed it" if shares[UNATTRIBUTED] >= LEAST_SEEN else ""
    return Bars(
        "answer",
        shares.rename("share").rename_axis("part").reset_index(),
        labelled.answer_bar(
            parts,
            governed,
            said,
            name="answer",
            title="What an average run spends its time on",
            printed=share_text,
        ),
        say(
            "Share of runtime, mean over {n} {n:run|runs}{hatched}.",
            n=Number.count("runtime.n", len(runs)),
            hatched=hatched,
        ),
        quiet=True,
    )


def _facts(runs):
    stats, n = runtime_stats(runs.runtime_s), len(runs)
    texts = {name: time_text(value) for name, value in stats.items()}
    for part, whole in (("median", "mean"), ("min", "max")):
        texts[part] = time_parts([stats[part]], stats[whole])[0]
    told = {name: Number(f"runtime.{name}_s", float(stats[name]), texts[name]) for name in stats}
    which = "completed " if len(runs.excluded) else ""
    yield say("{total}", **told), say("in all, {n} {w}{n:run|runs}", n=Number.count("runtime.n", n), w=which)
    if n > 1:
        yield say("{mean}", **told), say("mean of a run; median {median}", **told)
        yield say("{min} to {max}", **told), say("shortest to longest run")
    days = sorted(start[:10] for start in runs.frame["started_at"] if start)
    if days:
        last = None if days[0] == days[-1] else When(days[-1])
        yield say("{a}[ to {b}]", a=When(days[0]), b=last), say("{n:start|first and last start}", n=n)
