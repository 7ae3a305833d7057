"""Names of timed sections: paths whose levels are separated by a slash."""

SLASH = "∕"  # stands for a slash inside a name, which must not make a level of its own


def one_level(name):
    """Return a name as one level of a section's path.

    >>> one_level("data/augment")
    'data∕augment'
    """
    return name.strip().replace("/", SLASH) or "(no name)"
