"""The command line: ``traincost page RUNS_DIR`` and its siblings.

Exit status: 0 built; 1 a notebook cell failed, no page was written; 2 input or arguments
cannot be used, said in one line.
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
    return " ".join(str(problem).split())


def _parser():
    from traincost import __version__

    parser = argparse.ArgumentParser(
        prog="traincost",
        description="What a collection of training runs cost, what it depends on, and what to change.",
    )
    parser.add_argument("--version", action="version", version=f"traincost {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    page = commands.add_parser(
        "page", help="build the profiling page of a directory of runs", description=_page.__doc__
    )
    page.add_argument("runs_dir", metavar="RUNS_DIR", help="directory of the runs")
    page.add_argument("-o", "--output", metavar="DIR", help="folder of the page (reports/NAME)")
    page.add_argument("-f", "--parameters", metavar="FILE", help="YAML file of parameters")
    page.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("KEY", "VALUE"),
        help="one parameter; may be repeated",
    )
    page.set_defaults(run=_page)
    return parser


def _page(options):
    """Write profiling.html and profiling.json for the runs under RUNS_DIR."""
    import nbformat

    from traincost import publish
    from traincost.exporter import declared_types

    types = declared_types(nbformat.read(publish.notebook_path("profiling"), as_version=4))
    parameters = publish.read_parameters(options.parameters) if options.parameters else {}
    for name, text in options.parameter:
        parameters[name] = publish.typed(name, text, types)
    parameters.pop("runs_dir", None)  # the argument is the one that counts
    page = publish.page(options.runs_dir, options.output, parameters, progress=sys.stderr.isatty())
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
