"""What a sample tells: where files begin, where a curve's cells begin, how many values meet in a row group."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from prune_assets.tables.writes.measuring import DISTINCT_MARGIN, SAMPLE_PER_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prune_assets.tables.writes.measuring import MeasuredData

    Codes = NDArray[np.int64]

_SEVERAL = 2
# Of fewer values than these a share tells too little about the others.
_FEWEST_VALUES = 30


def places_of(codes: Sequence[Codes], rows: int) -> Codes:
    """Return the place of each row among the distinct keys, whose columns `codes` are."""
    if not codes:
        return np.zeros(rows, np.int64)
    order = np.lexsort(tuple(reversed(codes)))
    differs = np.zeros(rows, np.bool_)
    for code in codes:
        differs[1:] |= np.diff(code[order]) != 0
    places = np.empty(rows, np.int64)
    places[order] = np.cumsum(differs)
    return places


def cuts(places: Codes, drawn: NDArray[np.bool_], parts: int) -> list[tuple[int, int]]:
    """Return where so many parts of equal size begin: (a row of the sample that begins one, its number), ascending.

    Rows of one place are never parted, so there may be fewer; the number says which part it were without that.
    """
    rows = np.flatnonzero(drawn)
    rows = rows[np.argsort(places[rows], kind="stable")]
    if not len(rows):
        return []
    wanted = rows[np.arange(1, parts) * len(rows) // parts]
    at = places[wanted]
    # Of equal ones the last; what begins at the first place of all begins no part.
    last = np.append(np.diff(at) != 0, True)[: len(at)] & (at > places[rows[0]])
    return [(int(wanted[i]), int(i) + 1) for i in np.flatnonzero(last)]


def at_partitions(
    starts: Sequence[int], places: Codes, drawn: NDArray[np.bool_], partitions: Codes, parts: int
) -> list[tuple[int, bool]]:
    """Move where files begin to where a partition does, if that is at most half a file away; tell which begin there.

    A partition that a cut leaves a few rows of would get a small file for them. Of `cuts` these are the rows.

    >>> rows = np.arange(30)
    >>> at_partitions([10, 20], rows, np.ones(30, np.bool_), rows // 13, 3)
    [(13, True), (20, False)]
    """
    rows = np.flatnonzero(drawn)
    rows = rows[np.argsort(places[rows], kind="stable")]
    begins = np.flatnonzero(np.diff(partitions[rows], prepend=-1))
    if len(begins) < _SEVERAL:
        return [(start, False) for start in starts]
    half = len(rows) / parts / 2
    found: dict[int, bool] = {}
    for place in np.searchsorted(places[rows], places[list(starts)], side="left").tolist():
        nearest = int(begins[np.argmin(np.abs(begins - place))])
        is_near = abs(nearest - place) <= half
        # At the first row of all no file begins anew.
        if nearest or not is_near:
            found[nearest if is_near else place] = is_near
    return [(int(rows[place]), is_near) for place, is_near in found.items()]


def values_at(measured: MeasuredData, rows: Sequence[int], columns: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the key values of rows of the sample."""
    taken = [[measured.keys.column(i)[row].as_py() for row in rows] for i in columns]
    return [tuple(values[n] for values in taken) for n in range(len(rows))]


def distinct_per_row_group(measured: MeasuredData, places: Codes, partitions: Codes, *, group_rows: int) -> list[int]:
    """Estimate, per bloom column, the most distinct values in one row group.

    A bloom filter is sized for one row group, and how many of a column's values meet in it depends on the sort: all
    rows of a customer lie together or in every row group. So the key is cut into slices at least as large as a row
    group, the values of each slice are counted, and the largest count wins. Too large a count wastes bytes, too small
    a one breaks the asked probability: hence the largest, three standard deviations, and never more than the rows.
    """
    drawn, rows = measured.drawn, measured.size.rows
    slices = max(1, min(rows // group_rows, int(drawn.sum()) // SAMPLE_PER_FILE))
    before = np.searchsorted(np.sort(places[drawn]), places, side="left")
    # A file holds rows of one partition alone.
    part = partitions * slices + before * slices // max(1, int(drawn.sum()) + 1)
    return [
        max(1, min(group_rows, _most_values(hashes, part, measured.rate, in_all)))
        for hashes, in_all in zip(measured.hashes, measured.distinct, strict=True)
    ]


def _most_values(hashes: NDArray[np.float64], part: Codes, rate: float, in_all: int) -> int:
    known, most = hashes < rate, math.ceil(in_all * DISTINCT_MARGIN)
    values, number = np.unique(hashes[known], return_inverse=True)
    pairs = np.unique(np.stack([part[known], number.astype(np.int64)]), axis=1)
    count = int(np.unique(pairs[0], return_counts=True)[1].max(initial=0))
    if rate == 1.0:
        return count
    if len(values) < _FEWEST_VALUES:
        return most
    return min(most, math.ceil((count + 3 * math.sqrt(count)) / rate))
