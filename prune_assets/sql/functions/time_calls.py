"""Functions of timestamps, and intervals added to dates and timestamps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from prune_assets.sql.functions import dates, times
from prune_assets.sql.functions.clock_calls import seconds
from prune_assets.sql.functions.coercion import apply, to_type
from prune_assets.sql.functions.date_fields import unit_named
from prune_assets.sql.functions.dates import (
    CALENDAR,
    as_time,
    constant_int,
    constant_text,
    date_add,
    is_constant_text,
    null_of_any,
)
from prune_assets.sql.functions.entry import SqlFunction
from prune_assets.sql.functions.terms import Fixed, fixed_time, literal_of
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.spark_types import BIGINT, DATE, ON_UNKNOWN_CLOCKS, TIMESTAMP
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.timestamps import INTERVALS, TIMES, Moment, TimestampStep
from prune_assets.sql.types.zones import DAY, SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType


def _time(value: Value, timestamp: SparkType) -> Value:
    if value.type.kind not in CALENDAR:
        raise Refusal(f"Spark casts the {value.type} to a timestamp here", "write a timestamp")
    return to_type(value, timestamp)


def _date_trunc(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    unit, value = arguments
    value = to_type(value, timestamp) if is_constant_text(value) else _time(value, timestamp)
    function = times.truncated("date_trunc", constant_text(unit), timestamp)
    return null_of_any(value) if function is None else apply(function, value)


def _convert_to_timestamp(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    value = as_time(arguments, "yyyy-MM-dd HH:mm:ss")
    return value if value.type.kind is ValueKind.TIMESTAMP else to_type(value, timestamp)


def _timestamp_add(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    """Return DATEADD(unit, count, x), which casts a date to a timestamp first."""
    name, count, value = arguments
    unit = unit_named(constant_text(name))
    if unit is None or unit.names[0] != constant_text(name) or 0 < unit.micros < SECOND:
        raise Refusal(f"the unit {constant_text(name)} is not supported", "add an INTERVAL")
    value = value if value.type.kind in TIMES else _time(value, timestamp)
    return _moved(value, unit.months * constant_int(count), unit.micros * constant_int(count))


def _moved(value: Value, months: int, micros: int) -> Value:
    """Add an interval to a timestamp; for a constant, clock changes are taken into account."""
    if isinstance(value, Fixed) and value.type.kind is ValueKind.TIMESTAMP and not value.is_null:
        moment = literal_of(value).value
        assert isinstance(moment, Moment)
        return fixed_time(ValueKind.TIMESTAMP, replace(moment, steps=(TimestampStep(months, micros),)), value.type)
    return apply(times.moved(value.type, months, micros), value)


def _unix(size: int, arguments: Sequence[Value], _: SparkType) -> Value:
    (value,) = arguments
    if value.type.kind not in TIMES:
        raise Refusal("Spark requires a timestamp here", "write a timestamp")
    return apply(times.in_units("unix_time", value.type, size), _cast_to_instant(value))


def _unix_timestamp(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    """Return unix_timestamp(x), which treats local times as UTC."""
    (value,) = arguments
    value = _cast_to_instant(value if value.type.kind in TIMES else _time(value, timestamp))
    return apply(times.in_units("unix_timestamp", value.type, 1_000_000, cut_off=True), value)


def _cast_to_instant(value: Value) -> Value:
    """Cast a local time in an unknown zone to an instant; return other values unchanged."""
    return to_type(value, TIMESTAMP) if value.type == ON_UNKNOWN_CLOCKS else value


def _convert_unix_time(size: int, arguments: Sequence[Value], timestamp: SparkType) -> Value:
    (value,) = arguments
    if value.type.kind is not ValueKind.INTEGER:
        raise Refusal(f"a timestamp made of {value.type} is not supported", "write a whole number")
    result = TIMESTAMP if timestamp.is_unzoned else timestamp
    return apply(times.from_units(str(ValueKind.TIMESTAMP), BIGINT, result, size), to_type(value, BIGINT))


def is_time_sum(left: Value, right: Value) -> bool:
    """Return whether one operand is a date or timestamp, and one is an interval or a number of days."""
    kinds = {left.type.kind, right.type.kind}
    return bool(kinds & CALENDAR) and bool(kinds & (INTERVALS | {ValueKind.INTEGER}))


def time_sum(left: Value, right: Value, sign: int, timestamp: SparkType) -> Value:
    """Add an interval or days to a date or timestamp. Raises Refusal.

    `sign`: negative to subtract.
    """
    if left.type.kind not in CALENDAR:
        if sign < 0:
            raise Refusal("a time cannot be subtracted from an interval")
        left, right = right, left
    if not isinstance(right, Fixed):
        raise Refusal("arithmetic between columns is not supported", "compare one column with a constant")
    if right.type.kind is ValueKind.INTEGER:
        return date_add(sign, [_only_date(left), right], timestamp)
    assert right.plain is not None
    kind, amount = right.plain.kind, sign * right.plain.number
    if left.type == DATE and kind is not ValueKind.TIME:
        return apply(dates.days_later(amount) if kind is ValueKind.DAYS else dates.add_months(amount), left)
    if left.type == DATE:
        left = to_type(left, timestamp)
    months, micros = (amount, 0) if kind is ValueKind.MONTHS else (0, amount * (DAY if kind is ValueKind.DAYS else 1))
    return _moved(left, months, micros)


def _only_date(value: Value) -> Value:
    if value.type != DATE:
        raise Refusal("a number cannot be added to a timestamp", "write an INTERVAL")
    return value


_FORMATTED = (
    "date_format() prunes only if it is compared with a day, month or year, e.g. '2025-03' for 'yyyy-MM'",
    "write a range of the column, e.g. at >= TIMESTAMP '2025-03-01' AND at < TIMESTAMP '2025-04-01' for March 2025",
)

DATE_FORMAT = SqlFunction(names=("date_format",), arity=(2, 2), refusal=_FORMATTED)
FUNCTIONS = (
    DATE_FORMAT,
    SqlFunction(names=("date_trunc",), arity=(2, 2), bind=_date_trunc, null_strict=True, makes_timestamp=True),
    SqlFunction(
        names=("to_timestamp", str(ValueKind.TIMESTAMP)), arity=(1, 2), bind=_convert_to_timestamp, makes_timestamp=True
    ),
    SqlFunction(names=("timestampadd",), arity=(3, 3), bind=_timestamp_add, makes_timestamp=True, is_syntax=True),
    SqlFunction(names=("unix_micros",), bind=partial(_unix, 1)),
    SqlFunction(names=("unix_millis",), bind=partial(_unix, 1_000)),
    SqlFunction(names=("unix_seconds",), bind=partial(_unix, 1_000_000)),
    SqlFunction(names=("unix_timestamp",), bind=_unix_timestamp, clock=seconds),
    SqlFunction(names=("to_unix_timestamp",), bind=_unix_timestamp),
    SqlFunction(names=("timestamp_micros",), bind=partial(_convert_unix_time, 1), makes_timestamp=True),
    SqlFunction(names=("timestamp_millis",), bind=partial(_convert_unix_time, 1_000), makes_timestamp=True),
    SqlFunction(names=("timestamp_seconds",), bind=partial(_convert_unix_time, 1_000_000), makes_timestamp=True),
)
