"""Split-block bloom filters: parse, hash, probe.

Source: BloomFilter.md of parquet-format. What is odd is refused: a filter that is cut short or of
another algorithm would deny values that are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import xxhash

from parquet_core.compact import EMPTY, INTEGER, decode, member, struct
from parquet_core.errors import MalformedFile
from parquet_core.schema import LeafColumn, Physical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BLOCK_BYTES = 32
MAX_BYTES = 128 << 20
# No header is longer; read when the footer does not say how long the filter is.
HEADER_BYTES = 64

SALT = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], dtype=np.uint32
)
_HEADER = struct({1: INTEGER, 2: member({1: EMPTY}), 3: member({1: EMPTY}), 4: member({1: EMPTY})})


@dataclass(frozen=True, slots=True)
class BloomHeader:
    """Sizes of a filter in bytes: the header itself and the bitset behind it."""

    header_bytes: int
    bitset_bytes: int


def parse_header(data: bytes, *, place: str) -> BloomHeader | str:
    """Decode a filter's header; returns the reason instead when the filter must not be believed."""
    try:
        (size, algorithm, hashing, compression), length = decode(data, _HEADER, place=f"{place}: bloom filter")
    except MalformedFile as error:
        return str(error)
    if any(member is None or member[0] != 1 for member in (algorithm, hashing, compression)):
        return "the bloom filter uses an unknown algorithm, hash or compression"
    if size is None or not 0 < size <= MAX_BYTES or size % BLOCK_BYTES:
        return f"the bloom filter claims {size} bytes, which is no number of 32-byte blocks"
    return BloomHeader(length, size)


def parse_filter(data: bytes, *, place: str) -> NDArray[np.uint32] | str:
    """Decode a whole filter (header and bitset) into blocks of 8 words; the reason instead when it is odd."""
    header = parse_header(data, place=place)
    if isinstance(header, str):
        return header
    if len(data) != header.header_bytes + header.bitset_bytes:
        return (
            f"the footer gives the bloom filter {len(data)} bytes, "
            f"its header {header.header_bytes + header.bitset_bytes}"
        )
    return np.frombuffer(data, "<u4", offset=header.header_bytes).reshape(-1, 8)


def can_hash(column: LeafColumn) -> bool:
    """Tell whether a filter of this column can be probed with values of its type."""
    return not column.unsupported and column.physical in {
        Physical.INT32,
        Physical.INT64,
        Physical.BYTE_ARRAY,
        Physical.FIXED_LEN_BYTE_ARRAY,
    }


def hash_values(column: LeafColumn, values: pa.Array) -> NDArray[np.uint64]:
    """Hash values of the column's type as a writer does: XXH64 of their PLAIN encoding."""
    encoded = (plain_encoding(column, value) for value in values)
    return np.fromiter((xxhash.xxh64_intdigest(data) for data in encoded), np.uint64, len(values))


def plain_encoding(column: LeafColumn, value: pa.Scalar) -> bytes:
    """Encode one non-null value of the column's type as PLAIN does, without a length prefix."""
    match column.physical:
        case Physical.BYTE_ARRAY:
            return value.cast(pa.binary()).as_py()  # type: ignore[no-any-return]  # a binary scalar gives bytes
        case Physical.FIXED_LEN_BYTE_ARRAY:
            return _unscaled(value).to_bytes(column.type_length, "big", signed=True)
        case Physical.INT32 | Physical.INT64:
            width = 4 if column.physical is Physical.INT32 else 8
            if pa.types.is_decimal(value.type):
                number = _unscaled(value)
            else:
                # A date beyond year 9999 is none to Python, but it is a number of days.
                number = (value.cast(pa.int32()) if pa.types.is_date(value.type) else value).as_py()
            return (int(number) % (1 << 8 * width)).to_bytes(width, "little")
    raise TypeError(f"no bloom filter hashes a {column.physical.name}")


def _unscaled(value: pa.Scalar) -> int:
    # From Arrow's own 16 bytes: Python's decimal context would round beyond 28 digits.
    data = pa.array([value], value.type).buffers()[1]
    return int.from_bytes(data.to_pybytes()[:16], "little", signed=True)


def may_contain(filters: Sequence[NDArray[np.uint32]], hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Probe every filter for every hash; False is proof of absence. Shape (filters, hashes)."""
    sizes = np.array([len(blocks) for blocks in filters], dtype=np.uint64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    words = np.concatenate(filters)
    high = hashes >> np.uint64(32)
    block = ((high[None, :] * sizes[:, None]) >> np.uint64(32)).astype(np.int64) + starts[:, None]
    bits = (hashes.astype(np.uint32)[:, None] * SALT) >> np.uint32(27)
    mask = np.uint32(1) << bits
    found: NDArray[np.bool_] = np.all(words[block] & mask[None, :, :] != 0, axis=2)
    return found
