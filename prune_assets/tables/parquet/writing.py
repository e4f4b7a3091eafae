"""Write a DataFrame to a directory of plain files: stage, check, then commit."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import LayoutError, UnfinishedWrite, WrongUse
from parquet_core.fix import Fix, Step
from parquet_core.printable import printable, redacted
from parquet_core.quantities import counted
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY
from parquet_core.storage import files_below, is_remote, local_path, summaries_below
from parquet_core.storage.partition_discovery import unescape
from prune_assets.spark.columns import column_of
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.tables.catalogs.session_catalog import columns_of, refresh_catalog
from prune_assets.tables.parquet.rewriting import check_rewrite, directories, rewrite_files
from prune_assets.tables.writes.arrange import arrange, merged_options, write_parquet
from prune_assets.tables.writes.commit import commit
from prune_assets.tables.writes.staging import prove, staging_directory
from prune_assets.tables.writes.table_formats import plain_directory, refuse_table_formats
from prune_assets.tables.writes.write_options import bind_layout
from prune_assets.tables.writes.write_result import Mode, WriteResult
from prune_assets.tables.writing import WriteRequest, Writing, conformed, refuse_without_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.catalogs.entry import CatalogEntry

_PLACE = "__prune_place"


def write_plain(df: DataFrame, table: str, request: WriteRequest) -> WriteResult:
    """Write and commit, as `write` describes; keeps the columns and partitions of a catalog."""
    directory = plain_directory(table)
    session, layout, where, entry = df.sparkSession, request.layout, request.where, request.entry
    if entry is not None:
        df = _order_columns(df, entry, layout)
    bound = bind_layout(df.schema, layout, case_sensitive=semantics_of(session).case_sensitive)
    refuse_without_partitions(str(directory), bound.partition_by, request)

    def fill(stage: Path, old: tuple[str, ...]) -> int:
        if old and (request.mode != "overwrite" or where is not None):
            _check_same_shape(df, directory, old, bound.partition_by)
        arranged, of_layout = arrange(df, layout, bound)
        return write_parquet(
            arranged, str(stage), merged_options(of_layout, request.options), partition_by=bound.partition_by
        )

    def replaced(stage: Path) -> tuple[str, ...]:
        assert where is not None  # without `where`, the mode decides which files are removed
        return partitions_replaced(directory, stage, where, df, bound.partition_by)

    result = write_files(
        directory,
        fill,
        mode=request.mode,
        replaced=None if where is None else replaced,
        only_by_rows=request.only_by_rows,
        lock_timeout=request.lock_timeout,
    )
    session.catalog.refreshByPath(str(directory))
    if entry is not None:
        refresh_catalog(entry, session)
    return result


def write_files(
    directory: Path,
    fill: Callable[[Path, tuple[str, ...]], int],
    *,
    mode: Mode,
    replaced: Callable[[Path], tuple[str, ...]] | None = None,
    only_by_rows: bool = False,
    lock_timeout: float | None = None,
) -> WriteResult:
    """Add the Parquet files that `fill` writes, or replace files with them, atomically.

    `fill`: takes a directory to create and the files of the table; returns the number of rows written.
    `replaced`: takes the filled directory and returns the files to remove. None to decide by `mode`.
    `only_by_rows`: as in WriteRequest.
    Other arguments are documented in `write`.
    """
    with staging_directory(directory, lock_timeout=lock_timeout) as stage:
        old = _files_before(directory, mode)
        rows = fill(stage, old)
        staged = prove(stage, rows=rows)
        if only_by_rows and not rows:
            removed: tuple[str, ...] = ()
        elif replaced is None:
            removed = _files_to_remove(directory, old, {file.path.parent.relative_to(stage) for file in staged}, mode)
        else:
            removed = replaced(stage)
        if set(old).difference(removed):
            staged = [file for file in staged if file.rows]  # an empty file adds nothing to other files
        files = commit([file.path for file in staged], stage, replaced=removed)
    return WriteResult(
        table=str(directory),
        files=files,
        rows=rows,
        bytes=sum(file.bytes for file in staged),
        row_groups=sum(file.row_groups for file in staged),
        removed=removed,
    )


def _files_to_remove(directory: Path, old: tuple[str, ...], new_directories: set[Path], mode: Mode) -> tuple[str, ...]:
    """Return the files to remove.

    `new_directories`: directories of the new files.
    """
    if mode == "overwrite" or not old:
        # A summary file would keep the schema of removed files for the table.
        return (*old, *(file.path for file in summaries_below(directory)))
    if mode == "replace_partitions":
        return tuple(file for file in old if Path(file).parent.relative_to(directory) in new_directories)
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
    """Refuse data whose columns or partitions differ from the existing files."""
    _check_partitions(directory, old, partition_by)
    read_dataset(old[0])  # its error names a file that is not Parquet
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
    """Refuse data whose partition columns differ from the existing directories."""
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
    """Escape the path of a local file for a reader that takes patterns."""
    return "file:" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(Path(path).absolute()))


def _order_columns(df: DataFrame, entry: CatalogEntry, layout: LayoutSpec) -> DataFrame:
    """Return the data with its columns in the order of the catalog's table.

    Raises WrongUse if the columns differ, and LayoutError if the partitions differ.
    """
    session = df.sparkSession
    frame = conformed(df, entry.name, columns_of(entry, session).fields)
    theirs = [column.name for column in session.catalog.listColumns(entry.name) if column.isPartition]
    if [name.casefold() for name in layout.partition_by] != [name.casefold() for name in theirs]:
        raise LayoutError(
            f"partition_by = {', '.join(layout.partition_by) or 'nothing'}: {entry.name} is partitioned by "
            f"{', '.join(theirs) or 'nothing'}, as its catalog says; give the layout the same columns"
        )
    return frame


def _refuse_existing(table: str) -> None:
    # An interrupted write is no reason to refuse: the write that follows completes it first.
    with suppress(UnfinishedWrite):
        if not is_remote(table) and Path(local_path(table)).is_dir() and (old := files_below(table)):
            raise WrongUse(
                f"{printable(redacted(table))}: the table has {counted(len(old), 'file')} already; pass --mode append "
                "or --mode overwrite"
            )


def _check_entry(entry: CatalogEntry) -> None:
    """Refuse a table whose catalog lists files that differ from the files of the directory."""
    if entry.format == "parquet" and entry.files is not None:
        entry.check_files(files_below(local_path(entry.location)))


def _target_directory(table: str) -> str:
    return str(plain_directory(table))


WRITING = Writing(
    location=_target_directory,
    write=write_plain,
    refuse_existing=_refuse_existing,
    check_entry=_check_entry,
    check_rewrite=check_rewrite,
    rewrite_scope=directories,
    rewrite=rewrite_files,
)


def partitions_replaced(
    table: Path, stage: Path, where: str | Column, df: DataFrame, partition_by: Sequence[str]
) -> tuple[str, ...]:
    """Return the files in partitions that a condition selects.

    `table`, `stage`: directories of files by partition.

    Spark evaluates the condition on the directory values, cast to the types of `df`: with inferred types, `01` and `1`
    would be the same number. Raises WrongUse if `stage` has files of other partitions.
    """
    old, new = _by_directory(table), _by_directory(stage)
    selected = _select_partitions(sorted(old.keys() | new.keys()), where, df, partition_by)
    if outside := sorted(new.keys() - selected):
        raise WrongUse(
            f"where: {where} does not select {outside[0]}, but the data has rows of it; nothing was replaced",
            Fix(step=Step.STAY_IN_PARTITIONS),
        )
    return tuple(file for directory_name in sorted(old.keys() & selected) for file in old[directory_name])


def _by_directory(directory: Path) -> dict[str, list[str]]:
    by_directory = defaultdict(list)
    for file in files_below(directory):
        directory_name = Path(file.path).parent.relative_to(directory)
        if directory_name.parts:  # a file without rows is in no partition
            by_directory[str(directory_name)].append(file.path)
    return by_directory


def _select_partitions(
    partition_directories: Sequence[str], where: str | Column, df: DataFrame, partition_by: Sequence[str]
) -> set[str]:
    """Return the partition directories for which a condition is true."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as fn

    if not partition_directories:
        return set()
    rows = [
        (directory_name, *map(_directory_value, Path(directory_name).parts)) for directory_name in partition_directories
    ]
    names = [_PLACE, *(f"text{i}" for i in range(len(partition_by)))]
    frame = df.sparkSession.createDataFrame(rows, ", ".join(f"{name} string" for name in names))
    values = [fn.col(f"text{i}").cast(_cast_type(df, name)).alias(name) for i, name in enumerate(partition_by)]
    # Each name is added twice, to be ambiguous: a missing column `user` would resolve to Spark's function of that name.
    others = [fn.lit(None).alias(name) for name in df.columns if name not in partition_by for _ in range(2)]
    try:
        condition = fn.expr(where) if isinstance(where, str) else where
        chosen = frame.select(_PLACE, *values, *others).where(condition).select(column_of(_PLACE, nested=False))
        return {row[0] for row in chosen.collect()}
    except AnalysisException as error:
        reason = "" if error.getCondition() == "AMBIGUOUS_REFERENCE" else f": {str(error).splitlines()[0]}"
        raise WrongUse(
            f"where: {where} must be a condition on only the partition columns ({', '.join(partition_by)}){reason}"
        ) from None


def _directory_value(part: str) -> str | None:
    value = unescape(part.partition("=")[2])
    return None if value == NULL_DIRECTORY else value


def _cast_type(df: DataFrame, name: str) -> str:
    data_type = df.schema[name].dataType
    return "string" if data_type.typeName() in {"char", "varchar"} else data_type.simpleString()
