"""A derived filter as Spark SQL that means the same in every session: nothing shortened, nothing left to settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.predicate import And, Compare, In, Interval, IsNull, Not, Or, StartsWith
from prune_assets.sql.render import literal_sql

if TYPE_CHECKING:
    from parquet_core.predicate import Path, Predicate

# Any other letter may be an escape, a variable or a quote to some session.
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.:/+-]*")
_WILD, _ESCAPED = re.compile(r"[%_\\]"), r"\\\g<0>"
# Of integers the suffix that gives a literal its type; what is unsigned Spark reads as the next wider type.
_SUFFIXES = {"int8": "Y", "int16": "S", "int64": "L", "uint8": "S", "uint32": "L"}


def filter_text(predicate: Predicate) -> str:
    """Return a derived filter as SQL.

    >>> from parquet_core.predicate import Op
    >>> filter_text(Or((Compare(("x",), Op.EQ, pa.scalar(5)), IsNull(("x",)))))
    '(`x` = 5L) OR (`x` IS NULL)'
    """
    if isinstance(predicate, And | Or):
        connective = " AND " if isinstance(predicate, And) else " OR "
        return connective.join(f"({filter_text(child)})" for child in predicate.children)
    return _leaf(predicate)


def _leaf(leaf: Predicate) -> str:
    match leaf:
        case Not(IsNull(column)):
            sql = f"{_name(column)} IS NOT NULL"
        case IsNull(column):
            sql = f"{_name(column)} IS NULL"
        case Compare(column, op, value):
            sql = f"{_name(column)} {op} {_literal(value)}"
        case Interval(column, low, high):
            sql = f"{_name(column)} >= {_literal(low)} AND {_name(column)} <= {_literal(high)}"
        case In(column, values):
            sql = f"{_name(column)} IN ({', '.join(map(_literal, values))})"
        case StartsWith(column, prefix):
            sql = f"{_name(column)} LIKE {_text(_WILD.sub(_ESCAPED, prefix.as_py()) + '%')}"
        case _:
            raise AssertionError(leaf)
    return sql


def _name(path: Path) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)


def _literal(value: pa.Scalar) -> str:
    kind = value.type
    if pa.types.is_string(kind):
        return _text(value.as_py())
    if kind == pa.uint64():
        return f"CAST({value.as_py()}BD AS DECIMAL(20,0))"
    if pa.types.is_decimal(kind):
        # A literal by itself takes the fewest digits, and the column would be cast instead.
        return f"CAST({value.as_py():f}BD AS DECIMAL({kind.precision},{kind.scale}))"
    if pa.types.is_timestamp(kind) and kind.tz:
        # TIMESTAMP alone means what spark.sql.timestampType says.
        return literal_sql(value).replace("TIMESTAMP ", "TIMESTAMP_LTZ ", 1)
    return literal_sql(value) + _SUFFIXES.get(str(kind), "")


def _text(text: str) -> str:
    if _PLAIN_TEXT.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
