"""Values of string literals (SparkParserUtils.unescapeSQLString), and texts that are relative dates."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from prune_assets.sql.syntax.lexer import TokenKind, tokenize
from prune_assets.sql.types.spark_values import SparkValue, ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.syntax.lexer import Token

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|.)", re.DOTALL)
_CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def read_strings(tokens: Sequence[Token]) -> SparkValue:
    """Return the value of adjacent string tokens, which Spark joins.

    Two tokens without a gap are one string with a doubled quote: `'it''s'` is `it's`. A string that UTF-8 cannot encode
    is a literal of unknown value.
    """
    string, before = "", None
    for token in tokens:
        string += _doubled_quote(before, token) + read_string(token.text)
        before = token
    joined = _encodable(string)
    if joined is None:
        return SparkValue(ValueKind.OTHER)
    quoted = len(tokens) == 1 and tokens[0].text.startswith('"')
    return SparkValue(ValueKind.STRING, joined, name=joined if quoted else None)


def read_string(source: str) -> str:
    r"""Return the value of one string, written with its quotes; the value may contain a lone surrogate.

    >>> read_string(r"'a\tb\%\q'") == "a\tb\\%q"
    True
    """
    if source[0] in "rR":
        return source[2:-1]
    return _ESCAPE.sub(_unescape, source[1:-1])


def _unescape(escape: re.Match[str]) -> str:
    code = escape.group(1)
    if len(code) == 1:
        return f"\\{code}" if code in "%_" else _CONTROL.get(code, code)
    if code[0] not in "uU":
        return chr(int(code, 8))
    code_point = int(code[1:], 16)
    return chr(code_point) if code_point <= 0x10FFFF else "\ud800"


def _doubled_quote(before: Token | None, token: Token) -> str:
    if before is None or before.end != token.start:
        return ""
    quote = token.text[0]
    return quote if quote in "'\"" and before.text[0] == quote else ""


def _encodable(string: str) -> str | None:
    try:
        return string.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return None


_MOVING = re.compile(r"\s*(now|today|tomorrow|yesterday)", re.IGNORECASE)
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})


def is_relative_date(string: str) -> bool:
    """Return whether a text means a date relative to the current time.

    >>> is_relative_date(" Today"), is_relative_date("2024-03-01")
    (True, False)
    """
    return _MOVING.match(string) is not None


def has_relative_date(sql: str) -> bool:
    """Return whether a date or time literal depends on the current time.

    >>> has_relative_date("d > date 'tomorrow'"), has_relative_date("s > 'tomorrow'")
    (True, False)
    """
    return any(
        word.text.upper() in _TYPES and literal.kind == TokenKind.STRING and is_relative_date(read_string(literal.text))
        for word, literal in pairwise(tokenize(sql))
    )
