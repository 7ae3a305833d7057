"""How a result looks in JupyterLab: as on a page, in the colours of the lab's theme."""

import functools
import importlib.resources
import re

TEMPLATES = importlib.resources.files("traincost.results") / "templates"
# For the MathJax of today, and that of before.
NO_FORMULAS, END = '<div class="mathjax_ignore tex2jax_ignore">', "</div><!--/traincost-->"


@functools.cache
def sheet():
    """Return the style sheet as an element; the exporter leaves it out, as a page has its own in its head.

    The colours of the series and of the kinds of sections are those of the page.
    """
    page = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r"^\s*(--s1:.*)$", page, flags=re.MULTILINE)
    return (
        f'<style class="traincost">\n.jp-OutputArea {{ {light} }}\n'
        f'[data-jp-theme-light="false"] .jp-OutputArea {{ {dark} }}\n'
        f"{(TEMPLATES / 'lab.css').read_text(encoding='utf-8')}</style>"
    )


def of_a_notebook(made):
    """Return HTML as a notebook shows it: with the style sheet, and no formulas.

    The lab would set what stands between two dollar signs as one, and links that are written in it.
    """
    return f"{sheet()}\n{NO_FORMULAS}\n{made}\n{END}"
