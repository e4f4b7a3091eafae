"""The floats that Spark casts texts to."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np

# What Spark takes for these when it casts a string, blanks and case aside (Cast.processFloatingPointSpecialLiterals).
_NAMED = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}
_PLAIN = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


def named_float(text: str) -> float | None:
    """Return what NaN and the infinities are called in strings, None for any other text.

    >>> named_float("-Infinity"), named_float("1.5")
    (-inf, None)
    """
    return _NAMED.get(text.lower())


def float_of_text(text: str, bits: int = 64) -> float | None:
    """Return the float that Spark casts a string to, None for all but plain numbers, NaN and the infinities.

    >>> float_of_text("1.5"), float_of_text("16777217", 32), float_of_text("1d")
    (1.5, 16777216.0, None)
    """
    if not _PLAIN.fullmatch(text):
        return named_float(text)
    if bits == 64:
        return float(text)
    # Rounded once, as Java does; by way of a double it would be rounded twice.
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(text)
        around = (near, *(np.nextafter(near, np.float32(way)) for way in (-math.inf, math.inf)))
    exact = Fraction(text)
    return min((float(each) for each in around), key=lambda each: (abs(_place(each) - exact), each != near))


def _place(value: float) -> Fraction:
    """Return what a FLOAT stands for when a number is rounded to it: infinity for the next power of two."""
    return Fraction(math.copysign(2.0**128, value) if math.isinf(value) else value)
