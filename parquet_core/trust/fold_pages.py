"""Derive bounds of column chunks from page bounds, for chunks without statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.arrow_arrays import filled, from_numpy, numbers_from, valid_flags
from parquet_core.ranks import ranks
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags


def fold_pages(pages: Bounds, container: NDArray[np.int64], containers: int) -> Bounds:
    """Combine the bounds of pages into bounds of their containers.

    `container`: the container of each page, ascending from 0.

    A bound is known if every page that may hold a value has one, and a count if every page has one. A container without
    pages is unknown, with 0 rows. Combined bounds do not count as exact.
    """
    nulls, nans = (numbers_from(filled(counts, 0)) for counts in (pages.null_count, pages.nan_count))
    valueless = nulls + nans == pages.row_count
    starts = np.flatnonzero(np.diff(container, prepend=-1) != 0)
    return Bounds.of(
        lower=_fold_side(pages.lower, valueless, container, containers, smallest=True),
        upper=_fold_side(pages.upper, valueless, container, containers, smallest=False),
        null_count=_sum(pages.null_count, starts, container, containers),
        row_count=_spread(pages.row_count, starts, container, containers),
        nan_count=_sum(pages.nan_count, starts, container, containers),
    )


def _fold_side(
    values: pa.Array, valueless: Flags, container: NDArray[np.int64], containers: int, *, smallest: bool
) -> pa.Array:
    bounded = valid_flags(values)
    silent = np.zeros(containers, np.bool_)
    silent[container[~bounded & ~valueless]] = True
    chosen = np.full(containers, -1)
    (holders,) = np.nonzero(bounded)
    if len(holders):
        (order,) = ranks(values.take(holders))
        owner = container[holders]
        starts = np.flatnonzero(np.diff(owner, prepend=-1) != 0)
        extremes = (np.minimum if smallest else np.maximum).reduceat(order, starts)
        # Pages of the same rank have the same bound, so any of them can be chosen.
        page_of_rank = np.empty(order.max() + 1, np.int64)
        page_of_rank[order] = holders
        chosen[owner[starts]] = page_of_rank[extremes]
    return values.take(from_numpy(chosen, valid=~silent & (chosen >= 0)))


def _sum(counts: pa.Array, starts: NDArray[np.int64], container: NDArray[np.int64], containers: int) -> pa.Array:
    unknown = np.ones(containers, np.bool_)
    unknown[container[starts]] = False
    unknown[container[~valid_flags(counts)]] = True
    sums = _spread(numbers_from(filled(counts, 0)), starts, container, containers)
    return from_numpy(sums, valid=~unknown)


def _spread(
    counts: NDArray[np.int64], starts: NDArray[np.int64], container: NDArray[np.int64], containers: int
) -> NDArray[np.int64]:
    sums = np.zeros(containers, np.int64)
    if len(starts):
        sums[container[starts]] = np.add.reduceat(counts, starts)
    return sums
