"""Thrift's compact protocol, read by specification: only the named fields are kept, the rest is skipped.

A `Struct` says which field ids are wanted and what they hold; `decode` returns one list with a slot
per wanted field, None where the writer left the field out. The bytes are not trusted: a length or a
count is believed only when that many bytes are left, and nesting is bounded.
Source: Thrift's `thrift-compact-protocol.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from parquet_core.errors import MalformedFile

MAX_DEPTH = 32  # the deepest structure of parquet.thrift nests 8 levels

# Wire types.
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = range(14)
_FIXED_WIDTHS = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
_INTEGERS = (_I16, _I32, _I64)

Slots: TypeAlias = list[Any]


@dataclass(frozen=True, slots=True)
class Integer:
    """An i8, i16, i32 or i64."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """A bool."""


@dataclass(frozen=True, slots=True)
class Binary:
    """A string or binary; the value is bytes."""


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct or union: field id to what it holds; the slots follow the order of the ids given."""

    fields: dict[int, Kind]


@dataclass(frozen=True, slots=True)
class List:
    """A list of one kind."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Member:
    """A union of which only the member set matters: the value is (field id, its slots)."""

    fields: dict[int, Struct]


Kind: TypeAlias = Integer | Boolean | Binary | Struct | List | Member

_WIRES: dict[type, tuple[int, ...]] = {
    Integer: (_BYTE, *_INTEGERS),
    Boolean: (_TRUE, _FALSE),
    Binary: (_BINARY,),
    Struct: (_STRUCT,),
    Member: (_STRUCT,),
    List: (_LIST, _SET),
}

INTEGER, BOOLEAN, BINARY = Integer(), Boolean(), Binary()
EMPTY = Struct({})


def decode(buffer: bytes, spec: Struct, *, start: int = 0, place: str = "") -> tuple[Slots, int]:
    """Decode one struct that begins at `start`.

    Returns the slots and the position after the struct. Raises MalformedFile, which names `place`
    and the byte offset inside `buffer`.
    """
    reader = _Reader(buffer, start)
    try:
        return reader.struct(spec, 0), reader.position
    except _BadBytes as bad:
        where = f"{place}: " if place else ""
        raise MalformedFile(f"{where}{bad} at byte {reader.position} of {len(buffer)}; the file is damaged") from None
    except IndexError:
        where = f"{place}: " if place else ""
        raise MalformedFile(f"{where}metadata ends early, after {len(buffer)} bytes; the file is cut off") from None


class _BadBytes(Exception):
    """What is wrong; `decode` adds the place."""


class _Reader:
    __slots__ = ("buffer", "end", "position")

    def __init__(self, buffer: bytes, position: int) -> None:
        self.buffer = buffer
        self.position = position
        self.end = len(buffer)

    def varint(self) -> int:
        buffer, position = self.buffer, self.position
        byte = buffer[position]
        position += 1
        if byte < 0x80:
            self.position = position
            return byte
        result, shift = byte & 0x7F, 7
        while True:
            byte = buffer[position]
            position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise _BadBytes("a number of more than 64 bits")
        self.position = position
        if result >= 1 << 64:
            raise _BadBytes("a number of more than 64 bits")
        return result

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def byte(self) -> int:
        byte = self.buffer[self.position]
        self.position += 1
        return byte - 256 if byte >= 128 else byte

    def binary(self) -> bytes:
        length = self.varint()
        start = self.position
        stop = start + length
        if stop > self.end:
            raise _BadBytes(f"a value of {length} bytes where {self.end - start} are left")
        self.position = stop
        return self.buffer[start:stop]

    def struct(self, spec: Struct, depth: int) -> Slots:
        fields = spec.fields
        slots: dict[int, Any] = dict.fromkeys(fields)
        for field, wire in self._field_headers(depth):
            kind = fields.get(field)
            # A field of another type than the specification's is passed over, as Thrift's own readers do.
            if kind is None or wire not in _WIRES[type(kind)]:
                self.skip(wire, depth)
            else:
                slots[field] = self.value(kind, wire, depth)
        return list(slots.values())

    def _field_headers(self, depth: int) -> Any:
        """Yield (field id, wire type); the caller consumes the value before the next step."""
        if depth > MAX_DEPTH:
            raise _BadBytes(f"nesting deeper than {MAX_DEPTH}")
        field = 0
        while True:
            header = self.buffer[self.position]
            self.position += 1
            if header == _STOP:
                return
            delta = header >> 4
            field = field + delta if delta else self.zigzag()
            yield field, header & 0x0F

    def value(self, kind: Kind, wire: int, depth: int) -> Any:
        match kind:
            case Integer():
                return self.byte() if wire == _BYTE else self.zigzag()
            case Binary():
                return self.binary()
            case Boolean():
                return wire == _TRUE
            case Struct():
                return self.struct(kind, depth + 1)
            case List():
                return self.sequence(kind.of, depth + 1)
            case Member():
                return self.member(kind, depth + 1)

    def member(self, kind: Member, depth: int) -> tuple[int, Slots] | None:
        found = None
        for field, wire in self._field_headers(depth):
            spec = kind.fields.get(field)
            if spec is not None and wire == _STRUCT:
                found = (field, self.struct(spec, depth + 1))
            else:
                found = (field, [])
                self.skip(wire, depth)
        return found

    def list_header(self) -> tuple[int, int]:
        header = self.buffer[self.position]
        self.position += 1
        count, wire = header >> 4, header & 0x0F
        if count == 15:
            count = self.varint()
        if count > self.end - self.position:
            # Every element takes a byte at least.
            raise _BadBytes(f"a list of {count} elements where {self.end - self.position} bytes are left")
        return count, wire

    def sequence(self, kind: Kind, depth: int) -> list[Any]:
        count, wire = self.list_header()
        if count and wire not in _WIRES[type(kind)]:
            raise _BadBytes(f"a list of wire type {wire} where {type(kind).__name__.lower()} is expected")
        match kind:
            case Binary():
                binary = self.binary
                return [binary() for _ in range(count)]
            case Boolean():
                # Inside a list a bool is a byte of its own: 1 true, 0 or 2 false.
                start = self.position
                self.position += count
                return [byte == _TRUE for byte in self.buffer[start : self.position]]
        return [self.value(kind, wire, depth) for _ in range(count)]

    def skip(self, wire: int, depth: int) -> None:
        if wire in _INTEGERS:
            self.varint()
        elif wire == _BINARY:
            self.binary()
        elif wire == _STRUCT:
            for _, inner in self._field_headers(depth + 1):
                self.skip(inner, depth + 1)
        elif wire in {_LIST, _SET}:
            self._skip_elements(*self.list_header(), depth)
        elif wire == _MAP:
            self._skip_map(depth)
        elif wire in _FIXED_WIDTHS:
            self._advance(_FIXED_WIDTHS[wire])
        else:
            raise _BadBytes(f"unknown wire type {wire}")

    def _skip_elements(self, count: int, wire: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise _BadBytes(f"nesting deeper than {MAX_DEPTH}")
        if wire in {_TRUE, _FALSE}:
            self._advance(count)
            return
        for _ in range(count):
            self.skip(wire, depth + 1)

    def _skip_map(self, depth: int) -> None:
        count = self.varint()
        if count > self.end - self.position:
            raise _BadBytes(f"a map of {count} entries where {self.end - self.position} bytes are left")
        if count == 0:
            return
        types = self.buffer[self.position]
        self.position += 1
        for _ in range(count):
            self._skip_elements(1, types >> 4, depth)
            self._skip_elements(1, types & 0x0F, depth)

    def _advance(self, width: int) -> None:
        if self.position + width > self.end:
            raise _BadBytes("a value that ends beyond the metadata")
        self.position += width
