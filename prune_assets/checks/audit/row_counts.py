"""Claims about row counts.

The counts of pages are compared with page headers. A count of 0 is compared with the first page of the row group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import MalformedFile
from parquet_core.layout.spec import Finding, Severity
from parquet_core.storage import read_ranges
from parquet_core.values import values_of_page
from prune_assets.checks.audit.findings import REWRITE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.column_chunk import ColumnChunks
    from parquet_core.format.page_index import OffsetIndexes
    from parquet_core.storage import DataFile, Traffic

# Bytes to read of a page header. Longer headers have statistics, which come after the fields that are used here.
HEADER_BYTES = 1 << 10


def check_pages(
    file: DataFile, offsets: OffsetIndexes, rows: int, stop: int, *, location: str, traffic: Traffic
) -> Finding | None:
    """Compare the page row counts of an offset index with page headers; return the first difference.

    `offsets`: offset index of one column chunk. The column must not be in a list.
    `stop`: file position of the end of the chunk.
    `rows`: number of rows of the row group.
    """
    if np.any(offsets.offset[1:] < (offsets.offset + offsets.compressed_bytes)[:-1]):
        message = "the page index puts two pages into the same bytes: predicates read one for the other"
        return Finding("page_rows", Severity.ERROR, location, message, REWRITE)
    # Read up to the next page: some writers exclude headers from the bytes of pages.
    sizes = np.minimum(np.diff(offsets.offset, append=stop), HEADER_BYTES)
    counts = offsets.row_counts(np.array([rows], np.int64)).tolist()
    ranges = list(zip(offsets.offset.tolist(), sizes.tolist(), strict=True))
    for page, (data, claimed) in enumerate(zip(_headers(file, ranges, traffic), counts, strict=True)):
        counted = _values_of(data, location)
        if counted == claimed or (isinstance(counted, str) and len(data) == HEADER_BYTES):
            continue
        what = f"page {page} has {claimed:,} rows by the page index, {_row_count_text(counted)}"
        message = f"{what}: predicates on other columns and on this one skip rows that they select"
        return Finding("page_rows", Severity.ERROR, location, message, REWRITE)
    return None


def _headers(file: DataFile, ranges: Sequence[tuple[int, int]], traffic: Traffic) -> list[bytes]:
    return read_ranges(file, ranges, purpose="rows", traffic=traffic)


def _values_of(data: bytes, location: str) -> int | str | None:
    try:
        return values_of_page(data, location=location)
    except MalformedFile as error:
        return str(error)


def _row_count_text(row_count: int | str | None) -> str:
    if isinstance(row_count, int):
        return f"{row_count:,} by its header"
    return "and no data page begins there"


def check_empty(file: DataFile, chunks: ColumnChunks, i: int, *, location: str, traffic: Traffic) -> Finding | None:
    """Report a row group that claims 0 rows but holds values; `i`: index of one of its chunks."""
    offset = int(chunks.data_page_offset[i])
    size = min(HEADER_BYTES, int(chunks.compressed_bytes[i]), file.size - offset)
    if offset <= 0 or size <= 0:
        return None
    (data,) = _headers(file, [(offset, size)], traffic)
    counted = _values_of(data, location)
    if not isinstance(counted, int) or not counted:
        return None
    message = f"the row group claims to have no rows, its first page has {counted:,}: every predicate loses them"
    return Finding("row_group_rows", Severity.ERROR, location, message, REWRITE)
