"""A notebook and its parameters to a page: checked, executed by papermill, exported, written.

The kernel is this very interpreter, with an IPython directory of its own: nothing in the user's
profile is configured or read. Our own notebooks run in a fresh temporary folder, so that nothing
that lies beside the runs is imported either; a user's notebook runs where it lies.
"""

import contextlib
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from traincost.errors import NothingToReport, ParameterError, require
from traincost.pages import parameters as declarations
from traincost.pages.parameters import INPUTS, notebook_path, read_parameters
from traincost.reading import folders, live, remote
from traincost.reading.tables import printable
from traincost.results import checks

__all__ = ["BuildFailed", "build", "compare", "estimate", "page", "publish", "read_parameters"]

# Folders of tools, in which anybody's runs are: the parent's name tells them apart.
GENERIC = {"wandb", "outputs", "lightning_logs", "mlruns", "runs", "multirun", "logs", "ray_results"}
KERNEL_LOG = "kernel.log"
KERNEL_STARTS = 3
# The matrices of a page are small: BLAS threads cost more than they save here.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")


class BuildFailed(RuntimeError):
    """A cell of the notebook failed; the message names it and where the notebook is kept."""


class Unwatched:
    """A build that nobody times; `builds.Watch` is one that somebody does."""

    def section(self, name):
        """Return a context manager around the part `name` of the build."""
        return contextlib.nullcontext()

    def prepared(self, notebook):
        """Return the notebook to execute."""
        return notebook

    def executed(self, notebook):
        """Return the executed notebook to publish."""
        return notebook


UNWATCHED = Unwatched()


def page(runs_dir, output=None, progress=False, force=False, **parameters):
    """Build the profiling page of a directory, an index or a table of runs.

    Parameters
    ----------
    runs_dir : str or path
    output : path, optional
        Folder for ``profiling.html`` and ``profiling.json``; ``reports/NAME`` if left out.
    progress : bool
        Show progress on standard error.
    force : bool
        Replace the report of another collection, too: one without a run in common with this.
    **parameters
        Of ``profiling.ipynb``; ``traincost page --help`` lists them.

    Returns
    -------
    Path, or str
        Of the page; its URL where `output` is one.

    Raises
    ------
    ParameterError, NothingToReport
        The input cannot be used.
    BuildFailed
        A cell failed; no page was written.
    """
    return build("profiling", {**parameters, "runs_dir": runs_dir}, output, progress, force=force)


def compare(before, after, output=None, progress=False, force=False, **parameters):
    """Build the page that compares two directories of runs.

    Parameters, result and errors as `page`; ``compare.html`` and ``compare.json``, by default in
    ``reports/BEFORE-AFTER``.
    """
    return build("compare", {**parameters, "before": before, "after": after}, output, progress, force=force)


def estimate(systems, output=None, progress=False, force=False, **parameters):
    """Build the estimation card of a sheet or CSV of systems, or of a directory of runs.

    Parameters, result and errors as `page`; ``estimation.html`` and ``estimation.json``.
    """
    return build("estimation", {**parameters, "systems": systems}, output, progress, force=force)


def publish(notebook, output=None, progress=False, force=False, **parameters):
    """Execute any notebook and write its page, ``NAME.html`` and ``NAME.json`` of ``NAME.ipynb``.

    Parameters, result and errors as `page`. The kernel works in the notebook's folder; a `Path` among
    the parameters is relative to the caller's. The page is in ``reports/NAME`` if `output` is left out.
    """
    return build(notebook, parameters, output, progress, force=force)


def build(notebook, parameters, output=None, progress=False, watch=UNWATCHED, force=False):
    """Check parameters, execute a notebook, and write its page.

    `notebook` is the name of one of our own (`parameters.INPUTS`), whose inputs are among the parameters, or
    the path of any; `watch` is told which part of the build begins and ends. For the others, see `page`.
    """
    is_own = notebook in INPUTS
    with watch.section("check"):
        if is_own:
            path, folder, name = notebook_path(notebook), None, notebook
            parameters = usable(notebook, parameters)
            collection = "-".join(_telling(parameters[name]) for name in INPUTS[notebook])
        else:
            path = Path(notebook).absolute()
            folder, name = path.parent, path.stem
            parameters, collection = _taken(path, parameters)[0], name
        nb = _import_nbformat().read(path, as_version=4)
    output = output or Path("reports", collection)
    folders.refuse_unwritable(output)
    with _encodable(parameters) as parameters:
        return _built(name, nb, parameters, output, progress, watch, folder, force)


@contextlib.contextmanager
def _encodable(parameters):
    """Yield the parameters with links in the place of paths that are no UTF-8: a notebook holds none."""
    odd = {
        n: v for n, v in parameters.items() if isinstance(v, str) and printable(v) != v and os.path.exists(v)
    }
    with contextlib.ExitStack() as held:
        linked = {}
        for name, path in odd.items():
            linked[name] = os.path.join(
                held.enter_context(folders.scratch()), printable(os.path.basename(path))
            )
            os.symlink(path, linked[name])
        yield {**parameters, **linked}


def usable(kind, parameters):
    """Return the parameters of a notebook of ours, with absolute paths, of which none is missing."""
    parameters, declared = _taken(notebook_path(kind), parameters)
    for name in INPUTS[kind]:
        require(parameters[name], name, "a path or URL", parameters[name])
    declarations.with_paths(parameters, declared, _refuse_missing)
    checks.check(**parameters)
    checks.table(parameters)
    return parameters


def _taken(path, parameters):
    """Return the parameters as the notebook at `path` takes them, and what it declares."""
    declared = declarations.declared(declarations.read_notebook(path))
    return _absolute(declarations.checked(parameters, declared), declared), declared


def _absolute(parameters, declared):
    """Return the parameters with absolute paths; URLs stay."""
    return declarations.with_paths(
        parameters,
        declared,
        lambda name, path: path if remote.is_url(path) or live.is_live(path) else os.path.abspath(path),
    )


def _refuse_missing(name, path):
    """Refuse a path that is not there, and a URL that cannot be one."""
    if live.is_live(path):
        return
    if remote.is_url(path):
        remote.filesystem(path)
    elif not os.path.exists(path):
        raise NothingToReport(f"{name} {path!r} does not exist")


def name_of(path):
    """Return the name of what a page is of: that of a directory, or of a file without its ending."""
    if live.is_live(path):
        return live.name_of(path)
    if remote.is_url(path):
        return os.path.basename(remote.shown(path).rstrip("/")) or "runs"
    name = os.path.basename(os.path.realpath(path))
    return (name if os.path.isdir(path) else os.path.splitext(name)[0]) or "runs"


def _telling(path):
    """Return the name of what a page is of, with its parent's where tools call each by that name."""
    name = name_of(path)
    path = path.rstrip("/") if remote.is_url(path) else os.path.realpath(path)
    parent = name_of(os.path.dirname(path)) if "/" in remote.shown(path).rpartition("://")[2] else ""
    return f"{parent}-{name}" if name.lower() in GENERIC and parent and parent != os.sep else name


def _built(name, notebook, parameters, output, progress, watch, folder, force):
    elsewhere = remote.is_url(output)
    output = output.rstrip("/") if elsewhere else Path(output).absolute()
    kept = (Path.cwd() if elsewhere else output) / f"{name}.failed.ipynb"
    with watch.section("notebook"):
        executed = execute(watch.prepared(notebook), parameters, kept, progress, folder)
    executed = watch.executed(executed)
    with watch.section("export"):
        files = _files(name, executed)
    with watch.section("write"):
        _write(name, files, output, force)
    return f"{remote.shown(output)}/{name}.html" if elsewhere else output / f"{name}.html"


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


def _files(name, executed):
    from traincost.pages.exporter import TraincostExporter

    resources = {"metadata": {"name": name}}
    html, resources = TraincostExporter().from_notebook_node(executed, resources)
    files = {os.path.normpath(path): content for path, content in resources["outputs"].items()}
    return {f"{name}.html": html.encode("utf-8"), **files}


def _write(name, files, output, force=False):
    """Put the files into the folder `output`, in the place of those of an earlier build."""
    folder = folders.at(output)
    with folders.told(folder):
        folder.make()
        with folder.locked():
            if not force:
                _refuse_other(folder, name, files)
            folder.publish(files)
            tables = folders.at(f"{output}/{name}-tables")
            # Of tables that this report no longer has.
            gone = [n for n in tables.names() if n.endswith(".csv") and f"{name}-tables/{n}" not in files]
            tables.remove(gone)


def _refuse_other(folder, name, files):
    """Refuse to replace the report of another collection: one that has no run in common with it."""
    # The JSON is called after the kind of the page, which a notebook of one's own may not be called.
    data = next(file for file in files if file.endswith(".json"))
    old, new = _run_ids(folder.read(data)), _run_ids(files[data])
    if old and new and not old & new:
        raise ParameterError(
            f"{folder.shown} holds the {name} report of another collection, with no run of this one: give "
            "another folder with -o, or replace it with --force"
        )


def _run_ids(report):
    """Return the ids of the runs of a report; none where they are not known, or not all listed."""
    try:
        report = json.loads(report or b"{}")
        runs = [*report.get("runs", ()), *report.get("before_runs", ())]
        is_whole = len(report.get("runs", ())) >= report.get("n_runs", 0)
        return set(runs) if is_whole else set()
    except (ValueError, TypeError, AttributeError):
        return set()


def execute(notebook, parameters, failed_path, progress=False, working_folder=None):
    """Return the notebook executed with `parameters` by papermill, in a temporary folder if none is given.

    Raises what the notebook refuses its input with, or `BuildFailed` where a cell failed: the notebook as far
    as it came is kept at `failed_path`.
    """
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from zmq import ZMQError

    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # what it says is raised, too
    executed = []
    with folders.scratch() as folder:
        try:
            _with_a_kernel(
                papermill.execute_notebook,
                notebook,
                None,
                parameters=parameters,
                progress_bar={"desc": "building", "leave": False} if progress else False,
                engine_name=_own_engine(executed),
                cwd=str(working_folder or folder),
                kernel_name="python3",
                language="python",
                kernel_manager_class=_own_kernel(folder, is_safe=working_folder is None),
                stderr_file=sys.stderr if progress else None,
                # It has nothing to save, and its folder goes with it: no need to wait for a farewell.
                shutdown_kernel="immediate",
                raise_on_iopub_timeout=True,
            )
            return executed[-1]
        except DeadKernelError as problem:
            log = Path(folder, KERNEL_LOG).read_text(encoding="utf-8", errors="replace")
            raise BuildFailed(f"the kernel died: {problem}\n{log[-2000:]}") from None
        except ZMQError as problem:  # no OSError, though it has the number of one
            raise OSError(problem.errno, f"the kernel cannot be reached: {problem.strerror}") from None
        except PapermillExecutionError as problem:
            _raise_refusal(problem)
            failed_path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(executed[-1], failed_path)
            raise BuildFailed(
                f"a cell of the notebook failed with {problem.ename}: {problem.evalue}\nThe executed "
                f"notebook is kept for inspection: {failed_path}"
            ) from None


def _with_a_kernel(execute, *arguments, **options):
    """Execute, and start again where the kernel died before it ran a cell.

    Its ports are chosen before it takes them: another program may be faster, as another build.
    """
    left = KERNEL_STARTS
    while True:
        left -= 1
        try:
            with _interruptible():
                return execute(*arguments, **options)
        except RuntimeError as problem:
            if not left or "died before replying" not in str(problem):
                raise


@contextlib.contextmanager
def _interruptible():
    """Let Ctrl-C end what runs inside: it reaches the kernel, too, which nbclient takes for one that died."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # somebody else decides, or it is ignored
        return
    pressed = []

    def note(*_):
        pressed.append(True)
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # of the tasks that are left behind
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except BaseException:
        if pressed:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed:
        raise KeyboardInterrupt


def _raise_refusal(problem):
    """Turn the notebook's own refusals back into the exceptions they were."""
    refusals = {cls.__name__: cls for cls in (NothingToReport, ParameterError)}
    if problem.ename in refusals:
        raise refusals[problem.ename](problem.evalue) from None


def _own_engine(executed):
    """Return the name of an engine of papermill that writes no file: it appends the notebook to `executed`.

    papermill's own writes it at the beginning and end of each cell, which of ten thousand systems takes
    minutes. At last papermill makes text of what the engine hands back, for a file that is not asked for:
    it is handed one without cells, unless one failed.
    """
    from papermill import engines

    class Unsaved(engines.NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man, *arguments, **options):
            nb_man.save = lambda **_: None
            executed.append(nb_man.nb)
            super().execute_managed_notebook(nb_man, *arguments, **options)
            if not _failed(nb_man.nb):
                nb_man.nb = type(nb_man.nb)(nb_man.nb, cells=[])

    engines.papermill_engines.register("traincost", Unsaved)
    return "traincost"


def _failed(notebook):
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    return any(output.output_type == "error" for output in outputs)


def _own_kernel(folder, is_safe):
    """Return a kernel manager class for this interpreter, isolated in `folder`.

    A user's notebook may import what lies beside it; where `is_safe`, nothing is imported from there.

    A user's kernel spec named python3 may belong to another environment, so none is looked up.
    """
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec

    class OwnKernel(AsyncKernelManager):
        @property
        def kernel_spec(self):
            return KernelSpec(
                argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="Python 3",
                language="python",
                metadata={"supported_encryption": ["curve"]},
            )

        async def start_kernel(self, **kwargs):
            # What the kernel's process itself says on its way down is no message of ours.
            with open(os.path.join(folder, KERNEL_LOG), "ab") as log:
                kwargs["stdout"] = kwargs["stderr"] = log
                await self._start(kwargs)

        async def _start(self, kwargs):
            kwargs["env"] = {
                **_ONE_THREAD,
                **kwargs.get("env", os.environ),
                "IPYTHONDIR": os.path.join(folder, "ipython"),
                "MATPLOTLIBRC": os.path.join(folder, "matplotlibrc"),
                **({"PYTHONSAFEPATH": "1"} if is_safe else {}),
            }
            # The kernel listens on a port of this machine: without encryption, anybody on it
            # could read the runs, or run code.
            await super()._async_start_kernel(transport_encryption="required", **kwargs)

    return OwnKernel
