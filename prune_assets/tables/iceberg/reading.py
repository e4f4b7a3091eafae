"""Read files of a snapshot with Spark's own Parquet reader, if its result equals Iceberg's.

Spark's reader matches columns by name, Iceberg by field id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import UnsupportedFeature
from parquet_core.spark_rules.columns_in_files import folded, leaf_in_file, reads_as_null
from prune_assets.spark.queries.table_schema import escaped
from prune_assets.spark.stores import absolute, explaining, reader_of
from prune_assets.tables.declared_type import declared_type as parse_type
from prune_assets.tables.iceberg.columns import spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from parquet_core.dataset.metadata_index import MetadataIndex
    from prune_assets.tables.declared_type import DeclaredType
    from prune_assets.tables.iceberg.table import IcebergTable
    from prune_assets.tables.table import FilesToRead

_REMEDY = "read it with Spark and Iceberg, or compact it first (rewrite_data_files)"


def declared_schema(table: IcebergTable) -> StructType:
    """Return the Spark schema of a snapshot. Raises UnsupportedFeature for a type that Spark does not read."""
    from pyspark.sql.types import StructType

    try:
        return StructType.fromJson(spark_type(table.snapshot.schema.as_struct()))
    except ValueError as error:
        raise UnsupportedFeature(
            f"{table.name}: has a column of type {error}, which Spark's Parquet reader does not have; read it with "
            f"Spark and Iceberg"
        ) from None


def declared_type(table: IcebergTable, name: str) -> DeclaredType:
    """Return the type of a top-level column. Raises UnsupportedFeature if Spark's Parquet reader lacks the type."""
    field = next(field for field in table.snapshot.schema.fields if field.name == name)
    try:
        type_json = spark_type(field.field_type)
    except ValueError as error:
        raise UnsupportedFeature(f"Spark's reader of Parquet has no type {error}") from None
    return parse_type({"name": name, "type": type_json, "nullable": True, "metadata": {}})


def open_files(spark: SparkSession, table: IcebergTable, wanted: FilesToRead) -> DataFrame:
    """Open files with the table's schema.

    Raises UnsupportedFeature if Spark would read the files differently from Iceberg.
    """
    schema, file_numbers = declared_schema(table), wanted.files.tolist()
    if not file_numbers:
        return spark.createDataFrame([], schema)
    for file_number in file_numbers:
        if file_number in table.deletes:
            path = wanted.index.groups.files[file_number].path
            raise UnsupportedFeature(f"{path}: some of its rows are deleted in other files; {_REMEDY}")
    for footer_kind in np.unique(wanted.index.groups.provenance_ids[wanted.files]).tolist():
        why = _difference(wanted.index, footer_kind)
        if why:
            file_number = next(i for i in file_numbers if wanted.index.groups.provenance_ids[i] == footer_kind)
            raise UnsupportedFeature(f"{wanted.index.groups.files[file_number].path}: {why}; {_REMEDY}")
    paths = [wanted.index.groups.files[file_number].path for file_number in file_numbers]
    reader = reader_of(spark, paths[0]).options(**wanted.options).schema(schema).option("recursiveFileLookup", "true")
    with explaining(spark, paths[0]):
        return reader.parquet(*(escaped(absolute(path)) for path in paths))


def _difference(index: MetadataIndex, footer_kind: int) -> str:
    """Return why Spark and Iceberg would read different columns from files of one footer kind; "" if they do not."""
    called, stored = index.groups.provenances[footer_kind], index.groups.names.provenances[footer_kind]
    if called.is_unnamed:
        return "does not number its columns"
    own = {leaf.path: stored.columns[leaf.index].path for leaf in called.columns}
    stored_paths = {folded(leaf.path) for leaf in stored.columns}
    tops = {path[0] for path in stored_paths}
    for column in index.groups.columns:
        name, path = column.name, own.get(column.path)
        is_there = folded(column.path) in stored_paths or (
            column.max_repetition_level and folded(column.path)[0] in tops
        )
        if path is None and (is_there or not (column.unsupported or reads_as_null(column, called))):
            return f"has another column under the name {name}, or lacks it"
        if path is not None and path != column.path:
            return f"calls column {name} {'.'.join(path)}"
        if path is not None and not column.unsupported and leaf_in_file(column, called) is None:
            return f"has column {name} with another type"
    return ""
