"""What a cell of a notebook shows, as HTML for a page: nothing that runs, and nothing that is loaded."""

import base64
import re

import bleach
import mistune
from markupsafe import Markup, escape

from traincost.results.html import text

MAX_OUTPUT_MIB = 10  # of one output that is not ours; a larger one is named, not shown
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/svg+xml")
TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "details"),
    *("div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "li", "mark"),
    *("ol", "p", "pre", "s", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td"),
    *("tfoot", "th", "thead", "tr", "u", "ul", "var"),
}
ATTRIBUTES = {"title", "lang", "dir", "alt", "width", "height", "colspan", "rowspan", "scope", "start"}
_ELEMENTS_DROPPED_WHOLE = re.compile(r"<(style|script|template)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_PROGRESS = re.compile(r"\d+%\|.*\[.*\]|\d+it \[.*\]")  # a bar of tqdm
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # of a terminal: colours


def shown(output):
    """Return one output of a cell as HTML, and what of it a page cannot show, empty for nothing."""
    if output["output_type"] == "stream":
        return _stream(output)
    if output["output_type"] not in ("display_data", "execute_result"):
        return Markup(""), ""
    data = output["data"]
    size = sum(len(str(content)) for content in data.values()) / 2**20
    if size > MAX_OUTPUT_MIB:
        said = f"An output of {size:.1f} MiB is left out here; the limit of one is {MAX_OUTPUT_MIB} MiB."
        return Markup('<p class="note"><var>{}</var></p>').format(said), f"an output of {size:.1f} MiB"
    return _best(data)


def _stream(output):
    printed = "".join(output["text"])
    if output["name"] == "stdout":
        return _preformatted(printed), ""
    said = [line for line in printed.splitlines() if line.strip() and not _PROGRESS.search(line)]
    return Markup(""), "text on standard error" if said else ""


def _preformatted(printed):
    printed = _ESCAPES.sub("", printed).rstrip("\n")
    lines = Markup("\n").join(text(line) for line in printed.split("\n"))
    return (
        Markup('<pre class="printed" tabindex="0">{}</pre>').format(lines) if printed.strip() else Markup("")
    )


def _best(data):
    for kind in IMAGES:
        if kind in data:
            return _image(kind, data[kind], data.get("text/plain", "")), ""
    if "text/html" in data:
        return Markup('<div class="output" tabindex="0">{}</div>').format(_clean(data["text/html"])), ""
    if "text/markdown" in data:
        return Markup(markdown("".join(data["text/markdown"]))), ""
    if "text/plain" in data:
        kinds = [kind for kind in data if "widget" in kind or "javascript" in kind]
        return _preformatted("".join(data["text/plain"])), f"an interactive {kinds[0]}" if kinds else ""
    return Markup(""), f"an output of the type {', '.join(data)}" if data else ""


def _image(kind, content, described):
    """Return an image in the page itself; an SVG as one, too, so that nothing in it can run."""
    content = "".join(content)
    if kind == "image/svg+xml":
        content = base64.b64encode(content.encode()).decode()
    source = f"data:{kind};base64,{re.sub(r'[^A-Za-z0-9+/=]', '', content)}"
    described = "".join(described)
    alternative = described if described and not described.startswith("<") else "An image from the notebook"
    return Markup('<p class="output"><img src="{}" alt="{}"></p>').format(source, text(alternative))


def _clean(source):
    """Return HTML without what a page's policy would refuse, as pandas' frames have it."""
    source = _ELEMENTS_DROPPED_WHOLE.sub("", "".join(source))
    protocols = {"data", "http", "https", "mailto"}
    return Markup(bleach.clean(source, TAGS, _is_kept, protocols=protocols, strip=True))


def _is_kept(tag, name, value):
    """Say whether an attribute stays: addresses only of links that are followed and images that are here."""
    if name == "href":
        return tag == "a" and not value.strip().lower().startswith("data:")
    if name == "src":
        return tag == "img" and value.startswith("data:image/")
    return name in ATTRIBUTES


class _Renderer(mistune.HTMLRenderer):
    """Headings get anchors; HTML in Markdown is text."""

    def heading(self, text, level, **attributes):
        name = anchor(re.sub(r"<[^>]+>", "", text))
        return f'<h{level} id="{name}">{text}</h{level}>\n'


def markdown(source):
    """Return the HTML of a Markdown cell."""
    return mistune.create_markdown(renderer=_Renderer(escape=True), plugins=["table", "strikethrough"])(
        source
    )


def anchor(heading):
    """Return the anchor of a heading: ``Where the time goes`` -> ``where-the-time-goes``."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def code(source):
    """Return the source of a cell, for a page that shows it."""
    return Markup('<pre class="code" tabindex="0"><code>{}</code></pre>').format(escape(source))
