"""Thrift's compact protocol, read by specification: only the named fields are kept, the rest is skipped.

A `Struct` says which field ids are wanted and what they hold; `decode` returns one list with a slot
per wanted field, None where the writer left the field out. The bytes are not trusted: a length or a
count is believed only when that many bytes are left, and nesting is bounded.

This is the hot loop of reading metadata: `compact.pxd` gives it the types by which Cython compiles it. As
Python too, positions travel in local variables and a number of one byte is decoded in place.
Source: Thrift's `thrift-compact-protocol.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parquet_core.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_DEPTH: Final = 32  # the deepest structure of parquet.thrift nests 8 levels

Slots: TypeAlias = list[Any]


class Kind:
    """What a field or a list element holds.

    `code` names the form; `wires` has a bit for each wire type it may arrive in. A struct or union has
    `kinds` by field id, None for a field that is passed over, and the slot each goes into; `size` is the
    number of its slots. `of` is the kind of a list's elements.
    """

    __slots__ = ("code", "kinds", "of", "size", "slots", "wires")

    def __init__(self, code: int, wires: Iterable[int], fields: Mapping[int, Kind], of: Kind | None = None) -> None:
        last = max(fields, default=-1)
        numbers = {field: slot for slot, field in enumerate(fields)}
        self.code: int = code
        self.wires: int = sum(1 << wire for wire in wires)
        self.kinds: list[Kind | None] = [fields.get(field) for field in range(last + 1)]
        self.slots: list[int] = [numbers.get(field, 0) for field in range(last + 1)]
        self.size: int = len(fields)
        self.of: Kind | None = of


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
_ENCODED_KIND: Final = 6

INTEGER = Kind(_INTEGER_KIND, (_BYTE, 4, 5, _I64), {})
BOOLEAN = Kind(_BOOLEAN_KIND, (_TRUE, _FALSE), {})
BINARY = Kind(_BINARY_KIND, (_BINARY,), {})
# A struct or list that is passed over now and decoded when it is asked for; its value is its bytes.
ENCODED = Kind(_ENCODED_KIND, (_STRUCT, _LIST, _SET), {})


def struct(fields: dict[int, Kind]) -> Kind:
    """Return the kind of a struct; the slots follow the order of the ids given."""
    return Kind(_STRUCT_KIND, (_STRUCT,), fields)


def member(fields: dict[int, Kind]) -> Kind:
    """Return the kind of a union of which only the member set matters: its value is (field id, slots)."""
    return Kind(_MEMBER_KIND, (_STRUCT,), fields)


def list_of(kind: Kind) -> Kind:
    """Return the kind of a list."""
    return Kind(_LIST_KIND, (_LIST, _SET), {}, kind)


EMPTY = struct({})


class _BadBytes(Exception):
    """What is wrong and where; `decode` adds the place."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} at byte {position}")


def is_compiled() -> bool:
    """Tell whether this runs as machine code; as Python it is several times slower."""
    return not __file__.endswith(".py")


def decode(buffer: bytes, spec: Kind, *, start: int = 0, place: str = "") -> tuple[Slots, int]:
    """Decode one struct that begins at `start`.

    Returns the slots and the position after the struct. Raises MalformedFile, which names `place`
    and the byte offset inside `buffer`.
    """
    slots: Slots = [None] * spec.size
    try:
        return slots, _struct(buffer, start, spec, slots, 0)
    except (_BadBytes, IndexError) as bad:
        raise _malformed(bad, buffer, place) from None


def decode_list(buffer: bytes, of: Kind, *, place: str = "") -> list[Any]:
    """Decode the bytes of one list; raises MalformedFile as `decode` does."""
    values: list[Any] = []
    try:
        _list(buffer, 0, of, values, 0)
    except (_BadBytes, IndexError) as bad:
        raise _malformed(bad, buffer, place) from None
    return values


def _malformed(bad: Exception, buffer: bytes, place: str) -> MalformedFile:
    where = f"{place}: " if place else ""
    if isinstance(bad, _BadBytes):
        return MalformedFile(f"{where}{bad} of {len(buffer)}; the file is damaged")
    return MalformedFile(f"{where}metadata ends early, after {len(buffer)} bytes; the file is cut off")


# Every function below returns the position after what it read; values go into the list it is given.


def _after(buffer: bytes, position: int) -> int:
    """Return the position after a varint."""
    while buffer[position] >= 0x80:
        position += 1
    return position + 1


def _varint(buffer: bytes, position: int, stop: int) -> int:
    """Return the varint that stands from `position` to `stop`."""
    if stop - position >= 10 and (stop - position > 10 or buffer[stop - 1] > 1):
        raise _BadBytes("a number of more than 64 bits", stop)
    result = 0
    shift = 0
    while position < stop:
        part = buffer[position] & 0x7F
        result |= part << shift
        shift += 7
        position += 1
    return result


def _zigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _end(buffer: bytes, position: int, length: int) -> int:
    """Return where a value of `length` bytes ends, which must be inside of the buffer."""
    if length > len(buffer) - position:
        raise _BadBytes(f"a value of {length} bytes where {len(buffer) - position} are left", position)
    return position + length


def _struct(buffer: bytes, position: int, spec: Kind, slots: Slots, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise _BadBytes(f"nesting deeper than {MAX_DEPTH}", position)
    kinds = spec.kinds
    known = len(kinds)
    field = 0
    while True:
        header = buffer[position]
        position += 1
        if header == 0:
            return position
        if header >= 0x10:
            field += header >> 4
        else:
            stop = _after(buffer, position)
            field = _zigzag(_varint(buffer, position, stop))
            position = stop
        wire = header & 0x0F
        kind = kinds[field] if 0 <= field < known else None
        # A field of another type than the specification's is passed over, as Thrift's own readers do.
        if kind is None or not kind.wires >> wire & 1:
            position = _skip(buffer, position, wire, depth)
            continue
        slot = spec.slots[field]
        code = kind.code
        if code == _INTEGER_KIND and wire != _BYTE:
            number = buffer[position]
            stop = position + 1
            if number >= 0x80:
                stop = _after(buffer, position)
                number = _varint(buffer, position, stop)
            signed = (number >> 1) ^ -(number & 1)
            slots[slot] = signed
            position = stop
        elif code == _BINARY_KIND:
            number = buffer[position]
            stop = position + 1
            if number >= 0x80:
                stop = _after(buffer, position)
                number = _varint(buffer, position, stop)
            position = _end(buffer, stop, number)
            slots[slot] = buffer[stop:position]
        elif code == _STRUCT_KIND:
            inner: Slots = [None] * kind.size
            slots[slot] = inner
            position = _struct(buffer, position, kind, inner, depth + 1)
        elif code == _LIST_KIND:
            values: list[Any] = []
            slots[slot] = values
            position = _list(buffer, position, kind.of, values, depth + 1)
        elif code == _MEMBER_KIND:
            position = _member(buffer, position, kind, slots, slot, depth + 1)
        elif code == _ENCODED_KIND:
            stop = _skip(buffer, position, wire, depth)
            slots[slot] = buffer[position:stop]
            position = stop
        elif code == _BOOLEAN_KIND:
            slots[slot] = wire == _TRUE
        else:
            byte = buffer[position]
            slots[slot] = byte - 256 if byte >= 0x80 else byte
            position += 1


def _member(buffer: bytes, position: int, kind: Kind, slots: Slots, slot: int, depth: int) -> int:
    field = 0
    while True:
        header = buffer[position]
        position += 1
        if header == 0:
            return position
        if header >= 0x10:
            field += header >> 4
        else:
            stop = _after(buffer, position)
            field = _zigzag(_varint(buffer, position, stop))
            position = stop
        found = kind.kinds[field] if 0 <= field < len(kind.kinds) else None
        inner: Slots = [] if found is None else [None] * found.size
        slots[slot] = (field, inner)
        if found is None or header & 0x0F != _STRUCT:
            position = _skip(buffer, position, header & 0x0F, depth)
        else:
            position = _struct(buffer, position, found, inner, depth + 1)


def _count(buffer: bytes, position: int, stop: int) -> int:
    """Return the number of elements that a list's header, from `position` to `stop`, claims."""
    count = buffer[position] >> 4
    if count == 15:
        count = _varint(buffer, position + 1, stop)
    if count > len(buffer) - stop:
        # Every element takes a byte at least.
        raise _BadBytes(f"a list of {count} elements where {len(buffer) - stop} bytes are left", stop)
    return count


def _list(buffer: bytes, position: int, of: Kind | None, values: list[Any], depth: int) -> int:
    wire = buffer[position] & 0x0F
    stop = _after(buffer, position + 1) if buffer[position] >= 0xF0 else position + 1
    count = _count(buffer, position, stop)
    position = stop
    if of is None or (count and not of.wires >> wire & 1):
        raise _BadBytes(f"a list of wire type {wire} where another is expected", position)
    code = of.code
    for _ in range(count):
        if code == _STRUCT_KIND:
            inner: Slots = [None] * of.size
            values.append(inner)
            position = _struct(buffer, position, of, inner, depth + 1)
        elif code == _ENCODED_KIND:
            stop = _skip(buffer, position, wire, depth)
            values.append(buffer[position:stop])
            position = stop
        elif code == _BOOLEAN_KIND:
            # Inside a list a bool is a byte of its own: 1 true, 0 or 2 false.
            values.append(buffer[position] == _TRUE)
            position += 1
        elif code == _MEMBER_KIND:
            values.append(None)
            position = _member(buffer, position, of, values, len(values) - 1, depth + 1)
        elif code == _INTEGER_KIND and wire == _BYTE:
            byte = buffer[position]
            values.append(byte - 256 if byte >= 0x80 else byte)
            position += 1
        elif code == _LIST_KIND:
            nested: list[Any] = []
            values.append(nested)
            position = _list(buffer, position, of.of, nested, depth + 1)
        else:
            number = buffer[position]
            stop = position + 1
            if number >= 0x80:
                stop = _after(buffer, position)
                number = _varint(buffer, position, stop)
            if code == _BINARY_KIND:
                position = _end(buffer, stop, number)
                values.append(buffer[stop:position])
            else:
                signed = (number >> 1) ^ -(number & 1)
                values.append(signed)
                position = stop
    return position


def _skip(buffer: bytes, position: int, wire: int, depth: int) -> int:
    """Pass over a value that nobody asked for."""
    if 4 <= wire <= _I64:
        return _after(buffer, position)
    if wire == _BINARY:
        stop = _after(buffer, position)
        return _end(buffer, stop, _varint(buffer, position, stop))
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
    if wire in {_BYTE, _DOUBLE, _UUID}:
        return _end(buffer, position, {_BYTE: 1, _DOUBLE: 8, _UUID: 16}[wire])
    raise _BadBytes(f"unknown wire type {wire}", position)


def _skip_struct(buffer: bytes, position: int, depth: int) -> int:
    while True:
        header = buffer[position]
        position += 1
        if header == 0:
            return position
        if header < 0x10:
            position = _after(buffer, position)
        position = _skip(buffer, position, header & 0x0F, depth)


def _skip_list(buffer: bytes, position: int, depth: int) -> int:
    wire = buffer[position] & 0x0F
    stop = _after(buffer, position + 1) if buffer[position] >= 0xF0 else position + 1
    count = _count(buffer, position, stop)
    if wire in {_TRUE, _FALSE}:
        return _end(buffer, stop, count)
    for _ in range(count):
        stop = _skip(buffer, stop, wire, depth)
    return stop


def _skip_map(buffer: bytes, position: int, depth: int) -> int:
    stop = _after(buffer, position)
    count = _varint(buffer, position, stop)
    if count > len(buffer) - stop:
        raise _BadBytes(f"a map of {count} entries where {len(buffer) - stop} bytes are left", stop)
    if count == 0:
        return stop
    types = buffer[stop]
    position = stop + 1
    for _ in range(count):
        for wire in (types >> 4, types & 0x0F):
            # Inside a map a bool is a byte of its own.
            position = position + 1 if wire in {_TRUE, _FALSE} else _skip(buffer, position, wire, depth)
    return position
