"""Settings in a Python file, as literals: the file is parsed, and nothing in it is run.

Of assignments at the top level those count whose value is made of literals and of ``dict(…)`` with
named arguments; anything else is left out.
"""

import ast

from traincost.reading.formats.files import Unreadable

MAX_CONFIG_BYTES = 2**20
MAX_NESTING = 60
_UNKNOWN = object()


def settings(text):
    """Return the assignments of a Python text as a mapping. Raises `Unreadable`.

    >>> settings("a = 1\\nmodel = dict(type='Net', depth=18, f=open('x'))\\nb = range(3)\\n")
    {'a': 1, 'model': {'type': 'Net', 'depth': 18}}
    """
    if len(text) > MAX_CONFIG_BYTES:
        raise Unreadable("is too large for a configuration")
    _refuse_depth(text)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unreadable("is no Python that can be parsed") from None
    found = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], _value(statement.value, 0)
            if isinstance(target, ast.Name) and value is not _UNKNOWN:
                found[target.id] = value
    return found


def _refuse_depth(text):
    """Refuse nesting that the parser, which is C's, would pay for with its stack."""
    depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth > MAX_NESTING:
            raise Unreadable(f"is nested deeper than {MAX_NESTING} levels")


def _value(node, depth):
    if depth > MAX_NESTING:
        return _UNKNOWN
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float | bool | None) else _UNKNOWN
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, depth + 1)
        return -value if isinstance(value, int | float) else _UNKNOWN
    if isinstance(node, ast.List | ast.Tuple):
        values = [_value(item, depth + 1) for item in node.elts]
        return [value for value in values if value is not _UNKNOWN]
    if isinstance(node, ast.Dict):
        pairs = [
            (_value(k, depth + 1), _value(v, depth + 1))
            for k, v in zip(node.keys, node.values, strict=True)
            if k
        ]
        return {str(k): v for k, v in pairs if _UNKNOWN not in (k, v)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        pairs = [(keyword.arg, _value(keyword.value, depth + 1)) for keyword in node.keywords]
        return {name: value for name, value in pairs if name and value is not _UNKNOWN}
    return _UNKNOWN
