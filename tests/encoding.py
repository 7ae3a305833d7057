"""Bytes as other tools write them: protocol-buffer messages, event files and W&B's logs.

Written from the formats' descriptions, apart from the readers that are tested with them.
"""

import json
import struct
import zlib

import numpy as np

BLOCK = 32768


def varint(number):
    number %= 2**64
    out = b""
    while number > 127:
        out, number = out + bytes([number % 128 + 128]), number // 128
    return out + bytes([number])


def field(number, value):
    """Encode one field: an int as a varint, a float as a double, text and bytes with their length."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def single(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def masked_crc32c(data):
    """Divide bit by bit, as the polynomial is defined."""
    crc = 0xFFFFFFFF
    for bit in np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little"):
        crc = crc >> 1 ^ (0x82F63B78 if (crc & 1) ^ int(bit) else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


# -- TensorBoard ---------------------------------------------------------------------------


def event_record(event):
    size = struct.pack("<Q", len(event))
    return size + struct.pack("<I", masked_crc32c(size)) + event + struct.pack("<I", masked_crc32c(event))


def version(wall_s):
    return field(1, wall_s) + field(3, "brain.Event:2")


def scalar(wall_s, tag, number):
    return field(1, wall_s) + field(5, field(1, field(1, tag) + single(2, number)))


def tensor_scalar(wall_s, tag, number):
    """Encode a scalar as Keras does."""
    tensor = field(1, 1) + field(2, b"") + field(4, struct.pack("<f", number))
    return field(1, wall_s) + field(5, field(1, field(1, tag) + field(8, tensor)))


def hparams_event(wall_s, content):
    plugin = field(1, field(1, "hparams") + field(2, content))
    return field(1, wall_s) + field(5, field(1, field(1, "_hparams_") + field(9, plugin)))


def session_start(wall_s, **settings):
    kinds = {bool: 4, float: 2, str: 3}
    entries = b"".join(
        field(1, field(1, name) + field(2, field(kinds[type(value)], value)))
        for name, value in settings.items()
    )
    return hparams_event(wall_s, field(3, entries))


def session_end(wall_s, status=1):
    return hparams_event(wall_s, field(4, field(1, status)))


def event_file(*events):
    return b"".join(map(event_record, events))


# -- Weights & Biases ----------------------------------------------------------------------


def items(number, values, nested=False):
    """Encode keys and JSON values as the repeated items of a record."""
    return b"".join(
        field(number, field(2 if nested else 1, key) + field(16, json.dumps(value)))
        for key, value in values.items()
    )


def run_record(run_id, config, started_s=1_700_000_000):
    return field(17, field(1, run_id) + field(4, items(1, config)) + field(17, field(1, started_s)))


def summary_record(**values):
    return field(3, items(1, values, nested=True))


def history_record(**values):
    return field(2, items(1, values, nested=True))


def exit_record(code=0, runtime_s=60):
    return field(18, field(1, code) + field(2, runtime_s))


def wandb_log(*records):
    """Encode records as a log: pieces in blocks of 32 KiB."""
    out = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
    for record in records:
        first = True
        while True:
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += bytes(left)
                continue
            piece, record = record[: left - 7], record[left - 7 :]
            kind = (1 if not record else 2) if first else (4 if not record else 3)
            check = zlib.crc32(bytes([kind]) + piece)
            out, first = out + struct.pack("<IHB", check, len(piece), kind) + piece, False
            if not record:
                break
    return out
