"""A reader of the footers of a dataset's files: small ones are kept in memory, others are read again."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    _of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _kept: tuple[Footers, ...] = ()

    def of_more(self, files: tuple[DataFile, ...]) -> FooterSource:
        """Return the same for a list of files that begins with what was read so far, which is not read again."""
        if self._of.tolist() != list(range(len(self._of))) or files[: len(self._of)] != self.files[: len(self._of)]:
            return FooterSource(files, self.traffic)
        return FooterSource(files, self.traffic, self._of, self._kept)

    def read(self, indices: NDArray[np.int64]) -> Iterable[Footers]:
        """Return the footers of the files at `indices`, in batches."""
        begun = len(self._of) if np.array_equal(indices[: len(self._of)], self._of) else 0
        if 0 < begun == len(indices):
            return self._kept
        found = list(self._kept) if begun else []
        kept_bytes = sum(len(footers.encoded) for footers in found)
        # What is too much to keep is handed on batch by batch, so that it never stands in memory as a whole.
        batches = read_footers([self.files[i] for i in indices[begun:].tolist()], traffic=self.traffic)
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
