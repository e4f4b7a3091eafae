"""Division by a constant and of a constant, in doubles, decimals and, for DIV, whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.float_arithmetic import of_float
from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.ranges import span
from prune_assets.sql.types.rounding import half_up, towards_zero
from prune_assets.sql.types.spark_types import float_of_ordinal, ordinal_of_float
from prune_assets.sql.types.spark_values import MAX_DIGITS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

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


def divide_into(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return constant / x; a zero raises."""
    if argument.kind is Kind.DOUBLE:
        number = float_of_ordinal(constant, argument.bits)

        def value(ordinal: int) -> int:
            if ordinal == argument.nan:
                return ordinal
            return ordinal_of_float(_quotient_of_floats(number, float_of_ordinal(ordinal, argument.bits)))

        return _around_zero("/", argument, result, value, rises=constant < 0)
    return _around_zero(
        "/",
        argument,
        result,
        lambda ordinal: _quotient(constant, scale, ordinal, argument.scale, result),
        rises=constant < 0,
    )


def integral_divide(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return x DIV constant for bigints, the fraction cut off; a zero raises."""
    del scale
    if constant == 0:
        return Function("div", result, int, (), raises=span(argument.least, argument.greatest))
    piece = Piece(argument.least, argument.greatest, rises=constant > 0)
    return Function("div", result, lambda ordinal: towards_zero(ordinal, constant), (piece,))


def integral_divide_into(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return constant DIV x for bigints; a zero raises."""
    del scale
    return _around_zero("div", argument, result, lambda ordinal: towards_zero(constant, ordinal), rises=constant < 0)


def _around_zero(
    name: str, argument: SparkType, result: SparkType, value: Callable[[int], int], *, rises: bool
) -> Function:
    pieces = [Piece(argument.least, -1, rises=rises)]
    if argument.kind is Kind.DOUBLE:
        pieces += [Piece(1, argument.infinity, rises=rises), Piece(argument.nan, argument.nan)]
    else:
        pieces.append(Piece(1, argument.greatest, rises=rises))
    return Function(name, result, value, tuple(pieces), raises=span(0, 0))


def _quotient_of_floats(dividend: float, divisor: float) -> float:
    # Python raises where Java comes to an infinity, but only for a zero, which is no argument here.
    return dividend / divisor


def _quotient(dividend: int, dividend_scale: int, divisor: int, divisor_scale: int, result: SparkType) -> int:
    """Divide unscaled decimals: Spark rounds to 38 places first, then to those of the result."""
    top = dividend * 10 ** (MAX_DIGITS + divisor_scale)
    places = half_up(top, divisor * 10**dividend_scale)
    return half_up(places, int(10 ** (MAX_DIGITS - result.scale)))
