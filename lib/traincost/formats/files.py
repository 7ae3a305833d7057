"""Reading files that may be anything: limits, and reasons instead of exceptions."""

import json
import math
import os
import stat
from contextlib import contextmanager
from contextvars import ContextVar

import orjson

MAX_FILE_MIB = 64
MAX_REASON = 300  # characters of a message that quotes what was found
_WATCH = ContextVar("paths used", default=None)


class Unreadable(Exception):
    """A file cannot be used; the message says why, in one line."""


@contextmanager
def opened(path, limit_mib=None):
    """Open a regular file for reading bytes, unbuffered.

    Raises
    ------
    Unreadable
        It is a directory, a pipe or the like, larger than `limit_mib` (`MAX_FILE_MIB` if None),
        cannot be opened, or a reading inside the block failed.
    """
    limit_mib = MAX_FILE_MIB if limit_mib is None else limit_mib
    _used(path)
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as problem:
        raise Unreadable(f"cannot be opened: {_why(problem)}") from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable("is a directory, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("is not a regular file")
        if status.st_size > limit_mib * 2**20:
            raise Unreadable(f"is larger than {limit_mib} MiB")
        with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as file:
            yield file
    except OSError as problem:
        raise Unreadable(f"cannot be read: {_why(problem)}") from None
    finally:
        os.close(descriptor)


def read_bytes(path, limit_mib=None):
    """Return the content of a regular file; raises what `opened` does."""
    with opened(path, limit_mib) as file:
        return file.read()


def read_head(path, size):
    """Return the first `size` bytes of a regular file of any length, fewer where it is shorter."""
    with opened(path, limit_mib=math.inf) as file:
        return file.read(size)


def names(directory):
    """Return the sorted names in a directory; none where it cannot be listed or is none."""
    _used(directory)
    try:
        return sorted(os.listdir(directory))
    except (OSError, ValueError):
        return []


@contextmanager
def watched():
    """Collect in a set the paths that are opened or listed inside the block."""
    token = _WATCH.set(set())
    try:
        yield _WATCH.get()
    finally:
        _WATCH.reset(token)


def _used(path):
    paths = _WATCH.get()
    if paths is not None:
        paths.add(path)


def _why(problem):
    return getattr(problem, "strerror", None) or str(problem)


def parse_json(content):
    """Return the value in `content` (bytes); NaN and Infinity are read as floats.

    Raises
    ------
    Unreadable
        Empty, not UTF-8, with a byte-order mark, nested too deep, or not JSON.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return _lenient(content)


def _lenient(content):
    """Parse what orjson refuses, or say why it cannot be."""
    if not content.strip():
        raise Unreadable("is empty")
    if content.startswith(b"\xef\xbb\xbf"):
        raise Unreadable("starts with a byte-order mark; save it as UTF-8 without one")
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise Unreadable(f"is not UTF-8: {problem.reason} at byte {problem.start}") from None
    except RecursionError:
        raise Unreadable("is nested too deep") from None
    except ValueError as problem:
        raise Unreadable(f"is not whole JSON: {shortened(str(problem))}") from None


def shortened(text, limit=MAX_REASON):
    """Return `text` on one line and not longer than `limit`."""
    text = " ".join(str(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
