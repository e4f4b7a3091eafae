"""Column chunks: metadata of one column in successive row groups.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntFlag
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parquet_core.columnar import Columnar
from parquet_core.format.compact import (
    INTEGER,
    decode_list,
    struct,
)

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


class ByteRange(NamedTuple):
    """Byte range in the file. `length`: None if unknown."""

    offset: int
    length: int | None


class ColumnChunk(NamedTuple):
    """One column of one row group.

    `num_values`: number of values, including nulls; a repeated column may have several per row.
    `codec`: compression, numbered as in parquet.thrift.
    `data_pages`: number of data pages by the encoding statistics, None if missing.
    `value_bytes`: unencoded size of byte array values.
    `data_page_offset`, `dictionary_page_offset`: as written.
    `encoding_stats`: page type, encoding and count, None if missing.
    """

    num_values: int
    compressed_bytes: int
    first_page_offset: int
    data_page_offset: int
    encodings: tuple[int, ...]
    codec: int | None
    data_pages: int | None
    dictionary_only: bool | None
    has_bounds: bool
    column_index: ByteRange | None
    offset_index: ByteRange | None
    bloom_filter: ByteRange | None
    value_bytes: int | None
    encrypted: bool
    dictionary_page_offset: int | None
    encoding_stats: tuple[tuple[int | None, int | None, int | None], ...] | None


@dataclass(frozen=True, slots=True)
class ColumnChunks(Columnar):
    """Chunks of one column in successive row groups.

    Negative numbers are unknown or missing. Byte ranges have shape (chunks, 2): offset and length.
    `present`: True if the footer describes the chunk; False if the column is encrypted.
    `encodings`: bit e is set for encoding e.
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

    def chunk(self, i: int) -> ColumnChunk | None:
        """Return chunk `i`; None if it is absent."""
        if not (self.present[i] or self.encrypted[i]):
            return None
        return ColumnChunk(
            num_values=int(self.num_values[i]),
            compressed_bytes=int(self.compressed_bytes[i]),
            first_page_offset=int(self.first_page_offset[i]),
            data_page_offset=int(self.data_page_offset[i]),
            encodings=_numbers_of(int(self.encodings[i])),
            codec=_known(self.codec[i]),
            data_pages=_known(self.data_pages[i]),
            dictionary_only=None if self.dictionary_only[i] < 0 else bool(self.dictionary_only[i]),
            has_bounds=bool(self.has_bounds[i]),
            column_index=_byte_range(self.column_index[i]),
            offset_index=_byte_range(self.offset_index[i]),
            bloom_filter=_byte_range(self.bloom_filter[i]),
            value_bytes=_known(self.value_bytes[i]),
            encrypted=bool(self.encrypted[i]),
            dictionary_page_offset=_known(self.dictionary_page_offset[i]),
            encoding_stats=_decoded_stats(self.encoding_stats[i]),
        )


@lru_cache(maxsize=256)
def _numbers_of(bits: int) -> tuple[int, ...]:
    """Return the positions of the set bits.

    Results are cached, since few combinations of encodings occur.
    """
    return tuple(bit for bit in range(63) if bits >> bit & 1)


def _put(into: NDArray[Any], positions: Numbers, values: NDArray[Any]) -> NDArray[Any]:
    copy = into.copy()
    copy[positions] = values
    return copy


def _known(count: np.int64) -> int | None:
    return None if count < 0 else int(count)


def _byte_range(pair: Numbers) -> ByteRange | None:
    return None if pair[0] <= 0 else ByteRange(int(pair[0]), _known(pair[1]))


def _decoded_stats(encoded: bytes | None) -> tuple[tuple[int | None, int | None, int | None], ...] | None:
    if encoded is None:
        return None
    return tuple((page_type, encoding, count) for page_type, encoding, count in decode_list(encoded, ENCODING_STATS))


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
