"""The nbconvert exporter: an executed notebook to one page, and the JSON beside it.

The page has no script and asks no host for anything; a content-security policy in the file
holds it to that. Code is not shown; stream output (progress bars, warnings) is left out.
"""

import ast
import base64
import hashlib
import json
import re

import mistune
from nbconvert.exporters import TemplateExporter
from traitlets import default

from traincost.pages.settings import assigned_names, refuse_unknown
from traincost.results import markup, render
from traincost.results.lab_style import NOTEBOOK_ONLY, TEMPLATES
from traincost.results.report import MIME

STYLE = TEMPLATES / "page.css"


class RefusedNotebook(ValueError):
    """The executed notebook is no basis for a page; the message says why."""


class TraincostExporter(TemplateExporter):
    """Set an executed notebook as a page (``jupyter nbconvert --to traincost``).

    Raises
    ------
    RefusedNotebook
        A cell failed, a parameter is unknown, or the notebook holds no report.
    """

    export_from_notebook = "traincost page"

    @default("file_extension")
    def _file_extension_default(self):
        return ".html"

    @default("template_name")
    def _template_name_default(self):
        return "traincost"

    @default("extra_template_basedirs")
    def _extra_template_basedirs_default(self):
        return [str(TEMPLATES.parent)]

    output_mimetype = "text/html"

    def from_notebook_node(self, nb, resources=None, **kw):
        """Return the page's HTML; the JSON is among the resources' outputs."""
        check(nb)
        nb = without_empty_parts(nb)
        report = report_data(nb)
        resources = dict(resources or {})
        resources["page"] = {
            **_page(report["title"]),
            "kind": report["kind"],
            "contents": contents(nb),
            "site": render.neighbours(),
        }
        resources["notebook_only"] = NOTEBOOK_ONLY
        resources["outputs"] = {**resources.get("outputs", {}), **_files(report)}
        page, resources = super().from_notebook_node(nb, resources, **kw)
        return render.linked(page, report["anchors"]), resources

    def default_filters(self):
        """Add the filters that the page template uses."""
        yield from super().default_filters()
        yield ("markdown_page", markdown)
        yield ("text_html", render.text)


def _files(report):
    """Return what goes beside the page, name to bytes: the report's data, and each table as CSV."""
    kind = report["kind"]
    data = json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True) + "\n"
    # With a folder in its name: nbconvert's writer cannot make the folder "" of a bare one.
    files = {f"./{kind}.json": data}
    for name, table in report["tables"].items():
        rows = ([row[column] for column in table["columns"]] for row in table["rows"])
        files[f"./{kind}-tables/{name}.csv"] = markup.rows_as_csv(table["columns"], rows)
    return {name: content.encode("utf-8", "replace") for name, content in files.items()}


def framed(title, body):
    """Return a page around `body`, HTML that `render` made, under the same policy as a report's."""
    environment = TraincostExporter().environment
    return environment.get_template("site.html.j2").render(resources={"page": _page(title)}, body=body)


def _page(title):
    style = STYLE.read_text(encoding="utf-8").strip()
    return {"title": title, "style": style, "style_hash": _hash(style)}


def check(nb):
    """Refuse a notebook that failed or was given a parameter it does not have."""
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                raise RefusedNotebook(f"a cell failed with {output.ename}: {output.evalue}")
    known = declared_parameters(nb)
    for name in nb.metadata.get("papermill", {}).get("parameters", {}) or {}:
        refuse_unknown(name, known)


def declared_parameters(nb):
    """Return the names assigned in the cell tagged ``parameters``."""
    return assigned_names(_parameters_cell(nb))


def declared_types(nb):
    """Return parameter name to the name of its annotated type."""
    return {
        node.target.id: node.annotation.id
        for node in ast.parse(_parameters_cell(nb)).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name)
    }


def _parameters_cell(nb):
    for cell in nb.cells:
        if "parameters" in cell.metadata.get("tags", []):
            return cell.source
    raise RefusedNotebook("the notebook has no cell tagged 'parameters'")


def report_data(nb):
    """Return the data that an executed notebook hands over at its end (`report.Report.finish`)."""
    reports = [
        output.data[MIME]
        for cell in nb.cells
        for output in cell.get("outputs", [])
        if MIME in output.get("data", {})
    ]
    if len(reports) != 1:
        raise RefusedNotebook(
            f"the notebook must end with one report, it has {len(reports)}; was it executed?"
        )
    return reports[0]


def without_empty_parts(nb):
    """Return the notebook without the headings below which nothing is shown, as of runs without sections."""
    kept, waiting = [], []
    for cell in nb.cells:
        is_heading = cell.cell_type == "markdown" and re.fullmatch(r"(#{3,}) .+", cell.source.strip())
        if is_heading:
            waiting.append(cell)
            continue
        if cell.cell_type == "markdown":
            waiting = []  # another part begins
        elif _shows(cell):
            kept += waiting
            waiting = []
        kept.append(cell)
    return type(nb)({**nb, "cells": kept})


def _shows(cell):
    """Say whether a cell's output is anything to see."""
    shown = (output.get("data", {}).get("text/html", "") for output in cell.get("outputs", []))
    return any(html.strip() for html in shown)


def contents(nb):
    """Return (anchor, heading) of each second-level heading of the Markdown cells."""
    headings = []
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            headings += re.findall(r"^## +(.+?) *$", cell.source, flags=re.MULTILINE)
    return [(anchor(heading), heading) for heading in headings]


def anchor(heading):
    """Return the anchor of a heading: ``Where the time goes`` -> ``where-the-time-goes``."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


class _Renderer(mistune.HTMLRenderer):
    """Headings get anchors; HTML in Markdown is text."""

    def heading(self, text, level, **attributes):
        name = anchor(re.sub(r"<[^>]+>", "", text))
        return f'<h{level} id="{name}">{text}</h{level}>\n'


def markdown(source):
    """Return the HTML of a Markdown cell."""
    return mistune.create_markdown(renderer=_Renderer(escape=True))(source)


def _hash(style):
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
