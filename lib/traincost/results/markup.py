"""Tables as LaTeX, Markdown and CSV, for a paper, an issue or a spreadsheet.

Text from runs is escaped here for these three. LaTeX and Markdown print values as the page does;
CSV has them whole.
"""

import csv
import io
import math
import re

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
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "η": r"$\eta$",
    "ε": r"$\varepsilon$",
    "ω": r"$\omega$",
    "²": r"$^2$",
    "·": r"$\cdot$",
}
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = re.compile(r"^[=+\-@\t\r\n＝＋－＠]")


def latex(columns, rows):
    """Return the rows of a ``tabular``: a header row, then the body, ``\\\\`` after each; all escaped."""
    return "".join(f"{' & '.join(map(latex_text, line))} \\\\\n" for line in (columns, *rows))


def latex_text(text):
    """Escape text for LaTeX; line breaks and control characters become spaces."""
    return "".join(_LATEX.get(c, c if c.isprintable() else " ") for c in str(text))


def markdown(columns, rules, rows):
    """Return a table in GitHub's Markdown, text in it taken literally; `rules` align the columns."""
    lines = [map(markdown_text, columns), rules, *(map(markdown_text, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown_text(text):
    """Escape what Markdown or HTML would read as markup."""
    text = "".join(c if c.isprintable() else " " for c in str(text))
    text = re.sub(r"([\\`*_{}\[\]()#+!|~$@:])", r"\\\1", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rows_as_csv(columns, rows):
    """Return rows as CSV: numbers in full, missing ones empty.

    Text that a spreadsheet would take for a formula starts with an apostrophe.
    """
    return "".join(map(_line, (columns, *rows)))


def _line(values):
    out = io.StringIO()
    csv.writer(out).writerow([_spreadsheet(value) for value in values])
    return out.getvalue()  # RFC 4180: it ends with CR LF, and text that holds either is quoted


def _spreadsheet(value):
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return f"'{text}" if _FORMULA.match(text) else text
