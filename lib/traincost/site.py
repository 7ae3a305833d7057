"""The front page of a folder of published pages: ``reports/index.html``.

Reads the JSON beside each page, and only that; a file that is no report is passed over.
"""

import os
from pathlib import Path

from traincost import exporter, render
from traincost.errors import NothingToReport
from traincost.formats.files import Unreadable, parse_json, read_bytes
from traincost.report import FORMAT

KINDS = {
    "profiling": "what it cost and where the time went",
    "estimation": "how much compute it was",
    "compare": "what a change did to it",
}


def build(folder):
    """Write ``index.html`` for the reports in the sub-folders of `folder`.

    Pages are listed by the latest start of their runs, the newest first, then by title.

    Returns
    -------
    Path
        Of the index.

    Raises
    ------
    NothingToReport
        `folder` is no directory, or holds no report.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NothingToReport(f"{os.fspath(folder)!r} is no directory of reports")
    entries = [
        entry for kind in KINDS for path in sorted(folder.glob(f"*/{kind}.json")) if (entry := _entry(path))
    ]
    if not entries:
        raise NothingToReport(f"{os.fspath(folder)!r} holds no report; build one with traincost page")
    entries.sort(key=lambda entry: entry["title"])
    entries.sort(key=lambda entry: entry["latest"], reverse=True)
    page = exporter.framed("traincost reports", render.site(entries))
    temporary = folder / ".index.html.tmp"
    temporary.write_text(page, encoding="utf-8")
    os.replace(temporary, folder / "index.html")
    return folder / "index.html"


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
        "what": KINDS[path.stem],
        "address": f"{path.parent.name}/{path.stem}.html",
        "latest": str(report.get("latest") or ""),
        "summary": [str(sentence) for sentence in said[:3]],
    }
