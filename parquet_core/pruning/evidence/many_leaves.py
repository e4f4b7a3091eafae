"""Bounds as evidence for many leaves on one column, compared together.

Bounds and literals of any type are first mapped to one integer scale. A comparison of a literal with a bound is then a
comparison of two small integers, vectorized over all literals and containers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of_scalars, flags_from, from_numpy, ordered_numbers, scalar_of
from parquet_core.pruning.evidence.min_max import (
    holds_by_type,
    holds_for_nan,
    is_nan,
    outcomes_from_bounds,
    outcomes_of,
)
from parquet_core.pruning.predicate import Compare, Op
from parquet_core.ranks import ranks
from parquet_core.trust.bounds import Bounds, presence_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Flags
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf
    from parquet_core.trust.bounds import Presence

    Scale = NDArray[np.int32]

# With fewer comparisons, mapping all bounds to a scale takes longer than comparing them.
FEW = 8
# Limit for literals times containers in one comparison; sized for processor caches.
MAX_CELLS = 1 << 20


class _Placed(NamedTuple):
    """Bounds and literals on one scale.

    An unknown bound is outside the range of the literals, so that it rules nothing out.
    """

    low: Scale
    high: Scale
    literals: Scale


def outcomes_of_each(leaves: Sequence[ColumnLeaf], bounds: Bounds) -> OutcomeArray:
    """Return outcome sets for several leaves of one column, by leaf.

    Equal to `outcomes_from_bounds` for each leaf.
    """
    answers = np.empty((len(leaves), len(bounds)), np.uint8)
    presence = presence_of(bounds)
    alike = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Compare) and not _is_decided_by_type(leaf)]
    at_once = alike if len(alike) >= FEW else []
    for i in sorted(set(range(len(leaves))).difference(at_once)):
        answers[i] = outcomes_from_bounds(leaves[i], bounds, presence=presence)
    if at_once:
        _compare_all([leaves[i] for i in at_once], at_once, bounds, presence, answers)
    return answers


def _is_decided_by_type(leaf: Compare) -> bool:
    return is_nan(leaf.value) or holds_by_type(leaf.op, leaf.value) is not None


def _compare_all(
    comparisons: Sequence[ColumnLeaf], rows: Sequence[int], bounds: Bounds, presence: Presence, answers: OutcomeArray
) -> None:
    """Evaluate the comparisons and write their outcomes to `answers[rows]`."""
    compares = [leaf for leaf in comparisons if isinstance(leaf, Compare)]
    placed = _place(array_of_scalars([leaf.value for leaf in compares]), bounds)
    row_array = np.array(rows, np.int64)
    step = max(1, MAX_CELLS // max(1, len(bounds)))
    for op in Op:
        leaf = next((leaf for leaf in compares if leaf.op is op), None)
        if leaf is None:
            continue
        chosen = np.flatnonzero([leaf.op is op for leaf in compares])
        nan_is_true = holds_for_nan(leaf)
        for part in (chosen[i : i + step] for i in range(0, len(chosen), step)):
            true_ruled_out, false_ruled_out = _ruled_out(op, placed, placed.literals[part][:, None])
            true, false = presence.value & ~true_ruled_out, presence.value & ~false_ruled_out
            if nan_is_true:
                true |= presence.nan
            else:
                false |= presence.nan
            answers[row_array[part]] = outcomes_of(true=true, false=false, null=presence.null)


def _place(values: pa.Array, bounds: Bounds) -> _Placed:
    """Map bounds and literals to one scale.

    Literals have odd places; a bound has the place of an equal literal, or the even place between two literals.
    """
    if pa.types.is_boolean(bounds.lower.type):
        low, high, literals = (side.cast(pa.uint8()) for side in (bounds.lower, bounds.upper, values))
    else:
        low, high, literals = bounds.lower, bounds.upper, values.cast(bounds.lower.type)
    wanted = ordered_numbers(literals)
    if wanted is None:
        places = [rank.astype(np.int32) for rank in ranks(low, high, literals)]
    else:
        ordered = _distinct(wanted)
        places = [_places(ordered, ordered_numbers(side)) for side in (low, high, literals)]
    places[0][~flags_from(low.is_valid())] = -1
    places[1][~flags_from(high.is_valid())] = np.iinfo(np.int32).max
    return _Placed(*places)


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    ascending: NDArray[Any] = np.sort(values)
    new = np.concatenate([np.ones(1, np.bool_), ascending[1:] != ascending[:-1]])
    unique: NDArray[Any] = ascending[new]
    return unique


def _places(ordered: NDArray[Any], values: NDArray[Any] | None) -> Scale:
    assert values is not None
    places = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return places.astype(np.int32)


def _ruled_out(op: Op, placed: _Placed, value: Scale) -> tuple[Flags, Flags]:
    """Flag containers where the comparison cannot be TRUE, and containers where it cannot be FALSE."""
    low, high = placed.low, placed.high
    match op:
        case Op.LT:
            return low >= value, high < value
        case Op.LE:
            return low > value, high <= value
        case Op.GT:
            return high <= value, low > value
        case Op.GE:
            return high < value, low >= value
        case Op.EQ | Op.NE:
            apart, constant = (low > value) | (high < value), (low == value) & (high == value)
            return (apart, constant) if op is Op.EQ else (constant, apart)


def outcomes_of_values(leaf: ColumnLeaf, values: pa.Array) -> OutcomeArray:
    """Return the outcome set of the leaf for each value, including null.

    The set has one outcome if the value decides the leaf. `values`: values in the type of the column's bounds; each
    counts as a container of one row.
    """
    answers: OutcomeArray = outcomes_of_each_value([leaf], values)[0]
    return answers


def outcomes_of_each_value(leaves: Sequence[ColumnLeaf], values: pa.Array) -> NDArray[np.uint8]:
    """Return the result of `outcomes_of_values` for several leaves, one row each."""
    return outcomes_of_each(leaves, bounds_of_values(values))


def bounds_of_values(values: pa.Array) -> Bounds:
    """Return bounds of containers with one value each, possibly null."""
    null = flags_from(pc.is_null(values))
    lower = upper = values
    nan = np.zeros(len(values), np.bool_)
    if pa.types.is_floating(values.type):
        lower, upper, nan = _floating(values)
    exact = from_numpy(~null & ~nan)
    return Bounds(
        lower=lower,
        upper=upper,
        null_count=from_numpy(null.astype(np.int64)),
        row_count=np.ones(len(values), np.int64),
        nan_count=from_numpy(nan.astype(np.int64)),
        min_exact=exact,
        max_exact=exact,
    )


def _floating(values: pa.Array) -> tuple[pa.Array, pa.Array, np.ndarray]:
    """Return lower bounds, upper bounds and NaN flags of single values.

    Bounds of NaN are null. Bounds of a zero, of either sign, are -0.0 and 0.0.
    """
    nan = flags_from(pc.is_nan(values))
    without_nan = pc.if_else(from_numpy(~nan), values, scalar_of(None, values.type))
    zero = pc.equal(without_nan, scalar_of(0.0, values.type))
    low = pc.if_else(zero, scalar_of(-0.0, values.type), without_nan)
    return low, pc.if_else(zero, scalar_of(0.0, values.type), without_nan), nan
