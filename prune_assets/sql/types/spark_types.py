"""Spark's scalar types, with their values numbered in Spark's order.

The number of a value is its *ordinal*: an integer itself, a decimal's unscaled integer, a date's days since 1970-01-01,
a timestamp's microseconds, 0 for FALSE and 1 for TRUE, a float's bits as an ordered integer (both zeros are equal, NaN
is greatest).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from prune_assets.sql.types.floats import INFINITIES
from prune_assets.sql.types.spark_values import DIGITS_OF_BITS, MAX_DIGITS, SparkValue, ValueKind
from prune_assets.sql.types.zones import UNKNOWN_ZONE

if TYPE_CHECKING:
    from prune_assets.sql.types.zones import Zone

_INTEGER_NAMES = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}
_UNSIGNED_WIDTH = {8: 16, 16: 32, 32: 64}
_FORMATS = {32: ("<f", "<i"), 64: ("<d", "<q")}
_ORDINAL_BITS = {ValueKind.DATE: 32, ValueKind.TIMESTAMP: 64, ValueKind.TIMESTAMP_NTZ: 64}


@dataclass(frozen=True, slots=True)
class SparkType:
    """A scalar type of Spark.

    `bits`: width of integers and floats.
    `digits`, `scale`: of decimals.
    `zone`: the session's time zone, for timestamps. If it is unknown, ordinals count either instants (None), as columns
    do, or local times (UNKNOWN_ZONE), as most literals do.
    """

    kind: ValueKind
    bits: int = 0
    digits: int = 0
    scale: int = 0
    zone: Zone | None = None

    def __str__(self) -> str:
        match self.kind:
            case ValueKind.INTEGER:
                return _INTEGER_NAMES[self.bits]
            case ValueKind.DECIMAL:
                return f"decimal({self.digits},{self.scale})"
            case ValueKind.DOUBLE:
                return "float" if self.bits == 32 else "double"
            case ValueKind.NULL:
                return "void"
            case kind:
                return str(kind)

    @property
    def is_ordinal(self) -> bool:
        """Whether the values have ordinals."""
        return (
            self.kind in {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE, ValueKind.BOOLEAN}
            or self.kind in _ORDINAL_BITS
        )

    @property
    def is_unzoned(self) -> bool:
        """Whether the type is a timestamp in a session whose time zone is unknown."""
        return self.kind is ValueKind.TIMESTAMP and (self.zone is None or self.zone == UNKNOWN_ZONE)

    @property
    def is_number(self) -> bool:
        """Whether the type supports arithmetic."""
        return self.kind in {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE}

    @property
    def least(self) -> int:
        """Ordinal of the least value."""
        match self.kind:
            case ValueKind.DECIMAL:
                return 1 - int(10**self.digits)
            case ValueKind.DOUBLE:
                return -INFINITIES[self.bits]
            case ValueKind.BOOLEAN:
                return 0
            case kind:
                return -1 << ((self.bits or _ORDINAL_BITS[kind]) - 1)

    @property
    def greatest(self) -> int:
        """Ordinal of the greatest value."""
        match self.kind:
            case ValueKind.DOUBLE:
                return self.nan
            case ValueKind.BOOLEAN:
                return 1
            case ValueKind.DECIMAL:
                return -self.least
            case _:
                return -self.least - 1

    @property
    def infinity(self) -> int:
        """Ordinal of a float's infinity."""
        return INFINITIES[self.bits]

    @property
    def nan(self) -> int:
        """Ordinal of a float's NaN, the greatest ordinal."""
        return INFINITIES[self.bits] + 1


BOOLEAN = SparkType(ValueKind.BOOLEAN)
TINYINT, SMALLINT, INT, BIGINT = (SparkType(ValueKind.INTEGER, bits=bits) for bits in (8, 16, 32, 64))
INTEGERS = {type_.bits: type_ for type_ in (TINYINT, SMALLINT, INT, BIGINT)}
FLOAT, DOUBLE = SparkType(ValueKind.DOUBLE, bits=32), SparkType(ValueKind.DOUBLE, bits=64)
DATE, TIMESTAMP, STRING, BINARY = (
    SparkType(kind) for kind in (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.STRING, ValueKind.BINARY)
)
TIMESTAMP_NTZ = SparkType(ValueKind.TIMESTAMP_NTZ)
ON_UNKNOWN_CLOCKS = SparkType(ValueKind.TIMESTAMP, zone=UNKNOWN_ZONE)
VOID = SparkType(ValueKind.NULL)


def decimal_type(digits: int, scale: int) -> SparkType:
    """Return decimal(digits, scale)."""
    return SparkType(ValueKind.DECIMAL, digits=digits, scale=scale)


def digits_of(integer: SparkType) -> int:
    """Return the digits of the decimal type to which Spark casts a non-literal integer."""
    return DIGITS_OF_BITS[integer.bits]


def is_decimal(digits: int, scale: int) -> bool:
    """Return whether Spark has a decimal type with these digits and this scale, which it would otherwise adjust."""
    return 0 <= scale <= digits <= MAX_DIGITS


def type_of_column(arrow: pa.DataType) -> SparkType | None:
    """Return the type that Spark gives to a column; None if unknown."""
    type_: SparkType | None = None
    if pa.types.is_signed_integer(arrow):
        type_ = SparkType(ValueKind.INTEGER, bits=arrow.bit_width)
    elif pa.types.is_uint64(arrow):
        type_ = decimal_type(20, 0)
    elif pa.types.is_unsigned_integer(arrow):
        type_ = SparkType(ValueKind.INTEGER, bits=_UNSIGNED_WIDTH[arrow.bit_width])
    elif pa.types.is_decimal128(arrow):
        type_ = decimal_type(arrow.precision, arrow.scale)
    elif pa.types.is_float32(arrow) or pa.types.is_float64(arrow):
        type_ = SparkType(ValueKind.DOUBLE, bits=arrow.bit_width)
    else:
        type_ = next((spark_type for test, spark_type in _OTHERS if test(arrow)), None)
    return type_


_OTHERS = (
    (lambda arrow: pa.types.is_timestamp(arrow) and arrow.tz is None, TIMESTAMP_NTZ),
    (pa.types.is_timestamp, TIMESTAMP),
    (pa.types.is_boolean, BOOLEAN),
    (pa.types.is_null, VOID),
    (pa.types.is_date32, DATE),
    (pa.types.is_string, STRING),
    (pa.types.is_binary, BINARY),
)


def type_of_value(value: SparkValue) -> SparkType:
    """Return the type of a literal."""
    if value.kind is ValueKind.INTEGER:
        return INTEGERS[value.bits]
    if value.kind is ValueKind.DECIMAL:
        return decimal_type(value.digits, value.scale)
    return SparkType(value.kind, bits=value.bits if value.kind is ValueKind.DOUBLE else 0)


def ordinal_of_float(value: float, bits: int = 64) -> int:
    """Return the ordinal of a float of `bits` bits.

    >>> ordinal_of_float(-0.0), ordinal_of_float(5e-324), ordinal_of_float(-5e-324)
    (0, 1, -1)
    """
    if math.isnan(value):
        return INFINITIES[bits] + 1
    floating, integer = _FORMATS[bits]
    magnitude: int = struct.unpack(integer, struct.pack(floating, abs(value)))[0]
    return -magnitude if value < 0 else magnitude


def float_of_ordinal(ordinal: int, bits: int = 64) -> float:
    """Return the float that has an ordinal; zero is +0.0."""
    if ordinal > INFINITIES[bits]:
        return math.nan
    floating, integer = _FORMATS[bits]
    magnitude: float = struct.unpack(floating, struct.pack(integer, abs(ordinal)))[0]
    return -magnitude if ordinal < 0 else magnitude
