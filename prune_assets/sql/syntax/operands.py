"""Read operands without nested expressions: literals, columns and opaque parts.

The operands follow rule primaryExpression of Spark's SqlBaseParser.g4. An opaque part is not parsed: only its end is
found, by its brackets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prune_assets.sql.syntax.lexer import TokenKind
from prune_assets.sql.syntax.nodes import Call, Cast, Column, Literal, OpaqueNode, Parameter
from prune_assets.sql.syntax.string_literals import read_string, read_strings
from prune_assets.sql.syntax.type_names import read_type
from prune_assets.sql.types.date_literals import (
    UNITS,
    InvalidDate,
    is_no_moment,
    is_other_format,
    join_intervals,
    read_date,
    read_interval,
)
from prune_assets.sql.types.number_literals import NumberOutOfRange, read_number
from prune_assets.sql.types.spark_values import SparkValue, ValueKind
from prune_assets.sql.types.timestamps import is_day_with_zone, is_no_time, read_timestamp

if TYPE_CHECKING:
    from prune_assets.sql.syntax.cursor import Cursor
    from prune_assets.sql.syntax.nodes import SyntaxNode


def read_suffixes(cursor: Cursor, operand: SyntaxNode, *, is_call: bool) -> SyntaxNode:
    """Return an operand with the casts that follow it; with other suffixes, an opaque node."""
    assert operand.span is not None
    first = operand.span[0]
    while True:
        if cursor.sign() == "::":
            cursor.mark(operand, first)
            cursor.take()
            operand = Cast(operand, read_type(cursor))
        elif reason := _suffix(cursor, is_call=is_call):
            operand = OpaqueNode(reason, call=_called(operand))
        else:
            return operand


def _called(operand: SyntaxNode) -> str:
    if isinstance(operand, Call):
        return operand.name
    return operand.call if isinstance(operand, OpaqueNode) else ""


def _suffix(cursor: Cursor, *, is_call: bool) -> str:
    sign = cursor.sign()
    if sign == "." and cursor.is_name(1):
        cursor.position += 2
        return "a field of a computed value has no bounds"
    if sign == "[":
        cursor.skip_brackets()
        return "an element of an array or map has no bounds"
    if sign == ":" and (cursor.is_name(1) or cursor.sign(1) == "["):
        cursor.position += 1
        cursor.skip_brackets() if cursor.sign() == "[" else cursor.take()
        return "a path into a variant has no bounds"
    if sign == "COLLATE" and cursor.is_name(1):
        cursor.position += 2
        return "bounds use the binary collation"
    return _call_suffix(cursor, sign) if is_call else ""


def _call_suffix(cursor: Cursor, sign: str) -> str:
    if sign == "FILTER" and cursor.sign(1) == "(":
        cursor.take()
        cursor.skip_brackets()
    elif sign == "OVER" and (cursor.sign(1) == "(" or cursor.is_name(1)):
        cursor.take()
        cursor.skip_brackets() if cursor.sign() == "(" else cursor.take()
    elif sign == "WITHIN" and cursor.sign(1) == "GROUP" and cursor.sign(2) == "(":
        cursor.position += 2
        cursor.skip_brackets()
    elif sign in {"IGNORE", "RESPECT"} and cursor.sign(1) == "NULLS":
        cursor.position += 2
    else:
        return ""
    return "an aggregate has no value for a single row"


QUERY_STARTS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"})
# Spark reads these as column names where no operator is possible; here they must be quoted.
_NO_NAMES = frozenset({"AND", "OR", "NOT", "IN", "IS", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "ESCAPE"})
_NO_NAMES |= {"WHEN", "THEN", "ELSE", "END", "AS"}
_CONSTANTS = {
    "NULL": SparkValue(ValueKind.NULL),
    "TRUE": SparkValue(ValueKind.BOOLEAN, value=True),
    "FALSE": SparkValue(ValueKind.BOOLEAN, value=False),
}
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")
_TIMESTAMPS = frozenset({"TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})
_TYPED = _TIMESTAMPS | {"TIME"}


def read_operand(cursor: Cursor) -> SyntaxNode:
    """Read a literal, a column or a parameter marker."""
    sign = cursor.sign()
    if cursor.kind() == TokenKind.STRING:
        return Literal(_strings(cursor))
    if cursor.kind() == TokenKind.NUMBER:
        return read_numeral(cursor, negative=False)
    if sign in _CONSTANTS:
        cursor.take()
        return Literal(_CONSTANTS[sign])
    if sign == "?" or (sign == ":" and cursor.is_name(1)):
        cursor.position += 1 if sign == "?" else 2
        return Parameter()
    typed = _typed_literal(cursor, sign)
    return typed if typed is not None else _column(cursor, sign)


def read_numeral(cursor: Cursor, *, negative: bool) -> SyntaxNode:
    """Read a number.

    `negative`: True if a minus sign was read before the number.
    """
    try:
        value = read_number(cursor.tokens[cursor.position].text, negative=negative)
    except NumberOutOfRange as error:
        cursor.fail(str(error))
    cursor.take()
    return Literal(value)


def _strings(cursor: Cursor) -> SparkValue:
    first = cursor.position
    while cursor.kind() == TokenKind.STRING:
        cursor.take()
    return read_strings(cursor.tokens[first : cursor.position])


def _typed_literal(cursor: Cursor, sign: str) -> SyntaxNode | None:
    if sign == "INTERVAL":
        return _interval(cursor)
    if cursor.kind(1) != TokenKind.STRING or not (sign in {"DATE", "X"} or sign in _TYPED):
        return None
    if cursor.kind(2) == TokenKind.STRING:
        cursor.fail(f"{sign} takes one string")
    if sign == "DATE":
        return _date(cursor)
    if sign == "X":
        return _bytes(cursor)
    literal = read_string(cursor.tokens[cursor.position + 1].text)
    if sign in _TIMESTAMPS and is_day_with_zone(literal):
        cursor.fail(f"{sign} '{literal}' has a zone but no time")
    if sign in _TIMESTAMPS and is_no_time(literal):
        cursor.fail(f"there is no time {literal}")
    if sign in _TIMESTAMPS and (is_other_format(literal) or is_no_moment(literal)):
        cursor.fail(f"{sign} '{literal}' is in no form that Spark reads; write {sign} 'yyyy-MM-dd HH:mm:ss'")
    cursor.position += 2
    return Literal(read_timestamp(sign, literal) if sign in _TIMESTAMPS else SparkValue(ValueKind.OTHER))


def _date(cursor: Cursor) -> SyntaxNode:
    literal = read_string(cursor.tokens[cursor.position + 1].text).strip(" ")
    if is_other_format(literal) or is_no_moment(literal):
        cursor.fail(f"DATE '{literal}' is in no form that Spark reads; write DATE 'yyyy-MM-dd'")
    try:
        value = read_date(literal)
    except InvalidDate as error:
        cursor.fail(str(error))
    cursor.position += 2
    return Literal(value)


def _bytes(cursor: Cursor) -> SyntaxNode:
    digits = read_string(cursor.tokens[cursor.position + 1].text)
    if _HEXADECIMAL.fullmatch(digits) is None:
        cursor.fail("X takes hexadecimal digits")
    cursor.position += 2
    return Literal(SparkValue(ValueKind.BINARY, bytes.fromhex("0" * (len(digits) % 2) + digits)))


def _interval(cursor: Cursor) -> SyntaxNode | None:
    """Read INTERVAL with one or more counts and units; None if `interval` is a column."""
    if cursor.kind(1) == TokenKind.STRING and cursor.sign(2) not in UNITS:
        cursor.position += 2
        return Literal(SparkValue(ValueKind.INTERVAL))
    if not _counts_unit(cursor, 1):
        return None
    cursor.take()
    values = [_count_and_unit(cursor)]
    while _counts_unit(cursor, 0):
        values.append(_count_and_unit(cursor))
    if cursor.sign() == "TO" and cursor.sign(1) in UNITS:
        cursor.position += 2
        return Literal(SparkValue(ValueKind.INTERVAL))
    return Literal(join_intervals(values))


def _counts_unit(cursor: Cursor, ahead: int) -> bool:
    ahead += cursor.sign(ahead) in {"+", "-"}
    return cursor.kind(ahead) in {TokenKind.STRING, TokenKind.NUMBER} and cursor.sign(ahead + 1) in UNITS


def _count_and_unit(cursor: Cursor) -> SparkValue:
    sign = cursor.sign()
    cursor.position += sign in {"+", "-"}
    token = cursor.take()
    count = read_string(token.text) if token.kind == TokenKind.STRING else token.text
    signed_twice = sign in {"+", "-"} and not count.strip(" ").isdigit()
    unit = cursor.take().text
    return SparkValue(ValueKind.INTERVAL) if signed_twice else read_interval(count, unit, negative=sign == "-")


def _column(cursor: Cursor, sign: str) -> SyntaxNode:
    if not cursor.is_name():
        if sign == "&" == cursor.sign(-1):
            cursor.fail("Spark has no operator &&; write AND")
        cursor.fail("the predicate is incomplete" if cursor.at_end else "an operand is expected here")
    if sign in _NO_NAMES:
        cursor.fail(f"an operand is expected here; write a column of that name as `{sign.lower()}`")
    parts = [cursor.take_name()]
    while cursor.sign() == "." and cursor.is_name(1):
        cursor.take()
        parts.append(cursor.take_name())
    return Column(tuple(parts))
