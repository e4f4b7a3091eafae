"""Byte ranges of structures in footers, and their conflicts.

The structures are column chunks, page indexes and bloom filters.
Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.format.compact import BINARY, ENCODED, INTEGER, MISSING, struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.arrays import Flags, Numbers


# The fields of ColumnChunk with offsets and lengths, which are decoded for every column.
CHUNK_PLACES = struct(
    {
        1: BINARY,  # file_path
        3: struct({5: INTEGER, 7: INTEGER, 9: INTEGER, 11: INTEGER, 14: INTEGER, 15: INTEGER}),
        4: INTEGER,
        5: INTEGER,
        6: INTEGER,
        7: INTEGER,
        8: ENCODED,  # crypto_metadata
    },
    least=3,  # file_offset
)


class Conflict(IntFlag):
    """Contradictions of a column chunk with itself, its row group or file."""

    FEWER_VALUES = 1
    MORE_VALUES = 2
    DATA = 4
    SHARED_FILTER = 8
    SHARED_INDEX = 16


class Surroundings(NamedTuple):
    """File and row group of column chunks.

    `file`, `row_count`: per column chunk, the number of its file and the rows of its row group. `sizes`: per file, its
    size in bytes.
    """

    file: Numbers
    row_count: Numbers
    sizes: Numbers


def conflicts(table: Numbers, around: Surroundings) -> NDArray[np.uint8]:
    """Return the conflicts of each column chunk, as bits of Conflict.

    `table`: decoded rows of CHUNK_PLACES. Chunks that are encrypted, in another file, or lack a field have no
    conflicts. An unrepeated column has one value per row, nulls included. A repeated column has at least one value
    per row, so its MORE_VALUES flags are not contradictions.
    """
    column_of = CHUNK_PLACES.offset
    here = (table[:, column_of(8)] == MISSING) & (table[:, column_of(1) + 1] <= 0)
    here &= (table[:, column_of(3, 5)] >= 0) & (table[:, column_of(3, 7)] >= 0) & (table[:, column_of(3, 9)] >= 0)
    if here.all():
        return _conflicts(table, around)
    reasons = np.zeros(len(table), np.uint8)
    reasons[here] = _conflicts(table[here], around._replace(file=around.file[here], row_count=around.row_count[here]))
    return reasons


def _conflicts(table: Numbers, around: Surroundings) -> NDArray[np.uint8]:
    column_of, size = CHUNK_PLACES.offset, around.sizes[around.file]
    num_values, data_page, dictionary = table[:, column_of(3, 5)], table[:, column_of(3, 9)], table[:, column_of(3, 11)]
    offset = np.where((dictionary > 0) & (dictionary < data_page), dictionary, data_page)
    length = np.where(num_values > 0, table[:, column_of(3, 7)], 0)
    # Without a length, assume a filter of one byte.
    filter_bytes = table[:, column_of(3, 15)]
    filter_bytes = np.where(filter_bytes < 0, 1, filter_bytes)
    ranges = (
        (offset, length),
        (table[:, column_of(3, 14)], filter_bytes),
        (table[:, column_of(4)], table[:, column_of(5)]),
        (table[:, column_of(6)], table[:, column_of(7)]),
    )
    data, filters, *indexes = _sharing(ranges, around)
    # The comparisons avoid sums of offsets and lengths, which could overflow.
    outside = (length > size) | (offset > size - length) | (data_page - offset > length)
    reasons = np.zeros(len(table), np.uint8)
    for conflict, flags in (
        (Conflict.FEWER_VALUES, num_values < around.row_count),
        (Conflict.MORE_VALUES, num_values > around.row_count),
        (Conflict.DATA, data | (outside & (num_values > 0))),
        (Conflict.SHARED_FILTER, filters),
        (Conflict.SHARED_INDEX, indexes[0] | indexes[1]),
    ):
        reasons[flags] |= np.uint8(conflict)
    return reasons


def _sharing(ranges: tuple[tuple[Numbers, Numbers], ...], around: Surroundings) -> list[Flags]:
    """Flag chunks whose range overlaps another range of the file.

    Returns one array per kind of range. `ranges`: offset and length by kind; the first kind is data. A range is missing
    if its offset or length is not positive, except that data may begin at 0.
    """
    # Shift the ranges of each file so that ranges of different files never overlap.
    base, size = (np.cumsum(around.sizes) - around.sizes)[around.file], around.sizes[around.file]
    starts, stops, there = [], [], []
    for owner, (offset, length) in enumerate(ranges):
        is_range = (length > 0) & (offset < size) & (offset > (0 if owner else -1))
        chunks = np.flatnonzero(is_range)
        start = offset[chunks]
        there.append(chunks + owner * len(size))
        starts.append(base[chunks] + start)
        stops.append(starts[-1] + np.minimum(length[chunks], size[chunks] - start))
    shared = np.zeros(len(ranges) * len(size), np.bool_)
    shared[np.concatenate(there)[_overlapping(np.concatenate(starts), np.concatenate(stops))]] = True
    return np.split(shared, len(ranges))


def _overlapping(start: Numbers, stop: Numbers) -> Numbers:
    """Return the indices of ranges that overlap another range."""
    order = np.argsort(start, kind="stable")
    start, stop = start[order], stop[order]
    overlaps = np.zeros(len(order), np.bool_)
    overlaps[1:] = start[1:] < np.maximum.accumulate(stop)[:-1]
    overlaps[:-1] |= stop[:-1] > start[1:]
    return order[overlaps]
