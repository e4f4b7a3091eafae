"""Splits of files: which row groups an engine's task reads that is given a byte range of a file.

A row group belongs to the split that its middle byte lies in, so that every one belongs to exactly one. The rule is
that of parquet-java (`filterFileMetaDataByMidpoint`), which Spark's tasks follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex

    Positions = NDArray[np.int64]


def midpoints(index: MetadataIndex) -> Positions:
    """Return the middle byte of every row group, from where its first column begins.

    Decodes what the footers say of all columns. An encrypted column counts with no bytes.
    """
    kind = index.kind[index.file]
    size, start = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    columns = {column.path: column for provenance in index.kinds for column in provenance.columns}
    for column in columns.values():
        size += np.maximum(index.footers.chunks(column).compressed_bytes, 0)
    for i, provenance in enumerate(index.kinds):
        if provenance.columns:
            begins = index.footers.chunks(provenance.columns[0]).first_page_offset
            start = np.where(kind == i, np.maximum(begins, 0), start)
    ends = index.sizes_of_files()[index.file]
    middle: Positions = np.minimum(start + size // 2, ends - 1)
    return middle


def row_groups_within(index: MetadataIndex, middle: Positions, file: int, start: int, length: int) -> Positions:
    """Return the positions of the row groups of a file whose middle byte lies in `length` bytes from `start`."""
    first, stop = np.searchsorted(index.file, [file, file + 1])
    inside = middle[first:stop]
    chosen: Positions = first + np.flatnonzero((inside >= start) & (inside < start + length))
    return chosen
