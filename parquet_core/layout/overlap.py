"""Proof that files and row groups do not overlap on the sort key; touching bounds are no overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.layout.places import file_name, row_group_place
from parquet_core.layout.spec import Finding, Severity
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn

    Positions = NDArray[np.int64]

_REMEDY = "write through prune_assets.write, which range-partitions and sorts by the key"


def check_overlap(index: MetadataIndex, sort_key: Sequence[LeafColumn], partition: Positions) -> Iterator[Finding]:
    """Report whether files, and row groups over all files, are disjoint on the first column of the key.

    `partition`, by file: only those of one partition are compared.
    """
    if not sort_key:
        return
    column = sort_key[0]
    bounds = index.page_indexes.filled_bounds(column)
    all_null = flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    valued = np.flatnonzero((index.row_count > 0) & ~all_null)
    low, high = bounds.lower.take(valued), bounds.upper.take(valued)
    if low.null_count or high.null_count:
        unknown = valued[~flags_from(pc.and_(low.is_valid(), high.is_valid()))]
        yield Finding(
            "overlap.unknown",
            Severity.ERROR,
            row_group_place(index, int(unknown[0]), column),
            f"no bounds that may be trusted in {len(unknown)} of {len(valued)} row groups: overlap cannot be told",
            "write with Spark 3.3 or newer and leave statistics on",
        )
        return
    low_rank, high_rank = ranks(low, high)
    file = index.file[valued]
    # Further apart than all values are: what lies in two partitions never overlaps.
    apart = partition[file] * (int(high_rank.max(initial=0)) + 1)
    low_rank, high_rank = low_rank + apart, high_rank + apart
    within = " within their partitions" if partition.any() else ""
    first = np.flatnonzero(np.diff(file, prepend=-1))
    if len(first):
        files_low, files_high = np.minimum.reduceat(low_rank, first), np.maximum.reduceat(high_rank, first)
        labels = [file_name(index, int(i)) for i in file[first]]
        yield _finding("files", column, files_low, files_high, labels, within=within)
    groups = [row_group_place(index, int(p)) for p in valued]
    yield _finding("row_groups", column, low_rank, high_rank, groups, within=within)


def _finding(
    unit: str, column: LeafColumn, low: Positions, high: Positions, labels: list[str], *, within: str
) -> Finding:
    words = unit.replace("_", " ")
    order = np.lexsort((high, low))
    reach = np.maximum.accumulate(high[order])
    late = np.flatnonzero(low[order][1:] < reach[:-1])
    depth = overlap_depth(low, high)
    if len(late) == 0:
        message = f"{len(labels)} {words} do not overlap{within}; overlap depth {depth:.2f}"
        return Finding(f"overlap.{unit}", Severity.INFO, f"column {column.name}", message)
    inner = order[late[0] + 1]
    outer = order[int(np.argmax(high[order[: late[0] + 1]]))]
    return Finding(
        f"overlap.{unit}",
        Severity.ERROR,
        f"column {column.name}: {labels[inner]}",
        f"{len(late)} of {len(labels)} {words} begin below the end of another, the first inside {labels[outer]}; "
        f"overlap depth {depth:.2f} (1 is none)",
        _REMEDY,
    )


def overlap_depth(low: Positions, high: Positions) -> float:
    """Return how many of the intervals hold the point where an average one begins; 1.0 is no overlap at all.

    An interval that ends there does not hold it. After Snowflake's average overlap depth.

    >>> overlap_depth(np.array([0, 5]), np.array([5, 9])), overlap_depth(np.array([0, 4]), np.array([5, 9]))
    (1.0, 1.5)
    """
    begun = np.searchsorted(np.sort(low), low, side="right")
    ended = np.searchsorted(np.sort(high), low, side="right")
    return float(np.maximum(begun - ended, 1).mean()) if len(low) else 0.0
