"""How much data a state of the plan stands for: files, row groups, pages, rows, compressed bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.access_plan import Verdict
from parquet_core.row_ranges import overlaps, row_total
from prune_assets.report.skip_report import Extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.access_plan import AccessPlan
    from parquet_core.metadata_index import MetadataIndex
    from parquet_core.page_index import OffsetIndex
    from parquet_core.schema import LeafColumn

# Above this many column chunks the pages of a selection are not counted one by one but pro rata.
MAX_OFFSET_INDEXES = 20_000


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the columns read, by row group; `pages` is -1 where nothing counts them."""

    bytes: NDArray[np.int64]
    pages: NDArray[np.int64]


def measure(index: MetadataIndex, columns: Sequence[LeafColumn]) -> Sizes:
    """Add up what the footers say of these columns."""
    size, pages = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    uncounted = np.zeros(len(index), np.bool_)
    for column in columns:
        chunks = index.chunks(column)
        size += np.array([0 if chunk is None else chunk.compressed_bytes for chunk in chunks], np.int64)
        counts = [0 if chunk is None or chunk.data_pages is None else chunk.data_pages for chunk in chunks]
        pages += np.array(counts, np.int64)
        uncounted |= np.array([chunk is not None and chunk.data_pages is None for chunk in chunks], np.bool_)
    pages[uncounted] = -1
    return Sizes(size, pages)


def extent_of(index: MetadataIndex, sizes: Sizes, alive: NDArray[np.bool_]) -> Extent:
    """Return the extent of whole row groups."""
    return _extent(index, alive, sizes.pages, index.row_count, sizes.bytes)


def _extent(
    index: MetadataIndex,
    alive: NDArray[np.bool_],
    pages: NDArray[np.int64],
    rows: NDArray[np.int64],
    size: NDArray[np.int64],
) -> Extent:
    return Extent(
        files=len(np.unique(index.file[alive])),
        row_groups=int(alive.sum()),
        pages=None if np.any(pages[alive] < 0) else int(pages[alive].sum()),
        rows=int(rows[alive].sum()),
        bytes=int(size[alive].sum()),
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """What an access plan reads of every row group; `estimated` when some bytes are pro rata."""

    rows: NDArray[np.int64]
    pages: NDArray[np.int64]
    bytes: NDArray[np.int64]
    estimated: bool

    def extent(self, index: MetadataIndex) -> Extent:
        """Return the sum over the row groups of which a row is read."""
        return _extent(index, self.rows > 0, self.pages, self.rows, self.bytes)


def kept_by(access: AccessPlan, index: MetadataIndex, columns: Sequence[LeafColumn], sizes: Sizes) -> Kept:
    """Return what the plan reads: of a selection, the pages that share a row with it, and dictionaries.

    Fetches the offset indexes of the selected row groups.
    """
    rows = access.ranges.row_totals(len(index))
    size = np.where(access.verdict == Verdict.SKIP, 0, sizes.bytes)
    pages = np.where(access.verdict == Verdict.SKIP, 0, sizes.pages)
    selected = np.flatnonzero(access.verdict == Verdict.SELECTION)
    if len(selected) * len(columns) > MAX_OFFSET_INDEXES:
        share = rows[selected] / index.row_count[selected]
        size[selected] = np.ceil(size[selected] * share)
        pages[selected] = -1
        return Kept(rows, pages, size, estimated=True)
    estimated = False
    indexes = index.page_indexes(columns, selected)
    for position, row in zip(selected, indexes, strict=True):
        ranges = access.ranges.of(int(position))
        parts = [
            _kept_of_chunk(index, int(position), column, offsets, ranges)
            for column, (_, offsets) in zip(columns, row, strict=True)
        ]
        size[position] = sum(part[0] for part in parts)
        pages[position] = -1 if any(part[1] < 0 for part in parts) else sum(part[1] for part in parts)
        estimated |= any(part[2] for part in parts)
    return Kept(rows, pages, size, estimated)


def _kept_of_chunk(
    index: MetadataIndex, position: int, column: LeafColumn, offsets: OffsetIndex | str, ranges: NDArray[np.int64]
) -> tuple[int, int, bool]:
    """Return bytes and pages read of one chunk (-1 pages: unknown) and whether the bytes are pro rata."""
    chunk = index.chunk(position, column)
    if chunk is None:
        return 0, 0, False
    rows = int(index.row_count[position])
    if isinstance(offsets, str):
        return -(-chunk.compressed_bytes * row_total(ranges) // rows), -1, True
    stops = np.append(offsets.first_row[1:], rows)
    read = overlaps(ranges, offsets.first_row, stops)
    dictionary = max(0, int(offsets.offset[0]) - chunk.first_page_offset)
    return dictionary + int(offsets.compressed_bytes[read].sum()), int(read.sum()), False
