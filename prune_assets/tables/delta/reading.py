"""Read files of a Delta version with Spark's own Parquet reader.

Information that is only in the log is added here: values of partition columns (never taken from directory names),
deleted rows, and the logical names of columns.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from deltalog.table.types import COLUMN_ID, PHYSICAL_NAME
from prune_assets.spark.columns import column_of
from prune_assets.spark.queries.table_schema import escaped
from prune_assets.spark.spark_versions import from_arrow, metadata_column, try_cast
from prune_assets.spark.stores import absolute, explaining, file_uri, reader_of
from prune_assets.tables.table import FileConstants

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    from deltalog.log.actions import DeletionVector
    from deltalog.log.file_block import Texts
    from deltalog.table.schema import TableSchema
    from parquet_core.dataset.metadata_index import MetadataIndex
    from prune_assets.tables.delta.table import DeltaTable
    from prune_assets.tables.table import FilesToRead

# Up to this number of partitions, each is read on its own with its values as constants; more are joined by file.
MAX_READS = 16
_FILE, _ROW = "__prune_file", "__prune_row"
_FIELD_ID = "parquet.field.id"


class ReadableFile(NamedTuple):
    """A file of a version.

    `values`: partition values as in the log, in the order of the partition columns.
    """

    path: str
    values: tuple[str | None, ...]
    vector: DeletionVector | None


def open_version(spark: SparkSession, table: DeltaTable, wanted: FilesToRead) -> DataFrame:
    """Open files of a version with the columns of the table."""
    schema = spark_schema(table.snapshot.schema)
    files = live_files(table, wanted.index, wanted.files.tolist())
    with_vectors = [file for file in files if file.vector is not None]
    without = [file for file in files if file.vector is None]
    parts = [_open(spark, table, schema, group, wanted.options) for group in (without, with_vectors) if group]
    if not parts:
        return spark.createDataFrame([], logical_schema(schema))
    return reduce(lambda left, right: left.unionAll(right), parts)


def open_live(
    spark: SparkSession, table: DeltaTable, files: Sequence[ReadableFile], *, labels: Sequence[int], label: str
) -> DataFrame:
    """Open files without deleted rows, with the table's columns except partition columns.

    `labels`: a number for each file, which the file's rows get in the column `label`.
    """
    from pyspark.sql import functions as fn

    schema = spark_schema(table.snapshot.schema)
    parts = []
    for group in ([file for file in files if (file.vector is None) == whole] for whole in (True, False)):
        if group:
            frame = _open_stored(spark, table, schema, group, {})
            if group[0].vector is not None:
                # A join by column names puts the join columns first.
                columns = [column_of(name, nested=False) for name in frame.columns]
                frame = frame.join(_deleted_rows(spark, table, group), [_FILE, _ROW], "left_anti").select(*columns)
            parts.append(frame)
    frame = reduce(lambda left, right: left.unionAll(right), parts)
    names = pa.array([file_uri(file.path) for file in files])
    labelled_files = from_arrow(spark, pa.table({_FILE: names, label: pa.array(labels, pa.int32())}))
    return frame.join(fn.broadcast(labelled_files), _FILE).select(*_data_columns(table, schema), label)


def live_files(table: DeltaTable, index: MetadataIndex, file_numbers: Sequence[int]) -> list[ReadableFile]:
    """Return live files with their partition values and deletion vectors.

    `file_numbers`: index numbers of the files, ascending.
    """
    from deltalog.log.deletion_vectors import vector_of

    names = partition_names(table)
    files, start = [], 0
    blocks = iter(table.snapshot.blocks)
    block = next(blocks, None)
    for file in file_numbers:
        while block is not None and file - start >= len(block):
            start += len(block)
            block = next(blocks, None)
        assert block is not None  # an index numbers the live files of its version
        position = file - start
        values = tuple(_value_string(block.partition.get(name), position) for name in names)
        files.append(ReadableFile(index.groups.files[file].path, values, vector_of(block, position)))
    return files


class VectorOfFile(NamedTuple):
    """The deletion vector of a file.

    `table`: path of the table.
    `allow`: as in `open_snapshot`.
    """

    vector: DeletionVector
    table: str
    allow: tuple[str, ...]

    def read(self) -> NDArray[np.int64]:
        """Return the numbers of the deleted rows, ascending."""
        from deltalog.log.deletion_vectors import read_vector

        deleted = read_vector(self.vector, self.table, allow=self.allow)
        return np.sort(np.asarray(deleted.to_array()).astype(np.int64))


def constants_of(
    table: DeltaTable, index: MetadataIndex, files: Sequence[int], names: Collection[str]
) -> list[FileConstants]:
    """Return the values of partition columns in files, from the log, and the deletion vectors.

    `files`: index numbers of the files, ascending.
    """
    from deltalog.stats.partition_values import partition_value

    snapshot = table.snapshot
    columns = {column.partition: column for column in snapshot.schema.columns if column.partition}
    keys = partition_names(table)
    cached: dict[tuple[str, str | None], pa.Scalar | None] = {}
    constants = []
    for file in live_files(table, index, files):
        values, unknown = {}, {}
        for key, value_string in zip(keys, file.values, strict=True):
            name = columns[key].leaf.path[0]
            if name not in names:
                continue
            if (key, value_string) not in cached:
                cached[key, value_string] = partition_value(columns[key], value_string)
            value = cached[key, value_string]
            if value is None:
                unknown[name] = f"the meaning of the partition value {value_string!r} depends on the session"
            else:
                values[name] = value
        deleted = None if file.vector is None else VectorOfFile(file.vector, snapshot.table, tuple(snapshot.allow))
        constants.append(FileConstants(values, unknown, deleted))
    return constants


def _value_string(coded: Texts | None, position: int) -> str | None:
    code = -1 if coded is None else int(coded.codes[position])
    return None if coded is None or code < 0 else coded.values[code].as_py()


def partition_names(table: DeltaTable) -> list[str]:
    """Return the names of the partition columns in the log, in the order of the schema."""
    schema = table.snapshot.schema
    keys = {column.leaf.path[0]: column.partition for column in schema.columns if column.partition is not None}
    return [keys[name] or name for name in schema.partition_columns]


def _open(
    spark: SparkSession,
    table: DeltaTable,
    schema: StructType,
    files: Sequence[ReadableFile],
    options: Mapping[str, str],
) -> DataFrame:
    """Open files that either all have a deletion vector, or all lack one.

    `options`: options of Spark's reader for this read only.
    """
    by_values: dict[tuple[str | None, ...], list[ReadableFile]] = defaultdict(list)
    for file in files:
        by_values[file.values].append(file)
    if len(by_values) <= MAX_READS:
        parts = [
            _with_values(_open_stored(spark, table, schema, group, options), group[0].values)
            for group in by_values.values()
        ]
        frame = reduce(lambda left, right: left.unionAll(right), parts)
    else:
        frame = _join_values(spark, _open_stored(spark, table, schema, files, options), files)
    if files[0].vector is not None:
        frame = frame.join(_deleted_rows(spark, table, files), [_FILE, _ROW], "left_anti")
    return frame.select(*_logical_columns(table, schema))


def _open_stored(
    spark: SparkSession,
    table: DeltaTable,
    schema: StructType,
    files: Sequence[ReadableFile],
    options: Mapping[str, str],
) -> DataFrame:
    """Open files with their physical column names, and add the file and the row number of each row."""
    from pyspark.sql.types import StructType

    mapping = table.snapshot.schema.mapping
    partitions = set(table.snapshot.schema.partition_columns)
    fields = [
        stored_field(field, mapping, ids=mapping == "id") for field in schema.fields if field.name not in partitions
    ]
    # Directory names have no meaning in Delta; without this option Spark would infer columns from them.
    reader = reader_of(spark, files[0].path).options(**options)
    reader = reader.schema(StructType(fields)).option("recursiveFileLookup", "true")
    if mapping == "id":
        reader = reader.option("spark.sql.parquet.fieldId.read.enabled", "true")
    with explaining(spark, files[0].path):
        frame = reader.parquet(*(escaped(absolute(file.path)) for file in files))
    file_metadata = metadata_column(frame)
    columns = [column_of(name, nested=False) for name in frame.columns]
    return frame.select(*columns, file_metadata["file_path"].alias(_FILE), file_metadata["row_index"].alias(_ROW))


def _with_values(frame: DataFrame, values: Sequence[str | None]) -> DataFrame:
    from pyspark.sql import functions as fn

    # NULLIF with NULL keeps the value but makes the column nullable, so that the schema does not depend on partitions.
    value_columns = [
        fn.nullif(fn.lit(value), fn.lit(None)).cast("string").alias(_value_column(i)) for i, value in enumerate(values)
    ]
    return frame.select("*", *value_columns)


def _join_values(spark: SparkSession, frame: DataFrame, files: Sequence[ReadableFile]) -> DataFrame:
    from pyspark.sql import functions as fn

    value_strings = {_value_column(i): [file.values[i] for file in files] for i in range(len(files[0].values))}
    arrays = {name: pa.array(values, pa.string()) for name, values in value_strings.items()}
    file_values = pa.table({_FILE: pa.array([file_uri(file.path) for file in files]), **arrays})
    # The inner join loses no row, because `file_values` has every opened file.
    return frame.join(fn.broadcast(from_arrow(spark, file_values)), _FILE)


def _deleted_rows(spark: SparkSession, table: DeltaTable, files: Sequence[ReadableFile]) -> DataFrame:
    """Return the file and row number of the deleted rows of files."""
    from deltalog.log.deletion_vectors import read_vector

    snapshot, names, rows = table.snapshot, [], []
    for file in files:
        assert file.vector is not None  # `files` are files with a deletion vector
        deleted = read_vector(file.vector, snapshot.table, traffic=snapshot.traffic, allow=snapshot.allow)
        names.append(pa.repeat(file_uri(file.path), len(deleted)))
        rows.append(pa.array(deleted.to_array(), pa.uint64()).cast(pa.int64()))
    return from_arrow(spark, pa.table({_FILE: pa.chunked_array(names), _ROW: pa.chunked_array(rows)}))


def _logical_columns(table: DeltaTable, schema: StructType) -> list[Column]:

    positions = {name: i for i, name in enumerate(table.snapshot.schema.partition_columns)}
    stored = iter(_data_columns(table, schema))
    return [
        # Delta reads a partition value that is not valid for the type as null.
        try_cast(_value_column(positions[shown.name]), shown.dataType).alias(shown.name, metadata=shown.metadata)
        if shown.name in positions
        else next(stored)
        for shown in logical_schema(schema).fields
    ]


def _data_columns(table: DeltaTable, schema: StructType) -> list[Column]:
    """Return the columns stored in files, under their logical names."""
    described = table.snapshot.schema
    columns = []
    for field, shown in zip(schema.fields, logical_schema(schema).fields, strict=True):
        if field.name not in described.partition_columns:
            stored = stored_field(field, described.mapping, ids=False)
            column = column_of(stored.name, nested=False)
            column = column if stored.dataType == shown.dataType else column.cast(shown.dataType)
            columns.append(column.alias(field.name, metadata=shown.metadata))
    return columns


def _value_column(index: int) -> str:
    return f"__prune_value_{index}"


def spark_schema(schema: TableSchema) -> StructType:
    """Parse the schema of a Delta log into Spark's type."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(schema.text))


def logical_schema(schema: StructType) -> StructType:
    """Return the schema of a table without metadata that only the Delta log uses."""
    logical: StructType = _map_fields(schema, lambda field: (field.name, _spark_metadata(field.metadata)))
    return logical


def stored_field(field: StructField, mapping: str, *, ids: bool) -> StructField:
    """Return a column under its physical name, as column mapping gives it.

    `ids`: if True, add the field id.
    """
    from pyspark.sql.types import StructType

    def stored(field: StructField) -> tuple[str, dict[str, Any]]:
        if mapping == "none":
            return field.name, _spark_metadata(field.metadata)
        name = field.metadata.get(PHYSICAL_NAME, field.name)
        return name, {_FIELD_ID: field.metadata[COLUMN_ID]} if ids and COLUMN_ID in field.metadata else {}

    renamed: StructType = _map_fields(StructType([field]), stored)
    return renamed.fields[0]


def _spark_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if not key.startswith("delta.")}


def _map_fields(data_type: DataType, named: Callable[[StructField], tuple[str, dict[str, Any]]]) -> Any:
    """Replace the name and the metadata of each field of a type, and make all fields nullable, as Spark reads files."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    match data_type:
        case StructType():
            fields = [(named(field), _map_fields(field.dataType, named)) for field in data_type.fields]
            return StructType([StructField(name, inner, metadata=extra) for (name, extra), inner in fields])
        case ArrayType():
            return ArrayType(_map_fields(data_type.elementType, named))
        case MapType():
            return MapType(_map_fields(data_type.keyType, named), _map_fields(data_type.valueType, named))
    return data_type
