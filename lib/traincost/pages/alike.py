"""Put reports in the place of older ones, but for those that say the same.

Another machine gives other last digits, other versions of what computed them, and pictures that are
packed in other bytes: ``make page`` leaves a page as it is where nothing else would change, so that
a checkout stays clean.
"""

import base64
import io
import math
import os
import re
from pathlib import Path

import numpy as np

from traincost.pages.exporter import SITE_END, SITE_START
from traincost.reading import folders

RELATIVE, ABSOLUTE = 1e-6, 2e-6  # of two numbers that are the same but for the machine
SHADES = 8 / 255  # that the colour of a pixel may differ by, as where an edge is smoothed
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
# What does not count: the links of the site, and the versions in a page and in its JSON.
_ASIDE = re.compile(
    rf'{SITE_START}.*?{SITE_END}|<table id="table-versions">.*?</table>|href="data:[^"]*package,version[^"]*"'
    r'|"versions": \{[^{}]*\}|\{\s*"name": "[^"]*",\s*"version": "[^"]*"\s*\}',
    re.DOTALL,
)
_PICTURE = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=]+)")
_VERSIONS = "versions.csv"


def update(made, kept):
    """Move reports from the folder `made` to `kept`, where they say something else; return their names."""
    return [path.name for path in sorted(Path(made).iterdir()) if path.is_dir() and _moved(path, Path(kept))]


def _moved(report, kept):
    new = {str(path.relative_to(report)): path.read_bytes() for path in _files(report)}
    old = kept / report.name
    names = {name for name in new if (old / name).is_file()}
    if names == set(new) and all(is_alike(name, (old / name).read_bytes(), new[name]) for name in new):
        return False
    folder = folders.at(old)
    folder.make()
    with folder.locked():
        folder.publish(new)
        # Of tables that the reports no longer have.
        tables = {os.path.dirname(name) for name in new if name.endswith(".csv")}
        gone = [p for t in tables for p in (old / t).glob("*.csv") if str(p.relative_to(old)) not in new]
        folder.remove([str(path.relative_to(old)) for path in gone])
    return True


def _files(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]


def is_alike(name, old, new):
    """Say whether two contents of a file are the same, but for versions, last digits and packed pixels."""
    if old == new or os.path.basename(name) == _VERSIONS:
        return True
    try:
        texts = [_ASIDE.sub("", content.decode("utf-8")) for content in (old, new)]
    except UnicodeDecodeError:
        return False
    parts = [_NUMBER.split(_PICTURE.sub("", text)) for text in texts]
    if len(parts[0]) != len(parts[1]) or parts[0][::2] != parts[1][::2]:
        return False
    pairs = zip(parts[0][1::2], parts[1][1::2], strict=True)
    return all(a == b or _is_close(a, b) for a, b in pairs) and _have_the_same_pictures(*texts)


def _have_the_same_pictures(*texts):
    old, new = map(_PICTURE.findall, texts)
    return len(old) == len(new) and all(a == b or _looks_alike(a, b) for a, b in zip(old, new, strict=True))


def _looks_alike(*pictures):
    """Say whether two PNG, in base64, show the same: other machines pack and smooth a little differently."""
    from matplotlib.image import imread

    try:
        old, new = (imread(io.BytesIO(base64.b64decode(picture)), "png") for picture in pictures)
    except (ValueError, OSError, SyntaxError):  # no PNG
        return False
    return old.shape == new.shape and bool((np.abs(old - new) <= SHADES).all())


def _is_close(a, b):
    is_measured = any(set(".eE") & set(number) for number in (a, b))  # counts are counts
    return is_measured and math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
