"""How the bounds of a row group lie to what a leaf asks, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import Compare, In, Interval, IsNaN, IsNull, Op
from prune_assets.report.value_text import value_text

if TYPE_CHECKING:
    from parquet_core.predicate import ColumnLeaf
    from parquet_core.trust.bounds import Bounds


def why_open(leaf: ColumnLeaf, bounds: Bounds, position: int, wanted: Outcomes, *, proven: bool = False) -> str:
    """Say why the bounds of a container leave a leaf open; `wanted`: the outcomes that could not be ruled out.

    `proven`: every row has one of them.
    """
    low, high = bounds.lower[position], bounds.upper[position]
    match leaf:
        case IsNull():
            return _nulls(bounds, position, wanted)
        case IsNaN():
            return _nans(bounds.nan_count[position])
    if not low.is_valid and not high.is_valid:
        nulls = bounds.null_count[position]
        return f"min and max are unknown, {value_text(nulls)} nulls"
    if proven or wanted != Outcomes.TRUE:
        return f"min {value_text(low)}, max {value_text(high)}"
    if pa.types.is_floating(low.type) and not _inside(leaf, low, high):
        return f"min {value_text(low)}, max {value_text(high)}; NaN, which bounds do not see, may be there"
    said = _comparison(leaf, low, high)
    return said or f"min {value_text(low)}, max {value_text(high)}"


def _nulls(bounds: Bounds, position: int, wanted: Outcomes) -> str:
    nulls, rows = bounds.null_count[position], int(bounds.row_count[position])
    if not nulls.is_valid:
        return "the number of nulls is unknown"
    if wanted == Outcomes.FALSE:
        return f"{rows - nulls.as_py():,} of {rows:,} rows are not null"
    return f"{nulls.as_py():,} of {rows:,} rows are null"


def _nans(count: pa.Scalar) -> str:
    return f"{count.as_py():,} NaN" if count.is_valid else "the number of NaN is unknown"


def _inside(leaf: ColumnLeaf, low: pa.Scalar, high: pa.Scalar) -> bool:
    """Tell whether bounds of floats alone leave a leaf open; where they do not, it is NaN that does."""
    least = low.as_py() if low.is_valid else -math.inf
    most = high.as_py() if high.is_valid else math.inf
    match leaf:
        case Compare(_, Op.EQ, value):
            inside = least <= value.as_py() <= most
        case Compare(_, Op.GT, value):
            inside = most > value.as_py()
        case Compare(_, Op.GE, value):
            inside = most >= value.as_py()
        case Compare(_, Op.NE, value):
            inside = not least == most == value.as_py()
        case _:
            inside = True
    return bool(inside)


def _comparison(leaf: ColumnLeaf, low: pa.Scalar, high: pa.Scalar) -> str:
    least, most = value_text(low), value_text(high)
    match leaf:
        case Compare(_, Op.EQ, value):
            said = f"min {least} <= {value_text(value)} <= max {most}"
        case Compare(_, Op.LT | Op.LE as op, value):
            said = f"min {least} {op} {value_text(value)}"
        case Compare(_, Op.GT | Op.GE as op, value):
            said = f"max {most} {op} {value_text(value)}"
        case Compare(_, Op.NE, value):
            said = f"min {least} and max {most} are not both {value_text(value)}"
        case Interval(_, first, last):
            said = f"min {least} <= {value_text(last)} and max {most} >= {value_text(first)}"
        case In(_, values):
            said = _members(values, low, high)
        case _:
            said = ""
    return said


def _members(values: pa.Array, low: pa.Scalar, high: pa.Scalar) -> str:
    asked = values.cast(low.type) if values.type != low.type else values
    inside = pa.array([True] * len(asked))
    if low.is_valid:
        inside = pc.and_(inside, pc.greater_equal(asked, low))
    if high.is_valid:
        inside = pc.and_(inside, pc.less_equal(asked, high))
    first = pc.filter(asked, inside)
    some = f", such as {value_text(first[0])}" if len(first) else ""
    return f"{len(first):,} of {len(values):,} values lie in min {value_text(low)} .. max {value_text(high)}{some}"
