"""What a user can mend: such errors end a command with one line and exit status 2."""

import errno
import math

MOST_SHOWN = 200  # characters of a value in a message
_LIMITS = {
    errno.EFBIG: "a limit on the size of files (ulimit -f)",
    errno.EMFILE: "a limit on open files (ulimit -n)",
    errno.EDQUOT: "the quota of this user on that disk",
}


def limit_of(problem):
    """Name the limit of the system that an error is of, or return None.

    >>> limit_of(OSError(errno.EMFILE, "Too many open files"))
    'a limit on open files (ulimit -n)'
    """
    return _LIMITS.get(getattr(problem, "errno", None))


class ParameterError(ValueError):
    """A parameter is unknown, or has a value that cannot be used; the message names it."""


class NothingToReport(ValueError):
    """The directory, or what it holds, gives no run to report on; the message says why."""


def require(condition, name, allowed, got):
    """Raise `ParameterError` unless the condition holds.

    >>> require(1 > 2, "devices", "above zero", -1)
    Traceback (most recent call last):
    traincost.errors.ParameterError: `devices` must be above zero, got -1
    """
    if not condition:
        raise ParameterError(f"`{name}` must be {allowed}, got {brief(got)}")


def brief(value):
    """Return a value as a message has it: in one line, and cut where it is long.

    >>> brief("a" * 300)[-3:], brief(type("Runs", (), {"__repr__": lambda self: "two" + chr(10) + "lines"})())
    ('aa…', 'a Runs')
    """
    text = repr(value)
    if "\n" in text:
        return f"a {type(value).__name__}"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def require_count(value, name, most=math.inf):
    """Raise `ParameterError` unless the value is a whole number above zero, and no truth value.

    >>> require_count(0, "seeds")
    Traceback (most recent call last):
    traincost.errors.ParameterError: `seeds` must be a whole number above zero, got 0
    """
    require(type(value) is int and 1 <= value <= most, name, "a whole number above zero", value)


def require_among(value, known, name, allowed, most=30):
    """Raise `ParameterError` unless the value is among the `known` ones, of which the message has the first.

    >>> require_among("lr", ["seed"], "by", "name a setting")
    Traceback (most recent call last):
    traincost.errors.ParameterError: `by` must name a setting, got 'lr'; there are: seed
    """
    if value not in known:
        listed = ", ".join(list(known)[:most]) or "none"
        raise ParameterError(f"`{name}` must {allowed}, got {brief(value)}; there are: {listed}")


def refuse_unknown(name, known):
    """Raise `ParameterError` unless `name` is among the `known` names of parameters."""
    if name in known:
        return
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise ParameterError(f"{name!r} is not a parameter{hint} The parameters are: {', '.join(known)}")


class RefusedNotebook(ValueError):
    """An executed notebook is no basis for a page; the message says why."""
