"""What comes from a run is text wherever HTML is made."""

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from conftest import HOSTILE as RUN_NAME
from conftest import runs_of

import traincost as tc
from traincost.results import html
from traincost.results.figures import Figure, axes_of
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
    "漢字 \u202ertl\u202c 🙂",
]

NAMELESS = ("summary", "effects")  # these name settings and sections, not levels


class Seen(HTMLParser):
    """Collects tags, the attributes that could run or load something, and the text."""

    def __init__(self, made):
        super().__init__()
        self.tags, self.text, self.active = [], "", []
        self.feed(str(made))  # a Markup would escape what the parser puts together

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.active += [name for name, _ in attrs if name.startswith("on") or name in ("src", "style")]

    def handle_data(self, data):
        self.text += data


def table(frame, **options):
    headings = (Heading("name", "name"), Heading("value", "value", lambda v: f"{v:.1f}"))
    return html.table(Table("t", say("A table."), headings, frame, 1, **options))


def seen(payload):
    """Return text as a page shows it: control characters as their pictures."""
    return "".join(chr(0x2400 + ord(c)) if ord(c) < 0x20 else c for c in payload)


@pytest.mark.parametrize("payload", HOSTILE)
def test_hostile_text_stays_text_everywhere(payload):
    found = Seen(html.paragraph([say("{a} is {b}.", a=Name(payload), b=Number(payload, 1.0, payload))]))
    assert found.tags == ["p", "code", "data"]
    assert found.text == f"{seen(payload)} is {seen(payload)}."
    found = Seen(table(pd.DataFrame({"name": [payload], "value": [1.0]})))
    assert not {"script", "img", "svg", "b"} & set(found.tags)
    assert seen(payload) in found.text
    links = {payload: "x.html"}
    of = runs_of({"a": ["x"]}, [1.0])
    header = tc.title(of, "profiling", project=payload, collection=payload, note=payload, links=links)
    found = Seen(header.html())
    assert found.tags == ["header", "nav", "a", "var", "h1", "span", "code", "code", "p", "var"]
    assert found.text.count(seen(payload)) == 4


def test_hostile_names_of_runs_stay_text_in_every_answer(shown):
    for name, bundle in shown.items():
        found = Seen(bundle["text/html"])
        assert not {"script", "img", "b"} & set(found.tags), name
        assert found.tags.count("style") == 1, name  # ours
        assert found.active == [], name
        assert (seen(RUN_NAME) in found.text) == (name not in NAMELESS), name


def test_a_number_carries_value_and_key():
    made = html.sentence(say("{n}", n=Number("a.b", np.float64(0.25), "25 %")))
    assert made == '<data value="0.25" data-key="a.b">25 %</data>'
    assert 'value="null"' in html.sentence(say("{n}", n=Number("a", math.nan, "–")))


def test_lists_in_sentences_read_as_english():
    names = [Name(c) for c in "abc"]
    assert say("{x}", x=names[:1]).plain() == "a"
    assert say("{x}", x=names[:2]).plain() == "a and b"
    assert say("{x}", x=names).plain() == "a, b and c"
    assert join([say("A."), say("B.")]).plain() == "A. B."


def test_a_long_table_is_cut_with_a_count():
    frame = pd.DataFrame({"name": ["x"] * (MAX_ROWS + 7), "value": 1.0})
    made = table(frame)
    assert made.count("<tr>") == MAX_ROWS + 1
    assert "7 more rows are not shown." in Seen(made).text
    assert '.tables["t"].frame' in Seen(made).text
    assert "One more row is not shown." in Seen(table(frame.head(MAX_ROWS + 1))).text


def test_a_long_value_is_cut():
    assert len(Seen(html.sentence(say("{a}", a=Name("x" * 10_000)))).text) == html.MAX_SHOWN


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
    text = json.dumps(html.jsonable(value), allow_nan=False)
    assert json.loads(text) == {"a": None, "1": [3, [None]], "t": "1970-01-01 00:00:00", "n": None, "b": True}


def test_title_and_description_of_a_figure_are_escaped():
    def draw(frame):
        return axes_of(1.0)[0], [("tick", "<i>"), (None, "x")]

    caption = say("{a}", a=Name("<b>&\x00" + "x" * 9000))
    made = html.figure(Figure("f", pd.DataFrame({"a": [1]}), draw, caption))
    assert '<svg aria-labelledby="figure-f-title figure-f-desc" viewBox=' in made
    assert '<title id="figure-f-title">&lt;b&gt;&amp;␀x' in made
    assert "&lt;i&gt;" in made
    assert len(Seen(re.search("<figcaption>.*?</figcaption>", made)[0]).text) == html.MAX_SHOWN
    assert len(made.split("</desc>")[0]) < 6_000


@pytest.mark.parametrize("prefix", ["second", "lr=0.1", 'a"b <c> &', "table-x"])
def test_a_prefix_stands_before_keys_and_ids(shown, prefix):
    effects = shown["effects"]["text/html"]
    made = html.prefixed(effects, prefix)
    stem = html.slug(prefix)
    found = Seen(made)
    assert found.tags == Seen(effects).tags
    assert found.text == Seen(effects).text
    assert f'id="table-{stem}-effects"' in made
    assert f'aria-labelledby="caption-{stem}-statistics"' in made
    assert f'data-key="{html.text(prefix.replace(".", chr(92) + "."))}.effects.' in made


def test_no_two_prefixes_make_one_id():
    prefixes = ["lr=0.1", "lr=0-1", "task=漢", "task=字", "task", "漢", "a_b"]
    assert len({html.slug(prefix) for prefix in prefixes}) == len(prefixes)
