"""abs()."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece

if TYPE_CHECKING:
    from prune_assets.sql.types import SparkType


def absolute(argument: SparkType) -> Function:
    """Return abs(x); of the least integer it is an overflow."""
    return Function("abs", argument, abs, (Piece(argument.least, -1, rises=False), Piece(0, argument.greatest)))
