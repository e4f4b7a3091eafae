"""What the names of directories claim of whole files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.arrow_arrays import from_numpy
from parquet_core.format.comparable_values import bounds_type
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.predicate import Path


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
