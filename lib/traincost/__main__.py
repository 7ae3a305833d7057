"""The command line: ``traincost page RUNS_DIR`` and its siblings.

Exit status: 0 built; 1 a notebook cell failed, no page was written; 2 input or arguments
cannot be used, said in one line. ``traincost check`` has two more: 3 slower beyond the limit, and
4 too few runs to tell.
"""

import argparse
import sys

USAGE_ERROR, CELL_FAILED = 2, 1


def main(arguments=None):
    """Run one command; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (ValueError, FileNotFoundError, PermissionError, OSError) as problem:
        print(f"traincost: {_one_line(problem)}", file=sys.stderr)
        return USAGE_ERROR
    except RuntimeError as problem:
        print(f"traincost: {problem}", file=sys.stderr)
        return CELL_FAILED


def _one_line(problem):
    return _printable(" ".join(str(problem).split()))


def _parser():
    from traincost import __version__

    parser = argparse.ArgumentParser(
        prog="traincost",
        description="What a collection of training runs cost, what it depends on, and what to change.",
    )
    parser.add_argument("--version", action="version", version=f"traincost {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, arguments, what in (
        ("page", _page, ("RUNS_DIR",), "build the profiling page of a directory of runs"),
        ("estimate", _estimate, ("SYSTEMS",), "build the estimation card of systems or runs"),
        ("compare", _compare, ("BEFORE", "AFTER"), "build the page that compares two directories of runs"),
    ):
        command = commands.add_parser(name, help=what, description=run.__doc__)
        command.add_argument("sources", metavar=arguments, nargs=len(arguments))
        command.add_argument("-o", "--output", metavar="DIR", help="folder of the page (reports/NAME)")
        command.add_argument("-f", "--parameters", metavar="FILE", help="YAML file of parameters")
        command.add_argument(
            "-p",
            "--parameter",
            nargs=2,
            action="append",
            default=[],
            metavar=("KEY", "VALUE"),
            help="one parameter; may be repeated",
        )
        if name == "page":
            _add_engine(command)
            command.add_argument(
                "--profile", action="store_true", help="record this build, and make the page of its builds"
            )
        command.set_defaults(run=run)
    formats = commands.add_parser(
        "formats", help="say what is recognised in a directory, and what is not", description=_formats.__doc__
    )
    formats.add_argument("runs_dir", metavar="RUNS_DIR")
    formats.add_argument("--format", default="auto", metavar="NAME", help="one reader instead of all")
    formats.add_argument("--path-pattern", default="", metavar="PATTERN", help="settings in paths: lr_{lr}/…")
    formats.set_defaults(run=_formats)
    index = commands.add_parser(
        "index", help="make or refresh an index of a directory of runs", description=_index.__doc__
    )
    index.add_argument("source", metavar="RUNS_DIR")
    index.add_argument("-o", "--output", metavar="INDEX", required=True, help="folder of the index")
    index.add_argument("--format", default="auto", help="name of the reader (auto)")
    _add_engine(index)
    index.set_defaults(run=_index)
    audit = commands.add_parser(
        "audit", help="print the contradictions among what systems report", description=_audit.__doc__
    )
    audit.add_argument("file", metavar="FILE", help="a sheet (YAML) or CSV of systems")
    audit.set_defaults(run=_audit)
    _add_check(commands)
    _add_plan(commands)
    site = commands.add_parser(
        "site", help="build the front page of a folder of reports", description=_site.__doc__
    )
    site.add_argument("folder", metavar="REPORTS")
    site.set_defaults(run=_site)
    return parser


def _add_check(commands):
    command = commands.add_parser(
        "check", help="say whether runs got slower than they may, for CI", description=_check.__doc__
    )
    command.add_argument("sources", metavar=("BEFORE", "AFTER"), nargs=2)
    command.add_argument("--max-slowdown", default="5%", metavar="P%", help="the limit (5%%)")
    for name, what in (("json", "the result"), ("junit", "a JUnit report"), ("markdown", "a summary")):
        command.add_argument(f"--{name}", metavar="FILE", help=f"write {what} to this file")
    command.add_argument("-f", "--parameters", metavar="FILE", help="YAML file, as for compare")
    command.set_defaults(run=_check)


def _add_plan(commands):
    command = commands.add_parser(
        "plan", help="say what a proposed sweep would take", description=_plan.__doc__
    )
    command.add_argument("source", metavar="RUNS_DIR")
    command.add_argument("-f", "--proposal", metavar="FILE", help="YAML file: levels, seeds, knobs, price")
    command.add_argument("--json", metavar="FILE", help="write the numbers to this file")
    command.set_defaults(run=_plan)


def _add_engine(command):
    command.add_argument(
        "--workers", type=int, metavar="N", help="processes that read the runs (1; 0: one for each core)"
    )
    command.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers read the runs")


def _engine(options):
    """Return the engine's arguments that were given."""
    given = {"workers": options.workers, "scheduler": options.scheduler}
    return {name: value for name, value in given.items() if value is not None}


def _index(options):
    """Make a Parquet index of the runs under RUNS_DIR, or read anew what has changed since."""
    from functools import partial

    from tqdm import tqdm

    from traincost.reading import index

    progress = partial(tqdm, desc="reading", leave=False, disable=not sys.stderr.isatty())
    counts = index.refresh(options.source, options.output, options.format, progress, **_engine(options))
    print(_printable(options.output))
    print(", ".join(f"{n:,} {what}" for what, n in counts.items()), file=sys.stderr)
    return 0


def _page(options):
    """Write profiling.html and profiling.json for the runs under RUNS_DIR, a directory or an index.

    With --profile also build/profiling.html beside them: where the time of such builds goes.
    """
    if not options.profile:
        return _publish(options, "profiling", ("runs_dir",), "page")
    from traincost.pages import builds

    def build(watch):
        with watch.section("parameters"):
            parameters = _parameters(options, "profiling", ("runs_dir",))
        return _built(options, "page", parameters, watch=watch)

    for path in builds.recorded(build, options.output):
        print(path)
    return 0


def _estimate(options):
    """Write estimation.html and estimation.json for SYSTEMS: a sheet, a CSV, or a directory of runs."""
    return _publish(options, "estimation", ("systems",), "estimate")


def _compare(options):
    """Write compare.html and compare.json for the runs under BEFORE and AFTER."""
    return _publish(options, "compare", ("before", "after"), "compare")


def _publish(options, kind, arguments, function):
    print(_built(options, function, _parameters(options, kind, arguments)))
    return 0


def _import_nbformat():
    """Import nbformat without a grammar of addresses, which takes a second and no notebook needs.

    jsonschema compiles it as it is imported, where it is installed, to check the format ``iri``.
    """
    name = "rfc3987_syntax"
    absent = "jsonschema" not in sys.modules and name not in sys.modules
    if absent:
        sys.modules[name] = None
    try:
        import nbformat
    finally:
        if absent:
            del sys.modules[name]
    return nbformat


def _parameters(options, kind, arguments):
    """Return the parameters of the notebook that were given, in a file and one by one."""
    nbformat = _import_nbformat()

    from traincost.pages import publish
    from traincost.pages.exporter import declared_types

    types = declared_types(nbformat.read(publish.notebook_path(kind), as_version=4))
    parameters = publish.read_parameters(options.parameters) if options.parameters else {}
    for name, text in options.parameter:
        parameters[name] = publish.typed(name, text, types)
    for argument in arguments:
        parameters.pop(argument, None)  # the argument is the one that counts
    return parameters | (_engine(options) if kind == "profiling" else {})


def _built(options, function, parameters, **more):
    from traincost.pages import publish

    build = getattr(publish, function)
    return build(*options.sources, options.output, parameters, progress=sys.stderr.isatty(), **more)


def _check(options):
    """Say whether the runs under AFTER are slower than those under BEFORE beyond a limit.

    Exit status: 0 within the limit; 3 slower beyond it, by more than chance; 4 too few runs to tell.
    """
    from traincost.analysis import gate, pairs
    from traincost.pages.publish import read_parameters
    from traincost.pages.settings import Comparison, refuse_unknown
    from traincost.reading.collection import read_collection
    from traincost.results.gate import as_json, as_junit, as_markdown, line

    max_slowdown = gate.limit(options.max_slowdown)
    parameters = read_parameters(options.parameters) if options.parameters else {}
    for name in parameters:
        refuse_unknown(name, list(Comparison.__dataclass_fields__))
    settings = Comparison(**{**parameters, "before": options.sources[0], "after": options.sources[1]})
    before, after = (
        read_collection(path, settings.format, path_pattern=settings.path_pattern) for path in options.sources
    )
    paired = pairs.pair(before, after, settings.pair_by, settings.replicates, settings.renamed)
    found = gate.check(before, after, paired, max_slowdown)
    for path, write in ((options.json, as_json), (options.junit, as_junit), (options.markdown, as_markdown)):
        if path:
            _write(path, write(found))
    print(_printable(line(found)))
    return found.status


def _plan(options):
    """Say what a proposed sweep would take, from the runs under RUNS_DIR."""
    from traincost.analysis.plan import checked
    from traincost.pages.publish import read_parameters
    from traincost.results.plan import as_json, plan
    from traincost.results.runs import read

    proposal = checked(read_parameters(options.proposal) if options.proposal else {})
    runs = read(options.source, replicates=proposal.pop("replicates"))
    found = plan(runs, **proposal)
    if options.json:
        _write(options.json, as_json(found))
    print("\n".join(map(_printable, found.lines)))
    return 0


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _formats(options):
    """Say which runs are recognised under RUNS_DIR, what their fields became, and what is left out."""
    from traincost.reading import inventory

    for line in inventory.lines(options.runs_dir, options.format, path_pattern=options.path_pattern):
        print(_printable(line))
    return 0


def _audit(options):
    """Print the contradictions among what the systems in FILE report, the largest ratio first."""
    from traincost.estimation import estimates
    from traincost.results.systems import read_systems

    reported = read_systems(options.file)
    found = estimates.contradictions(estimates.estimate_systems(reported.frame), reported.frame)
    for row in found.itertuples():
        line = (
            f"{row.subject}: {row.kind}: {row.first:.3g} ({row.first_source}) against "
            f"{row.second:.3g} ({row.second_source}), ratio {row.ratio:.3g}"
        )
        print(_printable(line))
    for row in reported.rejected.itertuples():
        print(_printable(f"row {row.row} {row.system}: {row.column}: {row.reason}"), file=sys.stderr)
    print(f"{len(found)} contradictions among {len(reported.frame)} systems")
    return 0


def _site(options):
    """Write index.html for the reports in the folders of REPORTS."""
    from traincost.pages import site

    print(site.build(options.folder))
    return 0


def _printable(text):
    """Keep a name from a file from moving the cursor, or from looking like a line of ours."""
    return "".join(c if c.isprintable() else "�" for c in text)


if __name__ == "__main__":
    sys.exit(main())
