"""Sources that are told by their names alone: the `NAMES` and `sources` of a reader."""

import re


def first_of(*wanted, beside=()):
    """Return `NAMES`, and `sources` that returns the first of some names that a directory holds.

    Where names are given that lie `beside` it, one of these must be there too.
    """

    def sources(directory, names):
        is_told = not beside or any(name in names for name in beside)
        return [name for name in wanted if name in names][:1] if is_told else []

    return re.compile("|".join(map(re.escape, wanted))), sources


def all_like(pattern, flags=re.DOTALL):
    """Return `NAMES`, and `sources` that returns all names that a pattern matches in full."""
    names_like = re.compile(pattern, flags)
    return names_like, lambda directory, names: list(filter(names_like.fullmatch, names))
