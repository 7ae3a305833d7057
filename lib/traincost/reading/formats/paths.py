"""Settings that stand in a run's path: ``glue/{task}/lr_{lr}/…``."""

import re

from traincost.errors import ParameterError, brief

_FIELD = re.compile(r"\{([^{}/]*)\}")
_REST = ("…", "...", "**")


class PathPattern:
    """A pattern of path parts, each of them text with fields in braces.

    ``{name}`` takes any text but a slash, as little as it can, ``*`` the same without keeping
    it, and ``…``, ``...`` or ``**`` as a part any number of parts. The pattern may begin at any
    part of the path and need not reach its end.

    >>> PathPattern("glue/{task}/lr_{lr}").fields("out/seed_1/glue/cola/lr_0.0002/layers_14")
    {'task': 'cola', 'lr': '0.0002'}
    >>> PathPattern("seed_{seed}/…/layers_{layers}").fields("out/seed_1/glue/cola/layers_14")
    {'seed': '1', 'layers': '14'}

    Raises `ParameterError`: no field in it, one without a name or named twice, or a brace without its other.
    """

    def __init__(self, pattern):
        self.text = pattern
        self.names = _FIELD.findall(pattern)
        if not self.names or not all(self.names) or len(set(self.names)) < len(self.names):
            raise ParameterError(
                "`path_pattern` must hold fields in braces, each with a name of its own, like "
                f"seed_{{seed}}/lr_{{lr}}; got {brief(pattern)}"
            )
        if set("{}") & set(_FIELD.sub("", pattern)):
            raise ParameterError(f"`path_pattern` has a brace without its other, got {brief(pattern)}")
        parts = pattern.strip("/").split("/")
        while parts[-1] in _REST:  # it need not reach the end of the path anyway
            parts.pop()
        body = "".join(_part(part) for part in parts).removesuffix("/")
        self._regex = re.compile(f"(?:^|/){body}(?=/|$)", re.DOTALL)

    def fields(self, path):
        """Return the text of each field in `path`, or an empty mapping where it does not match."""
        match = self._regex.search(path)
        return dict(zip(self.names, match.groups(), strict=True)) if match else {}


def _part(part):
    """Return a part with the slash behind it; any number of parts are also none."""
    if part in _REST:
        return "(?:[^/]+/)*?"
    *texts, rest = re.split(r"(\{[^{}/]*\}|\*)", part)
    pieces = zip(texts[::2], texts[1::2], strict=True)
    taken = (re.escape(text) + ("[^/]*?" if sign == "*" else "([^/]+?)") for text, sign in pieces)
    return f"{''.join(taken)}{re.escape(rest)}/"
