"""Random tables for writers, as plain JSON that a program in any language can read.

A recipe is a dict: `groups` (rows of each row group), `chunks` (rows of each Arrow chunk), `options` (of the writer)
and `columns`. A column has `name`, `type`, the type's parameters (`precision`, `scale`, `unit`, `zone`, `width`),
`values` and `dictionary`: None, "shared" by all chunks, or "own" for each chunk. Values are JSON's; floats are their
repr, decimals their digits, bytes hexadecimal digits, dates and timestamps integers in their unit.
The column `r` has the number of each row.
"""

from __future__ import annotations

import struct
from decimal import Context, Decimal
from itertools import pairwise

ROW = "r"
LENGTHS = (0, 1, 7, 40, 40, 200, 200, 600, 2000)
INTEGERS = {f"{sign}int{bits}": (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)}
PRECISIONS = ((5, 2), (9, 3), (10, 0), (18, 4), (20, 2), (38, 10))
UNITS = ("s", "ms", "us", "ns")
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
PREFIXES = ("", "a", "customer-", "x" * 15, "x" * 16, "y" * 63, "z" * 64, "é" * 8, "\U0001f600" * 4, "\U0010ffff" * 17)
_WIDE = Context(prec=60)
FAMILIES = (
    *("integer",) * 2,
    *("decimal",) * 3,
    *("string",) * 3,
    *("timestamp",) * 2,
    *("binary", "float", "date", "bool", "fixed", "struct"),
)
SPECIAL = ("nan", "-0.0", "0.0", "inf", "-inf")


def random_recipe(chance):
    """Draw a table and the options of its writer."""
    rows = chance.choice(LENGTHS)
    columns = [{"name": ROW, "type": "int64", "values": list(range(rows)), "dictionary": None}]
    for number in range(chance.randint(4, 7)):
        column = _random_column(chance, rows)
        columns.append({"name": f"c{number}", **column})
    groups, chunks = _cut(chance, rows, (1, 1, 2, 4)), _cut(chance, rows, (1, 2, 3, 5))
    return {"groups": groups, "chunks": chunks, "options": _random_options(chance), "columns": columns}


def _cut(chance, rows, counts):
    """Cut rows into nonempty parts; a single empty part if there are no rows."""
    inner = sorted(chance.randrange(1, rows) for _ in range(chance.choice(counts) - 1)) if rows > 1 else []
    ends = [0, *dict.fromkeys(inner), rows]
    return [stop - start for start, stop in pairwise(ends)]


def _random_options(chance):
    return {
        "statistics": chance.random() < 0.9,
        "page_bytes": chance.choice([None, 200, 1000, 4000]),
        "data_page_version": chance.choice(["1.0", "1.0", "2.0"]),
        "page_index": chance.random() < 0.6,
        "bloom": chance.random() < 0.3,
        "compression": chance.choice(["none", "snappy", "zstd"]),
        "int96": chance.random() < 0.2,
        "at_once": chance.random() < 0.6,
    }


def _random_column(chance, rows):
    column = _random_type(chance)
    make = _MAKERS[_family(column["type"])]
    pool = None
    if chance.random() < 0.4:
        pool = [make(chance, column, chance.random()) for _ in range(chance.choice([2, 5, 30]))]
    clustered = chance.random() < 0.6
    values = []
    for row in range(rows):
        position = row / rows if clustered else chance.random()
        values.append(chance.choice(pool) if pool else make(chance, column, position))
    if pool and clustered:
        values.sort(key=_sort_key(column["type"]))
    _add_nulls(chance, values)
    dictionary = chance.choice([None, "shared", "own"]) if _family(column["type"]) in _WITH_DICTIONARY else None
    return {**column, "values": values, "dictionary": dictionary}


def _random_type(chance):
    family = chance.choice(FAMILIES)
    if family == "integer":
        return {"type": chance.choice(list(INTEGERS))}
    if family == "decimal":
        precision, scale = chance.choice(PRECISIONS)
        return {"type": "decimal", "precision": precision, "scale": scale}
    if family == "float":
        return {"type": chance.choice(["float", "double"])}
    if family == "timestamp":
        return {"type": "timestamp", "unit": chance.choice(UNITS), "zone": chance.choice([None, "UTC"])}
    if family == "fixed":
        return {"type": "fixed", "width": chance.choice([3, 16])}
    return {"type": family}


def _family(name):
    return "integer" if name in INTEGERS else "float" if name == "double" else name


def _add_nulls(chance, values):
    """Make nulls of some values: scattered, at one end, or of all."""
    share = chance.choice([0, 0, 0.02, 0.3, 1 if chance.random() < 0.3 else 0.6])
    first, last = chance.choice([(0, 1), (0, 1), (0, 0.3), (0.7, 1)])
    for row in range(int(first * len(values)), int(last * len(values) + 0.99)):
        if row < len(values) and chance.random() < share:
            values[row] = None


def _sort_key(name):
    if name == "decimal":
        return Decimal
    if name in {"float", "double"}:
        return float
    if name == "string":
        return lambda text: text.encode()
    return lambda value: value


def _integer(chance, column, position):
    sign, bits = INTEGERS[column["type"]]
    low, high = (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    low, high = _narrowed(low, high)
    return _between(chance, low, high, position)


def _narrowed(low, high):
    # Spark reads UINT64 as DECIMAL(20,0); values beyond the type of a literal are another matter.
    return max(low, -(2**62)), min(high, 2**63 + 2**40)


def _between(chance, low, high, position):
    middle = low + int((high - low) * position)
    return max(low, min(high, middle + chance.randrange(-3, 4)))


def _decimal(chance, column, position):
    most = 10 ** chance.choice([column["precision"], 3, 3])
    unscaled = _between(chance, 1 - most, most - 1, position)
    return str(Decimal(unscaled).scaleb(-column["scale"], _WIDE))


def _string(chance, _, position):
    tail = f"{int(position * 1000):04d}{chance.choice(['', '', 'k', 'zé', chr(0x7F), 'ÿ' * 3, chr(0xFFFF)])}"
    return chance.choice(PREFIXES[:3] if chance.random() < 0.7 else PREFIXES) + tail


def _binary(chance, _, position):
    head = bytes([int(position * 255)])
    return (head + chance.choice([b"", b"\xff" * 20, b"\x80", bytes(17), chance.randbytes(4)])).hex()


def _fixed(chance, column, position):
    head = bytes([int(position * 255)])
    return (head + chance.randbytes(column["width"] - 1)).hex()


def _float(chance, column, position):
    if chance.random() < 0.05:
        return chance.choice(SPECIAL)
    value = (position - 0.5) * chance.choice([10.0, 1e6]) + chance.random()
    return repr(struct.unpack("<f", struct.pack("<f", value))[0]) if column["type"] == "float" else repr(value)


def _date(chance, _, position):
    return _between(chance, -3000, 20000, position)


def _timestamp(chance, column, position):
    return _between(chance, -200_000_000, 1_700_000_000, position) * PER_SECOND[column["unit"]] + (
        chance.randrange(PER_SECOND[column["unit"]]) // (1000 if column["unit"] == "ns" else 1)
    ) * (1000 if column["unit"] == "ns" else 1)


def _bool(chance, _, position):
    return chance.random() < position


def _struct(chance, _, position):
    return int(position * 1000) + chance.randrange(3)


_MAKERS = {
    "integer": _integer,
    "decimal": _decimal,
    "string": _string,
    "binary": _binary,
    "fixed": _fixed,
    "float": _float,
    "date": _date,
    "timestamp": _timestamp,
    "bool": _bool,
    "struct": _struct,
}
_WITH_DICTIONARY = {"integer", "decimal", "string", "binary", "float", "fixed"}
