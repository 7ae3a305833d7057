"""Bars as SVG whose text keeps its size: lengths in per cent of the width, heights in pixels.

Also what stands in the cells of a table and the entries of a legend: a bar, a point, a square of a colour.

Without a ``viewBox`` a pixel of such a drawing is a pixel of the page at every width, from a phone to a
wide screen, with no script. Whether a label fits is decided for the least width at which a drawing
is seen (`width_of`).

Hue is the kind of a section, lightness its rank within the kind, hatching what no section timed. The
colours are variables of the page's style sheet; where an output has none (JupyterLab drops those of
notebooks that are not trusted), the fallbacks are mid-tones that are seen on light and dark ground.
"""

import functools
import os
import unicodedata
from typing import NamedTuple

import matplotlib as mpl
from markupsafe import Markup
from matplotlib import ft2font

from traincost.results.markup import text as escaped

# Fill of each colour, and of text on it: as the page has it, and the fallback.
FILLS = {
    "e1": ("var(--e1,#2f6fb5)", "var(--on,#fff)"),
    "e2": ("var(--e2,#5b93d0)", "var(--on,#111)"),
    "e3": ("var(--e3,#8db4de)", "var(--on3,#111)"),
    "t1": ("var(--t1,#b0581f)", "var(--on,#fff)"),
    "t2": ("var(--t2,#d07c40)", "var(--on,#111)"),
    "t3": ("var(--t3,#e0a878)", "var(--on3,#111)"),
    "i1": ("var(--i1,#2b8070)", "var(--on,#fff)"),
    "i2": ("var(--i2,#4a9c8d)", "var(--on3,#111)"),
    "ot": ("var(--other,#8b929d)", "var(--on3,#111)"),
}
SHADES = {"evaluation": ("e1", "e2", "e3"), "training": ("t1", "t2", "t3"), "setup": ("i1", "i2")}
KINDS = (*SHADES, "other", "untimed")
UNTIMED = "un"
INK, MUTED, PAGE = "currentColor", "var(--muted,currentColor)", "var(--page,none)"
TRACK, HATCH = "var(--soft,#8882)", "var(--line,#8a919c99)"
GROUND, EDGE = "var(--un,none)", "var(--unline,#8a919c)"

NARROW, WIDE = 288, 600  # least widths in px at which the two drawings of a bar are seen
SIZE, SMALL = 13, 12  # px of text
ROW = 20  # px of a line of labels, and of a level's bar
PAD = 8  # px beside a label


class Part(NamedTuple):
    """One part of a bar."""

    label: str  # its name, which may come from a run
    value: float  # its share of the bar, or its length in the unit of all bars
    text: str  # the value as it is printed
    kind: str = "other"  # ``evaluation``, ``training``, ``setup``, ``other`` or ``untimed``
    rank: int = 0  # its place among the parts of its kind, from 0: the lightness

    @property
    def colour(self):
        """The name of its colour."""
        return colour(self.kind, self.rank)


class Level(NamedTuple):
    """One row of several bars: its name, its parts, its total, and the range of its runs, both printed."""

    name: str
    parts: tuple
    total: str
    range: str = ""


def colour(kind, rank=0):
    """Return the name of the colour of a kind of section; beyond the shades of a kind, its last.

    >>> colour("evaluation"), colour("training", 7), colour("untimed")
    ('e1', 't3', 'un')
    """
    if kind == "untimed":
        return UNTIMED
    shades = SHADES.get(kind, ("ot",))
    return shades[min(rank, len(shades) - 1)]


def ranked(parts):
    """Return the parts with their ranks: the first of its kind is the darkest."""
    seen, made = {}, []
    for part in map(as_part, parts):
        made.append(part._replace(rank=seen.get(part.kind, 0)))
        seen[part.kind] = seen.get(part.kind, 0) + 1
    return made


def as_part(part):
    """Return a part that may have been given as a tuple."""
    return part if isinstance(part, Part) else Part(*part)


def row_said(row):
    """Describe one row: all its numbers in reading order."""
    parts = ", ".join(f"{part.label} {part.text}" for part in row.parts if part.value > 0)
    head = " ".join(filter(None, [row.name, row.total]))
    return f"{head}: {parts}{f'; {row.range}' if row.range else ''}."


def with_ranks(rows):
    """Return rows whose parts have one rank by label, as first seen."""
    rows = [row if isinstance(row, Level) else Level(*row) for row in rows]
    labels = {}
    for row in rows:
        for part in map(as_part, row.parts):
            labels.setdefault(part.label, part)
    ranks = {part.label: part.rank for part in ranked(labels.values())}
    return [
        row._replace(parts=tuple(p._replace(rank=ranks[p.label]) for p in map(as_part, row.parts)))
        for row in rows
    ]


def has_untimed(rows):
    """Say whether a part of any row is what no section timed."""
    return any(part.kind == "untimed" for row in rows for part in row.parts)


def hatching(place):
    """Return the hatching of what is untimed, for `url(#place)` in one figure or table."""
    return Markup(
        '<svg width="0" height="0" aria-hidden="true" class="defs"><defs><pattern id="{}" width="6" '
        'height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="{}"/><rect width="1.6" height="6" fill="{}"/>'
        "</pattern></defs></svg>"
    ).format(escaped(place), GROUND, HATCH)


def drawing(place, title, described, height, elements, attributes=""):
    """Return an `svg` element with its title and description for who does not see it."""
    head = Markup(
        '<svg class="fluid{}" width="100%" height="{}" role="img" aria-labelledby="figure-{}-title" '
        'aria-describedby="figure-{}-desc" overflow="visible" font-size="{}" fill="currentColor">'
        '<title id="figure-{}-title">{}</title><desc id="figure-{}-desc">{}</desc>'
    ).format(
        Markup(f" {attributes}" if attributes else ""),
        short(height),
        *(escaped(value) for value in (place, place, SIZE, place, title, place, described)),
    )
    return head + Markup("").join(elements) + Markup("</svg>")


def segments(places, top, height, name):
    """Yield the rectangles of one bar, with a rim of the page's colour: gaps of two pixels between them."""
    drawn = []
    for part, start, share, _ in places:
        if share <= 0:
            continue
        rim = 0
        if part.colour == UNTIMED:
            rim = 1  # its own edge stands where the rim of the others begins
            edge = f' stroke="{EDGE}" stroke-width="1"'
            fill = f"url(#figure-{escaped(name)}-hatch)"
        else:
            edge, fill = "", FILLS[part.colour][0]
        rectangle = Markup('<rect fill="{}"{} x="{}" y="{}" width="{}" height="{}"/>')
        sizes = percents(start), short(top + rim), percents(share), short(height - 2 * rim)
        drawn.append(rectangle.format(Markup(fill), Markup(edge), *sizes))
    yield Markup('<g stroke="{}" stroke-width="2">{}</g>').format(PAGE, Markup("").join(drawn))


def scale_of(rows, longest, width, most):
    """Return the length of the longest bar, at most `most`, beside which every total fits."""
    scale = most
    for row in rows:
        length = sum(part.value for part in row.parts) / longest
        room = 1 - (width_of(row.total, SIZE, bold=True) + PAD + 1) / width
        if length > 0:
            scale = min(scale, max(room, 0.3) / length)
    return scale


def line_between(x1, x2, y1, y2):
    """Return a line; across in fractions of the width, down in px."""
    return Markup('<line x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
        percents(x1), percents(x2), short(y1), short(y2)
    )


def text_at(said, x, y, *, dx=0, anchor="start", bold=False, size=SIZE, fill=INK, role=""):
    """Return text at a place; across in fractions of the width, down in px."""
    attributes = [f'x="{percents(x)}"', f'y="{short(y)}"']
    attributes += [f'dx="{dx}"'] if dx else []
    attributes += [f'text-anchor="{anchor}"'] if anchor != "start" else []
    attributes += ['font-weight="650"'] if bold else []
    attributes += [f'font-size="{size}"'] if size != SIZE else []
    attributes += [f'fill="{fill}"'] if fill != INK else []
    attributes += [f'class="{role}"'] if role else []
    attributes += ['display="none"'] if role == "tight" else []  # which a style sheet takes back on a phone
    return Markup("<text {}>{}</text>").format(Markup(" ".join(attributes)), escaped(said))


def percents(fraction):
    """Return a fraction in per cent, as an attribute has it."""
    return f"{short(100 * fraction, 3)}%"


def short(number, decimals=2):
    """Return a number without the zeros at its end."""
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".") if number else "0"


# -- in the cells of a table, and in a legend ------------------------------------------------


def legend(parts, name):
    """Return the parts with the colour of each, in one line above a figure of that name."""
    listed = Markup("").join(
        Markup("<li>{}<var>{}</var></li>").format(
            swatch(part.colour, f"figure-{name}-hatch"), escaped(part.label)
        )
        for part in map(as_part, parts)
    )
    return Markup('<ul class="legend">{}</ul>').format(listed)


def swatch(colour, hatch=""):
    """Return a square of a colour, as a legend and a table's row have it."""
    fill, edge = _fill(colour, hatch)
    return Markup(
        '<svg class="key" width="12" height="12" aria-hidden="true"><rect fill="{}"{} width="12" height="12" '
        'rx="2"/></svg>'
    ).format(fill, edge)


def cell_bar(share, low=None, high=None, chance=None, colour="e1", hatch=""):
    """Draw a bar for a cell of a table, beside the number that it shows: hidden from a screen reader.

    All are fractions of the track; a missing `share` leaves it empty. A range (`low`, `high`) is drawn as a
    line, `chance` as an upright; `hatch` is the id of the `hatching` for what is untimed.
    """
    drawn = [Markup('<rect fill="{}" y="5" width="100%" height="10"/>').format(TRACK)]
    if _drawn(share) and share > 0:
        fill, edge = _fill(colour, hatch)
        drawn.append(
            Markup('<rect fill="{}"{} y="5" width="{}" height="10"/>').format(
                fill, edge, percents(_held(share))
            )
        )
    if _drawn(low) and _drawn(high):
        drawn += _ruled(line_between(_held(low), _held(high), 10, 10), 3.5, 1.5)
    if _drawn(chance):
        drawn += _ruled(line_between(_held(chance), _held(chance), 1, 19), 4, 2)
    return Markup('<svg class="cell" width="100%" height="20" aria-hidden="true">{}</svg>').format(
        Markup("").join(drawn)
    )


def cell_point(at, low=None, high=None, mark=None):
    """Draw a point on a line for a cell of a table, as `cell_bar` does a bar; `mark` is an upright."""
    drawn = [Markup('<rect fill="{}" y="9.5" width="100%" height="1"/>').format(TRACK)]
    lines = [line_between(_held(low), _held(high), 10, 10)] if _drawn(low) and _drawn(high) else []
    lines += [line_between(_held(mark), _held(mark), 3, 17)] if _drawn(mark) else []
    if lines:
        ruled = Markup('<g stroke="currentColor" stroke-width="1.5">{}</g>')
        drawn.append(ruled.format(Markup("").join(lines)))
    point = Markup('<circle fill="{}" cx="{}" cy="10" r="4"/>')
    drawn.append(point.format(Markup(FILLS["e1"][0]), percents(_held(at))))
    return Markup('<svg class="cell" width="100%" height="20" aria-hidden="true">{}</svg>').format(
        Markup("").join(drawn)
    )


def _fill(colour, hatch):
    if colour == UNTIMED:
        return Markup("url(#{})").format(escaped(hatch)), Markup(f' stroke="{EDGE}"')
    return Markup(FILLS[colour][0]), Markup("")


def _ruled(line, halo, width):
    """Draw a line twice: in the colour of the page under the ink, so that it is seen on a bar."""
    for stroke, thick in ((PAGE, halo), (INK, width)):
        yield Markup('<g stroke="{}" stroke-width="{}">{}</g>').format(stroke, thick, line)


def _drawn(value):
    return value is not None and value == value


def _held(share):
    return min(max(share, 0.0), 1.0)


# -- how wide text is, in px, by the metrics of DejaVu Sans: one of the widest that a browser takes ----------


def fitting(said, width, size, bold=False):
    """Return text that is at most `width` px wide: its middle is left out where it is longer.

    >>> fitting("a_long_name_of_a_section", 80, 12)
    'a_lon…ction'
    """
    said = "".join(c if c.isprintable() or c == "\N{NO-BREAK SPACE}" else "·" for c in str(said))
    if width_of(said, size, bold) <= width:
        return said
    low, high = 0, len(said)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width_of(_cut(said, middle), size, bold) <= width else (low, middle - 1)
    return _cut(said, low)


def _cut(said, kept):
    return f"{said[: kept - kept // 2]}…{said[len(said) - kept // 2 :]}"


def width_of(said, size, bold=False):
    """Return how wide text is, in px, in DejaVu Sans."""
    return size * sum(_advance(letter, bold) for letter in str(said))


@functools.cache
def _advance(letter, bold):
    """Return the width of a letter in em; a letter that the font lacks is as wide as one may be."""
    font = _font(bold)
    if not font.get_char_index(ord(letter)):
        return 1.0 if unicodedata.combining(letter) == 0 else 0.0
    return font.load_char(ord(letter), flags=ft2font.LoadFlags.NO_SCALE).horiAdvance / font.units_per_EM


@functools.cache
def _font(bold):
    # The one that matplotlib brings, so that a page is the same whatever fonts the machine has.
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ft2font.FT2Font(os.path.join(mpl.get_data_path(), "fonts", "ttf", name))
