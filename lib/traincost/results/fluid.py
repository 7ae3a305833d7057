"""Bars as SVG whose text keeps its size: lengths in per cent of the width, heights in pixels.

Without a ``viewBox`` a pixel of such a drawing is a pixel of the page at every width, from a phone to a
wide screen, with no script. Whether a label fits is decided here, for the least width at which a drawing
is seen, by the metrics of DejaVu Sans, one of the widest fonts that a browser takes for text.

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

from traincost.results.escaping import text as escaped

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
TRACK, HATCH, GROUND, EDGE = (
    "var(--soft,#8882)",
    "var(--line,#8a919c99)",
    "var(--un,none)",
    "var(--unline,#8a919c)",
)

LEAST = 0.05  # of a run: a part that has a label of its own whatever it is
NARROW, WIDE = 288, 600  # least widths in px at which the two drawings of a bar are seen
PHONE = 352  # least width in px at which a level's range stands beside its name
SIZE, SMALL = 13, 12  # px of text
ROW = 20  # px of a line of labels, and of a level's bar
BAR = 46  # px: two lines of text and what surrounds them
LEVEL = 48  # px: a level's name, its bar and the gap below
MAX_LABEL = 220  # px of a name below a bar
LEAST_WIDTH = 2  # px of a part that has a label; of a thinner one, only the description tells
PAD = 8  # px beside a label
MAX_LEVELS = 24  # that one figure shows


class Part(NamedTuple):
    """One part of a bar.

    Attributes
    ----------
    label : str
        Its name, which may come from a run.
    value : float
        Its share of the bar, or its length in the unit of all bars.
    text : str
        The value as it is printed.
    kind : str
        ``evaluation``, ``training``, ``setup``, ``other`` or ``untimed``.
    rank : int
        Its place among the parts of its kind, from 0: the lightness.
    """

    label: str
    value: float
    text: str
    kind: str = "other"
    rank: int = 0

    @property
    def colour(self):
        """The name of its colour."""
        return colour(self.kind, self.rank)


class Level(NamedTuple):
    """One row of `level_bars`: its name, its parts, its total, and the range of its runs, both printed."""

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
    for part in map(_part, parts):
        made.append(part._replace(rank=seen.get(part.kind, 0)))
        seen[part.kind] = seen.get(part.kind, 0) + 1
    return made


def folded(parts, keep=(), *, rest="other sections", printed=None, least=LEAST):
    """Put the small parts of a run together as one, which stands before what is untimed.

    Parameters
    ----------
    parts : iterable of Part
        With shares of the run as values.
    keep : collection of str
        Labels of parts that stay, however small: what the best knob governs. They are set side by side,
        where the first of them stands. Training and untimed stay, too, and a small part that is alone.
    rest : str
        What the parts that are put together are called.
    printed : callable, optional
        Prints their sum.
    least : float
        Share from which a part stays.

    Returns
    -------
    list of Part
    """
    parts, keep = list(map(_part, parts)), set(keep)
    small = [p for p in parts if p.value < least and p.label not in keep and p.kind not in _STAY]
    if len(small) < 2 and not (small and small[0].label == rest):
        small = []
    stay = [part for part in parts if part not in small and part.kind != "untimed"]
    first = next((i for i, part in enumerate(stay) if part.label in keep), 0)
    before = [part for part in stay[:first] if part.label not in keep]
    beside = [part for part in stay if part.label in keep]
    after = [part for part in stay[first:] if part.label not in keep]
    total = sum(part.value for part in small)
    others = [Part(rest, total, (printed or _percent)(total), "other")] if small else []
    return [*before, *beside, *after, *others, *(part for part in parts if part.kind == "untimed")]


_STAY = ("training", "untimed")


def _percent(share):
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def _part(part):
    return part if isinstance(part, Part) else Part(*part)


def answer_bar(parts, governed=(), said="", *, name, title, printed=None, note=""):
    """Draw a whole run as one labelled bar, twice: for wide screens and for a phone.

    Parameters
    ----------
    parts : iterable of Part, or of tuples like it
        In the order of the bar, with shares of the run; small ones are `folded`.
    governed : collection of str
        Labels of the parts under the bracket: what the best knob governs.
    said : str
        What stands over the bracket.
    name : str
        Of the figure, which its ids begin with.
    title : str
        What the bar shows, for who does not see it.
    printed : callable, optional
        Prints a share.
    note : str
        Stands last in the description.

    Returns
    -------
    Markup
        Two ``svg`` elements, of which the page's style sheet shows one.
    """
    parts = ranked(folded(parts, governed, printed=printed))
    listed = "; ".join(f"{part.label} {part.text}" for part in parts)
    described = ". ".join(filter(None, [f"In the order of the bar: {listed}", said, note]))
    return _twice(
        name,
        title,
        f"{described}.",
        [Level("", parts, "")],
        lambda width: _Bars([Level("", parts, "")], width, _span(parts, governed), said),
    )


def labelled_bars(rows, *, name, title, note=""):
    """Draw several labelled bars one below the other, on one scale: before and after, say.

    Parameters
    ----------
    rows : iterable of Level
        The values of their parts in one unit; parts of one label have one colour in all of them.
    name, title, note : str
        As `answer_bar` takes them.
    """
    rows = _alike(rows)
    described = " ".join(filter(None, [*map(_row_said, rows), f"{note}." if note else ""]))
    return _twice(name, title, described, rows, lambda width: _Bars(rows, width))


def _twice(name, title, described, rows, bars):
    """Return a drawing for wide screens and one for a phone, with the hatching that they refer to."""
    drawn = [hatching(f"figure-{name}-hatch")] if _has_untimed(rows) else []
    phone = Markup('narrow" display="none')  # a style sheet takes it back; without one, one drawing is enough
    for width, place, kind in ((WIDE, name, "wide"), (NARROW, f"{name}-narrow", phone)):
        made = bars(width)
        drawn.append(_svg(place, title, described, made.height, made.elements(name), kind))
    return Markup("").join(drawn)


def _row_said(row):
    """Describe one row: all its numbers in reading order."""
    parts = ", ".join(f"{part.label} {part.text}" for part in row.parts if part.value > 0)
    head = " ".join(filter(None, [row.name, row.total]))
    return f"{head}: {parts}{f'; {row.range}' if row.range else ''}."


def _alike(rows):
    """Return rows whose parts have one rank by label, as first seen."""
    rows = [row if isinstance(row, Level) else Level(*row) for row in rows]
    labels = {}
    for row in rows:
        for part in map(_part, row.parts):
            labels.setdefault(part.label, part)
    ranks = {part.label: part.rank for part in ranked(labels.values())}
    return [
        row._replace(parts=tuple(p._replace(rank=ranks[p.label]) for p in map(_part, row.parts)))
        for row in rows
    ]


def _has_untimed(rows):
    return any(part.kind == "untimed" for row in rows for part in row.parts)


def hatching(place):
    """Return the hatching of what is untimed, for `url(#place)` in one figure or table."""
    return Markup(
        '<svg width="0" height="0" aria-hidden="true" class="defs"><defs><pattern id="{}" width="6" '
        'height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="{}"/><rect width="1.6" height="6" fill="{}"/>'
        "</pattern></defs></svg>"
    ).format(escaped(place), GROUND, HATCH)


def _svg(place, title, described, height, elements, attributes=""):
    head = Markup(
        '<svg class="fluid{}" width="100%" height="{}" role="img" aria-labelledby="figure-{}-title" '
        'aria-describedby="figure-{}-desc" overflow="visible" font-size="{}" fill="currentColor">'
        '<title id="figure-{}-title">{}</title><desc id="figure-{}-desc">{}</desc>'
    ).format(
        Markup(f" {attributes}" if attributes else ""),
        _short(height),
        *(escaped(value) for value in (place, place, SIZE, place, title, place, described)),
    )
    return head + Markup("").join(elements) + Markup("</svg>")


class _Bars:
    """Labelled bars laid out for one least width, in px."""

    def __init__(self, rows, width, span=None, said=""):
        self.rows, self.width, self.span, self.said = rows, width, span, said
        self.longest = max((sum(part.value for part in row.parts) for row in rows), default=0) or 1.0
        self.scale = _scale(rows, self.longest, width, 1.0) if any(row.total for row in rows) else 1.0
        self.tops, self.outside, y = [], [], 0
        for row in rows:
            y += 34 if span else ROW if row.name else 0
            self.tops.append(y)
            inside = self._inside(row)
            labels = [
                (middle, f"{fitting(part.label, MAX_LABEL, SIZE)} {part.text}")
                for part, start, share, middle in self._places(row)
                if part not in inside and share * width >= LEAST_WIDTH
            ]
            self.outside.append(_leaders(labels, width))
            below = 1 + max((label.row for label in self.outside[-1]), default=-1)
            y += BAR + ROW * below + (6 if below else 0) + (14 if len(rows) > 1 else 0)
        self.height = y

    def _places(self, row):
        """Yield each part with its start, length and middle, as fractions of the width."""
        at = 0.0
        for part in row.parts:
            share = self.scale * part.value / self.longest
            yield part, at, share, at + share / 2
            at += share

    def _inside(self, row):
        """Return the parts whose two lines fit into them."""
        return [
            part
            for part, _, share, _ in self._places(row)
            if max(width_of(part.label, SIZE, bold=True), width_of(part.text, SIZE)) + 2 * PAD
            <= share * self.width
        ]

    def elements(self, name):
        """Yield the elements of all bars."""
        for row, top, outside in zip(self.rows, self.tops, self.outside, strict=True):
            if self.span:
                yield from self._bracket(top)
            if row.name:
                yield _text(fitting(row.name, self.width, SIZE, bold=True), 0, top - 7, bold=True)
            inside, places = self._inside(row), list(self._places(row))
            yield from _segments(places, top, BAR, name)
            for part, start, _, _ in places:
                if part in inside:
                    fill = FILLS[part.colour][1] if part.colour in FILLS else INK
                    yield _text(part.label, start, top + 20, dx=PAD, bold=True, fill=fill)
                    yield _text(part.text, start, top + 37, dx=PAD, fill=fill)
            if row.total:
                end = sum(share for _, _, share, _ in places)
                yield _text(row.total, end, top + 28, dx=PAD, bold=True)
            yield from _labels(outside, top + BAR)

    def _bracket(self, top):
        start, end = self.span
        y = top - 8
        lines = ((start, end, y, y), (start, start, y - 0.5, y + 5), (end, end, y - 0.5, y + 5))
        yield Markup('<g stroke="currentColor" stroke-width="1.5">{}</g>').format(
            Markup("").join(_line(*line) for line in lines)
        )
        said = fitting(self.said, self.width, SIZE, bold=True)
        width = width_of(said, SIZE, bold=True) / self.width
        if start + width <= 1:
            yield _text(said, start, top - 16, bold=True)
        else:
            yield _text(said, max(end, min(width, 1.0)), top - 16, bold=True, anchor="end")


def _span(parts, governed):
    """Return where the parts that are governed begin and end, as fractions of a run; None without one."""
    ends, at, total = [], 0.0, sum(part.value for part in parts) or 1.0
    for part in parts:
        if part.label in set(governed):
            ends += [at, at + part.value]
        at += part.value
    return (ends[0] / total, ends[-1] / total) if ends and ends[-1] > ends[0] else None


def _segments(places, top, height, name):
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
        sizes = _percents(start), _short(top + rim), _percents(share), _short(height - 2 * rim)
        drawn.append(rectangle.format(Markup(fill), Markup(edge), *sizes))
    yield Markup('<g stroke="{}" stroke-width="2">{}</g>').format(PAGE, Markup("").join(drawn))


class _Label(NamedTuple):
    """A label below a bar: where its line comes down, where its text ends there, and how long that is."""

    line: float
    at: float
    text: str
    anchor: str
    length: float
    row: int = 0

    @property
    def span(self):
        """From where to where it reaches, as fractions of the width."""
        return (
            (self.at, self.at + self.length) if self.anchor == "start" else (self.at - self.length, self.at)
        )

    def overlaps(self, others):
        """Say whether it stands where another of its row does."""
        low, high = self.span
        return any(other.row == self.row and low < other.span[1] and other.span[0] < high for other in others)

    def crossed(self, others):
        """Count the lines that cross it, and half a one where it neither begins nor ends at its own."""
        low, high = self.span
        lines = sum(other.row > self.row and low <= other.line <= high for other in others)
        return lines + 0.5 * (self.at != self.line)


def _leaders(labels, width):
    """Set labels below a bar, so that no label is crossed by the line of another where that is possible.

    The first `k` stand to the right of their lines and the others to the left, in whichever order and
    with whichever `k` crosses least, in as few rows as that takes.
    """
    candidates = []
    for k in dict.fromkeys((0, len(labels), *range(len(labels)))):
        to_the_right = [*range(k - 1, -1, -1)]
        to_the_left = [*range(k, len(labels))]
        for order in (to_the_left + to_the_right, to_the_right + to_the_left):
            made = []
            for i in order:
                made.append(_set(_label(*labels[i], "start" if i < k else "end", width), made))
            cost = (sum(label.crossed(made) for label in made), max((label.row for label in made), default=0))
            candidates.append((*cost, len(candidates), made))
    return min(candidates)[3] if candidates else []


def _label(line, said, anchor, width):
    said = fitting(said, width - 5, SIZE)
    needed = (width_of(said, SIZE) + 5) / width
    at = min(line, 1 - needed) if anchor == "start" else max(line, needed)
    return _Label(line, max(at, 0.0), said, anchor, needed)


def _set(label, placed):
    """Return the label in the first row that holds it without a crossing, or in one of its own."""
    last = max((other.row for other in placed), default=-1) + 1
    for row in range(last):
        moved = label._replace(row=row)
        together = [*placed, moved]
        if not (
            moved.overlaps(placed) or sum(each.crossed(together) for each in together) > _crossed(placed)
        ):
            return moved
    return label._replace(row=last)


def _crossed(labels):
    return sum(label.crossed(labels) for label in labels)


def _labels(labels, bottom):
    """Yield the lines below a bar, then the labels over them."""
    if not labels:
        return
    drawn = Markup("").join(
        _line(
            label.line, label.line, bottom, bottom + ROW * label.row + (14 if label.at == label.line else 7)
        )
        for label in labels
    )
    yield Markup('<g stroke="{}">{}</g>').format(MUTED, drawn)
    yield Markup(
        '<g paint-order="stroke" stroke="{}" stroke-width="4" stroke-linejoin="round">{}</g>'
    ).format(
        PAGE,
        Markup("").join(
            _text(
                label.text,
                label.at,
                bottom + 18 + ROW * label.row,
                dx=5 if label.anchor == "start" else -5,
                anchor=label.anchor,
            )
            for label in labels
        ),
    )


def level_bars(rows, *, name, title, note="", limit=MAX_LEVELS):
    """Draw the mean run of each level as a bar of its parts: how long, and of what.

    Parameters
    ----------
    rows : iterable of Level
        The slowest first, their parts in one unit and in one order.
    name, title, note : str
        As `answer_bar` takes them.
    limit : int
        Rows that are drawn; the last line says how many are not.

    Returns
    -------
    Markup
    """
    rows = _alike(rows)
    drawn, width = rows[:limit], NARROW
    longest = max((sum(part.value for part in row.parts) for row in drawn), default=0) or 1.0
    scale = _scale(drawn, longest, width, 0.8)
    elements = []
    for i, row in enumerate(drawn):
        top, at, places = LEVEL * i + 24, 0.0, []
        for part in row.parts:
            share = scale * part.value / longest
            places.append((part, at, share, at + share / 2))
            at += share
        elements += _named(row, top - 7)
        elements += _segments(places, top, ROW, name)
        elements += _lengths(places, top)
        elements.append(_text(row.total, at, top + 15, dx=PAD, bold=True))
        if row.range:
            elements.append(_text(row.range, 1, top - 7, anchor="end", size=SMALL, fill=MUTED, role="range"))
    height = LEVEL * len(drawn) + 4
    left = len(rows) - len(drawn)
    if left:
        said = f"and {left:,} more, each faster"
        elements.append(_text(said, 0, height + 12, size=SMALL, fill=MUTED))
        height += ROW
        note = f"{note}. {said}" if note else said
    described = " ".join([*map(_row_said, drawn), *([f"{note}."] if note else [])])
    hatch = hatching(f"figure-{name}-hatch") if _has_untimed(drawn) else Markup("")
    return hatch + _svg(name, title, described, height, elements)


def _named(row, y):
    """Yield the name of a level, which stands beside the range of its runs: cut further on a phone."""
    beside = width_of(row.range, SMALL) + PAD if row.range else 0
    # On a phone without room for the range of runs, it is not shown.
    narrow = fitting(row.name, min(NARROW, PHONE - beside), SIZE, bold=True)
    wide = fitting(row.name, WIDE - beside, SIZE, bold=True)
    yield _text(wide, 0, y, bold=True, role="" if wide == narrow else "roomy")
    if wide != narrow:
        yield _text(narrow, 0, y, bold=True, role="tight")


def _lengths(places, top):
    """Yield the printed values of the parts that hold them; some only on wide screens."""
    for part, _, share, middle in places:
        needed = width_of(part.text, SMALL) + PAD
        if part.text and needed <= share * WIDE:
            fill = FILLS[part.colour][1] if part.colour in FILLS else INK
            role = "" if needed <= share * NARROW else "roomy"
            yield _text(part.text, middle, top + 14, anchor="middle", size=SMALL, fill=fill, role=role)


def _scale(rows, longest, width, most):
    """Return the length of the longest bar, at most `most`, beside which every total fits."""
    scale = most
    for row in rows:
        length = sum(part.value for part in row.parts) / longest
        room = 1 - (width_of(row.total, SIZE, bold=True) + PAD + 1) / width
        if length > 0:
            scale = min(scale, max(room, 0.3) / length)
    return scale


def legend(parts, name):
    """Return the parts with the colour of each, in one line above a figure of that name."""
    listed = Markup("").join(
        Markup("<li>{}<var>{}</var></li>").format(
            swatch(part.colour, f"figure-{name}-hatch"), escaped(part.label)
        )
        for part in map(_part, parts)
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
    """Draw a bar for a cell of a table, beside the number that it shows.

    Parameters
    ----------
    share : float
        Its length, 0 to 1; a missing one leaves the track empty.
    low, high : float, optional
        A range, drawn as a line.
    chance : float, optional
        What chance would reach, drawn as an upright.
    colour : str
        One of `FILLS`, or `UNTIMED`.
    hatch : str
        Id of the `hatching` that is referred to, for what is untimed.

    Returns
    -------
    Markup
        Hidden from a screen reader, which reads the number.
    """
    drawn = [Markup('<rect fill="{}" y="5" width="100%" height="10"/>').format(TRACK)]
    if _drawn(share) and share > 0:
        fill, edge = _fill(colour, hatch)
        drawn.append(
            Markup('<rect fill="{}"{} y="5" width="{}" height="10"/>').format(
                fill, edge, _percents(_held(share))
            )
        )
    if _drawn(low) and _drawn(high):
        drawn += _ruled(_line(_held(low), _held(high), 10, 10), 3.5, 1.5)
    if _drawn(chance):
        drawn += _ruled(_line(_held(chance), _held(chance), 1, 19), 4, 2)
    return Markup('<svg class="cell" width="100%" height="20" aria-hidden="true">{}</svg>').format(
        Markup("").join(drawn)
    )


def cell_point(at, low=None, high=None, mark=None):
    """Draw a point on a line for a cell of a table, as `cell_bar` does a bar.

    Parameters
    ----------
    at : float
        Where it lies, 0 to 1.
    low, high : float, optional
        A range, drawn as a line.
    mark : float, optional
        Another value, an upright.
    """
    drawn = [Markup('<rect fill="{}" y="9.5" width="100%" height="1"/>').format(TRACK)]
    lines = [_line(_held(low), _held(high), 10, 10)] if _drawn(low) and _drawn(high) else []
    lines += [_line(_held(mark), _held(mark), 3, 17)] if _drawn(mark) else []
    if lines:
        ruled = Markup('<g stroke="currentColor" stroke-width="1.5">{}</g>')
        drawn.append(ruled.format(Markup("").join(lines)))
    point = Markup('<circle fill="{}" cx="{}" cy="10" r="4"/>')
    drawn.append(point.format(Markup(FILLS["e1"][0]), _percents(_held(at))))
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


def _line(x1, x2, y1, y2):
    return Markup('<line x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
        _percents(x1), _percents(x2), _short(y1), _short(y2)
    )


def _text(said, x, y, *, dx=0, anchor="start", bold=False, size=SIZE, fill=INK, role=""):
    attributes = [f'x="{_percents(x)}"', f'y="{_short(y)}"']
    attributes += [f'dx="{dx}"'] if dx else []
    attributes += [f'text-anchor="{anchor}"'] if anchor != "start" else []
    attributes += ['font-weight="650"'] if bold else []
    attributes += [f'font-size="{size}"'] if size != SIZE else []
    attributes += [f'fill="{fill}"'] if fill != INK else []
    attributes += [f'class="{role}"'] if role else []
    attributes += ['display="none"'] if role == "tight" else []  # which a style sheet takes back on a phone
    return Markup("<text {}>{}</text>").format(Markup(" ".join(attributes)), escaped(said))


def _percents(fraction):
    return f"{_short(100 * fraction, 3)}%"


def _short(number, decimals=2):
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".") if number else "0"


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
