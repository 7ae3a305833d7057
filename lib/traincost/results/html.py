"""Sentences, tables and figures as HTML.

Every text is escaped here, by MarkupSafe and Jinja2, whatever it came from; only what the templates
themselves say is markup.
"""

import functools
import hashlib
import importlib.resources
import json
import math
import re
from html import unescape

import jinja2
import pandas as pd
from markupsafe import Markup

from traincost.results import fluid, svg
from traincost.results.markup import MAX_SHOWN, breakable, shown, text  # noqa: F401 - taken from here
from traincost.results.prose import Name, Number, Phrase, When, key
from traincost.results.tables import cell, in_tree_order, shade

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
MANY = 9  # columns, from which on a table is wide in print
MAX_HEAD = 11  # characters of a column's heading that is not broken into lines
MAX_DEPTH = 3  # of a section in a tree, to which it is set in
MAX_DESCRIBED = 2_000  # characters of a figure's description for a screen reader
TEMPLATES = importlib.resources.files("traincost.results") / "templates"
# For the MathJax of today, and that of before.
NO_FORMULAS, END = '<div class="mathjax_ignore tex2jax_ignore">', "</div><!--/traincost-->"


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
    return Markup("<var>{}</var>").format(shown(part.text)) if isinstance(part, Phrase) else text(part)


def template(name):
    """Return one of the templates, in which every value is escaped."""
    return _TEMPLATES.get_template(f"{name}.html.j2")


def paragraph(sentences):
    """Write sentences as one paragraph."""
    return Markup("<p>{}</p>").format(Markup(" ").join(map(sentence, sentences)))


def items(sentences):
    """Write sentences as a list."""
    listed = Markup("").join(Markup("<li>{}</li>").format(sentence(s)) for s in sentences)
    return Markup("<ul>{}</ul>").format(listed)


def headline(sentences):
    """Write the sentences that a page begins with, in a box of their own."""
    return Markup('<section class="summary" aria-label="Summary">{}</section>').format(items(sentences))


def answer(block, figure):
    """Write what a page answers: the finding, what to do, a figure as HTML, and the facts."""
    return template("answer").render(
        answer=block,
        figure=figure,
        do=Markup(" ").join(map(sentence, block.do)),
    )


def more(block, inside):
    """Write what is seen once it is opened."""
    return template("more").render(more=block, inside=inside)


def aliases(names):
    """Return an empty place for each id that once stood here."""
    return Markup("").join(Markup('<span id="{}"></span>').format(text(name)) for name in names)


def table(block):
    """Write a table, with its caption, notes on its columns, and what was cut."""
    headings = block.headings
    printed = frame = block.here
    if block.tree:
        frame = frame.iloc[in_tree_order(frame[headings[0].name])]
    frame = frame.head(block.limit)
    depths, labels = _branches(frame[headings[0].name]) if block.tree else ([0] * len(frame), None)
    rows = []
    for i, row in enumerate(frame.to_dict("records")):
        style = row.get(block.rows) if block.rows else ""
        kind = " ".join(filter(None, [f"in{min(depths[i], MAX_DEPTH)}" if depths[i] else "", style]))
        rows.append((kind, _cells(block, row, labels[i] if labels else None)))
    colours = {name for name in _colours(headings) if name in frame}
    return template("table").render(
        table=block,
        heads=_heads(headings),
        rows=rows,
        hatch=fluid.hatching(f"table-{block.name}-hatch")
        if any((frame[name] == fluid.UNTIMED).any() for name in colours)
        else "",
        n_more=len(printed) - len(frame),
    )


def _colours(headings):
    for heading in headings:
        yield from (heading.swatch, heading.bar.colour if heading.bar else "")


def _branches(paths):
    """Return how deep each path lies below those shown before it, and what it is called there."""
    above, depths, labels = [], [], []
    for path in map(str, paths):
        while above and not path.startswith(f"{above[-1]}/"):
            above.pop()
        depths.append(len(above))
        labels.append(path.removeprefix(f"{above[-1]}/") if above else path)
        above.append(path)
    return depths, labels


def _heads(headings):
    """Return (classes, text) of each column's heading."""
    heads = []
    for heading in headings:
        unseen = heading.hide_on_phone or heading.below_on_phone
        if heading.bar:
            said = text(heading.bar.text) if heading.bar.text else Markup('<span class="vh">bar</span>')
            heads.append(("bar", said))
        kind = " ".join(filter(None, ["" if heading.is_text else "number", "wide" if unseen else ""]))
        said = heading.text
        if len(said) <= MAX_HEAD and len(headings) <= MANY:  # of many columns, each is narrow in print
            said = said.replace(" ", "\N{NO-BREAK SPACE}")
        heads.append((kind, breakable(shown(said))))
    return heads


def _cells(block, row, label):
    """Return (classes, HTML) of each cell of a row, the row's heading first."""
    first, *others = block.headings
    hatch = f"table-{block.name}-hatch"
    printed = cell(first, row[first.name]) if label is None else label
    named = breakable(shown(printed))  # a row's heading is narrow on a phone
    if first.code and not (block.rows and row[block.rows] == "total"):
        named = Markup("<code>{}</code>").format(named)
    if first.link and row[first.link]:
        named = Markup('<a href="{}">{}</a>').format(text(row[first.link]), named)
    if first.swatch and row[first.swatch]:
        key = fluid.swatch(row[first.swatch], hatch)
        named = Markup('<span class="keyed">{}{}</span>').format(key, named)
    if first.sub and cell(first, row[first.sub]) not in ("", "–"):
        named += Markup(' <span class="sub">{}</span>').format(breakable(shown(row[first.sub])))
    for heading in others:
        if heading.below_on_phone:
            below = breakable(shown(cell(heading, row[heading.name])))
            named += Markup(' <span class="sub narrow">{}</span>').format(below)
    cells = [("long" if len(printed) > MAX_ON_A_LINE else "", named)]
    for heading in others:
        value = row[heading.name]
        if heading.bar:
            cells.append(("bar", _bar(heading, row, hatch)))
        printed = cell(heading, value)
        long = len(printed) > MAX_ON_A_LINE and heading.is_text
        kinds = ["long" if long else "" if heading.is_text else "number"]
        kinds += ["wide"] if heading.hide_on_phone or heading.below_on_phone else []
        if block.shades:
            kinds.append(shade(value, *block.shades))
        made = (
            Markup('<span class="vh">none</span>') if block.shades and _is_missing(value) else shown(printed)
        )
        if long:
            made = breakable(made)
        if heading.code:
            made = Markup("<code>{}</code>").format(made)
        if heading.sub and row[heading.sub]:
            made += Markup(' <span class="sub">{}</span>').format(shown(row[heading.sub]))
        cells.append((" ".join(filter(None, kinds)), made))
    return cells


def _is_missing(value):
    return not isinstance(value, str | tuple | list) and bool(pd.isna(value))


def _bar(heading, row, hatch):
    bar = heading.bar
    numbers = [
        row[name] if name else None for name in (bar.of or heading.name, bar.low, bar.high, bar.chance)
    ]
    scaled = [bar.place(value) for value in numbers]
    if scaled[0] is None:
        return Markup("")
    if bar.log:
        return fluid.cell_point(*scaled)
    colour = row[bar.colour] if bar.colour else "e1"
    # A total has no colour of its own, and no bar.
    return fluid.cell_bar(*scaled, colour=colour, hatch=hatch) if colour else Markup("")


def figure(block):
    """Write a figure: its caption, legend and drawing, and what else is to be said."""
    drawing, plain = block.drawing(), block.caption.plain()
    name = text(block.name)
    titles = [
        text(said if len(said) <= MAX_DESCRIBED else f"{said[: MAX_DESCRIBED - 1]}…")
        for said in (plain, f"Figure: {plain}")
    ]
    drawn = svg.described(drawing.svg, f"figure-{name}", *titles)
    if drawing.wide:
        drawn += svg.described(drawing.wide, f"figure-{name}-wide", *titles)
    return template("figure").render(
        figure=block,
        svg=Markup(drawn),
        legend=[(_mark(mark), said) for mark, said in drawing.legend],
    )


def bars(block):
    """Write a figure of bars: its caption, legend and drawing, and what else is to be said."""
    return template("bars").render(bars=block)


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
    r"|(?P<quiet><(?:summary|h[1-6]|dl)\b)|(?P<loud></(?:summary|h[1-6]|dl)>)"
    r"|(?P<end>[.?!:]\s|</(?:p|li|t[dh]|figcaption|caption)>)"
)


def linked(page, anchors):
    """Link the numbers of a page to the table or figure that holds them: the first one of each sentence.

    `anchors` has the id for the key of each. What stands there already is no link, nor is a number in a
    heading, a summary or a list of facts.
    """
    places = {text(name): place for name, place in anchors.items()}
    inside, is_quiet, is_linked = "", False, False

    def link(match):
        nonlocal inside, is_quiet, is_linked
        opened, key = match["id"], match["key"]
        if match["end"]:
            is_linked = False
        elif match["quiet"] or match["loud"]:
            is_quiet, is_linked = bool(match["quiet"]), False
        elif key is None:
            inside = opened or ""
        else:
            anchor = places.get(key, inside)
            if anchor != inside and not (is_quiet or is_linked):
                is_linked = True
                return f'<a href="#{text(anchor)}">{match[0]}</a>'
        return match[0]

    return _NUMBER_OR_PLACE.sub(link, page)


_PLACE = re.compile(r'<(table|figure) id="([^"]+)".*?</\1>', re.DOTALL)
_SAID = re.compile(r'<data value="[^"]*" data-key="([^"]*)">([^<]*)</data>')
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")


def printed(page):
    """Return what a reader finds on a page, as digits: ``45.0`` of 45.0 %.

    Id of each table to the set of what it prints, and of each figure to None; key of each number to its own.
    """
    places = {m[2]: _digits(m[0]) if m[1] == "table" else None for m in _PLACE.finditer(page)}
    numbers = {}
    for name, said in _SAID.findall(page):
        numbers.setdefault(unescape(name), _digits(said))
    return places, numbers


def _digits(made):
    return set(_DIGITS.findall(unescape(re.sub(r"<[^>]*>", "\n", made))))


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
        return _OF_ONE_RESULT.sub(rf"\g<0>-{name}", match[0])

    return re.sub(r"<[^>]*>", tag, made)


# The answer's section has a bare id; a class of that name is none.
_OF_ONE_RESULT = re.compile(r'(?<=[" #])(table|figure|caption|answer)(?=-)|(?<=id=")(answer)(?=")')


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


@functools.cache
def sheet():
    """Return the style sheet as an element; the exporter leaves it out, as a page has its own in its head.

    The colours of the series and of the kinds of sections are those of the page.
    """
    page = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r"^\s*(--s1:.*)$", page, flags=re.MULTILINE)
    return (
        f'<style class="traincost">\n.jp-OutputArea {{ {light} }}\n'
        f'[data-jp-theme-light="false"] .jp-OutputArea {{ {dark} }}\n'
        f"{(TEMPLATES / 'lab.css').read_text(encoding='utf-8')}</style>"
    )


def of_a_notebook(made):
    """Return HTML as a notebook shows it: with the style sheet, and no formulas.

    The lab would set what stands between two dollar signs as one, and links that are written in it.
    """
    return f"{sheet()}\n{NO_FORMULAS}\n{made}\n{END}"


_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("traincost.results"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(sentence=sentence, shown=shown, text=text, breakable=breakable, aliases=aliases)
