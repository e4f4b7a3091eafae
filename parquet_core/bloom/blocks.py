"""Blocks of bloom filters: parsing, bits of hashes, fill estimates, folding.

The bytes are not trusted: a truncated filter, or one of another algorithm, would exclude values that exist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parquet_core.errors import MalformedFile
from parquet_core.format.compact import EMPTY, INTEGER, decode, member, struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Blocks: TypeAlias = NDArray[np.uint32]
    Hashes: TypeAlias = NDArray[np.uint64]
else:
    Blocks = Hashes = np.ndarray

BLOCK_BYTES = 32
BLOCK_WORDS = 8
MAX_BYTES = 128 << 20

_SALT = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], dtype=np.uint32
)


def block_numbers(hashes: Hashes, blocks: int | Hashes) -> NDArray[np.intp]:
    """Return the block number of each hash in filters of `blocks` blocks.

    The arguments broadcast. Multiply and shift selects the block, so the number of blocks may be any number.
    """
    high = hashes >> np.uint64(32)
    return ((high * np.asarray(blocks, np.uint64)) >> np.uint64(32)).astype(np.intp)


def bit_numbers(hashes: Hashes) -> NDArray[np.uint32]:
    """Return the bit number (0 to 31) per hash and word.

    Shape (hashes, 8).
    """
    bits: NDArray[np.uint32] = (hashes.astype(np.uint32)[:, None] * _SALT) >> np.uint32(27)
    return bits


def masks(hashes: Hashes) -> Blocks:
    """Return, for each hash, a block in which only the bits of the hash are set.

    Shape (hashes, 8).
    """
    return np.uint32(1) << bit_numbers(hashes)


def fill(blocks: Blocks) -> float:
    """Return the fraction of set bits.

    >>> fill(np.array([[0xFFFFFFFF] * 4 + [0] * 4], np.uint32))
    0.5
    """
    return int(np.bitwise_count(blocks).sum()) / (8 * blocks.nbytes)


def estimated_fpp(blocks: Blocks) -> float:
    """Return the probability of a false positive.

    A hash selects one block, and one bit in each word of this block. The probability that all these bits are set is the
    product of the fractions of set bits in the words. The result is the mean of these products over all blocks.

    >>> estimated_fpp(np.array([[0xFFFFFFFF] * 7 + [0xFFFF]], np.uint32))
    0.5
    """
    return float(np.mean(np.prod(np.bitwise_count(blocks) / 32, axis=1)))


def estimated_ndv(blocks: Blocks) -> float:
    """Estimate the number of distinct values in a filter.

    The result is infinite if every bit is set. A value leaves a given bit unset with probability 1 - 1 / (32 * blocks).

    >>> round(estimated_ndv(np.array([[1] * 8], np.uint32)))
    1
    """
    unset = 1 - fill(blocks)
    return math.log(unset) / math.log1p(-1 / (32 * len(blocks))) if unset else math.inf


def folded(blocks: Blocks, most_fpp: float) -> Blocks:
    """Halve a filter while its false-positive rate stays at most `most_fpp`.

    >>> import numpy as np
    >>> folded(np.array([[1] * 8, [2] * 8, [0] * 8, [4] * 8], np.uint32), 0.001).tolist()
    [[7, 7, 7, 7, 7, 7, 7, 7]]

    A hash h selects block floor(h * blocks / 2 ** 32). With half as many blocks, it selects the block into which that
    block and its neighbour were merged. An odd number of blocks cannot be halved.
    """
    # A probe tests eight bits: evenly filled blocks have a false-positive rate of fill ** 8, uneven ones a higher rate.
    most_fill = 1 - math.sqrt(1 - most_fpp ** (1 / 8))
    while len(blocks) % 2 == 0 and fill(blocks) <= most_fill:
        half = blocks[0::2] | blocks[1::2]
        if estimated_fpp(half) > most_fpp:
            break
        blocks = half
    return blocks


# Bytes to read if the footer lacks the length of a filter; enough for 200,000 values with 1 % false positives.
GUESS_BYTES = 256 << 10

_HEADER = struct({1: INTEGER, 2: member({1: EMPTY}), 3: member({1: EMPTY}), 4: member({1: EMPTY})})


@dataclass(frozen=True, slots=True)
class BloomHeader:
    """Sizes of a filter's header and bitset, in bytes."""

    header_bytes: int
    bitset_bytes: int


def parse_header(data: bytes, *, place: str) -> BloomHeader | str:
    """Decode a filter's header, or return why the filter is not trusted."""
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
    """Decode a filter's header and bitset.

    Returns the reason instead if the filter is not trusted.
    """
    header = parse_header(data, place=place)
    if isinstance(header, str):
        return header
    if len(data) != header.header_bytes + header.bitset_bytes:
        return (
            f"the footer gives the bloom filter {len(data)} bytes, "
            f"its header {header.header_bytes + header.bitset_bytes}"
        )
    return _parsed_blocks(data, header)


def guess_length(offset: int, *, next_offset: int | None, file_size: int) -> int:
    """Return the bytes to read of a filter of unknown length; 0 for an impossible `offset`.

    `next_offset`: start of the next known structure, None if unknown.
    `file_size`: size of the file, or the start of the footer, which is a tighter limit.

    >>> guess_length(1000, next_offset=None, file_size=5000), guess_length(1000, next_offset=1047, file_size=5000)
    (4000, 47)
    """
    stop = file_size if next_offset is None or next_offset <= offset else min(next_offset, file_size)
    return max(0, min(GUESS_BYTES, stop - offset)) if offset > 0 else 0


def parse_guess(data: bytes, *, place: str) -> Blocks | int | str:
    """Decode a filter from a read of guessed length.

    Returns the blocks, the number of bytes missing after `data`, or why the filter is not trusted.
    """
    header = parse_header(data, place=place)
    if isinstance(header, str):
        return header
    missing = header.header_bytes + header.bitset_bytes - len(data)
    return missing if missing > 0 else _parsed_blocks(data, header)


def _parsed_blocks(data: bytes, header: BloomHeader) -> Blocks | str:
    # The copy aligns the words, which avoids a copy at every probe, and frees the rest of a guessed read.
    stored = np.frombuffer(data, np.uint8, count=header.bitset_bytes, offset=header.header_bytes)
    blocks = stored.copy().view("<u4").reshape(-1, BLOCK_WORDS)
    # parquet-java writes filters without any value, for example for boolean columns.
    return blocks if blocks.any() else "the bloom filter is empty: its writer put no value into it"
