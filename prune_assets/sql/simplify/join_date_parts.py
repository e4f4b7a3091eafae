"""Join conditions on parts of a date.

`year(c) = y AND month(c) = m` is `year(c) = y AND trunc(c, 'MONTH') = DATE 'y-m-01'`; quarters and days follow the same
rule. `month(c) = 3` repeats every year, so it has no range. Next to `year(c) = 2024` it equals
`trunc(c, 'MONTH') = DATE '2024-03-01'`, which has a range: in other years the AND is FALSE anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.pruning.predicate import Op
from prune_assets.sql.functions.date_fields import DAY_OF_MONTH, MONTH, QUARTER, YEAR
from prune_assets.sql.functions.dates import TO_DATE, TRUNC
from prune_assets.sql.functions.registry import field_of_call
from prune_assets.sql.syntax.nodes import Call, Column, Comparison, ListTest, Literal, SyntaxNode
from prune_assets.sql.types.calendar import date_of, day_of
from prune_assets.sql.types.spark_values import SparkValue, ValueKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from prune_assets.sql.functions.date_fields import DateField

    _Field: TypeAlias = tuple[DateField, tuple[str, ...]]

# Fields that select a range of dates if the year is known, with the largest value of each field.
_MOST = {QUARTER: 4, MONTH: 12, DAY_OF_MONTH: 31}
_LAST_YEAR = 9_999


def join_date_parts(operands: Sequence[SyntaxNode]) -> list[SyntaxNode]:
    """Rewrite conditions on months, quarters and days of a known year as conditions on dates.

    `operands`: operands of an AND. A new operand keeps the tokens of the operand that it replaces.
    """
    fields = [_field(operand) for operand in operands]
    years = _named(operands, fields, YEAR)
    if not years:
        return list(operands)
    months = _named(operands, fields, MONTH)
    return [_joined(operand, part, years, months) for operand, part in zip(operands, fields, strict=True)]


def _named(
    operands: Sequence[SyntaxNode], fields: Sequence[_Field | None], wanted: DateField
) -> dict[tuple[str, ...], int]:
    """Return, by column, the number that a field of the column must equal."""
    by_name = {}
    for operand, part in zip(operands, fields, strict=True):
        if part is None or part[0] is not wanted or not isinstance(operand, Comparison) or operand.op is not Op.EQ:
            continue
        if (field_value := _integer_of(operand.right)) is not None:
            by_name[part[1]] = field_value
    return by_name


def _joined(
    operand: SyntaxNode,
    part: _Field | None,
    years: Mapping[tuple[str, ...], int],
    months: Mapping[tuple[str, ...], int],
) -> SyntaxNode:
    if part is None or part[0] not in _MOST or part[1] not in years or not 1 <= years[part[1]] <= _LAST_YEAR:
        return operand
    field, year, month = part[0], years[part[1]], months.get(part[1], 0)
    if field is DAY_OF_MONTH and not 1 <= month <= 12:
        return operand
    assert isinstance(operand, (Comparison, ListTest))
    values = operand.listed() if isinstance(operand, ListTest) else [operand.right]
    dates = [_date(field, year, month, _integer_of(value)) for value in values]
    first_days = [date for date in dates if date is not None]
    if not first_days or len(first_days) < len(dates):
        return operand
    call = operand.operand if isinstance(operand, ListTest) else operand.left
    assert isinstance(call, Call)
    column, unit = call.arguments[0], Literal(SparkValue(ValueKind.STRING, field.name))
    is_day = field is DAY_OF_MONTH
    first = Call(TO_DATE.names[0], (column,)) if is_day else Call(TRUNC.names[0], (column, unit))
    if isinstance(operand, ListTest):
        return ListTest(first, tuple(first_days), span=operand.span)
    return Comparison(first, first_days[0], operand.op, span=operand.span)


def _date(field: DateField, year: int, month: int, field_value: int | None) -> Literal | None:
    """Return the first day of a field's period in a year; None if the period does not exist."""
    if field_value is None or not 1 <= field_value <= _MOST[field]:
        return None
    if field is DAY_OF_MONTH:
        day = day_of(year, month, field_value)
        if date_of(day).day != field_value:
            return None
    else:
        day = day_of(year, field_value if field is MONTH else 3 * field_value - 2, 1)
    return Literal(SparkValue(ValueKind.DATE, day))


def _field(operand: SyntaxNode) -> _Field | None:
    """Return the field and column of a comparison or list test of `field(column)`; None for other conditions.

    Names that differ in case count as different columns.
    """
    match operand:
        case Comparison(Call(name, [Column(parts)])) | ListTest(Call(name, [Column(parts)])):
            field = field_of_call(name)
            return None if field is None else (field, parts)
        case _:
            return None


def _integer_of(node: object) -> int | None:
    if not isinstance(node, Literal) or node.value.kind is not ValueKind.INTEGER:
        return None
    value = node.value.value
    return value if isinstance(value, int) else None
