"""Text from runs as HTML, LaTeX, Markdown and CSV hold it, and tables in the last three, for a paper.

It is escaped here, for these four. LaTeX and Markdown print values as the page does; CSV has them whole.
"""

import csv
import io
import math
import re
from itertools import groupby

from markupsafe import Markup, escape

MAX_WHOLE = 14  # characters of a name that never breaks
MAX_SHOWN = 300  # characters of a value from a run; the JSON has it whole

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after the end of a row, it and the star would be an option of that end
    "*": "{*}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "÷": r"$\div$",
    "−": "$-$",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "·": r"$\cdot$",
    "≈": r"$\approx$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "√": r"$\surd$",
    "∞": r"$\infty$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "δ": r"$\delta$",
    "ε": r"$\varepsilon$",
    "η": r"$\eta$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "ρ": r"$\rho$",
    "σ": r"$\sigma$",
    "χ": r"$\chi$",
    "ω": r"$\omega$",
    "Δ": r"$\Delta$",
}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_DOUBLED = re.compile(r"([-',])(?=\1)")  # which fonts draw as one sign
# Letters with accents, and signs, that every LaTeX knows without a package.
_LATIN = {*map(chr, range(0xA1, 0x180)), *"‘’“”…€•†‡‰™"} - {*"«»ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ"}
# What a spreadsheet takes for the beginning of a formula: such a sign at the beginning of a cell, which in
# many countries ends at a semicolon; some leave out what is not seen before it, NUL for one.
_UNSEEN = r"[\s\"'\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*"
_FORMULA = re.compile(rf"((?:^|[;|\t\r\n]){_UNSEEN})(?=[=+\-@＝＋－＠])")


def text(value):
    """Escape text; characters that HTML cannot hold are shown as their pictures."""
    return escape("".join(map(_visible, str(value))))


def _visible(character):
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures of Unicode
    if 0x7F <= code <= 0x9F or code in (0xFFFE, 0xFFFF) or 0xD800 <= code <= 0xDFFF:
        return "�"
    return character


def shown(value):
    """Escape text from a run, cut where it is very long."""
    value = str(value)
    return text(value if len(value) <= MAX_SHOWN else f"{value[: MAX_SHOWN - 1]}…")


def breakable(escaped):
    """Let long paths and names break after their separators; short ones stay whole."""
    if len(escaped) <= MAX_WHOLE:
        return escaped
    return Markup(escaped.replace(Markup("/"), Markup("/<wbr>")).replace(Markup("_"), Markup("_<wbr>")))


def latex(columns, rows):
    """Return the rows of a ``tabular``: a header row, then the body, ``\\\\`` after each; all escaped."""
    return "".join(f"{' & '.join(map(latex_text, line))} \\\\\n" for line in (columns, *rows))


def latex_text(text):
    """Escape text for LaTeX; line breaks and control characters become spaces.

    Signs that only XeLaTeX and LuaLaTeX can set, with a font that has them, are named by their code
    points for any other.

    >>> print(latex_text("10²⁰ --lr 漢字"))
    10$^{20}$ -{}-lr \\ifdefined\\Umathchar 漢字\\else U+6F22 U+5B57\\fi{}
    """
    text = "".join(c if c.isprintable() else " " for c in str(text))
    return "".join(_set(kind, "".join(signs)) for kind, signs in groupby(text, _kind))


def _kind(sign):
    """Return how LaTeX sets a sign."""
    if ord(sign) in _RAISED:
        return "raised"
    if ord(sign) in _LOWERED:
        return "lowered"
    return "plain" if sign in _LATEX or sign in _LATIN or sign.isascii() else "other"


def _set(kind, signs):
    if kind == "plain":
        return _DOUBLED.sub(r"\1{}", "".join(_LATEX.get(sign, sign) for sign in signs))
    if kind == "other":
        codes = " ".join(f"U+{ord(sign):04X}" for sign in signs)
        return rf"\ifdefined\Umathchar {signs}\else {codes}\fi{{}}"
    return f"$^{{{signs.translate(_RAISED)}}}$" if kind == "raised" else f"$_{{{signs.translate(_LOWERED)}}}$"


def markdown(columns, rules, rows):
    """Return a table in GitHub's Markdown, text in it taken literally; `rules` align the columns."""
    lines = [map(markdown_text, columns), rules, *(map(markdown_text, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown_text(text):
    """Escape what Markdown or HTML would read as markup."""
    text = "".join(c if c.isprintable() else " " for c in str(text))
    text = re.sub(r"([\\`*_{}\[\]()#+!|~^$@:]|=(?==)|(?<=\bwww)\.)", r"\\\1", text, flags=re.IGNORECASE)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rows_as_csv(columns, rows):
    """Return rows as CSV: numbers in full, missing ones empty.

    An apostrophe stands before what a spreadsheet would take for a formula, and before a first tab.
    """
    out = io.StringIO()  # RFC 4180: lines end with CR LF, and text that holds either is quoted
    csv.writer(out).writerows(map(_spreadsheet, values) for values in (columns, *rows))
    return out.getvalue()


def _spreadsheet(value):
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    text = _FORMULA.sub(r"\1'", text)
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) else text
