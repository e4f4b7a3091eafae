"""Interface of a table format that supports writing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_core.errors import WrongUse
from prune_assets.spark.columns import column_of
from prune_assets.spark.semantics_of_session import semantics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.catalogs.entry import CatalogEntry
    from prune_assets.tables.rewriting import Rewrite, Rewritten
    from prune_assets.tables.writes.write_result import Mode, WriteResult


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """Options of a write, as in `prune_assets.write`.

    `entry`: the table's entry in a catalog.
    `only_by_rows`: if True, a write without rows replaces nothing.
    """

    layout: LayoutSpec
    mode: Mode
    where: str | Column | None = None
    options: Mapping[str, str] | None = None
    lock_timeout: float | None = None
    entry: CatalogEntry | None = None
    only_by_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Functions that write tables of a format.

    `location`: returns the location of a table, and refuses one that cannot be written.
    `write`: writes all rows or none.
    `refuse_existing`: refuses a table that has rows, before Spark starts.
    `check_entry`: refuses a table whose catalog would not see the files or would read them differently. It is
    also called with entries of other formats.
    `check_rewrite`: refuses a layout that a rewrite of only some files cannot produce, before Spark starts.
    `rewrite_scope`: numbers the partition or directory of each file, within which a rewrite keeps its rows.
    `rewrite`: replaces old files with new ones atomically; a conflicting write is not undone. Runs the `statements` of
    a `Rewrite`.
    `statements`: returns the SQL with which the table's own engine rewrites files; empty if this package rewrites
    files. Without a `Rewrite`, returns the SQL that maintains the table's metadata, which the caller runs.
    """

    location: Callable[[str], str]
    write: Callable[[DataFrame, str, WriteRequest], WriteResult]
    refuse_existing: Callable[[str], None]
    check_entry: Callable[[CatalogEntry], None]
    check_rewrite: Callable[[Any, LayoutSpec], None]
    rewrite_scope: Callable[[Any], NDArray[np.int64]]
    rewrite: Callable[[SparkSession, Any, Rewrite], Rewritten]
    statements: Callable[[SparkSession, Any, Rewrite | None], tuple[str, ...]] = lambda *_: ()


def conformed(df: DataFrame, name: str, fields: Iterable[StructField]) -> DataFrame:
    """Return the columns in the table's order and spelling. Raises WrongUse if the data have other columns."""
    case_sensitive = semantics_of(df.sparkSession).case_sensitive
    mine = {column if case_sensitive else column.casefold(): column for column in df.columns}
    columns = []
    for field in fields:
        given = mine.pop(field.name if case_sensitive else field.name.casefold(), None)
        table_type = field.dataType.simpleString()
        given_type = None if given is None else df.schema[given].dataType.simpleString()
        if given is None or given_type != table_type:
            difference = "the data lack it" if given is None else f"the data has type {given_type}"
            raise WrongUse(
                f"{name}: the table has column {field.name} {table_type}, {difference}; write the same columns"
            )
        columns.append(column_of(given, nested=False).alias(field.name))
    if mine:
        raise WrongUse(f"{name}: the table has no column {next(iter(mine.values()))}; leave it out, or add it first")
    return df.select(*columns)


def refuse_without_partitions(location: str, partition_by: Sequence[str], request: WriteRequest) -> None:
    """Raise WrongUse if a write replaces partitions of a table without partition columns."""
    if partition_by or (request.mode != "replace_partitions" and request.where is None):
        return
    all_rows = "pass the mode overwrite" if request.mode == "replace_partitions" else "leave where out"
    raise WrongUse(
        f"{location}: the table has no partition columns to select replaced rows; {all_rows} to replace all rows"
    )
