"""Labelled bars: a whole run as one bar with its parts named, or several bars on one scale.

A label stands in its part where it fits, and else below the bar at the end of a line.
"""

from typing import NamedTuple

from markupsafe import Markup

from traincost.results import fluid
from traincost.results.fluid import FILLS, INK, MUTED, NARROW, PAD, PAGE, ROW, SIZE, WIDE, Level, Part

LEAST = 0.05  # of a run: a part that has a label of its own whatever it is
REST = "other sections"  # what the small parts are called together
BAR = 46  # px: two lines of text and what surrounds them
MAX_LABEL = 220  # px of a name below a bar
LEAST_WIDTH = 2  # px of a part that has a label; of a thinner one, only the description tells


def folded(parts, keep=(), *, printed=None):
    """Put the small parts of a run together as one, which stands before what is untimed.

    The values of parts are shares of the run. Those whose labels are in `keep` stay, however small (what the
    best knob governs), side by side where the first of them stands; training and untimed stay, too, and a
    small part that is alone.
    """
    parts, keep = list(map(fluid.as_part, parts)), set(keep)
    small = [p for p in parts if p.value < LEAST and p.label not in keep and p.kind not in _STAY]
    if len(small) < 2 and not (small and small[0].label == REST):
        small = []
    stay = [part for part in parts if part not in small and part.kind != "untimed"]
    first = next((i for i, part in enumerate(stay) if part.label in keep), 0)
    before = [part for part in stay[:first] if part.label not in keep]
    beside = [part for part in stay if part.label in keep]
    after = [part for part in stay[first:] if part.label not in keep]
    total = sum(part.value for part in small)
    others = [Part(REST, total, (printed or _percent)(total), "other")] if small else []
    return [*before, *beside, *after, *others, *(part for part in parts if part.kind == "untimed")]


_STAY = ("training", "untimed")


def _percent(share):
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def answer_bar(parts, governed=(), said="", *, name, title, printed=None):
    """Draw a whole run as one labelled bar, twice: for wide screens and for a phone.

    Parts, which may be tuples, stand in their order, the small ones `folded`. Over those whose labels are
    `governed` (by the best knob) is a bracket with what is `said`; `title` is for who does not see it.
    Returns two ``svg`` elements, of which the page's style sheet shows one.
    """
    parts = fluid.ranked(folded(parts, governed, printed=printed))
    listed = "; ".join(f"{part.label} {part.text}" for part in parts)
    described = ". ".join(filter(None, [f"In the order of the bar: {listed}", said]))
    return _twice(
        name,
        title,
        f"{described}.",
        [Level("", parts, "")],
        lambda width: _Bars([Level("", parts, "")], width, _span(parts, governed), said),
    )


def labelled_bars(rows, *, name, title):
    """Draw several labelled bars one below the other, on one scale: before and after, say.

    The parts of the rows are in one unit; those of one label have one colour in all of them.
    """
    rows = fluid.with_ranks(rows)
    described = " ".join(map(fluid.row_said, rows))
    return _twice(name, title, described, rows, lambda width: _Bars(rows, width))


def _twice(name, title, described, rows, bars):
    """Return a drawing for wide screens and one for a phone, with the hatching that they refer to."""
    drawn = [fluid.hatching(f"figure-{name}-hatch")] if fluid.has_untimed(rows) else []
    phone = Markup('narrow" display="none')  # a style sheet takes it back; without one, one drawing is enough
    for width, place, kind in ((WIDE, name, "wide"), (NARROW, f"{name}-narrow", phone)):
        made = bars(width)
        drawn.append(fluid.drawing(place, title, described, made.height, made.elements(name), kind))
    return Markup("").join(drawn)


class _Bars:
    """Labelled bars laid out for one least width, in px."""

    def __init__(self, rows, width, span=None, said=""):
        self.rows, self.width, self.span, self.said = rows, width, span, said
        self.longest = max((sum(part.value for part in row.parts) for row in rows), default=0) or 1.0
        self.scale = fluid.scale_of(rows, self.longest, width, 1.0) if any(row.total for row in rows) else 1.0
        self.tops, self.outside, y = [], [], 0
        for row in rows:
            y += 34 if span else ROW if row.name else 0
            self.tops.append(y)
            inside = self._inside(row)
            labels = [
                (middle, f"{fluid.fitting(part.label, MAX_LABEL, SIZE)} {part.text}")
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
            if max(fluid.width_of(part.label, SIZE, bold=True), fluid.width_of(part.text, SIZE)) + 2 * PAD
            <= share * self.width
        ]

    def elements(self, name):
        """Yield the elements of all bars."""
        for row, top, outside in zip(self.rows, self.tops, self.outside, strict=True):
            if self.span:
                yield from self._bracket(top)
            if row.name:
                yield fluid.text_at(
                    fluid.fitting(row.name, self.width, SIZE, bold=True), 0, top - 7, bold=True
                )
            inside, places = self._inside(row), list(self._places(row))
            yield from fluid.segments(places, top, BAR, name)
            for part, start, _, _ in places:
                if part in inside:
                    fill = FILLS[part.colour][1] if part.colour in FILLS else INK
                    yield fluid.text_at(part.label, start, top + 20, dx=PAD, bold=True, fill=fill)
                    yield fluid.text_at(part.text, start, top + 37, dx=PAD, fill=fill)
            if row.total:
                end = sum(share for _, _, share, _ in places)
                yield fluid.text_at(row.total, end, top + 28, dx=PAD, bold=True)
            yield from _labels(outside, top + BAR)

    def _bracket(self, top):
        start, end = self.span
        y = top - 8
        lines = ((start, end, y, y), (start, start, y - 0.5, y + 5), (end, end, y - 0.5, y + 5))
        yield Markup('<g stroke="currentColor" stroke-width="1.5">{}</g>').format(
            Markup("").join(fluid.line_between(*line) for line in lines)
        )
        said = fluid.fitting(self.said, self.width, SIZE, bold=True)
        width = fluid.width_of(said, SIZE, bold=True) / self.width
        if start + width <= 1:
            yield fluid.text_at(said, start, top - 16, bold=True)
        else:
            yield fluid.text_at(said, max(end, min(width, 1.0)), top - 16, bold=True, anchor="end")


def _span(parts, governed):
    """Return where the parts that are governed begin and end, as fractions of a run; None without one."""
    ends, at, total = [], 0.0, sum(part.value for part in parts) or 1.0
    for part in parts:
        if part.label in set(governed):
            ends += [at, at + part.value]
        at += part.value
    return (ends[0] / total, ends[-1] / total) if ends and ends[-1] > ends[0] else None


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

    @property
    def drop(self):
        """How far below its row the line reaches, in px: to the text, or beside it."""
        return 14 if self.at == self.line else 7

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
    said = fluid.fitting(said, width - 5, SIZE)
    needed = (fluid.width_of(said, SIZE) + 5) / width
    at = min(line, 1 - needed) if anchor == "start" else max(line, needed)
    return _Label(line, max(at, 0.0), said, anchor, needed)


def _set(label, placed):
    """Return the label in the first row that holds it without a crossing, or in one of its own."""
    last = max((other.row for other in placed), default=-1) + 1
    for row in range(last):
        moved = label._replace(row=row)
        together = [*placed, moved]
        if not (moved.overlaps(placed) or _crossed(together) > _crossed(placed)):
            return moved
    return label._replace(row=last)


def _crossed(labels):
    return sum(label.crossed(labels) for label in labels)


def _labels(labels, bottom):
    """Yield the lines below a bar, then the labels over them."""
    if not labels:
        return
    drawn = Markup("").join(
        fluid.line_between(label.line, label.line, bottom, bottom + ROW * label.row + label.drop)
        for label in labels
    )
    yield Markup('<g stroke="{}">{}</g>').format(MUTED, drawn)
    yield Markup(
        '<g paint-order="stroke" stroke="{}" stroke-width="4" stroke-linejoin="round">{}</g>'
    ).format(
        PAGE,
        Markup("").join(
            fluid.text_at(
                label.text,
                label.at,
                bottom + 18 + ROW * label.row,
                dx=5 if label.anchor == "start" else -5,
                anchor=label.anchor,
            )
            for label in labels
        ),
    )
