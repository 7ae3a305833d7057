"""How wide text is on a page, in px, and text cut to a width.

The metrics are those of DejaVu Sans, one of the widest fonts that a browser takes for text.
"""

import functools
import os
import unicodedata

import matplotlib as mpl
from matplotlib import ft2font


def fitting(said, width, size, bold=False):
    """Return text that is at most `width` px wide: its middle is left out where it is longer.

    >>> fitting("a_long_name_of_a_section", 80, 12)
    'a_lon…ction'
    """
    said = "".join(c if c.isprintable() or c == "\N{NO-BREAK SPACE}" else "·" for c in str(said))
    if width_of(said, size, bold) <= width:
        return said
    low, high = 0, len(said)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width_of(_cut(said, middle), size, bold) <= width else (low, middle - 1)
    return _cut(said, low)


def _cut(said, kept):
    return f"{said[: kept - kept // 2]}…{said[len(said) - kept // 2 :]}"


def width_of(said, size, bold=False):
    """Return how wide text is, in px, in DejaVu Sans."""
    return size * sum(_advance(letter, bold) for letter in str(said))


@functools.cache
def _advance(letter, bold):
    """Return the width of a letter in em; a letter that the font lacks is as wide as one may be."""
    font = _font(bold)
    if not font.get_char_index(ord(letter)):
        return 1.0 if unicodedata.combining(letter) == 0 else 0.0
    return font.load_char(ord(letter), flags=ft2font.LoadFlags.NO_SCALE).horiAdvance / font.units_per_EM


@functools.cache
def _font(bold):
    # The one that matplotlib brings, so that a page is the same whatever fonts the machine has.
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ft2font.FT2Font(os.path.join(mpl.get_data_path(), "fonts", "ttf", name))
