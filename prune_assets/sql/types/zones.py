"""Time zone conversions that match Java and Spark.

Local times are converted to instants and back. Both are microseconds since 1970-01-01; instants are in UTC. The rules
are from the zone database of this machine, which may differ from Spark's. Two builds of the database differ in many
zones before 1981, in the zones without a slash up to 1996, and wherever one build is older. So a zone is trusted
for a limited period only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from prune_assets.sql.semantics import SparkSemantics

# No limit: beyond the range of 64 bits.
LEAST_INSTANT, MOST_INSTANT = -(1 << 80), 1 << 80
SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# The Gregorian calendar, including the days of the week, repeats every 400 years, and so do permanent zone rules.
CYCLE = 146_097 * DAY
# Times that Python supports, well inside of its calendar so that no offset leaves it.
_LEAST, _MOST = ((moment - _EPOCH) // _MICROSECOND for moment in (datetime(1, 1, 2), datetime(9999, 12, 30)))  # noqa: DTZ001
_FROM_1981 = (datetime(1981, 1, 1) - _EPOCH) // _MICROSECOND  # noqa: DTZ001
_FROM_2038 = (datetime(2038, 1, 1) - _EPOCH) // _MICROSECOND  # noqa: DTZ001
_FROM_1997 = (datetime(1997, 1, 1) - _EPOCH) // _MICROSECOND  # noqa: DTZ001
# Apia and Fakaofo crossed the date line last, on 2011-12-30. Since then clocks move by 3 hours at most.
_FROM_2012 = (datetime(2012, 1, 8) - _EPOCH) // _MICROSECOND  # noqa: DTZ001

# 1840 to 2100, in steps that contain at most one change of clocks.
_SCANNED = (-4_102_444_800 * SECOND, 4_102_444_800 * SECOND)
_SCAN_STEP = 86_400 * 3 * SECOND

_OFFSET = re.compile(r"(?:(?:UTC|GMT|UT)?([+-])([0-9]{1,2}):([0-9]{2})|(?:UTC|GMT|UT)([+-])([0-9]{1,2}))")
_LARGEST_OFFSET = 18 * 60
_UTC_NAMES = frozenset({"Z", "UTC", "GMT", "UT"})
# Java's short names differ in meaning from the same names in the zone database.
_SHORT_NAMES = re.compile("[A-Z]{3}")


# Offsets are at most 18 hours: java.time.ZoneOffset holds no more, and Spark accepts every offset up to it.
MOST_OFFSET = 18 * HOUR
MOST_SHIFT, _SHIFT_FROM_2012 = 2 * MOST_OFFSET, 6 * HOUR


def most_shift(time: int) -> int:
    """Return the largest change of any zone's offset after a time, in microseconds.

    >>> most_shift(0) // HOUR, most_shift(1_704_067_200 * SECOND) // HOUR
    (36, 6)
    """
    return _SHIFT_FROM_2012 if time >= _FROM_2012 else MOST_SHIFT


class UncertainTime(Exception):
    """A time for which Spark may choose another instant than the rules of this module."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone.

    `first`, `last`: instants (both included) between which its rules are trusted to match Spark's.
    """

    name: str
    rules: tzinfo
    first: int = LEAST_INSTANT
    last: int = MOST_INSTANT

    @property
    def changes_for_ever(self) -> bool:
        """Whether clocks change after 2037, where only permanent rules remain."""
        return any(change.instant > _FROM_2038 for change in self.changes())

    @property
    def scanned_until(self) -> int:
        """Last instant for which `changes` are known."""
        return _SCANNED[1]

    @property
    def is_fixed(self) -> bool:
        """Whether the clocks of the zone never change."""
        return isinstance(self.rules, timezone)

    def offset(self, instant: int) -> int:
        """Return the offset from UTC at an instant, in microseconds. Raises UncertainTime."""
        self._check(instant)
        if isinstance(self.rules, timezone):
            return _micros(self.rules.utcoffset(None))
        return _micros(
            (_EPOCH_UTC + timedelta(microseconds=_shift_into_calendar(instant))).astimezone(self.rules).utcoffset()
        )

    def instant(self, local: int, *, keep: int | None = None) -> int:
        """Return the instant of a local time, as java.time.ZonedDateTime.ofLocal does. Raises UncertainTime.

        A skipped local time moves forward by the length of the gap. A repeated local time gives the earlier instant, or
        the instant with the offset `keep`.
        """
        before, after = self._offsets(local)
        chosen = after if before > after and keep == after else before
        return self._checked(local - chosen)

    def start_of_day(self, day: int) -> int:
        """Return the first instant of a day, counted from 1970-01-01. Raises UncertainTime."""
        local = day * DAY
        before, after = self._offsets(local)
        if before >= after:
            return self._checked(local - before)
        early, late = local - after, local - before  # clocks jump over midnight between these instants
        while late - early > 1:
            middle = (early + late) // 2
            early, late = (early, middle) if self.offset(middle) == after else (middle, late)
        return late if self.offset(early) != after else early

    def local(self, instant: int) -> int:
        """Return the local time at an instant. Raises UncertainTime."""
        return instant + self.offset(instant)

    def is_steady(self, instant: int) -> bool:
        """Return whether clocks do not change within two days of an instant. Raises UncertainTime.

        If they do not change, elapsed time equals the difference in local time.
        """
        if self.is_fixed:
            return True
        return len({self.offset(instant + hours * HOUR) for hours in range(-48, 49)}) == 1

    def changes(self) -> tuple[OffsetChange, ...]:
        """Return the changes of clocks from 1840 to 2100; before 1840 there are no changes."""
        return _changes(self)

    def _offsets(self, local: int) -> tuple[int, int]:
        """Return the offsets before and after a clock change at a local time; equal if clocks do not change there."""
        if isinstance(self.rules, timezone):
            fixed = _micros(self.rules.utcoffset(None))
            return fixed, fixed
        moment = (_EPOCH + timedelta(microseconds=_shift_into_calendar(local))).replace(tzinfo=self.rules)
        return _micros(moment.utcoffset()), _micros(moment.replace(fold=1).utcoffset())

    def _check(self, instant: int) -> None:
        if not self.first <= instant <= self.last:
            raise UncertainTime

    def _checked(self, instant: int) -> int:
        self._check(instant)
        return instant


def _shift_into_calendar(time: int) -> int:
    """Return a time that Python can represent, at which the zone has the same offset.

    Before year 1 no clock ever changed.
    """
    return max(time - max(0, -(-(time - _MOST) // CYCLE)) * CYCLE, _LEAST)


def _micros(offset: timedelta | None) -> int:
    assert offset is not None
    return offset // _MICROSECOND


# Placeholder for an unknown session zone: times are local times, whatever instants they are.
UNKNOWN_ZONE = Zone("", UTC)


class OffsetChange(NamedTuple):
    """A change of clocks: its first instant, and the offsets before it and from then on (microseconds)."""

    instant: int
    before: int
    after: int


@cache
def _changes(zone: Zone) -> tuple[OffsetChange, ...]:
    if zone.is_fixed:
        return ()
    zone = Zone(zone.name, zone.rules)
    changes = []
    offset = zone.offset(_SCANNED[0])
    for instant in range(_SCANNED[0], _SCANNED[1], _SCAN_STEP):
        late = instant + _SCAN_STEP
        following = zone.offset(late)
        if following != offset:
            early, before = instant, offset
            while late - early > SECOND:
                middle = (early + late) // 2 // SECOND * SECOND
                early, late = (middle, late) if zone.offset(middle) == before else (early, middle)
            changes.append(OffsetChange(late, before, zone.offset(late)))
        offset = following
    return tuple(changes)


@cache
def zone_named(name: str) -> Zone | None:
    """Return the zone that Spark uses for a name; None if uncertain.

    >>> zone_named("+01:00").offset(0) // HOUR, zone_named("Europe/Pariss")
    (1, None)
    """
    if name in _UTC_NAMES:
        return Zone(name, UTC)
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        return _fixed_zone(name, offset)
    if _SHORT_NAMES.fullmatch(name) or name not in available_timezones():
        return None
    return Zone(name, ZoneInfo(name), _FROM_1981 if "/" in name else _FROM_1997)


def check_zone_name(name: str) -> None:
    """Raise WrongUse for an unknown time zone name, with a suggestion."""
    if zone_named(name) is not None:
        return
    by_lower = {zone_name.lower(): zone_name for zone_name in available_timezones() if "/" in zone_name}
    near = get_close_matches(name.lower(), by_lower, n=1)
    hint = f"did you mean {by_lower[near[0]]}?" if near else "write one such as Europe/Paris, UTC or +01:00"
    raise WrongUse(f"time zone {name!r} is not known: {hint}")


def _fixed_zone(name: str, offset: re.Match[str]) -> Zone | None:
    sign, hours, minutes = offset[1] or offset[4], int(offset[2] or offset[5]), int(offset[3] or 0)
    total = 60 * hours + minutes
    if minutes > 59 or total > _LARGEST_OFFSET:
        return None
    return Zone(name, timezone(timedelta(minutes=-total if sign == "-" else total)))


NO_TIMESTAMP_NTZ = (
    "with inferTimestampNTZ off Spark may read another type",
    "unset spark.sql.parquet.inferTimestampNTZ.enabled",
)
NO_TIMESTAMP = ("with this spark.sql.timestampType a TIMESTAMP may have no zone", "unset spark.sql.timestampType")


@dataclass(frozen=True, slots=True)
class Clocks:
    """Session settings that affect times.

    `zone`: the session's time zone. None if unknown.
    """

    zone: Zone | None
    ansi: bool
    timestamp_ntz: bool
    infer_timestamp_ntz: bool

    @classmethod
    def of(cls, semantics: SparkSemantics) -> Clocks:
        """Return the settings that affect times."""
        zone = None if semantics.time_zone is None else zone_named(semantics.time_zone)
        if zone is not None and semantics.zone_span is not None:
            zone = replace(zone, first=semantics.zone_span[0], last=semantics.zone_span[1])
        return cls(
            None if zone is None else _after_skipped_days(zone),
            semantics.ansi,
            semantics.timestamp_ntz,
            semantics.infer_timestamp_ntz,
        )


def _after_skipped_days(zone: Zone) -> Zone:
    """Return a zone that is trusted only after the last day that it skipped or repeated.

    On such a day, Spark's evaluation of a condition and its rewritten comparison have different results.
    """
    skipped = [change.instant for change in zone.changes() if abs(change.after - change.before) > DAY // 2]
    return replace(zone, first=max(zone.first, skipped[-1] + 4 * DAY)) if skipped else zone
