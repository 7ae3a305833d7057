"""What runs contain is text in every output: nothing executes, and it is shown as it was.

Each payload is put in every run name, path, setting, level, section and score of its run, and in
the parameters. The pages are opened with their content-security policy switched off, so that
escaping alone has to hold.
"""

import csv
import io
import re

import mistune
import pandas as pd
import pytest
from conftest import record, write_run

from traincost.pages import publish, site
from traincost.results.markup import _visible
from traincost.results.prose import say
from traincost.results.tables import Heading, Table

html5lib = pytest.importorskip("html5lib", reason="needs the browser extra")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

PAYLOADS = [
    # elements
    "<script>alert(1)</script>",
    "<ScRiPt >alert(1)</sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<img/src/onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<body onload=alert(1)>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<object data=javascript:alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<form><button formaction=javascript:alert(1)>x",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<base href=javascript:alert(1)//>",
    "<link rel=stylesheet href=data:text/css,*{display:none}>",
    "<a href=javascript:alert(1)>x</a>",
    # out of where they stand
    '"><img src=x onerror=alert(1)>',
    "'><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" autofocus onfocus="alert(1)',
    "' onfocus='alert(1)' tabindex='0",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</desc></svg><script>alert(1)</script>",
    "</code></td></tr></table><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script><![CDATA[",
    "</textarea></noscript><script>alert(1)</script>",
    # what a template, a parser or a spreadsheet might take for its own
    "{{ 7*7 }}{% for x in y %}{{ x }}",
    "${alert(1)} `${alert(1)}` #{7*7}",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp; &#60;",
    "[x](javascript:alert(1)) ![x](x 'onerror=alert(1)') **b** `c` <u>",
    "| a | b |\n|---|---|\n# head",
    "\\input{x} \\write18{x} $x_1^2$ 50 % & #1 ~ ^ { }",
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    '=HYPERLINK("javascript:alert(1)","x")',
    # characters
    "\u202ertl\u202c \u200fx \u2028y",
    "\x1b[31mred\x07 \x7f \x9b",
    "漢字 🙂 e\u0301 \ufeff",
    "%3Cscript%3Ealert(1)%3C/script%3E \\u003cscript\\u003e",
]
TITLE = "</title>" + "".join(PAYLOADS[:3])


def hostile_runs(folder, payloads):
    """Write a run per payload, which holds it wherever text can stand, and as many that failed."""
    for i, payload in enumerate(payloads):
        name = re.sub(r"[/\0]", "∕", payload)
        stages = [{"name": payload, "epochs": 1, "flops_per_pass": 1e9, "passes_per_epoch": 10 + i}]
        run = record(
            payload,
            config={payload: payload, "k": payload, "nested": {payload: [payload]}},
            runtime_s=50.0 + i,
            started_at=payload if i % 7 == 0 else "2026-01-01T08:00:00+00:00",
            sections={payload.replace("/", "∕"): {"seconds": 20.0, "count": 3}},
            scores={payload: 0.5, "s": 0.1 * i},
            cost={"memory_mib": 10.0, payload: 3.0},
            compute={"stages": stages},
        )
        write_run(folder / f"{name}{i}", run)
        write_run(folder / f"failed {name}{i}", {**run, "run_id": f"{payload} failed", "status": "failed"})
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Pages, cards and front page of hostile runs, by name, with the payloads that each must show."""
    folder, half = tmp_path_factory.mktemp("hostile"), len(PAYLOADS) // 2
    pages = {}
    for name, payloads in (("first", PAYLOADS[:half]), ("second", PAYLOADS[half:])):
        runs = hostile_runs(folder / name, payloads)
        texts = {"project": TITLE, "collection": TITLE, "note": "".join(payloads)}
        texts["links"] = {payload: f"x.html?{payload}" for payload in payloads if payload.isprintable()}
        own = {"rows": "k", "cost_by": ["k"], "score": "s", "price_per_hour": 1.0, "currency": payloads[0]}
        out = folder / "reports" / name
        pages[f"{name} page"] = publish.page(runs, out, **texts, **own), payloads
        pages[f"{name} card"] = publish.estimate(runs, out, **texts), payloads
    pages["front page"] = site.build(folder / "reports"), PAYLOADS[:3]
    return pages


@pytest.fixture(params=["first page", "second page", "first card", "second card", "front page"])
def written(request, hostile):
    return hostile[request.param]


def test_there_are_many_and_different_payloads():
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 40


def test_nothing_executes_and_all_is_shown(browser, written):
    path, payloads = written
    context = browser.new_context(bypass_csp=True, offline=True)
    page, said = context.new_page(), []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('*').forEach(e => { e.focus && e.focus(); })")
    page.mouse.move(200, 200)
    page.wait_for_timeout(300)
    assert said == []
    elements = "script, img, iframe, object, embed, video, form, input, button, base, body body, math"
    assert page.query_selector(f"{elements}, [onerror], [onload], [onfocus], [srcdoc]") is None
    assert page.query_selector("a[href^='javascript:' i], link:not([rel=icon])") is None
    shown = page.evaluate("document.querySelector('main').textContent")
    for payload in payloads:
        assert "".join(map(_visible, payload)) in shown, payload
    assert page.evaluate("getComputedStyle(document.querySelector('main')).display") != "none"
    context.close()


def test_the_html_stays_whole(written):
    path, _ = written
    html5lib.HTMLParser(strict=True).parse(path.read_bytes())


def test_no_cell_of_a_downloaded_table_is_a_formula(hostile):
    cells = 0
    for path, _ in hostile.values():
        for table in path.parent.glob("*-tables/*.csv"):
            for row in csv.reader(io.StringIO(table.read_bytes().decode(), newline="")):
                for cell in row:
                    assert not re.match(r"[=+\-@\t\r\n]", cell) or is_number(cell), (table.name, cell)
                    cells += 1
    assert cells > 1000


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def table(payload):
    headings = (Heading("a", payload), Heading("b", "b"))
    return Table("t", say("T."), headings, pd.DataFrame({"a": [payload], "b": ["end"]}), 1)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markdown_shows_it_as_text(payload):
    page = mistune.create_markdown(escape=False, plugins=["table", "url", "strikethrough"])(
        table(payload).to_markdown()
    )
    seen = html5lib.parseFragment(page, namespaceHTMLElements=False)
    assert {e.tag for e in seen.iter() if e.tag != "DOCUMENT_FRAGMENT"} <= {
        "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    cells = ["".join(e.itertext()) for e in seen.iter() if e.tag in ("th", "td")]
    printable = " ".join("".join(c if c.isprintable() else " " for c in payload).split())
    assert [" ".join(cell.split()) for cell in cells] == [printable, "b", printable, "end"]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_latex_shows_it_as_text(payload):
    lines = table(payload).to_latex().splitlines()
    assert len(lines) == 2
    for line in lines:
        commands = r"\\(text[a-z]+|char34)\{\}|\{[*\[]\}|\\ifdefined\\Umathchar|\\else|\\fi\{\}|(?<=['-])\{\}"
        bare = re.sub(rf"{commands}|\\[{{}}&%$#_]|\$\\[a-z]+\$|\$\^2\$|\$-\$| \\\\$", "", line)
        assert not re.search(r"[\\{}%$#_~^<>|\"\x00-\x1f]", bare), line
        assert bare.count("&") == 1


@pytest.mark.parametrize("payload", PAYLOADS)
def test_csv_is_read_back_as_it_was(payload):
    _, (text, _) = csv.reader(io.StringIO(table(payload).to_csv(), newline=""))
    assert text.replace("'", "") == payload.replace("'", "")
    assert not re.match(r"[=+\-@\t\r\n]", text)
