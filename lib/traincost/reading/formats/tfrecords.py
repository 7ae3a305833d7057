"""Records of an event file: each with its length and data, both with a checksum (CRC-32C, masked).

Checksums are computed for many records of one length together, as Python is slow byte by byte.
"""

import struct

import numpy as np

from traincost.reading.formats.files import Unreadable

MAX_EVENT_BYTES = 2**16  # of a larger record the beginning is given
CHUNK_BYTES = 2**20
FEW = 24  # records, up to which one by one is faster
_WALL_TIME = b"\x09"  # the key of an event's first field, eight bytes long
_CUT = "ends within an event: killed, at work still, or copied in part"


class Cut(Exception):
    """A file ends within a record."""


def records(file):
    """Yield each record of an event file; of one larger than `MAX_EVENT_BYTES` the beginning.

    Raises `Cut` where the file ends within one, and `Unreadable` where one is damaged.
    """
    rest, at = b"", 0
    while chunk := file.read(CHUNK_BYTES):
        rest += chunk
        while True:
            headers, found, used, size = _split(rest)
            yield from _checked(headers, found, at)
            rest, at = rest[used:], at + used
            if size is None:
                break
            _check_size(rest[:12], at)
            while len(rest) < 12 + 9:  # a wall time
                more = file.read(CHUNK_BYTES)
                if not more:
                    raise Cut(_CUT)
                rest += more
            beginning, whole = rest[12 : 12 + 9], size + 16
            rest = _after(file, rest, whole)
            yield beginning if beginning[:1] == _WALL_TIME else b""
            at += whole
    if rest:
        if len(rest) >= 12:
            _check_size(rest[:12], at)
        raise Cut(_CUT)


def _after(file, rest, whole):
    """Return what follows a large record; it is read on and not sought, so that a cut is met."""
    left = whole - len(rest)
    while left > 0:
        read = file.read(min(left, CHUNK_BYTES))
        if not read:
            raise Cut(_CUT)
        left -= len(read)
        rest = b""
    return rest[whole:] if rest else b""


def _split(buffer):
    """Return headers and data of the whole records in a buffer, their length, and a large one's size."""
    headers, found, at = [], [], 0
    end = len(buffer)
    while at + 12 <= end:
        (size,) = _LENGTH(buffer, at)
        if size > MAX_EVENT_BYTES:
            return headers, found, at, size
        after = at + 16 + size
        if after > end:
            break
        headers.append(buffer[at : at + 12])
        found.append(buffer[at + 12 : after])
        at = after
    return headers, found, at, None


_LENGTH = struct.Struct("<Q").unpack_from


def _checked(headers, found, at):
    """Yield the data of records up to the first whose checksums are wrong, and raise there."""
    n = min(_first_wrong(headers), _first_wrong(found))
    for data in found[:n]:
        yield data[:-4]
    if n < len(found):
        at += sum(12 + len(data) for data in found[:n])
        raise Unreadable(f"is damaged at byte {at}")


def _first_wrong(parts):
    """Return the number of parts before the first whose last bytes are not the checksum of the others."""
    by_length = {}
    for i, part in enumerate(parts):
        by_length.setdefault(len(part), []).append(i)
    first = len(parts)
    for length, places in by_length.items():
        if len(places) <= FEW:
            wrong = [i for i in places if not _is_right(parts[i])]
        else:
            block = np.frombuffer(b"".join([parts[i] for i in places]), np.uint8).reshape(-1, length)
            given = block[:, -4:].copy().view("<u4")[:, 0]
            wrong = np.array(places)[_masked_of(block[:, :-4]) != given].tolist()
        first = min(first, *wrong) if wrong else first
    return first


def _masked_of(block):
    """Return the masked checksum of each row of a matrix of bytes."""
    crc = np.full(len(block), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(block.T):
        crc = (crc >> np.uint32(8)) ^ _ARRAY[(crc ^ column) & np.uint32(255)]
    crc ^= np.uint32(0xFFFFFFFF)
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)


def _is_right(part):
    return struct.unpack("<I", part[-4:])[0] == masked(crc32c(part[:-4]))


def _check_size(header, at):
    if not _is_right(header):
        raise Unreadable(f"is damaged at byte {at}")


# -- checksums: CRC-32C, masked as the record format asks ------------------------------------


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()
_ARRAY = np.array(_TABLE, np.uint32)


def crc32c(data):
    """Return the checksum of bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked(crc):
    """Return a checksum as it stands in a record."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
