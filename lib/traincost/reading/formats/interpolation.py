"""References within a configuration that was saved before they were resolved (OmegaConf, Hydra).

``${size.width}`` is looked up in the same configuration, alone or inside a text, along chains. What asks
for more (``${oc.env:…}``, ``${eval:…}``, ``${hydra:…}``) or is missing (``???``) is not known: such
a setting is left out and named, as one text in all runs would pass for a shared setting. Nothing is run.
"""

import re

from traincost.reading.formats.files import shortened

MAX_CHAIN = 16  # references that lead to references
MAX_LENGTH = 2_000  # of a resolved text
MISSING = "???"
_PLAIN = re.compile(r"\$\{\s*([A-Za-z_][\w]*(?:\.[\w]+|\[\d+\])*)\s*\}")
_ANY = "${"


def resolved(fields, notes):
    """Return flat settings with their plain references resolved; what cannot be is left out and noted.

    >>> resolved({"a": 64, "b": "${a}", "c": "net_${b}", "d": "${oc.env:HOME}", "e": "???"}, [])
    {'a': 64, 'b': 64, 'c': 'net_64'}
    """
    if not any(isinstance(value, str) and (_ANY in value or value == MISSING) for value in fields.values()):
        return fields
    found, unknown = {}, []
    for name, value in fields.items():
        value = _value(fields, value)
        if isinstance(value, str) and (_ANY in value or value == MISSING):
            unknown.append(name)
        else:
            found[name] = value
    if unknown:
        listed = shortened(", ".join(unknown))
        notes.append(f"settings with interpolations that its files do not resolve are not known: {listed}")
    return found


def _value(fields, value):
    for _ in range(MAX_CHAIN):
        if not isinstance(value, str) or _ANY not in value:
            return value
        whole = _PLAIN.fullmatch(value)
        if whole:
            if fields.get(whole[1], value) == value:
                return value
            value = fields[whole[1]]
            continue
        text = _PLAIN.sub(lambda match: str(fields.get(match[1], match[0])), value)
        if text == value or len(text) > MAX_LENGTH:
            return value
        value = text
    return value
