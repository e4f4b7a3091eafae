"""The values of a column by their ordinals, and sets of them as leaves of the owned predicate."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.arrow_arrays import array_of, scalar_of
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, Constant, In, Interval, IsNull, Not, Op, Or
from prune_assets.sql.lowering.time_comparisons import spark_type
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.domain import always, domain_of, never
from prune_assets.sql.types.ranges import Ranges, complement
from prune_assets.sql.types.spark_types import SparkType, float_of_ordinal, type_of_column
from prune_assets.sql.types.spark_values import Kind
from prune_assets.sql.types.timestamps import TIMES

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path, Predicate

# So many values are looked for one by one: bloom filters and dictionaries know about values, not about ranges.
_FEW = 10
_CALENDAR = TIMES | {Kind.DATE}


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A column's path and type, the type that Spark reads it as, and its ordinals from `least` to `greatest`."""

    path: Path
    arrow: pa.DataType
    type: SparkType
    least: int
    greatest: int


def values_of(column: LeafColumn) -> ColumnValues:
    """Return the values of a column; raises Refusal when they have no ordinals."""
    assert column.type is not None
    found = type_of_column(column.type)
    if found is None or not found.is_ordinal:
        raise Refusal(f"columns of type {column.type} are not pruned on yet")
    if pa.types.is_timestamp(column.type):
        return ColumnValues(column.path, spark_type(column), found, found.least, found.greatest)
    if pa.types.is_unsigned_integer(column.type):
        return ColumnValues(column.path, column.type, found, 0, (1 << column.type.bit_width) - 1)
    return ColumnValues(column.path, column.type, found, found.least, found.greatest)


def is_one_of(values: ColumnValues, chosen: Ranges) -> Predicate:
    """Return the membership of the column in a set, NULL for null."""
    rest = complement(chosen, values.least, values.greatest)
    if not rest:
        return _everything(values)
    if not chosen:
        return _nothing(values)
    if len(rest.pairs) < len(chosen.pairs) or _is_point(rest):
        return _negated(_positive(values, rest))
    return _positive(values, chosen)


def _is_point(ranges: Ranges) -> bool:
    return len(ranges.pairs) == 1 and ranges.pairs[0][0] == ranges.pairs[0][1]


def _negated(predicate: Predicate) -> Predicate:
    if isinstance(predicate, Compare) and predicate.op is Op.EQ:
        return Compare(predicate.column, Op.NE, predicate.value)
    return Not(predicate)


def _positive(values: ColumnValues, chosen: Ranges) -> Predicate:
    few = values.type.kind is not Kind.DOUBLE and sum(last - first + 1 for first, last in chosen.pairs) <= _FEW
    runs = {(first, last): few or _is_short(values, first, last) for first, last in chosen.pairs}
    points = [point for (first, last), short in runs.items() if short for point in range(first, last + 1)]
    found = [_range(values, first, last) for (first, last), short in runs.items() if not short]
    if len(points) == 1:
        found.append(Compare(values.path, Op.EQ, _scalar(values, points[0])))
    elif points:
        plain = [_plain(values, point) for point in points]
        found.append(In(values.path, array_of(plain, values.arrow)))
    return Or(tuple(found)) if len(found) > 1 else found[0]


def _is_short(values: ColumnValues, first: int, last: int) -> bool:
    """Tell whether a range is a point, or floats next to each other, which few but lists and roundings make."""
    is_inside = values.least < first and last < values.greatest
    return first == last or (values.type.kind is Kind.DOUBLE and is_inside and last - first < _FEW)


def _range(values: ColumnValues, first: int, last: int) -> Predicate:
    if first == values.least:
        return Compare(values.path, Op.LE, _scalar(values, last))
    if last == values.greatest:
        return Compare(values.path, Op.GE, _scalar(values, first))
    return Interval(values.path, _scalar(values, first), _scalar(values, last))


def _everything(values: ColumnValues) -> Predicate:
    if values.type.kind in _CALENDAR:
        return Or((Not(IsNull(values.path)), Constant(Outcomes.NULL)))
    domain = domain_of(values.arrow)
    return Compare(values.path, Op.GE, _scalar(values, values.least)) if domain is None else always(values.path, domain)


def _nothing(values: ColumnValues) -> Predicate:
    if values.type.kind in _CALENDAR:
        return And((IsNull(values.path), Constant(Outcomes.NULL)))
    domain = domain_of(values.arrow)
    return Compare(values.path, Op.LT, _scalar(values, values.least)) if domain is None else never(values.path, domain)


def _scalar(values: ColumnValues, ordinal: int) -> pa.Scalar:
    return scalar_of(_plain(values, ordinal), values.arrow)


def _plain(values: ColumnValues, ordinal: int) -> Any:
    """Return the value with an ordinal as Python's own."""
    match values.type.kind:
        case Kind.DOUBLE:
            return float_of_ordinal(ordinal, values.type.bits)
        case Kind.BOOLEAN:
            return bool(ordinal)
        case Kind.DECIMAL if pa.types.is_decimal(values.arrow):
            return Decimal((ordinal < 0, tuple(map(int, str(abs(ordinal)))), -values.type.scale))
        case _:
            return ordinal
