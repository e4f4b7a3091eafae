"""The JSON of a schema, made of an Arrow schema.

Source: the Delta protocol, "Schema Serialization Format".
"""

from __future__ import annotations

import msgspec
import pyarrow as pa

from deltalog.errors import RefusedCommit
from deltalog.table.types import ArrayType, DataType, MapType, StructField, StructType

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


def schema_text(schema: pa.Schema) -> str:
    """Return the JSON of a schema; RefusedCommit names a column of a type that Delta lacks.

    >>> schema_text(pa.schema([("a", pa.int64())]))
    '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    """
    return msgspec.json.encode(StructType(tuple(map(_field, schema)))).decode()


def _field(field: pa.Field) -> StructField:
    return StructField(field.name, _type(field.type, field.name), field.nullable)


def _type(kind: pa.DataType, name: str) -> DataType:  # noqa: PLR0911 - one for each kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind) and kind.precision <= 38 and 0 <= kind.scale <= kind.precision:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return StructType(tuple(map(_field, kind)))
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type, name)
    if pa.types.is_map(kind):
        return MapType(_type(kind.key_type, name), _type(kind.item_type, name), kind.item_field.nullable)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return ArrayType(_type(kind.value_type, name), kind.value_field.nullable)
    raise RefusedCommit(f"column {name} has the type {kind}, which Delta lacks; cast it")
