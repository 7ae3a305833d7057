"""Tables for papers, issues and spreadsheets: nothing in them is read as markup."""

import csv
import html
import io
import math
import re

import mistune
import pandas as pd
import pytest
from markdown_it import MarkdownIt

from traincost.printing import two
from traincost.results.markup import markdown_text
from traincost.results.prose import say
from traincost.results.tables import Heading, Table

HOSTILE = r"\input{/etc/passwd} & 50% $x$ #1 _a_ {b} ~c ^d <b> | `e` [f](g) **h** \\"


def table(values):
    frame = pd.DataFrame({"na_me": values, "value": [1.005] * len(values)})
    return Table("t", say("T."), (Heading("na_me", "na_me"), Heading("value", "η²", two)), frame, 1)


def test_latex_escapes_everything():
    text = table([HOSTILE, "a\nb"]).to_latex()
    assert text.splitlines()[0] == r"na\_me & $\eta$$^{2}$ \\"
    assert text.splitlines()[2] == r"a b & 1.00 \\"
    body = text.splitlines()[1]
    # No special character is left bare, but for our own commands and the cell's separator.
    bare = re.sub(r"\\[a-z]+\{\}|\{[*\[]\}|\\[{}&%$#_]|\\\\$| & 1\.00", "", body)
    assert not re.search(r"[\\{}&%$#_~^<>|]", bare)


def test_markdown_takes_text_literally():
    header, rule, body = table(["<img onerror=x> | a `b` [c](d) _e_"]).to_markdown().splitlines()
    assert header == r"| na\_me | η² |"
    assert rule == "| --- | ---: |"
    assert body == r"| &lt;img onerror=x&gt; \| a \`b\` \[c\]\(d\) \_e\_ | 1.00 |"


# Blocks, spans, links that need no brackets, and what some flavours add to these; two spaces apart.
MARKUP = r"""
<img src=x onerror=1>  <!-- c  a | b  |---|  `code`  ```  ~~~  **b**  _e_  ~~s~~  # h  - x  1. x  > q  ---
===  + x  * x  [l](javascript:x)  ![i](http://x)  [x]: http://a  http://x.example  www.x.example
WWW.x.example  (www.x.example)  _www.x.example  ftp://x.example  a@b.example  <http://x.example>
&lt;b&gt; &amp; &#60;  \  \|  \\|  a\  $x$  #1  ^x^  ==m==  :b:  @user  = x  C:\new
"""
MARKUP = re.split("  |\n", MARKUP.strip())
COMMONMARK = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render
MISTUNE = mistune.create_markdown(
    escape=False,
    plugins=["table", "url", "strikethrough", "footnotes", "task_lists", "math", "superscript", "mark"],
)


@pytest.mark.parametrize("render", [COMMONMARK, MISTUNE], ids=["CommonMark", "mistune"])
@pytest.mark.parametrize(
    "text", [*MARKUP, "a\r\n\r\n<b>x</b>", "\tx", "    x", "\u202ex", "\u2028x", "x" * 10_000]
)
def test_renderers_of_markdown_see_text(render, text):
    written = table([text]).to_markdown() + f"\n- lost: {markdown_text(text)}\n"
    made = render(written)
    tags = re.findall(r"<([a-z0-9]+)", made)
    assert " ".join(tags) == "table thead tr th th tbody tr td td ul li", made
    seen = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    body = html.unescape(re.sub(r"\s+", " ", made))
    assert f"<td>{seen}</td>" in body
    assert f"<li>lost: {seen}</li>" in body


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\xa0+1",
    "\x00=1",
    "\ufeff=1",
    "\u200b-1",
]
FORMULAS += [
    '"=1"',
    "'=1",
    "＝1+1",
    "－1",
    "=cmd|'/C calc'!A0",
    "a;=1",
    "a\t@SUM(A1)",
    "a\n=1",
    "a\r\n +1",
    "a;b;\x00=1",
]
UNSEEN = ' \t\r\n\xa0\x00\ufeff\u200b"'


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_is_no_formula(text):
    """Nor with semicolons or tabs between cells, or without the signs that are not seen."""
    (name, value) = list(csv.reader(io.StringIO(table([text]).to_csv(), newline="")))[1]
    assert value == "1.005"
    assert name.replace("'", "") == text.replace("'", "")
    assert not re.match(r"[=+\-@\t\r\n＝＋－＠]", name)
    for cell in re.split(r"[;\t\r\n|]", name):
        assert not re.match(r"[=+\-@＝＋－＠]", cell.lstrip(UNSEEN)), cell


@pytest.mark.parametrize("text", ["a-1", "a=b", "(0.9, -0.999)", "x@y", "1e-3", "lr=0.1, seed=1", "it's"])
def test_text_that_is_no_formula_is_whole_in_csv(text):
    assert list(csv.reader(io.StringIO(table([text]).to_csv(), newline="")))[1][0] == text


def test_csv_has_values_whole_and_missing_ones_empty():
    frame = pd.DataFrame({"a": ["x", None], "b": [1 / 3, math.nan], "n": [3, -4], "t": [("p", "q"), ()]})
    made = Table("t", say("T."), (Heading("a", "a"),), frame, 1)
    assert made.to_csv().splitlines() == ["a,b,n,t", 'x,0.3333333333333333,3,"p, q"', ",,-4,"]
