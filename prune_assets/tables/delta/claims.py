"""What a Delta log claims of whole files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prune_assets.tables.examination import Claims

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.predicate import Path
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.delta.table import DeltaTable


@dataclass(slots=True)
class LogClaims(Claims):
    """Claims of a Delta log: statistics, deletion vectors and partition values of files."""

    table: DeltaTable
    name = "the log"
    partition_remedy = "remove the file from the table, and add its rows anew"
    _records: NDArray[np.int64] | None = None

    def bounds(self, path: Path, file: int) -> Bounds | None:
        """Return the bounds of a column from a file's statistics; None for a column without statistics."""
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
                bounds = partition_bounds(column, texts.values)
                return bounds.take(np.arange(len(bounds))[texts.codes[file : file + 1]])
            file -= len(block)
        return None
