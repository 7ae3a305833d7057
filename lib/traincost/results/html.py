"""Sentences, tables and figures as HTML.

Every text is escaped here, by MarkupSafe and Jinja2, whatever it came from; only what the templates
themselves say is markup.
"""

import hashlib
import json
import math
import re

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from traincost.results import svg
from traincost.results.prose import Name, Number, When, key
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
LINES = {
    "tick": ("M6 0V12", 2),
    "range": ("M0 6H12", 2),
    "hatch": ("M0 12L12 0M0 6L6 0M6 12L12 6", 1),
}
MAX_ON_A_LINE = 34  # characters of a text cell that is not broken into lines
MAX_SHOWN = 300  # characters of a value from a run; the JSON has it whole
MAX_DESCRIBED = 2_000  # characters of a figure's description for a screen reader


def text(value):
    """Escape text; characters that HTML cannot hold are shown as their pictures."""
    return escape("".join(map(_visible, str(value))))


def _visible(character):
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures of Unicode
    if 0x7F <= code <= 0x9F or code in (0xFFFE, 0xFFFF) or 0xD800 <= code <= 0xDFFF:
        return "�"
    return character


def shown(value, limit=MAX_SHOWN):
    """Escape text from a run, cut where it is very long."""
    value = str(value)
    return text(value if len(value) <= limit else f"{value[: limit - 1]}…")


def breakable(escaped):
    """Let long paths and names break after their separators."""
    return Markup(escaped.replace(Markup("/"), Markup("/<wbr>")).replace(Markup("_"), Markup("_<wbr>")))


def sentence(parts):
    """Write a sentence: numbers as ``data`` elements, names as code."""
    return Markup("").join(map(_part, parts.parts))


def _part(part):
    if isinstance(part, Number):
        value = json.dumps(jsonable(part.value))
        data = Markup('<data value="{}" data-key="{}">{}</data>')
        return data.format(text(value), text(part.key), text(part.text))
    if isinstance(part, When | Name):
        tag = "time" if isinstance(part, When) else "code"
        return Markup(f"<{tag}>{{}}</{tag}>").format(shown(part.text))
    return text(part)


def template(name):
    """Return one of the templates, in which every value is escaped."""
    return _TEMPLATES.get_template(f"{name}.html.j2")


def paragraph(sentences):
    """Write sentences as one paragraph."""
    return Markup("<p>{}</p>").format(Markup(" ").join(map(sentence, sentences)))


def items(sentences, ordered=False):
    """Write sentences as a list."""
    tag = "ol" if ordered else "ul"
    listed = Markup("").join(Markup("<li>{}</li>").format(sentence(s)) for s in sentences)
    return Markup(f"<{tag}>{{}}</{tag}>").format(listed)


def headline(sentences):
    """Write the sentences that a page begins with, in a box of their own."""
    listed = Markup("").join(Markup("<li>{}</li>").format(sentence(s)) for s in sentences)
    return Markup('<section class="summary" aria-label="Summary"><ul>{}</ul></section>').format(listed)


def table(block):
    """Write a table, with its caption, notes on its columns, and what was cut."""
    names = [heading.name for heading in block.headings]
    rows = list(block.frame[names].head(block.limit).itertuples(index=False, name=None))
    return template("table").render(
        table=block,
        rows=[_cells(block.headings, row) for row in rows],
        n_more=len(block.frame) - len(rows),
    )


def _cells(headings, row):
    """Return (tag, attributes, text) of each cell of a row."""
    cells = []
    for i, (heading, value) in enumerate(zip(headings, row, strict=True)):
        printed = cell(heading, value)
        long = len(printed) > MAX_ON_A_LINE and (heading.is_text or not i)
        kind = "long" if long else "number" if i and not heading.is_text else ""
        # A row's heading is narrow on a phone.
        cells.append((kind, breakable(shown(printed)) if long or not i else shown(printed)))
    return cells


def figure(block):
    """Write a figure: the drawing in a box that scrolls on small screens, legend, caption."""
    drawing, plain = block.drawing(), block.caption.plain()
    name = text(block.name)
    titles = [
        text(said if len(said) <= MAX_DESCRIBED else f"{said[: MAX_DESCRIBED - 1]}…")
        for said in (plain, f"Figure: {plain}")
    ]
    return template("figure").render(
        figure=block,
        svg=Markup(svg.described(drawing.svg, f"figure-{name}", *titles)),
        legend=[(_mark(mark), said) for mark, said in drawing.legend],
    )


def _mark(mark):
    """Return the SVG of a legend's key: a named line, a marker in a colour, or a swatch of a colour."""
    if mark is None:
        return ""
    if mark in LINES:
        shape = Markup('<path d="{}" stroke="currentColor" stroke-width="{}"/>').format(*LINES[mark])
    elif isinstance(mark, tuple):
        shape = Markup('<path d="{}" fill="{}"/>').format(MARKERS[mark[0]], svg.THEME[mark[1]])
    else:
        shape = Markup('<rect width="12" height="12" rx="2" fill="{}"/>').format(svg.THEME[mark])
    return Markup(
        '<svg class="key" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">{}</svg>'
    ).format(shape)


_NUMBER_OR_PLACE = re.compile(
    r'<(?:table|figure) id="(?P<id>[^"]+)"|</(?:table|figure)>'
    r'|<data value="[^"]*" data-key="(?P<key>[^"]*)">[^<]*</data>'
)


def linked(page, anchors):
    """Link each number of a page to the table or figure that holds it, unless it stands there.

    Parameters
    ----------
    page : str
        HTML that this module made.
    anchors : dict
        Key of a number to the id that it links to.
    """
    places = {text(name): place for name, place in anchors.items()}
    inside = ""

    def link(match):
        nonlocal inside
        opened, key = match["id"], match["key"]
        if key is None:
            inside = opened or ""
            return match[0]
        anchor = places.get(key, inside)
        return match[0] if anchor == inside else f'<a href="#{text(anchor)}">{match[0]}</a>'

    return _NUMBER_OR_PLACE.sub(link, page)


def slug(prefix):
    """Return a prefix as a part of an id; with a digest where characters are lost, so that no two are alike.

    >>> slug("cost_memory_mib"), slug("runs: lr=0.1")
    ('cost-memory-mib', 'runs-lr-0-1-d209a7')
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "-", prefix).strip("-")
    if re.fullmatch(r"[A-Za-z0-9_-]*", prefix):
        return plain
    digest = hashlib.blake2b(prefix.encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"{plain}-{digest}".strip("-")


def prefixed(made, prefix):
    """Put a prefix before the keys and ids in HTML that this module made of one result.

    Only tags are looked into: in text, which may come from a run, the angle brackets are escaped.
    """
    name = slug(prefix)

    def tag(match):
        if 'data-key="' in match[0]:  # a number, whose key may look like an id
            return match[0].replace('data-key="', f'data-key="{text(key(prefix))}.')
        return _OF_ONE_RESULT.sub(rf"\g<1>-{name}-", match[0])

    return re.sub(r"<[^>]*>", tag, made)


_OF_ONE_RESULT = re.compile(r'(?<=[" #])(table|figure|caption)-')


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


_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("traincost.results"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(sentence=sentence, shown=shown, text=text, breakable=breakable)
