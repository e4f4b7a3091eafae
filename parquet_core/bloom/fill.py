"""How full a filter is, and what that tells: its false positives and about how many values it holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from parquet_core.bloom.blocks import Blocks


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
