"""Comparisons with float columns, brought to values that the column can hold.

Spark compares a FLOAT column with anything but a FLOAT as double, and a double column with any number as
double. Widening a float is exact, so what holds for the double is a bound that the float can hold.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of, scalar_of
from parquet_core.predicate import Compare, In, Op
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_core.predicate import Path
    from prune_assets.sql.types.spark_values import SparkValue

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


def as_double(value: SparkValue, *, ansi: bool = True) -> float | None:
    """Return an exact number, a float or a text as the double that Spark makes of it; None where that is not known."""
    if value.kind is Kind.DOUBLE:
        return float(value.value) if isinstance(value.value, float) else None
    if value.kind is Kind.STRING:
        # Without ansi.enabled a string beside a FLOAT becomes a FLOAT.
        return (float_of_text if ansi else named_float)(str(value.value))
    # Python divides whole numbers with one rounding, to the nearest, as Java does.
    return float(value.number / 10**value.scale)


def snap_float(column: Path, kind: pa.DataType, op: Op, value: float) -> Compare:
    """Return the comparison with a double as one with a value of the column's type, zero being +0.0.

    What holds for no value becomes `column < -Infinity`, what holds for all `column >= -Infinity`.
    """
    below, above = _neighbours(kind, value)
    if below == above or math.isnan(value):
        return Compare(column, op, _scalar(kind, above))
    match op:
        case Op.EQ:
            return never(column, kind)
        case Op.NE:
            return Compare(column, Op.GE, _scalar(kind, -math.inf))
        case Op.LT | Op.LE:
            return Compare(column, Op.LE, _scalar(kind, below))
        case Op.GT | Op.GE:
            return Compare(column, Op.GE, _scalar(kind, above))


def is_in_floats(column: Path, kind: pa.DataType, values: Iterable[float]) -> Compare | In:
    """Return the membership among those of the doubles that the column can hold, each once."""
    kept: dict[float | str, float] = {}
    for value in values:
        below, above = _neighbours(kind, value)
        if math.isnan(value):
            kept["NaN"] = value
        elif below == above:
            kept[above] = above
    if not kept:
        return never(column, kind)
    if len(kept) == 1:
        return Compare(column, Op.EQ, _scalar(kind, *kept.values()))
    return In(column, array_of(list(kept.values()), kind))


def never(column: Path, kind: pa.DataType) -> Compare:
    """Return a comparison that is FALSE for every value, NaN included, and NULL for null."""
    return Compare(column, Op.LT, _scalar(kind, -math.inf))


def _neighbours(kind: pa.DataType, value: float) -> tuple[float, float]:
    """Return the values of a type next to a double, twice the same where it is one of them; zero is +0.0."""
    if pa.types.is_float64(kind) or math.isnan(value):
        return value + 0.0, value + 0.0
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(value)
        if float(nearest) == value:
            return value + 0.0, value + 0.0
        if float(nearest) < value:
            return float(nearest), float(np.nextafter(nearest, np.float32(math.inf)))
        return float(np.nextafter(nearest, np.float32(-math.inf))), float(nearest)


def _scalar(kind: pa.DataType, value: float) -> pa.Scalar:
    return scalar_of(value + 0.0, kind)
