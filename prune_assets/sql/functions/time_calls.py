"""Functions of dates and times that are known by name, and intervals added to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from prune_assets.sql.functions import dates, times
from prune_assets.sql.functions.coercion import apply, to_type
from prune_assets.sql.functions.function import Function, recurring
from prune_assets.sql.functions.terms import Chain, Fixed, fixed_time
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.types.ranges import span
from prune_assets.sql.types.spark_types import BIGINT, DATE, INT
from prune_assets.sql.types.spark_values import Kind
from prune_assets.sql.types.timestamps import INTERVALS, TIMES, Moment, Step
from prune_assets.sql.types.zones import DAY, HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

    Call = Callable[[Sequence[Value], SparkType], Value]

_DATES = TIMES | {Kind.DATE}
_SMALL = frozenset({8, 16, 32})
_RANGE = "add a range of the column itself, e.g. c >= TIMESTAMP '..' AND c < TIMESTAMP '..'"
# Fields that come back, by what to write instead.
_RECURRING = {
    **dict.fromkeys(("month", "quarter"), "add year(c) = .. with AND, or write a range of c"),
    **dict.fromkeys(("day", "dayofmonth"), "add year(c) = .. AND month(c) = .. with AND, or write a range of c"),
    **dict.fromkeys(
        ("dayofyear", "dayofweek", "dayofweek_iso", "weekday", "weekofyear", "dayname", "monthname"), _RANGE
    ),
    **dict.fromkeys(("hour", "minute", "second"), _RANGE),
}
_IMAGES = {
    "month": (1, 12),
    "quarter": (1, 4),
    "day": (1, 31),
    "dayofmonth": (1, 31),
    "dayofyear": (1, 366),
    "dayofweek": (1, 7),
    "dayofweek_iso": (1, 7),
    "weekday": (0, 6),
    "weekofyear": (1, 53),
    "hour": (0, 23),
    "minute": (0, 59),
}
# Months and microseconds of the units of DATEADD.
_STEPS = {
    "year": (12, 0),
    "quarter": (3, 0),
    "month": (1, 0),
    "week": (0, 7 * DAY),
    "day": (0, DAY),
    "hour": (0, HOUR),
    "minute": (0, 60 * SECOND),
    "second": (0, SECOND),
}
_OF_TEXT = "the order of texts is not that of their times"


def _of_date(function: Function, arguments: Sequence[Value], _: SparkType) -> Value:
    (value,) = _count(arguments, 1)
    return apply(function, _date(value))


def _date(value: Value) -> Value:
    if value.type.kind not in _DATES | {Kind.NULL} and not (
        isinstance(value, Fixed) and value.type.kind is Kind.STRING
    ):
        raise Refusal(f"Spark casts the {value.type} to a date here", "write a date")
    return to_type(value, DATE)


def _time(value: Value, timestamp: SparkType) -> Value:
    if value.type.kind not in _DATES:
        raise Refusal(f"Spark casts the {value.type} to a timestamp here", "write a timestamp")
    return to_type(value, timestamp)


def _trunc(arguments: Sequence[Value], _: SparkType) -> Value:
    value, unit = _count(arguments, 2)
    function = dates.truncated(_text(unit))
    if function is None:
        return _null_of_any(_date(value))
    return apply(function, _date(value))


def _null_of_any(value: Value) -> Value:
    """Return NULL in place of a value; what raises before still does."""
    if isinstance(value, Chain) and value.functions:
        anything = span(value.type.least, value.type.greatest)
        return apply(Function("null", value.type, int, (), nulls=anything), value)
    return Fixed(value.type, None)


def _date_trunc(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    unit, value = _count(arguments, 2)
    value = to_type(value, timestamp) if _is_text(value) else _time(value, timestamp)
    function = times.truncated(_text(unit), timestamp)
    return _null_of_any(value) if function is None else apply(function, value)


def _to_timestamp(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    return to_type(_as_time(arguments, "yyyy-MM-dd HH:mm:ss"), timestamp)


def _as_time(arguments: Sequence[Value], usual: str) -> Value:
    """Return what is made a date or timestamp: one, or a constant text, written as the `usual` format has it."""
    value = arguments[0]
    if len(arguments) == 2 and (not _is_text(value) or _text(arguments[1]) != usual or len(_text(value)) != len(usual)):
        raise Refusal("this format is not looked into", "write the value in quotes alone, as Spark shows it")
    if value.type.kind not in _DATES and not _is_text(value):
        raise Refusal(_OF_TEXT, "compare the plain column")
    return value


def _is_text(value: Value) -> bool:
    """Tell whether a value is a constant text."""
    return isinstance(value, Fixed) and value.type.kind is Kind.STRING


def _timestamp_add(unit: str, arguments: Sequence[Value], timestamp: SparkType) -> Value:
    """Return DATEADD(unit, count, x), which makes a timestamp of a date first."""
    count, value = arguments
    if unit not in _STEPS:
        raise Refusal(f"the unit {unit} is not looked into", "add an INTERVAL")
    months, micros = _STEPS[unit]
    value = value if value.type.kind is Kind.TIMESTAMP_NTZ else _time(value, timestamp)
    return _moved(value, months * _int(count), micros * _int(count))


def _moved(value: Value, months: int, micros: int) -> Value:
    """Return a timestamp with an interval added; a constant moves on where clocks change too."""
    if isinstance(value, Fixed) and value.type.kind is Kind.TIMESTAMP and value.ordinal is not None:
        return fixed_time(Kind.TIMESTAMP, Moment(value.ordinal, "UTC", steps=(Step(months, micros),)), value.type)
    return apply(times.moved(value.type, months, micros), value)


def _date_add(sign: int, arguments: Sequence[Value], _: SparkType) -> Value:
    value, days = _count(arguments, 2)
    return apply(dates.days_later(sign * _int(days)), _date(value))


def _add_months(arguments: Sequence[Value], _: SparkType) -> Value:
    value, months = _count(arguments, 2)
    return apply(dates.add_months(_int(months)), _date(value))


def _datediff(arguments: Sequence[Value], _: SparkType) -> Value:
    end, start = map(_date, _count(arguments, 2))
    if isinstance(start, Fixed) and start.ordinal is not None:
        return apply(dates.days_since(start.ordinal), end)
    if isinstance(end, Fixed) and end.ordinal is not None and isinstance(start, Chain):
        return apply(dates.days_until(end.ordinal), start)
    raise Refusal("the days between two columns have no range", "compare one column with a constant")


def _unix(size: int, arguments: Sequence[Value], _: SparkType) -> Value:
    (value,) = _count(arguments, 1)
    if value.type.kind not in TIMES:
        raise Refusal("Spark takes nothing but a timestamp here", "write a timestamp")
    return apply(times.in_units("unix_time", value.type, size), value)


def _unix_timestamp(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    """Return unix_timestamp(x), which takes local times for those of UTC."""
    (value,) = _count(arguments, 1)
    value = value if value.type.kind is Kind.TIMESTAMP_NTZ else _time(value, timestamp)
    return apply(times.in_units("unix_timestamp", value.type, 1_000_000, cut_off=True), value)


def _from_unix(size: int, arguments: Sequence[Value], timestamp: SparkType) -> Value:
    (value,) = _count(arguments, 1)
    if value.type.kind is not Kind.INTEGER:
        raise Refusal(f"a timestamp made of {value.type} is not turned into a range", "write a whole number")
    return apply(times.from_units("timestamp", BIGINT, timestamp, size), to_type(value, BIGINT))


def _date_part(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    field, value = _count(arguments, 2)
    return field_of(_text(field), value, timestamp)


def field_of(field: str, value: Value, timestamp: SparkType) -> Value:
    """Return a field of a date or timestamp; raises Refusal for one that comes back, which all but the year do."""
    name = _FIELDS.get(field.lower(), field.lower())
    if name == "year":
        return _of_date(dates.year(), [value], timestamp)
    return _recurring(name, [value]) or _refuse(f"the field {field} is not turned into a range", _RANGE)


def _refuse(reason: str, remedy: str) -> Value:
    raise Refusal(reason, remedy)


_FIELDS = {
    **dict.fromkeys(("y", "years", "yr", "yrs"), "year"),
    **dict.fromkeys(("qtr",), "quarter"),
    **dict.fromkeys(("mon", "mons", "months"), "month"),
    **dict.fromkeys(("d", "days"), "day"),
    **dict.fromkeys(("h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("m", "min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "second"),
    **dict.fromkeys(("doy",), "dayofyear"),
    **dict.fromkeys(("dow",), "dayofweek"),
    **dict.fromkeys(("dow_iso",), "dayofweek_iso"),
    **dict.fromkeys(("w", "week", "weeks"), "weekofyear"),
}


def _recurring(name: str, arguments: Sequence[Value]) -> Value | None:
    """Return a field that comes back, None for what is none; raises Refusal for one whose values are not known."""
    remedy = _RECURRING.get(name)
    if remedy is None:
        return None
    why = (f"{name}() comes back again and again, so it has no range", remedy)
    if len(arguments) != 1 or name not in _IMAGES:
        raise Refusal(*why)
    (value,) = arguments
    if isinstance(value, Chain) and value.type.kind in _DATES:
        return apply(recurring(name, INT, span(*_IMAGES[name]), why), value)
    if isinstance(value, Fixed) and name in dates.FIELDS:
        return apply(dates.of_days(name, INT, dates.FIELDS[name]), _date(value))
    raise Refusal(*why)


TIME_CALLS: Mapping[str, Call] = {
    "year": partial(_of_date, dates.year()),
    "last_day": partial(_of_date, dates.last_day()),
    "unix_date": partial(_of_date, dates.unix_date()),
    "to_date": lambda arguments, _: _to_date(arguments),
    "trunc": _trunc,
    "date_trunc": _date_trunc,
    "to_timestamp": _to_timestamp,
    "timestamp": _to_timestamp,
    "date_add": partial(_date_add, 1),
    "dateadd": partial(_date_add, 1),
    "date_sub": partial(_date_add, -1),
    "add_months": _add_months,
    "datediff": _datediff,
    "date_diff": _datediff,
    "unix_micros": partial(_unix, 1),
    "unix_millis": partial(_unix, 1_000),
    "unix_seconds": partial(_unix, 1_000_000),
    "unix_timestamp": _unix_timestamp,
    "to_unix_timestamp": _unix_timestamp,
    "timestamp_micros": partial(_from_unix, 1),
    "timestamp_millis": partial(_from_unix, 1_000),
    "timestamp_seconds": partial(_from_unix, 1_000_000),
    "date_part": _date_part,
    "datepart": _date_part,
}


def time_call(name: str, arguments: Sequence[Value], timestamp: SparkType) -> Value | None:
    """Return what a function of dates and times makes of constants and chains, None for a name that is none's.

    `timestamp`: TIMESTAMP with the session's zone. Raises Refusal.
    """
    if name.startswith("extract ") and len(arguments) == 1:
        return field_of(name.partition(" ")[2], arguments[0], timestamp)
    if name.startswith("timestampadd ") and len(arguments) == 2:
        return _timestamp_add(name.partition(" ")[2], arguments, timestamp)
    if (field := _recurring(name, arguments)) is not None:
        return field
    found = TIME_CALLS.get(name)
    return None if found is None or not arguments else found(arguments, timestamp)


def is_time_sum(left: Value, right: Value) -> bool:
    """Tell whether a sum or difference is one of a date or timestamp and an interval or number of days."""
    kinds = {left.type.kind, right.type.kind}
    return bool(kinds & _DATES) and bool(kinds & (INTERVALS | {Kind.INTEGER}))


def time_sum(left: Value, right: Value, sign: int, timestamp: SparkType) -> Value:
    """Return a date or timestamp with an interval or days added, or by a negative sign taken away; raises Refusal."""
    if left.type.kind not in _DATES:
        if sign < 0:
            raise Refusal("a time is not taken away from an interval")
        left, right = right, left
    if not isinstance(right, Fixed):
        raise Refusal("arithmetic between columns is not turned into a range", "compare one column with a constant")
    if right.type.kind is Kind.INTEGER:
        return _date_add(sign, [_only_date(left), right], timestamp)
    assert right.plain is not None
    kind, amount = right.plain.kind, sign * right.plain.number
    if left.type == DATE and kind is not Kind.TIME:
        return apply(dates.days_later(amount) if kind is Kind.DAYS else dates.add_months(amount), left)
    if left.type == DATE:
        left = to_type(left, timestamp)
    months, micros = (amount, 0) if kind is Kind.MONTHS else (0, amount * (DAY if kind is Kind.DAYS else 1))
    return _moved(left, months, micros)


def _only_date(value: Value) -> Value:
    if value.type != DATE:
        raise Refusal("a number is not added to a timestamp", "write an INTERVAL")
    return value


def _to_date(arguments: Sequence[Value]) -> Value:
    return to_type(_as_time(arguments, "yyyy-MM-dd"), DATE)


def _text(value: Value) -> str:
    if not isinstance(value, Fixed) or value.plain is None or value.type.kind is not Kind.STRING:
        raise Refusal("the unit has to be a constant", "write it in quotes")
    return str(value.plain.value)


def _int(value: Value) -> int:
    if not isinstance(value, Fixed) or value.ordinal is None or value.type.kind is not Kind.INTEGER:
        raise Refusal("the number has to be a constant", "write a whole number")
    if value.type.bits not in _SMALL or not INT.least < value.ordinal <= INT.greatest:
        raise Refusal("Spark takes no bigint here", "write an int")
    return value.ordinal


def _count(arguments: Sequence[Value], count: int) -> Sequence[Value]:
    if len(arguments) != count:
        raise Refusal("this number of arguments is not looked into")
    return arguments
