"""A column chunk: what the footer says of one column in one row group.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parquet_core.compact import BINARY, BOOLEAN, INTEGER, decode, list_of, member, struct
from parquet_core.errors import MalformedFile, UnsupportedFeature

if TYPE_CHECKING:
    from parquet_core.compact import Slots
    from parquet_core.schema import LeafColumn
    from parquet_core.storage import DataFile

# Row numbers stay exact as floating point, which sums of them pass through.
MAX_ROWS = (1 << 53) - 1

_STATISTICS = struct({3: INTEGER, 5: BINARY, 6: BINARY, 7: BOOLEAN, 8: BOOLEAN})
_COLUMN_META_DATA = struct(
    {
        1: INTEGER,  # type
        2: list_of(INTEGER),  # encodings
        3: list_of(BINARY),  # path_in_schema
        4: INTEGER,  # codec
        5: INTEGER,  # num_values
        7: INTEGER,  # total_compressed_size
        9: INTEGER,  # data_page_offset
        11: INTEGER,  # dictionary_page_offset
        12: _STATISTICS,
        13: list_of(struct({1: INTEGER, 2: INTEGER, 3: INTEGER})),  # encoding_stats: page type, encoding, count
        14: INTEGER,  # bloom_filter_offset
        15: INTEGER,  # bloom_filter_length
        16: struct({1: INTEGER}),  # size_statistics: unencoded_byte_array_data_bytes
    }
)
_COLUMN_CHUNK = struct(
    {
        1: BINARY,  # file_path
        3: _COLUMN_META_DATA,
        4: INTEGER,  # offset_index_offset
        5: INTEGER,  # offset_index_length
        6: INTEGER,  # column_index_offset
        7: INTEGER,  # column_index_length
        8: member({}),  # crypto_metadata
    }
)
_DATA_PAGE, _DATA_PAGE_V2 = 0, 3


class ByteRange(NamedTuple):
    """Where a structure lies in the file; `length` None when the footer does not say."""

    offset: int
    length: int | None


class ChunkStatistics(NamedTuple):
    """Statistics of a column chunk as written; None where the writer left a field out."""

    null_count: int | None
    min_value: bytes | None
    max_value: bytes | None
    min_exact: bool | None
    max_exact: bool | None


class ColumnChunk(NamedTuple):
    """One column of one row group.

    `num_values` counts level entries, nulls included. `codec` numbers the compression as parquet.thrift
    does. `data_pages` comes from the encoding
    statistics, None without them. `value_bytes` is the unencoded size of byte array values. The offsets of pages
    stand as written; `encoding_stats` holds page type, encoding and count, None without them.
    """

    num_values: int
    compressed_bytes: int
    first_page_offset: int
    encodings: tuple[int, ...]
    codec: int | None
    data_pages: int | None
    dictionary_only: bool | None
    statistics: ChunkStatistics | None
    column_index: ByteRange | None
    offset_index: ByteRange | None
    bloom_filter: ByteRange | None
    value_bytes: int | None
    encrypted: bool
    data_page_offset: int = 0
    dictionary_page_offset: int | None = None
    encoding_stats: tuple[tuple[int | None, int | None, int | None], ...] | None = None


def parse_column_chunk(data: bytes, leaf: LeafColumn, file: DataFile, *, place: str) -> ColumnChunk:
    """Decode the bytes of a ColumnChunk of this leaf.

    Raises MalformedFile for one that cannot be, UnsupportedFeature for one that lies in another file.
    """
    slots, _ = decode(data, _COLUMN_CHUNK, place=place)
    path, meta, oi_offset, oi_length, ci_offset, ci_length, crypto = slots
    if path:
        raise UnsupportedFeature(
            f"{place}: lies in another file ({path.decode(errors='replace')!r}); such files are not read"
        )
    if meta is None:
        # An encrypted column under a plaintext footer: everything about it is unknown.
        return ColumnChunk(0, 0, 0, (), None, None, None, None, None, None, None, None, encrypted=True)
    physical, encodings, names, codec, num_values, size, data_offset, dictionary_offset, *rest = meta
    statistics, pages, bloom, bloom_length, sizes = rest
    if num_values is None or size is None or data_offset is None or min(num_values, size, data_offset) < 0:
        raise MalformedFile(f"{place}: lacks num_values, size or offset; the footer is damaged")
    if size > file.size or num_values > MAX_ROWS:
        raise MalformedFile(f"{place}: claims {size} bytes and {num_values} values; the footer is damaged")
    # Readers that go by the path and readers that go by the position must mean the same column.
    if physical != leaf.physical or (len(leaf.path) == 1 and names != [leaf.path[0].encode()]):
        raise MalformedFile(f"{place}: is not the column {leaf.path!r} that the schema has there; write the file again")
    starts_with_dictionary = dictionary_offset is not None and 0 < dictionary_offset < data_offset
    return ColumnChunk(
        num_values=num_values,
        compressed_bytes=size,
        first_page_offset=dictionary_offset if starts_with_dictionary else data_offset,
        encodings=tuple(encodings or ()),
        codec=codec,
        data_pages=_data_pages(pages, num_values),
        dictionary_only=_dictionary_only(pages),
        statistics=None if statistics is None else _statistics(statistics),
        column_index=_byte_range(ci_offset, ci_length),
        offset_index=_byte_range(oi_offset, oi_length),
        bloom_filter=None if bloom is None else ByteRange(bloom, bloom_length),
        value_bytes=None if sizes is None else sizes[0],
        encrypted=crypto is not None,
        data_page_offset=data_offset,
        dictionary_page_offset=dictionary_offset,
        encoding_stats=None if pages is None else tuple((kind, encoding, count) for kind, encoding, count in pages),
    )


def _statistics(slots: Slots) -> ChunkStatistics:
    null_count, max_value, min_value, max_exact, min_exact = slots
    return ChunkStatistics(null_count, min_value, max_value, min_exact, max_exact)


def _byte_range(offset: int | None, length: int | None) -> ByteRange | None:
    return None if offset is None or length is None or offset <= 0 or length <= 0 else ByteRange(offset, length)


def _data_page_stats(pages: list[Slots] | None) -> list[tuple[int, int]] | None:
    if pages is None or any(None in page for page in pages):
        return None
    return [(encoding, count) for kind, encoding, count in pages if kind in {_DATA_PAGE, _DATA_PAGE_V2}]


def _data_pages(pages: list[Slots] | None, num_values: int) -> int | None:
    stats = _data_page_stats(pages)
    count = -1 if stats is None else sum(count for _, count in stats)
    # A page holds a value at least, but for the one page of an empty chunk.
    return count if 0 <= count <= max(num_values, 1) else None


def _dictionary_only(pages: list[Slots] | None) -> bool | None:
    stats = _data_page_stats(pages)
    return None if not stats else all(encoding in {2, 8} for encoding, _ in stats)  # PLAIN_DICTIONARY, RLE_DICTIONARY
