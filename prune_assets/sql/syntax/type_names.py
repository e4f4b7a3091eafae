"""Read type names as written in casts (rule dataType of SqlBaseParser.g4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.sql.syntax.lexer import TokenKind
from prune_assets.sql.types.spark_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    decimal_type,
    is_decimal,
)
from prune_assets.sql.types.spark_values import MAX_DIGITS

if TYPE_CHECKING:
    from prune_assets.sql.syntax.cursor import Cursor
    from prune_assets.sql.types.spark_types import SparkType

_KNOWN = {
    "BOOLEAN": BOOLEAN,
    **dict.fromkeys(("TINYINT", "BYTE"), TINYINT),
    **dict.fromkeys(("SMALLINT", "SHORT"), SMALLINT),
    **dict.fromkeys(("INT", "INTEGER"), INT),
    **dict.fromkeys(("BIGINT", "LONG"), BIGINT),
    **dict.fromkeys(("FLOAT", "REAL"), FLOAT),
    "DOUBLE": DOUBLE,
    "DATE": DATE,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
    "TIMESTAMP_LTZ": TIMESTAMP,
    "TIMESTAMP": TIMESTAMP,
    "STRING": STRING,
    "BINARY": BINARY,
    "VOID": VOID,
}
_DECIMALS = frozenset({"DECIMAL", "DEC", "NUMERIC"})
_SIZED = frozenset({"CHAR", "CHARACTER", "VARCHAR"})
_NESTED = frozenset({"ARRAY", "MAP", "STRUCT"})
_OTHERS = frozenset({"TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIME", "INTERVAL", "VARIANT"})
_TAILS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO", "WITHOUT", "WITH", "LOCAL", "ZONE"})
_MOST_DIGITS = 9
_ANGLES = {"<": 1, ">": -1, ">>": -2, ">>>": -3, "<>": 0}


def read_type(cursor: Cursor) -> SparkType | None:
    """Read a type; None for types to which casts are not supported."""
    word = cursor.sign() if cursor.kind() == TokenKind.WORD else ""
    if word in _DECIMALS:
        cursor.take()
        return _decimal(cursor)
    if word in _KNOWN and not (word == "TIMESTAMP" and cursor.sign(1) in _TAILS):
        cursor.take()
        return _without_collation(cursor, _KNOWN[word])
    if word not in _SIZED | _NESTED | _OTHERS:
        cursor.fail("a type is expected here")
    cursor.take()
    _skip_details(cursor, word)
    return None


def _decimal(cursor: Cursor) -> SparkType:
    if cursor.sign() != "(":
        return decimal_type(10, 0)
    cursor.take()
    arguments = [_whole_number(cursor)]
    if cursor.sign() == ",":
        cursor.take()
        arguments.append(_whole_number(cursor))
    cursor.expect(")")
    digits, scale = arguments[0], arguments[1] if len(arguments) > 1 else 0
    if not digits or not is_decimal(digits, scale):
        cursor.fail(f"a decimal has at most {MAX_DIGITS} digits, and its scale is at most that number of digits")
    return decimal_type(digits, scale)


def _whole_number(cursor: Cursor) -> int:
    if cursor.kind() != TokenKind.NUMBER or not cursor.tokens[cursor.position].text.isdigit():
        cursor.fail("a whole number is expected here")
    # Python refuses to convert thousands of digits, and no type uses more than a few.
    return int((cursor.take().text.lstrip("0") or "0")[:_MOST_DIGITS])


def _without_collation(cursor: Cursor, type_: SparkType) -> SparkType | None:
    if cursor.sign() != "COLLATE" or not cursor.is_name(1):
        return type_
    cursor.position += 2
    return None


def _skip_details(cursor: Cursor, word: str) -> None:
    if cursor.sign() == "(":
        cursor.skip_brackets()
    elif word in _SIZED:
        cursor.fail("a length in brackets is expected here")
    if word in _NESTED:
        if cursor.sign() not in {"<", "<>"}:
            cursor.fail("the types of the elements are expected here")
        _skip_angles(cursor)
    while (word == "INTERVAL" or word.startswith("TIME")) and cursor.sign() in _TAILS | {"TIME"}:
        cursor.take()


def _skip_angles(cursor: Cursor) -> None:
    depth = 0
    while True:
        depth += _ANGLES.get(cursor.sign(), 0)
        cursor.take()
        if depth <= 0:
            return
