"""Bounds as evidence; row-group statistics and page indexes are evaluated alike.

Floating-point bounds enclose the numbers. NaN is larger than every number and may be present unless its count is known
to be 0. Bounds that are equal are the only value of the container, so any condition can be tested on it. That is also
true of truncated bounds, because the lower bound is at most the smallest value, and the upper bound at least the
largest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, flags_from, from_numpy, ordered_numbers, valid_flags
from parquet_core.pruning.evidence.listed_values import ListedValues, listed_values
from parquet_core.pruning.evidence.patterns import pattern_ruled_out
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, In, Interval, IsNaN, IsNull, OnValues, Op, Pattern
from parquet_core.trust.bounds import presence_of

if TYPE_CHECKING:
    from parquet_core.arrays import Flags
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf
    from parquet_core.trust.bounds import Bounds, Presence


# Comparisons that are TRUE for values smaller than the literal, for values equal to it, and for larger values.
HOLD_FOR_SMALLER = frozenset({Op.LT, Op.LE, Op.NE})
HOLD_FOR_EQUAL = frozenset({Op.EQ, Op.LE, Op.GE})
HOLD_FOR_LARGER = frozenset({Op.GT, Op.GE, Op.NE})
_ARROW: dict[Op, Any] = {
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
    Op.EQ: pc.equal,
}
_NUMPY: dict[Op, Any] = {
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.GT: np.greater,
    Op.GE: np.greater_equal,
    Op.EQ: np.equal,
}


def outcomes_from_bounds(leaf: ColumnLeaf, bounds: Bounds, *, presence: Presence | None = None) -> OutcomeArray:
    """Return the outcome set of each container from its bounds.

    `bounds`: bounds of the leaf's column. `presence`: the result of `presence_of(bounds)`; computed if None.
    """
    null, nan, value = presence = presence_of(bounds) if presence is None else presence
    if isinstance(leaf, IsNull):
        return outcomes_of(true=null, false=nan | value, null=np.zeros(len(bounds), np.bool_))
    if isinstance(leaf, IsNaN):
        return outcomes_of(true=nan, false=value | null, null=np.zeros(len(bounds), np.bool_))
    if isinstance(leaf, OnValues):
        return outcomes_of_known_values(leaf, bounds, presence)
    if isinstance(leaf, Pattern):
        true_ruled_out, false_ruled_out = pattern_ruled_out(leaf, bounds.lower, bounds.upper)
        return outcomes_of(true=value & ~true_ruled_out, false=value & ~false_ruled_out, null=null)
    true_ruled_out, false_ruled_out = _ruled_out(leaf, bounds.lower, bounds.upper)
    true, false = value & ~true_ruled_out, value & ~false_ruled_out
    if holds_for_nan(leaf):
        true |= nan
    else:
        false |= nan
    return outcomes_of(true=true, false=false, null=null)


def holds_for_nan(leaf: Compare | Interval | In) -> bool:
    """True if the leaf is TRUE for NaN.

    NaN is larger than every number.
    """
    match leaf:
        case Compare(_, op, value):
            return op in (HOLD_FOR_EQUAL if is_nan(value) else HOLD_FOR_LARGER)
        case Interval(_, _, high):
            return is_nan(high)
        case In(_, values):
            return pa.types.is_floating(values.type) and listed_values(values, values.type).has_nan


def is_nan(value: pa.Scalar) -> bool:
    """True if a literal is NaN."""
    return pa.types.is_floating(value.type) and math.isnan(value.as_py())


def outcomes_of(*, true: Flags, false: Flags, null: Flags) -> OutcomeArray:
    """Return outcome sets from flags of the possible outcomes."""
    answers: OutcomeArray = true.view(np.uint8) | false.view(np.uint8) << np.uint8(1)
    answers |= null.view(np.uint8) << np.uint8(2)
    return answers


def _ruled_out(leaf: Compare | Interval | In, lower: pa.Array, upper: pa.Array) -> tuple[Flags, Flags]:
    """Flag containers in which no non-NaN value makes the leaf TRUE, and containers in which none makes it FALSE."""
    if pa.types.is_boolean(lower.type):
        lower, upper = lower.cast(pa.uint8()), upper.cast(pa.uint8())
    match _as_for_numbers(leaf):
        case Compare(_, op, value):
            return _compare(op, lower, upper, value.cast(lower.type))
        case Interval(_, low, high):
            low, high = low.cast(lower.type), high.cast(lower.type)
            outside = _surely(Op.GT, lower, high) | _surely(Op.LT, upper, low)
            inside = _surely(Op.GE, lower, low) & _surely(Op.LE, upper, high)
            return outside, inside
        case In(_, values):
            listed = listed_values(values, lower.type)
            nothing = np.zeros(len(lower), np.bool_)
            return _in(lower, upper, listed) if len(listed.ascending) else (~nothing, nothing)
        case holds:
            return np.full(len(lower), not holds), np.full(len(lower), holds)


def _as_for_numbers(leaf: Compare | Interval | In) -> Compare | Interval | In | bool:
    """Rewrite a leaf for non-NaN values; a bool if it becomes constant."""
    match leaf:
        case Compare(_, op, value):
            holds = op in HOLD_FOR_SMALLER if is_nan(value) else holds_by_type(op, value)
            return leaf if holds is None else holds
        case Interval(_, low, _) if is_nan(low):
            return False
        case Interval(column, low, high) if is_nan(high):
            return Compare(column, Op.GE, low)
        case In(_, values) if pa.types.is_boolean(values.type) and len(values) == 2:
            return True  # the list holds both booleans
    return leaf


def holds_by_type(op: Op, value: pa.Scalar) -> bool | None:
    """Return the result of `x op value` if it is the same for every x of the type, else None.

    Then `value` is an extreme of the type: its smallest or largest value, or an infinity.

    >>> holds_by_type(Op.LT, pa.scalar(-128, pa.int8())), holds_by_type(Op.GE, pa.scalar(float("-inf")))
    (False, True)
    """
    arrow_type = value.type
    if pa.types.is_integer(arrow_type) and not (pa.types.is_uint8(arrow_type) or pa.types.is_uint16(arrow_type)):
        # Spark reads UINT_8 and UINT_16 as wider types, so it returns values beyond the declared range.
        ends = np.iinfo(arrow_type.to_pandas_dtype())
        least, most = value.as_py() <= ends.min, value.as_py() >= ends.max
    elif pa.types.is_float32(arrow_type) or pa.types.is_float64(arrow_type):
        least, most = value.as_py() == -math.inf, value.as_py() == math.inf
    else:
        return None
    if least and op in {Op.LT, Op.GE}:
        return op is Op.GE
    return op is Op.LE if most and op in {Op.GT, Op.LE} else None


def _compare(op: Op, lower: pa.Array, upper: pa.Array, value: pa.Scalar) -> tuple[Flags, Flags]:
    match op:
        case Op.LT:
            return _surely(Op.GE, lower, value), _surely(Op.LT, upper, value)
        case Op.LE:
            return _surely(Op.GT, lower, value), _surely(Op.LE, upper, value)
        case Op.GT:
            return _surely(Op.LE, upper, value), _surely(Op.GT, lower, value)
        case Op.GE:
            return _surely(Op.LT, upper, value), _surely(Op.GE, lower, value)
        case Op.EQ | Op.NE:
            apart = _surely(Op.GT, lower, value) | _surely(Op.LT, upper, value)
            constant = _surely(Op.EQ, lower, value) & _surely(Op.EQ, upper, value)
            return (apart, constant) if op is Op.EQ else (constant, apart)


def _surely(op: Op, bound: pa.Array, value: pa.Scalar) -> Flags:
    """Flag bounds that are known and satisfy the comparison with `value`."""
    bound_numbers = ordered_numbers(bound)
    if bound_numbers is None:
        return flags_from(_ARROW[op](bound, value))
    plain = ordered_numbers(pa.repeat(value, 1))
    assert plain is not None
    holds: Flags = _NUMPY[op](bound_numbers, plain[0])
    return holds if bound.null_count == 0 else holds & flags_from(bound.is_valid())


def _in(lower: pa.Array, upper: pa.Array, values: ListedValues) -> tuple[Flags, Flags]:
    """Flag containers in which IN cannot be TRUE, and containers in which it cannot be FALSE.

    TRUE requires a listed value between the bounds, and FALSE an unlisted one. The smallest and the largest listed
    value are not enough to decide either, because values between them may be unlisted.
    """
    low = values.places(lower)
    high = low if upper is lower else values.places(upper)
    listed = low & high & 1
    if lower.null_count or upper.null_count:
        has_lower, has_upper = valid_flags(lower), valid_flags(upper)
        low, high = np.where(has_lower, low, 0), np.where(has_upper, high, 2 * len(values.runs))
        listed[~(has_lower & has_upper)] = 0
    only_listed = np.zeros(len(low), np.bool_)
    at = np.flatnonzero(listed)
    only_listed[at] = values.runs[low[at] >> 1] == values.runs[high[at] >> 1]
    # A place is odd for a listed value.
    return high + (high & 1) <= low, only_listed


def outcomes_of_known_values(leaf: OnValues, bounds: Bounds, presence: Presence) -> OutcomeArray:
    """Evaluate the test on the value of each container whose bounds are equal.

    Adds the outcomes for null and NaN if the container may hold them. Containers with different bounds are UNKNOWN.
    """
    is_single, other = _only_values(bounds)
    tested = presence.value & is_single
    if not np.any((tested | ~presence.value) & (bounds.row_count > 0)):
        return np.full(len(bounds), Outcomes.UNKNOWN, np.uint8)
    answers: OutcomeArray = np.where(presence.value, np.uint8(Outcomes.UNKNOWN), np.uint8(Outcomes.NONE))
    if tested.any():
        # -0.0 and 0.0 compare as equal, but a function may return different results for them.
        tested_rows = from_numpy(np.flatnonzero(tested))
        low = leaf.test(bounds.lower.take(tested_rows))
        answers[tested] = low | leaf.test(bounds.upper.take(tested_rows)) if other[tested].any() else low
    if presence.nan.any():
        answers[presence.nan] |= outcome_of_value(leaf, array_of([math.nan], bounds.lower.type))
    if presence.null.any():
        answers[presence.null] |= outcome_of_null(leaf, bounds.lower.type)
    return answers


def outcome_of_null(leaf: OnValues, arrow_type: pa.DataType) -> np.uint8:
    """Return the outcome set of the condition for null."""
    return outcome_of_value(leaf, pa.nulls(1, arrow_type))


def outcome_of_value(leaf: OnValues, value: pa.Array) -> np.uint8:
    """Return the outcome set of the condition for a single value."""
    return np.uint8(leaf.test(value)[0])


def _only_values(bounds: Bounds) -> tuple[Flags, Flags]:
    """Flag containers whose bounds are equal, and containers whose bounds are zeros."""
    if pa.types.is_null(bounds.lower.type):  # Arrow cannot compare null arrays
        return np.zeros(len(bounds), np.bool_), np.zeros(len(bounds), np.bool_)
    same = flags_from(pc.equal(bounds.lower, bounds.upper))
    if not pa.types.is_floating(bounds.lower.type):
        return same, np.zeros(len(bounds), np.bool_)
    return same, same & flags_from(pc.equal(bounds.lower, array_of([0.0], bounds.lower.type)[0]))
