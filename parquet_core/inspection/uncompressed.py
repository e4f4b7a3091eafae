"""Uncompressed sizes of column chunks, which only inspection asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.format.compact import INTEGER, decode_table, struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.footer import Footers
    from parquet_core.format.schema import LeafColumn

_COLUMN_CHUNK = struct({3: struct({6: INTEGER})})  # meta_data, of it total_uncompressed_size


def uncompressed_bytes(footers: Footers, column: LeafColumn) -> NDArray[np.int64]:
    """Return the bytes of a column's chunks before compression; -1 where the footer does not say.

    The footers are those of one file, the column is the file's own. Raises MalformedFile.
    """
    chunk = footers.first_chunk + column.index
    found = decode_table(
        footers.encoded,
        footers.chunk_start[chunk],
        footers.chunk_stop[chunk],
        _COLUMN_CHUNK,
        place=lambda i: footers.place(i, column.name),
    )
    table = np.frombuffer(found, np.int64).reshape(-1, _COLUMN_CHUNK.width)
    return np.maximum(table[:, _COLUMN_CHUNK.offset(3, 6)], -1)
