"""Literals of dates and intervals, as far as their value is certain."""

from __future__ import annotations

import re
from datetime import date

from prune_assets.sql.values import Kind, SparkValue

_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
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
    "YEAR": (Kind.MONTHS, 12),
    "MONTH": (Kind.MONTHS, 1),
    "WEEK": (Kind.DAYS, 7),
    "DAY": (Kind.DAYS, 1),
}


class InvalidDate(ValueError):
    """The calendar has no such day."""


def read_date(text: str) -> SparkValue:
    """Return DATE 'text'; its value is not known when it is not written year-month-day. Raises InvalidDate."""
    found = _DATE.fullmatch(text)
    if found is None or found.group(1) == "0000":
        return SparkValue(Kind.DATE)
    try:
        day = date(*map(int, found.groups()))
    except ValueError as error:
        raise InvalidDate(f"there is no day {text}") from error
    return SparkValue(Kind.DATE, day.toordinal() - EPOCH)


def date_of_string(text: str) -> int | None:
    """Return the days since 1970-01-01 when a string is exactly yyyy-MM-dd, which Spark casts to that date."""
    if not _ISO_DATE.fullmatch(text):
        return None
    try:
        value = read_date(text).value
    except InvalidDate:
        return None
    return value if isinstance(value, int) else None


def read_interval(count: str, unit: str, *, negative: bool) -> SparkValue:
    """Return INTERVAL count unit; its value is not known unless it is whole years, months, weeks or days."""
    length = _LENGTHS.get(unit.upper().removesuffix("S"))
    count = count.strip(" ")
    if length is None or not _COUNT.fullmatch(count) or (negative and not count.isdigit()):
        return SparkValue(Kind.INTERVAL)
    kind, size = length
    return SparkValue(kind, (-int(count) if negative else int(count)) * size)
