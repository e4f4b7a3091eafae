"""Write a DataFrame with a layout: range-partitioned, sorted, staged, proven, then committed."""

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
    """Write `df` into the directory `table` as `layout` says; all of it or nothing, wherever the process is killed.

    With `spark` a SparkSession; what was written has its layout:

    >>> import tempfile
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> layout = pr.LayoutSpec(sort_by=["id"], bloom={"id": 0.01}, files=2)
    >>> written = pr.write(spark.range(1000), table, layout=layout)
    >>> written.rows, len(written.files)
    (1000, 2)
    >>> [finding.message for finding in pr.check(table, layout=layout) if finding.severity != "info"]
    []

    A Delta table, new or made by others, takes the rows as one version:

    >>> table = tempfile.mkdtemp()
    >>> days = spark.sql("SELECT id, date_add(DATE '2024-01-01', CAST(id % 3 AS INT)) AS day FROM range(300)")
    >>> layout = pr.LayoutSpec(sort_by=["id"], partition_by=["day"], files=1)
    >>> pr.write(days, table, layout=layout, format="delta").version
    0
    >>> second = days.where("day = DATE '2024-01-02'")
    >>> pr.write(second, table, layout=layout, mode="replace_partitions").version
    1
    >>> pr.read(spark, table, where="day = DATE '2024-01-02'").count()
    100

    `table`: a directory or address, or the name of a table that the session's catalogs have (`db.orders`), which is
    written where the catalog has it: Delta, and plain Parquet with the columns and partitions of the catalog. A name
    that means a path too is refused; `./db.orders` and a `Path` are paths. Tables of Iceberg are written by such names
    alone, and new ones are made by the catalog: `pr.write(df, "lake.db.orders", layout=layout, format="iceberg")`.
    `format`: "parquet", "delta" or "iceberg"; by default what the table is, and "parquet" for a new one.
    `mode`: "append" adds to what is there; "replace_partitions" replaces the partitions that `df` has rows of, and
    refuses a table without partition columns; "overwrite" replaces all rows, or those that `where` selects by the
    partition columns, and then refuses other rows;
    "error" refuses a table that holds files. Overwriting all of a plain table removes every file of data at or below
    `table`, and `_metadata` and `_common_metadata` with them, from which Spark would take the old schema.
    `layout`: a LayoutSpec, its keys, or the path of a `layout.yaml`, as `load_layout` has them.
    `options`: go to Spark's writer beside those of the layout.

    `plan`, `read` and `check` see the table before the write or after it, never a mixture. Killed before all was ready,
    the write never was; killed later, it counts, and the next `write`, `prune check TABLE` or `prune doctor TABLE`
    does what is left of it. A reader that knows nothing of this, `spark.read.parquet` among them, may meanwhile see at
    worst a part of the new files, or all of them, beside old ones: for as long as it takes to rename and remove them,
    and after a kill in that time until one of the three has run.

    Plain tables have one writer at a time. A second one waits for `lock_timeout` seconds (default: PRUNE_LOCK_TIMEOUT,
    else an hour; 0 does not wait) and then gets UnfinishedWrite. Writers of a Delta table work side by side. Where
    another one creates the table meanwhile, the files written here are committed to that table, if they fit it
    (MetadataChanged) and would replace none of its rows (ConcurrentAppend).

    A table of Iceberg gets the layout as table properties and sort order, so that other writers follow it too, and one
    snapshot, the `version` of the result. It is proven after Iceberg has committed it: UnprovenWrite names the
    statement that goes back to the snapshot before. `partition_by` may have transforms there, such as `days(ts)`, and
    `where` is any condition by which Iceberg replaces whole files.

    Rows with equal sort keys go to one file, so a skewed key makes a large file and fewer distinct keys than
    `layout.files` make fewer files. The data are read twice, to measure and to write (Spark 4.0 reads them
    once more): persist `df` when it is dear to compute. Timestamps are written as microseconds, since INT96 has no
    statistics; the session's own setting is put back afterwards.

    Raises WrongUse or UnsupportedFeature for a directory of a Delta, Iceberg or Hudi table, or one with files of such
    a table below it, and for a new Delta table where plain Parquet files lie, which it would hide; LayoutError,
    StorageFailure or MalformedFile, and SparkFailure if Spark fails, for example to compute `df`.
    The order of a commit is said in `prune_assets.tables.writes.commit`.
    """
    return write_rows(
        df, table, layout=layout, format=format, mode=mode, where=where, options=options, lock_timeout=lock_timeout
    )


def write_rows(
    df: DataFrame,
    table: str | os.PathLike[str],
    *,
    layout: LayoutSource,
    format: str | None = None,  # noqa: A002 - as of `write`
    mode: Mode = "append",
    where: str | Column | None = None,
    options: Mapping[str, str] | None = None,
    lock_timeout: float | None = None,
    only_by_rows: bool = False,
) -> WriteResult:
    """Write as `write` does; with `only_by_rows` a `df` without rows replaces none of those that are there."""
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
    """Raise WrongUse for what is no DataFrame of Spark."""
    if not hasattr(df, "sparkSession"):
        raise WrongUse(
            f"df: {type(df).__name__} is not a DataFrame of Spark; make one with spark.createDataFrame or spark.read"
        )
