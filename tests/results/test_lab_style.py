"""The notebook's style is in the notebook, and not on the page."""

import re

import nbformat
from conftest import ROOT, record, write_run

from traincost.pages import publish
from traincost.pages.exporter import TraincostExporter
from traincost.results import lab_style


def test_the_series_have_the_colours_of_the_page_in_both_themes():
    style = lab_style.style()
    page = (lab_style.TEMPLATES / "page.css").read_text(encoding="utf-8")
    light = re.search(r"^\.jp-OutputArea \{ (--s1.*) \}\n", style).group(1)
    assert light == re.search(r"\n(.*--s1:.*)\n", page).group(1).strip()
    dark = re.search(r'"false"\] \.jp-OutputArea \{ (--s1.*) \}\n', style).group(1)
    assert dark in page.split("prefers-color-scheme: dark")[1]
    assert dark != light


def test_a_style_names_only_outputs():
    selectors = re.findall(r"^([^{]+)\{", lab_style.style(), flags=re.MULTILINE)
    assert len(selectors) > 10
    assert all(".jp-OutputArea" in s or s.startswith(".jp-RenderedHTML ") for s in selectors)


def test_the_notebook_has_the_style_and_the_page_has_not(tmp_path):
    for i in range(4):
        write_run(
            tmp_path / "runs" / f"r{i}", record(f"r{i}", config={"task": "ab"[i % 2]}, runtime_s=9.0 + i)
        )
    notebook = nbformat.read(ROOT / "notebooks/profiling.ipynb", as_version=4)
    executed = publish.execute(notebook, {"runs_dir": str(tmp_path / "runs")}, tmp_path / "failed.ipynb")
    marked = [
        output
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if output.get("metadata", {}).get(lab_style.NOTEBOOK_ONLY)
    ]
    assert len(marked) == 1
    assert "jp-OutputArea" in marked[0].data["text/html"]
    html, _ = TraincostExporter().from_notebook_node(executed)
    assert "jp-OutputArea" not in html
    assert '<header class="page">' in html
