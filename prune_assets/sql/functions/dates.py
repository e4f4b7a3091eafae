"""Functions of dates: fields, added days and months, and differences in days."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from prune_assets.sql.functions.cast import cast
from prune_assets.sql.functions.coercion import apply, to_type
from prune_assets.sql.functions.date_fields import FIELDS, YEAR, field_named, first_day, range_of
from prune_assets.sql.functions.entry import SqlFunction
from prune_assets.sql.functions.function import Function, Piece, recurring
from prune_assets.sql.functions.terms import Chain, Fixed
from prune_assets.sql.refusal import Refusal, zone_needed
from prune_assets.sql.types.calendar import date_of, day_of, months_later
from prune_assets.sql.types.ranges import span
from prune_assets.sql.types.spark_types import DATE, INT, TIMESTAMP_NTZ
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.timestamps import TIMES
from prune_assets.sql.types.zones import DAY, UncertainTime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prune_assets.sql.functions.date_fields import DateField
    from prune_assets.sql.functions.entry import Bind
    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.types.spark_types import SparkType

CALENDAR = TIMES | {ValueKind.DATE}
_SMALL = frozenset({8, 16, 32})
_OF_TEXT = "strings do not sort like the times that they denote"


def last_day() -> Function:
    """Return the function from a date to the last day of its month."""
    return date_function("last_day", DATE, lambda day: day_of(date_of(day).year, date_of(day).month, 31))


def truncated(unit: str) -> Function | None:
    """Return trunc(x, unit); None for a unit whose result is NULL."""
    first = first_day(unit)
    return None if first is None else date_function("trunc", DATE, first)


def days_later(days: int) -> Function:
    """Return the function that adds days to a date."""
    return date_function("date_add", DATE, lambda day: day + days)


def add_months(months: int) -> Function:
    """Return the function that adds months.

    Several last days of a month may become one day, but the order of days never changes.
    """
    return date_function("add_months", DATE, lambda day: months_later(day, months))


def days_since(start: int) -> Function:
    """Return datediff(x, start)."""
    return date_function("datediff", INT, lambda day: day - start)


def days_until(end: int) -> Function:
    """Return datediff(end, x)."""
    return date_function("datediff", INT, lambda day: end - day, rises=False)


def unix_date() -> Function:
    """Return the function from a date to the days since 1970-01-01."""
    return date_function("unix_date", INT, lambda day: day)


def date_function(name: str, result: SparkType, value: Callable[[int], int], *, rises: bool = True) -> Function:
    """Return a function that is defined for all dates."""
    return Function(name, result, value, (Piece(DATE.least, DATE.greatest, rises=rises),))


def _apply_to_date(function: Function, arguments: Sequence[Value], _: SparkType) -> Value:
    (value,) = arguments
    return apply(function, _cast_to_date(value))


def _cast_to_date(value: Value) -> Value:
    if value.type.kind not in CALENDAR | {ValueKind.NULL} and not (
        isinstance(value, Fixed) and value.type.kind is ValueKind.STRING
    ):
        if value.type.kind is not ValueKind.STRING:
            raise Refusal(f"Spark requires a date here and refuses the {value.type}", "use a column of dates")
        raise Refusal("Spark casts the string to a date here", "store the column as a date")
    return to_type(value, DATE)


def _trunc(arguments: Sequence[Value], _: SparkType) -> Value:
    value, unit = arguments
    function = truncated(constant_text(unit))
    if function is None:
        return null_of_any(_cast_to_date(value))
    return apply(function, _cast_to_date(value))


def null_of_any(value: Value) -> Value:
    """Replace a value by NULL; errors of its functions remain possible."""
    if isinstance(value, Chain) and value.functions:
        anything = span(value.type.least, value.type.greatest)
        return apply(Function("null", value.type, int, (), nulls=anything), value)
    return Fixed(value.type, None)


def as_time(arguments: Sequence[Value], usual: str) -> Value:
    """Return the argument of a conversion to a date or timestamp: a date, a timestamp, or a constant text.

    `usual`: the format that the text must have.

    Raises Refusal for other arguments.
    """
    value = arguments[0]
    if len(arguments) == 2 and (
        not is_constant_text(value) or constant_text(arguments[1]) != usual or len(constant_text(value)) != len(usual)
    ):
        raise Refusal("this format is not supported", "write the value in quotes alone, as Spark shows it")
    if value.type.kind not in CALENDAR and not is_constant_text(value):
        raise Refusal(_OF_TEXT, "compare the column itself")
    return value


def is_constant_text(value: Value) -> bool:
    """Return whether a value is a constant string."""
    return isinstance(value, Fixed) and value.type.kind is ValueKind.STRING


def date_add(sign: int, arguments: Sequence[Value], _: SparkType) -> Value:
    """Add days to a date, or subtract them if `sign` is negative. Raises Refusal."""
    value, days = arguments
    return apply(days_later(sign * constant_int(days)), _cast_to_date(value))


def _add_months(arguments: Sequence[Value], _: SparkType) -> Value:
    value, months = arguments
    return apply(add_months(constant_int(months)), _cast_to_date(value))


def _datediff(arguments: Sequence[Value], _: SparkType) -> Value:
    end, start = map(_cast_to_date, arguments)
    if isinstance(start, Fixed) and start.ordinal is not None:
        return apply(_off_by(days_since(start.ordinal), start.doubt), end)
    if isinstance(end, Fixed) and end.ordinal is not None and isinstance(start, Chain):
        return apply(_off_by(days_until(end.ordinal), end.doubt), start)
    raise Refusal("the days between two columns have no range", "compare one column with a constant")


def _off_by(function: Function, doubt: int) -> Function:
    """Return a difference of days whose constant may be off by `doubt` days.

    The error is recorded in `Function.doubt` as an error of the argument, which changes the difference by as many days.
    """
    return replace(function, doubt=doubt)


def _date_part(arguments: Sequence[Value], timestamp: SparkType) -> Value:
    name, value = arguments
    field = field_named(constant_text(name))
    if field is None:
        raise Refusal(f"the field {constant_text(name)} is not supported", _remedy(range_of, value))
    return _field(field, field.name, [value], timestamp)


def _field(field: DateField, name: str, arguments: Sequence[Value], timestamp: SparkType) -> Value:
    """Return a field of a date or timestamp. Raises Refusal for a periodic field without known values."""
    if field is YEAR and field.of_day is not None:
        return _apply_to_date(date_function(name, INT, field.of_day), arguments, timestamp)
    (value,) = arguments
    why = (f"{name}() repeats over time, so it is not a range of the column", _remedy(field.remedy, value))
    if field.image is not None and isinstance(value, Chain) and value.type.kind in CALENDAR:
        return apply(_recurring(field, name, value.type, why), value)
    if isinstance(value, Fixed) and field.of_day is not None:
        return apply(date_function(name, INT, field.of_day), _cast_to_date(value))
    if isinstance(value, Fixed) and field.of_clock is not None and value.type.kind in CALENDAR:
        if value.type == DATE and timestamp.is_unzoned:
            raise zone_needed()
        time = to_type(value, timestamp) if value.type == DATE else value
        return _read_clock_field(field.of_clock, to_type(time, TIMESTAMP_NTZ), why)
    raise Refusal(*why)


def _recurring(field: DateField, name: str, type_: SparkType, why: tuple[str, str]) -> Function:
    """Return a field of a date or timestamp as a periodic function.

    If the field's values are not supported, or the time zone is unknown, only the set of results is known.
    """
    of_part, image = field.of_day or field.of_clock, span(*field.image or ())
    # The local time at the first instant of a date may differ from midnight.
    if of_part is None or type_.is_unzoned or (field.of_clock is not None and type_ == DATE):
        return replace(recurring(name, INT, image, why), needs_zone=of_part is not None and type_.is_unzoned)
    as_part = cast(type_, DATE if field.of_clock is None else TIMESTAMP_NTZ)
    assert as_part is not None
    last = recurring(name, INT, image, why, of_part if field.of_clock is None else lambda time: of_part(time % DAY))

    def value(ordinal: int) -> int:
        if not as_part.has_value(ordinal):
            raise UncertainTime
        return last.value(as_part.value(ordinal))

    return replace(last, value=value, steps=(as_part, last))


def _read_clock_field(field: Callable[[int], int], time: Value, why: tuple[str, str]) -> Value:
    """Return a clock field, such as the hour, of a constant local time. Raises Refusal if uncertain."""
    if not isinstance(time, Fixed) or time.doubt:
        raise Refusal(*why)
    return Fixed(INT, None if time.ordinal is None else field(time.ordinal % DAY))


def _remedy(remedy_of: Callable[[str], str], value: Value) -> str:
    """Return the next step to suggest if a function of `value` does not prune.

    `remedy_of`: returns the step for the name of a column. If `value` is a function of a column, the step is a range
    of the column instead.
    """
    if not isinstance(value, Chain):
        return "compare the column itself"
    return (range_of if value.functions else remedy_of)(value.column.name)


def _to_date(arguments: Sequence[Value], _: SparkType) -> Value:
    return to_type(as_time(arguments, "yyyy-MM-dd"), DATE)


def constant_text(value: Value) -> str:
    """Return the text of a constant string. Raises Refusal for other values."""
    if not isinstance(value, Fixed) or value.plain is None or value.type.kind is not ValueKind.STRING:
        raise Refusal("the unit must be a constant", "write the unit in quotes")
    return str(value.plain.value)


def constant_int(value: Value) -> int:
    """Return a constant whole number that fits an int. Raises Refusal for other values."""
    if not isinstance(value, Fixed) or value.ordinal is None or value.type.kind is not ValueKind.INTEGER:
        raise Refusal("the number must be a constant", "write a whole number")
    if value.type.bits not in _SMALL or not INT.least < value.ordinal <= INT.greatest:
        raise Refusal("Spark does not accept a bigint here", "write an int")
    return value.ordinal


def _two(names: tuple[str, ...], bind: Bind) -> SqlFunction:
    return SqlFunction(names=names, arity=(2, 2), bind=bind, null_strict=True)


TO_DATE = SqlFunction(names=("to_date",), arity=(1, 2), bind=_to_date, null_strict=True, casts_to=DATE)
TRUNC = _two(("trunc",), _trunc)
# SQL writes the field as a word: EXTRACT(YEAR FROM x).
EXTRACT = _two(("extract",), _date_part)
FUNCTIONS = (
    TO_DATE,
    TRUNC,
    EXTRACT,
    *(
        SqlFunction(names=(name,), bind=partial(_field, field, name), null_strict=True, field=field)
        for field in FIELDS
        for name in field.calls
    ),
    SqlFunction(names=("date_part", "datepart"), arity=(2, 2), bind=_date_part),
    SqlFunction(names=("last_day",), bind=partial(_apply_to_date, last_day()), null_strict=True),
    SqlFunction(names=("unix_date",), bind=partial(_apply_to_date, unix_date())),
    _two(("date_add", "dateadd"), partial(date_add, 1)),
    _two(("date_sub",), partial(date_add, -1)),
    _two(("add_months",), _add_months),
    _two(("datediff", "date_diff"), _datediff),
)
