"""Whole numbers divided as Spark divides them, and ratios as the ordinals of floats."""

from __future__ import annotations

# Bits of the significand, and the power of two of the least number.
_FLOATS = {32: (24, -149), 64: (53, -1074)}
_INFINITIES = {32: 0x7F800000, 64: 0x7FF0000000000000}


def half_up(numerator: int, denominator: int) -> int:
    """Return the ratio rounded to a whole number, halves away from zero (Java's HALF_UP).

    >>> half_up(5, 2), half_up(-5, 2), half_up(7, -3)
    (3, -3, -2)
    """
    whole = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return whole if (numerator < 0) == (denominator < 0) else -whole


def towards_zero(numerator: int, denominator: int) -> int:
    """Return the ratio without its fraction.

    >>> towards_zero(7, 2), towards_zero(-7, 2)
    (3, -3)
    """
    whole = abs(numerator) // abs(denominator)
    return whole if (numerator < 0) == (denominator < 0) else -whole


def ordinal_of_ratio(numerator: int, denominator: int, bits: int) -> int:
    """Return the ordinal of the float next to a ratio, halves to even; the denominator is positive.

    >>> ordinal_of_ratio(1, 1, 64) == 0x3FF0000000000000, ordinal_of_ratio(10**400, 1, 32) == 0x7F800000
    (True, True)
    """
    if numerator < 0:
        return -ordinal_of_ratio(-numerator, denominator, bits)
    if numerator == 0:
        return 0
    significand, least = _FLOATS[bits]
    # The power of two that leaves the quotient as many bits as the significand, or one more.
    power = max(numerator.bit_length() - denominator.bit_length() - significand, least)
    if _scaled(numerator, denominator, power) >= 1 << significand:
        power += 1
    top, bottom = (numerator << -power, denominator) if power < 0 else (numerator, denominator << power)
    quotient, rest = divmod(top, bottom)
    quotient += 2 * rest > bottom or (2 * rest == bottom and quotient % 2 == 1)
    return min((power - least << significand - 1) + quotient, _INFINITIES[bits])


def _scaled(numerator: int, denominator: int, power: int) -> int:
    return (numerator << -power) // denominator if power < 0 else numerator // (denominator << power)
