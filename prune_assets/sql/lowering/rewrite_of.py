"""Suggest SQL that prunes, in place of a condition that does not; shown as remedy, never applied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from parquet_core.pruning.predicate import Op
from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.nodes import Cast, Column, Comparison, Literal, NullSafe, SyntaxNode
from prune_assets.sql.types.date_literals import date_of_string
from prune_assets.sql.types.spark_types import STRING
from prune_assets.sql.types.spark_values import ValueKind

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.types.spark_values import SparkValue

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)


class OperandRewrite(NamedTuple):
    """SQL to write instead of a condition.

    `exact`: True if the SQL is TRUE, FALSE and NULL for the same rows.
    """

    sql: str
    exact: bool


def rewrite_of(node: SyntaxNode) -> OperandRewrite | None:
    """Return a rewrite of an equality or inequality for which Spark casts an operand; None if not possible."""
    match node:
        case Comparison(Literal(value), operand, Op.EQ | Op.NE as op) | Comparison(
            operand, Literal(value), Op.EQ | Op.NE as op
        ):
            return _rewrite(operand, op, value)
        case NullSafe(Literal(value), operand, True) | NullSafe(operand, Literal(value), True):
            return _rewrite(operand, "<=>", value)
        case _:
            return None


def _rewrite(operand: SyntaxNode, op: str, value: SparkValue) -> OperandRewrite | None:
    match operand:
        case Cast(Column() as name, to, is_try=False) if to == STRING and value.kind is ValueKind.STRING:
            literal, exact = _literal_like(name.bound.column, str(value.value)), True
        case Column() as name if value.kind is ValueKind.INTEGER and op != Op.NE:
            # `s = 5` also holds for '05' and '5.0', which `s = '5'` does not.
            literal, exact = _quoted(name.bound.column, value), False
        case _:
            return None
    return OperandRewrite(f"{column_sql(name.parts)} {op} {literal}", exact) if literal else None


def _literal_like(column: LeafColumn | None, string: str) -> str:
    """Return the literal of the column's type that Spark casts to this text; "" if there is none."""
    arrow_type = None if column is None else column.type
    if (
        arrow_type is not None
        and pa.types.is_integer(arrow_type)
        and _INTEGER.fullmatch(string)
        and _fits(int(string), arrow_type)
    ):
        return string
    is_date = arrow_type is not None and pa.types.is_date(arrow_type) and _ISO_DATE.fullmatch(string)
    return f"DATE '{string}'" if is_date and date_of_string(string) is not None else ""


def _quoted(column: LeafColumn | None, value: SparkValue) -> str:
    is_text = column is not None and column.type is not None and pa.types.is_string(column.type)
    return f"'{value.value!s}'" if is_text else ""


def _fits(integer: int, arrow_type: pa.DataType) -> bool:
    return bool(-(1 << arrow_type.bit_width - 1) <= integer < 1 << arrow_type.bit_width - 1)
