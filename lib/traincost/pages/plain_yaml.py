"""YAML as a person means it: what is written like a number is one, and nothing is lost.

Parameters name levels of runs, so they must be read as those are. YAML 1.1 reads ``1e-3`` as text,
``01000`` as 512, ``1:30`` as 90, ``on`` and ``no`` as truth values, and keeps the last of two equal
keys. Here ``1e-3`` is a number, the others are text, and a second key is refused.
"""

import re
from typing import ClassVar

import yaml

_TAG = "tag:yaml.org,2002:"
_NUMBERS = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?(0|[1-9][0-9_]*)", "-+0123456789"),
    "float": (
        r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|0|[1-9][0-9_]*)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}


class _Plain(yaml.SafeLoader):
    """The safe loader, with its own idea of numbers and truth values, and none of dates."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in found if tag.removeprefix(_TAG) in ("null", "merge")]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node, deep=False):
        """Return a mapping; refuse one that names a key twice."""
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = next((name for name in names if names.count(name) > 1 and name != "<<"), None)
        if twice is not None:
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f"it has the key {twice!r} twice (in the mapping of line {line})")
        return super().construct_mapping(node, deep)


for _name, (_pattern, _first) in _NUMBERS.items():
    _Plain.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})$"), list(_first))


def read(text):
    """Return the value of a YAML text; raises `yaml.YAMLError`, also where it is nested too deep."""
    try:
        return _Plain(text).get_single_data()
    except (RecursionError, ValueError, OverflowError) as problem:
        deep = isinstance(problem, RecursionError)
        raise yaml.YAMLError("it is nested too deep" if deep else str(problem)) from None
