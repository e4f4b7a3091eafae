"""A Delta table at one version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.dataset.logged import AT_LEAST, FileList, LoggedFiles
from parquet_core.errors import NoSuchPath, TableNotFound
from parquet_core.storage import look_up
from prune_assets.report.quantities import utc_text
from prune_assets.tables.logged_table import LoggedTable, Root

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from deltalog.log.file_block import FileBlock, Texts
    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.format.schema import Path as ColumnPath
    from parquet_core.pruning.file_answers import FileAnswers
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.storage import DataFile
    from parquet_core.trust.bounds import Bounds
    from prune_assets.report.skip_report import TableSnapshot
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.declared_type import DeclaredType
    from prune_assets.tables.format import Format
    from prune_assets.tables.table import FileConstants, FilesToRead


@dataclass(slots=True)
class DeltaTable(LoggedTable):
    """A version of a Delta table.

    `given`: location of the table.
    `deleted`: for each file, the number of rows that its deletion vector deletes.
    `unknown_rows`: number of unopened files without a row count in the log.
    """

    given: str | os.PathLike[str]
    snapshot: Snapshot
    deleted: NDArray[np.int64]
    semantics: SparkSemantics
    cache: MetadataCache | None = None
    unknown_rows: int = 0
    counted: bool = False
    last_answers: tuple[Predicate, FileAnswers] | None = None
    _bounds: dict[ColumnPath, Bounds] | None = None

    @property
    def format(self) -> Format:
        """The Delta format."""
        from prune_assets.tables.delta.opening import DELTA

        return DELTA

    @property
    def name(self) -> str:
        """Name of the table as the user gave it."""
        return str(self.given)

    @property
    def version_number(self) -> int:
        """Number of the opened version."""
        return self.snapshot.version

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """Columns that a predicate may refer to."""
        return self.snapshot.schema.leaves

    @property
    def partitions(self) -> Sequence[LeafColumn]:
        """Columns whose value in each file is in the log."""
        return tuple(column.leaf for column in self.snapshot.schema.columns if column.partition is not None)

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return an empty DataFrame with the table's columns, to resolve expressions."""
        from prune_assets.tables.delta.reading import spark_schema

        return spark.createDataFrame([], spark_schema(self.snapshot.schema))

    def declared_type(self, name: str) -> DeclaredType | None:
        """Return the type of a top-level column in the log's schema."""
        from prune_assets.tables.declared_type import declared_type

        schema = self.snapshot.schema
        field = next(field for field in schema.tree.fields if field.name == name)
        return declared_type(msgspec.to_builtins(field), physical_names=schema.mapping != "none")

    def open_in_spark(self, spark: SparkSession, wanted: FilesToRead) -> DataFrame:
        """Open files with the columns of the table, with Spark's own Parquet reader."""
        from prune_assets.tables.delta.reading import open_version

        return open_version(spark, self, wanted)

    def constants(self, index: MetadataIndex, files: Sequence[int], names: Collection[str]) -> list[FileConstants]:
        """Return the partition values and deletion vectors of files."""
        from prune_assets.tables.delta.reading import constants_of

        return constants_of(self, index, files, names)

    @property
    def root(self) -> Root:
        """Directory, counter of bytes read, and whether names may differ in case."""
        snapshot = self.snapshot
        return Root(snapshot.table, snapshot.traffic, any_case=not self.semantics.case_sensitive)

    def allowed_place(self, location: str) -> str:
        """Return the address of a file in the log.

        Raises OutsideTable if the file may not be opened.
        """
        from deltalog.log.allowed_locations import opened_place

        return opened_place(self.snapshot.table, location, self.snapshot.allow)

    def skip_files(self, predicate: Predicate) -> FileAnswers:
        """Evaluate a predicate for every live file, from the log."""
        from deltalog.stats.data_skipping import skip_files

        return skip_files(self.snapshot, predicate)

    def look_up(self, paths: Sequence[str]) -> list[DataFile]:
        """Return the current size and time of files. Raises TableNotFound for a missing file."""
        return _look_up_files(self.snapshot, paths)

    def logged(self) -> LoggedFiles:
        """Return the live files as listed in the log."""
        from deltalog.log.paths import resolve

        snapshot = self.snapshot
        sizes = np.concatenate([np.zeros(0, np.int64), *(block.size for block in snapshot.blocks)])
        paths = pa.chunked_array([block.path for block in snapshot.blocks], pa.string())
        return LoggedFiles(
            files=FileList(lambda file_number: resolve(snapshot.table, paths[file_number].as_py()), sizes, {}),
            opened=np.zeros(len(sizes), np.bool_),
            row_count=np.full(len(sizes), AT_LEAST, np.int64),
            deleted=self.deleted > 0,
            columns=[column for column in snapshot.schema.columns if column.partition is None],
            partitions=tuple(self.partitions),
            by_id=snapshot.schema.mapping == "id",
        )

    def file_bounds(self, path: ColumnPath) -> Bounds | None:
        """Return the bounds of a column in each file, from the log; None for a partition or unknown column."""
        from deltalog.stats.data_skipping import file_bounds

        column = self.snapshot.schema.by_path().get(path)
        if column is None or column.partition is not None:
            return None
        if self._bounds is None:
            self._bounds = {}
        if path not in self._bounds:
            (self._bounds[path],) = file_bounds(self.snapshot, [column])
        return self._bounds[path]

    def count_rows(self, index: MetadataIndex) -> None:
        """Fill in row counts of unopened files, from the log, for reports; plans do not need them."""
        from deltalog.stats.file_bounds import ABSENT, record_counts

        if self.counted or index.groups.opened is None or index.groups.opened.all():
            return
        unopened = ~index.groups.opened
        rows = record_counts(self.snapshot, unopened)
        self.unknown_rows = int(np.count_nonzero((rows == ABSENT) & unopened))
        self.counted = True
        of_unopened = unopened[index.groups.file]
        counts = index.groups.row_count.copy()
        counts[of_unopened] = np.where(rows > 0, rows, AT_LEAST)[index.groups.file[of_unopened]]
        index.groups.put_row_count(counts, of_unopened & (rows == ABSENT)[index.groups.file])

    def describe(
        self, index: MetadataIndex, read: NDArray[np.bool_], *, pro_rata: bool, log_bytes: int
    ) -> TableSnapshot:
        """Describe the version, as `Format.describe` requires."""
        from deltalog.snapshot.history import listed_time
        from prune_assets.report.skip_report import TableSnapshot

        made = listed_time(self.snapshot)
        return TableSnapshot(
            format="delta",
            version=self.snapshot.version,
            timestamp=None if made is None else utc_text(made),
            files=len(index.groups.files),
            opened_files=len(index.groups.files) if index.groups.opened is None else int(index.groups.opened.sum()),
            files_with_deletes=int(np.count_nonzero(self.deleted)),
            deleted_rows=int(self.deleted.sum()),
            kept_deleted_rows=int(self.deleted[read].sum()),
            unknown_rows=self.unknown_rows,
            pro_rata=pro_rata,
            log_bytes=log_bytes,
            notes=self.snapshot.notes,
        )

    def partition_names(self) -> Sequence[str]:
        """Return the names of the partition columns."""
        return self.snapshot.schema.partition_columns

    def rewrite_scope(self) -> NDArray[np.int64]:
        """Return the partition number of each live file; files of one partition have the same number.

        Partition values are read from the log. A rewrite keeps rows in their partition.
        """
        from deltalog.log.file_block import empty_codes

        partition = np.zeros(self.snapshot.file_count, np.int64)
        names = [column.partition for column in self.snapshot.schema.columns if column.partition is not None]
        for name in names:
            blocks = (block.partition.get(name, empty_codes(len(block))) for block in self.snapshot.blocks)
            value_strings = pa.chunked_array([_value_strings(values) for values in blocks], pa.string())
            coded = value_strings.combine_chunks().dictionary_encode(null_encoding="encode")
            both = np.stack([partition, coded.indices.to_numpy()])
            partition = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
        return partition

    def partition_text(self, path: ColumnPath, file: int) -> str | None:
        """Return the text that the log has for a partition column in a file; None for another column."""
        column = self.snapshot.schema.by_path().get(path)
        if column is None or column.partition is None:
            return None
        block, position = block_of(self.snapshot, file)
        coded = block.partition.get(column.partition)
        code = -1 if coded is None else int(coded.codes[position])
        value = "null" if coded is None or code < 0 else repr(coded.values[code].as_py())
        return f"{value} in the log"


def _value_strings(values: Texts) -> pa.Array:
    return values.values.take(from_numpy(np.maximum(values.codes, 0), valid=values.codes >= 0))


def block_of(snapshot: Snapshot, file_number: int) -> tuple[FileBlock, int]:
    """Return the block of a live file, and its position in the block."""
    for block in snapshot.blocks:
        if file_number < len(block):
            return block, file_number
        file_number -= len(block)
    raise IndexError(file_number)


def _look_up_files(snapshot: Snapshot, paths: Sequence[str]) -> list[DataFile]:
    try:
        return look_up(paths)
    except NoSuchPath as error:
        raise TableNotFound(
            f"{error.path}: the log references this file (version {snapshot.version}), but it is gone; restore it, "
            f"or open "
            "another version"
        ) from None
