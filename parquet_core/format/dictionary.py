"""Dictionary pages of column chunks: location, values and completeness.

A complete dictionary proves only absence, because it may hold values to which no page refers.
The bytes are not trusted. Anything unusual becomes a reason not to use the dictionary, because a missing entry would
exclude a value that the chunk holds.
Source: `parquet.thrift`, `Encodings.md` and `Compression.md` of parquet-format.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.errors import MalformedFile
from parquet_core.format.column_chunk import ENCODING_STATS
from parquet_core.format.compact import decode_list
from parquet_core.format.page_header import CODECS, UNCOMPRESSED, PageHeader, PageType, read_header
from parquet_core.format.plain import PlainValues, fixed_width, length_prefixed
from parquet_core.format.schema import Physical

if TYPE_CHECKING:
    from parquet_core.format.column_chunk import ColumnChunks
    from parquet_core.format.schema import LeafColumn

# Maximum size of a dictionary page in bytes; writers limit dictionaries to 1 MiB by default.
MAX_PAGE_BYTES = 64 << 20
GUESS_BYTES = 256 << 10
_MAX_RATIO = 1032  # limit of deflate; other codecs have higher limits, but distinct values never reach them
_MAX_HEADER_BYTES = 4 << 10

_DATA_PAGES = {PageType.DATA, PageType.DATA_V2}
_PLAIN, _PLAIN_DICTIONARY, _RLE, _BIT_PACKED, _RLE_DICTIONARY = 0, 2, 3, 4, 8
_GZIP, _LZ4 = 2, 5
_CODECS = CODECS.keys() - {_LZ4}  # LZ4 uses Hadoop's framing, which has several variants
_WIDTHS = {Physical.INT32: 4, Physical.INT64: 8, Physical.FLOAT: 4, Physical.DOUBLE: 8}


def is_complete(chunks: ColumnChunks, i: int) -> str | None:
    """Return why the dictionary of chunk `i` may be incomplete; None if it is complete."""
    if chunks.encrypted[i]:
        return "the column is encrypted"
    if chunks.encoding_stats[i] is None:
        return _judge_encodings(int(chunks.encodings[i]))
    stats = decode_list(chunks.encoding_stats[i], ENCODING_STATS)
    kinds = {page_type for page_type, _, _ in stats}
    data = {encoding for page_type, encoding, _ in stats if page_type in _DATA_PAGES}
    if not kinds <= set(PageType):
        return "the encoding statistics name pages of an unknown kind"
    if not data:
        # parquet-java takes this as "all pages use the dictionary". The opposite assumption is safe, and it loses
        # nothing if the chunk has no values.
        return "the encoding statistics name no data page"
    if not data <= {_PLAIN_DICTIONARY, _RLE_DICTIONARY}:
        return "some data pages are not dictionary-encoded"
    return None


def _judge_encodings(encodings: int) -> str | None:
    if not encodings >> _PLAIN_DICTIONARY & 1:
        # PLAIN is listed with RLE_DICTIONARY for the dictionary page, but it may also apply to data pages.
        return "the footer does not say how each data page is encoded"
    if encodings & ~(1 << _PLAIN_DICTIONARY | 1 << _RLE | 1 << _BIT_PACKED):
        return "some data pages may not be dictionary-encoded"
    return None


def dictionary_range(chunks: ColumnChunks, i: int, first_page: int | None) -> tuple[int, int] | str:
    """Return offset and length of the dictionary page of chunk `i`.

    Returns the reason as text if the page is missing. `first_page`: offset of the first data page in the offset index;
    None if unknown. The length is exact if the offset of the first data page is known; otherwise it is a guess, which
    `page_bytes` corrects.
    """
    offset, stop, size = int(chunks.dictionary_page_offset[i]), first_page, int(chunks.compressed_bytes[i])
    data_page = int(chunks.data_page_offset[i])
    if not 0 < offset < data_page:
        # Old writers leave the offset out, or write 0, and store the dictionary page at the data page offset.
        offset = data_page
    elif stop is None:
        stop = data_page
    if offset <= 0 or size <= 0:
        return "the footer lacks the position of the column chunk"
    if stop is None:
        return offset, min(GUESS_BYTES, size)
    if stop == offset:
        return "the dictionary page is missing: the column chunk begins with a data page"
    if not 0 < stop - offset <= min(size, MAX_PAGE_BYTES):
        return f"a dictionary page from byte {offset} to {stop} cannot be"
    return offset, stop - offset


def page_bytes(data: bytes, chunks: ColumnChunks, i: int, leaf: LeafColumn, *, place: str) -> int | str:
    """Return the bytes of the dictionary page of chunk `i` at the start of `data`.

    Returns the reason as text if `data` does not begin with a usable dictionary page. The size is read from the header.
    """
    page = _parse_header(data, chunks, i, leaf, place)
    return page if isinstance(page, str) else page.header_bytes + page.stored_bytes


def read_dictionary(data: bytes, chunks: ColumnChunks, i: int, leaf: LeafColumn, *, place: str) -> PlainValues | str:
    """Decode the dictionary page of chunk `i` at the start of `data`.

    Later bytes are ignored. Returns the values in their physical form, or the reason why they cannot be trusted: a
    missing entry would exclude a value that the chunk holds.
    """
    page = _parse_header(data, chunks, i, leaf, place)
    if isinstance(page, str):
        return page
    stored = memoryview(data)[page.header_bytes : page.header_bytes + page.stored_bytes]
    if len(stored) < page.stored_bytes:
        return f"the dictionary page of {page.stored_bytes} bytes is cut off after {len(stored)}"
    if page.crc is not None and zlib.crc32(stored) != page.crc & 0xFFFFFFFF:
        return "the checksum of the dictionary page does not match its bytes"
    plain = _decompress(stored, int(chunks.codec[i]), page.plain_bytes)
    if plain is None:
        return f"the dictionary page does not decompress to the {page.plain_bytes} bytes that it claims"
    values = _decode(np.frombuffer(plain, np.uint8), page.num_values, leaf)
    return (
        f"the dictionary page does not hold the {page.num_values} values that it claims" if values is None else values
    )


def _parse_header(data: bytes, chunks: ColumnChunks, i: int, leaf: LeafColumn, place: str) -> PageHeader | str:
    codec = None if chunks.codec[i] < 0 else int(chunks.codec[i])
    if leaf.physical in {Physical.BOOLEAN, Physical.INT96} or codec not in _CODECS:
        return f"dictionaries of {leaf.physical.name} in compression codec {codec} are not read"
    try:
        page = read_header(data[:_MAX_HEADER_BYTES], place=f"{place}: dictionary page")
    except MalformedFile as error:
        return str(error)
    return _doubt(page, chunks, i) or page


def _doubt(page: PageHeader, chunks: ColumnChunks, i: int) -> str:
    """Return the reason why a header is implausible, or an empty string."""
    if page.page_type != PageType.DICTIONARY:
        return "the dictionary page is missing: the column chunk begins with another page"
    if page.encoding not in {_PLAIN, _PLAIN_DICTIONARY}:
        return f"the dictionary page has encoding {page.encoding}, which no dictionary has"
    if page.num_values == 0:
        # An empty dictionary would exclude every value. If the chunk has no values, its null count proves that anyway.
        return "the dictionary page is empty"
    largest = min(MAX_PAGE_BYTES, _MAX_RATIO * page.stored_bytes)
    if (
        not 0 < page.num_values <= page.plain_bytes <= largest
        or (chunks.codec[i] == UNCOMPRESSED and page.plain_bytes != page.stored_bytes)
        or page.header_bytes + page.stored_bytes > int(chunks.compressed_bytes[i])
    ):
        return (
            f"the dictionary page claims {page.num_values} values in {page.stored_bytes} bytes, "
            f"{page.plain_bytes} uncompressed, which is implausible"
        )
    return ""


def _decompress(stored: memoryview, codec: int, size: int) -> bytes | pa.Buffer | None:
    """Decompress a page to exactly `size` bytes; None if its size differs."""
    if codec == UNCOMPRESSED:
        return stored.tobytes()
    if codec == _GZIP:
        return _gunzip(stored, size)
    arrow = pa.Codec(CODECS[codec])
    try:
        plain = arrow.decompress(pa.py_buffer(stored), decompressed_size=size)
    except (pa.ArrowException, OSError):
        return None
    try:
        # Arrow pads output that is too short with arbitrary bytes. Output that also fits into fewer bytes is too short.
        arrow.decompress(pa.py_buffer(stored), decompressed_size=size - 1)
    except (pa.ArrowException, OSError):
        return plain
    return None


def _gunzip(stored: memoryview, size: int) -> bytes | None:
    """Inflate successive gzip or zlib members.

    Arrow is not used, because it returns garbage if other bytes follow the last member.
    """
    parts: list[bytes] = []
    rest: memoryview | bytes = stored
    while rest:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        try:
            part = member.decompress(rest, size + 1)
        except zlib.error:
            return None
        parts.append(part)
        size -= len(part)
        if size < 0 or not member.eof:
            return None
        rest = member.unused_data
    return b"".join(parts) if size == 0 else None


def _decode(plain: np.ndarray, count: int, leaf: LeafColumn) -> PlainValues | None:
    if leaf.physical is Physical.BYTE_ARRAY:
        return length_prefixed(plain, count)
    fixed = leaf.physical is Physical.FIXED_LEN_BYTE_ARRAY
    return fixed_width(plain, count, leaf.type_length if fixed else _WIDTHS[leaf.physical])
