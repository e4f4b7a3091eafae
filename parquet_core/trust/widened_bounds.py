"""Widen bounds to enclose values that writers truncated or rounded.

Writers lose fractions of a millisecond, digits, and the ends of strings. Each rule names what is lost. No rule makes a
bound tighter.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.spark_rules.calendars import common_calendar_start

# Timestamps are truncated to milliseconds, so the maximum may be this much larger, in microseconds.
LOST_MICROS = 999
# 64-bit floats represent every integer up to this value, and every number of 15 digits.
_EXACT = 1 << 53
_EXACT_DIGITS = 15
_FLOAT_DIGITS = 17
# Older writers append this character to a truncated maximum, but larger characters exist.
_OLD_TIE_BREAKER = "\ufffd".encode()
_CUT_AT = 32


class Pair(NamedTuple):
    """Lower and upper bounds."""

    lower: pa.Array
    upper: pa.Array


def enclosing_floats(wide: pa.Array) -> Pair:
    """Return the floats that enclose each double, equal if the double is a float.

    The text of a float may have been parsed as a double. A double that is not exactly a float gets the floats one step
    below and above its rounded value.
    """
    doubles, valid = numbers_from(wide), flags_from(wide.is_valid())
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = doubles.astype(np.float32)
        exact = (narrow == doubles) | np.isnan(doubles)
        low = np.where(exact, narrow, np.nextafter(narrow, np.float32(-np.inf)))
        high = np.where(exact, narrow, np.nextafter(narrow, np.float32(np.inf)))
    return Pair(from_numpy(low, valid=valid), from_numpy(high, valid=valid))


def widened(pair: Pair, *, from_float: bool) -> Pair:  # noqa: PLR0911 - one for each kind
    """Widen bounds of a column of any type.

    `from_float`: True if the column was a float before it was a double.
    """
    arrow_type = pair.lower.type
    if pa.types.is_timestamp(arrow_type):
        return _modern(Pair(pair.lower, _later(pair.upper)))
    if pa.types.is_date(arrow_type):
        return _modern(pair)
    if pa.types.is_floating(arrow_type):
        return _numbers(_widen_to_floats(pair) if from_float and pa.types.is_float64(arrow_type) else pair)
    if pa.types.is_int64(arrow_type):
        return _through_float(pair)
    if pa.types.is_decimal(arrow_type):
        return _decimals(pair)
    if pa.types.is_binary(arrow_type):
        return Pair(pair.lower, _without_old_tie_breaker(pair.upper))
    return pair


def _later(upper: pa.Array) -> pa.Array:
    """Return upper bounds of timestamps, increased by the microseconds that may have been truncated."""
    micros = numbers_from(upper)
    top = np.iinfo(np.int64).max - LOST_MICROS
    return from_numpy(np.minimum(micros, top) + LOST_MICROS, upper.type, valid=flags_from(upper.is_valid()))


def _modern(pair: Pair) -> Pair:
    """Replace bounds before the start of the common calendar: lower ones with null, upper ones with the start.

    A reader may read a value before the start as another date or time, because of its calendar or of
    historical zone offsets with seconds. The value that it reads is never after the start.
    """
    start = common_calendar_start(pair.lower.type)
    lower, upper = (pc.less(side, start) for side in pair)
    none = pa.scalar(None, start.type)
    return Pair(pc.if_else(lower, none, pair.lower), pc.if_else(upper, start, pair.upper))


def _widen_to_floats(pair: Pair) -> Pair:
    """Widen bounds of doubles that may be parsed texts of floats, so that they include these floats."""
    low, high = enclosing_floats(pair.lower).lower, enclosing_floats(pair.upper).upper
    return Pair(
        pc.min_element_wise(pair.lower, low.cast(pa.float64()), skip_nulls=False),
        pc.max_element_wise(pair.upper, high.cast(pa.float64()), skip_nulls=False),
    )


def _numbers(pair: Pair) -> Pair:
    """Replace NaN bounds with null, and widen zero bounds to include -0.0 and 0.0."""
    arrow_type = pair.lower.type
    none, zero = pa.scalar(None, arrow_type), pa.scalar(0.0, arrow_type)
    low = pc.if_else(pc.is_nan(pair.lower), none, pair.lower)
    high = pc.if_else(pc.is_nan(pair.upper), none, pair.upper)
    return Pair(
        pc.if_else(pc.equal(low, zero), pa.scalar(-0.0, arrow_type), low),
        pc.if_else(pc.equal(high, zero), zero, high),
    )


def _through_float(pair: Pair) -> Pair:
    """Widen bounds of integers that a 64-bit float may have rounded."""
    return Pair(_stepped(pair.lower, -1), _stepped(pair.upper, 1))


def _stepped(values: pa.Array, way: int) -> pa.Array:
    integers = numbers_from(values)
    near = integers.astype(np.float64)
    ends = np.iinfo(np.int64)
    # A rounded number is a double, written with the fewest digits that identify it, at most 17.
    few_digits = (np.abs(near) < 1e17) | (integers % np.where(np.abs(near) < 1e18, 10, 100) == 0)
    beyond = (integers == ends.max) | (integers == ends.min)
    with np.errstate(invalid="ignore"):
        rounded = beyond | few_digits | (near.astype(np.int64) == integers)
    steps = np.where((np.abs(near) > _EXACT) & rounded, np.spacing(np.abs(near)), 0).astype(np.int64)
    if not steps.any():
        return values
    moved = (
        np.maximum(integers, ends.min + steps) - steps if way < 0 else np.minimum(integers, ends.max - steps) + steps
    )
    return from_numpy(moved, valid=flags_from(values.is_valid()))


def _decimals(pair: Pair) -> Pair:
    """Widen bounds of decimals with more digits than a 64-bit float holds."""
    arrow_type = pair.lower.type
    if arrow_type.precision <= _EXACT_DIGITS:
        return pair
    return Pair(_moved(pair.lower, -1), _moved(pair.upper, 1))


def _moved(values: pa.Array, way: int) -> pa.Array:
    arrow_type = values.type
    long = Decimal((0, (1, *(0,) * _EXACT_DIGITS), -arrow_type.scale))
    large = flags_from(pc.greater_equal(pc.abs(values), pa.scalar(long, arrow_type)))
    if not large.any():
        return values
    moved = values.to_pylist()
    with localcontext(prec=100):
        for i in np.flatnonzero(large).tolist():
            moved[i] = _moved_one(moved[i], way, arrow_type)
    return pa.array(moved, arrow_type)


def _moved_one(value: Decimal, way: int, arrow_type: pa.DataType) -> Decimal:
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    if len(digits) > _FLOAT_DIGITS:
        return value  # more digits than any 64-bit float is written with
    least = Decimal((0, (1,), -arrow_type.scale))
    most = Decimal((0, (9,) * arrow_type.precision, -arrow_type.scale))
    steps = (Decimal(float(np.spacing(abs(float(value))))) / least).to_integral_value(ROUND_CEILING)
    return max(-most, min(most, value + way * steps * least))


def _without_old_tie_breaker(upper: pa.Array) -> pa.Array:
    ends = pc.ends_with(upper, _OLD_TIE_BREAKER)
    if not pc.any(ends).as_py():
        return upper
    old = [
        upper_bytes is not None and len(upper_bytes.decode("utf-8", "replace")) > _CUT_AT
        for upper_bytes in upper.filter(ends).to_pylist()
    ]
    flags = flags_from(ends)
    flags[np.flatnonzero(flags)] = old
    return pc.if_else(from_numpy(flags), pa.scalar(None, upper.type), upper)
