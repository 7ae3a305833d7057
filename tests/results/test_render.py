"""What comes from a run is text wherever HTML is made."""

import json
import math
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from traincost.results import render
from traincost.results.figures import Drawing
from traincost.results.prose import Name, Number, join, say
from traincost.results.tables import MAX_ROWS, Heading, Table, cell

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'-alert(1)-'",
    "</table></body>",
    "</style><script>x</script>",
    "]]><!--",
    "&lt;b&gt; &amp; &#60;",
    "{{ 7*7 }} {% x %}",
    "$x_1$ `code` **bold** [a](javascript:x)",
    "a\nb\tc\x00\x1b[31m",
    "漢字 ‮rtl‬ 🙂",
]


class Seen(HTMLParser):
    """Collects tags, and the text in them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def table(frame, **options):
    headings = (Heading("name", "name"), Heading("value", "value", lambda v: f"{v:.1f}"))
    return render.table(Table("t", say("A table."), headings, frame, 1, **options), "x.json")


@pytest.mark.parametrize("payload", HOSTILE)
def test_hostile_text_stays_text_everywhere(payload):
    visible = "".join(map(render._visible, payload))
    sentence = say("{a} is {b}.", a=Name(payload), b=Number(payload, 1.0, payload))
    seen = Seen(render.paragraph([sentence]))
    assert seen.tags == ["p", "code", "data"]
    assert seen.text == f"{visible} is {visible}."
    seen = Seen(table(pd.DataFrame({"name": [payload], "value": [1.0]})))
    assert not {"script", "img", "b"} & set(seen.tags)
    assert visible in seen.text
    seen = Seen(render.header((payload, payload, "Profiling"), {payload: "x.html"}, payload))
    assert seen.tags == ["header", "h1", "span", "code", "code", "nav", "a", "var", "p", "var"]
    assert seen.text.count(visible) == 4
    assert f"{visible}: Profiling" in seen.text


def test_a_number_carries_value_and_key():
    html = render.sentence(say("{n}", n=Number("a.b", np.float64(0.25), "25 %")))
    assert html == '<data value="0.25" data-key="a.b">25 %</data>'
    assert 'value="null"' in render.sentence(say("{n}", n=Number("a", math.nan, "–")))


def test_lists_in_sentences_read_as_english():
    names = [Name(c) for c in "abc"]
    assert say("{x}", x=names[:1]).plain() == "a"
    assert say("{x}", x=names[:2]).plain() == "a and b"
    assert say("{x}", x=names).plain() == "a, b and c"
    assert join([say("A."), say("B.")]).plain() == "A. B."


def test_a_long_table_is_cut_with_a_count():
    frame = pd.DataFrame({"name": ["x"] * (MAX_ROWS + 7), "value": 1.0})
    html = table(frame)
    assert html.count("<tr>") == MAX_ROWS + 1
    assert "7 more rows are not shown." in Seen(html).text
    assert "download" in html
    assert "One more row is not shown." in Seen(table(frame.head(MAX_ROWS + 1))).text


def test_a_link_holds_the_whole_table_or_leads_to_the_file_that_does():
    frame = pd.DataFrame({"name": ["x" * render.MAX_DOWNLOAD], "value": 1.0})
    html = table(frame)
    assert "data:" not in html
    assert "The whole table was written beside this page, to x-tables/t.csv." in Seen(html).text
    assert 'href="x-tables/t.csv"' in html
    html = table(frame.assign(name="x"))
    assert "x-tables" not in html
    assert 'href="data:text/csv;charset=utf-8,name,value%0D%0Ax,1.0%0D%0A"' in html


def test_a_long_value_is_cut():
    assert len(Seen(render.sentence(say("{a}", a=Name("x" * 10_000)))).text) == render.MAX_SHOWN


def test_missing_values_are_dashes():
    assert cell(Heading("a", "a", str), math.nan) == "–"
    assert cell(Heading("a", "a", str), None) == "–"
    assert cell(Heading("a", "a", str), ("x", "y")) == "x, y"


def test_json_is_strict():
    value = {
        "a": np.float64("nan"),
        1: [np.int64(3), (math.inf,)],
        "t": pd.Timestamp(0),
        "n": pd.NA,
        "b": np.True_,
    }
    text = json.dumps(render.jsonable(value), allow_nan=False)
    assert json.loads(text) == {"a": None, "1": [3, [None]], "t": "1970-01-01 00:00:00", "n": None, "b": True}


def test_title_and_description_of_a_figure_are_escaped():
    drawing = Drawing('<svg viewBox="0 0 1 1"><g/></svg>', (("tick", "<i>"), (("o", "#123"), "x")))
    html = render.figure("f", drawing, say("{a}", a=Name("<b>&\x00" + "x" * 9000)))
    assert '<svg aria-labelledby="figure-f-title figure-f-desc" viewBox="0 0 1 1">' in html
    assert '<title id="figure-f-title">&lt;b&gt;&amp;␀x' in html
    assert "&lt;i&gt;" in html
    assert len(html) < 6000
