"""Figures: real text, theme colours, nothing a page would have to ask for."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from conftest import collection_of, grid

from traincost.analysis import effects, fields, knobs, sections
from traincost.columns import SECONDS
from traincost.estimation.compute import fit_conversion
from traincost.results import figures, svg
from traincost.results.svg import MUTED, RC, SERIES, THEME

ROWS = [
    (r, path, seconds, 3) for r in range(12) for path, seconds in (("e", 40.0), ("e/x", 30.0), ("t", 20.0))
]
HOSTILE = "<b>$x_1$ \\frac 漢\x00 &"


@pytest.fixture(scope="module")
def drawings():
    config = grid(task=["a", HOSTILE, "c"], lr=[1, 2], rep=["u", "v"])
    config = config[~((config["task"] == "c") & (config["lr"] == 2))]
    config = pd.concat([config, config.head(2)], ignore_index=True)
    runtime = np.exp(np.random.default_rng(0).normal(4, 1, len(config)))
    made = collection_of(config, runtime, ROWS)
    described = {field.name: field for field in fields.describe(made.runs)}
    by = described["task"]
    table = effects.main_effects(made, n_permutations=99)
    runtime_s = made.runs["runtime_s"]
    levels = fields.level_runtimes(runtime_s, by)
    timing = sections.per_occurrence(made, by)
    bounds = knobs.bounds(made)
    points = pd.DataFrame({"cost": [1.0, 2.0], "score": [0.5, 0.4], "front": [True, False]})
    return {
        "effects": figures.effect_bars(table),
        "cells": figures.level_heatmap(fields.cell_runtimes(runtime_s, by, described["lr"]), SECONDS),
        "levels": figures.runtime_by_level(fields.level_of_runs(runtime_s, by), levels, "task", SECONDS),
        "occurrences": figures.time_per_occurrence(timing, "task"),
        "composition": figures.runtime_composition(sections.composition(made, by)),
        "knobs": figures.knob_bounds(bounds),
        "scores": figures.score_against_cost(points, HOSTILE, "f1"),
    }


NAMES = ["effects", "cells", "levels", "occurrences", "composition", "knobs", "scores"]


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_one_light_svg_without_style_script_or_image(drawings, name):
    root = ElementTree.fromstring(drawings[name].svg)
    tags = {node.tag for node in root.iter()}
    assert root.tag == "svg"
    assert "text" in tags
    assert not tags & {"style", "script", "image", "metadata", "foreignObject"}
    assert not any("style" in node.attrib for node in root.iter())
    assert len(drawings[name].svg) < 30_000


@pytest.mark.parametrize("name", NAMES)
def test_sentinel_colours_are_replaced(drawings, name):
    assert not re.search(r"#0[1-6]0?[0-9a-f]", re.sub(r"#[0-9a-f]{3,6}\)", "", drawings[name].svg))


@pytest.mark.parametrize("name", NAMES)
def test_references_resolve_and_ids_are_prefixed(drawings, name):
    drawn = drawings[name].svg
    ids = set(re.findall(r' id="([^"]+)"', drawn))
    used = set(re.findall(r'href="#([^"]+)"', drawn)) | set(re.findall(r"url\(#([^)]+)\)", drawn))
    assert used == ids


def test_ids_of_different_figures_do_not_collide(drawings):
    ids = [i for drawing in drawings.values() for i in re.findall(r' id="([^"]+)"', drawing.svg)]
    assert len(ids) == len(set(ids))


def test_an_empty_cell_is_hatched_and_a_full_one_has_its_number(drawings):
    root = ElementTree.fromstring(drawings["cells"].svg)
    texts = [node.text for node in root.iter("text")]
    assert sum(bool(re.fullmatch(r"[0-9,]+\.[0-9]{2}", t or "")) for t in texts) == 5
    assert list(root.iter("pattern"))


def test_hostile_labels_are_text(drawings):
    texts = [node.text for node in ElementTree.fromstring(drawings["levels"].svg).iter("text")]
    assert "<b>$x_1$ \\frac 漢· &" in texts


def test_parts_that_exceed_the_whole_are_drawn_within_the_axes():
    rows = pd.DataFrame({"a": [0.9], "b": [0.8], sections.UNATTRIBUTED: [-0.7], "n_runs": 1}, index=["all"])
    drawing = figures.runtime_composition(rows)
    first, second = (bars(drawing, svg.colour(i))[0] for i in (0, 1))
    assert first[1] == pytest.approx(second[0], abs=0.02)
    assert second[1] <= view_box(drawing)[2]
    assert all(right - left < 0.1 for left, right in bars(drawing, svg.colour(None)))


def view_box(drawing):
    return [float(number) for number in ElementTree.fromstring(drawing.svg).get("viewBox").split()]


@pytest.mark.parametrize("name", NAMES)
def test_the_figures_of_a_page_are_as_wide_as_a_phone(drawings, name):
    assert view_box(drawings[name])[2] == pytest.approx(72 * figures.WIDTH, abs=4)
    assert ElementTree.fromstring(drawings[name].svg).get("class") == "plot"


def test_long_labels_leave_room_for_the_axes_and_many_cells_make_a_figure_wide():
    runtimes = pd.DataFrame({"level": ["W" * 90, "M" * 90], "runtime_s": [1.0, 2.0]})
    levels = pd.DataFrame({"level": runtimes["level"], "mean_s": [1.0, 2.0]})
    drawing = figures.runtime_by_level(runtimes, levels, "W" * 90, SECONDS)
    assert view_box(drawing)[2] < 1.35 * 72 * figures.WIDTH
    columns = pd.Index([f"c{i:02}" for i in range(12)], name="x")
    cells = pd.DataFrame(np.full((2, 12), 1234.5), index=pd.Index(["a", "b"], name="y"), columns=columns)
    cells.attrs["n_levels"] = cells.shape
    drawing = figures.level_heatmap(cells, SECONDS)
    assert ElementTree.fromstring(drawing.svg).get("class") == "plot wide"
    assert view_box(drawing)[2] == pytest.approx(72 * figures.WIDE, abs=4)


def bars(drawing, colour):
    """Return the left and right end of each bar of a colour, from the top down."""
    paths = [node for node in ElementTree.fromstring(drawing.svg).iter("path") if node.get("fill") == colour]
    ends = [[float(x) for x in re.findall(r"[ML] ?(-?[\d.]+)", path.get("d"))] for path in paths]
    return [(min(x), max(x)) for x in ends]


def test_the_pieces_of_a_part_lie_end_to_end_or_on_either_side_of_zero():
    parts = pd.DataFrame(
        {
            "part": ["same", "opposed", "undivided"],
            "count_s": [-3.0, -3.0, np.nan],
            "call_s": [-1.0, 1.0, np.nan],
            "total_s": [-4.0, -2.0, -2.0],
        }
    )
    drawing = figures.change_parts(parts, SECONDS)
    (same, opposed), (same_call, opposed_call) = (bars(drawing, svg.colour(i))[:2] for i in (0, 1))
    assert same_call[1] == pytest.approx(same[0], abs=0.02)
    assert opposed_call[0] == pytest.approx(opposed[1], abs=0.02)
    assert same[1] - same[0] == pytest.approx(3 * (same_call[1] - same_call[0]), abs=0.05)
    rest = bars(drawing, svg.colour(None))
    assert rest[-1][1] - rest[-1][0] == pytest.approx(2 * (same_call[1] - same_call[0]), abs=0.05)
    assert [text for _, text in drawing.legend] == [
        "by how often it ran", "by what one call cost", "undivided",
    ]  # fmt: skip
    assert len(figures.change_parts(parts.head(2), SECONDS).legend) == 2


def test_the_same_frames_give_the_same_bytes():
    runtimes = pd.DataFrame({"level": list("aabb"), "runtime_s": [1.0, 2.0, 3.0, 4.0]})
    levels = pd.DataFrame({"level": ["a", "b"], "mean_s": [1.5, 3.5]})
    first, second = (figures.runtime_by_level(runtimes, levels, "x", SECONDS).svg for _ in range(2))
    assert first == second


def test_size_does_not_grow_with_the_runs():
    def size(n):
        runtimes = pd.DataFrame({"level": ["a", "b"] * n, "runtime_s": np.arange(1.0, 2 * n + 1)})
        levels = pd.DataFrame({"level": ["a", "b"], "mean_s": [1.5, 3.5]})
        return len(figures.runtime_by_level(runtimes, levels, "x", SECONDS).svg)

    assert size(50_000) < 1.1 * size(500)


def test_a_users_matplotlib_settings_have_no_say(monkeypatch):
    import matplotlib as mpl

    runtimes = pd.DataFrame({"level": list("ab"), "runtime_s": [1.0, 2.0]})
    levels = pd.DataFrame({"level": ["a", "b"], "mean_s": [1.0, 2.0]})
    first = figures.runtime_by_level(runtimes, levels, "x", SECONDS).svg
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert figures.runtime_by_level(runtimes, levels, "x", SECONDS).svg == first


def test_long_labels_lose_their_middle():
    assert figures.clipped("a" * 10 + "b" * 40 + "c" * 10, 21) == "a" * 10 + "…" + "c" * 10
    assert RC["text.parse_math"] is False


def test_each_trend_has_a_key_and_a_band_in_its_colour():
    dates = pd.to_datetime(["2016-01-01", "2018-01-01", "2020-01-01"])
    points = pd.DataFrame({"system": list("abc"), "date": dates, "flop": [1e20, 1e22, 1e25]})
    points = points.assign(low_outlier=False, large_scale=[False, False, True])
    ends = {"start_flop": 1e20, "end_flop": 1e24, "start_low": 1e19, "start_high": 1e21}
    ends |= {"end_low": 1e23, "end_high": 1e25, "first": dates[0], "last": dates[2]}
    lines = pd.DataFrame([{"group": group, **ends} for group in ("all", "regular scale", "large scale")])
    drawing = figures.compute_trend(lines, points)
    keys = {text: key for key, text in drawing.legend if "trend" in text}
    blue, red = (THEME[colour] for colour in SERIES[:2])
    assert keys == {
        "fitted trend (all or regular scale); shaded, the interval of its slope": blue,
        "fitted trend (large scale); shaded, the interval of its slope": red,
    }
    assert [drawing.svg.count(f'fill="{c}" fill-opacity="0.2"') for c in (blue, red)] == [2, 1]


def test_an_interval_below_the_limit_is_explained_and_one_above_is_not():
    x = np.array([1e20, 1e21, 1e22, 1e23])
    for scatter, explained in ((1.01, False), (9.0, True)):
        burden = x * 4 * scatter ** np.array([1, -1, -1, 1])
        points = pd.DataFrame({"operations_flop": x, "burden_flop": burden})
        legend = figures.conversion_fit(points, fit_conversion(x, burden)).legend
        assert any("the fit knows nothing" in text for _, text in legend) == explained
        assert (THEME[MUTED], "dashed: equal; below it more work than the peak allows") in legend
