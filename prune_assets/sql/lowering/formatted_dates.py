"""Lower conditions on formatted dates to ranges of days.

`date_format(x, 'yyyy-MM') = '2024-03'` is a range of days, because such texts sort like their days. This holds for
years of four digits from 1583 on, where Spark's old and new calendar are the same.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.pruning.predicate import Op
from prune_assets.sql.functions.dates import TO_DATE
from prune_assets.sql.functions.time_calls import DATE_FORMAT
from prune_assets.sql.syntax.nodes import MIRRORED, Between, Call, Cast, Comparison, ListTest, Literal, SyntaxNode
from prune_assets.sql.types.calendar import day_of
from prune_assets.sql.types.spark_types import TIMESTAMP
from prune_assets.sql.types.spark_values import SparkValue, ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST, _LAST = day_of(1583, 1, 1), day_of(9999, 12, 31)
# Python's formats. A format without a day or month includes all days or months.
_FORMATS = {
    "yyyy-MM-dd": "%Y-%m-%d",
    "yyyy/MM/dd": "%Y/%m/%d",
    "yyyyMMdd": "%Y%m%d",
    "yyyy-MM": "%Y-%m",
    "yyyy/MM": "%Y/%m",
    "yyyyMM": "%Y%m",
    "yyyy": "%Y",
}


class DateCondition(NamedTuple):
    """A condition on a formatted date, as conditions on the date.

    `in_range`: condition that selects the days for which `one_of` is exact; TRUE wherever one of `one_of` is TRUE.
    `one_of`: the condition is TRUE if one of these is TRUE, and FALSE if all are FALSE.
    `negated`: True if the outcomes are reversed.
    """

    in_range: SyntaxNode
    one_of: tuple[SyntaxNode, ...]
    negated: bool


class _Days(NamedTuple):
    first: int
    last: int


def date_condition(node: SyntaxNode) -> DateCondition | None:
    """Return conditions on dates for a comparison, list or range of date_format(); None for other nodes."""
    call, strings, op = _operands(node)
    pattern = _pattern(call)
    day_ranges = [days for string in strings if pattern and (days := _days(string, pattern)) is not None]
    if not day_ranges or len(day_ranges) < len(strings):
        return None
    day = _date(call, node)
    between = tuple(_between(day, days, node) for days in _wanted(node, op, day_ranges))
    return DateCondition(_between(day, _Days(_FIRST, _LAST), node), between, op is Op.NE)


def _operands(node: SyntaxNode) -> tuple[SyntaxNode, Sequence[SyntaxNode], Op]:
    """Return the compared operand, the values and the operator; for other nodes, no values."""
    match node:
        case Between(operand, low, high):
            return operand, [low, high], Op.EQ
        case ListTest():
            return node.operand, node.listed(), Op.EQ
        case Comparison(Literal() as text, call, op):
            return call, [text], MIRRORED.get(op, op)
        case Comparison(call, text, op):
            return call, [text], op
        case _:
            return node, [], Op.EQ


def _pattern(call: SyntaxNode) -> str | None:
    """Return Python's format of a call of date_format(); None for other formats and nodes."""
    if not isinstance(call, Call) or call.name not in DATE_FORMAT.names:
        return None
    return _FORMATS.get(_read_string(call.arguments[1])) if len(call.arguments) == 2 else None


def _read_string(node: SyntaxNode) -> str:
    value = node.value if isinstance(node, Literal) else None
    return str(value.value) if value is not None and value.kind is ValueKind.STRING else ""


def _days(string: SyntaxNode, pattern: str) -> _Days | None:
    """Return the days formatted as `string`; None if no day is."""
    written = _read_string(string)
    try:
        moment = datetime.strptime(written, pattern).replace(tzinfo=UTC)
    except ValueError:
        return None
    first = day_of(moment.year, moment.month, moment.day)
    last = first if "%d" in pattern else day_of(moment.year, moment.month if "%m" in pattern else 12, 31)
    # Python also reads a text without leading zeros.
    return _Days(first, last) if moment.strftime(pattern) == written and first >= _FIRST else None


def _wanted(node: SyntaxNode, op: Op, days: Sequence[_Days]) -> Sequence[_Days]:
    match op:
        case Op.LT:
            return [_Days(_FIRST, days[0].first - 1)]
        case Op.LE:
            return [_Days(_FIRST, days[0].last)]
        case Op.GT:
            return [_Days(days[0].last + 1, _LAST)]
        case Op.GE:
            return [_Days(days[0].first, _LAST)]
        case _:
            return [_Days(days[0].first, days[1].last)] if isinstance(node, Between) else days


def _date(call: SyntaxNode, node: SyntaxNode) -> SyntaxNode:
    """Return the formatted value as a date, cast to a timestamp first as date_format() does."""
    assert isinstance(call, Call)
    moment = Cast(call.arguments[0], TIMESTAMP, span=node.span)
    return Call(TO_DATE.names[0], (moment,), span=node.span)


def _between(day: SyntaxNode, days: _Days, node: SyntaxNode) -> SyntaxNode:
    first, last = (Literal(SparkValue(ValueKind.DATE, epoch_day), span=node.span) for epoch_day in days)
    return Between(day, first, last, span=node.span)
