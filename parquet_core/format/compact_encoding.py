"""Encoder for Thrift's compact protocol.

Source: Thrift's `thrift-compact-protocol.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Wire types.
TRUE, FALSE, BYTE, I32, I64, BINARY, LIST, STRUCT = 1, 2, 3, 5, 6, 8, 9, 12


def encoded_struct(*fields: tuple[int, int, bytes]) -> bytes:
    """Encode a struct.

    `fields`: field id, wire type and encoded value, by ascending field id.
    """
    encoded, last = bytearray(), 0
    for field_id, wire, value in fields:
        delta = field_id - last
        encoded += bytes([delta << 4 | wire]) if 0 < delta < 16 else bytes([wire]) + encoded_number(field_id)
        encoded += value
        last = field_id
    return bytes(encoded) + b"\0"


def encoded_list(wire: int, items: Iterable[bytes]) -> bytes:
    """Encode a list of encoded values of one wire type."""
    encoded = list(items)
    head = bytes([len(encoded) << 4 | wire]) if len(encoded) < 15 else bytes([0xF0 | wire]) + _varint(len(encoded))
    return head + b"".join(encoded)


def encoded_bytes(value: bytes) -> bytes:
    """Encode a byte string or text."""
    return _varint(len(value)) + value


def encoded_number(value: int) -> bytes:
    """Encode a number of up to 64 bits."""
    return _varint(value << 1 ^ value >> 63)


def _varint(value: int) -> bytes:
    if value <= 0x7F:
        return value.to_bytes()
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
