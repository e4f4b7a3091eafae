"""Conditions on chains of functions, as the preimages that make them TRUE, NULL, or raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Constant, IsNull, IsTruth, Not, Op, Or, Unsupported
from prune_assets.sql.functions.function import Preimage, invert
from prune_assets.sql.lowering.column_values import ColumnValues, is_one_of, values_of
from prune_assets.sql.types.ranges import NOTHING, Ranges, complement, intersection, span, union

if TYPE_CHECKING:
    from parquet_core.predicate import Predicate
    from prune_assets.sql.functions.terms import Chain

UNCERTAIN = "for some values it is not known what Spark computes"


class ClassifiedValues(NamedTuple):
    """The values of a column by the outcome of a condition; all others make it FALSE."""

    column: ColumnValues
    true: Ranges
    null: Ranges
    raises: Ranges
    uncertain: Ranges


def classify_values(chain: Chain, wanted: Ranges, *, written: Op | None = None) -> ClassifiedValues:
    """Return what becomes of the column's values when the chain's results in `wanted` make a condition TRUE.

    `written`: how the column itself is compared.
    """
    column = values_of(chain.column, written)
    found = Preimage(wanted)
    for function in reversed(chain.functions):
        found = invert(function, found)
    inside = span(column.least, column.greatest)
    return ClassifiedValues(column, *(intersection(part, inside) for part in found))


def intersect(left: ClassifiedValues, right: ClassifiedValues) -> ClassifiedValues | None:
    """Return the conjunction of two conditions on one chain, None when the values without result differ."""
    if left[2:] != right[2:] or left.column.path != right.column.path:
        return None
    return left._replace(true=intersection(left.true, right.true))


def as_predicate(values: ClassifiedValues, sql: str) -> Predicate:
    """Return the condition, NULL for a null column; `sql` is what is shown where its outcome is not known."""
    if values.null == span(values.column.least, values.column.greatest):
        return Constant(Outcomes.NULL)
    exceptions = _exceptions(values, sql)
    if not exceptions:
        return is_one_of(values.column, values.true)
    most = union(values.true, values.null, values.raises, values.uncertain)
    if len(most.pairs) <= len(values.true.pairs):
        return _all_but(values, most, exceptions)
    # Points stay points, which bloom filters know about.
    parts = [is_one_of(values.column, values.true)]
    parts += [And((is_one_of(values.column, part), outcome)) for part, outcome in exceptions]
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _all_but(values: ClassifiedValues, most: Ranges, exceptions: list[tuple[Ranges, Predicate]]) -> Predicate:
    """Return the condition as the range that holds the exceptions too, less these."""
    parts = [is_one_of(values.column, most)]
    for part, outcome in exceptions:
        rest = complement(part, values.column.least, values.column.greatest)
        parts.append(Or((is_one_of(values.column, rest), outcome)))
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def is_null_predicate(values: ClassifiedValues, sql: str) -> Predicate:
    """Return whether the chain is NULL, the column's own null included; `values.true` is not asked."""
    if not (values.null or values.raises or values.uncertain):
        return IsNull(values.column.path)
    found: list[Predicate] = [IsNull(values.column.path)]
    if values.null:
        found.append(_surely(values.column, values.null))
    found += [And((_surely(values.column, part), outcome)) for part, outcome in _exceptions(values, sql, NOTHING)]
    return Or(tuple(found))


def does_not_raise(values: ClassifiedValues) -> Predicate | None:
    """Return what is TRUE for all but the raising values, for which it may be anything; None when there are none."""
    if not values.raises:
        return None
    return Or((Not(_surely(values.column, values.raises)), Constant(Outcomes.UNKNOWN)))


def _surely(column: ColumnValues, part: Ranges) -> Predicate:
    return IsTruth(is_one_of(column, part), Outcomes.TRUE)


def _exceptions(values: ClassifiedValues, sql: str, null: Ranges | None = None) -> list[tuple[Ranges, Predicate]]:
    found: list[tuple[Ranges, Predicate]] = [
        (values.raises, Constant(Outcomes.UNKNOWN)),
        (values.uncertain, Unsupported(sql, UNCERTAIN)),
        (values.null if null is None else null, Constant(Outcomes.NULL)),
    ]
    return [(part, outcome) for part, outcome in found if part]


def wanted_by(op: Op, ordinal: int, least: int, greatest: int) -> Ranges:
    """Return the ordinals that a comparison with one holds for; `op` is none of `<>`."""
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
