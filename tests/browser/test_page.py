"""The built page in a real Chromium: no message, no request, readable in both themes."""

import io

import pytest
from conftest import ARTEFACTS
from PIL import Image

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
# Plotted figures that each page has at least.
LEAST = {"demo": 2, "golden": 1, "compare": 0, "demo-card": 1}


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture(params=[320, 390, 768, 1440])
def width(request):
    return request.param


@pytest.fixture(params=sorted(LEAST))
def name(request):
    return request.param


@pytest.fixture
def opened(browser, published, name, scheme, width):
    """The page, opened without network, and what it printed or asked for."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not _own(request.url) else None)
    page.goto(published(name).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    yield page, said
    context.close()


def _own(url):
    pages = ("/profiling.html", "/estimation.html", "/compare.html")
    return url.startswith("data:") or url.endswith(pages)


def test_no_message_no_request_no_overflow(opened, name, scheme, width):
    page, said = opened
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}-{scheme}-{width}.png", full_page=True)


@pytest.mark.parametrize("name", ["golden", "milestones"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light"])
def test_contents_links_land(opened):
    page, _ = opened
    links = page.query_selector_all("nav.contents a")
    assert len(links) >= 6
    for link in links:
        link.click()
        target = page.query_selector(link.get_attribute("href"))
        top = target.bounding_box()["y"]
        bottom = page.evaluate("document.documentElement.scrollHeight - scrollY - innerHeight")
        assert 0 <= top < 60 or (0 < top < 900 and bottom < 1)  # at the top, or the page ends below it


@pytest.mark.parametrize("name", ["golden", "milestones"])
@pytest.mark.parametrize("width", [1440])
@pytest.mark.parametrize("scheme", ["light"])
def test_numbers_lead_to_their_source_and_contents_stay_in_view(opened):
    page, _ = opened
    links = page.query_selector_all("main a:has(> data)")
    assert len(links) > 10
    seen = set()
    for link in links:
        anchor = link.get_attribute("href")
        if anchor not in seen:
            link.click()
            box = page.query_selector(anchor).bounding_box()
            assert box["y"] < 900
            assert box["y"] + box["height"] > 0
            nav = page.query_selector("nav.contents").bounding_box()
            assert 0 <= nav["y"] < 60
        seen.add(anchor)


@pytest.mark.parametrize("name", ["golden"])
@pytest.mark.parametrize("width", [768])
@pytest.mark.parametrize("scheme", ["light"])
def test_the_tables_of_a_page_are_files_beside_it(opened, published):
    page, _ = opened
    addresses = page.eval_on_selector_all("footer a", "all => all.map(a => a.getAttribute('href'))")
    assert len(addresses) > 10
    assert all((published("golden").parent / address).is_file() for address in addresses)


def wide_tables(page):
    """Return the boxes of the tables that hold more than they show, the last column's padding apart."""
    boxes = page.query_selector_all("div.table .scroll")
    return [box for box in boxes if box.evaluate("b => b.scrollWidth > b.clientWidth + 16")]


@pytest.mark.parametrize("name", ["demo", "milestones"])
def test_a_wide_table_keeps_row_headings_and_shades_its_edge(opened, width):
    page, _ = opened
    tables = wide_tables(page)
    assert tables or width == 1440
    for box in tables[:4]:
        place = box.bounding_box()
        ground, edge = ground_and_edge(page, box)
        assert edge != ground  # more lies to the right
        box.evaluate("b => b.scrollLeft = b.scrollWidth")
        ground, edge = ground_and_edge(page, box)
        assert edge == ground
        heading = box.query_selector("tbody th")
        assert heading.bounding_box()["x"] == pytest.approx(place["x"], abs=1)
        assert heading.bounding_box()["width"] < 0.6 * place["width"]
        assert heading.evaluate("h => getComputedStyle(h).backgroundColor") == page.evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )


def ground_and_edge(page, box):
    """Return the colour of the page, and of the last pixel of a table's box in the line of its caption."""
    caption = box.query_selector("caption")
    caption.evaluate("c => c.scrollIntoView({block: 'center', inline: 'nearest'})")
    caption, place = caption.bounding_box(), box.bounding_box()
    clip = {"x": place["x"] + place["width"] - 2, "y": caption["y"] + 1, "width": 40, "height": 2}
    clip["width"] = min(clip["width"], page.viewport_size["width"] - clip["x"])
    pixels = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    return pixels.getpixel((pixels.width - 1, 0)), pixels.getpixel((0, 0))


@pytest.mark.parametrize("name", ["demo"])
@pytest.mark.parametrize("width", [1440, 1920])
def test_text_tables_and_figures_share_a_column_beside_the_contents(opened):
    page, _ = opened
    column = page.query_selector("main").bounding_box()
    assert column["width"] == 54 * 16
    contents = page.query_selector("nav.contents").bounding_box()
    assert contents["x"] + contents["width"] < column["x"]
    for box in page.query_selector_all("div.table, figure, #answer"):
        place = box.bounding_box()
        assert place["x"] == pytest.approx(column["x"], abs=1)
        assert place["width"] == pytest.approx(column["width"], abs=1)
    widest = page.eval_on_selector_all("main p", "all => Math.max(...all.map(p => p.clientWidth))")
    assert widest <= 44 * 16


def test_figures_are_seen_and_their_text_is_read(opened, name, width):
    page, _ = opened
    boxes = page.eval_on_selector_all(
        "figure svg.plot",
        "all => all.filter(s => s.checkVisibility()).map(s => { const box = s.getBoundingClientRect();"
        " return [box.width, box.height, s.querySelectorAll('text').length,"
        " Math.min(...[...s.querySelectorAll('text')].map(t =>"
        " parseFloat(getComputedStyle(t).fontSize) * box.width / s.viewBox.baseVal.width))]; })",
    )
    assert len(boxes) >= LEAST[name]
    for box_width, height, texts, letters in boxes:
        assert box_width >= min(width - 32, 415)
        assert height > 80
        assert texts > 5
        assert letters >= (10.9 if width >= 390 else 9)


CONTRAST = """
() => {
  const channel = c => (c /= 255, c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const colour = text => {
    const c = text.match(/[0-9.]+/g).map(Number);
    return c.length < 4 ? [...c, 1] : c;
  };
  const over = (top, below, opacity) =>
    [0, 1, 2].map(i => top[i] * top[3] * opacity + below[i] * (1 - top[3] * opacity));
  const canvas = colour(getComputedStyle(document.body).backgroundColor).slice(0, 3);
  const found = [];
  for (const text of document.querySelectorAll("svg.plot text")) {
    if (!text.checkVisibility()) continue;
    text.scrollIntoView({block: "center", inline: "center"});
    const box = text.getBoundingClientRect();
    const at = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const shapes = at.filter(e => /^(path|rect|use)$/.test(e.tagName) && text.ownerSVGElement.contains(e));
    let below = canvas;
    for (const shape of shapes.reverse()) {
      const style = getComputedStyle(shape);
      if (style.fill !== "none") below = over(colour(style.fill), below, style.fillOpacity * style.opacity);
    }
    const own = getComputedStyle(text);
    const top = over(colour(own.fill), below, own.fillOpacity * own.opacity);
    const [a, b] = [luminance(top), luminance(below)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), text.textContent, own.fill, below.map(Math.round).join()]);
  }
  return found;
}
"""


@pytest.mark.parametrize("name", ["demo", "golden", "demo-card", "milestones"])
@pytest.mark.parametrize("width", [1440])
def test_the_text_of_figures_keeps_its_contrast(opened):
    page, _ = opened
    found = page.evaluate(CONTRAST)
    assert len(found) > 10
    assert [text for text in found if text[0] < 4.5] == []
    assert {text[3] for text in found} > {found[0][3]} or len({text[3] for text in found}) == 1


def test_accessibility(opened):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page, _ = opened
    found = axe.run(page).response["violations"]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found] == []


@pytest.mark.parametrize("name", ["golden"])
@pytest.mark.parametrize("width", [1280])
@pytest.mark.parametrize("scheme", ["light"])
def test_a_page_is_short_enough_to_decide_from(opened):
    page, _ = opened
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = false)")
    visible = page.evaluate("document.body.innerText").split()
    assert len([word for word in visible if any(c.isalnum() for c in word)]) <= 1_300
    assert page.query_selector("#what-to-change").bounding_box()["y"] <= 1_200
    stops = page.evaluate(
        "[...document.querySelectorAll('a[href], summary, [tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility()).length"
    )
    assert stops <= 45
