"""Lower comparisons of two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.format.comparable_values import bounds_type
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, CompareColumns, Constant, IsNull, IsTruth, Not, Op, Or
from prune_assets.sql.functions.coercion import has_too_many_digits
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.spark_types import type_of_column
from prune_assets.sql.types.spark_values import MAX_DIGITS, ValueKind

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate

_HOLDS_FOR_EQUAL = frozenset({Op.EQ, Op.LE, Op.GE})


def compare_columns(left: LeafColumn, op: Op, right: LeafColumn, *, ansi: bool) -> Predicate:
    """Return `left op right`. Raises Refusal if Spark casts a column, except between numeric types."""
    _check(left, right, ansi=ansi)
    if left.path == right.path:
        # A value equals itself, NaN included, so only nulls matter.
        is_null = IsNull(left.path)
        return Or((Not(is_null), NULL)) if op in _HOLDS_FOR_EQUAL else And((is_null, NULL))
    return CompareColumns(left.path, op, right.path)


def same_columns(left: LeafColumn, right: LeafColumn, *, ansi: bool) -> Predicate:
    """Return `left <=> right`. Raises as `compare_columns`."""
    _check(left, right, ansi=ansi)
    if left.path == right.path:
        return Constant(Outcomes.TRUE)
    equal = IsTruth(CompareColumns(left.path, Op.EQ, right.path), Outcomes.TRUE)
    return Or((equal, And((IsNull(left.path), IsNull(right.path)))))


def _check(left: LeafColumn, right: LeafColumn, *, ansi: bool) -> None:
    if left.type == right.type or _are_alike_times(left, right):
        return
    refusal = Refusal(
        f"{left.name} and {right.name} have different types, and one of them is cast", "store both in one type"
    )
    types = [type_of_column(column.type) for column in (left, right) if column.type is not None]
    number_types = [type_ for type_ in types if type_ is not None and type_.is_number]
    if len(number_types) < len((left, right)):
        raise refusal
    doubles = [type_ for type_ in number_types if type_.kind is ValueKind.DOUBLE]
    if len(doubles) == 1 and not ansi and pa.float32() in {left.type, right.type}:
        # Spark casts to float, which rounds the values.
        raise refusal
    if has_too_many_digits(number_types):
        raise Refusal(f"Spark compares these as a decimal of {MAX_DIGITS} digits, which rounds", "store fewer digits")


def _are_alike_times(left: LeafColumn, right: LeafColumn) -> bool:
    """Return whether Spark reads two columns as the same timestamp type, whatever units they are stored in."""
    arrow_types = [column.type for column in (left, right)]
    are_times = all(
        arrow_type is not None and pa.types.is_timestamp(arrow_type) and arrow_type.unit != "ns"
        for arrow_type in arrow_types
    )
    return are_times and bounds_type(left) == bounds_type(right)
