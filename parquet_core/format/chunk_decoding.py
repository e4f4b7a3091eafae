"""Decode column chunks, their statistics and totals from footers.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.columnar import Columnar
from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.format import compact_encoding
from parquet_core.format.column_chunk import ENCODING_STATS, MAX_ROWS, ColumnChunks
from parquet_core.format.compact import (
    BINARY,
    BOOLEAN,
    ENCODED,
    ENCODED_LIST,
    INTEGER,
    MISSING,
    decode_columns,
    decode_table,
    list_of,
    struct,
)
from parquet_core.format.compact_encoding import encoded_bytes, encoded_list
from parquet_core.format.plain import PlainValues
from parquet_core.format.written_statistics import WrittenStatistics

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers
    from parquet_core.format.compact import Table


_STATISTICS = struct(
    {
        1: BINARY,  # max, deprecated
        2: BINARY,  # min, deprecated
        3: INTEGER,  # null_count
        5: BINARY,  # max_value
        6: BINARY,  # min_value
        7: BOOLEAN,  # is_max_value_exact
        8: BOOLEAN,  # is_min_value_exact
        9: INTEGER,  # nan_count
    }
)
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
        13: ENCODED_LIST,  # encoding_stats
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
        8: ENCODED,  # crypto_metadata
    }
)
_DATA_PAGE, _DATA_PAGE_V2 = 0, 3
_PLAIN_DICTIONARY, _RLE_DICTIONARY = 2, 8
_EMPTY_LIST_BYTES = 1


@dataclass(frozen=True, slots=True)
class ChunkRanges:
    """Encoded chunks of one column, with values from schema and file that they must match.

    `start`, `stop`: byte range of each chunk's metadata in `buffer`.
    `physical`: physical type in the schema.
    `file_size`: in bytes.
    `path`: path of the column.
    `place`: returns the location of a chunk, given its number, for messages.
    """

    buffer: bytes
    start: Numbers
    stop: Numbers
    physical: Numbers
    row_count: Numbers
    file_size: Numbers
    path: tuple[str, ...]
    place: Callable[[int], str]


def decode_column_chunks(ranges: ChunkRanges) -> tuple[ColumnChunks, WrittenStatistics]:
    """Decode the chunks of one column, and their statistics as written.

    Raises MalformedFile for an impossible chunk, UnsupportedFeature for a chunk in another file.
    """
    table = as_rows(
        decode_table(ranges.buffer, ranges.start, ranges.stop, _COLUMN_CHUNK, place=ranges.place), _COLUMN_CHUNK.width
    )
    described = _field(table, 3) != MISSING
    _refuse_other_files(ranges, table)
    _refuse_impossible(ranges, table, described)
    encrypted = (_field(table, 8) != MISSING) | ~described
    chunks = _chunks(ranges, table, described, encrypted)
    return chunks, _statistics(ranges, table, chunks)


@dataclass(frozen=True, slots=True)
class Totals(Columnar):
    """Totals of chosen columns per row group.

    `bytes`: compressed bytes.
    `pages`: number of data pages, -1 if a footer does not count them.
    `located`: True if every chunk has an offset index.
    """

    bytes: Numbers
    pages: Numbers
    located: NDArray[np.bool_]


def decode_totals(
    encoded: tuple[bytes, Numbers, Numbers], file_size: Numbers, columns: int, *, place: Callable[[int], str]
) -> Totals:
    """Add up bytes and pages of the column chunks of each row group.

    `encoded`: buffer, and the start and stop of each chunk's metadata in it.
    `file_size`: per chunk, bytes of its file, which limit the bytes counted for the chunk.
    `columns`: number of successive chunks per row group.
    """
    table = as_rows(decode_table(*encoded, _COLUMN_CHUNK, place=place), _COLUMN_CHUNK.width)
    pages, _ = _encoding_stats(encoded[0], table, place)
    present = (_field(table, 3) != MISSING) & (_field(table, 8) == MISSING)
    located = ~present | ((_field(table, 4) > 0) & (_field(table, 5) > 0))
    pages = pages.reshape(-1, columns)
    return Totals(
        np.clip(_field(table, 3, 7), 0, file_size).reshape(-1, columns).sum(axis=1),
        np.where((pages < 0).any(axis=1), -1, pages.sum(axis=1)),
        np.all(located.reshape(-1, columns), axis=1),
    )


def as_rows(table: Table, width: int) -> Numbers:
    """Return a decoded table as a matrix; `width`: numbers in each row."""
    return np.frombuffer(table, np.int64).reshape(-1, width)


def _field(table: Numbers, *path: int) -> Numbers:
    return table[:, _COLUMN_CHUNK.offset(*path)]


def _bytes(ranges: ChunkRanges, table: Numbers, *path: int) -> PlainValues:
    column = _COLUMN_CHUNK.offset(*path)
    # Copies, because views of columns would keep the whole table alive.
    return PlainValues(np.frombuffer(ranges.buffer, np.uint8), table[:, column].copy(), table[:, column + 1].copy())


def _refuse_other_files(ranges: ChunkRanges, table: Numbers) -> None:
    elsewhere = np.flatnonzero(table[:, _COLUMN_CHUNK.offset(1) + 1] > 0)
    if len(elsewhere):
        first = int(elsewhere[0])
        start, length = table[first, _COLUMN_CHUNK.offset(1) :][:2]
        path = ranges.buffer[start : start + length].decode(errors="replace")
        raise UnsupportedFeature(f"{ranges.place(first)}: is in another file ({path!r}); such files are not read")


def _refuse_impossible(ranges: ChunkRanges, table: Numbers, described: NDArray[np.bool_]) -> None:
    num_values, size, offset = (_field(table, 3, field) for field in (5, 7, 9))
    for wrong, message in (
        ((num_values < 0) | (size < 0) | (offset < 0), "lacks num_values, size or offset; the footer is damaged"),
        (
            (size > ranges.file_size) | (num_values > MAX_ROWS),
            "claims more bytes than the file has, or too many values; the footer is damaged",
        ),
        # Readers that find columns by path and readers that find them by position must read the same column.
        (
            (_field(table, 3, 1) != ranges.physical) | ~_path_agrees(ranges, table),
            f"is not the column {ranges.path!r} that the schema has there; write the file again",
        ),
    ):
        impossible = np.flatnonzero(wrong & described)
        if len(impossible):
            raise MalformedFile(f"{ranges.place(int(impossible[0]))}: {message}")


def _path_agrees(ranges: ChunkRanges, table: Numbers) -> NDArray[np.bool_]:
    """Flag chunks whose encoded `path_in_schema` is the path of the column.

    A chunk with a missing or empty path agrees too: it is identified by its position.
    """
    if len(ranges.path) > 1:
        return np.ones(len(table), np.bool_)  # writers spell the inner levels of lists and maps in several ways
    column = _COLUMN_CHUNK.offset(3, 3)
    written = PlainValues(np.frombuffer(ranges.buffer, np.uint8), table[:, column], table[:, column + 1])
    expected = encoded_list(compact_encoding.BINARY, [encoded_bytes(ranges.path[0].encode())])
    values, valid = written.fixed(len(expected))
    agrees: NDArray[np.bool_] = valid & np.all(values == np.frombuffer(expected, np.uint8), axis=1)
    return agrees | (written.length <= _EMPTY_LIST_BYTES)


def _chunks(
    ranges: ChunkRanges, table: Numbers, described: NDArray[np.bool_], encrypted: NDArray[np.bool_]
) -> ColumnChunks:
    def or_zero(*path: int) -> Numbers:
        return np.where(described, _field(table, *path), 0)

    data_offset, dictionary_offset = or_zero(3, 9), or_zero(3, 11)
    has_dictionary = (dictionary_offset > 0) & (dictionary_offset < data_offset)
    data_pages, dictionary_only = _encoding_stats(ranges.buffer, table, ranges.place)
    filters = np.stack([_field(table, 3, 14), _field(table, 3, 15)], axis=1)
    return ColumnChunks(
        present=described & ~encrypted,
        encrypted=encrypted,
        num_values=or_zero(3, 5),
        compressed_bytes=or_zero(3, 7),
        first_page_offset=np.where(has_dictionary, dictionary_offset, data_offset),
        data_page_offset=data_offset,
        dictionary_page_offset=np.where(described, _field(table, 3, 11), -1),
        codec=_field(table, 3, 4).copy(),
        encodings=_encodings(ranges, table),
        data_pages=data_pages,
        dictionary_only=dictionary_only,
        has_bounds=(_field(table, 3, 12, 5) >= 0) & (_field(table, 3, 12, 6) >= 0),
        column_index=_range(table, 6, 7, encrypted),
        offset_index=_range(table, 4, 5, encrypted),
        bloom_filter=np.where(encrypted[:, None] | (filters[:, :1] <= 0), -1, filters),
        value_bytes=_field(table, 3, 16, 1).copy(),
        encoding_stats=_slices(ranges.buffer, *_lists(table, 3, 13)),
    )


def _range(table: Numbers, offset: int, length: int, encrypted: NDArray[np.bool_]) -> Numbers:
    pairs = np.stack([_field(table, offset), _field(table, length)], axis=1)
    return np.where(encrypted[:, None] | np.any(pairs <= 0, axis=1)[:, None], -1, pairs)


def _slices(buffer: bytes, start: Numbers, stop: Numbers) -> NDArray[np.object_]:
    slices = np.full(len(start), None, object)
    slices[:] = [buffer[a:b] if b >= 0 else None for a, b in zip(start.tolist(), stop.tolist(), strict=True)]
    return slices


def _lists(table: Numbers, *path: int) -> tuple[Numbers, Numbers]:
    column = _COLUMN_CHUNK.offset(*path)
    start, length = table[:, column], table[:, column + 1]
    return start, np.where(length < 0, -1, start + length)


def _encodings(ranges: ChunkRanges, table: Numbers) -> Numbers:
    counts, values = decode_columns(ranges.buffer, *_lists(table, 3, 2), INTEGER, place=ranges.place)
    flags = np.zeros(len(table), np.int64)
    owner = np.repeat(np.arange(len(table)), np.maximum(np.frombuffer(counts, np.int64), 0))
    encoding = np.frombuffer(values, np.int64)
    # Unknown encodings set bit 62.
    bit = np.left_shift(1, np.where((encoding >= 0) & (encoding < 62), encoding, 62))
    np.bitwise_or.at(flags, owner, bit)
    return flags


def _encoding_stats(buffer: bytes, table: Numbers, place: Callable[[int], str]) -> tuple[Numbers, NDArray[np.int8]]:
    """Return the number of data pages, and whether all use the dictionary.

    Both are -1 if unknown.
    """
    counts, columns = decode_columns(buffer, *_lists(table, 3, 13), ENCODING_STATS, place=place)
    size = len(table)
    owner = np.repeat(np.arange(size), np.maximum(np.frombuffer(counts, np.int64), 0))
    page_type, encoding, count = np.frombuffer(columns, np.int64).reshape(3, -1)
    whole = np.min([page_type, encoding, count], axis=0) >= 0 if len(owner) else np.zeros(0, np.bool_)
    # Pages of future types may hold values too.
    unknown = np.bincount(owner[~whole | (count > MAX_ROWS) | (page_type > _DATA_PAGE_V2)], minlength=size) > 0
    is_data = whole & ((page_type == _DATA_PAGE) | (page_type == _DATA_PAGE_V2))
    pages = np.bincount(owner[is_data], np.minimum(count[is_data], MAX_ROWS), minlength=size)
    pages = np.minimum(pages, 1 << 62).astype(np.int64)  # the sum of many counts may exceed an integer
    is_dictionary = (encoding == _PLAIN_DICTIONARY) | (encoding == _RLE_DICTIONARY)
    other = np.bincount(owner[is_data & ~is_dictionary], minlength=size) > 0
    described = (np.frombuffer(counts, np.int64) >= 0) & ~unknown
    # Every page holds at least one value, except the single page of an empty chunk.
    credible = described & (pages <= np.maximum(_field(table, 3, 5), 1))
    says = described & (np.bincount(owner[is_data], minlength=size) > 0)
    return np.where(credible, pages, -1), np.where(says, ~other, -1).astype(np.int8)


def _statistics(ranges: ChunkRanges, table: Numbers, chunks: ColumnChunks) -> WrittenStatistics:
    def flags(field: int) -> NDArray[np.int8]:
        return np.maximum(_field(table, 3, 12, field), -1).astype(np.int8)

    return WrittenStatistics(
        min_value=_bytes(ranges, table, 3, 12, 6),
        max_value=_bytes(ranges, table, 3, 12, 5),
        deprecated_min=_bytes(ranges, table, 3, 12, 2),
        deprecated_max=_bytes(ranges, table, 3, 12, 1),
        null_count=_field(table, 3, 12, 3).copy(),
        nan_count=_field(table, 3, 12, 9).copy(),
        min_exact=flags(8),
        max_exact=flags(7),
        # Statistics of encrypted chunks are not trusted, even if a plaintext footer has some. A 0 disables them.
        num_values=np.where(chunks.present, chunks.num_values, 0),
        row_count=ranges.row_count,
        all_null=None,
    )
