"""SQL that metadata can answer in place of a condition that it cannot: shown beside the remedy, never applied.

A source of rewrites is a function of the condition, its text and what finds a column by name. Add one to `SUGGESTIONS`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.nodes import COMPARISONS, MIRRORED, name_parts, spark_value
from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.types.date_literals import date_of_string
from prune_assets.sql.types.spark_values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.types.spark_values import SparkValue

    FindColumn: TypeAlias = Callable[[tuple[str, ...]], LeafColumn | None]

_OPS: dict[type[exp.Expr], str] = {**COMPARISONS, exp.NullSafeEQ: "<=>"}
_NAME = r"(?:\w+|`[^`]+`)(?:\.(?:\w+|`[^`]+`))*"
_CAST = re.compile(rf"\(*cast\s*\(\s*({_NAME})\s+as\s+string\s*\)\s*(<=>|<>|!=|=)\s*'([^'\\]*)'\s*\)*", re.IGNORECASE)
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)


class Rewrite(NamedTuple):
    """SQL to write instead; `exact`: it is NULL, TRUE and FALSE for the same rows."""

    sql: str
    exact: bool


def rewrite_of(node: exp.Expr, text: str, find: FindColumn) -> Rewrite | None:
    """Return the suggested rewrite of a condition, or None."""
    found = (source(node, text, find) for source in SUGGESTIONS)
    return next((rewrite for rewrite in found if rewrite is not None), None)


def cast_to_string(_node: exp.Expr, text: str, find: FindColumn) -> Rewrite | None:
    """Compare the plain column: `cast(x AS STRING) = '5'` is `x = 5` for an integer, and alike for a date."""
    match = _CAST.fullmatch(text)
    column = None if match is None else find(_parts(match[1]))
    if match is None or column is None or column.type is None:
        return None
    name, op, value = match[1], match[2], match[3]
    if pa.types.is_integer(column.type) and _INTEGER.fullmatch(value) and _fits(int(value), column.type):
        return Rewrite(f"{name} {op} {value}", exact=True)
    if pa.types.is_date(column.type) and _ISO_DATE.fullmatch(value) and date_of_string(value) is not None:
        return Rewrite(f"{name} {op} DATE '{value}'", exact=True)
    return None


def number_beside_string(node: exp.Expr, _text: str, find: FindColumn) -> Rewrite | None:
    """Put the number in quotes: `s = 5` also holds for '05' and '5.0', which `s = '5'` does not."""
    comparison = _comparison(node, find)
    if comparison is None or comparison.value.kind is not Kind.INTEGER or not pa.types.is_string(comparison.type):
        return None
    # The order of strings is not that of numbers.
    return (
        Rewrite(f"{column_sql(comparison.parts)} {comparison.op} '{comparison.value.value!s}'", exact=False)
        if comparison.op in {"=", "<=>"}
        else None
    )


SUGGESTIONS: Sequence[Callable[[exp.Expr, str, FindColumn], Rewrite | None]] = (
    cast_to_string,
    number_beside_string,
)


class _Comparison(NamedTuple):
    parts: tuple[str, ...]
    type: pa.DataType
    op: str
    value: SparkValue


def _comparison(node: exp.Expr, find: FindColumn) -> _Comparison | None:
    """Read `column op literal`, mirrored where the literal comes first."""
    op = _OPS.get(type(node))
    if op is None:
        return None
    left, right = node.this, node.expression
    if isinstance(left, exp.Literal):
        left, op, right = right, MIRRORED.get(op, op), left
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Literal):
        return None
    column = find(name_parts(left))
    if column is None or column.type is None:
        return None
    return _Comparison(name_parts(left), column.type, op, spark_value(right))


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("`") for part in re.findall(r"\w+|`[^`]+`", name))


def _fits(number: int, kind: pa.DataType) -> bool:
    return bool(-(1 << kind.bit_width - 1) <= number < 1 << kind.bit_width - 1)
