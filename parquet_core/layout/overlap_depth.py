"""Overlap depth: how many containers have to be opened for one value, where their bounds overlap most."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, from_numpy, numbers_from
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.trust.bounds import Bounds

    Positions = NDArray[np.int64]


class Intervals(NamedTuple):
    """The bounds of containers as ranks, both ends included; those of two partitions have no rank in common.

    `at`: which containers, those that have a value and bounds of it; `partition` of each. `unknown`, by partition: how
    many more have a value and no bounds.
    """

    at: Positions
    low: Positions
    high: Positions
    partition: Positions
    unknown: Positions


def intervals_of(bounds: Bounds, partition: Positions | None = None) -> Intervals:
    """Rank bounds; `partition`: a number for that of each container, from 0 on.

    A container of nulls and NaN alone has no value to look for, and is left out.
    """
    of = np.zeros(len(bounds), np.int64) if partition is None else partition
    valued = may_hold_values(bounds)
    known = flags_from(pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid()))
    at = np.flatnonzero(valued & known)
    low, high = ranks(*(side.take(from_numpy(at)) for side in (bounds.lower, bounds.upper)))
    apart = of[at] * (int(high.max(initial=0)) + 1)
    unknown = np.bincount(of[valued & ~known], minlength=int(of.max(initial=0)) + 1)
    return Intervals(at, low + apart, high + apart, of[at], unknown)


def may_hold_values(bounds: Bounds) -> NDArray[np.bool_]:
    """Tell for each container whether it may hold a value beside nulls and NaN."""
    nulls, nans = numbers_from(filled(bounds.null_count, -1)), numbers_from(filled(bounds.nan_count, 0))
    valued: NDArray[np.bool_] = (nulls < 0) | (nulls + nans != bounds.row_count)
    return valued & (bounds.row_count > 0)


def overlap_depth(intervals: Intervals) -> float | None:
    """Return the average, over the containers, of how many cover the most covered point of each.

    Snowflake's average overlap depth: 1.0 where no value lies in two containers, k where k containers all overlap.

    >>> from parquet_core.trust.bounds import Bounds
    >>> import pyarrow as pa
    >>> lower, upper, no_nulls = pa.array([0, 4, 9]), pa.array([5, 8, 9]), pa.array([0, 0, 0])
    >>> round(overlap_depth(intervals_of(Bounds(lower, upper, no_nulls, np.array([10, 10, 10])))), 2)
    1.67

    Bounds that share one value overlap: a reader that looks for it opens both. A container without bounds is opened
    for every value, so it covers every point of its partition. None where no container has bounds.
    """
    if not len(intervals.at):
        return None
    partition, unknown = intervals.partition, intervals.unknown
    depth = _most_covered(intervals.low, intervals.high)
    deepest = np.zeros(len(unknown), np.int64)
    np.maximum.at(deepest, partition, depth)
    total = (depth + unknown[partition]).sum() + (unknown * (deepest + unknown)).sum()
    return float(total / (len(depth) + unknown.sum()))


def _most_covered(low: Positions, high: Positions) -> Positions:
    """Return how many intervals cover the most covered point of each: one where some interval begins."""
    order = np.argsort(low)
    low, high = low[order], high[order]
    begins = np.flatnonzero(np.diff(low, prepend=low[0] - 1))
    points = low[begins]
    covered = np.append(begins[1:], len(low)) - np.searchsorted(np.sort(high), points)
    first = np.repeat(np.arange(len(points)), np.diff(begins, append=len(low)))
    depth = np.empty_like(low)
    depth[order] = _greatest(covered, first, np.searchsorted(points, high, side="right"))
    return depth


def _greatest(values: Positions, first: Positions, stop: Positions) -> Positions:
    """Return the greatest of the values from each first to before its stop: of two spans of 2 ** n that cover it."""
    length = stop - first
    greatest = np.ones_like(values, shape=len(first))
    width, spans = 1, values
    while len(spans):
        here = np.flatnonzero((length >= width) & (length < 2 * width))
        greatest[here] = np.maximum(spans[first[here]], spans[stop[here] - width])
        spans = np.maximum(spans[:-width], spans[width:])
        width *= 2
    return greatest
