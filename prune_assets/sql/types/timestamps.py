"""Timestamp literals, kept as written until the session's time zone determines the instant."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.sql.types.calendar import date_of, day_of
from prune_assets.sql.types.date_literals import months_later
from prune_assets.sql.types.spark_values import SparkValue, ValueKind
from prune_assets.sql.types.zones import DAY, SECOND, UNKNOWN_ZONE, UncertainTime, Zone, most_shift, zone_named

if TYPE_CHECKING:
    from collections.abc import Mapping


_DAY_WITH_ZONE = re.compile(r"\d{4}-\d{1,2}-\d{1,2} ?(?:Z|UTC|GMT|[A-Z][a-z]+/[A-Z][A-Za-z_]+)")
_TEXT = re.compile(
    r"([+-]?[0-9]{4,6})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,6}))? ?(\S*))?"
)
_KINDS: Mapping[str, ValueKind] = {
    "TIMESTAMP": ValueKind.TIMESTAMP,
    "TIMESTAMP_LTZ": ValueKind.TIMESTAMP,
    "TIMESTAMP_NTZ": ValueKind.TIMESTAMP_NTZ,
}
UNCERTAIN_TIME = (
    "clocks change near this time, or zone databases differ about it",
    "set the session's time zone to UTC, or write the time with Z or an offset",
)
WRITE_TIMESTAMP = "write TIMESTAMP 'yyyy-MM-dd HH:mm:ss'"
TIMES = frozenset({ValueKind.TIMESTAMP, ValueKind.TIMESTAMP_NTZ})
INTERVALS = frozenset({ValueKind.MONTHS, ValueKind.DAYS, ValueKind.TIME})
# If the day is unknown, adding months may be off by this much: months have 28 to 31 days.
_DAY_AND_MONTHS = 4 * DAY


class TimestampStep(NamedTuple):
    """An addition to a timestamp: calendar months, or microseconds whose whole days are calendar days."""

    months: int
    micros: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A local date and time in a zone, with steps added.

    `local`: microseconds since 1970-01-01 on the zone's clocks.
    `zone`: time zone of the literal. None for the session's zone.
    `is_day`: True for a date that was cast to its first instant.
    `steps`: additions, computed on the session's clocks.
    """

    local: int
    zone: str | None = None
    is_day: bool = False
    steps: tuple[TimestampStep, ...] = ()

    def instant(self, session: Zone) -> int:
        """Return the instant in a session with this zone. Raises UncertainTime."""
        clocks = session if self.zone is None else zone_named(self.zone)
        assert clocks is not None, "the written zone is valid"
        moved = clocks.start_of_day(self.local // DAY) if self.is_day else clocks.instant(self.local)
        for step in self.steps:
            moved = moved_by(moved, step, session)
        if not -(1 << 63) <= moved < 1 << 63:
            raise UncertainTime
        return moved

    def local_time(self) -> int:
        """Return the local time of a TIMESTAMP_NTZ. Raises UncertainTime."""
        return replace(self, zone=None).instant(UNKNOWN_ZONE)

    def in_unknown_zone(self) -> tuple[int, int]:
        """Return the time for an unknown session zone, and its maximum error in microseconds. Raises UncertainTime.

        The time is an instant if the literal has a zone, otherwise a local time. The error is the largest difference
        between zones that the steps cause.
        """
        start, moved = replace(self, steps=()).instant(UNKNOWN_ZONE), self.instant(UNKNOWN_ZONE)
        shift = most_shift(min(start, moved))
        calendar = [step for step in self.steps if self.zone is None or step.months or abs(step.micros) >= DAY]
        return moved, sum(shift + (_DAY_AND_MONTHS if step.months else 0) for step in calendar)


def moved_by(instant: int, step: TimestampStep, session: Zone) -> int:
    """Add a step to an instant as Spark does.

    Months and whole days are added to the local time, the rest to the instant. Raises UncertainTime.
    """
    days = abs(step.micros) // DAY * (1 if step.micros > 0 else -1)
    if step.months or days:
        offset = session.offset(instant)
        day, time = divmod(instant + offset, DAY)
        later = months_later(day, step.months) if step.months else day + days
        if later is None:
            raise UncertainTime
        instant = session.instant(later * DAY + time, keep=offset)
    return instant + step.micros - days * DAY


def read_moment(string: str) -> Moment | None:
    """Return the timestamp written in a text; None if it is uncertain.

    >>> read_moment("1970-01-02 00:00:00.5 UTC")
    Moment(local=86400500000, zone='UTC', is_day=False, steps=())
    """
    match = _TEXT.fullmatch(string.strip(" "))
    if match is None or (match[8] and zone_named(match[8]) is None) or not _exists(match):
        return None
    year, month, day, hour, minute, second = _fields(match)
    seconds = day_of(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    return Moment(seconds * SECOND + int((match[7] or "").ljust(6, "0")), match[8] or None)


def is_no_time(string: str) -> bool:
    """Return whether a text is written as a timestamp that does not exist, which Spark refuses.

    >>> is_no_time("2025-02-30"), is_no_time("2025-02-28 24:00:00"), is_no_time("today")
    (True, True, False)
    """
    match = _TEXT.fullmatch(string.strip(" "))
    return match is not None and not _exists(match)


def _fields(match: re.Match[str]) -> list[int]:
    return [int(part or 0) for part in match.groups()[:6]]


def _exists(match: re.Match[str]) -> bool:
    year, month, day, hour, minute, second = _fields(match)
    if not 1 <= month <= 12 or max(hour - 23, minute - 59, second - 59) > 0:
        return False
    return day >= 1 and date_of(day_of(year, month, day)).day == day


def is_day_with_zone(string: str) -> bool:
    """Return whether a text is a day and a zone without a time, which Spark refuses.

    >>> is_day_with_zone("2024-01-01Z"), is_day_with_zone("2024-01-01 00:00:00Z")
    (True, False)
    """
    return _DAY_WITH_ZONE.fullmatch(string.strip(" ")) is not None


def read_timestamp(sign: str, string: str) -> SparkValue:
    """Return a TIMESTAMP, TIMESTAMP_LTZ or TIMESTAMP_NTZ literal; its value is None if uncertain."""
    kind, moment = _KINDS[sign], read_moment(string)
    if kind is ValueKind.TIMESTAMP_NTZ and moment is not None and moment.zone is not None:
        moment = None
    return SparkValue(kind, moment)


def move_time(start: SparkValue, interval: SparkValue, sign: int) -> SparkValue | None:
    """Add an interval to a timestamp; None for other values.

    `sign`: negative to subtract. A date plus hours becomes a timestamp, as in Spark.
    """
    if interval.kind not in INTERVALS:
        return None
    if start.kind is ValueKind.DATE and interval.kind is ValueKind.TIME:
        start = SparkValue(ValueKind.TIMESTAMP, Moment(start.number * DAY, is_day=True))
    if start.kind not in TIMES or not isinstance(start.value, Moment):
        return None
    amount = sign * interval.number
    step = {
        ValueKind.MONTHS: TimestampStep(amount, 0),
        ValueKind.DAYS: TimestampStep(0, amount * DAY),
        ValueKind.TIME: TimestampStep(0, amount),
    }[interval.kind]
    return replace(start, value=replace(start.value, steps=(*start.value.steps, step)))
