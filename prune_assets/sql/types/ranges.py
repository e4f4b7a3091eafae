"""Sets of ordinals (integers that represent values) as sorted, disjoint ranges with gaps between them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class ValueRanges:
    """A set of ordinals as pairs (first, last), both included, in ascending order with a gap between neighbours."""

    pairs: tuple[tuple[int, int], ...] = ()

    def __contains__(self, ordinal: int) -> bool:
        i = bisect_right(self.pairs, ordinal, key=itemgetter(0))
        return i > 0 and ordinal <= self.pairs[i - 1][1]

    def __bool__(self) -> bool:
        return bool(self.pairs)


NOTHING = ValueRanges()


def span(first: int, last: int) -> ValueRanges:
    """Return the ordinals from first to last; empty if first is greater than last."""
    return ValueRanges(((first, last),)) if first <= last else NOTHING


def union(*sets: ValueRanges) -> ValueRanges:
    """Return the union of the sets.

    >>> union(span(1, 2), span(3, 4), span(9, 9)).pairs
    ((1, 4), (9, 9))
    """
    return joined(pair for value_ranges in sets for pair in value_ranges.pairs)


def joined(pairs: Iterable[tuple[int, int]]) -> ValueRanges:
    """Return the union of ranges, given in any order."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return ValueRanges(tuple(merged))


def intersection(left: ValueRanges, right: ValueRanges) -> ValueRanges:
    """Return the intersection of two sets.

    >>> intersection(ValueRanges(((1, 5), (8, 9))), span(4, 8)).pairs
    ((4, 5), (8, 8))
    """
    if not left.pairs or not right.pairs:
        return NOTHING
    low, high = right.pairs[0]
    if len(right.pairs) == 1 and low <= left.pairs[0][0] and left.pairs[-1][1] <= high:
        return left
    shared: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left.pairs) and j < len(right.pairs):
        (start, stop), (other_start, other_stop) = left.pairs[i], right.pairs[j]
        if max(start, other_start) <= min(stop, other_stop):
            shared.append((max(start, other_start), min(stop, other_stop)))
        if stop < other_stop:
            i += 1
        else:
            j += 1
    return ValueRanges(tuple(shared))


def complement(ranges: ValueRanges, first: int, last: int) -> ValueRanges:
    """Return the ordinals from `first` to `last` that are not in the set.

    >>> complement(span(3, 4), 1, 9).pairs
    ((1, 2), (5, 9))
    """
    gaps: list[tuple[int, int]] = []
    start = first
    for low, high in intersection(ranges, span(first, last)).pairs:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= last:
        gaps.append((start, last))
    return ValueRanges(tuple(gaps))
