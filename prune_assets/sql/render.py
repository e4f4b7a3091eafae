"""Render a predicate tree as readable SQL on one line."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    CompareColumns,
    Constant,
    Contains,
    EndsWith,
    In,
    Interval,
    InTuples,
    IsNaN,
    IsNull,
    IsTruth,
    Like,
    Not,
    OnPartitions,
    OnValues,
    Op,
    Or,
    Pattern,
    StartsWith,
    Unsupported,
    Wildcard,
    post_order,
)
from prune_assets.sql.types.calendar import date_of
from prune_assets.sql.types.zones import DAY, SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Predicate

SHOWN_VALUES = 20
SHOWN_TUPLES = 3
_WILD = re.compile(r"[%_\\]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = frozenset(
    {
        "AND",
        "AS",
        "BETWEEN",
        "CASE",
        "ELSE",
        "END",
        "ESCAPE",
        "FALSE",
        "ILIKE",
        "IN",
        "IS",
        "LIKE",
        "NOT",
        "NULL",
        "OR",
        "REGEXP",
        "RLIKE",
        "THEN",
        "TRUE",
        "WHEN",
    }
)
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000"}
# These characters also end a line, and are invisible.
_ESCAPES |= {letter: f"\\u{ord(letter):04X}" for letter in "\u0085\u2028\u2029"}
_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_TRUTHS = {Outcomes.TRUE: "TRUE", Outcomes.FALSE: "FALSE", Outcomes.NULL: "UNKNOWN"}
_CONSTANTS = {Outcomes.TRUE: "TRUE", Outcomes.FALSE: "FALSE", Outcomes.NULL: "NULL"}


def render(predicate: Predicate) -> str:
    """Return the predicate as SQL; long lists show 20 values, or three tuples, and the number of the others."""
    rendered: list[str] = []
    for node, operands in post_order(predicate):
        rendered.append(_join(node, [rendered[i] for i in operands]) if operands else _leaf(node))
    return rendered[-1]


def column_sql(path: Path) -> str:
    """Return a column name as SQL, in backquotes if necessary."""
    return _name(path)


def _join(node: Predicate, operands: list[str]) -> str:
    match node:
        case Not(child):
            return _negated(child, operands[0])
        case And(children):
            return " AND ".join(map(_grouped, children, operands))
        case Or(children):
            return " OR ".join(map(_grouped, children, operands))
        case IsTruth(Compare(column, Op.EQ, value), Outcomes.TRUE):
            return f"{_name(column)} <=> {literal_sql(value)}"
        case IsTruth(_, truth):
            return f"({operands[0]}) IS {_TRUTHS[truth]}"
        case _:
            raise AssertionError(node)


def _negated(child: Predicate, sql: str) -> str:
    match child:
        case IsNull(column):
            return f"{_name(column)} IS NOT NULL"
        case In() | Interval() | StartsWith() | EndsWith() | Contains() | Like() if not _is_single(child):
            return f"{_name(child.column)} NOT{sql.removeprefix(_name(child.column))}"
        case _:
            return f"NOT ({sql})"


def _is_single(child: In | Interval | Pattern) -> bool:
    """Return whether NOT can only precede the SQL of a leaf, as for an equality or a function call."""
    match child:
        case Interval(_, low, high):
            return bool(low == high)
        case StartsWith(_, text) | EndsWith(_, text) | Contains(_, text):
            return not pa.types.is_string(text.type)
        case _:
            return False


def _grouped(child: Predicate, rendered: str) -> str:
    return f"({rendered})" if isinstance(child, Or | And) else rendered


def _leaf(node: Predicate) -> str:
    match node:
        case Constant(outcomes):
            rendered = _CONSTANTS.get(outcomes, "raise_error('out of range')")
        case Compare(column, op, value):
            rendered = f"{_name(column)} {op} {literal_sql(value)}"
        case CompareColumns(left, op, right):
            rendered = f"{_name(left)} {op} {_name(right)}"
        case Interval(column, low, high):
            rendered = _range(_name(column), literal_sql(low), literal_sql(high))
        case In() | InTuples():
            rendered = _listed(node)
        case IsNull(column):
            rendered = f"{_name(column)} IS NULL"
        case IsNaN(column):
            rendered = f"isnan({_name(column)})"
        case StartsWith() | EndsWith() | Contains() | Like():
            rendered = _pattern(node)
        case Unsupported(sql) | OnValues(_, Unsupported(sql)) | OnPartitions(_, Unsupported(sql)):
            rendered = sql
        case _:
            raise AssertionError(node)
    return rendered


def _listed(node: In | InTuples) -> str:
    if isinstance(node, In):
        return f"{_name(node.column)} IN ({_list(node.values)})"
    return f"({', '.join(map(_name, node.columns))}) IN ({_tuples(node.values)})"


def _pattern(node: Pattern) -> str:
    match node:
        case Like(column, parts):
            return f"{_name(column)} LIKE {_like(parts)}"
        case StartsWith(column, text):
            call, parts = "startswith", (text.as_py(), Wildcard.ANY)
        case EndsWith(column, text):
            call, parts = "endswith", (Wildcard.ANY, text.as_py())
        case Contains(column, text):
            call, parts = "contains", (Wildcard.ANY, text.as_py(), Wildcard.ANY)
    if not pa.types.is_string(text.type):
        return f"{call}({_name(column)}, {literal_sql(text)})"
    return f"{_name(column)} LIKE {_like(parts)}"


def _like(parts: Sequence[str | Wildcard]) -> str:
    escaped = [part.value if isinstance(part, Wildcard) else _WILD.sub(r"\\\g<0>", part) for part in parts]
    return literal_sql(pa.scalar("".join(escaped)))


def _list(values: pa.Array) -> str:
    shown = ", ".join(literal_sql(value) for value in values[:SHOWN_VALUES])
    more = len(values) - SHOWN_VALUES
    return f"{shown}, ... {more:,} more" if more > 0 else shown


def _tuples(values: Sequence[pa.Array]) -> str:
    rows = zip(*(array[:SHOWN_TUPLES] for array in values), strict=True)
    shown = ", ".join(f"({', '.join(map(literal_sql, row))})" for row in rows)
    more = len(values[0]) - SHOWN_TUPLES
    return f"{shown}, ... {more:,} more" if more > 0 else shown


def _range(name: str, low: str, high: str) -> str:
    return f"{name} = {low}" if low == high else f"{name} BETWEEN {low} AND {high}"


def _name(path: Path) -> str:
    return ".".join(
        part if _PLAIN_NAME.fullmatch(part) and part.upper() not in _WORDS else "`" + part.replace("`", "``") + "`"
        for part in path
    )


def literal_sql(value: pa.Scalar) -> str:
    """Return a value as a SQL literal."""
    if value.is_valid and pa.types.is_timestamp(value.type):
        return _timestamp(value)
    if value.is_valid and pa.types.is_date32(value.type):
        return f"DATE '{_day(value.value)}'"
    plain = value.as_py()
    match plain:
        case None:
            return "NULL"
        case bool():
            sql = str(plain).upper()
        case float():
            sql = _float(value)
        case str():
            sql = "'" + "".join(_ESCAPES.get(letter, letter) for letter in plain) + "'"
        case bytes():
            sql = f"X'{plain.hex().upper()}'"
        case _:
            sql = format(plain, "f") if pa.types.is_decimal(value.type) else str(plain)
    return sql


def _timestamp(value: pa.Scalar) -> str:
    """Return a timestamp literal that means the same in every session."""
    name, zone = ("TIMESTAMP", "Z") if value.type.tz else ("TIMESTAMP_NTZ", "")
    day, micros = divmod(value.value, DAY)
    seconds, fraction = divmod(micros, SECOND)
    minutes, second = divmod(seconds, 60)
    end = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{name} '{_day(day)} {minutes // 60:02}:{minutes % 60:02}:{second:02}{end}{zone}'"


def _day(epoch_day: int) -> str:
    """Return a date as text; years without four digits get a sign."""
    year, month, day = date_of(epoch_day)
    return f"{year:04}-{month:02}-{day:02}" if 0 <= year <= 9999 else f"{year:+05}-{month:02}-{day:02}"


def _float(value: pa.Scalar) -> str:
    """Return a float literal that rounds back to the same float."""
    single = pa.types.is_float32(value.type)
    float_value = value.as_py()
    if not math.isfinite(float_value):
        name = "NaN" if math.isnan(float_value) else "Infinity" if float_value > 0 else "-Infinity"
        return f"{'float' if single else 'double'}('{name}')"
    # The shortest digits of the largest float exceed the limit that Spark allows.
    short = single and abs(float_value) < _LARGEST_FLOAT
    digits = str(np.float32(float_value)) if short else repr(float_value)
    return f"{digits}{'F' if single else 'D'}"
