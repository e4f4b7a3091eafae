"""Times a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.float_arithmetic import of_float
from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.spark_types import float_of_ordinal
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from prune_assets.sql.types.spark_types import SparkType


def multiply(argument: SparkType, result: SparkType, constant: int, scale: int) -> Function | None:
    """Return x * constant, the scales of decimals added up; None for a float times zero, which has NaN at its ends."""
    del scale
    rises = constant >= 0
    if argument.kind is Kind.DOUBLE:
        number = float_of_ordinal(constant, argument.bits)
        return of_float("*", argument, lambda value: value * number, rises=rises) if number else None
    piece = Piece(argument.least, argument.greatest, rises=rises)
    return Function("*", result, lambda ordinal: ordinal * constant, (piece,))
