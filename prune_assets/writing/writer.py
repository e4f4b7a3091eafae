"""Write a DataFrame with a layout: range-partitioned, sorted, staged, proven, then committed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from parquet_core.errors import WrongUse
from parquet_core.printable import redacted
from parquet_core.quantities import counted
from parquet_core.storage import files_below, summaries_below
from parquet_core.storage.partition_discovery import unescape
from prune_assets.layout_file import load_layout, naming_layout_file
from prune_assets.session.semantics_of_session import semantics_of
from prune_assets.session.spark_session import naming_jobs
from prune_assets.session.stores import reach_as
from prune_assets.tables.delta import has_log
from prune_assets.writing.arrange import arrange, merged_options, write_parquet
from prune_assets.writing.commit import commit
from prune_assets.writing.delta import write_delta
from prune_assets.writing.named_table import as_columns_of, entry_to_write, tell_catalog
from prune_assets.writing.partitions_replaced import partitions_replaced, refuse_without_partitions
from prune_assets.writing.staging import prove, staging_directory
from prune_assets.writing.table_formats import plain_directory, refuse_table_formats
from prune_assets.writing.write_options import bind_layout
from prune_assets.writing.write_result import Mode, WriteResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.layout_file import LayoutSource


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
    that means a path too is refused; `./db.orders` and a `Path` are paths.
    `format`: "parquet" or "delta"; by default what the table is, and "parquet" for a new one.
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

    Rows with equal sort keys go to one file, so a skewed key makes a large file and fewer distinct keys than
    `layout.files` make fewer files. The data are read twice, to measure and to write (Spark 4.0 reads them
    once more): persist `df` when it is dear to compute. Timestamps are written as microseconds, since INT96 has no
    statistics; the session's own setting is put back afterwards.

    Raises WrongUse or UnsupportedFeature for a directory of a Delta, Iceberg or Hudi table, or one with files of such
    a table below it; LayoutError, StorageFailure or MalformedFile, and whatever Spark raises while it computes `df`.
    The order of a commit is said in `prune_assets.writing.commit`.
    """
    if format not in {None, "parquet", "delta"}:
        raise WrongUse(f"format={format!r}: choose 'parquet' or 'delta'")
    if mode not in get_args(Mode):
        raise WrongUse(f"mode={mode!r}: choose one of {', '.join(map(repr, get_args(Mode)))}")
    if where is not None and mode != "overwrite":
        raise WrongUse(
            f"where: only for mode 'overwrite' (--mode overwrite), not {mode!r}; to write only some rows, filter them "
            "first: df.where(..), or --select"
        )
    if not hasattr(df, "sparkSession"):
        raise WrongUse(
            f"df: {type(df).__name__} is not a DataFrame of Spark; make one with spark.createDataFrame or spark.read"
        )
    source, layout = layout, load_layout(layout)
    session = df.sparkSession
    entry = entry_to_write(table, session)
    place = table if entry is None else entry.location
    if entry is not None and format not in {None, entry.format}:
        raise WrongUse(f"format={format!r}: {entry.name} is a table of {entry.format} in its catalog; leave format out")
    reach_as(session, place)
    with naming_layout_file(source), naming_jobs(session, f"write {redacted(os.fspath(table))}"):
        if format == "delta" or (format is None and has_log(place)):
            return write_delta(df, os.fspath(place), layout=layout, mode=mode, where=where, options=options)
        if entry is not None:
            df = as_columns_of(df, entry, layout)
        done = _write_plain(
            df, place, layout=layout, mode=mode, where=where, options=options, lock_timeout=lock_timeout
        )
        if entry is not None:
            tell_catalog(entry, session)
        return done


def _write_plain(
    df: DataFrame,
    table: str | os.PathLike[str],
    *,
    layout: LayoutSpec,
    mode: Mode,
    where: str | Column | None,
    options: Mapping[str, str] | None,
    lock_timeout: float | None,
) -> WriteResult:
    directory = plain_directory(table)
    session = df.sparkSession
    bound = bind_layout(df.schema, layout, case_sensitive=semantics_of(session).case_sensitive)
    refuse_without_partitions(str(directory), bound.partition_by, mode, where)

    def fill(stage: Path, old: tuple[str, ...]) -> int:
        if old and (mode != "overwrite" or where is not None):
            _check_same_shape(df, directory, old, bound.partition_by)
        arranged, of_layout = arrange(df, layout, bound)
        return write_parquet(arranged, str(stage), merged_options(of_layout, options), partition_by=bound.partition_by)

    def replaced(stage: Path) -> tuple[str, ...]:
        assert where is not None  # else `mode` says
        return partitions_replaced(directory, stage, where, df, bound.partition_by)

    result = write_files(
        directory, fill, mode=mode, replaced=None if where is None else replaced, lock_timeout=lock_timeout
    )
    session.catalog.refreshByPath(str(directory))
    return result


def write_files(
    directory: Path,
    fill: Callable[[Path, tuple[str, ...]], int],
    *,
    mode: Mode,
    replaced: Callable[[Path], tuple[str, ...]] | None = None,
    lock_timeout: float | None = None,
) -> WriteResult:
    """Add to a directory, or put in place of what it holds, the Parquet files that `fill` makes; all of them or none.

    `fill` is given a directory to make and the files of the table, and returns how many rows it wrote. `replaced`:
    given that directory, filled, returns the files that go; without it `mode` says. Otherwise as `write`.
    """
    with staging_directory(directory, lock_timeout=lock_timeout) as stage:
        old = _files_before(directory, mode)
        rows = fill(stage, old)
        staged = prove(stage, rows=rows)
        if replaced is None:
            removed = _replaced(directory, old, {file.path.parent.relative_to(stage) for file in staged}, mode)
        else:
            removed = replaced(stage)
        if set(old).difference(removed):
            staged = [file for file in staged if file.rows]  # an empty file says nothing beside others
        files = commit([file.path for file in staged], stage, replaced=removed)
    return WriteResult(
        table=str(directory),
        files=files,
        rows=rows,
        bytes=sum(file.bytes for file in staged),
        row_groups=sum(file.row_groups for file in staged),
        removed=removed,
    )


def _replaced(directory: Path, old: tuple[str, ...], places: set[Path], mode: Mode) -> tuple[str, ...]:
    """Return the files that go, `places` being the directories of those that come."""
    if mode == "overwrite" or not old:
        # A summary would go on giving the table the schema of files that are gone.
        return (*old, *(file.path for file in summaries_below(directory)))
    if mode == "replace_partitions":
        return tuple(file for file in old if Path(file).parent.relative_to(directory) in places)
    return ()


def _files_before(directory: Path, mode: Mode) -> tuple[str, ...]:
    old = tuple(file.path for file in files_below(directory))
    refuse_table_formats({Path(file).parent for file in old})
    if old and mode == "error":
        raise WrongUse(
            f"{directory}: the table has {counted(len(old), 'file')} already; pass the mode append or overwrite"
        )
    return old


def _check_same_shape(df: DataFrame, directory: Path, old: tuple[str, ...], partition_by: Sequence[str]) -> None:
    """Refuse to add what a reader could not read together with the files that are there."""
    _check_partitions(directory, old, partition_by)
    existing = df.sparkSession.read.option("recursiveFileLookup", "true").parquet(_literal(old[0])).schema
    theirs = {field.name: field.dataType.simpleString() for field in existing.fields}
    for field in df.schema.fields:
        mine = field.dataType.simpleString()
        if field.name not in partition_by and theirs.pop(field.name, None) != mine:
            raise WrongUse(
                f"{directory}: column {field.name} {mine} differs from the table's schema; append the same schema"
            )
    if theirs:
        raise WrongUse(f"{directory}: the data lacks the table's column {next(iter(theirs))}; append the same schema")


def _check_partitions(directory: Path, old: tuple[str, ...], partition_by: Sequence[str]) -> None:
    """Refuse to add files of other partition columns than those that the directories have."""
    for file in old:
        parts = Path(file).parent.relative_to(directory).parts
        names = [unescape(part.partition("=")[0]) if "=" in part else part for part in parts]
        if names != list(partition_by):
            shown = " and ".join(names) or "nothing"
            raise WrongUse(
                f"{file}: the file is partitioned by {shown}, and partition_by is "
                f"{', '.join(partition_by) or 'empty'}; "
                "set partition_by to the table's partition columns"
            )


def _literal(path: str) -> str:
    """Name one local file for a reader that would take `[` or `*` for a pattern."""
    return "file:" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(Path(path).absolute()))
