"""A matplotlib figure as light inline SVG: real text, presentation attributes, theme colours.

Drawn with sentinel colours, which become ``currentColor`` and CSS variables here, so that one
figure serves light and dark pages. Nothing of a figure needs a style sheet or a script.
"""

import io
import re
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import matplotlib as mpl

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"

# Colours to draw with -> what a page shows. Each is like the page's light theme, so that a figure can
# be saved as it is, and occurs nowhere else, so that it can be found in the SVG. The fallbacks matter
# in JupyterLab.
INK, MUTED, GRID, PAGE, REST = "#1a1a1b", "#767677", "#dededf", "#fefeff", "#a6a6a7"
SERIES = (
    "#3b6ea8",
    "#c8553d",
    "#2f8f5b",
    "#a0790c",
    "#8a4fa3",
    "#1c8ea6",
    "#b3477d",
    "#6b7f2a",
    "#7a6652",
)
THEME = {
    INK: "currentColor",
    MUTED: "var(--muted,#767676)",
    GRID: "var(--grid,#8884)",
    PAGE: "var(--page,#fff)",
    REST: "var(--rest,#a6a6a6)",
    **{c: f"var(--s{i},{c})" for i, c in enumerate(SERIES, start=1)},
}

RC = {
    "svg.fonttype": "none",
    "svg.hashsalt": "traincost",
    "svg.id": None,
    "font.family": "DejaVu Sans",  # its metrics are the layout; the page chooses the font
    "font.size": 11.0,
    "text.parse_math": False,  # a $ in a run's name is a dollar sign
    "text.color": INK,
    "axes.labelcolor": INK,
    "xaxis.labellocation": "right",  # there is room to the left, under the labels of rows
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": "none",
    "hatch.linewidth": 0.5,
    "hatch.color": MUTED,
}


HALO = "halo"  # the gid of text that is read over lines: a page sets it on a rim of its own colour
RIM = {"paint-order": "stroke", "stroke": THEME[PAGE], "stroke-width": "3", "stroke-linejoin": "round"}
PAD = 0.06  # inches around what is drawn
LEAST_AXES = 0.3  # of a figure's width, whatever the length of its labels


def inline(figure, prefix, kind=""):
    """Return the figure as one ``<svg>`` element, its ids starting with `prefix`.

    `kind` is ``narrow`` or ``wide``, where a page shows it at some widths only. The caller adds title and
    description (`described`). Call it inside ``rc_context(RC)``.
    """
    fit(figure)
    buffer = io.BytesIO()
    figure.savefig(
        buffer,
        format="svg",
        bbox_inches=_box(figure),
        pad_inches=0,
        metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
    )
    root = ElementTree.fromstring(buffer.getvalue())
    used = dict.fromkeys(match for node in root.iter() for match in _references(node))
    used = {name: f"{prefix}-{number}" for number, name in enumerate(used)}
    _clean(root, used)
    box = root.get("viewBox").split()
    root.attrib = {
        "viewBox": " ".join(_short(number) for number in box),
        "role": "img",
        "class": f"plot {kind}".strip(),
        "fill": "currentColor",
    }
    return _written(root)


def fit(figure):
    """Give the axes of a figure the width that their labels leave."""
    figure.canvas.draw()
    drawn, width, old = figure.get_tightbbox().padded(PAD), figure.get_figwidth(), figure.subplotpars
    left = min(old.left - drawn.x0 / width, 1 - LEAST_AXES)
    right = max(old.right + 1 - drawn.x1 / width, left + LEAST_AXES)
    figure.subplots_adjust(left=left, right=right)


def _box(figure):
    """Return the box to save: all that is drawn, and never narrower than the figure.

    Equal widths keep the text of all figures of a page at one size.
    """
    figure.canvas.draw()
    drawn = figure.get_tightbbox().padded(PAD)
    width = figure.get_figwidth()
    left, right = min(drawn.x0, 0.0), max(drawn.x1, width)
    if drawn.x0 < 0 or drawn.x1 < width:  # long labels: what is free on the right is not needed
        right = max(drawn.x1, left + width)
    return mpl.transforms.Bbox.from_extents(left, drawn.y0, right, drawn.y1)


def described(svg, name, title, description):
    """Give an inline SVG its accessible title and description, both escaped already."""
    head = (
        f'<svg aria-labelledby="{name}-title {name}-desc"'
        f"{svg.removeprefix('<svg').split('>', 1)[0]}>"
        f'<title id="{name}-title">{title}</title>'
        f'<desc id="{name}-desc">{description}</desc>'
    )
    return head + svg.split(">", 1)[1]


def _references(node):
    for value in node.attrib.values():
        yield from re.findall(r"url\(#([^)]+)\)", value)
        if value.startswith("#") and not re.fullmatch(r"#[0-9a-f]{6}", value):
            yield value[1:]


def _clean(node, used):
    """Strip what a page does not need from `node` and all below it; `used` has the new names of ids."""
    rim = RIM if node.get("id") == HALO else {}
    for child in list(node):
        name = child.tag.split("}")[-1] if isinstance(child.tag, str) else ""
        if name in ("metadata", "style", ""):
            node.remove(child)
            continue
        _clean(child, used)
        if name in ("g", "defs") and not len(child):
            node.remove(child)
        elif name == "g" and not child.attrib:
            at = list(node).index(child)
            node.remove(child)
            for offset, grandchild in enumerate(list(child)):
                node.insert(at + offset, grandchild)
    node.text = node.text if node.text and node.text.strip() else None
    node.tail = None
    node.attrib = {**dict(_attributes(node, used)), **rim, **_of_all(node)}


def _of_all(node):
    """Take from the points of a group what they have in common, and return it for the group."""
    points = [child.attrib for child in node if child.tag.endswith("use")]
    if len(points) < 2 or len(points) < len(node):
        return {}
    alike = {
        name: value
        for name, value in points[0].items()
        if name in _INHERITED and all(point.get(name) == value for point in points)
    }
    for point in points:
        for name in alike:
            del point[name]
    return alike


_INHERITED = ("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-linecap")


def _attributes(node, used):
    declarations = node.attrib.pop("style", "")
    pairs = [d.split(":", 1) for d in declarations.split(";") if ":" in d]
    for key, value in [*node.attrib.items(), *((k.strip(), v.strip()) for k, v in pairs)]:
        if key == "id":
            if value not in used:
                continue
            value = used[value]
        elif key in ("font", "font-family", "version", "{http://www.w3.org/XML/1998/namespace}space"):
            continue
        elif key == f"{{{XLINK}}}href":
            key, value = "href", f"#{used[value[1:]]}"
        elif key == "stroke-miterlimit" or (key, value) in _DEFAULTS:
            continue
        value = re.sub(r"url\(#([^)]+)\)", lambda match: f"url(#{used[match[1]]})", value)
        value = re.sub(r"#[0-9a-f]{6}", lambda m: THEME.get(m.group(), m.group()), value)
        if key in ("d", "transform", "x", "y", "width", "height", "points", "stroke-width", "font-size"):
            value = re.sub(r"-?[0-9]+\.[0-9]+(e-?[0-9]+)?", lambda m: _short(m.group()), value)
            value = " ".join(value.split())
        yield key, value


_DEFAULTS = {("stroke-linejoin", "miter"), ("stroke-linecap", "butt"), ("text-anchor", "start")}


def _short(number):
    return f"{float(number):.2f}".rstrip("0").rstrip(".")


def _written(node):
    name = node.tag.split("}")[-1]
    attributes = "".join(
        f' {key}="{escape(value, {chr(34): "&quot;"})}"' for key, value in node.attrib.items()
    )
    inside = escape(node.text or "") + "".join(_written(child) for child in node)
    return f"<{name}{attributes}>{inside}</{name}>" if inside else f"<{name}{attributes}/>"
