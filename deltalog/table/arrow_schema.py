"""The columns of a table in Arrow: as a user names them, and as its Parquet files have them.

Under column mapping files know columns, and the fields of structs, by physical names and numbers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from deltalog.errors import UnsupportedTable
from deltalog.table.types import COLUMN_ID, PHYSICAL_NAME

if TYPE_CHECKING:
    from deltalog.table.schema import TableSchema

_PLAIN = {
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
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_MOST_DIGITS = 38
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")


def arrow_schema(schema: TableSchema, *, stored: bool = False, location: str) -> pa.Schema:
    """Return the columns of a table; `stored`: with the names and numbers that files have.

    UnsupportedTable names a column of a type that Arrow lacks, or whose values would have to be looked at.
    """
    mapped = stored and schema.mapping != "none"
    fields = msgspec.json.decode(schema.text)["fields"]
    return pa.schema([_field(field, mapped=mapped, column=f"{location}: column {field['name']}") for field in fields])


def primitive_type(declared: str) -> pa.DataType | None:
    """Return the Arrow type of a primitive type; None if the type is unknown.

    >>> primitive_type("decimal(12,2)"), primitive_type("timestamp"), primitive_type("decimal(39,0)")
    (Decimal128Type(decimal128(12, 2)), TimestampType(timestamp[us, tz=UTC]), None)
    """
    decimal = _DECIMAL.fullmatch(declared)
    if decimal is None:
        return _PLAIN.get(declared)
    precision, scale = int(decimal[1]), int(decimal[2])
    return pa.decimal128(precision, scale) if 1 <= precision <= _MOST_DIGITS else None


def _field(field: Any, *, mapped: bool, column: str) -> pa.Field:
    metadata = field.get("metadata") or {}
    if "__CHAR_VARCHAR_TYPE_STRING" in metadata:
        raise UnsupportedTable(f"{column} has a length, which is not checked here; write with Spark")
    kind = _type(field["type"], mapped=mapped, column=column)
    nullable = field.get("nullable", True)
    if not mapped:
        return pa.field(field["name"], kind, nullable=nullable)
    numbered = {"PARQUET:field_id": str(metadata[COLUMN_ID])}
    return pa.field(metadata[PHYSICAL_NAME], kind, nullable=nullable, metadata=numbered)


def _type(declared: Any, *, mapped: bool, column: str) -> pa.DataType:
    if isinstance(declared, str):
        kind = primitive_type(declared)
        if kind is None:
            raise UnsupportedTable(f"{column} is of type {declared}, which is not written here; write with Spark")
        return kind
    if declared["type"] == "struct":
        return pa.struct([_field(field, mapped=mapped, column=column) for field in declared["fields"]])
    if declared["type"] == "array":
        inner = _type(declared["elementType"], mapped=mapped, column=column)
        return pa.list_(pa.field("element", inner, nullable=declared["containsNull"]))
    key, value = (_type(declared[part], mapped=mapped, column=column) for part in ("keyType", "valueType"))
    return pa.map_(key, pa.field("value", value, nullable=declared["valueContainsNull"]))
