"""Bounds as evidence: row-group statistics and the page index answer a leaf the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import Compare, In, Interval, IsNull, Op
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf
    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]


def outcomes_from_bounds(leaf: ColumnLeaf, bounds: Bounds) -> OutcomeArray:
    """Return which outcomes the bounds of the leaf's column leave possible, per container."""
    has_null, has_value = _nulls_and_values(bounds)
    if isinstance(leaf, IsNull):
        return _outcomes(true=has_null, false=has_value, null=np.zeros(len(bounds), np.bool_))
    true_ruled_out, false_ruled_out = _ruled_out(leaf, bounds)
    return _outcomes(true=has_value & ~true_ruled_out, false=has_value & ~false_ruled_out, null=has_null)


def _nulls_and_values(bounds: Bounds) -> tuple[Flags, Flags]:
    rows = bounds.row_count > 0
    no_null = _certain(pc.equal(bounds.null_count, 0))
    no_value = _certain(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    return rows & ~no_null, rows & ~no_value


def _outcomes(*, true: Flags, false: Flags, null: Flags) -> OutcomeArray:
    bits = true * Outcomes.TRUE.value + false * Outcomes.FALSE.value + null * Outcomes.NULL.value
    answers: OutcomeArray = bits.astype(np.uint8)
    return answers


def _certain(answer: pa.Array) -> Flags:
    """Turn a comparison into flags: an unknown bound makes nothing certain."""
    return flags_from(answer)


def _ruled_out(leaf: Compare | Interval | In, bounds: Bounds) -> tuple[Flags, Flags]:
    """Tell where no value makes the leaf TRUE, and where none makes it FALSE."""
    lower, upper = bounds.lower, bounds.upper
    match leaf:
        case Compare(_, op, value):
            return _compare(op, lower, upper, value.cast(lower.type))
        case Interval(_, low, high):
            low, high = low.cast(lower.type), high.cast(lower.type)
            outside = _certain(pc.greater(lower, high)) | _certain(pc.less(upper, low))
            inside = _certain(pc.greater_equal(lower, low)) & _certain(pc.less_equal(upper, high))
            return outside, inside
        case In(_, values):
            return _in(lower, upper, values.cast(lower.type))


def _compare(op: Op, lower: pa.Array, upper: pa.Array, value: pa.Scalar) -> tuple[Flags, Flags]:
    def lower_is(compare: Any) -> Flags:
        return _certain(compare(lower, value))

    def upper_is(compare: Any) -> Flags:
        return _certain(compare(upper, value))

    match op:
        case Op.LT:
            return lower_is(pc.greater_equal), upper_is(pc.less)
        case Op.LE:
            return lower_is(pc.greater), upper_is(pc.less_equal)
        case Op.GT:
            return upper_is(pc.less_equal), lower_is(pc.greater)
        case Op.GE:
            return upper_is(pc.less), lower_is(pc.greater_equal)
        case Op.EQ | Op.NE:
            apart = lower_is(pc.greater) | upper_is(pc.less)
            constant = lower_is(pc.equal) & upper_is(pc.equal)
            return (apart, constant) if op is Op.EQ else (constant, apart)


def _in(lower: pa.Array, upper: pa.Array, values: pa.Array) -> tuple[Flags, Flags]:
    """Decide per value, not by the hull of the list: TRUE needs a value between the bounds."""
    low, high, wanted = ranks(lower, upper, values)
    wanted.sort()
    first = np.searchsorted(wanted, low)
    next_value = wanted[np.minimum(first, len(wanted) - 1)]
    known = _certain(pc.and_(pc.is_valid(lower), pc.is_valid(upper)))
    above_all = (first == len(wanted)) & _certain(pc.is_valid(lower))
    below_all = (high < wanted[0]) & _certain(pc.is_valid(upper))
    ruled_out = above_all | below_all | (known & (next_value > high))
    constant = known & (low == high) & (first < len(wanted)) & (next_value == low)
    return ruled_out, constant
