"""Names beside the points of a figure, where there is room for them."""

from matplotlib.transforms import Bbox

from traincost.results.figures import clipped
from traincost.results.svg import HALO, fit

GAP = 6  # points between a point and its name
APART = 2  # points between names
ROOM = 3  # points around a point that a name keeps clear of
MAX_NAME = 22  # characters of a name beside a point
# Where a name may stand, best first: (horizontal, vertical) of the name as seen from its point.
PLACES = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))


def name_points(axes, x, y, names, most):
    """Write names beside points, the first ones first, each where it covers nothing.

    Call it when the axes have their limits and scales: a name that no place has room for is left out.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    x, y : sequence of float
        All points, those to be named first.
    names : sequence of str
        Of the first points, from a run or a sheet.
    most : int
        How many are written at most.

    Returns
    -------
    list of str
        The names that were written.
    """
    figure = axes.figure
    fit(figure)  # as it is when the figure is written
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    inside = axes.get_window_extent()
    centres = axes.transData.transform(list(zip(x, y, strict=True)))
    taken = [Bbox.from_extents(*(centre - ROOM * scale), *(centre + ROOM * scale)) for centre in centres]
    taken += [label.get_window_extent() for label in axes.get_yticklabels() if label.get_text()]
    written = []
    for i, name in enumerate(names):
        if len(written) == most:
            break
        shown = clipped(name, MAX_NAME)
        note = axes.annotate(shown, (x[i], y[i]), (0, 0), textcoords="offset points", gid=HALO)
        others = [box for j, box in enumerate(taken) if j != i]
        for across, up in PLACES:
            note.set_position((GAP * across, GAP * up * (1 if across == 0 else 0.8)))
            note.set_ha({1: "left", -1: "right", 0: "center"}[across])
            note.set_va({1: "bottom", -1: "top", 0: "center"}[up])
            box = note.get_window_extent().padded(APART * scale)
            if _is_within(box, inside) and not any(box.overlaps(other) for other in others):
                taken.append(box)
                written.append(name)
                break
        else:
            note.remove()
    return written


def _is_within(box, outer):
    return outer.x0 <= box.x0 and box.x1 <= outer.x1 and outer.y0 <= box.y0 and box.y1 <= outer.y1
