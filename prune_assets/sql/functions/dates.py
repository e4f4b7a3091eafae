"""Functions of dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.function import Function, Piece
from prune_assets.sql.types.calendar import date_of, day_of, monday_of, months_later
from prune_assets.sql.types.spark_types import DATE, INT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prune_assets.sql.types.spark_types import SparkType

# First days of years, quarters, months and weeks; by the names that trunc() knows.
_FIRST_DAYS: Mapping[str, Callable[[int], int]] = {
    "year": lambda day: day_of(date_of(day).year, 1, 1),
    "quarter": lambda day: day_of(date_of(day).year, (date_of(day).month - 1) // 3 * 3 + 1, 1),
    "month": lambda day: day_of(date_of(day).year, date_of(day).month, 1),
    "week": monday_of,
}
_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "quarter": "quarter",
    "week": "week",
}

# Fields that come back, so that they have no range.
FIELDS: Mapping[str, Callable[[int], int]] = {
    "month": lambda day: date_of(day).month,
    "quarter": lambda day: (date_of(day).month + 2) // 3,
    **dict.fromkeys(("day", "dayofmonth"), lambda day: date_of(day).day),
    "dayofyear": lambda day: day - day_of(date_of(day).year, 1, 1) + 1,
    # 1970-01-01 was a Thursday; of one function Sunday is 1, of the other Monday 0.
    "dayofweek": lambda day: (day + 4) % 7 + 1,
    "weekday": lambda day: (day + 3) % 7,
}


def first_day(unit: str) -> Callable[[int], int] | None:
    """Return what gives the first day of the year, quarter, month or week of a day; None for other units."""
    return _FIRST_DAYS.get(_UNITS.get(unit.lower(), ""))


def year() -> Function:
    """Return what gives the year of a date."""
    return of_days("year", INT, lambda day: date_of(day).year)


def last_day() -> Function:
    """Return what gives the last day of a date's month."""
    return of_days("last_day", DATE, lambda day: day_of(date_of(day).year, date_of(day).month, 31))


def truncated(unit: str) -> Function | None:
    """Return trunc(x, unit), None for a unit that gives NULL."""
    first = first_day(unit)
    return None if first is None else of_days("trunc", DATE, first)


def days_later(days: int) -> Function:
    """Return x + days."""
    return of_days("date_add", DATE, lambda day: day + days)


def add_months(months: int) -> Function:
    """Return the function that adds months: ends of months meet, and never pass each other."""
    return of_days("add_months", DATE, lambda day: months_later(day, months))


def days_since(start: int) -> Function:
    """Return datediff(x, start)."""
    return of_days("datediff", INT, lambda day: day - start)


def days_until(end: int) -> Function:
    """Return datediff(end, x)."""
    return of_days("datediff", INT, lambda day: end - day, rises=False)


def unix_date() -> Function:
    """Return what counts the days since 1970-01-01."""
    return of_days("unix_date", INT, lambda day: day)


def of_days(name: str, result: SparkType, value: Callable[[int], int], *, rises: bool = True) -> Function:
    """Return a function of all dates."""
    return Function(name, result, value, (Piece(DATE.least, DATE.greatest, rises=rises),))
