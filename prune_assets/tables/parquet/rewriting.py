"""Rewrite plain files, and replace the old ones in one commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import UnsupportedFeature
from parquet_core.format.comparable_values import bounds_type
from parquet_core.storage import summaries_below
from prune_assets.spark.columns import column_of
from prune_assets.spark.queries.table_schema import escaped
from prune_assets.spark.spark_versions import from_arrow, metadata_column
from prune_assets.spark.stores import file_uri
from prune_assets.tables.rewriting import FILE, GROUP, Rewritten, name_in_group, write_groups
from prune_assets.tables.same_partitions import check_same_partitions
from prune_assets.tables.writes.commit import commit
from prune_assets.tables.writes.staging import prove, staging_directory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.parquet.table import ParquetTable
    from prune_assets.tables.rewriting import Rewrite


def check_rewrite(table: ParquetTable, layout: LayoutSpec) -> None:
    """Refuse a layout whose partitions differ from the table's."""
    check_same_partitions(layout, table.partition_names(), table.name)


def directories(table: ParquetTable) -> NDArray[np.int64]:
    """Return, for each file, a number that identifies its directory."""
    names = [file.path.rpartition("/")[0] for file in table.listed.files]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def rewrite_files(spark: SparkSession, table: ParquetTable, decided: Rewrite) -> Rewritten:
    """Take the lock, decide again which files to rewrite, and replace them in one commit."""
    directory = Path(table.name)
    with staging_directory(directory) as stage:
        rewrite = decided.decide_again()
        if rewrite is None:
            return Rewritten({}, frozenset())
        _check_columns(rewrite)
        write_groups(_open(spark, rewrite), str(stage), rewrite)
        _check_types(stage, rewrite)
        _put_into_place(stage, directory, rewrite)
        staged = prove(stage, rows=rewrite.rows)
        removed = [file.path for file in rewrite.files]
        # A `_metadata` file lists the files and their row groups, so it becomes invalid.
        summaries = [file.path for file in summaries_below(directory) if Path(file.path).name == "_metadata"]
        added = commit([file.path for file in staged], stage, replaced=[*removed, *summaries])
    return Rewritten({path: Path(path).stat().st_size for path in added}, frozenset(removed))


def _open(spark: SparkSession, rewrite: Rewrite) -> DataFrame:
    """Return the rows of the files to rewrite, with the group of each row's file as column GROUP.

    Partition values in directory names do not become columns.
    """
    import pyarrow as pa
    from pyspark.sql import functions as fn

    paths = [escaped(os.path.abspath(file.path)) for file in rewrite.files]  # keeps symbolic links
    reader = spark.read.option("recursiveFileLookup", "true")
    frame = reader.schema(reader.parquet(paths[0]).schema).parquet(*paths)
    name = metadata_column(frame)["file_path"].alias(FILE)
    named = frame.select(*(column_of(column, nested=False) for column in frame.columns), name)
    groups = pa.array(rewrite.groups, pa.int32())
    file_groups = pa.table({FILE: [file_uri(file.path) for file in rewrite.files], GROUP: groups})
    return named.join(fn.broadcast(from_arrow(spark, file_groups)), FILE).drop(FILE)


def _check_columns(rewrite: Rewrite) -> None:
    """Refuse plain files whose columns or types differ: Spark would write all files with the columns of one file."""
    index = rewrite.index
    ours = _types(index.groups.columns)
    for file in rewrite.numbers:
        footer_kind = index.groups.provenances[index.groups.provenance_ids[file]]
        theirs = _types(footer_kind.columns)
        if theirs != ours:
            name = min({path for path, _ in theirs.items() ^ ours.items()})
            raise UnsupportedFeature(
                f"{index.groups.files[file].path}: column {'.'.join(name)} differs from the table's schema; "
                "optimize rewrites files of one schema only; write the table again with the schemas merged: "
                "pr.write(spark.read.option('mergeSchema', True).parquet(..), .., layout=..)"
            )


def _check_types(stage: Path, rewrite: Rewrite) -> None:
    """Refuse new files whose types differ from the old files, for example if the old files have unsigned integers."""
    table_types = _types(rewrite.index.groups.columns)
    for path, written_type in _types(read_dataset(str(stage)).groups.columns).items():
        if table_types.get(path) != written_type:
            raise UnsupportedFeature(
                f"{rewrite.table.name}: column {'.'.join(path)} is {table_types.get(path)}, but Spark writes it "
                f"as {written_type}, and the table would then have both; nothing was changed"
            )


def _types(columns: Iterable[LeafColumn]) -> dict[tuple[str, ...], str]:
    return {column.path: str(column.type if column.type is None else bounds_type(column)) for column in columns}


def _put_into_place(stage: Path, directory: Path, rewrite: Rewrite) -> None:
    """Move new files, inside the stage, to directories named like those of the files that they replace."""
    old_directories = {group: Path(file.path).parent for group, file in zip(rewrite.groups, rewrite.files, strict=True)}
    for group, target_directory in old_directories.items():
        for file in sorted((stage / f"{GROUP}={group}").glob("*.parquet")):
            target = stage / target_directory.relative_to(directory)
            target.mkdir(parents=True, exist_ok=True)
            file.rename(target / name_in_group(file.name, group))
