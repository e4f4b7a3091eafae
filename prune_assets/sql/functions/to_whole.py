"""floor(), ceil() and round()."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.functions.rounding import half_up
from prune_assets.sql.ranges import span, union
from prune_assets.sql.types import BIGINT, decimal_type, float_of_ordinal
from prune_assets.sql.values import MAX_DIGITS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from prune_assets.sql.types import SparkType


def floor(argument: SparkType) -> Function | None:
    """Return what rounds down a bigint, decimal or double."""
    return _whole("floor", argument, math.floor, lambda ordinal, unit: ordinal // unit)


def ceil(argument: SparkType) -> Function | None:
    """Return what rounds up a bigint, decimal or double."""
    return _whole("ceil", argument, math.ceil, lambda ordinal, unit: -(-ordinal // unit))


def round_half_up(argument: SparkType, places: int) -> Function | None:
    """Return round(x, places) of an integer or decimal; None for a float, which Spark rounds by its text."""
    if argument.kind is Kind.INTEGER:
        unit = int(10 ** max(0, -places))
        return Function("round", argument, lambda ordinal: half_up(ordinal, unit) * unit, _all(argument))
    if argument.kind is not Kind.DECIMAL:
        return None
    whole = argument.digits - argument.scale + 1
    if places < 0:
        digits, scale = max(whole, 1 - places), 0
    else:
        scale = min(places, argument.scale)
        digits = whole + scale
    if digits > MAX_DIGITS:
        return None
    unit, factor = int(10 ** (argument.scale - min(places, argument.scale))), int(10 ** max(0, -places))
    return Function(
        "round", decimal_type(digits, scale), lambda ordinal: half_up(ordinal, unit) * factor, _all(argument)
    )


def _whole(
    name: str, argument: SparkType, of_float: Callable[[float], int], of_decimal: Callable[[int, int], int]
) -> Function | None:
    if argument == BIGINT:
        return Function(name, BIGINT, int, _all(argument))
    if argument.kind is Kind.DECIMAL:
        digits, unit = argument.digits - argument.scale + 1, int(10**argument.scale)
        if digits > MAX_DIGITS:
            return None
        return Function(name, decimal_type(digits, 0), lambda ordinal: of_decimal(ordinal, unit), _all(argument))
    return _whole_of_double(name, argument, of_float) if argument.kind is Kind.DOUBLE else None


def _whole_of_double(name: str, argument: SparkType, of_float: Callable[[float], int]) -> Function:
    """Return the function with the zero that NaN comes to; infinities overflow."""
    infinity, nan = argument.infinity, argument.nan
    edge = 0x43E0000000000000  # 2**63, of which it is not modelled whether it overflows

    def value(ordinal: int) -> int:
        return 0 if ordinal == nan else of_float(float_of_ordinal(ordinal, argument.bits))

    return Function(
        name,
        BIGINT,
        value,
        (Piece(-edge, -1), Piece(0, edge - 1), Piece(nan, nan)),
        uncertain=union(span(-infinity, -edge - 1), span(edge, infinity)),
    )


def _all(argument: SparkType) -> tuple[Piece, ...]:
    return (Piece(argument.least, argument.greatest),)
