"""No digit is typed into a page: each stands in an element that says where it is from."""

import re
from html.parser import HTMLParser

import pytest

TRACED = {
    "data",
    "code",
    "time",
    "var",
    "title",
}  # the last cannot hold any; and the cells and drawings, which hold what was computed
COMPUTED = {"td", "th", "svg"}
VOID = {"meta", "link", "wbr", "br", "hr", "img", "input"}


class Digits(HTMLParser):
    """Collects the digits in a page's prose, with the text around them."""

    def __init__(self, page):
        super().__init__()
        self.open, self.found, self.texts = [], [], 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, text):
        if "style" in self.open or (TRACED | COMPUTED) & set(self.open):
            return
        self.texts += 1
        if self.open[-1:] == ["a"] and text.startswith("arXiv:"):  # the name of a paper
            return
        if re.search(r"\d", text):
            self.found.append((self.open[-1], text.strip()[:80]))


@pytest.mark.parametrize("name", ["golden", "demo", "demo-card", "milestones"])
def test_no_digit_stands_in_prose_by_itself(published, name):
    walked = Digits(published(name).read_text(encoding="utf-8"))
    assert walked.found == []
    assert walked.texts > 100


@pytest.mark.parametrize(
    "typed", ["<p>It took 3 h.</p>", "<h2>Top 5</h2>", "<table><caption>In 2 parts</caption></table>"]
)
def test_a_typed_digit_is_found(typed):
    assert Digits(typed).found
    assert not Digits("<p><a href=x><data>3 h</data></a> <code>v1</code></p><table><td>1</td></table>").found
