"""What threatens the reading of effects: when runs ran, how they ended, and which are missing."""

import re

import numpy as np
import pandas as pd

from traincost.analysis import fields
from traincost.analysis import threats as analysis
from traincost.analysis.order import start_ranks, starts_s
from traincost.columns import PREFIX
from traincost.printing import count, probability, significant
from traincost.results import arguments
from traincost.results.prose import N_LISTED, N_NAMED, Name, Number, first_names, join, key, names, say
from traincost.results.result import Result
from traincost.results.tables import Heading, Table, as_printed

MAX_HELD = 200  # levels of a setting that is held
_HOST = re.compile(r"(host|host_?name|node|node_?name|machine)", re.IGNORECASE)
_COLUMNS = ("threat", "setting", "level", "n_runs", "n_of", "value", "p")


@arguments.checked
def threats(runs, response="runtime_s", *, name=""):
    """Say what threatens the reading of what a response depends on, where anything does.

    Parameters
    ----------
    runs : Runs
    response : str
        What effects are asked about; what is said of overlap in time is of runtime alone.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per finding: ``threat``, ``setting``, ``level``, ``n_runs`` of ``n_of`` runs,
        ``value`` (see the table), ``p``. It says nothing where nothing was found.
    """
    started_s = starts_s(runs.frame)
    tried, failed, described = _tried(runs)
    random = list(_random(tried, described))
    found = [
        *_order(runs, started_s),
        *random,
        *_cap(runs, tried, described),
        *_failed(failed, described),
        *(() if random else _missing(failed, described)),  # of settings drawn at random, none is due
        *_pruned(runs),
        *_resumed(runs),
        *(_overlap(runs, tried, described) if response == "runtime_s" else ()),
    ]
    frame = pd.DataFrame([row for _, rows in found for row in rows], columns=_COLUMNS)
    return Result.showing(
        "threats",
        frame,
        [sentence for sentence, _ in found],
        _table(frame, len(runs.frame)),
        prefix=name or ("" if response == "runtime_s" else response),
        of=runs.label,
    )


def _tried(runs):
    """Return the runs that were tried, which of them did not complete, and their fields."""
    tried = analysis.attempts(runs.frame, runs.excluded)
    failed = tried["failed"].to_numpy(dtype=bool)
    # A field may vary among those that did not complete alone.
    described = fields.describe(tried, runs.replicates, runs.factors) if failed.any() else runs.described
    return tried, failed, described


def uneven_endings(runs):
    """Return a sentence that runs which did not complete are not spread evenly, or None."""
    _, failed, described = _tried(runs)
    return next((sentence for sentence, _ in _failed(failed, described)), None)


def _order(runs, started_s):
    rows = analysis.order(started_s, runs.runtime_s.to_numpy(dtype=float), runs.described)
    if not len(rows):
        return
    n_more = len(rows) - N_NAMED
    sentence = say(
        "{said} of the variance of the order in which the runs started[, and {more} more]: a machine that "
        "changed meanwhile would look like its effect.",
        said=[
            say(
                "{f} explains {x}",
                f=Name(r.factor),
                x=Number.share(key("threats", "order", r.factor), r.explained),
            )
            for r in rows.head(N_NAMED).itertuples()
        ],
        more=Number.count("threats.order.n_more", n_more) if n_more > 0 else None,
    )
    found = [("start order", r.factor, "", r.n_runs, r.n_runs, r.explained, r.p) for r in rows.itertuples()]
    yield sentence, found


def _random(tried, described):
    started_s, runtime_s = starts_s(tried), tried["runtime_s"].to_numpy(dtype=float)
    ranks = start_ranks(started_s, runtime_s[np.isfinite(runtime_s)])
    rows = analysis.drawn_at_random(described, ranks)
    if not len(rows):
        return
    said = [
        say(
            "{f}: {n} values",
            f=Name(r.factor),
            n=Number.count(key("threats", "random", r.factor), r.n_values),
        )
        for r in rows.head(N_NAMED).itertuples()
    ]
    sentence = say(
        "Settings look drawn at random ({said} in {n} configurations): they go neither with each other nor "
        "with another setting{order}, so runs with different values of them can be compared.",
        said=said + (["others"] if len(rows) > N_NAMED else []),
        n=Number.count("threats.random.n_configurations", rows["n_configurations"].iloc[0]),
        order=" nor with the order of the runs" if ranks is not None else "",
    )
    found = [
        ("drawn at random", r.factor, "", r.n_configurations, len(tried), r.n_values, np.nan)
        for r in rows.itertuples()
    ]
    yield sentence, found


def _cap(runs, tried, described):
    failed = tried["failed"].to_numpy(dtype=bool)
    runtime_s = tried["runtime_s"].to_numpy(dtype=float)
    codes = fields.combined([field.codes for field in fields.factors(described)], len(tried))
    found = analysis.cap(runtime_s, failed, codes)
    if not len(found):
        return
    row = found.iloc[0]
    levels = analysis.by_level(found.attrs["at_cap"], described)
    sentence = say(
        "{n} of {of} runs end within {w} of the longest time, {t}[ ({failed} did not complete)], as at a "
        "time limit[; {levels}]. What they would have taken is not known, so effects are of times that were "
        "cut off there.",
        n=Number.count("threats.cap.n", row["n_runs"]),
        of=Number.count("threats.cap.n_of", row["n_of"]),
        w=Number.share("threats.cap.width", analysis.CAP_WIDTH),
        t=Number.time("threats.cap.runtime_s", row["runtime_s"]),
        failed=Number.count("threats.cap.n_failed", row["n_failed"]) if row["n_failed"] else None,
        levels=_uneven("cap", levels.iloc[0]) if len(levels) else None,
    )
    first = ("time limit", "", "", int(row["n_runs"]), int(row["n_of"]), float(row["runtime_s"]), np.nan)
    yield sentence, [first, *_level_rows("time limit", levels)]


def _uneven(threat, row):
    base = ("threats", threat, row["factor"])
    return say(
        "of {f} = {level} it is {n} of {of} runs, of the others {m} of {others}",
        f=Name(row["factor"]),
        level=Name(row["level"]),
        n=Number.count(key(*base, "n"), row["n_happened"]),
        of=Number.count(key(*base, "n_level"), row["n_level"]),
        m=Number.count(key(*base, "n_others_happened"), row["n_others_happened"]),
        others=Number.count(key(*base, "n_others"), row["n_others"]),
    )


def _level_rows(threat, levels):
    return [
        (threat, r.factor, r.level, r.n_happened, r.n_level, r.n_happened / r.n_level, r.p)
        for r in levels.itertuples()
    ]


def _failed(failed, described):
    levels = analysis.by_level(failed, described)
    if not len(levels):
        return
    sentence = say(
        "Runs that did not complete are not spread evenly: {said}. Effects are of those that completed.",
        said=[_uneven("failed", row) for _, row in levels.head(N_NAMED).iterrows()],
    )
    yield sentence, _level_rows("not completed", levels)


def _missing(failed, described):
    cells = analysis.missing(failed, described)
    if not len(cells):
        return
    factors, n_cells = cells.attrs["factors"], cells.attrs["n_cells"]
    n_failed = int((cells["n_failed"] > 0).sum())
    shown = [_cell(factors, levels) for levels in cells["levels"].head(N_LISTED)]
    sentence = say(
        "Of the {of} combinations of {f}, {n} {n:has|have} no completed run[ ({tried} tried)]: {cells}.",
        of=Number.count("threats.missing.n_cells", n_cells),
        f=names(factors),
        n=Number.count("threats.missing.n", len(cells)),
        tried=Number.count("threats.missing.n_failed", n_failed) if n_failed else None,
        cells=shown + (["others"] if len(cells) > N_LISTED else []),
    )
    rows = [
        ("missing", ", ".join(factors), ", ".join(r.levels), 0, r.n_failed, np.nan, np.nan)
        for r in cells.itertuples()
    ]
    yield sentence, rows


def _cell(factors, levels):
    parts = [say("{f} = {x}", f=Name(f), x=Name(x)) for f, x in zip(factors, levels, strict=True)]
    return join(parts, " with ")


def _some_were(runs, found, threat, words, **parts):
    """Yield a sentence on runs that were pruned, or resumed, with its row."""
    n_of = len(runs.frame) + len(runs.excluded)
    if len(found):
        n = Number.count(key("threats", threat, "n"), len(found))
        sentence = say(f"{{n}} {{n:run was|runs were}} {threat}{words}", n=n, **parts)
        yield sentence, [(threat, "", "", len(found), n_of, len(found) / n_of, np.nan)]


def _pruned(runs):
    words = ", on what a score was so far: the completed runs were chosen by it, and effects are of those."
    return _some_were(runs, analysis.pruned(runs.excluded), "pruned", words)


def _resumed(runs):
    words = " ({ids}): the time of such a run may be that of one leg, or hold what each leg does anew."
    found = analysis.resumed(runs.notes, runs.excluded)
    return _some_were(runs, found, "resumed", words, ids=first_names(found["run_id"]))


def _overlap(runs, tried, described):
    failed = tried["failed"].to_numpy(dtype=bool)
    held = [fields.bins(field)[0] for field in fields.factors(described) if field.n_levels <= MAX_HELD]
    hosts = _hosts(tried)
    runtime_s = tried["runtime_s"].to_numpy(dtype=float)
    found = analysis.overlap(starts_s(tried), runtime_s, ~failed, held, hosts)
    if not len(found):
        return
    row = found.iloc[0]
    # In very many runs, what rounding and the ends of a queue do would be significant too.
    goes = row["p"] <= analysis.ALPHA and row["rho"] >= analysis.MIN_RHO
    told = "; as far as these runs tell, runtime does not go with that number"
    if goes:
        told = ", and runs took longer where more were at work (rank correlation {rho}{held}, p {p})"
    elif row["p"] != row["p"]:
        told = ""
    sentence = say(
        "Runs overlapped on {host}: in {x} of their time another was at work, up to {most} at once"
        + told
        + ".",
        host="one machine" if hosts is not None else "machines that are not recorded",
        x=Number.share("threats.overlap.share", row["share"]),
        most=Number.count("threats.overlap.most", row["most"]),
        held=" with the settings held" if row["held"] else "",
        rho=Number.two("threats.overlap.rho", row["rho"]),
        p=Number.of("threats.overlap.p", row["p"], probability),
    )
    n = int(row["n_runs"])
    yield sentence, [("overlap", "", "", n, len(tried), float(row["share"]), float(row["p"]))]


def _hosts(tried):
    """Return the machine of each run, or None where it is not recorded of all."""
    if "host" in tried and tried["host"].notna().all() and tried["host"].ne("").all():
        return pd.factorize(tried["host"])[0]
    named = [name for name in tried if name.startswith(PREFIX) and _HOST.fullmatch(name.rpartition(".")[2])]
    complete = [name for name in named if tried[name].notna().all()]
    return pd.factorize(tried[complete[0]])[0] if complete else None


def _table(frame, n_runs):
    return Table(
        "threats",
        say("What threatens the reading of effects"),
        (
            Heading("threat", "what"),
            Heading("setting", "setting", hide_on_phone=True),
            Heading("level", "level", hide_on_phone=True),
            Heading("runs", "runs", as_printed),
            Heading(
                "value", "value", significant, "share explained, of runs or of run time; time limit in s"
            ),
            Heading("p", "p", probability, "over the settings together (Holm)"),
        ),
        frame.assign(
            runs=[f"{count(n)} of {count(of)}" for n, of in zip(frame["n_runs"], frame["n_of"], strict=True)]
        ),
        n_runs,
    )
