"""An answer has the colours of the lab in a notebook, and those of its page on a page."""

import re

import nbformat
from conftest import record, write_run

import traincost as tc
from traincost.pages.exporter import TraincostExporter
from traincost.results import html


def test_the_series_have_the_page_s_colours_in_both_themes():
    sheet = html.sheet()
    page = (html.TEMPLATES / "page.css").read_text(encoding="utf-8")
    light = re.search(r"^\.jp-OutputArea \{ (--s1.*) \}\n", sheet, flags=re.MULTILINE).group(1)
    assert light == re.search(r"\n(.*--s1:.*)\n", page).group(1).strip()
    dark = re.search(r'"false"\] \.jp-OutputArea \{ (--s1.*) \}\n', sheet).group(1)
    assert dark in page.split("prefers-color-scheme: dark")[1]
    assert dark != light


def test_a_style_names_only_outputs():
    selectors = re.findall(r"^([^<{]+)\{", html.sheet(), flags=re.MULTILINE)
    assert len(selectors) > 10
    assert all(".jp-OutputArea" in s or s.startswith(".jp-RenderedHTML ") for s in selectors)


def test_a_notebook_has_the_style_and_its_page_has_not(tmp_path):
    for i in range(4):
        config = {"task": "ab"[i % 2]}
        write_run(tmp_path / f"r{i}", record(f"r{i}", config=config, runtime_s=9.0 + i))
    bundle = tc.effects(tc.read(tmp_path))._repr_mimebundle_()
    assert "jp-OutputArea" in bundle["text/html"]
    cell = nbformat.v4.new_code_cell("e", outputs=[nbformat.v4.new_output("display_data", bundle)])
    page, _ = TraincostExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert '<table id="table-effects">' in page
    assert "jp-OutputArea" not in page
