"""What may follow an operand and bind tighter than every operator: fields, subscripts, casts, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.syntax.nodes import CastTo, Opaque
from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.syntax.type_names import read_type

if TYPE_CHECKING:
    from prune_assets.sql.syntax.cursor import Cursor


def read_suffixes(cursor: Cursor, operand: exp.Expression, *, is_call: bool) -> exp.Expression:
    """Return the operand, cast where a cast follows, or an opaque node that includes what else follows it."""
    first = cursor.position
    while True:
        if cursor.sign() == "::":
            cursor.take()
            cursor.mark(operand, operand.meta.get("first", first))
            operand = CastTo(this=operand, to=read_type(cursor))
        elif reason := _suffix(cursor, is_call=is_call):
            operand = Opaque(this=reason, call=_called(operand))
        else:
            return operand


def _called(operand: exp.Expression) -> str | None:
    return operand.name if isinstance(operand, exp.Anonymous) else operand.args.get("call")


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
