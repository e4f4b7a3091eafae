"""Deleted rows that readers still read, as the log or the manifests count them, by file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# delta-spark's OPTIMIZE rewrites a file with a larger share of deleted rows.
DELETED_SHARE = 0.05
# A reader opens these files for each data file: iceberg-go read a file in 41 ms, and in 5,087 ms with 50 of them.
MANY_DELETE_FILES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDebt:
    """Deletes of a table whose data files are not rewritten, one entry a file.

    `rows`: written rows, deleted ones included; negative if unknown. `deleted`: deleted rows. `shared`: deleted rows
    of delete files that cover several data files. `is_exact`: False if delete files may repeat a row.
    `delete_files`: position delete files and deletion vectors to open. `equality_files`: equality delete files to open.
    `path`: the path of a file by its number.
    """

    rows: NDArray[np.int64]
    deleted: NDArray[np.int64]
    delete_files: NDArray[np.int64]
    equality_files: NDArray[np.int64]
    path: Callable[[int], str]
    shared: int = 0
    is_exact: bool = True

    @property
    def deleted_rows(self) -> int:
        """Deleted rows of the table; at most this number if the debt is not exact."""
        counted = int(self.deleted.sum()) + self.shared
        return min(counted, self.all_rows) if (self.rows >= 0).all() else counted

    @property
    def all_rows(self) -> int:
        """Written rows of the table, as far as they are known."""
        return int(self.rows[self.rows > 0].sum())

    @property
    def share(self) -> float:
        """Share of the written rows of the table that are deleted; 0 if these are unknown."""
        return min(self.deleted_rows / self.all_rows, 1.0) if self.all_rows else 0.0

    def shares(self) -> NDArray[np.float64]:
        """Return the share of deleted rows of each file; 0 where its rows are unknown."""
        known = np.maximum(self.rows, 0)
        return np.minimum(self.deleted / np.maximum(known, 1), 1.0) * (known > 0)

    def needs_rewrite(self) -> NDArray[np.bool_]:
        """Return which files have equality deletes, or many delete files, however few rows they delete."""
        return (self.equality_files > 0) | (self.all_delete_files >= MANY_DELETE_FILES)

    def figures(self) -> dict[str, int | float]:
        """Return what Dagster shows of a table."""
        return {
            "deleted_rows": self.deleted_rows,
            "deleted_share": self.share,
            "files_with_deletes": int(np.count_nonzero(self.all_delete_files)),
            "files_with_equality_deletes": int(np.count_nonzero(self.equality_files)),
            "most_delete_files": int(self.all_delete_files.max(initial=0)),
        }

    @property
    def all_delete_files(self) -> NDArray[np.int64]:
        """Delete files of each data file, of all kinds."""
        return self.delete_files + self.equality_files
