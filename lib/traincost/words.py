"""Names that stay apart, and the order in which people read them."""

import collections
import re

MAX_LEVEL = 26  # characters of a level's name that a page shows as it is
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_DIGITS = re.compile("[0-9]+")
# A word, or several in one: a number with its sign and point, a name with dots or single dashes.
_TOKEN = re.compile(r"\w+(?:[.+-]\w+)*")


# What YAML 1.1 has for truth values; a file of settings that was read by it has the level True for on.
_TRUTH = {"on": "True", "yes": "True", "true": "True", "off": "False", "no": "False", "false": "False"}


def level_among(label, known):
    """Return the level of `known` that is asked for as `label`: itself, or the truth value it stands for.

    >>> level_among("on", ["on", "off"]), level_among("on", ["True", "False"])
    ('on', 'True')
    """
    other = _TRUTH.get(label.lower(), label)
    return other if label not in known and other in known else label


def printable(text):
    """Keep text of a run from moving a terminal's cursor, or from looking like a line of ours.

    >>> printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(c if c.isprintable() else " " if c == NO_BREAK_SPACE else "�" for c in text)


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


def short_names(names):
    """Return a mapping of names to shorter ones: the long lose the words that all of these share.

    Words that stay are set as they were where they stood side by side, else apart. All names stay as they
    are where two would read alike, and one that would lose all its words does.

    >>> a, b = (f"name=model--tags=['{tag}', 'gru']--namespace=lib" for tag in ("dar", "mgr"))
    >>> list(short_names([a, b, "(unset)"]).values())
    ['dar', 'mgr', '(unset)']
    """
    names = list(dict.fromkeys(map(str, names)))
    long = [name for name in names if len(name) > MAX_LEVEL]
    if len(long) < 2:
        return dict(zip(names, names, strict=True))
    words = [collections.Counter(_TOKEN.findall(name)) for name in long]
    shared = words[0]
    for each in words[1:]:
        shared = shared & each
    short = {name: name if len(name) <= MAX_LEVEL else _without(name, shared) or name for name in names}
    return short if len(set(short.values())) == len(names) else dict(zip(names, names, strict=True))


def _without(name, shared):
    """Return a name without its words that are `shared`, each as often as that is."""
    left, kept, end = collections.Counter(shared), [], -1
    for token in _TOKEN.finditer(name):
        if left[token[0]]:
            left[token[0]] -= 1
            end = -1
            continue
        kept.append(name[end : token.end()] if end >= 0 else f"{' ' if kept else ''}{token[0]}")
        end = token.end()
    return "".join(kept)


def natural(text):
    """Sort key that puts ``pv2`` before ``pv10``.

    One text, as it is made for every path of a collection: a run of digits is led by its length,
    without zeros in front, and sorts before other text. What differs in these zeros alone has one key.

    >>> sorted(["b", "pv10", "pv2", "7"], key=natural)
    ['7', 'b', 'pv2', 'pv10']
    """
    return _DIGITS.sub(_counted, str(text))


def in_natural_order(texts):
    """Return texts as a list in natural order, which is one order for a set, too.

    >>> in_natural_order({"pv10", "pv2", "pv02"})
    ['pv02', 'pv2', 'pv10']
    """
    return sorted(sorted(texts), key=natural)


def _counted(match):
    digits = match[0].lstrip("0")
    length = len(digits)
    return f"\0{chr(length if length < 0xD7FF else 0xD7FF)}{digits}"
