"""The schema that Spark gives a table, without asking every file."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeAlias

from parquet_core.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from parquet_core.dataset.metadata_index import MetadataIndex

    Table: TypeAlias = str | os.PathLike[str] | Sequence[str]


def table_schema(spark: SparkSession, table: Table, index: MetadataIndex) -> StructType:
    """Return the schema that `spark.read.parquet(table)` would have."""
    return open_for_schema(spark, table, index).schema


def open_for_schema(
    spark: SparkSession, table: Table, index: MetadataIndex, *, options: Mapping[str, str] | None = None
) -> DataFrame:
    """Open as much of a table as decides on its schema: all of it only where directories or a summary file do.

    `options`: of this read alone.
    Paths are made absolute here: Java keeps the directory it was started in, Python may have gone elsewhere.
    """
    reader = spark.read if options is None else spark.read.options(**options)
    if index.partitions or index.summary is not None:
        # The type of a partition column follows from the values in all directories.
        return reader.parquet(*_patterns(table))
    # Spark takes the schema of the first file by path, and so does the plan.
    return reader.parquet(escaped(os.path.abspath(index.files[0].path)))


def escaped(path: str) -> str:
    r"""Return a path as a pattern that Spark's globbing takes for itself.

    >>> escaped("lake/a[1].parquet")
    'lake/a\\[1\\].parquet'
    """
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def _patterns(table: Table) -> list[str]:
    if isinstance(table, str | os.PathLike):
        path = os.path.abspath(local_path(os.fspath(table)))
        return [escaped(path) if os.path.exists(path) else path]
    return [escaped(os.path.abspath(local_path(os.fspath(file)))) for file in table]
