"""Derive file starts, curve cells and distinct values from a sample."""

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
# With fewer sampled values than this, the sample says too little about the rest.
_FEWEST_VALUES = 30


def ranks_of(codes: Sequence[Codes], rows: int) -> Codes:
    """Return each row's rank among the distinct keys.

    `codes`: the columns of the keys.
    """
    if not codes:
        return np.zeros(rows, np.int64)
    order = np.lexsort(tuple(reversed(codes)))
    differs = np.zeros(rows, np.bool_)
    for code in codes:
        differs[1:] |= np.diff(code[order]) != 0
    ranks = np.empty(rows, np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks


def cuts(ranks: Codes, drawn: NDArray[np.bool_], parts: int) -> list[tuple[int, int]]:
    """Return the starts of `parts` ranges of equal size, ascending.

    A start is a pair: the range's first row in the sample, and the range's number. Rows with equal keys are in one
    range, so numbers may be missing.
    """
    rows = np.flatnonzero(drawn)
    rows = rows[np.argsort(ranks[rows], kind="stable")]
    if not len(rows):
        return []
    wanted = rows[np.arange(1, parts) * len(rows) // parts]
    start_ranks = ranks[wanted]
    # Equal starts are merged to the last one; a range that would start at the first key is dropped.
    last = np.append(np.diff(start_ranks) != 0, True)[: len(start_ranks)] & (start_ranks > ranks[rows[0]])
    return [(int(wanted[i]), int(i) + 1) for i in np.flatnonzero(last)]


def at_partitions(
    starts: Sequence[int], ranks: Codes, drawn: NDArray[np.bool_], partitions: Codes, parts: int
) -> list[tuple[int, bool]]:
    """Move each file's start to the start of a nearby partition, by at most half a file.

    Otherwise a partition that ends shortly after a start would get a small file for its last rows. Returns, for each
    file, the first row in the sample, and True if a partition starts there.
    `starts`: the rows of `cuts`.

    >>> rows = np.arange(30)
    >>> at_partitions([10, 20], rows, np.ones(30, np.bool_), rows // 13, 3)
    [(13, True), (20, False)]
    """
    rows = np.flatnonzero(drawn)
    rows = rows[np.argsort(ranks[rows], kind="stable")]
    begins = np.flatnonzero(np.diff(partitions[rows], prepend=-1))
    if len(begins) < _SEVERAL:
        return [(start, False) for start in starts]
    half = len(rows) / parts / 2
    moved_starts: dict[int, bool] = {}
    for position in np.searchsorted(ranks[rows], ranks[list(starts)], side="left").tolist():
        nearest = int(begins[np.argmin(np.abs(begins - position))])
        is_near = abs(nearest - position) <= half
        # The first file already starts at the very first row.
        if nearest or not is_near:
            moved_starts[nearest if is_near else position] = is_near
    return [(int(rows[position]), is_near) for position, is_near in moved_starts.items()]


def values_at(measured: MeasuredData, rows: Sequence[int], columns: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the key values of rows in the sample."""
    taken = [[measured.keys.column(i)[row].as_py() for row in rows] for i in columns]
    return [tuple(values[n] for values in taken) for n in range(len(rows))]


def distinct_per_row_group(measured: MeasuredData, ranks: Codes, partitions: Codes, *, group_rows: int) -> list[int]:
    """Estimate, for each bloom column, the largest number of distinct values in a row group.

    A bloom filter is sized for one row group, and the number of values in a row group depends on the sort order: the
    rows of a customer may be in one row group, or in every row group. So the key is cut into slices of at least the
    size of a row group, and the largest number of values in a slice is used. Too large a number wastes bytes, too small
    a number exceeds the requested false-positive rate: hence three standard deviations are added, up to the number of
    rows.
    """
    drawn, rows = measured.drawn, measured.size.rows
    slices = max(1, min(rows // group_rows, int(drawn.sum()) // SAMPLE_PER_FILE))
    before = np.searchsorted(np.sort(ranks[drawn]), ranks, side="left")
    # A file holds rows of one partition only.
    part = partitions * slices + before * slices // max(1, int(drawn.sum()) + 1)
    return [
        max(1, min(group_rows, _most_values(hashes, part, measured.rate, in_all)))
        for hashes, in_all in zip(measured.hashes, measured.distinct, strict=True)
    ]


def _most_values(hashes: NDArray[np.float64], part: Codes, rate: float, in_all: int) -> int:
    sampled, most = hashes < rate, math.ceil(in_all * DISTINCT_MARGIN)
    values, value_numbers = np.unique(hashes[sampled], return_inverse=True)
    pairs = np.unique(np.stack([part[sampled], value_numbers.astype(np.int64)]), axis=1)
    count = int(np.unique(pairs[0], return_counts=True)[1].max(initial=0))
    if rate == 1.0:
        return count
    if len(values) < _FEWEST_VALUES:
        return most
    return min(most, math.ceil((count + 3 * math.sqrt(count)) / rate))
