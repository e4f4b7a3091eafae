"""Write a DataFrame with a layout: range-partition, sort, stage, check, then commit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import redacted
from prune_assets.spark.spark_session import naming_jobs
from prune_assets.tables.target import find_target
from prune_assets.tables.writes.write_result import check_mode
from prune_assets.tables.writing import WriteRequest
from prune_assets.writing.layout_file import load_layout, naming_layout_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from prune_assets.tables.writes.write_result import Mode, WriteResult
    from prune_assets.writing.layout_file import LayoutSource


def write(
    df: DataFrame,
    table: str | os.PathLike[str],
    *,
    layout: LayoutSource,
    format: str | None = None,  # noqa: A002 - the word of DataFrameWriter
    mode: Mode = "append",
    where: str | Column | None = None,
    options: Mapping[str, str] | None = None,
    lock_timeout: float | None = None,
) -> WriteResult:
    """Write `df` to `table` with a layout, atomically even if the process is killed.

    `spark` is a SparkSession here. The written files pass the layout check:

    >>> import tempfile
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> layout = pr.LayoutSpec(sort_by=["id"], bloom={"id": 0.01}, files=2)
    >>> written = pr.write(spark.range(1000), table, layout=layout)
    >>> written.rows, len(written.files)
    (1000, 2)
    >>> [finding.message for finding in pr.check(table, layout=layout) if finding.severity != "info"]
    []

    A Delta table, new or existing, receives the rows as one version:

    >>> table = tempfile.mkdtemp()
    >>> days = spark.sql("SELECT id, date_add(DATE '2024-01-01', CAST(id % 3 AS INT)) AS day FROM range(300)")
    >>> layout = pr.LayoutSpec(sort_by=["id"], partition_by=["day"], files=1)
    >>> pr.write(days, table, layout=layout, format="delta").version
    0
    >>> second = days.where("day = DATE '2024-01-02'")
    >>> pr.write(second, table, layout=layout, mode="replace_partitions").version
    1
    >>> pr.read(table, where="day = DATE '2024-01-02'", session=spark).count()
    100

    `table`: a directory, an address, or the name of a table in the session's catalogs (`db.orders`). A named table is
    written at the location that the catalog has: Delta tables, and plain Parquet tables with the columns and partitions
    of the catalog. A name that is also a path is refused; `./db.orders` and a `Path` are paths. Iceberg tables are
    written by name only, and the catalog creates new ones:
    `pr.write(df, "lake.db.orders", layout=layout, format="iceberg")`.
    `format`: "parquet", "delta" or "iceberg"; by default the format of the table, "parquet" for a new one.
    `mode`: "append" adds rows; "replace_partitions" replaces the partitions that occur in `df`, and refuses a table
    without partition columns; "overwrite" replaces all rows, or the rows that `where` selects by partition columns, and
    with `where` refuses rows of `df` that it does not select; "error" refuses a table that holds files. Overwriting all
    of a plain table removes every data file at or below `table`, and `_metadata` and `_common_metadata`, from which
    Spark would take the old schema.
    `layout`: a LayoutSpec, its keys, or the path of a `layout.yaml`, as in `load_layout`.
    `options`: options for Spark's writer, in addition to those of the layout.

    `plan`, `read` and `check` see the table before or after the write, never a mixture. If the process is killed before
    the commit, the table is unchanged. If it is killed later, the write counts, and the next `write`,
    `prune check TABLE` or `prune doctor TABLE` completes it. While files are renamed and removed, other readers, such
    as `spark.read.parquet`, may see part of the new files, or new files next to old ones. If the process is killed in
    that time, they may see this until one of these three commands has run.

    Plain tables have one writer at a time. A second writer waits for `lock_timeout` seconds (default:
    PRUNE_LOCK_TIMEOUT, else an hour; 0 does not wait) and then raises UnfinishedWrite. Writers of a Delta table run
    concurrently. If another writer creates the Delta table meanwhile, the files written here are committed to that
    table, unless they do not fit it (MetadataChanged) or would replace its rows (ConcurrentAppend).

    An Iceberg table stores the layout as table properties and sort order, so other writers follow it too. The write is
    one snapshot, the `version` of the result. It is checked after Iceberg has committed it: UnprovenWrite names the
    statement that rolls back to the previous snapshot. For Iceberg, `partition_by` may have transforms such as
    `days(ts)`, and `where` is any condition by which Iceberg replaces whole files.

    Rows with equal sort keys go to one file: a skewed key makes a large file, and fewer distinct keys than
    `layout.files` make fewer files. The data are read twice, to measure and to write (Spark 4.0 reads them
    once more): persist `df` if it is expensive to compute. Timestamps are written as microseconds, because INT96 has no
    statistics; the session's own setting is restored afterwards.

    Raises WrongUse or UnsupportedFeature for the directory of a Delta, Iceberg or Hudi table, for a directory with
    files of such a table below it, and for a new Delta table in a directory with plain Parquet files, which it would
    hide; LayoutError, StorageFailure or MalformedFile; and SparkFailure if Spark fails, for example to compute `df`.
    `prune_assets.tables.writes.commit` documents the steps of a commit.
    """
    return write_rows(
        df, table, layout=layout, format=format, mode=mode, where=where, options=options, lock_timeout=lock_timeout
    )


def write_rows(
    df: DataFrame,
    table: str | os.PathLike[str],
    *,
    layout: LayoutSource,
    format: str | None = None,  # noqa: A002 - as in `write`
    mode: Mode = "append",
    where: str | Column | None = None,
    options: Mapping[str, str] | None = None,
    lock_timeout: float | None = None,
    only_by_rows: bool = False,
) -> WriteResult:
    """Write as `write` does; with `only_by_rows`, a `df` without rows replaces no existing rows."""
    check_mode(mode, where)
    check_frame(df)
    source, layout = layout, load_layout(layout)
    session = df.sparkSession
    target = find_target(table, session, name=format)
    request = WriteRequest(
        layout=layout,
        mode=mode,
        where=where,
        options=options,
        lock_timeout=lock_timeout,
        entry=target.entry,
        only_by_rows=only_by_rows,
    )
    with naming_layout_file(source), naming_jobs(session, f"write {redacted(os.fspath(table))}"):
        return target.writing.write(df, target.location, request)


def check_frame(df: object) -> None:
    """Raise WrongUse if `df` is not a Spark DataFrame."""
    if not hasattr(df, "sparkSession"):
        raise WrongUse(
            f"df: {type(df).__name__} is not a DataFrame of Spark; make one with spark.createDataFrame or spark.read"
        )
