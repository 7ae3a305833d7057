"""How the parts of a run are called and coloured: by the last part of a section's path, and by its kind."""

import re

from traincost.analysis.kinds import SETUP, hue_of
from traincost.analysis.sections import OTHER, REST, UNATTRIBUTED

UNTIMED = "untimed"
MAX_SHARED = 12  # settings that all runs share, named where none were asked for
MAX_VALUE = 60  # characters of the value of one
_CLASS = re.compile(r"^\[[^\]]+\]\w*\.(?=.)")  # as Lightning's profiler names the owner of a hook


def section_names(paths):
    """Return a mapping of section paths to the shortest ends of them that tell them apart.

    >>> section_names(["epoch/eval", "epoch/train", "final/eval"])
    {'epoch/eval': 'epoch/eval', 'epoch/train': 'train', 'final/eval': 'final/eval'}
    """
    paths = list(paths)
    named = {}
    for path in paths:
        parts = path.split("/")
        for n in range(1, len(parts) + 1):
            end = "/".join(parts[-n:])
            if path in (OTHER, UNATTRIBUTED) or sum(_ends(other, end) for other in paths) == 1:
                break
        named[path] = end
    return named


def _ends(path, end):
    return path == end or path.endswith(f"/{end}")


def part_names(parts):
    """Return a mapping of the parts of a run to what they are called.

    >>> part_names(["fit/[Strategy].backward"])["fit/[Strategy].backward"]
    'backward'
    """
    named = {**section_names(parts), UNATTRIBUTED: UNTIMED}
    bare = {part: _CLASS.sub("", name) for part, name in named.items()}
    inside = REST.format("")
    bare = {
        part: f"{name.removesuffix(inside)} itself" if name.endswith(inside) else name
        for part, name in bare.items()
    }
    told = list(bare.values())
    return {part: bare[part] if told.count(bare[part]) == 1 else name for part, name in named.items()}


def hue(part, section_kinds=None):
    """Return the kind of a part of a run, as `fluid` colours it."""
    if part == UNATTRIBUTED:
        return UNTIMED
    kind = "other" if part == OTHER else hue_of(part, section_kinds)
    return "setup" if kind == SETUP else kind


def shared_settings(fields, asked=None):
    """Return the settings that all runs share as (name, value), and how many more there are.

    Those in `asked`, or the shortest-named few; a long value is cut.
    """
    shared = {field.name: field.labels[0] for field in fields if field.kind == "shared"}
    chosen = sorted(shared, key=len)[:MAX_SHARED] if asked is None else [n for n in asked if n in shared]
    more = len(shared) - len(chosen) if asked is None else 0
    return [(name, _cut(shared[name])) for name in chosen], more


def _cut(value):
    return value if len(value) <= MAX_VALUE else value[: MAX_VALUE - 1] + "…"
