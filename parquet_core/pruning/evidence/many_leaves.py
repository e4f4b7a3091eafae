"""Bounds as evidence for many leaves on one column at once: comparisons take no step per leaf.

Bounds and literals are put on one scale of whole numbers first, whatever their type is. Then each comparison of a
literal with a bound is one of two small integers, and all literals meet all containers at once.
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
    presence_of,
)
from parquet_core.pruning.predicate import Compare, Op
from parquet_core.ranks import ranks
from parquet_core.trust.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.arrays import Flags
    from parquet_core.pruning.evidence.min_max import Presence
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf

    Scale = NDArray[np.int32]

# Below so many comparisons putting all bounds on a scale takes longer than comparing them.
FEW = 8
# Literals times containers that are compared at once: what fits into the caches of a processor.
MAX_CELLS = 1 << 20


class _Placed(NamedTuple):
    """Bounds and literals on one scale; an unknown bound lies outside of it, where it makes nothing certain."""

    low: Scale
    high: Scale
    literals: Scale


def outcomes_of_each(leaves: Sequence[ColumnLeaf], bounds: Bounds) -> OutcomeArray:
    """Return the result of `outcomes_from_bounds` for several leaves of one column, one row for each leaf."""
    answers = np.empty((len(leaves), len(bounds)), np.uint8)
    presence = presence_of(bounds)
    alike = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Compare) and not _says_itself(leaf)]
    at_once = alike if len(alike) >= FEW else []
    for i in sorted(set(range(len(leaves))).difference(at_once)):
        answers[i] = outcomes_from_bounds(leaves[i], bounds, presence=presence)
    if at_once:
        _compare_all([leaves[i] for i in at_once], at_once, bounds, presence, answers)
    return answers


def _says_itself(leaf: Compare) -> bool:
    return is_nan(leaf.value) or holds_by_type(leaf.op, leaf.value) is not None


def _compare_all(
    comparisons: Sequence[ColumnLeaf], rows: Sequence[int], bounds: Bounds, presence: Presence, answers: OutcomeArray
) -> None:
    """Fill in the rows of comparisons."""
    compares = [leaf for leaf in comparisons if isinstance(leaf, Compare)]
    placed = _place(array_of_scalars([leaf.value for leaf in compares]), bounds)
    numbers = np.array(rows, np.int64)
    step = max(1, MAX_CELLS // max(1, len(bounds)))
    for op in Op:
        leaf = next((leaf for leaf in compares if leaf.op is op), None)
        if leaf is None:
            continue
        chosen = np.flatnonzero([leaf.op is op for leaf in compares])
        nan_is_true = holds_for_nan(leaf)
        for part in (chosen[i : i + step] for i in range(0, len(chosen), step)):
            true_ruled_out, false_ruled_out = _ruled_out(op, placed, placed.literals[part][:, None])
            true, false = presence.number & ~true_ruled_out, presence.number & ~false_ruled_out
            if nan_is_true:
                true |= presence.nan
            else:
                false |= presence.nan
            answers[numbers[part]] = outcomes_of(true=true, false=false, null=presence.null)


def _place(values: pa.Array, bounds: Bounds) -> _Placed:
    """Put bounds and literals on a scale: literals at odd places, bounds at those or at the even ones between."""
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
    found: NDArray[Any] = ascending[new]
    return found


def _places(ordered: NDArray[Any], numbers: NDArray[Any] | None) -> Scale:
    assert numbers is not None
    places = np.searchsorted(ordered, numbers, "left") + np.searchsorted(ordered, numbers, "right")
    return places.astype(np.int32)


def _ruled_out(op: Op, placed: _Placed, value: Scale) -> tuple[Flags, Flags]:
    """Tell where no number makes the comparison TRUE, and where none makes it FALSE."""
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
    """Return the outcome of the leaf for each value, null included: a single outcome if it can be decided.

    `values` have the type of the column's bounds. Each counts as a container of one row.
    """
    answers: OutcomeArray = outcomes_of_each_value([leaf], values)[0]
    return answers


def outcomes_of_each_value(leaves: Sequence[ColumnLeaf], values: pa.Array) -> NDArray[np.uint8]:
    """Return the same for several leaves on one column, a row each."""
    return outcomes_of_each(leaves, bounds_of_values(values))


def bounds_of_values(values: pa.Array) -> Bounds:
    """Return the bounds of containers that hold one value each, null included."""
    null = flags_from(pc.is_null(values))
    lower = upper = values
    nan = np.zeros(len(values), np.bool_)
    if pa.types.is_floating(values.type):
        lower, upper, nan = _floating(values)
    known = from_numpy(~null & ~nan)
    return Bounds(
        lower=lower,
        upper=upper,
        null_count=from_numpy(null.astype(np.int64)),
        row_count=np.ones(len(values), np.int64),
        nan_count=from_numpy(nan.astype(np.int64)),
        min_exact=known,
        max_exact=known,
    )


def _floating(values: pa.Array) -> tuple[pa.Array, pa.Array, np.ndarray]:
    """Return lower and upper bounds and which are NaN: bounds hold no NaN, and zero has both signs."""
    nan = flags_from(pc.is_nan(values))
    numbers = pc.if_else(from_numpy(~nan), values, scalar_of(None, values.type))
    zero = pc.equal(numbers, scalar_of(0.0, values.type))
    low = pc.if_else(zero, scalar_of(-0.0, values.type), numbers)
    return low, pc.if_else(zero, scalar_of(0.0, values.type), numbers), nan
