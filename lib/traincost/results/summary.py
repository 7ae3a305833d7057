"""What a page answers first: the finding, what to change and what it saves, one bar of a run, four facts."""

from traincost.analysis import verdicts
from traincost.analysis.leading import FAR_MORE, HALF, HIGH, counts_of, current_values, leading
from traincost.analysis.sections import OTHER, UNATTRIBUTED
from traincost.printing import money, share_text, time_parts, time_text
from traincost.results import fluid, labelled
from traincost.results.names import hue, part_names
from traincost.results.numbers import N_NAMED, key, names, number_of, plural, share
from traincost.results.prose import Name, Number, Phrase, When, join, say
from traincost.results.responses import asked_of
from traincost.results.result import Answer, Bars, Result
from traincost.results.sizes import size_of, with_sizes
from traincost.results.threats import uneven_endings

LEAST_TOLD = 0.2  # of a run untimed: a reader must be warned of it
LEAST_SEEN = 0.005  # of a run: what can be seen of the hatched end of a bar
LEAST_DONE = 0.01  # of all hours: a change that saves less is not proposed
MUCH_APART = 0.02  # by which shares differ that are worth telling apart


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
    found = leading(runs.composition, runs.bounds, runs.section_kinds)
    turned = knobs.tables.get("turned") if knobs is not None else None
    price = None if price_per_hour is None else price_per_hour * devices
    lead, saves = _what_to_do(runs, found, turned.frame if turned else None, price, currency)
    answer = Answer(
        finding=_finding(runs, found),
        lead=lead,
        do=tuple(s for s in [*saves, _why(runs, found), *_left_out(runs)] if s is not None),
        figure=_bar(runs, found),
        facts=_facts(runs),
    )
    return Result.showing("summary", runs.frame, answer, prefix=name, of=runs.label)


# -- the finding ---------------------------------------------------------------------------


def _finding(runs, found):
    """The headline, by what the best knob can save and by what it governs."""
    if not runs.timing.paths:
        return _dependence(runs)
    if found.untimed >= HALF:
        return say("{x} of the time was not timed", x=share("unattributed.share", found.untimed))
    if found.knob is None or found.knob["pooled_bound"] < HIGH:
        return _nothing_saves(runs, found)
    subject = _subject(found)
    governed = float(found.knob["governed_share"])
    if not found.training:
        return say(
            "{subject} {takes} {x} of the time", subject=subject, takes=_takes(found), x=_governed(found)
        )
    if governed > FAR_MORE * found.training:
        return say("{subject}, not training, {takes} the time", subject=subject, takes=_takes(found))
    if governed * FAR_MORE >= found.training:
        return say("{subject} {takes} as much time as training", subject=subject, takes=_takes(found))
    return say(
        "Training takes the time; {subject} {be} {x} of it",
        subject=_lower(found),
        be="are" if _is_plural(found) else "is",
        x=_governed(found),
    )


_PLURAL = ("checkpoints", "diagnostics")


def _is_plural(found):
    return found.subject in _PLURAL


def _takes(found):
    return "take" if _is_plural(found) else "takes"


def _lower(found):
    return found.subject or Name(found.knob["knob"])


def _subject(found):
    """What the best knob governs, at the beginning of a headline."""
    return found.subject.capitalize() if found.subject else Name(found.knob["knob"])


def _governed(found):
    knob = found.knob
    return share(key("knobs", knob["knob"], "governed_share"), knob["governed_share"])


def _nothing_saves(runs, found):
    if found.knob is None:
        top = runs.composition.iloc[-1].drop(["n_runs", UNATTRIBUTED]).astype(float)
        named = part_names(top.index)
        return say(
            "{part} takes {x} of the time",
            part="Other sections" if top.idxmax() == OTHER else Name(named[top.idxmax()]),
            x=share(key("sections", top.idxmax(), "share"), top.max()),
        )
    most = share(key("knobs", found.knob["knob"], "pooled_bound"), found.knob["pooled_bound"])
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
        if len(rows) and rows["size_kind"].iloc[0]:
            return say(
                "Runtime {goes} {f}{size}",
                goes=template,
                f=Name(rows["factor"].iloc[0]),
                size=size_of(what, next(rows.itertuples())),
            )
        if len(rows):
            return say("Runtime {goes} {f}", goes=template, f=names(rows["factor"].head(N_NAMED)))
    total = float(runs.runtime_s.sum())
    return say(
        "{n} {runs} took {t}",
        n=number_of("runtime.n", len(runs)),
        runs=plural(len(runs), "run"),
        t=Number("runtime.total_s", total, time_text(total)),
    )


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
    lead = say("{do}" if now else "{do}.", do=Phrase(_imperative(knob)))
    of_all = float(runs.runtime_s.sum())
    saved, total = time_parts([knob["saved_s"], of_all], of_all)
    cost = ""
    if price is not None:
        paid = knob["saved_s"] / 3600 * price
        cost = say(" ({m} {c})", m=Number(key("knobs", name, "saved_money"), paid, money(paid)), c=currency)
    said = say(
        "{now}That saves at most {x}, {t} of {total} in all{cost}{measured}.",
        now=say("{now}. ", now=now) if now else "",
        x=_at_most(knob),
        t=Number(key("knobs", name, "saved_s"), float(knob["saved_s"]), saved),
        total=Number("runtime.total_s", of_all, total),
        cost=cost,
        measured=_measured(turned, name),
    )
    return lead, [said, *_other_leader(found)]


def _at_most(knob):
    """The share of an average run, and that of all hours where it is another."""
    of_run = share(key("knobs", knob["knob"], "bound"), knob["bound"])
    if abs(knob["bound"] - knob["pooled_bound"]) < MUCH_APART:
        return say("{x} of a run", x=of_run)
    pooled = share(key("knobs", knob["knob"], "pooled_bound"), knob["pooled_bound"])
    return say("{y} of all hours ({x} of the average run)", x=of_run, y=pooled)


def _is_proposed(knob):
    return knob is not None and knob["pooled_bound"] >= LEAST_DONE


def _imperative(knob):
    text = knob["change"] or f"change {knob['knob']}"
    return text[:1].upper() + text[1:]


def _now(runs, knob):
    """The name of the setting, its current value and how often what it governs runs."""
    values = current_values(knob["knob"], runs.described)
    now = ""
    if len(values) == 1:
        now = say(", now {value}", value=Name(values[0]))
    elif values:
        now = say(", now {first} to {last}", first=Name(values[0]), last=Name(values[-1]))
    often = ""
    if knob["kind"] == "cadence":
        counts = counts_of(runs.timing, filter(None, [runs.cadence_section, *knob["sections"].split(", ")]))
        often = _often(counts)
    if not now and not often and knob["knob"] in knob["change"]:
        return None
    return say("({name}{now}{often})", name=Name(knob["knob"]), now=now, often=often)


def _often(counts):
    if not len(counts):
        return ""
    numbers = [number_of(key("cadence", "count", i), value) for i, value in enumerate(counts)]
    if len(counts) > N_NAMED:
        ends = number_of("cadence.count.min", counts[0]), number_of("cadence.count.max", counts[-1])
        return say(": {a} to {b} times a run", a=ends[0], b=ends[1])
    listed = join([say("{n}", n=n) for n in numbers], " or ")
    return say(": {n} {times} a run", n=listed, times=plural(counts[-1], "time"))


def _measured(turned, knob):
    """What turning the knob saved, where runs with it turned were measured."""
    rows = turned[turned["knob"] == knob] if turned is not None else ()
    if not len(rows):
        return ""
    row = rows.iloc[0]
    base = key("turned", knob)
    return say(
        "; measured in {n} {c} run again, {m} ({low} to {high}), where the bound is {bound}",
        n=number_of(f"{base}.n_configurations", row["n_configurations"]),
        c=plural(row["n_configurations"], "configuration"),
        m=share(f"{base}.measured", row["measured"]),
        low=share(f"{base}.low", row["low"]),
        high=share(f"{base}.high", row["high"]),
        bound=share(f"{base}.bound", row["bound"]),
    )


def _other_leader(found):
    """That another knob saves more of the mean run, where it does not save more hours."""
    other = found.by_mean
    if other is None or other["bound"] - found.knob["bound"] < MUCH_APART:
        return []
    return [
        say(
            "Of the average run, {other} would save more, {x}; over all hours together it saves less.",
            other=Name(other["knob"]),
            x=share(key("knobs", other["knob"], "bound"), other["bound"]),
        )
    ]


def _why(runs, found):
    """What the best knob governs and what training takes, and that the rest was not timed."""
    if not runs.timing.paths:
        return None
    parts = []
    if _is_proposed(found.knob):
        parts.append(
            say("{what} {takes} {x} of a run", what=_lower(found), takes=_takes(found), x=_governed(found))
        )
    if found.training:
        said = "training {x}" if parts else "training takes {x} of a run"
        parts.append(say(said, x=share("training.share", found.training)))
    untimed = ""
    if found.untimed > LEAST_TOLD:
        untimed = say(
            "{x} was not timed, so what it went into is not known",
            x=share("unattributed.share", found.untimed),
        )
    if not parts:
        return say("{untimed}.", untimed=untimed) if untimed else None
    told = join(parts, ", ")
    first = told.parts[0]
    if isinstance(first, str):
        told = type(told)((first[0].upper() + first[1:], *told.parts[1:]))
    return say("{told}{untimed}.", told=told, untimed=say("; {u}", u=untimed) if untimed else "")


def _left_out(runs):
    excluded = runs.excluded
    if not len(excluded):
        return []
    known = excluded["runtime_s"].dropna()
    lost_s = float(known.sum())
    hours = say(" ({t})", t=Number("excluded.runtime_s", lost_s, time_text(lost_s)))
    counted = say(
        "{n} more {runs}{hours} left out of every statistic.",
        n=number_of("excluded.n", len(excluded)),
        runs=plural(len(excluded), "run", "runs"),
        hours=join([hours if len(known) else say(""), say(plural(len(excluded), " is", " are"))], ""),
    )
    uneven = uneven_endings(runs)
    return [counted] if uneven is None else [counted, uneven]


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
            "Share of runtime, mean over {n} {runs}{hatched}.",
            n=number_of("runtime.n", len(runs)),
            runs=plural(len(runs), "run"),
            hatched=hatched,
        ),
        quiet=True,
    )


def _facts(runs):
    runtime_s = runs.runtime_s
    values = {
        "total": runtime_s.sum(),
        "mean": runtime_s.mean(),
        "median": runtime_s.median(),
        "min": runtime_s.min(),
        "max": runtime_s.max(),
    }
    texts = {name: time_text(value) for name, value in values.items()}
    texts["median"], texts["min"] = (
        time_parts([values[part]], values[whole])[0] for part, whole in (("median", "mean"), ("min", "max"))
    )
    told = {name: Number(f"runtime.{name}_s", float(values[name]), texts[name]) for name in values}
    which = "completed " if len(runs.excluded) else ""
    n = number_of("runtime.n", len(runs))
    facts = [
        (
            say("{t}", t=told["total"]),
            say("in all, {n} {w}{runs}", n=n, w=which, runs=plural(len(runs), "run")),
        ),
    ]
    if len(runs) > 1:
        facts += [
            (say("{t}", t=told["mean"]), say("mean of a run; median {t}", t=told["median"])),
            (say("{a} to {b}", a=told["min"], b=told["max"]), say("shortest to longest run")),
        ]
    starts = sorted(filter(None, runs.frame["started_at"]))
    if starts:
        first, last = starts[0][:10], starts[-1][:10]
        dates = say("{a}", a=When(first)) if first == last else say("{a} to {b}", a=When(first), b=When(last))
        said = "start" if len(runs) == 1 else "first and last start"
        facts.append((dates, say(said)))
    return tuple(facts)
