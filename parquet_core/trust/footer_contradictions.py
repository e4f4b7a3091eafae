"""What of a footer cannot be at once: its numbers of rows, and where it puts the parts of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.ragged import any_in
from parquet_core.trust.doubts import Doubt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.column_chunk import ChunkPlaces
    from parquet_core.format.footer import Footers
    from parquet_core.trust.doubts import Doubts

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]


def doubts_about(footers: Footers) -> Doubts:
    """Return the doubts about each row group that its footer gives rise to, whatever will be asked of it.

    Raises MalformedFile for a column chunk that cannot be decoded.
    """
    chunks = footers.chunk_places()
    rows = _wrong_rows(footers, chunks)
    data, filters, *indexes = _sharing(footers, chunks)
    offset, length = chunks.data.T
    size = footers.file_size[chunks.group]
    # Asked so that no sum wraps around: lengths are those of a file at most.
    outside = (length > size) | (offset > size - length) | (chunks.data_page_offset - offset > length)
    outside &= chunks.num_values > 0
    found = np.zeros(len(footers), np.uint8)
    found[rows] |= np.uint8(Doubt.ROWS)
    for doubt, flags in (
        (Doubt.PLACES, data | outside),
        (Doubt.SHARED_FILTER, filters),
        (Doubt.SHARED_INDEX, indexes[0] | indexes[1]),
    ):
        found[any_in(flags, chunks.group, len(footers))] |= np.uint8(doubt)
    return found


def _wrong_rows(footers: Footers, chunks: ChunkPlaces) -> Flags:
    """Tell which row groups do not add up to the rows of their file, or have a column of another number of them."""
    added = np.bincount(footers.file, footers.row_count, minlength=len(footers.files))
    of_file = (added != footers.num_rows)[footers.file]
    rows = footers.row_count[chunks.group]
    # A flat column has one level entry a row, a repeated one at least one.
    wrong = (chunks.num_values < rows) | ((chunks.num_values > rows) & ~chunks.repeated)
    found: Flags = of_file | any_in(wrong, chunks.group, len(footers))
    return found


def _sharing(footers: Footers, chunks: ChunkPlaces) -> list[Flags]:
    """Tell which chunks, filters, offset indexes and column indexes share bytes of their file with any other."""
    sizes = np.array([file.size for file in footers.files], np.int64)
    # Behind each other, the files are one: what lies in two of them shares nothing.
    base = (np.cumsum(sizes) - sizes)[footers.file][chunks.group]
    size = footers.file_size[chunks.group]
    ranges = np.concatenate([chunks.data, chunks.bloom_filter, chunks.offset_index, chunks.column_index])
    base, size = np.tile(base, 4), np.tile(size, 4)
    begin = np.clip(ranges[:, 0], 0, size)
    there = np.flatnonzero((ranges[:, 1] > 0) & (begin < size))
    start = (base + begin)[there]
    stop = start + np.minimum(ranges[:, 1], size - begin)[there]
    shared = np.zeros(len(ranges), np.bool_)
    shared[there[_overlapping(start, stop)]] = True
    return np.split(shared, 4)


def _overlapping(start: Numbers, stop: Numbers) -> Numbers:
    """Return which of some ranges overlap another one."""
    order = np.argsort(start, kind="stable")
    start, stop = start[order], stop[order]
    found = np.zeros(len(order), np.bool_)
    found[1:] = start[1:] < np.maximum.accumulate(stop)[:-1]
    found[:-1] |= stop[:-1] > start[1:]
    return order[found]
