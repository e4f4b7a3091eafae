"""The page index: ColumnIndex (bounds of every page) and OffsetIndex (where every page lies).

Both are decoded for many column chunks at once. An index that contradicts itself is left out, with the
reason, never half used. Source: PageIndex.md of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.format.compact import BINARY, BOOLEAN, INTEGER, MISSING, decode_lists, decode_table, list_of, struct
from parquet_core.format.plain import PlainValues
from parquet_core.ragged import any_in, elements_of, firsts

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.format.compact import Kind

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Reasons = NDArray[np.object_]

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
_PAGE_LOCATION = struct({1: INTEGER, 2: INTEGER, 3: INTEGER})  # offset, compressed_page_size, first_row_index
_OFFSET_INDEX = struct({1: list_of(_PAGE_LOCATION)})

_MOST_PAGE_BYTES = (1 << 31) - 1


class BoundaryOrder(IntEnum):
    """How the bounds of successive pages compare, numbered as in parquet.thrift."""

    UNORDERED = 0
    ASCENDING = 1
    DESCENDING = 2


@dataclass(frozen=True, slots=True)
class IndexBytes:
    """Where the encoded indexes of successive column chunks lie in `buffer`; a negative stop is no index.

    `absent` says why there is none. `place` names a chunk by its number, for messages.
    """

    buffer: bytes
    start: Numbers
    stop: Numbers
    absent: Reasons
    place: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class OffsetIndexes:
    """The pages of successive column chunks: file offset, compressed bytes, first row inside the row group.

    The pages of chunk i are the elements `first[i]` to `first[i + 1]`. `reason`, by chunk: why nothing is
    known of its pages, empty when they are known.
    """

    first: Numbers
    offset: Numbers
    compressed_bytes: Numbers
    first_row: Numbers
    reason: Reasons

    def __len__(self) -> int:
        return len(self.reason)

    def take(self, chunks: Numbers) -> OffsetIndexes:
        """Return those of chosen chunks."""
        if np.array_equal(chunks, np.arange(len(self))):
            return self
        pages = elements_of(self.first, chunks)
        return OffsetIndexes(
            firsts(self.first[chunks + 1] - self.first[chunks]),
            self.offset[pages],
            self.compressed_bytes[pages],
            self.first_row[pages],
            self.reason[chunks],
        )

    def row_counts(self, num_rows: Numbers) -> Numbers:
        """Return the rows of each page, given those of each chunk's row group."""
        after = np.append(self.first_row[1:], 0)
        counts = np.diff(self.first)
        after[(self.first[1:] - 1)[counts > 0]] = num_rows[counts > 0]
        return after - self.first_row


@dataclass(frozen=True, slots=True)
class ColumnIndexes:
    """The bounds of the pages of successive column chunks, as written.

    `null_count` and `nan_count` are MISSING where the writer gave none; a null page has no value on either
    side. By chunk: `boundary_order` as claimed (-1 unknown), the sum of `bound_bytes`, and the `reason` why
    nothing is known of its pages, empty when something is.
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
    """Decode offset indexes; by chunk: `num_rows`, and `extent`, its first byte in the file and its length.

    Raises MalformedFile for bytes that are none.
    """
    structs = _structs(encoded, _OFFSET_INDEX, "offset index")
    there = structs.there
    counts, rows = structs.lists(1, _PAGE_LOCATION)
    _, offset, size, first_row = rows.reshape(-1, _PAGE_LOCATION.width).T
    chunk = np.repeat(there, np.maximum(counts, 0))
    reason = encoded.absent.copy()
    reason[there[counts <= 0]] = "the offset index lists no pages"
    is_first = np.diff(chunk, prepend=-1) != 0
    last = np.append(is_first[1:], True)[: len(chunk)]  # an element, no option
    wrong = (offset < 0) | (first_row < 0) | (size < 0) | (size > _MOST_PAGE_BYTES)
    wrong |= is_first & (first_row != 0)
    wrong |= ~is_first & (np.diff(first_row, prepend=0) <= 0)
    wrong |= last & (first_row >= np.maximum(num_rows, 1)[chunk])
    impossible = any_in(wrong, chunk, len(reason))
    reason[impossible] = "the offset index holds row or byte positions that cannot be"
    reason[any_in((offset == MISSING) | (size == MISSING) | (first_row == MISSING), chunk, len(reason))] = (
        "the offset index lacks fields"
    )
    begin, length = extent[chunk].T
    elsewhere = (offset < begin) | (offset - begin > length) | (size > length - (offset - begin))
    # One of another chunk, whose pages hold other rows: what a tool leaves behind that moves chunks and not indexes.
    reason[(reason == "") & any_in(elsewhere, chunk, len(reason))] = (
        "the offset index puts pages outside of the column chunk"
    )
    good = (reason == "")[chunk]
    page_counts = np.bincount(chunk[good], minlength=len(reason))
    return OffsetIndexes(
        firsts(page_counts),
        offset[good],
        size[good],
        first_row[good],
        reason,
    )


def decode_column_indexes(encoded: IndexBytes) -> ColumnIndexes:
    """Decode column indexes. Raises MalformedFile for bytes that are none."""
    structs = _structs(encoded, _COLUMN_INDEX, "column index")
    there = structs.there
    reason = encoded.absent.copy()
    lists = {
        field: structs.lists(field, of)
        for field, of in ((1, BOOLEAN), (2, BINARY), (3, BINARY), (5, INTEGER), (8, INTEGER))
    }
    counts = lists[1][0]
    needed = [lists[field][0] for field in (1, 2, 3)]
    alike = np.all([found == counts for found in needed], axis=0)
    for field in (5, 8):
        alike &= (lists[field][0] == counts) | (lists[field][0] == MISSING)
    reason[there[~alike]] = "the lists of the column index differ in length"
    reason[there[np.any([found < 0 for found in needed], axis=0)]] = (
        "the column index lacks null_pages, min_values or max_values"
    )
    good = reason[there] == ""
    usable = there[good]
    pages = counts[good]
    chunk = np.repeat(usable, pages)
    null_page = _elements(lists[1], good, BOOLEAN)[:, 0] == 1
    buffer = np.frombuffer(encoded.buffer, np.uint8)
    low, high = (PlainValues(buffer, *_elements(lists[field], good, BINARY).T) for field in (2, 3))
    null_count, nan_count = (_optional(lists[field], good, pages) for field in (5, 8))
    bound_bytes = np.maximum(low.length, 0) + np.maximum(high.length, 0)
    lying = any_in(null_page & (null_count != MISSING) & (null_count <= 0), chunk, len(reason))
    reason[lying] = "the column index marks a page as all null that it counts no null in"
    filled = any_in(null_page & (bound_bytes > 0), chunk, len(reason))
    reason[filled] = "the column index gives bounds to a page that it marks as all null"
    kept = (reason == "")[chunk]
    order = np.full(len(reason), -1, np.int64)
    order[there] = np.maximum(structs.numbers(4), -1)
    page_counts = np.bincount(chunk[kept], minlength=len(reason))
    return ColumnIndexes(
        first=firsts(page_counts),
        null_page=null_page[kept],
        # A null page holds empty strings as placeholders; they are no bounds.
        min_value=_kept(low, kept, null_page),
        max_value=_kept(high, kept, null_page),
        null_count=null_count[kept],
        nan_count=nan_count[kept],
        boundary_order=order,
        bound_bytes=np.bincount(chunk, bound_bytes, minlength=len(reason)).astype(np.int64),
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Structs:
    """Decoded structs of the chunks `there`, a row of numbers for each."""

    encoded: IndexBytes
    spec: Kind
    name: str
    there: Numbers
    rows: Numbers

    def numbers(self, field: int) -> Numbers:
        return self.rows[:, self.spec.offset(field)]

    def lists(self, field: int, of: Kind) -> tuple[Numbers, Numbers]:
        """Decode a list of each; returns their lengths (MISSING without one) and the elements as numbers."""
        start, length = self.numbers(field), self.rows[:, self.spec.offset(field) + 1]
        stop = np.where(length < 0, -1, start + length)
        place = _named(self.encoded, self.there, self.name)
        counts, rows = decode_lists(self.encoded.buffer, start, stop, of, place=place)
        return np.frombuffer(counts, np.int64), np.frombuffer(rows, np.int64)


def _structs(encoded: IndexBytes, spec: Kind, name: str) -> _Structs:
    there = np.flatnonzero(encoded.stop >= 0)
    start, stop = encoded.start[there], encoded.stop[there]
    table = decode_table(encoded.buffer, start, stop, spec, place=_named(encoded, there, name))
    return _Structs(encoded, spec, name, there, np.frombuffer(table, np.int64).reshape(-1, spec.width))


def _named(encoded: IndexBytes, there: Numbers, name: str) -> Callable[[int], str]:
    return lambda i: f"{encoded.place(int(there[i]))}: {name}"


def _elements(found: tuple[Numbers, Numbers], good: Flags, of: Kind) -> Numbers:
    """Return the elements, shape (elements, numbers of each), of the lists that are good."""
    counts, rows = found
    elements = rows.reshape(-1, of.width)
    return elements if good.all() else elements[np.repeat(good, np.maximum(counts, 0))]


def _optional(found: tuple[Numbers, Numbers], good: Flags, pages: Numbers) -> Numbers:
    """Return one number a page, MISSING for the pages of a chunk without the list."""
    counts, rows = found
    present = counts[good] != MISSING
    if present.all():
        return _elements(found, good, INTEGER)[:, 0]
    numbers = np.full(int(pages.sum()), MISSING, np.int64)
    numbers[np.repeat(present, pages)] = rows[np.repeat(good, np.maximum(counts, 0))]
    return numbers


def _kept(values: PlainValues, kept: Flags, null_page: Flags) -> PlainValues:
    length = np.where(null_page, -1, values.length)
    if kept.all():
        return PlainValues(values.buffer, values.start, length)
    return PlainValues(values.buffer, values.start[kept], length[kept])


def boundary_order(lower: pa.Array, upper: pa.Array) -> BoundaryOrder:
    """Recompute the boundary order of pages; unknown bounds (null pages) are passed over.

    No page or one page is ASCENDING, as parquet-java has it.
    """
    known = pc.and_(pc.is_valid(lower), pc.is_valid(upper))
    low, high = lower.filter(known), upper.filter(known)
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


def concat_offset_indexes(parts: list[OffsetIndexes]) -> OffsetIndexes:
    """Join the offset indexes of successive chunks."""
    return OffsetIndexes(
        firsts(np.concatenate([np.diff(part.first) for part in parts])),
        np.concatenate([part.offset for part in parts]),
        np.concatenate([part.compressed_bytes for part in parts]),
        np.concatenate([part.first_row for part in parts]),
        np.concatenate([part.reason for part in parts]),
    )
