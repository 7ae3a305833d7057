"""Names that stay apart, and the order in which people read them."""

import re

_DIGITS = re.compile("[0-9]+")


# What YAML 1.1 has for truth values; a file of settings that was read by it has the level True for on.
_TRUTH = {"on": "True", "yes": "True", "true": "True", "off": "False", "no": "False", "false": "False"}


def level_among(label, known):
    """Return the level of `known` that is asked for as `label`: itself, or the truth value it stands for.

    >>> level_among("on", ["on", "off"]), level_among("on", ["True", "False"])
    ('on', 'True')
    """
    other = _TRUTH.get(label.lower(), label)
    return other if label not in known and other in known else label


def unique(labels, taken=()):
    """Return labels as a tuple, with a number behind one that stands for another already.

    A level may be spelled like our word for a missing one, a setting like a column of ours.

    >>> unique(["a", "a", "a [2]", "n"], taken=["n"])
    ('a', 'a [2]', 'a [2] [2]', 'n [2]')
    """
    used, found = set(taken), []
    for label in labels:
        name, n = label, 1
        while name in used:
            n += 1
            name = f"{label} [{n}]"
        used.add(name)
        found.append(name)
    return tuple(found)


def natural(text):
    """Sort key that puts ``pv2`` before ``pv10``.

    One text, as it is made for every path of a collection: a run of digits is led by its length,
    without zeros in front, and sorts before other text.

    >>> sorted(["b", "pv10", "pv2", "7"], key=natural)
    ['7', 'b', 'pv2', 'pv10']
    """
    return _DIGITS.sub(_counted, str(text))


def _counted(match):
    digits = match[0].lstrip("0")
    return f"\0{chr(min(len(digits), 0xD7FF))}{digits}"
