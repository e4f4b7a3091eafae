"""Measured size of a DataFrame, and the file and row group sizes that follow from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_core.layout.spec import LayoutSpec

# Estimated ratio of plain bytes to encoded and compressed bytes; a conservative guess.
SHRINK = 4


@dataclass(frozen=True, slots=True)
class DataSize:
    """Number of rows, and bytes as plain values (not encoded or compressed)."""

    rows: int
    plain_bytes: int


def file_count(size: DataSize, layout: LayoutSpec) -> int:
    """Return the target number of files: the layout's number, or the number that follows from its bytes per file."""
    if layout.files is not None:
        return layout.files
    return max(1, math.ceil(size.plain_bytes / SHRINK / layout.target_file_bytes))


def row_group_rows(size: DataSize, layout: LayoutSpec, *, is_limited: bool = True) -> int:
    """Return the rows per row group: the layout's number, or the smaller of its limits by rows and by bytes.

    If bloom filters are written, the result becomes a limit of the writer, so that no row group holds more distinct
    values than its filter was sized for.
    `is_limited`: True if the writer supports a row limit.
    """
    if layout.row_group_rows is not None:
        return layout.row_group_rows
    if size.rows == 0 or size.plain_bytes == 0:
        by_bytes = layout.row_group_bytes
    else:
        by_bytes = max(1, layout.row_group_bytes * SHRINK * size.rows // size.plain_bytes)
    limit = layout.rows_of_row_group(size.rows) if is_limited else None
    return by_bytes if limit is None else min(by_bytes, limit)
