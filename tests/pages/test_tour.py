"""The guide, published by our own exporter."""

import json

import pytest
from conftest import ROOT

from traincost.pages import publish
from traincost.pages.alike import is_alike


@pytest.mark.slow
def test_the_tour_is_a_page_with_its_code(tmp_path):
    page = publish.publish(ROOT / "notebooks/tour.ipynb", tmp_path)
    html = page.read_text(encoding="utf-8")
    notebook = json.loads((ROOT / "notebooks/tour.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert html.count('<pre class="code"') == len(code) - 1  # the parameters are a table
    assert html.count('src="data:image/png;base64,') == 2  # a plot of one's own, and ours restyled
    for shown in ('<table id="table-effects"', '<table id="table-val-loss-effects"', "cost_memory_mib</th>"):
        assert shown in html
    assert "Left out of this page" not in html
    report = json.loads((tmp_path / "tour.json").read_text(encoding="utf-8"))
    assert report["numbers"]["slowest.sections.epoch/train.share"] > 0
    # Built again, it shows the same: nothing on it is left to chance.
    assert is_alike("tour.html", (ROOT / "reports/tour/tour.html").read_bytes(), html.encode("utf-8"))
