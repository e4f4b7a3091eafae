"""Measure how much data a plan reads: files, row groups, pages, rows, compressed bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.pruning.access_plan import Verdict, overlaps
from parquet_core.ragged import distinct
from prune_assets.report.skip_report import Extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.access_plan import AccessPlan

# Above this number of column chunks, pages of a selection are estimated pro rata instead of counted.
MAX_OFFSET_INDEXES = 20_000
# Maximum number of columns whose pages are counted; each column takes a millisecond, even for few row groups.
MAX_LOCATED = 500


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the columns read, per row group.

    `pages`: number of pages; -1 if unknown.
    `pro_rata`: True if the bytes are a share of the file's size, because the file was not opened.
    """

    bytes: NDArray[np.int64]
    pages: NDArray[np.int64]
    pro_rata: bool = False


def measure(index: MetadataIndex, columns: Sequence[LeafColumn]) -> Sizes:
    """Sum the sizes that the footers give for these columns."""
    size, pages = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    positions = index.groups.read_from()
    totals = index.footers.totals(columns)
    size[positions], pages[positions] = totals.bytes, totals.pages
    if index.groups.opened is None or index.groups.opened.all():
        return Sizes(size, pages)
    # Without a log, sizes are scaled even if all columns are read: files, above all small ones, have other content too.
    whole = len(columns) == len(index.groups.columns) and not index.groups.partition_values
    return _add_unopened(index, Sizes(size, pages), whole=whole)


def _add_unopened(index: MetadataIndex, sizes: Sizes, *, whole: bool) -> Sizes:
    """Add the sizes of unopened files.

    `whole`: True if all columns are read. Otherwise the sizes are scaled by the share of these columns in opened files.
    """
    assert index.groups.opened is not None
    of_file = index.groups.sizes_of_files()
    unopened = np.flatnonzero(~index.groups.opened[index.groups.file])
    listed = of_file[index.groups.file[unopened]]
    size, pages = sizes.bytes.copy(), sizes.pages.copy()
    opened = int(of_file[index.groups.opened].sum())
    pages[unopened] = -1
    size[unopened] = listed
    if not whole and opened:
        size[unopened] = np.ceil(listed * min(1.0, int(sizes.bytes.sum()) / opened)).astype(np.int64)
    return Sizes(size, pages, pro_rata=not whole)


def extent_of(index: MetadataIndex, sizes: Sizes, remaining: NDArray[np.bool_]) -> Extent:
    """Return the extent of the remaining row groups if they are read whole."""
    return _extent(index, remaining, sizes.pages, index.groups.row_count, sizes.bytes)


def _extent(
    index: MetadataIndex,
    remaining: NDArray[np.bool_],
    pages: NDArray[np.int64],
    rows: NDArray[np.int64],
    size: NDArray[np.int64],
) -> Extent:
    return Extent(
        files=len(distinct(index.groups.file[remaining])),
        row_groups=None if np.any(index.groups.ordinal[remaining] < 0) else int(remaining.sum()),
        pages=None if np.any(pages[remaining] < 0) else int(pages[remaining].sum()),
        rows=None if index.groups.has_uncounted(remaining) else int(rows[remaining].sum()),
        bytes=int(size[remaining].sum()),
    )


@dataclass(frozen=True, slots=True)
class PlannedExtent:
    """Data that an access plan reads per row group.

    `estimated`: True if some bytes are pro rata.
    """

    rows: NDArray[np.int64]
    pages: NDArray[np.int64]
    bytes: NDArray[np.int64]
    estimated: bool

    def extent(self, index: MetadataIndex) -> Extent:
        """Sum the row groups that have a row to read."""
        return _extent(index, self.rows > 0, self.pages, self.rows, self.bytes)


def kept_by(access: AccessPlan, index: MetadataIndex, columns: Sequence[LeafColumn], sizes: Sizes) -> PlannedExtent:
    """Return the data that an access plan reads per row group: dictionaries, and pages that overlap the selected rows.

    Fetches the offset indexes of row groups that are read in part.
    """
    rows = access.ranges.row_totals(len(index))
    size = np.where(access.verdict == Verdict.SKIP, 0, sizes.bytes)
    pages = np.where(access.verdict == Verdict.SKIP, 0, sizes.pages)
    selected = np.flatnonzero(access.verdict == Verdict.SELECTION)
    if len(columns) > MAX_LOCATED or len(selected) * len(columns) > MAX_OFFSET_INDEXES:
        share = rows[selected] / index.groups.row_count[selected]
        size[selected] = np.ceil(size[selected] * share)
        pages[selected] = -1
        return PlannedExtent(rows, pages, size, estimated=True)
    size[selected] = 0
    pages[selected] = 0
    estimated, uncounted = False, np.zeros(len(index), np.bool_)
    for column, offsets in zip(columns, index.page_indexes.locations(columns, selected), strict=True):
        of_column = _measure_column(index, selected, column, offsets, access)
        size[selected] += of_column.bytes
        pages[selected] += np.maximum(of_column.pages, 0)
        uncounted[selected] |= of_column.pages < 0
        estimated |= of_column.estimated
    pages[uncounted] = -1
    return PlannedExtent(rows, pages, size, estimated)


def _measure_column(
    index: MetadataIndex, selected: NDArray[np.int64], column: LeafColumn, offsets: OffsetIndexes, access: AccessPlan
) -> PlannedExtent:
    """Return the data of one column read in the selected row groups.

    Without an offset index the data is estimated pro rata.
    """
    chunks = index.footers.chunks(column)
    rows = access.ranges.row_totals(len(index))[selected]
    located = offsets.reason == ""
    share = rows / index.groups.row_count[selected]
    size = np.where(located, 0, np.ceil(chunks.compressed_bytes[selected] * share)).astype(np.int64)
    pages = np.where(located | ~(chunks.present | chunks.encrypted)[selected], 0, -1)
    # Pages and row ranges as row numbers of the whole dataset, so that one search finds all overlaps.
    base = np.cumsum(index.groups.row_count) - index.groups.row_count
    group = np.repeat(np.arange(len(selected)), np.diff(offsets.first))
    start = base[selected][group] + offsets.first_row
    read = overlaps(
        access.ranges.as_dataset_rows(base), start, start + offsets.row_counts(index.groups.row_count[selected])
    )
    size += np.bincount(group[read], offsets.compressed_bytes[read], minlength=len(selected)).astype(np.int64)
    pages += np.bincount(group[read], minlength=len(selected))
    first_page = offsets.offset[offsets.first[:-1][located]]
    size[located] += np.maximum(0, first_page - chunks.first_page_offset[selected][located])
    return PlannedExtent(rows, pages, size, bool(np.any(~located & (chunks.compressed_bytes[selected] > 0))))
