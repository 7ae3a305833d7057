"""Reading files that may be anything: limits, and reasons instead of exceptions."""

import hashlib
import json
import math
import os
import stat
import time
from contextlib import contextmanager
from contextvars import ContextVar

import orjson

MAX_FILE_MIB = 64
MAX_REASON = 300  # characters of a message that quotes what was found
# Within this time of a reading, a file can change again and keep both its size and its times.
RACY_NS = 2_000_000_000
# Without O_NONBLOCK, opening a named pipe would wait for ever.
_READ_ONLY = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_WATCH = ContextVar("states of the paths used", default=None)
_FETCH = ContextVar("how a file is brought here", default=None)


class Unreadable(Exception):
    """A file cannot be used; the message says why, in one line."""


@contextmanager
def opened(path, limit_mib=None):
    """Open a regular file for reading bytes, unbuffered.

    Raises `Unreadable` where it is none, is larger than `limit_mib` (`MAX_FILE_MIB` if None), cannot
    be opened, or a reading inside the block failed.
    """
    descriptor, status = _descriptor(path, limit_mib)
    try:
        if (watch := _WATCH.get()) is not None:
            watch[path] = _stamp(status, content(path))
        with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as file:
            yield file
    except OSError as problem:
        raise _failed(path, "read", problem) from None
    finally:
        os.close(descriptor)


def read_bytes(path, limit_mib=None):
    """Return the content of a regular file; raises what `opened` does."""
    descriptor, status = _descriptor(path, limit_mib)
    try:
        found = _all_of(descriptor, status.st_size)
    except OSError as problem:
        raise _failed(path, "read", problem) from None
    finally:
        os.close(descriptor)
    if (watch := _WATCH.get()) is not None:
        watch[path] = _stamp(status, _digest(found))
    return found


def _all_of(descriptor, size):
    """Return what an open file holds, whether or not it grew or shrank since `size` was asked."""
    parts = [os.read(descriptor, size + 1)]
    while len(parts[-1]) > size:
        size = 2**20
        parts.append(os.read(descriptor, size + 1))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _descriptor(path, limit_mib):
    """Open a regular file; return its descriptor and its `os.stat_result`."""
    fetch = _FETCH.get()
    if (watch := _WATCH.get()) is not None:
        watch[path] = state(path)  # what it is if it cannot be read
    try:
        descriptor = os.open(path, _READ_ONLY)
    except (OSError, ValueError) as problem:
        raise _failed(path, "opened", problem) from None
    try:
        status = os.fstat(descriptor)
        _refuse(status, MAX_FILE_MIB if limit_mib is None else limit_mib)
        if fetch is not None:
            fetch(path)  # into this very file
            status = os.fstat(descriptor)
    except BaseException as problem:
        os.close(descriptor)
        if isinstance(problem, OSError):
            raise _failed(path, "opened", problem) from None
        raise
    return descriptor, status


def _failed(path, how, problem):
    """Return why a file cannot be used; one that is there may be read another time, without a change."""
    watch = _WATCH.get()
    if watch is not None and not isinstance(problem, FileNotFoundError | NotADirectoryError):
        watch[path] = None
    return Unreadable(f"cannot be {how}: {getattr(problem, 'strerror', None) or problem}")


def _refuse(status, limit_mib):
    if not stat.S_ISREG(status.st_mode):
        is_directory = stat.S_ISDIR(status.st_mode)
        raise Unreadable("is a directory, not a file" if is_directory else "is not a regular file")
    if status.st_size > limit_mib * 2**20:
        raise Unreadable(f"is larger than {limit_mib} MiB")


def mapping_in(path, parse, notes, lost="", limit_mib=None):
    """Return the mapping that `parse` finds in a file; empty, and noted, where it finds none.

    `lost` says in the note what is not known for that.
    """
    name = os.path.basename(path)
    try:
        found = parse(read_bytes(path, limit_mib))
    except Unreadable as problem:
        notes.append(f"{name} {problem}{lost}")
        return {}
    if not isinstance(found, dict | None):
        notes.append(f"{name} is no mapping{lost}")
    return found if isinstance(found, dict) else {}


def read_head(path, size):
    """Return the first `size` bytes of a regular file of any length, fewer where it is shorter."""
    with opened(path, limit_mib=math.inf) as file:
        return file.read(size)


def head_of(path, size):
    """Return what `read_head` does; nothing of a file that cannot be read."""
    try:
        return read_head(path, size)
    except Unreadable:
        return b""


def text_of(path, limit_mib=None):
    """Return the text of a file; nothing of one that cannot be read."""
    try:
        return read_bytes(path, limit_mib).decode("utf-8", "replace")
    except Unreadable:
        return ""


def names(directory):
    """Return the sorted names in a directory; none where it cannot be listed or is none."""
    try:
        found = sorted(os.listdir(directory))
    except (OSError, ValueError):
        found = []
    if (watch := _WATCH.get()) is not None:
        watch[directory] = state(directory)
    return found


class Folder:
    """A folder of a run: the names in it, and what their files hold; without a path, there is none."""

    def __init__(self, path):
        self.path, self.names = path, names(path) if path else []

    def __contains__(self, name):
        return name in self.names

    def of(self, name):
        """Return the path of a name in it."""
        return os.path.join(self.path, name)

    def like(self, pattern):
        """Return the names that a pattern matches in full."""
        return list(filter(pattern.fullmatch, self.names))

    def mapping(self, name, parse, notes, lost=""):
        """Return what `mapping_in` finds in a file; empty where there is no such file."""
        return mapping_in(self.of(name), parse, notes, lost) if name in self.names else {}


@contextmanager
def watched():
    """Yield a dict of the paths that are opened or listed inside the block, each to its `state`.

    That of a file which was read is followed by a digest of its content (empty where it is very
    large), and has 0 for the time of its change where this time is too late to tell.
    """
    token = _WATCH.set({})
    try:
        yield _WATCH.get()
    finally:
        _WATCH.reset(token)


@contextmanager
def fetched(fetch):
    """Call `fetch` with the path of every file that is opened inside the block, before it is read."""
    token = _FETCH.set(fetch)
    try:
        yield
    finally:
        _FETCH.reset(token)


def state(path):
    """Return a list that tells a file or directory from what it is after a change.

    Of a file, its size, and the times of its modification and of its last change in ns; of a
    directory, a digest of its names; empty where there is neither; None where it cannot be told.
    """
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return digest_of_names(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def digest_of_names(names):
    """Return the `state` of a directory."""
    return [_digest("\0".join(sorted(names)).encode("utf-8", "surrogateescape"))]


def content(path):
    """Return a digest of a regular file's content, or nothing where it cannot be had."""
    try:
        descriptor = os.open(path, _READ_ONLY)
    except (OSError, ValueError):
        return ""
    try:
        size = os.fstat(descriptor).st_size
        return _digest(_all_of(descriptor, size)) if size <= MAX_FILE_MIB * 2**20 else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _stamp(status, digest):
    racy = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < RACY_NS
    return [status.st_size, status.st_mtime_ns, 0 if racy else status.st_ctime_ns, digest]


def _digest(found):
    return hashlib.blake2b(found, digest_size=16).hexdigest()


def parse_json(content):
    """Return the value in `content` (bytes); NaN and Infinity are read as floats. Raises `Unreadable`."""
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
