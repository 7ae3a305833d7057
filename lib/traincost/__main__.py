"""The command line: ``traincost page RUNS_DIR`` and its siblings.

Exit status: 0 built; 1 a notebook cell failed, no page was written; 2 input or arguments
cannot be used, said in one line; 130 interrupted. ``traincost check`` has three more: 3 slower beyond
the limit, 4 too few runs to tell, and 5 runs were lost.

Help must come at once, so each command imports what it needs when it runs.
"""

import logging
import os
import sys

import click

from traincost import __version__
from traincost.errors import limit_of
from traincost.pages.commands import NotebookCommand, given
from traincost.words import printable

CELL_FAILED, USAGE_ERROR, INTERRUPTED = 1, 2, 130


def main(arguments=None):
    """Run one command; return its exit status."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # a home that keeps no cache is no matter here
    try:
        return commands.main(arguments, prog_name="traincost", standalone_mode=False) or 0
    except click.Abort:
        _tell("interrupted")
        return INTERRUPTED
    except click.UsageError as problem:
        command = problem.ctx.command_path if problem.ctx else "traincost"
        _tell(f"{problem.format_message().rstrip('.')}; see {command} --help")
        return USAGE_ERROR
    except (ValueError, OSError) as problem:
        limit = limit_of(problem)
        _tell(" ".join(str(problem).split()) + (f": {limit}" if limit else ""))
        return USAGE_ERROR
    except RuntimeError as problem:
        click.echo(f"traincost: {problem}", err=True)
        return CELL_FAILED


def _tell(line):
    click.echo(f"traincost: {printable(line)}", err=True)


def _output(command):
    """Add the options that say where a page goes."""
    command = click.option("--force", is_flag=True, help="Replace the report of another collection, too.")(
        command
    )
    return click.option("-o", "--output", metavar="DIR", help="Folder of the page (reports/NAME).")(command)


def _engine(command):
    """Add the options that say where runs are read."""
    command = click.option(
        "--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers read the runs."
    )(command)
    return click.option(
        "--workers", type=int, metavar="N", help="Processes that read the runs (1; 0: one for each core)."
    )(command)


def _set(**options):
    return {name: value for name, value in options.items() if value is not None}


@click.group(invoke_without_command=True)
@click.version_option(__version__, prog_name="traincost", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx):
    """What a collection of training runs cost, what it depends on, and what to change.

    RUNS_DIR is a directory of runs, a table or an index of them, or a URL (s3://...).

    \b
    Example: traincost page runs
    Completion in bash, zsh or fish: eval "$(_TRAINCOST_COMPLETE=bash_source traincost)"
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@commands.command(cls=NotebookCommand, kind="profiling")
@click.argument("runs_dir", type=click.Path())
@_output
@_engine
@click.option("--profile", is_flag=True, help="Record this build, and make the page of its builds.")
def page(runs_dir, output, force, workers, scheduler, profile, parameters):
    """Build the profiling page of a directory of runs.

    Writes profiling.html and profiling.json; with --profile also build/profiling.html beside them:
    where the time of such builds goes.

    \b
    Example: traincost page runs -f params.yaml -p rows task_name -o reports/sweep
    """
    from functools import partial

    from traincost.pages import builds

    parameters |= {**_set(workers=workers, scheduler=scheduler), "runs_dir": runs_dir}
    if profile:
        made = partial(_page, "profiling", parameters, output, force=force)
        paths = builds.recorded(lambda watch: made(watch=watch), output)
    else:
        paths = [_page("profiling", parameters, output, force=force)]
    click.echo("\n".join(map(str, paths)))
    if parameters.get("knobs"):
        _tell_unmatched(paths[0])


def _tell_unmatched(page):
    """Name the knobs of a page whose patterns match no section: nothing was computed of them."""
    import json
    import pathlib

    if not isinstance(page, pathlib.Path):  # a URL
        return
    report = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    for row in report["tables"].get("knobs", {}).get("rows", []):
        if row["kind"] != "joint" and not row["sections"]:
            _tell(f"the knob {row['knob']!r} matches no section of these runs; mend its `sections`")


def _page(kind, parameters, output, **more):
    from traincost.pages import publish

    return publish.build(kind, parameters, output, progress=sys.stderr.isatty(), **more)


def _build(kind, parameters, output, force=False):
    click.echo(_page(kind, parameters, output, force=force))


@commands.command(cls=NotebookCommand, kind="estimation")
@click.argument("systems", type=click.Path())
@_output
def estimate(systems, output, force, parameters):
    """Build the card of the training compute of systems or runs.

    SYSTEMS is a sheet (YAML) or CSV, or a directory of runs. Writes estimation.html and
    estimation.json.

    \b
    Example: traincost estimate systems.yaml -p subset "largest 20"
    """
    _build("estimation", {**parameters, "systems": systems}, output, force)


@commands.command(cls=NotebookCommand, kind="compare")
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@_output
def compare(before, after, output, force, parameters):
    """Build the page that compares two directories of runs.

    Writes compare.html and compare.json.

    \b
    Example: traincost compare runs-before runs-after
    """
    _build("compare", {**parameters, "before": before, "after": after}, output, force)


@commands.command()
@click.argument("notebook", type=click.Path(), metavar="NOTEBOOK.ipynb")
@_output
@click.option("-f", "--parameters", type=click.Path(), help="YAML file of parameters.")
@click.option(
    "-p", "--parameter", nargs=2, multiple=True, metavar="NAME VALUE", help="One parameter; may be repeated."
)
def publish(notebook, output, force, parameters, parameter):
    """Execute any notebook and write its page.

    Writes NAME.html and NAME.json of NAME.ipynb. The notebook runs in its own folder; -p and -f set
    what its cell tagged "parameters" declares.

    \b
    Example: traincost publish my.ipynb -p runs_dir runs
    """
    from traincost.pages import parameters as declarations
    from traincost.pages import publish

    declared = declarations.declared(declarations.read_notebook(notebook))
    values = given(declared, parameters, parameter)
    click.echo(publish.build(notebook, values, output, progress=sys.stderr.isatty(), force=force))


@commands.command(cls=NotebookCommand, kind="explore")
@click.argument("runs_dir", type=click.Path())
@click.option("-o", "--output", metavar="NOTEBOOK", help="The copy that is opened (explore-NAME.ipynb).")
@click.option("--no-browser", is_flag=True, help="Start JupyterLab without opening a browser.")
@click.option("--allow-root", is_flag=True, help="Start it as root too, as in a container.")
def explore(runs_dir, output, no_browser, allow_root, parameters):
    """Open a notebook to explore runs in JupyterLab.

    It is your copy, explore-NAME.ipynb in the working folder, and is kept.

    \b
    Example: traincost explore runs -p replicates "[seed, fold]"
    """
    from traincost.pages import lab

    path = lab.notebook({**parameters, "runs_dir": runs_dir}, output)
    return lab.opened(path, browser=not no_browser, allow_root=allow_root)


_READING = ("Runs", "A table of runs", "Where the runs are read")  # groups of parameters


@commands.command(cls=NotebookCommand, kind="profiling", groups=_READING)
@click.argument("runs_dir", type=click.Path())
@click.option("--format", metavar="NAME", help="One reader instead of all.")
@click.option("--path-pattern", metavar="PATTERN", help="Settings in paths: lr_{lr}/...")
def formats(runs_dir, format, path_pattern, parameters):
    """Say what is recognised in a directory, and what is left out.

    Lists the runs by kind, what their fields became, and the reason for all else.

    \b
    Example: traincost formats runs --path-pattern "lr_{lr}/seed_{seed}"
    """
    from traincost.reading.formats.table import Table
    from traincost.results import inventory

    parameters |= _set(format=format, path_pattern=path_pattern)
    columns = {name: parameters.pop(name) for name in set(parameters) & set(Table.__dataclass_fields__)}
    for line in inventory.lines(runs_dir, table=Table(**columns), **parameters):
        click.echo(printable(line))


@commands.command(cls=NotebookCommand, kind="profiling", groups=("A table of runs",))
@click.argument("runs_dir", type=click.Path())
@click.option("-o", "--output", metavar="INDEX", required=True, help="Folder of the index.")
@click.option("--format", default="auto", metavar="NAME", help="Name of the reader (auto).")
@_engine
def index(runs_dir, output, format, workers, scheduler, parameters):
    """Make or refresh a Parquet index of a directory or table of runs.

    Every command takes INDEX in place of RUNS_DIR. Run again, it reads what is new or changed.

    \b
    Example: traincost index runs -o runs-index
    """
    from functools import partial

    from tqdm import tqdm

    from traincost.reading import refreshing
    from traincost.reading.formats.table import Table

    progress = partial(tqdm, desc="reading", leave=False, disable=not sys.stderr.isatty())
    engine = _set(workers=workers, scheduler=scheduler)
    counts = refreshing.refresh(runs_dir, output, format, progress, **engine, table=Table(**parameters))
    click.echo(printable(output))
    click.echo(", ".join(f"{n:,} {what}" for what, n in counts.items()), err=True)


@commands.command()
@click.argument("config", type=click.Path())
@click.option("--tokens", metavar="N", help="Tokens of the whole training: 2T, 1.5e9.")
@click.option("--context", type=int, metavar="N", help="Tokens of a sequence (that of the file).")
@click.option("--json", metavar="FILE", help="Write the numbers to this file.")
@click.option("--card", metavar="FILE", help="Write them as a small page to this file.")
def count(config, tokens, context, json, card):
    """Count the parameters, FLOP and memory of a model.

    CONFIG is a config.json of Hugging Face, or the folder that holds it.

    \b
    Example: traincost count config.json --tokens 2T --context 4096
    """
    from traincost.results import count as results

    found = results.count(config, tokens=tokens, context=context)
    if json:
        _write(json, results.as_json(found))
    if card:
        from traincost.pages import exporter

        _write(card, exporter.framed(f"{printable(found.of)}: parameters and FLOP", found.html()))
    click.echo("\n".join(map(printable, results.lines(found))))


@commands.command()
@click.argument("file", type=click.Path())
def audit(file):
    """Print where the figures that systems report contradict.

    FILE is a sheet (YAML) or CSV of systems. The largest ratio comes first.

    \b
    Example: traincost audit systems.yaml
    """
    from traincost.estimation import contradictions, estimates
    from traincost.printing import significant
    from traincost.results.prose import plural
    from traincost.results.systems import read_systems

    reported = read_systems(file)
    found = contradictions.contradictions(estimates.estimate_systems(reported.frame), reported.frame)
    for row in found.itertuples():
        line = (
            f"{row.subject}: {row.kind}: {significant(row.first)} ({row.first_source}) against "
            f"{significant(row.second)} ({row.second_source}), ratio {significant(row.ratio)}"
        )
        click.echo(printable(line))
    for row in reported.rejected.itertuples():
        click.echo(printable(f"row {row.row} {row.system}: {row.column}: {row.reason}"), err=True)
    n, of = len(found), len(reported.frame)
    click.echo(f"{n} {plural(n, 'contradiction')} among {of} {plural(of, 'system')}")


@commands.command(cls=NotebookCommand, kind="compare")
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@click.option("--max-slowdown", default="5%", metavar="P%", help="The limit (5%).")
@click.option(
    "--max-lost",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="So many configurations, and runs, may be lost (0).",
)
@click.option("--json", metavar="FILE", help="Write the result to this file.")
@click.option("--junit", metavar="FILE", help="Write a JUnit report to this file.")
@click.option("--markdown", metavar="FILE", help="Write a summary to this file.")
def check(before, after, max_slowdown, max_lost, json, junit, markdown, parameters):
    """Say whether runs became slower than a limit allows, for CI.

    Exit status: 0 within the limit; 3 slower beyond it, by more than chance; 4 too few runs to tell;
    5 runs were lost: configurations that completed BEFORE and not AFTER, or runs AFTER that did not
    complete.

    \b
    Example: traincost check runs-before runs-after --max-slowdown 5% --junit check.xml
    Example: traincost check runs-before runs-after -p where '{task: [sorting]}'
    """
    from functools import partial
    from time import monotonic

    started = monotonic()
    _refuse_unwritable(json, junit, markdown)
    settings = _checked("compare", parameters)

    from traincost.results import gate

    found = gate.checked(before, after, settings, max_slowdown, max_lost)
    junit_text = partial(gate.as_junit, seconds=monotonic() - started)
    for path, text in ((json, gate.as_json), (junit, junit_text), (markdown, gate.as_markdown)):
        if path:
            _write(path, text(found))
    click.echo(printable(gate.line(found)))
    return found.status


def _checked(kind, given):
    """Return the parameters of a notebook of ours, those given in place of the defaults."""
    from traincost.pages import parameters
    from traincost.results import checks

    declared = parameters.declared(parameters.read_notebook(parameters.notebook_path(kind)))
    given = parameters.checked(given, declared)
    checks.check(**given)
    return parameters.defaults(declared) | given


@commands.command(cls=NotebookCommand, kind="plan", file_names=("-f", "--parameters", "--proposal"))
@click.argument("runs_dir", type=click.Path())
@click.option("--remaining", is_flag=True, default=None, help="What is left of the grid of these runs.")
@click.option("--json", metavar="FILE", help="Write the numbers to this file.")
@click.option("-o", "--output", metavar="DIR", help="Build the page too, plan.html in this folder.")
@click.option("--force", is_flag=True, help="Replace the page of another collection, too.")
def plan(runs_dir, remaining, json, output, force, parameters):
    """Say what a proposed sweep would take, or what is left of one.

    Prints hours, device-hours and money with their interval; with -o it also writes plan.html and
    plan.json.

    \b
    Example: traincost plan runs -f plan.yaml
    Example: traincost plan runs --remaining -p price_per_hour 2.5 -o reports/plan
    """
    from traincost.results import plan

    parameters |= {**_set(remaining=remaining), "runs_dir": runs_dir}
    _refuse_unwritable(json)
    asked = _checked("plan", parameters)
    found = _answered(plan, asked)
    if json:
        _write(json, plan.as_json(found))
    click.echo("\n".join(map(printable, found.lines)))
    if output:
        _build("plan", parameters, output, force)


def _answered(plan, asked):
    """Return what the notebook of plans shows, without a kernel."""
    from traincost.reading.formats.table import Table
    from traincost.results import remaining
    from traincost.results.runs import read

    names = ("format", "path_pattern", "replicates", "show", "where", *Table.__dataclass_fields__)
    runs = read(asked["runs_dir"], **{name: asked[name] for name in names if name in asked})
    both = {name: asked[name] for name in ("levels", "devices", "price_per_hour", "currency")}
    if asked["remaining"]:
        now = {name: asked[name] for name in ("seeds", "at_once", "at_work")}
        return remaining.remaining(runs, **now, **both)
    return plan.plan(runs, seeds=asked["seeds"] or 1, knobs=asked["knobs"], **both)


def _refuse_unwritable(*paths):
    """Refuse files that could not be written, before anything is read; those not asked for are None."""
    from traincost.reading import folders

    for path in filter(None, paths):
        if not _is_pipe(path):
            folders.refuse_unwritable(os.path.dirname(os.path.realpath(path)))


def _is_pipe(path):
    """Say whether a file to be written is none, as /dev/stdout."""
    return os.path.exists(path) and not os.path.isfile(path)


def _write(path, text):
    from traincost.reading import folders

    if _is_pipe(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    place, name = os.path.split(os.path.realpath(path))
    folder = folders.at(place)
    with folders.told(folder), folder.locked():
        folder.publish({name: text.encode("utf-8")})


@commands.command()
@click.argument("reports", type=click.Path())
def site(reports):
    """Write the front page of a folder of reports.

    Writes index.html, and links the pages to each other.

    \b
    Example: traincost site reports
    """
    from traincost.pages import site

    click.echo(site.build(reports))


if __name__ == "__main__":
    sys.exit(main())
