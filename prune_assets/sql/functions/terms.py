"""Bound operands: constants and chains of functions on one column, each with the condition under which it holds.

`CASE WHEN p THEN x + 1 ELSE 0 END` is a term of two branches, every other operand a term of one without a guard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, overload

import pyarrow as pa

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Cause, Constant, Not, children_of
from prune_assets.sql.refusal import Refusal, zone_needed
from prune_assets.sql.types.spark_types import ON_UNKNOWN_CLOCKS, TIMESTAMP, float_of_ordinal, ordinal_of_float
from prune_assets.sql.types.spark_values import SparkValue, ValueKind, computed
from prune_assets.sql.types.timestamps import UNCERTAIN_TIME, WRITE_TIMESTAMP, Moment
from prune_assets.sql.types.zones import UncertainTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.functions.function import Function
    from prune_assets.sql.types.spark_types import SparkType

MAX_BRANCHES = 64
# Of the conditions under which branches hold: cases inside cases multiply, and shared parts count each time.
MAX_NODES = 3_000
NULL = Constant(Outcomes.NULL)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant: its ordinal, None for NULL and for types without ordinals, whose value `plain` holds.

    `digits`: of an integer that is a literal, because Spark then makes a decimal of no more digits of it; else 0.
    `doubt`: by how much it may be less or more, as the session's time zone is not known.
    """

    type: SparkType
    ordinal: int | None
    digits: int = 0
    plain: SparkValue | None = None
    doubt: int = 0

    @property
    def is_null(self) -> bool:
        """Whether it is NULL."""
        return self.ordinal is None and self.plain is None


@dataclass(frozen=True, slots=True)
class Chain:
    """Functions applied to a column, the first one first; `type` is that of the last one's result."""

    column: LeafColumn
    type: SparkType
    functions: tuple[Function, ...] = ()


Value: TypeAlias = Fixed | Chain


@dataclass(frozen=True, slots=True)
class Branch:
    """A value and the condition, never NULL, under which it is the operand's; None: always."""

    guard: Predicate | None
    value: Value


@dataclass(frozen=True, slots=True)
class Term:
    """Branches of one type, of which exactly one holds for a row."""

    branches: tuple[Branch, ...]

    @property
    def type(self) -> SparkType:
        """The type of every branch."""
        return self.branches[0].value.type

    @property
    def single(self) -> Value | None:
        """The value when there is but one, whatever the row."""
        return self.branches[0].value if len(self.branches) == 1 and self.branches[0].guard is None else None


def always(value: Value) -> Term:
    """Return the term of one value."""
    return Term((Branch(None, value),))


def each(term: Term, change: Callable[[Value], Value]) -> Term:
    """Return the term with every value changed."""
    return Term(tuple(Branch(branch.guard, change(branch.value)) for branch in term.branches))


def pairs(left: Term, right: Term) -> list[tuple[Predicate | None, Value, Value]]:
    """Return the values of two terms that meet, and when; raises Refusal when they are too many."""
    if len(left.branches) * len(right.branches) > MAX_BRANCHES:
        raise Refusal(f"more than {MAX_BRANCHES} cases meet here", "write the cases with AND and OR")
    return [(both(one.guard, other.guard), one.value, other.value) for one in left.branches for other in right.branches]


@overload
def both(left: Predicate, right: Predicate) -> Predicate: ...


@overload
def both(left: Predicate | None, right: Predicate | None) -> Predicate | None: ...


def both(left: Predicate | None, right: Predicate | None) -> Predicate | None:
    """Return the conjunction of two guards."""
    if left is None or right is None:
        return right if left is None else left
    return And((*_operands(left), *_operands(right)))


def _operands(predicate: Predicate) -> tuple[Predicate, ...]:
    return predicate.children if isinstance(predicate, And) else (predicate,)


def fixed(value: SparkValue, type_: SparkType) -> Fixed:
    """Return a literal as a constant; raises Refusal when its value is not known."""
    if value.kind is ValueKind.NULL:
        return Fixed(type_, None)
    if isinstance(value.value, Moment):
        return fixed_time(value.kind, value.value, type_)
    if value.value is None:
        raise Refusal(f"the value of this {value.kind} literal is not known before Spark runs")
    if not type_.is_ordinal:
        return Fixed(type_, None, plain=value)
    return Fixed(type_, _ordinal(value, type_), digits=value.digits if value.kind is ValueKind.INTEGER else 0)


def fixed_scalar(value: pa.Scalar, type_: SparkType) -> Fixed:
    """Return a column's value, which Spark reads as the type, as a constant."""
    if type_.kind in {ValueKind.STRING, ValueKind.BINARY}:
        return Fixed(type_, None, plain=SparkValue(type_.kind, value.as_py()))
    if type_.kind is ValueKind.DECIMAL:
        sign, digits, exponent = Decimal(value.as_py()).as_tuple()
        assert isinstance(exponent, int)
        unscaled = int("".join(map(str, digits))) * 10 ** (type_.scale + exponent)
        return Fixed(type_, -unscaled if sign else unscaled)
    if type_.kind is ValueKind.DOUBLE:
        return Fixed(type_, ordinal_of_float(value.as_py(), type_.bits))
    if pa.types.is_date32(value.type) or pa.types.is_timestamp(value.type):
        # Dates and times beyond the year 9999 are none of Python's.
        unit = value.type.unit if pa.types.is_timestamp(value.type) else "us"
        return Fixed(type_, value.value * {"s": 1_000_000, "ms": 1_000, "us": 1}[unit])
    return Fixed(type_, int(value.as_py()))


def literal_of(constant: Fixed) -> SparkValue:  # noqa: PLR0911  (one a kind of value)
    """Return a constant as the literal that Spark's optimizer folds it to; raises Refusal for one that is in doubt."""
    type_, ordinal = constant.type, constant.ordinal
    if constant.doubt:
        raise zone_needed()
    if constant.plain is not None:
        return constant.plain
    if ordinal is None:
        return SparkValue(ValueKind.NULL)
    match type_.kind:
        case ValueKind.TIMESTAMP | ValueKind.TIMESTAMP_NTZ as kind:
            is_local = kind is ValueKind.TIMESTAMP_NTZ or type_ == ON_UNKNOWN_CLOCKS
            return SparkValue(kind, Moment(ordinal, None if is_local else "UTC"))
        case ValueKind.DOUBLE:
            return SparkValue(ValueKind.DOUBLE, float_of_ordinal(ordinal, type_.bits), bits=type_.bits)
        case ValueKind.BOOLEAN:
            return SparkValue(ValueKind.BOOLEAN, bool(ordinal))
        case ValueKind.DECIMAL:
            return SparkValue(ValueKind.DECIMAL, ordinal, digits=type_.digits, scale=type_.scale)
        case kind:
            return computed(SparkValue(kind, ordinal, bits=type_.bits))


def fixed_time(kind: ValueKind, moment: Moment | None, type_: SparkType) -> Fixed:
    """Return a literal timestamp, or a string that is cast to one, as a constant of a type; raises Refusal.

    In an unknown zone it is an instant where it has a zone of its own, and else what the session's clocks show.
    """
    if moment is None or (type_.kind is ValueKind.TIMESTAMP_NTZ and moment.zone is not None):
        cast = (
            "; with ansi.enabled Spark raises an error for a string that is not a time"
            if kind is ValueKind.STRING
            else ""
        )
        raise Refusal(f"this {kind} is not a date or time that is known before Spark runs{cast}", WRITE_TIMESTAMP)
    try:
        if type_.is_unzoned:
            ordinal, doubt = moment.in_unknown_zone()
            return Fixed(ON_UNKNOWN_CLOCKS if moment.zone is None else TIMESTAMP, ordinal, doubt=doubt)
        return Fixed(type_, moment.on_the_wall() if type_.zone is None else moment.instant(type_.zone))
    except UncertainTime:
        raise Refusal(*UNCERTAIN_TIME, cause=Cause.CLOCKS_CHANGE) from None


def _ordinal(value: SparkValue, type_: SparkType) -> int:
    if value.kind is ValueKind.DOUBLE:
        assert isinstance(value.value, float)
        return ordinal_of_float(value.value, type_.bits)
    assert isinstance(value.value, int)
    return int(value.value)


def without_literals(values: Sequence[Value]) -> list[Value]:
    """Return the values as what they are inside an expression: no longer literals."""
    return [replace(value, digits=0) if isinstance(value, Fixed) else value for value in values]


def negation(condition: Predicate) -> Predicate:
    """Return NOT condition."""
    return condition.child if isinstance(condition, Not) else Not(condition)


def check_size(predicates: Iterable[Predicate]) -> None:
    """Raise Refusal when the predicates together have too many nodes; counting stops there."""
    stack, count = list(predicates), 0
    while stack:
        count += 1
        if count > MAX_NODES:
            raise Refusal(f"its cases multiply to more than {MAX_NODES:,} parts", "write the cases with AND and OR")
        stack.extend(children_of(stack.pop()))
