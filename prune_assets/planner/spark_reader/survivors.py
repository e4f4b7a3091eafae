"""Bounds and ranges that cover the surviving data; derived filters use the bounds, and Spark pushes the ranges down.

Spark's reader accepts no list of row groups to skip, but it skips by ranges. Every selected row is in a surviving row
group or page, so its value is within the union of the survivors' bounds. The plan may therefore add the union to the
filter with AND. This pays off if the ranges exclude data that Spark would not skip by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, from_numpy, scalar_of
from parquet_core.format.comparable_values import bounds_type
from parquet_core.format.schema import SortOrder
from parquet_core.pruning.access_plan import Verdict
from parquet_core.pruning.evidence.many_leaves import outcomes_of_each
from parquet_core.pruning.levels import STATISTICS
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import ColumnLeaf, Compare, Interval, InTuples, IsNull, OnValues, Op, Or, leaves
from parquet_core.pruning.trees import fold
from parquet_core.ranks import ranks
from prune_assets.sql.types.zones import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning import Evaluation
    from parquet_core.pruning.access_plan import AccessPlan
    from parquet_core.pruning.levels.page_level import PageOutcomes
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]
    Positions = NDArray[np.int64]

MAX_RANGES = 10
# Columns tried in addition to the predicate's columns, for wide tables.
MAX_CANDIDATES = 64
# 0001-01-01 and 9999-12-31 in days since 1970-01-01: all years with four digits.
MIN_DAY, MAX_DAY = -719162, 2932896


def survivor_ranges(evaluation: Evaluation, index: MetadataIndex) -> Predicate | None:
    """Return a condition that a column is in one of at most 10 ranges, or is null.

    The column is the one whose ranges exclude the most rows of Spark's read.
    None if nothing survives, if Spark alone skips the same rows, or if no column has bounds in every surviving
    container.
    """
    containers = _containers(evaluation, index)
    if not containers.survives.any() or not containers.gain.any():
        return None
    entries = [_rank_column(column, containers, index) for column in _candidates(containers, index)]
    best = max((entry for entry in entries if entry is not None), key=lambda entry: entry[0], default=None)
    return None if best is None else best[1]


@dataclass(frozen=True, slots=True)
class _Containers:
    """Row groups that were decided as a whole, then the other row groups, cut into segments at page borders.

    `row_group`: row group of each container.
    `survives`: True if the container may hold a selected row.
    `gain`: number of rows that the plan skips and Spark alone would read.
    """

    row_group: Positions
    survives: Flags
    gain: Positions
    pages: PageOutcomes | None


def _all_but(cut: Positions, flags: Flags) -> Positions:
    left = flags.copy()
    left[cut] = False
    return np.flatnonzero(left)


def _containers(evaluation: Evaluation, index: MetadataIndex) -> _Containers:
    pages = evaluation.pages.of_pages
    cut = np.zeros(0, np.int64) if pages is None else pages.positions
    whole = _all_but(cut, index.groups.row_count > 0)
    survives = evaluation.row_groups.remaining[whole]
    gain = np.where(survives | ~_alive_to_spark(evaluation)[whole], 0, index.groups.row_count[whole])
    if pages is None:
        return _Containers(whole, survives, gain, None)
    stops = np.append(pages.segments.start[1:], index.groups.row_count[cut].sum())
    by_plan = may_match(pages.outcomes)
    by_spark = may_match(fold(evaluation.predicate, _evaluate_page_bounds(evaluation, pages)))
    lost = np.where(by_spark & ~by_plan, stops - pages.segments.start, 0)
    return _Containers(
        np.concatenate([whole, cut[pages.segments.row_group]]),
        np.concatenate([survives, by_plan]),
        np.concatenate([gain, lost]),
        pages,
    )


def _alive_to_spark(evaluation: Evaluation) -> Flags:
    """Return flags of the row groups that Spark keeps by statistics; Spark does not test known values or tuples."""
    outcomes = evaluation.after(STATISTICS).by_leaf.copy()
    for i, leaf in enumerate(leaves(evaluation.predicate)):
        if isinstance(leaf, OnValues | InTuples):
            outcomes[i] = Outcomes.UNKNOWN
    return may_match(fold(evaluation.predicate, outcomes))


def _evaluate_page_bounds(evaluation: Evaluation, pages: PageOutcomes) -> OutcomeArray:
    """Evaluate the leaves on page bounds alone, as Spark's reader uses one level at a time."""
    parts = list(leaves(evaluation.predicate))
    outcomes = np.full((len(parts), len(pages.segments)), Outcomes.UNKNOWN, np.uint8)
    for (path, batch), chosen in zip(pages.pages.items(), pages.segments.page, strict=True):
        page_leaves = [
            (i, leaf)
            for i, leaf in enumerate(parts)
            if isinstance(leaf, ColumnLeaf) and not isinstance(leaf, OnValues) and leaf.column == path
        ]
        page_outcomes = outcomes_of_each([leaf for _, leaf in page_leaves], batch.bounds)
        for (i, _), by_page in zip(page_leaves, page_outcomes, strict=True):
            outcomes[i] = by_page[chosen]
    return outcomes


def _candidates(containers: _Containers, index: MetadataIndex) -> list[LeafColumn]:
    paths_with_pages = set() if containers.pages is None else set(containers.pages.pages)
    prunable = [column for column in index.groups.columns if not column.unsupported and _can_be_handed_over(column)]
    # Spark truncates a literal to the type of a file that stores the column differently.
    prunable = [column for column in prunable if not index.groups.has_several_types(column)]
    prunable.sort(key=lambda column: (column.path not in paths_with_pages, column.index))
    return prunable[: len(paths_with_pages) + MAX_CANDIDATES]


def _can_be_handed_over(column: LeafColumn) -> bool:
    """Return True if Spark compares the column's values in the order of its bounds.

    False for floats, whose bounds ignore NaN, for booleans and binaries, and for fields of a struct.
    """
    if len(column.path) > 1 or column.order in {SortOrder.UNDEFINED, SortOrder.FLOATING}:
        return False
    return not (column.type is None or pa.types.is_boolean(column.type) or pa.types.is_binary(column.type))


def _rank_column(column: LeafColumn, containers: _Containers, index: MetadataIndex) -> tuple[int, Predicate] | None:
    """Return the number of rows that the ranges of one column exclude, and the predicate with these ranges.

    None if no row is excluded.
    """
    low, high, may_be_null, no_value = _bounds(column, containers, index)
    survivors = np.flatnonzero(containers.survives & ~no_value)
    positions = from_numpy(survivors)
    if len(survivors) == 0 or low.take(positions).null_count or high.take(positions).null_count:
        return None
    nulls = bool(may_be_null[containers.survives].any())
    # With "OR column IS NULL" in the filter, every container that may hold a null is kept.
    keeps_nulls = may_be_null & nulls
    low_rank, high_rank = ranks(low, high)
    first, last = _merge(low_rank[survivors], high_rank[survivors])
    first, last = survivors[first], survivors[last]
    gain = _gain_by_gap(low_rank, high_rank, first, last, _excludable(containers, low, high, keeps_nulls))
    if gain.sum() == 0:
        return None
    inner = gain[1:-1]
    widest = np.sort(np.argsort(-inner, kind="stable")[: MAX_RANGES - 1])
    split = widest[inner[widest] > 0]
    begins = first[np.concatenate([[0], split + 1]).astype(np.int64)]
    ends = last[np.concatenate([split, [len(last) - 1]]).astype(np.int64)]
    literals = [
        (_literal(column, low[int(a)]), _literal(column, high[int(b)])) for a, b in zip(begins, ends, strict=True)
    ]
    pairs = tuple((a, b) for a, b in literals if a is not None and b is not None)
    gained = int(gain[0] + gain[-1] + inner[split].sum())
    return (gained, _condition(column, pairs, nulls=nulls)) if len(pairs) == len(literals) else None


def _condition(column: LeafColumn, ranges: Sequence[tuple[pa.Scalar, pa.Scalar]], *, nulls: bool) -> Predicate:
    arms: list[Predicate] = [
        Compare(column.path, Op.EQ, low) if low.equals(high) else Interval(column.path, low, high)
        for low, high in ranges
    ]
    if nulls:
        arms.append(IsNull(column.path))
    return arms[0] if len(arms) == 1 else Or(tuple(arms))


def _bounds(
    column: LeafColumn, containers: _Containers, index: MetadataIndex
) -> tuple[pa.Array, pa.Array, Flags, Flags]:
    """Return four arrays, one entry per container: lower bounds, upper bounds, "may hold null" and "holds no value".

    A container without page bounds of the column gets the bounds of its row group.
    """
    by_group = index.footers.bounds(column).take(containers.row_group)
    low, high = by_group.lower, by_group.upper
    may_be_null, no_value = _nulls(by_group)
    pages = containers.pages
    if pages is None or column.path not in pages.pages:
        return low, high, may_be_null, no_value
    batch = pages.pages[column.path]
    by_page = batch.bounds.take(pages.segments.page[list(pages.pages).index(column.path)])
    cut = len(by_group) - len(by_page)
    page_null, page_no_value = _nulls(by_page)
    return (
        pa.concat_arrays([low[:cut], pc.coalesce(by_page.lower, low[cut:])]),
        pa.concat_arrays([high[:cut], pc.coalesce(by_page.upper, high[cut:])]),
        np.concatenate([may_be_null[:cut], may_be_null[cut:] & page_null]),
        np.concatenate([no_value[:cut], no_value[cut:] | page_no_value]),
    )


def _nulls(bounds: Bounds) -> tuple[Flags, Flags]:
    none = flags_from(pc.equal(bounds.null_count, scalar_of(0, pa.int64())))
    return ~none, flags_from(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))


def _excludable(containers: _Containers, low: pa.Array, high: pa.Array, keeps_nulls: Flags) -> Positions:
    has_bounds = flags_from(pc.and_(pc.is_valid(low), pc.is_valid(high)))
    return np.where(has_bounds & ~keeps_nulls, containers.gain, 0)


def _merge(low: Positions, high: Positions) -> tuple[Positions, Positions]:
    """Join overlapping intervals.

    Returns, for each joined interval, the indexes of the input intervals that have its low and its high end.
    """
    order = np.argsort(low, kind="stable")
    reach = np.maximum.accumulate(high[order])
    begins = np.concatenate([[True], low[order][1:] > reach[:-1]])
    starts = np.flatnonzero(begins)
    stops = np.append(starts[1:], len(order))
    ends = [order[a + int(np.argmax(high[order[a:b]]))] for a, b in zip(starts, stops, strict=True)]
    return order[starts], np.array(ends, np.int64)


def _gain_by_gap(low: Positions, high: Positions, first: Positions, last: Positions, gain: Positions) -> Positions:
    """Return the total gain of the containers that are entirely in each gap below, between or above ranges."""
    paying = np.flatnonzero(gain)
    gap = np.searchsorted(low[first], low[paying], side="right")
    after = (gap == 0) | (high[last][np.maximum(gap - 1, 0)] < low[paying])
    before = (gap == len(first)) | (high[paying] < low[first][np.minimum(gap, len(first) - 1)])
    outside = after & before
    return np.bincount(gap[outside], weights=gain[paying][outside], minlength=len(first) + 1).astype(np.int64)


def _literal(column: LeafColumn, bound: pa.Scalar) -> pa.Scalar | None:
    """Return a bound in the column's type; None if the bound has no literal in Spark SQL.

    Truncated strings that are not valid UTF-8, and dates whose year does not have four digits, have no literal.
    """
    if not can_be_written(bound):
        return None
    try:
        return bound if pa.types.is_timestamp(bound.type) else bound.cast(column.type)
    except pa.ArrowInvalid:
        return None


class SurvivorBounds:
    """Bounds of columns over all surviving row groups, each computed once."""

    def __init__(self, index: MetadataIndex, access: AccessPlan) -> None:
        self._index = index
        self._survivors = np.flatnonzero(access.verdict != Verdict.SKIP)
        self._columns = {column.path: column for column in (*index.groups.columns, *index.groups.partitions)}
        self._found: dict[Path, tuple[pa.Scalar, pa.Scalar] | None] = {}

    def is_known(self, path: Path) -> bool:
        """Return True if a filter on the column has the same meaning in all files.

        False if a file stores the column as another type, to which Spark truncates the literal.
        """
        column = self._columns.get(path)
        if column is None or column.unsupported:
            return False
        return path in self._index.groups.partition_values or not self._index.groups.has_several_types(column)

    def of(self, path: Path) -> tuple[pa.Scalar, pa.Scalar] | None:
        """Return the smallest and the largest value of a column; None if a survivor lacks bounds or may hold NaN."""
        if path not in self._found:
            self._found[path] = self._compute_bounds(self._columns[path])
        return self._found[path]

    def _compute_bounds(self, column: LeafColumn) -> tuple[pa.Scalar, pa.Scalar] | None:
        if column.type is None or pa.types.is_boolean(column.type) or column.order is SortOrder.FLOATING:
            return None
        values = self._index.groups.partition_values.get(column.path)
        if values is not None:
            of_files = values.take(from_numpy(np.unique(self._index.groups.file[self._survivors])))
            return _ends(of_files.cast(bounds_type(column)), of_files.cast(bounds_type(column)))
        if column.order is SortOrder.UNDEFINED:
            return None
        bounds = self._index.footers.bounds(column).take(self._survivors)
        all_null = filled(pc.equal(bounds.null_count, from_numpy(bounds.row_count)), value=False)
        is_bounded = pc.or_(pc.and_(pc.is_valid(bounds.lower), pc.is_valid(bounds.upper)), all_null)
        return _ends(bounds.lower, bounds.upper) if pc.all(is_bounded).as_py() else None

    def may_be_null(self, path: Path) -> bool:
        """Return True if a surviving row group may hold a null of the column."""
        values = self._index.groups.partition_values.get(path)
        if values is not None:
            return bool(values.null_count)
        counts = self._index.footers.bounds(self._columns[path]).null_count.take(from_numpy(self._survivors))
        return bool(counts.null_count) or bool(pc.any(pc.not_equal(counts, 0)).as_py())


def _ends(lower: pa.Array, upper: pa.Array) -> tuple[pa.Scalar, pa.Scalar] | None:
    low, high = pc.min_max(lower)["min"], pc.min_max(upper)["max"]
    return (low, high) if low.is_valid and high.is_valid else None


def can_be_written(value: pa.Scalar) -> bool:
    """Return True if a value has a literal valid in every session."""
    arrow_type = value.type
    if pa.types.is_floating(arrow_type):
        return bool(math.isfinite(value.as_py()))
    if pa.types.is_date32(arrow_type):
        return bool(MIN_DAY <= value.value <= MAX_DAY)
    if pa.types.is_timestamp(arrow_type):
        return bool(arrow_type.unit == "us" and MIN_DAY * DAY <= value.value < (MAX_DAY + 1) * DAY)
    return True


def value_key(value: pa.Scalar) -> Any:
    """Return a sort key of a value within its column: numbers unchanged, times as counts, strings as bytes.

    >>> value_key(pa.scalar("é")) > value_key(pa.scalar(b"z"))
    True
    """
    arrow_type = value.type
    if pa.types.is_date32(arrow_type) or pa.types.is_timestamp(arrow_type):
        return value.value
    key = value.as_py()
    return key.encode() if isinstance(key, str) else key
