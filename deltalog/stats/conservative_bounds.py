"""Convert texts and numbers of the log to bounds that enclose the value.

Functions convert many values at once and return a pair of arrays, lower and upper bounds, in the column's bounds type.
A null bound is unknown.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.trust.widened_bounds import Pair, enclosing_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

MICROS = pa.timestamp("us")
HOUR = 3_600_000_000
# Largest offset of a time zone from UTC. The zone of a time without a zone is unknown.
UNKNOWN_ZONE = 15 * HOUR
_MINUTE = HOUR // 60
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,5})?")
_INTEGERS = r"^-?[0-9]{1,18}$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_CLOCK = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ODD_ZONE = r"[+-][0-9]{2}:(?:0[1-9]|1[0-4]|1[6-9]|2[0-9]|3[1-9]|4[0-4]|4[6-9]|5[0-9])$"
_LOOSE_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DIGITS = Context(prec=100)


def exact_pair(values: pa.Array) -> Pair:
    """Return a pair of equal bounds, for values that are certain."""
    return Pair(values, values)


def unknown_pair(count: int, arrow_type: pa.DataType) -> Pair:
    """Return a pair of arrays of `count` null bounds, for unknown values."""
    return exact_pair(pa.nulls(count, arrow_type))


def number_of(value: object) -> Decimal | float | None:
    """Parse a number as Decimal, infinities and NaN as float; None for other values.

    >>> [number_of(text) for text in ("1.50", " 7 ", "1.0E2", "NaN", "abc", "1_0", True)]
    [Decimal('1.50'), Decimal('7'), Decimal('1.0E+2'), nan, None, None, None]
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if not isinstance(value, str):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    value = value.strip()
    if _NUMBER.fullmatch(value):
        return Decimal(value)
    named = {"nan": math.nan, "infinity": math.inf, "inf": math.inf}
    sign = -1.0 if value.startswith("-") else 1.0
    special = named.get(value.lower().lstrip("+-"))
    return None if special is None else sign * special


def integers(values: Sequence[Any], arrow_type: pa.DataType) -> Pair:
    """Enclose numbers by integers of a type; null for values out of its range."""
    try:
        return exact_pair(pa.array(values, pa.int64()).cast(arrow_type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        half = 1 << arrow_type.bit_width - 1
        pairs = [_rounded(number_of(value), 0, half - 1, -half) for value in values]
        return Pair(*(pa.array([pair[side] for pair in pairs], arrow_type) for side in (0, 1)))


def _rounded(number: Decimal | float | None, scale: int, most: int, least: int) -> tuple[int | None, int | None]:
    """Return the multiples of 10**-scale that enclose a number, as unscaled integers; None if out of range."""
    if not isinstance(number, Decimal) or not number.is_finite() or abs(number.adjusted()) > 60:
        return (0, 0) if isinstance(number, Decimal) and number == 0 else (None, None)
    try:
        moved = number.scaleb(scale, _DIGITS)
        low = int(moved.to_integral_value(ROUND_FLOOR, _DIGITS))
        high = int(moved.to_integral_value(ROUND_CEILING, _DIGITS))
    except (InvalidOperation, OverflowError):
        return None, None
    # A number out of range was altered, or written for another type.
    return (low, high) if least <= low and high <= most else (None, None)


def decimals(values: Sequence[Any], arrow_type: pa.DataType) -> Pair:
    """Enclose numbers by decimals of a type; null for values out of its range."""
    try:
        return exact_pair(pa.array(values, arrow_type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        most = 10**arrow_type.precision - 1
        pairs = [_rounded(number_of(value), arrow_type.scale, most, -most) for value in values]
        return Pair(
            *(pa.array([_scaled(pair[side], arrow_type.scale) for pair in pairs], arrow_type) for side in (0, 1))
        )


def _scaled(unscaled: int | None, scale: int) -> Decimal | None:
    return None if unscaled is None else Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))


def floats(values: Sequence[Any], arrow_type: pa.DataType) -> Pair:
    """Enclose numbers by floats of a type. NaN stays NaN."""
    try:
        wide = pa.array(values, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        wide = pa.array([_float(value) for value in values], pa.float64())
    return exact_pair(wide) if pa.types.is_float64(arrow_type) else enclosing_floats(wide)


def _float(value: Any) -> float | None:
    number = number_of(value)
    try:
        return None if number is None else float(number)
    except OverflowError:
        return None


def float_of(string: str, arrow_type: pa.DataType) -> pa.Scalar | None:
    """Parse text to the nearest float, as Java does; None for non-numeric text.

    >>> [float_of(text, pa.float32()).as_py() for text in ("0.1", "-0", "16777217", "inf", "1e400")]
    [0.10000000149011612, -0.0, 16777216.0, inf, inf]
    """
    number = number_of(string)
    if number is None:
        return None
    wide = float(number)
    with np.errstate(over="ignore"):
        near = np.float32(wide)
    if pa.types.is_float64(arrow_type) or not isinstance(number, Decimal) or not np.isfinite(near):
        return pa.scalar(wide, arrow_type)
    # Round from the text: the double may be halfway between two floats although the text is not.
    around = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    finite = [value for value in around if np.isfinite(value)]
    nearest = min(finite, key=lambda value: (abs(Decimal(float(value)) - number), int(value.view(np.int32)) & 1))
    return pa.scalar(math.copysign(float(nearest), wide), arrow_type)


def integer_texts(strings: pa.Array, arrow_type: pa.DataType) -> Pair:
    """Parse integers in the forms that Spark writes and casts."""
    if _all(pc.match_substring_regex(strings, _INTEGERS)):
        try:
            return exact_pair(strings.cast(pa.int64()).cast(arrow_type))
        except pa.ArrowInvalid:
            pass
    return integers([_whole(string) for string in strings.to_pylist()], arrow_type)


def _whole(string: str | None) -> Decimal | None:
    number = number_of(string)
    return number if isinstance(number, Decimal) and number == number.to_integral_value() else None


def days(strings: pa.Array) -> Pair:
    """Parse dates `y-m-d`; null after the year 9999 and for invalid texts."""
    if _all(pc.match_substring_regex(strings, _DAY)):
        try:
            return exact_pair(strings.cast(pa.date32()))
        except pa.ArrowInvalid:
            pass
    return exact_pair(pa.array([_day(string) for string in strings.to_pylist()], pa.date32()))


def _day(string: str | None) -> Any:
    import datetime as dt

    match = None if string is None else _LOOSE_DAY.fullmatch(string.strip())
    try:
        return None if match is None else dt.date(*map(int, match.groups()))
    except ValueError:
        return None


def instants(strings: pa.Array) -> Pair:
    """Parse timestamps to bounds in UTC microseconds. Without a zone, bounds are 15 hours wider on each side.

    An offset that is not a multiple of 15 minutes is local mean time, whose seconds are not written, so bounds
    are one minute wider on each side.
    """
    zoned = flags_from(pc.match_substring_regex(strings, _CLOCK + "(?:Z|[+-][0-9]{2}:[0-9]{2})$"))
    plain = flags_from(pc.match_substring_regex(strings, _CLOCK + "$")) | _days_only(strings)
    micros, zoned_parsed = _cast(strings, zoned, lambda chosen: chosen.cast(pa.timestamp("us", "UTC")))
    local, local_parsed = _cast(strings, plain, lambda chosen: chosen.cast(MICROS))
    slack = np.zeros(len(strings), np.int64)
    if zoned.any():
        slack[flags_from(pc.match_substring_regex(strings, _ODD_ZONE))] = _MINUTE
    slack[plain] = UNKNOWN_ZONE
    return _spread(np.where(plain, local, micros), zoned_parsed | local_parsed, slack, pa.timestamp("us", "UTC"))


def local_times(strings: pa.Array) -> Pair:
    """Parse times without a zone, and dates as midnight; null for times with a zone."""
    plain = flags_from(pc.match_substring_regex(strings, _CLOCK + "$")) | _days_only(strings)
    micros, parsed = _cast(strings, plain, lambda chosen: chosen.cast(MICROS))
    return _spread(micros, parsed, np.zeros(len(strings), np.int64), MICROS)


def _days_only(strings: pa.Array) -> NDArray[np.bool_]:
    return flags_from(pc.match_substring_regex(strings, _DAY))


def _cast(
    strings: pa.Array, chosen: NDArray[np.bool_], read: Callable[[pa.Array], pa.Array]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Parse the chosen texts together; one by one if one of them is invalid."""
    micros, parsed = np.zeros(len(strings), np.int64), np.zeros(len(strings), np.bool_)
    positions = np.flatnonzero(chosen)
    if len(positions) == 0:
        return micros, parsed
    chosen_strings = strings.take(from_numpy(positions)).cast(pa.string())
    try:
        micros[positions] = numbers_from(read(chosen_strings))
        parsed[positions] = True
    except pa.ArrowInvalid:
        for i, string in zip(positions.tolist(), chosen_strings, strict=True):
            try:
                micros[i] = numbers_from(read(pa.array([string.as_py()], pa.string())))[0]
                parsed[i] = True
            except pa.ArrowInvalid:
                continue
    return micros, parsed


def _spread(
    micros: NDArray[np.int64], parsed: NDArray[np.bool_], slack: NDArray[np.int64], arrow_type: pa.DataType
) -> Pair:
    # Years of four digits cannot overflow 64-bit microseconds.
    return Pair(
        from_numpy(micros - slack, arrow_type, valid=parsed), from_numpy(micros + slack, arrow_type, valid=parsed)
    )


def _all(flags: pa.Array) -> bool:
    return bool(pc.all(flags, min_count=0).as_py())
