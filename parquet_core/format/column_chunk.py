"""Column chunks: what the footer says of one column in successive row groups.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.format.compact import (
    BINARY,
    BOOLEAN,
    ENCODED,
    ENCODED_LIST,
    INTEGER,
    MISSING,
    decode_columns,
    decode_list,
    decode_table,
    list_of,
    struct,
)
from parquet_core.format.plain import PlainValues
from parquet_core.format.written_statistics import WrittenStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.compact import Table

    Numbers = NDArray[np.int64]

# Row numbers stay exact as floating point, which sums of them pass through.
MAX_ROWS = (1 << 53) - 1

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
_ENCODING_STATS = struct({1: INTEGER, 2: INTEGER, 3: INTEGER}, least=7)  # page type, encoding, count
_DATA_PAGE, _DATA_PAGE_V2 = 0, 3
_PLAIN_DICTIONARY, _RLE_DICTIONARY = 2, 8


class ByteRange(NamedTuple):
    """Where a structure lies in the file; `length` None when the footer does not say."""

    offset: int
    length: int | None


class ColumnChunk(NamedTuple):
    """One column of one row group.

    `num_values` counts level entries, nulls included. `codec` numbers the compression as parquet.thrift
    does. `data_pages` comes from the encoding statistics, None without them. `value_bytes` is the
    unencoded size of byte array values. The offsets of the first data page and of the dictionary page
    stand as written; `encoding_stats` holds page type, encoding and count, None without them.
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
class ColumnChunks:
    """One column in successive row groups, an array for each fact; negative is unknown or absent.

    `present`: the footer describes such a chunk; it does not where the column is encrypted. `encodings` has
    bit e for encoding e, `encoding_stats` the list as it is encoded, or None. The ranges have shape
    (chunks, 2): offset and length in bytes.
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

    def __len__(self) -> int:
        return len(self.present)

    def take(self, chunks: Numbers) -> ColumnChunks:
        """Return chosen chunks."""
        return ColumnChunks(*(getattr(self, f.name)[chunks] for f in fields(self)))

    def scattered(self, at: Numbers, count: int) -> ColumnChunks:
        """Return `count` chunks of which these are the ones at `at`, and the others are absent."""
        if len(at) == count:
            return self
        whole = absent_chunks(count)
        return ColumnChunks(*(_put(getattr(whole, f.name), at, getattr(self, f.name)) for f in fields(self)))

    def chunk(self, i: int) -> ColumnChunk | None:
        """Return one of them; None where there is none."""
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
    """Return the numbers of the bits that are set; of encodings few combinations occur."""
    return tuple(bit for bit in range(63) if bits >> bit & 1)


def _put(into: NDArray[Any], at: Numbers, values: NDArray[Any]) -> NDArray[Any]:
    copy = into.copy()
    copy[at] = values
    return copy


def concat_chunks(parts: Sequence[ColumnChunks]) -> ColumnChunks:
    """Join the chunks of successive batches of files."""
    if len(parts) == 1:
        return parts[0]
    return ColumnChunks(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(ColumnChunks)))


def _known(number: np.int64) -> int | None:
    return None if number < 0 else int(number)


def _byte_range(pair: Numbers) -> ByteRange | None:
    return None if pair[0] <= 0 else ByteRange(int(pair[0]), _known(pair[1]))


def _decoded_stats(encoded: bytes | None) -> tuple[tuple[int | None, int | None, int | None], ...] | None:
    if encoded is None:
        return None
    return tuple((kind, encoding, count) for kind, encoding, count in decode_list(encoded, _ENCODING_STATS))


def absent_chunks(count: int) -> ColumnChunks:
    """Stand for chunks of a column that the files lack."""
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


@dataclass(frozen=True, slots=True)
class ChunkRanges:
    """Where the footers of successive row groups describe one column, and what must be true of it.

    `start` and `stop` are bytes of `buffer`; `physical` the type by the schema; `file_size` in bytes.
    `path`: the column's. `place` names a chunk by its number, for messages.
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

    Raises MalformedFile for one that cannot be, UnsupportedFeature for one that lies in another file.
    """
    table = _as_rows(
        decode_table(ranges.buffer, ranges.start, ranges.stop, _COLUMN_CHUNK, place=ranges.place), _COLUMN_CHUNK.width
    )
    described = _field(table, 3) != MISSING
    _refuse_other_files(ranges, table)
    _refuse_impossible(ranges, table, described)
    encrypted = (_field(table, 8) != MISSING) | ~described
    chunks = _chunks(ranges, table, described, encrypted)
    return chunks, _statistics(ranges, table, chunks)


class Totals(NamedTuple):
    """What chosen columns come to in each row group: `bytes`, data `pages`, and whether all pages are `located`.

    Pages are -1 where a footer does not count them; they are located where every chunk has an offset index.
    """

    bytes: Numbers
    pages: Numbers
    located: NDArray[np.bool_]


def decode_totals(
    encoded: tuple[bytes, Numbers, Numbers], file_size: Numbers, columns: int, *, place: Callable[[int], str]
) -> Totals:
    """Add up column chunks, so many `columns` of each row group behind each other.

    `encoded`: bytes, and where in them each chunk begins and ends. More bytes than the file has are those of the file.
    """
    table = _as_rows(decode_table(*encoded, _COLUMN_CHUNK, place=place), _COLUMN_CHUNK.width)
    pages, _ = _encoding_stats(encoded[0], table, place)
    present = (_field(table, 3) != MISSING) & (_field(table, 8) == MISSING)
    located = ~present | ((_field(table, 4) > 0) & (_field(table, 5) > 0))
    pages = pages.reshape(-1, columns)
    return Totals(
        np.clip(_field(table, 3, 7), 0, file_size).reshape(-1, columns).sum(axis=1),
        np.where((pages < 0).any(axis=1), -1, pages.sum(axis=1)),
        np.all(located.reshape(-1, columns), axis=1),
    )


def _as_rows(table: Table, width: int) -> Numbers:
    return np.frombuffer(table, np.int64).reshape(-1, width)


def _field(table: Numbers, *path: int) -> Numbers:
    return table[:, _COLUMN_CHUNK.offset(*path)]


def _bytes(ranges: ChunkRanges, table: Numbers, *path: int) -> PlainValues:
    at = _COLUMN_CHUNK.offset(*path)
    # Copies: the table would be kept alive by its columns.
    return PlainValues(np.frombuffer(ranges.buffer, np.uint8), table[:, at].copy(), table[:, at + 1].copy())


def _refuse_other_files(ranges: ChunkRanges, table: Numbers) -> None:
    elsewhere = np.flatnonzero(table[:, _COLUMN_CHUNK.offset(1) + 1] > 0)
    if len(elsewhere):
        first = int(elsewhere[0])
        start, length = table[first, _COLUMN_CHUNK.offset(1) :][:2]
        path = ranges.buffer[start : start + length].decode(errors="replace")
        raise UnsupportedFeature(f"{ranges.place(first)}: lies in another file ({path!r}); such files are not read")


def _refuse_impossible(ranges: ChunkRanges, table: Numbers, described: NDArray[np.bool_]) -> None:
    num_values, size, offset = (_field(table, 3, field) for field in (5, 7, 9))
    for wrong, message in (
        ((num_values < 0) | (size < 0) | (offset < 0), "lacks num_values, size or offset; the footer is damaged"),
        (
            (size > ranges.file_size) | (num_values > MAX_ROWS),
            "claims more bytes than the file has, or too many values; the footer is damaged",
        ),
        # Readers that go by the path and readers that go by the position must mean the same column.
        (
            (_field(table, 3, 1) != ranges.physical) | ~_path_agrees(ranges, table),
            f"is not the column {ranges.path!r} that the schema has there; write the file again",
        ),
    ):
        found = np.flatnonzero(wrong & described)
        if len(found):
            raise MalformedFile(f"{ranges.place(int(found[0]))}: {message}")


def _path_agrees(ranges: ChunkRanges, table: Numbers) -> NDArray[np.bool_]:
    """Tell which chunks name the path of the column, by the bytes that such a list of strings has."""
    at = _COLUMN_CHUNK.offset(3, 3)
    written = PlainValues(np.frombuffer(ranges.buffer, np.uint8), table[:, at], table[:, at + 1])
    if len(ranges.path) > 1:
        return written.valid  # writers spell the inner levels of lists and maps in several ways
    name = ranges.path[0].encode()
    expected = b"\x18" + _varint(len(name)) + name
    values, valid = written.fixed(len(expected))
    agrees: NDArray[np.bool_] = valid & np.all(values == np.frombuffer(expected, np.uint8), axis=1)
    return agrees


def _varint(number: int) -> bytes:
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


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
    found = np.full(len(start), None, object)
    found[:] = [buffer[a:b] if b >= 0 else None for a, b in zip(start.tolist(), stop.tolist(), strict=True)]
    return found


def _lists(table: Numbers, *path: int) -> tuple[Numbers, Numbers]:
    at = _COLUMN_CHUNK.offset(*path)
    start, length = table[:, at], table[:, at + 1]
    return start, np.where(length < 0, -1, start + length)


def _encodings(ranges: ChunkRanges, table: Numbers) -> Numbers:
    counts, values = decode_columns(ranges.buffer, *_lists(table, 3, 2), INTEGER, place=ranges.place)
    found = np.zeros(len(table), np.int64)
    owner = np.repeat(np.arange(len(table)), np.maximum(np.frombuffer(counts, np.int64), 0))
    encoding = np.frombuffer(values, np.int64)
    # An encoding beyond those of today counts as bit 62: something that is not understood.
    bit = np.left_shift(1, np.where((encoding >= 0) & (encoding < 62), encoding, 62))
    np.bitwise_or.at(found, owner, bit)
    return found


def _encoding_stats(buffer: bytes, table: Numbers, place: Callable[[int], str]) -> tuple[Numbers, NDArray[np.int8]]:
    """Return the number of data pages, and whether all of them use the dictionary; -1 is unknown."""
    counts, columns = decode_columns(buffer, *_lists(table, 3, 13), _ENCODING_STATS, place=place)
    size = len(table)
    owner = np.repeat(np.arange(size), np.maximum(np.frombuffer(counts, np.int64), 0))
    kind, encoding, count = np.frombuffer(columns, np.int64).reshape(3, -1)
    whole = np.min([kind, encoding, count], axis=0) >= 0 if len(owner) else np.zeros(0, np.bool_)
    damaged = np.bincount(owner[~whole | (count > MAX_ROWS)], minlength=size) > 0
    is_data = whole & ((kind == _DATA_PAGE) | (kind == _DATA_PAGE_V2))
    pages = np.bincount(owner[is_data], np.minimum(count[is_data], MAX_ROWS), minlength=size)
    pages = np.minimum(pages, 1 << 62).astype(np.int64)  # many such counts are more than an integer holds
    is_dictionary = (encoding == _PLAIN_DICTIONARY) | (encoding == _RLE_DICTIONARY)
    other = np.bincount(owner[is_data & ~is_dictionary], minlength=size) > 0
    described = (np.frombuffer(counts, np.int64) >= 0) & ~damaged
    # A page holds a value at least, but for the one page of an empty chunk.
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
        # What is encrypted is not believed, whatever a plaintext footer still says: it has no value then.
        num_values=np.where(chunks.present, chunks.num_values, 0),
        row_count=ranges.row_count,
        all_null=None,
    )
