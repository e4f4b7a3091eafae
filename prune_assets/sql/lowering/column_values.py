"""Conditions on a column, as the sets of values for which a condition is TRUE or NULL, or raises.

Values are represented by ordinals, which are integers in Spark's order (`spark_types.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from parquet_core.arrow_arrays import array_of, scalar_of
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    Constant,
    In,
    Interval,
    IsNull,
    IsTruth,
    Not,
    Op,
    Or,
    Unsupported,
)
from prune_assets.sql.functions.function import Preimage, doubted, invert
from prune_assets.sql.functions.terms import NULL
from prune_assets.sql.lowering.row_tests import is_known
from prune_assets.sql.refusal import Refusal, zone_needed
from prune_assets.sql.render import render
from prune_assets.sql.simplify.flatten import inverse
from prune_assets.sql.types.domain import always, domain_of, is_read_wider, never
from prune_assets.sql.types.ranges import NOTHING, ValueRanges, complement, intersection, span, union
from prune_assets.sql.types.spark_types import SparkType, float_of_ordinal, type_of_column
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.timestamps import TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn, Path
    from parquet_core.pruning.predicate import OnPartitions, Predicate
    from prune_assets.sql.functions.terms import Chain

# Maximum number of values that are listed one by one: bloom filters and dictionaries contain values, not ranges.
_FEW = 10
# The same limit for IN lists. Their values are listed even if, because of a cast, some of them stand for ranges.
_LISTED = 100_000
_CALENDAR = TIMES | {ValueKind.DATE}


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Types of a column and its range of ordinals.

    `arrow`: Arrow type of the column.
    `type`: type that Spark reads the column as.
    `least`, `greatest`: ordinals of the smallest and the largest value.
    `written`: operator that compares the column itself, EQ for a list. None if functions are applied to the column.
    """

    path: Path
    arrow: pa.DataType
    type: SparkType
    least: int
    greatest: int
    written: Op | None = None


def values_of(column: LeafColumn, written: Op | None = None) -> ColumnValues:
    """Return the range of ordinals of a column. Raises Refusal if its values have no ordinals."""
    assert column.type is not None
    type_ = type_of_column(column.type)
    if type_ is None or not type_.is_ordinal:
        raise Refusal(f"columns of type {column.type} are not supported")
    least, greatest, arrow = type_.least, type_.greatest, column.type
    if pa.types.is_timestamp(arrow):
        arrow = pa.timestamp("us", "UTC" if arrow.tz else None)  # Spark counts microseconds in every timestamp
    elif pa.types.is_unsigned_integer(arrow):
        least, greatest = 0, (1 << arrow.bit_width) - 1
    return ColumnValues(column.path, arrow, type_, least, greatest, written)


def is_text(column: LeafColumn, values: Sequence[Any]) -> Predicate:
    """Return `column IN values` for a string or binary column, NULL for null."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return Compare(column.path, Op.EQ, scalar_of(distinct[0], column.type))
    return In(column.path, array_of(distinct, column.type))


def is_one_of(values: ColumnValues, chosen: ValueRanges) -> Predicate:
    """Return whether the column is in a set of ordinals, NULL for null."""
    if not chosen:
        return _never_true(values)
    if values.written is Op.EQ:
        return _positive(values, chosen)
    rest = complement(chosen, values.least, values.greatest)
    if not rest:
        return _everything(values)
    # Spark reads some columns as a wider type. They may hold values beyond `least` and `greatest`.
    has_ends = (chosen.pairs[0][0], chosen.pairs[-1][1]) == (values.least, values.greatest)
    may_invert = has_ends or not is_read_wider(values.arrow)
    if may_invert and (len(rest.pairs) < len(chosen.pairs) or _is_point(rest)):
        return inverse(_positive(values, rest))
    return _positive(values, chosen)


def _is_point(ranges: ValueRanges) -> bool:
    return len(ranges.pairs) == 1 and ranges.pairs[0][0] == ranges.pairs[0][1]


def _positive(values: ColumnValues, chosen: ValueRanges) -> Predicate:
    most = {None: _FEW, Op.EQ: _LISTED}.get(values.written, 0) if values.type.kind is not ValueKind.DOUBLE else 0
    few = sum(last - first + 1 for first, last in chosen.pairs) <= most
    runs = {(first, last): few or _is_short(values, first, last) for first, last in chosen.pairs}
    points = [point for (first, last), short in runs.items() if short for point in range(first, last + 1)]
    parts = [_range(values, first, last) for (first, last), short in runs.items() if not short]
    if len(points) == 1:
        parts.append(Compare(values.path, Op.EQ, _scalar(values, points[0])))
    elif points:
        plain = [_plain(values, point) for point in points]
        parts.append(In(values.path, array_of(plain, values.arrow)))
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _is_short(values: ColumnValues, first: int, last: int) -> bool:
    """Return whether a range is a point, or a few adjacent floats, which are tested as a list of values."""
    if first == last:
        # A column that Spark reads wider may hold values beyond the greatest: `x >= greatest` is not `x = greatest`.
        is_end = first in {values.least, values.greatest} and is_read_wider(values.arrow)
        return values.written in {None, Op.EQ} or not is_end
    is_inside = values.least < first and last < values.greatest and values.written in {None, Op.EQ}
    return values.type.kind is ValueKind.DOUBLE and is_inside and last - first < _FEW


def _range(values: ColumnValues, first: int, last: int) -> Predicate:
    is_open = values.written in {Op.LT, Op.GT}
    if first == values.least:
        end = (Op.LT, last + 1) if is_open else (Op.LE, last)
    elif last == values.greatest:
        end = (Op.GT, first - 1) if is_open else (Op.GE, first)
    else:
        return Interval(values.path, _scalar(values, first), _scalar(values, last))
    return Compare(values.path, end[0], _scalar(values, end[1]))


def _everything(values: ColumnValues) -> Predicate:
    if values.type.kind in _CALENDAR:
        return Or((Not(IsNull(values.path)), NULL))
    domain = domain_of(values.arrow)
    return Compare(values.path, Op.GE, _scalar(values, values.least)) if domain is None else always(values.path, domain)


def _never_true(values: ColumnValues) -> Predicate:
    if values.type.kind in _CALENDAR:
        return And((IsNull(values.path), NULL))
    domain = domain_of(values.arrow)
    if domain is None or values.written in {Op.LT, Op.LE}:
        return Compare(values.path, Op.LT, _scalar(values, values.least))
    return never(values.path, domain)


def only_out_of_domain(values: ColumnValues) -> Predicate:
    """Return a predicate that is FALSE for every value of the type, and unknown for stored values beyond it."""
    domain = domain_of(values.arrow)
    assert domain is not None
    return never(values.path, domain)


def _scalar(values: ColumnValues, ordinal: int) -> pa.Scalar:
    return scalar_of(_plain(values, ordinal), values.arrow)


def _plain(values: ColumnValues, ordinal: int) -> Any:
    """Return the Python value of an ordinal."""
    match values.type.kind:
        case ValueKind.DOUBLE:
            return float_of_ordinal(ordinal, values.type.bits)
        case ValueKind.BOOLEAN:
            return bool(ordinal)
        case ValueKind.DECIMAL if pa.types.is_decimal(values.arrow):
            return Decimal((ordinal < 0, tuple(map(int, str(abs(ordinal)))), -values.type.scale))
        case _:
            return ordinal


UNCERTAIN = "the result of Spark is uncertain for "


class ClassifiedValues(NamedTuple):
    """Sets of a column's values, one set per outcome of a condition. The condition is FALSE for values in no set.

    `in_zones`: True if outcomes are uncertain only because the session's time zone is unknown.
    `test`: evaluates the condition on rows instead. None if the sets are known.
    """

    column: ColumnValues
    true: ValueRanges
    null: ValueRanges
    raises: ValueRanges
    uncertain: ValueRanges
    in_zones: bool = False
    test: OnPartitions | None = None


def classify_values(
    chain: Chain,
    wanted: ValueRanges,
    *,
    written: Op | None = None,
    doubt: int = 0,
) -> ClassifiedValues:
    """Group the column's values by the outcome of a condition.

    `wanted`: results of the chain that make the condition TRUE.
    `written`: operator that compares the column itself. None if functions are applied to the column.
    `doubt`: maximum error of a result if the session's time zone is unknown.
    """
    is_doubtful = doubt > 0 or any(function.doubt for function in chain.functions)
    column = values_of(chain.column, None if is_doubtful else written)
    preimage = doubted(Preimage(wanted), doubt, chain.type.least, chain.type.greatest)
    for function in reversed(chain.functions):
        preimage = invert(function, preimage)
    inside = span(column.least, column.greatest)
    true, null, raises, uncertain = (intersection(part, inside) for part in preimage)
    in_zones = is_doubtful and not any(function.uncertain for function in chain.functions)
    return ClassifiedValues(column, true, null, raises, uncertain, in_zones)


def intersect(left: ClassifiedValues, right: ClassifiedValues) -> ClassifiedValues | None:
    """Return the conjunction of two conditions on one chain.

    None if the sets other than `true` differ, or a condition is tested on rows.
    """
    if left[2:] != right[2:] or left.test is not None or left.column.path != right.column.path:
        return None
    return left._replace(true=intersection(left.true, right.true))


def as_predicate(values: ClassifiedValues, sql: str) -> Predicate:
    """Return the predicate of a condition; it is NULL if the column is null.

    `sql`: source of the condition, which is reported if the outcome is unknown.
    """
    if values.test is not None:
        return values.test
    if values.null == span(values.column.least, values.column.greatest):
        return NULL
    exceptions = _exceptions(values, sql)
    if not exceptions:
        return is_one_of(values.column, values.true)
    most = union(values.true, values.null, values.raises, values.uncertain)
    if len(most.pairs) <= len(values.true.pairs):
        return _all_but(values, most, exceptions)
    # Single values stay equalities, which bloom filters can test.
    parts = [is_one_of(values.column, values.true)]
    parts += [And((is_one_of(values.column, part), outcome)) for part, outcome in exceptions]
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _all_but(values: ClassifiedValues, most: ValueRanges, exceptions: list[tuple[ValueRanges, Predicate]]) -> Predicate:
    """Return ranges that cover TRUE values and exceptions, joined by AND with the outcomes of the exceptions."""
    parts = [is_one_of(values.column, most)]
    for part, outcome in exceptions:
        rest = complement(part, values.column.least, values.column.greatest)
        parts.append(Or((is_one_of(values.column, rest), outcome)))
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def is_null_predicate(values: ClassifiedValues, sql: str) -> Predicate:
    """Return a predicate that tests whether the chain is NULL, including nulls of the column; ignores `values.true`."""
    if values.test is not None:
        return IsTruth(values.test, Outcomes.NULL)
    if not (values.null or values.raises or values.uncertain):
        return IsNull(values.column.path)
    parts: list[Predicate] = [IsNull(values.column.path)]
    if values.null:
        parts.append(_surely(values.column, values.null))
    parts += [And((_surely(values.column, part), outcome)) for part, outcome in _exceptions(values, sql, NOTHING)]
    return Or(tuple(parts))


def does_not_raise(values: ClassifiedValues) -> Predicate | None:
    """Return a predicate that is unknown for values that raise, TRUE for others; None if no value raises."""
    if values.test is not None:
        return is_known(values.test)
    if not values.raises:
        return None
    return Or((Not(_surely(values.column, values.raises)), Constant(Outcomes.UNKNOWN)))


def _surely(column: ColumnValues, part: ValueRanges) -> Predicate:
    return IsTruth(is_one_of(column, part), Outcomes.TRUE)


def _exceptions(
    values: ClassifiedValues, sql: str, null: ValueRanges | None = None
) -> list[tuple[ValueRanges, Predicate]]:
    unknown = Unsupported(sql, _not_certain(values))
    if values.in_zones:
        refusal = zone_needed()
        unknown = Unsupported(sql, refusal.reason, refusal.remedy, may_raise=False, cause=refusal.cause)
    exceptions: list[tuple[ValueRanges, Predicate]] = [
        (values.raises, Constant(Outcomes.UNKNOWN)),
        (values.uncertain, unknown),
        (values.null if null is None else null, NULL),
    ]
    return [(part, outcome) for part, outcome in exceptions if part]


def _not_certain(values: ClassifiedValues) -> str:
    is_shown = len(values.uncertain.pairs) == 1
    where = render(is_one_of(values.column, values.uncertain)) if is_shown else "some rare values of the column"
    return f"{UNCERTAIN}{where}"


def ordinals_satisfying(op: Op, ordinal: int, least: int, greatest: int) -> ValueRanges:
    """Return the ordinals that satisfy a comparison with `ordinal`; `<>` is not supported."""
    match op:
        case Op.LT:
            return span(least, ordinal - 1)
        case Op.LE:
            return span(least, ordinal)
        case Op.GT:
            return span(ordinal + 1, greatest)
        case Op.GE:
            return span(ordinal, greatest)
        case _:
            return span(ordinal, ordinal)
