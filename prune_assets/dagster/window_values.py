"""Convert time windows of partitions to ranges of column values, also across clock changes."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

    import dagster as dg

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class WindowValues:
    """Column values of a time window, from `low` (included) to `high` (excluded).

    `type`: Arrow type of `low` and `high`.
    `repeated`: range of local times that the zone shows twice, if rows with such times may belong to another window.
    None if every row in the range belongs to this window.
    """

    low: Any
    high: Any
    type: pa.DataType
    repeated: tuple[datetime, datetime] | None = None

    def __contains__(self, value: Any) -> bool:
        return bool(self.low <= value < self.high)


def _dates(window: dg.TimeWindow) -> WindowValues:
    return WindowValues(window.start.date(), window.end.date(), pa.date32())


def _instants(window: dg.TimeWindow) -> WindowValues:
    return WindowValues(window.start.astimezone(UTC), window.end.astimezone(UTC), pa.timestamp("us", "UTC"))


def _local_times(window: dg.TimeWindow) -> WindowValues:
    """Return the local times of a window.

    The end is later than the start even if the clocks are set back.
    """
    start, end = window.start, window.end
    last = (end.astimezone(UTC) - _TICK).astimezone(end.tzinfo)
    low, high = _local(start), max(_local(end), _local(last) + _TICK)
    at_start, at_last, at_end = map(_repeated, (start, last, end))
    # If the clocks are set back within the window, local times repeat: `low` or `high` is extended to all repeated
    # times.
    if at_start and not start.fold and _second_pass(at_start, start) < end:
        low = at_start[0]
    if at_last and last.fold and start < _second_pass(at_last, last):
        high = at_last[1]
    cut = [at for at, limit in ((at_start, start), (at_end, end)) if at and (limit.fold or _local(limit) != at[0])]
    return WindowValues(low, high, pa.timestamp("us"), cut[0] if cut else None)


def _date_instants(value: datetime, zone: ZoneInfo) -> tuple[date, list[datetime]]:
    """Return a date, and the possible instants of the last moment of that day.

    The last moment is in each window that begins on that day, even if the window begins after midnight.
    """
    return value.date(), _both_passes(datetime.combine(value, time.max), zone)


def _instant_instants(value: datetime, zone: ZoneInfo) -> tuple[datetime, list[datetime]]:  # noqa: ARG001 - signature of `instants_of`
    """Return a parsed value, and its instant as a list.

    The list is empty if the value has no time zone, because the instant is then unknown.
    """
    return value, [value] if value.tzinfo is not None else []


def _local_time_instants(value: datetime, zone: ZoneInfo) -> tuple[datetime, list[datetime]]:
    """Return a local time, and the instants that it may denote.

    The two instants differ if the clocks show the time twice.
    """
    local = value.replace(tzinfo=None)
    return local, _both_passes(local, zone)


def _both_passes(local: datetime, zone: ZoneInfo) -> list[datetime]:
    return [local.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]


@dataclass(frozen=True, slots=True)
class TimeType:
    """Conversions between time windows and one type of partition column.

    `values_of`: returns the column values of a window.
    `instants_of`: takes a parsed column value and the zone of the partitions. Returns the value in the form of
    `values_of`, and the instants that it may mean: each window with this value contains at least one of them.
    """

    values_of: Callable[[dg.TimeWindow], WindowValues]
    instants_of: Callable[[datetime, ZoneInfo], tuple[Any, list[datetime]]]


# Keyed by Spark's type names.
TIME_TYPES = {
    "date": TimeType(_dates, _date_instants),
    "timestamp": TimeType(_instants, _instant_instants),
    "timestamp_ntz": TimeType(_local_times, _local_time_instants),
}


def is_made_of_days(window: dg.TimeWindow, partitions: dg.TimeWindowPartitionsDefinition) -> bool:
    """Return True if no other window of the partitions begins on a day of this window."""
    return all(_is_first_of_its_day(limit, partitions) for limit in (window.start, window.end))


def _is_first_of_its_day(limit: datetime, partitions: dg.TimeWindowPartitionsDefinition) -> bool:
    before = partitions.get_prev_partition_window(limit, respect_bounds=False)
    return before is None or before.start.date() < limit.date()


def _local(time: datetime) -> datetime:
    return time.replace(tzinfo=None, fold=0)


def _repeated(time: datetime) -> tuple[datetime, datetime] | None:
    """Return the range of local times around `time` that its zone shows twice.

    None if the zone shows `time` once.
    """
    shift = _set_back(time)
    if not shift:
        return None
    # The repeated period is as long as the clock shift, so it began less than one shift before `time`.
    earliest = time.replace(microsecond=0) - shift
    seconds = range(int(shift.total_seconds()) + 1)
    first = bisect_left(seconds, x=True, key=lambda s: bool(_set_back(earliest + timedelta(seconds=s))))
    begin = earliest + timedelta(seconds=first)
    return _local(begin), _local(begin + shift)


def _set_back(time: datetime) -> timedelta:
    """Return how far the clocks are set back if they show a local time twice.

    Returns zero for a local time that occurs once.
    """
    first, second = (time.replace(fold=fold).utcoffset() for fold in (0, 1))
    return timedelta() if first is None or second is None else max(first - second, timedelta())


def _second_pass(repeated: tuple[datetime, datetime], near: datetime) -> datetime:
    """Return the instant at which the repeated period begins for the second time."""
    return repeated[0].replace(tzinfo=near.tzinfo, fold=1).astimezone(UTC)
