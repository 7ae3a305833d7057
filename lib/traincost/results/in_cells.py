"""Drawings in the cells of a table and the entries of a legend: a bar, a point, a square of a colour."""

from markupsafe import Markup

from traincost.results.escaping import text as escaped
from traincost.results.fluid import EDGE, FILLS, INK, PAGE, TRACK, UNTIMED, as_part, line_between, percents


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
