"""What was read: how many runs, their time, what they share, what was left out; and a list of each run."""

import pandas as pd

from traincost.analysis import levels, subsets
from traincost.analysis.costs import lost_s
from traincost.analysis.verdicts import CHANCE
from traincost.columns import PREFIX
from traincost.printing import count, time_text
from traincost.reading.formats.statuses import EVIDENCE, NOT_RECORDED
from traincost.results import arguments
from traincost.results.names import shared_settings
from traincost.results.prose import N_NAMED, Name, Number, When, key, names, say
from traincost.results.result import Items, Result
from traincost.results.tables import MAX_RUN_ROWS, Heading, Origin, Table, of_one, setting


def snapshot(runs):
    """Say what was read: how many runs, their runtimes, what they share, and what was left out."""
    by, across = runs.axes
    by_level, by_other = (levels.level_runtimes(runs.runtime_s, field) for field in (by, across))
    said = [
        _runtime_columns(runs.runtime_columns),
        *_runtimes(runs.runtime_s),
        _shared_settings(runs.described, runs.shared_settings),
        *_extreme_levels(by_level, by.name, runs.short(by.name)),
        _slowest_level(by_other, across, runs.effects),
        _started(runs.frame),
        *_ends(runs.frame),
        *_machines(runs.frame),
        _excluded(runs.excluded),
    ]
    return Result.showing(
        "runs",
        runs.frame,
        [counted(runs)] if runs.of_all is not None else None,
        Items(said),
        _excluded_table(runs.excluded),
        _notes_table(runs.notes),
        prefix=runs.chosen,
        of=runs.label,
    )


def nothing_chosen(runs):
    """Say that none of the runs is chosen, where a choice leaves no completed run."""
    return Result.showing("runs", runs.frame, [say("No completed run is chosen.")], of=runs.label)


def _runtimes(runtime_s):
    n = Number.count("runtime.n", len(runtime_s))
    took = {name: Number.time(f"runtime.{name}_s", value) for name, value in runtime_stats(runtime_s).items()}
    if len(runtime_s) == 1:
        yield say("{n} completed run took {mean}.", n=n, **took)
    else:
        yield say("{n} completed runs took {total} in all.", n=n, **took)
        yield say("A run took {mean} on average (median {median}), from {min} to {max}.", **took)


def runtime_stats(runtime_s):
    """Return the sum, mean, median and ends of the runtimes, by name."""
    return runtime_s.agg(["sum", "mean", "median", "min", "max"]).rename({"sum": "total"}).to_dict()


def _runtime_columns(columns):
    """What a table's runtime is made of, where a parameter says so."""
    if not columns:
        return None
    said = "Runtime is the {n:|sum of the }{n:column|columns} {c} of the table."
    return say(said, n=len(columns), c=names(columns))


def _shared_settings(fields, names):
    """The settings that all runs share: those in `names`, or the shortest-named few."""
    shared, more = shared_settings(fields, names)
    if not shared:
        return None
    return say(
        "Same in every run: {s}[, and {more} more].",
        s=[Name(f"{name}={value}") for name, value in shared],
        more=Number.count("settings.more", more) if more else None,
    )


def _extreme_levels(levels, name, short):
    """The slowest and the fastest levels of a factor by mean runtime, as list items.

    `levels` has ``level``, ``mean_s``, slowest first.
    """
    if len(levels) < 2:
        return
    n = min(N_NAMED, len(levels) // 2)
    for which, rows in (("Slowest", levels.head(n)), ("Fastest", levels.iloc[::-1].head(min(2, n)))):
        listed = [
            say(
                "{level} {t}",
                level=Name(short.get(row.level, row.level)),
                t=Number.time(key("level", name, row.level, "mean_s"), row.mean_s),
            )
            for row in rows.itertuples()
        ]
        yield say("{which} {f} on average: {rows}.", which=which, f=Name(name), rows=listed)


def _slowest_level(levels, field, effects):
    """The slowest level of a second factor, where there is one, and whether that means anything."""
    if len(levels) < 2:
        return None
    row, verdict = levels.iloc[0], effects.set_index("factor")["verdict"].get(field.name, "")
    return say(
        "Slowest {f} on average: {level} {t}{doubt}.",
        f=Name(field.name),
        level=Name(row.level),
        t=Number.time(key("level", field.name, row.level, "mean_s"), row.mean_s),
        doubt=", a difference that cannot be told from chance" if verdict == CHANCE else "",
    )


def _started(runs):
    days = sorted(time[:10] for time in runs["started_at"] if time)
    if not days:
        return None
    if days[0] == days[-1]:
        return say("Started on {day}.", day=When(days[0]))
    return say("Started from {a} to {b}.", a=When(days[0]), b=When(days[-1]))


def _tallied(what, counts):
    """Name each of several things with how often it is there."""
    return [say("{x} ({n})", x=Name(x), n=Number.count(key(what, x, "n"), n)) for x, n in counts.items()]


def _ends(runs):
    """How it is known that the runs came to their end, and for how many it is not."""
    if "evidence" not in runs:
        return
    found = runs["evidence"].replace("", NOT_RECORDED).value_counts()
    known = {name: found[name] for name in EVIDENCE if name in found and name != NOT_RECORDED}
    if known:
        yield say("How it is known that they completed: {rows}.", rows=_tallied("evidence", known))
    if NOT_RECORDED in found:
        yield say(
            "The end of {n} runs is not recorded: they count, as their runtime is known.",
            n=Number.count("evidence.unknown.n", found[NOT_RECORDED]),
        )


def _machines(runs):
    if "host" not in runs:
        return
    hosts, devices = (runs[name][runs[name] != ""] for name in ("host", "device"))
    if len(hosts):
        yield say("They ran on {n} {n:machine|machines}.", n=Number.count("machines.n", hosts.nunique()))
    if len(devices):
        yield say("Devices: {rows}.", rows=_tallied("device", devices.value_counts().head(N_NAMED)))
    counted = runs["devices"].notna()
    if counted.any():
        device_s = float((runs["devices"] * runs["runtime_s"])[counted].sum())
        yield say(
            "The {n} runs whose devices are recorded took {h} of device time.",
            h=Number("device_hours", device_s / 3600, time_text(device_s)),
            n=Number.count("device_hours.n", counted.sum()),
        )


def _excluded(table):
    """How many runs were left out, why, and what they cost."""
    if not len(table):
        return say("No run was left out.")
    taken_s = lost_s(table).sum()
    return say(
        "{n} {n:run is|runs are} left out of every statistic ({reasons})[, which took {t}].",
        n=Number.count("excluded.n", len(table)),
        reasons=[
            say("{n} {status}", n=Number.count(key("excluded", status, "n"), n), status=Name(status))
            for status, n in table["status"].value_counts().items()
        ],
        t=Number.time("excluded.runtime_s", taken_s) if taken_s > 0 else None,
    )


def counted(runs):
    """Say how many completed runs these are, of how many, and what they took."""
    n_excluded = len(runs.excluded)
    return say(
        "{n} of {all} completed runs took {t}[; beside them {more} that no statistic includes].",
        n=Number.count("chosen.n", len(runs.frame)),
        all=Number.count("chosen.n_all", len(runs.frame) if runs.of_all is None else runs.of_all),
        t=Number.time("chosen.total_s", runs.runtime_s.sum()),
        more=Number.count("chosen.n_excluded", n_excluded) if n_excluded else None,
    )


def _excluded_table(frame):
    if not len(frame):
        return None
    frame = frame[["run_id", "path", "status", "reason", "runtime_s"]]
    return Table(
        "excluded",
        say(
            "Runs left out of every statistic: {n}. Their runtime is shown as far as it is known.",
            n=Number.count("excluded.n", len(frame)),
        ),
        (
            Heading("run_id", "run"),
            Heading("path", "path"),
            Heading("status", "status"),
            Heading("reason", "reason"),
            Heading("runtime_s", "runtime", time_text),
        ),
        frame,
        filter="runs left out",
        origins=of_one(frame["run_id"]),
        limit=MAX_RUN_ROWS,
    )


def _notes_table(frame):
    """What was dropped from runs that are otherwise used, or is only known of them roughly."""
    if not len(frame):
        return None
    groups = frame.groupby("note", sort=False)
    listed = groups.agg(n_runs=("run_id", "size"), run_id=("run_id", "first"), path=("path", "first"))
    origins = [Origin(len(g), "completed runs with the row's note", tuple(g["run_id"])) for _, g in groups]
    return Table(
        "notes",
        say("What was left out of runs that are otherwise used, or is known roughly only."),
        (
            Heading("note", "note"),
            Heading("n_runs", "runs", count),
            Heading("run_id", "the first of them"),
            Heading("path", "its file"),
        ),
        listed.reset_index(),
        frame["run_id"].nunique(),
        origins=origins,
        limit=MAX_RUN_ROWS,
    )


@arguments.checked
def listing(runs, *, name=""):
    """List each run, completed or not, with the settings that differ between these runs.

    Parameters
    ----------
    runs : Runs
        Possibly none.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per run, the completed ones first: ``run_id``, ``status``, ``runtime_s``,
        ``runtime`` (in the unit that is printed), and every setting as ``config.…``.

    Examples
    --------
    >>> len(listing(runs).frame)
    36
    """
    frame = _each(runs)
    return Result.showing(
        "listing", frame, [counted(runs)], _listing_table(frame), prefix=name, of=runs.label
    )


def _each(runs):
    """Return the rows of completed and other runs in one frame, whole numbers as such where they can be."""
    parts = [f.assign(status=subsets.statuses_of(f)) for f in (runs.frame, runs.excluded) if len(f)]
    names = dict.fromkeys(name for part in parts for name in part if name.startswith(PREFIX))
    columns = ["run_id", "status", "runtime_s", *names]
    if not parts:
        return pd.DataFrame(columns=["run_id", "status", "runtime_s", "runtime"])
    # As objects: runs that were left out may lack a setting, or have text where others have numbers.
    each = pd.concat([part.reindex(columns=columns).astype(object) for part in parts], ignore_index=True)
    each = each.infer_objects()
    each.insert(3, "runtime", (each["runtime_s"].astype(float) / runs.unit.seconds).round(2))
    return each


def _listing_table(frame):
    varying = [name for name in frame if name.startswith(PREFIX) and frame[name].nunique(dropna=False) > 1]
    printers = {name: setting if pd.api.types.is_numeric_dtype(frame[name]) else str for name in varying}
    return Table(
        "listing",
        say("Each run with the settings that differ between these runs"),
        (
            Heading("run_id", "run"),
            Heading("status", "status"),
            Heading("runtime_s", "runtime", time_text),
            *(Heading(name, name.removeprefix(PREFIX), printer) for name, printer in printers.items()),
        ),
        frame,
        filter="completed and other runs",
        origins=of_one(frame["run_id"]),
        holds=("listing", "chosen"),
    )
