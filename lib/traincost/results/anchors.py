"""Where on a page each number stands: the table or figure that a number in prose links to.

Tables and figures say what the keys begin with of the numbers that are read off them
(`tables.Table.holds`); the longest such beginning decides. A number that none of those shown
holds is looked for in the caption of a figure.
"""


def of_numbers(keys, holders, captioned):
    """Return the anchor of each key.

    Parameters
    ----------
    keys : iterable of str
        As `prose.key` makes them: parts joined by dots.
    holders : dict
        Beginning of keys, whole parts, to the anchor (``table-levels``) that holds such numbers.
    captioned : dict
        Key to the anchor in whose caption it stands.

    Returns
    -------
    dict
        Key to anchor, without the keys that have none.

    >>> of_numbers(["level.a.x", "level.b.y"], {"level": "t", "level.b": "u"}, {})
    {'level.a.x': 't', 'level.b.y': 'u'}
    """
    found = {}
    for key in keys:
        anchor = _held(key, holders) or captioned.get(key)
        if anchor:
            found[key] = anchor
    return found


def _held(key, holders):
    """Return the anchor of the longest beginning of `key`; a dot in a name is escaped, and no end."""
    beginnings = [p for p in holders if key == p or key.startswith(f"{p}.")]
    return holders[max(beginnings, key=len)] if beginnings else None
