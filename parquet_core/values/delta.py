"""Checks of delta encodings: Arrow reserves room for as many values as a header claims, or reads behind the end.

Source: `Encodings.md` of parquet-format. All three begin with a stream of integers, DELTA_BYTE_ARRAY with two.
"""

from __future__ import annotations

from typing import NamedTuple

BINARY_PACKED, LENGTH_BYTE_ARRAY, BYTE_ARRAY = 5, 6, 7
ENCODINGS = frozenset({BINARY_PACKED, LENGTH_BYTE_ARRAY, BYTE_ARRAY})
_MOST_IN_BLOCK = 1 << 20


class _Stream(NamedTuple):
    """The header of a stream, and where its first block begins."""

    block: int
    pieces: int
    values: int
    stop: int


def most_claimed(values: memoryview, encoding: int) -> int:
    """Return the largest number of values that a header claims; ValueError or IndexError when there is none."""
    first = _stream(values, 0)
    if encoding != BYTE_ARRAY:
        return first.values
    return max(first.values, _stream(values, _after(values, first)).values)


def _stream(data: memoryview, position: int) -> _Stream:
    numbers = []
    for _ in range(4):
        number, position = _varint(data, position)
        numbers.append(number)
    block, pieces, count, _ = numbers
    if not 0 < block <= _MOST_IN_BLOCK or not 0 < pieces <= block // 8:
        raise ValueError(f"blocks of {block} values in {pieces} parts")
    return _Stream(block, pieces, count, position)


def _after(data: memoryview, stream: _Stream) -> int:
    """Return where a stream ends."""
    position, left = stream.stop, stream.values - 1
    in_piece = stream.block // stream.pieces
    while left > 0:
        _, position = _varint(data, position)
        widths = data[position : position + stream.pieces]
        if len(widths) < stream.pieces:
            raise ValueError("a block is cut off")
        # Behind the last value no more parts are stored.
        stored = min(stream.pieces, -(-left // in_piece))
        position += stream.pieces + sum(widths[:stored]) * in_piece // 8
        left -= stream.block
    return position


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
    raise ValueError("a number of more than ten bytes")
