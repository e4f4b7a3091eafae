"""abs()."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.functions.negate import SURE_DIGITS
from prune_assets.sql.types.ranges import span
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from prune_assets.sql.types.spark_types import SparkType


def absolute(argument: SparkType) -> Function:
    """Return abs(x); of the least integer it is an overflow."""
    least = argument.least
    if argument.kind is Kind.DECIMAL:
        least = max(least, 1 - 10**SURE_DIGITS)
    pieces = (Piece(least, -1, rises=False), Piece(0, argument.greatest))
    return Function("abs", argument, abs, pieces, uncertain=span(argument.least, least - 1))
