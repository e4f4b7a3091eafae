"""Pages of one column, from joined column and offset indexes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.columnar import Columnar
from parquet_core.format.compact import MISSING
from parquet_core.format.plain import PlainValues
from parquet_core.format.written_statistics import WrittenStatistics
from parquet_core.ragged import elements_of, firsts, rows_with
from parquet_core.trust.bounds import Bounds, BoundsBuilder, without
from parquet_core.trust.trusted_bounds import bounds_as_read, wrong_null_counts
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers
    from parquet_core.format.page_index import ColumnIndexes, OffsetIndexes
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.trust_policy import Trust


_BLOCK = 1 << 16
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class PageBatch(Columnar):
    """Pages of one column over successive row groups. A row group without an offset index counts as one page.

    `first`: the pages of row group i are the elements `first[i]` to `first[i + 1]`.
    `bounds`: bounds of each page.
    `first_row`: first row of each page, counted within its row group.
    `reason`: for each row group, why its column index is unusable; "" if it is usable.
    `boundary_order`: for each row group, the claimed order; -1 if unknown.
    `bound_bytes`: for each row group, the stored size of its page bounds.
    `listed`: for each row group, the number of pages in its column index; -1 unless both indexes are readable.
    """

    elements = ("bounds", "first_row")
    batches = {"bounds": Bounds}  # noqa: RUF012 - a constant of the base class
    first: Numbers
    bounds: Bounds
    first_row: Numbers
    reason: NDArray[np.object_]
    boundary_order: Numbers
    bound_bytes: Numbers
    listed: Numbers

    @property
    def row_group(self) -> Numbers:
        """Position in the batch of each page's row group."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    @property
    def counts_differ(self) -> NDArray[np.bool_]:
        """Flags of row groups whose column index and offset index have different numbers of pages."""
        differ: NDArray[np.bool_] = (self.listed >= 0) & (self.listed != np.diff(self.first))
        return differ

    def without(self, groups: NDArray[np.bool_], reason: str) -> PageBatch:
        """Return a copy without the page bounds of flagged row groups.

        `reason`: why the column indexes of these row groups are unusable.
        """
        if not groups.any():
            return self
        bounds = without(self.bounds, np.repeat(groups, np.diff(self.first)))
        return replace(self, bounds=bounds, reason=np.where(groups, reason, self.reason))


@dataclass(frozen=True, slots=True)
class Source:
    """A column whose pages are joined, with facts about its row groups.

    `num_rows`: number of rows of each row group.
    `kind`: for each row group, the index in `trusts` of the applicable `Trust`.
    """

    column: LeafColumn
    num_rows: Numbers
    trusts: Sequence[Trust]
    kind: Numbers


def join_indexes(source: Source, indexes: ColumnIndexes, offsets: OffsetIndexes) -> PageBatch:
    """Join the column index and the offset index of every row group, and decode trusted bounds."""
    indexes = _without_wrong_nulls(source, indexes)
    located = offsets.reason == ""
    counts = np.where(located, np.diff(offsets.first), 1)
    first = firsts(counts)
    rows, first_row = _rows(offsets, located, counts, source.num_rows)
    reason = _fitting(indexes, offsets, located)
    written = _spread(indexes, np.flatnonzero(reason == ""), first, rows)
    if source.column.max_repetition_level == 0:
        lying = rows_with(_contradicts(written), first)
        lying &= reason == ""
        reason[lying] = (
            "the column index has a null count that exceeds the rows of the page, or contradicts its null pages"
        )
        if lying.any():
            written = _spread(indexes, np.flatnonzero(reason == ""), first, rows)
    return PageBatch(
        first=first,
        bounds=_decode(source, written, counts),
        first_row=first_row,
        reason=reason,
        boundary_order=indexes.boundary_order,
        bound_bytes=indexes.bound_bytes,
        listed=np.where((indexes.reason == "") & located, np.diff(indexes.first), -1),
    )


def _without_wrong_nulls(source: Source, indexes: ColumnIndexes) -> ColumnIndexes:
    """Drop distrusted null counts, which would make the rest of the column index look contradictory."""
    of_pages = np.repeat(source.kind, np.diff(indexes.first))
    wrong = wrong_null_counts(Fact.PAGE_NULLS, indexes.null_count, source.trusts, of_pages)
    return replace(indexes, null_count=np.where(wrong, MISSING, indexes.null_count)) if wrong.any() else indexes


def _rows(
    offsets: OffsetIndexes, located: NDArray[np.bool_], counts: Numbers, num_rows: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the row count and the first row of each page."""
    if located.all():
        return offsets.row_counts(num_rows), offsets.first_row
    rows, first_row = np.empty(int(counts.sum()), np.int64), np.zeros(int(counts.sum()), np.int64)
    of_located = np.repeat(located, counts)
    rows[of_located] = offsets.take(np.flatnonzero(located)).row_counts(num_rows[located])
    first_row[of_located] = offsets.first_row
    rows[~of_located] = num_rows[~located]
    return rows, first_row


def _decode(source: Source, written: WrittenStatistics, counts: Numbers) -> Bounds:
    """Decode trusted bounds of pages, in blocks because decoding takes a multiple of the memory of the result."""
    if len(written) <= _BLOCK:
        return bounds_as_read(source.column, written, source.trusts, np.repeat(source.kind, counts))
    ends = np.cumsum(counts)

    def decode(low: int, high: int) -> Bounds:
        kind = source.kind[np.searchsorted(ends, np.arange(low, high), side="right")]
        return bounds_as_read(source.column, written[low:high], source.trusts, kind)

    filled = BoundsBuilder(source.column, written.row_count)
    for low in range(0, len(written), _BLOCK):
        filled.put(low, decode(low, min(low + _BLOCK, len(written))))
    return filled.bounds()


def _fitting(indexes: ColumnIndexes, offsets: OffsetIndexes, located: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return, for each row group, why its column index is unusable; "" if it is usable.

    A column index is unusable if it has a fault, if the offset index is unreadable, or if their numbers of pages
    differ.
    """
    reason = indexes.reason.copy()
    usable = reason == ""
    reason[usable & ~located] = offsets.reason[usable & ~located]
    listed, pages = np.diff(indexes.first), np.diff(offsets.first)
    for i in np.flatnonzero(usable & located & (listed != pages)):
        reason[i] = f"the column index has {listed[i]} pages, the offset index {pages[i]}"
    return reason


def _spread(indexes: ColumnIndexes, usable: Numbers, first: Numbers, rows: Numbers) -> WrittenStatistics:
    """Assign entries of usable column indexes to pages; other pages have no statistics."""
    whole = len(usable) == len(indexes) and np.array_equal(first, indexes.first)
    at, taken = (_NONE, _NONE) if whole else (elements_of(first, usable), elements_of(indexes.first, usable))

    def numbers(values: Numbers, nothing: int) -> Numbers:
        if whole:
            return values
        spread = np.full(len(rows), nothing, np.int64)
        spread[at] = values[taken]
        return spread

    def values(of: PlainValues) -> PlainValues:
        return of if whole else PlainValues(of.buffer, numbers(of.start, 0), numbers(of.length, -1))

    unknown = np.full(len(rows), -1, np.int8)
    return WrittenStatistics(
        min_value=values(indexes.min_value),
        max_value=values(indexes.max_value),
        deprecated_min=None,
        deprecated_max=None,
        null_count=numbers(indexes.null_count, MISSING),
        nan_count=numbers(indexes.nan_count, MISSING),
        min_exact=unknown,
        max_exact=unknown,
        num_values=rows,
        row_count=rows,
        all_null=indexes.null_page if whole else numbers(indexes.null_page.astype(np.int64), 0) == 1,
    )


def _contradicts(written: WrittenStatistics) -> NDArray[np.bool_]:
    """Return flags of pages whose null count is negative, exceeds the rows, or contradicts the null page flag."""
    counts, rows = written.null_count, written.row_count
    wrong: NDArray[np.bool_] = (counts != MISSING) & (
        (counts < 0) | (counts > rows) | ((counts == rows) != written.all_null)
    )
    return wrong
