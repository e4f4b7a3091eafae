"""Headers of pages, and the codecs that Arrow decompresses.

Source: `PageHeader` in `parquet.thrift`, and `Compression.md` of parquet-format.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from parquet_core.errors import MalformedFile
from parquet_core.fix import WRITE_AGAIN
from parquet_core.format.compact import BOOLEAN, INTEGER, decode, struct

# Codecs that Arrow reads: number to name in `pa.Codec`. Arrow reads LZ4 with Hadoop framing only in files.
CODECS = {0: "", 1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4_hadoop", 6: "zstd", 7: "lz4_raw"}
UNCOMPRESSED = 0


class PageType(IntEnum):
    """Types of pages."""

    DATA = 0
    INDEX = 1
    DICTIONARY = 2
    DATA_V2 = 3


_DESCRIBED = struct({1: INTEGER, 2: INTEGER})  # num_values, encoding
_PAGE_HEADER = struct(
    {
        1: INTEGER,  # type
        2: INTEGER,  # uncompressed_page_size
        3: INTEGER,  # compressed_page_size
        4: INTEGER,  # crc
        5: _DESCRIBED,  # data_page_header
        7: _DESCRIBED,  # dictionary_page_header
        # data_page_header_v2: num_values, encoding, bytes of definition and of repetition levels, is_compressed
        8: struct({1: INTEGER, 4: INTEGER, 5: INTEGER, 6: INTEGER, 7: BOOLEAN}),
    }
)


class PageHeader(NamedTuple):
    """Header of a page.

    `header_bytes`: size of the header.
    `plain_bytes`, `stored_bytes`: uncompressed and stored size of the page.
    `num_values`, `encoding`: 0 for a page of a type that has neither.
    `level_bytes`: bytes of the levels of a data page of version 2, which are not compressed; None for other pages.
    `is_plain`: True if a data page of version 2 claims not to be compressed.
    """

    header_bytes: int
    page_type: int
    plain_bytes: int
    stored_bytes: int
    crc: int | None
    num_values: int
    encoding: int
    level_bytes: int | None
    is_plain: bool


def read_header(data: bytes, *, place: str) -> PageHeader:
    """Decode the page header at the start of `data`.

    Raises MalformedFile if it is damaged or lacks its type, a size, the number of values or the encoding.
    """
    (page_type, plain_bytes, stored_bytes, crc, v1, dictionary, v2), length = decode(data, _PAGE_HEADER, place=place)
    described = {PageType.DATA: v1, PageType.DICTIONARY: dictionary, PageType.DATA_V2: v2}.get(page_type, [0, 0])
    if described is None or None in {page_type, plain_bytes, stored_bytes, *described[:2]}:
        raise MalformedFile(f"{place}: its header lacks a size, a number of values or an encoding", WRITE_AGAIN)
    num_values, encoding = described[:2]
    levels, is_plain = None, False
    if page_type == PageType.DATA_V2:
        levels, is_plain = sum(size or 0 for size in v2[2:4]), v2[4] is False
    return PageHeader(length, page_type, plain_bytes, stored_bytes, crc, num_values, encoding, levels, is_plain)
