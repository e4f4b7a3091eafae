"""Sorted, disjoint, half-open row intervals as (n, 2) int64 arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    RowRanges = NDArray[np.int64]


def overlaps(ranges: RowRanges, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which intervals [starts, stops) share a row with the ranges.

    >>> overlaps(np.array([[5, 10]]), np.array([0, 5, 10]), np.array([5, 10, 15])).tolist()
    [False, True, False]
    """
    if len(ranges) == 0:
        return np.zeros(len(starts), np.bool_)
    # The first range that ends after the interval begins is the only candidate that matters.
    candidate = np.searchsorted(ranges[:, 1], starts, side="right")
    inside = candidate < len(ranges)
    begins = ranges[np.minimum(candidate, len(ranges) - 1), 0]
    shared: NDArray[np.bool_] = inside & (begins < stops) & (starts < stops)
    return shared
