"""Shares of a column's range: the share that a row group spans, and the share that a predicate requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import Outcomes, may_match
from parquet_core.pruning.predicate import ColumnLeaf, Constant, leaves
from parquet_core.pruning.trees import fold
from prune_assets.simulation.from_bounds import doubles, sorted_bounds, values_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate
    from parquet_core.trust.bounds import Bounds
    from prune_assets.simulation.sample import SampledColumn

# Number of evenly spaced values that estimate the share of values a predicate selects.
_POINTS = 1_000


class ValueSpread(NamedTuple):
    """Shares of a column's range, from 0 to 1.

    `of_row_group`: average span of a row group.
    `requested`: share that a predicate requests.
    `has_end`: True if the predicate also requests the smallest or the largest value. If many rows have that value, the
    predicate may select most rows although its share of the range is small.
    """

    of_row_group: float
    requested: float
    has_end: bool


def spread_of(bounds: Bounds, conjuncts: tuple[Predicate, ...]) -> ValueSpread | None:
    """Return the share of a column's range that a row group spans on average, and the share that predicates request.

    `conjuncts`: predicates on this column alone. None if unknown.
    """
    low, high = doubles(bounds.lower), doubles(bounds.upper)
    if low is None or high is None:
        return None
    is_finite = np.isfinite(low) & np.isfinite(high)
    if not is_finite.any():
        return None
    least, most = float(low[is_finite].min()), float(high[is_finite].max())
    # For whole numbers, days and microseconds, one unit of the range is one value.
    unit = 0.0 if pa.types.is_floating(bounds.lower.type) or pa.types.is_decimal(bounds.lower.type) else 1.0
    whole = most - least + unit
    if whole <= 0:
        return None
    points = least + whole * (np.arange(_POINTS) + 0.5) / _POINTS
    chosen = selected_of(values_at(points, bounds.lower.type), conjuncts)
    share = float(np.mean((high - low + unit)[is_finite])) / whole
    ends = selected_of(values_at(np.array([least, most]), bounds.lower.type), conjuncts)
    return ValueSpread(share, float(np.mean(chosen)), bool(ends.any()))


def sorted_share(drawn: SampledColumn, conjuncts: tuple[Predicate, ...], *, total: int, count: int) -> float:
    """Estimate the share of containers that is kept after a sort by the column.

    At least one container counts as kept, since it may hold matching values that the sample lacks.
    `conjuncts`: predicates on this column alone.
    `total`: number of rows of the table.
    `count`: number of containers.
    """
    bounds = sorted_bounds(drawn, total, count)
    chosen = np.ones(len(bounds), np.bool_)
    for part in conjuncts:
        chosen &= may_match(fold(part, [_outcomes_of_bounds(leaf, bounds) for leaf in leaves(part)]))
    return max(float(np.average(chosen, weights=bounds.row_count)), 1 / len(bounds))


def selected_of(values: pa.Array, conjuncts: tuple[Predicate, ...]) -> NDArray[np.bool_]:
    """Return a flag per value: True if the value may satisfy all predicates, which refer to no other column."""
    chosen = np.ones(len(values), np.bool_)
    for part in conjuncts:
        chosen &= may_match(fold(part, [_outcomes_of(leaf, values) for leaf in leaves(part)]))
    return chosen


def _outcomes_of_bounds(leaf: Leaf, bounds: Bounds) -> OutcomeArray:
    if isinstance(leaf, ColumnLeaf):
        return outcomes_from_bounds(leaf, bounds)
    return np.full(len(bounds), leaf.outcomes if isinstance(leaf, Constant) else Outcomes.UNKNOWN, np.uint8)


def _outcomes_of(leaf: Leaf, values: pa.Array) -> OutcomeArray:
    if isinstance(leaf, ColumnLeaf):
        return outcomes_of_values(leaf, values)
    outcomes = leaf.outcomes if isinstance(leaf, Constant) else Outcomes.UNKNOWN
    return np.full(len(values), outcomes, np.uint8)
