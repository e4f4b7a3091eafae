"""Find wanted fields and map values in the rows of an Avro file.

An Avro file has no index of its rows. So each row is walked from start to end, by the `Node`s of the schema that wrote
it. If a node has a slot, the position of each of its values except null is stored. The bytes are not trusted: a count
or a length that exceeds the remaining bytes is an error. `avro_walk.pxd` has the types with which Cython compiles this
file; without a compiler it runs as Python, and then takes about as long as pyiceberg. Source: "Binary encoding" in
Avro's specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from parquet_core.errors import MalformedFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# Kinds of values: null, varint, bytes of fixed length, length-prefixed bytes, and composite types.
NULL: Final = 0
VARINT: Final = 1
FIXED: Final = 2
BYTES: Final = 3
ARRAY: Final = 4
MAP: Final = 5
RECORD: Final = 6
UNION: Final = 7
# The `size` of an array of (number, number) or (number, bytes) records. Manifests store all their maps as such arrays.
PAIRS_OF_NUMBERS: Final = 1
PAIRS_OF_BYTES: Final = 2
# The same constants as C integers.
_PAIRS_OF_NUMBERS: Final = 1
_PAIRS_OF_BYTES: Final = 2
_NULL: Final = 0
_VARINT: Final = 1
_FIXED: Final = 2
_BYTES: Final = 3
_ARRAY: Final = 4
_MAP: Final = 5
_RECORD: Final = 6
_UNION: Final = 7


class Node:
    """A type in a schema.

    `size`: bytes of a value of type FIXED.
    `least`: minimum bytes of a value.
    `slot`: column of the output array in which the value's position is stored; -1 if it is not stored.
    """

    def __init__(self, kind: int, children: list[Node], size: int, least: int, slot: int) -> None:
        self.kind = kind
        self.children = children
        self.size = size
        self.least = least
        self.slot = slot


def is_compiled() -> bool:
    """Return True if this module is compiled to machine code."""
    return not __file__.endswith(".py")


def walk(buffer: bytes, node: Node, count: int, width: int, table: Numbers) -> None:
    """Walk `count` rows, which must fill the buffer, and write the positions of fields to `table`.

    `width`: number of cells of `table` per row.
    """
    _rows(buffer, node, count, width, table)


def _rows(buffer: bytes, node: Node, count: int, width: int, table: Numbers) -> None:
    data, size, position = buffer, len(buffer), 0
    for row in range(count):
        position = _walk(data, position, size, node, table, row * width)
    if position != size:
        raise MalformedFile(f"{size - position} bytes follow the last row")


def numbers_at(buffer: bytes, starts: Numbers, numbers: Numbers) -> None:
    """Read the number at each position into `numbers`; entries whose position is -1 stay unchanged."""
    data, size = buffer, len(buffer)
    for i in range(len(starts)):
        if starts[i] >= 0:
            position = _after(data, starts[i], size)
            numbers[i] = _number(data, starts[i], position)


def behind_at(buffer: bytes, starts: Numbers, stops: Numbers) -> None:
    """Write the position after each varint to `stops`; entries whose position is -1 stay unchanged."""
    data, size = buffer, len(buffer)
    for i in range(len(starts)):
        if starts[i] >= 0:
            stops[i] = _after(data, starts[i], size)


def positions_of_key(buffer: bytes, starts: Numbers, key: int, of_bytes: bool, positions: Numbers) -> None:  # noqa: FBT001
    """Find the value of a key in each array of pairs; write its position to `positions`, -1 if the key is missing.

    `of_bytes`: True if the values are length-prefixed bytes, False if they are numbers.
    """
    data, size = buffer, len(buffer)
    for i in range(len(starts)):
        positions[i] = -1
        if starts[i] >= 0:
            position = starts[i]
            left = 0
            while True:
                if left == 0:
                    stop = _after(data, position, size)
                    left = _number(data, position, stop)
                    position = stop
                    if left < 0:
                        left = -left
                        position = _after(data, position, size)
                    if left == 0:
                        break
                stop = _after(data, position, size)
                is_it = _number(data, position, stop) == key
                position = _after_bytes(data, stop, size) if of_bytes else _after(data, stop, size)
                if is_it:
                    positions[i] = stop
                    break
                left -= 1


# Functions below that take a position return the position after the value.


def _after(data: bytes, position: int, size: int) -> int:
    while position < size and data[position] >= 0x80:
        position += 1
    if position >= size:
        raise IndexError
    return position + 1


def _number(data: bytes, position: int, stop: int) -> int:
    """Return the number encoded from `position` to `stop`."""
    if stop - position > 10 or (stop - position == 10 and data[stop - 1] > 1):
        raise IndexError
    result = 0
    shift = 0
    while position < stop:
        part = data[position] & 0x7F
        result |= part << shift
        shift += 7
        position += 1
    return (result >> 1) ^ -(result & 1)


def _walk(data: bytes, position: int, size: int, node: Node, table: Numbers, cell: int) -> int:
    if node.slot >= 0:
        table[cell + node.slot] = position
    kind = node.kind
    if kind == VARINT:
        return _after(data, position, size)
    if kind == BYTES:
        return _after_bytes(data, position, size)
    if kind == UNION:
        stop = _after(data, position, size)
        branch = _number(data, position, stop)
        if branch < 0 or branch >= len(node.children):
            raise IndexError
        return _walk(data, stop, size, node.children[branch], table, cell)
    if kind == RECORD:
        for child in node.children:
            position = _walk(data, position, size, child, table, cell)
        return position
    if kind == FIXED:
        if node.size > size - position:
            raise IndexError
        return position + node.size
    if kind == _ARRAY or kind == _MAP:  # noqa: PLR1714, SIM109 - C integers
        return _walk_many(data, position, size, node, table, cell)
    return position


def _after_bytes(data: bytes, position: int, size: int) -> int:
    stop = _after(data, position, size)
    length = _number(data, position, stop)
    if length < 0 or length > size - stop:
        raise IndexError
    return stop + length


def _walk_many(data: bytes, position: int, size: int, node: Node, table: Numbers, cell: int) -> int:
    """Walk an array or a map.

    Both consist of blocks, each with a count and values. A negative count is followed by the number of bytes of the
    block.
    """
    while True:
        stop = _after(data, position, size)
        count = _number(data, position, stop)
        position = stop
        if count == 0:
            return position
        if count < 0:
            count = -count
            position = _after(data, position, size)
        if count < 0 or count > (size - position) // node.least:
            raise IndexError
        while count > 0:
            if node.kind == MAP:
                position = _after_bytes(data, position, size)
            position = _walk(data, position, size, node.children[0], table, cell)
            count -= 1
