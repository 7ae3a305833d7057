"""How the numbers of a page were made: its runs, what each setting is taken for, and the tests."""

import json

import pandas as pd

from traincost.analysis.fields import ALL_RUNS
from traincost.printing import count, time_text
from traincost.results import arguments
from traincost.results.names import shared_settings
from traincost.results.prose import Name, Number, say
from traincost.results.result import More, Result
from traincost.results.tables import MAX_RUN_ROWS, MAX_RUNS, Heading, Table, of_one


@arguments.checked
def provenance(runs, *, name=""):
    """Say how the numbers were made: the tests, each run with its file, what each setting is taken for.

    Parameters
    ----------
    runs : Runs
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per setting: ``field``, ``kind``, ``n_levels``, ``level``, ``reason``.
    """
    by, across = runs.axes
    return Result.showing(
        "provenance",
        runs.fields,
        _same_in_every_run(runs),
        runs.result.tables.get("excluded"),
        runs.result.tables.get("notes"),
        More(
            say("The {n} {n:run|runs}, slowest first", n=Number.count("runtime.n", len(runs))),
            (_runs_table(runs.frame, by, across),),
        ),
        More(
            say("What each setting is taken for, and how the verdicts were reached"),
            (_permutations(runs.effects), _fields_table(runs.fields, len(runs.frame)), _names_table(runs)),
        ),
        prefix=name,
        of=runs.label,
    )


def _same_in_every_run(runs):
    """The settings that all runs share: those asked for, or the shortest-named few."""
    shared, more = shared_settings(runs.described, runs.shared_settings)
    if shared:
        yield say(
            "Same in every run: {s}[, and {more} more].",
            s=[say("{name} {value}", name=Name(name), value=Name(value)) for name, value in shared],
            more=Number.count("settings.more", more) if more else None,
        )


def _permutations(effects):
    """How many permutations the verdicts rest on, and whether anything was repeated."""
    drawn = effects.loc[effects["p_alone"].notna(), "n_permutations"].max()
    if not drawn > 0:
        return
    n_runs, n_configurations = effects[["n_runs", "n_configurations"]].iloc[0]
    yield say(
        "Family-wise p-values come from {n} seeded permutations of {c} configurations.",
        n=Number.count("effects.n_permutations", drawn),
        c=Number.count("effects.n_configurations", n_configurations),
    )
    if n_runs == n_configurations:
        yield say(
            "No configuration was repeated among these runs: they do not tell how far repetitions differ."
        )


def _runs_table(frame, by, across):
    """The runs with their files and settings, the slowest first: where every other table comes from."""
    shown = [field for field in (by, across) if field is not None and field.name != ALL_RUNS]
    levels = {f"level.{f.name}": [f.labels[code] for code in f.codes] for f in shown}
    listed = frame[["run_id", "path", "started_at", "runtime_s"]].assign(**levels)
    listed = listed.sort_values("runtime_s", ascending=False, kind="stable").head(MAX_RUNS)
    return Table(
        "runs",
        say(
            "The [slowest {n} of {of} ]completed runs and the file of each, below the directory of the runs; "
            "slowest first.",
            n=Number.count("runs.n_listed", len(listed)) if len(listed) < len(frame) else None,
            of=Number.count("runtime.n", len(frame)),
        ),
        (
            Heading("run_id", "run"),
            *(Heading(f"level.{f.name}", f.name) for f in shown),
            Heading("runtime_s", "runtime", time_text),
            Heading("path", "file"),
        ),
        listed,
        len(frame),
        origins=of_one(listed["run_id"]),
        holds=("runtime",),
        limit=MAX_RUN_ROWS,
        aliases=("runtime-snapshot",),
    )


def _names_table(runs):
    rows = [
        (field.name, short, level)
        for field in runs.described
        if field.is_factor
        for level, short in runs.short(field.name).items()
        if short != level
    ]
    return Table(
        "names",
        say("Levels whose names are shortened here"),
        (Heading("setting", "setting"), Heading("short", "here"), Heading("level", "whole name", code=True)),
        pd.DataFrame(rows, columns=["setting", "short", "level"]),
        len(runs.frame),
    )


def _fields_table(frame, n_runs):
    return Table(
        "fields",
        say("Every setting of the runs, and what it is taken for."),
        (
            Heading("field", "setting"),
            Heading("kind", "taken for", str, "levels or numeric: a factor; shared: one level in all runs"),
            Heading("n_levels", "levels", count),
            Heading("level", "its level"),
            Heading("reason", "why"),
        ),
        frame,
        n_runs,
        holds=("settings",),
    )


def parameters_table(values):
    """The parameters that this page was built with."""
    rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in values.items()]
    return Table(
        "parameters",
        say("Parameters of this page, but those that are empty"),
        (Heading("name", "parameter"), Heading("value", "value")),
        pd.DataFrame(rows, columns=["name", "value"]),
        0,
        "parameters",
    )


def versions_table(values):
    """The versions of what computed the numbers, by name: a stored notebook sorts its keys."""
    return Table(
        "versions",
        say("Computed with."),
        (Heading("name", "package"), Heading("version", "version")),
        pd.DataFrame(sorted(values.items()), columns=["name", "version"]),
        0,
        "versions",
    )
