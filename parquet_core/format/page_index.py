"""Decode page indexes: ColumnIndex (page bounds) and OffsetIndex (page locations).

Both are decoded for many column chunks at once. An index that contradicts itself is dropped as a whole, with a reason.
Source: PageIndex.md of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.columnar import Columnar
from parquet_core.format.compact import (
    BINARY,
    BOOLEAN,
    INTEGER,
    MISSING,
    count_lists,
    decode_columns,
    decode_table,
    list_of,
    struct,
)
from parquet_core.format.plain import PlainValues
from parquet_core.ragged import elements_of, firsts, rows_with

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags, Numbers, Reasons
    from parquet_core.format.compact import Kind


_COLUMN_INDEX = struct(
    {
        1: list_of(BOOLEAN),  # null_pages
        2: list_of(BINARY),  # min_values
        3: list_of(BINARY),  # max_values
        4: INTEGER,  # boundary_order
        5: list_of(INTEGER),  # null_counts
        8: list_of(INTEGER),  # nan_counts
    }
)
_PAGE_LOCATION = struct({1: INTEGER, 2: INTEGER, 3: INTEGER}, least=7)  # offset, compressed_page_size, first_row_index
_OFFSET_INDEX = struct({1: list_of(_PAGE_LOCATION)})

_MOST_PAGE_BYTES = (1 << 31) - 1


class BoundaryOrder(IntEnum):
    """Order of the bounds of successive pages, numbered as in parquet.thrift."""

    UNORDERED = 0
    ASCENDING = 1
    DESCENDING = 2


@dataclass(frozen=True, slots=True)
class IndexBytes:
    """Encoded indexes of successive column chunks.

    `start`, `stop`: byte range in `buffer`; a negative stop means a missing index.
    `absent`: why an index is missing.
    `place`: returns the location of a chunk, given its number, for messages.
    """

    buffer: bytes
    start: Numbers
    stop: Numbers
    absent: Reasons
    place: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class OffsetIndexes(Columnar):
    """Page locations of successive column chunks.

    `first`: the pages of chunk i are the elements `first[i]` to `first[i + 1]`. Per page: `offset` in the file,
    `compressed_bytes`, and `first_row`, counted within the row group. `reason`: per chunk, why its pages are unknown,
    "" if they are known.
    """

    elements = ("offset", "compressed_bytes", "first_row")
    first: Numbers
    offset: Numbers
    compressed_bytes: Numbers
    first_row: Numbers
    reason: Reasons

    def row_counts(self, num_rows: Numbers) -> Numbers:
        """Return the row count of each page.

        `num_rows`: row count of each chunk's row group.
        """
        after = np.append(self.first_row[1:], 0)
        counts = np.diff(self.first)
        after[(self.first[1:] - 1)[counts > 0]] = num_rows[counts > 0]
        return after - self.first_row


@dataclass(frozen=True, slots=True)
class ColumnIndexes:
    """Page bounds of successive column chunks, as written.

    `first`: the pages of chunk i are the elements `first[i]` to `first[i + 1]`. Per page: `null_count` and `nan_count`
    are MISSING if the writer gave none; a null page has no `min_value` and `max_value`. Per chunk: `boundary_order` as
    claimed (-1 if unknown), `bound_bytes` as the total size of its bounds, and `reason`, why its pages are unknown, ""
    if they are known.
    """

    first: Numbers
    null_page: Flags
    min_value: PlainValues
    max_value: PlainValues
    null_count: Numbers
    nan_count: Numbers
    boundary_order: Numbers
    bound_bytes: Numbers
    reason: Reasons

    def __len__(self) -> int:
        return len(self.reason)


def decode_offset_indexes(encoded: IndexBytes, num_rows: Numbers, extent: Numbers) -> OffsetIndexes:
    """Decode the offset indexes of column chunks.

    `num_rows`: row count of each chunk's row group. `extent`: offset and length of each chunk in the file. Raises
    MalformedFile for bytes that are not an offset index.
    """
    structs = _structs(encoded, _OFFSET_INDEX, "offset index")
    there, reason = structs.chunk_numbers, encoded.absent.copy()
    counts = structs.counts(1)
    reason[there[counts <= 0]] = "the offset index lists no pages"
    listed = structs.only(counts > 0)
    first = firsts(np.maximum(counts[counts > 0], 0))
    offset, size, first_row = listed.elements(1, _PAGE_LOCATION)
    missing = rows_with((offset == MISSING) | (size == MISSING) | (first_row == MISSING), first)
    # Copies, because views would keep the whole decoded table alive.
    offset, first_row = offset.copy(), first_row.copy()
    wrong = (offset < 0) | (first_row < 0) | (size < 0) | (size > _MOST_PAGE_BYTES)
    size = size.astype(np.int32)
    begins = np.zeros(len(first_row), np.bool_)
    begins[first[:-1]] = True
    wrong |= np.where(begins, first_row != 0, np.diff(first_row, prepend=0) <= 0)
    impossible = rows_with(wrong, first)
    impossible |= first_row[first[1:] - 1] >= np.maximum(num_rows[listed.chunk_numbers], 1)
    reason[listed.chunk_numbers[impossible]] = "the offset index holds row or byte positions that cannot be"
    reason[listed.chunk_numbers[missing]] = "the offset index lacks fields"
    bad = impossible | missing
    elsewhere = _outside(offset, size, first, extent[listed.chunk_numbers]) & ~bad
    # Such an index describes the pages of another chunk. Tools that move chunks without their indexes produce it.
    reason[listed.chunk_numbers[elsewhere]] = "the offset index puts pages outside of the column chunk"
    bad |= elsewhere
    page_counts = np.zeros(len(reason), np.int64)
    page_counts[listed.chunk_numbers] = np.where(bad, 0, np.diff(first))
    if bad.any():
        pages = elements_of(first, np.flatnonzero(~bad))
        offset, size, first_row = offset[pages], size[pages], first_row[pages]
    return OffsetIndexes(firsts(page_counts), offset, size, first_row, reason)


def _outside(offset: Numbers, size: NDArray[np.int32], first: Numbers, extent: Numbers) -> Flags:
    """Flag chunks with a page outside the chunk's bytes.

    Every chunk has a page.
    """
    if len(extent) == 0:
        return np.zeros(0, np.bool_)
    begin, length = extent.T
    starts = first[:-1]
    low, high = np.minimum.reduceat(offset, starts), np.maximum.reduceat(offset, starts)
    # Offsets are checked before sizes are added, because the sum could overflow.
    outside: Flags = (low < begin) | (high - begin > length)
    outside |= np.maximum.reduceat(offset + size, starts) - begin > length
    return outside


def decode_column_indexes(encoded: IndexBytes) -> ColumnIndexes:
    """Decode column indexes.

    Raises MalformedFile for bytes that are not a column index.
    """
    structs = _structs(encoded, _COLUMN_INDEX, "column index")
    there, reason = structs.chunk_numbers, encoded.absent.copy()
    counts = {field: structs.counts(field) for field in (1, 2, 3, 5, 8)}
    needed = [counts[field] for field in (1, 2, 3)]
    alike = np.all([count == counts[1] for count in needed], axis=0)
    for field in (5, 8):
        alike &= (counts[field] == counts[1]) | (counts[field] == MISSING)
    reason[there[~alike]] = "the lists of the column index differ in length"
    reason[there[np.any([count < 0 for count in needed], axis=0)]] = (
        "the column index lacks null_pages, min_values or max_values"
    )
    good = structs.only(reason[there] == "")
    first = firsts(counts[1][reason[there] == ""])
    null_page = good.elements(1, BOOLEAN)[0] == 1
    null_count, nan_count = (good.counts_by_page(field, first) for field in (5, 8))
    low, filled, low_bytes = good.values(2, null_page, first)
    high, filled_too, high_bytes = good.values(3, null_page, first)
    lying = rows_with(null_page & (null_count != MISSING) & (null_count <= 0), first)
    reason[good.chunk_numbers[lying]] = "the column index marks a page as all null that it counts no null in"
    reason[good.chunk_numbers[filled | filled_too]] = (
        "the column index gives bounds to a page that it marks as all null"
    )
    order, bound_bytes = np.full(len(reason), -1, np.int64), np.zeros(len(reason), np.int64)
    order[there] = np.maximum(structs.numbers(4), -1)
    bound_bytes[good.chunk_numbers] = low_bytes + high_bytes
    bad = reason[good.chunk_numbers] != ""
    page_counts = np.zeros(len(reason), np.int64)
    page_counts[good.chunk_numbers] = np.where(bad, 0, np.diff(first))
    pages = elements_of(first, np.flatnonzero(~bad)) if bad.any() else slice(None)
    return ColumnIndexes(
        first=firsts(page_counts),
        null_page=null_page[pages],
        min_value=PlainValues(low.buffer, low.start[pages], low.length[pages]),
        max_value=PlainValues(high.buffer, high.start[pages], high.length[pages]),
        null_count=null_count[pages],
        nan_count=nan_count[pages],
        boundary_order=order,
        bound_bytes=bound_bytes,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Structs:
    """Decoded indexes, one row of numbers each.

    `chunk_numbers`: numbers of the column chunks that have these indexes.
    """

    encoded: IndexBytes
    spec: Kind
    name: str
    chunk_numbers: Numbers
    rows: Numbers

    def only(self, flags: Flags) -> _Structs:
        return self if flags.all() else replace(self, chunk_numbers=self.chunk_numbers[flags], rows=self.rows[flags])

    def numbers(self, field: int) -> Numbers:
        return self.rows[:, self.spec.offset(field)]

    def _places(self, field: int) -> tuple[Numbers, Numbers]:
        start, length = self.numbers(field), self.rows[:, self.spec.offset(field) + 1]
        return start, np.where(length < 0, -1, start + length)

    def counts(self, field: int) -> Numbers:
        """Return the length of a list in each index; MISSING if the list is missing."""
        place = _named(self.encoded, self.chunk_numbers, self.name)
        return np.frombuffer(count_lists(self.encoded.buffer, *self._places(field), place=place), np.int64)

    def elements(self, field: int, of: Kind) -> Numbers:
        """Return the elements of a list in all indexes, shape (numbers per element, elements)."""
        place = _named(self.encoded, self.chunk_numbers, self.name)
        _, columns = decode_columns(self.encoded.buffer, *self._places(field), of, place=place)
        shape = of.size if of.is_plain else of.width, -1
        elements_by_column: Numbers = np.frombuffer(columns, np.int64).reshape(shape)
        return elements_by_column

    def counts_by_page(self, field: int, first: Numbers) -> Numbers:
        """Return one count per page, MISSING for chunks without the list."""
        present = self.counts(field) != MISSING
        if not present.any():
            return np.broadcast_to(np.int64(MISSING), first[-1:])
        written: Numbers = self.elements(field, INTEGER)[0]
        if (written == MISSING).any():
            # A count equal to the MISSING marker is invalid, not missing.
            written = np.where(written == MISSING, -1, written)
        if present.all():
            return written
        counts_of_pages = np.full(int(first[-1]), MISSING, np.int64)
        counts_of_pages[np.repeat(present, np.diff(first))] = written
        return counts_of_pages

    def values(self, field: int, null_page: Flags, first: Numbers) -> tuple[PlainValues, Flags, Numbers]:
        """Return bounds, flags of contradicting chunks, and bytes per chunk.

        A chunk contradicts itself if one of its null pages has a bound. A null page has an empty string as placeholder,
        which is not a bound.
        """
        buffer = np.frombuffer(self.encoded.buffer, np.uint8)
        # Use 32-bit positions if possible, to save memory: each page has two per list.
        small = np.int32 if len(buffer) < 1 << 31 else np.int64
        start, length = (column.astype(small) for column in self.elements(field, BINARY))
        size = np.zeros(len(first) - 1, np.int64)
        filled = rows_with(null_page & (length > 0), first)
        paged = np.flatnonzero(np.diff(first))
        size[paged] = np.add.reduceat(length, first[paged], dtype=np.int64) if len(paged) else 0
        length[null_page] = -1
        return PlainValues(buffer, start, length), filled, size


def _structs(encoded: IndexBytes, spec: Kind, name: str) -> _Structs:
    there = np.flatnonzero(encoded.stop >= 0)
    start, stop = encoded.start[there], encoded.stop[there]
    table = decode_table(encoded.buffer, start, stop, spec, place=_named(encoded, there, name))
    return _Structs(encoded, spec, name, there, np.frombuffer(table, np.int64).reshape(-1, spec.width))


def _named(encoded: IndexBytes, there: Numbers, name: str) -> Callable[[int], str]:
    return lambda i: f"{encoded.place(int(there[i]))}: {name}"


def boundary_order(lower: pa.Array, upper: pa.Array) -> BoundaryOrder:
    """Compute the boundary order of pages; pages without bounds are ignored.

    Fewer than two pages are ASCENDING, as in parquet-java.
    """
    bounded = pc.and_(pc.is_valid(lower), pc.is_valid(upper))
    low, high = lower.filter(bounded), upper.filter(bounded)
    if _monotone(low, pc.less_equal) and _monotone(high, pc.less_equal):
        return BoundaryOrder.ASCENDING
    if _monotone(low, pc.greater_equal) and _monotone(high, pc.greater_equal):
        return BoundaryOrder.DESCENDING
    return BoundaryOrder.UNORDERED


def _monotone(values: pa.Array, compare: object) -> bool:
    if len(values) < 2:
        return True
    holds = pc.all(compare(values.slice(0, len(values) - 1), values.slice(1)))  # type: ignore[operator]  # an Arrow kernel
    return bool(holds.as_py())
