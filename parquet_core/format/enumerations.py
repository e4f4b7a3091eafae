"""Names of codecs, encodings and column orders in footers.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

_CODECS = dict(enumerate(("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")))
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
    10: "ALP",
}
_COLUMN_ORDERS = {1: "TYPE_ORDER", 2: "IEEE_754_TOTAL_ORDER", 3: "INT96_TIMESTAMP_ORDER"}
UNKNOWN_ENCODING = 62  # the bit for all encodings from 62 on


def codec_name(codec: int | None) -> str | None:
    """Return the name of a compression codec; None if missing.

    >>> codec_name(6), codec_name(99), codec_name(None)
    ('ZSTD', 'codec 99', None)
    """
    return None if codec is None else _CODECS.get(codec, f"codec {codec}")


def numbered_encoding(encoding: int) -> str:
    """Return the number of an encoding, and its name if known.

    >>> numbered_encoding(10), numbered_encoding(11)
    ('encoding 10 (ALP)', 'encoding 11')
    """
    name = _ENCODINGS.get(encoding)
    return f"encoding {encoding}" if name is None else f"encoding {encoding} ({name})"


def encoding_names(bits: int) -> tuple[str, ...]:
    """Return the names of encodings; bit e of `bits` is encoding e.

    >>> encoding_names(1 << 0 | 1 << 8 | 1 << 62)
    ('PLAIN', 'RLE_DICTIONARY', 'unknown encoding')
    """
    names = tuple(_ENCODINGS.get(bit, f"encoding {bit}") for bit in range(UNKNOWN_ENCODING) if bits >> bit & 1)
    return (*names, "unknown encoding") if bits >> UNKNOWN_ENCODING & 1 else names


def column_order_name(order: int | None) -> str | None:
    """Return the name of a ColumnOrder member; None if missing.

    >>> column_order_name(1), column_order_name(9), column_order_name(None)
    ('TYPE_ORDER', 'column order 9', None)
    """
    return None if order is None else _COLUMN_ORDERS.get(order, f"column order {order}")
