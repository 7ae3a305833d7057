"""Sentences, tables and figures to HTML; the only place where HTML is made.

Everything that is not our own markup is escaped here, whatever it came from.
"""

import html
import json
import math
import re

import pandas as pd

from traincost.results import markup, svg
from traincost.results.prose import Name, Number, When
from traincost.results.tables import cell

# matplotlib's markers as a legend shows them, in a box of 12.
MARKERS = {
    "o": "M6 1A5 5 0 1 0 6 11A5 5 0 1 0 6 1",
    "s": "M1.5 1.5H10.5V10.5H1.5Z",
    "D": "M6 0L12 6L6 12L0 6Z",
    "^": "M6 1L11.5 11H.5Z",
    "v": "M6 11L11.5 1H.5Z",
    "P": "M4 0H8V4H12V8H8V12H4V8H0V4H4Z",
    "X": "M3 0L6 3L9 0L12 3L9 6L12 9L9 12L6 9L3 12L0 9L3 6L0 3Z",
    ">": "M1 .5V11.5L11 6Z",
    "<": "M11 .5V11.5L1 6Z",
}
# Around what `traincost site` writes into a page; no text of a run can hold either.
SITE_START, SITE_END = "<!--site-->", "<!--/site-->"
MAX_ON_A_LINE = 34  # characters of a text cell that is not broken into lines
MAX_SHOWN = 300  # characters of a value from a run; the JSON has it whole
MAX_DOWNLOAD = 16_000  # characters of a link that holds a table as CSV; a larger table is a file only


def text(value):
    """Escape text; characters that HTML cannot hold are shown as their pictures."""
    return html.escape("".join(map(_visible, str(value))))


def _visible(character):
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures of Unicode
    if 0x7F <= code <= 0x9F or code in (0xFFFE, 0xFFFF) or 0xD800 <= code <= 0xDFFF:
        return "�"
    return character


def clipped(value, limit=2_000):
    """Escape a text of ours that names from runs may have made very long."""
    return text(value if len(value) <= limit else f"{value[: limit - 1]}…")


def shown(value):
    """Escape text from a run, cut where it is very long."""
    value = str(value)
    return text(value if len(value) <= MAX_SHOWN else f"{value[: MAX_SHOWN - 1]}…")


def sentence(parts):
    """Write a sentence: numbers as ``data`` elements, names as code."""
    return "".join(_part(part) for part in parts.parts)


def _part(part):
    if isinstance(part, Number):
        value = json.dumps(jsonable(part.value))
        return f'<data value="{text(value)}" data-key="{text(part.key)}">{text(part.text)}</data>'
    if isinstance(part, When):
        return f"<time>{shown(part.text)}</time>"
    if isinstance(part, Name):
        return f"<code>{shown(part.text)}</code>"
    return text(part)


def paragraph(sentences):
    """Write sentences as one paragraph."""
    return f"<p>{' '.join(map(sentence, sentences))}</p>"


def items(sentences, ordered=False):
    """Write sentences as a list."""
    tag = "ol" if ordered else "ul"
    return f"<{tag}>{''.join(f'<li>{sentence(s)}</li>' for s in sentences)}</{tag}>"


def header(title, links, note):
    """Write the page's title, its links (text to address), and a note from the parameters."""
    project, collection, kind = title
    project = f'<span class="project"><code>{shown(project)}</code></span> ' if project else ""
    parts = [f'<h1 id="top">{project}<code>{shown(collection)}</code>: {text(kind)}</h1>']
    if links:
        anchors = "".join(
            f'<a href="{text(url)}"><var>{shown(name)}</var></a>' for name, url in links.items()
        )
        parts.append(f'<nav class="links" aria-label="Related pages">{anchors}</nav>')
    if note:
        parts.append(f'<p class="note"><var>{text(note)}</var></p>')
    return f'<header class="page">{"".join(parts)}</header>'


def summary(sentences):
    """Write the headline findings in a box of their own."""
    found = "".join(f"<li>{sentence(s)}</li>" for s in sentences)
    return f'<section class="summary" aria-label="Summary"><ul>{found}</ul></section>'


def neighbours(links=()):
    """Write the place for a page's neighbours on its site: empty, until the site is built.

    Parameters
    ----------
    links : iterable of (str, str, str)
        Relation (``up``, ``prev``, ``next``), address, and the text or title shown.
    """
    shows = {"up": "Back to <var>{}</var>", "prev": "Previous: <var>{}</var>", "next": "Next: <var>{}</var>"}
    anchors = "".join(
        f'<a rel="{how}" href="{text(address)}">{shows[how].format(shown(title))}</a>'
        for how, address, title in links
    )
    nav = f'<nav class="links" aria-label="Other reports">{anchors}</nav>' if anchors else ""
    return f"{SITE_START}{nav}{SITE_END}"


def placed(page, links):
    """Return a page with its neighbours, in place of those it had; unchanged where it has no place."""
    before, start, rest = page.partition(SITE_START)
    _, end, after = rest.partition(SITE_END)
    return before + neighbours(links) + after if start and end else page


def site(entries):
    """Write the list of published pages."""
    listed = "".join(
        f'<li><h2><a href="{text(entry["address"])}"><var>{shown(entry["title"])}</var></a></h2>'
        f"<p>{text(entry['what'])}{_latest(entry['latest'])}</p>"
        f"<ul>{''.join(f'<li><var>{shown(said)}</var></li>' for said in entry['summary'])}</ul></li>"
        for entry in entries
    )
    return f'<h1 id="top">Reports</h1><ul class="site">{listed}</ul>'


def _latest(day):
    return f", runs of <time>{shown(day[:10])}</time>" if day else ""


def table(block, data_file):
    """Write a table, with its caption, notes on its columns, and what was cut."""
    rows = list(
        block.frame[[h.name for h in block.headings]].head(block.limit).itertuples(index=False, name=None)
    )
    head = "".join(
        f'<th scope="col"{"" if h.is_text else " class=number"}>{_breakable(shown(h.text))}</th>'
        for h in block.headings
    )
    body = "".join(f"<tr>{_row(block.headings, row)}</tr>" for row in rows)
    notes = "".join(
        f"<dt><var>{shown(h.text)}</var></dt><dd><var>{text(h.note)}</var></dd>"
        for h in block.headings
        if h.note
    )
    notes = f"<dl class=notes>{notes}</dl>" if notes else ""
    name = text(block.name)
    return (
        f'<div class="table"><div class="scroll" tabindex="0" role="region" aria-labelledby="caption-{name}">'
        f'<table id="table-{name}">'
        f'<caption id="caption-{name}"><span>{sentence(block.caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
        f"<p class=more>{_more(len(block.frame) - len(rows))}{_download(block, data_file)}</p></div>"
    )


def _more(n):
    return f"{'One more row is' if n == 1 else f'<var>{n:,}</var> more rows are'} not shown. " if n else ""


def _download(block, data_file):
    """Write a link that holds the whole table as CSV; where that is too long, one to the file beside it.

    The text of the second is true of a page that was sent without its files, too.
    """
    name = f"{text(block.name)}.csv"
    address = markup.data_address(block, MAX_DOWNLOAD)
    if address is not None:
        return f'<a class="download" download="{name}" href="{text(address)}">Download {name}</a>'
    file = f"{text(data_file.removesuffix('.json'))}-tables/{name}"
    return f'The whole table was written beside this page, to <a class="file" href="{file}">{file}</a>.'


def linked(page, anchors):
    """Link each number of a page to the table or figure that holds it, unless it stands there.

    Parameters
    ----------
    page : str
        HTML that this module made.
    anchors : dict
        Key of a number to the id that it links to.
    """
    inside = ""

    def link(match):
        nonlocal inside
        opened, key = match["id"], match["key"]
        if key is None:
            inside = opened or ""
            return match[0]
        anchor = anchors.get(html.unescape(key), inside)
        return match[0] if anchor == inside else f'<a href="#{text(anchor)}">{match[0]}</a>'

    return _NUMBER_OR_PLACE.sub(link, page)


_NUMBER_OR_PLACE = re.compile(
    r'<(?:table|figure) id="(?P<id>[^"]+)"|</(?:table|figure)>'
    r'|<data value="[^"]*" data-key="(?P<key>[^"]*)">[^<]*</data>'
)


def _row(headings, row):
    cells = []
    for i, (heading, value) in enumerate(zip(headings, row, strict=True)):
        printed = cell(heading, value)
        tag, attributes = ("th", ' scope="row"') if i == 0 else ("td", "")
        if i and not heading.is_text:
            attributes = " class=number"
        escaped = shown(printed)
        is_long = len(printed) > MAX_ON_A_LINE and (heading.is_text or not i)
        if is_long:
            attributes += " class=long"
        if is_long or not i:  # a row's heading is narrow on a phone
            escaped = _breakable(escaped)
        cells.append(f"<{tag}{attributes}>{escaped}</{tag}>")
    return "".join(cells)


def _breakable(escaped):
    """Let long paths and names break after their separators."""
    return escaped.replace("/", "/<wbr>").replace("_", "_<wbr>")


def figure(name, drawing, caption):
    """Write a figure: the drawing in a box that scrolls on small screens, legend, caption."""
    plain = caption.plain()
    described = svg.described(drawing.svg, f"figure-{name}", clipped(plain), clipped(f"Figure: {plain}"))
    legend = "".join(f"<li>{_mark(mark)}<var>{shown(label)}</var></li>" for mark, label in drawing.legend)
    legend = f'<ul class="legend">{legend}</ul>' if legend else ""
    return (
        f'<figure id="figure-{text(name)}"><div class="scroll" tabindex="0" role="group" '
        f'aria-label="Figure">{described}</div>{legend}<figcaption>{sentence(caption)}</figcaption></figure>'
    )


def _mark(mark):
    """Draw a legend's key: a named shape, a marker in a colour, or a swatch of a colour."""
    shape = {
        "tick": '<path d="M6 0V12" stroke="currentColor" stroke-width="2"/>',
        "range": '<path d="M0 6H12" stroke="currentColor" stroke-width="2"/>',
        "hatch": '<path d="M0 12L12 0M0 6L6 0M6 12L12 6" stroke="currentColor" stroke-width="1"/>',
    }.get(mark)
    if isinstance(mark, tuple):
        shape = f'<path d="{MARKERS[mark[0]]}" fill="{text(mark[1])}"/>'
    if mark is None:
        return ""
    shape = shape or f'<rect width="12" height="12" rx="2" fill="{text(mark)}"/>'
    return f'<svg class="key" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">{shape}</svg>'


def jsonable(value):
    """Return a value as strict JSON has it; what is not finite or missing is null."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(v) for v in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    return None if pd.isna(value) else str(value)
