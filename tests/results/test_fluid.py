"""Bars as SVG without a view box: all numbers said, hostile names escaped, labels where they fit."""

import re
from html.parser import HTMLParser

import pytest

from traincost.results import fluid, html, labelled, mean_bars
from traincost.results.fluid import Level, Part

HOSTILE = '"><script>alert(1)</script>\x00 & <b>'
RUN = [
    ("eval_router_sampled", 0.4406, "44.1 %", "evaluation"),
    ("eval_val_loss", 0.0345, "3.4 %", "evaluation"),
    ("train", 0.043, "4.3 %", "training"),
    ("setup", 0.015, "1.5 %", "setup"),
    ("other", 0.0123, "1.2 %", "other"),
    ("untimed", 0.4546, "45.5 %", "untimed"),
]


class Seen(HTMLParser):
    """Collects tags with their attributes, ids, and the text of each element that has any."""

    def __init__(self, made):
        super().__init__()
        self.tags, self.ids, self.texts, self._open = [], [], [], []
        self.feed(str(made))

    def handle_starttag(self, tag, attrs):
        self._open.append(tag)
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts.append((self._open[-1] if self._open else "", data))

    def of(self, tag):
        return [text for name, text in self.texts if name == tag]


def answer(parts=RUN, governed=("eval_router_sampled", "eval_val_loss"), said="interval governs 47.5 %"):
    return labelled.answer_bar(parts, governed, said, name="answer", title="What a run spends its time on")


def test_small_parts_fold_and_what_the_knob_governs_stays():
    folded = labelled.folded(map(tuple, RUN), {"eval_router_sampled", "eval_val_loss"})
    labels = [part.label for part in folded]
    assert labels == ["eval_router_sampled", "eval_val_loss", "train", "other sections", "untimed"]
    assert folded[3].text == "2.7\xa0%"
    assert folded[3].value == pytest.approx(0.0273)
    assert [part.label for part in labelled.folded(RUN[:3], ())] == [p[0] for p in RUN[:3]]  # one alone stays


def test_what_is_governed_is_set_side_by_side():
    parts = [
        ("a", 0.3, "", "other"),
        ("b", 0.3, "", "other"),
        ("c", 0.3, "", "other"),
        ("d", 0.1, "", "other"),
    ]
    assert [part.label for part in labelled.folded(parts, {"b", "d"})] == ["a", "b", "d", "c"]


def test_lightness_is_the_rank_within_a_kind():
    assert [part.colour for part in fluid.ranked(RUN)] == ["e1", "e2", "t1", "i1", "ot", "un"]
    assert fluid.colour("evaluation", 9) == "e3"
    assert fluid.colour("what else", 1) == "ot"


def test_the_description_holds_all_numbers_in_bar_order():
    seen = Seen(answer())
    for described in seen.of("desc"):
        places = [described.index(said) for said in ("44.1 %", "3.4 %", "4.3 %", "2.7", "45.5 %", "47.5 %")]
        assert places == sorted(places)
    assert len(seen.of("desc")) == 2
    drawn = " ".join(seen.of("text"))
    assert {*re.findall(r"[\d.]+\s%", drawn)} <= {*re.findall(r"[\d.]+\s%", seen.of("desc")[0])}


def test_nothing_has_a_view_box_and_widths_are_percentages():
    seen = Seen(answer() + mean_bars.level_bars(LEVELS, name="levels", title="t"))
    for tag, attributes in seen.tags:
        assert "viewbox" not in attributes
        if tag in ("rect", "line", "text") and attributes.get("height") != "6":
            for name in ("x", "x1", "x2", "width"):
                assert attributes.get(name, "0%").endswith("%")
            assert not attributes.get("y", "0").endswith("%")
    roots = [attributes for tag, attributes in seen.tags if attributes.get("role") == "img"]
    assert [root["width"] for root in roots] == ["100%"] * 3
    assert len(seen.ids) == len(set(seen.ids))
    for root in roots:
        assert {root["aria-labelledby"], root["aria-describedby"]} <= set(seen.ids)
    assert [root.get("display") for root in roots] == [None, "none", None]  # one is seen without a sheet


LEVELS = [
    Level(
        "slow",
        [Part("a", 7200.0, "2.0 h", "training"), Part("rest", 3600.0, "1.0 h", "untimed")],
        "3.0 h",
        "2.9 h to 3.1 h",
    ),
    Level(
        "fast",
        [Part("a", 360.0, "0.1 h", "training"), Part("rest", 360.0, "0.1 h", "untimed")],
        "0.2 h",
        "0.1 h to 0.3 h",
    ),
]


def test_levels_are_on_one_scale_and_end_with_their_totals():
    made = mean_bars.level_bars(LEVELS, name="levels", title="Runtime by section")
    (described,) = Seen(made).of("desc")
    assert described == (
        "slow 3.0 h: a 2.0 h, rest 1.0 h; 2.9 h to 3.1 h. fast 0.2 h: a 0.1 h, rest 0.1 h; 0.1 h to 0.3 h."
    )
    widths = [float(w) for w in re.findall(r' width="([\d.]+)%" height="(?:20|18)"', made)]
    assert sum(widths[:2]) == pytest.approx(80, abs=0.1)
    assert sum(widths[2:]) == pytest.approx(80 * 720 / 10800, abs=0.1)
    assert 'height="100"' in made  # 48 a row
    texts = Seen(made).of("text")
    assert "2.0 h" in texts
    assert "0.1 h" not in texts  # no room in the bar; the description has it


def test_levels_beyond_the_limit_are_counted():
    many = [Level(f"l{i}", [Part("a", 1.0 + i, "x")], "x") for i in range(300, 0, -1)]
    made = mean_bars.level_bars(many, name="levels", title="t")
    assert "and 276 more" in Seen(made).of("text")[-1]
    assert "and 276 more" in Seen(made).of("desc")[0]


def test_bars_before_and_after_share_one_scale_and_colours():
    before = Level(
        "before", [("eval", 7.5, "7.5 s", "evaluation"), ("train", 9.0, "9.0 s", "training")], "16.5 s"
    )
    after = Level(
        "after", [("train", 9.0, "9.0 s", "training"), ("eval", 0.5, "0.5 s", "evaluation")], "9.5 s"
    )
    made = labelled.labelled_bars([before, after], name="parts", title="Before and after")
    wide = str(made).split("<svg")[1]
    rects = re.findall(r'<rect fill="([^"]+)" x="[^"]*" y="[^"]*" width="([\d.]+)%"', wide)
    assert [fill for fill, _ in rects] == [fluid.FILLS[name][0] for name in ("e1", "t1", "t1", "e1")]
    assert float(rects[1][1]) == pytest.approx(float(rects[2][1]))
    assert "16.5 s" in Seen(made).of("text")


def test_names_from_runs_are_text_wherever_they_stand():
    parts = [(HOSTILE, 0.6, "60 %", "evaluation"), (f"{HOSTILE} 2", 0.4, HOSTILE, "untimed")]
    rows = [Level(HOSTILE, parts, HOSTILE, HOSTILE)]
    made = [
        answer(parts, {HOSTILE}, HOSTILE),
        mean_bars.level_bars(rows, name="levels", title=HOSTILE),
        labelled.labelled_bars(rows, name="bars", title=HOSTILE),
        fluid.legend(parts, "levels"),
    ]
    for drawing in made:
        seen = Seen(drawing)
        assert {tag for tag, _ in seen.tags} <= {
            "svg", "defs", "pattern", "rect", "title", "desc", "text", "g", "line", "ul", "li", "var",
        }  # fmt: skip
        assert "<script>" in "".join(text for _, text in seen.texts)
        assert "\x00" not in drawing


@pytest.mark.parametrize("width", [fluid.NARROW, fluid.WIDE])
@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_labels_below_a_bar_stay_within_it(width, n):
    labels = [((i + 0.5) / n, f"a_section_with_a_name_{i} 12.3 %") for i in range(n)]
    placed = labelled._leaders(labels, width)
    assert sorted(label.text for label in placed) == sorted(text for _, text in labels)
    for label in placed:
        low, high = label.span
        assert -1e-9 <= low < high <= 1 + 1e-9
        assert not label.overlaps([other for other in placed if other is not label])


def test_text_width_follows_its_letters_and_cuts_the_middle():
    assert fluid.width_of("mm", 10) > 2 * fluid.width_of("ii", 10)
    assert fluid.width_of("abc", 13, bold=True) > fluid.width_of("abc", 13)
    assert fluid.width_of("漢字", 13) == 26
    assert fluid.fitting("short", 100, 12) == "short"
    cut = fluid.fitting("a_long_name_of_a_section", 80, 12)
    assert "…" in cut
    assert fluid.width_of(cut, 12) <= 80
    assert fluid.fitting("x\ny", 100, 12) == "x·y"


def test_a_bar_in_a_cell_shows_range_and_chance_silently():
    seen = Seen(fluid.cell_bar(0.466, 0.42, 0.5, 0.14))
    (root,) = [attributes for tag, attributes in seen.tags if tag == "svg"]
    assert (root["height"], root["aria-hidden"]) == ("20", "true")
    lines = [(a["x1"], a["x2"]) for tag, a in seen.tags if tag == "line"]
    assert lines == [("42%", "50%")] * 2 + [("14%", "14%")] * 2
    assert [a["width"] for tag, a in seen.tags if tag == "rect"] == ["100%", "46.6%"]
    assert len([tag for tag, _ in Seen(fluid.cell_bar(float("nan"))).tags if tag == "rect"]) == 1
    assert 'width="100%" height="10"' in str(fluid.cell_bar(1.7)).split("<rect")[2]


def luminance(colour):
    colour = colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def palettes():
    page = (html.TEMPLATES / "page.css").read_text(encoding="utf-8")
    light, dark = page.split("prefers-color-scheme: dark")
    return [dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})\b", sheet)) for sheet in (light, dark)]


@pytest.mark.parametrize("theme", [0, 1])
def test_kinds_and_their_text_have_contrast_on_the_page(theme):
    palette = palettes()[theme]
    for fill, on in fluid.FILLS.values():
        fill, on = (palette[re.match(r"var\(--(\w+)", value)[1]] for value in (fill, on))
        assert contrast(fill, palette["page"]) >= 3
        assert contrast(fill, on) >= 4.5
    assert contrast(palette["unline"], palette["page"]) >= 3
    assert contrast(palette["ink"], palette["un"]) >= 4.5
    assert contrast(palette["ink"], palette["line"]) >= 4.5
    assert min(contrast(palette[name], palette["page"]) for name in ("muted", "link")) >= 4.5


def test_unstyled_mid_tones_show_on_light_and_dark():
    for name, colours in fluid.FILLS.items():
        fill, on = (re.search(r",(#\w+)\)", value)[1] for value in colours)
        assert contrast(fill, on) >= 4.5, name
        if not name.endswith("3"):
            assert contrast(fill, "#ffffff") >= 3, name
            assert contrast(fill, "#111111") >= 3, name


def test_labels_apart_share_a_row_and_no_line_crosses():
    placed = labelled._leaders([(0.3, "left 1 %"), (0.9, "right 2 %")], 600)
    assert [label.row for label in placed] == [0, 0]
    close = labelled._leaders([(x, f"a_section_{x} 1 %") for x in (0.5, 0.52, 0.54, 0.9)], 600)
    assert sum(label.crossed(close) for label in close) == 0
    assert max(label.row for label in close) == 2


def test_a_point_in_a_cell_has_range_and_mark():
    seen = Seen(fluid.cell_point(0.5, 0.4, 0.6, 0.45))
    (point,) = [attributes for tag, attributes in seen.tags if tag == "circle"]
    assert point["cx"] == "50%"
    assert [(a["x1"], a["x2"]) for tag, a in seen.tags if tag == "line"] == [("40%", "60%"), ("45%", "45%")]
    assert "line" not in str(fluid.cell_point(0.5))
