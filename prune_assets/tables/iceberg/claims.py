"""What the manifests of an Iceberg table claim of whole files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.predicate import Path
    from parquet_core.trust.bounds import Bounds
    from prune_assets.tables.iceberg.table import IcebergTable


@dataclass(slots=True)
class ManifestClaims:
    """Claims of manifests: bounds, counts and rows, all of the rows as written."""

    table: IcebergTable
    name = "the manifest"
    partition_remedy = "remove the file from the table with Iceberg, and add its rows anew"

    def bounds(self, path: Path, file: int) -> Bounds | None:
        """Return the bounds of a column in a file; None for a column without."""
        found = self.table.file_bounds(path)
        return None if found is None else found.slice(file, file + 1)

    def rows(self, file: int) -> int | None:
        """Return how many rows a file has, deleted ones among them."""
        return int(self.table.snapshot.files.numbers("records", 0)[file])

    def live(self, file: int, rows: int) -> NDArray[np.bool_] | None:  # noqa: ARG002 - of all
        """Return None: bounds and counts are those of all rows as they were written."""
        return None

    def partition(self, path: Path, file: int) -> Bounds | None:  # noqa: ARG002 - of all
        """Return None: no column is told by the partition alone."""
        return None
