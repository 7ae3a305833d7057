"""Check the arguments of a function of the API by their names, before an answer is made of them."""

import functools
import inspect
import math
import os
from collections.abc import Mapping
from numbers import Real

from traincost.errors import ParameterError, brief, refuse_unknown
from traincost.results import checks


def checked(function):
    """Return a function of the API that refuses, by name, arguments that it cannot use.

    An argument is as its default is, or as `_KINDS` says; its value is checked as that of a notebook's
    parameter is (`checks.check`).
    """
    takes = inspect.signature(function)

    @functools.wraps(function)
    def asked(*arguments, **named):
        for name in named:
            _refuse_unknown(name, takes.parameters)
        for name, value in takes.bind(*arguments, **named).arguments.items():
            default = takes.parameters[name].default
            if value is not default:
                _check(function.__name__, name, value, default)
        return function(*arguments, **named)

    return asked


def _refuse_unknown(name, known):
    from traincost.results.runs import CHOICES

    if name in CHOICES and name not in known:
        raise ParameterError(
            f"`{name}` is chosen for all answers about the runs: tc.read(…, {name}=…) or "
            f"runs.choosing({name}=…)"
        )
    refuse_unknown(name, known)


def _check(function, name, value, default):
    own = _KINDS.get((function, name))
    words, is_one = own or _KINDS.get(name) or _as_default(default)
    if not is_one(value):
        is_path = isinstance(value, str | os.PathLike)
        advice = f": give tc.read({str(value)!r})" if is_path and words == _RUNS[0] else ""
        raise ParameterError(f"`{name}` must be {words}, got {_in_words(value)}{advice}")
    if not own:
        checks.check(**{name: value})


def _made_by(value):
    """Return the function of the API that returns such values, or an empty text."""
    from traincost.results.result import Result
    from traincost.results.runs import Runs

    if isinstance(value, Runs):
        return "tc.read"
    return f"tc.{value.name}" if isinstance(value, Result) else ""


def _in_words(value):
    if made_by := _made_by(value):
        return f"what {made_by} returns"
    is_plain = value is None or isinstance(value, str | bool | Real | os.PathLike | list | tuple | dict)
    return brief(value) if is_plain else f"a {type(value).__name__}"


def _is_path(value):
    return isinstance(value, str | os.PathLike)


def _are_names(value):
    values = [value] if isinstance(value, str) else value
    return isinstance(values, list | tuple) and all(isinstance(name, str) for name in values)


def _result_of(name):
    return f"what tc.{name} returns", lambda value: _made_by(value) == f"tc.{name}"


def _as_default(default):
    if isinstance(default, bool):
        return _BOOLEAN
    if isinstance(default, str):
        return _TEXT
    return _NUMBER if isinstance(default, Real) else ("", lambda value: True)


# What an argument must be: in words, and how it is told.
_TEXT = "text", lambda value: isinstance(value, str)
_NUMBER = (
    "a number",
    lambda value: isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value),
)
_BOOLEAN = "true or false", lambda value: isinstance(value, bool)
_MAPPING = "a mapping", lambda value: isinstance(value, Mapping)
_NAMES = "a name, or a list of names such as [seed]", _are_names
_PATH = "a path", _is_path
_RUNS = _result_of("read")
_KINDS = {
    "runs": _RUNS,
    "baseline": _RUNS,
    ("compare", "before"): _RUNS,
    ("compare", "after"): _RUNS,
    ("summary", "knobs"): _result_of("knobs"),
    ("card", "systems"): _result_of("estimate"),
    ("card", "growth"): _result_of("trends"),
    ("trends", "systems"): _result_of("estimate"),
    ("title", "of"): ("what tc.read returns, or an answer", lambda value: bool(_made_by(value))),
    ("estimate", "systems"): (
        "a path, or what tc.read returns",
        lambda value: _is_path(value) or _made_by(value) == "tc.read",
    ),
    ("count", "model"): (
        "a path, what a config.json holds, or a torch module",
        lambda value: _is_path(value) or isinstance(value, Mapping) or hasattr(value, "named_parameters"),
    ),
    ("count", "tokens"): ("a number, or text such as 2T", lambda value: _TEXT[1](value) or _NUMBER[1](value)),
    "inputs": ("a tuple", lambda value: isinstance(value, list | tuple)),
    **dict.fromkeys(("path", "claims", "conversion"), _PATH),
    "eras": ("a list of dates", _are_names),
    "reruns": (
        "a mapping of knobs to what tc.read returns",
        lambda value: isinstance(value, Mapping) and all(_RUNS[1](runs) for runs in value.values()),
    ),
    **dict.fromkeys(("renamed", "levels", "links", "prices", "where"), _MAPPING),
    "knobs": ("a list of knobs", lambda value: isinstance(value, list | tuple)),
    **dict.fromkeys(("by", "pair_by"), _NAMES),
    **dict.fromkeys(("context", "processors", "seeds", "at_once", "price_per_hour", "power_w"), _NUMBER),
}
