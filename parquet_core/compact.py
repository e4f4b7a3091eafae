"""Thrift's compact protocol, read by specification: only the named fields are kept, the rest is skipped.

A `Struct` says which field ids are wanted and what they hold; `decode` returns one list with a slot
per wanted field, None where the writer left the field out. The bytes are not trusted: a length or a
count is believed only when that many bytes are left, and nesting is bounded.

This is the hot loop of reading metadata, so positions travel in local variables and the commonest case,
a number of one byte, is decoded in place.
Source: Thrift's `thrift-compact-protocol.md`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from parquet_core.errors import MalformedFile

MAX_DEPTH: Final = 32  # the deepest structure of parquet.thrift nests 8 levels

Slots: TypeAlias = list[Any]


class Kind(NamedTuple):
    """What a field or a list element holds.

    `code` names the form; `fields` are those of a struct or union (field id to slot and kind), `of` is
    the kind of a list's elements, `wires` are the wire types it may arrive in.
    """

    code: int
    wires: frozenset[int]
    fields: dict[int, tuple[int, Kind]]
    of: Kind | None = None


# Wire types.
_TRUE: Final = 1
_FALSE: Final = 2
_BYTE: Final = 3
_I64: Final = 6
_DOUBLE: Final = 7
_BINARY: Final = 8
_LIST: Final = 9
_SET: Final = 10
_MAP: Final = 11
_STRUCT: Final = 12
_UUID: Final = 13

# Codes of kinds.
_INTEGER_KIND: Final = 0
_BOOLEAN_KIND: Final = 1
_BINARY_KIND: Final = 2
_STRUCT_KIND: Final = 3
_LIST_KIND: Final = 4
_MEMBER_KIND: Final = 5

INTEGER = Kind(_INTEGER_KIND, frozenset({_BYTE, 4, 5, _I64}), {})
BOOLEAN = Kind(_BOOLEAN_KIND, frozenset({_TRUE, _FALSE}), {})
BINARY = Kind(_BINARY_KIND, frozenset({_BINARY}), {})


def struct(fields: dict[int, Kind]) -> Kind:
    """Return the kind of a struct; the slots follow the order of the ids given."""
    slots = {field: (slot, kind) for slot, (field, kind) in enumerate(fields.items())}
    return Kind(_STRUCT_KIND, frozenset({_STRUCT}), slots)


def member(fields: dict[int, Kind]) -> Kind:
    """Return the kind of a union of which only the member set matters: its value is (field id, slots)."""
    return Kind(_MEMBER_KIND, frozenset({_STRUCT}), {field: (0, kind) for field, kind in fields.items()})


def list_of(kind: Kind) -> Kind:
    """Return the kind of a list."""
    return Kind(_LIST_KIND, frozenset({_LIST, _SET}), {}, kind)


EMPTY = struct({})


class _BadBytes(Exception):
    """What is wrong and where; `decode` adds the place."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} at byte {position}")


def decode(buffer: bytes, spec: Kind, *, start: int = 0, place: str = "") -> tuple[Slots, int]:
    """Decode one struct that begins at `start`.

    Returns the slots and the position after the struct. Raises MalformedFile, which names `place`
    and the byte offset inside `buffer`.
    """
    where = f"{place}: " if place else ""
    try:
        return _struct(buffer, start, spec, 0)
    except _BadBytes as bad:
        raise MalformedFile(f"{where}{bad} of {len(buffer)}; the file is damaged") from None
    except IndexError:
        raise MalformedFile(f"{where}metadata ends early, after {len(buffer)} bytes; the file is cut off") from None


def _varint(buffer: bytes, position: int) -> tuple[int, int]:
    result = 0
    shift = 0
    while True:
        byte = buffer[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise _BadBytes("a number of more than 64 bits", position)
    if result >> 64:
        raise _BadBytes("a number of more than 64 bits", position)
    return result, position


def _binary_end(buffer: bytes, position: int) -> tuple[int, int]:
    """Return where a binary value begins and ends."""
    length = buffer[position]
    position += 1
    if length >= 0x80:
        length, position = _varint(buffer, position - 1)
    end = position + length
    if end > len(buffer):
        raise _BadBytes(f"a value of {length} bytes where {len(buffer) - position} are left", position)
    return position, end


def _struct(buffer: bytes, position: int, spec: Kind, depth: int) -> tuple[Slots, int]:
    if depth > MAX_DEPTH:
        raise _BadBytes(f"nesting deeper than {MAX_DEPTH}", position)
    fields = spec.fields
    slots: Slots = [None] * len(fields)
    field = 0
    while True:
        header = buffer[position]
        position += 1
        if header == 0:
            return slots, position
        if header < 0x10:
            number, position = _varint(buffer, position)
            field = (number >> 1) ^ -(number & 1)
        else:
            field += header >> 4
        wire = header & 0x0F
        entry = fields.get(field)
        # A field of another type than the specification's is passed over, as Thrift's own readers do.
        if entry is None or wire not in entry[1].wires:
            position = _skip(buffer, position, wire, depth)
            continue
        slot, kind = entry
        code = kind.code
        if code == _INTEGER_KIND and wire != _BYTE:
            byte = buffer[position]
            position += 1
            if byte < 0x80:
                slots[slot] = (byte >> 1) ^ -(byte & 1)
            else:
                number, position = _varint(buffer, position - 1)
                slots[slot] = (number >> 1) ^ -(number & 1)
        elif code == _BINARY_KIND:
            begin, position = _binary_end(buffer, position)
            slots[slot] = buffer[begin:position]
        elif code == _STRUCT_KIND:
            slots[slot], position = _struct(buffer, position, kind, depth + 1)
        else:
            slots[slot], position = _value(buffer, position, kind, wire, depth)


def _value(buffer: bytes, position: int, kind: Kind, wire: int, depth: int) -> tuple[Any, int]:
    """Decode a value whose wire type is one of its kind's."""
    code = kind.code
    if code == _INTEGER_KIND:
        if wire == _BYTE:
            byte = buffer[position]
            return byte - 256 if byte >= 0x80 else byte, position + 1
        number, position = _varint(buffer, position)
        return (number >> 1) ^ -(number & 1), position
    if code == _BOOLEAN_KIND:
        return wire == _TRUE, position
    if code == _BINARY_KIND:
        begin, position = _binary_end(buffer, position)
        return buffer[begin:position], position
    if code == _STRUCT_KIND:
        return _struct(buffer, position, kind, depth + 1)
    if code == _LIST_KIND:
        return _list(buffer, position, kind, depth + 1)
    return _member(buffer, position, kind, depth + 1)


def _member(buffer: bytes, position: int, kind: Kind, depth: int) -> tuple[tuple[int, Slots] | None, int]:
    found: tuple[int, Slots] | None = None
    field = 0
    while True:
        header = buffer[position]
        position += 1
        if header == 0:
            return found, position
        if header < 0x10:
            number, position = _varint(buffer, position)
            field = (number >> 1) ^ -(number & 1)
        else:
            field += header >> 4
        wire = header & 0x0F
        entry = kind.fields.get(field)
        slots: Slots = []
        if entry is None or wire != _STRUCT:
            position = _skip(buffer, position, wire, depth)
        else:
            slots, position = _struct(buffer, position, entry[1], depth + 1)
        found = (field, slots)


def _list_header(buffer: bytes, position: int) -> tuple[int, int, int]:
    """Return count, wire type of the elements and the position of the first."""
    header = buffer[position]
    position += 1
    count = header >> 4
    if count == 15:
        count, position = _varint(buffer, position)
    if count > len(buffer) - position:
        # Every element takes a byte at least.
        left = len(buffer) - position
        raise _BadBytes(f"a list of {count} elements where {left} bytes are left", position)
    return count, header & 0x0F, position


def _list(buffer: bytes, position: int, kind: Kind, depth: int) -> tuple[list[Any], int]:
    count, wire, position = _list_header(buffer, position)
    of = kind.of
    if of is None or (count and wire not in of.wires):
        raise _BadBytes(f"a list of wire type {wire} where another is expected", position)
    values: list[Any] = []
    append = values.append
    code = of.code
    if code == _BOOLEAN_KIND:
        # Inside a list a bool is a byte of its own: 1 true, 0 or 2 false.
        end = position + count
        return [byte == _TRUE for byte in buffer[position:end]], end
    if code == _BINARY_KIND:
        for _ in range(count):
            begin, position = _binary_end(buffer, position)
            append(buffer[begin:position])
    elif code == _STRUCT_KIND:
        for _ in range(count):
            value, position = _struct(buffer, position, of, depth + 1)
            append(value)
    else:
        for _ in range(count):
            value, position = _value(buffer, position, of, wire, depth)
            append(value)
    return values, position


def _skip(buffer: bytes, position: int, wire: int, depth: int) -> int:
    """Return the position after a value that nobody asked for."""
    if 4 <= wire <= _I64:
        while buffer[position] >= 0x80:
            position += 1
        return position + 1
    if wire == _BINARY:
        return _binary_end(buffer, position)[1]
    if wire in {_TRUE, _FALSE}:
        return position
    if depth > MAX_DEPTH:
        raise _BadBytes(f"nesting deeper than {MAX_DEPTH}", position)
    if wire == _STRUCT:
        return _skip_struct(buffer, position, depth + 1)
    if wire in {_LIST, _SET}:
        return _skip_list(buffer, position, depth + 1)
    if wire == _MAP:
        return _skip_map(buffer, position, depth + 1)
    width = {_BYTE: 1, _DOUBLE: 8, _UUID: 16}.get(wire)
    if width is None:
        raise _BadBytes(f"unknown wire type {wire}", position)
    return position + width


def _skip_struct(buffer: bytes, position: int, depth: int) -> int:
    while True:
        header = buffer[position]
        position += 1
        if header == 0:
            return position
        if header < 0x10:
            _, position = _varint(buffer, position)
        position = _skip(buffer, position, header & 0x0F, depth)


def _skip_list(buffer: bytes, position: int, depth: int) -> int:
    count, wire, position = _list_header(buffer, position)
    if wire in {_TRUE, _FALSE}:
        return position + count
    for _ in range(count):
        position = _skip(buffer, position, wire, depth)
    return position


def _skip_map(buffer: bytes, position: int, depth: int) -> int:
    count, position = _varint(buffer, position)
    if count > len(buffer) - position:
        raise _BadBytes(f"a map of {count} entries where {len(buffer) - position} bytes are left", position)
    if count == 0:
        return position
    types = buffer[position]
    position += 1
    for _ in range(count):
        for wire in (types >> 4, types & 0x0F):
            # Inside a map a bool is a byte of its own.
            position = position + 1 if wire in {_TRUE, _FALSE} else _skip(buffer, position, wire, depth)
    return position
