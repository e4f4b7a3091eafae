"""How much a DataFrame holds, as it was measured before it is written, and what follows from that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_core.layout.spec import LayoutSpec

# Plain bytes a value takes, over the bytes it takes encoded and compressed: a careful guess.
SHRINK = 4


@dataclass(frozen=True, slots=True)
class DataSize:
    """Rows, and bytes as plain values: not encoded, not compressed."""

    rows: int
    plain_bytes: int


def file_count(size: DataSize, layout: LayoutSpec) -> int:
    """Return how many files to aim for: what the layout says, or what its bytes of a file come to."""
    if layout.files is not None:
        return layout.files
    return max(1, math.ceil(size.plain_bytes / SHRINK / layout.target_file_bytes))


def row_group_rows(size: DataSize, layout: LayoutSpec, *, is_limited: bool = True) -> int:
    """Return the rows a row group may hold: what the layout says, or the least of its limits in rows and in bytes.

    The result is set as a limit where bloom filters are written, so that no row group holds more
    distinct values than its filter was sized for. `is_limited`: whether the writer takes such a limit.
    """
    if layout.row_group_rows is not None:
        return layout.row_group_rows
    if size.rows == 0 or size.plain_bytes == 0:
        by_bytes = layout.row_group_bytes
    else:
        by_bytes = max(1, layout.row_group_bytes * SHRINK * size.rows // size.plain_bytes)
    limit = layout.rows_of_row_group(size.rows) if is_limited else None
    return by_bytes if limit is None else min(by_bytes, limit)
