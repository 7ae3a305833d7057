"""The built page in a real Chromium: no message, no request, readable in both themes."""

import os
import shutil
from pathlib import Path

import pytest
from conftest import DATA, ROOT

from traincost import publish

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
ARTEFACTS = Path(os.environ.get("TRAINCOST_ARTEFACTS", ROOT / "ci-artefacts"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Headings and figures that each page has at least.
LEAST = {"demo": (6, 7), "golden": (6, 6), "compare": (5, 2)}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    demo = publish.page(
        ROOT / "notebooks/runs/demo-sweep",
        folder / "demo",
        publish.read_parameters(ROOT / "params/demo.yaml"),
    )
    golden = publish.page(
        DATA / "continuous-v2", folder / "golden", publish.read_parameters(DATA / "continuous-v2.params.yaml")
    )
    sides = (ROOT / f"notebooks/runs/demo-sweep-{name}" for name in ("control", "once"))
    return {"demo": demo, "golden": golden, "compare": publish.compare(*sides, folder / "compare")}


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    assert CHROMIUM, "no Chromium is installed (Debian: apt install chromium)"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture(params=[360, 768, 1440])
def width(request):
    return request.param


@pytest.fixture(params=sorted(LEAST))
def name(request):
    return request.param


@pytest.fixture
def opened(browser, pages, name, scheme, width):
    """The page, opened without network, and what it printed or asked for."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not _own(request.url) else None)
    page.goto(pages[name].as_uri())
    yield page, said
    context.close()


def _own(url):
    return url.startswith("data:") or url.endswith(("/profiling.html", "/compare.html"))


def test_no_message_no_request_no_overflow(opened, name, scheme, width):
    page, said = opened
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}-{scheme}-{width}.png", full_page=True)


def test_contents_links_land(opened, name):
    page, _ = opened
    targets = page.eval_on_selector_all("nav.contents a", "links => links.map(a => a.getAttribute('href'))")
    assert len(targets) >= LEAST[name][0]
    for target in targets:
        assert page.query_selector(target) is not None


def test_figures_are_seen(opened, name):
    page, _ = opened
    boxes = page.eval_on_selector_all(
        "figure svg.plot",
        "all => all.map(s => { const box = s.getBoundingClientRect();"
        " return [box.width, box.height, s.querySelectorAll('text').length]; })",
    )
    assert len(boxes) >= LEAST[name][1]
    for box_width, height, texts in boxes:
        assert box_width >= 500  # on a phone, in a box that scrolls
        assert height > 80
        assert texts > 5


def test_accessibility(opened):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page, _ = opened
    found = axe.run(page).response["violations"]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found] == []
