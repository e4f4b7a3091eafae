"""Fields and units of dates and times, such as the month, each under all of its names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_core.pruning.predicate import SkippingRemedy
from prune_assets.sql.types.calendar import date_of, day_of, monday_of
from prune_assets.sql.types.zones import DAY, HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class DateField:
    """A date or time field, such as the month.

    `calls`: functions that return the field.
    `aliases`: other names of the field in EXTRACT.
    `image`: least and greatest value of the field. None for the year, and if the field is a text or has a fraction.
    `of_day`: value of the field on a day.
    `of_clock`: value of the field at a number of microseconds since midnight.
    `narrowing_fields`: fields that together with this field select a range of days.
    """

    calls: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    image: tuple[int, int] | None = None
    of_day: Callable[[int], int] | None = None
    narrowing_fields: tuple[str, ...] = ()
    of_clock: Callable[[int], int] | None = None

    @property
    def name(self) -> str:
        """First function name of the field."""
        return self.calls[0]

    def remedy(self, column: str) -> str:
        """Return what to write instead of a condition on the field.

        A field other than the year is periodic, so a condition on it does not select a range of days.

        >>> MONTH.remedy("day"), DAY_OF_MONTH.remedy("day")  # doctest: +NORMALIZE_WHITESPACE
        ('combine it with year(day) = .., or write a range of day',
         'combine it with year(day) = .. AND month(day) = .., or write a range of day')
        """
        others = " AND ".join(f"{name}({column}) = .." for name in self.narrowing_fields)
        if not others:
            return range_of(column)
        return SkippingRemedy(f"combine it with {others}, or write a range of {column}")


def range_of(column: str) -> str:
    """Return the remedy to add a range of the column itself."""
    advice = f"add a range of the column itself, e.g. {column} >= TIMESTAMP '..' AND {column} < TIMESTAMP '..'"
    return SkippingRemedy(advice)


YEAR = DateField(("year",), ("y", "years", "yr", "yrs"), of_day=lambda day: date_of(day).year)
QUARTER = DateField(("quarter",), ("qtr",), (1, 4), lambda day: (date_of(day).month + 2) // 3, ("year",))
MONTH = DateField(("month",), ("mon", "mons", "months"), (1, 12), lambda day: date_of(day).month, ("year",))
DAY_OF_MONTH = DateField(("day", "dayofmonth"), ("d", "days"), (1, 31), lambda day: date_of(day).day, ("year", "month"))
FIELDS = (
    *(YEAR, QUARTER, MONTH, DAY_OF_MONTH),
    DateField(("dayofyear",), ("doy",), (1, 366), lambda day: day - day_of(date_of(day).year, 1, 1) + 1),
    # 1970-01-01 was a Thursday. `dayofweek` is 1 on Sunday, `weekday` is 0 on Monday.
    DateField(("dayofweek",), ("dow",), (1, 7), lambda day: (day + 4) % 7 + 1),
    DateField(("weekday",), (), (0, 6), lambda day: (day + 3) % 7),
    DateField(("dayofweek_iso",), ("dow_iso",), (1, 7)),
    DateField(("weekofyear",), ("w", "week", "weeks"), (1, 53)),
    DateField(("dayname",)),
    DateField(("monthname",)),
    DateField(("hour",), ("h", "hours", "hr", "hrs"), (0, 23), of_clock=lambda micros: micros // HOUR),
    DateField(
        ("minute",), ("m", "min", "mins", "minutes"), (0, 59), of_clock=lambda micros: micros // (60 * SECOND) % 60
    ),
    DateField(("second",), ("s", "sec", "secs", "seconds")),
)
# Functions whose result depends only on the local hour and minute.
CLOCK_FIELDS = frozenset(name for field in FIELDS if field.of_clock is not None for name in field.calls)
_FIELDS: Mapping[str, DateField] = {name: field for field in FIELDS for name in (*field.calls, *field.aliases)}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time: a number of months, or of microseconds.

    `micros`: length in microseconds; whole days count as calendar days.
    `first_day`: returns the first day of the unit that contains a day.
    """

    names: tuple[str, ...]
    months: int = 0
    micros: int = 0
    first_day: Callable[[int], int] | None = None


UNITS = (
    Unit(("year", "yyyy", "yy"), months=12, first_day=lambda day: day_of(date_of(day).year, 1, 1)),
    Unit(
        ("quarter",),
        months=3,
        first_day=lambda day: day_of(date_of(day).year, (date_of(day).month - 1) // 3 * 3 + 1, 1),
    ),
    Unit(("month", "mon", "mm"), months=1, first_day=lambda day: day_of(date_of(day).year, date_of(day).month, 1)),
    Unit(("week",), micros=7 * DAY, first_day=monday_of),
    Unit(("day", "dd"), micros=DAY),
    Unit(("hour",), micros=HOUR),
    Unit(("minute",), micros=60 * SECOND),
    Unit(("second",), micros=SECOND),
    Unit(("millisecond",), micros=1_000),
    Unit(("microsecond",), micros=1),
)
_UNITS: Mapping[str, Unit] = {name: unit for unit in UNITS for name in unit.names}


def field_named(name: str) -> DateField | None:
    """Return the field that EXTRACT accepts under a name; None if unknown."""
    return _FIELDS.get(name.lower())


def unit_named(name: str) -> Unit | None:
    """Return the unit that date_trunc() accepts under a name; None if unknown."""
    return _UNITS.get(name.lower())


def first_day(unit: str) -> Callable[[int], int] | None:
    """Return a function from a day to the first day of its year, quarter, month or week; None for other units."""
    date_unit = unit_named(unit)
    return None if date_unit is None else date_unit.first_day
