"""Functions of timestamps, and casts between dates and both types of timestamps.

Local time rises with the instant, except where clocks are set back. The instant rises with local time, except where
clocks jump forward. At such changes, a function is split into monotone pieces.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from prune_assets.sql.functions.date_fields import unit_named
from prune_assets.sql.functions.function import Function, Piece, recurring
from prune_assets.sql.refusal import zone_needed
from prune_assets.sql.types.floats import towards_zero
from prune_assets.sql.types.ranges import complement, joined, span
from prune_assets.sql.types.spark_types import BIGINT, DATE, ON_UNKNOWN_CLOCKS, TIMESTAMP, TIMESTAMP_NTZ
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.timestamps import TimestampStep, moved_by
from prune_assets.sql.types.zones import CYCLE, DAY, LEAST_INSTANT, MOST_OFFSET, MOST_SHIFT, SECOND, UNKNOWN_ZONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from prune_assets.sql.types.spark_types import SparkType
    from prune_assets.sql.types.zones import Zone

_NEAR, _YEAR = 3 * DAY, 366 * DAY
_OTHER_SIDE = "move the interval to the literal's side"
_CLOCKS_CHANGE = ("days differ in length where clocks change", _OTHER_SIDE)
_MONTHS_MEET = (
    "adding months may move the last days of a month to one day, so a later time may become earlier",
    _OTHER_SIDE,
)


def cast_time(argument: SparkType, result: SparkType) -> Function | None:  # noqa: PLR0911 - one return for each pair
    """Return a cast between dates and timestamps; None for other types."""
    if argument.is_unzoned or result.is_unzoned:
        return _cast_in_unknown_zone(argument, result)
    match argument.kind, result.kind:
        case ValueKind.DATE, ValueKind.TIMESTAMP_NTZ:
            return _one_piece_function(argument, result, lambda day: day * DAY)
        case ValueKind.TIMESTAMP_NTZ, ValueKind.DATE:
            return _one_piece_function(argument, result, lambda local: local // DAY)
        case ValueKind.DATE, ValueKind.TIMESTAMP:
            return _midnight(result, zone_of(result))
        case ValueKind.TIMESTAMP, ValueKind.DATE:
            return _day(argument, zone_of(argument))
        case ValueKind.TIMESTAMP, ValueKind.TIMESTAMP_NTZ:
            return _local(argument, zone_of(argument))
        case ValueKind.TIMESTAMP_NTZ, ValueKind.TIMESTAMP:
            return _instant(result, zone_of(result))
        case _:
            return None


def _cast_in_unknown_zone(argument: SparkType, result: SparkType) -> Function:
    """Return a cast between dates, instants and local times, one of them in an unknown zone."""
    doubt = 0
    if TIMESTAMP in (argument, result):
        doubt = MOST_OFFSET
    elif argument.kind is ValueKind.TIMESTAMP:  # a skipped local time is shown as one after the gap
        doubt = MOST_SHIFT
    if argument == DATE and doubt:
        raise zone_needed()
    if argument == DATE:
        return _one_piece_function(argument, result, lambda day: max(result.least, min(day * DAY, result.greatest)))
    size = DAY if result == DATE else 1
    return replace(_one_piece_function(argument, result, lambda time: time // size), doubt=doubt)


def zone_of(timestamp: SparkType) -> Zone:
    """Return the time zone of the session. Raises Refusal if it is unknown."""
    if timestamp.zone is None:
        raise zone_needed()
    return timestamp.zone


def truncated(name: str, unit: str, timestamp: SparkType) -> Function | None:
    """Return the function date_trunc(unit, x); None for a unit whose result is NULL."""
    known_unit = unit_named(unit)
    if known_unit is None:
        return None
    first, size = known_unit.first_day, known_unit.micros
    if first is None and size <= SECOND:
        return _one_piece_function(timestamp, timestamp, lambda instant: instant // size * size, name)
    zone = zone_of(timestamp)
    # The result is up to a year earlier, and the zone's rules have to be known there too.
    narrowed_zone, zone = replace(zone, first=zone.first + _YEAR), replace(zone, first=LEAST_INSTANT)

    def value(instant: int) -> int:
        offset = zone.offset(instant)
        if first is not None:
            return zone.start_of_day(first((instant + offset) // DAY))
        return zone.instant((instant + offset) // size * size, keep=offset)

    return _piecewise_function(
        name, timestamp, timestamp, value, _drop_doubtful_days(_cut(timestamp, narrowed_zone, ()), zone)
    )


def in_units(name: str, timestamp: SparkType, size: int, *, cut_off: bool = False) -> Function:
    """Return the function unix_micros(x), or the number of units of `size` microseconds, rounded down.

    `cut_off`: if True, truncate towards zero before 1970 instead.
    """
    if cut_off:
        return _one_piece_function(timestamp, BIGINT, lambda instant: towards_zero(instant, size), name)
    return _one_piece_function(timestamp, BIGINT, lambda instant: instant // size, name)


def from_units(name: str, number_type: SparkType, result: SparkType, size: int) -> Function:
    """Return the function timestamp_micros(x), or the timestamp after a number of units of `size` microseconds."""
    return _one_piece_function(number_type, result, lambda count: count * size, name)


def moved(timestamp: SparkType, months: int, micros: int) -> Function:
    """Return the function x + interval. Raises Refusal if it depends on an unknown zone.

    The sum does not always rise with x: clocks change, and several last days of a month may become one day of a shorter
    month.
    """
    if timestamp == ON_UNKNOWN_CLOCKS:
        raise zone_needed()
    is_local = timestamp.kind is ValueKind.TIMESTAMP_NTZ
    zone = zone_of(timestamp) if not is_local and (months or abs(micros) >= DAY) else UNKNOWN_ZONE
    if not months and zone.is_fixed:
        return _one_piece_function(timestamp, timestamp, lambda time: time + micros, "+")
    why = _MONTHS_MEET if months else _CLOCKS_CHANGE
    everything = span(timestamp.least, timestamp.greatest)
    step = TimestampStep(months, micros)
    # Near the ends of the type, and of the zone's known rules, Spark may raise an error.
    most = abs(micros) + abs(months) * 31 * DAY + _NEAR
    first, last = max(timestamp.least, zone.first) + most, min(timestamp.greatest, zone.last) - most
    moving = recurring("+", timestamp, everything, why, lambda time: moved_by(time, step, zone))
    each = None if months else partial(_each_moved, step, zone)
    return replace(moving, each=each, uncertain=complement(span(first, last), timestamp.least, timestamp.greatest))


def _each_moved(step: TimestampStep, zone: Zone, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add days and time to instants; only instants near clock changes are computed one by one."""
    changes = [change.instant for change in zone.changes()]
    moved: NDArray[np.int64] = times + step.micros
    before, after = np.minimum(times, moved) - _NEAR, np.maximum(times, moved) + _NEAR
    near = np.searchsorted(changes, before) != np.searchsorted(changes, after)
    near |= after > zone.scanned_until
    moved[near] = [moved_by(time, step, zone) for time in times[near].tolist()]
    return moved


def offsets(zone: Zone, instants: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of a zone at instants, in microseconds.

    Correct from `first` to `scanned_until` of the zone; other offsets may be wrong.
    """
    changes = [change for change in zone.changes() if change.instant > zone.first]
    after = [zone.offset(max(zone.first, -CYCLE)), *(change.after for change in changes)]
    return np.array(after)[np.searchsorted([change.instant - 1 for change in changes], instants)]


def _day(argument: SparkType, zone: Zone) -> Function:
    pieces = _drop_doubtful_days(_cut(argument, zone, ()), zone)
    return _piecewise_function("cast", argument, DATE, lambda at: zone.local(at) // DAY, pieces)


def _local(argument: SparkType, zone: Zone) -> Function:
    cuts = [change.instant for change in zone.changes() if change.after < change.before]
    pieces = _cut(argument, zone, cuts, beyond=not zone.changes_for_ever)
    local = _piecewise_function("cast", argument, TIMESTAMP_NTZ, zone.local, pieces)
    return replace(local, each=lambda instants: instants + offsets(zone, instants))


def _instant(result: SparkType, zone: Zone) -> Function:
    # A skipped local time becomes an instant after the gap, later than the instants of local times just after it.
    cuts = [change.instant + change.after for change in zone.changes() if change.after > change.before]
    pieces = _cut(TIMESTAMP_NTZ, zone, cuts, beyond=not zone.changes_for_ever)
    return _piecewise_function("cast", TIMESTAMP_NTZ, result, zone.instant, pieces)


def _midnight(result: SparkType, zone: Zone) -> Function:
    certain_days = [(max(DATE.least, zone.first // DAY + 3), min(DATE.greatest, zone.last // DAY - 3))]
    return _piecewise_function("cast", DATE, result, zone.start_of_day, certain_days)


def _drop_doubtful_days(pieces: list[tuple[int, int]], zone: Zone) -> list[tuple[int, int]]:
    """Remove from the pieces the instants of a day that has two midnights, from the first midnight to the second.

    After the first midnight, clocks were set back into the previous day. Spark rewrites comparisons of dates as
    comparisons of instants, which treats the repeated hours as the later day; elsewhere it uses the local time.
    """
    doubtful = []
    for change in zone.changes():
        midnight = (change.instant - 1 + change.before) // DAY * DAY
        if midnight // DAY > (change.instant + change.after) // DAY:
            doubtful.append((midnight - change.before, midnight - change.after - 1))
    if not doubtful:
        return pieces
    rest = complement(joined(doubtful), pieces[0][0], pieces[-1][1])
    return list(rest.pairs)


def _cut(argument: SparkType, zone: Zone, cuts: Iterable[int], *, beyond: bool = True) -> list[tuple[int, int]]:
    """Split the times for which a zone's rules are trusted.

    Returns pairs (first, last), in microseconds since 1970. A range begins at each time in `cuts`.
    `beyond`: False to leave out times after 2100, because changes of clocks are known only until then.
    """
    # Near the ends of the known range, a result might be outside of it.
    first, last = zone.first + _NEAR, (zone.last if beyond else min(zone.last, zone.scanned_until)) - _NEAR
    first, last = max(first, argument.least), min(last, argument.greatest)
    edges = [first, *sorted(cut for cut in cuts if first < cut <= last), last + 1]
    return [(start, stop - 1) for start, stop in pairwise(edges) if start < stop]


def _one_piece_function(
    argument: SparkType, result: SparkType, value: Callable[[int], int], name: str = "cast"
) -> Function:
    return Function(name, result, value, (Piece(argument.least, argument.greatest),))


def _piecewise_function(
    name: str, argument: SparkType, result: SparkType, value: Callable[[int], int], pieces: list[tuple[int, int]]
) -> Function:
    covered = joined(pieces)
    rest = complement(covered, argument.least, argument.greatest)
    return Function(name, result, value, tuple(Piece(*pair) for pair in pieces), uncertain=rest)
