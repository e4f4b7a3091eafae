"""Write a DataFrame with a layout: range-partitioned, sorted, staged, proven, then committed."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from parquet_core.errors import LayoutError, UnsupportedFeature, WrongUse
from parquet_core.storage import files_below, summaries_below
from prune_assets.semantics import SparkSemantics
from prune_assets.spark.columns import column_of
from prune_assets.spark.writing.commit import commit
from prune_assets.spark.writing.data_size import distinct_per_row_group, file_count, measure, row_group_rows
from prune_assets.spark.writing.staging import prove, staging_directory
from prune_assets.spark.writing.table_formats import plain_directory, refuse_table_formats
from prune_assets.spark.writing.write_options import bind_layout, write_options

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.spark.writing.write_options import BoundLayout

Mode = Literal["append", "overwrite", "error"]
_TIMESTAMP_TYPE = "spark.sql.parquet.outputTimestampType"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write added: `files` in the order of the sort key; `removed` are those that it replaced, summaries too."""

    table: str
    files: tuple[str, ...]
    rows: int
    bytes: int
    row_groups: int
    removed: tuple[str, ...]


def write(
    df: DataFrame,
    table: str | os.PathLike[str],
    *,
    layout: LayoutSpec,
    format: str = "parquet",  # noqa: A002 - the word of DataFrameWriter
    mode: Mode = "append",
    options: Mapping[str, str] | None = None,
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

    `mode`: "append" adds to what is there; "overwrite" removes every file of data at or below `table`, and `_metadata`
    and `_common_metadata` with them, from which Spark would take the old schema; "error" refuses a table that holds
    files.
    `options`: go to Spark's writer beside those of the layout.

    `plan`, `read` and `check` see the table before the write or after it, never a mixture. Killed before all was ready,
    the write never was; killed later, it counts, and the next `write`, `prune check TABLE` or `prune doctor TABLE`
    does what is left of it. A reader that knows nothing of this, `spark.read.parquet` among them, may meanwhile see at
    worst a part of the new files, or all of them, beside old ones: for as long as it takes to rename and remove them,
    and after a kill in that time until one of the three has run. One writer at a time: a second one gets
    UnfinishedWrite at once.

    Rows with equal sort keys go to one file, so a skewed key makes a large file and fewer distinct keys than
    `layout.files` make fewer files. The data are read up to four times (size, distinct values, range bounds, the
    write): persist `df` when it is dear to compute. Timestamps are written as microseconds, since INT96 has no
    statistics; the session's own setting is put back afterwards.

    Raises WrongUse or UnsupportedFeature for a directory of a Delta, Iceberg or Hudi table, or one with files of such
    a table below it; LayoutError, StorageFailure or MalformedFile, and whatever Spark raises while it computes `df`.
    The order of a commit is said in `prune_assets.spark.writing.commit`.
    """
    if format != "parquet":
        raise UnsupportedFeature(f"format={format!r}: only 'parquet' is written in this version")
    if mode not in {"append", "overwrite", "error"}:
        raise WrongUse(f"mode={mode!r}: choose 'append', 'overwrite' or 'error'")
    directory = plain_directory(table)
    session = df.sparkSession
    bound = bind_layout(df.schema, layout, case_sensitive=SparkSemantics.of(session).case_sensitive)

    def fill(stage: Path, old: tuple[str, ...]) -> int:
        if old and mode == "append":
            _check_same_shape(df, directory, old)
        sorted_df, spark_options = _arrange(df, layout, bound)
        return _stage(sorted_df, stage, _merge(spark_options, options))

    result = write_files(directory, fill, mode=mode)
    session.catalog.refreshByPath(str(directory))
    return result


def write_files(directory: Path, fill: Callable[[Path, tuple[str, ...]], int], *, mode: Mode) -> WriteResult:
    """Add to a directory, or put in place of what it holds, the Parquet files that `fill` makes; all of them or none.

    `fill` is given a directory to make and the files of the table, and returns how many rows it wrote. Otherwise as
    `write`.
    """
    with staging_directory(directory) as stage:
        old = _files_before(directory, mode)
        rows = fill(stage, old)
        staged = prove(stage, rows=rows)
        # A summary would go on giving the table the schema of files that are gone.
        removed = (*old, *(file.path for file in summaries_below(directory)))
        if old and mode == "append":
            staged = [file for file in staged if file.rows]  # an empty file says nothing beside others
            removed = ()
        files = commit([file.path for file in staged], stage, replaced=removed)
    return WriteResult(
        table=str(directory),
        files=files,
        rows=rows,
        bytes=sum(file.bytes for file in staged),
        row_groups=sum(file.row_groups for file in staged),
        removed=removed,
    )


def _files_before(directory: Path, mode: Mode) -> tuple[str, ...]:
    old = tuple(file.path for file in files_below(directory))
    refuse_table_formats({Path(file).parent for file in old})
    if old and mode == "error":
        raise WrongUse(f"{directory}: holds {len(old)} files already; pass mode='append' or mode='overwrite'")
    return old


def _check_same_shape(df: DataFrame, directory: Path, old: tuple[str, ...]) -> None:
    """Refuse to append what a reader could not read together with the files that are there."""
    nested = next((file for file in old if Path(file).parent != directory), None)
    if nested is not None:
        raise UnsupportedFeature(f"{nested}: appending to a table of partition directories is not supported yet")
    existing = df.sparkSession.read.parquet(_literal(old[0])).schema
    theirs = {field.name: field.dataType.simpleString() for field in existing.fields}
    for field in df.schema.fields:
        mine = field.dataType.simpleString()
        if theirs.pop(field.name, None) != mine:
            raise WrongUse(f"{directory}: column {field.name} {mine} is not in the table so; append the same schema")
    if theirs:
        raise WrongUse(
            f"{directory}: the table has column {next(iter(theirs))}, the data lack it; append the same schema"
        )


def _literal(path: str) -> str:
    """Name one local file for a reader that would take `[` or `*` for a pattern."""
    return "file:" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(Path(path).absolute()))


def _arrange(df: DataFrame, layout: LayoutSpec, bound: BoundLayout) -> tuple[DataFrame, dict[str, str]]:
    """Return the data in the order of the layout and the options that write it."""
    group_rows, distinct, files = layout.row_group_rows, dict[str, int](), layout.files
    if bound.bloom or files is None:
        size = measure(df)
        files = file_count(size) if files is None else files
        if bound.bloom:
            group_rows = row_group_rows(size, layout)
            distinct = distinct_per_row_group(df, bound, rows=size.rows, group_rows=group_rows)
    spark_options = write_options(layout, bound, row_group_rows=group_rows, distinct=distinct)
    keys = [column_of(name, nested=False).asc_nulls_first() for name in bound.sort_by]
    if not keys:
        return df.repartition(files), spark_options
    # With the number given, adaptive execution neither merges nor splits the partitions.
    return df.repartitionByRange(files, *keys).sortWithinPartitions(*keys), spark_options


def _merge(of_layout: dict[str, str], others: Mapping[str, str] | None) -> dict[str, str]:
    for key in others or {}:
        if key in of_layout:
            raise LayoutError(f"options[{key!r}]: the layout sets it to {of_layout[key]}; change the layout instead")
    return {**of_layout, **(others or {})}


def _stage(df: DataFrame, stage: Path, options: dict[str, str]) -> int:
    """Write the files and return the rows that Spark saw pass."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    passed = Observation()
    # Above the shuffle: below it the range sampling would be counted too.
    counted = df.observe(passed, fn.count(fn.lit(1)).alias("rows"))
    with _conf(df.sparkSession, _TIMESTAMP_TYPE, "TIMESTAMP_MICROS"):
        counted.write.options(**options).mode("error").parquet(f"file:{stage.absolute()}")
    return int(passed.get["rows"])


@contextmanager
def _conf(session: SparkSession, key: str, value: str) -> Iterator[None]:
    """Set a session option for a while; one that was not set is unset again."""
    before = session.conf.getAll.get(key)
    session.conf.set(key, value)
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, before)
