"""Signs of numbers: unary minus and plus, and abs()."""

from __future__ import annotations

from operator import neg
from typing import TYPE_CHECKING

from prune_assets.sql.functions.coercion import apply, as_number, cast_to
from prune_assets.sql.functions.entry import Role, SqlFunction
from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.ranges import complement, span
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

SURE_DIGITS = 34


def negate(argument: SparkType) -> Function:
    """Return the function -x, which overflows for the least integer; NaN stays NaN."""
    if argument.kind is ValueKind.DECIMAL:
        # Spark's minus computes with 34 digits (Scala's DECIMAL128) and rounds longer decimals.
        most = min(argument.greatest, 10**SURE_DIGITS - 1)
        rest = complement(span(-most, most), argument.least, argument.greatest)
        return Function("-", argument, neg, (Piece(-most, most, rises=False),), uncertain=rest)
    if argument.kind is not ValueKind.DOUBLE:
        return Function("-", argument, neg, (Piece(argument.least, argument.greatest, rises=False),))
    nan = argument.nan
    return Function(
        "-",
        argument,
        lambda ordinal: nan if ordinal == nan else -ordinal,
        (Piece(argument.least, argument.infinity, rises=False), Piece(nan, nan)),
    )


def absolute(argument: SparkType) -> Function:
    """Return the function abs(x), which overflows for the least integer."""
    least = argument.least
    if argument.kind is ValueKind.DECIMAL:
        least = max(least, 1 - 10**SURE_DIGITS)
    pieces = (Piece(least, -1, rises=False), Piece(0, argument.greatest))
    return Function("abs", argument, abs, pieces, uncertain=span(argument.least, least - 1))


def minus(value: Value) -> Value:
    """Negate a number. Raises Refusal for other values."""
    return apply(negate(as_number(value).type), value)


def _minus(arguments: Sequence[Value], _: SparkType) -> Value:
    return minus(arguments[0])


def _plus(arguments: Sequence[Value], _: SparkType) -> Value:
    (value,) = arguments
    return cast_to(as_number(value), value.type)


def _abs(arguments: Sequence[Value], _: SparkType) -> Value:
    (value,) = arguments
    return apply(absolute(as_number(value).type), value)


FUNCTIONS = (
    SqlFunction(names=("abs",), bind=_abs, null_strict=True, keeps_fractions=True, infers_not_null=True),
    SqlFunction(names=("negative",), bind=_minus, null_strict=True, keeps_fractions=True),
    SqlFunction(names=("positive",), bind=_plus, null_strict=True, keeps_fractions=True, role=Role.IDENTITY),
)
