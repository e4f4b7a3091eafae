"""Column chunks: metadata of one column in successive row groups.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntFlag
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_core.columnar import Columnar
from parquet_core.format.compact import INTEGER, struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers


# Limit up to which row counts are exact in floating point, since sums of rows use floats.
MAX_ROWS = (1 << 53) - 1

_DICTIONARY_ENCODINGS = 1 << 2 | 1 << 8  # PLAIN_DICTIONARY, RLE_DICTIONARY
ENCODING_STATS = struct({1: INTEGER, 2: INTEGER, 3: INTEGER}, least=7)  # page type, encoding, count


class ChunkTraits(IntFlag):
    """Traits of column chunks that matter to faults of writers."""

    DICTIONARY = 1
    SEVERAL_PAGES = 2


NO_TRAITS = ChunkTraits(0)
ALL_TRAITS = ChunkTraits.DICTIONARY | ChunkTraits.SEVERAL_PAGES


@dataclass(frozen=True, slots=True)
class ColumnChunks(Columnar):
    """Chunks of one column in successive row groups.

    A negative number means unknown or missing. Byte ranges have shape (chunks, 2): offset and length.
    `present`: True if the footer describes the chunk; False if the column is encrypted.
    `num_values`: number of level entries, including nulls.
    `codec`: compression, numbered as in parquet.thrift.
    `encodings`: bit e is set for encoding e.
    `data_pages`: number of data pages according to the encoding statistics.
    `data_page_offset`, `dictionary_page_offset`: as written.
    `value_bytes`: unencoded size of byte array values.
    `encoding_stats`: the encoded list. None if missing.
    """

    present: NDArray[np.bool_]
    encrypted: NDArray[np.bool_]
    num_values: Numbers
    compressed_bytes: Numbers
    first_page_offset: Numbers
    data_page_offset: Numbers
    dictionary_page_offset: Numbers
    codec: Numbers
    encodings: Numbers
    data_pages: Numbers
    dictionary_only: NDArray[np.int8]
    has_bounds: NDArray[np.bool_]
    column_index: Numbers
    offset_index: Numbers
    bloom_filter: Numbers
    value_bytes: Numbers
    encoding_stats: NDArray[np.object_]

    def traits(self) -> NDArray[np.int64]:
        """Return bits of ChunkTraits that each chunk has or may have."""
        dictionary = (self.dictionary_page_offset > 0) | (self.encodings & _DICTIONARY_ENCODINGS != 0)
        several = self.data_pages != 1
        traits: Numbers = int(ChunkTraits.DICTIONARY) * dictionary + int(ChunkTraits.SEVERAL_PAGES) * several
        return traits

    def scattered(self, positions: Numbers, count: int) -> ColumnChunks:
        """Return `count` chunks: these chunks at `positions`, absent ones elsewhere."""
        if len(positions) == count:
            return self
        whole = absent_chunks(count)
        return ColumnChunks(*(_put(getattr(whole, f.name), positions, getattr(self, f.name)) for f in fields(self)))


def _put(into: NDArray[Any], positions: Numbers, values: NDArray[Any]) -> NDArray[Any]:
    copy = into.copy()
    copy[positions] = values
    return copy


def absent_chunks(count: int) -> ColumnChunks:
    """Return `count` chunks of a column that the files lack."""
    no, nothing = np.zeros(count, np.bool_), np.full(count, -1, np.int64)
    nowhere = np.full((count, 2), -1, np.int64)
    zero = np.zeros(count, np.int64)
    return ColumnChunks(
        present=no,
        encrypted=no,
        num_values=zero,
        compressed_bytes=zero,
        first_page_offset=nothing,
        data_page_offset=nothing,
        dictionary_page_offset=nothing,
        codec=nothing,
        encodings=zero,
        data_pages=zero,
        dictionary_only=nothing.astype(np.int8),
        has_bounds=no,
        column_index=nowhere,
        offset_index=nowhere,
        bloom_filter=nowhere,
        value_bytes=nothing,
        encoding_stats=np.full(count, None, object),
    )
