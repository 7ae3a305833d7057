"""The parameters of a notebook: how its parameters cell declares them, and which values fit.

A parameter is declared once, in the cell tagged ``parameters``: its type by the annotation, its
default by a literal, what it is by the comment behind it. ``# --- Name`` begins a group; a comment
that begins with ``one of a, b`` lists the choices, up to a colon::

    # --- What it cost
    score_goal: str = "max"  # one of max, min: which score is the better one
    price_per_hour: float = None  # of one device; a default of None allows None
    reruns: dict[str, Path] = {}  # a Path is a path or a URL, shown by its last part only

The cell is parsed and never run, and this module imports little: help must come at once.
"""

import ast
import io
import itertools
import json
import math
import os
import re
import tokenize
from dataclasses import dataclass

from traincost.errors import ParameterError, brief, refuse_unknown
from traincost.pages.annotations import Unfit, allows_text, fitted, in_words, types_of

TAG = "parameters"
UNSHOWN = "Where the runs are read"  # the group that a page does not depend on
# What our own notebooks read; a page is named after it.
INPUTS = {
    "profiling": ("runs_dir",),
    "compare": ("before", "after"),
    "estimation": ("systems",),
    "plan": ("runs_dir",),
    "explore": ("runs_dir",),
}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_GROUP = re.compile(r"#\s*-{3,}\s*(.*?)[\s-]*")
_CHOICES = re.compile(r"one of ([^:;]+)")
_PATH = re.compile(r"\bPath\b")
# Endings that the name of a collection read from one file goes without.
_ENDING = re.compile(r"\.(csv|jsonl|parquet|ya?ml|json)$", re.IGNORECASE)


class Unknown:
    """The default of a parameter that has none, or one that is no literal."""


@dataclass(frozen=True)
class Parameter:
    """A parameter as its notebook declares it."""

    name: str
    # Type and default as they are written, or empty.
    annotation: str = ""
    written: str = ""
    default: object = Unknown  # value of the default; `Unknown` where there is none, or no literal
    help: str = ""
    group: str = ""
    choices: tuple = ()  # values that are allowed; empty for any

    @property
    def is_path(self):
        """Say whether the value is, or holds, paths or URLs."""
        return bool(_PATH.search(self.annotation))

    @property
    def types(self):
        """Return the types of which the value must have one (`annotations.types_of`)."""
        allowed = types_of(self.annotation or "Any")
        return [*allowed, *types_of("None")] if self.default is None else allowed

    @property
    def wanted(self):
        """Return in words what the value must be."""
        return f"one of {', '.join(self.choices)}" if self.choices else in_words(self.types, self.default)


# -- the declaration -------------------------------------------------------------------------


def notebook_path(kind):
    """Return a notebook of ours, beside the library in a checkout, inside it in an installed wheel."""
    for folder in (os.path.dirname(os.path.dirname(_PACKAGE)), _PACKAGE):
        path = os.path.join(folder, "notebooks", f"{kind}.ipynb")
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"the notebook {kind}.ipynb is not part of this installation")


def read_notebook(path):
    """Return a notebook's JSON, unchecked; raise `ParameterError` where it is none."""
    try:
        with open(path, encoding="utf-8") as file:
            nb = json.load(file)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ParameterError(f"the notebook {path} cannot be read: {why}") from None
    if not isinstance(nb, dict) or not isinstance(nb.get("cells"), list):
        raise ParameterError(f"{path} is no notebook, or one of an old format: it has no cells")
    return nb


def declared(nb):
    """Return the parameters that a notebook declares, in order; none without a parameters cell.

    Raises `ParameterError` where the cell is no plain Python.
    """
    source = _source(parameters_cell(nb))
    found, comments = _assignments(source), _comments(source)
    groups = {line: match[1] for line, text in comments.items() if (match := _GROUP.fullmatch(text))}
    written = _Written(source)
    return [_parameter(name, node, written, comments, _last(groups, node)) for name, node in found]


def parameters_cell(nb):
    """Return the cell tagged ``parameters``, or None."""
    for cell in nb["cells"]:
        if TAG in cell.get("metadata", {}).get("tags", []):
            return cell
    return None


def _source(cell):
    return "" if cell is None else "".join(cell["source"])  # lines in a file, text once nbformat has read it


def _assignments(source):
    """Return (name, node) of each assignment to a plain name."""
    try:
        body = ast.parse(source).body
    except SyntaxError as problem:
        raise ParameterError(f"the parameters cell must be plain Python: {problem}") from None
    found = []
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found += [(target.id, node) for target in targets if isinstance(target, ast.Name)]
    return found


def _comments(source):
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def _last(groups, node):
    """Return the group whose line is the last one above an assignment."""
    above = [name for line, name in groups.items() if line < node.lineno]
    return above[-1] if above else ""


class _Written:
    """The source of a cell, from which the text of a node is taken."""

    def __init__(self, source):
        self.encoded = source.encode()  # ast counts bytes
        lines = self.encoded.splitlines(keepends=True)
        self._starts = [0, *itertools.accumulate(map(len, lines))]

    def span(self, node):
        """Return where the text of a node begins and ends, in bytes."""
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        """Return the text of a node; of none it is empty."""
        return self.encoded[slice(*self.span(node))].decode() if node else ""


def _parameter(name, node, written, comments, group):
    value, annotation = node.value, getattr(node, "annotation", None)
    text = comments.get(node.end_lineno, comments.get(node.lineno, "")).lstrip("# ").rstrip()
    choices = _CHOICES.match(text)
    return Parameter(
        name,
        annotation=written.text(annotation),
        written=written.text(value),
        default=_literal(value),
        help=text,
        group=group,
        choices=tuple(re.split(r",\s*", choices[1].strip())) if choices else (),
    )


def _literal(node):
    """Return the value of a literal, or of a path of one."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Path" and len(node.args) == 1:
        node = node.args[0]
    try:
        return ast.literal_eval(node)
    except (TypeError, ValueError):
        return Unknown


# -- values ----------------------------------------------------------------------------------


def effective(nb):
    """Return the values an executed notebook had: the defaults, and what papermill set."""
    given = nb["metadata"].get("papermill", {}).get("parameters") or {}
    return defaults(declared(nb)) | given


def defaults(declared):
    """Return parameter name to default, of those that have one."""
    return {p.name: p.default for p in declared if p.default is not Unknown}


def read_parameters(path):
    """Return the parameters in a YAML file; raise `ParameterError` where it is no mapping."""
    import yaml

    from traincost.pages import plain_yaml

    try:
        with open(path, encoding="utf-8") as file:
            values = plain_yaml.read(file.read())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        why = " ".join(str(problem).split())
        raise ParameterError(f"the parameter file {path} cannot be read: {why}") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ParameterError(f"the parameter file {path} must be a mapping of names to values")
    return values


def beside(parameters, path, declared):
    """Return the parameters of a file, with those of its paths that lie beside it found there.

    Any other relative path is one of the working folder.
    """
    folder = os.path.dirname(os.path.abspath(path))

    def found(name, text):
        there = os.path.join(folder, text)
        return there if not os.path.isabs(text) and os.path.exists(there) else text

    return with_paths(parameters, declared, found)


def typed(name, text, declared):
    """Return the value of a parameter given as text on the command line.

    What is declared as text stays text, ``01`` and ``nan`` included; anything else is YAML.
    """
    import yaml

    from traincost.pages import plain_yaml

    parameter = next((p for p in declared if p.name == name), None)
    if parameter is None or _stays_text(parameter, text):
        return text
    try:
        return plain_yaml.read(text)
    except yaml.YAMLError:
        raise ParameterError(f"`{name}` must be {parameter.wanted}, as YAML, got {brief(text)}") from None


def _stays_text(parameter, text):
    """Say whether the text is the value, or the only item of a list of text."""
    if not parameter.annotation:
        return isinstance(parameter.default, str)
    is_text, is_item = allows_text(parameter.types)
    return is_text or (is_item and not re.match(r"\[|- |(null|~|)$", text))


def checked(parameters, declared):
    """Return parameters as their notebook takes them: one value where a list is expected is a list.

    Raises `ParameterError` for one that is unknown, of another type, none of the choices, or not finite.
    """
    known = {parameter.name: parameter for parameter in declared}
    if parameters and not known:
        raise ParameterError(
            f"the notebook takes no parameters, got {next(iter(parameters))!r}: declare them in a cell with "
            f"the tag {TAG!r}"
        )
    for name in parameters:
        refuse_unknown(name, known)
    return {name: _checked(known[name], value) for name, value in parameters.items()}


def _checked(parameter, value):
    try:
        taken = fitted(value, parameter.types)
    except Unfit:
        hint = "; put it in quotes" if isinstance(value, int | float) and "text" in parameter.wanted else ""
        raise ParameterError(
            f"`{parameter.name}` must be {parameter.wanted}, got {brief(value)}{hint}"
        ) from None
    if not _is_finite(taken):
        raise ParameterError(f"`{parameter.name}` must be finite, got {brief(value)}")
    for item in taken if isinstance(taken, list) else [taken]:
        if parameter.choices and item is not None and item not in parameter.choices:
            raise ParameterError(f"`{parameter.name}` must be {parameter.wanted}, got {brief(item)}")
    return taken


def _is_finite(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def with_paths(parameters, declared, change):
    """Return the parameters, each path or URL changed by a function of parameter name and text."""
    paths = {parameter.name for parameter in declared if parameter.is_path}
    return {
        name: _each(value, lambda text, name=name: change(name, text)) if name in paths else value
        for name, value in parameters.items()
    }


def _each(value, change):
    if isinstance(value, dict):
        return {key: _each(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    return change(value) if value and isinstance(value, str) else value


def public(parameters, declared):
    """Return what page and JSON show: no path but its last part, and not where the runs were read."""
    shown = {p.name: parameters[p.name] for p in declared if p.name in parameters and p.group != UNSHOWN}
    shown = with_paths(shown, declared, _last_part)
    # A mapping may hold addresses, as links do.
    return {n: v if isinstance(v, dict) else _each(v, _without_folders) for n, v in shown.items()}


def _without_folders(text):
    """Return an absolute path, in whatever parameter it stands, by its last part."""
    return os.path.basename(os.path.normpath(text)) if os.path.isabs(text) else text


def _last_part(name, path):
    from traincost.reading import remote

    path = remote.shown(path) if remote.is_url(path) else path
    last = os.path.basename(os.path.normpath(path))
    return _ENDING.sub("", last) if name in itertools.chain(*INPUTS.values()) else last


def filled(nb, parameters):
    """Return a notebook whose parameters cell has other defaults: the values given.

    For a person who works on in it; papermill leaves the cell and sets another one behind it.
    """
    cell = parameters_cell(nb)
    source = _source(cell)
    written = _Written(source)
    filled = written.encoded
    for name, node in reversed(_assignments(source)):
        if name in parameters:
            begin, end = written.span(node.value)
            filled = filled[:begin] + repr(parameters[name]).encode() + filled[end:]
    cells = [{**c, "source": filled.decode()} if c is cell else c for c in nb["cells"]]
    return {**nb, "cells": cells}
