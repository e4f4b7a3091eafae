"""Linear functions: a constant added to a value, taken away or multiplied, and a value taken away from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.float_arithmetic import of_float
from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.spark_types import float_of_ordinal
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from prune_assets.sql.types.spark_types import SparkType


def add(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return x + constant; of a decimal constant `scale` is the scale, of a float one the ordinal is given."""
    if argument.kind is Kind.DOUBLE:
        number = float_of_ordinal(constant, argument.bits)
        return of_float("+", argument, lambda value: value + number)
    factor, step = _aligned(argument, result, constant, scale)
    return Function("+", result, lambda ordinal: ordinal * factor + step, (Piece(argument.least, argument.greatest),))


def subtract(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return x - constant."""
    return add(argument, result, -constant, scale)


def subtract_from(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function:
    """Return constant - x."""
    if argument.kind is Kind.DOUBLE:
        number = float_of_ordinal(constant, argument.bits)
        return of_float("-", argument, lambda value: number - value, rises=False)
    factor, start = _aligned(argument, result, constant, scale)
    return Function(
        "-",
        result,
        lambda ordinal: start - ordinal * factor,
        (Piece(argument.least, argument.greatest, rises=False),),
    )


def multiply(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function | None:
    """Return x * constant, the scales of decimals added up; None for a float times zero, which has NaN at its ends."""
    del scale
    rises = constant >= 0
    if argument.kind is Kind.DOUBLE:
        number = float_of_ordinal(constant, argument.bits)
        return of_float("*", argument, lambda value: value * number, rises=rises) if number else None
    piece = Piece(argument.least, argument.greatest, rises=rises)
    return Function("*", result, lambda ordinal: ordinal * constant, (piece,))


def _aligned(argument: SparkType, result: SparkType, constant: int, scale: int) -> tuple[int, int]:
    return int(10 ** (result.scale - argument.scale)), constant * int(10 ** (result.scale - scale))
