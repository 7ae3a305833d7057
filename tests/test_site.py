"""The front page of a folder of reports."""

import json
import re

import pytest

from traincost import site
from traincost.__main__ import main
from traincost.errors import NothingToReport
from traincost.report import FORMAT


def report(folder, kind="profiling", **changes):
    folder.mkdir(parents=True, exist_ok=True)
    data = {"format": FORMAT, "kind": kind, "title": folder.name, "summary": ["It took long."], **changes}
    (folder / f"{kind}.json").write_text(json.dumps(data))


def listed(tmp_path):
    page = site.build(tmp_path).read_text(encoding="utf-8")
    return re.findall(r'<h2><a href="([^"]+)">', page), page


def test_the_newest_comes_first_and_names_decide_among_equals(tmp_path):
    report(tmp_path / "b", latest="2026-01-02T00:00:00")
    report(tmp_path / "a", latest="2026-01-02T00:00:00")
    report(tmp_path / "new", latest="2026-03-01T00:00:00")
    report(tmp_path / "undated", kind="estimation")
    addresses, page = listed(tmp_path)
    assert addresses == [
        "new/profiling.html",
        "a/profiling.html",
        "b/profiling.html",
        "undated/estimation.html",
    ]
    assert "It took long." in page
    assert "2026-03-01" in page
    assert "default-src 'none'" in page
    assert "<script" not in page


def test_what_is_no_report_is_passed_over_and_names_are_text(tmp_path):
    report(tmp_path / "good", title="<img src=x onerror=alert(1)>", summary=["<b>&"])
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "profiling.json").write_text("{")
    report(tmp_path / "other", format="something else")
    addresses, page = listed(tmp_path)
    assert addresses == ["good/profiling.html"]
    assert "<img" not in page
    assert "&lt;b&gt;&amp;" in page


def test_nothing_to_list(tmp_path, capsys):
    with pytest.raises(NothingToReport, match="holds no report"):
        site.build(tmp_path)
    assert main(["site", str(tmp_path / "missing")]) == 2
    assert "is no directory of reports" in capsys.readouterr().err
