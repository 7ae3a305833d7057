"""Reading files that may be anything: limits, and reasons instead of exceptions."""

import json
import os
import stat

import orjson

MAX_FILE_MIB = 64
MAX_REASON = 300  # characters of a message that quotes what was found


class Unreadable(Exception):
    """A file cannot be used; the message says why, in one line."""


def read_bytes(path):
    """Return the content of a regular file.

    Raises
    ------
    Unreadable
        It is a directory, a pipe or the like, larger than `MAX_FILE_MIB`, or cannot be opened.
    """
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
        if status.st_size > MAX_FILE_MIB * 2**20:
            raise Unreadable(f"is larger than {MAX_FILE_MIB} MiB")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_FILE_MIB * 2**20 + 1)
    except OSError as problem:
        raise Unreadable(f"cannot be read: {_why(problem)}") from None
    finally:
        os.close(descriptor)


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
