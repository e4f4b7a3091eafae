"""The columns of a DataFrame as CREATE TABLE has them, with names in backquotes at each depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def column_definitions(schema: StructType) -> str:
    """Return the columns of a schema; all of them take nulls.

    >>> from pyspark.sql.types import LongType, StructType
    >>> column_definitions(StructType().add("id", LongType()).add("a b", StructType().add("c", LongType())))
    '`id` bigint, `a b` struct<`c`: bigint>'
    """
    return ", ".join(f"{_name(field.name)} {_type(field.dataType)}" for field in schema.fields)


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _type(kind: DataType) -> str:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        return f"struct<{', '.join(f'{_name(field.name)}: {_type(field.dataType)}' for field in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_type(kind.keyType)}, {_type(kind.valueType)}>"
    return kind.simpleString()
