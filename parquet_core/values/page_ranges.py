"""Find the pages that contain chosen rows of a row group."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.ragged import spans
from parquet_core.values.pages import BEHIND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers

    RowRanges = NDArray[np.int64]

# Above this number of slices, copying the rows is cheaper than a table of that many chunks.
_MOST_SLICES = 64


class PagedChunk(NamedTuple):
    """A column chunk and its data pages.

    `leaf`: number of the column among the leaves of the file.
    `start`, `length`: byte range of the chunk. Per data page: `offset` in the file, `size` in bytes, `first_row` in the
    row group; empty if the pages are not located.
    `location`: for messages.
    """

    leaf: int
    codec: int
    start: int
    length: int
    data_start: int
    num_values: int
    file_size: int
    offset: Numbers
    size: Numbers
    first_row: Numbers
    location: str

    @property
    def is_located(self) -> bool:
        """True if single pages can be read: they are located and contiguous."""
        return len(self.offset) > 0 and bool(np.array_equal(self.offset[1:], (self.offset + self.size)[:-1]))


def covering_rows(chunks: Sequence[PagedChunk], ranges: RowRanges, rows: int) -> RowRanges:
    """Return the smallest row ranges of whole pages that cover `ranges`.

    Each returned range begins and ends at a page border in all chunks; it is the whole row group if a chunk's pages are
    not located. Shape (n, 2), like `ranges`: ascending, disjoint, half-open. `rows`: row count of the row group.

    >>> whole = PagedChunk(0, 0, 4, 90, 4, 30, 99, *np.array([[4, 34, 64], [30, 30, 30], [0, 10, 20]]), "")
    >>> covering_rows([whole], np.array([[12, 14]]), 30).tolist()
    [[10, 20]]
    """
    is_whole = len(ranges) == 1 and ranges[0, 0] == 0 and ranges[0, 1] == rows
    if is_whole or not all(chunk.is_located for chunk in chunks):
        return np.array([[0, rows]], np.int64)
    borders = reduce(np.intersect1d, [chunk.first_row for chunk in chunks])
    if len(borders) == 0 or borders[0] != 0:
        return np.array([[0, rows]], np.int64)
    first = np.searchsorted(borders, ranges[:, 0], "right") - 1
    last = np.searchsorted(borders, ranges[:, 1], "left")
    starts, stops = borders[first], np.append(borders, rows)[last]
    # Ranges that share a page or have adjacent pages are merged.
    new = np.append(True, starts[1:] > stops[:-1])
    heads = np.flatnonzero(new)
    return np.column_stack([starts[heads], np.append(stops[heads[1:] - 1], stops[-1:])])


def byte_ranges(chunk: PagedChunk, covered: RowRanges, rows: int) -> list[tuple[int, int]]:
    """Return the (start, bytes) ranges of the pages that hold the rows of `covered`.

    `covered`: row ranges of whole pages, from `covering_rows`. The dictionary page comes first. If all rows are
    covered, return the one range of the whole chunk.
    """
    if len(covered) == 1 and covered[0, 0] == 0 and covered[0, 1] == rows:
        # Some old writers did not include the header of the dictionary page in the chunk size.
        return [(chunk.start, min(chunk.length + BEHIND, chunk.file_size - chunk.start))]
    first = np.searchsorted(chunk.first_row, covered[:, 0])
    last = np.searchsorted(chunk.first_row, covered[:, 1]) - 1
    starts, stops = chunk.offset[first], (chunk.offset + chunk.size)[last]
    dictionary = int(chunk.offset[0]) - chunk.start
    before = [(chunk.start, dictionary)] if dictionary > 0 else []
    return [*before, *zip(starts.tolist(), (stops - starts).tolist(), strict=True)]


def rows_of_pages(chunk: PagedChunk, covered: RowRanges, rows: int) -> list[int]:
    """Return the row count of each page that holds rows of `covered`.

    `covered`: row ranges of whole pages, from `covering_rows`. Empty if the pages are not located.
    """
    if not chunk.is_located:
        return []
    first = np.searchsorted(chunk.first_row, covered[:, 0])
    last = np.searchsorted(chunk.first_row, covered[:, 1])
    counts: list[int] = np.diff(chunk.first_row, append=rows)[spans(first, last - first)].tolist()
    return counts


def chosen_rows(table: pa.Table, covered: RowRanges, ranges: RowRanges) -> pa.Table:
    """Select the rows of `ranges` from a table that has the rows of `covered`."""
    if np.array_equal(covered, ranges):
        return table
    before = np.cumsum(covered[:, 1] - covered[:, 0]) - (covered[:, 1] - covered[:, 0])
    within = np.searchsorted(covered[:, 0], ranges[:, 0], "right") - 1
    starts = before[within] + ranges[:, 0] - covered[within, 0]
    lengths = ranges[:, 1] - ranges[:, 0]
    if len(ranges) > _MOST_SLICES:
        return table.take(from_numpy(spans(starts, lengths)))
    pieces = [table.slice(start, length) for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
    return pa.concat_tables(pieces)
