"""Proleptic Gregorian calendar in days since 1970-01-01, far beyond the years of Python's `date`."""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import NamedTuple

_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
_EPOCH = date(1970, 1, 1).toordinal()


class YearMonthDay(NamedTuple):
    """A date; years before 1 are 0, -1 and so on."""

    year: int
    month: int
    day: int


def date_of(epoch_day: int) -> YearMonthDay:
    """Return the date of a day, counted from 1970-01-01.

    >>> date_of(-719_163), date_of(3_000_000).year
    (YearMonthDay(year=0, month=12, day=31), 10183)
    """
    cycles, day = divmod(epoch_day + _EPOCH - 1, _CYCLE_DAYS)
    in_cycle = date.fromordinal(day + 1)
    return YearMonthDay(in_cycle.year + cycles * _CYCLE_YEARS, in_cycle.month, in_cycle.day)


def day_of(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01; a day past the end of the month becomes its last day.

    >>> day_of(1970, 2, 31)
    58
    """
    cycles, inside = divmod(year - 1, _CYCLE_YEARS)
    last = monthrange(inside + 1, month)[1]
    return date(inside + 1, month, min(day, last)).toordinal() - _EPOCH + cycles * _CYCLE_DAYS


def months_later(epoch_day: int, months: int) -> int:
    """Return the day that has the same day of the month some months later, or the last day of a shorter month."""
    start = date_of(epoch_day)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return day_of(year, month + 1, start.day)


def monday_of(epoch_day: int) -> int:
    """Return the Monday of the week that contains a day."""
    return epoch_day - (epoch_day + 3) % 7
