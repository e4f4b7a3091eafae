"""Nearest floats of texts and ratios, and integer division with Spark's rounding."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np

# Spark casts these strings, trimmed and without case (Cast.processFloatingPointSpecialLiterals).
_NAMED = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}
_PLAIN = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


def named_float(string: str) -> float | None:
    """Return the NaN or infinity that a text names; else None.

    >>> named_float("-Infinity"), named_float("1.5")
    (-inf, None)
    """
    return _NAMED.get(string.lower())


def float_of_text(string: str, bits: int = 64) -> float | None:
    """Return the float to which Spark casts a string; None unless the string is a plain number, NaN or an infinity.

    >>> float_of_text("1.5"), float_of_text("16777217", 32), float_of_text("1d")
    (1.5, 16777216.0, None)
    """
    if not _PLAIN.fullmatch(string):
        return named_float(string)
    if bits == 64:
        return float(string)
    # Java rounds the text once; a conversion through double would round twice.
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(string)
        around = (near, *(np.nextafter(near, np.float32(way)) for way in (-math.inf, math.inf)))
    exact = Fraction(string)
    return min((float(each) for each in around), key=lambda each: (abs(_exact_float(each) - exact), each != near))


def _exact_float(value: float) -> Fraction:
    """Return a FLOAT as an exact number for rounding; infinity counts as the next power of two."""
    return Fraction(math.copysign(2.0**128, value) if math.isinf(value) else value)


# Bits of the significand, and the exponent of the smallest positive number.
_FLOATS = {32: (24, -149), 64: (53, -1074)}
INFINITIES = {32: 0x7F800000, 64: 0x7FF0000000000000}


def half_up(numerator: int, denominator: int) -> int:
    """Return the ratio rounded to a whole number, halves away from zero (Java's HALF_UP).

    >>> half_up(5, 2), half_up(-5, 2), half_up(7, -3)
    (3, -3, -2)
    """
    whole = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return whole if (numerator < 0) == (denominator < 0) else -whole


def towards_zero(numerator: int, denominator: int) -> int:
    """Return the ratio truncated towards zero.

    >>> towards_zero(7, 2), towards_zero(-7, 2)
    (3, -3)
    """
    whole = abs(numerator) // abs(denominator)
    return whole if (numerator < 0) == (denominator < 0) else -whole


def ordinal_of_ratio(numerator: int, denominator: int, bits: int) -> int:
    """Return the ordinal of the float nearest to a ratio; halves are rounded to even.

    `denominator`: must be positive.

    >>> ordinal_of_ratio(1, 1, 64) == 0x3FF0000000000000, ordinal_of_ratio(10**400, 1, 32) == 0x7F800000
    (True, True)
    """
    if numerator < 0:
        return -ordinal_of_ratio(-numerator, denominator, bits)
    if numerator == 0:
        return 0
    significand, least = _FLOATS[bits]
    # The exponent at which the quotient has the number of bits of the significand, or one more.
    power = max(numerator.bit_length() - denominator.bit_length() - significand, least)
    if _scaled(numerator, denominator, power) >= 1 << significand:
        power += 1
    top, bottom = (numerator << -power, denominator) if power < 0 else (numerator, denominator << power)
    quotient, rest = divmod(top, bottom)
    quotient += 2 * rest > bottom or (2 * rest == bottom and quotient % 2 == 1)
    return min((power - least << significand - 1) + quotient, INFINITIES[bits])


def _scaled(numerator: int, denominator: int, power: int) -> int:
    return (numerator << -power) // denominator if power < 0 else numerator // (denominator << power)
