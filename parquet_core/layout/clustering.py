"""Proof of a Z-order or Hilbert curve: how many row groups an equality on each of its columns keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.arrow_arrays import from_numpy
from parquet_core.fix import Fix, Step
from parquet_core.layout.overlap_depth import intervals_of, overlap_depth
from parquet_core.layout.spec import Finding, Severity
from parquet_core.layout.values_between import as_ordered, values_between
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.bound_layout import BoundLayout

# An equality that keeps more than this is not worth a curve. Fewer row groups do not tell how well rows lie along one,
# but a curve that has cut the table into so many keeps fewer than nearly all of them on one of its columns.
FEWEST, MOST_KEPT = 16, 0.6
_FEWEST_AT_ALL, _NEARLY_ALL = 4, 0.9
# So many row groups are asked for values, and for so many each.
_MOST_SAMPLED, _VALUES = 4_096, 8
_FIX = Fix("put the rows along the curve: ", Step.OPTIMIZE_FULL, "; where that was done, choose columns of more values")


def check_clustering(bound: BoundLayout) -> Iterator[Finding]:
    """Report the overlap of row groups on each column, and what an equality on it keeps.

    The order of single columns is not asked: along a curve none of them ascends.
    """
    within, of_table = _largest_partition(bound)
    kept = [(column, *kept_by_equality(bound.index, column, bound.partition, within)) for column in bound.curve]
    groups, place = len(within), "" if of_table else " of the largest partition"
    least = min((share for _, share, _ in kept), default=0.0)
    few = groups < FEWEST
    lost = groups >= _FEWEST_AT_ALL and least > (_NEARLY_ALL if few else MOST_KEPT) * groups
    severity = Severity.INFO if not lost else Severity.WARN if few else Severity.ERROR
    for column, share, depth in kept:
        yield Finding(
            "clustering.ineffective" if lost else "clustering.effective",
            severity,
            f"column {column.name}",
            f"an equality on {column.name} keeps {share:.1f} of {groups} row groups{place} on average, by their bounds"
            + ("" if depth is None else f"; overlap depth {depth:.2f}"),
            fix=_FIX if lost else None,
        )


def _largest_partition(bound: BoundLayout) -> tuple[NDArray[np.int64], bool]:
    """Return the row groups of the partition with the most of them, and whether these are all.

    A curve runs inside of each partition: of several, an equality keeps some of each, however well rows lie.
    """
    filled = np.flatnonzero(bound.index.row_count > 0)
    partition = bound.partition[bound.index.file[filled]]
    counts = np.bincount(partition, minlength=1)
    found = filled[partition == np.argmax(counts)]
    return found, len(found) == len(filled)


def kept_by_equality(
    index: MetadataIndex,
    column: LeafColumn,
    partition: NDArray[np.int64],
    within: NDArray[np.int64] | None = None,
) -> tuple[float, float | None]:
    """Return how many row groups, of some, an equality keeps on average, and the overlap depth within partitions.

    The average is over values of the row groups, which are taken to lie evenly between their bounds.
    """
    bounds = index.page_indexes.filled_bounds(column)
    some = bounds if within is None else bounds.take(within)
    intervals = intervals_of(some)
    unknown = float(intervals.unknown.sum())
    if not len(intervals.at):
        return unknown, None
    kept = _average_cover(*(side.take(from_numpy(intervals.at)) for side in (some.lower, some.upper)))
    return kept + unknown, overlap_depth(intervals_of(bounds, partition[index.file]))


def _average_cover(lower: pa.Array, upper: pa.Array) -> float:
    """Return how many intervals cover a value of one of them, on average."""
    lower, upper = as_ordered(lower), as_ordered(upper)
    chosen = from_numpy(np.unique(np.linspace(0, len(lower) - 1, _MOST_SAMPLED).astype(np.int64)))
    low, high, value = ranks(lower, upper, values_between(lower.take(chosen), upper.take(chosen), _VALUES))
    begun = np.searchsorted(np.sort(low), value, side="right")
    ended = np.searchsorted(np.sort(high), value, side="left")
    return float((begun - ended).mean())
