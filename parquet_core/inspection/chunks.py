"""Facts of the chunks of one column, from footer, page index and bloom filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.bloom import BLOCK_BYTES, estimated_fpp, estimated_ndv, fill
from parquet_core.format.chunk_decoding import as_rows
from parquet_core.format.compact import INTEGER, decode_table, struct
from parquet_core.format.enumerations import codec_name, encoding_names
from parquet_core.inspection.facts import BloomFacts, ChunkFacts
from parquet_core.inspection.pages import InspectedPages
from parquet_core.inspection.values import plain_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Positions
    from parquet_core.bloom import Blocks
    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.column_chunk import ColumnChunks
    from parquet_core.format.footer import Footers
    from parquet_core.format.schema import LeafColumn
    from parquet_core.inspection.facts import Dictionary, Value
    from parquet_core.trust.bounds import Bounds


_DICTIONARY_ENCODINGS = 1 << 2 | 1 << 8
_COLUMN_CHUNK = struct({3: struct({6: INTEGER})})  # meta_data.total_uncompressed_size


@dataclass(frozen=True, slots=True)
class Chunks:
    """Metadata of one column at chosen row groups; `chunk` builds the facts on demand."""

    column: LeafColumn
    positions: Positions
    footers: ColumnChunks
    uncompressed: Positions
    bounds: Bounds
    lower: list[Value]
    upper: list[Value]
    page_indexes: InspectedPages
    filters: Sequence[BloomFacts]

    def chunk(self, i: int) -> ChunkFacts:
        """Return the facts of the i-th chosen row group."""
        footers, position = self.footers, int(self.positions[i])
        return ChunkFacts(
            column=self.column.name,
            encrypted=bool(footers.encrypted[position]),
            values=int(footers.num_values[position]),
            compressed_bytes=int(footers.compressed_bytes[position]),
            uncompressed_bytes=_known(self.uncompressed[i]),
            value_bytes=_known(footers.value_bytes[position]),
            codec=codec_name(_known(footers.codec[position])),
            encodings=encoding_names(int(footers.encodings[position])),
            data_pages=_known(footers.data_pages[position]),
            dictionary=_dictionary(footers, position),
            lower=self.lower[i],
            upper=self.upper[i],
            min_exact=self.bounds.min_exact[i].as_py(),
            max_exact=self.bounds.max_exact[i].as_py(),
            null_count=self.bounds.null_count[i].as_py(),
            nan_count=self.bounds.nan_count[i].as_py(),
            page_index=self.page_indexes.chunk(i),
            bloom_filter=self.filters[i],
        )


def read_chunks(
    index: MetadataIndex, columns: Sequence[LeafColumn], positions: Positions, footers: Footers, *, pages: bool
) -> list[Chunks]:
    """Read all metadata of columns at chosen row groups of one file.

    `pages`: True to list single pages, False to only count them. Raises MalformedFile and StorageFailure, naming file,
    row group and column.
    """
    index.page_indexes.fetch(columns, positions)
    locations = index.page_indexes.locations(columns, positions)
    read: list[Chunks] = []
    for column, located in zip(columns, locations, strict=True):
        page_indexes = InspectedPages.of(column, index, positions, located, pages=pages)
        uncompressed = uncompressed_bytes(footers, column)[positions]
        read.append(_chunks(index, column, positions, uncompressed, page_indexes))
    return read


def _chunks(
    index: MetadataIndex,
    column: LeafColumn,
    positions: Positions,
    uncompressed: Positions,
    page_indexes: InspectedPages,
) -> Chunks:
    bounds = index.footers.bounds(column).take(positions)
    return Chunks(
        uncompressed=uncompressed,
        column=column,
        positions=positions,
        footers=index.footers.chunks(column),
        bounds=bounds,
        lower=plain_values(column, bounds.lower),
        upper=plain_values(column, bounds.upper),
        page_indexes=page_indexes,
        filters=[_filter_facts(blocks) for blocks in index.bloom_filters.read(column, positions)],
    )


def _filter_facts(filter_: Blocks | str) -> BloomFacts:
    if isinstance(filter_, str):
        return BloomFacts(filter_)
    share = fill(filter_)
    return BloomFacts(
        reason="",
        bytes=len(filter_) * BLOCK_BYTES,
        blocks=len(filter_),
        fill=share,
        estimated_fpp=estimated_fpp(filter_),
        # A full filter allows no estimate.
        estimated_distinct=None if share == 1 else round(estimated_ndv(filter_)),
    )


def _known(number: np.int64) -> int | None:
    return None if number < 0 else int(number)


def _dictionary(chunks: ColumnChunks, i: int) -> Dictionary | None:
    is_complete = int(chunks.dictionary_only[i])
    if is_complete > 0:
        return "complete"
    if not chunks.encodings[i] & _DICTIONARY_ENCODINGS:
        return None if chunks.encrypted[i] else "none"
    return None if is_complete < 0 else "partial"


def uncompressed_bytes(footers: Footers, column: LeafColumn) -> NDArray[np.int64]:
    """Return the uncompressed bytes of a column's chunks; -1 if unknown.

    `footers` belong to one file, and `column` is a leaf of that file. Raises MalformedFile.
    """
    chunk = footers.first_chunk + column.index
    decoded = decode_table(
        footers.encoded,
        footers.chunk_start[chunk],
        footers.chunk_stop[chunk],
        _COLUMN_CHUNK,
        place=lambda i: footers.place(i, column.name),
    )
    table = as_rows(decoded, _COLUMN_CHUNK.width)
    return np.maximum(table[:, _COLUMN_CHUNK.offset(3, 6)], -1)
