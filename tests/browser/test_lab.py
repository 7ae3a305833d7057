"""The notebooks in a real JupyterLab, driven by a real Chromium, in both of its themes."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from conftest import ARTEFACTS, CHROMIUM, FLAGS, ROOT, record, write_run

from traincost.pages import publish
from traincost.printing import plain

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
PAYLOAD = "<img src=x onerror=alert(1)>"
FORMULA = r"$\href{javascript:alert(1)}{x}$"
CELLS = ".jp-Notebook .jp-Cell"
ERRORS = '[data-mime-type="application/vnd.jupyter.error"]'
MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the server serves: copies of the notebooks, the shipped runs, and hostile ones."""
    folder = tmp_path_factory.mktemp("lab") / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder)
    for i in range(12):
        write_run(
            folder / "runs" / "hostile" / f"r{i}",
            record(
                f"{PAYLOAD}{i}",
                config={PAYLOAD: f"{PAYLOAD}{i % 2}", "status": i % 3, FORMULA: f"{FORMULA}{i // 2 % 2}"},
                runtime_s=10.0 + 7 * (i % 2) + i / 10,
                sections={PAYLOAD: {"seconds": 5.0, "count": 3}},
                status="failed" if i > 9 else "completed",
            ),
        )
    explore = (folder / "explore.ipynb").read_text(encoding="utf-8")
    (folder / "hostile.ipynb").write_text(explore.replace("runs/demo-sweep", "runs/hostile"), "utf-8")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for theme in THEMES:
        nbformat.write(nbformat.v4.new_notebook(metadata=kernel), folder / f"empty-{theme}.ipynb")
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """A JupyterLab server of its own, without a token, for this machine only."""
    home = folder.parent / "home"
    config = home / "config" / "labconfig"
    config.mkdir(parents=True)
    # Announcements would be fetched from a host.
    disabled = {"@jupyterlab/apputils-extension:announcements": True}
    (config / "page_config.json").write_text(json.dumps({"disabledExtensions": disabled}))
    # A cell outside the window is not drawn otherwise, and could not be read here.
    settings = {
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
        "@jupyterlab/completer-extension:manager": {"providerTimeout": MINUTE_MS},
    }
    (config / "default_setting_overrides.json").write_text(json.dumps(settings))
    port = _free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *_server_options(port, folder)],
        env=_environment(home),
        stdout=(home / "server.log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    try:
        yield _answering(f"http://127.0.0.1:{port}", server, home / "server.log")
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _server_options(port, folder):
    return [
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        "--IdentityProvider.token=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]


def _environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON"))}
    own = {
        "HOME": home,
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
        "PYTHONPATH": ROOT / "lib",
    }
    return {**kept, **{name: str(path) for name, path in own.items()}}


def _answering(address, server, log):
    for _ in range(900):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{address}/api/status", timeout=5):
                return address
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    assert CHROMIUM, "no Chromium is installed (Debian: apt install chromium)"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def theme():
    return "light"


@pytest.fixture
def lab(browser, address, folder, theme):
    """A window of the lab; a request to another host, a dialog, or a script's error fails the test."""
    chosen = folder.parent / "home/settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
    chosen.parent.mkdir(parents=True, exist_ok=True)
    chosen.write_text(json.dumps({"theme": THEMES[theme]}))
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    unwanted = []

    def guard(route):
        if route.request.url.startswith((f"{address}/", "blob:", "data:")):
            route.continue_()
        else:
            unwanted.append(route.request.url)
            route.abort()

    context.route("**", guard)
    page = context.new_page()
    page.on("pageerror", lambda error: unwanted.append(f"{error} {error.stack}"))
    page.on("dialog", lambda dialog: (unwanted.append(dialog.message), dialog.dismiss()))
    page.on("websocket", lambda socket: _note_socket(socket.url, address, unwanted))
    yield page
    context.close()
    assert unwanted == []


def _note_socket(url, address, unwanted):
    if not url.startswith(address.replace("http", "ws", 1)):
        unwanted.append(url)


def open_notebook(page, address, name):
    page.goto(f"{address}/lab/tree/{name}?reset", timeout=2 * MINUTE_MS)
    page.wait_for_selector(CELLS, timeout=2 * MINUTE_MS)
    wait_for_idle(page)


def run_all(page, address, name):
    """Open a notebook and run all of its cells, as a person would."""
    open_notebook(page, address, name)
    page.click(".lm-MenuBar-itemLabel:text-is('Run')")
    page.click(".lm-Menu-itemLabel:text-is('Run All Cells')")
    finished(page, page.locator(".jp-CodeCell").count())
    assert page.locator(ERRORS).count() == 0


def wait_for_idle(page):
    # The status bar's word: that of the notebook's toolbar is there before there is a kernel.
    page.wait_for_selector("#jp-main-statusbar :text('| Idle')", timeout=MINUTE_MS)


def texts(page, selector):
    """Return the text of each element, without the mark that the lab puts behind headings."""
    found = page.eval_on_selector_all(selector, "all => all.map(e => e.textContent)")
    return [re.sub(r"\s+", " ", text).strip().removesuffix("¶") for text in found]


LINES = (
    "import traincost as tc",
    'runs = tc.read("runs/demo-sweep")',
    "runs",
    "e = tc.effects(runs)",
    "e",
    "e.plot()",
    "print(e)",
    "import matplotlib.pyplot as plt; plt.plot([1, 2]);",
)
RUNS, EFFECTS, PLOT, PRINTED, OWN = 2, 4, 5, 6, 7


@pytest.mark.parametrize("theme", THEMES)
def test_answers_show_themselves_in_an_empty_notebook(lab, address, theme):
    open_notebook(lab, address, f"empty-{theme}.ipynb")
    lab.locator(f"{CELLS} .cm-content").first.click()
    for line in LINES:
        lab.keyboard.insert_text(line)
        lab.keyboard.press("Shift+Enter")
    lab.keyboard.insert_text("tc.")
    finished(lab, len(LINES))
    for index in (EFFECTS, RUNS, EFFECTS):  # again, and in another order
        lab.locator(f"{CELLS} .cm-content").nth(index).click()
        lab.keyboard.press("Control+Enter")
    finished(lab, len(LINES))
    outputs = lab.locator(CELLS)
    said = outputs.nth(RUNS).locator("li").first.text_content()
    assert plain(said) == "36 completed runs took 11 min 21 s in all."
    assert outputs.nth(EFFECTS).locator("table#table-effects svg.cell").count() > 1
    assert "Runtime depends on task_name" in outputs.nth(PRINTED).locator("pre").last.text_content()
    for index in (PLOT, OWN):
        assert outputs.nth(index).locator(".jp-RenderedImage img").count() == 1
    assert lab.locator(ERRORS).count() == 0
    assert style(lab, "svg.cell", "color") == style(lab, ".jp-OutputArea p", "color")
    picture(lab, f"lab-empty-{theme}")

    lab.locator(f"{CELLS} .cm-content").nth(len(LINES)).click()
    lab.keyboard.press("End")
    lab.keyboard.press("Tab")
    lab.wait_for_selector(".jp-Completer-item", timeout=MINUTE_MS)
    assert set(texts(lab, ".jp-Completer-item code.jp-Completer-match")) >= {"read", "effects", "Recorder"}


def finished(page, n):
    """Wait until the first `n` cells have run."""
    page.wait_for_function(
        "n => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].slice(0, n)"
        ".every(prompt => /\\[[0-9]+\\]/.test(prompt.textContent))",
        arg=n,
        timeout=2 * MINUTE_MS,
    )
    wait_for_idle(page)


def test_the_lab_shows_what_the_page_shows(browser, lab, address, folder, tmp_path):
    built = publish.page(folder / "runs" / "demo-sweep", tmp_path)
    run_all(lab, address, "profiling.ipynb")
    page = browser.new_page()
    page.goto(built.as_uri())
    of_the_page = ":not(#table-parameters *, #table-versions *, nav *, footer *, .more)"
    for what in (*("h1", "h2", "figcaption", "svg[role=img] title", "caption", "tr", "p", "li", "svg text"),):
        expected = texts(page, f":is(body > header, main) {what}{of_the_page}")
        assert expected, what
        shown = f":is(.jp-OutputArea, .jp-MarkdownOutput) {what}:not(.more)"
        assert texts(lab, shown) == expected, what
    page.close()
    picture(lab, "lab-profiling-light")


# Ends once no output has changed for a second.
QUIET = """() => new Promise(done => {
    let timer = setTimeout(done, 1000);
    new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, 1000); })
        .observe(document.querySelector('.jp-WindowedPanel-viewport') || document.body,
                 {childList: true, subtree: true});
})"""


def picture(page, name):
    """Keep a picture of every figure and of the first window."""
    replaced = pytest.importorskip("playwright.sync_api").Error
    ARTEFACTS.mkdir(exist_ok=True)
    page.evaluate(QUIET)  # an output that is drawn anew is another element
    page.locator(CELLS).nth(3).scroll_into_view_if_needed()
    page.screenshot(path=ARTEFACTS / f"{name}.png")
    for i, figure in enumerate(page.locator(".jp-OutputArea figure").all()):
        for last in (False, False, True):
            try:
                figure.scroll_into_view_if_needed()
                figure.screenshot(path=ARTEFACTS / f"{name}-{i}.png")
                break
            except replaced:  # by a new drawing, meanwhile
                if last:
                    raise
                page.evaluate(QUIET)


@pytest.mark.parametrize("theme", THEMES)
def test_widgets_choose_what_is_shown(lab, address, theme):
    run_all(lab, address, "explore.ipynb")
    headings = ["Explore a collection", "The runs", "What runtime depends on", "Runtime by level"]
    assert texts(lab, ".jp-MarkdownOutput :is(h1, h2)")[: len(headings)] == headings
    assert {"effects", "levels", "sections", "knobs"} <= set(drawn(lab))
    lab.wait_for_selector("p:text('36 of 36 completed runs')")
    lab.wait_for_selector(".dt-container tbody tr")
    panel = style(lab, ".jp-NotebookPanel-notebook", "backgroundColor")
    assert style(lab, ".dt-container", "backgroundColor") == panel
    picture(lab, f"lab-explore-{theme}")
    whole = drawn(lab)

    picker(lab, "task_name").locator("select").select_option("sorting")
    lab.wait_for_selector("p:text('6 of 36 completed runs')")
    lab.wait_for_function(  # the last of the views is drawn
        "before => document.querySelector('#table-knobs').textContent !== before", arg=whole["knobs"]
    )
    lab.wait_for_function("() => document.querySelectorAll('.dt-container tbody tr').length === 6")
    assert all(text.startswith("sorting-") for text in texts(lab, ".dt-container tbody td:first-child"))
    sorting = drawn(lab)
    assert all(sorting[name] != whole[name] for name in ("effects", "levels", "sections", "knobs"))

    picker(lab, "rows").locator("select").select_option("beta")
    lab.wait_for_selector("#table-levels caption code:text-is('beta')", state="attached")
    field = picker(lab, "epoch/eval_sampled, kept").locator("input")
    field.fill("8")
    field.press("Enter")
    lab.wait_for_function(
        "before => document.querySelector('#table-knobs').textContent !== before", arg=sorting["knobs"]
    )
    assert drawn(lab)["effects"] == sorting["effects"]
    assert lab.locator(ERRORS).count() == 0
    picture(lab, f"lab-chosen-{theme}")


def picker(page, name):
    """Return the widget whose label is `name`."""
    return page.locator(".jupyter-widgets.widget-inline-hbox", has=page.locator(f"label:text-is('{name}')"))


def style(page, selector, name):
    return page.eval_on_selector(selector, "(e, name) => getComputedStyle(e)[name]", name)


def drawn(page):
    """Return the text of each table, by name."""
    tables = page.locator(".jp-OutputArea table[id^=table-]").all()
    return {t.get_attribute("id").removeprefix("table-"): t.text_content() for t in tables}


def test_text_from_runs_is_text_to_widgets_and_tables(lab, address):
    run_all(lab, address, "hostile.ipynb")
    lab.wait_for_selector(".dt-container tbody tr")
    options = picker(lab, PAYLOAD).locator("option").all_text_contents()
    # ipywidgets sets spaces that do not collapse.
    assert [option.replace("\xa0", " ") for option in options] == [f"{PAYLOAD}0", f"{PAYLOAD}1"]
    assert PAYLOAD in lab.inner_text(".dt-container thead")
    assert f"{PAYLOAD}0" in lab.inner_text(".dt-container tbody")
    picker(lab, PAYLOAD).locator("select").select_option(index=1)
    lab.wait_for_selector("p:text('5 of 10 completed runs')")
    assert lab.locator("img[onerror]").count() == 0
    assert lab.locator("mjx-container, a[href^=javascript]").count() == 0
    assert lab.locator(ERRORS).count() == 0
