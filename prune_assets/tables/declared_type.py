"""Arrow types of declared columns: one with the field names of the table, one with the field names in files."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pyarrow as pa

from deltalog.table.types import PHYSICAL_NAME
from parquet_core.errors import UnsupportedFeature

_PLAIN = {
    "null": pa.null(),
    "void": pa.null(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "int": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "decimal": pa.decimal128(10, 0),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_MOST_DIGITS = 38
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_DAY_TIME_INTERVAL = re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?")
_COLLATED = re.compile(r"string collate \w+")
_TIME = re.compile(r"time\(\d\)")


class DeclaredType(NamedTuple):
    """Declared type of a column.

    `declared`: the type with the table's field names.
    `stored`: the type with the files' field names inside lists and maps, and the table's field names elsewhere.
    """

    declared: pa.DataType
    stored: pa.DataType


def declared_type(described: Any, *, physical_names: bool = False) -> DeclaredType:
    """Convert a column's type from Spark's JSON to Arrow.

    `physical_names`: True if files use the field names of Delta's column mapping.

    Raises UnsupportedFeature for a type that Arrow lacks.

    >>> field = {"name": "a", "type": "long", "nullable": True, "metadata": {}}
    >>> declared_type({"name": "s", "type": {"type": "struct", "fields": [field]}}).declared
    StructType(struct<a: int64>)
    """
    declared = _arrow_type(described["type"])
    stored = _arrow_type(described["type"], physical_names=True) if physical_names else declared
    return DeclaredType(declared, _outside_lists(declared, stored))


def _arrow_type(described: Any, *, physical_names: bool = False) -> pa.DataType:
    """Return the Arrow type that Spark exports, with timestamps in UTC."""
    match described:
        case str():
            return _primitive(described)
        case {"type": "struct", "fields": [*fields]}:
            return pa.struct([_field(field, physical_names=physical_names) for field in fields])
        case {"type": "array", "elementType": element}:
            element_type = _arrow_type(element, physical_names=physical_names)
            return pa.list_(pa.field("element", element_type, nullable=described.get("containsNull", True)))
        case {"type": "map", "keyType": key, "valueType": value}:
            item = pa.field("value", _arrow_type(value, physical_names=physical_names))
            item = item.with_nullable(described.get("valueContainsNull", True))
            return pa.map_(_arrow_type(key, physical_names=physical_names), item)
        case {"type": "udt", "sqlType": inner}:
            return _arrow_type(inner, physical_names=physical_names)
    raise _unknown_type(described)


def _field(field: Any, *, physical_names: bool) -> pa.Field:
    match field:
        case {"name": str(name), "type": described}:
            metadata = field.get("metadata") or {}
            arrow_type = _arrow_type(described, physical_names=physical_names)
            stored = metadata.get(PHYSICAL_NAME, name) if physical_names else name
            return pa.field(stored, arrow_type, nullable=field.get("nullable", True))
    raise _unknown_type(field)


def _primitive(name: str) -> pa.DataType:
    if name == "variant":
        raise UnsupportedFeature("Arrow has no type for VARIANT")
    if name in _PLAIN:
        return _PLAIN[name]
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None and 1 <= int(decimal[1]) <= _MOST_DIGITS:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if _DAY_TIME_INTERVAL.fullmatch(name):
        return pa.duration("us")
    if _COLLATED.fullmatch(name):
        return pa.string()
    if _TIME.fullmatch(name):
        return pa.time64("ns")
    raise _unknown_type(name)


def _unknown_type(described: object) -> UnsupportedFeature:
    return UnsupportedFeature(f"its type is not known ({described})")


def _outside_lists(declared: pa.DataType, stored: pa.DataType) -> pa.DataType:
    """Return `stored` with the field names of `declared`, except inside lists and maps."""
    if not pa.types.is_struct(declared):
        return stored
    fields = zip(declared, stored, strict=True)
    return pa.struct([pa.field(field.name, _outside_lists(field.type, inner.type)) for field, inner in fields])
