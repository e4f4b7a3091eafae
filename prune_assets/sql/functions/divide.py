"""Division by a constant and of a constant, in doubles, decimals and, for DIV, whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.float_arithmetic import of_float
from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.ranges import span
from prune_assets.sql.types.rounding import half_up, towards_zero
from prune_assets.sql.types.spark_types import float_of_ordinal
from prune_assets.sql.types.spark_values import MAX_DIGITS, Kind

if TYPE_CHECKING:
    from prune_assets.sql.types.spark_types import SparkType


def divide(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return x / constant; a zero raises."""
    if constant == 0:
        return Function("/", result, int, (), raises=span(argument.least, argument.greatest))
    if argument.kind is Kind.DOUBLE:
        number = float_of_ordinal(constant, argument.bits)
        return of_float("/", argument, lambda value: value / number, rises=constant > 0)
    piece = Piece(argument.least, argument.greatest, rises=constant > 0)
    return Function("/", result, lambda ordinal: _quotient(ordinal, argument.scale, constant, scale, result), (piece,))


def integral_divide(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return x DIV constant for bigints, the fraction cut off; a zero raises."""
    del scale
    if constant == 0:
        return Function("div", result, int, (), raises=span(argument.least, argument.greatest))
    piece = Piece(argument.least, argument.greatest, rises=constant > 0)
    return Function("div", result, lambda ordinal: towards_zero(ordinal, constant), (piece,))


def _quotient(dividend: int, dividend_scale: int, divisor: int, divisor_scale: int, result: SparkType) -> int:
    """Divide unscaled decimals: Spark rounds to 38 places first, then to those of the result."""
    top = dividend * 10 ** (MAX_DIGITS + divisor_scale)
    places = half_up(top, divisor * 10**dividend_scale)
    return half_up(places, int(10 ** (MAX_DIGITS - result.scale)))
