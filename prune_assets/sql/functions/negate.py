"""Minus before a number."""

from __future__ import annotations

from operator import neg
from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.values import Kind

if TYPE_CHECKING:
    from prune_assets.sql.types import SparkType


def negate(argument: SparkType) -> Function:
    """Return -x; of the least integer it is an overflow, and NaN stays NaN."""
    if argument.kind is not Kind.DOUBLE:
        return Function("-", argument, neg, (Piece(argument.least, argument.greatest, rises=False),))
    nan = argument.nan
    return Function(
        "-",
        argument,
        lambda ordinal: nan if ordinal == nan else -ordinal,
        (Piece(argument.least, argument.infinity, rises=False), Piece(nan, nan)),
    )
