"""Any executed notebook becomes a page: what it shows stays, and nothing in it runs or is loaded."""

import json
import re

import nbformat
import pandas as pd
import pytest
from conftest import collection_of, grid
from nbformat import v4

import traincost as tc
from traincost.errors import ParameterError, RefusedNotebook
from traincost.pages import outputs
from traincost.pages.exporter import TraincostExporter
from traincost.pages.outputs import MAX_OUTPUT_MIB
from traincost.printing import plain
from traincost.results.runs import Runs


@pytest.fixture(scope="module")
def runs():
    config = grid(task=["a", "b"], seed=[0, 1, 2])
    return Runs(
        collection_of(config, [10.0, 11, 12, 20, 21, 22], [(i, "eval", 2.0 + i, 4) for i in range(6)])
    )


def cell(*shown, source="", tags=()):
    """Return an executed code cell that shows values, mimebundles or ready outputs."""
    outputs = []
    for value in shown:
        if isinstance(value, nbformat.NotebookNode):
            outputs.append(value)
            continue
        bundle = value if isinstance(value, dict) else value._repr_mimebundle_()
        outputs.append(v4.new_output("display_data", json.loads(json.dumps(bundle))))
    return v4.new_code_cell(source, outputs=outputs, metadata={"tags": list(tags)})


def exported(*cells, **metadata):
    """Return the page and the JSON beside it."""
    nb = v4.new_notebook(cells=list(cells), metadata=metadata)
    page, resources = TraincostExporter().from_notebook_node(nb, {"metadata": {"name": "mine"}})
    return page, json.loads(resources["outputs"]["./mine.json"])


def test_a_page_keeps_what_a_notebook_shows():
    frame = pd.DataFrame({"own": [1.5]})
    page, _ = exported(
        v4.new_markdown_cell("# Mine\n\n## Part\n\nSome *words*."),
        cell(v4.new_output("stream", name="stdout", text="printed <b>\x1b[31mred\x1b[0m")),
        cell({"text/html": frame._repr_html_(), "text/plain": str(frame)}),
        cell({"image/png": "iVBORw0KGgo=", "text/plain": "<Figure size 1x1>"}),
        cell({"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"}),
        cell({"text/markdown": "**strong**"}),
        cell({"text/plain": "42"}),
    )
    assert "<title>Mine</title>" in page
    assert '<h2 id="part">Part</h2>' in page
    assert "<em>words</em>" in page
    assert "printed &lt;b&gt;red" in page
    assert "<th>own</th>" in page
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "<strong>strong</strong>" in page
    assert ">42</pre>" in page
    assert "<script" not in page


def test_nothing_of_a_notebook_runs_or_is_loaded():
    hostile = (
        '<p onclick="x()">kept<script>alert(1)</script><style>p{}</style><iframe src="//host"></iframe>'
        '<img src="http://host/x.png"><a href="javascript:alert(1)">a</a><form action="//host"></form></p>'
    )
    page, _ = exported(v4.new_markdown_cell(hostile), cell({"text/html": hostile}))
    body = page.split('<main id="main">')[1]
    tags = re.findall(r"<[a-z][^>]*>", body)
    assert "kept" in body
    assert not [
        tag for tag in tags if re.match(r"<(script|style|iframe|form)|.*(onclick|javascript|//host)", tag)
    ]


def test_what_a_page_cannot_show_is_named():
    large = "x" * (MAX_OUTPUT_MIB * 2**20 + 1)
    page, _ = exported(
        cell({"text/html": large}),
        cell(v4.new_output("stream", name="stderr", text="a warning")),
        cell({"application/vnd.jupyter.widget-view+json": {}, "text/plain": "IntSlider()"}),
        cell({"application/x-other": "1"}),
    )
    assert f"the limit of one is {MAX_OUTPUT_MIB} MiB" in page
    assert "text on standard error" in page
    assert "an interactive application/vnd.jupyter.widget-view+json" in page
    assert "an output of the type application/x-other" in page
    assert large not in page
    assert "a warning" not in page


def test_a_progress_bar_is_nothing_left_out():
    bar = ["\r  0%|          | 0/36 [00:00<?, ?it/s]", "\r100%|███| 36/36 [00:00<00:00, 239.09it/s]\n"]
    shown, missing = outputs.shown(v4.new_output("stream", name="stderr", text="".join(bar)))
    assert (shown, missing) == ("", "")
    assert outputs.shown(v4.new_output("stream", name="stderr", text="12it [00:01, 9.8it/s]\nlost"))[1]


def test_results_are_gathered_into_one_report(runs):
    page, report = exported(cell(runs), cell(tc.effects(runs)), cell(tc.shares(runs)))
    assert report["numbers"]["runtime.n"] == 6
    assert {"effects", "sections"} <= set(report["tables"])
    assert report["versions"]["statsmodels"]
    assert 'id="table-effects"' in page
    assert '-tables/effects.csv">effects</a>' in page


def test_cells_in_any_order_make_the_same_numbers(runs):
    shown = [cell(runs), cell(tc.effects(runs)), cell(tc.levels(runs))]
    first, second = exported(*shown)[1], exported(*shown[::-1])[1]
    assert first["numbers"] == second["numbers"]
    assert first["tables"] == second["tables"]


def test_colours_have_no_fallback_where_there_is_a_style_sheet(runs):
    shown = cell(tc.effects(runs))
    assert "var(--e1,#" in shown.outputs[0].data["text/html"]
    page, _ = exported(shown)
    assert 'fill="var(--e1)"' in page
    assert "var(--e1,#" not in page


def test_a_result_displayed_twice_is_shown_once(runs):
    page, _ = exported(cell(tc.effects(runs)), cell(tc.effects(runs)))
    assert page.count('id="table-effects"') == 1
    assert "is shown above" in page


def test_a_second_response_has_keys_of_its_own(runs):
    again = tc.effects(runs, response="eval")
    page, report = exported(cell(tc.effects(runs)), cell(again))
    own = {name for name in report["numbers"] if name.startswith("eval.effects.")}
    assert {"effects.task.size", "eval.effects.task.size"} <= set(report["numbers"])
    assert own
    assert 'id="table-effects"' in page
    assert 'id="table-eval-effects"' in page
    assert 'data-key="eval.effects.task.size"' in page


def test_a_second_collection_has_its_name_in_its_keys(runs):
    some = runs.where(seed=[0, 1])
    page, report = exported(cell(tc.effects(runs)), cell(tc.effects(some)))
    assert any("seed=0/1" in name for name in report["numbers"])
    assert f"Of <code>{some.label}</code>" in page


def test_two_results_of_one_name_are_refused(runs):
    other = Runs(collection_of(grid(task=["a", "b"], seed=[0, 1, 2]), [1.0, 2, 3, 4, 5, 6]))
    with pytest.raises(RefusedNotebook, match=r"two different results are called 'effects'.*name='second'"):
        exported(cell(tc.effects(runs)), cell(tc.effects(other)))
    exported(cell(tc.effects(runs)), cell(tc.effects(other, name="second")))


def test_numbers_link_to_what_holds_them(runs):
    page, report = exported(cell(tc.effects(runs)), cell(tc.levels(runs)), cell(tc.shares(runs)))
    for number, place in report["anchors"].items():
        kind, _, name = place.partition("-")
        content = report[f"{kind}s"][name]
        held = json.dumps(content["rows"])
        value = report["numbers"][number]
        texts = re.findall(rf'data-key="{re.escape(number)}">([^<]*)<', page)
        said = f"{content['caption']} {content.get('note', '')}"
        in_caption = any(plain(text) in said for text in texts)
        assert f"{abs(value)!r}" in held.replace("-", "") or in_caption, number


def test_a_failed_cell_is_refused():
    error = v4.new_output("error", ename="KeyError", evalue="'gone'")
    with pytest.raises(RefusedNotebook, match="a cell failed with KeyError: 'gone'"):
        exported(cell(error))


def test_an_undeclared_parameter_is_refused():
    declared = cell({"text/plain": "1"}, source='rows: str = ""  # a setting', tags=["parameters"])
    with pytest.raises(ParameterError, match="did you mean 'rows'"):
        exported(declared, papermill={"parameters": {"row": "x"}})


def test_parameters_and_versions_close_the_page(runs):
    declared = cell(source='rows: str = ""  # a setting\nn: int = 2', tags=["parameters"])
    page, report = exported(declared, cell(runs), papermill={"parameters": {"n": 3}})
    assert report["parameters"] == {"rows": "", "n": 3}
    assert page.index('id="table-parameters"') < page.index('id="table-versions"')


def test_code_is_shown_where_the_notebook_asks():
    made = cell({"text/plain": "1"}, source="x = '<b>'")
    assert "x = &#39;&lt;b&gt;&#39;" in exported(made, traincost={"code": True})[0]
    assert "x = " not in exported(made)[0]


def test_a_notebook_that_was_not_executed_is_refused():
    with pytest.raises(RefusedNotebook, match="was it executed"):
        exported(cell(source="1"))


def test_headings_without_content_are_left_out(runs):
    page, _ = exported(
        v4.new_markdown_cell("## Kept"),
        v4.new_markdown_cell("### Empty"),
        cell(),
        v4.new_markdown_cell("### Full"),
        cell(runs),
    )
    assert 'id="empty"' not in page
    assert 'id="kept"' in page
    assert 'id="full"' in page
