"""Bounds as evidence: row-group statistics and the page index answer a leaf the same way.

Bounds of floats enclose the numbers. NaN, which is larger than all of them, is beside them wherever its
count is not known to be 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import Compare, In, Interval, IsNaN, IsNull, Op
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf
    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]

# Which comparisons are TRUE for a value smaller than the literal, equal to it, larger than it.
_HOLD_FOR_SMALLER = frozenset({Op.LT, Op.LE, Op.NE})
_HOLD_FOR_EQUAL = frozenset({Op.EQ, Op.LE, Op.GE})
_HOLD_FOR_LARGER = frozenset({Op.GT, Op.GE, Op.NE})


def outcomes_from_bounds(leaf: ColumnLeaf, bounds: Bounds) -> OutcomeArray:
    """Return which outcomes the bounds of the leaf's column leave possible, per container."""
    has_null, has_value = _nulls_and_values(bounds)
    if isinstance(leaf, IsNull):
        return _outcomes(true=has_null, false=has_value, null=np.zeros(len(bounds), np.bool_))
    has_nan, has_number = _nans_and_numbers(bounds, has_value)
    if isinstance(leaf, IsNaN):
        return _outcomes(true=has_nan, false=has_number | has_null, null=np.zeros(len(bounds), np.bool_))
    true_ruled_out, false_ruled_out = _ruled_out(leaf, bounds.lower, bounds.upper)
    of_nan = _holds_for_nan(leaf)
    return _outcomes(
        true=(has_number & ~true_ruled_out) | (has_nan & of_nan),
        false=(has_number & ~false_ruled_out) | (has_nan & (not of_nan)),
        null=has_null,
    )


def _nulls_and_values(bounds: Bounds) -> tuple[Flags, Flags]:
    rows = bounds.row_count > 0
    no_null = _certain(pc.equal(bounds.null_count, 0))
    no_value = _certain(pc.equal(bounds.null_count, from_numpy(bounds.row_count)))
    return rows & ~no_null, rows & ~no_value


def _nans_and_numbers(bounds: Bounds, has_value: Flags) -> tuple[Flags, Flags]:
    """Tell where a value may be NaN, and where one may be anything else."""
    if not pa.types.is_floating(bounds.lower.type):
        return np.zeros(len(bounds), np.bool_), has_value
    no_nan = _certain(pc.equal(bounds.nan_count, 0))
    without_value = pc.add(bounds.nan_count, bounds.null_count)
    return has_value & ~no_nan, has_value & ~_certain(pc.equal(without_value, from_numpy(bounds.row_count)))


def _holds_for_nan(leaf: Compare | Interval | In) -> bool:
    match leaf:
        case Compare(_, op, value):
            return op in (_HOLD_FOR_EQUAL if _is_nan(value) else _HOLD_FOR_LARGER)
        case Interval(_, _, high):
            return _is_nan(high)
        case In(_, values):
            return pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py())


def _is_nan(value: pa.Scalar) -> bool:
    return pa.types.is_floating(value.type) and math.isnan(value.as_py())


def _outcomes(*, true: Flags, false: Flags, null: Flags) -> OutcomeArray:
    bits = true * Outcomes.TRUE.value + false * Outcomes.FALSE.value + null * Outcomes.NULL.value
    answers: OutcomeArray = bits.astype(np.uint8)
    return answers


def _certain(answer: pa.Array) -> Flags:
    """Turn a comparison into flags: an unknown bound makes nothing certain."""
    return flags_from(answer)


def _ruled_out(leaf: Compare | Interval | In, lower: pa.Array, upper: pa.Array) -> tuple[Flags, Flags]:
    """Tell where no value but NaN makes the leaf TRUE, and where none makes it FALSE."""
    if pa.types.is_boolean(lower.type):
        lower, upper = lower.cast(pa.uint8()), upper.cast(pa.uint8())
    match _as_for_numbers(leaf):
        case Compare(_, op, value):
            return _compare(op, lower, upper, value.cast(lower.type))
        case Interval(_, low, high):
            low, high = low.cast(lower.type), high.cast(lower.type)
            outside = _certain(pc.greater(lower, high)) | _certain(pc.less(upper, low))
            inside = _certain(pc.greater_equal(lower, low)) & _certain(pc.less_equal(upper, high))
            return outside, inside
        case In(_, values):
            return _in(lower, upper, values.cast(lower.type))
        case holds:
            return np.full(len(lower), not holds), np.full(len(lower), holds)


def _as_for_numbers(leaf: Compare | Interval | In) -> Compare | Interval | In | bool:
    """Return a leaf without NaN that says the same of everything else, or what it says of everything else."""
    match leaf:
        case Compare(_, op, value) if _is_nan(value):
            return op in _HOLD_FOR_SMALLER
        case Interval(_, low, _) if _is_nan(low):
            return False
        case Interval(column, low, high) if _is_nan(high):
            return Compare(column, Op.GE, low)
        case In(_, values) if pa.types.is_boolean(values.type) and len(values) == 2:
            return True  # there is no other value
        case In(column, values) if pa.types.is_floating(values.type):
            numbers = values.filter(pc.invert(pc.is_nan(values)))
            return In(column, numbers) if len(numbers) else False
        case _:
            return leaf


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
