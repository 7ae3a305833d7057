"""What was read: how many runs, how long they took, what they share, and what was left out."""

from traincost.analysis import levels
from traincost.analysis.verdicts import CHANCE
from traincost.printing import count, time_text
from traincost.reading.formats.statuses import EVIDENCE, NOT_RECORDED
from traincost.results.names import shared_settings
from traincost.results.numbers import N_NAMED, duration, key, names, number_of, plural
from traincost.results.prose import Name, Number, When, say
from traincost.results.result import Items, Result
from traincost.results.tables import MAX_RUN_ROWS, Heading, Origin, Table, of_one


def snapshot(runs):
    """Say what was read: how many runs, their runtimes, what they share, and what was left out.

    Parameters
    ----------
    runs : Runs

    Returns
    -------
    Result
        ``frame`` has a row per completed run, as `Runs.frame`.
    """
    by, across = runs.axes
    by_level, by_other = (levels.level_runtimes(runs.runtime_s, field) for field in (by, across))
    said = [
        *_runtime_columns(runs.runtime_columns),
        *_runtimes(runs.runtime_s),
        *_shared_settings(runs.described, runs.shared_settings),
        *_extreme_levels(by_level, by.name, runs.short(by.name)),
        *_slowest_level(by_other, across, runs.effects),
        *_started(runs.frame),
        *_ends(runs.frame),
        *_machines(runs.frame),
        *_excluded(runs.excluded),
    ]
    return Result.showing(
        "runs",
        runs.frame,
        [counted(runs)] if runs.of_all is not None else None,
        Items(tuple(said)),
        _excluded_table(runs.excluded),
        _notes_table(runs.notes),
        prefix=runs.chosen,
        of=runs.label,
    )


def nothing_chosen(runs):
    """Say that none of the runs is chosen, where a choice leaves no completed run."""
    return Result.showing("runs", runs.frame, [say("No completed run is chosen.")], of=runs.label)


def _runtimes(runtime_s):
    """How many runs, and how long they took in all, on average and at most."""
    n = number_of("runtime.n", len(runtime_s))

    def took(name):
        values = {
            "mean": runtime_s.mean(),
            "median": runtime_s.median(),
            "min": runtime_s.min(),
            "max": runtime_s.max(),
            "total": runtime_s.sum(),
        }
        return duration(f"runtime.{name}_s", values[name])

    if len(runtime_s) == 1:
        return [say("{n} completed run took {t}.", n=n, t=took("mean"))]
    return [
        say("{n} completed runs took {t} in all.", n=n, t=took("total")),
        say(
            "A run took {mean} on average (median {median}), from {low} to {high}.",
            mean=took("mean"),
            median=took("median"),
            low=took("min"),
            high=took("max"),
        ),
    ]


def _runtime_columns(columns):
    """What a table's runtime is made of, where a parameter says so."""
    if not columns:
        return []
    what = "the sum of the columns {c}" if len(columns) > 1 else "the column {c}"
    return [say("Runtime is " + what + " of the table.", c=names(columns))]


def _shared_settings(fields, names):
    """The settings that all runs share: those in `names`, or the shortest-named few."""
    shared, more = shared_settings(fields, names)
    if not shared:
        return []
    listed = [Name(f"{name}={value}") for name, value in shared]
    tail = say(", and {n} more", n=number_of("settings.more", more)) if more else ""
    return [say("Same in every run: {s}{tail}.", s=listed, tail=tail)]


def _extreme_levels(levels, name, short):
    """The slowest and the fastest levels of a factor by mean runtime, as list items.

    `levels` has ``level``, ``mean_s``, slowest first.
    """
    if len(levels) < 2:
        return []

    def listed(rows):
        return [
            say(
                "{level} {t}",
                level=Name(short.get(row.level, row.level)),
                t=duration(key("level", name, row.level, "mean_s"), row.mean_s),
            )
            for row in rows.itertuples()
        ]

    n = min(N_NAMED, len(levels) // 2)
    fastest = levels.iloc[::-1].head(min(2, n))
    return [
        say("Slowest {f} on average: {rows}.", f=Name(name), rows=listed(levels.head(n))),
        say("Fastest {f} on average: {rows}.", f=Name(name), rows=listed(fastest)),
    ]


def _slowest_level(levels, field, effects):
    """The slowest level of a second factor, where there is one, and whether that means anything."""
    if len(levels) < 2:
        return []
    row, verdict = levels.iloc[0], effects.set_index("factor")["verdict"].get(field.name, "")
    number = duration(key("level", field.name, row.level, "mean_s"), row.mean_s)
    return [
        say(
            "Slowest {f} on average: {level} {t}{doubt}.",
            f=Name(field.name),
            level=Name(row.level),
            t=number,
            doubt=", a difference that cannot be told from chance" if verdict == CHANCE else "",
        )
    ]


def _started(runs):
    """When the runs were started."""
    times = sorted(filter(None, runs["started_at"]))
    if not times:
        return []
    if times[0][:10] == times[-1][:10]:
        return [say("Started on {day}.", day=When(times[0][:10]))]
    return [say("Started from {a} to {b}.", a=When(times[0][:10]), b=When(times[-1][:10]))]


def _ends(runs):
    """How it is known that the runs came to their end, and for how many it is not."""
    if "evidence" not in runs or not len(runs):
        return []
    found = runs["evidence"].replace("", NOT_RECORDED).value_counts()
    unknown = int(found.get(NOT_RECORDED, 0))
    items = []
    if known := [name for name in EVIDENCE if name in found and name != NOT_RECORDED]:
        rows = [
            say("{e} ({n})", e=Name(name), n=number_of(key("evidence", name, "n"), int(found[name])))
            for name in known
        ]
        items.append(say("That they came to their end is known by {rows}.", rows=rows))
    if unknown:
        items.append(
            say(
                "The end of {n} runs is not recorded: they count, as their runtime is known.",
                n=number_of("evidence.unknown.n", unknown),
            )
        )
    return items


def _machines(runs):
    """On how many machines and which devices the runs took place, where that is recorded."""
    if "host" not in runs:
        return []
    hosts, devices = (runs[name][runs[name] != ""] for name in ("host", "device"))
    items = []
    if len(hosts):
        items.append(
            say(
                "They ran on {n} {machines}.",
                n=number_of("machines.n", hosts.nunique()),
                machines=plural(hosts.nunique(), "machine"),
            )
        )
    if len(devices):
        rows = [
            say("{d} ({n})", d=Name(name), n=number_of(key("device", name, "n"), int(n)))
            for name, n in devices.value_counts().head(N_NAMED).items()
        ]
        items.append(say("Devices: {rows}.", rows=rows))
    counted = runs["devices"].notna()
    if counted.any():
        device_s = float((runs["devices"] * runs["runtime_s"])[counted].sum())
        items.append(
            say(
                "The {n} runs whose devices are recorded took {h} of device time.",
                h=Number("device_hours", device_s / 3600, time_text(device_s)),
                n=number_of("device_hours.n", int(counted.sum())),
            )
        )
    return items


def _excluded(table):
    """How many runs were left out, why, and what they cost."""
    if not len(table):
        return [say("No run was left out.")]
    by_status = table["status"].value_counts(sort=True)
    reasons = [
        say("{n} {status}", n=number_of(key("excluded", status, "n"), n), status=Name(status))
        for status, n in by_status.items()
    ]
    hours = table["runtime_s"].clip(lower=0).sum()
    tail = say(
        ", which took {t}",
        t=duration("excluded.runtime_s", hours),
    )
    return [
        say(
            "{n} {runs} left out of every statistic ({reasons}){tail}.",
            n=number_of("excluded.n", len(table)),
            runs=plural(len(table), "run is", "runs are"),
            reasons=reasons,
            tail=tail if hours > 0 else "",
        )
    ]


def counted(runs):
    """Say how many completed runs these are, of how many, and what they took."""
    total_s = float(runs.runtime_s.sum())
    beside = say(
        "; beside them {n} that no statistic includes", n=number_of("chosen.n_excluded", len(runs.excluded))
    )
    return say(
        "{n} of {all} completed runs took {t}{rest}.",
        n=number_of("chosen.n", len(runs.frame)),
        all=number_of("chosen.n_all", len(runs.frame) if runs.of_all is None else runs.of_all),
        t=duration("chosen.total_s", total_s),
        rest=beside if len(runs.excluded) else "",
    )


def _excluded_table(frame):
    """The runs that no statistic includes."""
    if not len(frame):
        return None
    frame = frame[["run_id", "path", "status", "reason", "runtime_s"]]
    return Table(
        "excluded",
        say(
            "Runs left out of every statistic: {n}. Their runtime is shown as far as it is known.",
            n=Number("excluded.n", len(frame), count(len(frame))),
        ),
        (
            Heading("run_id", "run"),
            Heading("path", "path"),
            Heading("status", "status"),
            Heading("reason", "reason"),
            Heading("runtime_s", "runtime", time_text),
        ),
        frame,
        len(frame),
        "runs left out",
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
