"""Check that files and row groups do not overlap.

The overlap depth is the number of containers that a query opens for the value that most of their bounds include. Two
files may share the value where one ends and the next begins. This is not reported as an overlap, because any sort of
rows with equal keys may split them. The overlap depth counts both files, since a reader that looks for this value opens
both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, from_numpy, numbers_from
from parquet_core.dataset.unread_columns import unread_columns
from parquet_core.fix import Fix, Step
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.places import file_name, row_group_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted
from parquet_core.ranks import ranks
from parquet_core.spark_rules.calendars import common_calendar_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_core.arrays import Positions
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.bound_layout import BoundLayout
    from parquet_core.trust.bounds import Bounds


class Intervals(NamedTuple):
    """Bounds of containers as ranks, both ends included.

    Partitions have disjoint ranks.
    `at`: numbers of the containers that may hold values and have bounds.
    `low`, `high`, `partition`: ranks and partition of each of these containers.
    `unknown`: for each partition, the number of containers that may hold values but have no bounds.
    """

    at: Positions
    low: Positions
    high: Positions
    partition: Positions
    unknown: Positions


def intervals_of(bounds: Bounds, partition: Positions | None = None) -> Intervals:
    """Rank the bounds of containers.

    `partition`: a partition number per container, counted from 0. Containers with only nulls and NaN are left out,
    because no query looks for a value in them.
    """
    of = np.zeros(len(bounds), np.int64) if partition is None else partition
    valued, lower = may_hold_values(bounds), comparable_minima(bounds)
    bounded = flags_from(pc.and_(lower.is_valid(), bounds.upper.is_valid()))
    containers = np.flatnonzero(valued & bounded)
    low, high = ranks(*(side.take(from_numpy(containers)) for side in (lower, bounds.upper)))
    apart = of[containers] * (int(high.max(initial=0)) + 1)
    unknown = np.bincount(of[valued & ~bounded], minlength=int(of.max(initial=0)) + 1)
    return Intervals(containers, low + apart, high + apart, of[containers], unknown)


def comparable_minima(bounds: Bounds) -> pa.Array:
    """Return the lower bounds. For dates and timestamps, the common calendar start replaces unknown lower bounds.

    A lower bound before this start is unknown, because calendars differ before it. Its container is compared with
    others only from the start on.
    """
    lower, upper = bounds.lower, bounds.upper
    if not (pa.types.is_date32(lower.type) or pa.types.is_timestamp(lower.type)):
        return lower
    early = pc.and_(lower.is_null(), upper.is_valid())
    return pc.if_else(early, common_calendar_start(lower.type), lower)


def may_hold_values(bounds: Bounds) -> NDArray[np.bool_]:
    """Flag containers that may hold values other than nulls and NaN."""
    nulls, nans = numbers_from(filled(bounds.null_count, -1)), numbers_from(filled(bounds.nan_count, 0))
    valued: NDArray[np.bool_] = (nulls < 0) | (nulls + nans != bounds.row_count)
    return valued & (bounds.row_count > 0)


def overlap_depth(intervals: Intervals) -> float | None:
    """Return Snowflake's average overlap depth; None if no container has bounds.

    The depth of a container is the number of containers that cover its most covered point. The average is 1.0 if no two
    containers include the same value, and k if k containers all overlap.

    >>> from parquet_core.trust.bounds import Bounds
    >>> import pyarrow as pa
    >>> lower, upper, no_nulls = pa.array([0, 4, 9]), pa.array([5, 8, 9]), pa.array([0, 0, 0])
    >>> round(overlap_depth(intervals_of(Bounds.of(lower, upper, no_nulls, np.array([10, 10, 10])))), 2)
    1.67

    Bounds that share one value overlap: a reader that looks for it opens both. A container without bounds is opened for
    every value, so it covers every point of its partition.
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
    """Return, for each interval, the largest number of intervals that share one of its points.

    Only points where some interval begins need to be counted.
    """
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
    """Return the maximum of `values[first:stop]` for each pair of `first` and `stop`.

    Each range is covered by two spans of 2 ** n values, whose maxima are computed for all positions.
    """
    length = stop - first
    greatest = np.ones_like(values, shape=len(first))
    width, spans = 1, values
    while len(spans):
        here = np.flatnonzero((length >= width) & (length < 2 * width))
        greatest[here] = np.maximum(spans[first[here]], spans[stop[here] - width])
        spans = np.maximum(spans[:-width], spans[width:])
        width *= 2
    return greatest


_FIX = Fix("rewrite the files that overlap: ", Step.OPTIMIZE)


def check_overlap(bound: BoundLayout) -> Iterator[Finding]:
    """Report whether files and row groups overlap on the sort key.

    Only the first column of the sort key is compared. Row groups are compared over all files. Only containers of the
    same partition are compared.
    """
    if not bound.sort_key:
        return
    index, column = bound.index, bound.sort_key[0].column
    bounds = index.page_indexes.filled_bounds(column)
    all_null = flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    valued = np.flatnonzero((index.groups.row_count > 0) & ~all_null)
    low, high = comparable_minima(bounds).take(valued), bounds.upper.take(valued)
    if low.null_count or high.null_count:
        unknown = valued[~flags_from(pc.and_(low.is_valid(), high.is_valid()))]
        why, remedy = "", "write with Spark 3.3 or newer and leave statistics on"
        for each in unread_columns(index):
            if each.name == column.name:
                why, remedy = f"; {each.message(file_name(index, int(each.files[0])))}", each.remedy
        yield Finding(
            "overlap.unknown",
            Severity.ERROR,
            row_group_place(index, int(unknown[0]), column),
            f"no trusted bounds in {len(unknown):,} of {counted(len(valued), 'row group')}: overlap is unknown{why}",
            remedy,
        )
        return
    groups = intervals_of(bounds, bound.partition[index.groups.file])
    file = index.groups.file[groups.at]
    first = np.flatnonzero(np.diff(file, prepend=-1))
    if len(first):
        files = groups._replace(
            at=file[first],
            low=np.minimum.reduceat(groups.low, first),
            high=np.maximum.reduceat(groups.high, first),
            partition=groups.partition[first],
        )
        yield _finding("file", column, files, [file_name(index, int(i)) for i in files.at])
    yield _finding("row group", column, groups, [row_group_place(index, int(i)) for i in groups.at])


def _finding(unit: str, column: LeafColumn, intervals: Intervals, labels: list[str]) -> Finding:
    units, location, many = f"{unit.replace(' ', '_')}s", f"column {column.name}", counted(len(labels), unit)
    within = " within their partitions" if intervals.partition.any() else ""
    depth = overlap_depth(intervals)
    depth_text = "" if depth is None else f"; overlap depth {depth:.2f}"
    order = np.lexsort((intervals.high, intervals.low))
    # Intervals that only touch do not overlap.
    late = intervals.low[order][1:] < np.maximum.accumulate(intervals.high[order])[:-1]
    if not late.any():
        apart = f"do{'es' * (len(labels) == 1)} not overlap"
        how = apart if depth in {None, 1.0} else "do not overlap, but share values where one ends and the next begins"
        return Finding(f"overlap.{units}", Severity.INFO, location, f"{many} {how}{within}{depth_text}")
    first_late = int(np.argmax(late))
    inner, outer = labels[order[first_late + 1]], labels[order[int(np.argmax(intervals.high[order[: first_late + 1]]))]]
    overlapping = np.count_nonzero(np.append(late, values=False) | np.insert(late, 0, values=False))
    message = f"overlaps {outer}; {overlapping:,} of {many} overlap another{within}{depth_text} (1 if none overlap)"
    return Finding(f"overlap.{units}", Severity.ERROR, f"{location}: {inner}", message, fix=_FIX)


FILES_DO_NOT_OVERLAP = Check(
    "files_do_not_overlap",
    "Files and row groups do not overlap on the sort key, within the partitions of the layout.",
    {
        "overlap.files": Code(
            "The bounds of files overlap on the first column of the sort key, so a query for one value opens all "
            "files whose bounds include it. It is not a fault if the last value of a file is also the first value of "
            "the next file. The message gives the overlap depth, as Snowflake counts it: the number of files that a "
            "query opens for the value that most files include, for each file, as an average over the files. It is 1 "
            "where no two files include the same value, and 60 where all of 60 files include one value. A value that "
            "ends one file and begins the next counts for both. Dates before 1582-10-15 and timestamps before "
            "1900-01-03 are not compared with each other where calendars may differ.",
        ),
        "overlap.row_groups": Code("Like `overlap.files`, for the row groups of all files."),
        "overlap.unknown": Code(
            "Row groups have no trusted bounds of the first column of the sort key, so their overlap is unknown and "
            "no query on the column can skip them.",
            "Write with Spark 3.3 or newer, and leave statistics on.",
        ),
        "partitions.columns": Code(
            "The table is partitioned by other columns than `partition_by` of the layout names, or in another order. "
            "A layout without `partition_by` does not restrict them.",
        ),
    },
    check_overlap,
)
