"""Segments: row ranges in which no column begins another page.

Page borders differ by column. Their union cuts the rows of all row groups into segments, each within one page of every
column, so that outcomes from pages of several columns can be combined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.arrays import Numbers


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments in global row order.

    `start`: first row.
    `row_group`: position of the row group.
    `page`: one array per column, in the order of `merge_borders`, with the page that contains each segment. Columns
    with the same borders share an array.
    """

    start: Numbers
    row_group: Numbers
    page: tuple[Numbers, ...] = ()

    def __len__(self) -> int:
        return len(self.start)


def merge_borders(group_starts: Numbers, page_starts: Sequence[Numbers]) -> Segments:
    """Merge the borders of row groups and pages into segments.

    `group_starts`, `page_starts`: first rows, counted over all row groups. The caller must leave out row groups without
    rows, because they would share a start with another row group.
    """
    # Columns written with the same page row limit share their borders, so the usual case needs no merge.
    borders = [group_starts]
    which = [_number(starts, borders) for starts in page_starts]
    if len(borders) == 1:
        starts, parts = group_starts, [np.arange(len(group_starts))]
    elif len(borders) == 2 and (positions := _places(group_starts, borders[1])) is not None:
        starts, parts = borders[1], [_spread(positions, len(borders[1])), np.arange(len(borders[1]))]
    else:
        starts, parts = _merge(borders)
    return Segments(starts, parts[0], tuple(parts[i] for i in which))


def _number(starts: Numbers, borders: list[Numbers]) -> int:
    """Return the index of `starts` in `borders`; appended if new."""
    for i, earlier in enumerate(borders):
        if earlier is starts or np.array_equal(earlier, starts):
            return i
    borders.append(starts)
    return len(borders) - 1


def _places(coarse: Numbers, fine: Numbers) -> Numbers | None:
    """Return the indices of `coarse` in `fine`; None if one is missing."""
    positions = np.searchsorted(fine, coarse)
    return positions if positions[-1] < len(fine) and np.array_equal(fine[positions], coarse) else None


def _spread(first: Numbers, count: int) -> Numbers:
    """Return, for each of `count` elements, the number of its run. Run i begins at `first[i]`."""
    return np.repeat(np.arange(len(first)), np.diff(first, append=count))


def _merge(borders: list[Numbers]) -> tuple[Numbers, list[Numbers]]:
    """Return the union of arrays of ascending borders, and the place of its elements in each array.

    For each array, an interval number per element of the union shows between which borders the element is.
    """
    together = np.concatenate(borders)
    # numpy's stable sort merges sorted runs.
    order = np.argsort(together, kind="stable")
    ascending = together[order]
    new = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    union_positions = np.empty(len(order), np.int64)
    union_positions[order] = np.cumsum(new) - 1
    starts = ascending[new]
    edges = np.cumsum([len(part) for part in borders])[:-1]
    return starts, [_spread(first, len(starts)) for first in np.split(union_positions, edges)]


def page_of_segment(segments: Segments, page_starts: Numbers) -> Numbers:
    """Return the page (index in `page_starts`) that contains each segment."""
    return np.searchsorted(page_starts, segments.start, side="right") - 1
