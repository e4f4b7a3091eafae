"""Ragged arrays: rows of differing lengths, stored one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Numbers


def firsts(counts: Numbers) -> Numbers:
    """Return the index where each row begins, and the end of the last row.

    >>> firsts(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def elements_of(first: Numbers, rows: Numbers) -> Numbers:
    """Return the indices of the elements of chosen rows, in the order of `rows`.

    >>> elements_of(np.array([0, 2, 2, 3]), np.array([2, 0])).tolist()
    [2, 0, 1]
    """
    return spans(first[rows], first[rows + 1] - first[rows])


def distinct(ascending: Numbers) -> Numbers:
    """Return the distinct numbers of an ascending array.

    `np.unique` would import numpy's masked arrays.

    >>> distinct(np.array([1, 1, 4])).tolist()
    [1, 4]
    """
    return ascending[np.flatnonzero(np.diff(ascending, prepend=ascending[:1] - 1))]


def any_in(flags: NDArray[np.bool_], owner: Numbers, rows: int) -> NDArray[np.bool_]:
    """Return flags of the rows that own a flagged element."""
    owns = np.zeros(rows, np.bool_)
    owns[owner[flags]] = True
    return owns


def rows_with(flags: NDArray[np.bool_], first: Numbers) -> NDArray[np.bool_]:
    """Return flags of the rows that contain a flagged element.

    >>> rows_with(np.array([False, True, False]), np.array([0, 2, 2, 3])).tolist()
    [True, False, False]
    """
    rows = np.zeros(len(first) - 1, np.bool_)
    rows[np.searchsorted(first, np.flatnonzero(flags), side="right") - 1] = True
    return rows


def spans(first: Numbers, counts: Numbers) -> Numbers:
    """Return concatenated spans: for each i, `counts[i]` consecutive numbers from `first[i]`.

    >>> spans(np.array([7, 2]), np.array([2, 1])).tolist()
    [7, 8, 2]
    """
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()))


def order_of(owner: Numbers, position: Numbers) -> Numbers:
    """Return the stable sort order of elements by owner and then by position.

    >>> order_of(np.array([1, 0, 1]), np.array([5, 7, 2])).tolist()
    [1, 2, 0]
    """
    if len(owner) == 0:
        return np.zeros(0, np.int64)
    low, span = int(position.min()), int(position.max()) - int(position.min()) + 1
    if owner.min() < 0 or (int(owner.max()) + 1) * span >= 1 << 63:
        return np.lexsort((position, owner))
    # Sorting by one key takes a fraction of the time of two keys, above all if the input is nearly sorted.
    return np.argsort(owner * span + (position - low), kind="stable")
