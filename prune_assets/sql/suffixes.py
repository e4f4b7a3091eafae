"""What may follow an operand and bind tighter than every operator: fields, subscripts, casts, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType

from prune_assets.sql.nodes import Opaque

if TYPE_CHECKING:
    from sqlglot import exp

    from prune_assets.sql.cursor import Cursor

_TYPE_TAILS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO", "WITHOUT", "ZONE"})
_ANGLES = {"<": 1, ">": -1, ">>": -2, ">>>": -3, "<>": 0}


def read_suffixes(cursor: Cursor, operand: exp.Expression, *, is_call: bool) -> exp.Expression:
    """Return the operand, or an opaque node that includes what follows it."""
    reason = ""
    while found := _suffix(cursor, is_call=is_call):
        reason = found
    return Opaque(this=reason) if reason else operand


def _suffix(cursor: Cursor, *, is_call: bool) -> str:
    sign = cursor.sign()
    if sign == "." and cursor.is_name(1):
        cursor.position += 2
        return "a field of a computed value has no bounds"
    if sign == "[":
        cursor.skip_brackets()
        return "an element of an array or map has no bounds"
    if sign == "::":
        cursor.take()
        _skip_type(cursor)
        return "a cast is not turned into a range yet"
    if sign == ":" and (cursor.is_name(1) or cursor.sign(1) == "["):
        cursor.position += 1
        cursor.skip_brackets() if cursor.sign() == "[" else cursor.take()
        return "a path into a variant has no bounds"
    if sign == "COLLATE" and cursor.is_name(1):
        cursor.position += 2
        return "bounds are those of the binary collation"
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


def _skip_type(cursor: Cursor) -> None:
    if cursor.kind() != TokenType.VAR:
        cursor.fail("a type is expected here")
    word = cursor.sign()
    cursor.take()
    if cursor.sign() == "(":
        cursor.skip_brackets()
    if word in {"ARRAY", "MAP", "STRUCT"} and cursor.sign() in {"<", "<>"}:
        _skip_angles(cursor)
    while (word == "INTERVAL" or word.startswith("TIME")) and cursor.sign() in _TYPE_TAILS | {"TIME"}:
        cursor.take()


def _skip_angles(cursor: Cursor) -> None:
    depth = 0
    while True:
        depth += _ANGLES.get(cursor.sign(), 0)
        cursor.take()
        if depth <= 0:
            return
