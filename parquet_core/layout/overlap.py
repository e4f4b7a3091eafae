"""Proof that files and row groups do not overlap on the sort key.

Those that share one value, where one ends and the next begins, are in order: rows of equal keys make every sort do so.
The overlap depth counts them, since a reader that looks for that value opens both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.dataset.unread_columns import unread_columns
from parquet_core.fix import Fix, Step
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.overlap_depth import intervals_of, overlap_depth
from parquet_core.layout.places import file_name, row_group_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.bound_layout import BoundLayout
    from parquet_core.layout.overlap_depth import Intervals

_FIX = Fix("rewrite the files that overlap: ", Step.OPTIMIZE)


def check_overlap(bound: BoundLayout) -> Iterator[Finding]:
    """Report whether files, and row groups over all files, are disjoint on the first column of the key.

    Only those of one partition are compared.
    """
    if not bound.sort_key:
        return
    index, column = bound.index, bound.sort_key[0].column
    bounds = index.page_indexes.filled_bounds(column)
    all_null = flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    valued = np.flatnonzero((index.row_count > 0) & ~all_null)
    low, high = bounds.lower.take(valued), bounds.upper.take(valued)
    if low.null_count or high.null_count:
        unknown = valued[~flags_from(pc.and_(low.is_valid(), high.is_valid()))]
        why, remedy = "", "write with Spark 3.3 or newer and leave statistics on"
        for each in unread_columns(index):
            if each.name == column.name:
                why, remedy = f"; {each.said(file_name(index, int(each.files[0])))}", each.remedy
        yield Finding(
            "overlap.unknown",
            Severity.ERROR,
            row_group_place(index, int(unknown[0]), column),
            f"no trusted bounds in {len(unknown):,} of {counted(len(valued), 'row group')}: overlap is unknown{why}",
            remedy,
        )
        return
    groups = intervals_of(bounds, bound.partition[index.file])
    file = index.file[groups.at]
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
    # Of those that begin where one that comes earlier ends, none is late.
    late = intervals.low[order][1:] < np.maximum.accumulate(intervals.high[order])[:-1]
    if not late.any():
        apart = f"do{'es' * (len(labels) == 1)} not overlap"
        how = apart if depth in {None, 1.0} else "do not overlap, but share values where one ends and the next begins"
        return Finding(f"overlap.{units}", Severity.INFO, location, f"{many} {how}{within}{depth_text}")
    at = int(np.argmax(late))
    inner, outer = labels[order[at + 1]], labels[order[int(np.argmax(intervals.high[order[: at + 1]]))]]
    overlapping = np.count_nonzero(np.append(late, values=False) | np.insert(late, 0, values=False))
    message = f"overlaps {outer}; {overlapping:,} of {many} overlap another{within}{depth_text} (1 if none overlap)"
    return Finding(f"overlap.{units}", Severity.ERROR, f"{location}: {inner}", message, fix=_FIX)


FILES_DO_NOT_OVERLAP = Check(
    "files_do_not_overlap",
    "Files and row groups do not overlap on the sort key, within the partitions of the layout.",
    {
        "overlap.files": Code(
            "The bounds of files overlap on the first column of the sort key, so a query for one value opens all "
            "files whose bounds include it. It is no fault where the last value of a file is also the first value of "
            "the next file. The message gives the overlap depth, as Snowflake counts it: the number of files that a "
            "query opens for the value that most files include, for each file, as an average over the files. It is 1 "
            "where no two files include the same value, and 60 where all of 60 files include one value. A value that "
            "ends one file and begins the next counts for both.",
        ),
        "overlap.row_groups": Code("As `overlap.files`, of row groups over all files."),
        "overlap.unknown": Code(
            "Row groups have no bounds of the first column of the sort key that may be trusted, so overlap cannot be "
            "told and no query on it can skip them.",
            "Write with Spark 3.3 or newer, and leave statistics on.",
        ),
        "partitions.columns": Code(
            "The table is partitioned by other columns than `partition_by` of the layout names, or in another order. A "
            "layout without `partition_by` says nothing about them.",
        ),
    },
    check_overlap,
)
