"""Segments: ranges of rows in which no column of several begins another page.

Page borders differ by column. Their union cuts the rows of all row groups into segments within which
no column changes its page, so that answers about pages can meet.
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
    """Segments in global row order: first row of each, and which row group (position) it lies in.

    `page`: by column, in the order of `merge_borders`, which of its pages each segment lies in. Columns with the same
    borders share an array.
    """

    start: Numbers
    row_group: Numbers
    page: tuple[Numbers, ...] = ()

    def __len__(self) -> int:
        return len(self.start)


def merge_borders(group_starts: Numbers, page_starts: Sequence[Numbers]) -> Segments:
    """Merge the first global rows of row groups and of each column's pages into segments.

    Row groups without rows must be left out: two of them would begin at the same row.
    """
    # Columns written with the same page row limit share their borders: the usual case is free.
    borders = [group_starts]
    which = [_number(starts, borders) for starts in page_starts]
    if len(borders) == 1:
        starts, parts = group_starts, [np.arange(len(group_starts))]
    elif len(borders) == 2 and (at := _places(group_starts, borders[1])) is not None:
        starts, parts = borders[1], [_spread(at, len(borders[1])), np.arange(len(borders[1]))]
    else:
        starts, parts = _merge(borders)
    return Segments(starts, parts[0], tuple(parts[i] for i in which))


def _number(starts: Numbers, borders: list[Numbers]) -> int:
    """Return which of the borders these are, and add them where they are none."""
    for i, known in enumerate(borders):
        if known is starts or np.array_equal(known, starts):
            return i
    borders.append(starts)
    return len(borders) - 1


def _places(coarse: Numbers, fine: Numbers) -> Numbers | None:
    """Return where the starts of `coarse` stand in `fine`; None where it lacks one."""
    at = np.searchsorted(fine, coarse)
    return at if at[-1] < len(fine) and np.array_equal(fine[at], coarse) else None


def _spread(first: Numbers, count: int) -> Numbers:
    """Return the numbers of runs that begin at these elements, for each of `count` elements."""
    return np.repeat(np.arange(len(first)), np.diff(first, append=count))


def _merge(borders: list[Numbers]) -> tuple[Numbers, list[Numbers]]:
    """Return the union of ascending borders, and the part of each that every element of it lies in."""
    together = np.concatenate(borders)
    # Of sorted runs, a stable sort is a merge.
    order = np.argsort(together, kind="stable")
    ascending = together[order]
    new = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    at = np.empty(len(order), np.int64)
    at[order] = np.cumsum(new) - 1
    starts = ascending[new]
    edges = np.cumsum([len(part) for part in borders])[:-1]
    return starts, [_spread(first, len(starts)) for first in np.split(at, edges)]


def page_of_segment(segments: Segments, page_starts: Numbers) -> Numbers:
    """Return for each segment the page (position in `page_starts`) that it lies in."""
    return np.searchsorted(page_starts, segments.start, side="right") - 1
