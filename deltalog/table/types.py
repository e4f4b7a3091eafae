"""Types of columns as a log declares them: Spark's JSON, parsed once into structs.

Source: the Delta protocol, "Schema Serialization Format".
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

PHYSICAL_NAME, COLUMN_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"
# The declared length of CHAR and VARCHAR columns, whose type is string.
DECLARED_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")


class StructField(msgspec.Struct, frozen=True):
    """A column, or a field of a struct."""

    name: str
    type: DataType
    nullable: bool = True
    metadata: dict[str, Any] = {}


class StructType(msgspec.Struct, frozen=True, tag_field="type", tag="struct"):
    """A struct, also the schema of a table."""

    fields: tuple[StructField, ...]


class ArrayType(msgspec.Struct, frozen=True, tag_field="type", tag="array", rename="camel"):
    """An array."""

    element_type: DataType
    contains_null: bool = True


class MapType(msgspec.Struct, frozen=True, tag_field="type", tag="map", rename="camel"):
    """A map."""

    key_type: DataType
    value_type: DataType
    value_contains_null: bool = True


# A type is its name if it has no fields and no elements.
DataType = str | StructType | ArrayType | MapType


def parse_struct(text: str) -> StructType:
    """Parse the JSON of a schema.

    >>> parse_struct('{"type":"struct","fields":[{"name":"a","type":"long","nullable":false}]}')
    StructType(fields=(StructField(name='a', type='long', nullable=False, metadata={}),))

    Raises msgspec.DecodeError, UnicodeError, RecursionError, KeyError, TypeError and AttributeError if `text` is not
    such a schema.
    """
    struct = _parsed(msgspec.json.decode(text))
    if not isinstance(struct, StructType):
        raise TypeError
    return struct


def _parsed(described: Any) -> DataType:
    """Return a type; a type of an unknown kind, such as a user-defined one, is its name."""
    match described:
        case str():
            return described
        case {"type": "struct"}:
            return StructType(tuple(map(_field, described["fields"])))
        case {"type": "array", "elementType": element}:
            return ArrayType(_parsed(element), bool(described.get("containsNull", True)))
        case {"type": "map", "keyType": key, "valueType": value}:
            return MapType(_parsed(key), _parsed(value), bool(described.get("valueContainsNull", True)))
        case {"type": str(name)}:
            return name
    raise TypeError


def _field(described: Any) -> StructField:
    name, metadata = described["name"], described.get("metadata") or {}
    if not isinstance(name, str) or not isinstance(metadata, dict):
        raise TypeError
    return StructField(name, _parsed(described["type"]), bool(described.get("nullable", True)), metadata)


def inner_types(type_: DataType) -> dict[str, DataType]:
    """Return the types in an array or map by the names that Delta has for them; empty for other types.

    >>> inner_types(ArrayType("long")), inner_types("long")
    ({'elementType': 'long'}, {})
    """
    match type_:
        case ArrayType(element):
            return {"elementType": element}
        case MapType(key, value):
            return {"keyType": key, "valueType": value}
    return {}


def type_name(type_: DataType) -> str:
    """Return the name of a type: struct, array and map for nested ones."""
    return type_ if isinstance(type_, str) else str(type_.__struct_config__.tag)


def decimal_digits(name: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type; None for other types.

    >>> decimal_digits("decimal(12, 2)"), decimal_digits("decimal"), decimal_digits("long")
    ((12, 2), (10, 0), None)
    """
    if name == "decimal":
        return 10, 0
    digits = _DECIMAL.fullmatch(name)
    return None if digits is None else (int(digits[1]), int(digits[2]))
