"""The HTML is valid: parsed strictly, and what it refers to is there."""

import pytest

html5lib = pytest.importorskip("html5lib", reason="needs the browser extra")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


@pytest.mark.parametrize("name", ["golden", "demo", "demo-card", "milestones"])
def test_html_parses_without_an_error(published, name):
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(published(name).read_bytes())
    ids = [e.get("id") for e in tree.iter() if isinstance(e.tag, str) and e.get("id")]
    assert len(ids) == len(set(ids)) > 20
    for attribute in ("aria-labelledby", "aria-describedby"):
        for element in tree.iter():
            assert set((element.get(attribute) or "").split()) <= set(ids)
    figures = [e for e in tree.iter() if e.get("role") == "img"]
    assert figures
    for figure in figures:
        assert [child.tag.split("}")[-1] for child in figure][:2] == ["title", "desc"]


def test_a_broken_page_is_told():
    with pytest.raises(html5lib.html5parser.ParseError):
        html5lib.HTMLParser(strict=True).parse("<!doctype html><title>x</title><p>a</b>")
