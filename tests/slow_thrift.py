"""A simple reader and writer of Thrift's compact protocol: the reference for the columnar decoder.

A struct is a list of fields [id, wire, value] in the order of the bytes; a list is (wire, values), a map (key wire,
value wire, pairs). A number is an int, a double its 8 bytes. No schema is used.
"""

from __future__ import annotations

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
NUMBERS = (BYTE, I16, I32, I64)
LISTS = (LIST, SET)


class Odd(Exception):
    """The bytes are no struct."""


def parse(data, position=0):
    """Return the struct at a position and where it ends."""
    try:
        return _struct(data, position)
    except (IndexError, RecursionError):
        raise Odd from None


def parse_list(data):
    try:
        return _value(data, 0, LIST)[0]
    except (IndexError, RecursionError):
        raise Odd from None


def _struct(data, position):
    fields, last = [], 0
    while True:
        header = data[position]
        position += 1
        if header == 0:
            return fields, position
        if header >> 4:
            last += header >> 4
        else:
            last, position = _signed(data, position)
        wire = header & 15
        value, position = (wire == TRUE, position) if wire in {TRUE, FALSE} else _value(data, position, wire)
        fields.append([last, wire, value])


def _value(data, position, wire):
    if wire in {TRUE, FALSE, BYTE}:  # inside of a list or map
        return _take(data, position, 1)[0][0] if wire != BYTE else _byte(data[position]), position + 1
    if wire in {I16, I32, I64}:
        return _signed(data, position)
    if wire in {DOUBLE, UUID}:
        return _take(data, position, 8 if wire == DOUBLE else 16)
    if wire == BINARY:
        length, position = _varint(data, position)
        return _take(data, position, length)
    if wire in LISTS:
        return _list(data, position)
    if wire == MAP:
        return _map(data, position)
    if wire == STRUCT:
        return _struct(data, position)
    raise Odd


def _byte(number):
    return number - 256 if number >= 128 else number


def _take(data, position, length):
    if length > len(data) - position:
        raise Odd
    return data[position : position + length], position + length


def _list(data, position):
    header = data[position]
    count, position = _varint(data, position + 1) if header >> 4 == 15 else (header >> 4, position + 1)
    if count > len(data) - position:
        raise Odd
    values = []
    for _ in range(count):
        value, position = _value(data, position, header & 15)
        values.append(value)
    return (header & 15, values), position


def _map(data, position):
    count, position = _varint(data, position)
    if count == 0:
        return (0, 0, []), position
    if count > len(data) - position:
        raise Odd
    wires, pairs = data[position], []
    position += 1
    for _ in range(count):
        key, position = _value(data, position, wires >> 4)
        value, position = _value(data, position, wires & 15)
        pairs.append((key, value))
    return (wires >> 4, wires & 15, pairs), position


def _varint(data, position):
    number = shift = 0
    while True:
        part = data[position]
        position += 1
        number |= (part & 0x7F) << shift
        if part < 0x80:
            return number, position
        shift += 7


def _signed(data, position):
    number, position = _varint(data, position)
    return (number >> 1) ^ -(number & 1), position


def get(fields, number, *wires):
    """Return the value of a field that arrives in one of these wire types; the last of several, None without one."""
    found = [value for field, wire, value in fields or () if field == number and wire in wires]
    return found[-1] if found else None


def elements(fields, number):
    """Return the elements of a list, None without one."""
    found = get(fields, number, *LISTS)
    return None if found is None else found[1]


def encode(fields):
    """Write a struct."""
    out, last = bytearray(), 0
    for field, wire, value in fields:
        if 0 < field - last < 16:
            out.append(field - last << 4 | wire)
        else:
            out.append(wire)
            out += zigzag(field)
        last = field
        if wire not in {TRUE, FALSE}:
            out += encode_value(wire, value)
    return bytes(out + b"\0")


def encode_value(wire, value):
    match wire:
        case 1 | 2 | 3:
            return bytes([value & 0xFF])
        case 4 | 5 | 6:
            return zigzag(value)
        case 7 | 13:
            return value
        case 8:
            return varint(len(value)) + value
        case 9 | 10:
            return encode_list(*value)
        case 11:
            keys, values, pairs = value
            head = varint(len(pairs)) + (bytes([keys << 4 | values]) if pairs else b"")
            return head + b"".join(encode_value(keys, k) + encode_value(values, v) for k, v in pairs)
        case _:
            return encode(value)


def encode_list(wire, values):
    count = len(values)
    head = bytes([count << 4 | wire]) if count < 15 else bytes([0xF0 | wire]) + varint(count)
    return head + b"".join(encode_value(wire, value) for value in values)


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def zigzag(number):
    return varint((number << 1 ^ number >> 63) & 0xFFFF_FFFF_FFFF_FFFF)
