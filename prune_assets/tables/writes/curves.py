"""Positions of grid cells along a Z-order or Hilbert curve.

The Hilbert curve follows Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

# A grid has at most 2 ** 15 cells, because their positions are one literal in the query.
GRID_BITS = 15

Cells = NDArray[np.int64]


def bits_per_column(columns: int) -> int:
    """Return the bits per column of the grid."""
    return GRID_BITS // columns


@cache
def curve_positions(columns: int, *, hilbert: bool) -> Cells:
    """Return the curve position of each cell of a grid.

    The number of a cell is the concatenation of its coordinates, the first column in the high bits.

    >>> curve_positions(2, hilbert=True).shape
    (16384,)
    """
    bits = bits_per_column(columns)
    cells = np.arange(1 << (bits * columns), dtype=np.int64)
    axes = [(cells >> (bits * (columns - 1 - i))) & ((1 << bits) - 1) for i in range(columns)]
    return _interleaved(_transposed(axes, bits) if hilbert else axes, bits)


def _interleaved(axes: list[Cells], bits: int) -> Cells:
    """Interleave the bits of the axes, starting with the highest bit of the first axis."""
    interleaved = np.zeros_like(axes[0])
    for bit in reversed(range(bits)):
        for axis in axes:
            interleaved = (interleaved << 1) | ((axis >> bit) & 1)
    return interleaved


def _transposed(axes: list[Cells], bits: int) -> list[Cells]:
    """Return Skilling's transposed form, whose interleaved bits are the position on the Hilbert curve."""
    turned = [axis.copy() for axis in axes]
    for bit in reversed(range(1, bits)):
        low = (1 << bit) - 1
        for i, axis in enumerate(turned):
            flipped = (axis >> bit) & 1 == 1
            swap = np.where(flipped, 0, (turned[0] ^ axis) & low)
            turned[0] = turned[0] ^ np.where(flipped, low, swap)
            if i:
                turned[i] = turned[i] ^ swap
    for i in range(1, len(turned)):
        turned[i] = turned[i] ^ turned[i - 1]
    gray = np.zeros_like(turned[0])
    for bit in range(1, bits):
        gray ^= np.where((turned[-1] >> bit) & 1 == 1, (1 << bit) - 1, 0)
    return [axis ^ gray for axis in turned]
