"""A table of plain Parquet files: a directory, a file, a glob, or a list of files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from parquet_core.dataset.opening import list_dataset
from parquet_core.errors import WrongUse
from parquet_core.pruning.file_answers import FileAnswers, answers_of_directories
from prune_assets.report.quantities import value_text
from prune_assets.tables.format import Format
from prune_assets.tables.parquet.changes import files_fingerprint, partition_files
from prune_assets.tables.table import FileConstants, TableDefaults
from prune_assets.tables.writes.table_formats import refuse_unread, table_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.dataset.opening import ListedDataset
    from parquet_core.format.schema import LeafColumn
    from parquet_core.format.schema import Path as ColumnPath
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.catalogs.entry import CatalogEntry
    from prune_assets.tables.examination import Examination
    from prune_assets.tables.format import Location, OpenOptions
    from prune_assets.tables.table import FilesToRead
    from prune_assets.tables.writing import Writing


@dataclass(slots=True)
class ParquetTable(TableDefaults):
    """Plain files as listed.

    `given`: location of the files.
    `schema`: footers that were read to determine the columns.
    `entry`: the table's entry in a catalog.
    """

    given: Location
    listed: ListedDataset
    schema: MetadataIndex
    semantics: SparkSemantics
    entry: CatalogEntry | None = None
    version_number: ClassVar[None] = None

    @property
    def format(self) -> Format:
        """The format of plain Parquet files."""
        return PARQUET

    @property
    def name(self) -> str:
        """Name of the table as the user gave it."""
        return str(self.given)

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """Columns that a predicate may refer to."""
        return named_columns(self.schema)

    @property
    def partitions(self) -> Sequence[LeafColumn]:
        """Columns whose values are in directory names."""
        return self.schema.groups.partitions

    def open_in_spark(self, spark: SparkSession, wanted: FilesToRead) -> DataFrame:
        """Open files with the schema of the whole table; Spark lists them itself."""
        from prune_assets.spark.stores import explaining
        from prune_assets.tables.parquet.reading import open_files

        first = self.given if isinstance(self.given, str | os.PathLike) else next(iter(self.given), "")
        with explaining(spark, os.fspath(first)):
            return open_files(spark, self, wanted)

    def constants(self, index: MetadataIndex, files: Sequence[int], names: Collection[str]) -> list[FileConstants]:
        """Return the partition values of files, from directory names."""
        columns = {column.path[0]: column for column in self.partitions if column.path[0] in names}
        values_by_name = {name: index.groups.partition_values.get(column.path) for name, column in columns.items()}
        unknown = {
            name: f"{columns[name].unsupported}, so its values are unknown"
            for name, values in values_by_name.items()
            if values is None
        }
        return [
            FileConstants(
                {name: values[file] for name, values in values_by_name.items() if values is not None}, unknown
            )
            for file in files
        ]

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return an empty DataFrame with the table's columns, to resolve expressions."""
        from prune_assets.spark.queries.table_schema import open_for_columns

        return open_for_columns(spark, self.given, self.schema)

    def answers(self, predicate: Predicate) -> FileAnswers:
        """Return the outcomes of a predicate for every file, from directory names."""
        return answers_of_directories(predicate, self.schema)

    def read(self, wanted: NDArray[np.bool_]) -> MetadataIndex:
        """Read the wanted footers, and the footer that determines the schema."""
        return self.schema if self.schema.groups.opened is None else self.listed.read(wanted)

    def read_all(self) -> MetadataIndex:
        """Read the footers of all files."""
        return self.read(np.ones(len(self.listed.files), np.bool_))

    def read_partitioned(self, files: NDArray[np.int64] | None = None) -> tuple[MetadataIndex, NDArray[np.int64]]:
        """Read the footers of all files, and number the partition of each.

        `files`: read only these files; the returned index then has no other files.
        """
        from parquet_core.layout.places import partition_of_files

        index = self.read_all() if files is None else self.listed.of_files(files).read_all()
        return index, partition_of_files(index)

    def unread(self) -> NDArray[np.bool_]:
        """Flag the files whose footers are not read or cached yet."""
        opened = self.schema.groups.opened
        return self.listed.unread() & (np.zeros(len(self.listed.files), np.bool_) if opened is None else ~opened)

    def part(self, file_numbers: NDArray[np.int64]) -> ListedDataset:
        """Return some files as a part that another process can read."""
        return self.listed.part(file_numbers)

    def partition_names(self) -> Sequence[str]:
        """Return the partition columns."""
        return [column.name for column in self.partitions]

    def partition_text(self, path: ColumnPath, file: int) -> str | None:
        """Return a file's value of a partition column as text; None if its directory has no such column."""
        values = self.schema.groups.partition_values.get(path)
        if values is None:
            return None
        return f"{value_text(values[file]) if values[file].is_valid else 'null'} by its directory"


def named_columns(index: MetadataIndex) -> list[LeafColumn]:
    """Return the columns that a predicate may refer to.

    A column in directory names takes precedence over a column in files with the same name. If the two names differ in
    case, the session determines which column is meant; then the column in files represents both, and does not prune.
    """
    in_directories = {column.path[0] for column in index.groups.partitions}
    in_files = {column.path[0] for column in index.groups.columns}
    folded = {name.casefold() for name in in_files}
    return [
        *(column for column in index.groups.columns if column.path[0] not in in_directories),
        *(
            column
            for column in index.groups.partitions
            if column.path[0] in in_files or column.path[0].casefold() not in folded
        ),
    ]


def _is_at(location: Location) -> bool:  # noqa: ARG001 - takes all that other formats refuse
    return True


def _open(location: Location, options: OpenOptions) -> ParquetTable:
    """List the files, and read the footers that the columns require."""
    if options.version is not None or options.timestamp is not None:
        raise WrongUse(
            f"{location}: not a Delta table (it has no _delta_log), so it has no versions; leave out version and "
            "timestamp"
        )
    refuse_unread(location)
    semantics, entry = options.semantics, options.entry
    try:
        listed = list_dataset(
            location,
            cache=options.cache,
            infer_partition_types=semantics.infer_partition_types,
            any_case=not semantics.case_sensitive,
        )
    except WrongUse as error:
        if (inside := table_inside(location)) is None:
            raise
        raise WrongUse(f"{location}: {inside[1]} is a table of {inside[0]}; name that table, or another") from error
    if entry is not None:
        entry.check_files(listed.files)
    return ParquetTable(location, listed, listed.read_for_schema(whole_below=options.whole_below), semantics, entry)


def _check_columns(table: ParquetTable, spark: SparkSession) -> None:
    """Refuse a table whose columns differ between its files and its catalog."""
    if table.entry is not None:
        from prune_assets.tables.catalogs.session_catalog import check_columns

        check_columns(table.entry, table, spark)


def _examination() -> Examination:
    from prune_assets.tables.parquet.examination import EXAMINATION

    return EXAMINATION


def _writing() -> Writing:
    from prune_assets.tables.parquet.writing import WRITING

    return WRITING


PARQUET = Format(
    name="parquet",
    is_at=_is_at,
    open=_open,
    check_columns=_check_columns,
    is_unfinished=lambda table: table.listed.is_unfinished,
    fingerprint=files_fingerprint,
    partition_files=partition_files,
    examination=_examination,
    is_in_listing=lambda _, directories, has_files: has_files or any("=" in name for name in directories),
    spark_lists_files=True,
    storage_kind="parquet",
    writing=_writing,
    not_inspected={"orphans": "is not a Delta table, so it has no log that names files"},
)
