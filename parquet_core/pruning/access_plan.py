"""Access plan: read nothing, everything or chosen rows of each row group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.ragged import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.pruning.segments import Segments

    RowRanges = NDArray[np.int64]


def overlaps(ranges: RowRanges, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Flag the intervals [starts, stops) that share a row with the ranges.

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


class Verdict(IntEnum):
    """How to read a row group."""

    SKIP = 0
    SCAN = 1
    SELECTION = 2


@dataclass(frozen=True, slots=True)
class RangeList:
    """Row ranges of many row groups.

    Entry i is rows start[i] to stop[i] (exclusive) of row group `row_group[i]`; rows are counted within the row group.
    The ranges are disjoint and sorted by row group and start.
    """

    row_group: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    def of(self, position: int) -> NDArray[np.int64]:
        """Return the ranges of one row group, shape (n, 2)."""
        first, last = np.searchsorted(self.row_group, [position, position + 1])
        return np.column_stack([self.start[first:last], self.stop[first:last]])

    def take(self, positions: NDArray[np.int64]) -> RangeList:
        """Select row groups and renumber them in the order of `positions`."""
        low, high = (np.searchsorted(self.row_group, positions, side) for side in ("left", "right"))
        chosen = spans(low, high - low)
        renumbered = np.repeat(np.arange(len(positions)), high - low)
        return RangeList(renumbered, self.start[chosen], self.stop[chosen])

    def only(self, chosen: NDArray[np.bool_]) -> RangeList:
        """Return the ranges of flagged row groups, which keep their numbers."""
        here = chosen[self.row_group]
        return RangeList(self.row_group[here], self.start[here], self.stop[here])

    def as_dataset_rows(self, base: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ranges as rows of the dataset, shape (n, 2).

        `base`: the first row of each row group in the dataset.
        """
        return np.column_stack([base[self.row_group] + self.start, base[self.row_group] + self.stop])

    def row_totals(self, count: int) -> NDArray[np.int64]:
        """Return, for each of `count` row groups, the number of its rows in the ranges."""
        totals = np.bincount(self.row_group, weights=self.stop - self.start, minlength=count)
        return totals.astype(np.int64)


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """Verdict per row group, rows to read and rows proven to match.

    `ranges`: rows to read. `matches`: rows that are proven to be selected.
    """

    verdict: NDArray[np.uint8]
    ranges: RangeList
    matches: RangeList

    def take(self, positions: NDArray[np.int64]) -> AccessPlan:
        """Select row groups and renumber them from 0."""
        return AccessPlan(self.verdict[positions], self.ranges.take(positions), self.matches.take(positions))


def whole_groups(positions: NDArray[np.int64], row_count: NDArray[np.int64]) -> RangeList:
    """Return one range with all rows for each row group."""
    return RangeList(positions, np.zeros(len(positions), np.int64), row_count[positions])


def flagged_segments(
    flags: NDArray[np.bool_], segments: Segments, positions: NDArray[np.int64], row_count: NDArray[np.int64]
) -> RangeList:
    """Join flagged segments into ranges that never cross a row group.

    `positions`: the row groups to which `segments.row_group` refers. `row_count`: rows of every row group of the
    dataset.
    """
    if len(flags) == 0:
        return whole_groups(np.zeros(0, np.int64), row_count)
    base = np.concatenate([[0], np.cumsum(row_count[positions])])
    group = segments.row_group
    new_group = np.concatenate([[True], group[1:] != group[:-1]])
    before = np.concatenate([[False], flags[:-1]]) & ~new_group
    after = np.concatenate([flags[1:], [False]]) & ~np.concatenate([new_group[1:], [True]])
    first, last = np.flatnonzero(flags & ~before), np.flatnonzero(flags & ~after)
    stops = np.append(segments.start[1:], base[-1])
    start = segments.start[first] - base[group[first]]
    return RangeList(positions[group[first]], start, stops[last] - base[group[first]])


def join(left: RangeList, right: RangeList) -> RangeList:
    """Merge the ranges of two disjoint sets of row groups."""
    row_group = np.concatenate([left.row_group, right.row_group])
    order = np.argsort(row_group, kind="stable")
    return RangeList(
        row_group[order],
        np.concatenate([left.start, right.start])[order],
        np.concatenate([left.stop, right.stop])[order],
    )


def make_access_plan(ranges: RangeList, matches: RangeList, row_count: NDArray[np.int64]) -> AccessPlan:
    """Derive verdicts: SKIP if no row is read, SCAN if all are."""
    rows = ranges.row_totals(len(row_count))
    verdict = np.full(len(row_count), Verdict.SELECTION, np.uint8)
    verdict[rows == row_count] = Verdict.SCAN
    verdict[rows == 0] = Verdict.SKIP
    return AccessPlan(verdict, ranges, matches)
