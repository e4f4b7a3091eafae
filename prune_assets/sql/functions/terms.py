"""Bound operands: constants and function chains on one column, with guard conditions.

`CASE WHEN p THEN x + 1 ELSE 0 END` is a term of two branches. Every other operand is a term of one branch without a
guard.
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
# Maximum number of nodes in all guards of a term. A node that occurs in several guards counts once for each.
MAX_NODES = 3_000
NULL = Constant(Outcomes.NULL)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant.

    `ordinal`: the value as an integer, as in `spark_types`. None for NULL, and for other types, which use `plain`.
    `digits`: digits of an integer literal, from which Spark derives its decimal type; 0 for other values.
    `doubt`: maximum error of the ordinal if the session's time zone is unknown.
    """

    type: SparkType
    ordinal: int | None
    digits: int = 0
    plain: SparkValue | None = None
    doubt: int = 0

    @property
    def is_null(self) -> bool:
        """Whether the constant is NULL."""
        return self.ordinal is None and self.plain is None


@dataclass(frozen=True, slots=True)
class Chain:
    """Functions applied to a column in order.

    `type`: result type of the last function.
    """

    column: LeafColumn
    type: SparkType
    functions: tuple[Function, ...] = ()


Value: TypeAlias = Fixed | Chain


@dataclass(frozen=True, slots=True)
class Branch:
    """One possible value of an operand.

    `guard`: condition, never NULL, under which the operand has this value. None if the operand always has this value.
    """

    guard: Predicate | None
    value: Value


@dataclass(frozen=True, slots=True)
class Term:
    """An operand as branches of one type; exactly one branch applies to each row."""

    branches: tuple[Branch, ...]

    @property
    def type(self) -> SparkType:
        """Common type of the branches."""
        return self.branches[0].value.type

    @property
    def single(self) -> Value | None:
        """The value if the term has one branch without a condition, else None."""
        return self.branches[0].value if len(self.branches) == 1 and self.branches[0].guard is None else None


def always(value: Value) -> Term:
    """Return a term that always has this value."""
    return Term((Branch(None, value),))


def each(term: Term, change: Callable[[Value], Value]) -> Term:
    """Apply `change` to the value of each branch."""
    return Term(tuple(Branch(branch.guard, change(branch.value)) for branch in term.branches))


def pairs(left: Term, right: Term) -> list[tuple[Predicate | None, Value, Value]]:
    """Return the pairs of values of two terms, each with its guard. Raises Refusal for more than MAX_BRANCHES pairs."""
    if len(left.branches) * len(right.branches) > MAX_BRANCHES:
        raise Refusal(f"more than {MAX_BRANCHES} cases meet here", "write the cases with AND and OR")
    return [
        (both(left_branch.guard, right_branch.guard), left_branch.value, right_branch.value)
        for left_branch in left.branches
        for right_branch in right.branches
    ]


@overload
def both(left: Predicate, right: Predicate) -> Predicate: ...


@overload
def both(left: Predicate | None, right: Predicate | None) -> Predicate | None: ...


def both(left: Predicate | None, right: Predicate | None) -> Predicate | None:
    """Return the conjunction of two guards; None is a guard that is always TRUE."""
    if left is None or right is None:
        return right if left is None else left
    return And((*_operands(left), *_operands(right)))


def _operands(predicate: Predicate) -> tuple[Predicate, ...]:
    return predicate.children if isinstance(predicate, And) else (predicate,)


def fixed(value: SparkValue, type_: SparkType) -> Fixed:
    """Return a literal as a constant. Raises Refusal if its value is unknown."""
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
    """Return a column value as a constant, in the type as which Spark reads the column."""
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
        # Python cannot represent dates and times after the year 9999.
        unit = value.type.unit if pa.types.is_timestamp(value.type) else "us"
        return Fixed(type_, value.value * {"s": 1_000_000, "ms": 1_000, "us": 1}[unit])
    return Fixed(type_, int(value.as_py()))


def literal_of(constant: Fixed) -> SparkValue:  # noqa: PLR0911  (one return for each kind of value)
    """Return the literal to which Spark's optimizer folds a constant.

    Raises Refusal for a constant that depends on an unknown time zone.
    """
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
    """Return a timestamp, or a string cast to one, as a constant. Raises Refusal.

    `type_`: type of the constant. If the session's zone is unknown, the constant is an instant if the literal has its
    own zone, otherwise a local time.
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
        return Fixed(type_, moment.local_time() if type_.zone is None else moment.instant(type_.zone))
    except UncertainTime:
        raise Refusal(*UNCERTAIN_TIME, cause=Cause.CLOCKS_CHANGE) from None


def _ordinal(value: SparkValue, type_: SparkType) -> int:
    if value.kind is ValueKind.DOUBLE:
        assert isinstance(value.value, float)
        return ordinal_of_float(value.value, type_.bits)
    assert isinstance(value.value, int)
    return int(value.value)


def without_literals(values: Sequence[Value]) -> list[Value]:
    """Return the values as results of an expression, which no longer count as literals."""
    return [replace(value, digits=0) if isinstance(value, Fixed) else value for value in values]


def negation(condition: Predicate) -> Predicate:
    """Return NOT condition, without a double negation."""
    return condition.child if isinstance(condition, Not) else Not(condition)


def check_size(predicates: Iterable[Predicate]) -> None:
    """Raise Refusal if the predicates have more than MAX_NODES nodes in total."""
    stack, count = list(predicates), 0
    while stack:
        count += 1
        if count > MAX_NODES:
            raise Refusal(f"its cases multiply to more than {MAX_NODES:,} parts", "write the cases with AND and OR")
        stack.extend(children_of(stack.pop()))
