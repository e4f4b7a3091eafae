"""The JSON of a schema: made of an Arrow schema, and read as its fields at any depth.

Source: the Delta protocol, "Schema Serialization Format".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from deltalog.errors import MalformedLog, RefusedCommit
from deltalog.table.schema import MAX_NESTING

if TYPE_CHECKING:
    from collections.abc import Iterator


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
# Under which an array or a map has the types of what it holds.
INNER_TYPES = ("elementType", "keyType", "valueType")
PHYSICAL_NAME, COLUMN_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"


def schema_text(schema: pa.Schema) -> str:
    """Return the JSON of a schema; RefusedCommit names a column of a type that Delta lacks.

    >>> schema_text(pa.schema([("a", pa.int64())]))
    '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    """
    return msgspec.json.encode({"type": "struct", "fields": [_json_field(field) for field in schema]}).decode()


def _json_field(field: pa.Field) -> dict[str, Any]:
    return {"name": field.name, "type": _json_type(field.type, field.name), "nullable": field.nullable, "metadata": {}}


def _json_type(kind: pa.DataType, name: str) -> Any:  # noqa: PLR0911 - one for each kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind) and kind.precision <= 38 and 0 <= kind.scale <= kind.precision:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [_json_field(child) for child in kind]}
    if pa.types.is_dictionary(kind):
        return _json_type(kind.value_type, name)
    if pa.types.is_map(kind):
        return {
            "type": "map",
            "keyType": _json_type(kind.key_type, name),
            "valueType": _json_type(kind.item_type, name),
            "valueContainsNull": kind.item_field.nullable,
        }
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return {
            "type": "array",
            "elementType": _json_type(kind.value_type, name),
            "containsNull": kind.value_field.nullable,
        }
    raise RefusedCommit(f"column {name} has the type {kind}, which Delta lacks; cast it")


class Field(NamedTuple):
    """A field: logical and physical path, its type as JSON, and whether it lies in an array or map.

    `nullable`: whether it may be null itself.
    """

    path: tuple[str, ...]
    physical: tuple[str, ...]
    kind: Any
    nullable: bool
    metadata: dict[str, Any]
    repeated: bool

    @property
    def name(self) -> str:
        """The path for messages."""
        return ".".join(self.path)

    @property
    def plain(self) -> str:
        """The name of the type; of a nested one what kind of nest it is."""
        return self.kind if isinstance(self.kind, str) else str(self.kind["type"])


def schema_fields(text: str, *, mapped: bool, location: str) -> list[Field]:
    """Return the fields of a schema, parents before children; MalformedLog for what is no schema."""
    try:
        tree = msgspec.json.decode(text)
        found = list(_fields_below(tree, (), (), mapped=mapped, repeated=False))
        top = tree["type"]
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError, UnicodeError):
        raise MalformedLog(f"{location}: the schema of the table is not a Spark schema; the log is damaged") from None
    if top != "struct":
        raise MalformedLog(f"{location}: the schema of the table is not a struct; the log is damaged")
    return found


def _fields_below(
    kind: Any, path: tuple[str, ...], physical: tuple[str, ...], *, mapped: bool, repeated: bool
) -> Iterator[Field]:
    if len(path) > MAX_NESTING:
        raise RecursionError
    if isinstance(kind, str):
        return
    for inner in INNER_TYPES:
        if inner in kind:
            yield from _fields_below(kind[inner], (*path, inner), (*physical, inner), mapped=mapped, repeated=True)
    for field in kind.get("fields", ()):
        metadata = field.get("metadata") or {}
        here = (*path, str(field["name"]))
        stored = (*physical, str(metadata.get(PHYSICAL_NAME, field["name"]) if mapped else field["name"]))
        yield Field(here, stored, field["type"], bool(field.get("nullable", True)), metadata, repeated)
        yield from _fields_below(field["type"], here, stored, mapped=mapped, repeated=repeated)
