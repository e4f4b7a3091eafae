"""The parser of bloom filters as files hold them; the bytes are not trusted.

What is odd is refused: a filter that is cut short or of another algorithm would deny values that are there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parquet_core.bloom.blocks import BLOCK_BYTES, BLOCK_WORDS, MAX_BYTES, Blocks
from parquet_core.errors import MalformedFile
from parquet_core.format.compact import EMPTY, INTEGER, decode, member, struct

# Read when the footer does not say how long the filter is; one of 200,000 values with 1 % false positives is as long.
GUESS_BYTES = 256 << 10

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
        return f"the bloom filter claims {size} bytes, which is not the size of a filter (32-byte blocks)"
    return BloomHeader(length, size)


def parse_filter(data: bytes, *, place: str) -> Blocks | str:
    """Decode a whole filter (header and bitset) into blocks of 8 words; the reason instead when it is odd."""
    header = parse_header(data, place=place)
    if isinstance(header, str):
        return header
    if len(data) != header.header_bytes + header.bitset_bytes:
        return (
            f"the footer gives the bloom filter {len(data)} bytes, "
            f"its header {header.header_bytes + header.bitset_bytes}"
        )
    return _blocks(data, header)


def guess_length(offset: int, *, next_offset: int | None, file_size: int) -> int:
    """Return how many bytes to read of a filter whose length the footer does not say; 0 when none can be there.

    `next_offset` is where the next known structure begins. `file_size` may be where the footer begins,
    which bounds the filter better.

    >>> guess_length(1000, next_offset=None, file_size=5000), guess_length(1000, next_offset=1047, file_size=5000)
    (4000, 47)
    """
    stop = file_size if next_offset is None or next_offset <= offset else min(next_offset, file_size)
    return max(0, min(GUESS_BYTES, stop - offset)) if offset > 0 else 0


def parse_guess(data: bytes, *, place: str) -> Blocks | int | str:
    """Decode a filter from a read that may end before it or behind it.

    Returns the blocks; or how many bytes are missing behind `data`; or why the filter must not be believed.
    """
    header = parse_header(data, place=place)
    if isinstance(header, str):
        return header
    missing = header.header_bytes + header.bitset_bytes - len(data)
    return missing if missing > 0 else _blocks(data, header)


def _blocks(data: bytes, header: BloomHeader) -> Blocks | str:
    # Copied: words that lie across the machine's are copied at every probe, and the rest of a guess is let go.
    stored = np.frombuffer(data, np.uint8, count=header.bitset_bytes, offset=header.header_bytes)
    blocks = stored.copy().view("<u4").reshape(-1, BLOCK_WORDS)
    # parquet-java writes filters that it never put a value into, of a boolean column for one.
    return blocks if blocks.any() else "the bloom filter is empty: its writer put no value into it"
