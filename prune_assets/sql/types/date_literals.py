"""Literals of dates and intervals whose value is certain."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from prune_assets.sql.types.calendar import date_of, day_of
from prune_assets.sql.types.calendar import months_later as months_on
from prune_assets.sql.types.spark_values import SparkValue, ValueKind
from prune_assets.sql.types.zones import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

_DATE = re.compile(r"([+-]?[0-9]{4,7})-([0-9]{1,2})-([0-9]{1,2})")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_OTHER_FORMAT = re.compile(r" *[0-9]{1,4}[./][0-9]")
# Texts that are neither a date nor a time: they have no digits and are not one of Spark's words for a date.
_NO_MOMENT = re.compile(r"(?![\x00-\x20]*(?:epoch|now|today|tomorrow|yesterday))[^0-9]*", re.IGNORECASE)
_COUNT = re.compile(r"[+-]?[0-9]{1,7}")
EPOCH = date(1970, 1, 1).toordinal()
MIN_DAY = date.min.toordinal() - EPOCH
MAX_DAY = date.max.toordinal() - EPOCH

UNITS = frozenset(
    f"{unit}{plural}"
    for unit in ("NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
    for plural in ("", "S")
)
_LENGTHS = {
    "YEAR": (ValueKind.MONTHS, 12),
    "MONTH": (ValueKind.MONTHS, 1),
    "WEEK": (ValueKind.DAYS, 7),
    "DAY": (ValueKind.DAYS, 1),
    "HOUR": (ValueKind.TIME, 3_600_000_000),
    "MINUTE": (ValueKind.TIME, 60_000_000),
    "SECOND": (ValueKind.TIME, 1_000_000),
    "MILLISECOND": (ValueKind.TIME, 1_000),
    "MICROSECOND": (ValueKind.TIME, 1),
}


class InvalidDate(ValueError):
    """A text has the form of a date, but the calendar lacks the day."""


def read_date(string: str) -> SparkValue:
    """Return the literal DATE 'text'. Its value is None if the text is not written year-month-day.

    Raises InvalidDate.
    """
    match = _DATE.fullmatch(string)
    if match is None:
        return SparkValue(ValueKind.DATE)
    year, month, day = map(int, match.groups())
    if not 1 <= month <= 12 or not day >= 1 or date_of(day_of(year, month, day)).day != day:
        raise InvalidDate(f"there is no day {string}")
    return SparkValue(ValueKind.DATE, day_of(year, month, day))


def is_dashed(string: str) -> bool:
    """Return whether a string is written yyyy-[m]m-[d]d, even if the calendar lacks the day."""
    return _ISO_DATE.fullmatch(string) is not None


def is_other_format(string: str) -> bool:
    """Return whether a text starts like a date of another tool or language, which Spark's DATE and TIMESTAMP refuse.

    >>> [is_other_format(text) for text in ("31.12.2024", "2024/12/31", "2024-12-31", "now")]
    [True, True, False, False]
    """
    return _OTHER_FORMAT.match(string) is not None


def is_no_moment(string: str) -> bool:
    """Return whether a text is certainly neither a date nor a time.

    Such a text has no digit, and is not a word that Spark accepts.

    >>> [is_no_moment(text) for text in ("", " ", "None", "2024-12-31", "today")]
    [True, True, True, False, False]
    """
    return _NO_MOMENT.fullmatch(string) is not None


def date_of_string(string: str) -> int | None:
    """Return the days since 1970-01-01 of a yyyy-[m]m-[d]d string, as Spark casts it; else None."""
    if not is_dashed(string):
        return None
    try:
        value = read_date(string).value
    except InvalidDate:
        return None
    return value if isinstance(value, int) else None


def read_interval(count: str, unit: str, *, negative: bool) -> SparkValue:
    """Read an interval such as `INTERVAL 3 DAYS`; its value is None for an unknown unit or a count with a fraction."""
    length = _LENGTHS.get(unit.upper().removesuffix("S"))
    count = count.strip(" ")
    if length is None or not _COUNT.fullmatch(count) or (negative and not count.isdigit()):
        return SparkValue(ValueKind.INTERVAL)
    kind, size = length
    return SparkValue(kind, (-int(count) if negative else int(count)) * size)


def join_intervals(parts: Sequence[SparkValue]) -> SparkValue:
    """Add up intervals such as `1 DAY 2 HOURS`; the value is None if months are mixed with days or times."""
    if len(parts) == 1:
        return parts[0]
    kinds = {part.kind for part in parts}
    if kinds == {ValueKind.MONTHS}:
        return SparkValue(ValueKind.MONTHS, sum(part.number for part in parts))
    if ValueKind.TIME not in kinds or not kinds <= {ValueKind.DAYS, ValueKind.TIME}:
        return SparkValue(ValueKind.INTERVAL)
    return SparkValue(ValueKind.TIME, sum(part.number * (DAY if part.kind is ValueKind.DAYS else 1) for part in parts))


def months_later(day: int, months: int) -> int | None:
    """Return the day some months later, in a shorter month its last day; None outside of the years 1 to 9999."""
    later = months_on(day, months)
    return later if MIN_DAY <= later <= MAX_DAY else None
