"""How outputs look in JupyterLab: as on the page, in the colours of the lab's theme.

The style is an output of its own, marked so that the exporter leaves it out: a page has its
style in its head, and a policy that allows no other.
"""

import re
from pathlib import Path

TEMPLATES = Path(__file__).parents[1] / "pages/templates/traincost"
NOTEBOOK_ONLY = "traincost_notebook_only"


def style():
    """Return the style sheet; the colours of the series are those of the page."""
    page = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r"^\s*(--s1:.*)$", page, flags=re.MULTILINE)
    return (
        f".jp-OutputArea {{ {light} }}\n"
        f'[data-jp-theme-light="false"] .jp-OutputArea {{ {dark} }}\n'
        f"{(TEMPLATES / 'lab.css').read_text(encoding='utf-8')}"
    )


def display_styled(shown):
    """Display something after the style of it and all that follows in the notebook."""
    from IPython.display import display

    sheet = {"text/html": f"<style>\n{style()}</style>", "text/plain": ""}
    display(sheet, raw=True, metadata={NOTEBOOK_ONLY: True})
    display(shown)
