"""Logs of JSON lines that a training appends to, read line by line; the last may be cut."""

import io
from itertools import islice

from traincost.reading.formats.files import Unreadable, head_of, opened, parse_json

MAX_LOG_MIB = 512
MAX_LINE_BYTES = 2**22
MAX_LINES = 2_000_000


def objects(path):
    """Yield the objects in the lines of a file. Raises `Unreadable`."""
    with opened(path, MAX_LOG_MIB) as file:
        for line in islice(io.BufferedReader(file, 2**18), MAX_LINES):
            if len(line) > MAX_LINE_BYTES or not line.lstrip().startswith(b"{"):
                continue
            try:
                value = parse_json(line)
            except Unreadable:
                continue
            if isinstance(value, dict):
                yield value


def begins_with(path, *keys):
    """Say whether the beginning of a file has all of some keys, on lines that are objects."""
    head = head_of(path, 2**16)
    return head.lstrip().startswith(b"{") and all(f'"{key}"'.encode() in head for key in keys)
