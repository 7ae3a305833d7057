"""How a result looks in JupyterLab: as on a page, in the colours of the lab's theme."""

import functools
import importlib.resources
import re

TEMPLATES = importlib.resources.files("traincost.results") / "templates"


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
