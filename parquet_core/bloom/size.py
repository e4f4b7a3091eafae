"""How large a filter is to be, and what the filling of one tells.

`optimal_bytes` follows parquet-java's BlockSplitBloomFilter, oddities included, so that a filter made here
has the size of the one Spark writes.
"""

from __future__ import annotations

import math

import numpy as np

from parquet_core.bloom.blocks import BLOCK_BYTES, BLOCK_WORDS, MAX_BYTES, Blocks
from parquet_core.errors import WrongUse

DEFAULT_MAX_BYTES = 1 << 20  # parquet.bloom.filter.max.bytes


def optimal_bytes(ndv: int, fpp: float, max_bytes: int = DEFAULT_MAX_BYTES) -> int:
    """Return the bytes of the bitset that parquet-java makes for so many distinct values.

    A power of two of at least 32, capped at `max_bytes` as it stands: a cap that is no multiple of 32 gives
    a filter that is not believed here. Raises WrongUse for what cannot be.

    >>> [optimal_bytes(ndv, 0.01) for ndv in (1, 100, 1000, 3000, 26000)]
    [32, 256, 2048, 4096, 32768]
    """
    if ndv < 0 or not 0 < fpp < 1:
        raise WrongUse(f"a bloom filter of {ndv} values with {fpp} false positives: it takes counts and 0 < fpp < 1")
    bits = min(_optimal_bits(ndv, fpp), 8 * MAX_BYTES)
    # Meant to round up to a multiple of 256, but it clears the one bit 256.
    rounded = max(int(bits) + 255 & ~256, 8 * BLOCK_BYTES)
    size = 1 << (rounded // 8 - 1).bit_length()
    # A cap outside of these limits is taken for none.
    return min(size, max_bytes if BLOCK_BYTES < max_bytes < MAX_BYTES else MAX_BYTES)


def _optimal_bits(ndv: int, fpp: float) -> float:
    # Computed as parquet-java does, which has values for a logarithm of 0 and a division by 0.
    unset = 1 - fpp ** (1 / BLOCK_WORDS)
    if unset in {0, 1}:
        return math.inf if unset and ndv else 0
    return -BLOCK_WORDS * ndv / math.log(unset)


def fill(blocks: Blocks) -> float:
    """Return the share of bits that are set."""
    return int(np.bitwise_count(blocks).sum()) / (8 * blocks.nbytes)


def estimated_fpp(blocks: Blocks) -> float:
    """Return the probability that a value which is not there is found.

    It falls into any block alike and there on a set bit of every word: the mean over blocks of the product
    over words of the share of bits set.
    """
    return float(np.mean(np.prod(np.bitwise_count(blocks) / 32, axis=1)))


def estimated_ndv(blocks: Blocks) -> float:
    """Return about how many distinct values are in the filter; infinite when every bit is set.

    A value leaves a given bit alone with probability 1 - 1 / (32 * blocks).
    """
    unset = 1 - fill(blocks)
    return math.log(unset) / math.log1p(-1 / (32 * len(blocks))) if unset else math.inf
