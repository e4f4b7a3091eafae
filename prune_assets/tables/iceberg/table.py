"""An Iceberg table at one snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from parquet_core.dataset.logged import AT_LEAST, FileList, LoggedFiles
from parquet_core.storage.allowed_locations import allowed_place
from prune_assets.tables.iceberg.deletes import FileDeletes, deleted_rows, deletes_by_file
from prune_assets.tables.iceberg.metadata_files import place_of
from prune_assets.tables.logged_table import LoggedTable, Root
from prune_assets.tables.table import FileConstants

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.format.schema import Path as ColumnPath
    from parquet_core.pruning.file_answers import FileAnswers
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.trust.bounds import Bounds
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.declared_type import DeclaredType
    from prune_assets.tables.format import Format
    from prune_assets.tables.iceberg.columns import IcebergColumn
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot
    from prune_assets.tables.table import FilesToRead


@dataclass
class IcebergTable(LoggedTable):
    """A snapshot of an Iceberg table.

    `given`: location of the table.
    `name`: name of the table as the user gave it.
    `in_session`: name of the table in the catalogs of a Spark session. None if it was opened differently.
    `is_older`: True if a version or time was requested.
    """

    given: str
    name: str
    snapshot: IcebergSnapshot
    semantics: SparkSemantics
    cache: MetadataCache | None = None
    in_session: str | None = None
    is_older: bool = False
    # Iceberg's data files store their partition columns; no value is known from a directory alone.
    partitions: ClassVar[Sequence[LeafColumn]] = ()
    last_answers: tuple[Predicate, FileAnswers] | None = None
    _bounds: dict[tuple[ColumnPath, int], Bounds] = field(default_factory=dict)
    _deletes: tuple[int, dict[int, FileDeletes]] | None = None

    @property
    def format(self) -> Format:
        """The Iceberg format."""
        from prune_assets.tables.iceberg.opening import ICEBERG

        return ICEBERG

    @property
    def version_number(self) -> int | None:
        """Id of the opened snapshot; None for a table without snapshots."""
        snapshot = self.snapshot.snapshot
        return None if snapshot is None else snapshot.snapshot_id

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """Columns that a predicate may refer to."""
        return [column.leaf for column in self.snapshot.columns]

    @cached_property
    def by_path(self) -> dict[ColumnPath, IcebergColumn]:
        """Columns whose type can be pruned by metadata, by path."""
        return {column.leaf.path: column for column in self.snapshot.columns if not column.leaf.unsupported}

    @property
    def deletes(self) -> dict[int, FileDeletes]:
        """Deletes of each file by its number, for files that have deletes and whose manifests were read."""
        opened = int(self.snapshot.files.opened.sum())
        if self._deletes is None or self._deletes[0] != opened:
            self._deletes = opened, deletes_by_file(self.snapshot)
        return self._deletes[1]

    def declared_type(self, name: str) -> DeclaredType | None:
        """Return the type of a top-level column in the snapshot's schema."""
        from prune_assets.tables.iceberg.reading import declared_type

        return declared_type(self, name)

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return an empty DataFrame with the table's columns, to resolve expressions."""
        from prune_assets.tables.iceberg.reading import declared_schema

        return spark.createDataFrame([], declared_schema(self))

    def open_in_spark(self, spark: SparkSession, wanted: FilesToRead) -> DataFrame:
        """Open files with Iceberg if a catalog of the session has the table, else with Spark's own Parquet reader."""
        from prune_assets.tables.iceberg.reading import open_files
        from prune_assets.tables.iceberg.reading_with_iceberg import open_with_iceberg

        frame = open_with_iceberg(spark, self, wanted) if len(wanted.files) else None
        return open_files(spark, self, wanted) if frame is None else frame

    def kept_by_manifests(self) -> int:
        """Return how many files the manifests kept for the last predicate; Iceberg alone would read about as many."""
        return len(self.snapshot.files) if self.last_answers is None else int(self.last_answers[1].kept.sum())

    def file_bounds(self, path: ColumnPath) -> Bounds | None:
        """Return the bounds of a column from the manifests that were read already.

        None for an unsupported column, and for a column that the name mapping lacks: in files without field ids that
        column is read as null, whatever their bounds claim.
        """
        from prune_assets.tables.iceberg.file_bounds import enclosing_bounds

        mapped = self.snapshot.numbered.names
        if path not in self.by_path or (mapped and self.by_path[path].field_id not in mapped.values()):
            return None
        cache_key = path, int(self.snapshot.files.opened.sum())
        if cache_key not in self._bounds:
            self._bounds[cache_key] = enclosing_bounds(self.by_path[path], self.snapshot)
        return self._bounds[cache_key]

    def constants(self, index: MetadataIndex, files: Sequence[int], names: Collection[str]) -> list[FileConstants]:
        """Return values of columns that files lack, and position deletes.

        Raises UnsupportedFeature for other kinds of deletes.
        """
        from prune_assets.tables.iceberg.absent_columns import absent_values

        columns = [column for column in self.by_path.values() if column.leaf.path[0] in names]
        return [
            FileConstants(
                absent_values(self.snapshot, columns, index, i),
                {},
                deleted_rows(self.snapshot, i, self.deletes[i]) if i in self.deletes else None,
            )
            for i in files
        ]

    @property
    def root(self) -> Root:
        """Directory and counter of bytes read."""
        return Root(self.snapshot.io.root, self.snapshot.io.traffic)

    def allowed_place(self, location: str) -> str:
        """Return the address of a file in a manifest.

        Raises UnsupportedFeature if the file may not be opened.
        """
        return allowed_place(self.snapshot.io.root, location, self.snapshot.io.allow)

    def skip_files(self, predicate: Predicate) -> FileAnswers:
        """Evaluate a predicate for every live file, from the metadata."""
        from prune_assets.tables.iceberg.skipping import skip_files

        return skip_files(self, predicate)

    def read_all(self) -> MetadataIndex:
        """Read the footers of all live files."""
        self.snapshot.open_all()
        return super().read_all()

    def logged(self) -> LoggedFiles:
        """Return the live files as listed in the manifests."""
        files = self.snapshot.files
        has_deletes = np.zeros(len(files), np.bool_)
        has_deletes[list(self.deletes)] = True
        return LoggedFiles(
            files=FileList(lambda file_number: place_of(files.name(file_number)), files.numbers("sizes", 0), {}),
            opened=np.zeros(len(files), np.bool_),
            row_count=np.full(len(files), AT_LEAST, np.int64),
            deleted=has_deletes,
            columns=self.snapshot.columns,
            partitions=(),
            numbered=self.snapshot.numbered,
        )

    def count_rows(self, index: MetadataIndex) -> None:
        """Fill in row counts of unopened files, from the metadata, for reports; plans do not need them.

        For unread manifests, the manifest list has the row counts, and the snapshot summary the total bytes.
        """
        if index.groups.opened is None or index.groups.opened.all():
            return
        from prune_assets.tables.iceberg.manifests.unread_manifests import totals_of

        rows, sizes = totals_of(self.snapshot)
        of_unopened = ~index.groups.opened[index.groups.file]
        counts = index.groups.row_count.copy()
        counts[of_unopened] = rows[index.groups.file[of_unopened]]
        index.groups.sizes_of_files()[:] = sizes
        index.groups.put_row_count(counts, np.zeros(len(index), np.bool_))  # manifests count the rows of every file

    def deleted_rows(self) -> NDArray[np.int64]:
        """Count the rows deleted by position deletes, per data file.

        Reads a delete file if the manifests do not state its number of deletes for each data file. Rows deleted by
        equality deletes are not counted, as only the data shows them.
        """
        from prune_assets.tables.iceberg.deletes import count_positions

        counts = np.zeros(len(self.snapshot.open_all()), np.int64)
        for i, deletes in self.deletes.items():
            counts[i] = count_positions(self.snapshot, i, deletes)
        return counts

    def partition_text(self, path: ColumnPath, file: int) -> str | None:
        """Return a file's partition values of a column as text; None if the column is not in the file's spec."""
        column, snapshot = self.by_path.get(path), self.snapshot
        positions = [
            field
            for field in snapshot.partition_fields
            if column is not None and field.source == column.field_id and field.spec == snapshot.files.spec[file]
        ]
        if not positions:
            return None
        if not snapshot.files.has_entry[file]:
            return "in a manifest that was not read"
        values = snapshot.files[file].partition
        return f"in a file of {', '.join(f'{field.name} = {values[field.position]!r}' for field in positions)}"

    def rewrite_scope(self) -> NDArray[np.int64]:
        """Return the partition number of each file."""
        self.snapshot.open_all()
        keys = self.snapshot.partition_keys()
        partition_numbers = {key: i for i, key in enumerate(sorted(set(keys.values())))}
        return np.array([partition_numbers[keys[i]] for i in range(len(keys))], np.int64)

    def partition_names(self) -> list[str]:
        """Return the fields of the current partition spec, in the form of a layout."""
        from prune_assets.tables.iceberg.writes.partition_by import transforms_of

        return list(map(str, transforms_of(self.snapshot)))
