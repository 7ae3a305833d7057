"""Protocol-buffer messages by their wire format alone: numbered fields, no schema, no library.

Event files and W&B's logs are sequences of such messages; of each a handful of fields is used,
whose numbers stand with the readers. See "Encoding" in the protocol buffers' documentation.
"""

import struct

from traincost.reading.formats.files import Unreadable

MAX_FIELDS = 100_000  # of one message
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}
_NO_MESSAGE = "holds a message that is no protocol buffer"


def message(data):
    """Return the fields of a message: number to the list of its values, in their order.

    A varint is an int without sign; anything else is bytes (`double`, `single`, `text`, or again
    `message`). Raises `Unreadable`.
    """
    fields, at, n_fields = {}, 0, 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
        else:
            if kind not in _WIDTHS and kind != _BYTES:
                raise Unreadable(_NO_MESSAGE)
            width, at = (_WIDTHS[kind], at) if kind in _WIDTHS else _varint(data, at)
            value, at = data[at : at + width], at + width
        n_fields += 1
        if at > len(data) or number == 0:
            raise Unreadable(_NO_MESSAGE)
        if n_fields > MAX_FIELDS:
            raise Unreadable(f"holds a message of more than {MAX_FIELDS} fields")
        fields.setdefault(number, []).append(value)
    return fields


def _varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise Unreadable(_NO_MESSAGE)


def last(fields, number, kind, default=None):
    """Return the last value of a field if it is of the type `kind` (int or bytes).

    The last, because a field that is repeated against its schema counts so.
    """
    values = fields.get(number)
    return values[-1] if values and isinstance(values[-1], kind) else default


def last_text(fields, number):
    """Return the last value of a field as text; empty where it has none."""
    return text(last(fields, number, bytes, b""))


def last_message(fields, number):
    """Return the fields of the last message in a field; empty where it has none."""
    return message(last(fields, number, bytes, b""))


def last_time(fields):
    """Return a ``google.protobuf.Timestamp`` in seconds since 1970."""
    return last(fields, 1, int, 0) + last(fields, 2, int, 0) / 1e9


def inside(fields, number):
    """Return the messages in a field that may be repeated, as `message` reads them."""
    return [message(value) for value in fields.get(number, ()) if isinstance(value, bytes)]


def text(value):
    """Return bytes as text; what is no UTF-8 becomes �."""
    return value.decode("utf-8", "replace")


def double(value):
    """Return eight bytes as a float, or None for anything else."""
    return struct.unpack("<d", value)[0] if isinstance(value, bytes) and len(value) == 8 else None


def single(value):
    """Return four bytes as a float, or None for anything else."""
    return struct.unpack("<f", value)[0] if isinstance(value, bytes) and len(value) == 4 else None


def signed(value):
    """Return a varint as the signed integer that it stands for."""
    return value - 2**64 if value >= 2**63 else value
