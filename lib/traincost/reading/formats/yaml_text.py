"""YAML as plain values, whatever its tags say: nothing is constructed, nothing can explode.

PyYAML composes the nodes, which constructs nothing; `parse_yaml` turns them into mappings, lists,
numbers, truth values, null and text. A node with a tag that is not YAML's own is opaque: a scalar
is its text, or the tag where it has none; anything else the tag with the text inside it, a set's
sorted and without `HASH`, so that equal settings of two processes are equal text.
"""

import re

import yaml

from traincost.reading.formats.files import Unreadable, shortened

MAX_YAML_MIB = 10
MAX_NODES = 200_000  # counted where an alias is followed too: a few lines can name billions
MAX_NESTING = 100
_MAX_EVENTS = 3 * MAX_NODES  # a mapping's value has a key, and may begin and end
MAX_OPAQUE = 500  # characters of a node with a tag of its own
HASH = "_hash"  # an attribute of dumped objects that differs in every process
_STANDARD = "tag:yaml.org,2002:"
_ORDERED = "python/object/apply:collections.OrderedDict"  # whose pairs are a mapping
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = {_STANDARD + name for name in ("str", "null", "bool", "int", "float", "map", "seq")}


def parse_yaml(content):
    """Return the value of the first document in `content` (bytes); keys are text as it was written.

    Raises `Unreadable`.
    """
    if len(content) > MAX_YAML_MIB * 2**20:
        raise Unreadable(f"is larger than the {MAX_YAML_MIB} MiB of YAML that are read")
    _refuse_depth(content)
    try:
        loader = _LOADER(content)
        try:
            node = loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, OverflowError) as problem:
        raise Unreadable(f"is not YAML: {shortened(_where(problem))}") from None
    except RecursionError:
        raise Unreadable("is nested too deep") from None
    return None if node is None else _Plain().value(node, 0)


def _refuse_depth(content):
    """Refuse what would overflow the stack of the composer, which is C's, or fill the memory."""
    is_small = len(content) < MAX_NODES // 10
    if is_small and sum(map(content.count, (b":", b"-", b"[", b"{", b"?"))) < MAX_NESTING:
        return  # each level has one of these signs
    depth = deepest = 0
    try:
        for count, event in enumerate(yaml.parse(content, _LOADER)):
            if count > _MAX_EVENTS:
                raise Unreadable(f"holds more than {MAX_NODES} values")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                deepest = max(deepest, depth)
                if deepest > MAX_NESTING:
                    raise Unreadable(f"is nested deeper than {MAX_NESTING} levels")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except (yaml.YAMLError, ValueError, OverflowError) as problem:
        raise Unreadable(f"is not YAML: {shortened(_where(problem))}") from None


def _where(problem):
    """Return what YAML says is wrong, and where, without quoting the file."""
    mark = getattr(problem, "problem_mark", None)
    text = getattr(problem, "problem", None) or str(problem)
    return f"{text} (line {mark.line + 1})" if mark else text


_MERGE, _NO_TEXT = "<<", "(a key that is no text)"


class _Plain:
    """Nodes to values, with one budget for a whole document."""

    def __init__(self):
        self.left = MAX_NODES

    def value(self, node, depth):
        self.left -= 1
        if self.left < 0:
            raise Unreadable(f"holds more than {MAX_NODES} values")
        if depth > MAX_NESTING:  # an alias to what it lies in
            raise Unreadable(f"is nested deeper than {MAX_NESTING} levels")
        if node.tag not in _PLAIN:
            return self._opaque(node, depth)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return _scalar(node)

    def _mapping(self, node, depth):
        values = {}
        for key, value in node.value:
            name = self._key(key)
            if name in values and name not in (_MERGE, _NO_TEXT):
                line = key.start_mark.line + 1
                raise Unreadable(f"has {shortened(name, 80)!r} twice in one mapping (line {line})")
            values[name] = self.value(value, depth + 1)
        return values

    def _key(self, node):
        return node.value if isinstance(node, yaml.ScalarNode) else _NO_TEXT

    def _opaque(self, node, depth):
        tag = node.tag.removeprefix(_STANDARD)
        if tag == _ORDERED and isinstance(node, yaml.SequenceNode):
            pairs = [self.value(item, depth + 1) for item in node.value]
            pairs = pairs[0] if len(pairs) == 1 and isinstance(pairs[0], list) else pairs
            if all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
                return dict(pairs)
        if isinstance(node, yaml.ScalarNode):
            return node.value.strip() or tag
        if isinstance(node, yaml.MappingNode):
            values = {self._key(key): self.value(value, depth + 1) for key, value in node.value}
            parts = [f"{key}={value}" for key, value in values.items() if key != HASH]
        else:
            parts = [self.value(item, depth + 1) for item in node.value]
            if tag.endswith("set"):  # dumped in an order that differs in every process
                parts = [sorted(part, key=str) if isinstance(part, list) else part for part in parts]
        parts = sorted(map(str, parts)) if tag.endswith("set") else map(str, parts)
        return shortened(f"{tag}({', '.join(parts)})", MAX_OPAQUE)


_BOOLEANS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9_]*)")


def _scalar(node):
    """Return a scalar by its resolved tag; what reads as no number is text."""
    text, kind = node.value, node.tag.removeprefix(_STANDARD)
    if kind == "null":
        return None
    if kind == "bool":
        return _BOOLEANS.get(text.lower(), text)
    if kind == "int" and _DECIMAL.fullmatch(text) and len(text) < 400:
        return int(text.replace("_", ""))
    if kind == "float":
        try:
            return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:  # 1:30.5, in base sixty
            return text
    return text
