"""The Arrow type that a table declares for a column, and the names that its files have within it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from parquet_core.errors import UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.types import StructField


class DeclaredType(NamedTuple):
    """The type of a column: `declared` with the table's names, `stored` with the names of files inside lists and maps.

    Outside of lists and maps, columns of files have the table's names already.
    """

    declared: pa.DataType
    stored: pa.DataType


def declared_type(described: Any, in_files: Callable[[StructField], StructField] | None = None) -> DeclaredType:
    """Return the type of a column from Spark's JSON; `in_files`: gives the column the names that files use.

    Raises UnsupportedFeature for a type that Arrow or the installed Spark lacks.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    from prune_assets.session.spark_versions import arrow_schema

    try:
        (field,) = StructType.fromJson({"type": "struct", "fields": [described]}).fields
        declared = arrow_schema(StructType([field])).field(0)
        stored = declared if in_files is None else arrow_schema(StructType([in_files(field)])).field(0)
    except (PySparkException, ValueError, KeyError) as error:
        raise UnsupportedFeature(f"its type is not known ({' '.join(str(error).split())})") from None
    if _has_variant(declared):
        raise UnsupportedFeature("Arrow has no type for VARIANT")
    return DeclaredType(declared.type, _outside_lists(declared.type, stored.type))


def _has_variant(field: pa.Field) -> bool:
    """Return True if Spark marked the field, or one within it, as a part of a VARIANT."""
    if b"variant" in (field.metadata or {}):
        return True
    return any(_has_variant(field.type.field(i)) for i in range(field.type.num_fields))


def _outside_lists(declared: pa.DataType, stored: pa.DataType) -> pa.DataType:
    """Return the stored type with the declared names of fields that are in no list or map."""
    if not pa.types.is_struct(declared):
        return stored
    fields = zip(declared, stored, strict=True)
    return pa.struct([pa.field(field.name, _outside_lists(field.type, inner.type)) for field, inner in fields])
