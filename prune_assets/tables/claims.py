"""What a table claims of whole files before they are opened, for `prune audit` to verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.predicate import Path
    from parquet_core.trust.bounds import Bounds


class Claims(Protocol):
    """Claims of files, each named by its number in the index.

    `name`: what claims, in words; `partition_remedy`: what mends a file whose rows are not those of its partition.
    """

    name: str
    partition_remedy: str

    def bounds(self, path: Path, file: int) -> Bounds | None:
        """Return the bounds of a column in a file; None where none are claimed."""

    def rows(self, file: int) -> int | None:
        """Return how many rows a file has, deleted ones among them; None where it is not claimed."""

    def live(self, file: int, rows: int) -> NDArray[np.bool_] | None:
        """Return which of the rows of a file are not deleted; None where all are live."""

    def partition(self, path: Path, file: int) -> Bounds | None:
        """Return the value that a partition column has in a file; None where none is certain."""
