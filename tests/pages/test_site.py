"""The front page of a folder of reports."""

import html
import json
import re
import shutil
import urllib.parse

import pytest

from traincost.__main__ import main
from traincost.errors import NothingToReport
from traincost.pages import site
from traincost.pages.exporter import SITE_END, SITE_START
from traincost.pages.gathering import FORMAT

EMPTY = f"<main>\n{SITE_START}{SITE_END}\n<h1>x</h1>\n</main>\n"


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


def test_other_files_are_passed_over_and_names_are_text(tmp_path):
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


def page_with_a_place(folder, kind="profiling"):
    path = folder / f"{kind}.html"
    path.write_text(EMPTY, encoding="utf-8")
    return path


def links_of(path):
    return re.findall(r'<a rel="(\w+)" href="([^"]+)">', path.read_text(encoding="utf-8"))


def test_pages_link_to_their_neighbours_and_back(tmp_path):
    for name, day in (("a", "2026-01-03"), ("b", "2026-01-02"), ("c", "2026-01-01")):
        report(tmp_path / name, latest=day)
    first, middle, last = (page_with_a_place(tmp_path / name) for name in "abc")
    site.build(tmp_path)
    assert links_of(first) == [("up", "../index.html"), ("next", "../b/profiling.html")]
    assert links_of(middle) == [
        ("up", "../index.html"),
        ("prev", "../a/profiling.html"),
        ("next", "../c/profiling.html"),
    ]
    assert links_of(last) == [("up", "../index.html"), ("prev", "../b/profiling.html")]
    once = middle.read_bytes()
    site.build(tmp_path)
    assert middle.read_bytes() == once
    shutil.rmtree(tmp_path / "c")
    site.build(tmp_path)
    assert links_of(middle) == [("up", "../index.html"), ("prev", "../a/profiling.html")]
    without_links = re.sub(r"<nav.*?</nav>", "", middle.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.sub(r"\s", "", without_links) == re.sub(r"\s", "", EMPTY)


def test_a_page_without_a_place_is_left_alone(tmp_path):
    report(tmp_path / "a")
    (tmp_path / "a/profiling.html").write_text("<p>mine</p>")
    site.build(tmp_path)
    assert (tmp_path / "a/profiling.html").read_text() == "<p>mine</p>"


@pytest.mark.parametrize("name", ["javascript:alert(1)", "a?b#c%20", "x y", '"><b>'])
def test_a_folder_of_any_name_is_linked_to_as_itself(tmp_path, name):
    report(tmp_path / name)
    report(tmp_path / "z")
    neighbour = page_with_a_place(tmp_path / "z")
    addresses, _ = listed(tmp_path)
    (own,) = set(addresses) - {"z/profiling.html"}
    assert not re.match(r"[A-Za-z]+:", own)
    assert urllib.parse.unquote(html.unescape(own)) == f"{name}/profiling.html"
    assert f"../{own}" in {address for _, address in links_of(neighbour)}
