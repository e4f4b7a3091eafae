"""Dates and times relative to now that Spark reads from texts: `DATE 'today'`."""

from __future__ import annotations

import re
from itertools import pairwise

from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.sql.syntax.sqlglot_nodes import TokenType
from prune_assets.sql.syntax.string_literals import read_string

_MOVING = re.compile(r"\s*(now|today|tomorrow|yesterday)", re.IGNORECASE)
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})


def is_relative_date(text: str) -> bool:
    """Tell whether a constant text, cast to a date or time, depends on when that is done.

    >>> is_relative_date(" Today"), is_relative_date("2024-03-01")
    (True, False)
    """
    return _MOVING.match(text) is not None


def has_relative_date(sql: str) -> bool:
    """Tell whether a date or time is written as such a text.

    >>> has_relative_date("d > date 'tomorrow'"), has_relative_date("s > 'tomorrow'")
    (True, False)
    """
    return any(
        word.text.upper() in _TYPES and text.token_type == TokenType.STRING and is_relative_date(read_string(text.text))
        for word, text in pairwise(tokenize(sql))
    )
