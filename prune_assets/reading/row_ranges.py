"""Ranges of rows and the rows in them: shape (n, 2), ascending, disjoint, half-open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.ragged import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rows_in(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of ranges, one by one.

    >>> rows_in(np.array([[1, 3], [7, 8]])).tolist()
    [1, 2, 7]
    """
    return spans(ranges[:, 0], ranges[:, 1] - ranges[:, 0])


def chosen(ranges: NDArray[np.int64], keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return as ranges the chosen ones of the rows of ranges."""
    return as_ranges(rows_in(ranges)[keep])


def without(ranges: NDArray[np.int64], deleted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ranges without rows, which ascend."""
    rows = rows_in(ranges)
    return as_ranges(rows[~np.isin(rows, deleted, assume_unique=True)])


def as_ranges(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows, which ascend, as ranges.

    >>> as_ranges(np.array([1, 2, 7])).tolist()
    [[1, 3], [7, 8]]
    """
    if len(rows) == 0:
        return np.zeros((0, 2), np.int64)
    heads = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)
    return np.column_stack([rows[heads], rows[np.append(heads[1:] - 1, len(rows) - 1)] + 1])
