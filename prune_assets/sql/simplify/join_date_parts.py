"""`year(c) = y AND month(c) = m` is `year(c) = y AND trunc(c, 'MONTH') = DATE 'y-m-01'`; so for quarters and days.

`month(c) = 3` comes back every year, so it has no range. Beside `year(c) = 2024` it is the same as
`trunc(c, 'MONTH') = DATE '2024-03-01'`, which has one: where the year is another, the AND is FALSE whatever this is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.functions.date_fields import DAY_OF_MONTH, MONTH, QUARTER, YEAR
from prune_assets.sql.functions.dates import TO_DATE, TRUNC
from prune_assets.sql.functions.registry import field_of_call
from prune_assets.sql.syntax.nodes import COMPARISONS, listed_values, name_parts, spark_literal, spark_value
from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.types.calendar import date_of, day_of
from prune_assets.sql.types.spark_values import Kind, SparkValue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from prune_assets.sql.functions.date_fields import DateField

    _Field: TypeAlias = tuple[DateField, tuple[str, ...]]

# Fields that are dates beside their year, and how many there are at most.
_MOST = {QUARTER: 4, MONTH: 12, DAY_OF_MONTH: 31}
_LAST_YEAR = 9_999


def join_date_parts(operands: Sequence[exp.Expr], is_builtin: Callable[[str], bool]) -> list[exp.Expr]:
    """Return operands of an AND in which months, quarters and days beside their year are dates.

    A new operand keeps the marks of the one that it replaces. `is_builtin`: whether a call is one of Spark's function.
    """
    fields = [_field(operand, is_builtin) for operand in operands]
    years = _named(operands, fields, YEAR)
    if not years:
        return list(operands)
    months = _named(operands, fields, MONTH)
    return [_joined(operand, part, years, months) for operand, part in zip(operands, fields, strict=True)]


def _named(
    operands: Sequence[exp.Expr], fields: Sequence[_Field | None], wanted: DateField
) -> dict[tuple[str, ...], int]:
    """Return the numbers that a field is said to be equal to, by column."""
    by_name = {}
    for operand, part in zip(operands, fields, strict=True):
        if part is None or part[0] is not wanted or not isinstance(operand, exp.EQ):
            continue
        if (number := _integer_of(operand.expression)) is not None:
            by_name[part[1]] = number
    return by_name


def _joined(
    operand: exp.Expr,
    part: _Field | None,
    years: Mapping[tuple[str, ...], int],
    months: Mapping[tuple[str, ...], int],
) -> exp.Expr:
    if part is None or part[0] not in _MOST or part[1] not in years or not 1 <= years[part[1]] <= _LAST_YEAR:
        return operand
    field, year, month = part[0], years[part[1]], months.get(part[1], 0)
    if field is DAY_OF_MONTH and not 1 <= month <= 12:
        return operand
    values = listed_values(operand) if isinstance(operand, exp.In) else [operand.expression]
    dates = [_date(field, year, month, _integer_of(value)) for value in values]
    known = [date for date in dates if date is not None]
    if not known or len(known) < len(dates) or operand.args.get("query") is not None:
        return operand
    column = operand.this.expressions[0]
    unit = spark_literal(SparkValue(Kind.STRING, field.name))
    first = (
        exp.Anonymous(this=TO_DATE.names[0], expressions=[column.copy()])
        if field is DAY_OF_MONTH
        else exp.Anonymous(this=TRUNC.names[0], expressions=[column.copy(), unit])
    )
    new: exp.Expr
    if isinstance(operand, exp.In):
        new = exp.In(this=first, expressions=known)
    else:
        new = type(operand)(this=first, expression=known[0])
    new.meta.update(operand.meta)
    return new


def _date(field: DateField, year: int, month: int, number: int | None) -> exp.Literal | None:
    """Return the first day of the field's span in a year; None when there is none of that number."""
    if number is None or not 1 <= number <= _MOST[field]:
        return None
    if field is DAY_OF_MONTH:
        day = day_of(year, month, number)
        if date_of(day).day != number:
            return None
    else:
        day = day_of(year, number if field is MONTH else 3 * number - 2, 1)
    return spark_literal(SparkValue(Kind.DATE, day))


def _field(operand: exp.Expr, is_builtin: Callable[[str], bool]) -> _Field | None:
    """Return the field and column of a comparison or list of `field(column)`.

    Names that differ in case are not taken for one column.
    """
    node = operand.this if isinstance(operand, (*COMPARISONS, exp.In)) else None
    if not isinstance(node, exp.Anonymous) or len(node.expressions) != 1 or not is_builtin(node.name):
        return None
    column, field = node.expressions[0], field_of_call(node.name)
    return (field, name_parts(column)) if isinstance(column, exp.Column) and field is not None else None


def _integer_of(node: object) -> int | None:
    if not isinstance(node, exp.Literal) or spark_value(node).kind is not Kind.INTEGER:
        return None
    value = spark_value(node).value
    return value if isinstance(value, int) else None
