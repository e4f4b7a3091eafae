"""Arithmetic with a constant in Java's floats, decimals and integers: sums, products and quotients."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.floats import half_up, towards_zero
from prune_assets.sql.types.ranges import span
from prune_assets.sql.types.spark_types import float_of_ordinal, ordinal_of_float
from prune_assets.sql.types.spark_values import MAX_DIGITS, ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from prune_assets.sql.types.spark_types import SparkType


def float_function(
    name: str, argument: SparkType, compute: Callable[[float], float], *, rises: bool = True
) -> Function:
    """Return a monotone function of floats, defined from -Infinity to Infinity, which maps NaN to NaN.

    `compute` works in double precision. The result for a single-precision argument is rounded a second time, which does
    not change sums, products and quotients.
    """
    bits, nan = argument.bits, argument.nan

    def value(ordinal: int) -> int:
        if ordinal == nan:
            return nan
        return ordinal_of_float(rounded(compute(float_of_ordinal(ordinal, bits)), bits), bits)

    return Function(name, argument, value, (Piece(argument.least, argument.infinity, rises=rises), Piece(nan, nan)))


def rounded(value: float, bits: int) -> float:
    """Return the nearest float of `bits` bits, 32 or 64."""
    if bits == 64 or not math.isfinite(value):
        return value
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single


def add(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return the function x + constant.

    `constant`: an ordinal for floats, an unscaled number of the given `scale` for decimals.
    """
    if argument.kind is ValueKind.DOUBLE:
        float_constant = float_of_ordinal(constant, argument.bits)
        return float_function("+", argument, lambda value: value + float_constant)
    factor, step = _aligned(argument, result, constant, scale)
    return Function("+", result, lambda ordinal: ordinal * factor + step, (Piece(argument.least, argument.greatest),))


def subtract(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return the function x - constant."""
    return add(argument, result, -constant, scale)


def subtract_from(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return the function constant - x."""
    if argument.kind is ValueKind.DOUBLE:
        float_constant = float_of_ordinal(constant, argument.bits)
        return float_function("-", argument, lambda value: float_constant - value, rises=False)
    factor, start = _aligned(argument, result, constant, scale)
    return Function(
        "-",
        result,
        lambda ordinal: start - ordinal * factor,
        (Piece(argument.least, argument.greatest, rises=False),),
    )


def multiply(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function | None:
    """Return the function x * constant; None for a float times zero, which is NaN at the infinities.

    The scales of decimals add up.
    """
    del scale
    rises = constant >= 0
    if argument.kind is ValueKind.DOUBLE:
        float_constant = float_of_ordinal(constant, argument.bits)
        return (
            float_function("*", argument, lambda value: value * float_constant, rises=rises) if float_constant else None
        )
    piece = Piece(argument.least, argument.greatest, rises=rises)
    return Function("*", result, lambda ordinal: ordinal * constant, (piece,))


def _aligned(argument: SparkType, result: SparkType, constant: int, scale: int) -> tuple[int, int]:
    return int(10 ** (result.scale - argument.scale)), constant * int(10 ** (result.scale - scale))


def divide(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return the function x / constant, which raises for every value if the constant is zero."""
    if constant == 0:
        return Function("/", result, int, (), raises=span(argument.least, argument.greatest))
    if argument.kind is ValueKind.DOUBLE:
        float_constant = float_of_ordinal(constant, argument.bits)
        return float_function("/", argument, lambda value: value / float_constant, rises=constant > 0)
    piece = Piece(argument.least, argument.greatest, rises=constant > 0)
    return Function("/", result, lambda ordinal: _quotient(ordinal, argument.scale, constant, scale, result), (piece,))


def integral_divide(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return the function x DIV constant for bigints, truncated; it raises for every value if the constant is zero."""
    del scale
    if constant == 0:
        return Function("div", result, int, (), raises=span(argument.least, argument.greatest))
    piece = Piece(argument.least, argument.greatest, rises=constant > 0)
    return Function("div", result, lambda ordinal: towards_zero(ordinal, constant), (piece,))


def _quotient(dividend: int, dividend_scale: int, divisor: int, divisor_scale: int, result: SparkType) -> int:
    """Divide unscaled decimals; Spark rounds to 38 fractional digits first, then to the result's scale."""
    top = dividend * 10 ** (MAX_DIGITS + divisor_scale)
    places = half_up(top, divisor * 10**dividend_scale)
    return half_up(places, int(10 ** (MAX_DIGITS - result.scale)))
