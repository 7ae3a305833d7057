"""Which values an annotation of a parameter allows, and how a person is told.

An annotation is text, as ``float | None`` or ``dict[str, Path]``; it is parsed and never evaluated.
An annotation that is not known here allows anything.
"""

import ast
import datetime
import os

TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class Unfit(Exception):
    """A value is of none of the types."""


def types_of(annotation):
    """Return the types of which a value must have one, as nodes of `ast`.

    >>> [ast.unparse(node) for node in types_of("Optional[list[str]] | int")]
    ['list[str]', 'None', 'int']
    """
    return _alternatives(ast.parse(annotation, mode="eval").body)


def _alternatives(node):
    """Return the types of a union: ``float | None``, ``Optional[float]``, or the type alone."""
    if isinstance(node, ast.BinOp):
        return [*_alternatives(node.left), *_alternatives(node.right)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _alternatives(ast.parse(node.value, mode="eval").body)
    if _name(node) in ("Optional", "Union"):
        optional = [ast.Constant(None)] if _name(node) == "Optional" else []
        return [one for inner in _inner(node) for one in _alternatives(inner)] + optional
    return [node]


def _name(node):
    """Return the name of a type: ``list`` of ``list[str]``, ``None`` of None."""
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return getattr(node, "id", getattr(node, "attr", str(getattr(node, "value", ""))))


def _inner(node):
    if not isinstance(node, ast.Subscript):
        return []
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def fitted(value, types):
    """Return the value as the first of the types has it that it fits; raise `Unfit` where there is none.

    A single value is a list of one; text that YAML did not take for a number is one, like 1e-2.
    """
    for node in types:
        try:
            return _FITS.get(_name(node), _anything)(value, _inner(node))
        except Unfit:
            continue
    raise Unfit


def allows_text(types):
    """Say whether text is a value, and whether it is an item of a list that is one."""
    items = [_name(inner) for node in types if _name(node) == "list" for inner in _inner(node)]
    return any(_name(node) in _TEXTS for node in types), any(item in _TEXTS for item in items)


def _anything(value, inner):
    return value


def _none(value, inner):
    if value is not None:
        raise Unfit
    return value


def _text(value, inner):
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, datetime.date):  # which YAML makes of 2015-09-01
        value = value.isoformat()
    if not isinstance(value, str):
        raise Unfit
    return value


def _truth(value, inner):
    value = TRUTH.get(value.lower(), value) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise Unfit
    return value


def _number(value, inner):
    if isinstance(value, str):  # which YAML makes of 1e-2
        try:
            return float(value)
        except ValueError:
            raise Unfit from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit
    return value


def _whole(value, inner):
    number = _number(value, inner)
    if isinstance(number, float) and not number.is_integer():
        raise Unfit
    return int(number)


def _list(value, inner):
    if not isinstance(value, list | tuple):
        if value is None or (isinstance(value, dict) and not inner):
            raise Unfit
        value = [value]
    return [fitted(item, _alternatives(inner[0])) for item in value] if inner else list(value)


def _mapping(value, inner):
    if not isinstance(value, dict):
        raise Unfit
    if len(inner) < 2:
        return value
    keys, items = map(_alternatives, inner)
    return {fitted(key, keys): fitted(item, items) for key, item in value.items()}


def _literals(value, inner):
    if value not in [node.value for node in inner]:
        raise Unfit
    return value


_TEXTS = ("str", "Path")
_FITS = {
    "None": _none,
    "str": _text,
    "Path": _text,
    "bool": _truth,
    "int": _whole,
    "float": _number,
    "list": _list,
    "dict": _mapping,
    "Literal": _literals,
}
_WORDS = {
    "str": "text",
    "Path": "a path or URL",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
}
_EXAMPLES = {"str": "a", "Path": "path", "bool": "true", "int": "1", "float": "0.5", "dict": "{…}"}


def in_words(types, default=None):
    """Return in words what a value must be.

    >>> in_words(types_of("list[str] | None"), ["seed"])
    'a list such as [seed]'
    """
    return " or ".join(_in_words(node, default) for node in types if _name(node) != "None")


def _in_words(node, default):
    name, inner = _name(node), [_EXAMPLES.get(_name(one), "…") for one in _inner(node)]
    if name == "Literal":
        return f"one of {', '.join(str(one.value) for one in node.slice.elts)}"
    if name == "list":
        is_example = isinstance(default, list) and default
        items = ", ".join(map(str, default)) if is_example else "".join(inner) or "a"
        return f"a list such as [{items}]"
    if name == "dict":
        return f"a mapping such as {{{': '.join(inner) or 'a: b'}}}"
    return _WORDS.get(name, name)
