"""Column types of Delta schemas: Spark's JSON, parsed into structs.

Source: the Delta protocol, "Schema Serialization Format".
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from deltalog.errors import RefusedCommit
from parquet_core.spark_rules.stored_types import DECIMAL

PHYSICAL_NAME, COLUMN_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"
TYPE_CHANGES = "delta.typeChanges"
# The declared length of CHAR and VARCHAR columns, whose type is string.
DECLARED_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
_PLAIN = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
}


class StructField(msgspec.Struct, frozen=True):
    """A column, or a field of a struct."""

    name: str
    type: DataType
    nullable: bool = True
    metadata: dict[str, Any] = {}


class StructType(msgspec.Struct, frozen=True, tag_field="type", tag="struct"):
    """A struct; also the schema of a table."""

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


class UserDefinedType(msgspec.Struct, frozen=True, tag_field="type", tag="udt", rename="camel"):
    """A user-defined type of a Spark application.

    `sql_type`: the type in which its values are stored.
    """

    sql_type: DataType


# Types without fields or elements are represented by their names.
DataType = str | StructType | ArrayType | MapType | UserDefinedType


def parse_struct(text: str) -> StructType:
    """Parse a schema's JSON. Raises msgspec.DecodeError, UnicodeError and RecursionError.

    >>> parse_struct('{"type":"struct","fields":[{"name":"a","type":"long","nullable":false,"metadata":{}}]}')
    StructType(fields=(StructField(name='a', type='long', nullable=False, metadata={}),))
    """
    return msgspec.json.decode(text, type=StructType)


def inner_types(type_: DataType) -> dict[str, DataType]:
    """Return the inner types of an array or map by Delta's names; empty for other types.

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
    """Return the name of a type; struct, array or map for nested types."""
    return type_ if isinstance(type_, str) else str(type_.__struct_config__.tag)


def decimal_digits(name: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type; None for other types.

    >>> decimal_digits("decimal(12, 2)"), decimal_digits("decimal"), decimal_digits("long")
    ((12, 2), (10, 0), None)
    """
    if name == "decimal":
        return 10, 0
    digits = DECIMAL.fullmatch(name)
    return None if digits is None else (int(digits[1]), int(digits[2]))


def schema_text(schema: pa.Schema) -> str:
    """Return an Arrow schema as Delta's JSON. Raises RefusedCommit for types that Delta lacks.

    >>> schema_text(pa.schema([("a", pa.int64())]))
    '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    """
    return msgspec.json.encode(StructType(tuple(map(_field, schema)))).decode()


def _field(field: pa.Field) -> StructField:
    return StructField(field.name, _type(field.type, field.name), field.nullable)


def _type(stored: pa.DataType, name: str) -> DataType:  # noqa: PLR0911 - one return per type
    if stored in _PLAIN:
        return _PLAIN[stored]
    if pa.types.is_timestamp(stored):
        return "timestamp_ntz" if stored.tz is None else "timestamp"
    if pa.types.is_decimal(stored) and stored.precision <= 38 and 0 <= stored.scale <= stored.precision:
        return f"decimal({stored.precision},{stored.scale})"
    if pa.types.is_struct(stored):
        return StructType(tuple(map(_field, stored)))
    if pa.types.is_dictionary(stored):
        return _type(stored.value_type, name)
    if pa.types.is_map(stored):
        return MapType(_type(stored.key_type, name), _type(stored.item_type, name), stored.item_field.nullable)
    if pa.types.is_list(stored) or pa.types.is_large_list(stored) or pa.types.is_fixed_size_list(stored):
        return ArrayType(_type(stored.value_type, name), stored.value_field.nullable)
    raise RefusedCommit(f"column {name} has the type {stored}, which Delta lacks; cast it")
