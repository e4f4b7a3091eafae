"""Value and type of numeric literals by Spark's rules (AstBuilder.visitIntegerLiteral and related methods)."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import pyarrow as pa

from parquet_core.arrow_arrays import scalar_of
from prune_assets.sql.types.spark_values import MAX_DIGITS, SparkValue, ValueKind, decimal, integer

# Spark's limits are the largest floats as Java prints them, read as decimals.
_LARGEST = {pa.float32(): Decimal("3.4028234663852886E+38"), pa.float64(): Decimal("1.7976931348623157E+308")}
_SUFFIX_BITS = {"L": 64, "S": 16, "Y": 8}


class NumberOutOfRange(ValueError):
    """A numeric literal that Spark refuses because the number is outside the range of its type."""


def read_number(source: str, *, negative: bool) -> SparkValue:
    """Return the value of a numeric literal.

    `negative`: True after a minus sign.

    >>> read_number("1.50", negative=True)
    SparkValue(kind=<ValueKind.DECIMAL: 'decimal'>, value=-150, bits=0, digits=3, scale=2, name=None)
    """
    literal = source.upper()
    if literal.endswith("BD"):
        return _decimal(literal[:-2], negative)
    if literal[-1] in "FD" or "E" in literal:
        return _floating(literal, negative)
    if literal[-1] in _SUFFIX_BITS:
        return _sized(literal[:-1], _SUFFIX_BITS[literal[-1]], negative, source)
    if "." in literal:
        return _decimal(literal, negative)
    return _unsized(literal, negative)


def _floating(literal: str, negative: bool) -> SparkValue:  # noqa: FBT001  (private)
    arrow_type, digits = (pa.float32() if literal[-1] == "F" else pa.float64()), literal.rstrip("FD")
    try:
        exact = Decimal(digits)
    except InvalidOperation as error:
        raise NumberOutOfRange(f"{literal} has an exponent beyond all numbers") from error
    if exact > _LARGEST[arrow_type]:
        raise NumberOutOfRange(f"{literal} is beyond the largest {arrow_type}")
    # Java and Arrow round the decimal digits once. A float converted through double would be rounded twice.
    value = scalar_of(digits, pa.string()).cast(arrow_type).as_py()
    return SparkValue(ValueKind.DOUBLE, -value if negative else value, bits=arrow_type.bit_width)


def _sized(digits: str, bits: int, negative: bool, source: str) -> SparkValue:  # noqa: FBT001  (private)
    # Python refuses to convert thousands of digits.
    digits = digits.lstrip("0") or "0"
    value = int(digits[: MAX_DIGITS + 1]) * (-1 if negative else 1)
    if not _fits(value, bits):
        raise NumberOutOfRange(f"{source} is out of the range of {bits} bits")
    return integer(value, bits)


def _unsized(digits: str, negative: bool) -> SparkValue:  # noqa: FBT001  (private)
    digits = digits.lstrip("0") or "0"
    if len(digits) > MAX_DIGITS:
        raise NumberOutOfRange(f"a number of more than {MAX_DIGITS} digits is beyond Spark's decimal")
    value = -int(digits) if negative else int(digits)
    for bits in (32, 64):
        if _fits(value, bits):
            return integer(value, bits)
    return decimal(value, len(str(abs(value))), 0)


def _decimal(literal: str, negative: bool) -> SparkValue:  # noqa: FBT001  (private)
    parts = Decimal(literal).as_tuple()
    assert isinstance(parts.exponent, int)
    scale, zeros = max(0, -parts.exponent), max(0, parts.exponent)
    digits = max(len(parts.digits) + zeros, scale)
    if digits > MAX_DIGITS:
        raise NumberOutOfRange(f"{digits} digits are more than the {MAX_DIGITS} of Spark's decimal")
    unscaled = int("".join(map(str, parts.digits))) * 10**zeros
    return decimal(-unscaled if negative else unscaled, digits, scale)


def _fits(value: int, bits: int) -> bool:
    return -(1 << bits - 1) <= value < 1 << bits - 1
