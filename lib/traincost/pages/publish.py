"""Parameters to papermill to a page: execute a notebook on a collection, and publish it.

The kernel is this very interpreter, in a fresh temporary folder with an IPython directory of
its own: nothing that lies beside the runs, or in the user's IPython profile, is imported,
configured or read.
"""

import contextlib
import logging
import os
import sys
import tempfile
from pathlib import Path

import yaml

from traincost.errors import NothingToReport, ParameterError
from traincost.pages.settings import refuse_unknown
from traincost.reading import engines, folders, remote

PACKAGE = Path(__file__).parents[1]
KERNEL_LOG = "kernel.log"
KERNEL_STARTS = 3
# What a page computes with matrices is small: threads wait for each other for longer than they work.
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


def page(runs_dir, output=None, parameters=None, progress=False, watch=UNWATCHED):
    """Build the profiling page of a directory or a table of runs.

    Parameters
    ----------
    runs_dir : str or path
    output : path, optional
        Folder for ``profiling.html`` and ``profiling.json``; ``reports/NAME`` if left out.
    parameters : dict, optional
        Of the notebook, beside `runs_dir`.
    progress : bool
        Show progress on standard error.
    watch : Unwatched or builds.Watch
        Told which part of the build begins and ends.

    Returns
    -------
    Path
        Of the page.

    Raises
    ------
    ParameterError, NothingToReport
        The input cannot be used.
    BuildFailed
        A cell failed; no page was written.
    """
    runs_dir, name = _input(runs_dir)
    parameters = {**(parameters or {}), "runs_dir": runs_dir}
    if parameters.get("scheduler"):
        engines.check(parameters["scheduler"])  # rather than once a kernel has started
    for other in ("sections_table", "rerun_baseline"):
        if parameters.get(other):
            parameters[other], _ = _input(parameters[other])
    if isinstance(parameters.get("reruns"), dict):
        parameters["reruns"] = {
            knob: _input(path)[0] if isinstance(path, str) else path
            for knob, path in parameters["reruns"].items()
        }
    return publish("profiling", parameters, output or Path("reports", name), progress, watch)


def compare(before, after, output=None, parameters=None, progress=False):
    """Build the page that compares two directories of runs.

    Parameters, result and errors as `page`; ``compare.html`` and ``compare.json``, by default in
    ``reports/BEFORE-AFTER``.
    """
    (before, first), (after, second) = _input(before), _input(after)
    parameters = {**(parameters or {}), "before": before, "after": after}
    return publish("compare", parameters, output or Path("reports", f"{first}-{second}"), progress)


def estimate(systems, output=None, parameters=None, progress=False):
    """Build the estimation card of a sheet or CSV of systems, or of a directory of runs.

    Parameters, result and errors as `page`; ``estimation.html`` and ``estimation.json``.
    """
    systems, name = _input(systems)
    parameters = {**(parameters or {}), "systems": systems}
    if parameters.get("claims"):
        parameters["claims"] = os.path.abspath(parameters["claims"])
    return publish("estimation", parameters, output or Path("reports", name), progress)


def _input(path):
    """Return what a notebook reads, absolute or a URL, and its name."""
    if remote.is_url(path):
        remote.filesystem(path)  # refuses what it cannot be, before it stands in any notebook
        return path, os.path.basename(remote.shown(path).rstrip("/")) or "runs"
    path = os.path.abspath(os.fspath(path))
    return path, _name(path) or "runs"


def _name(path):
    """Return the name of a directory, or of a file without its ending."""
    name = os.path.basename(os.path.realpath(path))
    return name if os.path.isdir(path) else os.path.splitext(name)[0]


def publish(kind, parameters, output, progress=False, watch=UNWATCHED):
    """Execute ``notebooks/<kind>.ipynb`` with `parameters` and write its page into `output`.

    Returns
    -------
    Path, or str
        Of the page; its URL where `output` is one.
    """
    with watch.section("check"):
        notebook = _checked_notebook(kind, parameters)
    elsewhere = remote.is_url(output)
    output = output.rstrip("/") if elsewhere else Path(output).absolute()
    kept = (Path.cwd() if elsewhere else output) / f"{kind}.failed.ipynb"
    with watch.section("notebook"):
        executed = execute(watch.prepared(notebook), parameters, kept, progress)
    executed = watch.executed(executed)
    with watch.section("export"):
        files = _files(kind, executed)
    with watch.section("write"):
        _write(kind, files, output)
    return f"{remote.shown(output)}/{kind}.html" if elsewhere else output / f"{kind}.html"


def _checked_notebook(kind, parameters):
    """Return the notebook, which knows all `parameters`."""
    import nbformat

    from traincost.pages.exporter import declared_parameters

    notebook = nbformat.read(notebook_path(kind), as_version=4)
    known = declared_parameters(notebook)
    for name in parameters:
        refuse_unknown(name, known)
    return notebook


def _files(kind, executed):
    """Return the page and what goes beside it, name to bytes."""
    from traincost.pages.exporter import TraincostExporter

    html, resources = TraincostExporter().from_notebook_node(executed)
    files = {os.path.normpath(name): content for name, content in resources["outputs"].items()}
    return {f"{kind}.html": html.encode("utf-8"), **files}


def _write(kind, files, output):
    """Put the files into the folder `output`, in the place of those of an earlier build."""
    folder = folders.at(output)
    with folders.told(folder):
        folder.make()
        folder.publish(files)
        tables = folders.at(f"{output}/{kind}-tables")
        # Of tables that this report no longer has.
        tables.remove([n for n in tables.names() if n.endswith(".csv") and f"{kind}-tables/{n}" not in files])


def notebook_path(kind):
    """Return the notebook, beside the library in a checkout, inside it in an installed wheel."""
    for folder in (PACKAGE.parent.parent / "notebooks", PACKAGE / "notebooks"):
        if (folder / f"{kind}.ipynb").is_file():
            return folder / f"{kind}.ipynb"
    raise FileNotFoundError(f"the notebook {kind}.ipynb is not part of this installation")


def execute(notebook, parameters, failed_path, progress=False):
    """Return the notebook executed with `parameters` by papermill.

    Raises
    ------
    ParameterError, NothingToReport
        The notebook refused its input.
    BuildFailed
        A cell failed; the notebook as far as it came is kept at `failed_path`.
    """
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # what it says is raised, too
    with tempfile.TemporaryDirectory(prefix="traincost-") as folder:
        kept = os.path.join(folder, "executed.ipynb")
        try:
            return _with_a_kernel(
                papermill.execute_notebook,
                notebook,
                kept,
                parameters=parameters,
                progress_bar={"desc": "building", "leave": False} if progress else False,
                cwd=folder,
                kernel_name="python3",
                language="python",
                kernel_manager_class=_own_kernel(folder),
                stderr_file=sys.stderr if progress else None,
                # It has nothing to save, and its folder goes with it: no need to wait for a farewell.
                shutdown_kernel="immediate",
                raise_on_iopub_timeout=True,
            )
        except DeadKernelError as problem:
            log = Path(folder, KERNEL_LOG).read_text(encoding="utf-8", errors="replace")
            raise BuildFailed(f"the kernel died: {problem}\n{log[-2000:]}") from None
        except PapermillExecutionError as problem:
            _raise_refusal(problem)
            failed_path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(nbformat.read(kept, as_version=4), failed_path)
            raise BuildFailed(
                f"a cell of the notebook failed with {problem.ename}: {problem.evalue}\n"
                f"The executed notebook is kept for inspection: {failed_path}"
            ) from None


def _with_a_kernel(execute, *arguments, **options):
    """Execute, and start again where the kernel died before it ran a cell.

    Its ports are chosen before it takes them: another program may be faster, as another build.
    """
    for _ in range(KERNEL_STARTS - 1):
        try:
            return execute(*arguments, **options)
        except RuntimeError as problem:
            if "died before replying" not in str(problem):
                raise
    return execute(*arguments, **options)


def _raise_refusal(problem):
    """Turn the notebook's own refusals back into the exceptions they were."""
    refusals = {cls.__name__: cls for cls in (NothingToReport, ParameterError)}
    if problem.ename in refusals:
        raise refusals[problem.ename](problem.evalue) from None


def _own_kernel(folder):
    """Return a kernel manager class for this interpreter, isolated in `folder`.

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
                "PYTHONSAFEPATH": "1",
            }
            # The kernel listens on a port of this machine: without encryption, anybody on it
            # could read the runs, or run code.
            await super()._async_start_kernel(transport_encryption="required", **kwargs)

    return OwnKernel


def read_parameters(path):
    """Return the parameters in a YAML file.

    Raises
    ------
    ParameterError
        The file cannot be read, or is no mapping.
    """
    try:
        with open(path, encoding="utf-8") as file:
            values = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        why = " ".join(str(problem).split())
        raise ParameterError(f"the parameter file {path} cannot be read: {why}") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ParameterError(f"the parameter file {path} must be a mapping of names to values")
    return values


def typed(name, text, types):
    """Return a parameter given on the command line as the type its notebook declares.

    What is declared as text stays text, ``01`` and ``nan`` included; anything else is YAML.
    """
    if types.get(name, "str") == "str":
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ParameterError(f"`{name}` must be YAML of the type {types[name]}, got {text!r}") from None
