"""Blocks of a filter: where the bits of a hash are in them, how many are set, and what that tells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

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
    """Return the block of each hash in filters of so many blocks; the two broadcast.

    By multiply and shift, so that the number of blocks need not be a power of two.
    """
    high = hashes >> np.uint64(32)
    return ((high * np.asarray(blocks, np.uint64)) >> np.uint64(32)).astype(np.intp)


def bit_numbers(hashes: Hashes) -> NDArray[np.uint32]:
    """Return the bit (0 to 31) that each hash has in each word, shape (hashes, 8)."""
    numbers: NDArray[np.uint32] = (hashes.astype(np.uint32)[:, None] * _SALT) >> np.uint32(27)
    return numbers


def masks(hashes: Hashes) -> Blocks:
    """Return each hash as a block in which its bits alone are set, shape (hashes, 8)."""
    return np.uint32(1) << bit_numbers(hashes)


def fill(blocks: Blocks) -> float:
    """Return the share of bits that are set.

    >>> fill(np.array([[0xFFFFFFFF] * 4 + [0] * 4], np.uint32))
    0.5
    """
    return int(np.bitwise_count(blocks).sum()) / (8 * blocks.nbytes)


def estimated_fpp(blocks: Blocks) -> float:
    """Return the probability that a value which is not there is found.

    It falls into any block alike and there on a set bit of every word: the mean over blocks of the product
    over words of the share of bits set.

    >>> estimated_fpp(np.array([[0xFFFFFFFF] * 7 + [0xFFFF]], np.uint32))
    0.5
    """
    return float(np.mean(np.prod(np.bitwise_count(blocks) / 32, axis=1)))


def estimated_ndv(blocks: Blocks) -> float:
    """Return about how many distinct values are in the filter; infinite when every bit is set.

    A value leaves a given bit alone with probability 1 - 1 / (32 * blocks).

    >>> round(estimated_ndv(np.array([[1] * 8], np.uint32)))
    1
    """
    unset = 1 - fill(blocks)
    return math.log(unset) / math.log1p(-1 / (32 * len(blocks))) if unset else math.inf
