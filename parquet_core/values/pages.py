"""Check page headers of a column chunk against its bytes, before decoding.

A decoder allocates the memory that a header claims, so a few bytes could allocate gigabytes.
Source: `parquet.thrift`. The bytes of a chunk and the end of its pages follow Arrow's `SerializedPageReader`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.fix import LEAVE_OUT, WRITE_AGAIN, Fix
from parquet_core.format.enumerations import numbered_encoding
from parquet_core.format.page_header import CODECS, UNCOMPRESSED, PageHeader, PageType, read_header
from parquet_core.format.plain import length_prefixed

if TYPE_CHECKING:
    from collections.abc import Sequence

# Limit of an uncompressed page: 64 MiB, or 64 times its stored bytes if that is more.
FREE_PAGE_BYTES = 64 << 20
MOST_RATIO = 64
# Bytes that Arrow reads past the end of a chunk if an old writer left the dictionary page header out of the chunk size.
BEHIND = 100

_MOST_HEADER_BYTES = 16 << 20  # a header may contain two long values as statistics
_HEADER_GUESS = 1 << 10
_BINARY_PACKED, _LENGTH_BYTE_ARRAY, _BYTE_ARRAY = 5, 6, 7
_DELTA_ENCODINGS = frozenset({_BINARY_PACKED, _LENGTH_BYTE_ARRAY, _BYTE_ARRAY})
# Encodings that Arrow reads, in data pages and in dictionary pages.
_OF_DATA = frozenset({0, 2, 3, 8, 9, *_DELTA_ENCODINGS})
_ENCODINGS: dict[int, frozenset[int]] = {PageType.DICTIONARY: frozenset({0, 2})}
_MOST_IN_BLOCK = 1 << 20


class ChunkClaims(NamedTuple):
    """Claims of the footer about a column chunk.

    `num_values`: number of values with nulls; None if only the page headers have it.
    `codec`: a key of `CODECS`.
    `location`: for messages.
    `is_text`: True for BYTE_ARRAY columns.
    `levels`: number of level streams before the values of a page.
    `page_values`: number of values of each data page according to the offset index; empty without one.
    `always_compressed`: True if data pages of version 2 are compressed even if their header denies it.
    """

    num_values: int | None
    codec: int
    location: str
    is_text: bool
    levels: int
    page_values: Sequence[int] = ()
    always_compressed: bool = False


def is_always_compressed(created_by: str | None) -> bool:
    """Return True if a writer always compresses data pages of version 2.

    Some writers do so even if the page headers deny it. Source: PARQUET-1850; pyarrow before 3.0.
    """
    return created_by is not None and created_by.startswith("parquet-cpp version ")


class _Page(NamedTuple):
    header: PageHeader
    stored: memoryview
    compressed: bool


class ChunkContent(NamedTuple):
    """Findings about the pages of a chunk.

    `widest`: largest decoded size of one value minus its bytes in a data page; more than 0 with a dictionary or
    DELTA_BYTE_ARRAY.
    `num_values`: number of values with nulls.
    """

    widest: int
    num_values: int


def check_pages(data: bytes, length: int, chunk: ChunkClaims) -> ChunkContent:
    """Check the pages of a chunk, the first `length` bytes of `data`.

    Raises MalformedFile for a page that contradicts the bytes or claims of the chunk, and UnsupportedFeature for a page
    that is too large or uses an unsupported page type or encoding.
    """
    seen = position = widest = data_pages = highest = 0
    while position < length and (chunk.num_values is None or seen < chunk.num_values):
        page, position = _page(data, position, chunk)
        header = page.header
        highest = max(highest, header.page_type)
        if header.page_type in {PageType.DATA, PageType.DATA_V2}:
            if data_pages < len(chunk.page_values) and header.num_values != chunk.page_values[data_pages]:
                claimed = chunk.page_values[data_pages]
                raise _malformed(chunk, f"a page holds {header.num_values} rows, not the {claimed} of the offset index")
            data_pages += 1
            seen += header.num_values
            if header.encoding in _DELTA_ENCODINGS:
                _check_delta(page, chunk)
            if header.encoding == _BYTE_ARRAY:
                widest = max(widest, header.plain_bytes)
        elif header.page_type == PageType.DICTIONARY and chunk.is_text:
            widest = max(widest, _longest(page, chunk))
    # Pages of unknown (future) types are skipped, unless they contain values.
    if highest > PageType.DATA_V2 and seen != chunk.num_values:
        raise _unsupported(chunk, f"page type {highest}")
    if chunk.num_values is not None and seen != chunk.num_values:
        raise _malformed(chunk, f"its pages hold {seen} values, not the {chunk.num_values} that the footer claims")
    return ChunkContent(widest, seen)


def values_of_page(data: bytes, *, location: str) -> int | None:
    """Return the number of values of the first page of `data`.

    Nulls are counted. None for a page of another type. Raises MalformedFile if `data` does not begin with a page
    header.
    """
    header = read_header(data, place=location)
    return header.num_values if header.page_type in {PageType.DATA, PageType.DATA_V2} else None


def _page(data: bytes, position: int, chunk: ChunkClaims) -> tuple[_Page, int]:
    """Return the page at a position of `data`, and its end."""
    header = _header(data, position, chunk)
    start = position + header.header_bytes
    stored = memoryview(data)[start : start + max(header.stored_bytes, 0)]
    page = _Page(header, stored, chunk.codec != UNCOMPRESSED and (chunk.always_compressed or not header.is_plain))
    if header.encoding not in _ENCODINGS.get(header.page_type, _OF_DATA):
        raise _unsupported(chunk, numbered_encoding(header.encoding))
    _check(page, position, chunk)
    return page, start + header.stored_bytes


def _header(data: bytes, position: int, chunk: ChunkClaims) -> PageHeader:
    for most in (_HEADER_GUESS, _MOST_HEADER_BYTES):
        encoded = data[position : position + most]
        try:
            return read_header(encoded, place=f"{chunk.location}: page at byte {position} of the chunk")
        except MalformedFile:
            if len(encoded) < most or most == _MOST_HEADER_BYTES:
                raise
    raise AssertionError


def _check(page: _Page, position: int, chunk: ChunkClaims) -> None:
    _, page_type, plain, stored_bytes, _, values, _, level_bytes, _ = page.header
    if not 0 <= stored_bytes == len(page.stored):
        raise _malformed(chunk, f"{_where(position)} claims {stored_bytes} bytes, but {len(page.stored)} are stored")
    most = values if chunk.num_values is None else chunk.num_values
    if not 0 <= values <= most and page_type != PageType.DICTIONARY:
        raise _malformed(chunk, f"{_where(position)} claims {values} of the chunk's {chunk.num_values} values")
    levels = level_bytes or 0
    if not 0 <= levels <= plain or levels > stored_bytes:
        raise _malformed(chunk, f"{_where(position)} claims {plain} bytes uncompressed, {levels} of them levels")
    if not page.compressed and plain != stored_bytes:
        raise _malformed(chunk, f"{_where(position)} is not compressed, and claims {plain} bytes in {stored_bytes}")
    if page_type == PageType.DICTIONARY and not 0 <= values <= plain:
        raise _malformed(chunk, f"{_where(position)} claims {values} entries in {plain} bytes")
    if plain > FREE_PAGE_BYTES and plain > MOST_RATIO * stored_bytes:
        message = f"{_where(position)} claims {plain:,} bytes uncompressed in {stored_bytes:,} stored"
        fix = Fix("write it again with pages of 1 MiB")
        raise UnsupportedFeature(f"{chunk.location}: {message}, more than the limit", fix)


def _where(position: int) -> str:
    return f"the page at byte {position} of the chunk"


def _longest(page: _Page, chunk: ChunkClaims) -> int:
    """Return the bytes of the longest dictionary entry.

    If the entries are unreadable, return the bytes of the whole page.
    """
    try:
        plain = _plain(page, chunk)
    except (pa.ArrowException, OSError, ValueError):
        return page.header.plain_bytes
    entries = length_prefixed(np.frombuffer(plain, np.uint8), page.header.num_values)
    return page.header.plain_bytes if entries is None else int(entries.length.max(initial=0))


def _plain(page: _Page, chunk: ChunkClaims) -> memoryview:
    """Return the uncompressed bytes of a page.

    They do not include the levels of a version 2 page.
    """
    levels = page.header.level_bytes or 0
    stored, size = page.stored[levels:], page.header.plain_bytes - levels
    if not page.compressed or not size:
        return stored
    return memoryview(pa.Codec(CODECS[chunk.codec]).decompress(pa.py_buffer(stored), size)).cast("B")


def _check_delta(page: _Page, chunk: ChunkClaims) -> None:
    """Raise MalformedFile if a delta encoding claims too many values.

    The limit is the number of values in the page header.
    """
    try:
        values = _plain(page, chunk)
        for _ in range(chunk.levels if page.header.level_bytes is None else 0):
            values = values[4 + int.from_bytes(values[:4], "little") :]
        claimed = most_claimed(values, page.header.encoding) if len(values) else 0
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        reason = " ".join(str(error).split())
        raise _malformed(chunk, f"a page of a delta encoding cannot be read ({reason})") from None
    if claimed > page.header.num_values:
        raise _malformed(chunk, f"a page of {page.header.num_values} values claims {claimed} in its delta encoding")


def check_codec(codec: int, location: str) -> None:
    """Raise UnsupportedFeature for a codec that is not in `CODECS`."""
    if codec not in CODECS:
        raise UnsupportedFeature(f"{location}: compression codec {codec} is not read by this version", LEAVE_OUT)


def _unsupported(chunk: ChunkClaims, what: str) -> UnsupportedFeature:
    message = f"{chunk.location}: {what} is not supported by this version"
    return UnsupportedFeature(message, Fix("leave the column out, or write the file again without it"))


def _malformed(chunk: ChunkClaims, message: str) -> MalformedFile:
    return MalformedFile(f"{chunk.location}: {message}", WRITE_AGAIN)


class _Stream(NamedTuple):
    """Header of a DELTA_BINARY_PACKED stream.

    `block`: values per block.
    `pieces`: miniblocks per block.
    `values`: number of values.
    `stop`: end of the header.
    """

    block: int
    pieces: int
    values: int
    stop: int


def most_claimed(values: memoryview, encoding: int) -> int:
    """Return the largest number of values that a stream header claims.

    DELTA_BYTE_ARRAY has two streams of lengths, which are both checked. Raises ValueError or IndexError for an invalid
    header.
    """
    first = _stream(values, 0)
    if encoding != _BYTE_ARRAY:
        return first.values
    return max(first.values, _stream(values, _after(values, first)).values)


def _stream(data: memoryview, position: int) -> _Stream:
    header = []
    for _ in range(4):
        value, position = _varint(data, position)
        header.append(value)
    block, pieces, count, _ = header
    if not 0 < block <= _MOST_IN_BLOCK or not 0 < pieces <= block // 8:
        raise ValueError(f"blocks of {block} values in {pieces} parts")
    return _Stream(block, pieces, count, position)


def _after(data: memoryview, stream: _Stream) -> int:
    """Return the end of a stream."""
    position, left = stream.stop, stream.values - 1
    in_piece = stream.block // stream.pieces
    while left > 0:
        _, position = _varint(data, position)
        widths = data[position : position + stream.pieces]
        if len(widths) < stream.pieces:
            raise ValueError("a block is cut off")
        # Miniblocks after the last value are not stored.
        stored = min(stream.pieces, -(-left // in_piece))
        position += stream.pieces + sum(widths[:stored]) * in_piece // 8
        left -= stream.block
    return position


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a number of more than ten bytes")
