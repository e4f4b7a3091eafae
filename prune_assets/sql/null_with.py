"""For which columns a condition is NULL wherever they are null, whatever else it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from parquet_core.errors import UnknownColumn
from prune_assets.sql.nodes import CastTo, ColumnName

if TYPE_CHECKING:
    from parquet_core.predicate import Path
    from prune_assets.sql.scope import Scope

# NULL where any operand is.
_OF_ALL = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.RegexpLike),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.DPipe),
)
# NULL where the first operand is: `5 BETWEEN NULL AND 3` is FALSE.
_OF_FIRST = (exp.Between, exp.In, CastTo)
_FUNCTIONS = frozenset(
    {
        *("abs", "ceil", "ceiling", "floor", "round", "negative"),
        *("length", "char_length", "character_length", "octet_length", "instr", "startswith", "endswith", "contains"),
        *("upper", "ucase", "lower", "lcase", "initcap", "trim", "ltrim", "rtrim", "reverse", "concat"),
        *("left", "right", "substr", "substring"),
        *("year", "quarter", "month", "day", "dayofmonth", "dayofweek", "dayofyear", "weekofyear"),
        *("hour", "minute", "second", "trunc", "date_trunc", "to_date", "last_day"),
        *("date_add", "date_sub", "datediff", "date_diff", "add_months"),
    }
)


def null_with(node: exp.Expr, scope: Scope) -> tuple[Path, ...]:
    """Return the columns that make a condition NULL by being null, each once; functions are taken for Spark's own."""
    return tuple(dict.fromkeys(_columns(node, scope)))


def _columns(node: exp.Expr, scope: Scope) -> list[Path]:
    found: list[Path] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ColumnName):
            found += _path(part, scope)
        elif isinstance(part, exp.In) and part.args.get("query") is not None:
            continue  # nothing is NULL IN (no row)
        elif isinstance(part, _OF_FIRST):
            stack.append(part.this)
        elif isinstance(part, _OF_ALL) or (isinstance(part, exp.Anonymous) and _is_strict(part.name.lower())):
            stack += list(part.iter_expressions())
    return found


def _is_strict(function: str) -> bool:
    return function in _FUNCTIONS or function.startswith("extract ")


def _path(name: ColumnName, scope: Scope) -> list[Path]:
    try:
        column = scope.resolve(name.parts_of_name).column
    except UnknownColumn:
        return []
    return [] if column is None else [column.path]
