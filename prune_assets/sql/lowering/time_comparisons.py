"""Comparisons in which timestamps take part, lowered to leaves whose values have the column's own type.

Which types Spark brings to which: a DATE beside a timestamp becomes midnight, a TIMESTAMP_NTZ beside a TIMESTAMP the
instant at which the session's clocks show it, a string whatever the column is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.arrow_arrays import array_of, scalar_of
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import And, Compare, Constant, In, Interval, IsNull, Not, Op, Or
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.session_clocks import NO_TIMESTAMP, NO_TIMESTAMP_NTZ
from prune_assets.sql.types.spark_values import Kind
from prune_assets.sql.types.timestamps import (
    TIMES,
    UNCERTAIN_TIME,
    WRITE_TIMESTAMP,
    ZONE_NEEDED,
    Moment,
    ZoneNeeded,
    read_moment,
)
from prune_assets.sql.types.zones import DAY, UncertainTime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path, Predicate
    from prune_assets.sql.types.session_clocks import Clocks
    from prune_assets.sql.types.spark_values import SparkValue

INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")
_COMPARABLE = TIMES | {Kind.DATE, Kind.STRING}
_NO_CHANGE = (
    "the clocks of the session's time zone change near this time, so later is not always more",
    "write TIMESTAMP_NTZ",
)


def is_about_times(column: LeafColumn, values: Sequence[SparkValue]) -> bool:
    """Tell whether a comparison of a column with values is one for this module."""
    if pa.types.is_timestamp(column.type):
        return True
    return pa.types.is_date32(column.type) and any(value.kind in TIMES for value in values)


def compare_times(column: LeafColumn, op: Op, value: SparkValue, clocks: Clocks) -> Predicate:
    """Return `column op value`; raises Refusal, and PredicateTypeError where Spark would refuse."""
    _check(column, [value], clocks)
    try:
        if pa.types.is_date32(column.type):
            return _compare_days(column.path, op, value, clocks)
        return Compare(column.path, op, scalar_of(_stored(column, value, clocks), spark_type(column)))
    except ZoneNeeded:
        raise Refusal(*ZONE_NEEDED) from None
    except UncertainTime:
        raise Refusal(*UNCERTAIN_TIME) from None


def is_in_times(column: LeafColumn, values: Sequence[SparkValue], clocks: Clocks) -> Predicate:
    """Return `column IN values`; raises as `compare_times` does."""
    known = [value for value in values if value.kind is not Kind.NULL]
    if not known:
        return Constant(Outcomes.NULL)
    _check(column, known, clocks)
    kinds = {value.kind for value in known}
    if Kind.STRING in kinds and (len(kinds) > 1 or not clocks.ansi):
        raise Refusal("what the strings of such a list are cast to depends on the others", WRITE_TIMESTAMP)
    column_kind = {INSTANT: Kind.TIMESTAMP, LOCAL: Kind.TIMESTAMP_NTZ}.get(spark_type(column))
    if Kind.TIMESTAMP in kinds and column_kind is not Kind.TIMESTAMP:
        raise Refusal("Spark casts the column to compare it with this list", "write values of the column's type")
    if column_kind is None:
        raise Refusal("Spark casts the dates of the column to timestamps here", "write DATE 'yyyy-MM-dd'")
    try:
        found = list(dict.fromkeys(_stored(column, value, clocks) for value in known))
    except ZoneNeeded:
        raise Refusal(*ZONE_NEEDED) from None
    except UncertainTime:
        raise Refusal(*UNCERTAIN_TIME) from None
    kind = spark_type(column)
    one = Compare(column.path, Op.EQ, scalar_of(found[0], kind))
    leaf = one if len(found) == 1 else In(column.path, array_of(found, kind))
    return leaf if len(known) == len(values) else Or((leaf, Constant(Outcomes.NULL)))


def spark_type(column: LeafColumn) -> pa.DataType:
    """Return the type of literals that are compared with a column: Spark counts microseconds in every timestamp."""
    if not pa.types.is_timestamp(column.type):
        return column.type
    assert column.type is not None
    return INSTANT if column.type.tz else LOCAL


def _check(column: LeafColumn, values: Sequence[SparkValue], clocks: Clocks) -> None:
    name = "timestamp" if pa.types.is_timestamp(column.type) else "date"
    if spark_type(column) == LOCAL and not clocks.infer_timestamp_ntz:
        raise Refusal(*NO_TIMESTAMP_NTZ)
    for value in values:
        if value.kind not in _COMPARABLE:
            if not clocks.ansi or value.kind in {Kind.OTHER, Kind.NULL}:
                raise Refusal(f"Spark casts to compare a {name} with a {value.kind}", WRITE_TIMESTAMP)
            raise PredicateTypeError(
                f"column {column.name} is {name} and cannot be compared with a literal of kind {value.kind}"
            )
        if value.kind is Kind.TIMESTAMP and clocks.timestamp_ntz:
            raise Refusal(*NO_TIMESTAMP)
        if value.value is None:
            raise Refusal(f"this {value.kind} literal has no value that is certain before Spark runs", WRITE_TIMESTAMP)


def _stored(column: LeafColumn, value: SparkValue, clocks: Clocks) -> int:
    """Return the value as microseconds of the column's kind of timestamp."""
    local = spark_type(column) == LOCAL
    if value.kind is Kind.DATE:
        moment = Moment(value.number * DAY, is_day=True)
    elif value.kind is Kind.STRING:
        found = read_moment(str(value.value))
        if found is None or (local and found.zone is not None):
            raise Refusal("only a string in the form yyyy-MM-dd HH:mm:ss surely means a timestamp", WRITE_TIMESTAMP)
        moment = found
    else:
        assert isinstance(value.value, Moment)
        moment = value.value
    if not local:
        return _as_instant(value.kind, moment, clocks)
    return moment.on_the_wall() if value.kind is not Kind.TIMESTAMP else _steady_local(moment, clocks)


def _as_instant(kind: Kind, moment: Moment, clocks: Clocks) -> int:
    if kind is Kind.TIMESTAMP_NTZ:
        moment = Moment(moment.on_the_wall())
    return moment.instant(clocks.zone)


def _steady_local(moment: Moment, clocks: Clocks) -> int:
    """Return what the session's clocks show at an instant, where a cast of local times keeps their order."""
    instant = moment.instant(clocks.zone)
    if clocks.zone is None:
        raise ZoneNeeded
    if not clocks.zone.is_steady(instant):
        raise Refusal(*_NO_CHANGE)
    return clocks.zone.local(instant)


def _compare_days(column: Path, op: Op, value: SparkValue, clocks: Clocks) -> Predicate:
    """Compare dates as the timestamps that Spark casts them to: midnight, which never runs backwards."""
    assert isinstance(value.value, Moment)
    if value.kind is Kind.TIMESTAMP_NTZ:
        wanted = value.value.on_the_wall()
        day = wanted // DAY
        return _among_days(column, op, day + bool(wanted % DAY), day + 1)
    zone = clocks.zone
    if zone is None:
        raise ZoneNeeded
    wanted = value.value.instant(zone)
    day = zone.local(wanted) // DAY
    reached = _first_day(day, lambda day: zone.start_of_day(day) >= wanted)
    passed = _first_day(day, lambda day: zone.start_of_day(day) > wanted)
    return _among_days(column, op, reached, passed)


def _first_day(near: int, holds: Callable[[int], bool]) -> int:
    """Return the first day for which something holds; before some day it does not, and from then on it does."""
    return next(day for day in range(near - 3, near + 5) if holds(day))


def _among_days(column: Path, op: Op, reached: int, passed: int) -> Predicate:
    """Compare with a time: days from `reached` on are not before it, those from `passed` on are after it."""
    match op:
        case Op.LT | Op.GE:
            return Compare(column, op, _day(reached))
        case Op.LE | Op.GT:
            return Compare(column, Op.LT if op is Op.LE else Op.GE, _day(passed))
        case Op.EQ:
            return _between_days(column, reached, passed)
        case Op.NE:
            return Not(_between_days(column, reached, passed))


def _between_days(column: Path, start: int, stop: int) -> Predicate:
    if start == stop:
        # NULL for null, FALSE for every date.
        return And((IsNull(column), Constant(Outcomes.NULL)))
    if stop - start == 1:
        return Compare(column, Op.EQ, _day(start))
    return Interval(column, _day(start), _day(stop - 1))


def _day(number: int) -> pa.Scalar:
    return scalar_of(number, pa.date32())
