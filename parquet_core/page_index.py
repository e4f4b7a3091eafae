"""The page index: ColumnIndex (bounds of every page) and OffsetIndex (where every page lies).

Source: PageIndex.md of parquet-format. An index that contradicts itself is left out, with the reason,
never half used.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.bounds import EncodedBounds
from parquet_core.compact import BINARY, BOOLEAN, INTEGER, decode, list_of, struct

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_COLUMN_INDEX = struct({1: list_of(BOOLEAN), 2: list_of(BINARY), 3: list_of(BINARY), 4: INTEGER, 5: list_of(INTEGER)})
_OFFSET_INDEX = struct({1: list_of(struct({1: INTEGER, 2: INTEGER, 3: INTEGER}))})


class BoundaryOrder(IntEnum):
    """How the bounds of successive pages compare, numbered as in parquet.thrift."""

    UNORDERED = 0
    ASCENDING = 1
    DESCENDING = 2


@dataclass(frozen=True, slots=True)
class OffsetIndex:
    """The pages of one column chunk: file offset, compressed bytes, and first row inside the row group."""

    offset: NDArray[np.int64]
    compressed_bytes: NDArray[np.int64]
    first_row: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offset)

    def row_counts(self, num_rows: int) -> NDArray[np.int64]:
        """Return the rows of each page of a chunk in a row group of `num_rows`."""
        return np.diff(self.first_row, append=num_rows)


@dataclass(frozen=True, slots=True)
class ColumnIndex:
    """The bounds of the pages of one column chunk, as written.

    A null page has None on both sides. `null_counts` is None when the writer left the list out.
    """

    null_pages: tuple[bool, ...]
    min_values: tuple[bytes | None, ...]
    max_values: tuple[bytes | None, ...]
    boundary_order: int | None
    null_counts: tuple[int, ...] | None

    def __len__(self) -> int:
        return len(self.null_pages)

    def mean_bound_bytes(self) -> float:
        """Return the mean size of min plus max over all pages, in bytes."""
        sizes = (len(value) for value in (*self.min_values, *self.max_values) if value is not None)
        return sum(sizes) / len(self) if len(self) else 0.0


def parse_offset_index(data: bytes, *, num_rows: int, place: str) -> OffsetIndex | str:
    """Decode an OffsetIndex; returns the reason instead when its pages cannot be those of the chunk."""
    (locations,), _ = decode(data, _OFFSET_INDEX, place=f"{place}: offset index")
    if not locations or any(None in location for location in locations):
        return "the offset index lists no pages" if not locations else "the offset index lacks fields"
    try:
        table = np.array(locations, dtype=np.int64)
    except OverflowError:
        return "the offset index holds numbers beyond 64 bits"
    offset, size, first_row = table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()
    increasing = bool(np.all(np.diff(first_row) > 0))
    if first_row[0] != 0 or not increasing or first_row[-1] >= max(num_rows, 1) or offset.min() < 0:
        return "the offset index holds row or byte positions that cannot be"
    if size.min() < 0 or size.max() >= 1 << 31:
        return "the offset index holds row or byte positions that cannot be"
    return OffsetIndex(offset, size, first_row)


def parse_column_index(data: bytes, *, place: str) -> ColumnIndex | str:
    """Decode a ColumnIndex; returns the reason instead when its lists contradict each other."""
    (null_pages, low, high, order, null_counts), _ = decode(data, _COLUMN_INDEX, place=f"{place}: column index")
    if null_pages is None or low is None or high is None:
        return "the column index lacks null_pages, min_values or max_values"
    lengths = {len(null_pages), len(low), len(high)} | ({len(null_counts)} if null_counts is not None else set())
    if len(lengths) != 1:
        return "the lists of the column index differ in length"
    if null_counts is not None and any(
        is_null and count <= 0 for is_null, count in zip(null_pages, null_counts, strict=True)
    ):
        return "the column index marks a page as all null that it counts no null in"
    if any(is_null and (a or b) for is_null, a, b in zip(null_pages, low, high, strict=True)):
        return "the column index gives bounds to a page that it marks as all null"
    return ColumnIndex(
        null_pages=tuple(null_pages),
        # A null page holds empty strings as placeholders; they are no bounds.
        min_values=tuple(None if is_null else value for is_null, value in zip(null_pages, low, strict=True)),
        max_values=tuple(None if is_null else value for is_null, value in zip(null_pages, high, strict=True)),
        boundary_order=order,
        null_counts=None if null_counts is None else tuple(null_counts),
    )


def page_values(index: ColumnIndex, offsets: OffsetIndex, *, num_rows: int, ordered: bool) -> EncodedBounds | str:
    """Join a chunk's two indexes; returns the reason instead when they do not fit each other.

    `ordered` says that bounds of this column compare as its type does; without it they are unknown.
    """
    if len(index) != len(offsets):
        return f"the column index has {len(index)} pages, the offset index {len(offsets)}"
    rows = offsets.row_counts(num_rows)
    counts = _null_counts(index, rows)
    if counts is None:
        return "the column index counts more nulls in a page than it has rows, or others than its null pages"
    if not ordered:
        nothing = [None] * len(index)
        return EncodedBounds(nothing, nothing, counts, rows.tolist())
    return EncodedBounds(index.min_values, index.max_values, counts, rows.tolist())


def _null_counts(index: ColumnIndex, rows: NDArray[np.int64]) -> list[int | None] | None:
    if index.null_counts is None:
        return [int(n) if is_null else None for is_null, n in zip(index.null_pages, rows, strict=True)]
    counts = np.array(index.null_counts, dtype=object)
    null_pages = np.array(index.null_pages, dtype=np.bool_)
    if np.any(counts < 0) or np.any(counts > rows) or np.any((counts == rows) != null_pages):
        return None
    return [int(count) for count in counts]


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
