"""Remedies that make one column of a predicate skip more: statistics, a sort, partitions, or a bloom filter."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import valid_flags
from parquet_core.pruning.evidence.bloom import probes
from parquet_core.pruning.predicate import Compare, Interval, IsNull, IsTruth, Not, Op, StartsWith, leaves, post_order
from parquet_core.quantities import bytes_text
from prune_assets.planner.explain.reasons import is_inside
from prune_assets.planner.explain.spread import selected_of, sorted_share, spread_of
from prune_assets.report.quantities import share_text
from prune_assets.report.skip_report import Remedy
from prune_assets.report.wording import ENOUGH_SKIPPED, row_groups_text
from prune_assets.simulation.from_bounds import draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Leaf, Predicate
    from prune_assets.planner.explain.spread import ValueSpread
    from prune_assets.planner.planned_read import PlannedRead

# Advice must reduce the bytes that are read now to at most this share.
_WORTH_IT = 0.7
# For columns with at most this number of values, one directory per value is advised instead of a sort. It skips as
# much, and the rows in each directory can be sorted by another column.
_FEW_VALUES = 16
_NO_CHOICE = 2
# Smaller directories would hold only small files: `tables.small_files.SMALL_BYTES`, whose import is heavy.
LEAST_PARTITION_BYTES = 32 << 20
# Below either limit, a read takes about as long as its request: another layout gains nothing.
_LEAST_ROW_GROUPS = 4
_LEAST_BYTES = 1 << 20
# Maximum number of row groups whose bounds, bloom filters and dictionaries are examined.
_SAMPLE = 50


class ColumnAdvice:
    """One column of the predicate, and remedies that make it skip more.

    `parts`: conjuncts on this column alone.
    `remaining`: positions of the row groups that the other conjuncts keep.
    """

    def __init__(
        self, plan: PlannedRead, column: LeafColumn, parts: tuple[Predicate, ...], remaining: NDArray[np.int64]
    ) -> None:
        self.plan, self.column, self.parts, self.remaining = plan, column, parts, remaining
        self.name = column.name
        self.read = np.flatnonzero(plan.kept.rows > 0)
        self.bounds = plan.index.footers.bounds(column)
        self.has_bounds = valid_flags(self.bounds.lower) & valid_flags(self.bounds.upper)

    @cached_property
    def spread(self) -> ValueSpread | None:
        """Spread of the column's values in the remaining row groups; None if bounds do not show it."""
        return spread_of(self.bounds.take(self.remaining), self.parts)

    @property
    def is_known(self) -> bool:
        """True if at least half of the row groups read have bounds."""
        return bool(2 * np.count_nonzero(self.has_bounds[self.read]) >= len(self.read))

    @property
    def is_open(self) -> bool:
        """True if the conjuncts on the column skip too little, although they select a narrow part of its values.

        Considers only the row groups that the other conjuncts keep.
        """
        is_narrow = self.selects_little() or (self.spread is not None and not self.spread.has_end)
        return (
            len(self.read) >= _LEAST_ROW_GROUPS
            and self._now >= _LEAST_BYTES
            and self._whole - self._now < ENOUGH_SKIPPED * self._whole
            and self.is_known
            and is_narrow
        )

    def skips_text(self) -> str:
        """Describe how many of the remaining row groups the conjuncts on the column skip."""
        skipped, whole = len(self.remaining) - len(self.read), row_groups_text(len(self.remaining))
        return f"the condition on {self.name} skips {skipped:,} of the {whole} that the other conditions keep"

    @cached_property
    def null_text(self) -> str:
        """Reason why a null test skips no more; "" for conditions that compare values."""
        is_null = all(isinstance(part, IsNull) for part in self.parts)
        if not is_null and not all(isinstance(part, Not) and isinstance(part.child, IsNull) for part in self.parts):
            return ""
        counts = self.bounds.take(self.read).null_count
        if counts.null_count:
            return f"{row_groups_text(counts.null_count)} to read without a null count of {self.name}"
        return f"every row group to read has {'nulls' if is_null else 'values'} of {self.name}"

    @cached_property
    def nan_text(self) -> str:
        """Reason that names NaN, if most row groups are read only because they may hold NaN; "" otherwise."""
        (part, *others), sample = self.parts, self.read[:_SAMPLE]
        if others or not isinstance(part, Compare) or not self._is_float or not len(sample):
            return ""
        lower, upper = self.bounds.lower, self.bounds.upper
        inside = sum(is_inside(part, lower[position], upper[position]) for position in sample.tolist())
        if 2 * inside >= len(sample):
            return ""
        return f"{self.name} may hold NaN, which sorts above all numbers and which min and max leave out"

    @property
    def _is_float(self) -> bool:
        return bool(pa.types.is_floating(self.bounds.lower.type))

    def remedies(self) -> list[Remedy]:
        """Return the remedies; the most certain to help comes first."""
        if all(isinstance(leaf, IsNull) for part in self.parts for leaf in leaves(part)):
            return []
        if self.nan_text:
            from parquet_core.layout.column_indexes import nan_remedy

            limit = f"to exclude NaN, add an upper limit: {self.name} <= double('Infinity')"
            return [Remedy("write_predicate", limit), Remedy("statistics", nan_remedy(self.name))]
        if self._few_values is not None:
            remedies = [self._partition(self._few_values)]
        else:
            remedies = [self._statistics(), self._sort(), self._bloom()]
        return [remedy for remedy in remedies if remedy is not None]

    @property
    def _now(self) -> int:
        return int(self.plan.kept.bytes.sum())

    @property
    def _whole(self) -> int:
        return int(self.plan.sizes.bytes[self.remaining].sum())

    @cached_property
    def _few_values(self) -> pa.Array | None:
        """Values that the column may have, if metadata show at most 16; otherwise None."""
        candidates = [self._values_between_bounds(), self._values_of_dictionaries()]
        return min((it for it in candidates if it is not None and len(it) <= _FEW_VALUES), key=len, default=None)

    def _values_between_bounds(self) -> pa.Array | None:
        type_ = self.bounds.lower.type
        if not (pa.types.is_integer(type_) or pa.types.is_date32(type_) or pa.types.is_boolean(type_)):
            return None
        if not self.has_bounds[self.remaining].all():
            return None
        bounds = self.bounds.take(self.remaining)
        storage = pa.int32() if pa.types.is_date32(type_) else pa.int8() if pa.types.is_boolean(type_) else type_
        least = pc.min(bounds.lower.cast(storage)).as_py()
        most = pc.max(bounds.upper.cast(storage)).as_py()
        if not least <= most < least + _FEW_VALUES:
            return None
        return pa.array(range(least, most + 1), storage).cast(type_)

    def _values_of_dictionaries(self) -> pa.Array | None:
        """Return the column's values in the row groups read; None unless the plan has read all their dictionaries."""
        held = self.plan.index.dictionaries.cached(self.column, self.read)
        small = [values for values in held if isinstance(values, pa.Array) and len(values) <= _FEW_VALUES]
        if len(small) < len(held) or len({values.type for values in small}) != 1:
            return None
        return pa.concat_arrays(small).unique()

    def _partition(self, values: pa.Array) -> Remedy | None:
        """Advise one directory per value, unless the files in each directory would be small."""
        then = round(self._whole * float(np.mean(selected_of(values, self.parts))))
        # Often one of two values has nearly all rows, which no metadata shows.
        is_vain = len(values) <= _NO_CHOICE or then > _WORTH_IT * self._now
        if is_vain or self._whole < len(values) * LEAST_PARTITION_BYTES:
            return None
        message = (
            f"partition by {self.name}, which has at most {len(values)} values: about {bytes_text(then)} of "
            f"{bytes_text(self._whole)} would be read if all had the same number of rows"
        )
        return Remedy("partition_by", message, then)

    def _statistics(self) -> Remedy | None:
        if self.is_known:
            return None
        silent = row_groups_text(int(np.count_nonzero(~self.has_bounds[self.read])))
        remedy = "write these files again, with statistics"
        if self._is_float:
            from parquet_core.layout.column_indexes import nan_remedy

            remedy = f"for row groups with NaN: {nan_remedy(self.name)}; for others: {remedy}"
        return Remedy("statistics", f"{silent} to read without bounds of {self.name}: {remedy}")

    def _sort(self) -> Remedy | None:
        count = len(self.remaining)
        if count == 1 or not self.is_known:
            return None
        # A layout sorts only by top-level columns.
        name = self.name if len(self.column.path) == 1 else f"a top-level copy of {self.name}"
        sort = f"sort by {name}"
        if count < len(self.plan.index):
            sort = f"add {name} to the sort key, after the columns that skip already"
        if self.spread is None:
            message = f"{sort}: most row groups may hold matching values; sorted, few would"
            return Remedy("sort_by", message) if self.selects_little() else None
        then = round(self._whole * self._sorted_share())
        if then > _WORTH_IT * self._now:
            return None
        message = (
            f"{sort}: a row group spans {range_share(self.spread.of_row_group)} of its range on average, the "
            f"predicate covers {range_share(self.spread.requested)}; sorted, about {bytes_text(then)} of "
            f"{bytes_text(self._whole)} would be read if values are evenly spread"
        )
        return Remedy("sort_by", message, then)

    def _sorted_share(self) -> float:
        """Estimate the share of the remaining row groups (or pages) that is still read after a sort by the column."""
        # Imported here: the import loads the layout checks, which a plan without this hint does not need.
        from parquet_core.layout.spec import LayoutSpec

        bounds = self.bounds.take(self.remaining)
        total = int(bounds.row_count.sum())
        count = max(len(bounds), total // LayoutSpec().page_rows)
        return sorted_share(draw(self.column, bounds).column, self.parts, total=total, count=count)

    def selects_little(self) -> bool:
        """Return True if the conjuncts select only single values or a narrow range."""
        negated = any(isinstance(node, Not | IsTruth) for part in self.parts for node, _ in post_order(part))
        all_leaves = [leaf for part in self.parts for leaf in leaves(part)]
        return not negated and all(isinstance(leaf, StartsWith | Interval) or _is_equality(leaf) for leaf in all_leaves)

    def _bloom(self) -> Remedy | None:
        is_lookup = all(_is_equality(leaf) for part in self.parts for leaf in leaves(part))
        # A single row group is skipped or read whole: no share applies.
        if len(self.plan.index) == 1 or not is_lookup or self._is_answered(self.read[:_SAMPLE]):
            return None
        message = (
            f"a bloom filter on {self.name} (1 % false positives) would skip about 99 of 100 row groups that lack "
            f"the value"
        )
        return Remedy("bloom_filter", message)

    def _is_answered(self, positions: NDArray[np.int64]) -> bool:
        """Return True if half of the row groups have a bloom filter, or a dictionary that was read.

        Such a dictionary contains a value that matches, since it did not exclude its row group.
        """
        filters = self.plan.index.footers.chunks(self.column).bloom_filter[positions, 0] > 0
        cached = self.plan.index.dictionaries.cached(self.column, positions)
        dictionaries = np.array(
            [not isinstance(dictionary, str) and dictionary is not None for dictionary in cached], np.bool_
        )
        return bool(2 * np.count_nonzero(filters | dictionaries) >= len(positions))


def range_share(part: float) -> str:
    """Format a share of a range; a small share is not shown as zero."""
    return share_text(max(round(part * 1_000_000), 1), 1_000_000)


def _is_equality(leaf: Leaf) -> bool:
    return probes(leaf) is not None and not (isinstance(leaf, Compare) and leaf.op == Op.NE)
