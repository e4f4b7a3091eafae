"""Check clustering along a curve, and keys of low cardinality.

A curve is judged by the number of row groups that an equality condition keeps, for each column of the curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, flags_from, from_numpy, numbers_from
from parquet_core.fix import Fix, Step
from parquet_core.layout.overlap import intervals_of, overlap_depth
from parquet_core.layout.places import file_name
from parquet_core.layout.spec import Finding, Severity
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.layout.bound_layout import BoundLayout

# Bytes after the common prefix that are interpolated as a number.
_BYTES = 7


def as_ordered(values: pa.Array) -> pa.Array:
    """Cast values to bytes, doubles or 64-bit integers with the same order."""
    arrow_type = values.type
    if pa.types.is_binary(arrow_type) or pa.types.is_string(arrow_type):
        return pc.cast(values, pa.binary())
    if pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type) or pa.types.is_uint64(arrow_type):
        return pc.cast(values, pa.float64(), safe=False)
    if pa.types.is_date32(arrow_type) or pa.types.is_time32(arrow_type):
        values = pc.cast(values, pa.int32())
    return pc.cast(values, pa.int64())


def values_between(lower: pa.Array, upper: pa.Array, points: int) -> pa.Array:
    """Return `points` values between each pair of bounds.

    `lower`, `upper`: results of `as_ordered`, without nulls. The array has the first values of all pairs, then the
    second values, and so on.

    >>> values_between(pa.array([0, 100]), pa.array([9, 100]), 2).to_pylist()
    [2, 100, 6, 100]
    >>> values_between(pa.array([b"a1"]), pa.array([b"a9"]), 1).to_pylist()
    [b'a5']
    """
    if pa.types.is_binary(lower.type):
        pairs = list(zip(lower.to_pylist(), upper.to_pylist(), strict=True))
        return array_of([_text_between(*pair, i, points) for i in range(points) for pair in pairs], pa.binary())
    low, high = numbers_from(lower), numbers_from(upper)
    between = _doubles if pa.types.is_floating(lower.type) else _whole
    return from_numpy(np.concatenate(list(between(low, high, points))))


def _doubles(low: NDArray[np.float64], high: NDArray[np.float64], points: int) -> Iterator[NDArray[np.float64]]:
    for i in range(points):
        share = (2 * i + 1) / (2 * points)
        with np.errstate(invalid="ignore"):
            value = low * (1 - share) + high * share
        yield np.where(np.isfinite(value), np.clip(value, low, high), low)


def _whole(low: NDArray[np.int64], high: NDArray[np.int64], points: int) -> Iterator[NDArray[np.int64]]:
    # Unsigned differences and products do not overflow.
    width = high.astype(np.uint64) - low.astype(np.uint64)
    whole, rest = np.divmod(width, np.uint64(2 * points))
    for i in range(points):
        share = np.uint64(2 * i + 1)
        yield (low.astype(np.uint64) + whole * share + rest * share // np.uint64(2 * points)).astype(np.int64)


def _text_between(low: bytes, high: bytes, i: int, points: int) -> bytes:
    start = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    first, last = (int.from_bytes(side[start : start + _BYTES].ljust(_BYTES, b"\0"), "big") for side in (low, high))
    value = first + (last - first) * (2 * i + 1) // (2 * points)
    # The padding zeros are stripped; `min` and `max` keep the value within the bounds.
    return min(max(low, low[:start] + value.to_bytes(_BYTES, "big").rstrip(b"\0")), high)


# A curve is ineffective if, for every one of its columns, an equality keeps more than the share `MOST_KEPT` of the row
# groups. With fewer than `FEWEST` row groups, the share is less certain, so the limit is `_NEARLY_ALL`. With fewer than
# `_FEWEST_AT_ALL`, no curve is ineffective.
FEWEST, MOST_KEPT = 16, 0.6
_FEWEST_AT_ALL, _NEARLY_ALL = 4, 0.9
# Row groups to sample, and values to take from each.
_MOST_SAMPLED, _VALUES = 4_096, 8
_FIX = Fix(
    "sort the rows along the curve: ",
    Step.OPTIMIZE_FULL,
    "; if they are sorted already, choose columns with more values",
)


def check_clustering(bound: BoundLayout) -> Iterator[Finding]:
    """Report how many row groups an equality condition keeps, and the overlap depth.

    The order of single columns is not checked, because no column ascends along a curve.
    """
    within, of_table = _largest_partition(bound)
    kept_shares = [(column, *kept_by_equality(bound.index, column, bound.partition, within)) for column in bound.curve]
    groups, scope = len(within), "" if of_table else " of the largest partition"
    least = min((share for _, share, _ in kept_shares), default=0.0)
    few = groups < FEWEST
    lost = groups >= _FEWEST_AT_ALL and least > (_NEARLY_ALL if few else MOST_KEPT) * groups
    severity = Severity.INFO if not lost else Severity.WARN if few else Severity.ERROR
    for column, share, depth in kept_shares:
        yield Finding(
            "clustering.ineffective" if lost else "clustering.effective",
            severity,
            f"column {column.name}",
            f"an equality on {column.name} keeps {share:.1f} of {groups} row groups{scope} on average, by their bounds"
            + ("" if depth is None else f"; overlap depth {depth:.2f}"),
            fix=_FIX if lost else None,
        )


def _largest_partition(bound: BoundLayout) -> tuple[NDArray[np.int64], bool]:
    """Return the row groups of the largest partition, and True if all row groups are in it.

    Clustering is judged in one partition, because a curve runs within each partition: even with perfect clustering, an
    equality keeps some row groups of every partition.
    """
    filled = np.flatnonzero(bound.index.groups.row_count > 0)
    partition = bound.partition[bound.index.groups.file[filled]]
    counts = np.bincount(partition, minlength=1)
    row_groups = filled[partition == np.argmax(counts)]
    return row_groups, len(row_groups) == len(filled)


def kept_by_equality(
    index: MetadataIndex,
    column: LeafColumn,
    partition: NDArray[np.int64],
    within: NDArray[np.int64] | None = None,
) -> tuple[float, float | None]:
    """Return the average number of row groups that an equality condition keeps, and the overlap depth.

    `partition`: a partition number per file. `within`: positions of the row groups to count, None for all. The average
    is taken over values that are spread evenly between the bounds of row groups. The overlap depth is the average over
    all row groups, which overlap only within a partition; None if no row group of `within` has bounds.
    """
    bounds = index.page_indexes.filled_bounds(column)
    counted_bounds = bounds if within is None else bounds.take(within)
    intervals = intervals_of(counted_bounds)
    unknown = float(intervals.unknown.sum())
    if not len(intervals.at):
        return unknown, None
    cover = _average_cover(
        *(side.take(from_numpy(intervals.at)) for side in (counted_bounds.lower, counted_bounds.upper))
    )
    return cover + unknown, overlap_depth(intervals_of(bounds, partition[index.groups.file]))


def _average_cover(lower: pa.Array, upper: pa.Array) -> float:
    """Return the average number of intervals that cover a sampled value."""
    lower, upper = as_ordered(lower), as_ordered(upper)
    chosen = from_numpy(np.unique(np.linspace(0, len(lower) - 1, _MOST_SAMPLED).astype(np.int64)))
    low, high, value = ranks(lower, upper, values_between(lower.take(chosen), upper.take(chosen), _VALUES))
    begun = np.searchsorted(np.sort(low), value, side="right")
    ended = np.searchsorted(np.sort(high), value, side="left")
    return float((begun - ended).mean())


def check_low_cardinality(bound: BoundLayout) -> Iterator[Finding]:
    """Report a single-column sort key if many row groups repeat the only value of the previous row group."""
    index = bound.index
    for column, _ in bound.sort_key if len(bound.layout.sort_by) == 1 else ():
        bounds = index.page_indexes.filled_bounds(column)
        one_value = flags_from(pc.equal(bounds.lower, bounds.upper))
        again = np.zeros(len(index), np.bool_)
        again[1:] = flags_from(pc.equal(bounds.lower[1:], bounds.lower[:-1])) & (np.diff(index.groups.file) == 0)
        again[1:] &= one_value[1:] & one_value[:-1]
        if 2 * np.count_nonzero(again) > len(index):
            largest = int(np.argmax(np.bincount(index.groups.file, weights=index.groups.row_count)))
            rows = int(index.groups.row_count[index.groups.file == largest].sum())
            yield Finding(
                "order.low_cardinality",
                Severity.WARN,
                f"column {column.name}",
                f"{np.count_nonzero(again)} of {len(index)} row groups repeat the only value of {column.name} in the "
                f"previous row group, and rows with equal keys stay in one file (the largest has {rows:,} "
                f"rows: {file_name(index, largest)}), so sorting does not separate them",
                "add a second column to sort_by, one that queries filter by",
            )
