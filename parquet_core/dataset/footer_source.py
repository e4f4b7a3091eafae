"""The footers of a dataset's files: kept once they were read while they are small, otherwise read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.format.footer import read_footers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from parquet_core.format.footer import Footers
    from parquet_core.storage import DataFile, Traffic

# Footers that take more bytes than this together are not kept.
MOST_KEPT_BYTES = 256 << 20


@dataclass(slots=True)
class FooterSource:
    """Reads footers of `files` by their indices."""

    files: tuple[DataFile, ...]
    traffic: Traffic
    _of: NDArray[np.int64] | None = None
    _kept: tuple[Footers, ...] = ()

    def read(self, indices: NDArray[np.int64]) -> Iterable[Footers]:
        """Return the footers of the files at `indices`, in batches."""
        if self._of is not None and np.array_equal(indices, self._of):
            return self._kept
        found = []
        kept_bytes = 0
        # What is too much to keep is handed on batch by batch, so that it never stands in memory as a whole.
        batches = read_footers([self.files[i] for i in indices.tolist()], traffic=self.traffic)
        for footers in batches:
            found.append(footers)
            kept_bytes += len(footers.encoded)
            if kept_bytes > MOST_KEPT_BYTES:
                return _chain(found, batches)
        self._of, self._kept = indices, tuple(found)
        return self._kept


def _chain(first: list[Footers], rest: Iterable[Footers]) -> Iterable[Footers]:
    while first:
        yield first.pop(0)
    yield from rest
