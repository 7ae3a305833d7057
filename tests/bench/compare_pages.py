"""Compare our page with what others make of the same notebook or the same runs.

    python tests/bench/compare_pages.py FOLDER [--ydata PYTHON]

Builds into FOLDER the page of the golden collection, nbconvert's default page of the same
executed notebook, Quarto's where the program is installed, and ydata-profiling's report of the
table of runs where PYTHON has it (it needs an older pandas than ours). Opens each in Chromium,
without a network, and prints a Markdown table. The places to link to are the headings, figures
and tables with an anchor, of all there are.
"""

import argparse
import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from axe_playwright_python.sync_playwright import Axe
from nbconvert import HTMLExporter
from playwright.sync_api import sync_playwright

from traincost.pages import publish
from traincost.reading.collection import read_collection

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "tests/data/continuous-v2"
PARAMETERS = ROOT / "tests/data/continuous-v2.params.yaml"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
YDATA = """
import sys, pandas, ydata_profiling
report = ydata_profiling.ProfileReport(pandas.read_csv(sys.argv[1]), title="Runs", progress_bar=False)
report.to_file(sys.argv[2])
"""
ANCHORS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6, figure, table')]"


def main():
    """Build, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ydata", metavar="PYTHON", help="a Python that has ydata-profiling")
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"traincost": ours(folder), "nbconvert, its default": default_page(folder)}
    pages["Quarto"] = quarto(folder)
    pages["ydata-profiling, of the table of runs"] = ydata(folder, options.ydata)
    columns = ["page", "KiB", "gzipped", "requests", "hosts", "axe violations", "places to link to"]
    print(f"| {' | '.join(columns)} |\n|---|{'---:|' * (len(columns) - 1)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, page in pages.items():
            cells = measured(browser, page) if page else ["not installed"] * (len(columns) - 1)
            print(f"| {' | '.join([name, *cells])} |")
        browser.close()


def ours(folder):
    """Build the page of the golden collection."""
    return publish.page(RUNS, folder / "traincost", **publish.read_parameters(PARAMETERS))


def executed(folder):
    """Return the executed notebook, as a file."""
    notebook = nbformat.read(publish.notebook_path("profiling"), as_version=4)
    parameters = {**publish.read_parameters(PARAMETERS), "runs_dir": str(RUNS)}
    path = folder / "executed.ipynb"
    nbformat.write(publish.execute(notebook, parameters, folder / "failed.ipynb"), path)
    return path


def default_page(folder):
    """Build nbconvert's page, with its own template."""
    page, _ = HTMLExporter().from_filename(str(executed(folder)))
    path = folder / "nbconvert.html"
    path.write_text(page, encoding="utf-8")
    return path


def quarto(folder):
    """Build Quarto's page in one file, or return None without the program."""
    if not shutil.which("quarto"):
        return None
    command = ["quarto", "render", "executed.ipynb", "--to", "html", "--output", "quarto.html"]
    subprocess.run([*command, "-M", "embed-resources:true", "--no-execute"], cwd=folder, check=True)
    return folder / "quarto.html"


def ydata(folder, python):
    """Build ydata-profiling's report of the runs, or return None without it."""
    if not python:
        return None
    table, page = folder / "runs.csv", folder / "ydata.html"
    read_collection(RUNS).runs.to_csv(table, index=False)
    subprocess.run([python, "-c", YDATA, table, page], check=True, stdout=sys.stderr)
    return page


def measured(browser, path):
    """Return weight, requests, hosts, violations and anchors of a page, printed."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True, offline=True)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri(), wait_until="load")
    others = [url for url in asked if url.startswith(("http:", "https:"))]
    hosts = {url.split("/")[2] for url in others}
    violations = Axe().run(page).response["violations"]
    n, linked = page.evaluate(f"[{ANCHORS}.length, {ANCHORS}.filter(e => e.id).length]")
    context.close()
    content = path.read_bytes()
    weights = [f"{len(c) / 1024:,.0f}" for c in (content, gzip.compress(content, 9, mtime=0))]
    nodes = sum(len(v["nodes"]) for v in violations)
    return [
        *weights,
        str(len(others)),
        str(len(hosts)),
        f"{len(violations)} ({nodes} places)",
        f"{linked} of {n}",
    ]


if __name__ == "__main__":
    main()
