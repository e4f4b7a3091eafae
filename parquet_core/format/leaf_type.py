"""Derive the Arrow type of a leaf from its Parquet type.

The Parquet type is the physical type and the logical or converted type. The members of the union LogicalType and the
values of the enum ConvertedType are numbered as in `parquet.thrift`. If the annotation is unknown or does not fit the
physical type, the type is None and values are not compared.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from parquet_core.format.schema import SchemaElement


class Physical(IntEnum):
    """Physical types, numbered as in parquet.thrift."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class SortOrder(StrEnum):
    """Sort order of bounds.

    FLOATING is numeric order, without a place for NaN, and with -0.0 equal to 0.0.
    """

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOATING = "floating"
    UNDEFINED = "undefined"


# Types on which predicates prune; bounds of other types are only decoded and shown.
_PRUNED_ON = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_float32, pa.types.is_float64),
    *(pa.types.is_string, pa.types.is_date32, pa.types.is_decimal128),
)

_STRING, _ENUM, _DECIMAL, _DATE, _TIME, _TIMESTAMP, _INTEGER = 1, 4, 5, 6, 7, 8, 10
_UNKNOWN, _JSON, _BSON, _UUID, _FLOAT16 = 11, 12, 13, 14, 15
_UNITS = {1: "ms", 2: "us", 3: "ns"}
_UTF8, _CONVERTED_ENUM, _CONVERTED_DECIMAL, _CONVERTED_DATE = 0, 4, 5, 6
_TIME_MILLIS, _TIME_MICROS, _TIMESTAMP_MILLIS, _TIMESTAMP_MICROS = 7, 8, 9, 10
_CONVERTED_JSON, _CONVERTED_BSON = 19, 20

_WITHOUT_ANNOTATION = {
    Physical.BOOLEAN: pa.bool_(),
    Physical.INT32: pa.int32(),
    Physical.INT64: pa.int64(),
    Physical.INT96: pa.timestamp("ns", "UTC"),
    Physical.FLOAT: pa.float32(),
    Physical.DOUBLE: pa.float64(),
    Physical.BYTE_ARRAY: pa.binary(),
}
_INTEGERS = {
    (8, True): pa.int8(),
    (16, True): pa.int16(),
    (32, True): pa.int32(),
    (64, True): pa.int64(),
    (8, False): pa.uint8(),
    (16, False): pa.uint16(),
    (32, False): pa.uint32(),
    (64, False): pa.uint64(),
}
_INTEGER_BITS = {Physical.INT32: (8, 16, 32), Physical.INT64: (64,)}
_INTEGER_BYTES = {Physical.INT32: 4, Physical.INT64: 8}
# Converted types, each with the only physical type that it may annotate.
_CONVERTED = {
    (_UTF8, Physical.BYTE_ARRAY): pa.string(),
    (_CONVERTED_ENUM, Physical.BYTE_ARRAY): pa.binary(),
    (_CONVERTED_JSON, Physical.BYTE_ARRAY): pa.binary(),
    (_CONVERTED_BSON, Physical.BYTE_ARRAY): pa.binary(),
    (_CONVERTED_DATE, Physical.INT32): pa.date32(),
    (_TIME_MILLIS, Physical.INT32): pa.time32("ms"),
    (_TIME_MICROS, Physical.INT64): pa.time64("us"),
    (_TIMESTAMP_MILLIS, Physical.INT64): pa.timestamp("ms", "UTC"),
    (_TIMESTAMP_MICROS, Physical.INT64): pa.timestamp("us", "UTC"),
    (11, Physical.INT32): pa.uint8(),
    (12, Physical.INT32): pa.uint16(),
    (13, Physical.INT32): pa.uint32(),
    (14, Physical.INT64): pa.uint64(),
    (15, Physical.INT32): pa.int8(),
    (16, Physical.INT32): pa.int16(),
    (17, Physical.INT32): pa.int32(),
    (18, Physical.INT64): pa.int64(),
}
_LOGICAL = {
    (_STRING, Physical.BYTE_ARRAY): pa.string(),
    (_ENUM, Physical.BYTE_ARRAY): pa.binary(),
    (_JSON, Physical.BYTE_ARRAY): pa.binary(),
    (_BSON, Physical.BYTE_ARRAY): pa.binary(),
    (_DATE, Physical.INT32): pa.date32(),
}
_LOGICAL_OF_WIDTH = {(_UUID, 16): pa.binary(16), (_FLOAT16, 2): pa.float16()}
LAST_LOGICAL_TYPE = 19  # FILE
_NAMES = {_TIME: "TIME", _TIMESTAMP: "TIMESTAMP"}


def arrow_type(element: SchemaElement, physical: Physical) -> pa.DataType | None:
    """Return the Arrow type of a leaf's values; None if unknown."""
    if element.logical is not None:
        return _from_logical(element.logical, physical, element)
    if element.converted == _CONVERTED_DECIMAL:
        return _decimal(*_decimal_of(element), physical, element)[0]
    if element.converted is not None:
        return _CONVERTED.get((element.converted, physical))
    if physical is Physical.FIXED_LEN_BYTE_ARRAY:
        return None if element.type_length is None else pa.binary(element.type_length)
    return _WITHOUT_ANNOTATION[physical]


def is_always_null(element: SchemaElement) -> bool:
    """True if the writer declared the null type.

    No row has a value then.
    """
    return element.logical is not None and element.logical[0] == _UNKNOWN


def sort_order(type_: pa.DataType | None, physical: Physical) -> SortOrder:
    """Return the sort order of bounds of this type."""
    if type_ is None or physical is Physical.INT96:
        return SortOrder.UNDEFINED
    if pa.types.is_decimal128(type_):
        # A number has many encodings as BYTE_ARRAY, and some writers truncate the bounds like strings.
        return SortOrder.UNDEFINED if physical is Physical.BYTE_ARRAY else SortOrder.SIGNED
    if pa.types.is_floating(type_):
        return SortOrder.FLOATING
    of_bytes = pa.types.is_string(type_) or pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_)
    return SortOrder.UNSIGNED if of_bytes or pa.types.is_unsigned_integer(type_) else SortOrder.SIGNED


def reason_against_pruning(element: SchemaElement, physical: Physical) -> str:  # noqa: PLR0911 - one for each kind
    """Return why predicates on a leaf do not prune, or ""."""
    scale_and_precision = _decimal_parameters(element)
    if scale_and_precision is not None:
        return _decimal(*scale_and_precision, physical, element)[1]
    type_ = arrow_type(element, physical)
    if type_ is not None and pa.types.is_timestamp(type_):
        return _against_timestamps(type_, physical)
    if type_ is not None and any(is_supported(type_) for is_supported in _PRUNED_ON):
        return ""
    if type_ == pa.binary() and element.logical is None and element.converted is None:
        return ""  # Spark reads annotated byte arrays as strings, or not at all
    if element.logical is not None:
        member = element.logical[0]
        unsupported_reason = "supported" if member <= LAST_LOGICAL_TYPE else "supported by this version"
        return f"type {_NAMES.get(member, f'of logical type {member}')} is not {unsupported_reason}"
    if element.converted is not None:
        return f"converted type {element.converted} is not supported"
    return f"type {physical.name} is not supported"


def counts_nanoseconds(type_: pa.DataType | None, physical: Physical) -> bool:
    """True for timestamps that are stored as a count of nanoseconds."""
    return isinstance(type_, pa.TimestampType) and type_.unit == "ns" and physical is Physical.INT64


def _against_timestamps(type_: pa.DataType, physical: Physical) -> str:
    if not counts_nanoseconds(type_, physical):
        return ""
    return (
        "Spark refuses timestamps of nanoseconds, or with spark.sql.legacy.parquet.nanosAsLong reads them as bigint; "
        "write microseconds: coerce_timestamps='us', allow_truncated_timestamps=True does in pandas and pyarrow"
    )


def _from_logical(logical: tuple[int, list[Any]], physical: Physical, element: SchemaElement) -> pa.DataType | None:
    member, slots = logical
    match member:
        case 5 if len(slots) == 2:  # DECIMAL
            return _decimal(slots[1], slots[0], physical, element)[0]
        case 10 if len(slots) == 2 and slots[0] in _INTEGER_BITS.get(physical, ()):  # INTEGER
            return _INTEGERS[slots[0], slots[1] is True]
        case 7 | 8 if len(slots) == 2 and isinstance(slots[0], bool) and slots[1] is not None:  # TIME, TIMESTAMP
            return _time_type(member, _UNITS.get(slots[1][0]), physical, utc=slots[0])
        case 14 | 15 if physical is Physical.FIXED_LEN_BYTE_ARRAY and element.type_length is not None:
            return _LOGICAL_OF_WIDTH.get((member, element.type_length))
    return _LOGICAL.get((member, physical))


def _time_type(member: int, unit: str | None, physical: Physical, *, utc: bool) -> pa.DataType | None:
    if unit is None or physical is not (Physical.INT32 if (member, unit) == (_TIME, "ms") else Physical.INT64):
        return None
    if member == _TIMESTAMP:
        return pa.timestamp(unit, "UTC" if utc else None)
    return pa.time32(unit) if unit == "ms" else pa.time64(unit)


def _decimal_of(element: SchemaElement) -> tuple[int | None, int | None]:
    return element.precision, 0 if element.scale is None else element.scale


def _decimal_parameters(element: SchemaElement) -> tuple[int | None, int | None] | None:
    """Return precision and scale of a decimal, None for other elements."""
    if element.logical is not None:
        member, slots = element.logical
        return (slots[1], slots[0]) if member == _DECIMAL and len(slots) == 2 else None
    return _decimal_of(element) if element.converted == _CONVERTED_DECIMAL else None


def _decimal(
    precision: int | None, scale: int | None, physical: Physical, element: SchemaElement
) -> tuple[pa.DataType | None, str]:
    """Return the Arrow type of a decimal, and why predicates on it do not prune ("" if they do)."""
    if precision is None or scale is None or not 1 <= precision <= 38 or not 0 <= scale <= precision:
        return None, f"decimal({precision},{scale}) is not a valid decimal type of Spark"
    if physical is Physical.BYTE_ARRAY:
        return pa.decimal128(precision, scale), "a decimal stored as BYTE_ARRAY has no trusted bounds"
    length = element.type_length if physical is Physical.FIXED_LEN_BYTE_ARRAY else _INTEGER_BYTES.get(physical)
    if length is None or not 1 <= length <= 16:
        return None, f"a decimal stored as {physical.name} of {length} bytes is not supported"
    if 10**precision > 1 << (8 * length - 1):
        return None, f"{length} bytes cannot hold decimal({precision},{scale})"
    return pa.decimal128(precision, scale), ""
