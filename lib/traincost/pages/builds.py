"""Our own builds, recorded as the runs on a page are: ``traincost page RUNS_DIR --profile``.

Each build of a page is a run of a collection beside it, ``build/runs``, whose page says where the
time of a build goes. Its sections are the parts that `publish.build` names; below ``notebook``
they are the notebook's cells, by their tag or the heading above them, as papermill timed them, and
the figures drawn in them.
"""

from datetime import datetime
from pathlib import Path

from traincost import __version__
from traincost.errors import ParameterError, brief
from traincost.measure.recorder import RECORD_NAME, Recorder
from traincost.pages import publish
from traincost.reading import folders, remote

TIMES_MIME = "application/vnd.traincost.times+json"
_LAST_CELL = (
    f"from traincost.results import figures\ndisplay({{{TIMES_MIME!r}: list(figures.TAKEN)}}, raw=True)"
)


class Watch:
    """Times a build into the sections of a run: of a `Recorder` that was entered already."""

    def __init__(self, run):
        self.section = run.section
        self._run = run

    def prepared(self, notebook):
        """Return the notebook with a cell at its end that hands over what each figure took."""
        from nbformat.v4 import new_code_cell

        notebook.cells.append(new_code_cell(_LAST_CELL, metadata={"tags": ["profile"]}))
        return notebook

    def executed(self, notebook):
        """Add the times of the executed cells to the run; return the notebook without our own."""
        drawn = notebook.cells.pop().outputs[0].data[TIMES_MIME]
        for name, seconds in cell_seconds(notebook, drawn):
            self._run.add(f"notebook/{name}", seconds)
        self._run.config |= _described(notebook)
        return notebook


def recorded(build, output=None):
    """Run a build, record it, and make the page of all builds recorded there.

    `build` takes a `Watch` and returns the path of its page; `output` is where it will write, if that is
    known, and must be on this machine. Returns that path, and that of the page of builds,
    ``build/profiling.html`` beside it.
    """
    if output is not None and remote.is_url(output):
        shown = remote.shown(output)
        raise ParameterError(f"`--profile` needs a folder of this machine as output, got {brief(shown)}")
    with folders.scratch() as kept:
        # Elsewhere first: a build that is refused leaves nothing where its page would have been.
        with Recorder(kept) as run:
            page = build(Watch(run))
            place = _next(page.parent / "build" / "runs")
            run.run_id = place.name
        folders.at(place).publish({RECORD_NAME: Path(kept, RECORD_NAME).read_bytes()})
    name = f"builds of {run.config['collection']}"
    return page, publish.page(place.parent, page.parent / "build", collection=name)


def _described(notebook):
    """Return what tells one build from another."""
    from traincost.pages.exporter import read

    report, _ = read(notebook, "profiling")
    asked = report["parameters"]
    return {
        "collection": asked["collection"] or asked["runs_dir"],
        "n_runs": report["n_runs"],
        "version": __version__,
    }


def _next(builds):
    builds.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(path.name) for path in builds.iterdir() if path.name.isdecimal()), default=0)
    while True:
        place = builds / str(number)
        try:
            place.mkdir()
        except FileExistsError:  # another build was faster
            number += 1
        else:
            return place


def cell_seconds(notebook, drawn=()):
    """Yield (section, seconds) of a notebook that papermill executed.

    `drawn` says when each figure was begun, in seconds since the epoch, and what it took.
    """
    whole, heading = notebook.metadata.papermill, ""
    ended = _epoch(whole.start_time)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = _heading(cell.source) or heading
            continue
        started = _epoch(cell.metadata.papermill.start_time)
        if not heading and cell is notebook.cells[0]:
            yield "start-of-kernel", started - ended
        ended = _epoch(cell.metadata.papermill.end_time)
        name = next(iter(cell.metadata.tags), heading or "other")
        yield name, ended - started
        for began, seconds in drawn:
            if started <= began < ended:
                yield f"{name}/figures", seconds
    yield "end-of-kernel", max(0.0, _epoch(whole.end_time) - ended)


def _heading(source):
    """Return the anchor of the last heading in a Markdown cell, or an empty text."""
    from traincost.pages.outputs import anchor

    headings = [line.lstrip("# ") for line in source.splitlines() if line.startswith("#")]
    return anchor(headings[-1]) if headings else ""


def _epoch(stamp):
    return datetime.fromisoformat(stamp).timestamp()
