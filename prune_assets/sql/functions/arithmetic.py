"""Arithmetic of a value and a constant, in the types that Spark casts the operands to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.pruning.predicate import SkippingRemedy
from prune_assets.sql.functions.coercion import apply, as_decimal, to_type, wider
from prune_assets.sql.functions.entry import SqlFunction
from prune_assets.sql.functions.function import recurring
from prune_assets.sql.functions.linear import add, divide, integral_divide, multiply, subtract, subtract_from
from prune_assets.sql.functions.terms import Chain, Fixed
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax.nodes import Sign
from prune_assets.sql.types.ranges import span
from prune_assets.sql.types.spark_types import BIGINT, DOUBLE, SparkType, decimal_type, is_decimal
from prune_assets.sql.types.spark_values import MAX_DIGITS, ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prune_assets.sql.functions.function import Function
    from prune_assets.sql.functions.terms import Value

    Builder = Callable[[SparkType, SparkType, int, int], Function | None]


# Spark reduces the scale of a result that has too many digits, but not below 6. A larger result overflows.
_KEPT_SCALE = 6


# Java's remainder fails if the quotient has more digits than the context: 34 for DECIMAL128, or Spark's own limit.
_LARGEST_QUOTIENT = 10**34
REMAINDER = (
    "a remainder repeats over the column, so it is not a range of the column",
    SkippingRemedy("add a range of the column itself"),
)


_RIGHT: Mapping[Sign, Builder] = {
    Sign.PLUS: add,
    Sign.MINUS: subtract,
    Sign.TIMES: multiply,
    Sign.OVER: divide,
    Sign.DIV: integral_divide,
}
_LEFT: Mapping[Sign, Builder] = {
    Sign.PLUS: add,
    Sign.MINUS: subtract_from,
    Sign.TIMES: multiply,
}


def arithmetic(sign: Sign, left: Value, right: Value) -> Value:
    """Return `left sign right`, where one operand is a constant. Raises Refusal."""
    if sign is Sign.REST:
        return _rest(left, right)
    left, right, result = _cast(sign, left, right)
    if isinstance(left, Chain) and isinstance(right, Chain):
        raise Refusal("arithmetic between columns is not supported", "compare one column with a constant")
    if isinstance(right, Fixed):
        value, constant, builders = left, right, _RIGHT
    else:
        assert isinstance(left, Fixed)
        value, constant, builders = right, left, _LEFT
    if constant.ordinal is None:
        return _null(value, result)
    if constant.type.kind is ValueKind.DOUBLE and abs(constant.ordinal) >= constant.type.infinity:
        raise Refusal("arithmetic with infinity or NaN is not supported")
    build = builders.get(sign)
    function = None if build is None else build(value.type, result, constant.ordinal, constant.type.scale)
    if function is None:
        raise Refusal(f"this {sign} is not supported", "compare the column itself")
    return apply(function, value)


def _rest(left: Value, right: Value) -> Value:
    """Return `left % right` of exact numbers, where the divisor is a constant. Raises Refusal."""
    kinds = {left.type.kind, right.type.kind}
    if isinstance(left, Fixed) and isinstance(right, Fixed) and right.is_null:
        return Fixed(left.type, None)
    if not isinstance(right, Fixed) or not right.ordinal or not kinds <= {ValueKind.INTEGER, ValueKind.DECIMAL}:
        # A zero divisor may be an error.
        raise Refusal(*REMAINDER)
    if ValueKind.DECIMAL not in kinds:
        result = wider(left.type, right.type)
        return _rest_of(to_type(left, result), abs(right.ordinal), 0, result)
    left_type, right_type = (
        as_decimal(value.type, value.digits if isinstance(value, Fixed) else 0) for value in (left, right)
    )
    scale = max(left_type.scale, right_type.scale)
    digits = min(left_type.digits - left_type.scale, right_type.digits - right_type.scale) + scale
    if not is_decimal(digits, scale):
        raise Refusal(*REMAINDER)
    divisor = abs(right.ordinal) * 10 ** (scale - right_type.scale)
    largest = int(10**left_type.digits) * 10 ** (scale - left_type.scale)
    if largest // divisor >= _LARGEST_QUOTIENT:
        raise Refusal("Spark raises an error if a quotient has too many digits", "divide by a larger number")
    return _rest_of(to_type(left, left_type), divisor, scale - left_type.scale, decimal_type(digits, scale))


def _rest_of(value: Value, divisor: int, shift: int, result: SparkType) -> Value:
    """Return the remainder of `value * 10**shift`; it has the sign of the value."""
    shifted = int(10**shift)

    def rest(ordinal: int) -> int:
        positive = abs(ordinal) * shifted % divisor
        return -positive if ordinal < 0 else positive

    if isinstance(value, Chain):
        return apply(recurring("%", result, span(1 - divisor, divisor - 1), REMAINDER, rest), value)
    return Fixed(result, None if value.ordinal is None else rest(value.ordinal))


def _null(value: Value, result: SparkType) -> Value:
    if isinstance(value, Chain) and value.functions:
        raise Refusal("a sum with NULL is NULL unless the other operand raises first", "write NULL")
    return Fixed(result, None)


def _cast(sign: Sign, left: Value, right: Value) -> tuple[Value, Value, SparkType]:
    """Return the operands cast to the types that Spark computes with, and the result type."""
    kinds = {left.type.kind, right.type.kind} - {ValueKind.NULL}
    if not kinds <= {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE}:
        raise Refusal(f"{left.type} {sign} {right.type} is not supported")
    if ValueKind.DECIMAL in kinds and ValueKind.DOUBLE not in kinds:
        return _cast_decimals(sign, left, right)
    if sign is Sign.DIV:
        return (*_cast_both(BIGINT, left, right), BIGINT) if ValueKind.DOUBLE not in kinds else _refuse_div()
    common = DOUBLE if sign is Sign.OVER else wider(left.type, right.type)
    return (*_cast_both(common, left, right), common)


def _refuse_div() -> tuple[Value, Value, SparkType]:
    raise Refusal("DIV of floats is an error in Spark", "write floor(x / y)")


def _cast_both(common: SparkType, left: Value, right: Value) -> tuple[Value, Value]:
    return to_type(left, common), to_type(right, common)


def _cast_decimals(sign: Sign, left: Value, right: Value) -> tuple[Value, Value, SparkType]:
    if sign is Sign.DIV or ValueKind.NULL in {left.type.kind, right.type.kind}:
        raise Refusal(f"this {sign} of decimals is not supported")
    left_type, right_type = (
        as_decimal(value.type, value.digits if isinstance(value, Fixed) else 0) for value in (left, right)
    )
    digits, scale = _result_precision(sign, left_type, right_type)
    if scale <= _KEPT_SCALE:
        digits = min(digits, MAX_DIGITS)
    if not is_decimal(digits, scale):
        raise Refusal("the result has more digits than Spark's decimal, which rounds", "write fewer digits")
    return to_type(left, left_type), to_type(right, right_type), decimal_type(digits, scale)


def _result_precision(sign: Sign, left_type: SparkType, right_type: SparkType) -> tuple[int, int]:
    """Return the digits and scale of a decimal result (Spark's DecimalPrecision)."""
    if sign is Sign.TIMES:
        return left_type.digits + right_type.digits + 1, left_type.scale + right_type.scale
    if sign is Sign.OVER:
        scale = max(6, left_type.scale + right_type.digits + 1)
        return left_type.digits - left_type.scale + right_type.scale + scale, scale
    scale = max(left_type.scale, right_type.scale)
    return max(left_type.digits - left_type.scale, right_type.digits - right_type.scale) + scale + 1, scale


def _remainder(arguments: Sequence[Value], _: SparkType) -> Value:
    return arithmetic(Sign.REST, *arguments)


FUNCTIONS = (
    SqlFunction(names=("mod",), arity=(2, 2), bind=_remainder, casts_arguments=True),
    SqlFunction(names=("pmod",), arity=(2, 2), refusal=REMAINDER),
)
