"""The blocks of an answer: what each shows, and that its numbers and figures are those of the result."""

import html as html_text
import re

import pandas as pd
import pytest

from traincost.printing import two
from traincost.results import fluid, html, labelled
from traincost.results.figures import Figure, axes_of
from traincost.results.prose import Name, Number, say
from traincost.results.result import Answer, Bars, More, Result, table_data
from traincost.results.tables import Bar, Heading, Table, in_tree_order, shade, shades_of

FRAME = pd.DataFrame({"share": [0.4, 0.6]})


def draw(frame):
    figure, axes = axes_of(1.0)
    axes.plot(frame["share"])
    return figure, []


def bars(**options):
    drawing = labelled.answer_bar([("a", 0.4, "40 %"), ("b", 0.6, "60 %")], name="answer", title="A run")
    return Bars("answer", FRAME, drawing, say("Share of {n} runs.", n=Number("bars.n", 6, "6")), **options)


def number(key, value, text):
    return say("{n}", n=Number(key, value, text))


def answer(**options):
    return Answer(
        say("{a} takes the time", a=Name("<eval>")),
        say("Evaluate once"),
        (say("({s}, now {n}).", s=Name("interval"), n=Number("now", 0.25, "0.25")), say("It saves a lot.")),
        facts=((number("total", 369.0, "369 h"), say("in all")),),
        **options,
    )


def test_an_answer_has_headline_what_to_do_figure_and_facts():
    made = Result.showing("summary", FRAME, answer(figure=bars(quiet=True))).html()
    order = [
        '<section id="answer"', "<h2", "&lt;eval&gt;", "<strong>Evaluate once</strong>", "now <data",
        "It saves", '<figure id="figure-answer"', "Share of", '<dl class="facts">', "in all", "369 h",
    ]  # fmt: skip
    places = [made.index(part) for part in order]
    assert places == sorted(places)


def test_an_answer_is_the_summary_in_the_json():
    data = Result.showing("summary", FRAME, answer(figure=bars())).data()
    assert data["summary"] == [
        "<eval> takes the time",
        "Evaluate once (interval, now 0.25).",
        "It saves a lot.",
    ]
    assert data["findings"] == ["369 h in all."]
    assert data["numbers"] == {"now": 0.25, "total": 369.0, "bars.n": 6}
    assert data["figures"]["answer"]["rows"] == [{"share": 0.4}, {"share": 0.6}]
    assert data["captions"] == {"bars.n": "figure-answer"}


def test_an_answer_of_other_runs_has_its_own_place():
    made = html.prefixed(Result.showing("summary", FRAME, answer(figure=bars())).html(), "second")
    assert '<section id="answer-second" aria-labelledby="answer-second-finding">' in made
    assert '<h2 id="answer-second-finding">' in made
    assert 'id="figure-second-answer"' in made
    assert 'class="fluid wide"' in made


def test_bars_are_plotted_where_a_figure_is_given():
    plotted = bars(drawn=Figure("answer", FRAME, draw, say("x")))
    assert Result.showing("s", FRAME, plotted).plot("answer").axes
    with pytest.raises(ValueError, match="'answer' is one of a page, and cannot be plotted"):
        Result.showing("s", FRAME, bars()).plot("answer")


def table(frame, *headings, **options):
    return Table("t", say("A table."), headings, frame, 1, **options)


def test_details_count_and_empty_parts_are_left_out():
    inside = table(FRAME, Heading("share", "share", two))
    result = Result.showing(
        "s",
        FRAME,
        More(say("Ranges of {a}", a=Name("<x>")), ([say("Said.")], inside, None, [])),
        More(say("-"), ()),
    )
    made = result.html()
    assert made.count("<details>") == 1
    assert "<summary>Ranges of <code>&lt;x&gt;</code></summary>" in made
    assert (set(result.tables), [str(s) for s in result.sentences]) == ({"t"}, ["Said."])
    assert "<table" in made[made.index("<details>") : made.index("</details>")]


def test_a_table_stands_for_the_figure_that_it_replaces():
    drawn = Figure("effects", FRAME, draw, say("As a figure."))
    result = Result.showing(
        "s", FRAME, table(FRAME, Heading("share", "share", two), drawn=drawn, aliases=("figure-x",))
    )
    made = result.html()
    assert {'<span id="figure-effects"></span>', '<span id="figure-x"></span>'} <= set(
        re.findall("<span id.*?</span>", made)
    )
    assert "<svg" not in made
    assert result.plot("effects").axes
    assert result.data()["figures"]["effects"]["n_rows"] == 2


def cells(made):
    """Return (tag, classes, text) of each cell, row by row; a bar in a cell is its widths."""
    rows = []
    for row in re.findall(r"<tr.*?</tr>", made, flags=re.DOTALL):
        found = re.findall(
            r'<(t[hd])(?: scope="\w+")?(?: class="([^"]*)")?>(.*?)</t[hd]>', row, flags=re.DOTALL
        )
        rows.append(
            [(tag, kind, html_text.unescape(re.sub(r"<[^>]+>", "", text))) for tag, kind, text in found]
        )
    return rows


def test_a_bar_stands_in_a_column_before_its_number():
    frame = pd.DataFrame(
        {"a": ["x", "y"], "share": [0.5, None], "low": [0.4, None], "high": [0.6, None], "of": ["t1", "un"]}
    )
    share = Heading("share", "share", two, bar=Bar("low", "high", colour="of", text="0 to 100 %"))
    made = html.table(table(frame, Heading("a", "a"), share))
    head, first, second = cells(made)
    assert [text for _, _, text in head] == ["a", "0 to 100 %", "share"]
    assert [kind for _, kind, _ in first] == ["", "bar", "number"]
    assert fluid.FILLS["t1"][0] in made
    assert 'width="50%" height="10"' in made
    assert made.count('x1="40%" x2="60%"') == 2
    assert second[2][2] == "–"
    assert made.count('<svg class="cell"') == 1  # a missing value has no bar
    assert 'id="table-t-hatch"' in made  # what a row is untimed of
    assert '<span class="vh">bar</span>' in html.table(
        table(frame, Heading("a", "a"), Heading("share", "s", two, bar=Bar()))
    )


def test_a_phone_sees_fewer_columns_and_verdicts_below_names():
    frame = pd.DataFrame({"a": ["x"], "verdict": ["depends <b>"], "n": [3], "b": [1.0], "now": ["now 0.25"]})
    headings = (
        Heading("a", "a", code=True, sub="now"),
        Heading("verdict", "verdict", below_on_phone=True),
        Heading("n", "n", str, hide_on_phone=True),
        Heading("b", "b", two),
    )
    made = html.table(table(frame, *headings))
    assert [kind for _, kind, _ in cells(made)[0]] == ["", "wide", "wide", "number"]
    assert (
        '<th scope="row"><code>x</code> <span class="sub">now 0.25</span>'
        ' <span class="sub narrow">depends &lt;b&gt;</span></th>'
    ) in made


def test_a_table_scrolls_only_where_its_columns_do_not_fit():
    frame = pd.DataFrame({name: [1.0] for name in "abcdefg"})
    made = [
        html.table(table(frame, *(Heading(name, name, two) for name in "abcdefg"[:n]))) for n in (4, 5, 7)
    ]
    assert ["tabindex" in each for each in made] == [False, True, True]
    hidden = (Heading("e", "e", two, hide_on_phone=True),)
    assert "tabindex" not in html.table(table(frame, *(Heading(name, name, two) for name in "abcd"), *hidden))


def test_sections_are_a_tree_in_the_order_of_their_siblings():
    assert in_tree_order(["a/x", "b", "a", "b/y/z", "a"]) == [1, 3, 2, 0, 4]
    frame = pd.DataFrame({"path": ["e/s/g", "t", "e/s", "e/s/g/h/i/j", "e/s/g/h"], "n": [1, 2, 3, 4, 5]})
    made = html.table(table(frame, Heading("path", "section", code=True), Heading("n", "n", two), tree=True))
    rows = cells(made)[1:]
    assert [row[0][2] for row in rows] == ["t", "e/s", "g", "h", "i/j"]
    assert re.findall(r'<tr class="(in\d)">', made) == ["in1", "in2", "in3"]
    limited = table(frame, Heading("path", "section"), tree=True, limit=2)
    assert [row[0][2] for row in cells(html.table(limited))[1:]] == ["t", "e/s"]


def test_rows_can_be_a_total_or_quiet():
    frame = pd.DataFrame({"a": ["x", "y", "all"], "n": [1, 2, 3], "how": ["", "quiet", "total"]})
    made = html.table(table(frame, Heading("a", "a", code=True), Heading("n", "n", two), rows="how"))
    assert re.findall(r'<tr class="([^"]*)"><th scope="row">(.*?)</th>', made) == [
        ("quiet", "<code>y</code>"),
        ("total", "all"),
    ]


def test_how_a_row_is_set_is_not_among_its_data():
    frame = pd.DataFrame({"a": ["x"], "n": [0.5], "how": ["quiet"], "colour": ["e1"], "low": [0.4]})
    share = Heading("n", "n", two, bar=Bar(low="low", colour="colour"))
    made = table(frame, Heading("a", "a", swatch="colour"), share, rows="how")
    assert table_data(made)["columns"] == ["a", "n", "low"]
    assert made.to_csv() == "a,n,low\r\nx,0.5,0.4\r\n"
    assert 'tr class="quiet"' in html.table(made)


def test_a_heat_map_shades_equal_ratios_and_hatches_empty_cells():
    assert [shade(value, 1.0, 100.0) for value in (1.0, 10.0, 100.0)] == ["q0", "q4", "q7"]
    assert [shade(value, -1.0, 1.0) for value in (-1.0, 0.5, float("nan"))] == ["q0", "q5", "none"]
    assert shades_of([[float("nan")]]) == ()
    frame = pd.DataFrame({"a": ["x", "y"], "p": [1.0, 100.0], "q": [10.0, None]})
    headings = (Heading("a", "a"), Heading("p", "p", two), Heading("q", "q", two))
    made = html.table(table(frame, *headings, shades=shades_of(frame[["p", "q"]].to_numpy())))
    assert [kind for row in cells(made)[1:] for _, kind, _ in row[1:]] == [
        "number q0", "number q4", "number q7", "number none",
    ]  # fmt: skip
    assert '<table id="table-t" class="heat">' in made


def test_a_note_continues_the_caption_and_its_numbers_count():
    noted = table(FRAME, Heading("share", "share", two), note=say("Of {n} runs.", n=Number("n", 6, "6")))
    result = Result.showing("s", FRAME, noted)
    assert result.numbers == {"n": 6}
    assert result.data()["tables"]["t"]["note"] == "Of 6 runs."
    assert "note" not in table_data(table(FRAME, Heading("share", "share", two)))
    assert re.search(
        r"<caption.*<strong>A table.</strong>\s*<span class=\"note\">Of <data.*</caption>", result.html()
    )


def linked(source, **anchors):
    return re.findall(
        r'<a href="(#[^"]+)"><data value="[^"]*" data-key="(\w+)">', html.linked(source, anchors)
    )


def test_only_the_first_number_of_a_sentence_is_linked():
    data = '<data value="1" data-key="{}">1</data>'.format
    places = dict.fromkeys("abcd", "table-t")
    assert linked(f"<p>{data('a')} and {data('b')}. {data('c')}</p>", **places) == [
        ("#table-t", "a"),
        ("#table-t", "c"),
    ]
    assert linked(f"<p>{data('x')} and {data('b')}</p>", **places) == [("#table-t", "b")]
    for tag in ("h2", "summary", "dl"):
        assert linked(f"<{tag}>{data('a')}</{tag}><p>{data('b')}</p>", **places) == [("#table-t", "b")]
    inside = f'<table id="table-t"><tr><td>{data("a")}</td></tr></table>'
    assert linked(inside, **places) == []
