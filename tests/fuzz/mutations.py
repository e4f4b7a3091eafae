"""Ways to damage bytes: blindly, and with knowledge of the Thrift encoding."""

from __future__ import annotations

import slow_thrift
from slow_thrift import BINARY, BYTE, FALSE, I32, I64, LISTS, MAP, NUMBERS, STRUCT, TRUE

HUGE = [bytes.fromhex(text) for text in ("ffffffff0f", "ffffffffffffffffff01", "ffffffff07", "80" * 12, "ff" * 11)]
NUMBERS_TO_TRY = [0, 1, -1, 2, 15, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1]
NUMBERS_TO_TRY += [-(2**31), -(2**63), -2, 10**12]


def flip(chance, data, _):
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def put(chance, data, _):
    data[chance.randrange(len(data))] = chance.choice([0, 0x7F, 0x80, 0xFF, 0x1C, 0x19, chance.randrange(256)])


def grow_a_number(chance, data, _):
    at = chance.randrange(len(data) + 1)
    data[at : at + chance.randint(0, 1)] = chance.choice(HUGE)


def cut(chance, data, _):
    del data[chance.randrange(len(data)) :]


def cut_a_little(chance, data, _):
    del data[-chance.randint(1, 8) :]


def extend(chance, data, _):
    data += chance.choice([b"\0", b"\xff", chance.randbytes(9), bytes(data[:40])])


def repeat(chance, data, _):
    start, stop = _slice(chance, data)
    data[start:start] = data[start:stop] * chance.choice([1, 1, 1, 5])


def remove(chance, data, _):
    start, stop = _slice(chance, data)
    del data[start:stop]


def swap(chance, data, _):
    start, stop = _slice(chance, data)
    middle = chance.randint(start, stop)
    data[start:stop] = data[middle:stop] + data[start:middle]


def splice(chance, data, other):
    """Insert a piece of another structure, or continue with it."""
    start, stop = _slice(chance, data)
    begin, end = _slice(chance, other)
    data[start : chance.choice([start, stop, len(data)])] = other[begin:end]


def many_elements(chance, data, _):
    """Insert a list header with a large count, sometimes followed by many elements."""
    count = chance.choice([15, 200, 2000, 2**31 - 1, 2**63])
    wire = chance.choice([1, 5, 6, 8, 9, 12])
    element = chance.choice([b"\0", b"\0", b"\1", b"\x1c\0\0", b"\x36\2\0", bytes(data[:7])])
    body = element * min(count, chance.choice([200, 200, 200, 2000, 10_000])) if chance.random() < 0.5 else b""
    at = chance.randrange(len(data) + 1)
    data[at:at] = bytes([0xF0 | wire]) + slow_thrift.varint(count) + body


def nest(chance, data, _):
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice([b"\x1c", b"\x19\x19", b"\x1b\x01\xbb", b"\x19"]) * chance.choice([8, 40, 500])


BLIND = [flip, flip, put, put, grow_a_number, cut, cut_a_little, extend, repeat, remove, swap, splice]
BLIND += [many_elements, nest]


def _slice(chance, data):
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice([1, 2, 4, 8, 16, 64, 300]))


def blindly(chance, data, other):
    """Damage the bytes one to four times."""
    damaged = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4])):
        if not damaged:
            break
        chance.choice(BLIND)(chance, damaged, other)
    return bytes(damaged)


def knowingly(chance, data, other):
    """Change fields of the Thrift struct at the start and encode it again; damage blindly if there is no struct."""
    try:
        fields, stop = slow_thrift.parse(data)
    except slow_thrift.Odd:
        return blindly(chance, data, other)
    for _ in range(chance.choice([1, 1, 2, 3])):
        places = list(nodes(fields))
        if places:
            chance.choice(CHANGES)(chance, *chance.choice(places))
    return slow_thrift.encode(fields) + data[stop:]


def nodes(fields):
    """Yield every field with the struct that holds it."""
    for place in fields:
        yield fields, place
        yield from _inner(place[1], place[2])


def _inner(wire, value):
    if wire == STRUCT:
        yield from nodes(value)
    elif wire in LISTS:
        for element in value[1]:
            yield from _inner(value[0], element)
    elif wire == MAP:
        for key, inner in value[2]:
            yield from _inner(value[0], key)
            yield from _inner(value[1], inner)


def set_value(chance, _, place):
    """Give a field another value of its type."""
    _, wire, value = place
    if wire in {TRUE, FALSE}:
        place[1] = chance.choice([TRUE, FALSE])
    elif wire in NUMBERS:
        near = [value + 1, value - 1, value * 2, -value]
        number = chance.choice([*NUMBERS_TO_TRY, *near])
        place[2] = number if -(2**63) <= number < 2**63 else 0
    elif wire == BINARY:
        text = chance.choice(
            [b"", b"\0", b"\n", b"\xff" * 9, value[:-1], value + b"\0", value[::-1], bytes(len(value))]
        )
        place[2] = text
    elif wire in LISTS:
        place[2] = (value[0], _changed(chance, *value))


def _changed(chance, wire, values):
    if not values:
        return []
    i, j = chance.randrange(len(values)), chance.randrange(len(values))
    if wire in NUMBERS and chance.random() < 0.7:
        return [*values[:i], chance.choice(NUMBERS_TO_TRY), *values[i + 1 :]]
    if wire == BINARY and chance.random() < 0.5:
        return [*values[:i], chance.choice([b"", b"\xff" * 8, values[j], values[i][::-1]]), *values[i + 1 :]]
    if wire in {TRUE, FALSE} and chance.random() < 0.7:
        return [*values[:i], chance.choice([0, 1, 2, 255]), *values[i + 1 :]]
    changes = [
        values[:i],
        values[:-1],
        [*values, values[i]],
        [*values[:i], values[j], *values[i + 1 :]],
        values * chance.choice([3, 3, 3, 100]),
        [],
    ]
    return chance.choice(changes)


def set_type(chance, _, place):
    """Write a field with another type and a value of this type."""
    wire = chance.choice([TRUE, FALSE, BYTE, I32, I64, BINARY, STRUCT, *LISTS, MAP])
    value = {BINARY: b"odd", STRUCT: [], MAP: (0, 0, []), LISTS[0]: (I32, [1]), LISTS[1]: (STRUCT, [[]])}
    place[1:] = [wire, value.get(wire, chance.choice(NUMBERS_TO_TRY))]


def set_number(chance, _, place):
    place[0] = chance.choice([place[0] + 1, place[0] - 1, 0, -1, 100, 2**15, 2**31, 2**63 - 1])


def drop(_, fields, place):
    fields[:] = [other for other in fields if other is not place]


def double(chance, fields, place):
    """Write a field twice, the second time with another value."""
    second = list(place)
    set_value(chance, fields, second)
    fields.insert(chance.randint(0, len(fields)), second)


def exchange(chance, fields, place):
    """Exchange the values of two fields of one struct."""
    other = chance.choice(fields)
    place[1:], other[1:] = other[1:], place[1:]


CHANGES = [set_value, set_value, set_value, set_value, set_type, set_number, drop, double, exchange]
