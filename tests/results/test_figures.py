"""Figures: real text, theme colours, nothing a page would have to ask for."""

import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from conftest import HOSTILE, runs_of

import traincost as tc
from traincost.analysis import sections
from traincost.results import html, svg
from traincost.results.decomposition import draw_parts
from traincost.results.figures import WIDE, WIDTH, Drawing, Figure, axes_of, clipped, is_wide, name_points
from traincost.results.prose import say
from traincost.results.result import Bars
from traincost.results.shares import draw_composition
from traincost.results.svg import PAGE, REST, SERIES, THEME

NAMES = [
    "effects", "cells", "levels", "occurrences", "subsections", "composition", "knobs", "turned", "score",
    "changes", "parts",
]  # fmt: skip


@pytest.fixture(scope="module")
def drawings(answers):
    """Name of each figure of the answers to its drawing."""
    shown = [figure for answer in answers.values() for figure in answer.figures.values()]
    # Of bars, what a paper has instead.
    drawn = [figure.drawn if isinstance(figure, Bars) else figure for figure in shown]
    figures = {figure.name: figure for figure in drawn if figure is not None}
    return {name: figure.drawing() for name, figure in figures.items()}


def drawn(draw, frame, *args) -> Drawing:
    """Return what a page shows of a frame."""
    return Figure("f", frame, draw, say("F."), args).drawing()


def levels_of(runtime_s, level="a"):
    """Return the figure of runtimes by level, of runs in pairs of the same level."""
    config = {"task": [f"{level}{i // 2}" for i in range(len(runtime_s))]}
    return tc.levels(runs_of(config, runtime_s)).figures["levels"]


def test_every_figure_is_looked_at(drawings):
    assert set(drawings) == set(NAMES)


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_that_is_saved_holds_all_its_words(answers, name):
    [found] = [answer.figures[name] for answer in answers.values() if name in answer.figures]
    figure = found.plot()
    figure.draw_without_rendering()
    (left, bottom), (right, top) = figure.get_tightbbox().get_points()
    width, height = figure.get_size_inches()
    assert min(left, bottom, width - right, height - top) > -0.02
    for legend in figure.legends:
        axes = figure.axes[0].get_tightbbox()
        assert legend.get_window_extent().y1 <= axes.y0


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_one_light_svg_without_style_or_script(drawings, name):
    root = ElementTree.fromstring(drawings[name].svg)
    tags = {node.tag for node in root.iter()}
    assert root.tag == "svg"
    assert "text" in tags
    assert not tags & {"style", "script", "image", "metadata", "foreignObject"}
    assert not any("style" in node.attrib for node in root.iter())
    assert len(drawings[name].svg) < 30_000


@pytest.mark.parametrize("name", NAMES)
def test_theme_colours_are_replaced_by_variables(drawings, name):
    left = re.sub(r"var\([^()]*\)", "", drawings[name].svg)
    assert not [colour for colour in THEME if colour in left]
    assert "currentColor" in drawings[name].svg


@pytest.mark.parametrize("name", NAMES)
def test_references_resolve_and_ids_are_prefixed(drawings, name):
    drawn = drawings[name].svg
    ids = set(re.findall(r' id="([^"]+)"', drawn))
    used = set(re.findall(r'href="#([^"]+)"', drawn)) | set(re.findall(r"url\(#([^)]+)\)", drawn))
    assert used == ids


def test_ids_of_different_figures_do_not_collide(drawings):
    ids = [i for drawing in drawings.values() for i in re.findall(r' id="([^"]+)"', drawing.svg)]
    assert len(ids) == len(set(ids))


def test_an_empty_cell_is_hatched_and_others_have_numbers(drawings):
    root = ElementTree.fromstring(drawings["cells"].svg)
    texts = [node.text for node in root.iter("text")]
    assert sum(bool(re.fullmatch(r"[0-9,]+\.[0-9]", t or "")) for t in texts) == 5
    assert list(root.iter("pattern"))


def test_hostile_labels_are_text(drawings):
    texts = [node.text for node in ElementTree.fromstring(drawings["levels"].svg).iter("text")]
    assert "<b>$x_1$ \\frac 漢· &" in texts


def test_parts_that_exceed_the_whole_are_drawn_within_the_axes():
    rows = pd.DataFrame({"a": [0.9], "b": [0.8], sections.UNATTRIBUTED: [-0.7], "n_runs": 1}, index=["all"])
    drawing = drawn(draw_composition, rows)
    first, second = (bars(drawing, THEME[colour])[0] for colour in SERIES[:2])
    assert first[1] == pytest.approx(second[0], abs=0.02)
    assert second[1] <= view_box(drawing)[2]
    assert all(right - left < 0.1 for left, right in bars(drawing, THEME[REST]))


def view_box(drawing):
    return [float(number) for number in ElementTree.fromstring(drawing.svg).get("viewBox").split()]


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_as_wide_as_a_phone(drawings, name):
    assert view_box(drawings[name])[2] == pytest.approx(72 * WIDTH, abs=6)
    assert ElementTree.fromstring(drawings[name].svg).get("class") == "plot"


def test_long_labels_leave_room_for_the_axes():
    assert view_box(levels_of([1.0, 2, 3, 4], "W" * 90).drawing())[2] < 1.35 * 72 * WIDTH


def test_a_figure_may_have_a_second_drawing_for_wide_screens():
    def draw(frame):
        figure, axes = axes_of(1.0)
        axes.plot(frame["a"])
        return figure, [(None, str(is_wide(figure)))]

    figure = Figure("f", pd.DataFrame({"a": [1, 2]}), draw, say("F."), wide=True)
    drawing = figure.drawing()
    assert view_box(drawing)[2] == pytest.approx(72 * WIDTH, abs=4)
    assert view_box(Drawing(drawing.wide))[2] == pytest.approx(72 * WIDE, abs=4)
    kinds = [ElementTree.fromstring(one).get("class") for one in (drawing.svg, drawing.wide)]
    assert kinds == ["plot narrow", "plot wide"]
    assert drawing.legend == ((None, "False"),)
    made = html.figure(figure)
    ids = re.findall(r' id="([^"]+)"', made)
    assert len(ids) == len(set(ids))
    assert {"figure-f-desc", "figure-f-wide-desc"} <= set(ids)


def axes_with(points):
    axes = axes_of(3.0)[1]
    x, y = zip(*points, strict=True)
    axes.plot(x, y, "o")
    return axes, x, y


def test_names_stand_beside_points_and_cover_nothing():
    axes, x, y = axes_with([(0.1, 0.1), (0.5, 0.5), (0.9, 0.9), (0.5, 0.51)])
    assert name_points(axes, x, y, ["low", HOSTILE, "high"], 3) == ["low", HOSTILE, "high"]
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    centres = axes.transData.transform(list(zip(x, y, strict=True)))
    assert not any(box.contains(*centre) for box in boxes for centre in centres)
    assert [text.get_text() for text in axes.texts][1] == clipped(HOSTILE)


def test_names_without_room_or_beyond_the_limit_are_left_out():
    crowd = [(i / 40, j / 40) for i in range(41) for j in range(41)]
    axes, x, y = axes_with(crowd)
    assert name_points(axes, x, y, ["a long name of a system"] * 5, 5) == []
    axes, x, y = axes_with([(i, i) for i in range(9)])
    assert name_points(axes, x, y, [f"s{i}" for i in range(9)], 4) == ["s0", "s1", "s2", "s3"]


def test_names_over_lines_have_a_rim_of_the_page():
    def draw(frame):
        axes, x, y = axes_with([(0.1, 0.1), (0.9, 0.9)])
        name_points(axes, x, y, ["named"], 1)
        return axes.figure, []

    drawing = drawn(draw, pd.DataFrame({"a": [1]}))
    rims = [n for n in ElementTree.fromstring(drawing.svg).iter("g") if n.get("paint-order") == "stroke"]
    assert [text.text for rim in rims for text in rim.iter("text")] == ["named"]
    assert rims[0].get("stroke") == THEME[PAGE]


def bars(drawing, colour):
    """Return the left and right end of each bar of a colour, from the top down."""
    paths = [node for node in ElementTree.fromstring(drawing.svg).iter("path") if node.get("fill") == colour]
    ends = [[float(x) for x in re.findall(r"[ML] ?(-?[\d.]+)", path.get("d"))] for path in paths]
    return [(min(x), max(x)) for x in ends]


def test_pieces_of_a_part_lie_end_to_end():
    parts = pd.DataFrame(
        {
            "part": ["same", "opposed", "undivided"],
            "count_s": [-3.0, -3.0, np.nan],
            "call_s": [-1.0, 1.0, np.nan],
            "once_s": [0.0, 0.0, np.nan],
            "total_s": [-4.0, -2.0, -2.0],
        }
    )
    drawing = drawn(draw_parts, parts)
    (same, opposed), (same_call, opposed_call) = (bars(drawing, THEME[colour])[:2] for colour in SERIES[:2])
    assert same_call[1] == pytest.approx(same[0], abs=0.02)
    assert opposed_call[0] == pytest.approx(opposed[1], abs=0.02)
    assert same[1] - same[0] == pytest.approx(3 * (same_call[1] - same_call[0]), abs=0.05)
    rest = bars(drawing, THEME[REST])
    assert rest[-1][1] - rest[-1][0] == pytest.approx(2 * (same_call[1] - same_call[0]), abs=0.05)
    assert [text for _, text in drawing.legend] == [
        "by how often it ran", "by what one call cost", "undivided",
    ]  # fmt: skip
    assert len(drawn(draw_parts, parts.head(2)).legend) == 2


def test_the_same_runs_give_the_same_bytes():
    first, second = (levels_of([1.0, 2, 3, 4]).drawing().svg for _ in range(2))
    assert first == second


def test_size_does_not_grow_with_the_runs():
    def size(n):
        runs = runs_of({"task": ["a", "b"] * n}, np.arange(1.0, 2 * n + 1))
        return len(tc.levels(runs).figures["levels"].drawing().svg)

    assert size(5_000) < 1.1 * size(500)


def test_a_users_matplotlib_settings_have_no_say():
    figure = levels_of([1.0, 2, 3, 4])
    first = figure.drawing().svg
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert figure.drawing().svg == first


def test_drawing_does_not_advance_a_users_random_numbers():
    np.random.seed(3)
    expected = np.random.random()
    np.random.seed(3)
    levels_of([1.0, 2, 3, 4]).drawing()
    assert np.random.random() == expected


def test_long_labels_lose_their_middle():
    assert clipped("a" * 10 + "b" * 40 + "c" * 10, 21) == "a" * 10 + "…" + "c" * 10
    assert svg.RC["text.parse_math"] is False
