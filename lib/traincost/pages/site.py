"""The front page of a folder of published pages, ``reports/index.html``, and the links between them.

What it says of a page is in the JSON beside it; a file that is no report is passed over. A page
does not know its neighbours when it is built, so their links are set here, in the place that each
page keeps for them.
"""

import os
import urllib.parse
from pathlib import Path

from traincost.errors import NothingToReport
from traincost.pages import exporter
from traincost.pages.exporter import SITE_END, SITE_START
from traincost.pages.gathering import FORMAT
from traincost.reading import folders
from traincost.reading.formats.files import Unreadable, parse_json, read_bytes

TITLE = "all reports"
KINDS = {
    "profiling": "what it cost and where the time went",
    "estimation": "how much compute it was",
    "compare": "what a change did to the cost",
    "plan": "what more of it would take",
    "benchmark": "how fast it is",
    "tour": "a first hour with the library",
}


def build(folder):
    """Write ``index.html`` for the reports in the sub-folders of `folder`, link them, and return its path.

    Pages are listed by the latest start of their runs, the newest first, then by title. Raises
    `NothingToReport` where `folder` is no directory, or holds no report.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NothingToReport(f"{os.fspath(folder)!r} is no directory of reports")
    entries = [entry for path in sorted(folder.glob("*/*.json")) if (entry := _entry(path))]
    if not entries and any(map(_entry, folder.glob("*.json"))):
        raise NothingToReport(
            f"{os.fspath(folder)!r} is the folder of a report; give the one that holds it: "
            f"{os.fspath(folder.absolute().parent)!r}"
        )
    if not entries:
        raise NothingToReport(f"{os.fspath(folder)!r} holds no report; build one with traincost page")
    entries.sort(key=lambda entry: entry["title"])
    entries.sort(key=lambda entry: entry["latest"], reverse=True)
    for before, entry, after in zip([None, *entries], entries, [*entries[1:], None], strict=False):
        _link(before, entry, after)
    front = folders.at(folder)
    with folders.told(front), front.locked():
        front.publish({"index.html": exporter.framed(TITLE, _listed(entries)).encode("utf-8")})
    return folder / "index.html"


def _link(before, entry, after):
    """Set the links of a page to the front page and to those listed before and after it."""
    page = entry["page"]
    if not page.is_file():
        return
    links = [("up", "../index.html", TITLE)]
    for how, other in (("prev", before), ("next", after)):
        if other is not None:
            links.append((how, f"../{other['address']}", other["title"]))
    beside = folders.at(page.parent)
    with folders.told(beside), beside.locked():  # a build may replace it just now
        old = page.read_text(encoding="utf-8")
        new = _placed(old, links)
        if new != old:
            beside.publish({page.name: new.encode("utf-8")})


def _placed(page, links):
    """Return a page with its neighbours, in place of those it had; unchanged where it has no place."""
    before, start, rest = page.partition(SITE_START)
    _, end, after = rest.partition(SITE_END)
    if not (start and end):
        return page
    shown = exporter.TraincostExporter().environment.get_template("neighbours.html.j2").render(links=links)
    return f"{before}{start}{shown}{end}{after}"


def _listed(entries):
    return exporter.TraincostExporter().environment.get_template("list.html.j2").render(entries=entries)


def _entry(path):
    """Return what the index says of a report, or None where `path` is none."""
    try:
        report = parse_json(read_bytes(path))
    except Unreadable:
        return None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        return None
    said = report.get("summary") or report.get("findings") or []
    return {
        "title": str(report.get("title", path.parent.name)),
        "what": KINDS.get(path.stem, "a notebook"),
        "page": path.with_suffix(".html"),
        # Quoted: a folder may be called like a scheme, or hold a question mark.
        "address": f"{urllib.parse.quote(path.parent.name, errors='surrogateescape')}/{path.stem}.html",
        "latest": str(report.get("latest") or "")[:10],
        "summary": [str(sentence) for sentence in said[:3]],
    }
