"""Minus before a number."""

from __future__ import annotations

from operator import neg
from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.ranges import complement, span
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from prune_assets.sql.types.spark_types import SparkType

SURE_DIGITS = 34


def negate(argument: SparkType) -> Function:
    """Return -x; of the least integer it is an overflow, and NaN stays NaN."""
    if argument.kind is Kind.DECIMAL:
        # Spark's minus works with 34 digits (Scala's DECIMAL128) and rounds what has more.
        most = min(argument.greatest, 10**SURE_DIGITS - 1)
        rest = complement(span(-most, most), argument.least, argument.greatest)
        return Function("-", argument, neg, (Piece(-most, most, rises=False),), uncertain=rest)
    if argument.kind is not Kind.DOUBLE:
        return Function("-", argument, neg, (Piece(argument.least, argument.greatest, rises=False),))
    nan = argument.nan
    return Function(
        "-",
        argument,
        lambda ordinal: nan if ordinal == nan else -ordinal,
        (Piece(argument.least, argument.infinity, rises=False), Piece(nan, nan)),
    )
