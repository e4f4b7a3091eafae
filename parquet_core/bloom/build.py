"""Make filters of hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.bloom.blocks import BLOCK_BYTES, BLOCK_WORDS, MAX_BYTES, bit_numbers, block_numbers
from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.bloom.blocks import Blocks, Hashes

_BLOCK_BITS = 8 * BLOCK_BYTES
_PART = 1 << 15  # blocks built at a time: a byte for each of their bits is 8 MiB
_STEP = 1 << 15  # hashes set at a time: their positions are 2 MiB
_FIRST_BIT = np.arange(BLOCK_WORDS, dtype=np.intp) * 32


def build_filter(hashes: Hashes, num_bytes: int) -> Blocks:
    """Set the bits of the hashes in a filter of so many bytes.

    Raises WrongUse for a size that is no whole number of blocks from 32 bytes to 128 MiB.
    """
    if not 0 < num_bytes <= MAX_BYTES or num_bytes % BLOCK_BYTES:
        raise WrongUse(f"a bloom filter of {num_bytes} bytes: it takes a multiple of 32, at most {MAX_BYTES}")
    count = num_bytes // BLOCK_BYTES
    if count <= _PART:
        return _part(hashes, count, 0, count)
    # The block grows with the hash, so that sorted hashes fall into one part after the other.
    ordered = np.sort(hashes)
    firsts = range(0, count, _PART)
    lowest = np.array([-(-(first << 32) // count) << 32 for first in firsts[1:]], np.uint64)
    parts = np.split(ordered, np.searchsorted(ordered, lowest))
    return np.concatenate(
        [_part(part, count, first, min(first + _PART, count)) for part, first in zip(parts, firsts, strict=True)]
    )


def _part(hashes: Hashes, count: int, first: int, stop: int) -> Blocks:
    """Build the blocks from `first` to `stop` of a filter of `count`, of hashes that fall into them."""
    # A byte a bit while they are set: assigning repeats nothing, where or-ing words must take care of equal ones.
    bits = np.zeros((stop - first) * _BLOCK_BITS, np.bool_)
    for start in range(0, len(hashes), _STEP):
        part = hashes[start : start + _STEP]
        bits[_positions(part, count, first).ravel()] = True
    return np.packbits(bits, bitorder="little").view("<u4").reshape(-1, BLOCK_WORDS)


def _positions(hashes: Hashes, count: int, first: int) -> NDArray[np.intp]:
    positions = bit_numbers(hashes).astype(np.intp)
    positions += _FIRST_BIT
    positions += ((block_numbers(hashes, count) - first) * _BLOCK_BITS)[:, None]
    return positions


def merge(filters: Sequence[Blocks]) -> Blocks:
    """Return the filter of all values that are in any of the filters, which must be of one size.

    Raises WrongUse for none, and for filters of several sizes: the blocks of a value differ in them.
    """
    sizes = sorted({len(blocks) for blocks in filters})
    if len(sizes) != 1:
        raise WrongUse(f"bloom filters of {sizes} blocks cannot be merged; it takes one size")
    merged = filters[0].copy()
    for blocks in filters[1:]:
        np.bitwise_or(merged, blocks, out=merged)
    return merged
