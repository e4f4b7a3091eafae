"""Names of the enums of `parquet.thrift`: codecs, encodings, orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.format.page_index import BoundaryOrder

if TYPE_CHECKING:
    from parquet_core.inspection.facts import Order

_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
_ENCODINGS = {
    0: "PLAIN",
    2: "PLAIN_DICTIONARY",
    3: "RLE",
    4: "BIT_PACKED",
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
}
_UNKNOWN_ENCODING = 62  # the bit that stands for all beyond those that there can be
_COLUMN_ORDERS = {1: "TYPE_ORDER", 2: "IEEE_754_TOTAL_ORDER", 3: "INT96_TIMESTAMP_ORDER"}
_ORDERS: dict[int, Order] = {
    BoundaryOrder.UNORDERED: "unordered",
    BoundaryOrder.ASCENDING: "ascending",
    BoundaryOrder.DESCENDING: "descending",
}


def codec_name(codec: int | None) -> str | None:
    """Name a compression codec; None when the footer names none.

    >>> codec_name(6), codec_name(99), codec_name(None)
    ('ZSTD', 'codec 99', None)
    """
    if codec is None:
        return None
    return _CODECS[codec] if 0 <= codec < len(_CODECS) else f"codec {codec}"


def encoding_names(bits: int) -> tuple[str, ...]:
    """Name encodings, given as a number with bit e for encoding e.

    >>> encoding_names(1 << 0 | 1 << 8 | 1 << 62)
    ('PLAIN', 'RLE_DICTIONARY', 'unknown encoding')
    """
    return tuple(_encoding_name(bit) for bit in range(_UNKNOWN_ENCODING + 1) if bits >> bit & 1)


def _encoding_name(encoding: int) -> str:
    if encoding == _UNKNOWN_ENCODING:
        return "unknown encoding"
    return _ENCODINGS.get(encoding, f"encoding {encoding}")


def column_order_name(order: int | None) -> str | None:
    """Name a member of the union ColumnOrder; None when the writer gave none.

    >>> column_order_name(1), column_order_name(9), column_order_name(None)
    ('TYPE_ORDER', 'column order 9', None)
    """
    return None if order is None else _COLUMN_ORDERS.get(order, f"column order {order}")


def boundary_order_name(order: int) -> Order | None:
    """Name a boundary order; None for one that is not known."""
    return _ORDERS.get(order)
