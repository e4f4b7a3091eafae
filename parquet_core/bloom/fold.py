"""Fold filters that are emptier than they need to be: a smaller one that finds all that the larger one finds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parquet_core.bloom.blocks import estimated_fpp, fill

if TYPE_CHECKING:
    from parquet_core.bloom.blocks import Blocks


def folded(blocks: Blocks, most_fpp: float) -> Blocks:
    """Halve a filter as long as it finds no more than `most_fpp` of the values that are not there.

    >>> import numpy as np
    >>> folded(np.array([[1] * 8, [2] * 8, [0] * 8, [4] * 8], np.uint32), 0.001).tolist()
    [[7, 7, 7, 7, 7, 7, 7, 7]]

    A hash has block floor(h * blocks / 2 ** 32), so of half as many blocks it has the one that its pair is put into.
    Of an odd number of blocks there are no such pairs.
    """
    # A value is found by eight bits: of evenly filled blocks the fill tells how many are, of others more are.
    most_fill = 1 - math.sqrt(1 - most_fpp ** (1 / 8))
    while len(blocks) % 2 == 0 and fill(blocks) <= most_fill:
        half = blocks[0::2] | blocks[1::2]
        if estimated_fpp(half) > most_fpp:
            break
        blocks = half
    return blocks
