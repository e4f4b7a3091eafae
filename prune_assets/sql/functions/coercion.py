"""Type coercion of operands as in Spark's analyzer."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_core.printable import shown
from prune_assets.sql.functions.cast import cast
from prune_assets.sql.functions.linear import rounded
from prune_assets.sql.functions.terms import Chain, Fixed, fixed_time
from prune_assets.sql.refusal import Refusal, zone_needed
from prune_assets.sql.types.date_literals import date_of_string, is_dashed, is_no_moment
from prune_assets.sql.types.floats import float_of_text
from prune_assets.sql.types.spark_types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    ON_UNKNOWN_CLOCKS,
    TIMESTAMP,
    SparkType,
    decimal_type,
    digits_of,
    ordinal_of_float,
)
from prune_assets.sql.types.spark_values import MAX_DIGITS, ValueKind
from prune_assets.sql.types.timestamps import TIMES, WRITE_TIMESTAMP, read_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prune_assets.sql.functions.function import Function
    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.semantics import SparkSemantics

_CALENDAR = (ValueKind.DATE, ValueKind.TIMESTAMP_NTZ, ValueKind.TIMESTAMP)
_NO_RETAINED_DIGITS = "unset spark.sql.legacy.decimal.retainFractionDigitsOnTruncate"
# Last part of messages on casts of a text constant. The cast raises whatever values the column holds.
_RAISES = "with ansi.enabled Spark raises an error"
_NUMBER_OR_CAST = "write a number, or cast the column to STRING to compare it as text"
_DIGIT = re.compile(r"[0-9]")
_NAMED_FLOAT = re.compile(r"nan|inf", re.IGNORECASE)
# Special words that Spark casts to a date, most of them relative to the current day.
_SPECIAL_DAY = re.compile(r"\s*(epoch|now|today|tomorrow|yesterday)", re.IGNORECASE)
_INTEGER_TEXT = re.compile(r"[+-]?[0-9]{1,40}")


def wider(  # noqa: PLR0911 - one return for each pair of kinds
    left: SparkType, right: SparkType, *, left_digits: int = 0, right_digits: int = 0
) -> SparkType:
    """Return the type to which Spark widens two operands.

    `left_digits`, `right_digits`: digits of integer literals; 0 if irrelevant. Raises Refusal if the common type is
    missing or unknown.
    """
    if left == right or right.kind is ValueKind.NULL:
        return left
    if left.kind is ValueKind.NULL:
        return right
    if ValueKind.STRING in {left.kind, right.kind}:
        return _type_with_string(right if left.kind is ValueKind.STRING else left)
    if left.kind in _CALENDAR and right.kind in _CALENDAR:
        # Widening order: DATE < TIMESTAMP_NTZ < TIMESTAMP.
        wide = max(left, right, key=lambda type_: (_CALENDAR.index(type_.kind), type_.zone is not None))
        return ON_UNKNOWN_CLOCKS if wide == TIMESTAMP else wide
    if not (left.is_number and right.is_number):
        raise Refusal(f"Spark casts to compare {left} with {right}", f"write a literal of type {left}")
    if ValueKind.DOUBLE in {left.kind, right.kind}:
        return DOUBLE
    if left.kind is right.kind is ValueKind.INTEGER:
        return max(left, right, key=lambda type_: type_.bits)
    return _wider_decimal(as_decimal(left, left_digits), as_decimal(right, right_digits))


def as_decimal(type_: SparkType, digits: int = 0) -> SparkType:
    """Return the decimal type to which Spark casts an exact number.

    `digits`: digits of an integer literal, which limit the type; 0 for other values.
    """
    if type_.kind is ValueKind.DECIMAL:
        return type_
    # Spark counts all digits of the type for a tinyint, even for a literal.
    return decimal_type(digits if digits and type_.bits > 8 else digits_of(type_), 0)


def to_type(value: Value, type_: SparkType) -> Value:
    """Return a value cast to a type, unchanged if it already has the type. Raises Refusal."""
    if value.type == type_:
        return value
    if isinstance(value, Fixed) and value.is_null:
        return Fixed(type_, None)
    if isinstance(value, Fixed) and value.type.kind is type_.kind is ValueKind.INTEGER and value.type.bits < type_.bits:
        return Fixed(type_, value.ordinal)
    if isinstance(value, Fixed) and value.type.kind is ValueKind.STRING:
        return _parsed(value, type_)
    function = cast(value.type, type_)
    if function is None:
        raise Refusal(f"a cast from {value.type} to {type_} is not supported")
    return apply(function, value)


def cast_to(value: Value, type_: SparkType) -> Value:
    """Return CAST(value AS type); the result is no longer a literal. Raises Refusal."""
    result = to_type(value, type_)
    return replace(result, digits=0) if isinstance(result, Fixed) else result


def apply(function: Function, value: Value) -> Value:
    """Apply a function to a value. Raises Refusal if Spark raises an error for a constant."""
    if isinstance(value, Chain):
        return Chain(value.column, function.result, (*value.functions, function))
    if value.ordinal is None:
        return Fixed(function.result, None)
    if value.doubt or function.doubt:
        return _apply_to_doubtful(function, value.ordinal, value.doubt + function.doubt)
    return Fixed(function.result, function.result_of(value.ordinal))


def _apply_to_doubtful(function: Function, ordinal: int, doubt: int) -> Fixed:
    """Apply a function to a constant whose error is up to `doubt`."""
    least, most = ordinal - doubt, ordinal + doubt
    if not any(piece.first <= least <= most <= piece.last for piece in function.pieces):
        raise zone_needed()
    low, middle, high = (function.value(argument) for argument in (least, ordinal, most))
    if not function.result.least <= min(low, high) <= max(low, high) <= function.result.greatest:
        raise zone_needed()
    return Fixed(function.result, middle, doubt=max(abs(low - middle), abs(high - middle)))


def as_number(value: Value) -> Value:
    """Return a numeric value unchanged. Raises Refusal for other types, which Spark casts."""
    if not value.type.is_number:
        raise Refusal(f"Spark casts the {value.type} to a number here", "write a number")
    return value


def check_casts(values: Sequence[Value], semantics: SparkSemantics, *, are_compared: bool = False) -> None:
    """Raise Refusal if the session casts the values differently from Spark's default settings.

    `are_compared`: True if the values are the two operands of a comparison, where Spark casts a text to a date or a
    number even without ansi.enabled.
    """
    if semantics.retain_fraction_digits and has_too_many_digits([value.type for value in values]):
        raise Refusal("the session drops digits before the decimal point", _NO_RETAINED_DIGITS)
    if semantics.ansi:
        return
    kinds = {value.type.kind for value in values} - {ValueKind.NULL}
    whole = [value for value in values if value.type.kind is ValueKind.INTEGER]
    if whole and FLOAT in {value.type for value in values} and not (are_compared and all(map(_is_float, whole))):
        raise Refusal("without ansi.enabled Spark casts the integer to FLOAT, which rounds", "write DOUBLE")
    is_time = are_compared and len(kinds) == 2 and not kinds - {ValueKind.STRING, *_CALENDAR}
    if ValueKind.STRING in kinds and len(kinds) > 1 and not is_time and not (are_compared and _is_number_text(values)):
        raise Refusal(
            "without ansi.enabled Spark casts strings and other types in another way", "write the value without quotes"
        )


def _is_number_text(values: Sequence[Value]) -> bool:
    """Return whether all other operands are integers or DOUBLE, and each text is a whole number that fits their types.

    Without ansi.enabled Spark casts such a text to exactly the type of the other operand; other texts may become NULL.
    """
    strings = [value for value in values if value.type.kind is ValueKind.STRING]
    types = [value.type for value in values if value.type.kind not in {ValueKind.STRING, ValueKind.NULL}]
    return all(type_.kind is ValueKind.INTEGER or type_ == DOUBLE for type_ in types) and all(
        isinstance(string, Fixed)
        and string.plain is not None
        and _INTEGER_TEXT.fullmatch(str(string.plain.value)) is not None
        and all(type_ == DOUBLE or type_.least <= int(str(string.plain.value)) <= type_.greatest for type_ in types)
        for string in strings
    )


def _is_float(value: Value) -> bool:
    """Return whether a constant is a whole number that FLOAT represents exactly, or NULL."""
    return isinstance(value, Fixed) and (value.is_null or rounded(float(value.ordinal or 0), 32) == value.ordinal)


def has_too_many_digits(types: Iterable[SparkType]) -> bool:
    """Return whether Spark rounds some of the exact numbers to fit all of them into one decimal."""
    number_types = [type_ for type_ in types if type_.kind in {ValueKind.INTEGER, ValueKind.DECIMAL}]
    if all(type_.kind is ValueKind.INTEGER for type_ in number_types):
        return False
    exact = [as_decimal(type_) for type_ in number_types]
    return max(type_.digits - type_.scale for type_ in exact) + max(type_.scale for type_ in exact) > MAX_DIGITS


def common_type(values: Sequence[Value]) -> SparkType:
    """Return the common type of branches, or of a value and its IN list. Raises Refusal."""
    common, *others = dict.fromkeys(value.type for value in values)
    for other in others:
        common = wider(common, other)
    return common


def _type_with_string(type_: SparkType) -> SparkType:
    match type_.kind:
        case ValueKind.INTEGER:
            return BIGINT
        case ValueKind.DECIMAL | ValueKind.DOUBLE:
            return DOUBLE
        case ValueKind.DATE | ValueKind.BOOLEAN | ValueKind.TIMESTAMP | ValueKind.TIMESTAMP_NTZ:
            return type_
        case kind:
            raise Refusal(f"Spark casts between {kind} and string here")


def _wider_decimal(left: SparkType, right: SparkType) -> SparkType:
    """Return a decimal type for all digits of both types, or at least for all integer digits."""
    whole = max(left.digits - left.scale, right.digits - right.scale)
    scale = min(max(left.scale, right.scale), MAX_DIGITS - whole)
    return decimal_type(whole + scale, scale)


def _parsed(value: Fixed, type_: SparkType) -> Value:
    """Return the value to which Spark casts a plain string constant.

    Raises Refusal if the result is an error or uncertain.
    """
    assert value.plain is not None
    string = str(value.plain.value)
    if type_.kind is ValueKind.INTEGER and _INTEGER_TEXT.fullmatch(string):
        integer = int(string)
        if type_.least <= integer <= type_.greatest:
            return Fixed(type_, integer)
        raise Refusal(f"the string does not fit {type_}: {_RAISES}", "write a number", raises=True)
    if type_.kind is ValueKind.DOUBLE and (float_ := float_of_text(string, type_.bits)) is not None:
        return Fixed(type_, ordinal_of_float(float_, type_.bits))
    if type_.kind in TIMES:
        if is_no_moment(string):
            raise Refusal(f"{shown(string)} is not a time; {_RAISES} for it", WRITE_TIMESTAMP, no_value=True)
        return fixed_time(ValueKind.STRING, read_moment(string), type_)
    if type_.kind is ValueKind.DATE:
        if (day := date_of_string(string)) is not None:
            return Fixed(type_, day)
        if is_dashed(string):
            raise Refusal(f"there is no day {string}; {_RAISES}", "write a day that exists", raises=True, no_value=True)
        raise Refusal(
            f"only a string in the form yyyy-MM-dd is certain to be a date; {_RAISES} for a text that is not a date",
            "write DATE 'yyyy-MM-dd'",
            raises=not _DIGIT.search(string) and not _SPECIAL_DAY.match(string),
            no_value=is_no_moment(string),
        )
    if type_.is_number:
        raise Refusal(
            f"{shown(string)} is a string, which Spark casts to {type_}; {_RAISES} if it cannot",
            _NUMBER_OR_CAST,
            raises=not _DIGIT.search(string) and not _NAMED_FLOAT.search(string),
            no_value=not string.strip(),
        )
    raise Refusal(f"Spark casts {shown(string)} to a {type_} here", "write the value without quotes")
