"""Find the schema that Spark infers for a table, without opening every file and usually without running Spark."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, TypeAlias

from parquet_core.spark_rules.spark_schema import SPARK_SCHEMA_KEY
from parquet_core.storage import is_remote, local_path
from prune_assets.spark.stores import absolute, reader_of, spark_uri

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from parquet_core.dataset.metadata_index import MetadataIndex

    Table: TypeAlias = str | os.PathLike[str] | Sequence[str]

# Words in Spark's schema JSON that mark columns with special types or metadata.
_OF_ITS_OWN = ("__CHAR_VARCHAR_TYPE_STRING", "__COLLATIONS", "EXISTS_DEFAULT", '"udt"', "variant", "interval ")


def open_for_columns(spark: SparkSession, table: Table, index: MetadataIndex) -> DataFrame:
    """Return a DataFrame with the columns of a table and an arbitrary part of its rows.

    Its columns are `_metadata` and the columns of `spark.read.parquet(table)`.
    """
    schema = known_schema(index)
    if schema is None:
        return open_for_schema(spark, table, index)
    return reader_of(spark, table).schema(schema).parquet(escaped(absolute(index.groups.files[0].path)))


def open_for_schema(
    spark: SparkSession, table: Table, index: MetadataIndex, *, options: Mapping[str, str] | None = None
) -> DataFrame:
    """Open the part of a table that decides its schema.

    The whole table is opened only for partition directories or a summary file.
    `options`: options of this read only.
    Paths are made absolute here: Java keeps its start directory, but Python may have changed its own.
    """
    reader = reader_of(spark, table).options(**(options or {}))
    if index.groups.partitions or index.groups.summary is not None:
        # The type of a partition column follows from the values in all directories.
        return reader.parquet(*patterns_of(table))
    # Spark takes the schema of the first file by path, and the plan uses the same file.
    return reader.parquet(escaped(absolute(index.groups.files[0].path)))


def known_schema(index: MetadataIndex) -> StructType | None:
    """Return the schema that Spark will infer; None if unknown.

    Spark infers the schema from the first file by path. It is known only if Spark wrote that file, the schema has no
    special types (CHAR, collations, defaults), and all partition columns are whole numbers, dates or strings.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.types import DateType, IntegerType, LongType, StringType, StructField, StructType

    schema_json = (
        index.groups.provenances[index.groups.provenance_ids[0]].key_values.get(SPARK_SCHEMA_KEY)
        if len(index.groups.files)
        else None
    )
    if schema_json is None or index.groups.summary is not None or any(word in schema_json for word in _OF_ITS_OWN):
        return None
    try:
        schema = StructType.fromJson(json.loads(schema_json))
    except (ValueError, KeyError, TypeError, PySparkException):
        return None
    plain = {"int32": IntegerType(), "int64": LongType(), "date32[day]": DateType(), "string": StringType()}
    types = [None if column.unsupported else plain.get(str(column.type)) for column in index.groups.partitions]
    names = [column.path[0] for column in index.groups.partitions]
    in_files = {name.casefold() for name in schema.names}
    if not in_files.isdisjoint(map(str.casefold, names)) or len(in_files) < len(schema.names):
        return None
    fields = [
        StructField(name, data_type) for name, data_type in zip(names, types, strict=True) if data_type is not None
    ]
    return StructType([*schema.fields, *fields]) if len(fields) == len(names) else None


def escaped(path: str) -> str:
    r"""Escape a path, so that Spark's globbing matches only this path.

    >>> escaped("lake/a[1].parquet")
    'lake/a\\[1\\].parquet'
    """
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def patterns_of(table: Table) -> list[str]:
    """Return the paths of a table for Spark.

    Directories and files become absolute paths; patterns are unchanged.
    """
    named = [table] if isinstance(table, str | os.PathLike) else table
    return [_pattern(os.fspath(path)) for path in named]


def _pattern(path: str) -> str:
    if is_remote(path):
        return spark_uri(path)
    absolute_path = os.path.abspath(local_path(path))
    return escaped(absolute_path) if os.path.exists(absolute_path) else absolute_path


def spark_type(arrow_type: pa.DataType) -> str:
    """Return Spark's name for the type of a partition column."""
    names = {"int32": "int", "int64": "bigint", "date32[day]": "date", "null": "void"}
    names |= {"timestamp[us, tz=UTC]": "timestamp", "timestamp[us]": "timestamp_ntz"}
    return names.get(str(arrow_type), str(arrow_type).replace("decimal128", "decimal").replace(", ", ","))
