"""What is claimed of whole files before they are opened: by a Delta log, and by the names of directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.comparable_values import bounds_type
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.predicate import Path
    from prune_assets.tables.delta import DeltaTable


@dataclass(slots=True)
class DirectoryClaims:
    """Claims of directory names: partition values."""

    index: MetadataIndex
    name = "the directory"
    partition_remedy = "move the file to the partition of its rows, or write it without the column"

    def bounds(self, path: Path, file: int) -> Bounds | None:
        """Return None: directory names claim nothing of other columns."""

    def rows(self, file: int) -> int | None:
        """Return None: directory names claim no number of rows."""

    def live(self, file: int, rows: int) -> NDArray[np.bool_] | None:
        """Return None: all rows count."""

    def partition(self, path: Path, file: int) -> Bounds | None:
        """Return the value of a partition column; None where none is certain."""
        values = self.index.partition_values.get(path)
        if values is None:
            return None
        (column,) = (column for column in self.index.partitions if column.path == path)
        value = values[file : file + 1].cast(bounds_type(column))
        return Bounds(value, value, from_numpy(np.array([value.null_count], np.int64)), np.ones(1, np.int64))


@dataclass(slots=True)
class LogClaims:
    """Claims of a Delta log: statistics, deletion vectors and partition values of files."""

    table: DeltaTable
    name = "the log"
    partition_remedy = "remove the file from the table, and add its rows anew"
    _records: NDArray[np.int64] | None = None

    def bounds(self, path: Path, file: int) -> Bounds | None:
        """Return what statistics of a file say of a column; None for one that they cannot tell of."""
        found = self.table.file_bounds(path)
        return None if found is None else found.slice(file, file + 1)

    def rows(self, file: int) -> int | None:
        """Return how many rows statistics give a file, deleted ones among them; None where they do not say."""
        from deltalog.stats.file_bounds import ABSENT, record_counts

        if self._records is None:
            self._records = record_counts(self.table.snapshot)
        count = int(self._records[file])
        return None if count == ABSENT else count

    def live(self, file: int, rows: int) -> NDArray[np.bool_] | None:
        """Return which rows of a file its deletion vector leaves; None where it has none."""
        from deltalog.log.deletion_vectors import read_vector, vector_of

        snapshot = self.table.snapshot
        for block in snapshot.blocks:
            if file < len(block):
                vector = vector_of(block, file)
                if vector is None:
                    return None
                deleted = read_vector(vector, snapshot.table, traffic=snapshot.traffic, allow=snapshot.allow)
                live = np.ones(rows, np.bool_)
                at = np.fromiter(deleted, np.int64, len(deleted))
                live[at[at < rows]] = False
                return live
            file -= len(block)
        return None

    def partition(self, path: Path, file: int) -> Bounds | None:
        """Return the value of a partition column, which may stand for several."""
        from deltalog.log.file_block import empty_codes
        from deltalog.stats.partition_values import partition_bounds

        column = self.table.snapshot.schema.by_path().get(path)
        if column is None or column.partition is None:
            return None
        for block in self.table.snapshot.blocks:
            if file < len(block):
                texts = block.partition.get(column.partition, empty_codes(len(block)))
                found = partition_bounds(column, texts.values)
                return found.take(np.arange(len(found))[texts.codes[file : file + 1]])
            file -= len(block)
        return None


Claims = DirectoryClaims | LogClaims


def open_claims(
    table: str | os.PathLike[str] | Sequence[str], *, allow: Sequence[str] = ()
) -> tuple[MetadataIndex, Claims]:
    """Read the footers of all files of a table, and what is claimed of them elsewhere."""
    from parquet_core.dataset.opening import list_dataset
    from prune_assets.tables.delta import delta_table

    delta = delta_table(table, version=None, timestamp=None, allow=allow, any_case=True)
    if delta is not None:
        return delta.read_all(), LogClaims(delta)
    listed = list_dataset(table, any_case=True)
    index = listed.read(np.ones(len(listed.files), np.bool_))
    return index, DirectoryClaims(index)
