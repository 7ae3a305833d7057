"""Answers in a real kernel, beside a user's own plots."""

import nbformat
import pytest
from conftest import DATA

from traincost.pages import publish
from traincost.results.result import MIME

CELLS = (
    "import matplotlib as mpl\nbefore = {**mpl.rcParams, 'backend': ''}",
    f"import traincost as tc\nruns = tc.read({str(DATA / 'continuous-v2')!r})\nruns",
    "e = tc.effects(runs)\ne",
    "e.plot()",
    "print({**mpl.rcParams, 'backend': ''} == before)",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    "e.plot()",
    "e",
)


@pytest.mark.slow
def test_plots_of_ours_and_of_the_user_appear(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    executed = publish.execute(notebook, {}, tmp_path / "failed.ipynb")
    shown = [[output.get("data", output) for output in cell.outputs] for cell in executed.cells]
    assert [len(outputs) for outputs in shown] == [0, 1, 1, 1, 1, 1, 1, 1]
    (_, (of_runs,), (answer,), (plot,), (unchanged,), (own,), (plot_again,), (answer_again,)) = shown
    assert MIME in of_runs
    assert answer[MIME] == answer_again[MIME]
    assert all("image/png" in image for image in (plot, own, plot_again))
    assert plot["image/png"] != own["image/png"]
    assert unchanged["text"] == "True\n"
