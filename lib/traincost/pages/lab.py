"""Open the notebook to explore runs in JupyterLab: a copy that is the user's own, with the runs set."""

import json
import subprocess
import sys
from pathlib import Path

from traincost.errors import ParameterError
from traincost.pages import parameters as declarations
from traincost.pages import publish


def notebook(parameters, output=None):
    """Return the path of a copy of ``explore.ipynb`` whose parameters cell has these values.

    It is ``explore-NAME.ipynb`` in the working folder, if `output` is left out. A copy that is there already
    stays as it is, as a person may have worked in it: parameters other than `runs_dir` are refused.
    """
    parameters = publish.usable("explore", parameters)
    path = Path(output or f"explore-{publish.name_of(parameters['runs_dir'])}.ipynb")
    if not path.exists():
        nb = declarations.read_notebook(declarations.notebook_path("explore"))
        text = json.dumps(declarations.filled(nb, parameters), ensure_ascii=False, indent=1)
        path.write_text(f"{text}\n", encoding="utf-8")
    elif len(parameters) > 1 or not _is_of(path, parameters):
        raise ParameterError(
            f"{path} is there already, and other parameters would change it: name another copy with -o, "
            "or set them in its parameters cell"
        )
    return path


def _is_of(path, parameters):
    nb = declarations.read_notebook(path)
    return declarations.defaults(declarations.declared(nb)).get("runs_dir") == parameters["runs_dir"]


def opened(path, browser=True, allow_root=False):
    """Open a notebook in JupyterLab, and return its exit status when it ends."""
    options = [*([] if browser else ["--no-browser"]), *(["--allow-root"] if allow_root else [])]
    # Ctrl-C is for JupyterLab, which asks whether to stop.
    with subprocess.Popen([sys.executable, "-m", "jupyterlab", str(path), *options]) as server:
        while True:
            try:
                return server.wait()
            except KeyboardInterrupt:
                continue
