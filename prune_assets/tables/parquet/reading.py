"""Read plain files through Spark with the schema of the whole table."""

from __future__ import annotations

import os
from itertools import takewhile
from typing import TYPE_CHECKING

from parquet_core.errors import UnfinishedWrite
from parquet_core.storage import is_remote, local_path
from prune_assets.spark.columns import column_of
from prune_assets.spark.queries.table_schema import (
    escaped,
    known_schema,
    open_for_columns,
    open_for_schema,
    patterns_of,
    spark_type,
)
from prune_assets.spark.stores import absolute, reader_of
from prune_assets.tables.table import Opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.format.schema import LeafColumn
    from prune_assets.tables.format import Location
    from prune_assets.tables.parquet.table import ParquetTable
    from prune_assets.tables.table import FilesToRead


def open_files(spark: SparkSession, table: ParquetTable, wanted: FilesToRead) -> DataFrame:
    """Open files with the schema of the whole table.

    Paths are made absolute here, because Java keeps the working directory of its start, while Python's may change.
    """
    index, opening, given = wanted.index, wanted.opening, table.given
    paths = [index.groups.files[file_number].path for file_number in wanted.files.tolist()]
    if any(map(_is_staged_in_partition, paths)):
        _refuse_unfinished(table)
    base = _base_path(given)
    schema = None if index.groups.partitions and base is None else known_schema(index)
    if schema is None:
        if opening is Opening.TABLE or (index.groups.partitions and base is None):
            # With several directories, each has its own partition columns, and only Spark can combine them.
            _refuse_unfinished(table)
            return reader_of(spark, given).options(**wanted.options).parquet(*patterns_of(given))
        whole = open_for_schema(spark, given, index, options=wanted.options)
        if index.groups.partitions and not _infers_same_types(whole, index.groups.partitions):
            _refuse_unfinished(table)
            return whole
        schema = whole.schema
    if opening is Opening.NOTHING:
        # The empty frame is opened on the table's files, so that the predicate can use `_metadata`.
        return open_for_columns(spark, given, index).limit(0)
    reader = reader_of(spark, given).options(**wanted.options).schema(schema)
    if opening is Opening.PATHS:
        reader = reader if base is None else reader.option("basePath", base)
        frame = reader.parquet(*(escaped(absolute(path)) for path in paths))
    else:
        names = [os.path.basename(path) for path in paths] if opening is Opening.NAMES else []
        reader = reader.option("pathGlobFilter", one_of_names(names)) if names else reader
        frame = reader.parquet(*patterns_of(given))
    # With a given schema, Spark moves a column that is in both files and directory names to the end.
    names = schema.names
    return frame if frame.schema.names == names else frame.select(*(column_of(name, nested=False) for name in names))


def _is_staged_in_partition(path: str) -> bool:
    """Return True for a file in a partition of a staging directory.

    Spark would take it for a file of another table.
    """
    _, staging, below = path.rpartition("/_staging-")
    return bool(staging) and below.count("/") > 1


def _refuse_unfinished(table: ParquetTable) -> None:
    """Raise UnfinishedWrite if a write is unfinished, before Spark lists directories: Spark ignores the journal."""
    if table.listed.is_unfinished:
        raise UnfinishedWrite(
            f"{table.name}: a write is running or was interrupted, and only Spark knows the partition columns of "
            "this table, but it does not see the write; finish the write with `prune doctor TABLE`, then read again"
        )


def _infers_same_types(whole: DataFrame, partitions: Sequence[LeafColumn]) -> bool:
    """Return True if Spark infers the same types from directory names as the plan does."""
    types = {name.casefold(): type_name for name, type_name in whole.dtypes}
    return all(
        column.unsupported or types.get(column.path[0].casefold()) == spark_type(column.type) for column in partitions
    )


def _base_path(table: Location) -> str | None:
    """Return the directory below which `column=value` names are partitions; None if files were given."""
    if not isinstance(table, str | os.PathLike):
        return None
    name = os.fspath(table)
    if is_remote(name):
        return None
    path = os.path.abspath(local_path(name))
    return path if os.path.isdir(path) else None


def one_of_names(names: Iterable[str]) -> str:
    r"""Return a pattern for `pathGlobFilter` that matches only these names, at least one.

    The common start and end of the names are written once.

    >>> one_of_names(["part-1.parquet", "part-2.parquet"])
    'part-{1,2}.parquet'
    >>> one_of_names(["a,b.parquet"])
    'a,b.parquet'
    """
    different = sorted(set(names))
    if len(different) == 1:
        return escaped(different[0])
    begin = _prefix_length(different)
    rests = [name[begin:] for name in different]
    end = _prefix_length(sorted(rest[::-1] for rest in rests))
    stop = len(different[0]) - end
    choices = [escaped(rest[: len(rest) - end]).replace(",", r"\,") for rest in rests]
    return escaped(different[0][:begin]) + "{" + ",".join(choices) + "}" + escaped(different[0][stop:])


def _prefix_length(names: Sequence[str]) -> int:
    """Return the length of the common prefix of sorted names."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(names[0], names[-1], strict=False))
    return sum(1 for _ in pairs)
