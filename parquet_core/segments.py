"""Common segments of the pages of several columns.

Page borders differ by column. Their union cuts the rows of all row groups into segments within which
no column changes its page, so that answers about pages can meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.ragged import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments in global row order: first row of each, and which row group (position) it lies in."""

    start: NDArray[np.int64]
    row_group: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)


def merge_borders(group_starts: NDArray[np.int64], page_starts: Sequence[NDArray[np.int64]]) -> Segments:
    """Merge the first global rows of row groups and of each column's pages into segments.

    Row groups without rows must be left out: two of them would begin at the same row.
    """
    starts = reduce(_merge, page_starts, group_starts)
    return Segments(starts, np.searchsorted(group_starts, starts, side="right") - 1)


def _merge(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    # Columns written with the same page row limit share their borders: the usual case is free.
    return left if np.array_equal(left, right) else distinct(np.sort(np.concatenate([left, right]), kind="stable"))


def page_of_segment(segments: Segments, page_starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each segment the page (position in `page_starts`) that it lies in."""
    return np.searchsorted(page_starts, segments.start, side="right") - 1
