"""Rounding functions: floor(), ceil() and round()."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from prune_assets.sql.functions.coercion import apply, as_number, to_type
from prune_assets.sql.functions.entry import SqlFunction
from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.functions.terms import Fixed
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.floats import half_up
from prune_assets.sql.types.ranges import span, union
from prune_assets.sql.types.spark_types import BIGINT, DOUBLE, FLOAT, decimal_type, float_of_ordinal
from prune_assets.sql.types.spark_values import MAX_DIGITS, ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

_EDGE = 0x43E0000000000000  # the ordinal of 2**63, for which Spark already raises


def floor(argument: SparkType) -> Function | None:
    """Return the floor of a bigint, decimal or double."""
    return _whole("floor", argument, math.floor, lambda ordinal, unit: ordinal // unit)


def ceil(argument: SparkType) -> Function | None:
    """Return the ceiling of a bigint, decimal or double."""
    return _whole("ceil", argument, math.ceil, lambda ordinal, unit: -(-ordinal // unit))


def round_half_up(argument: SparkType, places: int) -> Function | None:
    """Return the function round(x, places) of an integer or decimal.

    None for a float, which Spark rounds by its decimal text.
    """
    if argument.kind is ValueKind.INTEGER:
        unit = int(10 ** max(0, -places))
        return Function("round", argument, lambda ordinal: half_up(ordinal, unit) * unit, _all(argument))
    if argument.kind is not ValueKind.DECIMAL:
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
    if argument.kind is ValueKind.DECIMAL:
        digits, unit = argument.digits - argument.scale + (argument.scale > 0), int(10**argument.scale)
        if digits > MAX_DIGITS:
            return None
        return Function(name, decimal_type(digits, 0), lambda ordinal: of_decimal(ordinal, unit), _all(argument))
    return _whole_of_double(name, argument, of_float) if argument.kind is ValueKind.DOUBLE else None


def _whole_of_double(name: str, argument: SparkType, of_float: Callable[[float], int]) -> Function:
    """Return a function that rounds doubles or floats to BIGINT; NaN becomes 0, and results beyond BIGINT raise."""
    infinity, nan = argument.infinity, argument.nan

    def value(ordinal: int) -> int:
        return 0 if ordinal == nan else of_float(float_of_ordinal(ordinal, argument.bits))

    return Function(
        name,
        BIGINT,
        value,
        (Piece(1 - _EDGE, _EDGE - 1), Piece(nan, nan)),
        raises=union(span(-infinity, -_EDGE), span(_EDGE, infinity)),
    )


def _all(argument: SparkType) -> tuple[Piece, ...]:
    return (Piece(argument.least, argument.greatest),)


def _round_to_whole(
    function: Callable[[SparkType], Function | None], arguments: Sequence[Value], _: SparkType
) -> Value:
    value = as_number(arguments[0])
    if value.type.kind is ValueKind.INTEGER:
        value = to_type(value, BIGINT)
    elif value.type == FLOAT:
        value = to_type(value, DOUBLE)
    return _applied(function(value.type), value)


def _round(arguments: Sequence[Value], _: SparkType) -> Value:
    value, *places = arguments
    if any(not isinstance(digit, Fixed) or digit.type.kind is not ValueKind.INTEGER for digit in places):
        raise Refusal("the number of places of round() must be a constant")
    count = places[0].ordinal if places and isinstance(places[0], Fixed) else 0
    if count is None:
        raise Refusal("round() to NULL places is NULL", "write NULL")
    if abs(count) > 38:
        raise Refusal("round() to more than 38 places is not supported")
    return _applied(round_half_up(as_number(value).type, count), value)


def _applied(function: Function | None, value: Value) -> Value:
    if function is None:
        raise Refusal(f"this function of {value.type} is not supported")
    return apply(function, value)


FUNCTIONS = (
    SqlFunction(names=("floor",), bind=partial(_round_to_whole, floor), null_strict=True),
    SqlFunction(names=("ceil", "ceiling"), bind=partial(_round_to_whole, ceil), null_strict=True),
    SqlFunction(
        names=("round",), arity=(1, 2), bind=_round, null_strict=True, keeps_fractions=True, casts_arguments=True
    ),
)
