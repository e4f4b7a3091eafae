"""CAST between numbers, booleans, dates and timestamps, with ansi.enabled."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.functions.times import cast_time
from prune_assets.sql.types.floats import half_up, ordinal_of_ratio, towards_zero
from prune_assets.sql.types.ranges import NOTHING, ValueRanges, span, union
from prune_assets.sql.types.spark_types import float_of_ordinal, ordinal_of_float
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from prune_assets.sql.types.spark_types import SparkType

_EXACT = frozenset({ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.BOOLEAN})
_TIMES = frozenset({ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMP_NTZ})
_LONG = 1 << 63
# Spark casts a BigDecimal to tinyint, smallint or int through a double (Decimal.roundToInt). With at most 15 digits, or
# at most 6 fractional digits within the range of an int, the double cannot round to another whole number.
_DIGITS_OF_DOUBLE = 15
_PLACES_BESIDE_INT = 6


def cast(argument: SparkType, result: SparkType, *, is_try: bool = False) -> Function | None:
    """Return the function CAST(x AS result), or TRY_CAST if `is_try`; None if the cast is not supported here."""
    function = _cast(argument, result)
    if function is None or not is_try:
        return function
    nulls = union(function.nulls, function.raises)
    return replace(function, raises=NOTHING, nulls=nulls, overflows_to_null=True)


def _cast(argument: SparkType, result: SparkType) -> Function | None:  # noqa: PLR0911 - one return for each pair of kinds
    if argument == result:
        return _monotone(argument, result, int) if argument.is_ordinal else None
    source, target = argument.kind, result.kind
    if source in _TIMES and target in _TIMES:
        return cast_time(argument, result)
    if source in _EXACT and target in {ValueKind.INTEGER, ValueKind.DECIMAL}:
        return None if _may_round_up(argument, result) else _exact(argument, result)
    if source in _EXACT and target is ValueKind.DOUBLE:
        unit = int(10**argument.scale)
        return _monotone(argument, result, lambda ordinal: ordinal_of_ratio(ordinal, unit, result.bits))
    if source in {ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE} and target is ValueKind.BOOLEAN:
        pieces = (Piece(argument.least, 0, rises=False), Piece(1, argument.greatest))
        return Function("cast", result, lambda ordinal: int(ordinal != 0), pieces)
    if source is ValueKind.DOUBLE and target is ValueKind.DOUBLE:
        return _float_to_float(argument, result)
    return _float_to_integer(argument, result) if source is ValueKind.DOUBLE and target is ValueKind.INTEGER else None


def _may_round_up(argument: SparkType, result: SparkType) -> bool:
    """Return whether Spark may round a decimal up to a whole number if it is just below that number."""
    narrow = result.kind is ValueKind.INTEGER and result.bits < 64
    return narrow and argument.digits > _DIGITS_OF_DOUBLE and argument.scale > _PLACES_BESIDE_INT


def _monotone(argument: SparkType, result: SparkType, value: object) -> Function:
    assert callable(value)
    return Function("cast", result, value, (Piece(argument.least, argument.greatest),))


def _exact(argument: SparkType, result: SparkType) -> Function:
    if result.kind is ValueKind.INTEGER:
        unit = int(10**argument.scale)
        return _monotone(argument, result, lambda ordinal: towards_zero(ordinal, unit))
    if result.scale >= argument.scale:
        factor = int(10 ** (result.scale - argument.scale))
        return _monotone(argument, result, lambda ordinal: ordinal * factor)
    divisor = int(10 ** (argument.scale - result.scale))
    return _monotone(argument, result, lambda ordinal: half_up(ordinal, divisor))


def _float_to_float(argument: SparkType, result: SparkType) -> Function:
    def value(ordinal: int) -> int:
        if ordinal == argument.nan:
            return result.nan
        float_value = float_of_ordinal(ordinal, argument.bits)
        if math.isinf(float_value):
            return result.infinity if float_value > 0 else -result.infinity
        return ordinal_of_ratio(*float_value.as_integer_ratio(), result.bits)

    return _monotone(argument, result, value)


def _float_to_integer(argument: SparkType, result: SparkType) -> Function:
    """Return the cast that truncates floats to integers; infinities and NaN raise."""
    highest = ordinal_of_float(float(_LONG), argument.bits)

    def value(ordinal: int) -> int:
        # Spark compares with the largest bigint as a double, which is one more. Java then returns the largest bigint.
        if ordinal == highest and result.bits == 64:
            return _LONG - 1
        return int(float_of_ordinal(ordinal, argument.bits))

    infinities = ValueRanges(((-argument.infinity, -argument.infinity),))
    return Function(
        "cast",
        result,
        value,
        (Piece(-argument.infinity + 1, argument.infinity - 1),),
        raises=union(infinities, span(argument.infinity, argument.nan)),
    )
