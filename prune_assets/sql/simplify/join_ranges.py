"""Join comparisons of one column under AND: limits to intervals, and many `<>` to one NOT IN.

By De Morgan, many `=` under OR become one IN, which is evaluated in one step.
"""

from __future__ import annotations

import math
from decimal import Context
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of_scalars, scalar_of
from parquet_core.pruning.predicate import And, Compare, In, Interval, IsNull, Not, Op
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.simplify.flatten import inverse
from prune_assets.sql.types.domain import domain_of, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Predicate


_EXACT = Context(prec=80)


def join_ranges(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Combine lower and upper limits of a column into an interval, in place of the first limit.

    `operands`: operands of an AND.
    """
    limits = [_limit(operand) for operand in operands]
    by_column: dict[Path, list[int]] = {}
    for i, limit in enumerate(limits):
        if limit is not None:
            by_column.setdefault(limit.column, []).append(i)
    joined: list[Predicate | None] = list(operands)
    for places in by_column.values():
        interval = _interval([limit for i in places if (limit := limits[i]) is not None])
        if interval is not None:
            joined[places[0]] = interval
            for i in places[1:]:
                joined[i] = None
    return tuple(operand for operand in joined if operand is not None)


def _limit(operand: Predicate) -> Compare | None:
    """Return a comparison with a constant as `>=` or `<=`; None for other operands.

    Also None if no value of the type can be the inclusive limit.
    """
    match operand:
        case Not(Compare() as compared):
            operand = inverse(compared)
    match operand:
        case Compare(column, Op.GE | Op.LE as op, value) if not pa.types.is_boolean(value.type):
            return Compare(column, op, value)
        case Compare(column, op, value) if pa.types.is_floating(value.type):
            return _closed_of_floats(column, op, value)
        case Compare(column, Op.GT, value):
            return _moved(column, Op.GE, _neighbour(value, 1))
        case Compare(column, Op.LT, value):
            return _moved(column, Op.LE, _neighbour(value, -1))
        case _:
            return None


def _moved(column: Path, op: Op, value: pa.Scalar | None) -> Compare | None:
    return None if value is None else Compare(column, op, value)


def _neighbour(value: pa.Scalar, step: int) -> pa.Scalar | None:
    """Return the next value of the type (`step` 1) or the previous one (-1); None if it does not exist."""
    arrow_type = value.type
    if pa.types.is_string(arrow_type) or pa.types.is_binary(arrow_type):
        # No string is the greatest below a given one.
        return (
            scalar_of(value.as_py() + ("\0" if pa.types.is_string(arrow_type) else b"\0"), arrow_type)
            if step > 0
            else None
        )
    domain = domain_of(arrow_type)
    if domain is not None:
        moved = int(value.as_py().scaleb(domain.scale, _EXACT)) if domain.scale else int(value.as_py())
        return scalar(domain, moved + step) if domain.low <= moved + step <= domain.high else None
    if pa.types.is_date32(arrow_type):
        moved = value.value + step
        return scalar_of(moved, pa.int32()).cast(arrow_type) if -(1 << 31) <= moved < 1 << 31 else None
    return None


def _closed_of_floats(column: Path, op: Op, value: pa.Scalar) -> Compare | None:
    float_value = value.type.to_pandas_dtype()(value.as_py())
    match op:
        case Op.LT | Op.NE if math.isnan(float_value):  # all numbers, and nothing else
            return Compare(column, Op.LE, scalar_of(math.inf, value.type))
        case Op.GT if float_value < math.inf:  # nothing but NaN is larger
            return Compare(column, Op.GE, _next(value.type, float_value, math.inf))
        case Op.LT if float_value > -math.inf:
            return Compare(column, Op.LE, _next(value.type, float_value, -math.inf))
        case _:
            return None


def _next(arrow_type: pa.DataType, float_value: np.floating, towards: float) -> pa.Scalar:
    with np.errstate(over="ignore", under="ignore"):
        return scalar_of(float(np.nextafter(float_value, type(float_value)(towards))) + 0.0, arrow_type)


def _interval(limits: Sequence[Compare]) -> Interval | And | None:
    lows = [limit.value for limit in limits if limit.op is Op.GE]
    highs = [limit.value for limit in limits if limit.op is Op.LE]
    if not lows or not highs:
        return None
    low, high = max(lows, key=_sort_key), min(highs, key=_sort_key)
    return None if _is_nan(high) else interval(limits[0].column, low, high)


def interval(column: Path, low: pa.Scalar, high: pa.Scalar) -> Interval | And:
    """Return `low <= column <= high` as an interval; as two comparisons if `high` is NaN, which cannot end an interval.

    If `low` is greater than `high`, no value satisfies the result.
    """
    if _is_nan(high):
        return And((Compare(column, Op.GE, low), Compare(column, Op.LE, high)))
    if _sort_key(low) <= _sort_key(high):
        return Interval(column, low, high)
    return And((IsNull(column), NULL))  # NULL for null, FALSE for all else


def _sort_key(value: pa.Scalar) -> tuple[bool, Any]:
    """Return the sort key of a value in the order that predicates use; NaN is greatest."""
    if _is_nan(value):
        return True, 0.0
    # Python cannot represent dates after the year 9999.
    return False, value.value if pa.types.is_temporal(value.type) else value.as_py()


def _is_nan(value: pa.Scalar) -> bool:
    return pa.types.is_floating(value.type) and math.isnan(value.as_py())


# Minimum number of comparisons that are joined.
MANY = 16


def join_equalities(operands: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Join many `column <> value` of an AND into one NOT IN, in place of the first one."""
    by_column: dict[Path, list[int]] = {}
    for i, operand in enumerate(operands):
        if isinstance(operand, Compare) and operand.op is Op.NE and _can_join(operand.value.type):
            by_column.setdefault(operand.column, []).append(i)
    joined: list[Predicate | None] = list(operands)
    for column, places in by_column.items():
        if len(places) < MANY:
            continue
        values = [leaf.value for i in places if isinstance(leaf := operands[i], Compare)]
        for i in places:
            joined[i] = None
        joined[places[0]] = Not(In(column, array_of_scalars(values).unique()))
    return tuple(operand for operand in joined if operand is not None)


def _can_join(arrow_type: pa.DataType) -> bool:
    # For floats, NaN and the two zeros have special rules.
    return not (pa.types.is_floating(arrow_type) or pa.types.is_boolean(arrow_type))
