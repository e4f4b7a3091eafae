"""Decoder for Thrift's compact protocol; only the requested fields are kept.

A `Kind` defines the wanted field ids and their types. `decode` returns one list with a slot per wanted field, None if
the writer left the field out. `decode_table` and `decode_columns` decode many structs or lists into one flat array of
numbers, in which a byte string is represented by its start and length.

The bytes are not trusted: a length or count is accepted only if that many bytes are left, and nesting is limited.
This is the hot loop of reading metadata, so Cython compiles it with the types in `compact.pxd`. There `data` is a bare
pointer, which may be read up to and including the byte at `size`, the zero that ends every `bytes`. Therefore each
number is checked once, after it was read. In Python the same read raises IndexError.
Source: Thrift's `thrift-compact-protocol.md`.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from parquet_core.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_DEPTH: Final = 32  # the deepest structure of parquet.thrift nests 8 levels

# Marks a number that the writer left out. It is negative, so the length of a missing value is negative too.
MISSING: Final = -(1 << 63)
_MISSING: Final = -(1 << 63)  # MISSING as a C integer

Slots: TypeAlias = list[Any]
Table: TypeAlias = "array[int]"


class Numbers(Protocol):
    """64-bit integers in a numpy or Python array."""

    def tobytes(self) -> bytes:
        """Return the raw bytes of the array."""


class Kind:
    """The type and decoding of a field or list element.

    `code`: the form of the value.
    `wires`: a bit per accepted wire type.
    `kinds`, `slots`: for a struct or union, the kind (None for skipped fields) and the slot of each field id.
    `size`: the number of slots.
    `of`: for a list, the kind of its elements.
    `width`: how many numbers the value takes in a table. A number or bool takes one. A struct takes its end position
    and then its fields, each at its entry of `offsets`. A list with a `sink` appends its elements to that table, and
    takes two: the index of the first element and their count. Every other value takes its start and length.
    `least`: minimum encoded bytes of a list element, which limits the memory that a list can request.
    `plain`: per field id, the offset of a number field, -1 for other fields.
    `is_plain`: True for a struct with only number fields.
    """

    __slots__ = (
        "code",
        "is_plain",
        "kinds",
        "least",
        "of",
        "offsets",
        "plain",
        "sink",
        "size",
        "slots",
        "width",
        "wires",
    )

    def __init__(
        self,
        code: int,
        wires: Iterable[int],
        fields: Mapping[int, Kind],
        of: Kind | None = None,
        sink: int = -1,
        least: int = 1,
    ) -> None:
        last = max(fields, default=-1)
        numbers = {field: slot for slot, field in enumerate(fields)}
        self.code: int = code
        self.wires: int = sum(1 << wire for wire in wires)
        self.kinds: list[Kind | None] = [fields.get(field) for field in range(last + 1)]
        self.slots: list[int] = [numbers.get(field, 0) for field in range(last + 1)]
        self.size: int = len(fields)
        self.of: Kind | None = of
        self.sink: int = sink
        self.least: int = least
        ends = list(accumulate((kind.width for kind in fields.values()), initial=1))
        self.offsets: list[int] = [ends[numbers[field]] if field in numbers else 0 for field in range(last + 1)]
        # Most of the requested fields are numbers; `plain` gives their offsets without Python objects.
        numeric = [field for field, kind in fields.items() if kind.code == _INTEGER_KIND]
        self.plain: Table = array("q", [-1]) * (last + 1)
        for field in numeric:
            self.plain[field] = self.offsets[field]
        self.is_plain: bool = code == _STRUCT_KIND and len(numeric) == len(fields)
        self.width: int = {_INTEGER_KIND: 1, _BOOLEAN_KIND: 1, _STRUCT_KIND: ends[-1]}.get(code, 2)

    def offset(self, *path: int) -> int:
        """Return the index of a field in a struct's row.

        `path`: field ids, outermost first.
        """
        kind, place = self, 0
        for step in path:
            place += kind.offsets[step]
            inner = kind.kinds[step]
            kind = self if inner is None else inner
        return place


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
_ROWS_KIND: Final = 7

INTEGER = Kind(_INTEGER_KIND, (_BYTE, 4, 5, _I64), {})
BOOLEAN = Kind(_BOOLEAN_KIND, (_TRUE, _FALSE), {})
BINARY = Kind(_BINARY_KIND, (_BINARY,), {})
# A struct or list that is skipped now and decoded on demand; its value is its bytes.
ENCODED = Kind(_ENCODED_KIND, (_STRUCT, _LIST, _SET), {})
# Like ENCODED, but for lists only: the bytes of a struct would not decode as a list.
ENCODED_LIST = Kind(_ENCODED_KIND, (_LIST, _SET), {})


def struct(fields: dict[int, Kind], *, least: int = 1) -> Kind:
    """Return the kind of a struct; slots are ordered like `fields`.

    `least`: minimum encoded size: 2 bytes per required field, 1 for the stop byte.
    """
    return Kind(_STRUCT_KIND, (_STRUCT,), fields, least=least)


def member(fields: dict[int, Kind]) -> Kind:
    """Return the kind of a union.

    A union is decoded to the field id and the slots of its set member.
    """
    return Kind(_MEMBER_KIND, (_STRUCT,), fields)


def list_of(kind: Kind) -> Kind:
    """Return the kind of a list."""
    return Kind(_LIST_KIND, (_LIST, _SET), {}, kind)


def rows_of(kind: Kind, sink: int) -> Kind:
    """Return the kind of a list whose structs are decoded into a separate table.

    Each row of the table has the start position of a struct, then its numbers. `sink`: index of the table.
    """
    return Kind(_ROWS_KIND, (_LIST, _SET), {}, kind, sink)


EMPTY = struct({})


_NO_SINKS: Final[list[Table]] = []
# Value of a union without member; shared, since lists of unions may be long. No member has field id 0.
_NO_MEMBER: Final[tuple[int, Slots]] = (0, [])


class _BadBytes(Exception):
    """Damaged bytes: problem and position; the caller adds the place."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(what)
        self.what = what
        self.position = position


def is_compiled() -> bool:
    """True if this module is compiled, which is several times faster."""
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
        raise _malformed(bad, 0, len(buffer), place) from None


def decode_list(buffer: bytes, of: Kind, *, place: str = "") -> list[Any]:
    """Decode the bytes of one list; raises MalformedFile as `decode` does."""
    values: list[Any] = []
    try:
        _list(buffer, 0, of, values, 0)
    except (_BadBytes, IndexError) as bad:
        raise _malformed(bad, 0, len(buffer), place) from None
    return values


def decode_table(buffer: bytes, starts: Numbers, stops: Numbers, spec: Kind, *, place: Callable[[int], str]) -> Table:
    """Decode one struct per byte range into a row of `spec.width` numbers.

    Numbers that the writer left out are MISSING. Raises MalformedFile for the first struct that is damaged or exceeds
    its range. `place`: returns the location of a struct, given its number, for messages.
    """
    return decode_tables(buffer, starts, stops, spec, 0, place=place)[0]


def decode_tables(
    buffer: bytes, starts: Numbers, stops: Numbers, spec: Kind, sinks: int, *, place: Callable[[int], str]
) -> tuple[Table, list[Table]]:
    """Decode structs as `decode_table` does; also return the tables of list elements.

    `sinks`: number of tables of list elements, see `Kind`.
    """
    first, last, at = array("q", starts.tobytes()), array("q", stops.tobytes()), array("q", [0])
    table = array("q", [MISSING]) * (spec.width * len(first))
    filled = [array("q") for _ in range(sinks)]
    try:
        _fill_rows(buffer, first, last, spec, table, at, filled)
    except (_BadBytes, IndexError) as bad:
        raise _malformed(bad, first[at[0]], last[at[0]], place(at[0])) from None
    return table, filled


def decode_columns(
    buffer: bytes, starts: Numbers, stops: Numbers, of: Kind, *, place: Callable[[int], str]
) -> tuple[Table, Table]:
    """Decode one list per byte range into columns of numbers.

    Elements are numbers, byte strings, or structs of numbers. Returns the element count of each list, and the numbers
    of the elements column by column: the first numbers of all elements, then the second numbers, and so on. A negative
    stop means a missing list, whose count is MISSING. Raises MalformedFile as `decode_table` does.
    """
    first, last, at = array("q", starts.tobytes()), array("q", stops.tobytes()), array("q", [0])
    counts = array("q", [MISSING]) * len(first)
    try:
        total = _fill_counts(buffer, first, last, counts, at, of.least)
        table = array("q", [MISSING]) * (total * (of.size if of.is_plain else of.width))
        _fill_columns(buffer, first, last, of, table, at, total)
    except (_BadBytes, IndexError) as bad:
        raise _malformed(bad, first[at[0]], last[at[0]], place(at[0])) from None
    return counts, table


def count_lists(buffer: bytes, starts: Numbers, stops: Numbers, *, place: Callable[[int], str]) -> Table:
    """Return the element count of the list in each byte range.

    A negative stop means a missing list, whose count is MISSING. Raises MalformedFile as `decode_table` does.
    """
    first, last, at = array("q", starts.tobytes()), array("q", stops.tobytes()), array("q", [0])
    counts = array("q", [MISSING]) * len(first)
    try:
        _fill_counts(buffer, first, last, counts, at, 1)
    except (_BadBytes, IndexError) as bad:
        raise _malformed(bad, first[at[0]], last[at[0]], place(at[0])) from None
    return counts


def _fill_rows(
    buffer: bytes, starts: Table, stops: Table, spec: Kind, table: Table, at: Table, sinks: list[Table]
) -> None:
    for i in range(len(starts)):
        at[0] = i
        _inside(buffer, starts[i], stops[i])
        _row(buffer, starts[i], stops[i], spec, table, i * spec.width, 0, sinks)


def _fill_counts(buffer: bytes, starts: Table, stops: Table, counts: Table, at: Table, least: int) -> int:
    total = 0
    for i in range(len(starts)):
        at[0] = i
        if stops[i] >= 0:
            _inside(buffer, starts[i], stops[i])
            count = _count(buffer, starts[i], stops[i], least)
            counts[i] = count
            total += count
    return total


def _fill_columns(buffer: bytes, starts: Table, stops: Table, of: Kind, table: Table, at: Table, total: int) -> None:
    row = 0
    for i in range(len(starts)):
        at[0] = i
        if stops[i] >= 0:
            row = _columns(buffer, starts[i], stops[i], of, table, row, total)


def _inside(buffer: bytes, start: int, stop: int) -> None:
    # Compiled code reads this range through a bare pointer.
    if not 0 <= start <= stop <= len(buffer):
        raise ValueError(f"range {start} to {stop} of {len(buffer)} bytes")


def _malformed(bad: Exception, start: int, stop: int, place: str) -> MalformedFile:
    where = f"{place}: " if place else ""
    if isinstance(bad, _BadBytes):
        return MalformedFile(f"{where}{bad.what} at byte {bad.position - start} of {stop - start}; the file is damaged")
    return MalformedFile(f"{where}metadata ends early, after {stop - start} bytes; the file is cut off")


# Functions below that take a position return the position after the bytes that they read, unless documented otherwise.


def _after(data: bytes, position: int, size: int) -> int:
    """Return the position after a varint."""
    while data[position] >= 0x80:
        position += 1
    if position >= size:
        raise IndexError
    return position + 1


def _varint(data: bytes, position: int, stop: int) -> int:
    """Return the varint in the bytes from `position` to `stop`."""
    if stop - position >= 10 and (stop - position > 10 or data[stop - 1] > 1):
        raise _BadBytes("a number of more than 64 bits", stop)
    result = 0
    shift = 0
    while position < stop:
        part = data[position] & 0x7F
        result |= part << shift
        shift += 7
        position += 1
    return result


def _zigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _end(position: int, size: int, length: int) -> int:
    """Return the end of a value; raises _BadBytes beyond `size`."""
    if length > size - position:
        raise _BadBytes(f"a value of {length} bytes where {size - position} are left", position)
    return position + length


def _struct(buffer: bytes, position: int, spec: Kind, slots: Slots, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise _BadBytes(f"nesting deeper than {MAX_DEPTH}", position)
    data = buffer
    size = len(buffer)
    kinds = spec.kinds
    known = len(kinds)
    field = 0
    while True:
        if position >= size:
            raise IndexError
        header = data[position]
        position += 1
        if header == 0:
            return position
        if header >= 0x10:
            field += header >> 4
        else:
            stop = _after(data, position, size)
            field = _zigzag(_varint(data, position, stop))
            position = stop
        wire = header & 0x0F
        kind = kinds[field] if 0 <= field < known else None
        # A field of an unexpected type is skipped, as Thrift's own readers do.
        if kind is None or not kind.wires >> wire & 1:
            position = _skip(data, position, size, wire, depth)
            continue
        slot = spec.slots[field]
        code = kind.code
        if code == _INTEGER_KIND and wire != _BYTE:
            stop = _after(data, position, size)
            signed = _zigzag(_varint(data, position, stop))
            slots[slot] = signed
            position = stop
        elif code == _BINARY_KIND:
            stop = _after(data, position, size)
            position = _end(stop, size, _varint(data, position, stop))
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
            stop = _skip(data, position, size, wire, depth)
            slots[slot] = buffer[position:stop]
            position = stop
        elif code == _BOOLEAN_KIND:
            slots[slot] = wire == _TRUE
        else:
            stop = _end(position, size, 1)
            byte = data[position]
            slots[slot] = byte - 256 if byte >= 0x80 else byte
            position = stop


def _member(buffer: bytes, position: int, kind: Kind, slots: Slots, slot: int, depth: int) -> int:
    # A repeated union field replaces the earlier one, even if it is empty.
    slots[slot] = _NO_MEMBER
    data = buffer
    size = len(buffer)
    field = 0
    while True:
        if position >= size:
            raise IndexError
        header = data[position]
        position += 1
        if header == 0:
            return position
        if header >= 0x10:
            field += header >> 4
        else:
            stop = _after(data, position, size)
            field = _zigzag(_varint(data, position, stop))
            position = stop
        found = kind.kinds[field] if 0 <= field < len(kind.kinds) else None
        inner: Slots = [] if found is None else [None] * found.size
        slots[slot] = (field, inner)
        if found is None or header & 0x0F != _STRUCT:
            position = _skip(data, position, size, header & 0x0F, depth)
        else:
            position = _struct(buffer, position, found, inner, depth + 1)


def _list_header(data: bytes, position: int, size: int) -> int:
    """Return the position of a list's first element."""
    if position >= size:
        raise IndexError
    return _after(data, position + 1, size) if data[position] >= 0xF0 else position + 1


def _count(data: bytes, position: int, size: int, least: int) -> int:
    """Return the element count in the header of the list at `position`.

    Raises _BadBytes if that many elements of at least `least` bytes do not fit.
    """
    stop = _list_header(data, position, size)
    count = data[position] >> 4
    if count == 15:
        count = _varint(data, position + 1, stop)
    if count > (size - stop) // least:
        raise _BadBytes(f"a list of {count} elements, {least} bytes each or more, where {size - stop} are left", stop)
    return count


def _expect(of: Kind | None, wire: int, count: int, position: int) -> None:
    if of is None or (count and not of.wires >> wire & 1):
        raise _BadBytes(f"a list of wire type {wire} where another is expected", position)


def _list(buffer: bytes, position: int, of: Kind | None, values: list[Any], depth: int) -> int:
    data = buffer
    size = len(buffer)
    count = _count(data, position, size, 1 if of is None else of.least)
    wire = data[position] & 0x0F
    position = _list_header(data, position, size)
    _expect(of, wire, count, position)
    if of is None:
        return position
    code = of.code
    for _ in range(count):
        if code == _STRUCT_KIND:
            inner: Slots = [None] * of.size
            values.append(inner)
            position = _struct(buffer, position, of, inner, depth + 1)
        elif code == _ENCODED_KIND:
            stop = _skip(data, position, size, wire, depth)
            values.append(buffer[position:stop])
            position = stop
        elif code == _BOOLEAN_KIND:
            # In a list, a bool takes one byte: 1 is true, 0 and 2 are false.
            stop = _end(position, size, 1)
            values.append(data[position] == _TRUE)
            position = stop
        elif code == _MEMBER_KIND:
            values.append(None)
            position = _member(buffer, position, of, values, len(values) - 1, depth + 1)
        elif code == _INTEGER_KIND and wire == _BYTE:
            stop = _end(position, size, 1)
            byte = data[position]
            values.append(byte - 256 if byte >= 0x80 else byte)
            position = stop
        elif code == _LIST_KIND:
            nested: list[Any] = []
            values.append(nested)
            position = _list(buffer, position, of.of, nested, depth + 1)
        else:
            stop = _after(data, position, size)
            if code == _BINARY_KIND:
                position = _end(stop, size, _varint(data, position, stop))
                values.append(buffer[stop:position])
            else:
                signed = _zigzag(_varint(data, position, stop))
                values.append(signed)
                position = stop
    return position


# Decoding of structs and lists into rows of a table.


def _row(
    data: bytes, position: int, size: int, spec: Kind, table: Table, base: int, depth: int, sinks: list[Table]
) -> int:
    if depth > MAX_DEPTH:
        raise _BadBytes(f"nesting deeper than {MAX_DEPTH}", position)
    kinds = spec.kinds
    offsets = spec.offsets
    plain = spec.plain
    known = len(kinds)
    field = 0
    while True:
        if position >= size:
            raise IndexError
        header = data[position]
        position += 1
        if header == 0:
            table[base] = position
            return position
        if header >= 0x10:
            field += header >> 4
        else:
            stop = _after(data, position, size)
            field = _zigzag(_varint(data, position, stop))
            position = stop
        wire = header & 0x0F
        if 4 <= wire <= _I64 and 0 <= field < known and plain[field] >= 0:
            stop = _after(data, position, size)
            table[base + plain[field]] = _zigzag(_varint(data, position, stop))
            position = stop
            continue
        kind = kinds[field] if 0 <= field < known else None
        if kind is None or not kind.wires >> wire & 1:
            position = _skip(data, position, size, wire, depth)
            continue
        cell = offsets[field]
        cell += base
        if kind.code == _BOOLEAN_KIND:
            table[cell] = wire == _TRUE
        else:
            position = _cell(data, position, size, kind, wire, table, cell, depth, sinks)


def _cell(
    data: bytes,
    position: int,
    size: int,
    kind: Kind,
    wire: int,
    table: Table,
    cell: int,
    depth: int,
    sinks: list[Table],
) -> int:
    code = kind.code
    if code == _INTEGER_KIND and wire != _BYTE:
        stop = _after(data, position, size)
        table[cell] = _zigzag(_varint(data, position, stop))
        return stop
    if code == _BINARY_KIND:
        stop = _after(data, position, size)
        position = _end(stop, size, _varint(data, position, stop))
        table[cell] = stop
        table[cell + 1] = position - stop
        return position
    if code == _STRUCT_KIND:
        # A repeated struct field replaces the earlier one completely.
        for column in range(kind.width):
            table[cell + column] = _MISSING
        return _row(data, position, size, kind, table, cell, depth + 1, sinks)
    if code == _INTEGER_KIND:
        stop = _end(position, size, 1)
        byte = data[position]
        table[cell] = byte - 256 if byte >= 0x80 else byte
        return stop
    if code == _ROWS_KIND:
        return _sunk(data, position, size, kind, table, cell, depth, sinks)
    stop = _skip(data, position, size, wire, depth)
    table[cell] = position
    table[cell + 1] = stop - position
    return stop


def _sunk(
    data: bytes, position: int, size: int, kind: Kind, table: Table, cell: int, depth: int, sinks: list[Table]
) -> int:
    of = kind.of
    count = _count(data, position, size, 1 if of is None else of.least)
    wire = data[position] & 0x0F
    position = _list_header(data, position, size)
    _expect(of, wire, count, position)
    if of is None:
        return position
    sink = sinks[kind.sink]
    first = position
    width = 1 + of.width
    table[cell] = len(sink) // width
    table[cell + 1] = count
    row = array("q", [MISSING]) * width
    numbers: Table = row
    for _ in range(count):
        numbers[0] = position
        for column in range(1, width):
            numbers[column] = _MISSING
        position = _row(data, position, size, of, numbers, 1, depth + 1, sinks)
        sink.extend(row)
    # Check the minimum size that `_count` assumed, so that the encoded bytes limit the memory of all lists together.
    if position - first < count * of.least:
        raise _BadBytes(f"a list of {count} elements, {of.least} bytes each or more, in {position - first}", position)
    return position


def _rows(data: bytes, position: int, size: int, of: Kind, table: Table, cell: int) -> int:
    count = _count(data, position, size, of.least)
    wire = data[position] & 0x0F
    position = _list_header(data, position, size)
    _expect(of, wire, count, position)
    width = of.width
    for _ in range(count):
        if of.code == _STRUCT_KIND:
            position = _row(data, position, size, of, table, cell, 0, _NO_SINKS)
        elif of.code == _BOOLEAN_KIND:
            stop = _end(position, size, 1)
            table[cell] = data[position] == _TRUE
            position = stop
        else:
            position = _cell(data, position, size, of, wire, table, cell, 0, _NO_SINKS)
        cell += width
    return position


def _columns(data: bytes, position: int, size: int, of: Kind, table: Table, row: int, total: int) -> int:
    """Write list elements to rows from `row` on; return the next row.

    `table`: consecutive columns of `total` rows each.
    """
    first = position
    count = _count(data, position, size, of.least)
    wire = data[position] & 0x0F
    position = _list_header(data, position, size)
    _expect(of, wire, count, position)
    if of.is_plain:
        _plain_columns(data, position, size, of, table, row, total, count)
    elif of.code == _BINARY_KIND:
        for i in range(row, row + count):
            stop = _after(data, position, size)
            position = _end(stop, size, _varint(data, position, stop))
            table[i] = stop
            table[total + i] = position - stop
    elif of.code == _INTEGER_KIND and wire != _BYTE:
        for i in range(row, row + count):
            stop = _after(data, position, size)
            table[i] = _zigzag(_varint(data, position, stop))
            position = stop
    elif of.width == 1:
        _rows(data, first, size, of, table, row)
    else:
        raise ValueError("a kind of list that has no columns")
    return row + count


def _plain_columns(
    data: bytes, position: int, size: int, of: Kind, table: Table, row: int, total: int, count: int
) -> None:
    plain = of.plain
    known = len(plain)
    for i in range(row, row + count):
        field = 0
        while True:
            if position >= size:
                raise IndexError
            header = data[position]
            position += 1
            if header == 0:
                break
            if header >= 0x10:
                field += header >> 4
            else:
                stop = _after(data, position, size)
                field = _zigzag(_varint(data, position, stop))
                position = stop
            wire = header & 0x0F
            if not (_BYTE <= wire <= _I64 and 0 <= field < known and plain[field] >= 0):
                position = _skip(data, position, size, wire, 0)
            elif wire == _BYTE:
                stop = _end(position, size, 1)
                byte = data[position]
                table[(plain[field] - 1) * total + i] = byte - 256 if byte >= 0x80 else byte
                position = stop
            else:
                stop = _after(data, position, size)
                table[(plain[field] - 1) * total + i] = _zigzag(_varint(data, position, stop))
                position = stop


# Skipping of fields that are not wanted.


def _skip(data: bytes, position: int, size: int, wire: int, depth: int) -> int:
    if 4 <= wire <= _I64:
        return _after(data, position, size)
    if wire == _BINARY:
        stop = _after(data, position, size)
        return _end(stop, size, _varint(data, position, stop))
    if wire in {_TRUE, _FALSE}:
        return position
    if depth > MAX_DEPTH:
        raise _BadBytes(f"nesting deeper than {MAX_DEPTH}", position)
    if wire == _STRUCT:
        return _skip_struct(data, position, size, depth + 1)
    if wire in {_LIST, _SET}:
        return _skip_list(data, position, size, depth + 1)
    if wire == _MAP:
        return _skip_map(data, position, size, depth + 1)
    if wire in {_BYTE, _DOUBLE, _UUID}:
        return _end(position, size, 1 if wire == _BYTE else 8 if wire == _DOUBLE else 16)
    raise _BadBytes(f"unknown wire type {wire}", position)


def _skip_struct(data: bytes, position: int, size: int, depth: int) -> int:
    while True:
        if position >= size:
            raise IndexError
        header = data[position]
        position += 1
        if header == 0:
            return position
        if header < 0x10:
            position = _after(data, position, size)
        wire = header & 0x0F
        # The most common wire types are skipped inline.
        if 4 <= wire <= _I64:
            while data[position] >= 0x80:
                position += 1
            position += 1
        elif wire == _BINARY and data[position] < 0x80:
            position += 1 + data[position]
            if position > size:
                raise IndexError
        elif wire == _LIST and depth <= MAX_DEPTH:
            position = _skip_list(data, position, size, depth + 1)
        else:
            position = _skip(data, position, size, wire, depth)


def _skip_list(data: bytes, position: int, size: int, depth: int) -> int:
    count = _count(data, position, size, 1)
    wire = data[position] & 0x0F
    position = _list_header(data, position, size)
    if wire in {_TRUE, _FALSE}:
        return _end(position, size, count)
    # The most common wire types are skipped inline.
    if 4 <= wire <= _I64:
        for _ in range(count):
            if position >= size:
                raise IndexError
            while data[position] >= 0x80:
                position += 1
            position += 1
    elif wire == _BINARY:
        for _ in range(count):
            if data[position] < 0x80:
                position += 1 + data[position]
                if position > size:
                    raise IndexError
            else:
                position = _skip(data, position, size, wire, depth)
    elif wire == _STRUCT and depth <= MAX_DEPTH:
        for _ in range(count):
            position = _skip_struct(data, position, size, depth + 1)
    else:
        for _ in range(count):
            position = _skip(data, position, size, wire, depth)
    if position > size:
        raise IndexError
    return position


def _skip_map(data: bytes, position: int, size: int, depth: int) -> int:
    stop = _after(data, position, size)
    count = _varint(data, position, stop)
    if count > size - stop:
        raise _BadBytes(f"a map of {count} entries where {size - stop} bytes are left", stop)
    if count == 0:
        return stop
    stop = _end(stop, size, 1)
    types = data[stop - 1]
    position = stop
    for _ in range(count):
        for wire in (types >> 4, types & 0x0F):
            # In a map, a bool takes one byte.
            position = _end(position, size, 1) if wire in {_TRUE, _FALSE} else _skip(data, position, size, wire, depth)
    return position
