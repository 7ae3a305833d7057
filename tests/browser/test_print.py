"""The page on paper: all its text, nothing clipped, no row and no figure torn apart."""

import io
import re
import unicodedata

import pytest
from conftest import ARTEFACTS

pypdf = pytest.importorskip("pypdf")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
MARGIN = "15mm"
A4_COLUMN = 680  # CSS pixels between these margins

# Texts of the page as it is printed: of each heading with what follows it, of each row, of each
# figure, and of everything else that stands in a line of its own.
TEXTS = """
() => {
  const seen = e => e.getClientRects().length > 0 && !e.matches(".skip, .vh, :has(> .vh)");
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)].filter(seen);
  const text = e => e.tagName === "text" ? e.textContent : e.innerText;
  const next = e => {
    let after = e.nextElementSibling;
    while (after && !after.innerText) after = after.nextElementSibling;
    return after.matches("figure") ? text(after.querySelector("svg text")) : text(after);
  };
  return {
    lines: all("h1, h2, h3, p, li, caption, figcaption, th, td, dt, dd, svg text").map(text),
    rows: all("tr").map(row => all("th, td", row).map(text)),
    figures: all("figure").map(f => all("svg text, li, figcaption", f).map(text)),
    details: [...document.querySelectorAll("details td:first-child, details tbody th")]
      .map(e => e.textContent),
    headings: all("main h2, main h3").map(h => [text(h), next(h)]),
    // The space at the end of a line of a var or code hangs over.
    wide: all("main :not(var, code, svg *)").filter(e => e.getBoundingClientRect().right > innerWidth + 1)
      .map(e => e.outerHTML.slice(0, 200)),
  };
}
"""


@pytest.fixture(scope="module", params=["golden", "demo", "milestones"])
def printed(request, browser, published):
    """The texts of a page in print, and the text of each sheet of its PDF; white space taken out."""
    page = browser.new_page(viewport={"width": A4_COLUMN, "height": 1000})
    page.goto(published(request.param).as_uri())
    page.emulate_media(media="print")
    texts = page.evaluate(TEXTS)
    margin = dict.fromkeys(("top", "right", "bottom", "left"), MARGIN)
    pdf = page.pdf(format="A4", margin=margin, print_background=True)
    page.close()
    ARTEFACTS.mkdir(exist_ok=True)
    (ARTEFACTS / f"{request.param}.pdf").write_bytes(pdf)
    sheets = [bare(sheet.extract_text()) for sheet in pypdf.PdfReader(io.BytesIO(pdf)).pages]
    return texts, sheets


def bare(text):
    """Take out white space, and take ligatures apart."""
    return re.sub(r"[\s\u200b]", "", unicodedata.normalize("NFKC", text))


def on_one_sheet(parts, sheets):
    return any(all(bare(part) in sheet for part in parts) for sheet in sheets)


def test_the_pdf_has_all_the_text(printed):
    texts, sheets = printed
    whole = "".join(sheets)
    assert len(texts["lines"]) > 200
    assert [line for line in texts["lines"] if bare(line) not in whole] == []


def test_no_row_and_no_figure_is_split(printed):
    texts, sheets = printed
    assert len(texts["rows"]) > 40
    assert [row for row in texts["rows"] if not on_one_sheet(["".join(row)], sheets)] == []
    assert texts["figures"]
    assert [figure for figure in texts["figures"] if not on_one_sheet(figure, sheets)] == []


def test_no_heading_is_left_behind(printed):
    texts, sheets = printed
    assert len(texts["headings"]) >= 6
    for heading, after in texts["headings"]:
        first = bare(after)[:40]
        follows = [s for s in sheets if bare(heading) in s and first in s[s.index(bare(heading)) :]]
        assert follows, heading


def test_print_clips_nothing_and_omits_what_only_screens_need(printed):
    texts, sheets = printed
    assert texts["wide"] == []
    assert "Skiptothe" not in "".join(sheets)
    assert "frameofthisresult" not in "".join(sheets)


def test_details_are_printed_though_they_are_closed(printed):
    texts, sheets = printed
    assert texts["details"]
    assert [row for row in texts["details"] if bare(row) not in "".join(sheets)] == []
