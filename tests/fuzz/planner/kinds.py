"""Kinds of columns: stored type, Spark type, and values, including edge cases.

A value is in its stored form: days, units since the epoch and unscaled decimals are int, so that values need no
calendar and can be saved as JSON.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import pyarrow as pa

ODD_STRINGS = [
    "",
    "\0",
    " ",
    "a",
    "a\0",
    "it's",
    "50%_\\",
    "\u00e9",
    "e\u0301",
    "\uffff",
    "\U0001f600",
    "\U0010ffff",
    "\U0010ffff" * 20,
    "p" * 63,
    "p" * 64,
    "p" * 65,
    "p" * 64 + "\U0001f600",
    "p" * 63 + "\u00e9",
    "NaN",
    "7",
    "07",
    "1994-01-05",
]
ODD_BYTES = [
    b"",
    b"\0",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff" * 64,
    b"\xff" * 70,
    b"p" * 65,
    b"a\xff",
    b"\xc3\xa9",
    b"\xc3",
]
LONG = 5000  # length in bytes beyond which parquet-java and Arrow write no bounds


@dataclass(frozen=True)
class Kind:
    """A kind of column; `low` and `high`: range of stored numbers; `spark`: type that Spark reads."""

    name: str
    family: str
    arrow: pa.DataType
    spark: str
    low: int = 0
    high: int = 0

    @property
    def is_number(self):
        return self.family in {"integer", "decimal"}


def _integers():
    signed = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}
    wider = {8: "smallint", 16: "int", 32: "bigint", 64: "decimal(20,0)"}
    for bits, spark in signed.items():
        arrow = getattr(pa, f"int{bits}")()
        yield Kind(f"i{bits}", "integer", arrow, spark, -(1 << bits - 1), (1 << bits - 1) - 1)
        arrow = getattr(pa, f"uint{bits}")()
        yield Kind(f"u{bits}", "integer", arrow, wider[bits], 0, (1 << bits) - 1)


def _decimals():
    for precision, scale in ((4, 2), (9, 0), (15, 2), (18, 18), (20, 4), (38, 10), (38, 30), (38, 38)):
        end = 10**precision - 1
        arrow = pa.decimal128(precision, scale)
        yield Kind(f"d{precision}_{scale}", "decimal", arrow, f"decimal({precision},{scale})", -end, end)


def _timestamps():
    # The years 1 to 9999, which literals can name.
    seconds = (-62135596800, 253402300799)
    for unit, scale in (("ms", 1000), ("us", 1_000_000)):
        low, high = (second * scale for second in seconds)
        yield Kind(f"ts_{unit}", "timestamp", pa.timestamp(unit, "UTC"), "timestamp", low, high)
        yield Kind(f"ntz_{unit}", "timestamp_ntz", pa.timestamp(unit), "timestamp_ntz", low, high)
    # As nanoseconds Spark reads INT96 only, which `writing` makes of these.
    yield Kind("ts_96", "timestamp", pa.timestamp("ns", "UTC"), "timestamp", -(2**62), 2**62)


KINDS = {
    kind.name: kind
    for kind in (
        *_integers(),
        *_decimals(),
        *_timestamps(),
        Kind("f32", "float", pa.float32(), "float"),
        Kind("f64", "float", pa.float64(), "double"),
        Kind("bool", "boolean", pa.bool_(), "boolean"),
        Kind("date", "date", pa.date32(), "date", -719162, 2932896),
        Kind("str", "string", pa.string(), "string"),
        Kind("bin", "binary", pa.binary(), "binary"),
    )
}


def as_float32(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def odd_floats(kind):
    tiny, huge = (2.0**-149, (2 - 2.0**-23) * 2.0**127) if kind.name == "f32" else (5e-324, 1.7976931348623157e308)
    return [math.nan, math.nan, 0.0, -0.0, math.inf, -math.inf, tiny, -tiny, huge, -huge, 1.0]


def plain_value(draw, kind, spread):
    """Draw one of about `spread` values in the middle of the type."""
    number = draw.randrange(-spread // 2, spread // 2 + 1)
    match kind.family:
        case "integer":
            return min(max(number + (spread if kind.low == 0 else 0), kind.low), kind.high)
        case "decimal":
            return min(max(number, kind.low), kind.high)
        case "float":
            return as_float32(number / 10) if kind.name == "f32" else number / 10
        case "boolean":
            return number > 0
        case "date":
            return 8766 + number
        case "timestamp" | "timestamp_ntz":
            unit = {"ms": 1, "us": 1000, "ns": 1_000_000}[kind.arrow.unit]
            return (757_382_400_000 + number * draw.choice([1, 1000, 3_600_000])) * unit + draw.randrange(unit)
        case "string":
            return draw.choice(["", "", "AIR", "p" * 70]) + f"{number:04d}"
        case "binary":
            return draw.choice([b"", b"p" * 70, b"\xff"]) + (number & 0xFFFF).to_bytes(2, "big")
    raise TypeError(kind)


def odd_value(draw, kind):
    """Draw one from the edges of the type."""
    match kind.family:
        case "float":
            return draw.choice(odd_floats(kind))
        case "boolean":
            return draw.random() < 0.5
        case "string":
            return draw.choice(ODD_STRINGS)
        case "binary":
            return draw.choice(ODD_BYTES)
    edges = [kind.low, kind.high, kind.low + 1, kind.high - 1, 0, 1, -1, kind.high // 2 + 1]
    return min(max(draw.choice(edges), kind.low), kind.high)


def neighbour(draw, kind, value):
    """Return a value next to `value`, or near it."""
    step = draw.choice([-1, 1])
    match kind.family:
        case "float":
            if kind.name == "f64" or not math.isfinite(value):
                return math.nextafter(value, step * math.inf)
            return as_float32(math.nextafter(value, step * math.inf) if value else step * 2.0**-149)
        case "boolean":
            return not value
        case "string":
            return draw.choice([value + "\0", value[:-1], value + "\U0010ffff", value[:64], value.swapcase()])
        case "binary":
            return draw.choice([value + b"\0", value[:-1], value + b"\xff", value[:64]])
    return min(max(value + step * draw.choice([1, 1, 1, 1000]), kind.low), kind.high)


def order_of(value):
    """Order values as Spark does: strings by their bytes, NaN equal to itself and above all else."""
    if isinstance(value, float):
        return math.isnan(value), 0.0 if math.isnan(value) else value
    return value.encode() if isinstance(value, str) else value
