"""How every figure is drawn: its size, labels and colours, and how it becomes a picture of a page.

The figure of an answer is a function from its frame to a matplotlib figure and a legend. It is drawn
when it is looked at, under a style of its own that leaves the user's settings alone.
"""

import contextlib
import io
import itertools
import time
import warnings
from collections import deque
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.transforms import Bbox

from traincost.printing import power
from traincost.results import svg
from traincost.results.prose import Captioned, Sentence
from traincost.results.svg import HALO, INK, MUTED, fit

# Inches of 72 units. On a phone a unit of a figure is a pixel, and its text, all of one size, can be read.
WIDTH = 4.8
WIDE = 10.0  # of the second drawing that some figures have, for screens that hold a page's whole width
MAX_LABEL = 26  # characters of a level or section on an axis
MAX_POINTS = 400  # that a figure with a point a row draws; the legend says of how many
MAX_ROWS = 24  # levels in one figure; the legend says how many there are
GAP = 6  # points between a point and its name
APART = 2  # points between names
ROOM = 3  # points around a point that a name keeps clear of
MAX_NAME = 22  # characters of a name beside a point
# Where a name may stand, best first: (horizontal, vertical) of the name as seen from its point.
PLACES = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))
MARKS = {"tick": "|", "range": "_", "hatch": "s"}  # what a legend's words are drawn as outside a page

# When the last drawings of this process began, in seconds since the epoch, and how long each took:
# what a profile of a build shows (`builds`).
TAKEN = deque(maxlen=1_000)


class Plot(Canvas):
    """A matplotlib figure that shows itself in a notebook, whatever backend is active."""

    def _repr_png_(self):
        buffer = io.BytesIO()
        with _style():
            self.savefig(buffer, format="png", dpi=144, bbox_inches="tight", facecolor="white")
        return buffer.getvalue()


@dataclass(frozen=True)
class Drawing:
    """An inline SVG, and a legend of (mark, text) pairs that the page sets in HTML.

    `wide` is the same for wide screens, where the figure has two drawings.
    """

    svg: str
    legend: tuple = ()
    wide: str = ""


@dataclass(frozen=True, eq=False)
class Figure(Captioned):
    """A figure of an answer, drawn when it is looked at."""

    name: str  # its anchor, and its name in the JSON
    frame: object  # what it draws
    # Takes the frame and `args`; returns a `Plot` and a legend of (mark, text) pairs. A mark is ``tick``,
    # ``range``, ``hatch``, a colour, a (marker, colour) pair, or None for words alone.
    draw: object
    caption: Sentence
    args: tuple = ()
    note: Sentence | None = None  # below it, small
    aliases: tuple = ()  # ids that once stood here, and still lead to it
    wide: bool = False  # it has a second drawing for wide screens; else, one serves all

    @classmethod
    def of(cls, name, frame, draw, caption, *args, **options):
        """Draw and caption one frame; None where it is empty."""
        return cls(name, frame, draw, caption(frame, *args), args, **options) if len(frame) else None

    def plot(self):
        """Return it as a matplotlib figure with its legend, to restyle and save."""
        with _style():
            figure, legend = self.draw(self.frame, *self.args)
            figure.set_layout_engine("constrained")
            if legend:
                _add_legend(figure, legend)
            return figure

    def drawing(self):
        """Return it as a `Drawing`."""
        began, started = time.time(), time.perf_counter()
        place = f"figure-{self.name}"
        with _style():
            figure, legend = self.draw(self.frame, *self.args)
            drawn = svg.inline(figure, place, "narrow" if self.wide else "")
        wide = ""
        if self.wide:
            with _style(WIDE):
                wide = svg.inline(self.draw(self.frame, *self.args)[0], f"{place}-wide", "wide")
        TAKEN.append((began, time.perf_counter() - started))
        return Drawing(drawn, tuple(legend), wide)


@contextlib.contextmanager
def _style(width=WIDTH):
    """Set the style and width of our figures, and what matplotlib's is in its documentation, for a while.

    The backend stays what it is: `rc_context` does not restore it, and the user's own plots need it.
    """
    defaults = {name: value for name, value in mpl.rcParamsDefault.items() if name != "backend"}
    own = {**svg.RC, "figure.figsize": (width, width)}
    with mpl.rc_context(defaults), mpl.rc_context(own), warnings.catch_warnings():
        # On a page, text is set by the browser; what DejaVu Sans lacks is not missing there.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _add_legend(figure, words):
    """Set a legend below a figure, which becomes higher by it: its axes keep their size."""
    handles = [_handle(mark, text) for mark, text in words]
    legend = figure.legend(handles=handles, loc="outside lower left", frameon=False)
    figure.set_figheight(figure.get_figheight() + legend.get_window_extent().height / figure.dpi)


def _handle(mark, text):
    marker, colour = mark if isinstance(mark, tuple) else (MARKS.get(mark, "s"), mark)
    if mark is None or mark in MARKS:
        colour = INK if mark else "none"
    return mpl.lines.Line2D([], [], linestyle="", marker=marker, color=colour, label=text)


def axes_of(height):
    """Return a new figure, as wide as the one that is being drawn, and its axes; `height` in inches."""
    figure = Plot(figsize=(mpl.rcParams["figure.figsize"][0], height))
    return figure, figure.add_subplot()


def is_wide(figure):
    """Say whether a figure is drawn for a wide screen."""
    return figure.get_figwidth() > WIDTH


def clipped(text, limit=MAX_LABEL):
    """Return text for an axis: one line, and its middle left out where it is long."""
    text = "".join(c if c.isprintable() else "·" for c in str(text))
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}…{text[-(limit - head - 1) :]}"


def labels_apart(labels, limit=MAX_LABEL):
    """Return several labels `clipped`; those that would look alike begin shortly before they differ.

    >>> labels_apart(["a" * 40 + "1" + "b" * 40, "a" * 40 + "2" + "b" * 40], 9)
    ['…aa1…bbbb', '…aa2…bbbb']
    """
    alike = {}
    for label in dict.fromkeys(map(str, labels)):
        alike.setdefault(clipped(label, limit), []).append(label)
    shown = {}
    for text, group in alike.items():
        same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*group, strict=False))
        start = max(0, len(list(same)) - 2)
        for label in group:
            shown[label] = text if len(group) == 1 else clipped(f"…{label[start:]}", limit)
    return [shown[str(label)] for label in labels]


def cut(n):
    """Return a legend entry that says how many levels are not drawn, where some are not."""
    return [(None, f"the first {MAX_ROWS} of {n} levels")] if n > MAX_ROWS else []


def label_rows(axes, labels):
    """Name the rows of a figure, the first at the top."""
    axes.set_yticks(range(len(labels)), labels_apart(labels))
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def powers_of_ten(axis):
    """Label a log axis as 10ⁿ, in text: maths would be drawn, not written."""
    low, high = axis.get_view_interval()
    few = high < 300 * low  # decades alone would leave the axis bare
    axis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=9))
    axis.set_major_formatter(mpl.ticker.FuncFormatter(_power_of_ten))
    axis.set_minor_locator(mpl.ticker.NullLocator())


def _power_of_ten(value, _):
    exponent = int(np.floor(np.log10(value) + 1e-9))
    factor = round(value / 10.0**exponent)
    return power(exponent) if factor == 1 else f"{factor}·{power(exponent)}"


def plain_log_axis(axes, values):
    """Label decades with plain numbers, and more where there are few."""
    low, high = values.min(), values.max()
    axes.set_xlim(low / 1.6, high * 1.6)
    several = high > 100 * low
    axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0,) if several else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())


def percent_axis(axes):
    """Print shares along the x axis in percent, with a grid."""
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5, steps=(1, 2, 5, 10)))
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, symbol=" %"))
    axes.grid(axis="x")


def label_above(axes, text, gap=6):
    """Say above the axes what goes up: beside them, its letters would lie on their side."""
    axes.annotate(text, (0, 1), (0, gap), xycoords="axes fraction", textcoords="offset points", color=MUTED)


def labels_on_grid(axes, text):
    """Set the labels of the y axis on its grid lines, inside the axes, and above them what goes up."""
    label_above(axes, text, 18)
    axes.tick_params(axis="y", length=0, pad=0, labelcolor=MUTED)
    axes.figure.draw_without_rendering()  # which makes the labels
    for label in axes.get_yticklabels():
        label.set_ha("left")
        label.set_va("bottom")
    axes.spines["left"].set_visible(False)


def thinned(frame, limit=MAX_POINTS):
    """Return evenly spaced rows of a frame, its ends among them, so that a figure stays light."""
    if len(frame) <= limit:
        return frame
    return frame.iloc[np.linspace(0, len(frame) - 1, limit).round().astype(int)]


def name_points(axes, x, y, names, most):
    """Write names beside the first points, at most `most`, each where it covers nothing, and return them.

    Call it when the axes have their limits and scales: a name that no place has room for is left out.
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
