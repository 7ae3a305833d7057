"""A nested config as dotted paths, with levels that compare as they should."""

import json
import math
import re

MAX_DEPTH = 32  # a deeper part is one level, written as JSON
MAX_FIELDS = 2_000  # of one run
# The repr of an object: its address differs in every run, and would make each a level of its own.
_OBJECT = re.compile(r"<(?:function )?([\w.<>]+?)(?: object)? at 0x[0-9a-fA-F]+>")
_AT = " at 0x"


def flat(config, notes):
    """Flatten a mapping of settings.

    A dot inside a key is escaped with a backslash. Null is the level ``None``, a truth value
    ``True`` or ``False``, a list its JSON, an object's repr its class; a number that is not
    finite is missing and noted.

    Parameters
    ----------
    config : dict
    notes : list of str
        What was left out is added to it.

    Returns
    -------
    dict
        Dotted path to int, float or str.
    """
    fields = {}
    _collect(config, "", 0, fields, notes)
    return fields


def _collect(mapping, prefix, depth, fields, notes):
    for key, value in mapping.items():
        if len(fields) >= MAX_FIELDS:
            _note(notes, f"config fields beyond the first {MAX_FIELDS} are left out")
            return
        path = prefix + (key if key.__class__ is str and key.isidentifier() else _escaped(key))
        # Nearly all are plain: they are told here, without a call.
        kind = value.__class__
        if kind is int or (kind is float and value - value == 0.0) or (kind is str and _AT not in value):
            fields[path] = value
        elif isinstance(value, dict) and value and depth < MAX_DEPTH:
            _collect(value, path + ".", depth + 1, fields, notes)
        elif isinstance(value, float) and not math.isfinite(value):
            notes.append(f"config {path!r} is not finite: taken as missing")
        else:
            fields[path] = _level(value, path, notes)


def _escaped(key):
    return str(key).replace("\\", "\\\\").replace(".", "\\.")


def _note(notes, text):
    if text not in notes:
        notes.append(text)


def _level(value, path, notes):
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else _json(value, path, notes)
    return _OBJECT.sub(r"<\1>", text) if _AT in text else text


def _json(value, path, notes):
    """Return a list, or what lies beyond `MAX_DEPTH`, as JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        notes.append(f"config {path!r} is nested too deep: taken as one level")
        return "(nested too deep)"
    except ValueError:
        notes.append(f"config {path!r} holds a number that is not finite")
        return json.dumps(value, ensure_ascii=False)
