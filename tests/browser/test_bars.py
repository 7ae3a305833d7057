"""Bars in a real Chromium: text of one size from 320 to 1920 px, readable on every shade, within its bar."""

import nbformat
import numpy as np
import pandas as pd
import pytest

from traincost.pages.exporter import TraincostExporter
from traincost.results import fluid, labelled, mean_bars
from traincost.results.prose import Name, Number, say
from traincost.results.result import Answer, Bars, More, Result
from traincost.results.tables import Bar, Heading, Table, as_printed, shades_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
LONG = "a_section_with_a_name_of_more_than_forty_letters"
SHARES = (0.28, 0.21, 0.13, 0.11, 0.06, 0.02, 0.01, 0.18)
KINDS = ("training", "evaluation", "training", "evaluation", "setup", "other", "other", "untimed")
NAMES = ("train", LONG, "backward", "evaluate", "setup", "hook", "another", "untimed")
RUN = list(zip(NAMES, SHARES, KINDS, strict=True))
FRAME = pd.DataFrame({"share": SHARES})


def number(key, value, text):
    return say("{n}", n=Number(key, value, text))


def percent(share):
    return f"{100 * share:.1f} %"


def answer():
    parts = [(name, share, percent(share), kind) for name, share, kind in RUN]
    said = f"{LONG} governs 32.0 %"
    drawing = labelled.answer_bar(parts, {LONG, "evaluate"}, said, name="answer", title="A whole run")
    return Answer(
        say("Evaluation takes as much time as training"),
        say("Evaluate once per run instead of on a schedule"),
        (say("({a}, now {n}).", a=Name(LONG), n=Number("now", 0.25, "0.25")),),
        Bars("answer", FRAME, drawing, say("Share of runtime."), quiet=True),
        tuple(
            (number(f"f{i}", i, "2026-01-01 to 2026-01-12"), say("first and last start")) for i in range(4)
        ),
    )


def levels():
    rows = []
    for i in range(30):
        total = 20.0 / (1 + i)
        parts = [(name, total * share, f"{total * share:.1f} h", kind) for name, share, kind in RUN]
        rows.append(
            fluid.Level(f"{LONG}={i}", tuple(parts), f"{total:.1f} h", "123 min 45 s to 345 min 12 s")
        )
    legend = fluid.legend(fluid.ranked(rows[0].parts), "levels")
    drawing = mean_bars.level_bars(rows, name="levels", title="Runtime by section")
    return Bars("levels", FRAME, drawing, say("Mean run of each {x}", x=Name(LONG)), legend=legend)


def before_and_after():
    rows = []
    for when, scale in (("before", 19.0), ("after", 10.8)):
        parts = [(name, scale * share, f"{scale * share:.1f} s", kind) for name, share, kind in RUN]
        rows.append(fluid.Level(f"{when}: {LONG} 0.25", tuple(parts), f"{scale:.1f} s"))
    drawing = labelled.labelled_bars(rows, name="parts", title="Parts")
    return Bars("parts", FRAME, drawing, say("Mean run."), quiet=True)


def tables():
    paths = ["epoch", f"epoch/{LONG}", f"epoch/{LONG}/inner", "run/setup", "untimed"]
    frame = pd.DataFrame(
        {"path": paths, "share": [0.6, 0.5, 0.2, 0.1, 0.3], "verdict": "no more than chance"}
    )
    frame = frame.assign(time="12 min 34 s", n=50.5, colour=["t1", "e1", "e2", "i1", "un"])
    frame["how"], frame["low"], frame["high"] = ["", "quiet", "", "", "total"], 0.1, 0.8
    sections = Table(
        "sections",
        say("Share of a run by section"),
        (
            Heading("path", "section", code=True),
            Heading("verdict", "verdict", below_on_phone=True),
            Heading("share", "share", percent, bar=Bar("low", "high", colour="colour")),
            Heading("time", "one time", as_printed),
            Heading("n", "times a run", lambda value: f"{value:.1f}", hide_on_phone=True),
        ),
        frame,
        36,
        note=say("Mean over {n} runs.", n=Number("n", 36, "36")),
        tree=True,
        rows="how",
    )
    values = np.geomspace(1.0, 300.0, 80).reshape(8, 10)
    values[2, 3] = np.nan
    heat = pd.DataFrame(values, columns=[f"{LONG}{i}" for i in range(10)])
    heat.insert(0, "level", [f"{LONG}={i}" for i in range(8)])
    headings = [Heading(name, name, lambda value: f"{value:.1f} h") for name in heat.columns[1:]]
    headings = (Heading("level", "level"), *headings)
    cells = Table("cells", say("Runtime of each"), headings, heat, 80, shades=shades_of(values))
    return sections, cells


@pytest.fixture(scope="module")
def page_of_blocks(tmp_path_factory):
    sections, cells = tables()
    blocks = [
        answer(),
        levels(),
        before_and_after(),
        sections,
        More(say("More of it"), ([say("Said.")], cells)),
    ]
    bundle = Result.showing("made", FRAME, *blocks)._repr_mimebundle_()
    cell = nbformat.v4.new_code_cell("made", outputs=[nbformat.v4.new_output("display_data", bundle)])
    heading = nbformat.v4.new_markdown_cell("# A page of blocks\n\n## Where the time goes")
    page, _ = TraincostExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[heading, cell]))
    path = tmp_path_factory.mktemp("blocks") / "page.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(params=[320, 390, 768, 1280, 1920])
def width(request):
    return request.param


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture
def opened(browser, page_of_blocks, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    page.goto(page_of_blocks.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    yield page
    context.close()


# Of each text in a figure that is seen: its size, the least contrast with what lies under it, whether it
# sticks out of the bar that it stands in or out of its figure, and the text.
TEXTS = """() => {
  const channel = c => (c /= 255, c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const rgb = text => text.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const hatch = rgb(getComputedStyle(document.querySelector("pattern rect + rect")).fill);
  const canvas = rgb(getComputedStyle(document.body).backgroundColor);
  const found = [];
  for (const svg of document.querySelectorAll("svg.fluid")) {
    if (!svg.getClientRects().length) continue;
    const whole = svg.getBoundingClientRect();
    const bars = [...svg.querySelectorAll("rect")].filter(r => !r.closest("pattern"));
    for (const text of svg.querySelectorAll("text")) {
      if (!text.getClientRects().length) continue;
      const box = text.getBoundingClientRect();
      const under = bars.filter(r => {
        const b = r.getBoundingClientRect();
        return Math.min(b.right, box.right) - Math.max(b.left, box.left) > 1
          && Math.min(b.bottom, box.bottom) - Math.max(b.top, box.top) > 4;
      });
      const own = luminance(rgb(getComputedStyle(text).fill));
      const grounds = under.map(r => getComputedStyle(r).fill).map(f => f.startsWith("url") ? hatch : rgb(f));
      const contrasts = (grounds.length ? grounds : [canvas]).map(luminance)
        .map(l => (Math.max(l, own) + 0.05) / (Math.min(l, own) + 0.05));
      const out = under.some(r => {
        const b = r.getBoundingClientRect();
        return box.right > b.right + 1 || box.left < b.left - 1;
      }) || box.left < whole.left - 1 || box.right > whole.right + 1;
      const size = parseFloat(getComputedStyle(text).fontSize);
      found.push([size, Math.min(...contrasts), out, text.textContent]);
    }
  }
  return found;
}"""


def test_text_in_bars_has_one_size_contrast_and_room(opened):
    found = opened.evaluate(TEXTS)
    assert len(found) > 60
    assert {text[0] for text in found} == {12, 13}
    assert [text for text in found if text[1] < 4.5] == []
    assert [text for text in found if text[2]] == []


def test_one_drawing_of_a_bar_shows_and_fits_the_window(opened, width):
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    seen = opened.eval_on_selector_all(
        "svg.fluid", "all => all.filter(s => s.checkVisibility()).map(s => s.classList[1] || '')"
    )
    assert seen == (["narrow", "", "narrow"] if width < 640 else ["wide", "", "wide"])


def test_labels_of_a_bar_lie_apart(opened):
    boxes = opened.eval_on_selector_all(
        "svg.fluid text",
        "all => all.filter(t => t.checkVisibility()).map(t => { const b = t.getBoundingClientRect();"
        " return [b.left, b.right, b.top + 3, b.bottom - 3, t.textContent]; })",
    )
    overlapping = [
        (a[4], b[4])
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if min(a[1], b[1]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[2], b[2]) > 1
    ]
    assert overlapping == []


def test_a_bar_moves_below_its_row_on_a_phone(opened, width):
    rows = opened.eval_on_selector_all(
        "#table-sections tbody tr",
        "all => all.map(r => [r, r.querySelector('svg.cell'), r.querySelector('td.number')]"
        ".map(e => { const b = e.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; }))",
    )
    assert len(rows) == 5
    for row, bar, number in rows:
        assert row[2] <= bar[2] < bar[3] <= row[3] + 1
        if width < 640:
            assert bar[2] >= number[3] - 30
            assert bar[1] - bar[0] == pytest.approx(row[1] - row[0], abs=1)
        else:
            assert bar[1] < number[1]
            assert bar[1] - bar[0] > 60


@pytest.mark.parametrize("width", [390, 1280])
def test_blocks_are_accessible(opened):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(opened).response["violations"]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found] == []


@pytest.mark.parametrize("scheme", ["light"])
@pytest.mark.parametrize("width", [390])
def test_a_keyboard_reaches_the_answer_first(opened):
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.textContent") == "Skip to the answer"
    assert opened.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    opened.keyboard.press("Enter")
    assert opened.evaluate("location.hash") == "#answer"
