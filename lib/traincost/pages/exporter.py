"""The nbconvert exporter: an executed notebook to one page, and the JSON beside it.

A page is what the notebook shows: results (`results.result`), Markdown, and whatever else its cells
display, as far as a page without scripts can hold it. A content-security policy in the file holds
the page to asking no host for anything.
"""

import base64
import hashlib
import json
import re
import urllib.parse
from dataclasses import dataclass

from markupsafe import Markup
from nbconvert.exporters import TemplateExporter
from traitlets import default

from traincost.errors import RefusedNotebook
from traincost.pages import outputs, parameters
from traincost.pages.gathering import Gathered
from traincost.results import html, markup
from traincost.results.html import END, NO_FORMULAS, TEMPLATES
from traincost.results.prose import say
from traincost.results.provenance import parameters_table, versions_table
from traincost.results.result import MIME, PAGE_HTML, More, as_html, table_data

SITE_START, SITE_END = "<!--site-->", "<!--/site-->"  # around what `traincost site` writes into a page
# A style sheet, as a page has its own, and where in a notebook a table is whole.
_OF_A_NOTEBOOK = re.compile(
    rf'^<style class="traincost">.*?</style>\n({NO_FORMULAS}\n)?|\n?<p class="more whole">.*?</p>|\n{END}\Z',
    re.DOTALL,
)
# A colour that an output has where there is no style sheet. No text of a run has such quotes.
_FALLBACK = re.compile(r'(fill|stroke)="var\((--\w+),[^")]*\)"')
_HEADER = re.compile(r'<header class="page">(.*?)</header>', re.DOTALL)
_EMPTY = (None, "", [], {})  # values of parameters that say nothing
_HEADING = re.compile(r"(#{1,6}) +(.+?) *#*")


class TraincostExporter(TemplateExporter):
    """Set an executed notebook as a page (``jupyter nbconvert --to traincost``).

    Raises `RefusedNotebook` for a cell that failed, an unknown parameter, or results at odds with each other.
    """

    export_from_notebook = "traincost page"
    output_mimetype = "text/html"

    @default("file_extension")
    def _file_extension_default(self):
        return ".html"

    @default("template_name")
    def _template_name_default(self):
        return "traincost"

    @default("extra_template_basedirs")
    def _extra_template_basedirs_default(self):
        from importlib.resources import files

        return [str(files("traincost.pages") / "templates")]

    def from_notebook_node(self, nb, resources=None, **kw):
        """Return the page's HTML; the JSON is among the resources' outputs."""
        resources = dict(resources or {})
        check(nb)
        report, parts = read(nb, resources.get("metadata", {}).get("name") or "notebook")
        heading, parts = with_heading_apart(parts)
        resources["page"] = {
            **frame(report["title"]),
            "kind": report["kind"],
            "contents": contents(parts),
            "has_answer": any(_has_answer(part) for part in parts),
            "site": Markup(SITE_START + SITE_END),
            "heading": heading,
            "parts": parts,
            "has_numbers": bool(report["numbers"]),
            "downloads": downloads(report),
        }
        resources["outputs"] = {**resources.get("outputs", {}), **files(report)}
        # The template sets what was made above; nbconvert copies twice whatever it is given.
        bare = type(nb)(nb, cells=[])
        page, resources = super().from_notebook_node(bare, resources, **kw)
        return html.linked(page, report["anchors"]), resources

    def default_filters(self):
        """Add the filters that the page template uses."""
        yield from super().default_filters()
        yield ("text_html", html.text)
        yield ("shown", html.shown)


@dataclass(frozen=True)
class Part:
    """A piece of a page: HTML, and the heading that it is, if it is one."""

    html: Markup
    level: int = 0
    heading: str = ""


def check(nb):
    """Refuse a notebook that failed or was given a parameter that it does not have."""
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                raise RefusedNotebook(f"a cell failed with {output.ename}: {output.evalue}")
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    if code and not any(cell.outputs for cell in code):
        raise RefusedNotebook("no cell of the notebook has an output; was it executed?")
    given = nb.metadata.get("papermill", {}).get("parameters") or {}
    known = [parameter.name for parameter in parameters.declared(nb)]
    for name in given if known else ():
        parameters.refuse_unknown(name, known)


def read(nb, name):
    """Return what an executed notebook reports, and the parts of its page.

    Parameters
    ----------
    nb : NotebookNode
    name : str
        What the page is called, where no title in the notebook says so.

    Returns
    -------
    tuple of (dict, list of Part)
    """
    gathered, parts, left_out = Gathered(), [], []
    shows_code = nb.metadata.get("traincost", {}).get("code", False)
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            parts += _markdown(cell.source)
        elif cell.cell_type == "code":
            if shows_code and not set(cell.metadata.get("tags", [])) & {"parameters", "injected-parameters"}:
                parts.append(Part(outputs.code(cell.source)))
            parts += [Part(made) for made in _shown(cell, gathered, left_out) if made]
    report = _report(nb, gathered, name, parts)
    given = {name: value for name, value in report["parameters"].items() if value not in _EMPTY}
    made = [parameters_table(given), versions_table(report["versions"])]
    made = [table for table in made if len(table.frame)] if report["numbers"] else []
    report["tables"] |= {table.name: table_data(table) for table in made}
    if made:
        shown = as_html(More(say("Parameters and versions"), tuple(made)))
        parts.append(Part(Markup(_OF_A_NOTEBOOK.sub("", shown))))
    if left_out:
        said = f"Left out of this page: {', '.join(dict.fromkeys(left_out))}."
        parts.append(Part(Markup('<p class="note"><var>{}</var></p>').format(html.text(said))))
    return report, without_empty_headings(parts)


def _report(nb, gathered, name, parts):
    declared = parameters.declared(nb)
    report = gathered.report
    title = next((part.heading for part in parts if part.level == 1), name)
    values = parameters.public(parameters.effective(nb), declared)
    return {
        "kind": name,
        "title": title,
        **report,
        "parameters": html.jsonable(values),
        "anchors": gathered.anchors(*html.printed("".join(part.html for part in parts))),
    }


def _markdown(source):
    """Return a Markdown cell as parts, each of its headings one of its own."""
    parts, text = [], []
    in_code = False
    for line in source.splitlines():
        in_code ^= line.startswith(("```", "~~~"))
        match = None if in_code else _HEADING.fullmatch(line)
        if match is None:
            text.append(line)
            continue
        parts.append(Part(Markup(outputs.markdown("\n".join(text)))))
        parts.append(Part(Markup(outputs.markdown(line)), len(match[1]), match[2]))
        text = []
    parts.append(Part(Markup(outputs.markdown("\n".join(text)))))
    return [part for part in parts if part.html.strip()]


def _shown(cell, gathered, left_out):
    """Yield the HTML of each output of a cell."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if MIME not in data:
            made, missing = outputs.shown(output)
            left_out += [missing] if missing else []
            yield made
            continue
        result = data[MIME]
        prefix, is_shown_already = gathered.add(result)
        made = _OF_A_NOTEBOOK.sub("", "".join(data.get(PAGE_HTML) or data.get("text/html", "")))
        made = _FALLBACK.sub(r'\1="var(\2)"', made)
        if is_shown_already:
            said = f"What {result['name']} says is shown above."
            yield Markup('<p class="note"><var>{}</var></p>').format(html.text(said))
            continue
        if prefix != result["prefix"]:  # of other runs than the first such result
            yield Markup("<p>Of <code>{}</code>:</p>").format(html.shown(result["of"]))
        yield Markup(html.prefixed(made, prefix) if prefix else made)


def without_empty_headings(parts):
    """Return the parts without headings below which nothing is shown, as of runs without sections."""
    kept, waiting = [], []
    for part in parts:
        if part.level > 2:
            waiting = [w for w in waiting if w.level < part.level] + [part]
            continue
        if part.level:
            waiting = []  # another section begins
        kept += [*waiting, part]
        waiting = []
    return kept


def with_heading_apart(parts):
    """Return what a page begins with, its title or its first heading, and the other parts."""
    for i, part in enumerate(parts):
        match = _HEADER.search(part.html)
        if match or part.level == 1:
            rest = [Part(Markup(_HEADER.sub("", part.html, count=1)))] if match else []
            heading = Markup(match[1] if match else part.html)
            return heading, [*parts[:i], *(p for p in rest if p.html.strip()), *parts[i + 1 :]]
    return Markup(""), parts


def _has_answer(part):
    return '<section id="answer"' in part.html


def contents(parts):
    """Return (anchor, heading) of the answer, if there is one, and of each second-level heading."""
    found = []
    for part in parts:
        if _has_answer(part):
            found.append(("answer", "The answer"))
        elif part.level == 2:
            found.append((outputs.anchor(part.heading), part.heading))
    return found


def files(report):
    """Return what goes beside the page, name to bytes: the report's data, and each table as CSV."""
    kind = report["kind"]
    data = json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True) + "\n"
    # With a folder in its name: nbconvert's writer cannot make the folder "" of a bare one.
    made = {f"./{kind}.json": data}
    for name, table in report["tables"].items():
        rows = ([row[column] for column in table["columns"]] for row in table["rows"])
        made[f"./{kind}-tables/{name}.csv"] = markup.rows_as_csv(table["columns"], rows)
    return {name: content.encode("utf-8", "replace") for name, content in made.items()}


def downloads(report):
    """Return (name, address) of the CSV file beside the page of each table."""
    return [
        (name, urllib.parse.quote(f"{report['kind']}-tables/{name}.csv")) for name in sorted(report["tables"])
    ]


def frame(title):
    """Return what the template of every page needs: its title, and the style that its policy allows."""
    style = _condensed((TEMPLATES / "page.css").read_text(encoding="utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {"title": title, "style": style, "style_hash": f"sha256-{digest}"}


def _condensed(sheet):
    """Return a style sheet without comments and the white space that only people need."""
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return re.sub(r"\s*([{};,>])\s*|(?<=:) ", r"\1", " ".join(sheet.split())).replace(";}", "}")


def framed(title, body):
    """Return a page around `body`, HTML that was escaped where it was made."""
    environment = TraincostExporter().environment
    return environment.get_template("site.html.j2").render(resources={"page": frame(title)}, body=body)
