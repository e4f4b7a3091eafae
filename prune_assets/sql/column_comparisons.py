"""Comparisons of two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, CompareColumns, Constant, IsNull, IsTruth, Not, Op, Or
from prune_assets.sql.refusal import Refusal

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Predicate

_NULL = Constant(Outcomes.NULL)
_HOLDS_FOR_EQUAL = frozenset({Op.EQ, Op.LE, Op.GE})


def compare_columns(left: LeafColumn, op: Op, right: LeafColumn) -> Predicate:
    """Return `left op right`; raises Refusal where Spark would cast one of them."""
    _check(left, right)
    if left.path == right.path:
        # Of a value with itself, NaN included, only whether it is there is to be known.
        is_null = IsNull(left.path)
        return Or((Not(is_null), _NULL)) if op in _HOLDS_FOR_EQUAL else And((is_null, _NULL))
    return CompareColumns(left.path, op, right.path)


def same_columns(left: LeafColumn, right: LeafColumn) -> Predicate:
    """Return `left <=> right`; raises as `compare_columns`."""
    _check(left, right)
    if left.path == right.path:
        return Constant(Outcomes.TRUE)
    equal = IsTruth(CompareColumns(left.path, Op.EQ, right.path), Outcomes.TRUE)
    return Or((equal, And((IsNull(left.path), IsNull(right.path)))))


def _check(left: LeafColumn, right: LeafColumn) -> None:
    kinds = left.type, right.type
    alike = all(map(pa.types.is_signed_integer, kinds)) or all(map(_is_float, kinds)) or left.type == right.type
    if not alike:
        raise Refusal(
            f"{left.name} and {right.name} have different types, and one of them is cast", "store both in one type"
        )


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))
