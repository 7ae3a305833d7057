"""Tables set by a real LaTeX: whatever a run is called, they compile, run nothing and show its name."""

import re
import shutil
import subprocess

import pandas as pd
import pytest

from traincost.results import markup
from traincost.results.prose import say
from traincost.results.tables import Heading, Table

pytestmark = pytest.mark.slow

# What is seen of each on paper, but for spaces.
ASCII = (
    r"\input{/etc/passwd}",
    r"\immediate\write18{touch pwned}",
    "^^5cinput{/etc/passwd}",
    r"\end{tabular}\end{document}",
    "a & b % c # d $x_1$ ~e ^f | {g",
    r"\\",
    "} h",
    "[0pt] i",
    "[not a length]",
    "* j",
    "--lr ---x",
    "a,,b",
)
OTHERS = (
    "<b> \"c\" 'd' ''e'' ?`!`",
    "漢字",
    "\u202ertl",
    "🙂",
    "a\n\nb\x00c",
    "é ü ß µ ð €",
    "́",
    "א",
    "x" * 10_000,
)


def compiled(folder, rows, program="pdflatex", columns="lr"):
    """Compile rows of a table; return the text of the document. No package is loaded."""
    assert shutil.which(program), f"there is no {program} (Debian: apt install texlive-latex-base)"
    table = rf"\begin{{tabular}}{{{columns}}}{rows}\end{{tabular}}"
    (folder / "t.tex").write_text(
        rf"\documentclass{{article}}\begin{{document}}{table}\end{{document}}", "utf-8"
    )
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-shell-escape", "t.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-2_000:]
    log = (folder / "t.log").read_text("utf-8", "replace")
    assert "passwd" not in re.sub(r"(Over|Under)full[^[]*", "", log)
    pypdf = pytest.importorskip("pypdf", reason="needs the browser extra")
    return "".join(page.extract_text() for page in pypdf.PdfReader(folder / "t.pdf").pages)


def table(names):
    headings = (Heading("name", "name"), Heading("value", "η² ± × − ≥", lambda v: "1.0 × 10²⁰"))
    return Table("t", say("T."), headings, pd.DataFrame({"name": names, "value": 1.0}), 1)


def test_hostile_names_compile_and_are_seen_as_they_are(tmp_path):
    text = compiled(tmp_path, table(ASCII).to_latex())
    seen = re.sub(r"\s", "", text).translate(str.maketrans("’ˆ˜", "'^~"))
    for name in ASCII:
        assert re.sub(r"[\s_]", "", name) in seen, name  # an underscore is drawn as a line
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("program", ["pdflatex", "lualatex"])
def test_names_in_any_script_compile(tmp_path, program):
    text = compiled(tmp_path, table(OTHERS).to_latex(), program)
    if program == "pdflatex":
        assert "U+6F22" in text
        assert "U+1F642" in text


def test_letters_that_need_no_package_compile_as_they_are(tmp_path):
    letters = sorted(markup._LATIN)
    rows = markup.latex(
        ["n", "sign"], [[f"{ord(sign):x}", sign] for sign in letters if sign.isprintable()][:40]
    )
    assert "Umathchar" not in rows
    compiled(tmp_path, rows)


def test_every_table_of_every_answer_compiles(tmp_path, answers):
    for question, answer in answers.items():
        for name, found in answer.tables.items():
            folder = tmp_path / f"{question}-{name}"
            folder.mkdir()
            rows = found.to_latex()
            compiled(folder, rows, columns="l" * len(found.headings))
            # The hostile names apart, every sign is set: none of our own needs a package.
            assert set(re.findall(r"\\else (.*?)\\fi", rows)) <= {"U+6F22"}, (question, name)
