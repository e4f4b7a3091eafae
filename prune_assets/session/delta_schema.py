"""The columns of a Delta table as its users know them, and as its files name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.types import DataType, StructField, StructType

_PHYSICAL_NAME, _ID, _FIELD_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id", "parquet.field.id"


def logical_schema(schema: StructType) -> StructType:
    """Return the schema of a table without what only its log has a use for."""
    found: StructType = _mapped(schema, lambda field: (field.name, _shown(field.metadata)))
    return found


def stored_field(field: StructField, mapping: str, *, ids: bool) -> StructField:
    """Return a column as files have it: with column mapping by its physical name, and with `ids` by its number."""
    from pyspark.sql.types import StructType

    def stored(field: StructField) -> tuple[str, dict[str, Any]]:
        if mapping == "none":
            return field.name, _shown(field.metadata)
        name = field.metadata.get(_PHYSICAL_NAME, field.name)
        return name, {_FIELD_ID: field.metadata[_ID]} if ids and _ID in field.metadata else {}

    found: StructType = _mapped(StructType([field]), stored)
    return found.fields[0]


def _shown(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if not key.startswith("delta.")}


def _mapped(kind: DataType, named: Callable[[StructField], tuple[str, dict[str, Any]]]) -> Any:
    """Give each field of a type another name and other metadata; what is read of files may be null to Spark."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    match kind:
        case StructType():
            fields = [(named(field), _mapped(field.dataType, named)) for field in kind.fields]
            return StructType([StructField(name, inner, metadata=extra) for (name, extra), inner in fields])
        case ArrayType():
            return ArrayType(_mapped(kind.elementType, named))
        case MapType():
            return MapType(_mapped(kind.keyType, named), _mapped(kind.valueType, named))
    return kind
